"""The scheduler: puts runs and deliveries on record at their planned times, or a row that says why there is none."""

import datetime as dt
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar
from zoneinfo import ZoneInfo

from monitor.briefing.deliver import create_delivery, format_planned_time
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.db.tables.collection import Run, Source
from monitor.db.tables.delivery import AlarmView, Delivery, DeliveryKind, DeliveryPlan, DeliveryStatus
from monitor.db.tables.research import ResearchSchedule, Schedule
from monitor.db.visibility import see_as
from monitor.errors import DatabaseError, UsageError
from monitor.i18n.message import Message
from monitor.jobs.presence import HeartbeatRegistry, LeaseHolder, repeat
from monitor.logs import get_logger
from monitor.services.alerts import AlertService
from monitor.services.audit import Actor
from monitor.services.research.editions import build_edition
from monitor.services.schedules import NextFireTime, build_next_fire_time, get_timezone
from monitor.services.sources.service import find_rest_end
from monitor.services.subscriptions import list_subscribed_targets
from monitor.services.teams import find_target_team, get_team_eyes
from monitor.vocabulary import Role, RunStatus

_MAX_FIRE_TIMES = 5_000


@dataclass(frozen=True)
class Blackout:
    """Hours of the day in which no planned run starts; over midnight where `first` is the later."""

    first: dt.time
    last: dt.time
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str, timezone: str) -> "Blackout":
        """From `23:00-06:00`; `UsageError` for anything else."""
        match = re.fullmatch(r"(\d\d?:\d\d)\s*-\s*(\d\d?:\d\d)", text.strip())
        with suppress(ValueError):
            times = [dt.time.fromisoformat(group.zfill(5)) for group in match.groups()] if match else []
            if len(set(times)) == 2:
                return cls(times[0], times[1], ZoneInfo(timezone))
        raise UsageError("schedule.bad_blackout", hours=text)

    def defer(self, instant: dt.datetime) -> dt.datetime:
        """When a run that is planned at `instant` may start: then, or at the end of the hours that it lies in."""
        local = instant.astimezone(self.zone)
        time = local.time().replace(tzinfo=None)
        is_in = self.first <= time < self.last if self.first < self.last else time >= self.first or time < self.last
        if not is_in:
            return instant
        day = local.date() + dt.timedelta(days=time >= self.last)
        return dt.datetime.combine(day, self.last, self.zone).astimezone(dt.UTC)


@dataclass(frozen=True)
class ScheduleOptions:
    """How late a run may start, over how many seconds starts are spread, and when none is allowed."""

    grace: dt.timedelta
    jitter_s: int = 0
    blackout: Blackout | None = None

    def compute_start(self, source_id: int, planned_at: dt.datetime) -> dt.datetime:
        """When the run of a source that is planned at an instant starts; the same at every call."""
        start = self.blackout.defer(planned_at) if self.blackout else planned_at
        if not self.jitter_s:
            return start
        drawn = int.from_bytes(hashlib.sha256(f"{source_id}@{planned_at.isoformat()}".encode()).digest()[:4])
        return start + dt.timedelta(seconds=drawn % self.jitter_s)

    def is_same_start(self, planned_at: dt.datetime, other: dt.datetime) -> bool:
        """Whether the hours of blackout defer both planned times to one start."""
        if self.blackout is None:
            return False
        end = self.blackout.defer(planned_at)
        return end != planned_at and end == self.blackout.defer(other)


@dataclass(frozen=True)
class DueTimes:
    """What to do with the planned times that have come.

    `run` starts now; nothing ran for those in `missed`, oldest first. Both deal with all up to `until`. `next_start`
    is when to look again.
    """

    run: dt.datetime | None = None
    missed: list[dt.datetime] = field(default_factory=list)
    until: dt.datetime | None = None
    next_start: dt.datetime | None = None


def find_due_times(
    get_next: NextFireTime, options: ScheduleOptions, source_id: int, *, dealt_until: dt.datetime, now: dt.datetime
) -> DueTimes:
    """Return what is due for a source at `now`.

    Of several planned times only the last one runs, if the grace allows: its window reaches back, so that nothing is
    lost. Those that wait for the end of the same hours of blackout count as one.
    """
    come: list[dt.datetime] = []
    fire = get_next(dealt_until)
    while fire is not None and options.compute_start(source_id, fire) <= now:
        come.append(fire)
        del come[:-_MAX_FIRE_TIMES]
        fire = get_next(fire)
    next_start = options.compute_start(source_id, fire) if fire is not None else None
    if not come:
        return DueTimes(next_start=next_start)
    last = come[-1]
    if now - options.compute_start(source_id, last) > options.grace:
        return DueTimes(missed=come, until=last, next_start=next_start)
    missed = [fire for fire in come[:-1] if not options.is_same_start(fire, last)]
    return DueTimes(run=last, missed=missed, until=last, next_start=next_start)


_BRIEFING_OPTIONS = ScheduleOptions(dt.timedelta.max)  # a late briefing is better than none

_log = logging.getLogger(__name__)
SubjectT = TypeVar("SubjectT", Source, TargetSettings, ResearchSchedule)
PlanT = TypeVar("PlanT", Schedule, DeliveryPlan, ResearchSchedule)


@dataclass
class _Scheduled(Generic[SubjectT, PlanT]):
    """A source, a delivery target or a research, with how far its planned times were dealt with."""

    subject: SubjectT
    plan: PlanT
    get_next: NextFireTime
    next_start: dt.datetime | None

    def is_due(self, now: dt.datetime) -> bool:
        return self.next_start is not None and self.next_start <= now

    def find_due_times(self, options: ScheduleOptions, source_id: int, now: dt.datetime) -> DueTimes:
        return find_due_times(self.get_next, options, source_id, dealt_until=self.plan.dealt_until, now=now)

    def settle(self, due: DueTimes) -> None:
        """Note what has been dealt with, and when to look again."""
        if due.until is not None:
            self.plan = self.plan.model_copy(update={"dealt_until": due.until})
        self.next_start = due.next_start


async def _take_due(
    entries: Iterable[_Scheduled[SubjectT, PlanT]],
    now: dt.datetime,
    begin: Callable[[SubjectT, dt.datetime, dt.datetime], Awaitable[None]],
) -> None:
    """Begin once what is due of each entry, by the last of its planned times."""
    for entry in entries:
        if entry.is_due(now):
            due = entry.find_due_times(_BRIEFING_OPTIONS, 0, now)
            if due.until is not None:
                await begin(entry.subject, due.until, now)
            entry.settle(due)


class DeliveryPlanner:
    """Puts deliveries on record when they are due; the scheduler that has the lease calls it."""

    def __init__(self, *, store: Store, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._entries: dict[str, _Scheduled[TargetSettings, DeliveryPlan]] = {}
        self._subscribers: dict[str, str] = {}

    async def refresh(self) -> None:
        """Take note of what is new, changed or gone; a new or changed schedule begins now."""
        stored, now = await self._store.deliveries.load_plans(), self._clock.now()
        begun: list[DeliveryPlan] = []
        entries: dict[str, _Scheduled[TargetSettings, DeliveryPlan]] = {}
        subscribed = await list_subscribed_targets(self._settings, self._store)
        for target in [*self._settings.deliver.targets, *(target for target, _ in subscribed)]:
            if target.schedule is None:
                continue
            cron, timezone = target.schedule, self._get_timezone(target)
            plan = stored.get(target.name)
            if plan is None or (plan.cron, plan.timezone) != (cron, timezone):
                plan = DeliveryPlan(target=target.name, cron=cron, timezone=timezone, dealt_until=now)
                begun.append(plan)
            elif plan.dealt_until > now:
                _log.warning("%s: the clock was set back to %s; its schedule goes on from there.", target.name, now)
                plan = await self._store.deliveries.rewind_plan(plan, to=now)
            fires = build_next_fire_time(cron, timezone)
            entries[target.name] = _Scheduled(target, plan, fires, fires(plan.dealt_until))
        if begun:
            await self._store.deliveries.save_plans(begun)
        if gone := stored.keys() - entries.keys():
            await self._store.deliveries.delete_plans(gone)
        self._entries = entries
        self._subscribers = {target.name: person for target, person in subscribed}

    async def plan_due(self) -> None:
        """Deal with every planned time that has come; one briefing covers several."""
        now = self._clock.now()
        await _take_due(self._entries.values(), now, self._plan)

    async def _plan(self, target: TargetSettings, planned_at: dt.datetime, now: dt.datetime) -> None:
        name = format_planned_time(planned_at)
        team_id = await find_target_team(target, self._store)
        delivery = create_delivery(
            target, DeliveryKind.PLANNED, name=name, planned_at=planned_at, now=now, team_id=team_id
        )
        delivery.status, delivery.next_try_at = DeliveryStatus.WAITING, None
        delivery.day = planned_at.astimezone(ZoneInfo(self._get_timezone(target))).date()
        delivery.deadline_at = now + dt.timedelta(minutes=target.deadline_minutes)
        delivery.person = self._subscribers.get(target.name)
        if await self._store.deliveries.advance_plan(target.name, until=planned_at, delivery=delivery):
            _log.info("The delivery %s is planned.", delivery.id)

    def _get_timezone(self, target: TargetSettings) -> str:
        return target.timezone or self._settings.timezone


class EditionPlanner:
    """Begins editions of researches when they are due; the scheduler that has the lease calls it."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._entries: list[_Scheduled[ResearchSchedule, ResearchSchedule]] = []

    async def refresh(self) -> None:
        """Take note of schedules that are new, changed or gone."""
        now = self._clock.now()
        entries = []
        for schedule in await self._store.research.list_schedules():
            if schedule.dealt_until > now:
                _log.warning("%s: the clock was set back to %s; its schedule goes on.", schedule.task_id, now)
                await self._store.research.rewind_schedule(schedule, to=now)
                schedule.dealt_until = now
            try:
                fires = build_next_fire_time(schedule.cron, schedule.timezone)
            except UsageError as error:
                _log.warning("%s: %s", schedule.task_id, error)
                continue
            entries.append(_Scheduled(schedule, schedule, fires, fires(schedule.dealt_until)))
        self._entries = entries

    async def begin_due(self) -> None:
        """Begin what is due; one edition covers several planned times that passed while nobody was there.

        So it does where the edition before has not ended: the next one begins after it.
        """
        now = self._clock.now()
        await _take_due(self._entries, now, self._begin)

    async def _begin(self, schedule: ResearchSchedule, planned_at: dt.datetime, now: dt.datetime) -> None:
        first = await self._store.research.get(schedule.task_id)
        if first is None or not all(row.status.is_final for row in await self._store.research.list_editions(first.id)):
            return
        owner = await self._store.people.get(first.asked_by)
        if owner is not None and (owner.is_shut_out or not Actor(owner.name, owner.role).has_role(Role.EDITOR)):
            _log.warning("The edition of %s is not begun: %s may not ask any more.", first.id, owner.name)
            return
        _, paragraphs = await self._store.research.load_notebook(first.id)
        edition, plan = build_edition(first, paragraphs, planned_at=planned_at, now=now)
        if await self._store.research.advance_schedule(schedule, until=planned_at, edition=edition, paragraphs=plan):
            _log.info("The edition %s is queued.", edition.id)


_TICK_INTERVAL_S = 1.0
_TICKS_PER_REFRESH = 5  # then the lease is renewed, the list of sources read again, and alerts are released
_TICKS_PER_REMINDER = 60


class Scheduler:
    """Decides when, and does nothing else. Of several schedulers one has the lease; the others stand by.

    `UsageError` where the hours of blackout cannot be read.
    """

    def __init__(self, *, store: Store, settings: Settings, clock: Clock, presence: HeartbeatRegistry) -> None:
        self._store = store
        self._timezone = settings.timezone
        self._clock = clock
        self._presence = presence
        work = settings.work
        blackout = Blackout.parse(work.blackout, settings.timezone) if work.blackout else None
        self._options = ScheduleOptions(dt.timedelta(seconds=work.misfire_grace_s), work.jitter_s, blackout)
        self._deliveries = DeliveryPlanner(store=store, settings=settings, clock=clock)
        self._editions = EditionPlanner(store=store, clock=clock)
        self._alerts = AlertService(store=store, settings=settings, clock=clock)
        self._entries: dict[int, _Scheduled[Source, Schedule]] = {}
        self._ticks = 0
        self._has_lease = False

    @asynccontextmanager
    async def run(self) -> AsyncIterator[str]:
        """Schedule for as long as the block lasts; gives the name of this scheduler."""
        async with self._presence.register("scheduler") as name:
            lease = LeaseHolder("scheduler", holder=name, store=self._store, clock=self._clock)
            try:
                async with repeat((_TICK_INTERVAL_S, partial(self._tick, lease))):
                    yield name
            finally:
                with suppress(DatabaseError):
                    await lease.release()

    async def _tick(self, lease: LeaseHolder) -> None:
        ticks, self._ticks = self._ticks, self._ticks + 1
        if ticks % _TICKS_PER_REFRESH == 0:
            self._has_lease = False  # until the database says otherwise
            self._has_lease = await lease.acquire()
            if self._has_lease:
                await self.refresh()
        if self._has_lease:
            await self.create_due_runs()
            if ticks % _TICKS_PER_REMINDER == 0:
                await self._alerts.raise_due()
            if ticks % _TICKS_PER_REFRESH == 0:
                await self._alerts.release()

    async def refresh(self) -> None:
        """Take note of sources that are new, changed or gone; a new or changed schedule begins now."""
        now = self._clock.now()
        stored = await self._store.schedules.load_all()
        sources = await self._store.sources.list(only_enabled=True)
        planned = {source.id or 0: source for source in sources if source.schedule is not None}
        begun: list[Schedule] = []
        entries: dict[int, _Scheduled[Source, Schedule]] = {}
        for source_id, source in planned.items():
            timezone = get_timezone(source, self._timezone)
            known = stored.get(source_id)
            if known is None or (known.cron, known.timezone) != (source.schedule, timezone):
                known = Schedule(source_id=source_id, cron=source.schedule or "", timezone=timezone, dealt_until=now)
                begun.append(known)
            elif known.dealt_until > now:
                _log.warning("%s: the clock was set back to %s; its schedule goes on from there.", source.name, now)
                known = await self._store.schedules.rewind(known, to=now)
            try:
                entries[source_id] = self._build_entry(source, known)
            except UsageError as error:
                _log.warning("%s: %s", source.name, error)
        if begun:
            await self._store.schedules.save(begun)
        if gone := stored.keys() - planned.keys():
            await self._store.schedules.delete(gone)
        self._entries = entries
        await self._deliveries.refresh()
        await self._editions.refresh()

    async def create_due_runs(self) -> None:
        now = self._clock.now()
        for source_id, entry in self._entries.items():
            if entry.is_due(now):
                due = entry.find_due_times(self._options, source_id, now)
                if due.until is not None:
                    await self._store_due_runs(entry.subject, due, due.until)
                entry.settle(due)
        await self._deliveries.plan_due()  # after the sources, so that a briefing knows of the runs that it waits for
        await self._editions.begin_due()

    def _build_entry(self, source: Source, schedule: Schedule) -> _Scheduled[Source, Schedule]:
        old = self._entries.get(schedule.source_id)
        if old is not None and old.plan == schedule:
            return _Scheduled(source, schedule, old.get_next, old.next_start)
        fires = build_next_fire_time(schedule.cron, schedule.timezone)
        first = fires(schedule.dealt_until)
        start = None if first is None else self._options.compute_start(schedule.source_id, first)
        return _Scheduled(source, schedule, fires, start)

    async def _store_due_runs(self, source: Source, due: DueTimes, until: dt.datetime) -> None:
        """One row for the run that starts, one for all that were missed before it."""
        runs: list[Run] = []
        if due.missed:
            runs.append(self._build_missed_run(source, due.missed, Message("cause.no_scheduler")))
        if due.run is not None:
            reason = await self._find_obstacle(source)
            run = _build_run(source, due.run) if reason is None else self._build_missed_run(source, [due.run], reason)
            runs.append(run)
        await self._store.schedules.advance(source.id or 0, until=until, runs=runs)

    async def _find_obstacle(self, source: Source) -> Message | None:
        """Why no run of a source may start now: it rests after failures, or its last run still waits."""
        rest = find_rest_end(source, self._clock.now())
        if rest is not None:
            return Message.of("cause.resting", count=source.consecutive_failures, until=f"{rest:%F %H:%MZ}")
        waiting = await self._store.schedules.get_queued_run(source.id or 0)
        if waiting is not None:
            return Message.of("cause.still_waiting", planned_at=f"{waiting.planned_at:%F %H:%MZ}")
        return None

    def _build_missed_run(self, source: Source, times: list[dt.datetime], reason: Message) -> Run:
        run = _build_run(source, times[-1])
        run.status, run.ended_at = RunStatus.CANCELLED, self._clock.now()
        run.error = Message.of("cause.missed", reason=reason)
        if len(times) > 1:
            since = f"{times[0]:%F %H:%MZ}"
            run.error = Message.of("cause.missed_times", reason=reason, count=len(times), since=since)
        return run


def _build_run(source: Source, planned_at: dt.datetime) -> Run:
    """The run of a source at a planned time; its id is made of both, so that it happens once."""
    return Run(
        id=f"s{source.id}-{planned_at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}",
        source_id=source.id,
        source=source.name,
        team_id=source.team_id,
        planned_at=planned_at,
    )


_BATCH_DELAY = dt.timedelta(seconds=70)
"""The message leaves a little after its minute: whatever is to be in it is on record by then."""


@dataclass(kw_only=True)
class AlarmNotifier:
    """Writes each alarm to the log and puts deliveries on record for the targets with `alarms`.

    The alarms of a minute go to a target as one message, which a worker sends when the minute is over. An alarm and
    its delivery are stored together, so that each is reported once.
    """

    store: Store
    settings: Settings
    clock: Clock

    async def notify(self, alarms: Sequence[AlarmView]) -> None:
        for alarm in alarms:
            get_logger("health").warning(
                "alarm",
                kind=str(alarm.kind),
                source=alarm.source,
                section=alarm.section,
                message=alarm.message,
                run=alarm.run_id,
            )
        now, ids = self.clock.now(), [alarm.id for alarm in alarms]
        targets = [
            (target, team_id)
            for target in self.settings.deliver.targets
            if target.alarms and await self._sees_any(team_id := await find_target_team(target, self.store), ids)
        ]
        if not targets:
            return
        minute = now.replace(second=0, microsecond=0)
        if not await self.store.alarms.attach_to_deliveries(ids, _build_deliveries(targets, minute), now=now):
            # The message of this minute has left: these go by themselves.
            await self.store.alarms.attach_to_deliveries(ids, _build_deliveries(targets, now), now=now)

    async def _sees_any(self, team_id: int | None, alarm_ids: Sequence[int]) -> bool:
        with see_as(get_team_eyes(team_id)):
            return any([await self.store.alarms.get_view(alarm_id) is not None for alarm_id in alarm_ids])


def _build_deliveries(targets: Sequence[tuple[TargetSettings, int | None]], at: dt.datetime) -> list[Delivery]:
    name = f"alarms-{format_planned_time(at)}"
    return [
        create_delivery(target, DeliveryKind.ALARM, name=name, planned_at=at, now=at + _BATCH_DELAY, team_id=team_id)
        for target, team_id in targets
    ]
