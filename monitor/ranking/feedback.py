"""Applies people's feedback to an order: an item moves past the next tier, those like it past their own."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.db.tables.collection import Item
from monitor.db.tables.people import RankFeedbackEntry
from monitor.vocabulary import RankDirection

_OWN_LIFT, _SIMILAR_LIFT = 2, 1
_TOP_TIER, _BOTTOM_TIER = 1, 5


@dataclass(frozen=True)
class RankFeedbackResult:
    """An order after feedback; `moved` and `tiers` tell by index how items moved and where those with feedback are."""

    order: list[int]
    moved: dict[int, RankDirection]
    tiers: dict[int, int]


def compute_lifts(items: Sequence[Item], feedback: Sequence[RankFeedbackEntry]) -> list[int]:
    """Return how far each item moves: up by 2 for feedback of its own, by 1 for feedback on one like it; down below 0.

    Of each person the newest feedback counts; opposite votes cancel each other. Feedback of an item's own outweighs all
    on others.
    """
    return [_compute_lift(item, feedback) for item in items]


def apply_feedback(order: Sequence[int], *, tiers: Sequence[int], lifts: Sequence[int]) -> RankFeedbackResult:
    """Return the order after the lifted items have moved; `tiers` and `lifts` are by index, as the order is."""
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


def _compute_lift(item: Item, wishes: Sequence[RankFeedbackEntry]) -> int:
    own = {wish.person: wish for wish in wishes if wish.item_id == item.id}
    if own:
        return _OWN_LIFT * _compute_majority(own)
    kind = (item.source_id, item.section, item.type)
    is_of_source = item.source_id is not None
    similar = {
        wish.person: wish
        for wish in sorted(wishes, key=lambda wish: wish.at)
        if is_of_source and (wish.source_id, wish.section, wish.type) == kind
    }
    return _SIMILAR_LIFT * _compute_majority(similar)


def _compute_majority(wishes: dict[str, RankFeedbackEntry]) -> int:
    """Return 1 where more people want it higher than lower, -1 for the opposite, else 0."""
    balance = sum(1 if wish.wish is RankDirection.HIGHER else -1 for wish in wishes.values())
    return (balance > 0) - (balance < 0)


def _find_gap(gap: int, index: int, rest: Sequence[int], tiers: Sequence[int], lift: int) -> int:
    limit = _get_furthest_tier(tiers[index], lift)
    if lift > 0:
        while gap > 0 and tiers[rest[gap - 1]] >= limit:
            gap -= 1
    else:
        while gap < len(rest) and tiers[rest[gap]] <= limit:
            gap += 1
    return gap


def _get_furthest_tier(tier: int, lift: int) -> int:
    return tier - (lift == _OWN_LIFT) + (lift == -_OWN_LIFT)
