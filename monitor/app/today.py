"""The first look of a day: what is new and what matters most of it, what ran, and what somebody should see to."""

import datetime as dt
from collections.abc import Iterable, Sequence
from enum import StrEnum
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.app.costs import days_until
from monitor.app.doctor import WARN_BYTES, free_bytes
from monitor.app.sweeps import WORKER
from monitor.briefing.wire import ItemWire, item_wire
from monitor.domain.alarms import AlarmKind, AlarmNote
from monitor.domain.deliveries import Delivery, DeliveryStatus
from monitor.domain.tables import Item
from monitor.domain.words import RunStatus
from monitor.ports import Clock, Presence
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.calendar import Day
from monitor.store.outlook import LastRun, Pulse, TierCount, UnreadPlace, WatchedSource

SHOWN = 30
"""So many items stand on the page."""

LOOKED_BACK = 30
"""The days whose numbers of new items are told, for comparison."""

_READ_AHEAD = 3 * SHOWN
_SITTING = dt.timedelta(hours=2)
"""After so long without a look a new sitting begins."""

_KEPT_EVERY = dt.timedelta(minutes=5)
_FARTHEST = dt.timedelta(days=7)
_DELIVERIES_OF = dt.timedelta(days=7)
_NEARLY = 0.8
_SAYS_WHY = (AlarmKind.FAILING, AlarmKind.BLOCKED)
"""Alarms that say why a source was not read, so that its places need not be told one by one."""

_MOST_ALARMS = 200
_MOST_PLACES = 500
_MOST_DELIVERIES = 20


class Matter(StrEnum):
    NO_WORKER = "no_worker"
    DISK_LOW = "disk_low"
    BUDGET_SPENT = "budget_spent"
    BUDGET_LOW = "budget_low"
    ALARM = "alarm"
    FAILING = "failing"
    DELIVERY = "delivery"
    UNREAD = "unread"


class Attention(BaseModel):
    """One thing that somebody should see to; what does not belong to its matter is empty.

    `count` is the runs that wait, the percent of the budget, the failures in a row, or the places that were not read;
    `message` the sentence on record.
    """

    matter: Matter
    source: str = ""
    source_id: int | None = None
    section: str = ""
    alarm: AlarmKind | None = None
    run_id: str | None = None
    target: str = ""
    count: int = 0
    message: str = ""
    at: dt.datetime | None = None


class NewItem(ItemWire):
    """A new item. `is_fresh`: it came since the last sitting; `others` are further sources with the same title."""

    is_fresh: bool = False
    starred: bool = False
    others: list[str] = Field(default_factory=list)


class Ran(BaseModel):
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


class Today(BaseModel):
    """The first look. `since` is the beginning of the day, or the last sitting where that was before it.

    `new` and `tiers` count all items first seen since then, `items` are the most important of them; `new_by_day` counts
    those of the last 30 days, today the last.
    """

    day: dt.date = Field(examples=["2026-11-22"])
    since: dt.datetime = Field(examples=["2026-11-21T16:00:00Z"])
    last_visit_at: dt.datetime | None = Field(examples=["2026-11-20T09:12:00Z"])
    new: int = Field(examples=[18])
    tiers: list[TierCount]
    items: list[NewItem]
    new_by_day: list[int] = Field(examples=[[12, 0, 9, 18]])
    ran: Ran
    attention: list[Attention]
    sources: int
    enabled: int
    has_run: bool

    @property
    def is_well(self) -> bool:
        """Whether something ran, and nothing is to be seen to."""
        return self.ran.sources > 0 and not self.attention


class TodayDesk:
    """Tells what the day brought, in few queries, however much is watched."""

    def __init__(self, *, store: Store, settings: Settings, clock: Clock, presence: Presence) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._presence = presence

    async def look(self, person: str, *, is_kept: bool = False) -> Today:
        """The day as a person finds it. `is_kept`: they look themselves, and the next look begins where this one is."""
        now = self._clock.now()
        days = days_until(now, ZoneInfo(self._settings.timezone), LOOKED_BACK)
        today = days[-1]
        last = await self._last_sitting(person, now, is_kept=is_kept)
        since = today.begin if last is None else min(today.begin, max(last, today.begin - _FARTHEST))
        outlook = self._store.outlook
        tiers = await outlook.tiers(since, fresh_since=last or since)
        found = await outlook.first_items(since, _READ_AHEAD)
        sources, runs, pulse = (
            await outlook.sources(),
            await outlook.last_runs(today.begin),
            await outlook.pulse(today.begin),
        )
        unread, places = await outlook.unread(today.begin, _MOST_PLACES)
        return Today(
            day=today.date,
            since=since,
            last_visit_at=last,
            new=sum(tier.count for tier in tiers),
            tiers=tiers,
            items=await self._shown(found, person, last),
            new_by_day=await outlook.new_by_day(days),
            ran=_ran(runs, pulse, unread),
            attention=await self._attention(today, sources, pulse, places),
            sources=len(sources),
            enabled=sum(source.is_enabled for source in sources),
            has_run=any(one.has_run for one in sources),
        )

    async def _last_sitting(self, person: str, now: dt.datetime, *, is_kept: bool) -> dt.datetime | None:
        """When the sitting before this one ended; None for a first one, and for a program."""
        known = await self._store.outlook.last_look(person)
        if known is None:
            return None
        looked_at, before = known
        if looked_at is not None and now - looked_at > _SITTING:
            before = looked_at
        if is_kept and (looked_at is None or now - looked_at > _KEPT_EVERY):
            await self._store.outlook.keep_look(person, now, before)
        return before

    async def _shown(self, found: Sequence[Item], person: str, last: dt.datetime | None) -> list[NewItem]:
        folded = same_titles(found)[:SHOWN]
        starred = await self._store.marks.starred(person, [item.id or 0 for item, _ in folded])
        return [
            NewItem(
                **dict(item_wire(item)),
                others=others,
                starred=item.id in starred,
                is_fresh=last is not None and item.first_seen >= last,
            )
            for item, others in folded
        ]

    async def _attention(
        self,
        today: Day,
        sources: Sequence[WatchedSource],
        pulse: Pulse,
        places: Sequence[UnreadPlace],
    ) -> list[Attention]:
        alarms = await self._store.alarms.page(is_open=True, limit=_MOST_ALARMS)
        failed = await self._store.deliveries.list(status=[DeliveryStatus.FAILED], limit=_MOST_DELIVERIES)
        is_served = WORKER in (await self._presence.alive()).values()
        matters = [] if is_served else _nobody_works(sources, pulse)
        matters += _disk(free_bytes(self._settings.data_dir))
        matters += _budget(pulse.tokens, self._settings.llm.daily_token_budget)
        matters += _of_alarms(alarms, sources)
        matters += _of_failing(sources, alarms)
        matters += [_of_delivery(one) for one in failed if one.planned_at >= today.begin - _DELIVERIES_OF]
        told = {matter.source for matter in matters if matter.matter is Matter.FAILING or matter.alarm in _SAYS_WHY}
        return matters + _of_unread(places, sources, told)


def same_titles(items: Iterable[Item]) -> list[tuple[Item, list[str]]]:
    """The items, those of several sources with the same title once: the first, with the names of the other sources."""
    folded: dict[str, tuple[Item, list[str]]] = {}
    for item in items:
        key = "".join(item.title.split()).casefold() or str(item.id)
        first, others = folded.setdefault(key, (item, []))
        if first is not item and item.source != first.source and item.source not in others:
            others.append(item.source)
    return list(folded.values())


def _ran(runs: Sequence[LastRun], pulse: Pulse, unread: int) -> Ran:
    def ended(status: RunStatus) -> int:
        return sum(run.status is status for run in runs)

    return Ran(
        sources=len(runs),
        read=ended(RunStatus.SUCCEEDED),
        partly=ended(RunStatus.DEGRADED),
        failed=ended(RunStatus.FAILED),
        unread=unread,
        waiting=pulse.queued,
        running=pulse.running,
        waits_since=pulse.oldest_queued_at,
        baselines=[run.source for run in runs if run.is_baseline],
    )


def _nobody_works(sources: Sequence[WatchedSource], pulse: Pulse) -> list[Attention]:
    is_needed = pulse.queued or any(source.is_enabled and source.is_planned for source in sources)
    return [Attention(matter=Matter.NO_WORKER, count=pulse.queued)] if is_needed else []


def _disk(free: int) -> list[Attention]:
    return [Attention(matter=Matter.DISK_LOW, count=free // 1_000_000)] if free < WARN_BYTES else []


def _budget(tokens: int, budget: int | None) -> list[Attention]:
    if not budget or tokens < _NEARLY * budget:
        return []
    matter = Matter.BUDGET_SPENT if tokens >= budget else Matter.BUDGET_LOW
    return [Attention(matter=matter, count=min(100, 100 * tokens // budget))]


def _of_alarms(alarms: Sequence[AlarmNote], sources: Sequence[WatchedSource]) -> list[Attention]:
    ids = {source.name: source.id for source in sources}
    return [
        Attention(
            matter=Matter.ALARM,
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


def _of_failing(sources: Sequence[WatchedSource], alarms: Sequence[AlarmNote]) -> list[Attention]:
    """The sources whose last run failed, as far as no alarm says so already."""
    said = {alarm.source for alarm in alarms if alarm.kind is AlarmKind.FAILING and not alarm.section}
    return [
        Attention(
            matter=Matter.FAILING,
            source=source.name,
            source_id=source.id,
            count=source.consecutive_failures,
            message=source.last_error or "",
        )
        for source in sources
        if source.is_enabled and source.consecutive_failures > 0 and source.name not in said
    ]


def _of_delivery(delivery: Delivery) -> Attention:
    return Attention(
        matter=Matter.DELIVERY,
        target=delivery.target,
        message=delivery.last_error or "",
        at=delivery.planned_at,
        count=delivery.attempts,
    )


def _of_unread(places: Sequence[UnreadPlace], sources: Sequence[WatchedSource], told: set[str]) -> list[Attention]:
    """What was not read, source by source, but for those that are told of as failing."""
    ids = {source.name: source.id for source in sources}
    by_source: dict[str, list[UnreadPlace]] = {}
    for place in places:
        if place.source not in told:
            by_source.setdefault(place.source, []).append(place)
    return [
        Attention(
            matter=Matter.UNREAD,
            source=name,
            source_id=ids.get(name),
            section=some[0].section,
            run_id=some[0].run_id,
            count=len(some),
            message=some[0].reason,
        )
        for name, some in by_source.items()
    ]
