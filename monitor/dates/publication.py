"""Days of publication: whole dates of rows, date lines and urls, no earlier than 1990 and no later than tomorrow."""

import datetime as dt
import re
from collections.abc import Iterator

from monitor.dates.forms import COMPACT, Context
from monitor.dates.grammar import MAY_HOLD_DATE, iter_dates, scan
from monitor.dates.names import complete_year, fold_digits, parse_month
from monitor.dates.partial import DateMatch, DateOrder, PartialDate, SpanSet, WrittenDate

_FIRST_DAY = dt.date(1990, 1, 1)
_UNITS = {
    0: "秒 分钟 分鐘 分 초 분 second sec minute min minuto Minute минута минуту минуты минут minut "
    "minuty dakika phút menit minuut minuter دقيقة دقائق",
    -1: "小时 小時 時間 个小时 시간 hour hr hora heure Stunde ora ore час часа часов godzinę godziny godzin "
    "saat giờ jam uur timme timmar ساعة ساعات",
    1: "天 日 일 day día dia jour Tag Tage Tagen giorno giorni день дня дней dzień dni gün ngày hari "
    "dag dagen dagar يوم أيام",
    7: "周 週 星期 week semana semaine Woche Wochen settimana settimane неделю недели недель tydzień tygodnie "
    "tygodni hafta tuần minggu weken vecka veckor أسبوع أسابيع",
}
_DAYS_IN_UNIT = {word: days for days, words in _UNITS.items() for word in words.lower().split()}
_UNIT = "|".join(sorted(_DAYS_IN_UNIT, key=len, reverse=True))
# Days counted from the day of reading: 3天前, 2 weeks ago, hace 3 días, yesterday, 昨天.
_AGO = re.compile(
    r"(?P<before>\b(?:hace|vor|il y a|há|منذ|قبل|för)\s{1,3})?(?<![\d.])(?P<n>\d{1,4}|\ban?|\bone)\s{0,3}"
    rf"(?P<unit>{_UNIT})(?P<plural>s)?(?(before)\b|\s{{0,3}}"
    r"(?:前|之前|以前|전|(?:ago|fa|geleden|sedan|назад|temu|önce|trước|(?:yang )?lalu|atrás)\b))",
    re.IGNORECASE,
)
# In front of an hour or alone: `hier` is a place in German, `oggi` may begin a title.
_DAY_WORDS = re.compile(
    r"(?P<word>刚刚|剛剛|今天|今日|昨天|昨日|前天|오늘|어제|"
    r"\btoday\b|\byesterday\b|\bjust now\b|\bheute\b|\bgestern\b|"
    r"\A(?:hoy|ayer|hier|aujourd['’]hui|oggi|ieri|hoje|ontem|сегодня|вчера|dziś|dzisiaj|wczoraj|bugün|dün|"
    r"hôm nay|hôm qua|hari ini|kemarin|vandaag|gisteren|i ?dag|i ?går|اليوم|أمس)"
    r"(?=[\s,|·•–-]*(?:\Z|\d|à|às|alle|a las|om|kl|в|о|saat)))",
    re.IGNORECASE,
)
# Quick checks before the patterns: whether a text has a number to count with, and one of the words.
_HAS_DIGIT = re.compile(r"\d")
_ANYWHERE = re.compile("today|yesterday|just now|heute|gestern|刚刚|剛剛|今天|今日|昨天|昨日|前天|오늘|어제")
_AT_START = (
    *("hoy", "ayer", "hier", "aujourd", "oggi", "ieri", "hoje", "ontem", "сегодня", "вчера", "dzi", "wczoraj", "bugün"),
    *("dün", "hôm", "hari ini", "kemarin", "vandaag", "gisteren", "idag", "i dag", "igår", "i går", "اليوم", "أمس"),
)
_YESTERDAY = "昨天 昨日 어제 yesterday gestern ayer hier ieri ontem вчера wczoraj dün kemarin gisteren igår أمس"
_DAYS_BACK = dict.fromkeys((*_YESTERDAY.split(), "hôm qua", "i går"), 1) | {"前天": 2}
_MAX_NUMBER, _MAX_WEEKS, _WEEK = 999, 5, 7
MAX_RELATIVE_CHARS = 40
"""A longer text that says yesterday tells of it."""
_AS_LISTED = Context(order="dmy", is_list=True, language="pl")

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


def has_day(text: str, *, relative: bool = False) -> bool:
    """Whether a text shows a day, with or without its year, and be it 03/02/2026; a number of eight digits is none.

    With `relative`, a short text like 3天前 does so too.
    """
    folded = fold_digits(text)
    if MAY_HOLD_DATE.search(folded) and any(date.form != COMPACT.name for date in iter_dates(folded, _AS_LISTED)):
        return True
    return relative and len(text) <= MAX_RELATIVE_CHARS and next(_iter_relative(folded.strip()), None) is not None


def _iter_relative(text: str) -> Iterator[re.Match[str]]:
    """Yield what counts from the day of reading; a check of its words saves most texts the patterns."""
    lowered = text.lower()
    if _HAS_DIGIT.search(text) or " ago" in lowered:
        yield from _AGO.finditer(text)
    if lowered.startswith(_AT_START) or _ANYWHERE.search(lowered):
        yield from _DAY_WORDS.finditer(text)


def find_days(
    text: str, today: dt.date, *, order: DateOrder | None = None, year: int | None = None, relative: bool = False
) -> list[DateMatch]:
    """Return all days of a text in order.

    `today` bounds them and is what 3天前 counts from; `order` settles 03/02/2026, which is no date without it; `year`
    is that of a heading. Without a year month and day mean the latest such day that is not in the future.
    """
    folded = fold_digits(text)
    written = _scan_list(folded, today, order)
    days = [*_resolve(written, today, year)]
    return sorted([*days, *(find_relative_days(folded, written, today) if relative else ())], key=lambda day: day.start)


def find_written_days(
    text: str, today: dt.date, *, order: DateOrder | None = None, language: str = ""
) -> list[WrittenDate]:
    """Return all days of a text in order as they are written, be they without a year or in the future; 3天前 too.

    `language` is that of the page, as `pl`.
    """
    folded = fold_digits(text)
    written = _scan_list(folded, today, order, language)
    relative = find_relative_days(folded, written, today) if len(text) <= MAX_RELATIVE_CHARS else []
    days = (
        WrittenDate(text[day.start : day.end], day.start, day.end, day.form, PartialDate.of(day.date))
        for day in relative
    )
    return sorted([*written, *days], key=lambda date: date.start)


def _scan_list(folded: str, today: dt.date, order: DateOrder | None, language: str = "") -> list[WrittenDate]:
    """Return the days without those of a year that is not written: 去年2月3日, 每年2月3日."""
    written = scan(folded, Context(order, latest_year=today.year + 1, is_list=True, language=language))
    return [date for date in written if date.year is not None or folded[date.start - 1 : date.start] != "年"]


def _resolve(dates: list[WrittenDate], today: dt.date, year: int | None) -> Iterator[DateMatch]:
    for date in dates:
        stated = year if date.year is None else date.year
        years = [today.year, today.year - 1] if stated is None else [stated]
        days = (publication_day(likely, date.month or 0, date.day or 0, today) for likely in years)
        if day := next(filter(None, days), None):
            yield DateMatch(day, date.start, date.end, date.year is not None, date.form)


def find_relative_days(text: str, written: list[WrittenDate], today: dt.date) -> list[DateMatch]:
    """Return the days of "ago" and its like, up to weeks: months and years are too coarse to give a day."""
    found_days = []
    for found in _iter_relative(text):
        if found.re is _DAY_WORDS:
            count, form = _DAYS_BACK.get(found["word"].lower(), 0), "word"
        else:
            number = int(found["n"]) if found["n"].isdigit() else 1
            days = _DAYS_IN_UNIT.get(found["unit"].lower(), 0)
            if number > _MAX_NUMBER or (days == _WEEK and number > _MAX_WEEKS):
                continue
            count, form = (number // 24 if days < 0 else days * number), "ago"
        found_days.append(DateMatch(today - dt.timedelta(days=count), found.start(), found.end(), form=form))
    if not found_days:
        return []
    spans = SpanSet(len(text))
    for date in written:
        spans.take(date.start, date.end)
    free = []
    for day in found_days:
        if spans.is_free(day.start, day.end):
            spans.take(day.start, day.end)
            free.append(day)
    return free


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
