"""The scheduler: puts runs and deliveries on record at their planned times, or a row that says why there is none."""

import asyncio
import datetime as dt
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from zoneinfo import ZoneInfo

from monitor.briefing.deliver import create_delivery, format_planned_time
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.db.tables.collection import Run, Source
from monitor.db.tables.delivery import DeliveryKind, DeliveryPlan, DeliveryStatus
from monitor.db.tables.research import Schedule
from monitor.errors import DatabaseError, UsageError
from monitor.i18n.message import Message
from monitor.jobs.presence import HeartbeatRegistry, LeaseHolder
from monitor.jobs.schedules import Blackout, DueTimes, ScheduleOptions, find_due_times
from monitor.jobs.worker import run_periodically
from monitor.services.schedules import NextFireTime, build_next_fire_time, get_timezone
from monitor.services.sources.service import get_backoff_end
from monitor.vocabulary import RunStatus

_SCHEDULE_OPTIONS = ScheduleOptions(dt.timedelta.max)
"""A briefing that is late is better than none."""

_log = logging.getLogger(__name__)


@dataclass
class _ScheduledTarget:
    target: TargetSettings
    plan: DeliveryPlan
    get_next: NextFireTime
    next_start: dt.datetime | None


class DeliveryPlanner:
    """Puts deliveries on record when they are due; the scheduler that has the lease calls it."""

    def __init__(self, *, store: Store, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._timezone = settings.timezone
        self._settings = settings
        self._clock = clock
        self._entries: dict[str, _ScheduledTarget] = {}

    async def refresh(self) -> None:
        """Take note of targets that are new, changed or gone; a new or changed schedule begins now."""
        stored, now = await self._store.deliveries.load_plans(), self._clock.now()
        begun: list[DeliveryPlan] = []
        entries: dict[str, _ScheduledTarget] = {}
        for target in self._settings.deliver.targets:
            if target.schedule is None:
                continue
            cron, timezone = target.schedule, self._get_timezone(target)
            plan = stored.get(target.name)
            if plan is None or (plan.cron, plan.timezone) != (cron, timezone):
                plan = DeliveryPlan(target=target.name, cron=cron, timezone=timezone, dealt_until=now)
                begun.append(plan)
            fires = build_next_fire_time(cron, timezone)
            entries[target.name] = _ScheduledTarget(target, plan, fires, fires(plan.dealt_until))
        if begun:
            await self._store.deliveries.save_plans(begun)
        if gone := stored.keys() - entries.keys():
            await self._store.deliveries.delete_plans(gone)
        self._entries = entries

    async def plan_due(self) -> None:
        """Deal with every planned time that has come; of several, one briefing tells what all had to tell."""
        now = self._clock.now()
        for entry in self._entries.values():
            if entry.next_start is None or entry.next_start > now:
                continue
            what = find_due_times(entry.get_next, _SCHEDULE_OPTIONS, 0, dealt_until=entry.plan.dealt_until, now=now)
            if what.until is not None:
                await self._plan(entry, what.until, now)
                entry.plan = entry.plan.model_copy(update={"dealt_until": what.until})
            entry.next_start = what.next_start

    async def _plan(self, entry: _ScheduledTarget, planned_at: dt.datetime, now: dt.datetime) -> None:
        target = entry.target
        name = format_planned_time(planned_at)
        delivery = create_delivery(target, DeliveryKind.PLANNED, name=name, planned_at=planned_at, now=now)
        delivery.status, delivery.next_try_at = DeliveryStatus.WAITING, None
        delivery.day = planned_at.astimezone(ZoneInfo(self._get_timezone(target))).date()
        delivery.deadline_at = now + dt.timedelta(minutes=target.deadline_minutes)
        if await self._store.deliveries.advance_plan(target.name, until=planned_at, delivery=delivery):
            _log.info("The delivery %s is planned.", delivery.id)

    def _get_timezone(self, target: TargetSettings) -> str:
        return target.timezone or self._timezone


_TICK_INTERVAL_S = 1.0
_RENEW_EVERY_TICKS = 5
"""Every so many ticks the lease is renewed and the list of sources read again."""

_log = logging.getLogger(__name__)


@dataclass
class _ScheduledSource:
    source: Source
    schedule: Schedule
    get_next: NextFireTime
    next_start: dt.datetime | None = None


class Scheduler:
    """Decides when, and does nothing else. Of several schedulers one has the lease; the others stand by."""

    def __init__(self, *, store: Store, settings: Settings, clock: Clock, presence: HeartbeatRegistry) -> None:
        self._store = store
        self._timezone = settings.timezone
        self._clock = clock
        self._presence = presence
        self._options = build_schedule_options(settings)
        self._deliveries = DeliveryPlanner(store=store, settings=settings, clock=clock)
        self._entries: dict[int, _ScheduledSource] = {}
        self._ticks = 0
        self._has_lease = False

    @asynccontextmanager
    async def run(self) -> AsyncIterator[str]:
        """Schedule for as long as the block lasts; gives the name of this scheduler."""
        async with self._presence.register("scheduler") as name:
            duty = LeaseHolder("scheduler", holder=name, store=self._store, clock=self._clock)
            ticking = asyncio.create_task(run_periodically(_TICK_INTERVAL_S, partial(self._tick, duty)))
            try:
                yield name
            finally:
                ticking.cancel()
                with suppress(asyncio.CancelledError):
                    await ticking
                with suppress(DatabaseError):
                    await duty.release()

    async def _tick(self, lease: LeaseHolder) -> None:
        if self._ticks % _RENEW_EVERY_TICKS == 0:
            self._has_lease = False  # until the database says otherwise
            self._has_lease = await lease.acquire()
            if self._has_lease:
                await self.refresh()
        self._ticks += 1
        if self._has_lease:
            await self.create_due_runs()

    async def refresh(self) -> None:
        """Take note of sources that are new, changed or gone; a new or changed schedule begins now."""
        now = self._clock.now()
        stored = await self._store.schedules.load_all()
        planned = {
            source.id or 0: source
            for source in await self._store.sources.list(only_enabled=True)
            if source.schedule is not None
        }
        begun: list[Schedule] = []
        entries: dict[int, _ScheduledSource] = {}
        for source_id, source in planned.items():
            timezone = get_timezone(source, self._timezone)
            known = stored.get(source_id)
            if known is None or (known.cron, known.timezone) != (source.schedule, timezone):
                known = Schedule(source_id=source_id, cron=source.schedule or "", timezone=timezone, dealt_until=now)
                begun.append(known)
            try:
                entry = self._build_entry(source, known)
            except UsageError as error:
                _log.warning("%s: %s", source.name, error)
                continue
            entries[source_id] = entry
        if begun:
            await self._store.schedules.save(begun)
        if gone := stored.keys() - planned.keys():
            await self._store.schedules.delete(gone)
        self._entries = entries
        await self._deliveries.refresh()

    async def create_due_runs(self) -> None:
        """Deal with every planned time that has come."""
        now = self._clock.now()
        for source_id, entry in self._entries.items():
            if entry.next_start is None or entry.next_start > now:
                continue
            what = find_due_times(
                entry.get_next, self._options, source_id, dealt_until=entry.schedule.dealt_until, now=now
            )
            if what.until is not None:
                await self._store_due_runs(entry.source, what)
                entry.schedule = entry.schedule.model_copy(update={"dealt_until": what.until})
            entry.next_start = what.next_start
        await self._deliveries.plan_due()  # after the sources, so that a briefing knows of the runs that it waits for

    def _build_entry(self, source: Source, schedule: Schedule) -> _ScheduledSource:
        old = self._entries.get(schedule.source_id)
        if old is not None and old.schedule == schedule:
            return _ScheduledSource(source, schedule, old.get_next, old.next_start)
        fires = build_next_fire_time(schedule.cron, schedule.timezone)
        first = fires(schedule.dealt_until)
        start = None if first is None else self._options.compute_start(schedule.source_id, first)
        return _ScheduledSource(source, schedule, fires, start)

    async def _store_due_runs(self, source: Source, due: DueTimes) -> None:
        """One row for the run that starts, one for all that were missed before it."""
        runs: list[Run] = []
        if due.missed:
            runs.append(self._build_missed_run(source, due.missed, Message("cause.no_scheduler")))
        if due.run is not None:
            waiting = await self._store.schedules.get_queued_run(source.id or 0)
            rest = get_backoff_end(source)
            if rest is not None and self._clock.now() < rest:
                why = Message.of("cause.resting", count=source.consecutive_failures, until=f"{rest:%F %H:%MZ}")
                runs.append(self._build_missed_run(source, [due.run], why))
            elif waiting is None:
                runs.append(build_planned_run(source, due.run))
            else:
                why = Message.of("cause.still_waiting", planned_at=f"{waiting.planned_at:%F %H:%MZ}")
                runs.append(self._build_missed_run(source, [due.run], why))
        await self._store.schedules.advance(source.id or 0, until=due.until or self._clock.now(), runs=runs)

    def _build_missed_run(self, source: Source, times: list[dt.datetime], reason: Message) -> Run:
        run = build_planned_run(source, times[-1])
        run.status, run.ended_at = RunStatus.CANCELLED, self._clock.now()
        run.error = Message.of("cause.missed", reason=reason)
        if len(times) > 1:
            since = f"{times[0]:%F %H:%MZ}"
            run.error = Message.of("cause.missed_times", reason=reason, count=len(times), since=since)
        return run


def build_planned_run(source: Source, planned_at: dt.datetime) -> Run:
    """The run of a source at a planned time; its id is made of both, so that it happens once."""
    return Run(
        id=f"s{source.id}-{planned_at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}",
        source_id=source.id,
        source=source.name,
        planned_at=planned_at,
    )


def build_schedule_options(settings: Settings) -> ScheduleOptions:
    """How these settings want planned times dealt with; `UsageError` where they cannot be read."""
    work = settings.work
    blackout = Blackout.parse(work.blackout, settings.timezone) if work.blackout else None
    return ScheduleOptions(dt.timedelta(seconds=work.misfire_grace_s), work.jitter_s, blackout)
