"""Dates as people and machines write them. A doubtful one is no date: a wrong date does more harm than none."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator

from monitor.dates.calendar import SPACE, DateMatch, Order, match_of, real_date
from monitor.dates.months import MONTH_BY_NAME, fold_word

_DIGIT = dict(zip("〇零○Ｏ一二三四五六七八九正元", (0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1), strict=True))

_NUMBER = "[〇零○Ｏ一二三四五六七八九十廿卅正元]"

ERA_START = {"令和": 2018, "平成": 1988, "民國": 1911, "民国": 1911, "R": 2018, "H": 1988}
"""The year before the first of each era."""

_BUDDHIST = 543

_ERA_END = r"(?!\d|[-/.]\d|[:：]\d)"

_IN_CHARACTERS = re.compile(
    rf"(?P<y>[一二][{''.join(_DIGIT)}]{{3}}|(?<!\d)(?:19|20)\d\d)年(?P<m>{_NUMBER}{{1,3}})月(?P<d>{_NUMBER}{{1,3}})[日号號]"
)

_ERA_IN_CHARACTERS = re.compile(
    rf"(?P<era>令和|平成|民國|民国)(?P<y>{_NUMBER}{{1,4}})年(?P<m>{_NUMBER}{{1,3}})月(?P<d>{_NUMBER}{{1,3}})日"
)

_ERA = re.compile(
    rf"(?P<era>民國|民国|令和|平成|\b[RH](?=\d))?{SPACE}*(?<!\d)(?P<y>\d{{1,3}}|元)"
    rf"(?:{SPACE}*年{SPACE}*(?P<m1>\d{{1,2}}){SPACE}*月{SPACE}*(?P<d1>\d{{1,2}}){SPACE}*日|"
    rf"(?P<sep>[-/.])(?P<m2>\d\d?)(?P=sep)(?P<d2>\d\d?){_ERA_END})"
)

_THAI_NAMES = """
มกราคม ม.ค. กุมภาพันธ์ ก.พ. มีนาคม มี.ค. เมษายน เม.ย. พฤษภาคม พ.ค. มิถุนายน มิ.ย.
กรกฎาคม ก.ค. สิงหาคม ส.ค. กันยายน ก.ย. ตุลาคม ต.ค. พฤศจิกายน พ.ย. ธันวาคม ธ.ค.
"""

_THAI_MONTHS = _THAI_NAMES.split()

_THAI = re.compile(
    rf"(?<!\d)(?P<d>\d{{1,2}}){SPACE}*(?P<month>{'|'.join(map(re.escape, _THAI_MONTHS))}){SPACE}*"
    rf"(?:พ\.ศ\.|ค\.ศ\.)?{SPACE}*(?P<y>2[05]\d\d)(?!\d)"
)


def era_dates(text: str, today: dt.date) -> Iterator[DateMatch]:
    """The dates of a text that are written in one of these ways."""
    for found in _IN_CHARACTERS.finditer(text):
        year = int("".join(str(_DIGIT.get(char, char)) for char in found["y"]))
        yield from match_of(found, real_date(year, _number(found["m"]), _number(found["d"]), today))
    for found in _ERA_IN_CHARACTERS.finditer(text):
        year = ERA_START[found["era"]] + _number(found["y"])
        yield from match_of(found, real_date(year, _number(found["m"]), _number(found["d"]), today))
    for found in _ERA.finditer(text):
        month, day = int(found["m1"] or found["m2"]), int(found["d1"] or found["d2"])
        years = 1 if found["y"] == "元" else int(found["y"])
        if found["era"]:
            yield from match_of(found, real_date(ERA_START[found["era"]] + years, month, day, today))
        elif 100 <= years <= today.year - 1911 and (found["d1"] or len(found["m2"]) == 2 == len(found["d2"])):
            # Three digits and no era: only Taiwan writes that.
            yield from match_of(found, real_date(1911 + years, month, day, today))
    for found in _THAI.finditer(text):
        year = int(found["y"])
        month = _THAI_MONTHS.index(found["month"]) // 2 + 1
        yield from match_of(
            found, real_date(year - _BUDDHIST if year > today.year + 1 else year, month, int(found["d"]), today)
        )


def _number(text: str) -> int:
    text = text.replace("廿", "二十").replace("卅", "三十")
    if "十" not in text:
        return int("".join(str(_DIGIT[char]) for char in text))
    tens, _, ones = text.partition("十")
    return _DIGIT.get(tens, 1) * 10 + _DIGIT.get(ones, 0)


_YEAR = r"(?P<y>(?:19|20)\d\d)"

_END = r"(?!\d|[-/.]\d|[:：]\d)"

_START = r"(?<![\d.,$€£¥])(?<!\d[-/:：])"


_FULL = re.compile(
    rf"{_START}{_YEAR}(?:{SPACE}*[年년]{SPACE}*(?P<m1>\d{{1,2}}){SPACE}*[月월]{SPACE}*(?P<d1>\d{{1,2}})(?!\d)"
    rf"|(?P<sep>{SPACE}*[-/.．／—–]{SPACE}*)(?P<m2>\d{{1,2}})(?:(?P=sep)|[-/.])(?P<d2>\d{{1,2}})(?![\d%]|[-/]\d))"
)

_COMPACT = re.compile(r"(?<![\d.])(?P<y>(?:19|20)\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?!\d)")

_NUMERIC = re.compile(
    rf"(?<![A-Za-z]){_START}(?P<a>\d{{1,2}})(?P<sep>{SPACE}?[-/.]{SPACE}?)(?P<b>\d{{1,2}})(?P=sep)(?P<y>(?:19|20)?\d\d){_END}"
)

_WORD = r"(?P<month>[^\W\d_]{3,14})"

_DAY_WORD = re.compile(
    rf"(?<![\d.,:/])(?P<d>\d{{1,2}})(?:st|nd|rd|th|er|"
    rf"[ºª.])?(?:{SPACE}+(?:day{SPACE}+)?of)?{SPACE}*[-/,.]?{SPACE}*(?:de{SPACE}+|d[’'])?{_WORD}"
    rf"\.?(?:{SPACE}*[-/,.]?{SPACE}*(?:del?{SPACE}+)?(?P<y>(?:19|20)\d\d|[’'.-]\d\d)(?!\d)"
    rf"|{SPACE}?(?P<yy>\d\d)(?!{SPACE}*[\w:]))?"
)

_WORD_DAY = re.compile(
    rf"(?<![^\W\d_]){_WORD}\.?{SPACE}*[-/]?{SPACE}*(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:\d)"
    rf"(?:{SPACE}*[,.]?{SPACE}*[-/]?{SPACE}*(?P<y>(?:19|20)\d\d)(?!\d))?"
)

_MONTH_DAY_CJK = re.compile(rf"(?<![\d年])(?P<m>\d{{1,2}}){SPACE}*[月월]{SPACE}*(?P<d>\d{{1,2}}){SPACE}*[日号號일]")

_MONTH_DAY = re.compile(r"^[\s\[(（【]*(?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?:\s+\d{1,2}:\d\d(?::\d\d)?)?[\s\])）】]*$")

_BRACKETED = re.compile(r"[\[(（【](?P<m>[01]?\d)[-/.](?P<d>[0-3]?\d)[\])）】]")

_VIETNAMESE = re.compile(
    rf"(?<!\d)(?P<d>\d{{1,2}}){SPACE}+tháng{SPACE}+(?P<m>\d{{1,2}}),?{SPACE}+(?:năm{SPACE}+)?(?P<y>(?:19|20)\d\d)(?!\d)",
    re.IGNORECASE,
)

_ABOVE_YEAR = re.compile(rf"(?<![\d.:/-])(?P<m>\d{{1,2}})[-/](?P<d>\d{{1,2}}){SPACE}+{_YEAR}(?![\d:/.-])")

_SPLIT = (
    re.compile(rf"(?<![\d.:/-])(?P<d>\d{{1,2}})日?{SPACE}+{_YEAR}[-/.年]{SPACE}?(?P<m>\d{{1,2}})(?![\d/.-])"),
    re.compile(rf"(?<!\d){_YEAR}[-/.年]{SPACE}?(?P<m>\d{{1,2}})月?{SPACE}+(?P<d>\d{{1,2}})(?![\d:/.-])"),
    re.compile(rf"(?<!\d){_YEAR}年?{SPACE}+(?P<m>\d{{1,2}})[-/.月]{SPACE}?(?P<d>\d{{1,2}})(?![\d:/.])"),
    _ABOVE_YEAR,
)

_AGO = re.compile(
    r"(?<![\d.])(?P<n>\d{1,4}|\ban?|\bone)\s*(?P<unit>秒|分钟|分鐘|分|小时|小時|時間|个小时|天|日|周|週|星期|초|"
    r"분|시간|일|seconds?|mins?|minutes?|hours?|"
    r"hrs?|days?|weeks?)"
    r"\s*(?:前|之前|以前|전|ago)",
    re.IGNORECASE,
)

_DAY_WORDS = re.compile(
    r"(?P<word>刚刚|剛剛|今天|今日|昨天|昨日|前天|오늘|어제|\btoday\b|\byesterday\b|"
    r"\bjust now\b|\bheute\b|\bgestern\b)",
    re.IGNORECASE,
)

_DAYS_BACK = {"昨天": 1, "昨日": 1, "前天": 2, "어제": 1, "yesterday": 1, "gestern": 1}

_DAYS_IN_UNIT = {"天": 1, "日": 1, "일": 1, "day": 1, "周": 7, "週": 7, "星期": 7, "week": 7}

_AS_DIGIT = {
    ord(wide): narrow for wide, narrow in zip("０１２３４５６７８９٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹", 3 * "0123456789", strict=True)
}

_MAYBE = re.compile(r"\d|年|前|天|日|today|yesterday|ago|刚刚|剛剛|어제|오늘|heute|gestern", re.IGNORECASE)


def numeric_order(text: str) -> Order | None:
    """Which of day and month comes first in the page's numeric dates, where a number above 12 settles it.

    None where no date settles it, or where two contradict each other.
    """
    days_first = months_first = 0
    pairs = [(match["a"], match["b"]) for match in _NUMERIC.finditer(text)]
    pairs += [(match["m"], match["d"]) for match in _ABOVE_YEAR.finditer(text)]
    for first, second in ((int(one), int(other)) for one, other in pairs):
        days_first += first > 12 >= second > 0 and first <= 31
        months_first += second > 12 >= first > 0 and second <= 31
    if bool(days_first) == bool(months_first):
        return None
    return "dmy" if days_first else "mdy"


def parse_date(
    text: str, today: dt.date, *, order: Order | None = None, year: int | None = None, relative: bool = True
) -> dt.date | None:
    """The one date that a short text gives; None where it gives none, or two different ones."""
    found = {match.date for match in dates_in_text(text, today, order=order, year=year, relative=relative)}
    return found.pop() if len(found) == 1 else None


def dates_in_text(
    text: str, today: dt.date, *, order: Order | None = None, year: int | None = None, relative: bool = False
) -> list[DateMatch]:
    """All dates of a text, in its order.

    `today` bounds them and is what "yesterday" and 3天前 count from; `order` settles 03/02/2026, which is no date
    without it; `year` is the year that a heading gives to dates written without one. Where neither is known,
    month and day alone mean the latest such day that is not in the future.
    """
    if not _MAYBE.search(text):
        return []
    text = text.translate(_AS_DIGIT)
    found: list[DateMatch] = []
    for readings in (
        _full_dates(text, today),
        era_dates(text, today),
        _named_months(text, today, year),
        _numeric_dates(text, today, order),
        _split_dates(text, today, order),
        _without_year(text, today, year, order),
        _relative_dates(text, today) if relative else (),
    ):
        _keep_apart(found, readings)
    return sorted(found, key=lambda match: match.start)


def _keep_apart(found: list[DateMatch], readings: Iterable[DateMatch]) -> None:
    """Adds the readings that do not lie over a better one found before."""
    for reading in readings:
        if all(reading.end <= other.start or reading.start >= other.end for other in found):
            found.append(reading)


def _full_dates(text: str, today: dt.date) -> Iterator[DateMatch]:
    for found in _FULL.finditer(text):
        month, day = found["m1"] or found["m2"], found["d1"] or found["d2"]
        yield from match_of(found, real_date(int(found["y"]), int(month), int(day), today))
    for found in _VIETNAMESE.finditer(text):
        yield from match_of(found, real_date(int(found["y"]), int(found["m"]), int(found["d"]), today))
    for found in _COMPACT.finditer(text):
        date = real_date(int(found["y"]), int(found["m"]), int(found["d"]), today)
        yield from match_of(found, date, is_compact=True)


def _named_months(text: str, today: dt.date, year: int | None) -> Iterator[DateMatch]:
    for pattern in (_WORD_DAY, _DAY_WORD):
        for found in pattern.finditer(text):
            month = MONTH_BY_NAME.get(fold_word(found["month"]))
            if month is None:
                continue
            if written_year := found["y"] or found.groupdict().get("yy"):
                written = int(written_year.lstrip("’'.-"))
                written += 0 if written > 99 else 2000 if written <= today.year % 100 + 1 else 1900
                yield from match_of(found, real_date(written, month, int(found["d"]), today))
            elif pattern is _WORD_DAY and re.search(r"\d[\s./-]?$", text[: found.start()]):
                continue  # 17 Feb 14, 22Jul14: the day stands before the month, what follows is the year
            elif not re.match(r"\s*,?\s*\d{4}", text[found.end() :]):
                yield from match_of(found, _latest(month, int(found["d"]), today, year), has_year=False)


def _numeric_dates(text: str, today: dt.date, order: Order | None) -> Iterator[DateMatch]:
    for found in _NUMERIC.finditer(text):
        first, second, year = int(found["a"]), int(found["b"]), int(found["y"])
        if order == "ymd" and year < 100:
            yield from match_of(found, real_date(2000 + first, second, year, today))
            continue
        here: Order | None = None if order == "ymd" else order
        if first > 12 >= second:
            here = "dmy"
        elif second > 12 >= first:
            here = "mdy"
        elif here is None and "." in found["sep"] and year > 99:
            here = "dmy"  # with dots and the year last it is the German way, unless the page shows otherwise
        if year < 100:
            if first > 31 or here is None:
                continue
            year += 2000 if year <= today.year % 100 + 1 else 1900
        if first == second:
            here = "dmy"
        if here:
            day, month = (first, second) if here == "dmy" else (second, first)
            yield from match_of(found, real_date(year, month, day, today))


def _split_dates(text: str, today: dt.date, order: Order | None) -> Iterator[DateMatch]:
    """Cards that show the day apart from year and month, or both above the year."""
    for pattern in _SPLIT:
        for found in pattern.finditer(text):
            month, day = int(found["m"]), int(found["d"])
            if pattern is _ABOVE_YEAR and order == "dmy":
                month, day = day, month
            yield from match_of(found, real_date(int(found["y"]), month, day, today))


def _without_year(text: str, today: dt.date, year: int | None, order: Order | None) -> Iterator[DateMatch]:
    for pattern in (_MONTH_DAY_CJK, _MONTH_DAY, _BRACKETED):
        for found in pattern.finditer(text):
            month, day = int(found["m"]), int(found["d"])
            if pattern is not _MONTH_DAY_CJK and "." in found[0] and len(found["m"]) + len(found["d"]) < 4:
                continue  # 1.2 is a number
            if order == "dmy" and pattern is not _MONTH_DAY_CJK:
                month, day = day, month
            yield from match_of(found, _latest(month, day, today, year), has_year=False)


def _latest(month: int, day: int, today: dt.date, year: int | None) -> dt.date | None:
    if year is not None:
        return real_date(year, month, day, today)
    return real_date(today.year, month, day, today) or real_date(today.year - 1, month, day, today)


def _relative_dates(text: str, today: dt.date) -> Iterator[DateMatch]:
    """Ago-dates up to weeks: months and years are too coarse to give a day."""
    for found in _AGO.finditer(text):
        number = int(found["n"]) if found["n"].isdigit() else 1
        unit = found["unit"].lower().rstrip("s")
        if number < 1000 and not (unit in _DAYS_IN_UNIT and _DAYS_IN_UNIT[unit] == 7 and number > 5):
            days = _DAYS_IN_UNIT.get(unit, 0) * number
            days += number // 24 if unit in ("小时", "小時", "hour", "hr", "시간", "時間") else 0
            yield from match_of(found, today - dt.timedelta(days=days))
    for found in _DAY_WORDS.finditer(text):
        yield from match_of(found, today - dt.timedelta(days=_DAYS_BACK.get(found["word"].lower(), 0)))
