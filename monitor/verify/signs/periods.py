"""Signs in when an amount is: its month, quarter or year, the rate that it is, and what a date is the date of."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from monitor.dates.numerals import parse_numeral
from monitor.verify.clauses import MONTHS, ORDINALS, Segment
from monitor.verify.signs.labels import Amount
from monitor.verify.signs.owners import list_own_places
from monitor.verify.signs.page import Comparison, PageUnit
from monitor.verify.units import POINTS

_PERIOD = re.compile(
    r"(?P<year>(?:19|20)\d\d)(?=\s?年(?!\d{1,2}月\d{1,2}日)|\b(?!年))"
    r"|(?<!\d)(?P<first>\d{1,2})月?(?:份)?\s?[-—–~至到]\s?(?P<last>\d{1,2})月(?!\d{1,2}日)"
    r"|[前头](?P<months>\d{1,2}|[一二三四五六七八九十]+)个月|(?<!\d)(?P<month>\d{1,2})月(?!\d{1,2}日)"
    r"|(?<!前)(?P<quarter>[一二三四1-4])季度|(?P<half>[上下])半年|前(?P<quarters>[二三])个?季度"
    r"|(?P<name>January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"(?! \d{1,2}\b(?! ?%))"
    r"|\b(?P<q>first|second|third|fourth)[- ]quarter|\bQ(?P<qn>[1-4])\b|\b(?P<h>first|second)[- ]half"
)
_ENGLISH_QUARTER = re.compile(r"\s(?:quarter|half)\b")
_REACH, _MAX_BACK = 40, 12
_END = re.compile(r"(?:月份?|年)?[末底]")
_UP_TO = re.compile(r"(?:截至|截止|[到至]|\bend of|\bas (?:of|at))\s?$")
_COMPARED = re.compile(r"(?:[比较]|\b(?:than(?: in)?|from|compared with|against))\s?(?:the )?$")
_RIGHT_AFTER = re.compile(r"\s?(?:[a-z]+\s){0,2}(?:in|for|during|over|at the end of)\s(?:the\s)?")
_OF_ANOTHER = re.compile(r"\d\S*(?: [a-z]+){0,2} (?:in|for) (?:the )?$")
_IN_DATE = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)(?: \d{1,2},)? $"
)
_AMOUNT_BETWEEN = re.compile(r"\d(?:%|[万亿元家个人项吨辆倍]|\.\d| percent| per cent| million| billion)")
_TODAY = re.compile(r"今[日天]|即日|之日起|\btoday\b|\bimmediate", re.IGNORECASE)
_RATE = re.compile(
    r"(?P<year>同比|比上年(?!末)|较上年(?!末)|比去年|较去年|year[- ]on[- ]year|over[- ]the[- ]year"
    r"|from (?:a|one) year (?:earlier|ago)"
    r"|than (?:a|one) year (?:earlier|ago)|on the year|annual(?:ly)? (?:rate|inflation))"
    r"|(?P<month>环比|比上月|较上月|比上季|较上季|month[- ]on[- ]month|quarter[- ]on[- ]quarter"
    r"|(?:from|on|over) the (?:previous )?(?:month|quarter))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A period that a segment names: `kind` is `y` for a year, `m` for the months that it has from first to last."""

    kind: str
    first: int
    last: int
    start: int
    end: int
    is_end: bool = False
    is_compared: bool = False
    is_near: bool = False


def compare_periods(found: Comparison) -> None:
    for amount in found.amounts:
        if amount.is_time or amount.is_reference:
            continue
        places = list_own_places(found, amount)
        if not places:
            continue
        if amount.date is not None:
            _compare_events(found, amount, places)
        else:
            _compare_governing(found, amount, places)
            _compare_rates(found, amount, places)


def _compare_events(found: Comparison, amount: Amount, places: Sequence[tuple[PageUnit, Amount]]) -> None:
    """Compare what happens on a date: it is published, in force, adopted, or the last day for comments.

    Of the day of publication a page says "today", so that all that it says may happen then.
    """
    if all(unit.line < found.page.head_lines for unit, _ in places) and _TODAY.search(found.page.text):
        return
    mine = {word for word in amount.label if word.startswith("~event.")}
    theirs = {word for _, other in places for word in other.label if word.startswith("~event.")}
    if mine and theirs and not mine & theirs:
        found.raise_sign("date event", 1.0, f"{amount.written}: {' '.join(mine)} / {' '.join(theirs)}")


def _compare_governing(found: Comparison, amount: Amount, places: Sequence[tuple[PageUnit, Amount]]) -> None:
    """Compare the year and the months that an amount is of."""
    for kind in "ym":
        mine = _find_governing(found.segments, amount, kind)
        theirs = [_find_governing(unit.segments, other, kind) for unit, other in places]
        known = [mention for mention in theirs if mention is not None]
        if mine is None or len(known) < len(theirs) or any(may_be_same(mine, mention) for mention in known):
            continue
        is_near = mine.is_near and all(mention.is_near for mention in known)
        is_elsewhere = any(
            may_be_same(mine, mention)
            for unit, _ in places
            for segment in unit.segments
            for mention in list_mentions(segment.text)
        )
        if is_near or not is_elsewhere:
            found.raise_sign("period apart", 1.0, f"{amount.written}: {mine} / {known[0]}")


def may_be_same(mine: Mention, other: Mention) -> bool:
    return mine.kind == other.kind and (
        (mine.first, mine.last) == (other.first, other.last)
        or ((mine.is_end or other.is_end) and mine.last == other.last)
    )


def _find_governing(segments: Sequence[Segment], amount: Amount, kind: str) -> Mention | None:
    """Return the period of an amount: right after it, or the nearest before it that is not of another amount.

    A period that the amount is only compared with is not its own.
    """
    text = amount.segment.text
    own = [mention for mention in list_mentions(text) if mention.kind == kind]
    for mention in own:
        if (
            mention.start >= amount.end
            and not mention.is_compared
            and _RIGHT_AFTER.fullmatch(text[amount.end : mention.start])
        ):
            return replace(mention, is_near=True)
    before = [mention for mention in own if mention.start < amount.start and not mention.is_compared]
    if before and not _AMOUNT_BETWEEN.search(text[before[-1].end : amount.start]):
        return replace(before[-1], is_near=True)
    for segment in reversed(segments[max(amount.place - _MAX_BACK, 0) : amount.place]):
        mentions = [mention for mention in list_mentions(segment.text) if mention.kind == kind]
        if mentions and not mentions[-1].is_compared:
            return mentions[-1]
    return None


@lru_cache(maxsize=4096)
def list_mentions(text: str) -> tuple[Mention, ...]:
    return tuple(_iter_mentions(text))


def _iter_mentions(text: str) -> Iterator[Mention]:
    for match in _PERIOD.finditer(text):
        before = text[max(match.start() - _REACH, 0) : match.start()]
        if _IN_DATE.search(before):
            continue
        first, last = _read_period(text, match)
        yield Mention(
            "y" if match["year"] else "m",
            first,
            last,
            match.start(),
            match.end(),
            is_end=bool(_END.match(text, match.end()) or _UP_TO.search(before)),
            is_compared=bool(_COMPARED.search(before) or _OF_ANOTHER.search(before)),
        )


def _read_period(text: str, match: re.Match[str]) -> tuple[int, int]:
    """Return the first and the last month of a period; of a year, the year twice."""
    kind, value = match.lastgroup, match[match.lastgroup or 0]
    if kind in ("quarter", "q", "qn", "half", "h"):
        size = 6 if kind in ("half", "h") else 3
        last = size * (ORDINALS.get(value) or int(value))
        return last - size + 1, last
    if kind == "quarters":
        return 1, 3 * ORDINALS[value]
    if kind == "name":
        is_quarter = _ENGLISH_QUARTER.match(text, match.end()) is not None
        return MONTHS[value] - 2 * is_quarter, MONTHS[value]
    number = int(value) if value.isdigit() else int(parse_numeral(value) or 0)
    return (int(match["first"]) if kind == "last" else 1 if kind == "months" else number), number


def _compare_rates(found: Comparison, amount: Amount, places: Iterable[tuple[PageUnit, Amount]]) -> None:
    """Compare whether a change is over the year or over the month; points may be those of a change of the change."""
    if any(kind == POINTS for figure in amount.figures for _, kind in figure.readings):
        return
    mine = _find_rate(found.segments, amount)
    theirs = {_find_rate(unit.segments, other) for unit, other in places}
    if mine and theirs and None not in theirs and mine not in theirs:
        found.raise_sign("figure rate", 1.0, amount.written)


def _find_rate(segments: Sequence[Segment], amount: Amount) -> str | None:
    rates = _list_rates(amount.segment.text)
    before = [name for start, end, name in rates if end <= amount.start]
    found = before[-1:] or [name for start, _, name in rates if start >= amount.end][:1]
    for segment in reversed(segments[max(amount.place - _MAX_BACK, 0) : amount.place]):
        if found:
            break
        found = [name for _, _, name in _list_rates(segment.text)[-1:]]
    return found[0] if found else None


@lru_cache(maxsize=4096)
def _list_rates(text: str) -> tuple[tuple[int, int, str | None], ...]:
    return tuple((*match.span(), match.lastgroup) for match in _RATE.finditer(text))
