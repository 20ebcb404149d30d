"""What people's feedback does to an order of importance: it moves an item by a tier at most.

Somebody says of an item that it should have stood higher, or lower. That moves the item itself, past what is of its own
tier and of the next one; and, more weakly, every item like it (of the same source, section and type), past what is of
its own tier only. An item never passes one that is further away than that, whatever the order was made by. Doing it
twice changes nothing, so that ranks which were honoured by a run can be honoured again by a briefing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from monitor.db.tables.people import RankFeedbackEntry
from monitor.vocabulary import ItemType, RankDirection

_OWN_LIFT, _SIMILAR_LIFT = 2, 1
_TOP_TIER, _BOTTOM_TIER = 1, 5


class RankFeedbackItem(Protocol):
    """What tells items that are alike; an item has it."""

    @property
    def id(self) -> int | None: ...

    @property
    def source_id(self) -> int | None: ...

    @property
    def section(self) -> str: ...

    @property
    def type(self) -> ItemType: ...


@dataclass(frozen=True)
class RankFeedbackResult:
    """An order after feedback, by index.

    `moved` says of those whose place it changed in which way, `tiers` in which tier those have their place now that
    had feedback of their own.
    """

    order: list[int]
    moved: dict[int, RankDirection]
    tiers: dict[int, int]


def compute_lifts(items: Sequence[RankFeedbackItem], feedback: Sequence[RankFeedbackEntry]) -> list[int]:
    """How far each item is to move: 2 up for feedback of its own, 1 for an item that is like one, else 0; down below 0.

    Of each person the newest word counts, on the item or on those like it; opposite words cancel each other. Where an
    item has feedback of its own, what was said of others does not matter.
    """
    return [_compute_lift(item, feedback) for item in items]


def apply_feedback(order: Sequence[int], *, tiers: Sequence[int], lifts: Sequence[int]) -> RankFeedbackResult:
    """The order in which the lifted items have moved; `tiers` and `lifts` by index, like the order's numbers.

    What is not lifted keeps its order. Of several that end up in one gap, the more important come first.
    """
    rest = [index for index in order if not lifts[index]]
    gaps: dict[int, list[int]] = {}
    moved: dict[int, RankDirection] = {}
    reached: dict[int, int] = {}
    gap = 0
    for index in order:
        if not lifts[index]:
            gap += 1
            continue
        place = _find_gap(gap, index, rest, tiers, lifts[index])
        gaps.setdefault(place, []).append(index)
        if place != gap:
            moved[index] = RankDirection.HIGHER if place < gap else RankDirection.LOWER
        if abs(lifts[index]) == _OWN_LIFT:
            reached[index] = min(max(_get_furthest_tier(tiers[index], lifts[index]), _TOP_TIER), _BOTTOM_TIER)
    result: list[int] = []
    for place in range(len(rest) + 1):
        result += sorted(
            gaps.get(place, ()), key=lambda index: (_get_furthest_tier(tiers[index], lifts[index]), -lifts[index])
        )
        result += rest[place : place + 1]
    return RankFeedbackResult(result, moved, reached)


def _compute_lift(item: RankFeedbackItem, wishes: Sequence[RankFeedbackEntry]) -> int:
    own = {wish.person: wish for wish in wishes if wish.item_id == item.id}
    if own:
        return _OWN_LIFT * _compute_majority(own)
    like: dict[str, RankFeedbackEntry] = {}
    for wish in sorted(wishes, key=lambda one: one.at):
        if _is_similar(item, wish):
            like[wish.person] = wish
    return _SIMILAR_LIFT * _compute_majority(like)


def _is_similar(item: RankFeedbackItem, wish: RankFeedbackEntry) -> bool:
    if item.source_id is None:
        return False
    return (item.source_id, item.section, item.type) == (wish.source_id, wish.section, wish.type)


def _compute_majority(wishes: dict[str, RankFeedbackEntry]) -> int:
    """1 where more people want it higher than lower, -1 for the opposite."""
    balance = sum(1 if wish.wish is RankDirection.HIGHER else -1 for wish in wishes.values())
    return (balance > 0) - (balance < 0)


def _find_gap(gap: int, index: int, rest: Sequence[int], tiers: Sequence[int], lift: int) -> int:
    """The gap among the rest in which an item ends up that stood in `gap`."""
    limit = _get_furthest_tier(tiers[index], lift)
    if lift > 0:
        while gap > 0 and tiers[rest[gap - 1]] >= limit:
            gap -= 1
    else:
        while gap < len(rest) and tiers[rest[gap]] <= limit:
            gap += 1
    return gap


def _get_furthest_tier(tier: int, lift: int) -> int:
    """The furthest tier that an item may pass."""
    return tier - (lift == _OWN_LIFT) + (lift == -_OWN_LIFT)
