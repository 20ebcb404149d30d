"""Days of publication: whole dates of rows, date lines and urls, no earlier than 1990 and no later than tomorrow."""

import datetime as dt
import re
from collections.abc import Iterator

from monitor.dates.forms import COMPACT, Context
from monitor.dates.grammar import scan
from monitor.dates.names import complete_year, fold_digits, parse_month
from monitor.dates.partial import DateMatch, DateOrder, SpanSet, WrittenDate

_FIRST_DAY = dt.date(1990, 1, 1)
# Days counted from the day of reading: 3天前, 2 weeks ago, yesterday, 昨天.
_AGO = re.compile(
    r"(?<![\d.])(?P<n>\d{1,4}|\ban?|\bone)\s{0,3}(?P<unit>秒|分钟|分鐘|分|小时|小時|時間|个小时|天|日|周|週|星期|초|"
    r"분|시간|일|seconds?|mins?|minutes?|hours?|hrs?|days?|weeks?)"
    r"\s{0,3}(?:前|之前|以前|전|ago)",
    re.IGNORECASE,
)
_DAY_WORDS = re.compile(
    r"(?P<word>刚刚|剛剛|今天|今日|昨天|昨日|前天|오늘|어제|"
    r"\btoday\b|\byesterday\b|\bjust now\b|\bheute\b|\bgestern\b)",
    re.IGNORECASE,
)
_DAYS_BACK = {"昨天": 1, "昨日": 1, "前天": 2, "어제": 1, "yesterday": 1, "gestern": 1}
_DAYS_IN_UNIT = {"天": 1, "日": 1, "일": 1, "day": 1, "周": 7, "週": 7, "星期": 7, "week": 7}
_HOURS = frozenset({"小时", "小時", "hour", "hr", "시간", "時間"})
_MAX_NUMBER, _MAX_WEEKS = 999, 5
_AS_LISTED = Context(order="dmy", is_list=True)

# What content management systems write into the urls of articles.
_URL_FORMS = (
    re.compile(r"(?<!\d)/?t(?P<y>20\d\d|19\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>[0-3]\d)_\d+"),
    re.compile(r"/(?P<y>20\d\d|19\d\d)[-_]?(?P<m>0[1-9]|1[0-2])/(?P<d>0[1-9]|[12]\d|3[01])(?=[/_.-])"),
    re.compile(r"/(?P<y>20\d\d|19\d\d)/(?P<m>\d{1,2})[/_-](?P<d>\d{1,2})(?=[/_.-]|$)"),
    re.compile(r"(?<!\d)(?P<y>20\d\d|19\d\d)[-_](?P<m>0?[1-9]|1[0-2])[-_](?P<d>0?[1-9]|[12]\d|3[01])(?!\d)"),
    re.compile(r"/(?P<y>20\d\d)/(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?=/|[_-]|\.\w)"),
    re.compile(r"/(?P<y>\d\d)/(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])/\d\d/"),
    re.compile(r"/(?P<y>20\d\d)/[A-Za-z][\w-]*/(?P<m>0[1-9]|1[0-2])/(?P<d>0[1-9]|[12]\d|3[01])/"),
    re.compile(r"(?<!\d)(?P<y>20\d\d|199\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?!\d)"),
    re.compile(
        r"(?<![\da-f])(?P<y>20\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|"
        r"3[01])(?=[0-2]\d[0-5]\d(?:[0-5]\d\d{0,6})?(?![\da-f]))"
    ),
)
_NAME_IN_URL = re.compile(r"(?<!\d)(?P<y>20\d\d|19\d\d)[/-](?P<month>[A-Za-z]{3,9})[/-](?P<d>\d{1,2})(?!\d)")


def publication_day(year: int, month: int, day: int, today: dt.date) -> dt.date | None:
    """Return the calendar day, or None for what is no day, lies before 1990 or after tomorrow."""
    try:
        date = dt.date(year, month, day)
    except (ValueError, OverflowError):
        return None
    return date if _FIRST_DAY <= date <= today + dt.timedelta(days=1) else None


def has_day(text: str) -> bool:
    """Whether a text shows a day, with or without its year, and be it 03/02/2026; a number of eight digits is none."""
    return any(date.form != COMPACT.name for date in scan(fold_digits(text), _AS_LISTED))


def find_days(
    text: str, today: dt.date, *, order: DateOrder | None = None, year: int | None = None, relative: bool = False
) -> list[DateMatch]:
    """Return all days of a text in order.

    `today` bounds them and is what 3天前 counts from; `order` settles 03/02/2026, which is no date without it; `year`
    is that of a heading. Without a year month and day mean the latest such day that is not in the future.
    """
    folded = fold_digits(text)
    written = scan(folded, Context(order, latest_year=today.year + 1, is_list=True))
    days = [*_resolve(folded, written, today, year)]
    if relative:
        spans = SpanSet(len(text))
        for date in written:
            spans.take(date.start, date.end)
        for day in _find_relative_days(folded, today):
            if spans.is_free(day.start, day.end):
                spans.take(day.start, day.end)
                days.append(day)
    return sorted(days, key=lambda match: match.start)


def _resolve(text: str, dates: list[WrittenDate], today: dt.date, year: int | None) -> Iterator[DateMatch]:
    for date in dates:
        if date.year is None and text[date.start - 1 : date.start] == "年":
            continue  # 去年2月3日, 每年2月3日: of a year that is not written
        stated = year if date.year is None else date.year
        years = [today.year, today.year - 1] if stated is None else [stated]
        days = (publication_day(likely, date.month or 0, date.day or 0, today) for likely in years)
        if day := next(filter(None, days), None):
            yield DateMatch(day, date.start, date.end, date.year is not None, date.form)


def _find_relative_days(text: str, today: dt.date) -> Iterator[DateMatch]:
    """Yield the days of "ago" and its like, up to weeks: months and years are too coarse to give a day."""
    for found in _AGO.finditer(text):
        number = int(found["n"]) if found["n"].isdigit() else 1
        unit = found["unit"].lower().rstrip("s")
        days = _DAYS_IN_UNIT.get(unit, 0)
        if number <= _MAX_NUMBER and (days < 7 or number <= _MAX_WEEKS):
            count = days * number + (number // 24 if unit in _HOURS else 0)
            yield DateMatch(today - dt.timedelta(days=count), found.start(), found.end(), form="ago")
    for found in _DAY_WORDS.finditer(text):
        days = _DAYS_BACK.get(found["word"].lower(), 0)
        yield DateMatch(today - dt.timedelta(days=days), found.start(), found.end(), form="word")


def date_in_url(url: str, today: dt.date) -> dt.date | None:
    """Return the publication date that a content management system writes into the path of an article's url, if any.

    A number that is no calendar date, or lies before 1990 or after tomorrow, is no date; neither are two that differ.
    """
    path = re.sub(r"^\w+://[^/]*", "", url)
    for form in _URL_FORMS:
        dates = {
            date
            for found in form.finditer(path)
            if (date := publication_day(complete_year(int(found["y"]), 2099), int(found["m"]), int(found["d"]), today))
        }
        if dates:
            return dates.pop() if len(dates) == 1 else None
    for found in _NAME_IN_URL.finditer(path):
        month = parse_month(found["month"])
        if month:
            return publication_day(int(found["y"]), month, int(found["d"]), today)
    return None
