"""The use case of writing a briefing: gather what a period brought, put it in order, say what was not seen."""

import asyncio
import datetime as dt
import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.briefing.compose import (
    Briefing,
    ChangedItem,
    GroupBy,
    Period,
    attach_overview,
    build_changed_item,
    compose_briefing,
)
from monitor.briefing.gaps import OpenAlarm, SourceRunSummary
from monitor.briefing.order import rank_briefing_items
from monitor.briefing.overview import write_overview
from monitor.briefing.render import get_briefing_content
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.filters import ItemFilter
from monitor.db.reading import UnseenPlace
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.delivery import AlarmView
from monitor.dedupe.clusters import DocumentCluster, cluster_items
from monitor.errors import NotFound, UsageError
from monitor.exports.docx import open_template
from monitor.exports.registry import Content, export_content
from monitor.i18n.message import Message
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.ranking.feedback import compute_lifts
from monitor.services.run_report import load_run_report
from monitor.vocabulary import ItemType

PromptsLoader = Callable[[], Awaitable[PromptSet]]
ChatModelFactory = Callable[[str, Store], Awaitable[ChatModel | None]]
_LANGUAGES = ("zh", "en")
MAX_EDITABLE_ITEMS = 2000
"""So many items a briefing may have that is put in order by hand."""

_MIN_DAY, _MAX_DAY = dt.date(1900, 1, 1), dt.date(9000, 1, 1)
"""Nothing was seen outside of these; they keep the arithmetic of days within the calendar."""

_OVERLAP = dt.timedelta(hours=1)
"""So far behind the last briefing the next one reaches: an item is on record a little later than it is first seen."""


class BriefingQuery(BaseModel):
    """Which briefing is wanted: what was first seen in the `days` that end with `day`, by default today.

    With `previous`, the last briefing of the same reader, it is what was first seen since that was written and does
    not stand in it, however long ago. Of `tags` and `keywords` one has to fit.
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
    group: GroupBy = "theme"


class _PeriodBounds(BaseModel):
    """The period of a briefing, as days and as instants; `end` is not included."""

    period: Period
    begin: dt.datetime
    end: dt.datetime


class BriefingService:
    """Writes briefings; `new_model` gives a model whose calls are booked under an id, or None where none is asked."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        settings: Settings,
        new_model: ChatModelFactory | None = None,
        new_prompts: PromptsLoader | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._new_model = new_model
        self._new_prompts = new_prompts

    async def compose(self, query: BriefingQuery, *, include_all: bool = False) -> Briefing:
        """The briefing; it speaks for every enabled source that is meant, whether it brought something or not.

        `is_whole`, for one that people put in order by hand: every item is in full, whatever `top` says, and more of
        them than anybody can look through are a `UsageError`. The model's calls are booked under an id of the
        briefing's own, and held against the budgets of a run.
        """
        if query.language not in _LANGUAGES:
            raise UsageError("briefing.unknown_language", language=query.language, known=_LANGUAGES)
        await check_sources(query.sources, self._store)
        zone = ZoneInfo(self._settings.timezone)
        now = self._clock.now()
        span = _compute_period_bounds(query, now, zone)
        items = await self._list_items(query, span, max_items=MAX_EDITABLE_ITEMS if include_all else None)
        is_chosen = bool(query.types or query.keywords)
        brought = (
            await self._list_items(query.model_copy(update={"types": (), "keywords": ()}), span) if is_chosen else items
        )
        model = await self._open_model(now)
        texts = await self._store.items.load_texts([item.id or 0 for item in items])
        groups = await asyncio.to_thread(cluster_items, items, texts)
        lifts = await self._load_rank_lifts(groups)
        prompts = await self._new_prompts() if self._new_prompts is not None else DEFAULT_PROMPTS
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
            public_url=self._settings.web.public_url,
            group=query.group,
            changes=await self._list_changes(query, span, zone),
        )
        overview = await write_overview(
            briefing.items[: query.top], texts, model=model, language=query.language, prompts=prompts
        )
        return attach_overview(briefing, overview)

    async def _list_items(
        self, query: BriefingQuery, span: _PeriodBounds, *, max_items: int | None = None
    ) -> list[Item]:
        known = query.previous.item_ids if query.previous is not None else set()
        items = await self._store.items.list(
            _build_item_filter(query, span), limit=None if max_items is None else max_items + 1
        )
        if max_items is not None and len(items) > max_items:
            raise UsageError("briefing.too_many_items", limit=max_items)
        return [item for item in items if item.id not in known]

    async def _load_rank_lifts(self, groups: Sequence[DocumentCluster]) -> list[int]:
        """How far people's feedback moves each document: what was said of its lead, else of another place of it."""
        each = [[group.lead, *group.places] for group in groups]
        wishes = await self._store.marks.list_feedback([item for items in each for item in items])
        return [next((lift for lift in compute_lifts(items, wishes) if lift), 0) if wishes else 0 for items in each]

    async def _open_model(self, now: dt.datetime) -> ChatModel | None:
        if self._new_model is None:
            return None
        return await self._new_model(f"briefing-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", self._store)

    async def _list_changes(self, query: BriefingQuery, span: _PeriodBounds, zone: ZoneInfo) -> list[ChangedItem]:
        """The revisions that were seen in the period, of the items that are meant."""
        rows = await self._store.revisions.list_between(span.begin, span.end, sources=query.sources)
        meant = _build_item_filter(query, span).model_copy(
            update={"first_seen_since": None, "first_seen_until": None, "ids": [item.id for item, _ in rows]}
        )
        ids = {item.id for item in await self._store.items.list(meant, limit=None)}
        reported = {(change.item, change.seen_at) for change in query.previous.changes} if query.previous else set()
        changes = [build_changed_item(item, revision) for item, revision in rows if item.id in ids]
        return [
            change.model_copy(update={"seen_at": change.seen_at.astimezone(zone)})
            for change in changes
            if (change.item, change.seen_at) not in reported
        ]

    async def _load_source_states(
        self, items: Sequence[Item], query: BriefingQuery, span: _PeriodBounds
    ) -> list[SourceRunSummary]:
        """The state of every source that is meant or brought one of these items, chosen or not."""
        watched = {source.name: source for source in await self._store.sources.list()}
        meant = {name for name, source in watched.items() if _matches_query(source, query)}
        brought = dict.fromkeys(item.source for item in items)
        alarms = [alarm for alarm in await self._store.alarms.list(limit=1000) if _is_alarm_open(alarm, span.end)]
        states = []
        for name in [*brought, *sorted(meant - brought.keys())]:
            runs = await self._store.runs.list(source=name, limit=None)
            runs = [run for run in runs if span.begin <= run.planned_at < span.end]
            new_items = sum(item.source == name for item in items)
            mine = [alarm for alarm in alarms if alarm.source == name]
            states.append(await self._load_source_state(name, watched.get(name), runs, new_items, mine))
        return states

    async def _load_source_state(
        self, name: str, source: Source | None, runs: Sequence[Run], new_items: int, alarms: Sequence[AlarmView]
    ) -> SourceRunSummary:
        """How a source stands by its runs in the period, newest first; its last one speaks for what was not seen."""
        state = SourceRunSummary(
            name=name,
            new_items=new_items,
            is_baseline=any(run.is_baseline for run in runs),
            last_error=source.last_error if source else None,
            last_run_at=source.last_run_at if source else None,
            last_new_item_at=source.last_new_item_at if source else None,
            alarms=[OpenAlarm.model_validate(alarm, from_attributes=True) for alarm in alarms],
            possible_gaps=await self._list_possible_gaps(runs),
        )
        if not runs:
            return state
        report = await load_run_report(runs[0], self._store)
        coverage = report.coverage
        return state.model_copy(
            update={
                "status": report.status,
                "run_id": report.run_id,
                "last_error": report.error or state.last_error,
                "fallbacks": report.fallbacks,
                "unseen": coverage.unseen,
                "over_limit": coverage.over_limit,
                "left": coverage.left,
                "refused": coverage.refused,
            }
        )

    async def _list_possible_gaps(self, runs: Sequence[Run]) -> list[UnseenPlace]:
        """The lists on which any run saw nothing that it knew, each once: a later run does not make up for it."""
        lists: dict[str, UnseenPlace] = {}
        for run in runs:
            for section in await self._store.runs.list_sections(run.id):
                if section.is_gap:
                    lists[section.url] = UnseenPlace(
                        section=section.name, url=section.url, reason=Message("cause.possible_gap")
                    )
        return list(lists.values())


async def check_sources(names: Sequence[str], store: Store) -> None:
    """A name that neither a source nor a run ever bore is a typing mistake, not an empty answer: `UsageError`."""
    for name in names:
        if await store.sources.get(name) is None and not await store.runs.list(source=name, limit=1):
            known = [source.name for source in (await store.sources.list())[:10]]
            raise (
                NotFound("source.not_found", name=name, known=known)
                if known
                else NotFound("source.none_yet", name=name)
            )


def _compute_period_bounds(query: BriefingQuery, now: dt.datetime, zone: ZoneInfo) -> _PeriodBounds:
    last = min(max(query.day or now.astimezone(zone).date(), _MIN_DAY), _MAX_DAY)
    first = last - dt.timedelta(days=query.days - 1)
    begin, end = _get_midnight(first, zone), _get_midnight(last + dt.timedelta(days=1), zone)
    if query.previous is not None:
        day_after = query.previous.period.until + dt.timedelta(days=1)
        since = min(query.previous.generated_at, _get_midnight(day_after, zone))
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


def _is_alarm_open(alarm: AlarmView, at: dt.datetime) -> bool:
    return alarm.raised_at < at and (alarm.cleared_at is None or alarm.cleared_at >= at)


def _get_midnight(day: dt.date, zone: ZoneInfo) -> dt.datetime:
    return dt.datetime.combine(day, dt.time.min, tzinfo=zone).astimezone(dt.UTC)


class ExportService:
    """Writes content in any format; `print_pdf` makes a PDF of an HTML page, `template` is the firm's Word file."""

    def __init__(self, *, print_pdf: Callable[[bytes], Awaitable[bytes]], template: Path | None) -> None:
        self._print_pdf = print_pdf
        self._template = template
        self._print_slot = asyncio.Semaphore(1)  # a browser at a time

    async def export_briefing(self, briefing: Briefing, format_name: str, *, template: Path | None = None) -> bytes:
        """Write the briefing in the format; `template` is used instead of the configured Word file."""
        return await self.export(get_briefing_content(briefing), format_name, template=template)

    async def export(self, content: Content, format_name: str, *, template: Path | None = None) -> bytes:
        """Write the content in the format.

        `UsageError` for an unknown format or a template that cannot be read; `WorkFailed` where a PDF cannot be
        printed.
        """
        chosen = template or self._template
        return await export_content(
            content,
            format_name,
            load_template=lambda: _read_template(chosen) if chosen is not None else None,
            print_page=self._print_page,
        )

    async def _print_page(self, page: bytes) -> bytes:
        async with self._print_slot:
            return await self._print_pdf(page)


def check_template(settings: Settings) -> str | Message:
    """The firm's Word file, read and opened; `UsageError` where that fails, for then no docx can be written."""
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
