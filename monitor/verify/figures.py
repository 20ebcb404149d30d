"""Parses the figures and dates of running text, Chinese or English, into values that can be compared."""

import datetime as dt
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from monitor.dates import DateOrder, PartialDate, PeriodScan, WrittenDate, WrittenPeriod, find_compact_dates, find_dates
from monitor.dates.numerals import (
    ENGLISH_SCALES,
    ENGLISH_WORDS,
    parse_arabic_number,
    parse_english_number,
    parse_numeral,
)
from monitor.dates.partial import SpanSet
from monitor.extract.sentences import cut_long
from monitor.verify.quantities import Quantity, find_fractions, find_halves, find_mixed_numbers, find_multiples
from monitor.verify.units import (
    BOUND,
    COUNT,
    CURRENCY_PREFIXES,
    DAY,
    FRACTION,
    MONTH,
    MONTHS,
    MULTIPLE,
    NO_UNIT,
    PERCENT,
    YEAR,
    NumericFigure,
    Side,
    Unit,
    parse_unit,
)

_IDIOMS = re.compile(
    r"(?<!分)之[一二]|统一|唯一|单一|同一|万一|逐一|专一|归一|不一|一一|合[二为]+一|独一无二|一带一路|五位一体|二十四史|一揽子|一老一小|一小(?!时)|"
    r"进一步|(?:更|下|第|每|这|那)一步|一方面|一体|一系列|一定|一般|一致|一直|一同|一些|一起|一样|一旦|一贯|一律|一切|一经|"
    r"一并|一站式|一流|一线|一手|一时|一边|一度|一向|一道|一刀切|一盘棋|一张图|一张网|一件事|一网|一门式|一把手|一元化|一窗|一码|一国两制|"
    r"一年一度|一季度性|一级|[一二三]产(?:业|融)|一二三产业|十分(?!之|钟)|千方百计|千家万户|千千万万|成千上万|"
    r"千万不|千万要|百姓|百货|百科|百强|百分百|三农|三位一体|双一流|两会|两手|两岸|两国|两地|两者|两高|两山|两翼|两重|两新|两用|"
    r"四个(?:全面|意识|自信|革命)|两个(?:确立|维护|毫不动摇|百年)|三个(?:代表|面向)|八项规定|三重一大|"
    r"[一二三四五六七八九十]{1,8}五(?=[”\"'」』]|规划|时期|期间|以来|末|开局|收官|新型)|九一八|四川|三亚|九江|三峡|五台|六安|八达岭|"
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
_ENGLISH_SCALE = re.compile(r"\s?(hundred|thousand|million|billion|trillion|bn|mn|tn|trn)\b", re.IGNORECASE)
_MILLIONS = re.compile(r"[mk]\s(?=[a-z]{3})")  # 3.2m people; before most words it may be metres as well
_SHORT_SCALE = re.compile(r"([km])\b", re.IGNORECASE)
_RANGE = re.compile(
    r"\s?(?:[-–—~～至到]|to\b|and\b)\s?(?:百分之)?\s?[$€£¥]?(?=[-−]?[\d〇零一二两三四五六七八九十])", re.IGNORECASE
)
_WORD = re.compile(
    rf"(?<![\w-])(?P<first>{'|'.join(ENGLISH_WORDS)})(?:[- ](?P<ones>{'|'.join(list(ENGLISH_WORDS)[:9])}))?(?![\w])",
    re.IGNORECASE,
)
_ORDINAL_UNITS = re.compile(r"[条章款号届]|季度")
_SENTENCE = re.compile(r"[^。！？；\n]+[。！？；\n]?")
_MAY_HOLD_FIGURE = re.compile(r"\d|[^\W\d_a-zA-Z]|[a-zA-Z]{3}|%")  # a numeral, or a word of three letters
_FULL_WIDTH_COMMA = re.compile(r"(?<![０-９])，|，(?![０-９])")
_UNDER = re.compile(
    r"(?:近|将近|接近|不足|不到|低于|\b(?:nearly|almost|close to|just under|less than|fewer than|below|under))\s?$",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"(?:超|超过|超出|逾|突破|高于|多于|大于|\b(?:over|more than|above|exceed(?:s|ed|ing)?|top(?:s|ped)|in excess of|"
    r"surpass(?:es|ed|ing)?|"
    r"upwards of))\s?$",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"(?:约|大约|大概|\b(?:about|around|roughly|approximately|some|circa))\s?$", re.IGNORECASE)
_OVER_BEHIND = re.compile(r"\s?[余多](?![年月日])|\s?以上")
_ABOUT_BEHIND = re.compile(r"\s?(?:左右|上下|or so\b)")
_MAX_BOUND_CHARS = 16
_GROWTH = re.compile(
    r"(?:增长|增加|提高|提升|扩大|上升|上涨|增|涨|升|高出|高|rose|ris(?:es|ing)|grew|grow(?:s|ing)?|increas(?:ed|es|ing)|up)(?:了|by|\s)*\s?$"
)
_MAX_GROWTH_CHARS = 14
_FROM_OR_UNTIL = re.compile(
    r"(?:[自从由至到]|截[至止]|\b(?:since|from|until|till|through|to|by|as of))\s?(?:the\s)?$", re.IGNORECASE
)
_FROM_OR_UNTIL_BEHIND = re.compile(r"\s?(?:份?[起底末前止]|以来|之前)")
_BY_YEAR = re.compile(r"(?:[到至]|\bby\s)(?P<y>20\d\d)(?!\d|\s?年\s?(?:\d|初|[一二三四五六七八九十上下第前中]))")
_YEAR_ON_YEAR = re.compile(r"同比|year[- ]on[- ]year|\bYoY\b|year earlier", re.IGNORECASE)
_ONE_OR_NONE = re.compile(
    r"\b(?:one|an?)(?=\s(?:full\s)?(?:year|month|week|day|hour|quarter)\b)|(?P<none>\b(?:none|nil|zero)\b|没有|[无零])",
    re.IGNORECASE,
)
_MAX_DURATION_YEARS = 60
_SIMPLIFIED = str.maketrans("億萬兩個餘間週", "亿万两个余间周")
_MAX_NOUN_CHARS = 12
_THIN_THOUSANDS_SPACE = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class FiguresAndDates:
    """The figures, dates and periods of a text; of a claim's dates, `bounds` are those with 自, 起, "until" and so on.

    `last_year` is the last year that the text names.
    """

    figures: tuple[NumericFigure, ...]
    dates: tuple[WrittenDate, ...]
    periods: tuple[WrittenPeriod, ...] = ()
    bounds: frozenset[WrittenDate] = frozenset()
    last_year: int | None = None


def fold_width(text: str) -> str:
    """Fold full-width characters and circles for zero; a Chinese comma separates only full-width thousands."""
    text = _THIN_THOUSANDS_SPACE.sub(",", text)
    text = _FULL_WIDTH_COMMA.sub("、", text)
    text = re.sub(r"[○◯Οο](?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])[○◯Ο]", "〇", text)
    folded = unicodedata.normalize("NFKC", text).replace("−", "-")
    return re.sub(r"(?<=[一二三四五六七八九〇])0|0(?=[一二三四五六七八九])", "〇", folded)


def parse_figures(
    text: str,
    *,
    is_page: bool,
    order: DateOrder | None = None,
    published_on: dt.date | None = None,
    year: int | None = None,
) -> FiguresAndDates:
    """Return all figures, dates and periods of a text; a page is read generously, as it may bear a claim in any form.

    On a page 一个 is a 1 and the parts of a date are figures too; in a summary 一个 is an article, and single Chinese
    numerals count only before a unit. `order` settles dates such as 03/02/2026, `published_on` tells which year 今年
    is, and `year` is the last one that is named before the text.
    """
    read = _read_page_sentence if is_page else _read_claim
    figures: list[NumericFigure] = []
    dates: list[WrittenDate] = []
    periods: list[WrittenPeriod] = []
    bounds: set[WrittenDate] = set()
    for sentence in _split_sentences(fold_width(text).translate(_SIMPLIFIED)):
        found = find_dates(sentence, order=order)
        scan = PeriodScan(sentence, found, published_on=published_on, year=year)
        reading = read(sentence, found, scan)
        figures.extend(reading.figures)
        dates.extend(reading.dates)
        periods.extend(reading.periods)
        bounds |= reading.bounds
        year = scan.last_year
    return FiguresAndDates(tuple(figures), tuple(dates), tuple(periods), frozenset(bounds), year)


def _split_sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.finditer(text):
        if _MAY_HOLD_FIGURE.search(sentence[0]):
            yield from cut_long(sentence[0])


def _read_claim(sentence: str, found: Sequence[WrittenDate], scan: PeriodScan) -> FiguresAndDates:
    periods = [period for period in scan.periods if period.kind in ("span", "plan", "edge") and period.is_whole]
    words = [period for period in scan.periods if period.kind == "year" and (period.years or not period.is_word)]
    months = [_to_month(period) for period in scan.periods if period.kind == "month" and period.years]
    taken = [(period.start, period.end) for period in (*periods, *words)]
    taken += [(period.start, period.end) for period in scan.periods if period.kind == "month" and period.years]
    free = _take_spans(sentence, taken).is_free
    dates = [date for date in found if free(date.start, date.end)]
    figures = [figure for period in words for figure in _list_years(period)]
    figures += _list_date_figures([date for date in dates if not date.month])
    masked = _blank_out(sentence, sorted({*taken, *((date.start, date.end) for date in dates)}))
    figures += _iter_figures(masked, is_page=False)
    dates = [date for date in dates if date.month]
    bounds = frozenset(date for date in dates if _is_bound(sentence, date.start, date.end))
    return FiguresAndDates(tuple(figures), (*dates, *months), tuple(periods), bounds)


def _read_page_sentence(sentence: str, found: Sequence[WrittenDate], scan: PeriodScan) -> FiguresAndDates:
    months = scan.list_months()
    ranges = [period for period in scan.periods if period.is_of_months]
    taken = [(period.start, period.end) for period in ranges]
    free = _take_spans(sentence, taken).is_free
    dates = [date for date in found if date.day or free(date.start, date.end)]
    figures = list(_list_date_figures(dates))
    for period in (*scan.periods, *months):
        figures += (*_list_years(period), *_list_months(period))
    if scan.published_on is not None and _YEAR_ON_YEAR.search(sentence):
        figures.append(NumericFigure("", ((Fraction(scan.published_on.year - 1), YEAR),)))
    masked = _blank_out(sentence, sorted({*taken, *((date.start, date.end) for date in dates)}))
    dates += [date for date in find_compact_dates(masked) if date.month]
    with_months = [date for date in dates if date.month]
    with_months += [
        replace(date, value=replace(date.value, year=year))
        for date in dates
        if date.month and date.year is None
        for year in scan.list_years(date)
    ]
    written = {date.start for date in dates}
    for period in (*scan.periods, *months):
        if period.kind in ("edge", "day", "month") and period.start not in written:
            with_months += _list_edges(period)
    figures += _iter_figures(masked, is_page=True)
    ends = [
        WrittenPeriod(by[0], *by.span(), "edge", (12, 31), (12, 31), (int(by["y"]),), has_year=True, is_word=True)
        for by in _BY_YEAR.finditer(sentence)
    ]
    return FiguresAndDates(tuple(figures), tuple(with_months), (*scan.periods, *months, *ends))


def _iter_figures(masked: str, *, is_page: bool) -> Iterator[NumericFigure]:
    """Yield the figures of a sentence without its dates."""
    masked = _IDIOMS.sub(lambda match: "\x00" * len(match[0]), masked)
    fractions = list(find_fractions(masked))
    for part in sorted((*fractions, *find_halves(masked)), key=lambda part: part.start):
        yield _to_figure(masked, part, _list_percents(part.value))
    multiples = list(find_multiples(masked))
    for multiple in multiples:
        yield _to_figure(masked, multiple, ((multiple.value, MULTIPLE),))
    # On a page 4/5 may be two numbers as well; 三分之一 never is.
    sure = [part for part in fractions if not is_page or not masked[part.start].isdigit()]
    masked = _blank_out(masked, sorted((part.start, part.end) for part in (*sure, *multiples)))
    mixed: list[Quantity] = []
    for number in sorted(find_mixed_numbers(masked), key=lambda number: number.start):
        if not mixed or number.start >= mixed[-1].end:
            mixed.append(number)
            unit = Unit(number.kind, Fraction(1), number.end) if number.kind else parse_unit(masked, number.end)
            end = max(number.end, unit.end)
            whole = replace(number, end=end + (masked[end : end + 1] == "半"))
            yield _to_figure(masked, whole, _list_readings(number.value, unit))
    masked = _blank_out(masked, ((number.start, number.end) for number in mixed))
    yield from _iter_numbers(masked if is_page else _blank_list_numbers(masked), is_page=is_page)
    yield from _iter_number_words(masked)
    for word in _ONE_OR_NONE.finditer(masked) if is_page else ():
        unit = parse_unit(masked, word.end())
        yield NumericFigure(word[0], _list_readings(Fraction(0 if word["none"] else 1), unit))


def _to_figure(text: str, quantity: Quantity, readings: tuple[tuple[Fraction, str], ...]) -> NumericFigure:
    written = text[quantity.start : quantity.end].replace("\x00", "").strip()
    side = _find_side(text, quantity.start, quantity.end)
    if side is None and re.search(
        r"[过超]半|\bthan half|半数以上", text[max(quantity.start - 1, 0) : quantity.end + 2]
    ):
        side = "over"
    return NumericFigure(written, readings, side=side)


def _list_percents(part: Fraction) -> tuple[tuple[Fraction, str], ...]:
    """Return a part of a whole as such and in percent, which may be rounded: a third is 33, 33.3 and 33.33."""
    percent = 100 * part
    is_endless = any(percent.denominator % prime == 0 for prime in (3, 7, 11, 13))
    rounded = {Fraction(round(percent * scale), scale) for scale in (1, 10, 100)} if is_endless else set()
    return ((part, FRACTION), *((value, PERCENT) for value in sorted({percent, *rounded})))


def _list_readings(value: Fraction, unit: Unit) -> tuple[tuple[Fraction, str], ...]:
    """Return a number with its unit, and a length of time also in the next smaller unit: a year is twelve months."""
    readings = [(value * unit.size, unit.kind)]
    if unit.kind == YEAR and value * unit.size <= _MAX_DURATION_YEARS:
        readings.append((12 * value * unit.size, MONTHS))
    elif unit.kind == "week":
        readings.append((7 * value, DAY))
    elif unit.kind == "times":
        readings.append((value, MULTIPLE))
    return tuple(readings)


def _take_spans(text: str, spans: Iterable[tuple[int, int]]) -> SpanSet:
    taken = SpanSet(len(text))
    for start, end in spans:
        taken.take(start, end)
    return taken


def _is_bound(text: str, start: int, end: int) -> bool:
    """Whether something begins or ends at this place: 自3月起, until March."""
    before = text[max(start - _MAX_BOUND_CHARS, 0) : start]
    return _FROM_OR_UNTIL.search(before) is not None or _FROM_OR_UNTIL_BEHIND.match(text, end) is not None


def _find_side(text: str, start: int, end: int) -> Side | None:
    before = text[max(start - _MAX_BOUND_CHARS, 0) : start]
    if _OVER.search(before) or _OVER_BEHIND.match(text, end):
        return "over"
    if _UNDER.search(before):
        return "under"
    return "about" if _ABOUT.search(before) or _ABOUT_BEHIND.match(text, end) else None


def _to_month(period: WrittenPeriod) -> WrittenDate:
    value = PartialDate(period.years[0], period.first[0])
    return WrittenDate(period.written, period.start, period.end, "month", value)


def _list_years(period: WrittenPeriod) -> Iterator[NumericFigure]:
    """Yield the years that a period may begin and end in, and how many years 2026—2035 are."""
    steps = {0, period.more_years}
    for year in (year + step for year in period.years for step in steps):
        yield NumericFigure(period.written, ((Fraction(year), YEAR),))
    if period.kind == "years":
        yield NumericFigure(period.written, ((Fraction(period.more_years + 1), YEAR),))


def _list_months(period: WrittenPeriod) -> Iterator[NumericFigure]:
    """Yield the month that a period is, or the months that it begins and ends with, and of a range their number."""
    (first, _), (last, _) = period.first, period.last
    if period.kind == "month" and period.years:
        yield NumericFigure(period.written, ((Fraction(first), MONTH),))
    elif period.kind in ("span", "edge"):
        yield NumericFigure(period.written, ((Fraction(first), BOUND),))
        yield NumericFigure(period.written, ((Fraction(last), BOUND),))
    if period.is_range and period.kind == "span":
        yield from _list_lengths(period)


def _list_lengths(period: WrittenPeriod) -> Iterator[NumericFigure]:
    """Yield how long a range is: in months and years from a first to a last of a month, in days within one."""
    (first, begin), (last, end) = period.first, period.last
    months = 12 * period.more_years + last - first + 1
    if begin == 1 and end == 31:
        unit = Unit(YEAR) if months % 12 == 0 else Unit(MONTHS)
        yield NumericFigure(period.written, _list_readings(Fraction(months, 12 if unit.kind == YEAR else 1), unit))
    elif months == 1:
        yield NumericFigure(period.written, ((Fraction(end - begin + 1), DAY),))


def _list_edges(period: WrittenPeriod) -> Iterator[WrittenDate]:
    """Yield the day or the month that a period of one is."""
    for first, last in period.list_ends():
        value = replace(first, day=None) if period.kind == "month" else last
        if value.month and (period.kind == "edge" or period.years):
            yield WrittenDate(period.written, period.start, period.end, period.kind, value)


def _list_date_figures(dates: Sequence[WrittenDate]) -> Iterator[NumericFigure]:
    """Yield the parts of a page's dates as figures; the year of an era alone, 令和8年, is a figure in a summary too."""
    for date in dates:
        if date.year and date.month and date.day:
            compact = date.year * 10_000 + date.month * 100 + date.day
            yield NumericFigure(date.written, ((Fraction(compact), NO_UNIT),))
        for value, kind in ((date.year, "year"), (date.month, "month"), (date.day, "day")):
            if value is not None:
                yield NumericFigure(date.written, ((Fraction(value), kind),))


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
    readings = [*_list_readings(value, unit)]
    if match["per"]:
        readings = [(value * _PREFIX_SIZES[match["per"]], PERCENT)]
    elif is_percent and unit.kind == NO_UNIT:
        readings.append((value, PERCENT))
    elif unit.kind == NO_UNIT and is_page and _MILLIONS.match(text, match.end()):
        readings.append((value * ENGLISH_SCALES[text[match.end()].lower()], NO_UNIT))
    elif unit.kind == NO_UNIT:
        readings.extend(_iter_inherited_readings(text, match, value))
    readings.extend(_list_growth(text, match.start(), readings[0]))
    end = max(unit.end, match.end())
    if not is_page and unit.kind in (MONTH, NO_UNIT) and _is_bound(text, match.start(), end):
        readings.append((value, BOUND))
    written = text[match.start() : end].replace("\x00", "").strip()
    side = "over" if re.search("[多余]", run) else _find_side(text, match.start(), match.end())
    side = side or ("about" if _ABOUT_BEHIND.match(text, end) else None)
    has_decimals = bool(re.search(r"[.点]", run))
    noun = text[end : end + _MAX_NOUN_CHARS]
    return NumericFigure(written, tuple(readings), bool(match["sign"]), has_decimals, side, noun)


def _list_growth(text: str, start: int, reading: tuple[Fraction, str]) -> Iterator[tuple[Fraction, str]]:
    """Yield how many times as much 增长1倍 and 增长100% are: twice."""
    value, kind = reading
    share = value / 100 if kind == PERCENT and value >= 100 else value if kind == "times" else None
    if share is not None and _GROWTH.search(text[max(start - _MAX_GROWTH_CHARS, 0) : start]):
        yield share + 1, MULTIPLE


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
        return unit.kind != NO_UNIT or after.startswith("大")
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
        side = _find_side(text, match.start(), end)
        noun = text[unit.end : unit.end + _MAX_NOUN_CHARS]
        yield NumericFigure(text[match.start() : unit.end], _list_readings(value, unit), side=side, noun=noun)


def _blank_list_numbers(text: str) -> str:
    """Return the text without list numbers: `1. … 2. …` counts a summary's own sentences and claims nothing."""
    marks = list(re.finditer(r"(?:(?<=^)|(?<=[\s;:、,(：]))\(?(\d{1,2})(?:[.、)](?!\d))", text))
    if len(marks) < 2 or [int(mark[1]) for mark in marks] != list(range(1, len(marks) + 1)):
        return text
    return _blank_out(text, (mark.span(1) for mark in marks))
