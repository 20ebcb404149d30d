"""When a source is due: schedules as people choose and write them, cron, and time zones.

What is stored is cron of five fields, read in a time zone; weekday 0 and 7 are Sunday.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from monitor.db.tables.collection import Source
from monitor.errors import UsageError
from monitor.i18n.message import Message

DEFAULT_SCHEDULE = "30 6 * * *"
"""What a new source gets unless somebody says otherwise."""
OFF = "off"
HOUR_STEPS = (1, 2, 3, 4, 6, 8, 12)
"""Every so many hours: these divide a day, so that each day has the same times."""

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


class ScheduleKind(StrEnum):
    DAILY = "daily"
    WEEKDAYS = "weekdays"
    WEEKLY = "weekly"
    HOURLY = "hourly"
    CRON = "cron"
    OFF = "off"


@dataclass(frozen=True, kw_only=True)
class SchedulePattern:
    """A schedule as people choose it: `times` as HH:MM, `day` 1 (Monday) to 7, `hours` between two runs."""

    kind: ScheduleKind
    times: tuple[str, ...] = ("06:30",)
    day: int = 1
    hours: int = 6
    cron: str = ""

    @classmethod
    def parse(cls, cron: str | None) -> "SchedulePattern":
        """Read cron back; what is none of the simple patterns stays cron."""
        if not cron:
            return cls(kind=ScheduleKind.OFF)
        fields = cron.split()
        if len(fields) == 5 and fields[2:4] == ["*", "*"]:
            minute, hour, day = fields[0], fields[1], fields[4]
            if day == "*" and minute == "0" and (step := re.fullmatch(r"\*(?:/(\d{1,2}))?", hour)):
                if (hours := int(step[1] or 1)) in HOUR_STEPS:
                    return cls(kind=ScheduleKind.HOURLY, hours=hours, cron=cron)
            elif times := _parse_times(minute, hour):
                if day in _DAY_KINDS:
                    return cls(kind=_DAY_KINDS[day], times=times, cron=cron)
                if day in _WEEKDAY_NUMBERS:
                    return cls(kind=ScheduleKind.WEEKLY, times=times, day=_WEEKDAY_NUMBERS[day], cron=cron)
        return cls(kind=ScheduleKind.CRON, cron=cron)

    @property
    def hour_steps(self) -> tuple[int, ...]:
        return HOUR_STEPS

    @property
    def picked_kind(self) -> ScheduleKind:
        """The kind of a picker that has room for one time."""
        return self.kind if len(self.times) == 1 else ScheduleKind.CRON

    def format_cron(self) -> str | None:
        """Return the schedule as it is stored; None where it is off."""
        match self.kind:
            case ScheduleKind.OFF:
                return None
            case ScheduleKind.CRON:
                return self.cron
            case ScheduleKind.HOURLY:
                return "0 * * * *" if self.hours == 1 else f"0 */{self.hours} * * *"
        hour, _, minute = self.times[0].partition(":")
        days = {ScheduleKind.DAILY: "*", ScheduleKind.WEEKDAYS: "1-5", ScheduleKind.WEEKLY: str(self.day)}
        return f"{int(minute)} {int(hour)} * * {days[self.kind]}"

    def describe(self) -> Message:
        match self.kind:
            case ScheduleKind.CRON:
                return Message.of("schedule.cron", schedule=self.cron)
            case ScheduleKind.HOURLY if self.hours > 1:
                return Message.of("schedule.every_hours", hours=self.hours)
            case ScheduleKind.WEEKLY:
                day = Message(f"schedule.weekday_{self.day}")
                return Message.of("schedule.weekly", day=day, times=list(self.times))
            case ScheduleKind.DAILY | ScheduleKind.WEEKDAYS:
                return Message.of(f"schedule.{self.kind}", times=list(self.times))
        return Message(f"schedule.{self.kind}")


_DAY_KINDS = {"*": ScheduleKind.DAILY, "1-5": ScheduleKind.WEEKDAYS, "mon-fri": ScheduleKind.WEEKDAYS}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY_NUMBERS = (
    {str(number): number for number in range(1, 8)}
    | {"0": 7}
    | {day[:3]: number for number, day in enumerate(_WEEKDAYS, 1)}
)
_TIME = r"(?:at )?(\d{1,2}):(\d\d)"
_WRITTEN_DAYS = re.compile(rf"(daily|weekdays|{'|'.join(_WEEKDAYS)})s? {_TIME}")
_WRITTEN_HOURS = re.compile(r"(?:hourly|every hour|every (\d{1,2}) hours)")


def _parse_times(minute: str, hours: str) -> tuple[str, ...]:
    if not re.fullmatch(r"\d{1,2}", minute) or not re.fullmatch(r"\d{1,2}(?:,\d{1,2}){0,5}", hours):
        return ()
    return _format_times((int(hour), int(minute)) for hour in hours.split(","))


def _format_times(times: Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Return times as HH:MM; nothing where one of them is none."""
    found = list(times)
    if not all(hour < 24 and minute < 60 for hour, minute in found):
        return ()
    return tuple(f"{hour:02}:{minute:02}" for hour, minute in found)


def parse_written_schedule(text: str) -> str | None:
    """Return the cron of words such as `daily 06:30`, `weekdays at 07:00`, `monday 08:00`, `every 6 hours` and `off`.

    Other text is returned as it is, to be checked as cron.
    """
    words = " ".join(text.casefold().split())
    if words in ("", OFF):
        return None
    if (hourly := _WRITTEN_HOURS.fullmatch(words)) and (hours := int(hourly[1] or 1)) in HOUR_STEPS:
        return SchedulePattern(kind=ScheduleKind.HOURLY, hours=hours).format_cron()
    written = _WRITTEN_DAYS.fullmatch(words)
    times = _format_times([(int(written[2]), int(written[3]))]) if written else ()
    if written is None or not times:
        return text
    if written[1] in _WEEKDAYS:
        day = _WEEKDAYS.index(written[1]) + 1
        return SchedulePattern(kind=ScheduleKind.WEEKLY, times=times, day=day).format_cron()
    return SchedulePattern(kind=ScheduleKind(written[1]), times=times).format_cron()


def describe_schedule(cron: str | None, timezone: str | None = None) -> Message:
    """Return a schedule in words, with the zone that its times are of, if given."""
    said = SchedulePattern.parse(cron).describe()
    return said if timezone is None or not cron else Message.of("schedule.in_zone", schedule=said, zone=timezone)
