"""Full-text search over the items and the texts of their pages, the same on SQLite and PostgreSQL.

The index tells which items have the terms of a query; whether its words occur, and side by side where they have to, is
then checked in the texts themselves. So both databases give the same results in the same order.
"""

import datetime as dt
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from monitor.db.fulltext_index import (
    MAX_SCANNED_ITEMS,
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
from monitor.db.tables.collection import Item
from monitor.db.terms import TextQuery, fold_text
from monitor.page import ChangeKind
from monitor.urls import is_on_site

_MAX_BATCH_ITEMS = 480
_MIN_BATCH_ITEMS = 60
_MAX_MATCHES = 4000
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


class FullTextQueries(Queries):
    """Finds at most the newest 4,000 items that match by the index alone.

    Where texts have to be checked, only the newest 1,500 items with the terms are. Of a query that does not need all
    its words, the newest 1,000 items of each word count.
    """

    async def find(
        self, query: TextQuery, scope: FullTextScope, *, limit: int | None, is_in_title: bool = False
    ) -> list[FullTextMatch]:
        """The items that match, or match in their title: the best first, among equals the newest."""
        if not query.clauses:
            return []
        async with self._sessions.begin_read() as session:
            await force_index(session)
            among = await _resolve_scope(session, scope)
            hits = _find_hits(session, query, scope, among, limit=limit, is_in_title=is_in_title, known={})
            return await _load_matches(session, [hit async for hit in hits])

    async def find_best(
        self,
        query: TextQuery,
        scope: FullTextScope,
        score: Callable[[FullTextHit], float],
        *,
        max_scored: int,
        limit: int,
        excludes_withdrawn: bool,
    ) -> list[tuple[FullTextMatch, float]]:
        """The items with the highest scores, among equals the newest, with their scores.

        Scored are the newest `max_scored` items with the query in their title and those with it anywhere.
        """
        seen: dict[int, FullTextHit] = {}
        if not query.clauses:
            return []
        async with self._sessions.begin_read() as session:
            await force_index(session)
            among = await _resolve_scope(session, scope)
            for is_in_title in (True, False):
                hits = _find_hits(session, query, scope, among, limit=max_scored, is_in_title=is_in_title, known=seen)
                seen |= {hit.item_id: hit for hit in [hit async for hit in hits]}
            scored = [(hit, score(hit)) for hit in seen.values() if not (excludes_withdrawn and hit.is_withdrawn)]
            scored.sort(key=lambda hit: (hit[1], hit[0].day, hit[0].item_id), reverse=True)
            matches = await _load_matches(session, [hit for hit, _ in scored[:limit]])
        return [(match, score) for match, (_, score) in zip(matches, scored, strict=False)]

    async def count(self, query: TextQuery, scope: FullTextScope, cap: int = 1000) -> int | None:
        """How many items match, at most `cap`; None where the texts would have to be checked."""
        if not query.clauses:
            return 0
        if not _is_index_sufficient(query, scope):
            return None
        terms = [term for clause in query.clauses for term in clause.terms]
        async with self._sessions.begin_read() as session:
            await force_index(session)
            return await count_items(session, terms, await _resolve_scope(session, scope), cap)


async def _find_hits(
    session: AsyncSession,
    query: TextQuery,
    scope: FullTextScope,
    among: IndexScope,
    *,
    limit: int | None,
    is_in_title: bool,
    known: Mapping[int, FullTextHit],
) -> AsyncIterator[FullTextHit]:
    """At most `limit` items that match, read in small batches, because texts are long; `known` ones are not read."""
    count, looked, size = 0, 0, _MIN_BATCH_ITEMS
    most = min(limit or _MAX_MATCHES, _MAX_MATCHES) if _is_index_sufficient(query, scope) else MAX_SCANNED_ITEMS
    async for numbers in _iter_item_ids(session, query, among, most, is_in_title=is_in_title):
        at = 0
        while some := numbers[at : at + size]:
            rows = await _load_rows(session, [number for number in some if number not in known])
            for number in some:
                hit = known.get(number) or _scan_row(rows[number], query)
                if hit is not None and _is_match(hit, query, scope, is_in_title=is_in_title):
                    yield hit
                    count += 1
                    if count == limit:
                        return
            at += len(some)
            looked += len(some)
            size = _compute_batch_size(looked, count, limit)


def _compute_batch_size(looked: int, count: int, limit: int | None) -> int:
    """How many items to read next: somewhat more than the share of matches so far suggests."""
    if limit is None:
        return _MAX_BATCH_ITEMS
    expected = (limit - count) * looked * 5 // (4 * count) if count else looked
    return min(max(expected, _MIN_BATCH_ITEMS), _MAX_BATCH_ITEMS)


async def _iter_item_ids(
    session: AsyncSession, query: TextQuery, among: IndexScope, most: int, *, is_in_title: bool
) -> AsyncIterator[list[int]]:
    """The ids of the items that may match, in their order and in portions of `most`."""
    mark, left = TITLE_PREFIX if is_in_title else "", max(most, MAX_SCANNED_ITEMS)
    if not query.is_strict:
        clauses = [[mark + term for term in clause.terms] for clause in query.clauses]
        places = await _find_any_clauses(session, clauses, query.needed, among)
        yield [item_id for item_id, _ in places[:left]]
        return
    terms = list(dict.fromkeys(mark + term for clause in query.clauses for term in clause.terms))
    async for portion in iter_newest_places(session, terms[:_MAX_TERMS], among, most):
        yield [item_id for item_id, _ in portion[:left]]
        left -= len(portion)
        if left <= 0:
            break


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


async def _resolve_scope(session: AsyncSession, scope: FullTextScope) -> IndexScope:
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
    item, text, snapshot = (SQLModel.metadata.tables[name] for name in ("item", "item_text", "item_sight"))
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


def _is_match(seen: FullTextHit, query: TextQuery, scope: FullTextScope, *, is_in_title: bool) -> bool:
    below = [False] * len(seen.in_body) if is_in_title else [count > 0 for count in seen.in_body]
    found = sum(title or body for title, body in zip(seen.in_title, below, strict=True))
    return found >= query.needed and (scope.site is None or is_on_site(seen.url, scope.site))


async def _load_matches(session: AsyncSession, seen: Sequence[FullTextHit]) -> list[FullTextMatch]:
    items: dict[int | None, Item] = {}
    for some in split_batches(hit.item_id for hit in seen):
        items |= {item.id: item for item in await session.scalars(select(Item).where(col(Item.id).in_(some)))}
    places = [field.name for field in fields(QueryPlaces)]
    return [FullTextMatch(item=items[hit.item_id], **{name: getattr(hit, name) for name in places}) for hit in seen]
