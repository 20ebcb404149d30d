"""A research kept in a folder of its own: its state as a file that any program can read, and what its steps gave."""

import json
from pathlib import Path
from typing import Any

from monitor.errors import UsageError
from monitor.research.events import StepType
from monitor.research.state import Paragraph, State

_STATE, _OUTPUTS = "state.json", "outputs.json"


class FileNotebook:
    """Keeps a research in files (`parts.Notebook`). `remarks` are those of people, the latest last."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.remarks: list[str] = []

    async def state(self) -> State | None:
        """What was kept; `UsageError` where the file holds no state."""
        path = self._folder / _STATE
        return State.load(path) if path.is_file() else None

    async def keep_plan(self, state: State) -> None:
        state.save(self._folder / _STATE)

    async def keep_paragraph(self, paragraph: Paragraph) -> None:
        """Put a paragraph in the place of the one that was kept."""
        state = await self.state()
        if state is None:
            raise UsageError("There is no plan that the paragraph belongs to.")
        state.paragraphs[paragraph.order] = paragraph
        state.save(self._folder / _STATE)

    async def output(self, step: StepType) -> dict[str, Any] | None:
        return self._outputs().get(str(step))

    async def keep_output(self, step: StepType, output: dict[str, Any]) -> None:
        """Keep what a step gave, whole or not at all."""
        part = self._folder / f".{_OUTPUTS}.part"
        part.write_text(json.dumps({**self._outputs(), str(step): output}, ensure_ascii=False), encoding="utf-8")
        part.replace(self._folder / _OUTPUTS)

    async def remark(self) -> str:
        return self.remarks[-1] if self.remarks else ""

    def _outputs(self) -> dict[str, Any]:
        path = self._folder / _OUTPUTS
        outputs: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return outputs
