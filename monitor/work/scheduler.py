"""The scheduler: puts runs and deliveries on record at their planned times, or a row that says why there is none."""

import asyncio
import datetime as dt
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from monitor.app.backoff import resting_until
from monitor.app.sources import timezone_of
from monitor.domain.service import Schedule
from monitor.domain.tables import Run, Source
from monitor.domain.words import RunStatus
from monitor.errors import DatabaseError, UsageError
from monitor.ports import Clock
from monitor.settings import Settings
from monitor.store import Store
from monitor.work.agenda import Blackout, Due, Fires, Manner, due
from monitor.work.lease import Duty
from monitor.work.planner import DeliveryPlanner
from monitor.work.presence import HeartbeatPresence
from monitor.work.triggers import fires_of
from monitor.work.worker import every

_TICK_S = 1.0
_RENEW_EVERY = 5
"""Every so many ticks the lease is renewed and the list of sources read again."""

_log = logging.getLogger(__name__)


@dataclass
class _Entry:
    source: Source
    schedule: Schedule
    fires: Fires
    next_start: dt.datetime | None = None


class Scheduler:
    """Decides when, and does nothing else. Of several schedulers one has the lease; the others stand by."""

    def __init__(self, *, store: Store, settings: Settings, clock: Clock, presence: HeartbeatPresence) -> None:
        self._store = store
        self._timezone = settings.timezone
        self._clock = clock
        self._presence = presence
        self._manner = manner_of(settings)
        self._deliveries = DeliveryPlanner(store=store, settings=settings, clock=clock)
        self._entries: dict[int, _Entry] = {}
        self._ticks = 0
        self._is_on_duty = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Schedule for as long as the block lasts; gives the name of this scheduler."""
        async with self._presence.attending("scheduler") as name:
            duty = Duty("scheduler", holder=name, store=self._store, clock=self._clock)
            ticking = asyncio.create_task(every(_TICK_S, partial(self._tick, duty)))
            try:
                yield name
            finally:
                ticking.cancel()
                with suppress(asyncio.CancelledError):
                    await ticking
                with suppress(DatabaseError):
                    await duty.give_up()

    async def _tick(self, duty: Duty) -> None:
        if self._ticks % _RENEW_EVERY == 0:
            self._is_on_duty = False  # until the database says otherwise
            self._is_on_duty = await duty.has_it()
            if self._is_on_duty:
                await self.refresh()
        self._ticks += 1
        if self._is_on_duty:
            await self.look()

    async def refresh(self) -> None:
        """Take note of sources that are new, changed or gone; a new or changed schedule begins now."""
        now = self._clock.now()
        stored = await self._store.schedules.all()
        planned = {
            one.id or 0: one for one in await self._store.sources.list(only_enabled=True) if one.schedule is not None
        }
        begun: list[Schedule] = []
        entries: dict[int, _Entry] = {}
        for source_id, source in planned.items():
            timezone = timezone_of(source, self._timezone)
            known = stored.get(source_id)
            if known is None or (known.cron, known.timezone) != (source.schedule, timezone):
                known = Schedule(source_id=source_id, cron=source.schedule or "", timezone=timezone, dealt_until=now)
                begun.append(known)
            try:
                entry = self._entry(source, known)
            except UsageError as error:
                _log.warning("%s: %s", source.name, error)
                continue
            entries[source_id] = entry
        if begun:
            await self._store.schedules.begin(begun)
        if gone := stored.keys() - planned.keys():
            await self._store.schedules.drop(gone)
        self._entries = entries
        await self._deliveries.refresh()

    async def look(self) -> None:
        """Deal with every planned time that has come."""
        now = self._clock.now()
        for source_id, entry in self._entries.items():
            if entry.next_start is None or entry.next_start > now:
                continue
            what = due(entry.fires, self._manner, source_id, dealt_until=entry.schedule.dealt_until, now=now)
            if what.until is not None:
                await self._settle(entry.source, what)
                entry.schedule = entry.schedule.model_copy(update={"dealt_until": what.until})
            entry.next_start = what.next_start
        await self._deliveries.look()  # after the sources, so that a briefing knows of the runs that it waits for

    def _entry(self, source: Source, schedule: Schedule) -> _Entry:
        old = self._entries.get(schedule.source_id)
        if old is not None and old.schedule == schedule:
            return _Entry(source, schedule, old.fires, old.next_start)
        fires = fires_of(schedule.cron, schedule.timezone)
        first = fires(schedule.dealt_until)
        start = None if first is None else self._manner.start_of(schedule.source_id, first)
        return _Entry(source, schedule, fires, start)

    async def _settle(self, source: Source, what: Due) -> None:
        """One row for the run that starts, one for all that were missed before it."""
        runs: list[Run] = []
        if what.missed:
            runs.append(self._missed(source, what.missed, "no scheduler was at work in time"))
        if what.run is not None:
            waiting = await self._store.schedules.waiting(source.id or 0)
            rest = resting_until(source)
            if rest is not None and self._clock.now() < rest:
                why = f"{source.consecutive_failures} runs in a row failed, and the source rests until {rest:%F %H:%MZ}"
                runs.append(self._missed(source, [what.run], why))
            elif waiting is None:
                runs.append(run_at(source, what.run))
            else:
                why = f"the run planned at {waiting.planned_at:%F %H:%MZ} still waits"
                runs.append(self._missed(source, [what.run], why))
        await self._store.schedules.settle(source.id or 0, until=what.until or self._clock.now(), runs=runs)

    def _missed(self, source: Source, times: list[dt.datetime], why: str) -> Run:
        run = run_at(source, times[-1])
        run.status, run.ended_at = RunStatus.CANCELLED, self._clock.now()
        count = "" if len(times) == 1 else f" ({len(times)} planned times from {times[0]:%F %H:%MZ} on)"
        run.error = f"Missed: {why}{count}."
        return run


def run_at(source: Source, planned_at: dt.datetime) -> Run:
    """The run of a source at a planned time; its id is made of both, so that it happens once."""
    return Run(
        id=f"s{source.id}-{planned_at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}",
        source_id=source.id,
        source=source.name,
        planned_at=planned_at,
    )


def manner_of(settings: Settings) -> Manner:
    """How these settings want planned times dealt with; `UsageError` where they cannot be read."""
    work = settings.work
    blackout = Blackout.parse(work.blackout, settings.timezone) if work.blackout else None
    return Manner(dt.timedelta(seconds=work.misfire_grace_s), work.jitter_s, blackout)
