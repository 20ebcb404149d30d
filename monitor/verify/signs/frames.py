"""Signs in the frame of an amount: the page's wording right around it, which the statement has around another."""

from collections.abc import Sequence

from monitor.verify.clauses import Segment
from monitor.verify.signs.labels import Amount, read_label
from monitor.verify.signs.page import Comparison, PageUnit

_REACH = 48
_MIN_CHARS = 2
_FULL_GAIN = 8.0


def compare_frames(found: Comparison) -> None:
    """Look whether the wording right around an amount is on the page around another, and less around the amount.

    The class: a figure, a year, a rank or the number of an article exchanged in a sentence that is else the page's.
    """
    for amount in found.amounts:
        own_places = found.page.list_equal_amounts(amount)
        rivals = [(unit, other) for unit in found.units for other in unit.amounts if _may_be_exchanged(amount, other)]
        if not own_places or not rivals:
            continue
        before, after = _cut(found.segments, amount)
        own = max(_rate(found, before, after, unit, other) for unit, other in own_places)
        for unit, other in rivals:
            gain = _rate(found, before, after, unit, other) - own
            found.raise_sign("frame", min(gain / _FULL_GAIN, 1.0), f"{amount.written} / {other.written}")


def _may_be_exchanged(amount: Amount, other: Amount) -> bool:
    if other.is_time != amount.is_time or other.is_reference != amount.is_reference:
        return False
    if amount.equals(other) or amount.is_near(other):
        return False
    return amount.is_comparable_to(other) or (amount.is_bare and other.is_bare)


def _cut(segments: Sequence[Segment], amount: Amount) -> tuple[str, str]:
    """Return the text of a sentence before and after an amount, as far as a frame reaches."""
    before = "".join(segment.text for segment in segments[max(amount.place - 2, 0) : amount.place])
    after = "".join(segment.text for segment in segments[amount.place + 1 : amount.place + 3])
    text = amount.segment.text
    return (before + text[: amount.start])[-_REACH:].lower(), (text[amount.end :] + after)[:_REACH].lower()


def _rate(found: Comparison, before: str, after: str, unit: PageUnit, other: Amount) -> float:
    """Return the weight of the words that stand right before and right after both amounts."""
    their_before, their_after = _cut(unit.segments, other)
    left = _count_common(before[::-1], their_before[::-1])
    right = _count_common(after, their_after)
    weight = 0.0
    for text, size in ((before[len(before) - left :], left), (after[:right], right)):
        if size >= _MIN_CHARS:
            weight += found.page.compute_weight(read_label(text))
    return weight


def _count_common(first: str, second: str) -> int:
    size = 0
    while size < min(len(first), len(second)) and first[size] == second[size]:
        size += 1
    return size
