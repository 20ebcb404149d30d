"""Calendar dates in running text, whole or in part: 2026年2月3日, 二〇二六年二月, 2月3日, 2026-02-03, Feb. 3, 2026."""

import datetime as dt
import re
from dataclasses import dataclass

from monitor.dates.months import MONTH_BY_NAME, fold_word
from monitor.dates.numerals import parse_numeral

_YEAR = r"(?<!\d)(?:19|20|21)\d\d|[一二][〇零九八一][〇零一二三四五六七八九]{2}"

_MONTH = r"1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九]"

_DAY = r"3[01]|[12]\d|0?[1-9]|三十一?|二?十[一二三四五六七八九]?|[一二三四五六七八九]"

_NAME = r"[^\W\d_]{3,12}\.?"

_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<y>{_YEAR})\s?年\s?(?P<m>{_MONTH})\s?月(?:份)?(?:\s?(?P<d>{_DAY})\s?[日号])?",
        rf"(?<![\d.])(?P<m>{_MONTH})\s?月\s?(?P<d>{_DAY})\s?[日号]",
        r"(?<![\d.-])(?P<y>(?:19|20|21)\d\d)(?P<s>[-/.])(?P<m>1[0-2]|0?[1-9])(?P=s)(?P<d>3[01]|[12]\d|0?[1-9])(?![\d.]\d|\d)",
        r"(?<![\d.-])(?P<y>(?:19|20|21)\d\d)-(?P<m>0[1-9]|1[0-2])(?![\d-])",
        rf"(?<![\d.])(?P<d>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th|\.)?\s(?:of\s)?(?P<n>{_NAME})(?:,?\s(?P<y>(?:19|20|21)\d\d))?(?!\d)",
        rf"(?<!\w)(?P<n>{_NAME})\s(?P<d>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?:,?\s(?P<y>(?:19|20|21)\d\d))?(?![\d%]|[.,]\d)",
        rf"(?<!\w)(?P<n>{_NAME}),?\s(?P<y>(?:19|20|21)\d\d)(?!\d)",
    )
)

_COMPACT = re.compile(r"(?<![\d.,])(?P<y>(?:19|20)\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?![\d,]|\.\d)")

_LAST_DAY = re.compile(rf"\s?[-–—~至到]\s?(?P<d>{_DAY})\s?[日号]")


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date as far as it was written, and where in the text."""

    written: str
    start: int
    end: int
    year: int | None = None
    month: int | None = None
    day: int | None = None

    def rests_on(self, other: "WrittenDate") -> bool:
        """Whether the other date says all that this one says."""
        mine, theirs = (self.year, self.month, self.day), (other.year, other.month, other.day)
        return all(part is None or part == seen for part, seen in zip(mine, theirs, strict=True))


def dates_in(text: str) -> list[WrittenDate]:
    """The dates of a folded text, in order, none overlapping; months may be named in any of the known languages."""
    found: list[WrittenDate] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            date = _read(match)
            if date is not None and not any(date.start < other.end and other.start < date.end for other in found):
                found.append(date)
    found.extend(last for date in list(found) if (last := _last_day(text, date)) is not None)
    return sorted(found, key=lambda date: date.start)


def compact_dates_in(text: str) -> list[WrittenDate]:
    """Numbers of eight digits that may be dates, 20260203; they may as well be numbers."""
    return [date for match in _COMPACT.finditer(text) if (date := _read(match)) is not None]


def with_carried_years(dates: list[WrittenDate]) -> list[WrittenDate]:
    """The dates of a page, those without a year given the year that was written last before them."""
    year: int | None = None
    carried: list[WrittenDate] = []
    for date in dates:
        carried.append(date)
        if date.year is not None:
            year = date.year
        elif year is not None:
            carried.append(WrittenDate(date.written, date.start, date.end, year, date.month, date.day))
    return carried


def _last_day(text: str, first: WrittenDate) -> WrittenDate | None:
    """The 5th in 2月3日至5日: a day that takes its month from the date before it."""
    match = _LAST_DAY.match(text, first.end)
    day = _int(match["d"]) if match else None
    if match is None or day is None or first.day is None or day <= first.day:
        return None
    return WrittenDate(
        text[match.start("d") : match.end()], match.start("d"), match.end(), first.year, first.month, day
    )


def _read(match: re.Match[str]) -> WrittenDate | None:
    parts = match.groupdict()
    if parts.get("n"):
        month = _month(parts["n"], has_year=bool(parts.get("y")))
        if month is None:
            return None
    else:
        month = _int(parts.get("m"))
    year, day = _int(parts.get("y")), _int(parts.get("d"))
    try:
        dt.date(year or 2024, month or 1, day or 1)
    except ValueError:
        return None
    return WrittenDate(match[0], match.start(), match.end(), year, month, day)


def _month(name: str, *, has_year: bool) -> int | None:
    # `may 3 percent`, `mar 5`: a small letter and no year make a word of it.
    return MONTH_BY_NAME.get(fold_word(name.rstrip("."))) if has_year or name[0].isupper() else None


def _int(written: str | None) -> int | None:
    value = parse_numeral(written) if written else None
    return None if value is None else int(value)
