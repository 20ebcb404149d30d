"""The items with their texts, facts and ranks: saved, listed, counted."""

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, func, select, true, union_all, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.dml import ReturningInsert
from sqlmodel import SQLModel, col

from monitor.db.daily_totals import Addition, add_to_totals
from monitor.db.fulltext_index import index_item, update_item
from monitor.db.queries.filters import (
    ColumnValues,
    ItemFilter,
    build_conditions,
    get_item_column,
    list_distinct_values,
    list_id_queries,
    order_by_newest,
    order_items,
)
from monitor.db.queries.teams import load_source_teams
from monitor.db.queries.webhooks import EventFact, add_webhook_events
from monitor.db.sessions import BATCH_SIZE, Queries, build_insert, get_dialect, sanitize_value, upsert_rows
from monitor.db.tables.collection import Item, ItemPageText, KnownUrl, Source, TotalKind
from monitor.db.tables.people import RankPlacement
from monitor.db.tables.policies import ItemFacts
from monitor.db.tables.webhooks import WebhookEventType
from monitor.document import DocumentFacts
from monitor.errors import UsageError
from monitor.urls import url_key
from monitor.vocabulary import ItemOrder, SummaryBy

_MAX_STALE = 20  # for each run
_MAX_MERGED_VALUES = 64
"""Up to so many values of a column, the newest items of each are queried by index and merged."""


_MIN_SCANNED_IDS = 2000


class ItemStore(Queries):
    async def save(self, item: Item) -> tuple[Item, bool]:
        """Store an item; returns the stored item, and whether it is new."""
        return (await self.save_all([item]))[0]

    async def save_all(self, items: Sequence[Item]) -> list[tuple[Item, bool]]:
        """Store items, all or none, and mark their urls as items; returns each as stored, and whether it is new.

        Where the source has an item of the same url already, that one stays as it is and is returned. An item that has
        an id keeps it.
        """
        if not items:
            return []
        async with self._sessions.begin_write() as session:
            teams = await load_source_teams(session, [item.source_id for item in items])
            saved = [await _save_item(session, item, teams.get(item.source_id)) for item in items]
            new: dict[dt.date, Counter[tuple[TotalKind, str]]] = {}
            for item, is_new in saved:
                if is_new:
                    counts = new.setdefault(self._sessions.get_day(item.first_seen), Counter())
                    counts[TotalKind.ITEM, ""] += 1
                    for name, count in (item.statements or {}).items():
                        counts[TotalKind.STATEMENT, name] += count
            for day, counts in sorted(new.items()):
                await add_to_totals(session, day, [Addition(*key, count) for key, count in counts.items()])
            created = WebhookEventType.ITEM_CREATED
            facts = [
                EventFact(created, f"item:{item.id}", item.first_seen, item.id) for item, is_new in saved if is_new
            ]
            await add_webhook_events(session, facts)
            return saved

    async def get_text(self, item_id: int) -> str | None:
        return await self._fetch_first(select(col(ItemPageText.text)).where(col(ItemPageText.item_id) == item_id))

    async def load_texts(self, item_ids: Sequence[int]) -> dict[int, str]:
        rows = await self._fetch_in(select(ItemPageText), col(ItemPageText.item_id), item_ids)
        return {row.item_id: row.text for row in rows}

    async def update(self, item_id: int, *, text: str | None = None, **changes: Any) -> None:
        """Change fields of an item and the text of its page; `UsageError` where it is gone."""
        async with self._sessions.begin_write() as session:
            item = await session.get(Item, item_id)
            if item is None:
                raise UsageError("item.unknown", item_id=item_id)
            unknown = [name for name in changes if name not in Item.model_fields or name == "id"]
            if unknown:
                raise TypeError(f"an item has no field {unknown[0]!r} that can be changed")
            before = item.statements or {}
            await update_item(session, item, changes, text)
            if "statements" in changes:
                added = Counter(item.statements or {})
                added.subtract(before)
                additions = [Addition(TotalKind.STATEMENT, name, count) for name, count in added.items()]
                await add_to_totals(session, self._sessions.get_day(item.first_seen), additions)

    async def get(self, item_id: int) -> Item | None:
        return await self._get(Item, item_id)

    async def find_by_key(self, key: str) -> Item | None:
        """The item of the document with that `url_key`; of several the one that was first seen last."""
        # Each half uses the index of both columns.
        of_source = select(col(Item.id)).where(
            col(Item.source_id).in_(select(col(Source.id))), col(Item.url_key) == key
        )
        of_none = select(col(Item.id)).where(col(Item.source_id).is_(None), col(Item.url_key) == key)
        which = select(Item).where(col(Item.id).in_(union_all(of_source, of_none)))
        return await self._fetch_first(which.order_by(col(Item.first_seen).desc()).limit(1))

    async def list_for_run(self, run_id: str) -> list[Item]:
        """The items that a run saved, in order of rank; those without one last, newest publication first."""
        order = (col(Item.rank).asc().nulls_last(), col(Item.date).desc().nulls_last(), col(Item.id))
        return await self._fetch_all(select(Item).where(col(Item.run_id) == run_id).order_by(*order))

    async def list_unsummarised(self, run_id: str) -> list[Item]:
        """The items of a run that no model has summarised yet, oldest first."""
        mine = (col(Item.run_id) == run_id, col(Item.summary_by) != SummaryBy.MODEL)
        return await self._fetch_all(select(Item).where(*mine).order_by(col(Item.id)))

    async def list_stale(self, source_id: int) -> list[int]:
        """The items of a source whose summaries are to be made again, the longest known first."""
        mine = (col(Item.source_id) == source_id, col(Item.is_summary_stale).is_(True))
        ids = await self._fetch_all(select(col(Item.id)).where(*mine).order_by(col(Item.id)).limit(_MAX_STALE))
        return [item_id for item_id in ids if item_id is not None]

    async def set_ranks(self, ranks: Mapping[int, RankPlacement]) -> None:
        async with self._sessions.begin_write() as session:
            for item_id, placed in sorted(ranks.items()):
                await session.execute(update(Item).where(col(Item.id) == item_id).values(placed._asdict()))

    async def load_facts(self, item_ids: Sequence[int]) -> dict[int, DocumentFacts]:
        """The facts of those of these items whose texts were read, by item."""
        found: dict[int, DocumentFacts] = {}
        async with self._sessions.begin_read() as session:
            for start in range(0, len(item_ids), BATCH_SIZE):
                which = col(ItemFacts.item_id).in_(item_ids[start : start + BATCH_SIZE])
                rows = await session.scalars(select(ItemFacts).where(which))
                found |= {row.item_id: row.document for row in rows}
        return found

    async def list_values(self, column: Literal["section", "language"]) -> list[str]:
        async with self._sessions.begin_read() as session:
            return await list_distinct_values(session, get_item_column(column))

    async def list_source_names(self) -> list[str]:
        """The names of all sources, in order, with those that are gone and have left items."""
        async with self._sessions.begin_read() as session:
            names = await session.scalars(select(col(Source.name)))
            gone = await list_distinct_values(session, get_item_column("source"), col(Item.source_id).is_(None))
            return sorted({*names, *gone})

    async def list(self, wanted: ItemFilter, limit: int | None = 50) -> list[Item]:
        """The items that are meant, in their order."""
        async with self._sessions.begin_read() as session:
            words = await ColumnValues.resolve(session, wanted)
            conditions = build_conditions(wanted, words, is_scan=await _is_scan_faster(session, wanted))
            if limit is not None and limit <= BATCH_SIZE:  # whole rows of all that is meant would be sorted
                numbers = (await session.scalars(_select_first_ids(wanted.order, words, conditions, limit))).all()
                conditions = [col(Item.id).in_(numbers)]
            query = select(Item).where(*conditions).order_by(*order_items(wanted.order)).limit(limit)
            return list((await session.scalars(query)).all())

    async def count(self, wanted: ItemFilter, cap: int = 1000) -> int:
        """How many items are meant, at most `cap`."""
        async with self._sessions.begin_read() as session:
            words = await ColumnValues.resolve(session, wanted)
            conditions = build_conditions(wanted, words)
            is_marked = wanted.starred_by is not None or wanted.later_by is not None
            if is_marked and get_dialect(session) == "postgresql":
                # Left alone, PostgreSQL reads all items for the few that are marked; an offset keeps the look-up apart.
                marked = list_id_queries(wanted)[0].subquery()
                each = select(col(Item.id)).where(col(Item.id) == marked.c.item_id, *conditions).offset(0).lateral()
                meant = select(each.c.id).select_from(marked.join(each, true())).limit(cap)
            else:
                meant = select(col(Item.id)).where(*conditions).limit(cap)
            if not list_id_queries(wanted) and all(len(some) == 1 for _, some in words.list_columns()):
                # An index has them in this order, and the list has just read its newest part.
                meant = meant.order_by(*order_by_newest())
            return await session.scalar(select(func.count()).select_from(meant.subquery())) or 0


async def _save_item(session: AsyncSession, item: Item, team_id: int | None) -> tuple[Item, bool]:
    numberless = {"id"} if item.id is None else set()
    values = sanitize_value(item.model_dump(exclude=numberless))
    values |= {"url_key": item.url_key or url_key(item.url), "team_id": team_id}
    new_id = await session.scalar(_build_item_insert(get_dialect(session)), values)
    if new_id is None:
        same = (col(Item.source_id) == item.source_id, col(Item.url_key) == values["url_key"])
        return (await session.scalars(select(Item).where(*same))).one(), False
    if item.source_id is not None:
        known = {name: values[name] for name in ("source_id", "url_key", "first_seen", "date", "date_source")}
        rows = [known | {"is_item": True}]
        await upsert_rows(session, KnownUrl, rows, key=["source_id", "url_key"], update=["is_item"])
    kept = Item(**values | {"id": new_id})
    await index_item(session, kept, text="")
    return kept, True


@cache
def _build_item_insert(dialect: str) -> ReturningInsert[tuple[int]]:
    table = SQLModel.metadata.tables["item"]
    new = build_insert(dialect, table).on_conflict_do_nothing(index_elements=["source_id", "url_key"])
    return new.returning(table.c.id)


async def _is_scan_faster(session: AsyncSession, wanted: ItemFilter) -> bool:
    """Whether so many items are meant that enough are found soon among the newest; PostgreSQL knows by itself."""
    if get_dialect(session) != "sqlite" or wanted.order is not ItemOrder.NEWEST:
        return False
    some = [query.limit(_MIN_SCANNED_IDS).subquery() for query in list_id_queries(wanted)]
    counts = [await session.scalar(select(func.count()).select_from(ids)) or 0 for ids in some]
    return bool(counts) and min(counts) == _MIN_SCANNED_IDS


def _select_first_ids(
    order: ItemOrder, words: ColumnValues, conditions: Sequence[ColumnElement[bool]], limit: int
) -> Select[int]:
    """The ids of the first items.

    An index is in order of age for one value of its column only: of several values, the newest of each are merged.
    """
    columns = words.list_columns()
    if order is not ItemOrder.NEWEST or not columns or not 1 < len(columns[0][1]) <= _MAX_MERGED_VALUES:
        return select(get_item_column("id")).where(*conditions).order_by(*order_items(order)).limit(limit)
    column, several = columns[0]
    each = [
        select(col(Item.id), col(Item.day)).where(column == word, *conditions).order_by(*order_by_newest()).limit(limit)
        for word in several
    ]
    found = union_all(*(query.subquery().select() for query in each)).subquery()
    return select(found.c.id).order_by(found.c.day.desc(), found.c.id.desc()).limit(limit)
