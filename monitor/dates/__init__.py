"""One grammar of dates: every form in which a page writes a date (`forms.FORMS`), for all that read dates."""

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
from monitor.dates.headings import HeadingDate, find_day_of_week, find_heading_date
from monitor.dates.labels import DayKind, classify_label
from monitor.dates.names import ERA_START
from monitor.dates.partial import DateMatch, DateOrder, PartialDate, WrittenDate
from monitor.dates.periods import CalendarPeriod, PeriodScan, WrittenPeriod, find_periods
from monitor.dates.pieces import find_days_in_pieces
from monitor.dates.publication import date_in_url, find_days, find_written_days, has_day, publication_day

__all__ = [
    "DATE_SIGN",
    "ERA_START",
    "YEAR_FIRST",
    "CalendarPeriod",
    "DateMatch",
    "DateOrder",
    "DayKind",
    "HeadingDate",
    "MaskedText",
    "PartialDate",
    "PeriodScan",
    "WrittenDate",
    "WrittenPeriod",
    "carry_years",
    "classify_label",
    "date_in_url",
    "detect_order",
    "find_compact_dates",
    "find_dates",
    "find_day_of_week",
    "find_days",
    "find_days_in_pieces",
    "find_heading_date",
    "find_periods",
    "find_written_days",
    "has_day",
    "infer_order",
    "mask_dates",
    "publication_day",
]
