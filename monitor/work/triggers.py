"""When things run: cron, as people write it."""

import datetime as dt
import re
from collections.abc import Callable
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

from monitor.errors import UsageError

_LARGEST_SHIFT = dt.timedelta(hours=3)
_TICK = dt.timedelta(microseconds=1)
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")


class CronSchedules:
    """Understands five-field cron (`ports.Schedules`); weekday 0 and 7 are Sunday, 1 is Monday, as cron has it."""

    def check(self, cron: str, timezone: str) -> None:
        """`UsageError` where the five fields or the time zone are wrong."""
        _trigger(cron, timezone)

    def next_after(self, cron: str, timezone: str, after: dt.datetime) -> dt.datetime | None:
        """The first planned instant later than `after`, in UTC."""
        return fires_of(cron, timezone)(after)


def fires_of(cron: str, timezone: str) -> Callable[[dt.datetime], dt.datetime | None]:
    """The planned instants of a schedule, in UTC: each call gives the first one later than its argument.

    Where the clock is put forward or back, cron's own rule holds: a schedule that names hours has each of its times
    once a day, one in a skipped hour as much later; one that runs every hour, or every few, goes by the time that
    passes. `UsageError` where the schedule cannot be read.
    """
    trigger, zone = _trigger(cron, timezone), ZoneInfo(timezone)
    find = _by_passing_time if cron.split()[1].startswith("*") else _by_wall_clock
    return lambda after: find(trigger, zone, after)


def _by_wall_clock(trigger: CronTrigger, zone: ZoneInfo, after: dt.datetime) -> dt.datetime | None:
    wall = _next_wall(trigger, _wall(after, zone) - _LARGEST_SHIFT)
    while wall is not None:
        instant = wall.replace(tzinfo=zone).astimezone(dt.UTC)
        if instant > after:
            return instant
        wall = _next_wall(trigger, wall + _TICK)
    return None


def _by_passing_time(trigger: CronTrigger, zone: ZoneInfo, after: dt.datetime) -> dt.datetime | None:
    earliest = after.astimezone(dt.UTC) + _TICK
    while True:
        wall = _next_wall(trigger, _wall(earliest, zone))
        if wall is None:
            return None
        instant = wall - (earliest.astimezone(zone).utcoffset() or dt.timedelta(0))
        if _wall(instant, zone) == wall:
            return instant
        earliest = _shift_between(zone, earliest, instant)


def _wall(instant: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    """What the zone's clock shows, as a time of a clock that is never put forward or back."""
    return instant.astimezone(zone).replace(tzinfo=dt.UTC, fold=0)


def _shift_between(zone: ZoneInfo, early: dt.datetime, late: dt.datetime) -> dt.datetime:
    """The instant at which the zone's clock is put forward or back, for one that is between the two."""
    offset = early.astimezone(zone).utcoffset()
    while late - early > _TICK:
        middle = early + (late - early) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            early = middle
        else:
            late = middle
    return late


def _next_wall(trigger: CronTrigger, earliest: dt.datetime) -> dt.datetime | None:
    """The first time from `earliest` on. It is kept from real zones: the library hangs in an hour that is skipped."""
    fire: dt.datetime | None = trigger.get_next_fire_time(None, earliest)
    return fire


def _trigger(cron: str, timezone: str) -> CronTrigger:
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
            minute=minute, hour=hour, day=day, month=month, day_of_week=_weekdays(weekday), timezone=dt.UTC
        )
    except ValueError as error:
        raise UsageError(f"The schedule {cron!r} cannot be read ({str(error).rstrip('.')}): {mend}.") from None


def _weekdays(field: str) -> str:
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
        days += [_DAYS[number] for number in range(first, last + 1, step)]
    return ",".join(dict.fromkeys(days))
