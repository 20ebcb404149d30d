"""Days of the calendar, as they are found in texts: what is no day, or cannot be a day of publication, is none."""

import datetime as dt
import re
from dataclasses import dataclass
from typing import Literal

Order = Literal["dmy", "mdy", "ymd"]
"""Whether the day or the month comes first in 03/02/2026; or the year, in 26-02-03, where that is the custom."""

SPACE = r"[\s\u00a0\u3000]"
_FIRST_YEAR = 1990


@dataclass(frozen=True, slots=True)
class DateMatch:
    """A date read in a text: where it stands, and whether its year was written there or taken from the context."""

    date: dt.date
    start: int
    end: int
    has_year: bool = True
    is_compact: bool = False


def real_date(year: int, month: int, day: int, today: dt.date) -> dt.date | None:
    """The calendar date, or None for what is no date, lies before 1990 or after tomorrow."""
    try:
        date = dt.date(year, month, day)
    except (ValueError, OverflowError):
        return None
    return date if dt.date(_FIRST_YEAR, 1, 1) <= date <= today + dt.timedelta(days=1) else None


def match_of(
    found: re.Match[str], date: dt.date | None, *, has_year: bool = True, is_compact: bool = False
) -> list[DateMatch]:
    """The match at that place; empty where it is no date."""
    return [DateMatch(date, found.start(), found.end(), has_year, is_compact)] if date else []
