"""The use cases of what people say of items: star, note, hide, and whether a rank was right."""

import datetime as dt

from pydantic import BaseModel

from monitor.app.audit import AuditDesk
from monitor.domain.marks import HiddenItem, ItemNote
from monitor.domain.words import RankWish
from monitor.errors import NotFound, UsageError
from monitor.ports import Clock
from monitor.store import Store

MOST_NOTE_CHARS = 4000
MOST_REASON_CHARS = 500


class NoteWire(BaseModel):
    """A note on an item, for everybody to read."""

    id: int
    person: str
    text: str
    at: dt.datetime


class HiddenWire(BaseModel):
    """Who hid an item, when and why."""

    person: str
    reason: str
    at: dt.datetime


class FeedbackWire(BaseModel):
    """What a person said of the rank of an item, `item`."""

    item: int
    person: str
    wish: RankWish
    at: dt.datetime


class MarkDesk:
    """Keeps what people say of items; `NotFound` for an item that is not there.

    All but stars, which are each person's own, is taken down in the audit.
    """

    def __init__(self, *, store: Store, clock: Clock, audit: AuditDesk) -> None:
        self._store = store
        self._clock = clock
        self._audit = audit

    async def star(self, person: str, item_id: int) -> None:
        """Give an item this person's star."""
        await self._store.marks.star(person, item_id, at=self._clock.now())

    async def unstar(self, person: str, item_id: int) -> None:
        await self._need(item_id)
        await self._store.marks.unstar(person, item_id)

    async def note(self, person: str, item_id: int, text: str) -> NoteWire:
        """Write a note on an item; `UsageError` for an empty or very long one."""
        text = _checked(text, "note", MOST_NOTE_CHARS)
        note = ItemNote(item_id=item_id, person=person, text=text, at=self._clock.now())
        kept = await self._store.marks.note(note)
        await self._audit.record(person, "item.note", _named(item_id), after=kept.text)
        return NoteWire.model_validate(kept, from_attributes=True)

    async def remove_note(self, person: str, item_id: int, note_id: int) -> None:
        """Remove a note; `UsageError` for another person's."""
        await self._need(item_id)
        note = next((one for one in await self._store.marks.notes(item_id) if one.id == note_id), None)
        if note is None:
            raise NotFound(f"The item {item_id} has no note {note_id}.")
        if note.person != person:
            raise UsageError(f"The note is {note.person}'s: only they can remove it.")
        await self._store.marks.remove_note(item_id, note_id)
        await self._audit.record(person, "item.unnote", _named(item_id), before=note.text)

    async def hide(self, person: str, item_id: int, reason: str) -> HiddenWire:
        """Leave an item out of lists, briefings and feeds from now on; `UsageError` without a reason."""
        reason = _checked(reason, "reason", MOST_REASON_CHARS)
        hidden = HiddenItem(item_id=item_id, person=person, reason=reason, at=self._clock.now())
        await self._store.marks.hide(hidden)
        await self._audit.record(person, "item.hide", _named(item_id), after=reason)
        return HiddenWire.model_validate(hidden, from_attributes=True)

    async def show(self, person: str, item_id: int) -> None:
        await self._need(item_id)
        hidden = (await self._store.marks.hidden([item_id])).get(item_id)
        await self._store.marks.show(item_id)
        if hidden is not None:
            await self._audit.record(person, "item.show", _named(item_id), before=hidden.reason)

    async def say(self, person: str, item_id: int, wish: RankWish) -> None:
        """Say that an item should stand higher or lower; it counts in place of what the person said before."""
        await self._store.marks.wish(person, item_id, wish, at=self._clock.now())
        await self._audit.record(person, "item.feedback", _named(item_id), after=str(wish))

    async def unsay(self, person: str, item_id: int) -> None:
        """Take back what the person said of the item's rank."""
        await self._need(item_id)
        await self._store.marks.unwish(person, item_id)
        await self._audit.record(person, "item.feedback", _named(item_id), after=None)

    async def _need(self, item_id: int) -> None:
        if await self._store.items.get(item_id) is None:
            raise NotFound(f"There is no item {item_id}.")


def _named(item_id: int) -> str:
    return f"item {item_id}"


def _checked(text: str, what: str, most: int) -> str:
    text = text.strip()
    if not text:
        raise UsageError(f"The {what} is empty: write a word.")
    if len(text) > most:
        raise UsageError(f"The {what} has {len(text)} characters; {most} are the most.")
    return text
