"""Which items the full-text index has for some terms, the newest first.

A frequent word stands in hundreds of thousands of items, of which a page shows fifty. So the index is asked for the
items of the latest days first, by the marks of these days, and of more days only while too few are found.
"""

import datetime as dt
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ARRAY, ColumnElement, Text, and_, cast, func, literal, literal_column, select, text
from sqlalchemy import column as named
from sqlalchemy import table as table_of
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.domain.fulltext import ItemTerms
from monitor.domain.marks import HiddenItem
from monitor.domain.tables import Item, Source
from monitor.store.filters import ItemFilter, Words, conditions_of, newest_first
from monitor.store.indexing import INDEX, day_mark, source_mark
from monitor.store.sessions import dialect_of

MOST_READ = 1500
_SPANS = (1_000, 8_000, 64_000)
_FEW = 0.003
_MOST_STEPS = 100_000
_FEW_OF_ALL = 1000
_NOT_MANY = 5000
_MOST_DAYS = 400
_MOST_SOURCES = 200
_FEW_SOURCES = 8

Place = tuple[int, dt.date]
"""An item's number and its day."""

Ends = tuple[dt.date | None, dt.date | None]
"""The day of the latest item, and of the one so many places after it; None where there is none."""


@dataclass(frozen=True, kw_only=True)
class Meant:
    """The items that a search may find: `conditions` say which, `marks` are those of their sources where all have one.

    None of them is of a later day than `until`, or an earlier one than `since`. `is_narrow`: there are conditions of
    which the index knows nothing, beside that none is hidden. `ends` is what was seen of the days: in one transaction
    they stay as they are, however many terms are looked for.
    """

    conditions: Sequence[ColumnElement[bool]]
    marks: Sequence[str]
    since: dt.date | None
    until: dt.date | None
    is_narrow: bool
    ends: dict[tuple[dt.date | None, int], Ends] = field(default_factory=dict)


async def meant(session: AsyncSession, wanted: ItemFilter, *beside: ColumnElement[bool]) -> Meant:
    """The items of a filter, for which further conditions hold, with what the index knows of them."""
    words = await Words.of(session, wanted)
    marks = await _source_marks(session, words.source)
    known = {"since", "until", "after"} | ({"sources", "tags"} if marks else set())
    untils = [day for day in (wanted.until, wanted.after and wanted.after[0]) if day is not None]
    return Meant(
        conditions=[*conditions_of(wanted, words), *beside],
        marks=marks,
        since=wanted.since,
        until=min(untils, default=None),
        is_narrow=bool(beside) or _narrows(wanted, besides=known),
    )


def _narrows(wanted: ItemFilter, *, besides: set[str]) -> bool:
    """Whether anything is asked for but these fields; an empty list is nothing, as an empty tuple is."""
    told = {name: tuple(value) if isinstance(value, list) else value for name, value in iter(wanted)}
    usual = dict(iter(ItemFilter()))
    return any(told[name] != usual[name] for name in told if name not in besides)


async def newest_with(
    session: AsyncSession, terms: Sequence[str], among: Meant, most: int = MOST_READ
) -> AsyncIterator[Sequence[Place]]:
    """The items that have all the terms, newest first, in portions of `most` each at most.

    The next portion is looked for when the caller goes on.
    """
    until, share = among.until, 1.0
    for size in _SPANS:
        if share < _FEW and size != _SPANS[-1]:
            continue
        first, last = await _ends(session, among, until, size)
        if first is None:
            return
        days = _days(first, last)
        if not days or (among.since is not None and days[0] < among.since):
            break
        found = await _places(session, terms, among, most, days=days, is_dense=True)
        yield found
        until, share = days[-1] - dt.timedelta(days=1), len(found) / size
        if share < _FEW and among.marks:
            break
        if share < _FEW and size != _SPANS[-1] and len(terms) == 1:
            of_all = await _share_of_few(session, terms[0], most)
            if of_all is not None:
                share = of_all
                break
    is_dense = _is_dense(share, most) or 0 < len(among.marks) <= _FEW_SOURCES
    yield await _places(session, terms, among, most, until=until, is_dense=is_dense)


async def _share_of_few(session: AsyncSession, term: str, most: int) -> float | None:
    """Which share of all items has the term, where they are few enough for `most` of them to be found at once."""
    some = with_terms(session, [term]).limit(_NOT_MANY).subquery()
    counts = select(select(func.count()).select_from(some).scalar_subquery(), func.max(col(Item.id)))
    found, of = (await session.execute(counts)).one()
    is_so = found < _FEW_OF_ALL or (found < _NOT_MANY and _is_dense(found / of, most))
    return found / of if is_so else None


def _is_dense(share: float, most: int) -> bool:
    """Whether so many items stand close enough in the order of days for going along it, if this share has the terms."""
    return most <= share * _MOST_STEPS


async def count_with(session: AsyncSession, terms: Sequence[str], among: Meant, cap: int) -> int:
    """How many items have all the terms; none is counted beyond `cap`."""
    if among.is_narrow or among.since is not None or among.until is not None:
        count = 0
        async for portion in newest_with(session, terms, among, cap):
            count += len(portion)
            if count >= cap:
                break
        return min(count, cap)
    # Nothing but what is hidden has to be asked of the items themselves.
    found = with_terms(session, terms, among.marks).subquery()
    shown = select(found.c.item_id).where(found.c.item_id.not_in(select(col(HiddenItem.item_id)))).limit(cap)
    return await session.scalar(select(func.count()).select_from(shown.subquery())) or 0


async def use_the_index(session: AsyncSession) -> None:
    """Keep PostgreSQL from reading all lines instead: it does not count that they are long and lie apart."""
    if dialect_of(session) == "postgresql":
        await session.execute(text("SET LOCAL enable_seqscan = off"))


def with_terms(session: AsyncSession, terms: Sequence[str], *any_of: Sequence[str]) -> Any:
    """The numbers of the items that have all the terms, and of each further group of marks one."""
    groups = [group for group in any_of if group]
    if dialect_of(session) == "sqlite":
        # A term is made of letters and digits only: in quotes, nothing in it has a meaning to FTS5.
        quoted = [[f'"{term}"'] for term in terms] + [[f'"{mark}"' for mark in group] for group in groups]
        wanted = " AND ".join(f"({' OR '.join(some)})" for some in quoted)
        index = table_of(INDEX, named("rowid"))
        return select(index.c.rowid.label("item_id")).where(literal_column(INDEX).op("MATCH")(literal(wanted)))
    # Written like the expression that is indexed, or the index is not used.
    line = func.string_to_array(col(ItemTerms.terms), literal_column("' '"))
    has_one = [line.op("&&")(_array(group)) for group in groups]
    return select(col(ItemTerms.item_id).label("item_id")).where(and_(line.op("@>")(_array(terms)), *has_one))


def _array(terms: Sequence[str]) -> ColumnElement[Any]:
    return cast(list(terms), ARRAY(Text))


async def _places(
    session: AsyncSession,
    terms: Sequence[str],
    among: Meant,
    most: int,
    *,
    days: Sequence[dt.date] = (),
    until: dt.date | None = None,
    is_dense: bool,
) -> Sequence[Place]:
    """The newest items with the terms: those of the days, or those that are not newer than `until`.

    `is_dense`: they stand so close in the order of days that it is quicker to go along it than to look each of them
    up, wherever it lies.
    """
    # Made a table first, so that neither database asks the index, or reads a line of terms, item by item.
    found = with_terms(session, terms, list(map(day_mark, days)), among.marks).cte("found").prefix_with("MATERIALIZED")
    number = _unled(session, col(Item.id)) if is_dense else col(Item.id)
    conditions = [number.in_(select(found.c.item_id)), *among.conditions]
    if days:
        conditions.append(col(Item.day).between(days[-1], days[0]))
    elif until is not None:
        conditions.append(col(Item.day) <= until)
    query = select(col(Item.id), col(Item.day)).where(*conditions).order_by(*newest_first()).limit(most)
    return [(number or 0, day) for number, day in await session.execute(query)]


def _unled(session: AsyncSession, column: Any) -> Any:
    """The column, marked for SQLite as none that rows are to be found by."""
    return column.op("+")(0) if dialect_of(session) == "sqlite" else column


async def _ends(session: AsyncSession, among: Meant, until: dt.date | None, size: int) -> Ends:
    """Where the latest items begin and where so many of them end, each asked once for all terms of a search."""
    if (until, size) not in among.ends:
        older = [] if until is None else [col(Item.day) <= until]
        in_order = select(col(Item.day)).where(*older).order_by(*newest_first()).limit(1)
        ends = select(in_order.scalar_subquery(), in_order.offset(size).scalar_subquery())
        first, last = (await session.execute(ends)).one()
        among.ends[until, size] = (first, last)
    return among.ends[until, size]


def _days(first: dt.date, last: dt.date | None) -> list[dt.date]:
    """The latest days that have so many items together, the latest first; none where it is all or too many of them."""
    if last is None or (first - last).days >= _MOST_DAYS:
        return []
    return [first - dt.timedelta(days=number) for number in range((first - last).days + 1)]


async def _source_marks(session: AsyncSession, names: Sequence[str] | None) -> list[str]:
    """The marks of the sources of these names; none where items of a source that is gone may bear one of them too."""
    if not names or len(names) > _MOST_SOURCES:
        return []
    orphan = select(col(Item.id)).where(col(Item.source).in_(names), col(Item.source_id).is_(None)).limit(1)
    if await session.scalar(orphan) is not None:
        return []
    numbers = await session.scalars(select(col(Source.id)).where(col(Source.name).in_(names)))
    return [source_mark(number) for number in numbers if number is not None]
