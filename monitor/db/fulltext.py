"""Full-text search over the items and the texts of their pages, the same on SQLite and PostgreSQL.

The index tells which items have the terms of a query; whether its words occur, and side by side where they have to, is
then checked in the texts themselves. So both databases give the same results in the same order.
"""

import datetime as dt
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from monitor.db.fulltext_index import (
    TITLE_PREFIX,
    IndexScope,
    ItemPlace,
    build_index_scope,
    count_items,
    force_index,
    iter_newest_places,
)
from monitor.db.queries.filters import ItemFilter
from monitor.db.sessions import Queries, split_batches
from monitor.db.tables.collection import Item, ItemPageText
from monitor.db.tables.evidence import ItemSnapshot
from monitor.db.terms import TextQuery, fold_text
from monitor.page import ChangeKind
from monitor.urls import is_on_site

MAX_PAGE_TEXTS = 3000
ItemKey = tuple[dt.date, int]  # where a list goes on: the day and the number of the last item
_MAX_BATCH_ITEMS = 480
_MIN_BATCH_ITEMS = 60
_MAX_CHECKED_PORTION = 1500
_MAX_TERMS = 48
_MAX_ITEMS_PER_CLAUSE = 1000


@dataclass(frozen=True, kw_only=True)
class FullTextScope:
    """Which items are searched: those of a filter, on a host or its subdomains, in a language or an unknown one."""

    items: ItemFilter
    site: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlaces:
    """Where the clauses of a query were found; `body` is the summary and the text of the page."""

    body: str
    in_title: tuple[bool, ...]
    in_body: tuple[int, ...]
    is_withdrawn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FullTextMatch(QueryPlaces):
    item: Item


@dataclass(frozen=True, slots=True, kw_only=True)
class FullTextHit(QueryPlaces):
    """The columns of an item in which a query was found, before the item is loaded."""

    item_id: int
    day: dt.date
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FullTextPage:
    """Matches, newest first; `stopped_at` is where a bounded search ended before it had enough of them, or None."""

    matches: list[FullTextMatch]
    stopped_at: ItemKey | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedMatches:
    """Matches with their scores, the best first; `ranked_since`: matches of an earlier day were not compared."""

    matches: list[tuple[FullTextMatch, float]]
    ranked_since: dt.date | None


class FullTextQueries(Queries):
    """Finds all items that match, in the order of lists.

    Of a query that does not need all its words, the newest 1,000 items of each word count, and those with most of them
    come first.
    """

    async def find(
        self, query: TextQuery, scope: FullTextScope, *, limit: int | None, is_in_title: bool = False
    ) -> list[FullTextMatch]:
        """The newest items that match, or match in their title, however many texts have to be read for them."""
        return (await self._find(query, scope, limit, is_in_title=is_in_title, max_texts=None)).matches

    async def find_page(
        self,
        query: TextQuery,
        scope: FullTextScope,
        *,
        limit: int,
        is_in_title: bool = False,
        max_texts: int | None = None,
    ) -> FullTextPage:
        """The same for somebody who waits: at most so many texts, else 3,000, are read before the answer."""
        max_texts = MAX_PAGE_TEXTS if max_texts is None else max_texts
        return await self._find(query, scope, limit, is_in_title=is_in_title, max_texts=max_texts)

    async def _find(
        self, query: TextQuery, scope: FullTextScope, limit: int | None, *, is_in_title: bool, max_texts: int | None
    ) -> FullTextPage:
        if not query.clauses:
            return FullTextPage(matches=[], stopped_at=None)
        async with self._sessions.begin_read() as session:
            await force_index(session)
            among = await resolve_scope(session, scope)
            scan = _Scan(query, scope, among, limit=limit, max_texts=max_texts, is_in_title=is_in_title)
            hits = [hit async for hit in scan.iter_hits(session, known={})]
            return FullTextPage(matches=await _load_matches(session, hits), stopped_at=scan.stopped_at)

    async def find_best(
        self,
        query: TextQuery,
        scope: FullTextScope,
        score: Callable[[FullTextHit], float],
        *,
        max_scored: int,
        limit: int,
        excludes_withdrawn: bool,
    ) -> RankedMatches:
        """The items with the highest scores, among equals the newest.

        Scored are the newest `max_scored` items with the query in their title and those with it anywhere, as far as
        reading 3,000 texts finds them.
        """
        seen: dict[int, FullTextHit] = {}
        ranked_since = None
        if not query.clauses:
            return RankedMatches(matches=[], ranked_since=None)
        async with self._sessions.begin_read() as session:
            await force_index(session)
            among = await resolve_scope(session, scope)
            for is_in_title in (True, False):
                scan = _Scan(query, scope, among, limit=max_scored, max_texts=MAX_PAGE_TEXTS, is_in_title=is_in_title)
                hits = [hit async for hit in scan.iter_hits(session, known=seen)]
                seen |= {hit.item_id: hit for hit in hits}
                ranked_since = scan.get_earliest_day(hits)
            scored = [(hit, score(hit)) for hit in seen.values() if not (excludes_withdrawn and hit.is_withdrawn)]
            scored.sort(key=lambda hit: (hit[1], hit[0].day, hit[0].item_id), reverse=True)
            matches = await _load_matches(session, [hit for hit, _ in scored[:limit]])
        pairs = [(match, score) for match, (_, score) in zip(matches, scored, strict=False)]
        return RankedMatches(matches=pairs, ranked_since=ranked_since)

    async def count(self, query: TextQuery, scope: FullTextScope, cap: int = 1000) -> int | None:
        """How many items match, at most `cap`; None where the texts would have to be checked."""
        if not query.clauses:
            return 0
        if not _is_index_sufficient(query, scope):
            return None
        terms = [term for clause in query.clauses for term in clause.terms]
        async with self._sessions.begin_read() as session:
            await force_index(session)
            return await count_items(session, terms, await resolve_scope(session, scope), cap)


@dataclass
class _Scan:
    """One way through the items that may match: which were looked into, and where it ended.

    `max_texts` bounds how many texts are read where the index does not tell whether they match; None reads on until
    `limit` do.
    """

    query: TextQuery
    scope: FullTextScope
    among: IndexScope
    limit: int | None = field(kw_only=True)
    max_texts: int | None = field(kw_only=True)
    is_in_title: bool = field(kw_only=True)
    stopped_at: ItemKey | None = None

    async def iter_hits(self, session: AsyncSession, *, known: Mapping[int, FullTextHit]) -> AsyncIterator[FullTextHit]:
        """At most `limit` items that match, read in small batches, for texts are long; `known` ones are not read."""
        count, looked, size = 0, 0, _MIN_BATCH_ITEMS
        most = sys.maxsize if self.max_texts is None or not self._needs_texts else self.max_texts
        async for places in self._iter_places(session):
            at = 0
            while some := places[at : at + min(size, most - looked)]:
                rows = await _load_rows(session, [number for number, _ in some if number not in known])
                for number, _ in some:
                    hit = known.get(number) or _scan_row(rows[number], self.query)
                    if hit is not None and self._is_match(hit):
                        yield hit
                        count += 1
                        if count == self.limit:
                            return
                at += len(some)
                looked += len(some)
                if looked >= most:
                    self.stopped_at = (some[-1][1], some[-1][0])
                    return
                size = _compute_batch_size(looked, count, self.limit)

    @property
    def _needs_texts(self) -> bool:
        return not _is_index_sufficient(self.query, self.scope)

    def get_earliest_day(self, hits: Sequence[FullTextHit]) -> dt.date | None:
        """The day before which matches may have been left out; None where there are no more."""
        if self.stopped_at is not None:
            return self.stopped_at[0]
        return hits[-1].day if self.limit is not None and len(hits) >= self.limit else None

    async def _iter_places(self, session: AsyncSession) -> AsyncIterator[Sequence[ItemPlace]]:
        """The items that may match, in their order, in portions: as many as are wanted where the index tells all."""
        mark = TITLE_PREFIX if self.is_in_title else ""
        clauses = [[mark + term for term in clause.terms] for clause in self.query.clauses]
        if not self.query.is_strict:
            yield await _find_any_clauses(session, clauses, self.query.needed, self.among)
            return
        terms = list(dict.fromkeys(term for clause in clauses for term in clause))[:_MAX_TERMS]
        enough = None if self._needs_texts else self.limit
        async for portion in iter_newest_places(session, terms, self.among, enough or _MAX_CHECKED_PORTION):
            yield portion

    def _is_match(self, hit: FullTextHit) -> bool:
        below = [False] * len(hit.in_body) if self.is_in_title else [count > 0 for count in hit.in_body]
        found = sum(title or body for title, body in zip(hit.in_title, below, strict=True))
        return found >= self.query.needed and (self.scope.site is None or is_on_site(hit.url, self.scope.site))


def _compute_batch_size(looked: int, count: int, limit: int | None) -> int:
    """How many items to read next: somewhat more than the share of matches so far suggests."""
    if limit is None:
        return _MAX_BATCH_ITEMS
    expected = (limit - count) * looked * 5 // (4 * count) if count else looked
    return min(max(expected, _MIN_BATCH_ITEMS), _MAX_BATCH_ITEMS)


async def _find_any_clauses(
    session: AsyncSession, clauses: list[list[str]], needed: int, among: IndexScope
) -> list[ItemPlace]:
    """The items that have `needed` of the clauses: those with most of them first, among equals the newest."""
    hits: Counter[ItemPlace] = Counter()
    for terms in clauses:
        of_this: list[ItemPlace] = []
        async for portion in iter_newest_places(session, terms, among, _MAX_ITEMS_PER_CLAUSE):
            of_this += portion
            if len(of_this) >= _MAX_ITEMS_PER_CLAUSE:
                break
        hits.update(of_this[:_MAX_ITEMS_PER_CLAUSE])
    enough = [place for place, count in hits.items() if count >= needed]
    return sorted(enough, key=lambda place: (hits[place], place[1], place[0]), reverse=True)


async def resolve_scope(session: AsyncSession, scope: FullTextScope) -> IndexScope:
    beside = []
    if scope.site is not None:
        beside.append(col(Item.url).icontains(scope.site, autoescape=True))
    if scope.language is not None:
        language, primary = col(Item.language), scope.language.partition("-")[0]
        beside.append(or_(language.is_(None), language.istartswith(primary, autoescape=True)))
    return await build_index_scope(session, scope.items, *beside)


async def _load_rows(session: AsyncSession, numbers: list[int]) -> dict[int, Any]:
    if not numbers:
        return {}
    # By table: rows of mapped classes are slower.
    item, text, snapshot = (
        SQLModel.metadata.tables[str(model.__tablename__)] for model in (Item, ItemPageText, ItemSnapshot)
    )
    query = (
        select(item.c.id, item.c.day, item.c.url, item.c.title, item.c.summary, text.c.text, snapshot.c.standing)
        .outerjoin_from(item, text, text.c.item_id == item.c.id)
        .outerjoin(snapshot, snapshot.c.item_id == item.c.id)
        .where(item.c.id.in_(numbers))
    )
    return {row[0]: row for row in await session.execute(query)}


def _scan_row(row: Any, query: TextQuery) -> FullTextHit | None:
    """None where a quick check shows that the query does not match."""
    number, day, url, title, summary, page, state = row
    if query.unverified_clauses and query.is_missing_in(f"{title}\n{summary}\n{page or ''}"):
        return None
    body = f"{summary}\n{page or ''}".strip()
    head, below = fold_text(title), fold_text(body)
    joined = "".join(below.split())
    return FullTextHit(
        item_id=number,
        day=day,
        url=url,
        body=body,
        in_title=tuple(clause.pattern.search(head) is not None for clause in query.clauses),
        in_body=tuple(clause.count_in(below, joined) for clause in query.clauses),
        is_withdrawn=state is ChangeKind.WITHDRAWN,
    )


def _is_index_sufficient(query: TextQuery, scope: FullTextScope) -> bool:
    return query.is_strict and not query.unverified_clauses and scope.site is None


async def _load_matches(session: AsyncSession, seen: Sequence[FullTextHit]) -> list[FullTextMatch]:
    items: dict[int | None, Item] = {}
    for some in split_batches(hit.item_id for hit in seen):
        items |= {item.id: item for item in await session.scalars(select(Item).where(col(Item.id).in_(some)))}
    places = [each.name for each in fields(QueryPlaces)]
    return [FullTextMatch(item=items[hit.item_id], **{name: getattr(hit, name) for name in places}) for hit in seen]
