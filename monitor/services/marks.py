"""The use cases of what people say of items: star, note, hide, and whether a rank was right."""

import datetime as dt

from pydantic import BaseModel

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.tables.people import HiddenItem, ItemNote
from monitor.errors import NotFound, UsageError
from monitor.services.audit import AuditService
from monitor.vocabulary import RankDirection

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
    """What a person said of the rank of an item, `item`."""

    item: int
    person: str
    wish: RankDirection
    at: dt.datetime


class MarkService:
    """Keeps what people say of items; `NotFound` for an item that is not there.

    All but stars, which are each person's own, is taken down in the audit.
    """

    def __init__(self, *, store: Store, clock: Clock, audit: AuditService) -> None:
        self._store = store
        self._clock = clock
        self._audit = audit

    async def star(self, person: str, item_id: int) -> None:
        """Give an item this person's star."""
        await self._store.marks.star(person, item_id, at=self._clock.now())

    async def unstar(self, person: str, item_id: int) -> None:
        await self._check_item(item_id)
        await self._store.marks.unstar(person, item_id)

    async def add_note(self, person: str, item_id: int, text: str) -> ItemNoteSchema:
        """Write a note on an item; `UsageError` for an empty or very long one."""
        text = _validate_text(text, "note", MAX_NOTE_CHARS)
        note = ItemNote(item_id=item_id, person=person, text=text, at=self._clock.now())
        kept = await self._store.marks.add_note(note)
        await self._audit.record(person, "item.note", _format_audit_subject(item_id), after=kept.text)
        return ItemNoteSchema.model_validate(kept, from_attributes=True)

    async def remove_note(self, person: str, item_id: int, note_id: int) -> None:
        """Remove a note; `UsageError` for another person's."""
        await self._check_item(item_id)
        note = next((one for one in await self._store.marks.list_notes(item_id) if one.id == note_id), None)
        if note is None:
            raise NotFound(f"The item {item_id} has no note {note_id}.")
        if note.person != person:
            raise UsageError(f"The note is {note.person}'s: only they can remove it.")
        await self._store.marks.remove_note(item_id, note_id)
        await self._audit.record(person, "item.unnote", _format_audit_subject(item_id), before=note.text)

    async def hide(self, person: str, item_id: int, reason: str) -> HiddenItemSchema:
        """Leave an item out of lists, briefings and feeds from now on; `UsageError` without a reason."""
        reason = _validate_text(reason, "reason", MAX_REASON_CHARS)
        hidden = HiddenItem(item_id=item_id, person=person, reason=reason, at=self._clock.now())
        await self._store.marks.hide(hidden)
        await self._audit.record(person, "item.hide", _format_audit_subject(item_id), after=reason)
        return HiddenItemSchema.model_validate(hidden, from_attributes=True)

    async def unhide(self, person: str, item_id: int) -> None:
        await self._check_item(item_id)
        hidden = (await self._store.marks.load_hidden([item_id])).get(item_id)
        await self._store.marks.unhide(item_id)
        if hidden is not None:
            await self._audit.record(person, "item.show", _format_audit_subject(item_id), before=hidden.reason)

    async def set_feedback(self, person: str, item_id: int, feedback: RankDirection) -> None:
        """Say that an item should stand higher or lower; it counts in place of what the person said before."""
        await self._store.marks.save_feedback(person, item_id, feedback, at=self._clock.now())
        await self._audit.record(person, "item.feedback", _format_audit_subject(item_id), after=str(feedback))

    async def remove_feedback(self, person: str, item_id: int) -> None:
        """Take back what the person said of the item's rank."""
        await self._check_item(item_id)
        await self._store.marks.delete_feedback(person, item_id)
        await self._audit.record(person, "item.feedback", _format_audit_subject(item_id), after=None)

    async def _check_item(self, item_id: int) -> None:
        if await self._store.items.get(item_id) is None:
            raise NotFound(f"There is no item {item_id}.")


def _format_audit_subject(item_id: int) -> str:
    return f"item {item_id}"


def _validate_text(text: str, what: str, max_chars: int) -> str:
    text = text.strip()
    if not text:
        raise UsageError(f"The {what} is empty: write a word.")
    if len(text) > max_chars:
        raise UsageError(f"The {what} has {len(text)} characters; {max_chars} are the most.")
    return text
