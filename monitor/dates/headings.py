"""The dates of headings: a day, a month or a year alone, and how much else a heading says."""

import re
from typing import NamedTuple

from monitor.dates.forms import Context
from monitor.dates.grammar import scan
from monitor.dates.names import fold_digits, parse_month
from monitor.dates.partial import DateOrder, PartialDate

_MAY_BE_HEADING = re.compile(r"\d|[年月년월]")
_YEAR = re.compile(r"(?<![\d.,/:-])(?P<y>(?:19|20)\d\d)(?:\s?[年년])?(?![\d%]|[.,:/-]\d|年?度|\s?[-–—/]\s?\d)")
_MONTH_NUMBER = re.compile(r"(?P<m>1[0-2]|0?[1-9])\s?[月월]")
_LETTER = re.compile(r"[^\W\d_]")
_COPYRIGHT = re.compile(r"©|\(c\)|copyright|版权|版權", re.IGNORECASE)


class HeadingDate(NamedTuple):
    """The date of a heading, as far as it says one, and the number of letters that it has besides."""

    value: PartialDate
    letters: int


def find_heading_date(text: str, *, order: DateOrder | None = None) -> HeadingDate | None:
    """Return the only date of a heading: 2026年2月3日, November 2026, 令和5年, 2023 News Releases, or just March.

    None where it has none or several.
    """
    folded = fold_digits(text)
    if not _MAY_BE_HEADING.search(folded):
        word = folded.strip(" :：.-–—|[]()（）")
        month = parse_month(word, has_year=False) if word.isalpha() else None
        return HeadingDate(PartialDate(month=month), 0) if month else None
    if _COPYRIGHT.search(folded):
        return None
    spans = [(date.value, date.start, date.end) for date in scan(folded, Context(order))]
    if not spans:
        spans = [(PartialDate(int(year["y"])), *year.span()) for year in _YEAR.finditer(folded)]
    if not spans and (month := _MONTH_NUMBER.fullmatch(folded.strip())):
        spans = [(PartialDate(month=int(month["m"])), 0, len(folded))]
    if len({value for value, _, _ in spans}) != 1:
        return None
    value, start, end = spans[0]
    return HeadingDate(value, len(_LETTER.findall(folded[:start])) + len(_LETTER.findall(folded[end:])))
