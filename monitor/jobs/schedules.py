"""When planned runs start: blackout hours, jitter, and what is due after a pause."""

import datetime as dt
import hashlib
import re
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from monitor.errors import UsageError
from monitor.services.schedules import NextFireTime

_MAX_FIRE_TIMES = 5_000


@dataclass(frozen=True)
class Blackout:
    """Hours of the day, in one time zone, in which no planned run starts; over midnight where `first` is the later."""

    first: dt.time
    last: dt.time
    zone: ZoneInfo

    @classmethod
    def parse(cls, text: str, timezone: str) -> "Blackout":
        """From `23:00-06:00`; `UsageError` for anything else."""
        match = re.fullmatch(r"(\d\d?:\d\d)\s*-\s*(\d\d?:\d\d)", text.strip())
        try:
            times = [dt.time.fromisoformat(group.zfill(5)) for group in match.groups()] if match else []
        except ValueError:
            times = []
        if len(times) != 2 or times[0] == times[1]:
            raise UsageError("schedule.bad_blackout", hours=text)
        return cls(times[0], times[1], ZoneInfo(timezone))

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
    """How the service deals with planned times: how late a run may start, how starts are spread, when none is."""

    grace: dt.timedelta
    jitter_s: int = 0
    blackout: Blackout | None = None

    def compute_start(self, source_id: int, planned_at: dt.datetime) -> dt.datetime:
        """When the run of a source that is planned at an instant starts: the same answer at every asking."""
        start = self.blackout.defer(planned_at) if self.blackout else planned_at
        if not self.jitter_s:
            return start
        drawn = int.from_bytes(hashlib.sha256(f"{source_id}@{planned_at.isoformat()}".encode()).digest()[:4])
        return start + dt.timedelta(seconds=drawn % self.jitter_s)

    def is_same_start(self, planned_at: dt.datetime, other: dt.datetime) -> bool:
        """Whether the first planned time was put off, by hours of blackout, to the moment at which the other starts."""
        if self.blackout is None:
            return False
        end = self.blackout.defer(planned_at)
        return end != planned_at and end == self.blackout.defer(other)


@dataclass(frozen=True)
class DueTimes:
    """What is to be done with the planned times that have come.

    `run` is the one that starts now; `missed` those for which nothing ran, oldest first; all up to `until` are then
    dealt with. `next_start` is when to look again.
    """

    run: dt.datetime | None = None
    missed: list[dt.datetime] = field(default_factory=list)
    until: dt.datetime | None = None
    next_start: dt.datetime | None = None


def find_due_times(
    get_next: NextFireTime, options: ScheduleOptions, source_id: int, *, dealt_until: dt.datetime, now: dt.datetime
) -> DueTimes:
    """What is due for a source at `now`.

    Of several planned times that have come, only the last one runs, and only if it is not later than the grace
    allows: its window reaches back, so that nothing is lost. Those that wait for the end of the same hours of blackout
    count as one.
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
