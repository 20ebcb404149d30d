"""Figures and their units: what each measures, and its size."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

NO_UNIT = ""
COUNT = "count"
PERCENT = "percent"
POINTS = "points"
YEAR = "year"
MONTH = "month"
DAY = "day"
FRACTION = "fraction"
MULTIPLE = "multiple"
"""How many times as much as before: 2 for 翻一番, "doubled" and 增长1倍."""
MONTHS = "months"
BOUND = "bound"
"""A month that a longer period begins or ends with: 3 and 8 of 3月至8月, which say nothing of March alone."""

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
        (MONTHS, "1", r"个月|months?\b"),
        ("week", "1", r"个?(?:星期|周(?!年|边|期|转|密))|weeks?\b"),
        ("working day", "1", r"个?工作日|(?:working|business)[ -]days?\b"),
        (DAY, "1", r"[日天]|(?:calendar )?days?\b"),
        ("hour", "1", r"个?小时|hours?\b"),
        ("minute", "1", r"分钟|minutes?\b"),
        (YEAR, "10", r"decades?\b"),
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
    r"(?:\s|-(?=[a-z]))?(?:[余多来]\s?)?(?:个(?=百分点|工作日|小时))?(?:"
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


_NEVER_BARE = {PERCENT, POINTS, BOUND, FRACTION, MULTIPLE}


def are_compatible(claimed: str, found: str) -> bool:
    """Whether a figure of one kind may be supported by a figure of the other.

    They are of one kind, or one is bare: `5` in a table may be the summary's `5 provinces`. `5` and `5%` never support
    each other.
    """
    if claimed == found:
        return True
    return NO_UNIT in (claimed, found) and claimed not in _NEVER_BARE and found not in _NEVER_BARE


Side = Literal["over", "under", "about"]


@dataclass(frozen=True, slots=True)
class NumericFigure:
    """A number as it was written, and its possible readings: pairs of a value and the kind of its unit.

    `side` is where the exact value lies if the number is a round one: 近100亿 is under it, 100多亿 over it. `noun` is
    what the number is followed by.
    """

    written: str
    readings: tuple[tuple[Fraction, str], ...]
    is_negative: bool = False
    has_decimals: bool = False
    side: Side | None = None
    noun: str = ""

    def equals(self, other: "NumericFigure") -> bool:
        """Whether some readings of both have one value and compatible units."""
        for value, kind in self.readings:
            for theirs, their_kind in other.readings:
                if are_compatible(kind, their_kind) and value == theirs:
                    return True
        return False

    def is_comparable_to(self, other: "NumericFigure") -> bool:
        """Whether some readings of both have one unit."""
        for _, kind in self.readings:
            for _, their_kind in other.readings:
                if kind == their_kind and kind != NO_UNIT:
                    return True
        return False
