"""The search box: everything that a person may read, found by its words, by type; and their recent queries.

No model is asked: what is found by meaning stands in the search of the items.
"""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pydantic import BaseModel

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.fulltext import FullTextScope
from monitor.db.queries.filters import ItemFilter
from monitor.db.queries.global_search import MAX_COUNTED, Matches, MatchRow
from monitor.db.tables.collection import Item
from monitor.db.tables.questions import MAX_RECENT_QUERY_CHARS, RecentQuery
from monitor.db.terms import TextQuery
from monitor.search.backends.archive import ArchiveSearch, FoundItem
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.items import parse_text_query

MAX_FOUND = 50
DEFAULT_FOUND = 5
MAX_SUGGESTED = 3
_MAX_SUGGESTION_TEXTS = 120  # whose words are checked for somebody who still types


class FoundType(StrEnum):
    """What the search box finds, in the order in which it is shown."""

    ITEMS = "items"
    POLICIES = "policies"
    TOPICS = "topics"
    BRIEFINGS = "briefings"
    NOTES = "notes"
    SOURCES = "sources"
    RESEARCH = "research"


class FoundEntry(BaseModel):
    """Something that was found; `path` is that of its page. `snippet` is text of an item around the words."""

    path: str
    title: str
    about: str = ""
    day: dt.date | None = None
    snippet: str = ""


class FoundGroup(BaseModel):
    """What was found of one type, the best first; `total` is at most 1,000, and None where it was not counted."""

    type: FoundType
    total: int | None
    entries: list[FoundEntry]


class RecentQuerySchema(BaseModel):
    text: str
    at: dt.datetime


@dataclass(kw_only=True)
class GlobalSearchService:
    store: Store
    clock: Clock
    archive_search: ArchiveSearch

    def __post_init__(self) -> None:
        self._by_words = replace(self.archive_search, meaning=None)

    async def find(
        self, text: str, *, by: Actor, types: Sequence[FoundType] = (), limit: int = DEFAULT_FOUND
    ) -> list[FoundGroup]:
        """Return what was found of each of the types, all of them by default; a type without a match is left out.

        `UsageError` for a query that is too long or has no word.
        """
        query = parse_text_query(text)
        wanted = types or tuple(FoundType)
        groups = []
        if FoundType.ITEMS in wanted:
            everything = FullTextScope(items=ItemFilter())
            found = await self._by_words.search(text, everything, limit=limit)
            total = len(found.items)
            if total == limit:
                total = await self.store.fulltext.count(query, everything, cap=MAX_COUNTED) or 0
            groups.append(
                FoundGroup(type=FoundType.ITEMS, total=total or None, entries=[*map(_describe_found, found.items)])
            )
        groups += await self._find_others(text, by, wanted, limit=limit, counts=True)
        return [group for group in groups if group.entries]

    async def suggest(self, text: str, *, by: Actor) -> list[FoundGroup]:
        """Return the first few of each type for somebody who still types: cheap, and without totals.

        Of the items those with the words in their titles come first, begun words too, among the newest.
        """
        query = parse_text_query(text)
        items = await self._suggest_items(text, query)
        entries = [
            FoundEntry(path=f"/items/{item.id}", title=item.title, about=item.source, day=item.day) for item in items
        ]
        groups = [FoundGroup(type=FoundType.ITEMS, total=None, entries=entries)]
        groups += await self._find_others(text, by, tuple(FoundType), limit=MAX_SUGGESTED, counts=False)
        return [group for group in groups if group.entries]

    async def _suggest_items(self, text: str, query: TextQuery) -> list[Item]:
        everything = FullTextScope(items=ItemFilter())
        found: dict[int | None, Item] = {}
        for is_in_title in (True, None, False):
            if is_in_title is None:
                more = await self.store.global_search.find_newest_titles(text, limit=MAX_SUGGESTED)
            else:
                page = await self.store.fulltext.find_page(
                    query, everything, limit=MAX_SUGGESTED, is_in_title=is_in_title, max_texts=_MAX_SUGGESTION_TEXTS
                )
                more = [match.item for match in page.matches]
            found |= {item.id: item for item in more if item.id not in found}
            if len(found) >= MAX_SUGGESTED:
                break
        return list(found.values())[:MAX_SUGGESTED]

    async def _find_others(
        self, text: str, by: Actor, wanted: Sequence[FoundType], *, limit: int, counts: bool
    ) -> list[FoundGroup]:
        """Find what is no item; a reader does not find private notes and researches of others."""
        store = self.store.global_search
        reader = None if by.name == COMMAND_LINE.name else by.owner
        finders: dict[FoundType, Callable[[], Awaitable[Matches]]] = {
            FoundType.POLICIES: lambda: store.find_policies(text, limit=limit, counts=counts),
            FoundType.TOPICS: lambda: store.find_topics(text, limit=limit, counts=counts),
            FoundType.BRIEFINGS: lambda: store.find_briefings(text, limit=limit, counts=counts),
            FoundType.NOTES: lambda: store.find_notes(text, reader=by.owner, limit=limit, counts=counts),
            FoundType.SOURCES: lambda: store.find_sources(text, limit=limit, counts=counts),
            FoundType.RESEARCH: lambda: store.find_researches(text, reader=reader, limit=limit, counts=counts),
        }
        groups = []
        for kind in (kind for kind in finders if kind in wanted):
            matches = await finders[kind]()
            entries = [_describe_row(kind, row) for row in matches.rows]
            groups.append(FoundGroup(type=kind, total=matches.total, entries=entries))
        return groups

    async def remember(self, text: str, *, by: Actor) -> None:
        """Keep a query as the person's newest one."""
        text = " ".join(text.split())
        if 0 < len(text) <= MAX_RECENT_QUERY_CHARS:
            await self.store.global_search.add_recent(RecentQuery(person=by.owner, text=text, at=self.clock.now()))

    async def list_recent(self, *, by: Actor) -> list[RecentQuerySchema]:
        rows = await self.store.global_search.list_recent(by.owner)
        return [RecentQuerySchema(text=row.text, at=row.at) for row in rows]

    async def forget(self, text: str | None = None, *, by: Actor) -> None:
        """Forget one query of the person, or all of them."""
        await self.store.global_search.remove_recent(by.owner, text)


def _describe_found(found: FoundItem) -> FoundEntry:
    item = found.item
    return FoundEntry(
        path=f"/items/{item.id}", title=item.title, about=item.source, day=item.day, snippet=found.snippet
    )


def _describe_row(kind: FoundType, row: MatchRow) -> FoundEntry:
    path = f"/{row.key}#notes" if kind is FoundType.NOTES else f"/{kind}/{row.key}"
    day = row.at.date() if isinstance(row.at, dt.datetime) else row.at
    return FoundEntry(path=path, title=row.title, about=row.about, day=day)
