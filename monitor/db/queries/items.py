"""The items with their texts, and what people marked: stars, notes, hidden items, feedback on ranks."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, delete, func, or_, select, union_all, update
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
    order_by_newest,
)
from monitor.db.sessions import (
    BATCH_SIZE,
    Queries,
    SessionFactory,
    build_insert,
    get_dialect,
    sanitize_text,
    sanitize_value,
    split_batches,
    upsert_rows,
)
from monitor.db.tables.collection import Item, ItemPageText, KnownUrl, Source, TotalKind
from monitor.db.tables.people import HiddenItem, ItemNote, ItemStar, RankFeedback, RankFeedbackEntry, RankPlacement
from monitor.errors import NotFound, UsageError
from monitor.urls import url_key
from monitor.vocabulary import RankDirection, SummaryBy, Visibility

_MAX_STALE = 20  # for each run
_MAX_MERGED_VALUES = 64
"""Up to so many values of a column, the newest items of each are queried by index and merged."""


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
            saved = [await _save_item(session, item) for item in items]
            new: dict[dt.date, Counter[tuple[TotalKind, str]]] = {}
            for item, is_new in saved:
                if is_new:
                    counts = new.setdefault(self._sessions.get_day(item.first_seen), Counter())
                    counts[TotalKind.ITEM, ""] += 1
                    for name, count in (item.statements or {}).items():
                        counts[TotalKind.STATEMENT, name] += count
            for day, counts in sorted(new.items()):
                await add_to_totals(session, day, [Addition(*key, count) for key, count in counts.items()])
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

    async def list_values(self, column: Literal["source", "section", "language"]) -> list[str]:
        async with self._sessions.begin_read() as session:
            return await list_distinct_values(session, get_item_column(column))

    async def list(self, wanted: ItemFilter, limit: int | None = 50) -> list[Item]:
        """The items that are meant, newest first."""
        async with self._sessions.begin_read() as session:
            words = await ColumnValues.resolve(session, wanted)
            conditions = build_conditions(wanted, words)
            if limit is not None and limit <= BATCH_SIZE:
                numbers = (await session.scalars(_select_newest_ids(words, conditions, limit))).all()
                conditions = [col(Item.id).in_(numbers)]
            query = select(Item).where(*conditions).order_by(*order_by_newest()).limit(limit)
            return list((await session.scalars(query)).all())

    async def count(self, wanted: ItemFilter, cap: int = 1000) -> int:
        """How many items are meant, at most `cap`."""
        async with self._sessions.begin_read() as session:
            words = await ColumnValues.resolve(session, wanted)
            meant = select(col(Item.id)).where(*build_conditions(wanted, words)).limit(cap)
            if all(len(some) == 1 for _, some in words.list_columns()):
                # An index has them in this order, and the list has just read its newest part.
                meant = meant.order_by(*order_by_newest())
            return await session.scalar(select(func.count()).select_from(meant.subquery())) or 0


async def _save_item(session: AsyncSession, item: Item) -> tuple[Item, bool]:
    numberless = {"id"} if item.id is None else set()
    values = sanitize_value(item.model_dump(exclude=numberless))
    values["url_key"] = item.url_key or url_key(item.url)
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


def _select_newest_ids(words: ColumnValues, conditions: Sequence[ColumnElement[bool]], limit: int) -> Select[int]:
    """The ids of the newest items.

    An index is in order of age for one value of its column only: of several values, the newest of each are merged.
    """
    columns = words.list_columns()
    if not columns or not 1 < len(columns[0][1]) <= _MAX_MERGED_VALUES:
        return select(get_item_column("id")).where(*conditions).order_by(*order_by_newest()).limit(limit)
    column, several = columns[0]
    each = [
        select(col(Item.id), col(Item.day)).where(column == word, *conditions).order_by(*order_by_newest()).limit(limit)
        for word in several
    ]
    found = union_all(*(query.subquery().select() for query in each)).subquery()
    return select(found.c.id).order_by(found.c.day.desc(), found.c.id.desc()).limit(limit)


@dataclass(frozen=True)
class ItemMarks:
    """The ids of starred and of hidden items, and how many notes items have."""

    starred: set[int]
    hidden: set[int]
    notes: dict[int, int]


class MarkStore(Queries):
    """The marks on items; `NotFound` where the item does not exist."""

    async def star(self, person: str, item_id: int, *, at: dt.datetime) -> None:
        await self._upsert_mark(ItemStar(person=person, item_id=item_id, at=at), key=["person", "item_id"])

    async def unstar(self, person: str, item_id: int) -> None:
        await self._execute(delete(ItemStar).where(col(ItemStar.person) == person, col(ItemStar.item_id) == item_id))

    async def list_starred(self, person: str, item_ids: Iterable[int]) -> set[int]:
        mine = select(col(ItemStar.item_id)).where(col(ItemStar.person) == person)
        return set(await self._fetch_in(mine, col(ItemStar.item_id), item_ids))

    async def load_marks(self, person: str, item_ids: Sequence[int]) -> ItemMarks:
        async with self._sessions.begin_read() as session:
            mine = (col(ItemStar.person) == person, col(ItemStar.item_id).in_(item_ids))
            starred = await session.scalars(select(col(ItemStar.item_id)).where(*mine))
            hidden = await session.scalars(select(col(HiddenItem.item_id)).where(col(HiddenItem.item_id).in_(item_ids)))
            counts = await session.execute(
                select(col(ItemNote.item_id), func.count())
                .where(col(ItemNote.item_id).in_(item_ids), _is_readable_note(person))
                .group_by(col(ItemNote.item_id))
            )
            return ItemMarks(set(starred), set(hidden), {item_id: int(count) for item_id, count in counts})

    async def add_note(self, note: ItemNote) -> ItemNote:
        """Store a note; returns it with its id."""
        kept = ItemNote(**sanitize_value(note.model_dump(exclude={"id"})))
        async with self._sessions.begin_write() as session:
            await _require_item(session, note.item_id)
            session.add(kept)
            await session.flush()
            return kept

    async def list_notes(self, person: str, item_id: int) -> list[ItemNote]:
        """The notes on an item that are open to everybody or of this person."""
        query = select(ItemNote).where(col(ItemNote.item_id) == item_id, _is_readable_note(person))
        return await self._fetch_all(query.order_by(col(ItemNote.id)))

    async def remove_note(self, item_id: int, note_id: int) -> None:
        await self._execute(delete(ItemNote).where(col(ItemNote.id) == note_id, col(ItemNote.item_id) == item_id))

    async def hide(self, hidden: HiddenItem) -> None:
        """Hide an item; one that is hidden already gets the new reason."""
        await self._upsert_mark(hidden, key=["item_id"])

    async def unhide(self, item_id: int) -> None:
        await self._execute(delete(HiddenItem).where(col(HiddenItem.item_id) == item_id))

    async def load_hidden(self, item_ids: Iterable[int]) -> dict[int, HiddenItem]:
        rows = await self._fetch_in(select(HiddenItem), col(HiddenItem.item_id), item_ids)
        return {row.item_id: row for row in rows}

    async def save_feedback(self, person: str, item_id: int, direction: RankDirection, *, at: dt.datetime) -> None:
        """Store a person's feedback on the rank of an item, in place of an earlier one."""
        said = RankFeedback(person=person, item_id=item_id, wish=direction, at=at)
        await self._upsert_mark(said, key=["person", "item_id"])

    async def delete_feedback(self, person: str, item_id: int) -> None:
        mine = (col(RankFeedback.person) == person, col(RankFeedback.item_id) == item_id)
        await self._execute(delete(RankFeedback).where(*mine))

    async def list_feedback(self, items: Sequence[Item]) -> list[RankFeedbackEntry]:
        """The feedback on the ranks of these items, and of others of their sources; the oldest first."""
        sources = {item.source_id for item in items if item.source_id is not None}
        apart = {item.id for item in items if item.source_id is None and item.id is not None}
        query = select(RankFeedback, col(Item.source_id), col(Item.section), col(Item.type)).join(
            Item, col(Item.id) == col(RankFeedback.item_id)
        )
        found: list[RankFeedbackEntry] = []
        async with self._sessions.begin_read() as session:
            for column, values in ((col(Item.source_id), sources), (col(Item.id), apart)):
                for batch in split_batches(values):
                    rows = await session.execute(query.where(column.in_(batch)))
                    found += [
                        RankFeedbackEntry(source_id=source_id, section=section, type=kind, **said.model_dump())
                        for said, source_id, section, kind in rows
                    ]
        return sorted(found, key=lambda entry: (entry.at, entry.item_id, entry.person))

    async def _upsert_mark(self, mark: ItemStar | HiddenItem | RankFeedback, *, key: Sequence[str]) -> None:
        row = sanitize_value(mark.model_dump())
        async with self._sessions.begin_write() as session:
            await _require_item(session, mark.item_id)
            await upsert_rows(session, type(mark), [row], key=key, update=[*row.keys() - set(key)])


def _is_readable_note(person: str) -> ColumnElement[bool]:
    return or_(col(ItemNote.visibility) == Visibility.OPEN, col(ItemNote.person) == sanitize_text(person))


async def copy_marks(origin: SessionFactory, target: SessionFactory) -> None:
    """Copy what people said of the items that another database has, for a replay."""
    async with target.begin_read() as session:
        ids = list(await session.scalars(select(col(Item.id))))
    for table, key in ((HiddenItem, ["item_id"]), (RankFeedback, ["person", "item_id"])):
        for some in split_batches(ids):
            async with origin.begin_read() as session:
                rows = await session.scalars(select(table).where(col(table.item_id).in_(some)))
                values = [row.model_dump() for row in rows]
            if values:
                async with target.begin_write() as session:
                    await upsert_rows(session, table, values, key=key)


async def _require_item(session: AsyncSession, item_id: int) -> None:
    if await session.get(Item, item_id) is None:
        raise NotFound("item.not_there", item_id=item_id)
