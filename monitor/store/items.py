"""The archive: what was saved."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, func, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.dml import ReturningInsert
from sqlmodel import SQLModel, col

from monitor.domain.marks import Placed
from monitor.domain.tables import Item, ItemText, KnownUrl, Source
from monitor.domain.urls import url_key
from monitor.domain.words import SummaryBy
from monitor.errors import UsageError
from monitor.store.filters import ItemFilter, Words, column_of, conditions_of, newest_first
from monitor.store.indexing import INDEXED, index
from monitor.store.patience import patient
from monitor.store.sessions import (
    BATCH_SIZE,
    Sessions,
    batches,
    dialect_of,
    insert_for,
    insert_or,
    storable,
    storable_value,
)
from monitor.store.values import values_of

_MERGED = 64
"""Of so many words of a column, each is asked for its newest items, in an index that has them in their order."""


@patient
class Items:
    """The items, each once for its source."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

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
        async with self._sessions.writing() as session:
            return [await _save(session, item) for item in items]

    async def text(self, item_id: int) -> str | None:
        """The text of an item's page; None where it was not kept."""
        async with self._sessions.reading() as session:
            return await session.scalar(select(col(ItemText.text)).where(col(ItemText.item_id) == item_id))

    async def texts(self, item_ids: Sequence[int]) -> dict[int, str]:
        """The texts of items' pages by their numbers, as far as they are kept."""
        texts: dict[int, str] = {}
        async with self._sessions.reading() as session:
            for some in batches(item_ids):
                rows = await session.scalars(select(ItemText).where(col(ItemText.item_id).in_(some)))
                texts.update({row.item_id: row.text for row in rows})
        return texts

    async def update(self, item_id: int, *, text: str | None = None, **changes: Any) -> None:
        """Change fields of an item, and with them the text of its page that is kept; `UsageError` where it is gone."""
        async with self._sessions.writing() as session:
            item = await session.get(Item, item_id)
            if item is None:
                raise UsageError(f"There is no item {item_id}: `monitor items list` shows the latest.")
            unknown = [name for name in changes if name not in Item.model_fields or name == "id"]
            if unknown:
                raise TypeError(f"an item has no field {unknown[0]!r} that can be changed")
            for name, value in changes.items():
                setattr(item, name, storable_value(value))
            if text is not None:
                row = {"item_id": item_id, "text": storable(text)}
                await insert_or(session, ItemText, [row], key=["item_id"], update=["text"])
            if text is not None or INDEXED & changes.keys():
                await index(session, item, text=text)

    async def get(self, item_id: int) -> Item | None:
        async with self._sessions.reading() as session:
            return await session.get(Item, item_id)

    async def at(self, key: str) -> Item | None:
        """The item of the document with that key (`url_key`), the one that was first seen last."""
        # Each half is told by the index of both columns.
        of_source = select(col(Item.id)).where(
            col(Item.source_id).in_(select(col(Source.id))), col(Item.url_key) == key
        )
        of_none = select(col(Item.id)).where(col(Item.source_id).is_(None), col(Item.url_key) == key)
        which = select(Item).where(col(Item.id).in_(union_all(of_source, of_none)))
        async with self._sessions.reading() as session:
            return await session.scalar(which.order_by(col(Item.first_seen).desc()).limit(1))

    async def for_run(self, run_id: str) -> list[Item]:
        """The items that a run saved, in order of rank; those without one last, newest publication first."""
        order = (col(Item.rank).asc().nulls_last(), col(Item.date).desc().nulls_last(), col(Item.id))
        return await self._all(select(Item).where(col(Item.run_id) == run_id).order_by(*order))

    async def unsummarised(self, run_id: str) -> list[Item]:
        """The items of a run that no model has summarised yet, in the order in which they were saved."""
        mine = (col(Item.run_id) == run_id, col(Item.summary_by) != SummaryBy.MODEL)
        return await self._all(select(Item).where(*mine).order_by(col(Item.id)))

    async def set_ranks(self, ranks: Mapping[int, Placed]) -> None:
        """Give items their places, all at once; the keys are the items' numbers."""
        async with self._sessions.writing() as session:
            for item_id, placed in sorted(ranks.items()):
                await session.execute(update(Item).where(col(Item.id) == item_id).values(placed._asdict()))

    async def _all(self, query: Select[Item]) -> list[Item]:
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def words(self, column: Literal["source", "section", "language"]) -> list[str]:
        """What stands in a column of the items, each word once."""
        async with self._sessions.reading() as session:
            return await values_of(session, column_of(column))

    async def list(self, wanted: ItemFilter, limit: int | None = 50) -> list[Item]:
        """The items that are meant, newest first: by publication, or by first sight where that is unknown."""
        async with self._sessions.reading() as session:
            words = await Words.of(session, wanted)
            conditions = conditions_of(wanted, words)
            if limit is not None and limit <= BATCH_SIZE:
                numbers = (await session.scalars(_newest(words, conditions, limit))).all()
                conditions = [col(Item.id).in_(numbers)]
            query = select(Item).where(*conditions).order_by(*newest_first()).limit(limit)
            return list((await session.scalars(query)).all())

    async def count(self, wanted: ItemFilter, cap: int = 1000) -> int:
        """How many items are meant; none is counted beyond `cap`."""
        async with self._sessions.reading() as session:
            words = await Words.of(session, wanted)
            meant = select(col(Item.id)).where(*conditions_of(wanted, words)).limit(cap)
            if all(len(some) == 1 for _, some in words.columns()):
                # An index has them in this order, and the newest lie together, where the list has just been read.
                meant = meant.order_by(*newest_first())
            return await session.scalar(select(func.count()).select_from(meant.subquery())) or 0


async def _save(session: AsyncSession, item: Item) -> tuple[Item, bool]:
    numberless = {"id"} if item.id is None else set()
    values = {name: storable_value(value) for name, value in item.model_dump(exclude=numberless).items()}
    values["url_key"] = item.url_key or url_key(item.url)
    new_id = await session.scalar(_new_item(dialect_of(session)), values)
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
        await insert_or(session, KnownUrl, [known], key=["source_id", "url_key"], update=["is_item"])
    kept = Item(**values | {"id": new_id})
    await index(session, kept, text="")
    return kept, True


@cache
def _new_item(dialect: str) -> ReturningInsert[tuple[int]]:
    table = SQLModel.metadata.tables["item"]
    new = insert_for(dialect, table).on_conflict_do_nothing(index_elements=["source_id", "url_key"])
    return new.returning(table.c.id)


def _newest(words: Words, conditions: Sequence[ColumnElement[bool]], limit: int) -> Select[int]:
    """The numbers of the newest items.

    Several words of a column stand in its index one after the other, so that the newest of all would have to be looked
    for among all that have one of them: instead the newest of each are merged.
    """
    columns = words.columns()
    if not columns or not 1 < len(columns[0][1]) <= _MERGED:
        return select(column_of("id")).where(*conditions).order_by(*newest_first()).limit(limit)
    column, several = columns[0]
    each = [
        select(col(Item.id), col(Item.day)).where(column == word, *conditions).order_by(*newest_first()).limit(limit)
        for word in several
    ]
    found = union_all(*(one.subquery().select() for one in each)).subquery()
    return select(found.c.id).order_by(found.c.day.desc(), found.c.id.desc()).limit(limit)
