"""Briefings that people arrange by hand: preview, save, edit, archive."""

import asyncio
import builtins
import datetime as dt
import secrets
from collections import OrderedDict
from dataclasses import dataclass

from pydantic import ValidationError

from monitor.briefing.compose import Briefing
from monitor.briefing.editing import BriefingEdit, BriefingEditPatch, apply_edit, create_initial_edit, update_edit
from monitor.briefing.render import BriefingFeedItem
from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.queries.delivery import BriefingRow
from monitor.db.tables.people import SavedBriefing
from monitor.errors import Conflict, NotFound, UsageError
from monitor.services.audit import Actor, AuditAction, AuditService
from monitor.services.briefings import BriefingQuery, BriefingService
from monitor.vocabulary import Role

_MAX_PREVIEWS = 8


@dataclass(frozen=True, kw_only=True)
class BriefingPreview:
    """A briefing that is not saved yet; saving it by its `key` saves exactly what was seen."""

    key: str
    query: BriefingQuery
    composed: Briefing
    edit: BriefingEdit

    @property
    def briefing(self) -> Briefing:
        return apply_edit(self.composed, self.edit, by=None)


@dataclass(frozen=True, kw_only=True)
class BriefingDraft:
    """A saved briefing as it was composed, and the edits made to it by hand."""

    row: BriefingRow
    query: BriefingQuery
    composed: Briefing
    edit: BriefingEdit

    @property
    def briefing(self) -> Briefing:
        """The briefing with its edits, as it is shown, exported and sent."""
        return apply_edit(self.composed, self.edit, by=self.row.edited_by)


class BriefingDraftService:
    """Composes, saves and edits briefings. The last few previews are held in memory, for saving what was seen."""

    def __init__(self, *, store: Store, clock: Clock, briefings: BriefingService) -> None:
        self._store = store
        self._clock = clock
        self._briefings = briefings
        self._audit = AuditService(store=store, clock=clock)
        self._previews: OrderedDict[str, BriefingPreview] = OrderedDict()
        self._compose_slots = asyncio.Semaphore(2)  # composing takes a processor, which the others need too

    async def compose_preview(self, query: BriefingQuery) -> BriefingPreview:
        """Compose a briefing without saving it; `UsageError` for one that cannot be arranged by hand."""
        async with self._compose_slots:
            composed = await self._briefings.compose(query, include_all=True)
        edit = await asyncio.to_thread(create_initial_edit, composed, query.top)
        preview = BriefingPreview(key=secrets.token_urlsafe(12), query=query, composed=composed, edit=edit)
        self._previews[preview.key] = preview
        while len(self._previews) > _MAX_PREVIEWS:
            self._previews.popitem(last=False)
        return preview

    async def save(self, query: BriefingQuery, *, by: Actor, key: str | None = None) -> BriefingDraft:
        """Save the preview of that key if it is still held and answers this query, else a briefing composed now."""
        by.require(Role.EDITOR)
        seen = self._previews.get(key or "")
        preview = seen if seen is not None and seen.query == query else await self.compose_preview(query)
        saved = await asyncio.to_thread(_build_saved_briefing, preview, by=by.name, at=self._clock.now())
        async with self._store.transaction():
            kept = await self._store.briefings.add(saved)
            subject = format_subject(kept.id or 0, kept.title)
            await self._audit.record(by, AuditAction.BRIEFING_SAVE, subject, query=kept.query)
        self._previews.pop(preview.key, None)
        return await asyncio.to_thread(_parse_draft, kept)

    async def get(self, briefing_id: int) -> BriefingDraft:
        saved = await self._store.briefings.get(briefing_id)
        if saved is None:
            raise NotFound("briefing.not_found", briefing=briefing_id)
        return await asyncio.to_thread(_parse_draft, saved)

    async def list(
        self, *, is_archived: bool = False, before_id: int | None = None, limit: int = 50
    ) -> list[BriefingRow]:
        return await self._store.briefings.list_rows(is_archived=is_archived, before_id=before_id, limit=limit)

    async def list_newest(self, limit: int) -> builtins.list[BriefingFeedItem]:
        """Return the saved briefings that are not archived, newest first, with their items."""
        drafts = [await self.get(row.id) for row in await self.list(limit=limit)]
        return [
            BriefingFeedItem(row.id, row.edited_at or row.created_at, row.edited_by or row.created_by, draft.briefing)
            for draft in drafts
            for row in (draft.row,)
        ]

    async def update(self, briefing_id: int, changes: BriefingEditPatch, *, version: int, by: Actor) -> BriefingDraft:
        """Edit a briefing of that version; `Conflict` where somebody edited it since, or it is archived."""
        by.require(Role.EDITOR)
        draft = await self.get(briefing_id)
        if draft.row.archived_at is not None:
            raise Conflict("briefing.archived", briefing=briefing_id)
        if draft.row.version != version:
            raise _build_conflict(draft)
        edit = await asyncio.to_thread(update_edit, draft.composed, draft.edit, changes, by=by.name)
        if edit == draft.edit:
            return draft
        shown = apply_edit(draft.composed, edit, by=by.name)
        fields = {
            "title": edit.title,
            "edit": edit.model_dump(mode="json"),
            "size": len(shown.items) + len(shown.more),
            "edited_by": by.name,
            "edited_at": self._clock.now(),
        }
        before, after = _diff_edits(draft.edit, edit)
        async with self._store.transaction():
            if not await self._store.briefings.edit(briefing_id, version=version, changes=fields):
                raise _build_conflict(await self.get(briefing_id))
            subject = format_subject(briefing_id, edit.title)
            await self._audit.record(by, AuditAction.BRIEFING_EDIT, subject, before=before, after=after)
        return await self.get(briefing_id)

    async def set_archived(self, briefing_id: int, *, by: Actor, is_archived: bool = True) -> BriefingRow:
        """Archive a briefing, or take it out of the archive; doing it again changes nothing."""
        by.require(Role.EDITOR)
        draft = await self.get(briefing_id)
        async with self._store.transaction():
            if await self._store.briefings.set_archived(briefing_id, self._clock.now() if is_archived else None):
                action = AuditAction.BRIEFING_ARCHIVE if is_archived else AuditAction.BRIEFING_UNARCHIVE
                await self._audit.record(by, action, format_subject(briefing_id, draft.edit.title))
        return (await self.get(briefing_id)).row


def _build_saved_briefing(preview: BriefingPreview, *, by: str, at: dt.datetime) -> SavedBriefing:
    shown = preview.briefing
    return SavedBriefing(
        title=shown.title,
        briefing=preview.composed.model_dump(mode="json"),
        edit=preview.edit.model_dump(mode="json"),
        size=len(shown.items) + len(shown.more),
        language=shown.language,
        since=shown.period.since,
        until=shown.period.until,
        query=preview.query.model_dump(mode="json", exclude={"previous"}),
        created_by=by,
        created_at=at,
    )


def _parse_draft(saved: SavedBriefing) -> BriefingDraft:
    try:
        return BriefingDraft(
            row=BriefingRow.model_validate(saved, from_attributes=True),
            query=BriefingQuery.model_validate(saved.query),
            composed=Briefing.model_validate(saved.briefing),
            edit=BriefingEdit.model_validate(saved.edit),
        )
    except ValidationError:
        raise UsageError("briefing.unreadable", briefing=saved.id) from None


def _build_conflict(draft: BriefingDraft) -> Conflict:
    row = draft.row
    return Conflict("briefing.edited_since", person=row.edited_by, briefing=row.id, version=row.version)


def format_subject(briefing_id: int, title: str) -> str:
    """Return what the audit calls a saved briefing."""
    return f"{briefing_id} {title}"


def _diff_edits(before: BriefingEdit, after: BriefingEdit) -> tuple[dict[str, object], dict[str, object]]:
    """Return the fields in which two edits differ, as they were and as they are."""
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    names = [name for name in new if new[name] != old[name]]
    return {name: old[name] for name in names}, {name: new[name] for name in names}
