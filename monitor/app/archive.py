"""The use cases around what was gathered: the items."""

import datetime as dt
from collections.abc import Sequence

from pydantic import BaseModel, Field

from monitor.app.briefings import check_sources
from monitor.briefing.wire import ItemWire, item_wire
from monitor.domain.revisions import ChangeKind, Edit, Revision
from monitor.domain.terms import TextQuery
from monitor.domain.words import ItemType
from monitor.errors import NotFound, UsageError
from monitor.evidence.telling import told
from monitor.search.archive_search import ArchiveSearch
from monitor.store import Store
from monitor.store.filters import ItemFilter
from monitor.store.fulltext import Scope


class ItemQuery(BaseModel):
    """Which items a person wants to see; days are of publication, both included.

    All words of `text` stand in the title, the summary or the text, what is in quotes word for word. `site`, for what
    has a text to look for, is a host whose items, and those of hosts beneath it, are meant. `section` stands in the
    section's name; `starred_by` is a person; hidden items are left out unless `is_hidden` is None (both) or True.
    `first_seen_since` is an instant.
    """

    sources: Sequence[str] = ()
    tags: Sequence[str] = ()
    types: Sequence[ItemType] = ()
    since: dt.date | None = None
    until: dt.date | None = None
    text: str = ""
    site: str | None = None
    section: str | None = None
    document_number: str | None = None
    language: str | None = None
    late: bool | None = None
    starred_by: str | None = None
    is_hidden: bool | None = False
    first_seen_since: dt.datetime | None = None


class FoundWire(ItemWire):
    """An item that a search found, with its score, 0 to 1, and what stands around the words that were searched for."""

    score: float
    snippet: str


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
    def __init__(self, *, store: Store, search: ArchiveSearch) -> None:
        self._store = store
        self._search = search

    async def items(self, wanted: ItemQuery, limit: int | None = 50) -> list[ItemWire]:
        """The items that are meant, newest first; `UsageError` for a source that never was, or days reversed."""
        scope = await scope_of(wanted, self._store)
        if not wanted.text.strip():
            items = await self._store.items.list(scope.items, limit=limit)
        else:
            matches = await self._store.fulltext.find(query_of(wanted.text), scope, limit=limit)
            items = [match.item for match in matches]
        return [item_wire(item) for item in items]

    async def item(self, item_id: int, *, language: str = "en") -> WholeItem:
        """One item with the text of its page and its revisions, these told in a language; `NotFound` for no item."""
        item = await self._store.items.get(item_id)
        if item is None:
            raise NotFound(f"There is no item {item_id}; `monitor items list` shows the latest.")
        text = await self._store.items.text(item_id)
        revisions = [_revision_wire(revision, language) for revision in await self._store.revisions.of_item(item_id)]
        return WholeItem(**item_wire(item).model_dump(), run_id=item.run_id, text=text, revisions=revisions)

    async def search(self, wanted: ItemQuery, limit: int = 50) -> list[FoundWire]:
        """The items in which the text that is looked for stands, the best first."""
        query_of(wanted.text)
        found = await self._search.search(wanted.text, await scope_of(wanted, self._store), limit=limit)
        return [FoundWire(**item_wire(one.item).model_dump(), score=one.score, snippet=one.snippet) for one in found]


async def scope_of(wanted: ItemQuery, store: Store) -> Scope:
    """The items that are meant, as the store is asked for them; `UsageError` as `Archive.items` says."""
    if wanted.since is not None and wanted.until is not None and wanted.since > wanted.until:
        raise UsageError(
            f"The range of dates is the wrong way round: {wanted.since} is after {wanted.until}; "
            "put the earlier one first."
        )
    await check_sources(wanted.sources, store)
    return Scope(items=ItemFilter.model_validate(wanted.model_dump(exclude={"text", "site"})), site=wanted.site)


def query_of(text: str) -> TextQuery:
    """What a person typed to search for; `UsageError` where no word is in it."""
    query = TextQuery.parse(text)
    if not query.clauses:
        raise UsageError("There is nothing to search for: give a word that stands in a title, summary or text.")
    return query


def _revision_wire(revision: Revision, language: str) -> RevisionWire:
    change = revision.change
    return RevisionWire(
        seen_at=revision.seen_at,
        kind=revision.kind,
        said=told(change, language),
        reason=revision.reason,
        edits=change.edits,
        more_edits=revision.more_edits,
    )
