"""The ways in which periods are written, an entry of `PERIOD_FORMS` each: 前三季度, 1—9月, H1 2026, end-2027, 去年."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from monitor.dates.forms import CHINESE_YEAR
from monitor.dates.names import parse_month
from monitor.dates.numerals import ENGLISH_WORDS, parse_date_numeral

PeriodKind = Literal["span", "plan", "years", "edge", "year", "month", "day", "same"]
"""A span of months or days, a five-year plan, some years, an end or a beginning, a word or a name for one year, words
for a month and for a day, and 同期, which takes its months from the period before it."""

MonthDay = tuple[int, int]
YEAR_START, YEAR_END = (1, 1), (12, 31)
MONTH_END = 31  # of any month
_QUARTER, _HALF = 3, 6
_PLAN_YEARS, _PLAN_ZERO = 5, 1951  # the fourteenth plan begins in 2021
_MAX_YEARS = 50

FROM_PUBLICATION = (
    dict.fromkeys(("今年", "今年度", "本年", "本年度", "本财年", "this year", "this fiscal year"), 0)
    | dict.fromkeys(("去年", "去年度", "昨年", "last year", "last fiscal year", "a year ago", "a year earlier"), -1)
    | {"前年": -2, "后年": 2, "明年": 1, "明年度": 1, "下一年度": 1, "next year": 1, "next fiscal year": 1}
)
"""Words for a year that count from the day of publication."""

FROM_TEXT = (
    dict.fromkeys(("当年", "同年", "the same year", "that year"), 0)
    | dict.fromkeys(("上年", "上年度", "上一年", "上一年度", "上一财年", "上一会计年度"), -1)
    | dict.fromkeys(("the previous year", "the prior year", "the preceding year", "the year before"), -1)
    | dict.fromkeys(("次年", "翌年", "the following year"), 1)
)
"""Words for a year that count from the year that a text speaks of, else from the day of publication."""

CHINESE_RELATIVE = (
    r"今年度?|本年度?|本财年|(?<!过)去年度?|昨年|(?<!提)前年|(?<![说证])明年度?|(?<!以)下一年度|(?<![以之])后年|(?<![相适])当年|"
    r"(?<!共)同年|(?<!以)上(?:一(?:年度?|财年|会计年度)|年度?)(?![会产级轻龄纪货味])|次年|翌年"
)
_ENGLISH_RELATIVE = (
    r"(?<!the )(?:this|last|next)(?: fiscal)? year|the (?:previous|prior|preceding|same|following) year|that year|"
    r"the year before|a year (?:ago|earlier)"
)
_Y = r"(?:19|20|21)\d\d"
_M = r"(?:\d{1,2}|[一二三四五六七八九十]{1,2})"
_DASH = r"\s?(?:至|到|[-－—–~～〜])\s?"
_OF_YEAR = (
    rf"(?:,?\s{{1,2}}(?:of\s|in\s)?(?:(?:the\s)?(?:fiscal\s|financial\s)?(?:year\s)?(?P<y>{_Y})(?!\d)"
    rf"|(?P<rel>{_ENGLISH_RELATIVE})|the year))?"
)
MONTH_NAME = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
    r"Nov(?:ember)?|Dec(?:ember)?)(?![A-Za-z])\.?"
)
_NAME_SIGNS = ("an", "eb", "ar", "pr", "ay", "un", "ul", "ug", "ep", "ct", "ov", "ec")
_Q_ROMANCE = (
    r"premier|1er|deuxième|troisième|quatrième|primer|segundo|tercer|cuarto|primo|secondo|terzo|quarto|primeiro|"
    r"terceiro"
)
_Q_NAME = r"first|second|third|fourth|1st|2nd|3rd|4th|final"
_COUNT = r"\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|eleven"
_NUMBERS = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_NUMBERS |= dict.fromkeys(("premier", "1er", "primer", "primo", "primeiro", "상"), 1)
_NUMBERS |= dict.fromkeys(("deuxième", "segundo", "secondo", "하"), 2)
_NUMBERS |= dict.fromkeys(("troisième", "tercer", "terzo", "terceiro"), 3)
_NUMBERS |= dict.fromkeys(("quatrième", "cuarto", "quarto"), 4)
_NUMBERS |= {"final": 4, "last": 4, "上": 1, "下": 2, "首": 1, "两": 2}
_NUMBERS |= {"tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15}
_PLAN_NAME = "tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth"
_TENS = {"上": (1, 10), "中": (11, 20), "下": (21, 31), "early": (1, 10), "mid": (11, 20), "late": (21, 31)}
_BACK = {"上": -1, "last": -1, "本": 0, "this": 0, "下": 1, "next": 1}
_DAYS = {"今": 0, "昨": -1, "前": -2, "明": 1, "today": 0, "yesterday": -1, "tomorrow": 1}
_BEGINNINGS = frozenset({"初", "beginning", "start"})


@dataclass(frozen=True, slots=True)
class Shape:
    """What the words of a period say: month and day of its ends, its year, and how many years later it ends.

    `back` counts months, or days, from the day of publication; `day` is one of the month that it comes to.
    """

    first: MonthDay = YEAR_START
    last: MonthDay = YEAR_END
    year: int | None = None
    more_years: int = 0
    back: int | None = None
    day: int | None = None


Groups = Mapping[str, str]
Reader = Callable[[Groups], Shape | None]


@dataclass(frozen=True)
class PeriodForm:
    """One way to write a period. A text is searched that has one of the `signs`.

    The named groups of the pattern are what the reader gets, without the numbers behind them: `y` and `y_2` are the
    year, `rel` is a word for it; of a Chinese form the year stands before the match. `is_range` marks two numbers with
    a dash, `is_word` what names no number apart from its year.
    """

    kind: PeriodKind
    signs: tuple[str, ...]
    pattern: re.Pattern[str]
    read: Reader
    is_range: bool = False
    is_word: bool = False


def _number(written: str) -> int:
    word = written.lower()
    return _NUMBERS.get(word) or ENGLISH_WORDS.get(word) or parse_date_numeral(word) or 0


def _month(written: str) -> int:
    return parse_month(written.rstrip(".")) or _number(written)


def _year(groups: Groups) -> int | None:
    written = groups.get("y") or groups.get("short")
    year = (parse_date_numeral(written) or 0) if written else None
    return 2000 + year if year is not None and year < 100 else year


def _months(first: int, last: int, groups: Groups) -> Shape | None:
    """Return the span of these months, or its end or beginning where 末, 底 or 初 says so."""
    if not (1 <= first <= 12 and 1 <= last <= 12):
        return None
    shape = Shape((first, 1), (last, MONTH_END), _year(groups), more_years=int(last < first))
    return _cut_to_edge(shape, groups["edge"]) if groups.get("edge") else shape


def _cut_to_edge(shape: Shape, edge: str) -> Shape:
    if edge.lower() in _BEGINNINGS:
        return replace(shape, last=shape.first, more_years=0)
    return replace(shape, first=shape.last, more_years=0)


def _read_half(groups: Groups) -> Shape | None:
    half = _number(groups["half"])
    return _months(_HALF * half - 5, _HALF * half, groups)


def _read_quarter(groups: Groups) -> Shape | None:
    last = _number(groups.get("q2") or groups["q"])
    first = 1 if groups.get("begin") else _number(groups["q"])
    return _months(_QUARTER * first - 2, _QUARTER * last, groups) if first <= last else None


def _read_first_months(groups: Groups) -> Shape | None:
    return _months(1, _number(groups["n"]) * (_QUARTER if groups.get("quarters") else 1), groups)


def _read_months(groups: Groups) -> Shape | None:
    """Return the span of a range of months, of which each end may have its year."""
    first, last = _month(groups["m"]), _month(groups["to"])
    shape = _months(first, last, groups) if first != last or groups.get("begin") else None
    if shape is None or not groups.get("begin"):
        # November to April 2026 begins in the year before.
        has_earlier_start = shape is not None and shape.year is not None and not groups.get("next")
        return (
            replace(shape, year=shape.year - shape.more_years) if shape and shape.year and has_earlier_start else shape
        )
    begin = int(groups["begin"])
    more = (shape.year or begin + shape.more_years) - begin
    is_forward = 0 <= more <= _MAX_YEARS and (more > 0 or first < last)
    return replace(shape, year=begin, more_years=more) if is_forward else None


def _read_months_to(groups: Groups) -> Shape | None:
    """Return the months up to one: the three months to September."""
    last, number = _month(groups["m"]), _number(groups["n"])
    if not 1 <= number <= 12:
        return None
    more, year = int(number > last), _year(groups)
    return Shape((last - number + 12 * more + 1, 1), (last, MONTH_END), year and year - more, more)


def _read_tens(groups: Groups) -> Shape | None:
    month, (first, last) = _month(groups["m"]), _TENS[groups["ten"].lower()]
    return Shape((month, first), (month, last), _year(groups)) if 1 <= month <= 12 else None


def _read_month_edge(groups: Groups) -> Shape | None:
    return _months(_month(groups["m"]), _month(groups["m"]), groups)


def _read_year_edge(groups: Groups) -> Shape | None:
    return _cut_to_edge(Shape(year=_year(groups)), groups["edge"])


def _read_plan(groups: Groups) -> Shape | None:
    number = _number(groups["plan"]) + (10 if groups.get("short") else 0)
    if not 6 <= number <= 20:
        return None
    year = _PLAN_ZERO + _PLAN_YEARS * number
    if groups.get("edge"):
        return Shape(YEAR_END, YEAR_END, year + _PLAN_YEARS - 1)
    return Shape(year=year, more_years=_PLAN_YEARS - 1)


def _read_years(groups: Groups) -> Shape | None:
    first, last = int(groups["begin"]), int(groups["to"])
    return Shape(year=first, more_years=last - first) if 0 < last - first <= _MAX_YEARS else None


def _read_fiscal(groups: Groups) -> Shape | None:
    """Return the years of FY2026, and of 2025-26, which begins in April as most such years do."""
    year = int(groups["y"])
    if not groups.get("to"):
        return Shape(year=year)
    is_next = int(groups["to"]) == (year + 1) % 100
    return Shape((4, 1), (3, MONTH_END), year, more_years=1) if is_next else None


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# Earlier entries are surer: where two overlap, the earlier one holds.
PERIOD_FORMS: tuple[PeriodForm, ...] = (
    PeriodForm(
        "plan",
        ("五",),
        re.compile(
            r"(?P<short>(?<![一二三四五六七八九十])十)(?P<plan>[一二三四五六])五(?![〇零一二三四五六七八九十百千万亿])"
            r"[”\"’'」』]?(?:规划|时期|期间)?(?P<edge>末)?|第(?P<plan_2>十[一二三四五六]?)个五年(?:规划|计划)(?:时期|期间)?"
        ),
        _read_plan,
        is_word=True,
    ),
    PeriodForm(
        "plan",
        ("ive-", "ive ", "IVE"),
        _compile(rf"\b(?:(?P<plan>1\d)th|(?P<plan_2>{_PLAN_NAME}))\s?five[- ]year\splan(?:\speriod)?"),
        _read_plan,
        is_word=True,
    ),
    # Ends and beginnings.
    PeriodForm(
        "edge",
        ("季度",),
        re.compile(r"(?:第|(?P<begin>前))?(?P<q>[一二三四两1-4])个?季度(?P<edge>[末底])"),
        _read_quarter,
    ),
    PeriodForm("edge", ("半年",), re.compile(r"(?P<half>[上下])半年(?P<edge>[末底])"), _read_half),
    PeriodForm(
        "edge", ("月",), re.compile(rf"(?<!\d)(?P<m>{_M})\s?月份?(?P<edge>底|末|初(?![步审始级]))"), _read_month_edge
    ),
    PeriodForm(
        "edge",
        ("年", "岁"),
        re.compile(rf"(?:(?P<rel>{CHINESE_RELATIVE})年?|年\s?年?|岁)(?P<edge>底|末|初(?![步审始级中期]))"),
        _read_year_edge,
        is_word=True,
    ),
    PeriodForm(
        "edge",
        ("end", "End", "beginning", "start"),
        _compile(rf"\b(?P<edge>end|beginning|start)(?:[- ]|\sof\s(?:the\s)?)(?P<m>{MONTH_NAME}){_OF_YEAR}"),
        _read_month_edge,
    ),
    PeriodForm(
        "edge",
        ("end", "End", "beginning", "start"),
        _compile(rf"\b(?P<edge>end|beginning|start)\sof\s(?:the\s)?(?P<q>{_Q_NAME})\squarter{_OF_YEAR}"),
        _read_quarter,
    ),
    PeriodForm(
        "edge",
        ("end", "End", "beginning", "start"),
        _compile(
            rf"\b(?P<edge>end|beginning|start)(?:[- ]|\sof\s)(?:(?P<y>{_Y})(?!\d)"
            rf"|(?P<rel>{_ENGLISH_RELATIVE})|the year\b)|\byear[- ](?P<edge_2>end)\b(?:\s(?:of\s)?(?P<y_2>{_Y})(?!\d))?"
        ),
        _read_year_edge,
        is_word=True,
    ),
    # Groups of a month.
    PeriodForm("span", ("旬",), re.compile(rf"(?<!\d)(?P<m>{_M})\s?月份?(?P<ten>[上中下])旬"), _read_tens),
    PeriodForm(
        "span",
        ("arly", "id-", "id ", "ate"),
        _compile(rf"\b(?P<ten>early|mid|late)[- ](?P<m>{MONTH_NAME}){_OF_YEAR}"),
        _read_tens,
    ),
    # Quarters and halves.
    PeriodForm(
        "span",
        ("季度",),
        re.compile(rf"第?(?P<q>[一二三1-3])(?:个?季度)?(?:{_DASH}|[、和])第?(?P<q2>[二三四2-4])个?季度"),
        _read_quarter,
        is_range=True,
    ),
    PeriodForm("span", ("季度",), re.compile(r"(?P<begin>前)(?P<q>[二两三23])个?季度"), _read_quarter),
    PeriodForm(
        "span",
        ("季", "四半期"),
        re.compile(r"(?<![前头\d])第?(?P<q>[一二三四1-4])(?:季度|四半期)|(?P<q_2>首)季度?"),
        _read_quarter,
    ),
    PeriodForm("span", ("半年", "半期"), re.compile(r"(?P<half>[上下])半(?:年度?|期)"), _read_half, is_word=True),
    PeriodForm(
        "span",
        ("half", "Half"),
        _compile(
            r"\b(?P<half>first|second|1st|2nd)[- ]half\b"
            rf"(?!\sof\s(?:the\s)?(?:{MONTH_NAME}|month|\w+ century)){_OF_YEAR}"
        ),
        _read_half,
        is_word=True,
    ),
    PeriodForm(
        "span",
        ("H1", "H2"),
        re.compile(
            rf"(?<![A-Za-z\d])(?:(?P<y>{_Y})[\s年-]{{0,2}})?H(?P<half>[12])(?!\d)(?:[\s’'/-]{{0,2}}(?P<y_2>20\d\d)(?!\d))?"
        ),
        _read_half,
    ),
    PeriodForm(
        "span",
        ("1H", "2H"),
        re.compile(r"(?<![A-Za-z\d])(?P<half>[12])H\s?[’']?(?:(?P<y>20\d\d)|(?P<short>\d\d))(?!\d)"),
        _read_half,
    ),
    PeriodForm(
        "span",
        ("Q",),
        re.compile(
            rf"(?<![A-Za-z\d])(?:(?P<y>{_Y})[\s年-]{{0,2}})?Q(?P<q>[1-4])(?:[-–—]Q?(?P<q2>[2-4]))?(?!\d)"
            r"(?:[\s’'/-]{0,2}(?P<y_2>20\d\d)(?!\d))?"
        ),
        _read_quarter,
    ),
    PeriodForm(
        "span",
        ("Q",),
        re.compile(r"(?<![A-Za-z\d])(?P<q>[1-4])Q\s?[’']?(?:(?P<y>20\d\d)|(?P<short>\d\d))(?!\d)"),
        _read_quarter,
    ),
    PeriodForm(
        "span",
        ("quarter", "Quarter"),
        _compile(rf"\bfirst\s(?P<n>two|three|2|3)\s(?P<quarters>quarters)\b{_OF_YEAR}"),
        _read_first_months,
    ),
    PeriodForm(
        "span",
        ("quarter", "Quarter"),
        _compile(rf"\b(?P<q>{_Q_NAME}|last(?=\squarter\sof))[- ]quarter\b{_OF_YEAR}"),
        _read_quarter,
    ),
    PeriodForm(
        "span",
        ("분기", "uarta", "rimest"),
        _compile(
            rf"(?:(?P<y>{_Y})년\s?)?(?P<q>[1-4])\s?분기|(?P<q_2>[1-4])\.\sQuartal(?:\s(?P<y_2>{_Y})(?!\d))?"
            rf"|\b(?P<q_3>{_Q_ROMANCE})\strimestre(?:\s(?:de(?:l|\slos)?\s)?(?P<y_3>{_Y})(?!\d))?"
        ),
        _read_quarter,
    ),
    PeriodForm(
        "span",
        ("반기", "albjahr", "emest"),
        _compile(
            rf"(?:(?P<y>{_Y})년\s?)?(?P<half>[상하])반기|(?P<half_2>[12])\.\sHalbjahr(?:\s(?P<y_2>{_Y})(?!\d))?"
            rf"|\b(?P<half_3>{_Q_ROMANCE})\ssemestre(?:\s(?:de(?:l)?\s)?(?P<y_3>{_Y})(?!\d))?"
        ),
        _read_half,
        is_word=True,
    ),
    # Months.
    PeriodForm(
        "span",
        ("月",),
        re.compile(r"(?<![提之])[前头首]\s?(?P<n>\d{1,2}|十?[一二三四五六七八九两十])\s?个?月(?!\s?\d)"),
        _read_first_months,
    ),
    PeriodForm(
        "span", ("months", "Months"), _compile(rf"\bfirst\s(?P<n>{_COUNT})\smonths\b{_OF_YEAR}"), _read_first_months
    ),
    PeriodForm(
        "span",
        ("月",),
        re.compile(
            rf"(?<![\d.第])(?:(?P<begin>{_Y})\s?年\s?)?(?P<m>{_M})\s?(?:月份?)?{_DASH}(?:(?P<y>{_Y})\s?年\s?|(?P<next>[次翌]年))?"
            rf"(?P<to>{_M})\s?月份?(?!\s?(?:\d|[一二三四五六七八九十]{{1,3}}[日号]))"
        ),
        _read_months,
        is_range=True,
    ),
    PeriodForm(
        "span",
        _NAME_SIGNS,
        re.compile(
            rf"\b(?P<m>{MONTH_NAME})(?:,?\s(?P<begin>{_Y}))?(?:\s?[-–—/]\s?|\s(?:to|through|until|till|and)\s)(?P<to>{MONTH_NAME})"
            rf"(?!\s\d{{1,2}}(?!\d)){_OF_YEAR}"
        ),
        _read_months,
        is_range=True,
    ),
    PeriodForm(
        "span",
        ("month",),
        _compile(
            rf"\b(?P<n>{_COUNT}|twelve)[- ]months?(?:\speriod)?\s(?:ended|ending|to)\s(?P<m>{MONTH_NAME})"
            rf"(?!\s\d{{1,2}}(?!\d)){_OF_YEAR}"
        ),
        _read_months_to,
    ),
    # Years.
    PeriodForm(
        "years",
        ("19", "20", "21"),
        _compile(
            rf"(?<![\d.,/-])(?P<begin>{_Y})\s?年?(?:{_DASH}|\s(?:to|and|until)\s)(?P<to>{_Y})(?!\d|[-/.]\d|\s?年\s?\d)"
        ),
        _read_years,
    ),
    PeriodForm(
        "year",
        ("FY", "19", "20", "21"),
        re.compile(
            rf"(?<![A-Za-z])FY\s?(?P<y>{_Y})(?:[-–—/](?:20)?(?P<to>\d\d)(?!\d))?|\b(?:[Ff]iscal|[Ff]inancial)\s(?:[Yy]ear\s)?"
            rf"(?P<y_2>{_Y})(?![\d/–-])|(?<![\d.,/-])(?P<y_3>{_Y})[-–—/](?:20)?(?P<to_3>\d\d)(?!\d|[-/.]\d|\s?[年月%])"
        ),
        _read_fiscal,
    ),
    PeriodForm(
        "same",
        ("同期", "same ", "月"),
        _compile(rf"同期|[同当]月(?!份)|\bthe same month|\bthe same period{_OF_YEAR}"),
        lambda groups: Shape(year=_year(groups)),
    ),
    # Words that count from the day of publication.
    PeriodForm(
        "month",
        _NAME_SIGNS,
        re.compile(rf"\b(?P<m>{MONTH_NAME})(?:,?\s|\sof\s)(?P<rel>{_ENGLISH_RELATIVE})\b"),
        _read_month_edge,
    ),
    PeriodForm(
        "day",
        ("月",),
        re.compile(r"(?P<back>(?<![以晚])上|本|(?<!以)下)个?月(?P<day>\d{1,2})[日号]"),
        lambda groups: (
            Shape(back=_BACK[groups["back"]], day=int(groups["day"])) if 0 < int(groups["day"]) < 32 else None
        ),
    ),
    PeriodForm(
        "month",
        ("月", "month"),
        _compile(r"(?:(?P<back>(?<![以晚])上|本|(?<!以)下)个?月(?![球饼亮光])|\b(?P<back_2>last|this|next)\smonth\b)"),
        lambda groups: Shape(back=_BACK[groups["back"].lower()]),
    ),
    PeriodForm(
        "span",
        ("季度", "quarter"),
        _compile(r"(?P<back>上|本|下)一?个?季度|\b(?P<back_2>last|this|next)\squarter\b(?!\sof)"),
        lambda groups: Shape(back=_QUARTER * _BACK[groups["back"].lower()]),
    ),
    PeriodForm(
        "day",
        ("日", "天", "day", "omorrow"),
        _compile(r"(?P<back>今|昨|(?<![说证])明|(?<!提)前(?=天))[日天]|\b(?P<back_2>today|yesterday|tomorrow)\b"),
        lambda groups: Shape(back=_DAYS[groups["back"].lower()]),
    ),
    PeriodForm(
        "year",
        ("年", "year"),
        _compile(rf"(?P<rel>{CHINESE_RELATIVE}|\b(?:{_ENGLISH_RELATIVE})\b)"),
        lambda _: Shape(),
        is_word=True,
    ),
)
YEAR_BEFORE = re.compile(
    rf"(?:(?P<y>(?<!\d)(?:19|20|21)\d\d|{CHINESE_YEAR})\s?(?:年度?|财年)?|(?P<rel>{CHINESE_RELATIVE}))\s?的?\s?\Z"
)
"""The year in front of a period, which ends where the period begins."""
