"""Briefings: composed from the archive, arranged by hand, and exported."""

import asyncio
import builtins
import datetime as dt
import secrets
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field, ValidationError

from monitor.briefing.compose import (
    Briefing,
    ChangedItem,
    GroupBy,
    Period,
    attach_overview,
    build_changed_item,
    compose_briefing,
    mark_unchecked,
)
from monitor.briefing.editing import BriefingEdit, BriefingEditPatch, apply_edit, create_initial_edit, update_edit
from monitor.briefing.gaps import OpenAlarm, SourceRunSummary
from monitor.briefing.order import rank_briefing_items
from monitor.briefing.overview import write_overview
from monitor.briefing.render import BriefingFeedItem, get_briefing_content
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.dashboard import SourcePeriod
from monitor.db.queries.delivery import BriefingRow
from monitor.db.queries.filters import ItemFilter
from monitor.db.reading import UnseenPlace
from monitor.db.tables.collection import Item, Source
from monitor.db.tables.people import SavedBriefing
from monitor.dedupe.clusters import DocumentCluster, cluster_in_workers
from monitor.errors import Conflict, NotFound, UsageError
from monitor.exports.docx import open_template
from monitor.exports.registry import Content, export_content
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.llm.prompts import DEFAULT_PROMPTS
from monitor.policies.changes import assign_moves
from monitor.ranking.feedback import compute_lifts
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.prompts import PromptsLoader
from monitor.services.runs import RunSummary, load_run_summaries
from monitor.services.runtime import ChatModelFactory
from monitor.services.schedules import get_midnight
from monitor.vocabulary import ItemType, Role

_LANGUAGES = ("zh", "en")
MAX_EDITABLE_ITEMS = 2000  # of a briefing that is put in order by hand
_MIN_DAY, _MAX_DAY = dt.date(1900, 1, 1), dt.date(9000, 1, 1)
"""Nothing was seen outside of these; they keep the arithmetic of days within the calendar."""

_OVERLAP = dt.timedelta(hours=1)
"""So far behind the last briefing the next one reaches: an item is on record a little later than it is first seen."""


class BriefingQuery(BaseModel):
    """Which briefing is wanted: what was first seen in the `days` that end with `day`, by default today.

    With `previous`, the last briefing of the same reader, it is what was first seen since that was written and does
    not stand in it, however long ago. Of `tags` and `keywords` one has to fit. Days are those of `timezone`, by
    default that of the settings.
    """

    day: dt.date | None = None
    days: int = Field(default=1, ge=1)
    previous: Briefing | None = None
    top: int | None = None
    sources: Sequence[str] = ()
    tags: Sequence[str] = ()
    types: Sequence[ItemType] = ()
    keywords: Sequence[str] = ()
    language: str = "zh"
    timezone: str | None = None
    group: GroupBy = "theme"


class _PeriodBounds(BaseModel):
    period: Period
    begin: dt.datetime
    end: dt.datetime


@dataclass(kw_only=True)
class BriefingService:
    """Writes briefings; `new_model` gives a model whose calls are booked under an id, or None where none is asked."""

    store: Store
    clock: Clock
    settings: Settings
    workers: WorkerPool
    new_model: ChatModelFactory | None = None
    new_prompts: PromptsLoader | None = None

    async def compose(self, query: BriefingQuery, *, include_all: bool = False) -> Briefing:
        """Compose for every enabled source that is meant; with `include_all` every item is in full, or `UsageError`."""
        if query.language not in _LANGUAGES:
            raise UsageError("briefing.unknown_language", language=query.language, known=_LANGUAGES)
        await check_sources(query.sources, self.store)
        zone = ZoneInfo(query.timezone or self.settings.timezone)
        now = self.clock.now()
        span = _compute_period_bounds(query, now, zone)
        items = await self._list_items(query, span, max_items=MAX_EDITABLE_ITEMS if include_all else None)
        brought = items
        if query.types or query.keywords:
            brought = await self._list_items(query.model_copy(update={"types": (), "keywords": ()}), span)
        model_id = f"briefing-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
        model = await self.new_model(model_id, self.store) if self.new_model is not None else None
        texts = await self.store.items.load_texts([item.id or 0 for item in items])
        groups = await cluster_in_workers(items, texts, self.workers)
        lifts = await self._load_rank_lifts(groups)
        prompts = await self.new_prompts() if self.new_prompts is not None else DEFAULT_PROMPTS
        ranking = await rank_briefing_items(
            [group.lead for group in groups], model=model, language=query.language, lifts=lifts, prompts=prompts
        )
        briefing = await asyncio.to_thread(
            compose_briefing,
            groups,
            await self._load_source_states(brought, query, span),
            ranking=ranking,
            period=span.period,
            language=query.language,
            top=None if include_all else query.top,
            generated_at=now.astimezone(zone),
            public_url=self.settings.web.public_url,
            group=query.group,
            changes=await self._list_changes(query, span, zone),
        )
        shown = [item.id for item in briefing.items if item.id is not None]
        briefing = mark_unchecked(briefing, await self.store.evidence.load_unchecked(shown))
        overview = await write_overview(
            briefing.items[: query.top],
            texts,
            model=model,
            workers=self.workers,
            language=query.language,
            prompts=prompts,
        )
        return attach_overview(briefing, overview)

    async def _list_items(
        self, query: BriefingQuery, span: _PeriodBounds, *, max_items: int | None = None
    ) -> list[Item]:
        known = query.previous.item_ids if query.previous is not None else set()
        limit = None if max_items is None else max_items + 1
        items = await self.store.items.list(_build_item_filter(query, span), limit=limit)
        if max_items is not None and len(items) > max_items:
            raise UsageError("briefing.too_many_items", limit=max_items)
        return [item for item in items if item.id not in known]

    async def _load_rank_lifts(self, groups: Sequence[DocumentCluster]) -> list[int]:
        """How far people's feedback moves each document: what was said of its lead, else of another place of it."""
        each = [[group.lead, *group.places] for group in groups]
        every = [item for items in each for item in items]
        lifts = iter(compute_lifts(every, await self.store.marks.list_feedback(every)))
        return [next(filter(None, list(islice(lifts, len(items)))), 0) for items in each]

    async def _list_changes(self, query: BriefingQuery, span: _PeriodBounds, zone: ZoneInfo) -> list[ChangedItem]:
        rows = await self.store.revisions.list_between(span.begin, span.end, sources=query.sources)
        meant = _build_item_filter(query, span).model_copy(
            update={"first_seen_since": None, "first_seen_until": None, "ids": [item.id for item, _ in rows]}
        )
        ids = {item.id for item in await self.store.items.list(meant, limit=None)}
        reported = {(change.item, change.seen_at) for change in query.previous.changes} if query.previous else set()
        moves = await self.store.deadlines.list_moves([item_id for item_id in ids if item_id is not None])
        by_revision = assign_moves([revision for _, revision in rows], moves)
        changes = [
            build_changed_item(item, revision, by_revision.get(revision.id or 0, []))
            for item, revision in rows
            if item.id in ids
        ]
        return [
            change.model_copy(update={"seen_at": change.seen_at.astimezone(zone)})
            for change in changes
            if (change.item, change.seen_at) not in reported
        ]

    async def _load_source_states(
        self, items: Sequence[Item], query: BriefingQuery, span: _PeriodBounds
    ) -> list[SourceRunSummary]:
        watched = {source.name: source for source in await self.store.sources.list()}
        meant = {name for name, source in watched.items() if _matches_query(source, query)}
        brought = Counter(item.source for item in items)
        names = [*brought, *sorted(meant - brought.keys())]
        periods = await self.store.dashboard.load_period(span.begin, span.end)
        last_runs = [periods[name].last_run for name in names if name in periods]
        reports = {report.source: report for report in await load_run_summaries(last_runs, self.store)}
        alarms: dict[str, list[OpenAlarm]] = {}
        for alarm in await self.store.alarms.list_open_at(span.end):
            alarms.setdefault(alarm.source, []).append(OpenAlarm.model_validate(alarm, from_attributes=True))
        return [
            _describe_source(
                SourceRunSummary(name=name, new_items=brought[name], alarms=alarms.get(name, [])),
                watched.get(name),
                periods.get(name),
                reports.get(name),
            )
            for name in names
        ]


def _describe_source(
    state: SourceRunSummary, source: Source | None, period: SourcePeriod | None, report: RunSummary | None
) -> SourceRunSummary:
    """How a source stands by its runs in the period; the last one speaks for what was not seen.

    For a list on which any run saw nothing that it knew, a later run does not make up.
    """
    known: dict[str, Any] = {"last_error": source and source.last_error}
    if source is not None:
        known |= {"last_run_at": source.last_run_at, "last_new_item_at": source.last_new_item_at}
    if period is not None and report is not None:
        reason = Message("cause.possible_gap")
        known |= report.coverage.model_dump(include={"over_limit", "left", "refused"})
        known |= {
            "status": report.status,
            "run_id": report.run_id,
            "fallbacks": report.fallbacks,
            "unseen": report.coverage.unseen,
            "last_error": report.error or known["last_error"],
            "is_baseline": period.is_baseline,
            "possible_gaps": [UnseenPlace(section=name, url=url, reason=reason) for url, name in period.gaps.items()],
        }
    return state.model_copy(update=known)


async def check_sources(names: Sequence[str], store: Store) -> None:
    """A name that neither a source nor a run ever bore is a typing mistake, not an empty answer: `UsageError`."""
    for name in names:
        if await store.sources.get(name) is None and not await store.runs.list(source=name, limit=1):
            known = [source.name for source in (await store.sources.list())[:10]]
            if not known:
                raise NotFound("source.none_yet", name=name)
            raise NotFound("source.not_found", name=name, known=known)


def _compute_period_bounds(query: BriefingQuery, now: dt.datetime, zone: ZoneInfo) -> _PeriodBounds:
    last = min(max(query.day or now.astimezone(zone).date(), _MIN_DAY), _MAX_DAY)
    first = last - dt.timedelta(days=query.days - 1)
    begin, end = get_midnight(first, zone), get_midnight(last + dt.timedelta(days=1), zone)
    if query.previous is not None:
        day_after = query.previous.period.until + dt.timedelta(days=1)
        since = min(query.previous.generated_at, get_midnight(day_after, zone))
        first, begin = min(since.astimezone(zone).date(), last), since.astimezone(dt.UTC) - _OVERLAP
    return _PeriodBounds(period=Period(since=first, until=last), begin=begin, end=end)


def _build_item_filter(query: BriefingQuery, span: _PeriodBounds) -> ItemFilter:
    return ItemFilter(
        sources=query.sources,
        tags=query.tags,
        types=query.types,
        keywords=query.keywords,
        first_seen_since=span.begin,
        first_seen_until=span.end,
    )


def _matches_query(source: Source, query: BriefingQuery) -> bool:
    is_named = source.name in query.sources if query.sources else source.enabled
    return is_named and (not query.tags or bool(set(query.tags) & set(source.tags)))


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
    row: BriefingRow
    query: BriefingQuery
    composed: Briefing
    edit: BriefingEdit

    @property
    def briefing(self) -> Briefing:
        return apply_edit(self.composed, self.edit, by=self.row.edited_by)


@dataclass(kw_only=True)
class BriefingDraftService(AuditedService):
    briefings: BriefingService

    def __post_init__(self) -> None:
        self._previews: OrderedDict[str, BriefingPreview] = OrderedDict()
        self._compose_slots = asyncio.Semaphore(2)  # composing takes a processor, which the others need too

    async def compose_preview(self, query: BriefingQuery) -> BriefingPreview:
        async with self._compose_slots:
            composed = await self.briefings.compose(query, include_all=True)
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
        saved = await asyncio.to_thread(_build_saved_briefing, preview, by=by.name, at=self.clock.now())
        async with self.store.transaction():
            kept = await self.store.briefings.add(saved)
            subject = format_subject(kept.id or 0, kept.title)
            await self.record(by, AuditAction.BRIEFING_SAVE, subject, query=kept.query)
        self._previews.pop(preview.key, None)
        return await asyncio.to_thread(_parse_draft, kept)

    async def get(self, briefing_id: int) -> BriefingDraft:
        saved = await self.store.briefings.get(briefing_id)
        if saved is None:
            raise NotFound("briefing.not_found", briefing=briefing_id)
        return await asyncio.to_thread(_parse_draft, saved)

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
    return f"{briefing_id} {title}"


def _diff_edits(before: BriefingEdit, after: BriefingEdit) -> tuple[dict[str, object], dict[str, object]]:
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    names = [name for name in new if new[name] != old[name]]
    return {name: old[name] for name in names}, {name: new[name] for name in names}
