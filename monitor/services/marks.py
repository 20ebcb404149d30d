"""What people mark of items: read, later, starred, hidden, noted, wished higher or lower; and their saved views."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue

from monitor.db.database import Store
from monitor.db.tables.collection import Item
from monitor.db.tables.people import ItemNote, SavedView
from monitor.errors import NotFound, UsageError
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.teams import choose_eyes
from monitor.vocabulary import MarkAction, RankDirection, Role, Visibility

MAX_NOTE_CHARS = 4000
MAX_REASON_CHARS = 500
MAX_MARKED_ITEMS = 200
MAX_VIEWS, MAX_VIEW_NAME_CHARS = 20, 60


class ItemNoteSchema(BaseModel):
    """A note on an item, for everybody to read, for a team or for its writer alone."""

    id: int
    person: str
    team_id: int | None = None
    text: str
    visibility: Visibility
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


class MarkResult(BaseModel):
    """The items that an action changed, so that its opposite takes exactly that back."""

    changed: list[int]


class ViewSchema(BaseModel):
    """Filters that a person keeps under a name; `filters` are the parameters of the list."""

    name: str
    filters: dict[str, JsonValue]


@dataclass(kw_only=True)
class MarkService(AuditedService):
    """Keeps the marks. What each person alone sees (read, later, stars, views) is not recorded."""

    async def mark(self, action: MarkAction, item_ids: Sequence[int], *, by: Actor, reason: str = "") -> MarkResult:
        """Put a mark on items, or take it away; items that are gone are passed over.

        Hidden items are left out of lists, briefings and feeds from now on. `PermissionDenied` for a reader who hides.
        """
        is_hiding = action in (MarkAction.HIDE, MarkAction.UNHIDE)
        if is_hiding:
            by.require(Role.EDITOR)
        reason = _check_length(reason.strip(), "reason", MAX_REASON_CHARS)
        async with self.store.transaction():
            before = await self.store.marks.load_hidden(item_ids) if is_hiding else {}
            changed = await self.store.marks.mark(action, item_ids, person=by.owner, at=self.clock.now(), reason=reason)
            for item_id in changed if is_hiding else ():
                detail = {"after": reason} if action is MarkAction.HIDE else {"before": before[item_id].reason}
                kind = AuditAction.ITEM_HIDE if action is MarkAction.HIDE else AuditAction.ITEM_SHOW
                await self.record(by, kind, f"item {item_id}", **detail)
        return MarkResult(changed=changed)

    async def mark_one(self, action: MarkAction, item_id: int, *, by: Actor, reason: str = "") -> None:
        """Like `mark`; `NotFound` where the item is gone."""
        await load_item(item_id, self.store)
        await self.mark(action, [item_id], by=by, reason=reason)

    async def hide(self, item_id: int, reason: str, *, by: Actor) -> HiddenItemSchema:
        """Hide one item; one that is hidden already gets the new reason."""
        await self.mark_one(MarkAction.HIDE, item_id, by=by, reason=reason)
        hidden = await self.store.marks.load_hidden([item_id])
        return HiddenItemSchema.model_validate(hidden[item_id], from_attributes=True)

    async def mark_all_read(self, until: dt.datetime, *, by: Actor) -> None:
        """Count all items that were first seen up to an instant as read by this person."""
        await self.store.marks.set_read_until(by.owner, min(until, self.clock.now()))

    async def list_views(self, *, by: Actor) -> list[ViewSchema]:
        views = await self.store.marks.list_views(by.owner)
        return [ViewSchema(name=view.name, filters=view.filters) for view in views]

    async def save_view(self, name: str, filters: dict[str, JsonValue], *, by: Actor) -> ViewSchema:
        """Keep filters under a name, in place of those that had it; `UsageError` without a name or for too many."""
        name = _check_text(" ".join(name.split()), "view", MAX_VIEW_NAME_CHARS)
        known = {view.name for view in await self.store.marks.list_views(by.owner)}
        if len(known | {name}) > MAX_VIEWS:
            raise UsageError("item.too_many_views", limit=MAX_VIEWS)
        view = SavedView(person=by.owner, name=name, filters=filters, at=self.clock.now())
        await self.store.marks.save_view(view)
        return ViewSchema(name=name, filters=filters)

    async def remove_view(self, name: str, *, by: Actor) -> None:
        await self.store.marks.remove_view(by.owner, name)

    async def add_note(
        self,
        item_id: int,
        text: str,
        *,
        by: Actor,
        visibility: Visibility = Visibility.OPEN,
        team_id: int | None = None,
    ) -> ItemNoteSchema:
        text = _check_text(text, "note", MAX_NOTE_CHARS)
        await load_item(item_id, self.store)
        choose_eyes(team_id)
        note = ItemNote(
            item_id=item_id, person=by.owner, text=text, visibility=visibility, team_id=team_id, at=self.clock.now()
        )
        async with self.store.transaction():
            kept = await self.store.marks.add_note(note)
            await self.record(by, AuditAction.ITEM_NOTE, f"item {item_id}", **_describe_note(kept, "after"))
        return ItemNoteSchema.model_validate(kept, from_attributes=True)

    async def remove_note(self, item_id: int, note_id: int, *, by: Actor) -> None:
        await load_item(item_id, self.store)
        async with self.store.transaction():
            notes = await self.store.marks.list_notes(by.owner, item_id)
            note = next((note for note in notes if note.id == note_id), None)
            if note is None:
                raise NotFound("item.note_not_found", item=item_id, note=note_id)
            if note.person != by.owner:
                raise UsageError("item.note_of_another", person=note.person)
            await self.store.marks.remove_note(item_id, note_id)
            await self.record(by, AuditAction.ITEM_UNNOTE, f"item {item_id}", **_describe_note(note, "before"))

    async def set_feedback(self, item_id: int, feedback: RankDirection, *, by: Actor) -> None:
        await load_item(item_id, self.store)
        async with self.store.transaction():
            await self.store.marks.save_feedback(by.owner, item_id, feedback, at=self.clock.now())
            await self.record(by, AuditAction.ITEM_FEEDBACK, f"item {item_id}", after=str(feedback))

    async def remove_feedback(self, item_id: int, *, by: Actor) -> None:
        await load_item(item_id, self.store)
        async with self.store.transaction():
            await self.store.marks.delete_feedback(by.owner, item_id)
            await self.record(by, AuditAction.ITEM_FEEDBACK, f"item {item_id}", after=None)


async def load_item(item_id: int, store: Store) -> Item:
    """Return the item; `NotFound` where there is none of that number."""
    item = await store.items.get(item_id)
    if item is None:
        raise NotFound("item.not_found", item=item_id)
    return item


def _describe_note(note: ItemNote, side: str) -> dict[str, str]:
    """What the audit keeps of a note: its text, but for a private one."""
    return {side: note.text} if note.visibility is Visibility.OPEN else {"visibility": note.visibility}


def _check_text(text: str, kind: str, max_chars: int) -> str:
    text = text.strip()
    if not text:
        raise UsageError(f"item.empty_{kind}")
    return _check_length(text, kind, max_chars)


def _check_length(text: str, kind: str, max_chars: int) -> str:
    if len(text) > max_chars:
        raise UsageError(f"item.long_{kind}", chars=len(text), limit=max_chars)
    return text
