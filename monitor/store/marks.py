"""What people say of items: stars, notes, what is hidden, and wishes for their rank."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Delete, delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from monitor.domain.marks import HiddenItem, ItemNote, ItemStar, RankFeedback, Wish
from monitor.domain.tables import Item
from monitor.domain.words import RankWish
from monitor.errors import NotFound
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, batches, insert_or, storable


@dataclass(frozen=True)
class MarksOnItems:
    """The numbers of the items that a person starred, of those that are hidden, and how many notes items have."""

    starred: set[int]
    hidden: set[int]
    notes: dict[int, int]


@patient
class Marks:
    """The marks on items; a mark on an item that is not there is refused with `NotFound`."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def star(self, person: str, item_id: int, *, at: dt.datetime) -> None:
        """Give an item a person's star; a second one is the first."""
        await self._put(ItemStar, {"person": person, "item_id": item_id, "at": at}, key=["person", "item_id"])

    async def unstar(self, person: str, item_id: int) -> None:
        await self._take(delete(ItemStar).where(col(ItemStar.person) == person, col(ItemStar.item_id) == item_id))

    async def starred(self, person: str, item_ids: Iterable[int]) -> set[int]:
        """Those of the items that have this person's star."""
        found: set[int] = set()
        async with self._sessions.reading() as session:
            for some in batches(item_ids):
                query = select(col(ItemStar.item_id)).where(
                    col(ItemStar.person) == person, col(ItemStar.item_id).in_(some)
                )
                found.update(await session.scalars(query))
        return found

    async def on_items(self, person: str, item_ids: Sequence[int]) -> MarksOnItems:
        """What a list shows beside its items."""
        async with self._sessions.reading() as session:
            mine = (col(ItemStar.person) == person, col(ItemStar.item_id).in_(item_ids))
            starred = await session.scalars(select(col(ItemStar.item_id)).where(*mine))
            hidden = await session.scalars(select(col(HiddenItem.item_id)).where(col(HiddenItem.item_id).in_(item_ids)))
            counts = await session.execute(
                select(col(ItemNote.item_id), func.count())
                .where(col(ItemNote.item_id).in_(item_ids))
                .group_by(col(ItemNote.item_id))
            )
            return MarksOnItems(set(starred), set(hidden), {item_id: int(count) for item_id, count in counts})

    async def note(self, note: ItemNote) -> ItemNote:
        """Keep a note; the note as it is stored."""
        values = note.model_dump(exclude={"id"}) | {"text": storable(note.text)}
        async with self._sessions.writing() as session:
            await _need(session, note.item_id)
            kept = ItemNote(**values)
            session.add(kept)
            await session.flush()
            return kept

    async def notes(self, item_id: int) -> list[ItemNote]:
        """The notes on an item, oldest first."""
        query = select(ItemNote).where(col(ItemNote.item_id) == item_id).order_by(col(ItemNote.id))
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def remove_note(self, item_id: int, note_id: int) -> None:
        """Remove a note of an item."""
        await self._take(delete(ItemNote).where(col(ItemNote.id) == note_id, col(ItemNote.item_id) == item_id))

    async def hide(self, hidden: HiddenItem) -> None:
        """Hide an item; one that is hidden already gets the new reason."""
        values = hidden.model_dump() | {"reason": storable(hidden.reason)}
        await self._put(HiddenItem, values, key=["item_id"])

    async def show(self, item_id: int) -> None:
        await self._take(delete(HiddenItem).where(col(HiddenItem.item_id) == item_id))

    async def hidden(self, item_ids: Iterable[int]) -> dict[int, HiddenItem]:
        """Those of the items that are hidden, with who did it and why."""
        found: dict[int, HiddenItem] = {}
        async with self._sessions.reading() as session:
            for some in batches(item_ids):
                rows = await session.scalars(select(HiddenItem).where(col(HiddenItem.item_id).in_(some)))
                found.update({row.item_id: row for row in rows})
        return found

    async def wish(self, person: str, item_id: int, wish: RankWish, *, at: dt.datetime) -> None:
        """Keep what a person says of an item's rank, in place of what they said before."""
        values = {"person": person, "item_id": item_id, "wish": wish, "at": at}
        await self._put(RankFeedback, values, key=["person", "item_id"])

    async def unwish(self, person: str, item_id: int) -> None:
        """Take back what a person said of an item's rank."""
        mine = (col(RankFeedback.person) == person, col(RankFeedback.item_id) == item_id)
        await self._take(delete(RankFeedback).where(*mine))

    async def wishes(self, items: Sequence[Item]) -> list[Wish]:
        """What was said of the ranks of these items, and of others of their sources; the oldest first."""
        sources = {item.source_id for item in items if item.source_id is not None}
        apart = {item.id for item in items if item.source_id is None and item.id is not None}
        found: list[Wish] = []
        async with self._sessions.reading() as session:
            for some in batches(sources):
                found += await _wishes(session, col(Item.source_id).in_(some))
            for ids in batches(apart):
                found += await _wishes(session, col(Item.id).in_(ids))
        return sorted(found, key=lambda one: (one.at, one.item_id, one.person))

    async def _put(self, table: type[SQLModel], row: dict[str, Any], *, key: Sequence[str]) -> None:
        async with self._sessions.writing() as session:
            await _need(session, row["item_id"])
            await insert_or(session, table, [row], key=key, update=[*row.keys() - set(key)])

    async def _take(self, statement: Delete) -> None:
        async with self._sessions.writing() as session:
            await session.execute(statement)


async def copy_marks(origin: Sessions, target: Sessions) -> None:
    """Give another database what was said of those items that it has, for a replay."""
    async with target.reading() as session:
        ids = list(await session.scalars(select(col(Item.id))))
    for table, key in ((HiddenItem, ["item_id"]), (RankFeedback, ["person", "item_id"])):
        for some in batches(ids):
            async with origin.reading() as session:
                rows = await session.scalars(select(table).where(col(table.item_id).in_(some)))
                values = [row.model_dump() for row in rows]
            if values:
                async with target.writing() as session:
                    await insert_or(session, table, values, key=key)


async def _need(session: AsyncSession, item_id: int) -> None:
    if await session.get(Item, item_id) is None:
        raise NotFound(f"There is no item {item_id}.")


async def _wishes(session: AsyncSession, condition: Any) -> list[Wish]:
    query = (
        select(RankFeedback, col(Item.source_id), col(Item.section), col(Item.type))
        .join(Item, col(Item.id) == col(RankFeedback.item_id))
        .where(condition)
    )
    return [
        Wish(
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
