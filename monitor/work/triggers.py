"""When things run: cron, as people write it."""

import datetime as dt
import re
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

from monitor.errors import UsageError

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")


class CronSchedules:
    """Understands five-field cron (`ports.Schedules`); weekday 0 and 7 are Sunday, 1 is Monday, as cron has it."""

    def check(self, cron: str, timezone: str) -> None:
        """`UsageError` where the five fields or the time zone are wrong."""
        _trigger(cron, timezone)

    def next_after(self, cron: str, timezone: str, after: dt.datetime) -> dt.datetime | None:
        """The first planned instant later than `after`, in UTC."""
        zone = ZoneInfo(timezone)
        start = after.astimezone(zone) + dt.timedelta(microseconds=1)
        fires: dt.datetime | None = _trigger(cron, timezone).get_next_fire_time(None, start)
        return None if fires is None else fires.astimezone(dt.UTC)


def _trigger(cron: str, timezone: str) -> CronTrigger:
    fields = cron.split()
    mend = "write minute, hour, day, month and weekday, as `0 7 * * 1-5`"
    if len(fields) != 5:
        raise UsageError(f"The schedule {cron!r} has {len(fields)} fields and not five: {mend}.")
    minute, hour, day, month, weekday = fields
    try:
        zone = ZoneInfo(timezone)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"{timezone!r} is no time zone; write one as Asia/Shanghai or Europe/Berlin.") from None
    try:
        return CronTrigger(
            minute=minute, hour=hour, day=day, month=month, day_of_week=_weekdays(weekday), timezone=zone
        )  # fmt: skip
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
