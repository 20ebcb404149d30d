"""When things run: cron, as people write it."""

import datetime as dt
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

from monitor.errors import UsageError

_MAX_CLOCK_SHIFT = dt.timedelta(hours=3)

_TICK = dt.timedelta(microseconds=1)

_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")


class ApschedulerCronParser:
    """Understands five-field cron (`ports.Schedules`); weekday 0 and 7 are Sunday, 1 is Monday, as cron has it."""

    def check(self, cron: str, timezone: str) -> None:
        """`UsageError` where the five fields or the time zone are wrong."""
        _parse_cron(cron, timezone)

    def next_after(self, cron: str, timezone: str, after: dt.datetime) -> dt.datetime | None:
        """The first planned instant later than `after`, in UTC."""
        return build_next_fire_time(cron, timezone)(after)


def build_next_fire_time(cron: str, timezone: str) -> Callable[[dt.datetime], dt.datetime | None]:
    """The planned instants of a schedule, in UTC: each call gives the first one later than its argument.

    Where the clock is put forward or back, cron's own rule holds: a schedule that names hours has each of its times
    once a day, one in a skipped hour as much later; one that runs every hour, or every few, goes by the time that
    passes. `UsageError` where the schedule cannot be read.
    """
    trigger, zone = _parse_cron(cron, timezone), ZoneInfo(timezone)
    find = _find_by_elapsed_time if cron.split()[1].startswith("*") else _find_by_wall_clock
    return lambda after: find(trigger, zone, after)


def _find_by_wall_clock(trigger: CronTrigger, zone: ZoneInfo, after: dt.datetime) -> dt.datetime | None:
    wall = _find_next_wall_time(trigger, _to_wall_time(after, zone) - _MAX_CLOCK_SHIFT)
    while wall is not None:
        instant = wall.replace(tzinfo=zone).astimezone(dt.UTC)
        if instant > after:
            return instant
        wall = _find_next_wall_time(trigger, wall + _TICK)
    return None


def _find_by_elapsed_time(trigger: CronTrigger, zone: ZoneInfo, after: dt.datetime) -> dt.datetime | None:
    earliest = after.astimezone(dt.UTC) + _TICK
    while True:
        wall = _find_next_wall_time(trigger, _to_wall_time(earliest, zone))
        if wall is None:
            return None
        instant = wall - (earliest.astimezone(zone).utcoffset() or dt.timedelta(0))
        if _to_wall_time(instant, zone) == wall:
            return instant
        earliest = _find_clock_shift(zone, earliest, instant)


def _to_wall_time(instant: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """What the zone's clock shows, as a time of a clock that is never put forward or back."""
    return instant.astimezone(zone).replace(tzinfo=dt.UTC, fold=0)


def _find_clock_shift(zone: ZoneInfo, early: dt.datetime, late: dt.datetime) -> dt.datetime:
    """The instant at which the zone's clock is put forward or back, for one that is between the two."""
    offset = early.astimezone(zone).utcoffset()
    while late - early > _TICK:
        middle = early + (late - early) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            early = middle
        else:
            late = middle
    return late


def _find_next_wall_time(trigger: CronTrigger, earliest: dt.datetime) -> dt.datetime | None:
    """The first time from `earliest` on. It is kept from real zones: the library hangs in an hour that is skipped."""
    fire: dt.datetime | None = trigger.get_next_fire_time(None, earliest)
    return fire


def _parse_cron(cron: str, timezone: str) -> CronTrigger:
    fields = cron.split()
    mend = "write minute, hour, day, month and weekday, as `0 7 * * 1-5`"
    if len(fields) != 5:
        raise UsageError(f"The schedule {cron!r} has {len(fields)} fields and not five: {mend}.")
    minute, hour, day, month, weekday = fields
    try:
        ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"{timezone!r} is no time zone; write one as Asia/Shanghai or Europe/Berlin.") from None
    try:
        return CronTrigger(
            minute=minute, hour=hour, day=day, month=month, day_of_week=_translate_weekdays(weekday), timezone=dt.UTC
        )
    except ValueError as error:
        raise UsageError(f"The schedule {cron!r} cannot be read ({str(error).rstrip('.')}): {mend}.") from None


def _translate_weekdays(field: str) -> str:
    """Cron's numbers as names: the library counts from Monday = 0, cron from Sunday = 0.

    A range is spelt out day by day, since one that starts on a Sunday runs backwards in the library's week.
    """
    days: list[str] = []
    for part in field.lower().split(","):
        match = re.fullmatch(r"([0-7])(?:-([0-7]))?(?:/(\d+))?", part)
        if match is None:
            days.append(part)
            continue
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1:
            raise ValueError(f"the weekdays {part!r} run backwards")
        days += [_WEEKDAYS[number] for number in range(first, last + 1, step)]
    return ",".join(dict.fromkeys(days))


NextFireTime = Callable[[dt.datetime], dt.datetime | None]
"""The first planned instant later than another one."""

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
            raise UsageError(f"work.blackout is {text!r}: write the hours as 23:00-06:00.")
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
    missed = [one for one in come[:-1] if not options.is_same_start(one, last)]
    return DueTimes(run=last, missed=missed, until=last, next_start=next_start)
