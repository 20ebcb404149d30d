"""Changes of settings and prompts with their trace in the audit: what pages and API have in common."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from monitor.app.configuring import Change
from monitor.app.prompts import PromptWire
from monitor.bootstrap import App
from monitor.domain.chat import ModelTrial
from monitor.domain.searching import ToolResult
from monitor.errors import NotFound
from monitor.store.retention import Pruned
from monitor.web.gate import Visitor

_TRIED_RESULTS = 3


class ModelTrials(BaseModel):
    """What came of asking the models; none is asked where the model is off."""

    is_on: bool
    trials: list[ModelTrial]


class SettingsWork:
    """Carries out what administrators ask for, and takes it down."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def change(self, visitor: Visitor, values: Mapping[str, Any]) -> list[Change]:
        """Store values by path, all or none; `Refused` says what is wrong with which."""
        changes = await self._app.configuring.change(values, by=visitor.name)
        await self._record(visitor, "settings.change", changes)
        return changes

    async def forget(self, visitor: Visitor, paths: Iterable[str]) -> list[Change]:
        """Let file and defaults hold again."""
        changes = await self._app.configuring.forget(paths)
        await self._record(visitor, "settings.forget", changes)
        return changes

    async def try_model(self) -> ModelTrials:
        """Ask every configured model for one word, as the settings are now."""
        server = self._app.models.current()
        return ModelTrials(is_on=server is not None, trials=await server.try_out() if server is not None else [])

    async def try_search(self, backend: str, query: str) -> ToolResult:
        """Ask one backend for a few results, as the settings are now."""
        return await self._app.searching.search({"query": query, "max_results": _TRIED_RESULTS}, backend=backend)

    async def put_prompt(self, visitor: Visitor, name: str, text: str) -> PromptWire:
        """Put a wording in place of the one that holds."""
        before = await self._app.prompts.get(name)
        after = await self._app.prompts.put(name, text, by=visitor.name)
        if after.text != before.text:
            await self._app.audit.record(visitor.name, "prompt.change", name, before=before.text, after=after.text)
        return after

    async def take_back_prompt(self, visitor: Visitor, name: str) -> PromptWire:
        """Let our wording hold again; `NotFound` where it does."""
        before = await self._app.prompts.get(name)
        if not await self._app.prompts.back(name):
            raise NotFound(f"The prompt {name} is ours already.")
        after = await self._app.prompts.get(name)
        await self._app.audit.record(visitor.name, "prompt.back", name, before=before.text, after=after.text)
        return after

    async def prune(self, visitor: Visitor, days: int | None = None) -> Pruned:
        """Forget now what is older than so many days, by default than the settings want it kept."""
        pruned = await self._app.upkeep.prune(days)
        await self._app.audit.record(visitor.name, "storage.prune", "storage", days=days, **pruned.model_dump())
        return pruned

    async def _record(self, visitor: Visitor, action: str, changes: Sequence[Change]) -> None:
        for change in changes:
            await self._app.audit.record(visitor.name, action, change.path, before=change.before, after=change.after)
