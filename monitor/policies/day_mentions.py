"""Days as documents name them: dates, ends of months and years, and so many days from publication."""

import calendar
import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from monitor.dates import DateOrder, WrittenDate, find_dates
from monitor.dates.names import parse_month
from monitor.dates.numerals import ENGLISH_WORDS, parse_numeral

_MAX_COUNT = 3660
_MAX_BEHIND_DAYS = 45  # 6月30日 on a page of July is this year's, 1月15日 on one of December the next year's


@dataclass(frozen=True, slots=True)
class DayBase:
    """The days from which a document counts: when it was made, when it was published, and from when it holds."""

    made_on: dt.date | None = None
    published_on: dt.date | None = None
    in_force: dt.date | None = None

    @property
    def day(self) -> dt.date | None:
        return self.made_on or self.published_on

    @property
    def publication(self) -> dt.date | None:
        return self.published_on or self.made_on


@dataclass(frozen=True, slots=True)
class DayMention:
    """A day in a text, with its words; None where it counts from a day that nobody knows.

    `is_counted`: so many days from publication. `is_end`: the end of a month or year. `has_day`: not only a month.
    """

    start: int
    end: int
    written: str
    day: dt.date | None
    is_counted: bool = False
    is_end: bool = False
    has_year: bool = True

    def shift(self, by: int) -> "DayMention":
        return replace(self, start=self.start + by, end=self.end + by)


_N = r"(?P<n>\d{1,4}|[〇零一二两三四五六七八九十百]{1,5})"
_ISSUE = (
    r"印发|发布|公布|颁布|下发|签发|发文|公告|通告|公示|刊登|刊发|登载|刊载|发出|通过|批准|成文"
    r"|(?P<force>施行|实施|生效|执行)"
)
# 印发之日起30日后, 本公告发布之日起满三个月, 刊登公报之次日起60日, 公布后30日, 发布之日
_CHINESE_COUNT = re.compile(
    rf"(?:(?<=自)本[^\s，。；:自从]{{1,8}}|文件|公报)?(?:正式|对外)?(?P<base>{_ISSUE})(?:[^\s，。；:、之自起]{{1,6}}(?=之[日次翌]))?"
    rf"(?:(?P<same>之?[日时])(?![期间报程常])|之?后|之?(?=的?[次翌][日月]))"
    rf"(?:的?(?P<next>[次翌][日月]))?(?:(?:起|后|开始|算起)*的?第?(?:满|计算)?\s?{_N}\s?个?(?P<unit>工作日|自然日|日历日|日|天|个?月|年|周))?"
    r"(?:以后|之后|后)?"
)
_FROM_NOW = re.compile(r"(?<=自)即日(?=起?(?:正式)?(?:施行|实施|生效|执行|废止|停止))")
_YEAR_END = re.compile(
    r"(?<!\d)(?:(?P<y>20\d\d|二〇[一二三四五六七八九][〇一二三四五六七八九])年|(?P<word>今年|本年度?|当年|明年)"
    r"|(?P<bare>(?<![一-鿿])))\s?(?:年?(?:底|末)|年度末|年内)"
)
_MONTH_END = re.compile(
    r"(?<!\d)(?:(?P<y>20\d\d)年|(?P<word>今年|本年|当年|明年))?\s?(?P<m>\d{1,2}|[一二三四五六七八九十]{1,2})月份?(?:底|末)"
)
_QUARTER_END = re.compile(
    r"(?<!\d)(?P<y>20\d\d)年\s?(?:第?(?P<q>[一二三四1-4])季度|(?P<h>上半年))(?:底|末|结束)?(?=前|之前|以前)"
)
_ENGLISH_END = re.compile(
    r"\b(?:the\s)?end(?:ing)?\s(?:of"
    r"|to)\s(?:(?P<name>[A-Z][a-z]{2,8})\s)?(?:(?:calendar\s)?year\s)?(?P<y>20\d\d)\b"
    r"|\bend-(?P<name2>[A-Z][a-z]{2,8})\s(?P<y2>20\d\d)|\byear-?\s?end\s(?P<y3>20\d\d)"
)
_NUMBER_WORD = rf"(?:{'|'.join(ENGLISH_WORDS)})"
_N_EN = rf"(?P<n>\d{{1,4}}|{_NUMBER_WORD}(?:[- ]{_NUMBER_WORD})?)(?:\s\(\d{{1,4}}\))?"
_OWN_NOUN = (
    r"rules?|regulations?|notice|order|directive|act|instrument|guidelines?|guidance|decision|document|circular|policy"
    r"|proposal|proposed|final|standard|code|determination|by-?law|amendments?|consultation|paper"
)
_PUBLICATION = (
    r"(?:the\s)?(?:date\s(?:of|on\swhich)\s)?(?:the\s|that\sof\s|its\s|their\s|this\s)*"
    r"(?:(?:document|notice|rule|order|regulations?|directive|guidance|final\srule|proposed\srule|proposal"
    r"|release|it)(?:'s)?\s(?:is\s|are\s|has\sbeen\s)?)?"
    r"(?:publication|published|issuance|issued|promulgation|gazettal|gazetted|release|adoption|made)"
    rf"(?:\sof\s(?:this|the)\s(?:{_OWN_NOUN})(?:\s[a-z]{{3,10}})?)?"
    r"(?:\s(?:in|on)\sthe\s(?:Federal\sRegister|Official\sJournal(?:\sof\sthe\sEuropean\sUnion)?"
    r"|(?:[A-Z][a-z]+\s){0,3}Gazette(?:,\sPart\s[IV]+)?|[A-Z][a-z]+\sRegister))?"
)
_ENGLISH_COUNT = re.compile(
    rf"(?:\b{_N_EN}\s(?P<unit>calendar\sdays?|business\sdays?|working\sdays?|days?|weeks?|months?|years?)"
    rf"|\b(?:the\s)?(?P<ordinal>\d{{1,3}}(?:st|nd|rd|th)|[a-z]+(?:-[a-z]+)?(?:st|nd|rd|th))\sday)"
    rf"\s(?:after|from|of|following|beginning\son|starting\son)\s(?:the\sday\s(?:after|of"
    rf"|following)\s)?(?:{_PUBLICATION}|(?P<this>the\sdate\s(?:of\sthis|hereof)(?:\s[a-z]{{4,12}})?))"
    rf"(?!\sof\s(?:the|its|their|a|an|each|any|such)\s(?!(?:{_OWN_NOUN})\b))",
    re.IGNORECASE,
)
_ENGLISH_SAME = re.compile(
    r"\b(?P<next>(?:the\s)?day\s(?:after|following)\s(?:that\son\swhich\s)?)?(?:(?:the\s)?(?:date|day)\s(?:of"
    r"|on\swhich)\s(?:its\s|the\s|it\sis\s)?(?:publication|issuance|published|made|issued)|(?:upon"
    r"|on)\s(?:its\s)?(?:publication|issuance)(?:\sin\sthe\s(?:Federal\sRegister|Official\sJournal|Gazette))?"
    r"|(?<=after\s)(?:its\s)publication)\b|\bimmediately\b(?=[.,;]|\supon|$)|(?<=with\s)immediate\seffect\b"
    r"|\b(?:the\s)?day\safter\s(?:it|they|this\s[A-Za-z]+|these\s[A-Za-z]+)\s(?:is|are)\s(?P<tomorrow>registered"
    r"|published|made|gazetted)\b"
    r"|\b(?P<following>(?:the\s)?day\s(?:after|following)\s(?:that\sof\s)?(?:its|the|their)\s(?:date\sof\s)?publication)\b"
    r"(?:\sin\sthe\s(?:Federal\sRegister|Official\sJournal|Gazette))?"
    r"|\b(?P<made>(?:the\s)?(?:day|date)\s(?:on\swhich\s(?:it|they|these\s[A-Z][a-z]+)\s(?:is|are)\s(?:registered|made"
    r"|signed|adopted)|of\s(?:its\s|their\s|the\s)?(?:adoption|registration|signature|signing|making)))\b",
    re.IGNORECASE,
)
_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fifth": 5,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "twelfth": 12,
    "fourteenth": 14,
    "fifteenth": 15,
    "twentieth": 20,
    "twenty-first": 21,
    "thirtieth": 30,
    "sixtieth": 60,
    "ninetieth": 90,
}
_WEEKDAY_BEFORE = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,?\s(?:the\s)?\Z")
_WEEKDAY_BEHIND = re.compile(
    r"\s?\((?:星期|周|礼拜)[一二三四五六日天]\)|,?\s\((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\)"
)
_FULL_YEAR_BEFORE = re.compile(r"(?:每年|次年|逐年|历年|上年|去年|往年|翌年)\s?\Z")
_THIS_YEAR_BEFORE = re.compile(r"(?P<word>今年|本年|当年|明年)\s?\Z")


def find_day_mentions(
    text: str, base: DayBase, *, is_chinese: bool, order: DateOrder | None = None
) -> list[DayMention]:
    """Return the days of a folded text in order, without overlaps."""
    dates = find_dates(text, order=order)
    found = [
        *_list_counted(text, base, is_chinese=is_chinese),
        *_list_ends(text, base),
        *_list_dates(text, dates, base),
    ]
    mentions: list[DayMention] = []
    for mention in sorted(found, key=lambda mention: (mention.start, -mention.end)):
        if not mentions or mention.start >= mentions[-1].end:
            mentions.append(mention)
    return mentions


def _list_dates(text: str, dates: Sequence[WrittenDate], base: DayBase) -> Iterator[DayMention]:
    year: int | None = None
    last_end = 0
    for date in dates:
        has_year = date.year is not None
        if date.month is None or date.day is None:
            year, last_end = (date.year, date.end) if has_year else (year, last_end)
            continue
        day = date.value.to_date()
        if not has_year and not _FULL_YEAR_BEFORE.search(text, max(0, date.start - 6), date.start):
            is_near = year is not None and "\n" not in text[last_end : date.start] and date.start - last_end < 60
            day = _complete(text, date, year if is_near else None, base)
        if has_year:
            year, last_end = date.year, date.end
        start, end = date.start, date.end
        if before := _WEEKDAY_BEFORE.search(text, max(0, start - 15), start):
            start = before.start()
        if behind := _WEEKDAY_BEHIND.match(text, end):
            end = behind.end()
        yield DayMention(start, end, text[start:end], day, has_year=has_year)


def _complete(text: str, date: WrittenDate, year: int | None, base: DayBase) -> dt.date | None:
    """Return the day of a date without a year: in the year of the date before it, else the next such day."""
    month, day = date.month or 0, date.day or 0
    origin = base.publication
    if word := _THIS_YEAR_BEFORE.search(text, max(0, date.start - 4), date.start):
        return _make(origin.year + (word["word"] == "明年"), month, day) if origin else None
    if year is not None:
        return _make(year, month, day)
    if origin is None:
        return None
    found = _make(origin.year, month, day)
    if found is not None and (origin - found).days > _MAX_BEHIND_DAYS:
        return _make(origin.year + 1, month, day)
    return found


def _make(year: int, month: int, day: int) -> dt.date | None:
    try:
        return dt.date(year, month, day)
    except ValueError:
        return None


def _list_ends(text: str, base: DayBase) -> Iterator[DayMention]:
    """Yield 2027年底, 6月底, the end of 2027, each as its last day."""
    origin = base.publication
    for found in _YEAR_END.finditer(text):
        year = _read_year(found["y"], found["word"], origin)
        if year:
            yield DayMention(*found.span(), found[0], dt.date(year, 12, 31), is_end=True)
    for found in _MONTH_END.finditer(text):
        month = int(parse_numeral(found["m"]) or 0)
        year = _read_year(found["y"], found["word"], origin)
        if not 1 <= month <= 12 or not year:
            continue
        if not found["y"] and not found["word"] and origin and month < origin.month - 1:
            year += 1
        yield DayMention(*found.span(), found[0], last_day(year, month), is_end=True)
    for found in _QUARTER_END.finditer(text):
        month = 6 if found["h"] else 3 * ("一二三四".find(found["q"]) + 1 or int(found["q"]))
        yield DayMention(*found.span(), found[0], last_day(int(found["y"]), month), is_end=True)
    for found in _ENGLISH_END.finditer(text):
        name = found["name"] or found["name2"]
        month = (parse_month(name) or 0) if name else 12
        if month:
            year = int(found["y"] or found["y2"] or found["y3"])
            yield DayMention(*found.span(), found[0], last_day(year, month), is_end=True)


def _read_year(written: str | None, word: str | None, origin: dt.date | None) -> int | None:
    if written:
        return int(parse_numeral(written) or 0)
    return origin.year + (word == "明年") if origin else None


def last_day(year: int, month: int) -> dt.date:
    return dt.date(year, month, calendar.monthrange(year, month)[1])


def _list_counted(text: str, base: DayBase, *, is_chinese: bool) -> Iterator[DayMention]:
    if is_chinese:
        for found in _CHINESE_COUNT.finditer(text):
            if not found["same"] and not found["n"] and not found["next"]:
                continue
            if found["force"] and not found["n"]:
                continue
            is_of_gazette = found["next"] or found["base"] in ("刊登", "刊载", "登载")
            origin = base.in_force if found["force"] else base.publication if is_of_gazette else base.day
            count = int(parse_numeral(found["n"]) or 0) if found["n"] else 0
            day = add_period(origin, count, found["unit"] or "日")
            if origin and found["next"] in ("次月", "翌月"):
                day = _first_of_next(origin)
            elif origin and found["next"] and not count:
                day = origin + dt.timedelta(days=1)
            yield DayMention(*found.span(), found[0], day, is_counted=True)
        for found in _FROM_NOW.finditer(text):
            yield DayMention(*found.span(), found[0], base.day, is_counted=True)
        return
    for found in _ENGLISH_COUNT.finditer(text):
        origin = base.day if found["this"] else base.publication
        if found["ordinal"]:
            yield DayMention(
                *found.span(), found[0], add_period(origin, _read_ordinal(found["ordinal"]), "day"), is_counted=True
            )
        else:
            yield DayMention(
                *found.span(), found[0], add_period(origin, read_count(found["n"]), found["unit"]), is_counted=True
            )
    for found in _ENGLISH_SAME.finditer(text):
        origin = base.publication
        is_next = found["next"] or found["tomorrow"] or found["following"]
        day = origin + dt.timedelta(days=1) if origin and is_next else origin
        day = base.day if found["made"] else day
        yield DayMention(*found.span(), found[0], day, is_counted=True)


def _first_of_next(day: dt.date) -> dt.date:
    return last_day(day.year, day.month) + dt.timedelta(days=1)


def read_count(written: str) -> int:
    """Return the value of a number in digits, in Chinese numerals or in English words; 0 where it is none."""
    if written.isdecimal():
        return int(written)
    if written.isascii():
        return sum(ENGLISH_WORDS.get(word, 0) for word in re.split("[- ]", written.lower()))
    return int(parse_numeral(written) or 0)


def _read_ordinal(written: str) -> int:
    digits = re.match(r"\d+", written)
    return int(digits[0]) if digits else _ORDINALS.get(written.lower(), 0)


def add_period(start: dt.date | None, count: int, unit: str) -> dt.date | None:
    """Return the day so many days, working days, weeks, months or years after another; None where nothing counts."""
    if start is None or not 0 <= count <= _MAX_COUNT:
        return None
    unit = unit.lower()
    if "工作" in unit or "working" in unit or "business" in unit:
        return _add_working_days(start, count)
    if unit.startswith(("month", "个月", "月")):
        return _add_months(start, count)
    if unit.startswith(("year", "年")):
        return _add_months(start, 12 * count)
    days = count * (7 if unit.startswith(("week", "周")) else 1)
    return start + dt.timedelta(days=days) if days <= (dt.date.max - start).days else None


def _add_working_days(start: dt.date, count: int) -> dt.date:
    """Count Monday to Friday: holidays are decided anew each year, and no page says which ones it means."""
    day = start
    while count:
        day += dt.timedelta(days=1)
        count -= day.weekday() < 5
    return day


def _add_months(start: dt.date, count: int) -> dt.date | None:
    year, month = divmod(start.year * 12 + start.month - 1 + count, 12)
    if year > dt.MAXYEAR:
        return None
    return dt.date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))
