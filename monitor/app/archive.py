"""The use cases around what was gathered: the items."""

import datetime as dt
from collections.abc import Sequence

from pydantic import BaseModel, Field

from monitor.app.briefings import check_sources
from monitor.briefing.wire import ItemWire, item_wire
from monitor.domain.revisions import ChangeKind, Edit, Revision
from monitor.domain.words import ItemType
from monitor.errors import UsageError
from monitor.evidence.telling import told
from monitor.store import Store
from monitor.store.items import ItemFilter


class ItemQuery(BaseModel):
    """Which items a person wants to see; days are of publication, both included."""

    sources: Sequence[str] = ()
    tags: Sequence[str] = ()
    types: Sequence[ItemType] = ()
    since: dt.date | None = None
    until: dt.date | None = None


class RevisionWire(BaseModel):
    """A change of an item's page as it leaves the program; `said` is its one sentence."""

    seen_at: dt.datetime
    kind: ChangeKind
    said: str
    reason: str
    edits: list[Edit]
    more_edits: int


class WholeItem(ItemWire):
    """An item with the text of its page as it was last seen, as far as it is kept, and its revisions, newest first."""

    run_id: str
    text: str | None = None
    revisions: list[RevisionWire] = Field(default_factory=list)


class Archive:
    """What was gathered."""

    def __init__(self, *, store: Store) -> None:
        self._store = store

    async def items(self, wanted: ItemQuery, limit: int | None = 50) -> list[ItemWire]:
        """The items that are meant, newest first; `UsageError` for a source that never was, or days reversed."""
        if wanted.since is not None and wanted.until is not None and wanted.since > wanted.until:
            raise UsageError(
                f"The range of dates is the wrong way round: {wanted.since} is after {wanted.until}; "
                "give the earlier one as --since."
            )
        await check_sources(wanted.sources, self._store)
        items = await self._store.items.list(ItemFilter.model_validate(wanted.model_dump()), limit=limit)
        return [item_wire(item) for item in items]

    async def item(self, item_id: int) -> WholeItem:
        """One item with the text of its page and its revisions; `UsageError` where there is none of that number."""
        item = await self._store.items.get(item_id)
        if item is None:
            raise UsageError(f"There is no item {item_id}; `monitor items list` shows the latest.")
        text = await self._store.items.text(item_id)
        revisions = [_revision_wire(one) for one in await self._store.revisions.of_item(item_id)]
        return WholeItem(**item_wire(item).model_dump(), run_id=item.run_id, text=text, revisions=revisions)

    async def search(self, query: str, limit: int = 50) -> list[ItemWire]:
        """The items whose title, summary or text holds these words as they stand, newest first."""
        if not query.strip():
            raise UsageError("There is nothing to search for: give a word that stands in a title, summary or text.")
        return [item_wire(item) for item in await self._store.items.search(query, limit)]


def _revision_wire(revision: Revision) -> RevisionWire:
    change = revision.change
    return RevisionWire(
        seen_at=revision.seen_at, kind=revision.kind, said=told(change, "en"), reason=revision.reason,
        edits=change.edits, more_edits=revision.more_edits,
    )  # fmt: skip
