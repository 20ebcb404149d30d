"""What the rules of issuers share: a signature, and a line that holds one whole day."""

import datetime as dt
import re
from dataclasses import dataclass, field

from monitor.dates import find_dates

MAX_FOOT_LINES = 16
_WEEKDAY = re.compile(r"\s?\((?:星期|周|礼拜)[一二三四五六日天]\)")


@dataclass(frozen=True)
class Signature:
    """Who signed a document and on which day, with the spans of the words that say so."""

    issuers: list[str] = field(default_factory=list)
    made_on: dt.date | None = None
    issuers_at: tuple[int, int] | None = None
    made_at: tuple[int, int] | None = None


def parse_whole_day(text: str) -> tuple[dt.date, int, int] | None:
    """Return the day of a line and its span, where the line holds one whole date."""
    dates = [date for date in find_dates(text, order="dmy") if date.value.to_date()]
    day = dates[0].value.to_date() if len(dates) == 1 else None
    if day is None:
        return None
    weekday = _WEEKDAY.match(text, dates[0].end)
    return day, dates[0].start, weekday.end() if weekday else dates[0].end
