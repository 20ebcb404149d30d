"""Signs in the bounds of amounts, and in from what to what they go."""

import re
from collections.abc import Iterable, Sequence

from monitor.verify.signs.labels import Amount
from monitor.verify.signs.owners import list_own_places
from monitor.verify.signs.page import Comparison

_MAX_GAP = r"[^\d，,。；;、]{0,10}$"
_SHORT_GAP = r"[^\d，,。；;、的]{0,3}$"
_MAX_GAP_EN = r"(?: an?| the| about| some| around)?(?: [a-z]+)?[ (~$€£¥A-Z]{0,6}$"
_BEFORE = re.compile(
    r"(?:(?P<max>(?:(?:不|未|没有|不得|不应|不能)(?:得|应|能)?(?:超过|高于|大于|多于|长于|晚于|超出|逾)|至多|最多|最高|最长|最迟|上限[为是至])"
    + _MAX_GAP
    + r"|(?:(?<!不)(?<!不得)(?<!不应)(?:低于|少于|小于|短于|早于|未达到?)|不足|不到|接近|近(?![年日期几]))"
    + _SHORT_GAP
    + r")|(?P<min>(?:(?:不|未|不得|不应|不能)(?:得|应|能)?(?:低于|少于|小于|短于|早于)|至少|最低|最少|下限[为是至])"
    + _MAX_GAP
    + r"|(?:(?<![不未])(?<!不得)(?<!不应)(?:超过|高于|大于|多于|长于|晚于|超出|逾|突破)|超(?!过|出|市|级)|达到?|多达)"
    + _SHORT_GAP
    + r"))"
)
_BEFORE_EN = re.compile(
    r"\b(?:(?P<max>up to(?: and including)?|^and including|at most"
    r"|(?:no|not) (?:more|greater|higher|longer|later|larger) than"
    r"|(?:not|never) (?:to )?exceed(?:ing|s)?|may not exceed|(?<!no )(?<!not )(?:less|fewer|lower|shorter|earlier) than"
    r"|under|below|(?:a )?maximum(?: of)?|capped at|within|nearly|almost|just short of|by|until|before)"
    r"|(?P<min>at least|(?:no|not) (?:less|fewer|lower|shorter|earlier|smaller) than"
    r"|(?<!no )(?<!not )(?:more|greater|higher|longer|later|larger) than|over|above"
    r"|(?<!not )(?<!not to )exceed(?:ing|s|ed)?"
    r"|(?:a )?minimum(?: of)?|in excess of|from|after|since))" + _MAX_GAP_EN,
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"(?:[^\d，,。；;、]{0,6}?(?:(?P<max>以内|以下|之内|封顶|之?前(?!\d|[二三]季|期)|以前|为?止)"
    r"|(?P<min>以上|多[个名家人万亿项次种名]|余|有余|[起后](?!期|续|者|来|点|草|诉|步|到)|之后|以后|以来))"
    r"|(?: [a-z]+){0,3}? (?:or|and) (?:(?P<max_en>less|fewer|below|under|earlier)"
    r"|(?P<min_en>more|above|over|later|older|higher)))",
    re.IGNORECASE,
)
_DATE_ONLY = re.compile(r"前|止|起|后|以来|\b(?:by|until|before|from|after|since)\b", re.IGNORECASE)
_FROM = re.compile(
    r"(?:(?:由|从)[^\d，,。；;、至到]{0,14}|\b(?:from|compared with|compared to|against)(?: [a-z]+){0,4} ?[$€£¥]?)$",
    re.IGNORECASE,
)
_TO = re.compile(
    r"(?:(?:(?:[至到]|[整转降升改增减调]为)(?:不低于|不超过|不高于|不少于|约|等值)?|达)"
    r"|\bto(?: an?| about| some| around| at least| more than| over){0,2} ?[$€£¥]?)$",
    re.IGNORECASE,
)


def compare_bounds(found: Comparison) -> None:
    for amount in found.amounts:
        if amount.is_time or amount.is_reference:
            continue
        places = [other for _, other in list_own_places(found, amount)]
        if places:
            _compare_bound(found, amount, places)
            _compare_course(found, amount, places)


def _compare_bound(found: Comparison, amount: Amount, places: Sequence[Amount]) -> None:
    mine, theirs = find_bound(amount), {find_bound(other) for other in places}
    if amount.date and any("~event.deadline" in other.label for other in places):
        theirs.add("max")
    kind = "date" if amount.date else "amount"
    if mine and None in theirs and (found.is_cross_language or any(map(_is_in_range, places))):
        return
    if mine and mine not in theirs:
        is_elsewhere = any(amount.equals(other) and find_bound(other) == mine for _, other in found.page.amounts)
        strength = 0.6 if is_elsewhere else 1.0
        found.raise_sign(f"{kind} {'unbounded' if None in theirs else 'bound'}", strength, amount.written)


_RANGE_MARK = re.compile(r"\d\s*(?:[-–—~～至到]|to\b|and\b)\s*[$€£¥]?\d")


def _is_in_range(amount: Amount) -> bool:
    """Whether an amount is an end of a range, 0.3至0.5元: so it is a bound without a word for it."""
    text = amount.segment.text
    return _RANGE_MARK.search(text[max(amount.start - 12, 0) : amount.end + 12]) is not None


def find_bound(amount: Amount) -> str | None:
    """Return `max` or `min`, the kind of bound that an amount is, or None for no bound."""
    text = amount.segment.text
    before, after = text[max(amount.start - 40, 0) : amount.start], text[amount.end : amount.end + 30]
    if re.search(r"\d[多余]", amount.written.replace(" ", "")):
        return "min"
    match = _AFTER.match(after) or _BEFORE_EN.search(before) or _BEFORE.search(before)
    if match is None or (amount.date is None and _DATE_ONLY.search(match[0])):
        return None
    return (match.lastgroup or "")[:3]


def _compare_course(found: Comparison, amount: Amount, places: Iterable[Amount]) -> None:
    """Compare whether something goes from an amount or to it."""
    mine, theirs = _find_course(amount), {_find_course(other) for other in places}
    if mine and theirs and None not in theirs and mine not in theirs:
        found.raise_sign("amount turned", 1.0, amount.written)


def _find_course(amount: Amount) -> str | None:
    before = amount.segment.text[max(amount.start - 40, 0) : amount.start]
    return "to" if _TO.search(before) else "from" if _FROM.search(before) else None
