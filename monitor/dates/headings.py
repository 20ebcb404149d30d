"""The dates of headings: a day, a month or a year alone, and how much else a heading says."""

import datetime as dt
import re
from typing import NamedTuple

from monitor.dates.forms import Context
from monitor.dates.grammar import scan
from monitor.dates.names import fold_digits, is_weekday, parse_month
from monitor.dates.partial import DateOrder, PartialDate
from monitor.dates.publication import MAX_RELATIVE_CHARS, find_relative_days

_MAY_BE_HEADING = re.compile(r"\d|[年月년월]")
_YEAR = re.compile(r"(?<![\d.,/:-])(?P<y>(?:19|20)\d\d)(?:\s?[年년])?(?![\d%]|[.,:/-]\d|年?度|\s?[-–—/]\s?\d)")
_MONTH_NUMBER = re.compile(r"(?P<m>1[0-2]|0?[1-9])\s?[月월]")
_LETTER = re.compile(r"[^\W\d_]")
_COPYRIGHT = re.compile(r"©|\(c\)|copyright|版权|版權", re.IGNORECASE)
# Mon 3, 3rd Tuesday, 3日（火）.
_DAY_OF_WEEK = re.compile(
    r"(?:(?P<before>[^\W\d_]{1,14})[.,]?\s)?(?P<d>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th|[.,日号])?"
    r"(?:\s?[(（]?(?P<behind>[^\W\d_]{1,14})\.?[)）]?)?(?:,?\s?\d{1,2}[:.]\d\d)?"
)


class HeadingDate(NamedTuple):
    """The date of a heading, as far as it says one, and the number of letters that it has besides."""

    value: PartialDate
    letters: int


def find_heading_date(
    text: str, today: dt.date, *, order: DateOrder | None = None, language: str = ""
) -> HeadingDate | None:
    """Return the only date of a heading: 2026年2月3日, November 2026, 令和5年, 2023 News Releases, or just March.

    `today` is what "yesterday" counts from. None where it has none or several.
    """
    folded = fold_digits(text)
    if len(folded) <= MAX_RELATIVE_CHARS // 2 and (relative := find_relative_days(folded, [], today)):
        return HeadingDate(PartialDate.of(relative[0].date), 0) if len(relative) == 1 else None
    if not _MAY_BE_HEADING.search(folded):
        word = folded.strip(" :：.-–—|[]()（）")
        month = parse_month(word, has_year=False, language=language) if word.isalpha() else None
        return HeadingDate(PartialDate(month=month), 0) if month else None
    if _COPYRIGHT.search(folded):
        return None
    spans = [(date.value, date.start, date.end) for date in scan(folded, Context(order, language=language))]
    if not spans:
        spans = [(PartialDate(int(year["y"])), *year.span()) for year in _YEAR.finditer(folded)]
    if not spans and (number := _MONTH_NUMBER.fullmatch(folded.strip())):
        spans = [(PartialDate(month=int(number["m"])), 0, len(folded))]
    if len({value for value, _, _ in spans}) != 1:
        return None
    value, start, end = spans[0]
    return HeadingDate(value, len(_LETTER.findall(folded[:start])) + len(_LETTER.findall(folded[end:])))


def find_day_of_week(text: str) -> PartialDate | None:
    """Return the day of a text that is only the day of a month and its weekday, of a calendar: Mon 3, 3日（火）.

    None for a number without a weekday, which may count the rows.
    """
    found = _DAY_OF_WEEK.fullmatch(fold_digits(text).strip())
    words = [word for word in (found["before"], found["behind"]) if word] if found else []
    return PartialDate(day=int(found["d"])) if found and len(words) == 1 and is_weekday(words[0]) else None
