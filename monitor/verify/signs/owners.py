"""Signs that a true amount of the page is given to another: its label is that of a rival on the page."""

from collections.abc import Iterable, Mapping

from monitor.verify.signs.labels import Amount
from monitor.verify.signs.page import Comparison, Unit

_INHERITED, _CONTEXT, _BESIDE = 0.5, 0.3, 0.2
_MARGIN = 0.1
"""By how much of its label a place may be worse than the best and still count as a place of the amount."""


def compare_owners(found: Comparison) -> None:
    """Look for each amount whether what the statement says of it is on the page nearer to another amount."""
    mine = [amount for amount in found.amounts if not amount.is_time]
    for amount in mine:
        if amount.is_reference:
            continue
        weights = _weigh_label(found, amount)
        total = sum(weights.values())
        own = [(unit, other) for unit, other in found.page.amounts if amount.equals(other)]
        if not own or total <= 0:
            continue
        best = _list_strengths(weights, *max(own, key=lambda entry: _rate(weights, *entry)))
        for unit, other in found.page.amounts:
            if not _is_rival(amount, other, mine):
                continue
            strengths = _list_strengths(weights, unit, other)
            gain = sum(weights[word] * (strengths[word] - best[word]) for word in weights) / total
            is_said = any(third.equals(other) for third in mine)
            kind = "date" if amount.date else "label"
            found.raise_sign(f"{kind} {'given' if is_said else 'taken'}", gain, f"{amount.written} / {other.written}")


def list_own_places(found: Comparison, amount: Amount) -> list[tuple[Unit, Amount]]:
    """Return where the page has an amount in a label like the statement's: the best place and those as good."""
    weights = _weigh_label(found, amount)
    total = sum(weights.values()) or 1.0
    numbers = {unit.number for unit in found.units}
    rated = [
        (_rate(weights, unit, other) / total + 0.3 * (unit.number in numbers), unit, other)
        for unit, other in found.page.amounts
        if amount.equals(other)
    ]
    highest = max((rate for rate, _, _ in rated), default=0.0)
    return [(unit, other) for rate, unit, other in rated if rate >= highest - _MARGIN]


def _is_rival(amount: Amount, other: Amount, mine: Iterable[Amount]) -> bool:
    if amount.equals(other) or other.is_time or other.is_reference:
        return False
    return amount.is_comparable_to(other) or (
        amount.is_bare and other.is_bare and any(third.equals(other) for third in mine)
    )


def _weigh_label(found: Comparison, amount: Amount) -> dict[str, float]:
    weights = {word: _INHERITED * found.page.weigh([word]) for word in amount.inherited}
    return weights | {word: found.page.weigh([word]) for word in amount.label}


def _list_strengths(weights: Mapping[str, float], unit: Unit, amount: Amount) -> dict[str, float]:
    return {word: _get_strength(word, unit, amount) for word in weights}


def _rate(weights: Mapping[str, float], unit: Unit, amount: Amount) -> float:
    return sum(weight * _get_strength(word, unit, amount) for word, weight in weights.items())


def _get_strength(word: str, unit: Unit, amount: Amount) -> float:
    if word in amount.before or word in amount.after:
        return 1.0
    if word in amount.inherited:
        return _INHERITED
    return _CONTEXT if word in unit.context else _BESIDE if word in unit.words else 0.0
