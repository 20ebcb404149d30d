"""Parses the figures and dates of running text, Chinese or English, into values that can be compared."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import NamedTuple

from monitor.dates import DateOrder, WrittenDate, find_compact_dates, find_dates
from monitor.dates.numerals import (
    ENGLISH_SCALES,
    ENGLISH_WORDS,
    parse_arabic_number,
    parse_english_number,
    parse_numeral,
)

NO_UNIT = ""
COUNT = "count"
PERCENT = "percent"
POINTS = "points"
YEAR = "year"
MONTH = "month"
DAY = "day"

_UNITS: tuple[tuple[str, Fraction, str], ...] = tuple(
    (kind, Fraction(size), words)
    for kind, size, words in (
        (POINTS, "1", r"百分点|percentage[ -]points?\b|pp\b|ppts?\b"),
        (POINTS, "0.01", r"个?基点|basis[ -]points?\b|bps?\b"),
        (PERCENT, "1", r"%|per ?cent\b|pct\b|pc\b|prozent\b|procent\b"),
        (PERCENT, "1", r"pour cent\b|por ciento\b|por cento\b|per cento\b"),
        (PERCENT, "0.1", r"‰"),
        (PERCENT, "10", r"成(?![立本员为就功果长熟品分年都份交套])"),
        ("dollar", "1", r"美元|美金|(?:U\.?S\.? )?dollars?\b|USD\b"),
        ("euro", "1", r"欧元|euros?\b|EUR\b"),
        ("pound", "1", r"英镑|pounds?\b|GBP\b"),
        ("yen", "1", r"日元|yen\b|JPY\b"),
        ("hong kong dollar", "1", r"港[元币]|HKD\b"),
        ("yuan", "1", r"元|人民币|yuan\b|renminbi\b|RMB\b|CNY\b"),
        ("energy", "1", r"千瓦时|kWh\b|kilowatt[ -]hours?\b"),
        ("energy", "1e3", r"兆瓦时|MWh\b"),
        ("energy", "1e6", r"吉瓦时|GWh\b"),
        ("energy", "1e9", r"TWh\b"),
        ("power", "1", r"千瓦|kW\b|kilowatts?\b"),
        ("power", "1e3", r"兆瓦|MW\b|megawatts?\b"),
        ("power", "1e6", r"吉瓦|GW\b|gigawatts?\b"),
        ("area", "1e6", r"平方(?:公里|千米)|km2\b|square kilomet(?:er|re)s?\b"),
        ("area", "1e4", r"公顷|hectares?\b"),
        ("area", "1", r"平方米|m2\b|square met(?:er|re)s?\b"),
        ("mu", "1", r"亩"),
        ("volume", "1", r"立方米|m3\b|cubic met(?:er|re)s?\b"),
        ("length", "1e3", r"公里|千米|km\b|kilomet(?:er|re)s?\b"),
        ("length", "1", r"米|met(?:er|re)s?\b"),
        ("mass", "1e3", r"吨|tonnes?\b|tons?\b"),
        ("mass", "1", r"公斤|千克|kg\b|kilograms?\b"),
        ("quarter", "1", r"季度|quarters?\b"),
        ("months", "1", r"个月|months?\b"),
        ("week", "1", r"个?(?:星期|周(?!年|边|期|转|密))|weeks?\b"),
        (DAY, "1", r"个?工作日|[日天]|(?:working |calendar )?days?\b"),
        ("hour", "1", r"个?小时|hours?\b"),
        ("minute", "1", r"分钟|minutes?\b"),
        (YEAR, "1", r"周?年|years?\b"),
        (MONTH, "1", r"月"),
        ("times", "1", r"倍|times\b|-?fold\b"),
        (
            COUNT,
            "1",
            r"方面|部门|部委|[个项家名人户次条部份所座省市县批类种套辆台艘架期届轮位起件宗笔篇章款场处支只大门村镇]",
        ),
    )
)

_UNIT = re.compile(
    r"\s?(?:[余多来]\s?)?(?:个(?=百分点|工作日|小时))?(?:"
    + "|".join(f"(?P<u{index}>{words})" for index, (_, _, words) in enumerate(_UNITS))
    + ")",
    re.IGNORECASE,
)

CURRENCY_PREFIXES = {
    **dict.fromkeys(("us$", "$", "usd"), "dollar"),
    **dict.fromkeys(("€", "eur"), "euro"),
    **dict.fromkeys(("£", "gbp"), "pound"),
    **dict.fromkeys(("¥", "rmb", "cny", "人民币"), "yuan"),
    "hk$": "hong kong dollar",
}


class Unit(NamedTuple):
    """A unit: what it measures, its size in the smallest unit of that kind, and where it ends in the text."""

    kind: str = NO_UNIT
    size: Fraction = Fraction(1)
    end: int = 0


def parse_unit(text: str, position: int) -> Unit:
    """Return the unit at a position right after a number; a noun that is not in the table has no kind."""
    match = _UNIT.match(text, position)
    if match is None or match.lastgroup is None:
        return Unit(end=position)
    kind, size, _ = _UNITS[int(match.lastgroup[1:])]
    return Unit(kind, size, match.end())


def are_compatible(claimed: str, found: str) -> bool:
    """Whether a figure of one kind may be supported by a figure of the other.

    They are of one kind, or one is bare: `5` in a table may be the summary's `5 provinces`. `5` and `5%` never support
    each other.
    """
    return claimed == found or (NO_UNIT in (claimed, found) and not {claimed, found} & {PERCENT, POINTS})


_IDIOMS = re.compile(
    r"(?<!分)之[一二]|统一|唯一|单一|同一|万一|逐一|专一|归一|不一|一一|合[二为]+一|独一无二|一带一路|五位一体|二十四史|一揽子|一老一小|一小(?!时)|"
    r"进一步|(?:更|下|第|每|这|那)一步|一方面|一体|一系列|一定|一般|一致|一直|一同|一些|一起|一样|一旦|一贯|一律|一切|一经|"
    r"一并|一站式|一流|一线|一手|一时|一边|一度|一向|一道|一刀切|一盘棋|一张图|一张网|一件事|一网|一门式|一把手|一元化|一窗|一码|一国两制|"
    r"一年一度|一季度性|一级|[一二三]产(?:业|融)|一二三产业|十分(?!之|钟)|千方百计|千家万户|千千万万|成千上万|"
    r"千万不|千万要|百姓|百货|百科|百强|百分百|三农|三位一体|双一流|两会|两手|两岸|两国|两地|两者|两高|两山|两翼|两重|两新|两用|"
    r"四个(?:全面|意识|自信|革命)|两个(?:确立|维护|毫不动摇|百年)|三个(?:代表|面向)|八项规定|三重一大|"
    r"[一二三四五六七八九十]+五(?=[”\"'」』]|规划|时期|期间|以来|末|开局|收官|新型)|九一八|四川|三亚|九江|三峡|五台|六安|八达岭|"
    r"(?<![A-Za-z])(?:CO2|CH4|N2O|SF6|PM2\.5|PM10)(?![0-9])"
)

_ARABIC = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+(?:[.,]\d+)*"
_RUN = (
    rf"(?:{_ARABIC}|[〇零一二两三四五六七八九十]|百(?!分[点之])|千(?![瓦克米伏卡帕])|[万亿]|"
    r"点(?=[〇零一二三四五六七八九])|(?<=\d)\s(?=[百千万亿](?![瓦克米伏卡帕分]))|[多余来](?=[万亿]))+"
)
_PREFIX_SIZES = {"百": Fraction(1), "千": Fraction(1, 10), "万": Fraction(1, 100)}
_NUMBER = re.compile(
    r"(?:(?P<per>[百千万])分之)?"
    r"(?P<sign>(?<![A-Za-z\d)\].%])-(?=[\d$€£¥])|负|\bminus )?"
    r"(?P<currency>(?:US|HK)?\$|[€£¥]|(?<![A-Za-z])(?:USD|EUR|GBP|RMB|CNY)(?=\s?\d)|人民币(?=\d))?\s?"
    rf"(?<![\d])(?<!\d\.)(?P<run>{_RUN})",
    re.IGNORECASE,
)
_ENGLISH_SCALE = re.compile(r"\s?(hundred|thousand|million|billion|trillion|bn|mn|tn)\b", re.IGNORECASE)
_SHORT_SCALE = re.compile(r"([km])\b", re.IGNORECASE)
_RANGE = re.compile(
    r"\s?(?:[-–—~～至到]|to\b|and\b)\s?(?:百分之)?\s?[$€£¥]?(?=[-−]?[\d〇零一二两三四五六七八九十])", re.IGNORECASE
)
_ENGLISH_PARTS = {"half": 2, "third": 3, "quarter": 4, "fifth": 5, "tenth": 10}
_FRACTION = re.compile(
    r"(?<![百千万])(?P<below>[二三四五六七八九十]+|(?<!\d)(?<!\d[.,])\d{1,3})分之(?P<above>[一二三四五六七八九十]+|\d{1,3})"
    r"(?![\d〇零一二三四五六七八九十百千万亿]|[.,]\d)"  # never a part of a longer number
    r"|(?<![\d/])(?P<a>\d{1,2})/(?P<b>\d{1,2})(?![\d/])"
    r"|\b(?P<whole>one|two|three|four)[- ](?P<part>half|third|quarter|fifth|tenth)s?\b",
    re.IGNORECASE,
)
_WORD = re.compile(
    rf"(?<![\w-])(?P<first>{'|'.join(ENGLISH_WORDS)})(?:[- ](?P<ones>{'|'.join(list(ENGLISH_WORDS)[:9])}))?(?![\w])",
    re.IGNORECASE,
)
_ORDINAL_UNITS = re.compile(r"[条章款号届]|季度")
_SENTENCE = re.compile(r"[^。！？；\n]+[。！？；\n]?")
_FULL_WIDTH_COMMA = re.compile(r"(?<![０-９])，|，(?![０-９])")
_THIN_THOUSANDS_SPACE = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class NumericFigure:
    """A number as it was written, and its possible readings: pairs of a value and the kind of its unit."""

    written: str
    readings: tuple[tuple[Fraction, str], ...]
    is_negative: bool = False
    has_decimals: bool = False

    def equals(self, other: "NumericFigure") -> bool:
        """Whether some readings of both have one value and compatible units."""
        return any(
            value == theirs and are_compatible(kind, their_kind)
            for value, kind in self.readings
            for theirs, their_kind in other.readings
        )

    def is_comparable_to(self, other: "NumericFigure") -> bool:
        """Whether some readings of both have one unit."""
        return any(
            kind == their_kind and kind != NO_UNIT for _, kind in self.readings for _, their_kind in other.readings
        )


@dataclass(frozen=True, slots=True)
class FiguresAndDates:
    figures: tuple[NumericFigure, ...]
    dates: tuple[WrittenDate, ...]


def fold_width(text: str) -> str:
    """Fold full-width characters and circles for zero; a Chinese comma separates only full-width thousands."""
    text = _THIN_THOUSANDS_SPACE.sub(",", text)
    text = _FULL_WIDTH_COMMA.sub("、", text)
    text = re.sub(r"[○◯Οο](?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])[○◯Ο]", "〇", text)
    folded = unicodedata.normalize("NFKC", text).replace("−", "-")
    return re.sub(r"(?<=[一二三四五六七八九〇])0|0(?=[一二三四五六七八九])", "〇", folded)


def parse_figures(text: str, *, is_page: bool, order: DateOrder | None = None) -> FiguresAndDates:
    """Return all figures and dates of a text; a page is read generously, for it may support a claim in any form.

    On a page 一个 is a 1 and the parts of a date are figures too; in a summary 一个 is an article, and single Chinese
    numerals count only before a unit. `order` settles dates such as 03/02/2026.
    """
    figures: list[NumericFigure] = []
    dates: list[WrittenDate] = []
    for sentence in _SENTENCE.findall(fold_width(text)):
        found = find_dates(sentence, order=order)
        dates.extend(date for date in found if date.month)
        masked = _blank_out(sentence, ((date.start, date.end) for date in found))
        masked = _IDIOMS.sub(lambda match: "\x00" * len(match[0]), masked)
        figures.extend(_list_date_figures(found if is_page else [date for date in found if not date.month]))
        if is_page:
            dates.extend(find_compact_dates(masked))
        fractions = list(_iter_fractions(masked))
        figures.extend(figure for figure, _ in fractions)
        # On a page 4/5 may be two numbers as well; 三分之一 never is.
        masked = _blank_out(masked, (span for _, span in fractions if not is_page or not masked[span[0]].isdigit()))
        figures.extend(_iter_numbers(masked if is_page else _blank_list_numbers(masked), is_page=is_page))
        figures.extend(_iter_number_words(masked))
    return FiguresAndDates(tuple(figures), tuple(dates))


def _list_date_figures(dates: list[WrittenDate]) -> Iterator[NumericFigure]:
    """Yield the parts of a page's dates as figures; the year of an era alone, 令和8年, is a figure in a summary too."""
    for date in dates:
        if date.year and date.month and date.day:
            compact = date.year * 10_000 + date.month * 100 + date.day
            yield NumericFigure(date.written, ((Fraction(compact), NO_UNIT),))
        for value, kind in ((date.year, "year"), (date.month, "month"), (date.day, "day")):
            if value is not None:
                yield NumericFigure(date.written, ((Fraction(value), kind),))


def _iter_fractions(text: str) -> Iterator[tuple[NumericFigure, tuple[int, int]]]:
    for match in _FRACTION.finditer(text):
        if match["whole"]:
            below = Fraction(_ENGLISH_PARTS[match["part"].lower()])
            above = parse_english_number(match["whole"], None)
        else:
            below = parse_numeral(match["below"] or match["b"]) or Fraction(0)
            above = parse_numeral(match["above"] or match["a"]) or Fraction(0)
        if below and above:
            yield NumericFigure(match[0], ((above / below, "fraction"),)), match.span()


def _blank_out(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text with these spans, which are in order, replaced by null characters."""
    pieces, last = [], 0
    for start, end in spans:
        pieces += [text[last:start], "\x00" * (end - start)]
        last = end
    return "".join([*pieces, text[last:]])


def _iter_numbers(text: str, *, is_page: bool) -> Iterator[NumericFigure]:
    range_mark, is_range_of_percents = "", False
    for match in _NUMBER.finditer(text):
        run = match["run"].strip()
        is_range_end = bool(range_mark) and text.startswith(range_mark, max(match.start() - len(range_mark), 0))
        figure = _parse_number(text, match, run, is_page=is_page, is_percent=is_range_end and is_range_of_percents)
        if figure is not None:
            yield figure
        if is_page and "," in run and parse_arabic_number(run) is not None and not re.search(r",\d{3}", run):
            # `10,20` may be a decimal comma or two numbers: on a page both are possible.
            for part in run.split(","):
                yield NumericFigure(part, ((Fraction(part), NO_UNIT),))
        dash = _RANGE.match(text, match.end())
        range_mark, is_range_of_percents = dash[0] if dash else "", match["per"] is not None


def _parse_number(
    text: str, match: re.Match[str], run: str, *, is_page: bool, is_percent: bool
) -> NumericFigure | None:
    if match["per"] is None and not is_percent and not _is_figure(text, match, run, is_page=is_page):
        return None
    value = Fraction(100) if match["per"] and run == "百" else parse_numeral(run)
    if value is None:
        # A version 1.2.3 or a serial number: to be found as it stands, or not at all.
        return NumericFigure(run, ((Fraction(-1), run),)) if run[0].isdigit() else None
    value, unit = _apply_scale(text, match, value)
    readings = [(value * unit.size, unit.kind)]
    if match["per"]:
        readings = [(value * _PREFIX_SIZES[match["per"]], PERCENT)]
    elif is_percent and unit.kind == NO_UNIT:
        readings.append((value, PERCENT))
    elif unit.kind == NO_UNIT:
        readings.extend(_iter_inherited_readings(text, match, value))
    written = text[match.start() : max(unit.end, match.end())].replace("\x00", "").strip()
    return NumericFigure(written, tuple(readings), bool(match["sign"]), bool(re.search(r"[.点]", run)))


def _is_figure(text: str, match: re.Match[str], run: str, *, is_page: bool) -> bool:
    """Whether a run of numerals is a figure here and not part of a word."""
    if re.search(r"\d", run):
        return True
    start = match.start("run")
    before, after = text[max(start - 1, 0) : start], text[match.end() : match.end() + 4]
    if (before and before in "几数" and run[0] in "十百千万亿") or (run == "十" and after[:1] == "几"):
        return False
    if len(run) > 1:
        return True
    unit = parse_unit(text, match.end())
    if before == "第":
        return is_page or _ORDINAL_UNITS.match(after) is not None
    if is_page:
        return unit.kind != NO_UNIT or bool(re.match(r"[大是、）)]", after))
    is_article = run == "一" and unit.kind == COUNT
    return unit.kind != NO_UNIT and not is_article and before not in {"每", "这", "某", "哪", "同", "任"}


def _apply_scale(text: str, match: re.Match[str], value: Fraction) -> tuple[Fraction, Unit]:
    """Return the value with an English scale word applied, and the unit after it or the currency before it."""
    end = match.end()
    scale = _ENGLISH_SCALE.match(text, end) or (_SHORT_SCALE.match(text, end) if match["currency"] else None)
    if scale:
        value, end = value * ENGLISH_SCALES[scale[1].lower()], scale.end()
    unit = parse_unit(text, end)
    if match["currency"] and unit.kind in (NO_UNIT, COUNT):
        unit = Unit(CURRENCY_PREFIXES[match["currency"].lower()], Fraction(1), max(end, match.end()))
    return value, unit


def _iter_inherited_readings(text: str, match: re.Match[str], value: Fraction) -> Iterator[tuple[Fraction, str]]:
    """Yield the reading of `10` in `10-15万元` and `3至5%`: unit and scale are only at the end of the range."""
    dash = _RANGE.match(text, match.end())
    following = _NUMBER.match(text, dash.end()) if dash else None
    if following is None or following["per"]:
        return
    _, unit = _apply_scale(text, following, Fraction(1))
    run = following["run"].strip()
    scales = re.search(r"\d.*?([百千万亿]*)$", run)
    value *= prod({"百": 100, "千": 1000, "万": 10**4, "亿": 10**8}[char] for char in (scales[1] if scales else ""))
    if word := _ENGLISH_SCALE.match(text, following.end()):
        value *= ENGLISH_SCALES[word[1].lower()]
    yield value * unit.size, unit.kind


def _iter_number_words(text: str) -> Iterator[NumericFigure]:
    for match in _WORD.finditer(text):
        if match["first"].lower() == "one" and not match["ones"]:
            continue
        value = parse_english_number(match["first"], match["ones"])
        scale = _ENGLISH_SCALE.match(text, match.end())
        end = scale.end() if scale else match.end()
        unit = parse_unit(text, end)
        value *= ENGLISH_SCALES[scale[1].lower()] if scale else 1
        yield NumericFigure(text[match.start() : unit.end], ((value * unit.size, unit.kind),))


def _blank_list_numbers(text: str) -> str:
    """Return the text without list numbers: `1. … 2. …` counts a summary's own sentences and claims nothing."""
    marks = list(re.finditer(r"(?:(?<=^)|(?<=[\s;:、,(：]))\(?(\d{1,2})(?:[.、)](?!\d))", text))
    if len(marks) < 2 or [int(mark[1]) for mark in marks] != list(range(1, len(marks) + 1)):
        return text
    return _blank_out(text, (mark.span(1) for mark in marks))
