"""The archive of items with their texts, and what people marked: stars, notes, hidden items, feedback on ranks."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, delete, func, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.dml import ReturningInsert
from sqlmodel import SQLModel, col

from monitor.db.fulltext_index import INDEXED_FIELDS, index_item
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
from monitor.db.tables.collection import Item, ItemPageText, KnownUrl, Source
from monitor.db.tables.people import HiddenItem, ItemNote, ItemStar, RankFeedback, RankFeedbackEntry, RankPlacement
from monitor.errors import NotFound, UsageError
from monitor.urls import url_key
from monitor.vocabulary import RankDirection, SummaryBy

_MAX_MERGED_VALUES = 64
"""Of so many words of a column, each is asked for its newest items, in an index that has them in their order."""


class ItemStore(Queries):
    """The items, each once for its source."""

    async def save(self, item: Item) -> tuple[Item, bool]:
        """Keep an item; the item as it is stored, and whether it is new."""
        return (await self.save_all([item]))[0]

    async def save_all(self, items: Sequence[Item]) -> list[tuple[Item, bool]]:
        """Keep items, all or none, and mark their urls as such; each as it is stored, and whether it is new.

        Where the source has an item of the same url already, that one stays as it is and is handed back. One that
        brings a number keeps it.
        """
        if not items:
            return []
        async with self._sessions.begin_write() as session:
            return [await _save_item(session, item) for item in items]

    async def get_text(self, item_id: int) -> str | None:
        """The text of an item's page; None where it was not kept."""
        return await self._fetch_first(select(col(ItemPageText.text)).where(col(ItemPageText.item_id) == item_id))

    async def load_texts(self, item_ids: Sequence[int]) -> dict[int, str]:
        """The texts of items' pages by their numbers, as far as they are kept."""
        texts: dict[int, str] = {}
        async with self._sessions.begin_read() as session:
            for some in split_batches(item_ids):
                rows = await session.scalars(select(ItemPageText).where(col(ItemPageText.item_id).in_(some)))
                texts.update({row.item_id: row.text for row in rows})
        return texts

    async def update(self, item_id: int, *, text: str | None = None, **changes: Any) -> None:
        """Change fields of an item, and with them the text of its page that is kept; `UsageError` where it is gone."""
        async with self._sessions.begin_write() as session:
            item = await session.get(Item, item_id)
            if item is None:
                raise UsageError("item.unknown", item_id=item_id)
            unknown = [name for name in changes if name not in Item.model_fields or name == "id"]
            if unknown:
                raise TypeError(f"an item has no field {unknown[0]!r} that can be changed")
            for name, value in changes.items():
                setattr(item, name, sanitize_value(value))
            if text is not None:
                row = {"item_id": item_id, "text": sanitize_text(text)}
                await upsert_rows(session, ItemPageText, [row], key=["item_id"], update=["text"])
            if text is not None or INDEXED_FIELDS & changes.keys():
                await index_item(session, item, text=text)

    async def get(self, item_id: int) -> Item | None:
        async with self._sessions.begin_read() as session:
            return await session.get(Item, item_id)

    async def find_by_key(self, key: str) -> Item | None:
        """The item of the document with that key (`url_key`), the one that was first seen last."""
        # Each half is told by the index of both columns.
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
        """The items of a run that no model has summarised yet, in the order in which they were saved."""
        mine = (col(Item.run_id) == run_id, col(Item.summary_by) != SummaryBy.MODEL)
        return await self._fetch_all(select(Item).where(*mine).order_by(col(Item.id)))

    async def set_ranks(self, ranks: Mapping[int, RankPlacement]) -> None:
        """Give items their places, all at once; the keys are the items' numbers."""
        async with self._sessions.begin_write() as session:
            for item_id, placed in sorted(ranks.items()):
                await session.execute(update(Item).where(col(Item.id) == item_id).values(placed._asdict()))

    async def list_values(self, column: Literal["source", "section", "language"]) -> list[str]:
        """What stands in a column of the items, each word once."""
        async with self._sessions.begin_read() as session:
            return await list_distinct_values(session, get_item_column(column))

    async def list(self, wanted: ItemFilter, limit: int | None = 50) -> list[Item]:
        """The items that are meant, newest first: by publication, or by first sight where that is unknown."""
        async with self._sessions.begin_read() as session:
            words = await ColumnValues.resolve(session, wanted)
            conditions = build_conditions(wanted, words)
            if limit is not None and limit <= BATCH_SIZE:
                numbers = (await session.scalars(_select_newest_ids(words, conditions, limit))).all()
                conditions = [col(Item.id).in_(numbers)]
            query = select(Item).where(*conditions).order_by(*order_by_newest()).limit(limit)
            return list((await session.scalars(query)).all())

    async def count(self, wanted: ItemFilter, cap: int = 1000) -> int:
        """How many items are meant; none is counted beyond `cap`."""
        async with self._sessions.begin_read() as session:
            words = await ColumnValues.resolve(session, wanted)
            meant = select(col(Item.id)).where(*build_conditions(wanted, words)).limit(cap)
            if all(len(some) == 1 for _, some in words.list_columns()):
                # An index has them in this order, and the newest lie together, where the list has just been read.
                meant = meant.order_by(*order_by_newest())
            return await session.scalar(select(func.count()).select_from(meant.subquery())) or 0


async def _save_item(session: AsyncSession, item: Item) -> tuple[Item, bool]:
    numberless = {"id"} if item.id is None else set()
    values = {name: sanitize_value(value) for name, value in item.model_dump(exclude=numberless).items()}
    values["url_key"] = item.url_key or url_key(item.url)
    new_id = await session.scalar(_build_item_insert(get_dialect(session)), values)
    if new_id is None:
        same = (col(Item.source_id) == item.source_id, col(Item.url_key) == values["url_key"])
        return (await session.scalars(select(Item).where(*same))).one(), False
    if item.source_id is not None:
        known = {
            "source_id": item.source_id,
            "url_key": values["url_key"],
            "first_seen": item.first_seen,
            "is_item": True,
            "date": item.date,
            "date_source": item.date_source,
        }
        await upsert_rows(session, KnownUrl, [known], key=["source_id", "url_key"], update=["is_item"])
    kept = Item(**values | {"id": new_id})
    await index_item(session, kept, text="")
    return kept, True


@cache
def _build_item_insert(dialect: str) -> ReturningInsert[tuple[int]]:
    table = SQLModel.metadata.tables["item"]
    new = build_insert(dialect, table).on_conflict_do_nothing(index_elements=["source_id", "url_key"])
    return new.returning(table.c.id)


def _select_newest_ids(words: ColumnValues, conditions: Sequence[ColumnElement[bool]], limit: int) -> Select[int]:
    """The numbers of the newest items.

    Several words of a column stand in its index one after the other, so that the newest of all would have to be looked
    for among all that have one of them: instead the newest of each are merged.
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
    """The numbers of the items that a person starred, of those that are hidden, and how many notes items have."""

    starred: set[int]
    hidden: set[int]
    notes: dict[int, int]


class MarkStore(Queries):
    """The marks on items; a mark on an item that is not there is refused with `NotFound`."""

    async def star(self, person: str, item_id: int, *, at: dt.datetime) -> None:
        """Give an item a person's star; a second one is the first."""
        await self._upsert_mark(ItemStar, {"person": person, "item_id": item_id, "at": at}, key=["person", "item_id"])

    async def unstar(self, person: str, item_id: int) -> None:
        await self._execute(delete(ItemStar).where(col(ItemStar.person) == person, col(ItemStar.item_id) == item_id))

    async def list_starred(self, person: str, item_ids: Iterable[int]) -> set[int]:
        """Those of the items that have this person's star."""
        found: set[int] = set()
        async with self._sessions.begin_read() as session:
            for some in split_batches(item_ids):
                query = select(col(ItemStar.item_id)).where(
                    col(ItemStar.person) == person, col(ItemStar.item_id).in_(some)
                )
                found.update(await session.scalars(query))
        return found

    async def load_marks(self, person: str, item_ids: Sequence[int]) -> ItemMarks:
        """What a list shows beside its items."""
        async with self._sessions.begin_read() as session:
            mine = (col(ItemStar.person) == person, col(ItemStar.item_id).in_(item_ids))
            starred = await session.scalars(select(col(ItemStar.item_id)).where(*mine))
            hidden = await session.scalars(select(col(HiddenItem.item_id)).where(col(HiddenItem.item_id).in_(item_ids)))
            counts = await session.execute(
                select(col(ItemNote.item_id), func.count())
                .where(col(ItemNote.item_id).in_(item_ids))
                .group_by(col(ItemNote.item_id))
            )
            return ItemMarks(set(starred), set(hidden), {item_id: int(count) for item_id, count in counts})

    async def add_note(self, note: ItemNote) -> ItemNote:
        """Keep a note; the note as it is stored."""
        values = note.model_dump(exclude={"id"}) | {"text": sanitize_text(note.text)}
        async with self._sessions.begin_write() as session:
            await _require_item(session, note.item_id)
            kept = ItemNote(**values)
            session.add(kept)
            await session.flush()
            return kept

    async def list_notes(self, item_id: int) -> list[ItemNote]:
        """The notes on an item, oldest first."""
        query = select(ItemNote).where(col(ItemNote.item_id) == item_id).order_by(col(ItemNote.id))
        return await self._fetch_all(query)

    async def remove_note(self, item_id: int, note_id: int) -> None:
        """Remove a note of an item."""
        await self._execute(delete(ItemNote).where(col(ItemNote.id) == note_id, col(ItemNote.item_id) == item_id))

    async def hide(self, hidden: HiddenItem) -> None:
        """Hide an item; one that is hidden already gets the new reason."""
        values = hidden.model_dump() | {"reason": sanitize_text(hidden.reason)}
        await self._upsert_mark(HiddenItem, values, key=["item_id"])

    async def unhide(self, item_id: int) -> None:
        await self._execute(delete(HiddenItem).where(col(HiddenItem.item_id) == item_id))

    async def load_hidden(self, item_ids: Iterable[int]) -> dict[int, HiddenItem]:
        """Those of the items that are hidden, with who did it and why."""
        found: dict[int, HiddenItem] = {}
        async with self._sessions.begin_read() as session:
            for some in split_batches(item_ids):
                rows = await session.scalars(select(HiddenItem).where(col(HiddenItem.item_id).in_(some)))
                found.update({row.item_id: row for row in rows})
        return found

    async def save_feedback(self, person: str, item_id: int, direction: RankDirection, *, at: dt.datetime) -> None:
        """Keep what a person says of an item's rank, in place of what they said before."""
        values = {"person": person, "item_id": item_id, "wish": direction, "at": at}
        await self._upsert_mark(RankFeedback, values, key=["person", "item_id"])

    async def delete_feedback(self, person: str, item_id: int) -> None:
        """Take back what a person said of an item's rank."""
        mine = (col(RankFeedback.person) == person, col(RankFeedback.item_id) == item_id)
        await self._execute(delete(RankFeedback).where(*mine))

    async def list_feedback(self, items: Sequence[Item]) -> list[RankFeedbackEntry]:
        """What was said of the ranks of these items, and of others of their sources; the oldest first."""
        sources = {item.source_id for item in items if item.source_id is not None}
        apart = {item.id for item in items if item.source_id is None and item.id is not None}
        found: list[RankFeedbackEntry] = []
        async with self._sessions.begin_read() as session:
            for some in split_batches(sources):
                found += await _load_feedback(session, col(Item.source_id).in_(some))
            for ids in split_batches(apart):
                found += await _load_feedback(session, col(Item.id).in_(ids))
        return sorted(found, key=lambda entry: (entry.at, entry.item_id, entry.person))

    async def _upsert_mark(self, table: type[SQLModel], row: dict[str, Any], *, key: Sequence[str]) -> None:
        async with self._sessions.begin_write() as session:
            await _require_item(session, row["item_id"])
            await upsert_rows(session, table, [row], key=key, update=[*row.keys() - set(key)])


async def copy_marks(origin: SessionFactory, target: SessionFactory) -> None:
    """Give another database what was said of those items that it has, for a replay."""
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


async def _load_feedback(session: AsyncSession, condition: Any) -> list[RankFeedbackEntry]:
    query = (
        select(RankFeedback, col(Item.source_id), col(Item.section), col(Item.type))
        .join(Item, col(Item.id) == col(RankFeedback.item_id))
        .where(condition)
    )
    return [
        RankFeedbackEntry(
            item_id=said.item_id,
            source_id=source_id,
            section=section,
            type=kind,
            person=said.person,
            wish=said.wish,
            at=said.at,
        )
        for said, source_id, section, kind in await session.execute(query)
    ]
