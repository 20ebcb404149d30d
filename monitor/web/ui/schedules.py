"""What a form's schedule picker says, as the schedule that is stored."""

from collections.abc import Mapping
from typing import Any

from monitor.services.schedules import HOUR_STEPS, ScheduleKind, SchedulePattern

_DEFAULT_TIME = SchedulePattern(kind=ScheduleKind.DAILY).times[0]


def parse_schedule_fields(form: Mapping[str, Any]) -> str | None:
    """Return cron, unchecked, or an empty text for no schedule; None where the form has no picker."""
    kind, cron = form.get("schedule_kind"), form.get("schedule")
    if kind not in set(ScheduleKind) or kind == ScheduleKind.CRON:
        return None if cron is None else str(cron).strip()
    day, hours = _parse_number(form, "schedule_day"), _parse_number(form, "schedule_hours")
    pattern = SchedulePattern(
        kind=ScheduleKind(kind),
        times=(_parse_time(str(form.get("schedule_time") or "")),),
        day=day if 1 <= day <= 7 else 1,
        hours=hours if hours in HOUR_STEPS else HOUR_STEPS[-1],
    )
    return pattern.format_cron() or ""


def _parse_number(form: Mapping[str, Any], name: str) -> int:
    text = str(form.get(name) or "")
    return int(text) if text.isdecimal() and len(text) < 3 else 0


def _parse_time(text: str) -> str:
    """Return a time as browsers send it, with or without seconds; the default where none was chosen."""
    hour, _, minute = text[:5].partition(":")
    is_time = hour.isdecimal() and minute.isdecimal() and int(hour) < 24 and int(minute) < 60
    return f"{int(hour):02}:{int(minute):02}" if is_time else _DEFAULT_TIME
