"""Full-text search over the items and the texts of their pages, the same on SQLite and PostgreSQL.

The index tells which items have the terms of a query; whether its words stand there, and side by side where they have
to, is then seen in the texts themselves. So both databases give the same answer in the same order.
"""

import datetime as dt
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from monitor.domain.revisions import ChangeKind
from monitor.domain.tables import Item
from monitor.domain.terms import TextQuery, folded
from monitor.domain.urls import is_on_site
from monitor.store.filters import ItemFilter
from monitor.store.indexing import IN_TITLE
from monitor.store.lookup import MOST_READ, Meant, Place, count_with, meant, newest_with, use_the_index
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, batches

_AT_ONCE = 480
_FIRST = 60
_MOST_GIVEN = 4000
_MOST_TERMS = 48
_MOST_OF_A_WORD = 1000


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Which items are searched: those of a filter, on a site and in a language.

    `site` is a host whose pages, and those of the hosts beneath it, are meant. An item that does not say its language
    is in every one.
    """

    items: ItemFilter
    site: str | None = None
    language: str | None = None


@dataclass(frozen=True, kw_only=True)
class Match:
    """An item in which a query was found: for each of its clauses, whether it stands in the title, and how often below.

    `body` is what is searched below the title: the summary, then the text of the page.
    """

    item: Item
    body: str
    in_title: tuple[bool, ...]
    in_body: tuple[int, ...]
    is_withdrawn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was seen of an item in whose text a query stands; the fields are those of a `Match`."""

    number: int
    day: dt.date
    url: str
    body: str
    in_title: tuple[bool, ...]
    in_body: tuple[int, ...]
    is_withdrawn: bool


@patient
class FullText:
    """Asks the index; at most the newest 4,000 items that it tells of are given.

    Where it cannot tell by itself whether a query stands there, the newest 1,500 that have the terms are looked into.
    Of a query that is content with less than all its words, the newest 1,000 items of each word count.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def find(
        self, query: TextQuery, scope: Scope, *, limit: int | None, is_in_title: bool = False
    ) -> list[Match]:
        """The items in which enough of the query stands: those with most of it first, among equals the newest.

        `is_in_title`: it stands in the title.
        """
        if not query.clauses:
            return []
        async with self._sessions.reading() as session:
            await use_the_index(session)
            among = await _meant(session, scope)
            standing = _standing(session, query, scope, among, limit=limit, is_in_title=is_in_title, known={})
            return await _matches(session, [one async for one in standing])

    async def best(
        self, query: TextQuery, scope: Scope, score_of: Callable[[Seen], float], *, of: int, limit: int, is_there: bool
    ) -> list[tuple[Match, float]]:
        """The items with the highest scores, among equals the newest, with their scores.

        Scored are the newest `of` with the query in their title and the newest `of` with it anywhere. `is_there`:
        what is withdrawn from its address is left out.
        """
        seen: dict[int, Seen] = {}
        if not query.clauses:
            return []
        async with self._sessions.reading() as session:
            await use_the_index(session)
            among = await _meant(session, scope)
            for is_in_title in (True, False):
                standing = _standing(session, query, scope, among, limit=of, is_in_title=is_in_title, known=seen)
                seen |= {one.number: one for one in [one async for one in standing]}
            scored = [(one, score_of(one)) for one in seen.values() if not (is_there and one.is_withdrawn)]
            scored.sort(key=lambda one: (one[1], one[0].day, one[0].number), reverse=True)
            matches = await _matches(session, [one for one, _ in scored[:limit]])
        return [(match, score) for match, (_, score) in zip(matches, scored, strict=False)]

    async def count(self, query: TextQuery, scope: Scope, cap: int = 1000) -> int | None:
        """In how many items the query stands, at most `cap`; None where the texts would have to be looked into."""
        if not query.clauses:
            return 0
        if not _is_told(query, scope):
            return None
        terms = [term for clause in query.clauses for term in clause.terms]
        async with self._sessions.reading() as session:
            await use_the_index(session)
            return await count_with(session, terms, await _meant(session, scope), cap)


async def _standing(
    session: AsyncSession,
    query: TextQuery,
    scope: Scope,
    among: Meant,
    *,
    limit: int | None,
    is_in_title: bool,
    known: Mapping[int, Seen],
) -> AsyncIterator[Seen]:
    """The items in which enough of the query stands, at most `limit`; those that are `known` are not read again.

    They are looked into a few at once: texts are long, and often the first are enough.
    """
    count, looked, size = 0, 0, _FIRST
    most = min(limit or _MOST_GIVEN, _MOST_GIVEN) if _is_told(query, scope) else MOST_READ
    async for numbers in _numbers(session, query, among, most, is_in_title=is_in_title):
        at = 0
        while some := numbers[at : at + size]:
            rows = await _rows(session, [number for number in some if number not in known])
            for number in some:
                one = known.get(number) or _looked_into(rows[number], query)
                if one is not None and _holds(one, query, scope, is_in_title=is_in_title):
                    yield one
                    count += 1
                    if count == limit:
                        return
            at += len(some)
            looked += len(some)
            size = _size_of_next(looked, count, limit)


def _size_of_next(looked: int, count: int, limit: int | None) -> int:
    """How many to look into next: somewhat more than should do, if so many hold as did until now."""
    if limit is None:
        return _AT_ONCE
    expected = (limit - count) * looked * 5 // (4 * count) if count else looked
    return min(max(expected, _FIRST), _AT_ONCE)


async def _numbers(
    session: AsyncSession, query: TextQuery, among: Meant, most: int, *, is_in_title: bool
) -> AsyncIterator[list[int]]:
    """The numbers of the items that may be meant, in their order and in portions of `most`."""
    left = max(most, MOST_READ)
    async for portion in _portions(session, query, among, most, is_in_title=is_in_title):
        yield [number for number, _ in portion[:left]]
        left -= len(portion)
        if left <= 0:
            break


async def _portions(
    session: AsyncSession, query: TextQuery, among: Meant, most: int, *, is_in_title: bool
) -> AsyncIterator[Sequence[Place]]:
    mark = IN_TITLE if is_in_title else ""
    if not query.is_strict:
        clauses = [[mark + term for term in clause.terms] for clause in query.clauses]
        yield await _with_some(session, clauses, query.needed, among)
        return
    terms = list(dict.fromkeys(mark + term for clause in query.clauses for term in clause.terms))
    async for portion in newest_with(session, terms[:_MOST_TERMS], among, most):
        yield portion


async def _with_some(session: AsyncSession, clauses: list[list[str]], needed: int, among: Meant) -> list[Place]:
    """The items that have `needed` of the clauses at least: those with most of them first, among equals the newest."""
    hits: Counter[Place] = Counter()
    for terms in clauses:
        of_this: list[Place] = []
        async for portion in newest_with(session, terms, among, _MOST_OF_A_WORD):
            of_this += portion
            if len(of_this) >= _MOST_OF_A_WORD:
                break
        hits.update(of_this[:_MOST_OF_A_WORD])
    enough = [place for place, count in hits.items() if count >= needed]
    return sorted(enough, key=lambda place: (hits[place], place[1], place[0]), reverse=True)


async def _meant(session: AsyncSession, scope: Scope) -> Meant:
    beside = []
    if scope.site is not None:
        beside.append(col(Item.url).icontains(scope.site, autoescape=True))
    if scope.language is not None:
        language = col(Item.language)
        beside.append(or_(language.is_(None), language.istartswith(_tongue(scope.language), autoescape=True)))
    return await meant(session, scope.items, *beside)


async def _rows(session: AsyncSession, numbers: list[int]) -> dict[int, Any]:
    """What is looked into of the items, by their numbers."""
    if not numbers:
        return {}
    # Of the tables, not of their classes, which makes rows more slowly.
    item, text, sight = (SQLModel.metadata.tables[name] for name in ("item", "item_text", "item_sight"))
    query = (
        select(item.c.id, item.c.day, item.c.url, item.c.title, item.c.summary, text.c.text, sight.c.standing)
        .outerjoin_from(item, text, text.c.item_id == item.c.id)
        .outerjoin(sight, sight.c.item_id == item.c.id)
        .where(item.c.id.in_(numbers))
    )
    return {row[0]: row for row in await session.execute(query)}


def _looked_into(row: Any, query: TextQuery) -> Seen | None:
    """What is seen of an item; None where a quick look was enough to tell that the query does not stand there."""
    number, day, url, title, summary, page, standing = row
    if query.untold and query.is_missing_in(f"{title}\n{summary}\n{page or ''}"):
        return None
    body = f"{summary}\n{page or ''}".strip()
    head, below = folded(title), folded(body)
    joined = "".join(below.split())
    return Seen(
        number=number,
        day=day,
        url=url,
        body=body,
        in_title=tuple(clause.pattern.search(head) is not None for clause in query.clauses),
        in_body=tuple(clause.count_in(below, joined) for clause in query.clauses),
        is_withdrawn=standing is ChangeKind.WITHDRAWN,
    )


def _is_told(query: TextQuery, scope: Scope) -> bool:
    """Whether the index alone tells which items are meant."""
    return query.is_strict and not query.untold and scope.site is None


def _holds(seen: Seen, query: TextQuery, scope: Scope, *, is_in_title: bool) -> bool:
    """Whether enough of the query stands where it has to, in an item that is meant."""
    below = [False] * len(seen.in_body) if is_in_title else [count > 0 for count in seen.in_body]
    found = sum(title or body for title, body in zip(seen.in_title, below, strict=True))
    return found >= query.needed and (scope.site is None or is_on_site(seen.url, scope.site))


async def _matches(session: AsyncSession, seen: Sequence[Seen]) -> list[Match]:
    items: dict[int, Item] = {}
    for some in batches(one.number for one in seen):
        found = await session.scalars(select(Item).where(col(Item.id).in_(some)))
        items.update({item.id or 0: item for item in found})
    return [
        Match(
            item=items[one.number],
            body=one.body,
            in_title=one.in_title,
            in_body=one.in_body,
            is_withdrawn=one.is_withdrawn,
        )
        for one in seen
    ]


def _tongue(language: str) -> str:
    return language.partition("-")[0]
