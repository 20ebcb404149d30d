"""The use case of writing a briefing: gather what a period brought, put it in order, say what was not seen."""

import asyncio
import datetime as dt
import secrets
from collections.abc import Awaitable, Callable, Sequence
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.app.report import report_of
from monitor.briefing.compose import (
    Briefing,
    ChangedItem,
    Grouping,
    Period,
    changed_item,
    compose,
    with_overview,
)
from monitor.briefing.gaps import OpenAlarm, SourceState
from monitor.briefing.grouping import Group, group
from monitor.briefing.order import ranked
from monitor.briefing.overview import write_overview
from monitor.domain.alarms import AlarmNote
from monitor.domain.prompts import OURS, Prompts
from monitor.domain.reading import UnseenPlace
from monitor.domain.tables import Item, Run, Source
from monitor.domain.words import ItemType
from monitor.errors import NotFound, UsageError
from monitor.ports import ChatModel, Clock
from monitor.ranking import lifts_of
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.filters import ItemFilter

NewPrompts = Callable[[], Awaitable[Prompts]]
NewModel = Callable[[str, Store], Awaitable[ChatModel | None]]

_LANGUAGES = ("zh", "en")
MOST_BY_HAND = 2000
"""So many items a briefing may have that is put in order by hand."""
_FIRST_DAY, _LAST_DAY = dt.date(1900, 1, 1), dt.date(9000, 1, 1)
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
    group: Grouping = "theme"


class _Span(BaseModel):
    """The period of a briefing, as days and as instants; `end` is not included."""

    period: Period
    begin: dt.datetime
    end: dt.datetime


class BriefingDesk:
    """Writes briefings; `new_model` gives a model whose calls are booked under an id, or None where none is asked."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        settings: Settings,
        new_model: NewModel | None = None,
        new_prompts: NewPrompts | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._new_model = new_model
        self._new_prompts = new_prompts

    async def write(self, wanted: BriefingQuery, *, is_whole: bool = False) -> Briefing:
        """The briefing; it speaks for every enabled source that is meant, whether it brought something or not.

        `is_whole`, for one that people put in order by hand: every item is in full, whatever `top` says, and more of
        them than anybody can look through are a `UsageError`. The model's calls are booked under an id of the
        briefing's own, and held against the budgets of a run.
        """
        if wanted.language not in _LANGUAGES:
            raise UsageError(f"A briefing is written in {' or '.join(_LANGUAGES)}, not in {wanted.language!r}.")
        await check_sources(wanted.sources, self._store)
        zone = ZoneInfo(self._settings.timezone)
        now = self._clock.now()
        span = _span_of(wanted, now, zone)
        items = await self._items(wanted, span, most=MOST_BY_HAND if is_whole else None)
        is_chosen = bool(wanted.types or wanted.keywords)
        brought = (
            await self._items(wanted.model_copy(update={"types": (), "keywords": ()}), span) if is_chosen else items
        )
        model = await self._model(now)
        texts = await self._store.items.texts([item.id or 0 for item in items])
        groups = await asyncio.to_thread(group, items, texts)
        lifts = await self._lifts(groups)
        prompts = await self._new_prompts() if self._new_prompts is not None else OURS
        ranking = await ranked(
            [one.lead for one in groups], model=model, language=wanted.language, lifts=lifts, prompts=prompts
        )
        briefing = await asyncio.to_thread(
            compose,
            groups,
            await self._states(brought, wanted, span),
            ranking=ranking,
            period=span.period,
            language=wanted.language,
            top=None if is_whole else wanted.top,
            generated_at=now.astimezone(zone),
            public_url=self._settings.web.public_url,
            group=wanted.group,
            changes=await self._changes(wanted, span, zone),
        )
        overview = await write_overview(
            briefing.items[: wanted.top], texts, model=model, language=wanted.language, prompts=prompts
        )
        return with_overview(briefing, overview)

    async def _items(self, wanted: BriefingQuery, span: _Span, *, most: int | None = None) -> list[Item]:
        known = wanted.previous.item_ids if wanted.previous is not None else set()
        items = await self._store.items.list(_filter_of(wanted, span), limit=None if most is None else most + 1)
        if most is not None and len(items) > most:
            raise UsageError(f"More than {most} items are meant: choose fewer days, or some sources, types or words.")
        return [item for item in items if item.id not in known]

    async def _lifts(self, groups: Sequence[Group]) -> list[int]:
        """How far people's feedback moves each document: what was said of its lead, else of another place of it."""
        each = [[one.lead, *one.places] for one in groups]
        wishes = await self._store.marks.wishes([item for items in each for item in items])
        return [next((lift for lift in lifts_of(items, wishes) if lift), 0) if wishes else 0 for items in each]

    async def _model(self, now: dt.datetime) -> ChatModel | None:
        if self._new_model is None:
            return None
        return await self._new_model(f"briefing-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}", self._store)

    async def _changes(self, wanted: BriefingQuery, span: _Span, zone: ZoneInfo) -> list[ChangedItem]:
        """The revisions that were seen in the period, of the items that are meant."""
        rows = await self._store.revisions.between(span.begin, span.end, sources=wanted.sources)
        meant = _filter_of(wanted, span).model_copy(
            update={"first_seen_since": None, "first_seen_until": None, "ids": [item.id for item, _ in rows]}
        )
        ids = {item.id for item in await self._store.items.list(meant, limit=None)}
        told = {(one.item, one.seen_at) for one in wanted.previous.changes} if wanted.previous else set()
        changes = [changed_item(item, revision) for item, revision in rows if item.id in ids]
        return [
            change.model_copy(update={"seen_at": change.seen_at.astimezone(zone)})
            for change in changes
            if (change.item, change.seen_at) not in told
        ]

    async def _states(self, items: Sequence[Item], wanted: BriefingQuery, span: _Span) -> list[SourceState]:
        """The state of every source that is meant or brought one of these items, chosen or not."""
        watched = {source.name: source for source in await self._store.sources.list()}
        meant = {name for name, source in watched.items() if _is_meant(source, wanted)}
        brought = dict.fromkeys(item.source for item in items)
        alarms = [alarm for alarm in await self._store.alarms.list(limit=1000) if _is_open(alarm, span.end)]
        states = []
        for name in [*brought, *sorted(meant - brought.keys())]:
            runs = await self._store.runs.list(source=name, limit=None)
            runs = [run for run in runs if span.begin <= run.planned_at < span.end]
            new_items = sum(item.source == name for item in items)
            mine = [alarm for alarm in alarms if alarm.source == name]
            states.append(await self._state(name, watched.get(name), runs, new_items, mine))
        return states

    async def _state(
        self, name: str, source: Source | None, runs: Sequence[Run], new_items: int, alarms: Sequence[AlarmNote]
    ) -> SourceState:
        """How a source stands by its runs in the period, newest first; its last one speaks for what was not seen."""
        state = SourceState(
            name=name,
            new_items=new_items,
            is_baseline=any(run.is_baseline for run in runs),
            last_error=source.last_error if source else None,
            last_run_at=source.last_run_at if source else None,
            last_new_item_at=source.last_new_item_at if source else None,
            alarms=[OpenAlarm.model_validate(alarm, from_attributes=True) for alarm in alarms],
            possible_gaps=await self._possible_gaps(runs),
        )
        if not runs:
            return state
        report = await report_of(runs[0], self._store)
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

    async def _possible_gaps(self, runs: Sequence[Run]) -> list[UnseenPlace]:
        """The lists on which any run saw nothing that it knew, each once: a later run does not make up for it."""
        lists: dict[str, UnseenPlace] = {}
        for run in runs:
            for section in await self._store.runs.sections(run.id):
                if section.is_gap:
                    lists[section.url] = UnseenPlace(section=section.name, url=section.url, reason="possible gap")
        return list(lists.values())


async def check_sources(names: Sequence[str], store: Store) -> None:
    """A name that neither a source nor a run ever bore is a typing mistake, not an empty answer: `UsageError`."""
    for name in names:
        if await store.sources.get(name) is None and not await store.runs.list(source=name, limit=1):
            known = ", ".join(source.name for source in (await store.sources.list())[:10]) or "none yet"
            raise NotFound(f"There is no source {name!r}; known are {known}.")


def _span_of(wanted: BriefingQuery, now: dt.datetime, zone: ZoneInfo) -> _Span:
    last = min(max(wanted.day or now.astimezone(zone).date(), _FIRST_DAY), _LAST_DAY)
    first = last - dt.timedelta(days=wanted.days - 1)
    begin, end = _midnight(first, zone), _midnight(last + dt.timedelta(days=1), zone)
    if wanted.previous is not None:
        day_after = wanted.previous.period.until + dt.timedelta(days=1)
        since = min(wanted.previous.generated_at, _midnight(day_after, zone))
        first, begin = min(since.astimezone(zone).date(), last), since.astimezone(dt.UTC) - _OVERLAP
    return _Span(period=Period(since=first, until=last), begin=begin, end=end)


def _filter_of(wanted: BriefingQuery, span: _Span) -> ItemFilter:
    return ItemFilter(
        sources=wanted.sources,
        tags=wanted.tags,
        types=wanted.types,
        keywords=wanted.keywords,
        first_seen_since=span.begin,
        first_seen_until=span.end,
    )


def _is_meant(source: Source, wanted: BriefingQuery) -> bool:
    is_named = source.name in wanted.sources if wanted.sources else source.enabled
    return is_named and (not wanted.tags or bool(set(wanted.tags) & set(source.tags)))


def _is_open(alarm: AlarmNote, at: dt.datetime) -> bool:
    return alarm.raised_at < at and (alarm.cleared_at is None or alarm.cleared_at >= at)


def _midnight(day: dt.date, zone: ZoneInfo) -> dt.datetime:
    return dt.datetime.combine(day, dt.time.min, tzinfo=zone).astimezone(dt.UTC)
