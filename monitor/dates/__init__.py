"""One grammar of dates: every form in which a page writes a date, for all that read dates.

`find_days` and `parse_day` give days of publication, for rows and date lines; `find_dates` gives what a running text
says, whole or in part, for the checks of statements; `mask_dates` is for patterns about what stands around a date. All
read the forms of `forms.FORMS`.
"""

from monitor.dates.grammar import (
    DATE_SIGN,
    YEAR_FIRST,
    MaskedText,
    carry_years,
    detect_order,
    find_compact_dates,
    find_dates,
    infer_order,
    mask_dates,
)
from monitor.dates.names import ERA_START
from monitor.dates.numerals import CHINESE_DIGITS
from monitor.dates.partial import DateMatch, DateOrder, PartialDate, WrittenDate
from monitor.dates.publication import date_in_url, find_days, has_day, parse_day, publication_day

__all__ = [
    "CHINESE_DIGITS",
    "DATE_SIGN",
    "ERA_START",
    "YEAR_FIRST",
    "DateMatch",
    "DateOrder",
    "MaskedText",
    "PartialDate",
    "WrittenDate",
    "carry_years",
    "date_in_url",
    "detect_order",
    "find_compact_dates",
    "find_dates",
    "find_days",
    "has_day",
    "infer_order",
    "mask_dates",
    "parse_day",
    "publication_day",
]
