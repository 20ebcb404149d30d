"""What people mark of items: read, kept for later, starred, hidden, noted, wished higher or lower; and saved views."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.sessions import Queries, SessionFactory, sanitize_text, sanitize_value, split_batches, upsert_rows
from monitor.db.tables.collection import Item
from monitor.db.tables.people import HiddenItem, ItemNote, ItemStar, RankFeedback, RankFeedbackEntry
from monitor.errors import NotFound
from monitor.vocabulary import RankDirection, Visibility


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
