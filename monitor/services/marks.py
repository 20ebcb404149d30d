"""Marks that people put on items: stars, notes, hiding, and feedback about the rank."""

import datetime as dt

from pydantic import BaseModel

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.tables.people import HiddenItem, ItemNote
from monitor.errors import NotFound, UsageError
from monitor.services.audit import Actor, AuditAction, AuditService
from monitor.vocabulary import RankDirection, Role

MAX_NOTE_CHARS = 4000
MAX_REASON_CHARS = 500


class ItemNoteSchema(BaseModel):
    """A note on an item, for everybody to read."""

    id: int
    person: str
    text: str
    at: dt.datetime


class HiddenItemSchema(BaseModel):
    """Who hid an item, when and why."""

    person: str
    reason: str
    at: dt.datetime


class RankFeedbackSchema(BaseModel):
    """Whether a person wishes the item numbered `item` higher or lower."""

    item: int
    person: str
    wish: RankDirection
    at: dt.datetime


class MarkService:
    """Keeps the marks; `NotFound` for an item that is not there. Stars are each person's own, and not recorded."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._audit = AuditService(store=store, clock=clock)

    async def star(self, item_id: int, *, by: Actor) -> None:
        await self._store.marks.star(by.name, item_id, at=self._clock.now())

    async def unstar(self, item_id: int, *, by: Actor) -> None:
        await self._check_item(item_id)
        await self._store.marks.unstar(by.name, item_id)

    async def add_note(self, item_id: int, text: str, *, by: Actor) -> ItemNoteSchema:
        """Write a note on an item; `UsageError` for an empty or very long one."""
        text = _check_text(text, "note", MAX_NOTE_CHARS)
        note = ItemNote(item_id=item_id, person=by.name, text=text, at=self._clock.now())
        async with self._store.transaction():
            kept = await self._store.marks.add_note(note)
            await self._audit.record(by, AuditAction.ITEM_NOTE, f"item {item_id}", after=kept.text)
        return ItemNoteSchema.model_validate(kept, from_attributes=True)

    async def remove_note(self, item_id: int, note_id: int, *, by: Actor) -> None:
        """Remove a note; `UsageError` for another person's."""
        await self._check_item(item_id)
        async with self._store.transaction():
            notes = await self._store.marks.list_notes(item_id)
            note = next((note for note in notes if note.id == note_id), None)
            if note is None:
                raise NotFound("item.note_not_found", item=item_id, note=note_id)
            if note.person != by.name:
                raise UsageError("item.note_of_another", person=note.person)
            await self._store.marks.remove_note(item_id, note_id)
            await self._audit.record(by, AuditAction.ITEM_UNNOTE, f"item {item_id}", before=note.text)

    async def hide(self, item_id: int, reason: str, *, by: Actor) -> HiddenItemSchema:
        """Leave an item out of lists, briefings and feeds from now on; `UsageError` without a reason."""
        by.require(Role.EDITOR)
        reason = _check_text(reason, "reason", MAX_REASON_CHARS)
        hidden = HiddenItem(item_id=item_id, person=by.name, reason=reason, at=self._clock.now())
        async with self._store.transaction():
            await self._store.marks.hide(hidden)
            await self._audit.record(by, AuditAction.ITEM_HIDE, f"item {item_id}", after=reason)
        return HiddenItemSchema.model_validate(hidden, from_attributes=True)

    async def unhide(self, item_id: int, *, by: Actor) -> None:
        by.require(Role.EDITOR)
        await self._check_item(item_id)
        async with self._store.transaction():
            hidden = (await self._store.marks.load_hidden([item_id])).get(item_id)
            await self._store.marks.unhide(item_id)
            if hidden is not None:
                await self._audit.record(by, AuditAction.ITEM_SHOW, f"item {item_id}", before=hidden.reason)

    async def set_feedback(self, item_id: int, feedback: RankDirection, *, by: Actor) -> None:
        """Say that an item should stand higher or lower; it replaces what the person said before."""
        async with self._store.transaction():
            await self._store.marks.save_feedback(by.name, item_id, feedback, at=self._clock.now())
            await self._audit.record(by, AuditAction.ITEM_FEEDBACK, f"item {item_id}", after=str(feedback))

    async def remove_feedback(self, item_id: int, *, by: Actor) -> None:
        await self._check_item(item_id)
        async with self._store.transaction():
            await self._store.marks.delete_feedback(by.name, item_id)
            await self._audit.record(by, AuditAction.ITEM_FEEDBACK, f"item {item_id}", after=None)

    async def _check_item(self, item_id: int) -> None:
        if await self._store.items.get(item_id) is None:
            raise NotFound("item.not_found", item=item_id)


def _check_text(text: str, kind: str, max_chars: int) -> str:
    text = text.strip()
    if not text:
        raise UsageError(f"item.empty_{kind}")
    if len(text) > max_chars:
        raise UsageError(f"item.long_{kind}", chars=len(text), limit=max_chars)
    return text
