"""The forms in which dates are written, one entry of `FORMS` each: a name, examples and a pattern."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from monitor.dates.names import (
    ERA_INITIALS,
    ERA_START,
    REPUBLIC_START,
    ROMAN_MONTHS,
    THAI_MONTHS,
    begins_month,
    complete_year,
    is_sure_name,
    parse_month,
    year_of_era,
    year_of_thai,
)
from monitor.dates.numerals import DIGIT_CHARS, NUMERAL_CHARS, ZERO_SIGNS, parse_date_numeral
from monitor.dates.partial import DateOrder, PartialDate

_LATEST_YEAR = 2068  # what two digits mean where nothing says which day it is; as in POSIX, 69 is 1969
_MONTHS_IN_YEAR = 12
_S, _B = r"\s{0,3}", r"\s{1,3}"
_YEAR_CLUE, _NAME_CLUE, _INITIAL_CLUE = "year", "name", "initial"  # each longer than a sign
_YEAR = r"(?P<y>(?:19|20|21)\d\d)"
_YEAR_TO_DATE = r"(?P<y>(?:19|20)\d\d)"
_YEAR_OR_EARLIER = r"(?P<y>(?:1[5-9]|20|21)\d\d)"  # beside a name or a sign, which make it a year
CHINESE_YEAR = rf"[一二][八九一{ZERO_SIGNS}][{DIGIT_CHARS}]{{2}}"
_ANY_YEAR = rf"(?P<y>(?<!\d)(?:1[5-9]|20|21)\d\d|{CHINESE_YEAR})"
_M = rf"(?P<m>\d{{1,2}}|[{NUMERAL_CHARS}]{{1,3}})"
DAY_NUMBER = rf"(?P<d>\d{{1,2}}|[{NUMERAL_CHARS}]{{1,3}})"
DAY_SIGN = "[日号號일]"
_ERA = rf"(?P<era>{'|'.join(ERA_START)}|\b[{''.join(ERA_INITIALS)}](?=\d))"
_ERA_SIGNS = (*(era[0] for era in ERA_START), _INITIAL_CLUE)
_ERA_YEAR = rf"{_ERA}{_S}(?P<y>\d{{1,4}}|[{NUMERAL_CHARS}]{{1,5}}){_S}[年년]"
_MONTH_DAY = rf"{_M}{_S}[月월]{_S}{DAY_NUMBER}{_S}{DAY_SIGN}"
# Levantine months of two words tell by the second which of two they are.
_NAME_BEHIND = r"(?P<name>[^\W\d_]{3,14}(?:\s(?:الأول|الاول|الثاني))?)(?![^\W\d_])"
_NAME = rf"(?<![^\W\d_]){_NAME_BEHIND}"
# Levantine and Western names stand together in Arabic: 3 شباط/فبراير 2026.
_SECOND_NAME = r"(?:\s?/\s?[^\W\d_]{3,14})?"
_ORDINAL = r"(?:(?:st|nd|rd|th|er|[oa])(?![^\W\d_])|[ºª°.])?"
_DAY = rf"(?<![\d.,:/])(?P<d>\d{{1,2}}){_ORDINAL}(?:{_B}(?:day{_B})?of)?{_S}[-/,.]?{_S}(?:de{_B}|d[’'])?"
_DAY_BEHIND = r"(?P<d>\d{1,2})(?:st|nd|rd|th)?"
_NO_YEAR_BEHIND = rf"(?!\.?{_S},?{_S}\d{{4}})"
_THAI = rf"(?P<thai>{'|'.join(map(re.escape, THAI_MONTHS))})"
_THAI_DAY = rf"(?<!\d)(?P<d>\d{{1,2}}){_S}(?:เดือน{_S})?{_THAI}"
_THAI_ERA = rf"(?:(?:พ\.?ศ\.?|ค\.?ศ\.?|พุทธศักราช|คริสต์ศักราช){_S})"
_ROMAN = rf"(?P<roman>{'|'.join(sorted(ROMAN_MONTHS, key=len, reverse=True))})"
_CELL = r"(?=\d{1,2}[-/]|\d\d\.\d\d)(?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"  # 1.2 is a number
# Not within a longer number, a price, a time or the number of a document.
_START = r"(?=\d)(?<![\d.,$€£¥])(?<!\d[-/:：])"
_END = r"(?!\d|[-/.]\d|[:：]\d)"


@dataclass(frozen=True, slots=True)
class Context:
    """What is known where a text stands: the order of its numeric dates, the last year that two digits may mean.

    `language` is that of the page, as `pl`, for the names that two languages use for different months.
    """

    order: DateOrder | None = None
    latest_year: int = _LATEST_YEAR
    is_list: bool = False
    language: str = ""


Reader = Callable[[re.Match[str], Context], PartialDate | None]
Doubt = Callable[[re.Match[str]], bool]


def _read_parts(found: re.Match[str], context: Context) -> PartialDate:
    """Return the date that the named groups give. A part that is none (another word than a month) is 0."""
    parts = {name: written for name, written in found.groupdict().items() if written is not None}
    day = (parse_date_numeral(parts["d"]) or 0) if "d" in parts else None
    return PartialDate(_read_year(parts, context), _read_month(parts, context), day)


def _read_year(parts: dict[str, str], context: Context) -> int | None:
    if "thai_year" in parts:
        return year_of_thai(int(parts["thai_year"]))
    if "republic" in parts:
        year = REPUBLIC_START + (parse_date_numeral(parts["republic"]) or 0)
        return year if year <= context.latest_year else 0
    written = parts.get("y") or parts.get("short")
    if written is None:
        return None
    year = parse_date_numeral(written.lstrip("’'.-")) or 0
    return year_of_era(parts["era"], year) if "era" in parts else complete_year(year, context.latest_year)


def _read_month(parts: dict[str, str], context: Context) -> int | None:
    if "name" in parts:
        return parse_month(parts["name"], has_year="y" in parts or "short" in parts, language=context.language) or 0
    if "thai" in parts:
        return THAI_MONTHS[parts["thai"]]
    if "roman" in parts:
        return ROMAN_MONTHS[parts["roman"]]
    return (parse_date_numeral(parts["m"]) or 0) if "m" in parts else None


def _read_year_last(found: re.Match[str], context: Context) -> PartialDate | None:
    """Return the day of 14/03/2026 and 03.02.2026; None where nothing tells which number is the day."""
    first, second, year = int(found["a"]), int(found["b"]), int(found["y"])
    has_short_year = year < 100
    if context.order == "ymd" and has_short_year:
        return PartialDate(2000 + first, second, year)
    order = None if context.order == "ymd" else context.order
    if first > 12 >= second:
        order = "dmy"
    elif second > 12 >= first:
        order = "mdy"
    elif order is None and not has_short_year and ("." in found["sep"] or year != year_of_thai(year)):
        order = "dmy"  # with dots it is the German way, unless the page shows otherwise
    if has_short_year and (first > 31 or order is None):
        return None
    if order is None and first != second:
        return None
    day, month = (second, first) if order == "mdy" else (first, second)
    return PartialDate(year_of_thai(complete_year(year, context.latest_year)), month, day)


def _read_month_before_day(found: re.Match[str], context: Context) -> PartialDate:
    """Return the date of a cell that says 02-03: month and day, or the reverse where days come first."""
    date = _read_parts(found, context)
    may_be_month = (date.day or 0) <= _MONTHS_IN_YEAR
    is_day_first = context.order == "dmy" or (date.month or 0) > _MONTHS_IN_YEAR
    return replace(date, month=date.day, day=date.month) if is_day_first and may_be_month else date


def _has_unsure_name(found: re.Match[str]) -> bool:
    return not is_sure_name(found["name"], has_year="y" in found.groupdict())


def _may_be_code(found: re.Match[str]) -> bool:
    """Whether day and month may be something else: without a year 5-may and 5Mar are, 5 May and 5. Mai are not."""
    between = found.string[found.end("d") : found.start("name")]
    return _has_unsure_name(found) or not re.search(r"[\s’']$", between) or re.search(r"[-/,]", between) is not None


def _has_unsure_short_year(found: re.Match[str]) -> bool:
    """Whether a small letter begins the month and two digits follow it, as in `phase 1 may 30`."""
    return found["short"] is not None and not is_sure_name(found["name"], has_year=False)


@dataclass(frozen=True)
class Form:
    """One way to write a date. A new one takes an entry of `FORMS` and a row in tests/unit/dates/test_matrix.py.

    The named groups of its pattern say what its parts are, and one reader turns them into a date:

        y          the year in four digits, in two that are completed (also `short`), or in Chinese numerals
        era        the era that `y` counts in; `republic` is a year of the Republic of China without its name
        thai_year  a year that may be counted in Buddhist years
        m, d       month and day in digits or in Chinese numerals
        name       the month's name in any language; `thai` and `roman` are the names that patterns spell out
        a, b       day and month in an order that the page or a number above 12 tells (a form with its own reader)

    `is_listed_only` marks a form, and `doubt` a match of it, that is a date in the cell of a list (02-03, R8.2.3) but
    may be anything in a sentence, and is not read there: a wrong date does more harm than none. A text is searched
    that has all `clues` and, where there are any, one of the `signs`. All quantifiers of a pattern are bounded, so that
    time grows with length alone.
    """

    name: str
    examples: tuple[str, ...]
    regex: str
    signs: Collection[str] = ""
    is_listed_only: bool = False
    doubt: Doubt = lambda _: False
    read: Reader = _read_parts

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.regex)

    @cached_property
    def clues(self) -> frozenset[str]:
        has_year = any(year in self.regex for year in (_YEAR, _YEAR_OR_EARLIER, _YEAR_TO_DATE))
        has_name = "(?P<name>" in self.regex
        return frozenset([_YEAR_CLUE] * has_year + [_NAME_CLUE] * has_name)


COMPACT = Form(
    "compact",
    ("20260203",),
    rf"(?=\d)(?<![\d.])(?<!\d,){_YEAR_TO_DATE}(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?!\d|[.,]\d)",
    is_listed_only=True,
)
YEAR_LAST = Form(
    "year_last",
    ("03.02.2026",),
    rf"{_START}(?<![A-Za-z])(?P<a>\d{{1,2}})(?P<sep>\s?[-/.]\s?)(?P<b>\d{{1,2}})(?P=sep)"
    rf"(?P<y>(?:19|20|21)\d\d|2[45]\d\d|\d\d){_END}",
    signs="-/.",
    doubt=lambda found: len(found["y"]) == 2,
    read=_read_year_last,
)
ABOVE_YEAR = Form(
    "above_year",
    ("02-03 2026",),
    rf"(?=\d)(?<![\d.:/-])(?P<m>\d{{1,2}})\s?[-/]\s?(?P<d>\d{{1,2}}){_B}{_YEAR}(?![\d:/.-])",
    signs="-/",
    is_listed_only=True,
    read=_read_month_before_day,
)

# Earlier entries are surer: where two overlap, the earlier one holds.
FORMS: tuple[Form, ...] = (
    # Year, month and day.
    Form(
        "chinese",
        ("2026年2月3日", "2026년 2월 3일", "二〇二六年二月三日"),
        rf"{_ANY_YEAR}{_S}[年년]{_S}{_M}{_S}[月월]{_S}{DAY_NUMBER}(?!\d)(?:{_S}(?P<sign>{DAY_SIGN}))?",
        signs="年년",
        doubt=lambda found: not found["sign"],  # in 2026年2月3 the 3 may count what follows
    ),
    Form(
        "year_first",
        ("2026-02-03", "2026. 2. 3."),
        # A point that ends a line ends a sentence: on 5 October 2026.⏎1.6 Providers must
        rf"{_START}{_YEAR}(?P<sep>{_S}[-/／—–]{_S}|{_S}[.．](?!\n){_S})(?P<m>\d{{1,2}})(?:(?P=sep)|[-/.])(?P<d>\d{{1,2}})(?![\d%]|[-/.]\d)",
        signs="-/.．／—–",
    ),
    Form(
        "vietnamese",
        ("ngày 3 tháng 2 năm 2026",),
        rf"(?<!\d)(?P<d>\d{{1,2}}){_B}(?i:tháng){_B}(?P<m>\d{{1,2}}),?{_B}(?:(?i:năm){_B})?{_YEAR}(?!\d)",
        signs="áÁ",
    ),
    Form(
        "vietnamese_numeric",
        ("ngày 03/02/2026",),
        rf"(?i:ngày){_B}(?P<d>\d{{1,2}})(?P<sep>[-/.])(?P<m>\d{{1,2}})(?P=sep){_YEAR}(?!\d)",
        signs="àÀ",
    ),
    COMPACT,
    Form("era", ("令和8年2月3日", "民國一百一十五年二月三日"), rf"{_ERA_YEAR}{_S}{_MONTH_DAY}", signs=_ERA_SIGNS),
    Form(
        "era_numeric",
        ("民國115.2.3", "R8.2.3"),
        rf"{_ERA}{_S}(?P<y>\d{{1,3}}|元)(?P<sep>[-/.])(?P<m>\d{{1,2}})(?P=sep)(?P<d>\d{{1,2}}){_END}",
        signs=_ERA_SIGNS,
        doubt=lambda found: found["era"] in ERA_INITIALS,  # R4.1.2 is a version as well
    ),
    # Three digits and no era: only Taiwan writes that.
    Form(
        "republic",
        ("115年2月3日", "一百十五年二月三日"),
        rf"(?<![\d百])(?P<republic>1\d\d|一百一?十?[一二三四五六七八九]?){_S}年{_S}{_MONTH_DAY}",
        signs="年",
    ),
    Form(
        "republic_numeric",
        ("115-02-03",),
        rf"(?=1)(?<![\d.])(?<!\d[-/])(?P<republic>1\d\d)(?P<sep>[-/.])(?P<m>\d\d)(?P=sep)(?P<d>\d\d){_END}",
        signs="-/.",
        doubt=lambda found: found["sep"] == ".",
    ),
    Form(
        "thai",
        ("3 กุมภาพันธ์ พ.ศ. 2569", "3 ก.พ. 69"),
        rf"{_THAI_DAY}{_S}{_THAI_ERA}?(?P<thai_year>2[05]\d\d(?!\d)|[4-7]\d(?!\d|{_S}[\w:%]))",
        signs="คพย",
    ),
    Form(
        "name_day_year",
        ("February 3, 2026",),
        rf"{_NAME}\.?{_S}[-/]?{_S}{_DAY_BEHIND}(?!\d|:\d){_S}[,.]?{_S}[-/]?{_S}{_YEAR_OR_EARLIER}(?!\d)",
    ),
    Form(
        "day_name_year",
        ("3 February 2026", "3. Februar 2026", "3 de febrero de 2026"),
        rf"{_DAY}{_NAME_BEHIND}{_SECOND_NAME}\.?(?:{_S}[-/,.]?{_S}(?:del?{_B})?(?P<y>(?:1[5-9]|20|21)\d\d|[’'.-]\d\d)(?!\d)"
        rf"|\s?(?P<short>\d\d)(?!\d|{_S}[\w:%]))",
        doubt=_has_unsure_short_year,
    ),
    Form(
        "year_name_day",
        ("2026. február 3.", "2026-Feb-03"),
        rf"{_START}{_YEAR}(?:\s?m\.)?[\s.,/-]{{1,3}}{_NAME}\.?[\s./-]{{1,3}}(?P<d>\d{{1,2}})(?!\d|:\d){_NO_YEAR_BEHIND}",
    ),
    Form(
        "roman",
        ("3.II.2026", "3 II 2026"),
        rf"{_START}(?P<d>\d{{1,2}})[\s./-]{{1,2}}{_ROMAN}[\s./-]{{1,2}}{_YEAR}(?!\d)",
        signs="IVX",
    ),
    Form(
        "day_chinese_month",
        ("3 二月 2026", "3 2月 2026"),
        rf"(?<![\d.,:/-])(?P<d>\d{{1,2}})日?{_B}{_M}月{_B}{_YEAR}(?![\d年])",
        signs="月",
    ),
    # Month and day.
    Form(
        "name_day",
        ("February 3",),
        rf"(?<!\d)(?<!\d[\s./-]){_NAME}\.?{_S}[-/]?{_S}{_DAY_BEHIND}(?![\d%]|:\d|[.,]\d{{1,3}}(?!\d)){_NO_YEAR_BEHIND}",
        doubt=_has_unsure_name,
    ),
    Form(
        "day_name",
        ("3 February", "3 de febrero"),
        rf"{_DAY}{_NAME_BEHIND}{_SECOND_NAME}{_NO_YEAR_BEHIND}",
        doubt=_may_be_code,
    ),
    Form("thai_day", ("3 กุมภาพันธ์",), _THAI_DAY, signs="คพย"),
    Form(
        "vietnamese_day",
        ("ngày 3 tháng 2",),
        rf"(?i:ngày){_B}(?P<d>\d{{1,2}})(?:{_B}(?i:tháng){_B}|/)(?P<m>\d{{1,2}})(?![\d/])",
        signs="àÀ",
    ),
    YEAR_LAST,
    # Cards that show the day apart from year and month, or both above the year.
    Form(
        "day_beside_month",
        ("03 2026-02",),
        rf"(?=\d)(?<![\d.:/-])(?P<d>\d{{1,2}})日?{_B}{_YEAR}[-/.年]\s?(?P<m>\d{{1,2}})(?![\d/.-])",
        is_listed_only=True,
    ),
    Form(
        "month_beside_day",
        ("2026-02 03",),
        rf"(?=\d)(?<!\d){_YEAR}[-/.年]\s?(?P<m>\d{{1,2}})月?{_B}(?P<d>\d{{1,2}})(?![\d:/.-])",
        is_listed_only=True,
    ),
    Form(
        "year_beside_day",
        ("2026 02-03",),
        rf"(?=\d)(?<!\d){_YEAR}年?{_B}(?P<m>\d{{1,2}})[-/.月]\s?(?P<d>\d{{1,2}})(?![\d:/.])",
        is_listed_only=True,
    ),
    ABOVE_YEAR,
    Form("chinese_day", ("2月3日", "2월 3일"), rf"(?<![\d.十]){_MONTH_DAY}", signs="月월"),
    Form(
        "cell",
        ("02-03",),
        rf"\A[\s\[(（【]{{0,9}}{_CELL}(?:\s{{1,9}}\d{{1,2}}:\d\d(?::\d\d)?)?[\s\])）】]{{0,9}}\Z",
        signs="-/.",
        is_listed_only=True,
        read=_read_month_before_day,
    ),
    Form(
        "brackets",
        ("[02-03] Notice",),
        rf"[\[(（【]{_CELL}[\])）】]",
        signs="[(（【",
        is_listed_only=True,
        read=_read_month_before_day,
    ),
    # Year and month, or the year of an era.
    Form("era_month", ("令和8年2月",), rf"{_ERA_YEAR}{_S}{_M}{_S}[月월]", signs=_ERA_SIGNS),
    Form("chinese_month", ("2026年2月", "2026년 2월"), rf"{_ANY_YEAR}\s?[年년]\s?{_M}\s?[月월]份?", signs="年년"),
    Form("republic_month", ("115年2月",), rf"(?<!\d)(?P<republic>1\d\d){_S}年{_S}{_M}{_S}月", signs="年"),
    Form("year_month", ("2026-02",), rf"(?=\d)(?<![\d.-]){_YEAR}-(?P<m>0[1-9]|1[0-2])(?![\d-])", signs="-"),
    Form(
        "name_year",
        ("February 2026", "febrero de 2026"),
        rf"(?<!\d){_NAME}\.?(?:{_B}del?|,)?(?:{_B}|[/-]){_YEAR_OR_EARLIER}(?!\d)",
        doubt=_has_unsure_name,
    ),
    Form("thai_month", ("กุมภาพันธ์ 2569",), rf"{_THAI}{_S}{_THAI_ERA}?(?P<thai_year>2[05]\d\d)(?!\d)", signs="คพย"),
    Form(
        "vietnamese_month",
        ("tháng 2 năm 2026", "tháng 2/2026"),
        rf"(?i:tháng){_B}(?P<m>\d{{1,2}})(?:,?{_B}(?:(?i:năm){_B})?|/){_YEAR}(?!\d)",
        signs="áÁ",
    ),
    Form("era_year", ("令和8年", "民國115年"), _ERA_YEAR, signs=_ERA_SIGNS),
    Form("thai_era_year", ("พ.ศ. 2569",), rf"{_THAI_ERA}(?P<thai_year>2[05]\d\d)(?!\d)", signs="ศ"),
)

_SIGNS = {sign for form in FORMS for sign in form.signs}
_LONG_YEAR = re.compile(r"(?:1[5-9]|2[01])\d\d")
_INITIAL = re.compile(rf"[{''.join(ERA_INITIALS)}]\d")
_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]{3,}")  # East Asia numbers its months


def select_forms(text: str, *, is_list: bool) -> list[Form]:
    """Return the forms whose signs and clues a text has, a quick check before their patterns."""
    found = _SIGNS.intersection(text)
    if _LONG_YEAR.search(text):
        found.add(_YEAR_CLUE)
    if _INITIAL.search(text):
        found.add(_INITIAL_CLUE)
    # In `3 ofMay` the name is a part of the word.
    if any(begins_month(word.removeprefix("of")) for word in _WORD.findall(text)):
        found.add(_NAME_CLUE)
    return _list_forms(frozenset(found), is_list)


@lru_cache(maxsize=1024)
def _list_forms(found: frozenset[str], is_list: bool) -> list[Form]:
    possible = (form for form in FORMS if is_list or not form.is_listed_only)
    return [form for form in possible if form.clues <= found and (not form.signs or not found.isdisjoint(form.signs))]
