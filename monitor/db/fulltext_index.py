"""The full-text index: every transaction that changes what is searched calls `index_item`.

The rows stand in a plain table, from which the database makes its own index, so that a copy, a backup or a cascade
brings the index along. Beside its terms, each item has marks of its day and its source: they let the index find the
newest items of a frequent word, and those of one source.
"""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import (
    ARRAY,
    CTE,
    ColumnElement,
    Connection,
    Select,
    Text,
    and_,
    cast,
    func,
    literal,
    literal_column,
    select,
    true,
    tuple_,
)
from sqlalchemy import column as named
from sqlalchemy import table as table_of
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.queries.filters import ColumnValues, ItemFilter, build_conditions, is_hidden, order_by_newest
from monitor.db.sessions import get_dialect, sanitize_text, sanitize_value, split_batches, upsert_rows
from monitor.db.tables.collection import Item, ItemPageText, Source
from monitor.db.tables.research import ItemTerms
from monitor.db.terms import extract_terms
from monitor.db.visibility import get_eyes, get_unbound_columns

INDEX_NAME = "item_terms_index"
"""The name of the index in either database; the tables that SQLite makes for it begin with it."""

TITLE_PREFIX = "t:"  # marks a term as one of the title
MAX_INDEXED_CHARS = 500_000
"""How much of a page's text can be found: the terms of a longer one are the work of seconds."""

_MAX_INLINE_CHARS = 20_000  # takes so long to cut into terms that it is done in a thread
_INDEXED_FIELDS = frozenset({"title", "summary", "date"})


def build_terms_line(title: str, summary: str, text: str) -> str:
    """All terms of an item in one line, sorted and separated by spaces."""
    in_title = extract_terms(title)
    terms = in_title | extract_terms(summary) | extract_terms(text)
    return " ".join(sorted(terms | {TITLE_PREFIX + term for term in in_title}))


def format_day_mark(day: dt.date) -> str:
    return f"d:{day:%Y%m%d}"


def format_source_mark(source_id: int) -> str:
    return f"s:{source_id}"


def append_marks(line: str, day: dt.date, source_id: int | None) -> str:
    return " ".join([line, format_day_mark(day), *([] if source_id is None else [format_source_mark(source_id)])])


async def index_item(session: AsyncSession, item: Item, *, text: str | None = None) -> None:
    """Index an item as it is in this transaction; `text` is that of its page, if the caller has it."""
    if text is None:
        text = await session.scalar(select(col(ItemPageText.text)).where(col(ItemPageText.item_id) == item.id))
    text = (text or "")[:MAX_INDEXED_CHARS]
    if len(text) > _MAX_INLINE_CHARS:
        line = await asyncio.to_thread(build_terms_line, item.title, item.summary, sanitize_text(text))
    else:
        line = build_terms_line(item.title, item.summary, sanitize_text(text))
    await upsert_rows(session, ItemTerms, [_build_row(item, line)], key=["item_id"], update=["terms"])


async def update_item(session: AsyncSession, item: Item, changes: Mapping[str, Any], text: str | None) -> None:
    """Change fields of an item and, unless `text` is None, the text of its page, and index it where that matters."""
    item.sqlmodel_update(sanitize_value(dict(changes)))
    if text is not None:
        row = {"item_id": item.id, "text": sanitize_text(text)}
        await upsert_rows(session, ItemPageText, [row], key=["item_id"], update=["text"])
    if text is not None or _INDEXED_FIELDS & changes.keys():
        await index_item(session, item, text=text)


async def reindex_without_texts(session: AsyncSession, item_ids: Iterable[int]) -> None:
    """Index items again whose texts were deleted."""
    for some in split_batches(item_ids):
        rows = [
            _build_row(item, build_terms_line(item.title, item.summary, ""))
            for item in await session.scalars(select(Item).where(col(Item.id).in_(some)))
        ]
        await upsert_rows(session, ItemTerms, rows, key=["item_id"], update=["terms"])


def _build_row(item: Item, line: str) -> dict[str, Any]:
    return {"item_id": item.id, "terms": append_marks(line, item.day, item.source_id)}


_FTS5 = """CREATE VIRTUAL TABLE item_terms_index USING fts5(
    terms, content='item_terms', content_rowid='item_id', detail=none, columnsize=0, tokenize="ascii tokenchars ':'"
)"""
_REBUILD = "INSERT INTO item_terms_index(item_terms_index) VALUES ('rebuild')"
_BUILD_SIZE = "INSERT INTO item_terms_index(item_terms_index, rank) VALUES ('hashsize', 67108864)"
_USUAL_SIZE = "INSERT INTO item_terms_index(item_terms_index, rank) VALUES ('hashsize', 1048576)"
_ADD = "INSERT INTO item_terms_index(rowid, terms) VALUES (new.item_id, new.terms);"
_DELETE = "INSERT INTO item_terms_index(item_terms_index, rowid, terms) VALUES ('delete', old.item_id, old.terms);"

_TRIGGERS = {
    "item_terms_added": f"AFTER INSERT ON item_terms BEGIN {_ADD} END",
    "item_terms_gone": f"AFTER DELETE ON item_terms BEGIN {_DELETE} END",
    "item_terms_changed": f"AFTER UPDATE ON item_terms BEGIN {_DELETE} {_ADD} END",
}

_GIN = "CREATE INDEX item_terms_index ON item_terms USING gin (string_to_array(terms, ' '))"


def drop_index(connection: Connection) -> None:
    """Drop the index: bulk inserts are much faster without it."""
    if connection.dialect.name == "sqlite":
        for trigger in _TRIGGERS:
            connection.exec_driver_sql(f"DROP TRIGGER {trigger}")
        connection.exec_driver_sql("DROP TABLE item_terms_index")
    else:
        connection.exec_driver_sql("DROP INDEX item_terms_index")


def create_index(connection: Connection) -> None:
    """Build the index, and on SQLite the triggers that keep it in step."""
    if connection.dialect.name == "sqlite":
        # A large index is built in few large pieces; afterwards pieces have FTS5's usual size.
        triggers = (f"CREATE TRIGGER {name} {when}" for name, when in _TRIGGERS.items())
        for statement in (_FTS5, _BUILD_SIZE, _REBUILD, _USUAL_SIZE, *triggers):
            connection.exec_driver_sql(statement)
    else:
        connection.exec_driver_sql(_GIN)


_MAX_PORTION = 10_000
_SPAN_SIZES = (1_000, 8_000, 64_000)
_MIN_DENSE_SHARE = 0.003
_MAX_STEPS = 100_000
_MAX_RARE_MATCHES = 1000
_MAX_COUNTED_MATCHES = 5000
_MAX_DAYS = 400
_MAX_SOURCES = 200
_MAX_DENSE_SOURCES = 8
ItemPlace = tuple[int, dt.date]  # an item's id and its day
DayRange = tuple[dt.date | None, dt.date | None]
"""The days of the latest item and of the one so many places after it; None where there is none."""


@dataclass(frozen=True, kw_only=True)
class IndexScope:
    """The items that a search may find: those that meet the `conditions`.

    `source_marks` are the marks of their sources, if all have one. `is_narrow`: there are conditions of which the
    index knows nothing, as what whoever asks may see, beside that none is hidden. `day_ranges` caches ranges for
    the terms of one transaction.
    """

    conditions: Sequence[ColumnElement[bool]]
    source_marks: Sequence[str]
    since: dt.date | None
    until: dt.date | None
    is_narrow: bool
    day_ranges: dict[tuple[dt.date | None, int], DayRange] = field(default_factory=dict)


async def build_index_scope(session: AsyncSession, wanted: ItemFilter, *beside: ColumnElement[bool]) -> IndexScope:
    words = await ColumnValues.resolve(session, wanted)
    marks = await _load_source_marks(session, words.source)
    known = {"since", "until", "after"} | ({"sources", "tags"} if marks else set())
    others = wanted.model_dump(exclude_defaults=True, exclude=known)
    untils = [day for day in (wanted.until, wanted.after and wanted.after[-2]) if day is not None]
    return IndexScope(
        conditions=[*build_conditions(wanted, words), *beside],
        source_marks=marks,
        since=wanted.since,
        until=min(untils, default=None),
        is_narrow=bool(beside) or get_eyes() is not None or any(value not in ([], ()) for value in others.values()),
    )


async def iter_newest_places(
    session: AsyncSession, terms: Sequence[str], among: IndexScope, most: int
) -> AsyncIterator[Sequence[ItemPlace]]:
    """All items that have all the terms, newest first, in portions queried one by one: of `most` items, then larger."""
    until, share = among.until, 1.0
    for size in _SPAN_SIZES:
        if share < _MIN_DENSE_SHARE and size != _SPAN_SIZES[-1]:
            continue
        first, last = await _find_day_range(session, among, until, size)
        if first is None:
            return
        days = _list_days(first, last)
        if not days or (among.since is not None and days[0] < among.since):
            break
        count = 0
        async for found in _iter_places(session, terms, among, most, days=days, is_dense=True):
            yield found
            count += len(found)
        until, share = days[-1] - dt.timedelta(days=1), count / size
        if share < _MIN_DENSE_SHARE and among.source_marks:
            break
        if share < _MIN_DENSE_SHARE and size != _SPAN_SIZES[-1] and len(terms) == 1:
            of_all = await _measure_rare_share(session, terms[0], most)
            if of_all is not None:
                share = of_all
                break
    is_dense = _is_dense(share, most) or 0 < len(among.source_marks) <= _MAX_DENSE_SOURCES
    async for found in _iter_places(session, terms, among, most, until=until, is_dense=is_dense):
        yield found


async def _iter_places(
    session: AsyncSession,
    terms: Sequence[str],
    among: IndexScope,
    most: int,
    *,
    days: Sequence[dt.date] = (),
    until: dt.date | None = None,
    is_dense: bool,
) -> AsyncIterator[Sequence[ItemPlace]]:
    """The items with the terms, of the days or until a day, newest first, each portion larger than the one before."""
    before: ItemPlace | None = None
    while True:
        found = await _find_places(
            session, terms, among, most, days=days, until=until, before=before, is_dense=is_dense
        )
        if found:
            yield found
        if len(found) < most:
            return
        before, most = found[-1], min(most * 4, _MAX_PORTION)


async def _measure_rare_share(session: AsyncSession, term: str, most: int) -> float | None:
    """The share of items that have the term; None where they are too many to find `most` of them at once."""
    some = select_with_terms(session, [term]).limit(_MAX_COUNTED_MATCHES).subquery()
    counts = select(select(func.count()).select_from(some).scalar_subquery(), func.max(col(Item.id)))
    found, of = (await session.execute(counts)).one()
    is_so = found < _MAX_RARE_MATCHES or (found < _MAX_COUNTED_MATCHES and _is_dense(found / of, most))
    return found / of if is_so else None


def _is_dense(share: float, most: int) -> bool:
    """Whether items with the terms are so frequent that scanning by day finds `most` of them quickly."""
    return most <= share * _MAX_STEPS


async def count_items(session: AsyncSession, terms: Sequence[str], among: IndexScope, cap: int) -> int:
    if among.is_narrow or among.since is not None or among.until is not None:
        count = 0
        async for portion in iter_newest_places(session, terms, among, cap):
            count += len(portion)
            if count >= cap:
                break
        return min(count, cap)
    # Nothing but hidden items has to be checked outside of the index.
    found = select_with_terms(session, terms, among.source_marks).subquery()
    shown = select(found.c.item_id).where(~is_hidden(found.c.item_id)).limit(cap)
    return await session.scalar(select(func.count()).select_from(shown.subquery())) or 0


async def force_index(session: AsyncSession) -> None:
    """Keep PostgreSQL from scanning all lines, and from compiling short queries, for this transaction.

    Its costs ignore that lines are long and stored out of line, and take what the index names for more than it is.
    """
    if get_dialect(session) == "postgresql":
        settings = (func.set_config(name, "off", True) for name in ("enable_seqscan", "jit"))
        await session.execute(select(*settings))


def select_with_terms(session: AsyncSession, terms: Sequence[str], *any_of: Sequence[str]) -> Any:
    """The ids of the items that have all the terms, and one mark of each group."""
    groups = [group for group in any_of if group]
    if get_dialect(session) == "sqlite":
        # A term has only letters and digits: in quotes, nothing in it has a meaning to FTS5.
        quoted = [[f'"{term}"'] for term in terms] + [[f'"{mark}"' for mark in group] for group in groups]
        wanted = " AND ".join(f"({' OR '.join(some)})" for some in quoted)
        index = table_of(INDEX_NAME, named("rowid"))
        return select(index.c.rowid.label("item_id")).where(literal_column(INDEX_NAME).op("MATCH")(literal(wanted)))
    # Exactly the expression that is indexed, or the index is not used.
    line = func.string_to_array(col(ItemTerms.terms), literal_column("' '"))
    has_one = [line.op("&&")(_cast_to_array(group)) for group in groups]
    return select(col(ItemTerms.item_id).label("item_id")).where(and_(line.op("@>")(_cast_to_array(terms)), *has_one))


def _cast_to_array(terms: Sequence[str]) -> ColumnElement[Any]:
    return cast(list(terms), ARRAY(Text))


async def _find_places(
    session: AsyncSession,
    terms: Sequence[str],
    among: IndexScope,
    most: int,
    *,
    days: Sequence[dt.date] = (),
    until: dt.date | None = None,
    before: ItemPlace | None = None,
    is_dense: bool,
) -> Sequence[ItemPlace]:
    """The newest items with the terms, of the days or until a day, from a place in the order on.

    `is_dense`: a scan by day is faster than lookups.
    """
    # Materialized, so that neither database asks the index, or reads a line of terms, item by item.
    found = (
        select_with_terms(session, terms, list(map(format_day_mark, days)), among.source_marks)
        .cte("found")
        .prefix_with("MATERIALIZED")
    )
    conditions = list(among.conditions)
    if days:
        conditions.append(col(Item.day).between(days[-1], days[0]))
    elif until is not None:
        conditions.append(col(Item.day) <= until)
    if before is not None:
        conditions.append(tuple_(col(Item.day), col(Item.id)) < (before[1], before[0]))
    query = _select_found(session, found, conditions, is_scan=is_dense).limit(most)
    return [(number or 0, day) for number, day in await session.execute(query)]


def _select_found(
    session: AsyncSession, found: CTE, conditions: Sequence[ColumnElement[bool]], *, is_scan: bool
) -> Select[*tuple[Any, ...]]:
    """The places of found items, newest first: by a scan along the order, or by a look-up of each.

    Left alone, SQLite looks each up, and PostgreSQL, which knows nothing of how rare a term is, may read all items.
    """
    is_sqlite = get_dialect(session) == "sqlite"
    item_id, ids = col(Item.id), select(found.c.item_id)
    if not is_scan and not is_sqlite:
        # With an offset, PostgreSQL keeps the look-up apart.
        each = select(item_id, col(Item.day)).where(item_id == found.c.item_id, *conditions).offset(0).lateral()
        places = select(each.c.id, each.c.day).select_from(found.join(each, true()))
        return places.order_by(each.c.day.desc(), each.c.id.desc())
    is_found = item_id.in_(ids)
    if is_scan:
        # With `+ 0` SQLite does not look rows up by that column; `IS TRUE` makes no join of it on PostgreSQL.
        is_found = item_id.op("+")(0).in_(ids) if is_sqlite else item_id.in_(ids).is_(True)
    return select(item_id, col(Item.day)).where(is_found, *conditions).order_by(*order_by_newest())


async def _find_day_range(session: AsyncSession, among: IndexScope, until: dt.date | None, size: int) -> DayRange:
    """The days of the latest item and of the one `size` places after it, cached for all terms of a search.

    Of all items, whoever asks: it says only how far to read at once, and the index of days alone tells it.
    """
    if (until, size) not in among.day_ranges:
        item = get_unbound_columns(Item)
        older = [] if until is None else [item.day <= until]
        in_order = select(item.day).where(*older).order_by(item.day.desc(), item.id.desc()).limit(1)
        ends = select(in_order.scalar_subquery(), in_order.offset(size).scalar_subquery())
        first, last = (await session.execute(ends)).one()
        among.day_ranges[until, size] = (first, last)
    return among.day_ranges[until, size]


def _list_days(first: dt.date, last: dt.date | None) -> list[dt.date]:
    """The days of a range, latest first; none where the range is open or too long."""
    if last is None or (first - last).days >= _MAX_DAYS:
        return []
    return [first - dt.timedelta(days=number) for number in range((first - last).days + 1)]


async def _load_source_marks(session: AsyncSession, names: Sequence[str] | None) -> list[str]:
    """The marks of the sources of these names; none where a deleted source had one of the names."""
    if not names or len(names) > _MAX_SOURCES:
        return []
    orphan = select(col(Item.id)).where(col(Item.source).in_(names), col(Item.source_id).is_(None)).limit(1)
    if await session.scalar(orphan) is not None:
        return []
    ids = await session.scalars(select(col(Source.id)).where(col(Source.name).in_(names)))
    return [format_source_mark(source_id) for source_id in ids if source_id is not None]
