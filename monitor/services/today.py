"""The first look of a day: what is new and what matters most of it, what ran, and what somebody should see to."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.briefing.item import build_item_schema
from monitor.briefing.order import rank_briefing_items
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.dashboard import (
    LastRun,
    MovedDeadline,
    QueueStatus,
    TierCount,
    TopicNews,
    UnreadPlace,
    WatchedSource,
)
from monitor.db.queries.usage import Day
from monitor.db.tables.collection import Item
from monitor.db.tables.delivery import AlarmKind, AlarmView
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.policies.calendar import DeadlineEntry
from monitor.ranking.feedback import compute_lifts
from monitor.services.deadlines import DeadlineQuery, DeadlineService
from monitor.services.health import DISK_WARN_BYTES, get_free_bytes
from monitor.services.items import ListedItem, choose_line
from monitor.services.runtime import WorkerRegistry, has_worker
from monitor.services.usage import list_days_until
from monitor.vocabulary import RunStatus

MAX_SHOWN_ITEMS = 30
HISTORY_DAYS = 30
AHEAD_DAYS = 14
"""So many days ahead deadlines stand on the first page."""

_MAX_DEADLINES = 12
_MAX_COUNTED = 100
_MAX_MOVED = 20
_MAX_TOPIC_NEWS = 3
_MAX_LOADED_ITEMS = 3 * MAX_SHOWN_ITEMS
_VISIT_GAP = dt.timedelta(hours=2)  # after so long without a look a new sitting begins
_VISIT_UPDATE_INTERVAL = dt.timedelta(minutes=5)
_MAX_LOOKBACK = dt.timedelta(days=7)
_DELIVERY_WINDOW = dt.timedelta(days=7)
_BUDGET_WARN_RATIO = 0.8
_EXPLAINING_ALARMS = (AlarmKind.FAILING, AlarmKind.BLOCKED)
"""Alarms that say why a source was not read, so that its places need not be told one by one."""

_MAX_ALARMS = 200
_MAX_PLACES = 500
_MAX_DELIVERIES = 20


class AttentionKind(StrEnum):
    NO_WORKER = "no_worker"
    DISK_LOW = "disk_low"
    BUDGET_SPENT = "budget_spent"
    BUDGET_LOW = "budget_low"
    ALARM = "alarm"
    FAILING = "failing"
    DELIVERY = "delivery"
    UNREAD = "unread"


_READER_MATTERS = (AttentionKind.ALARM, AttentionKind.FAILING, AttentionKind.UNREAD)


class AttentionEntry(MessageModel):
    """One thing to see to; `count` is of waiting runs, percent of the budget, failures in a row, or unread places."""

    matter: AttentionKind
    source: str = ""
    source_id: int | None = None
    section: str = ""
    alarm: AlarmKind | None = None
    run_id: str | None = None
    target: str = ""
    count: int = 0
    message: Message | None = None
    at: dt.datetime | None = None


class NewItem(ListedItem):
    """A new item. `is_fresh`: it came since the last sitting; `others` are further sources with the same title."""

    is_fresh: bool = False
    others: list[str] = Field(default_factory=list)


class TopicSummary(BaseModel):
    """What came for a topic that a person follows: how much is new, and the best of it."""

    id: int
    name: str
    new: int
    items: list[TopicNews]


class Ahead(BaseModel):
    """What is coming: `count` deadlines end or begin within 14 days, `deadlines` are the nearest of them.

    With `is_more` there are more than were counted.
    `moved` are those that were moved since the last sitting; `topics` are those that the reader follows.
    """

    count: int
    is_more: bool
    deadlines: list[DeadlineEntry]
    moved: list[MovedDeadline]
    topics: list[TopicSummary]


class RunTotals(BaseModel):
    """How the day's runs went, each source by its last one; `waiting` and `running` are the runs of this moment.

    `unread` are the sections and list pages that were not read, `baselines` the sources that ran for the first time:
    what they brought is not all newly published.
    """

    sources: int
    read: int
    partly: int
    failed: int
    unread: int
    waiting: int
    running: int
    waits_since: dt.datetime | None
    baselines: list[str]


class TodaySummary(BaseModel):
    """The first look. `since` is the beginning of the day, or the last sitting where that was before it.

    `new` and `tiers` count all items first seen since then, `items` are the most important of them, in the order of a
    briefing; `new_by_day` counts those of the last 30 days, today the last.
    """

    day: dt.date = Field(examples=["2026-11-22"])
    since: dt.datetime = Field(examples=["2026-11-21T16:00:00Z"])
    last_visit_at: dt.datetime | None = Field(examples=["2026-11-20T09:12:00Z"])
    new: int = Field(examples=[18])
    tiers: list[TierCount]
    items: list[NewItem]
    new_by_day: list[int] = Field(examples=[[12, 0, 9, 18]])
    ahead: Ahead
    ran: RunTotals
    attention: list[AttentionEntry]
    sources: int
    enabled: int
    has_run: bool

    @property
    def is_well(self) -> bool:
        return self.ran.sources > 0 and not self.attention

    def without_operation(self) -> "TodaySummary":
        """Return what a reader needs: what may be missing, and nothing that only who runs the service can mend."""
        return self.model_copy(
            update={"attention": [entry for entry in self.attention if entry.matter in _READER_MATTERS]}
        )


@dataclass(kw_only=True)
class TodayService:
    store: Store
    settings: Settings
    clock: Clock
    presence: WorkerRegistry
    deadlines: DeadlineService

    async def get_summary(self, person: str, *, record_visit: bool = False) -> TodaySummary:
        """The day as a person finds it; with `record_visit` they look themselves, and this sitting is remembered."""
        now = self.clock.now()
        days = list_days_until(now, ZoneInfo(self.settings.timezone), HISTORY_DAYS)
        today = days[-1]
        last = await self._get_last_visit(person, now, record_visit=record_visit)
        since = today.begin if last is None else min(today.begin, max(last, today.begin - _MAX_LOOKBACK))
        dashboard = self.store.dashboard
        tiers = await dashboard.count_by_tier(since, fresh_since=last or since)
        found = await dashboard.list_top_items(since, _MAX_LOADED_ITEMS)
        sources = await dashboard.list_sources()
        pulse = await dashboard.load_queue_status(today.begin)
        unread, places = await dashboard.list_unread(today.begin, _MAX_PLACES)
        return TodaySummary(
            day=today.date,
            since=since,
            last_visit_at=last,
            new=sum(tier.count for tier in tiers),
            tiers=tiers,
            items=await self._build_new_items(await self._order(found, today.date), person, last),
            new_by_day=await dashboard.count_new_by_day([day.date for day in days]),
            ahead=await self._look_ahead(today.date, person, last or since),
            ran=_count_runs(await dashboard.list_last_runs(today.begin), pulse, unread),
            attention=await self._list_attention(today, sources, pulse, places),
            sources=len(sources),
            enabled=sum(source.is_enabled for source in sources),
            has_run=any(source.has_run for source in sources),
        )

    async def _look_ahead(self, today: dt.date, person: str, last: dt.datetime) -> Ahead:
        dashboard = self.store.dashboard
        until = today + dt.timedelta(days=AHEAD_DAYS)
        near, is_more = await self.deadlines.list_nearest(DeadlineQuery(since=today, until=until), _MAX_COUNTED)
        followed = await dashboard.list_followed_topics(person)
        news = await dashboard.list_topic_news(person, last, limit=_MAX_TOPIC_NEWS) if followed else []
        by_topic: dict[int, list[TopicNews]] = {topic.id: [] for topic in followed}
        for item in news:
            by_topic[item.topic_id].append(item)
        return Ahead(
            count=len(near),
            is_more=is_more,
            deadlines=list(near[:_MAX_DEADLINES]),
            moved=await dashboard.list_moved_deadlines(last, today=today, limit=_MAX_MOVED),
            topics=[
                TopicSummary(id=topic.id, name=topic.name, new=items[0].count if items else 0, items=items)
                for topic in followed
                if (items := by_topic[topic.id]) is not None
            ],
        )

    async def _get_last_visit(self, person: str, now: dt.datetime, *, record_visit: bool) -> dt.datetime | None:
        """When the sitting before this one ended; None for a first one, and for a program."""
        known = await self.store.dashboard.get_last_visit(person)
        if known is None:
            return None
        looked_at, before = known
        if looked_at is not None and now - looked_at > _VISIT_GAP:
            before = looked_at
        if record_visit and (looked_at is None or now - looked_at > _VISIT_UPDATE_INTERVAL):
            await self.store.dashboard.save_visit(person, now, before)
        return before

    async def _order(self, items: Sequence[Item], today: dt.date) -> list[Item]:
        """Put items in the order of a briefing: as their one run did, else by their scores; no model is asked."""
        ranking = await rank_briefing_items(
            items,
            model=None,
            language="",
            lifts=compute_lifts(items, await self.store.marks.list_feedback(items)),
            facts=await self.store.items.load_facts([item.id or 0 for item in items]),
            today=today,
        )
        return [items[place] for place in ranking.order]

    async def _build_new_items(self, found: Sequence[Item], person: str, last: dt.datetime | None) -> list[NewItem]:
        folded = merge_same_titles(found)[:MAX_SHOWN_ITEMS]
        ids = [item.id or 0 for item, _ in folded]
        marks = await self.store.marks.load_marks(person, ids)
        unchecked = await self.store.evidence.load_unchecked(ids)
        return [
            NewItem(
                **dict(build_item_schema(item)),
                others=others,
                unread=item.id in marks.unread,
                later=item.id in marks.later,
                starred=item.id in marks.starred,
                line=choose_line(item.summary, unchecked.get(item.id or 0, ())),
                is_fresh=last is not None and item.first_seen >= last,
            )
            for item, others in folded
        ]

    async def _list_attention(
        self, today: Day, sources: Sequence[WatchedSource], pulse: QueueStatus, places: Sequence[UnreadPlace]
    ) -> list[AttentionEntry]:
        alarms = await self.store.alarms.list_page(is_open=True, limit=_MAX_ALARMS)
        failed = await self.store.deliveries.list_open_failures(limit=_MAX_DELIVERIES)
        ids = {source.name: source.id for source in sources}
        entries = []
        is_needed = pulse.queued or any(source.is_enabled and source.is_planned for source in sources)
        if is_needed and not await has_worker(self.presence):
            entries.append(AttentionEntry(matter=AttentionKind.NO_WORKER, count=pulse.queued))
        free_bytes = get_free_bytes(self.settings.data_dir)
        if free_bytes < DISK_WARN_BYTES:
            entries.append(AttentionEntry(matter=AttentionKind.DISK_LOW, count=free_bytes // 1_000_000))
        entries += _check_budget(pulse.tokens, self.settings.llm.daily_token_budget)
        entries += _list_alarm_entries(alarms, ids)
        entries += _list_failing_entries(sources, alarms)
        entries += [
            AttentionEntry(
                matter=AttentionKind.DELIVERY,
                target=delivery.target,
                message=delivery.last_error,
                at=delivery.planned_at,
                count=delivery.attempts,
            )
            for delivery in failed
            if delivery.planned_at >= today.begin - _DELIVERY_WINDOW and delivery.person is None
        ]
        explained = {
            entry.source
            for entry in entries
            if entry.matter is AttentionKind.FAILING or entry.alarm in _EXPLAINING_ALARMS
        }
        return entries + _list_unread_entries([place for place in places if place.source not in explained], ids)


def merge_same_titles(items: Iterable[Item]) -> list[tuple[Item, list[str]]]:
    """The items, those of several sources with the same title once: the first, with the names of the other sources."""
    folded: dict[str, tuple[Item, list[str]]] = {}
    for item in items:
        key = "".join(item.title.split()).casefold() or str(item.id)
        first, others = folded.setdefault(key, (item, []))
        if first is not item and item.source != first.source and item.source not in others:
            others.append(item.source)
    return list(folded.values())


def _count_runs(runs: Sequence[LastRun], pulse: QueueStatus, unread: int) -> RunTotals:
    counts = Counter(run.status for run in runs)
    return RunTotals(
        sources=len(runs),
        read=counts[RunStatus.SUCCEEDED],
        partly=counts[RunStatus.DEGRADED],
        failed=counts[RunStatus.FAILED],
        unread=unread,
        waiting=pulse.queued,
        running=pulse.running,
        waits_since=pulse.oldest_queued_at,
        baselines=[run.source for run in runs if run.is_baseline],
    )


def _check_budget(tokens: int, budget: int | None) -> list[AttentionEntry]:
    if not budget or tokens < _BUDGET_WARN_RATIO * budget:
        return []
    matter = AttentionKind.BUDGET_SPENT if tokens >= budget else AttentionKind.BUDGET_LOW
    return [AttentionEntry(matter=matter, count=min(100, 100 * tokens // budget))]


def _list_alarm_entries(alarms: Sequence[AlarmView], ids: Mapping[str, int]) -> list[AttentionEntry]:
    return [
        AttentionEntry(
            matter=AttentionKind.ALARM,
            source=alarm.source,
            source_id=ids.get(alarm.source),
            section=alarm.section,
            alarm=alarm.kind,
            run_id=alarm.run_id,
            message=alarm.message,
            at=alarm.raised_at,
        )
        for alarm in alarms
    ]


def _list_failing_entries(sources: Sequence[WatchedSource], alarms: Sequence[AlarmView]) -> list[AttentionEntry]:
    """The sources whose last run failed, as far as no alarm says so already."""
    said = {alarm.source for alarm in alarms if alarm.kind is AlarmKind.FAILING and not alarm.section}
    return [
        AttentionEntry(
            matter=AttentionKind.FAILING,
            source=source.name,
            source_id=source.id,
            count=source.consecutive_failures,
            message=source.last_error,
        )
        for source in sources
        if source.is_enabled and source.consecutive_failures > 0 and source.name not in said
    ]


def _list_unread_entries(places: Sequence[UnreadPlace], ids: Mapping[str, int]) -> list[AttentionEntry]:
    """What was not read, one entry for each source."""
    by_source: dict[str, list[UnreadPlace]] = {}
    for place in places:
        by_source.setdefault(place.source, []).append(place)
    return [
        AttentionEntry(
            matter=AttentionKind.UNREAD,
            source=name,
            source_id=ids.get(name),
            section=some[0].section,
            run_id=some[0].run_id,
            count=len(some),
            message=some[0].reason,
        )
        for name, some in by_source.items()
    ]
