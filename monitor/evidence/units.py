"""What a figure counts: units in Chinese and English, each with its kind and its size within that kind."""

import re
from fractions import Fraction
from typing import NamedTuple

NO_UNIT = ""
COUNT = "count"
PERCENT = "percent"
POINTS = "points"
YEAR = "year"
MONTH = "month"
DAY = "day"

_TABLE: tuple[tuple[str, Fraction, str], ...] = tuple(
    (kind, Fraction(size), words)
    for kind, size, words in (
        (POINTS, "1", r"百分点|percentage[ -]points?\b|pp\b|ppts?\b"),
        (POINTS, "0.01", r"个?基点|basis[ -]points?\b|bps?\b"),
        (
            PERCENT,
            "1",
            r"%|per ?cent\b|pct\b|pc\b|prozent\b|procent\b|pour cent\b|por ciento\b|por cento\b|per cento\b",
        ),
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
    + "|".join(f"(?P<u{index}>{words})" for index, (_, _, words) in enumerate(_TABLE))
    + ")",
    re.IGNORECASE,
)
CURRENCY_PREFIXES = {
    "us$": "dollar",
    "$": "dollar",
    "usd": "dollar",
    "hk$": "hong kong dollar",
    "€": "euro",
    "eur": "euro",
    "£": "pound",
    "gbp": "pound",
    "¥": "yuan",
    "rmb": "yuan",
    "cny": "yuan",
    "人民币": "yuan",
}


class Unit(NamedTuple):
    """A unit: what kind of thing it measures, and how many of the kind's smallest unit it is."""

    kind: str = NO_UNIT
    size: Fraction = Fraction(1)
    end: int = 0


def unit_at(text: str, position: int) -> Unit:
    """The unit that stands at a place of the text, right after a number; `end` is where it ends.

    A noun that is no unit of the table (`20 provinces`) gives no kind, which agrees with every kind of count.
    """
    match = _UNIT.match(text, position)
    if match is None or match.lastgroup is None:
        return Unit(end=position)
    kind, size, _ = _TABLE[int(match.lastgroup[1:])]
    return Unit(kind, size, match.end())


def agree(claimed: str, seen: str) -> bool:
    """Whether a figure of the one kind may rest on a figure of the other.

    The same kind, or one of them bare: `5` in a table may be the summary's `5 provinces`. A bare number never rests
    on a percentage, nor a percentage on a bare number: `5` and `5%` are different statements.
    """
    if claimed == seen:
        return True
    return NO_UNIT in (claimed, seen) and not {claimed, seen} & {PERCENT, POINTS}
