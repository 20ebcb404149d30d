"""Briefings that people keep: composed in the background, saved, arranged by hand, and exported."""

import asyncio
import builtins
import contextlib
import datetime as dt
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from monitor.briefing.compose import Briefing
from monitor.briefing.editing import (
    BriefingEdit,
    BriefingEditPatch,
    add_items,
    apply_edit,
    create_initial_edit,
    include_added,
    remove_items,
    update_edit,
)
from monitor.briefing.render import BriefingFeedItem, get_briefing_content
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.delivery import BriefingRow
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.people import ComposeStage, KeptBriefing, SavedBriefing
from monitor.db.visibility import see_as
from monitor.errors import Conflict, MonitorError, NotFound, UsageError
from monitor.exports.docx import open_template
from monitor.exports.registry import Content, export_content
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.briefings import MAX_EDITABLE_ITEMS, BriefingQuery, BriefingService
from monitor.services.teams import choose_eyes
from monitor.vocabulary import Role

_KEPT_FOR = dt.timedelta(days=30)  # since somebody last had it composed
_STALE_AFTER = dt.timedelta(minutes=1)  # without a sign of life a composing was interrupted
_SIGN_OF_LIFE_S = 15.0
_MAX_COLLECTED_ITEMS = 200  # that are shown in full of a briefing that began empty
_MAX_NEW_ITEMS = 200  # that are counted since a briefing was composed
_log = get_logger("briefings")


@dataclass(kw_only=True)
class ExportService:
    """Writes content in any format; `print_pdf` makes a PDF of an HTML page, `template` is the firm's Word file."""

    print_pdf: Callable[[bytes], Awaitable[bytes]]
    template: Path | None

    def __post_init__(self) -> None:
        self._print_slot = asyncio.Semaphore(1)  # a browser at a time

    async def export_briefing(self, briefing: Briefing, format_name: str, *, template: Path | None = None) -> bytes:
        return await self.export(get_briefing_content(briefing), format_name, template=template)

    async def export(self, content: Content, format_name: str, *, template: Path | None = None) -> bytes:
        """Raise `UsageError` for an unknown format or an unreadable template, `WorkFailed` for a PDF that fails."""
        chosen = template or self.template
        return await export_content(
            content,
            format_name,
            load_template=lambda: _read_template(chosen) if chosen is not None else None,
            print_page=self._print_page,
        )

    async def _print_page(self, page: bytes) -> bytes:
        async with self._print_slot:
            return await self.print_pdf(page)


def check_template(settings: Settings) -> str | Message:
    path = settings.briefing.template
    if path is None:
        return Message("doctor.no_template")
    open_template(_read_template(path))
    return str(path)


def _read_template(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError("briefing.template_unreadable", path=str(path), reason=error.strerror) from None


@dataclass(frozen=True, kw_only=True)
class KeptBriefingState:
    """How the briefing of a scope stands: the last one that was composed, and the composing that is under way.

    `new_items` were first seen in its period since it was composed.
    """

    key: str
    stage: ComposeStage
    is_composing: bool
    error: Message | None = None
    composed_at: dt.datetime | None = None
    briefing: Briefing | None = None
    new_items: int = 0


@dataclass(kw_only=True)
class KeptBriefingService:
    """Composes the briefing of a scope once, in the background of this process, and keeps it for all who look at it."""

    store: Store
    clock: Clock
    settings: Settings
    briefings: BriefingService
    _tasks: dict[str, asyncio.Task[Briefing | None]] = field(default_factory=dict, init=False)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2), init=False)

    async def get(self, query: BriefingQuery) -> KeptBriefingState | None:
        """Return what is kept of the query's scope, without composing; None where nobody asked for it yet."""
        choose_eyes(query.team_id)
        scope = self._resolve(query)
        row = await self.store.kept_briefings.get(_build_key(scope))
        if row is None:
            return None
        is_alive = row.key in self._tasks or row.updated_at > self.clock.now() - _STALE_AFTER
        briefing = await asyncio.to_thread(_parse_kept, row)
        return KeptBriefingState(
            key=row.key,
            stage=row.stage,
            is_composing=row.stage is not ComposeStage.DONE and row.error is None and is_alive,
            error=row.error,
            composed_at=row.composed_at if briefing is not None else None,
            briefing=briefing,
            new_items=await self._count_new(scope, row.composed_at) if briefing is not None else 0,
        )

    async def start(self, query: BriefingQuery) -> str:
        """Begin to compose the query's scope, unless that is under way; return its key."""
        choose_eyes(query.team_id)
        scope = self._resolve(query)
        key, now = _build_key(scope), self.clock.now()
        row = KeptBriefing(key=key, query=scope.model_dump(mode="json", exclude={"previous"}), updated_at=now)
        is_ours = await self.store.kept_briefings.begin(row, stale_before=now - _STALE_AFTER)
        if is_ours and key not in self._tasks:
            task = self._tasks[key] = asyncio.create_task(self._compose(key, scope))
            task.add_done_callback(lambda _: self._tasks.pop(key, None))
        return key

    async def compose(self, query: BriefingQuery) -> Briefing:
        """Compose the scope now, keep it, and return it; errors as those of `BriefingService.compose`."""
        scope = self._resolve(query)
        key, now = _build_key(scope), self.clock.now()
        row = KeptBriefing(key=key, query=scope.model_dump(mode="json", exclude={"previous"}), updated_at=now)
        await self.store.kept_briefings.begin(row, stale_before=now)
        return await self._compose_and_keep(key, scope)

    async def wait(self) -> None:
        """Wait until nothing is being composed in this process."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def close(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _compose(self, key: str, scope: BriefingQuery) -> Briefing | None:
        try:
            async with self._slots:
                return await self._compose_with_signs_of_life(key, scope)
        except MonitorError as error:
            reason = error.message
        except Exception as error:  # noqa: BLE001 -- what breaks in the background is told to whoever looks
            _log.error("unexpected error", briefing=key, error=type(error).__name__, exc_info=error)
            reason = Message.of("cause.unforeseen", error=type(error).__name__)
        await self.store.kept_briefings.report(key, ComposeStage.COLLECT, self.clock.now(), reason)
        return None

    async def _compose_with_signs_of_life(self, key: str, scope: BriefingQuery) -> Briefing:
        task = asyncio.create_task(self._compose_and_keep(key, scope))
        try:
            while not (await asyncio.wait({task}, timeout=_SIGN_OF_LIFE_S))[0]:
                await self.store.kept_briefings.touch(key, self.clock.now())
            return await task
        finally:
            task.cancel()

    async def _compose_and_keep(self, key: str, scope: BriefingQuery) -> Briefing:
        async def report(stage: ComposeStage) -> None:
            await self.store.kept_briefings.report(key, stage, self.clock.now())

        await self.store.kept_briefings.prune(self.clock.now() - _KEPT_FOR)
        composed = await self.briefings.compose(scope, include_all=True, report=report)
        document = await asyncio.to_thread(composed.model_dump, mode="json")
        await self.store.kept_briefings.finish(key, document, composed.generated_at, self.clock.now())
        return composed

    def _resolve(self, query: BriefingQuery) -> BriefingQuery:
        """Return the query with its day: that of `today` is another one tomorrow."""
        zone = ZoneInfo(query.timezone or self.settings.timezone)
        return query.model_copy(update={"day": query.day or self.clock.now().astimezone(zone).date()})

    async def _count_new(self, scope: BriefingQuery, since: dt.datetime | None) -> int:
        today = self.clock.now().astimezone(ZoneInfo(scope.timezone or self.settings.timezone)).date()
        if since is None or scope.day is None or scope.day < today:
            return 0
        wanted = ItemFilter(
            sources=scope.sources, tags=scope.tags, types=scope.types, keywords=scope.keywords, first_seen_since=since
        )
        with see_as(choose_eyes(scope.team_id)):
            return await self.store.items.count(wanted, cap=_MAX_NEW_ITEMS)


def show_initially(composed: Briefing, query: BriefingQuery) -> Briefing:
    """Return a briefing that was composed whole as its query asks for it: the first `top` items in full."""
    return apply_edit(composed, create_initial_edit(composed, query.top), by=None)


def _build_key(scope: BriefingQuery) -> str:
    return hashlib.sha256(scope.model_dump_json(exclude={"previous"}).encode()).hexdigest()


def _parse_kept(row: KeptBriefing) -> Briefing | None:
    """Return the briefing; None where there is none, or one of another version."""
    try:
        return Briefing.model_validate(row.briefing) if row.briefing is not None else None
    except ValidationError:
        return None


@dataclass(frozen=True, kw_only=True)
class BriefingDraft:
    row: BriefingRow
    query: BriefingQuery
    composed: Briefing
    edit: BriefingEdit

    @property
    def whole(self) -> Briefing:
        """All items in full: those that were composed, and those that were added."""
        return include_added(self.composed, self.edit)

    @property
    def briefing(self) -> Briefing:
        """The briefing as it was edited; "read online" leads to its own page."""
        edited, home = apply_edit(self.composed, self.edit, by=self.row.edited_by), self.composed.public_url
        return (
            edited.model_copy(update={"public_url": f"{home.rstrip('/')}/briefings/{self.row.id}"}) if home else edited
        )


@dataclass(kw_only=True)
class BriefingDraftService(AuditedService):
    kept: KeptBriefingService

    async def save(self, query: BriefingQuery, *, by: Actor, composed_at: dt.datetime | None = None) -> BriefingDraft:
        """Save the briefing that is kept of the query if it is the one of that instant, else one composed now."""
        by.require(Role.EDITOR)
        seen = await self.kept.get(query)
        composed = seen.briefing if seen is not None and seen.composed_at == composed_at else None
        if composed is None:
            composed = await self.kept.briefings.compose(query, include_all=True)
        return await self._store(composed, query, by=by)

    async def _store(self, composed: Briefing, query: BriefingQuery, *, by: Actor) -> BriefingDraft:
        saved = await asyncio.to_thread(_build_saved_briefing, composed, query, by=by.name, at=self.clock.now())
        async with self.store.transaction():
            row = await self.store.briefings.add(saved)
            subject = format_subject(row.id or 0, row.title)
            await self.record(by, AuditAction.BRIEFING_SAVE, subject, query=row.query)
        return await asyncio.to_thread(_parse_draft, row)

    async def start(self, *, language: str, by: Actor) -> BriefingDraft:
        """Save a briefing without items, to which some are added by hand."""
        by.require(Role.EDITOR)
        composed = await self.kept.briefings.compose_items([], language=language)
        query = BriefingQuery(day=composed.period.until, language=language, top=_MAX_COLLECTED_ITEMS)
        return await self._store(composed, query, by=by)

    async def get(self, briefing_id: int) -> BriefingDraft:
        saved = await self.store.briefings.get(briefing_id)
        if saved is None:
            raise NotFound("briefing.not_found", briefing=briefing_id)
        return await asyncio.to_thread(_parse_draft, saved)

    async def get_row(self, briefing_id: int) -> BriefingRow:
        """Return what lists show of a briefing, which costs little; `NotFound` as of the whole."""
        row = await self.store.briefings.get_row(briefing_id)
        if row is None:
            raise NotFound("briefing.not_found", briefing=briefing_id)
        return row

    async def list(
        self, *, is_archived: bool = False, before_id: int | None = None, limit: int = 50
    ) -> list[BriefingRow]:
        return await self.store.briefings.list_rows(is_archived=is_archived, before_id=before_id, limit=limit)

    async def list_newest(self, limit: int) -> builtins.list[BriefingFeedItem]:
        rows = await self.list(limit=limit)
        return [
            BriefingFeedItem(
                row.id,
                row.edited_at or row.created_at,
                row.edited_by or row.created_by,
                (await self.get(row.id)).briefing,
            )
            for row in rows
        ]

    async def update(self, briefing_id: int, changes: BriefingEditPatch, *, version: int, by: Actor) -> BriefingDraft:
        """Edit a briefing of that version; `Conflict` where somebody edited it since, or it is archived."""
        draft = await self._open(briefing_id, by=by)
        if draft.row.version != version:
            raise _build_conflict(draft)
        edit = await asyncio.to_thread(update_edit, draft.composed, draft.edit, changes, by=by.name)
        return await self._save_edit(draft, edit, by=by)

    async def add_items(self, briefing_id: int, item_ids: Sequence[int], *, by: Actor) -> builtins.list[int]:
        """Put items into a briefing, and return those that it did not show before.

        Items that are gone, or of a team that the briefing does not belong to, are none.

        `Conflict` where it is archived, or somebody edits it at the same moment.
        """
        draft = await self._open(briefing_id, by=by)
        more = await self.kept.briefings.compose_items(item_ids, language=draft.row.language, team_id=draft.row.team_id)
        shown = draft.briefing.item_ids
        new = [item.id for item in more.items if item.id is not None and item.id not in shown]
        if len(draft.composed.items) + len(draft.edit.added.items) + len(new) > MAX_EDITABLE_ITEMS:
            raise UsageError("briefing.too_many_items", limit=MAX_EDITABLE_ITEMS)
        edit = await asyncio.to_thread(add_items, draft.composed, draft.edit, more)
        await self._save_edit(draft, edit, by=by)
        return new

    async def remove_items(self, briefing_id: int, item_ids: Sequence[int], *, by: Actor) -> None:
        """Take items out of a briefing; those that are not in it are passed over."""
        draft = await self._open(briefing_id, by=by)
        edit = await asyncio.to_thread(remove_items, draft.composed, draft.edit, item_ids)
        await self._save_edit(draft, edit, by=by)

    async def _open(self, briefing_id: int, *, by: Actor) -> BriefingDraft:
        by.require(Role.EDITOR)
        draft = await self.get(briefing_id)
        if draft.row.archived_at is not None:
            raise Conflict("briefing.archived", briefing=briefing_id)
        return draft

    async def _save_edit(self, draft: BriefingDraft, edit: BriefingEdit, *, by: Actor) -> BriefingDraft:
        if edit == draft.edit:
            return draft
        briefing_id, version = draft.row.id, draft.row.version
        shown = apply_edit(draft.composed, edit, by=by.name)
        fields = {
            "title": edit.title,
            "edit": edit.model_dump(mode="json"),
            "size": len(shown.items) + len(shown.more),
            "edited_by": by.name,
            "edited_at": self.clock.now(),
        }
        before, after = _diff_edits(draft.edit, edit)
        async with self.store.transaction():
            if not await self.store.briefings.edit(briefing_id, version=version, changes=fields):
                raise _build_conflict(await self.get(briefing_id))
            subject = format_subject(briefing_id, edit.title)
            await self.record(by, AuditAction.BRIEFING_EDIT, subject, before=before, after=after)
        return await self.get(briefing_id)

    async def set_archived(self, briefing_id: int, *, by: Actor, is_archived: bool = True) -> BriefingRow:
        """Archive a briefing, or take it out of the archive; doing it again changes nothing."""
        by.require(Role.EDITOR)
        draft = await self.get(briefing_id)
        async with self.store.transaction():
            if await self.store.briefings.set_archived(briefing_id, self.clock.now() if is_archived else None):
                action = AuditAction.BRIEFING_ARCHIVE if is_archived else AuditAction.BRIEFING_UNARCHIVE
                await self.record(by, action, format_subject(briefing_id, draft.edit.title))
        return (await self.get(briefing_id)).row


def _build_saved_briefing(composed: Briefing, query: BriefingQuery, *, by: str, at: dt.datetime) -> SavedBriefing:
    edit = create_initial_edit(composed, query.top)
    shown = apply_edit(composed, edit, by=None)
    return SavedBriefing(
        title=shown.title,
        team_id=query.team_id,
        briefing=composed.model_dump(mode="json"),
        edit=edit.model_dump(mode="json"),
        size=len(shown.items) + len(shown.more),
        language=shown.language,
        since=shown.period.since,
        until=shown.period.until,
        query=query.model_dump(mode="json", exclude={"previous"}),
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
    return f"{briefing_id} {title}"


def _diff_edits(before: BriefingEdit, after: BriefingEdit) -> tuple[dict[str, object], dict[str, object]]:
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    names = [name for name in new if new[name] != old[name]]
    return {name: old[name] for name in names}, {name: new[name] for name in names}
