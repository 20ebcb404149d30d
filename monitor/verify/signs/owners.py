"""Signs that a true amount of the page is given to another: its label is that of a rival on the page."""

import re
from collections.abc import Iterable, Mapping

from monitor.verify.signs.labels import Amount
from monitor.verify.signs.page import Comparison, PageUnit

_INHERITED, _CONTEXT, _BESIDE = 0.5, 0.3, 0.2
_WHOLE = 0.4
_COURSE = re.compile(r"至|到|为|-|~|\b(?:to|from)\b")
_YEAR = re.compile(r"(?:19|20)\d\d年?[初中末底度]?")
_SMALL_COUNT = re.compile(r"[一两二三四五六七八九]\D?$")
_MAX_PLACES = 60
_MARGIN = 0.1
"""By how much of its label a place may be worse than the best and still count as a place of the amount."""


def compare_owners(found: Comparison) -> None:
    """Look for each amount whether what the statement says of it is on the page nearer to another amount."""
    mine = [amount for amount in found.amounts if not amount.is_time]
    for amount in mine:
        if amount.is_reference:
            continue
        weights = _rate_label(found, amount)
        total = sum(weights.values())
        own = found.page.list_equal_amounts(amount)
        if not own or total <= 0:
            continue
        best = _list_strengths(weights, *max(own, key=lambda entry: _rate(weights, *entry)))
        for unit, other in found.page.amounts:
            if not _is_rival(amount, other, mine):
                continue
            strengths = _list_strengths(weights, unit, other)
            gain = sum(weights[word] * (strengths[word] - best[word]) for word in weights) / total
            said = [third for third in mine if third.equals(other)]
            if any(_is_course(amount, third) for third in said):
                continue
            kind = "date" if amount.date else "label"
            found.raise_sign(f"{kind} {'given' if said else 'taken'}", gain, f"{amount.written} / {other.written}")


def _is_course(amount: Amount, other: Amount) -> bool:
    """Whether a segment goes from one amount to the other: they have one label."""
    first, second = sorted((amount, other), key=lambda each: each.start)
    between = amount.segment.text[first.end : second.start]
    return amount.segment is other.segment and _COURSE.search(between) is not None


def list_own_places(found: Comparison, amount: Amount) -> list[tuple[PageUnit, Amount]]:
    """Return where the page has an amount in a label like the statement's: the best place and those as good."""
    weights = _rate_label(found, amount)
    total = sum(weights.values()) or 1.0
    numbers = {unit.number for unit in found.units}
    rated = [
        (_rate(weights, unit, other) / total + 0.3 * (unit.number in numbers), unit, other)
        for unit, other in found.page.list_equal_amounts(amount)
    ]
    highest = max((rate for rate, _, _ in rated), default=0.0)
    return [(unit, other) for rate, unit, other in rated if rate >= highest - _MARGIN][:_MAX_PLACES]


def _is_rival(amount: Amount, other: Amount, mine: Iterable[Amount]) -> bool:
    if other.is_time != amount.is_time or other.is_reference:
        return False
    if not amount.is_comparable_to(other) and not (
        amount.is_bare and other.is_bare and any(third.equals(other) for third in mine)
    ):
        return False
    return not amount.equals(other) and not amount.is_near(other)


def _rate_label(found: Comparison, amount: Amount) -> dict[str, float]:
    weights = {word: _INHERITED * found.page.compute_weight([word]) for word in amount.inherited}
    return weights | {word: found.page.compute_weight([word]) for word in amount.label}


def _list_strengths(weights: Mapping[str, float], unit: PageUnit, amount: Amount) -> dict[str, float]:
    return {word: _get_strength(word, unit, amount) for word in weights}


def _rate(weights: Mapping[str, float], unit: PageUnit, amount: Amount) -> float:
    return sum(weight * _get_strength(word, unit, amount) for word, weight in weights.items())


def _get_strength(word: str, unit: PageUnit, amount: Amount) -> float:
    if word in amount.before or word in amount.after:
        return 1.0
    if word in amount.inherited:
        return _INHERITED
    return _CONTEXT if word in unit.context else _BESIDE if word in unit.words else 0.0


def compare_places(found: Comparison) -> None:
    """Look whether the sentence that says the rest of a statement has another date, or another figure of the kind.

    Each is rated by how much it has of what the statement says beside the amount; one that has the amount, and one
    whose heading or beginning has it, is its own.
    """
    for amount in found.amounts:
        if (
            amount.is_reference
            or _SMALL_COUNT.match(amount.written)
            or (amount.is_time and amount.date is None and not _YEAR.fullmatch(amount.written))
        ):
            continue
        words = frozenset(word for word in amount.segment.words if not word.startswith(("@", "~event.")))
        whole = frozenset(word for word in found.words if not word.startswith("@")) - words
        total = found.page.compute_weight(words) + _WHOLE * found.page.compute_weight(whole)
        own, rival, text = 0.0, 0.0, ""
        for unit, others in found.page.amounts_by_unit:
            is_own = any(amount.equals(other) for other in others)
            if not is_own and not any(_is_rival(amount, other, ()) for other in others):
                continue
            share = found.page.compute_weight(words & unit.words) + _WHOLE * found.page.compute_weight(
                whole & unit.words
            )
            share += _CONTEXT * found.page.compute_weight((words | whole) & unit.context - unit.words)
            if is_own:
                own = max(own, share)
            elif share > rival:
                rival, text = share, unit.text
        if own and rival and total:
            kind = "date" if amount.date else "time" if amount.is_time else "figure"
            found.raise_sign(f"{kind} misplaced", (rival - own) / total, f"{amount.written} / {text}")
