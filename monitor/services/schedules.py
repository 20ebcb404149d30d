"""When a source is due: cron as people write it, and time zones.

A schedule has five fields and a time zone; weekday 0 and 7 are Sunday.
"""

import datetime as dt
import re
from collections.abc import Callable
from functools import partial
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from monitor.db.tables.collection import Source
from monitor.errors import UsageError

NextFireTime = Callable[[dt.datetime], dt.datetime | None]
"""Returns the first planned instant later than its argument, in UTC."""

_MAX_CLOCK_SHIFT = dt.timedelta(hours=3)
_TICK = dt.timedelta(microseconds=1)


def check_timezone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UsageError("schedule.unknown_timezone", timezone=name) from None


def get_midnight(day: dt.date, zone: ZoneInfo) -> dt.datetime:
    """Return the beginning of a day in UTC; `OverflowError` where the calendar ends before it."""
    return dt.datetime.combine(day, dt.time.min, tzinfo=zone).astimezone(dt.UTC)


def check_schedule(cron: str, timezone: str) -> None:
    build_next_fire_time(cron, timezone)


def find_next_fire_time(cron: str, timezone: str, after: dt.datetime) -> dt.datetime | None:
    return build_next_fire_time(cron, timezone)(after)


def build_next_fire_time(cron: str, timezone: str) -> NextFireTime:
    """Return what finds the planned instants of a schedule; raise `UsageError` where it cannot be read.

    Where the clock is put forward or back, cron's own rule holds: a schedule that names hours has each of its times
    once a day, one in a skipped hour as much later; one that runs every hour, or every few, goes by the time that
    passes.
    """
    zone, expression = check_timezone(timezone), _normalize_cron(cron)
    find = _find_by_elapsed_time if cron.split()[1].startswith("*") else _find_by_wall_clock
    return partial(find, expression, zone)


def _normalize_cron(cron: str) -> str:
    fields = cron.split()
    if len(fields) != 5:
        raise UsageError("schedule.wrong_field_count", schedule=cron, count=len(fields))
    fields[4] = re.sub(r"(?i)-sun\b", "-7", fields[4])  # a range that ends on Sunday
    expression = " ".join(fields)
    try:
        CronSim(expression, dt.datetime.now(dt.UTC))
    except (CronSimError, ValueError):  # a ValueError is a number of more digits than Python reads
        raise UsageError("schedule.unreadable", schedule=cron[:200]) from None
    return expression


def _find_by_wall_clock(cron: str, zone: ZoneInfo, after: dt.datetime) -> dt.datetime | None:
    wall = _find_wall_time(cron, _to_wall_time(after, zone) - _MAX_CLOCK_SHIFT)
    while wall is not None:
        instant = wall.replace(tzinfo=zone).astimezone(dt.UTC)
        if instant > after:
            return instant
        wall = _find_wall_time(cron, wall + _TICK)
    return None


def _find_by_elapsed_time(cron: str, zone: ZoneInfo, after: dt.datetime) -> dt.datetime | None:
    earliest = after.astimezone(dt.UTC) + _TICK
    while True:
        wall = _find_wall_time(cron, _to_wall_time(earliest, zone))
        if wall is None:
            return None
        instant = wall - (earliest.astimezone(zone).utcoffset() or dt.timedelta(0))
        if _to_wall_time(instant, zone) == wall:
            return instant
        earliest = _find_clock_shift(zone, earliest, instant)


def _to_wall_time(instant: dt.datetime, zone: ZoneInfo) -> dt.datetime:
    return instant.astimezone(zone).replace(tzinfo=dt.UTC, fold=0)


def _find_clock_shift(zone: ZoneInfo, early: dt.datetime, late: dt.datetime) -> dt.datetime:
    """Return the instant between the two at which the zone's clock is put forward or back."""
    offset = early.astimezone(zone).utcoffset()
    while late - early > _TICK:
        middle = early + (late - early) / 2
        if middle.astimezone(zone).utcoffset() == offset:
            early = middle
        else:
            late = middle
    return late


def _find_wall_time(cron: str, earliest: dt.datetime) -> dt.datetime | None:
    times = CronSim(cron, earliest - _TICK)
    times.day_and = True  # day and weekday must both match
    return next(times, None)


def get_timezone(source: Source, default: str) -> str:
    name = source.timezone or default
    check_timezone(name)
    return name
