"""The use cases of briefings that people put in order by hand: compose, look, keep, edit, put away."""

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
from monitor.db.queries.briefings import BriefingRow
from monitor.db.tables.people import SavedBriefing
from monitor.errors import Conflict, NotFound, UsageError
from monitor.services.audit import AuditService
from monitor.services.briefings import BriefingQuery, BriefingService

_MAX_PREVIEWS = 8


@dataclass(frozen=True, kw_only=True)
class BriefingPreview:
    """A briefing that nobody has kept yet; who saves it by its `key` keeps what they saw."""

    key: str
    query: BriefingQuery
    composed: Briefing
    edit: BriefingEdit

    @property
    def briefing(self) -> Briefing:
        return apply_edit(self.composed, self.edit, by=None)


@dataclass(frozen=True, kw_only=True)
class BriefingDraft:
    """A saved briefing: as it was composed, what was decided about it by hand, and what came of both."""

    row: BriefingRow
    query: BriefingQuery
    composed: Briefing
    edit: BriefingEdit

    @property
    def briefing(self) -> Briefing:
        """As it is shown, exported and sent."""
        return apply_edit(self.composed, self.edit, by=self.row.edited_by)


class BriefingDraftService:
    """Composes briefings for people and keeps them, with their edits.

    The last few previews are held in memory, so that what is saved is what was seen.
    """

    def __init__(self, *, store: Store, clock: Clock, briefings: BriefingService, audit: AuditService) -> None:
        self._store = store
        self._clock = clock
        self._briefings = briefings
        self._audit = audit
        self._previews: OrderedDict[str, BriefingPreview] = OrderedDict()
        self._compose_slots = asyncio.Semaphore(2)  # composing takes a processor, which the others need too

    async def compose_preview(self, query: BriefingQuery) -> BriefingPreview:
        """The briefing, composed now and not kept; `UsageError` for one that cannot be put in order by hand."""
        async with self._compose_slots:
            composed = await self._briefings.compose(query, include_all=True)
        edit = await asyncio.to_thread(create_initial_edit, composed, query.top)
        preview = BriefingPreview(key=secrets.token_urlsafe(12), query=query, composed=composed, edit=edit)
        self._previews[preview.key] = preview
        while len(self._previews) > _MAX_PREVIEWS:
            self._previews.popitem(last=False)
        return preview

    async def save(self, query: BriefingQuery, *, by: str, key: str | None = None) -> BriefingDraft:
        """Keep a briefing: the preview of that key where it is still there and is this one, else one composed now."""
        seen = self._previews.get(key or "")
        preview = seen if seen is not None and seen.query == query else await self.compose_preview(query)
        saved = await asyncio.to_thread(_build_saved_briefing, preview, by=by, at=self._clock.now())
        kept = await self._store.briefings.add(saved)
        self._previews.pop(preview.key, None)
        await self._audit.record(by, "briefing.save", _format_audit_subject(kept.id or 0, kept.title), query=kept.query)
        return await asyncio.to_thread(_parse_draft, kept)

    async def get(self, briefing_id: int) -> BriefingDraft:
        """The saved briefing of that number; `NotFound` where there is none."""
        saved = await self._store.briefings.get(briefing_id)
        if saved is None:
            raise NotFound(f"There is no briefing {briefing_id}; the list of briefings names them.")
        return await asyncio.to_thread(_parse_draft, saved)

    async def list(
        self, *, is_archived: bool = False, before_id: int | None = None, limit: int = 50
    ) -> list[BriefingRow]:
        return await self._store.briefings.list_rows(is_archived=is_archived, before_id=before_id, limit=limit)

    async def list_newest(self, limit: int) -> builtins.list[BriefingFeedItem]:
        """The saved briefings that are not archived, newest first, with what stands in them."""
        drafts = [await self.get(row.id) for row in await self.list(limit=limit)]
        return [
            BriefingFeedItem(row.id, row.edited_at or row.created_at, row.edited_by or row.created_by, draft.briefing)
            for draft in drafts
            for row in (draft.row,)
        ]

    async def update(self, briefing_id: int, changes: BriefingEditPatch, *, version: int, by: str) -> BriefingDraft:
        """Edit a briefing of that version; `Conflict` where somebody edited it since, or it was put away."""
        draft = await self.get(briefing_id)
        if draft.row.archived_at is not None:
            raise Conflict(f"The briefing {briefing_id} is archived: take it out of the archive to edit it.")
        if draft.row.version != version:
            raise _build_conflict(draft)
        edit = await asyncio.to_thread(update_edit, draft.composed, draft.edit, changes, by=by)
        if edit == draft.edit:
            return draft
        shown = apply_edit(draft.composed, edit, by=by)
        fields = {
            "title": edit.title,
            "edit": edit.model_dump(mode="json"),
            "size": len(shown.items) + len(shown.more),
            "edited_by": by,
            "edited_at": self._clock.now(),
        }
        if not await self._store.briefings.edit(briefing_id, version=version, changes=fields):
            raise _build_conflict(await self.get(briefing_id))
        before, after = _diff_edits(draft.edit, edit)
        await self._audit.record(
            by, "briefing.edit", _format_audit_subject(briefing_id, edit.title), before=before, after=after
        )
        return await self.get(briefing_id)

    async def set_archived(self, briefing_id: int, *, by: str, is_archived: bool = True) -> BriefingRow:
        """Put a briefing away, or take it out again; done twice it does no harm."""
        draft = await self.get(briefing_id)
        if await self._store.briefings.set_archived(briefing_id, self._clock.now() if is_archived else None):
            action = "briefing.archive" if is_archived else "briefing.unarchive"
            await self._audit.record(by, action, _format_audit_subject(briefing_id, draft.edit.title))
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
        raise UsageError(f"The briefing {saved.id} was written by another version and cannot be read.") from None


def _build_conflict(draft: BriefingDraft) -> Conflict:
    row = draft.row
    return Conflict(
        f"{row.edited_by} edited the briefing {row.id} since: it is version {row.version} now. Look at that one first."
    )


def _format_audit_subject(briefing_id: int, title: str) -> str:
    return f"{briefing_id} {title}"


def _diff_edits(before: BriefingEdit, after: BriefingEdit) -> tuple[dict[str, object], dict[str, object]]:
    """What an edit changed, as the audit keeps it: the fields that differ."""
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    names = [name for name in new if new[name] != old[name]]
    return {name: old[name] for name in names}, {name: new[name] for name in names}
