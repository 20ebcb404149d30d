"""Signs in the frame of an amount or a period: the wording right around it, which the page has around another.

The class: a figure, a year, a month or the number of an article exchanged in a sentence that is else the page's.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from monitor.verify.clauses import Segment
from monitor.verify.signs.labels import Amount, read_label
from monitor.verify.signs.page import Comparison
from monitor.verify.signs.periods import Mention, list_mentions, may_be_same

_REACH = 48
_MIN_CHARS = 2
_FULL_GAIN = 8.0
_Frame = tuple[str, str]


def compare_frames(found: Comparison) -> None:
    for amount in found.amounts:
        own = found.page.list_equal_amounts(amount)
        rivals = [
            (other.written, _cut(unit.segments, other.place, other.start, other.end))
            for unit in found.units
            for other in unit.amounts
            if own and _may_be_exchanged(amount, other)
        ]
        if rivals:
            mine = _cut(found.segments, amount.place, amount.start, amount.end)
            frames = (_cut(unit.segments, other.place, other.start, other.end) for unit, other in own)
            _compare(found, amount.written, mine, frames, rivals)
    for mention, frame in _iter_mentions(found.segments):
        beside = [other for unit in found.units for other in _iter_mentions(unit.segments)]
        names = [
            (f"{other.first}-{other.last}", their_frame)
            for other, their_frame in beside
            if other.kind == mention.kind and not may_be_same(mention, other)
        ]
        everywhere = (other for unit in found.page.units for other in _iter_mentions(unit.segments)) if names else ()
        frames = (their_frame for other, their_frame in everywhere if may_be_same(mention, other))
        _compare(found, f"{mention.first}-{mention.last}", frame, frames, names)


def _may_be_exchanged(amount: Amount, other: Amount) -> bool:
    if other.is_time != amount.is_time or other.is_reference != amount.is_reference or amount.equals(other):
        return False
    if amount.is_near(other) and _count_digits(amount) != _count_digits(other):
        return False
    return amount.is_comparable_to(other) or (amount.is_bare and other.is_bare)


def _count_digits(amount: Amount) -> int:
    return len(re.sub(r"\D", "", amount.written))


def _iter_mentions(segments: Sequence[Segment]) -> Iterator[tuple[Mention, _Frame]]:
    for place, segment in enumerate(segments):
        for mention in list_mentions(segment.text):
            yield mention, _cut(segments, place, mention.start, mention.end)


def _cut(segments: Sequence[Segment], place: int, start: int, end: int) -> _Frame:
    """Return the text of a sentence before and after a place in it, as far as a frame reaches."""
    before = "".join(segment.text for segment in segments[max(place - 2, 0) : place])
    after = "".join(segment.text for segment in segments[place + 1 : place + 3])
    text = segments[place].text
    return (before + text[:start])[-_REACH:].lower(), (text[end:] + after)[:_REACH].lower()


def _compare(
    found: Comparison, written: str, mine: _Frame, own: Iterable[_Frame], rivals: Sequence[tuple[str, _Frame]]
) -> None:
    """Raise the sign as far as the frame of a rival has more of the statement's frame than the best own one."""
    highest, name = max(((_rate(found, mine, frame), name) for name, frame in rivals), default=(0.0, ""))
    if highest:
        gain = highest - max((_rate(found, mine, frame) for frame in own), default=highest)
        found.raise_sign("frame", min(gain / _FULL_GAIN, 1.0), f"{written} / {name}")


def _rate(found: Comparison, mine: _Frame, other: _Frame) -> float:
    """Return the weight of the words that both frames have right before and right after their amounts."""
    left = _count_common(mine[0][::-1], other[0][::-1])
    right = _count_common(mine[1], other[1])
    texts = (mine[0][len(mine[0]) - left :], mine[1][:right])
    return sum(found.page.compute_weight(read_label(text)) for text in texts if len(text) >= _MIN_CHARS)


def _count_common(first: str, second: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
