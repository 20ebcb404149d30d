"""What people change about sources, by page or by API: done, and put on record with what was before and after."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

from monitor.app.exchange import Form, rows_of
from monitor.app.source_form import differences, form_values
from monitor.app.sources import ImportEntry, Newness
from monitor.bootstrap import App
from monitor.domain.tables import Source
from monitor.errors import UsageError
from monitor.web.gate import Visitor

MOST_AT_ONCE = 1000


class BulkAction(StrEnum):
    """What can be done to several sources at once."""

    ENABLE = "enable"
    DISABLE = "disable"
    TAG = "tag"
    UNTAG = "untag"


class SourceWork:
    """Changes of sources in the name of a visitor."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def add(self, visitor: Visitor, values: Mapping[str, Any]) -> Source:
        source = await self._app.sources.add(values)
        await self._note(visitor, "source.add", source, after=form_values(source))
        return source

    async def edit(self, visitor: Visitor, source_id: int, changes: Mapping[str, Any]) -> Source:
        """Change fields of a source; one that is left as it was is not on record."""
        before = await self._app.sources.by_id(source_id)
        after = await self._app.sources.edit(before.name, changes)
        was, now = differences(before, after)
        if now:
            await self._note(visitor, "source.edit", after, before=was, after=now)
        return after

    async def remove(self, visitor: Visitor, source_id: int) -> Source:
        """Stop watching a source; its items and runs stay."""
        source = await self._app.sources.by_id(source_id)
        await self._app.sources.remove(source.name)
        await self._note(visitor, "source.remove", source, before=form_values(source))
        return source

    async def run(self, visitor: Visitor, source_id: int) -> str:
        """Put a run of a source into the queue; answers its id."""
        source = await self._app.sources.by_id(source_id)
        run_id = await self._app.sweeps.enqueue(source)
        await self._note(visitor, "source.run", source, run=run_id)
        return run_id

    async def change(
        self, visitor: Visitor, source_ids: Collection[int], action: BulkAction, tag: str = ""
    ) -> list[Source]:
        """Do the same to several sources; answers those that it changed."""
        if len(source_ids) > MOST_AT_ONCE:
            raise UsageError(f"Choose at most {MOST_AT_ONCE:,} sources at once.")
        sources = self._app.sources
        if action in (BulkAction.ENABLE, BulkAction.DISABLE):
            changed = await sources.switch(source_ids, is_on=action is BulkAction.ENABLE)
        else:
            changed = await sources.tag(source_ids, tag, is_on=action is BulkAction.TAG)
        told = {"tag": tag} if action in (BulkAction.TAG, BulkAction.UNTAG) else {}
        for source in changed:
            await self._note(visitor, f"source.{action}", source, **told)
        return changed

    async def examine(self, content: bytes, form: Form, *, where: str) -> list[ImportEntry]:
        """What would become of each entry of a list of sources."""
        rows = await asyncio.to_thread(rows_of, content, form, where=where)
        return await self._app.sources.examine(rows)

    async def bring_in(self, visitor: Visitor, content: bytes, form: Form, *, where: str) -> list[Source]:
        """Add all sources of a list, or none where one is wrong or its name is taken."""
        rows = await asyncio.to_thread(rows_of, content, form, where=where)
        sources = await self._app.sources.bring_in(rows, where=where)
        for source in sources:
            await self._note(visitor, "source.import", source, after=form_values(source))
        return sources

    async def _note(self, visitor: Visitor, action: str, source: Source, **detail: Any) -> None:
        await self._app.audit.record(visitor.name, action, source.name, **detail)


def is_good(entries: Sequence[ImportEntry]) -> bool:
    """Whether a list can be brought in as it stands."""
    return bool(entries) and all(entry.newness is Newness.NEW for entry in entries)
