"""Briefings: composed from the archive, arranged by hand, and exported."""

import asyncio
import datetime as dt
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field, StringConstraints

from monitor.briefing.compose import (
    Briefing,
    ChangedItem,
    GroupBy,
    Period,
    attach_overview,
    attach_reasons,
    build_changed_item,
    compose_briefing,
    mark_unchecked,
)
from monitor.briefing.gaps import OpenAlarm, SourceRunSummary
from monitor.briefing.headlines import write_reasons
from monitor.briefing.order import rank_briefing_items
from monitor.briefing.overview import write_overview
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.dashboard import SourcePeriod
from monitor.db.queries.filters import ItemFilter
from monitor.db.reading import UnseenPlace
from monitor.db.tables.collection import Item, Source
from monitor.db.tables.people import ComposeStage
from monitor.db.tables.policies import Topic, TopicFit
from monitor.db.visibility import see_as
from monitor.dedupe.clusters import DocumentCluster, cluster_in_workers
from monitor.errors import NotFound, UsageError
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.policies.changes import assign_moves
from monitor.ranking.feedback import compute_lifts
from monitor.ranking.topics import TopicScore
from monitor.services.prompts import PromptsLoader
from monitor.services.runs import RunSummary, load_run_summaries
from monitor.services.runtime import ChatModelFactory
from monitor.services.schedules import get_midnight
from monitor.services.teams import choose_eyes
from monitor.vocabulary import ItemType

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
    default that of the settings. With a `topic` it is for those who care about that: only the items that fit it, then
    those that nothing judged yet.
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
    topic: str | None = None
    team_id: int | None = None


_Word = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]


class BriefingConditions(BaseModel):
    """What briefings are of, whatever their period; of `tags` and `keywords` one has to fit."""

    topic: _Word | None = None
    sources: list[_Word] = Field(default_factory=list, max_length=200)
    tags: list[_Word] = Field(default_factory=list, max_length=50)
    types: list[ItemType] = Field(default_factory=list, max_length=len(ItemType))
    keywords: list[_Word] = Field(default_factory=list, max_length=50)
    language: Literal["zh", "en"] = "zh"


StageReporter = Callable[[ComposeStage], Awaitable[None]]


async def _report_nothing(stage: ComposeStage) -> None:
    """Take a stage that nobody waits to hear of."""


def _read_fit(fit: TopicFit) -> TopicScore:
    return TopicScore(fit.score, fit.is_match, fit.reason, fit.passage)


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

    async def compose(
        self, query: BriefingQuery, *, include_all: bool = False, report: StageReporter = _report_nothing
    ) -> Briefing:
        """Compose for every enabled source that is meant; with `include_all` every item is in full, or `UsageError`.

        Whoever asks, it is composed with the eyes of its team, or of nobody in particular.
        """
        with see_as(choose_eyes(query.team_id)):
            return await self._compose(query, include_all=include_all, report=report)

    async def _compose(self, query: BriefingQuery, *, include_all: bool, report: StageReporter) -> Briefing:
        if query.language not in _LANGUAGES:
            raise UsageError("briefing.unknown_language", language=query.language, known=_LANGUAGES)
        await check_sources(query.sources, self.store)
        topic = await self._load_topic(query.topic)
        zone = ZoneInfo(query.timezone or self.settings.timezone)
        now = self.clock.now()
        span = _compute_period_bounds(query, now, zone)
        await report(ComposeStage.COLLECT)
        items = await self._list_items(query, span, max_items=MAX_EDITABLE_ITEMS if include_all else None)
        brought = items
        if query.types or query.keywords:
            brought = await self._list_items(query.model_copy(update={"types": (), "keywords": ()}), span)
        items, off_topic = await self._select_for_topic(items, topic)
        model_id = f"briefing-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
        model = await self.new_model(model_id, self.store) if self.new_model is not None else None
        prompts = await self.new_prompts() if self.new_prompts is not None else DEFAULT_PROMPTS
        await report(ComposeStage.GROUP)
        texts = await self.store.items.load_texts([item.id or 0 for item in items])
        groups = await cluster_in_workers(items, texts, self.workers)
        await report(ComposeStage.RANK)
        changes = await self._list_changes(query, span, zone, topic)
        facts = await self.store.briefing_facts.load(
            [*(item.id or 0 for item in items), *(change.item for change in changes)],
            since=span.begin,
            until=span.end,
            topic=topic,
            off_topic=off_topic,
        )
        ranking = await rank_briefing_items(
            [group.lead for group in groups],
            model=model,
            language=query.language,
            lifts=await self._load_rank_lifts(groups),
            prompts=prompts,
            facts=facts.facts,
            fits={item_id: _read_fit(fit) for item_id, fit in facts.fits.items()},
            today=now.astimezone(zone).date(),
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
            changes=changes,
            facts=facts,
        )
        shown = [item.id for item in briefing.items if item.id is not None]
        unchecked = await self.store.evidence.load_unchecked(shown)
        briefing = mark_unchecked(briefing.model_copy(update={"group": query.group}), unchecked)
        await report(ComposeStage.WRITE)
        return await self._write_prose(briefing, query, texts, model, prompts)

    async def compose_items(self, item_ids: Sequence[int], *, language: str, team_id: int | None = None) -> Briefing:
        """Compose a briefing of these items alone, by rule, without states of sources.

        Items that are gone are passed over, and so are those of other teams.
        """
        with see_as(choose_eyes(team_id)):
            return await self._compose_items(item_ids, language=language)

    async def _compose_items(self, item_ids: Sequence[int], *, language: str) -> Briefing:
        now = self.clock.now().astimezone(ZoneInfo(self.settings.timezone))
        items = await self.store.items.list(ItemFilter(ids=item_ids, is_hidden=None), limit=None)
        ids = [item.id or 0 for item in items]
        facts = await self.store.briefing_facts.load(ids, since=now, until=now, topic=None, off_topic=0)
        groups = [DocumentCluster(item) for item in items]
        ranking = await rank_briefing_items(
            items,
            model=None,
            language=language,
            lifts=await self._load_rank_lifts(groups),
            facts=facts.facts,
            today=now.date(),
        )
        briefing = compose_briefing(
            groups,
            [],
            ranking=ranking,
            period=Period(since=now.date(), until=now.date()),
            language=language,
            top=None,
            generated_at=now,
            public_url=self.settings.web.public_url,
            facts=facts,
        )
        return mark_unchecked(briefing, await self.store.evidence.load_unchecked(ids))

    async def _write_prose(
        self,
        briefing: Briefing,
        query: BriefingQuery,
        texts: Mapping[int, str],
        model: ChatModel | None,
        prompts: PromptSet,
    ) -> Briefing:
        """Return the briefing with what a model writes of it: a line on each headline, and the overview."""
        headlines = {headline.item for headline in briefing.headlines}
        means: dict[str, Any] = {
            "model": model,
            "workers": self.workers,
            "language": query.language,
            "prompts": prompts,
        }
        first = [item for item in briefing.items if item.id in headlines]
        reasons, overview = await asyncio.gather(
            write_reasons(first, texts, **means), write_overview(briefing.items[: query.top], texts, **means)
        )
        return attach_overview(attach_reasons(briefing, reasons), overview)

    async def _load_topic(self, name: str | None) -> Topic | None:
        if name is None:
            return None
        topic = await self.store.briefing_facts.get_topic(name)
        if topic is None:
            known = await self.store.briefing_facts.list_topics()
            raise UsageError("briefing.unknown_topic", topic=name, known=known or [Message("target.none")])
        return topic

    async def _select_for_topic(self, items: list[Item], topic: Topic | None) -> tuple[list[Item], int]:
        """Return the items that fit the topic or were not judged for it, and how many do not fit."""
        if topic is None:
            return items, 0
        ids = [item.id or 0 for item in items]
        fits = await self.store.briefing_facts.load_fits(topic, ids)
        unjudged = await self.store.briefing_facts.list_unjudged(topic, [item for item in ids if item not in fits])
        meant = {item for item, fit in fits.items() if fit.is_match} | unjudged
        kept = [item for item in items if item.id in meant]
        return kept, len(items) - len(kept)

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

    async def _list_changes(
        self, query: BriefingQuery, span: _PeriodBounds, zone: ZoneInfo, topic: Topic | None
    ) -> list[ChangedItem]:
        rows = await self.store.revisions.list_between(span.begin, span.end, sources=query.sources)
        meant = _build_item_filter(query, span).model_copy(
            update={"first_seen_since": None, "first_seen_until": None, "ids": [item.id for item, _ in rows]}
        )
        found, _ = await self._select_for_topic(await self.store.items.list(meant, limit=None), topic)
        ids = {item.id for item in found}
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
            known = [source.name for source in (await store.sources.list_heads())[:10]]
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
