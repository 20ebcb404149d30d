"""A research's notebook in a folder of its own: the twin of the database's, for tests that need no database."""

import json
from pathlib import Path
from typing import Any

from monitor.errors import UsageError
from monitor.research.shapes import StepType
from monitor.research.state import ParagraphState, State


class FolderNotebook:
    """Keeps a research in two files; `remarks` are those of people, the latest last."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._state_file = folder / "state.json"
        self._outputs_file = folder / "outputs.json"
        self.remarks: list[str] = []

    async def load_state(self) -> State | None:
        if not self._state_file.is_file():
            return None
        return State.model_validate_json(self._state_file.read_text(encoding="utf-8"))

    async def save_plan(self, state: State) -> None:
        self._state_file.write_text(state.model_dump_json(), encoding="utf-8")

    async def save_paragraph(self, paragraph: ParagraphState) -> None:
        state = await self.load_state()
        if state is None:
            raise UsageError("There is no plan that the paragraph belongs to.")
        state.paragraphs[paragraph.order] = paragraph
        await self.save_plan(state)

    async def load_output(self, step: StepType) -> dict[str, Any] | None:
        return self._load_outputs().get(str(step))

    async def save_output(self, step: StepType, output: dict[str, Any]) -> None:
        outputs = {**self._load_outputs(), str(step): output}
        self._outputs_file.write_text(json.dumps(outputs, ensure_ascii=False), encoding="utf-8")

    async def load_latest_remark(self) -> str:
        return self.remarks[-1] if self.remarks else ""

    def _load_outputs(self) -> dict[str, Any]:
        if not self._outputs_file.is_file():
            return {}
        outputs: dict[str, Any] = json.loads(self._outputs_file.read_text(encoding="utf-8"))
        return outputs
