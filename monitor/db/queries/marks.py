"""What people mark of items: read, kept for later, starred, hidden, noted, wished higher or lower; and saved views."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, func, not_, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.queries.filters import has_mark, is_hidden, is_unread
from monitor.db.sessions import Queries, SessionFactory, sanitize_text, sanitize_value, split_batches, upsert_rows
from monitor.db.tables.collection import Item
from monitor.db.tables.people import (
    HiddenItem,
    ItemLater,
    ItemNote,
    ItemRead,
    ItemStar,
    Person,
    RankFeedback,
    RankFeedbackEntry,
    SavedView,
)
from monitor.errors import NotFound
from monitor.vocabulary import MarkAction, RankDirection, Visibility


@dataclass(frozen=True)
class ItemMarks:
    """The ids of items that are unread, kept for later, starred and hidden, and how many notes items have."""

    unread: set[int]
    later: set[int]
    starred: set[int]
    hidden: set[int]
    notes: dict[int, int]


class MarkStore(Queries):
    async def mark(
        self, action: MarkAction, item_ids: Sequence[int], *, person: str, at: dt.datetime, reason: str = ""
    ) -> list[int]:
        """Put a mark on items, or take it away; return those of them that this changed. Items that are gone are none.

        `reason` is why items are hidden; one that is hidden already gets the new reason.
        """
        name, is_set = sanitize_text(person), action in _SETTING
        async with self._sessions.begin_write() as session:
            there = select(col(Item.id)).where(col(Item.id).in_(item_ids)).order_by(col(Item.id))
            numbers = [number for number in await session.scalars(there) if number is not None]
            marked = await _list_marked(session, action, name, numbers)
            if action in (MarkAction.READ, MarkAction.UNREAD):
                rows = [{"person": name, "item_id": number, "is_read": is_set, "at": at} for number in numbers]
                await upsert_rows(session, ItemRead, rows, key=["person", "item_id"], update=["is_read", "at"])
            elif action is MarkAction.HIDE:
                hidden = {"person": name, "reason": sanitize_text(reason), "at": at}
                rows = [hidden | {"item_id": number} for number in numbers]
                await upsert_rows(session, HiddenItem, rows, key=["item_id"], update=["person", "reason", "at"])
            elif is_set:
                rows = [{"person": name, "item_id": number, "at": at} for number in numbers]
                await upsert_rows(session, _TABLES[action], rows, key=["person", "item_id"])
            else:
                table = _TABLES[action]
                mine = (col(table.person) == name,) if table is not HiddenItem else ()
                await session.execute(delete(table).where(col(table.item_id).in_(numbers), *mine))
            return [number for number in numbers if (number in marked) != is_set]

    async def set_read_until(self, person: str, until: dt.datetime) -> None:
        """Count all items that were first seen up to an instant as read, also those that were put back as unread."""
        name = sanitize_text(person)
        earlier = select(col(Item.id)).where(col(Item.first_seen) <= until)
        async with self._sessions.begin_write() as session:
            await session.execute(update(Person).where(col(Person.name) == name).values(read_until=until))
            mine = (col(ItemRead.person) == name, col(ItemRead.item_id).in_(earlier))
            await session.execute(delete(ItemRead).where(*mine))

    async def load_marks(self, person: str, item_ids: Sequence[int]) -> ItemMarks:
        name = sanitize_text(person)
        notes = select(func.count()).where(col(ItemNote.item_id) == col(Item.id), _is_readable_note(name))
        marks = (_is_marked(action, name) for action in (MarkAction.LATER, MarkAction.STAR, MarkAction.HIDE))
        query = select(col(Item.id), is_unread(name), *marks, notes.scalar_subquery())
        rows = await self._fetch_rows(query.where(col(Item.id).in_(item_ids)))
        unread, later, starred, hidden = ({row[0] or 0 for row in rows if row[place]} for place in range(1, 5))
        counts = {row[0] or 0: int(row[5]) for row in rows if row[5]}
        return ItemMarks(unread=unread, later=later, starred=starred, hidden=hidden, notes=counts)

    async def list_views(self, person: str) -> list[SavedView]:
        mine = select(SavedView).where(col(SavedView.person) == sanitize_text(person))
        return await self._fetch_all(mine.order_by(col(SavedView.at), col(SavedView.name)))

    async def save_view(self, view: SavedView) -> None:
        """Store a view, in place of the person's one of that name."""
        row = SavedView(**sanitize_value(view.model_dump()))
        await self._upsert([row], key=["person", "name"], update=["filters"])

    async def remove_view(self, person: str, name: str) -> None:
        mine = (col(SavedView.person) == sanitize_text(person), col(SavedView.name) == sanitize_text(name))
        await self._execute(delete(SavedView).where(*mine))

    async def add_note(self, note: ItemNote) -> ItemNote:
        """Store a note; returns it with its id."""
        kept = ItemNote(**sanitize_value(note.model_dump(exclude={"id"})))
        async with self._sessions.begin_write() as session:
            if await session.get(Item, note.item_id) is None:
                raise NotFound("item.not_there", item_id=note.item_id)
            session.add(kept)
            await session.flush()
            return kept

    async def list_notes(self, person: str, item_id: int) -> list[ItemNote]:
        """The notes on an item that are open to everybody or of this person."""
        query = select(ItemNote).where(col(ItemNote.item_id) == item_id, _is_readable_note(person))
        return await self._fetch_all(query.order_by(col(ItemNote.id)))

    async def remove_note(self, item_id: int, note_id: int) -> None:
        await self._execute(delete(ItemNote).where(col(ItemNote.id) == note_id, col(ItemNote.item_id) == item_id))

    async def load_hidden(self, item_ids: Iterable[int]) -> dict[int, HiddenItem]:
        rows = await self._fetch_in(select(HiddenItem), col(HiddenItem.item_id), item_ids)
        return {row.item_id: row for row in rows}

    async def save_feedback(self, person: str, item_id: int, direction: RankDirection, *, at: dt.datetime) -> None:
        """Store a person's feedback on the rank of an item, in place of an earlier one."""
        said = RankFeedback(person=person, item_id=item_id, wish=direction, at=at)
        async with self._sessions.begin_write() as session:
            if await session.get(Item, item_id) is None:
                raise NotFound("item.not_there", item_id=item_id)
            key, changes = ["person", "item_id"], ["wish", "at"]
            await upsert_rows(session, RankFeedback, [said.model_dump()], key=key, update=changes)

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


_SETTING = frozenset({MarkAction.READ, MarkAction.LATER, MarkAction.STAR, MarkAction.HIDE})
_TABLES: Mapping[MarkAction, type[ItemStar | ItemLater | HiddenItem]] = {
    MarkAction.LATER: ItemLater,
    MarkAction.NOT_LATER: ItemLater,
    MarkAction.STAR: ItemStar,
    MarkAction.UNSTAR: ItemStar,
    MarkAction.HIDE: HiddenItem,
    MarkAction.UNHIDE: HiddenItem,
}
"""The marks whose rows are there or not; whether an item was read is said in its row."""


def _is_marked(action: MarkAction, person: str) -> ColumnElement[bool]:
    """Whether an item has the mark of a person; a hidden one is hidden for all."""
    table = _TABLES[action]
    return is_hidden(col(Item.id)) if table is HiddenItem else has_mark(table, person)


async def _list_marked(session: AsyncSession, action: MarkAction, person: str, item_ids: Sequence[int]) -> set[int]:
    is_reading = action in (MarkAction.READ, MarkAction.UNREAD)
    is_marked = not_(is_unread(person)) if is_reading else _is_marked(action, person)
    found = await session.scalars(select(col(Item.id)).where(col(Item.id).in_(item_ids), is_marked))
    return {number for number in found if number is not None}


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
