"""A research kept in the database, so that any process goes on where it stopped."""

from typing import Any

from monitor.research.events import StepType
from monitor.research.state import Paragraph, State
from monitor.store import Store


class StoreNotebook:
    """Keeps a research in its rows (`research.parts.Notebook`): the plan, each paragraph by itself, what steps gave."""

    def __init__(self, store: Store, task_id: str) -> None:
        self._research = store.research
        self._task_id = task_id

    async def state(self) -> State | None:
        kept, paragraphs = await self._research.notebook(self._task_id)
        return None if kept is None else State.model_validate({**kept, "paragraphs": paragraphs})

    async def keep_plan(self, state: State) -> None:
        kept, paragraphs = as_kept(state)
        await self._research.keep_plan(self._task_id, kept, paragraphs)

    async def keep_paragraph(self, paragraph: Paragraph) -> None:
        """Put a paragraph in the place of the one that was kept."""
        data = paragraph.model_dump(mode="json")
        await self._research.keep_paragraph(self._task_id, paragraph.order, data)

    async def output(self, step: StepType) -> dict[str, Any] | None:
        return await self._research.output(self._task_id, str(step))

    async def keep_output(self, step: StepType, output: dict[str, Any]) -> None:
        await self._research.keep_output(self._task_id, str(step), output)

    async def remark(self) -> str:
        return await self._research.latest_remark(self._task_id)


def as_kept(state: State) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A state as its rows hold it: the plan, and its paragraphs."""
    kept = state.model_dump(mode="json")
    return {name: value for name, value in kept.items() if name != "paragraphs"}, kept["paragraphs"]
