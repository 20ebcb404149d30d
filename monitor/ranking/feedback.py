"""Applies people's feedback to an order: an item moves past the next tier, those like it past their own."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.db.tables.collection import Item
from monitor.db.tables.people import RankFeedbackEntry
from monitor.vocabulary import RankDirection

_OWN_LIFT, _SIMILAR_LIFT = 2, 1
_Wishes = defaultdict[object, dict[str, RankFeedbackEntry]]
"""The newest wish of each person, by what it is about."""

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
    by_item: _Wishes = defaultdict(dict)
    for wish in feedback:
        by_item[wish.item_id][wish.person] = wish
    by_kind: _Wishes = defaultdict(dict)
    for wish in sorted(feedback, key=lambda wish: wish.at):
        if wish.source_id is not None:
            by_kind[wish.source_id, wish.section, wish.type][wish.person] = wish
    return [_compute_lift(item, by_item, by_kind) for item in items]


def apply_feedback(order: Sequence[int], *, tiers: Sequence[int], lifts: Sequence[int]) -> RankFeedbackResult:
    """Return the order after the lifted items have moved; `tiers` and `lifts` are by index, as the order is."""
    rest = [index for index in order if not lifts[index]]
    gaps: dict[int, list[int]] = {}
    moved: dict[int, RankDirection] = {}
    reached: dict[int, int] = {}
    rest_tiers = [tiers[index] for index in rest]
    bounds: dict[tuple[bool, int], list[int]] = {}
    gap = 0
    for index in order:
        if not lifts[index]:
            gap += 1
            continue
        limit = _get_furthest_tier(tiers[index], lifts[index])
        key = (lifts[index] > 0, limit)
        if key not in bounds:
            bounds[key] = _list_bounds(rest_tiers, lifts[index], limit)
        place = bounds[key][gap]
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


def _compute_lift(item: Item, by_item: _Wishes, by_kind: _Wishes) -> int:
    if own := by_item.get(item.id):
        return _OWN_LIFT * _compute_majority(own)
    similar = by_kind.get((item.source_id, item.section, item.type), {})
    return _SIMILAR_LIFT * _compute_majority(similar)


def _compute_majority(wishes: dict[str, RankFeedbackEntry]) -> int:
    """Return 1 where more people want it higher than lower, -1 for the opposite, else 0."""
    balance = sum(1 if wish.wish is RankDirection.HIGHER else -1 for wish in wishes.values())
    return (balance > 0) - (balance < 0)


def _list_bounds(tiers: Sequence[int], lift: int, limit: int) -> list[int]:
    """Return for each gap between items of these tiers the one that a lift reaches, which stops at the limit."""
    bounds = list(range(len(tiers) + 1))
    if lift > 0:
        for gap, tier in enumerate(tiers, start=1):
            bounds[gap] = bounds[gap - 1] if tier >= limit else gap
    else:
        for gap in range(len(tiers) - 1, -1, -1):
            bounds[gap] = bounds[gap + 1] if tiers[gap] <= limit else gap
    return bounds


def _get_furthest_tier(tier: int, lift: int) -> int:
    return tier - (lift == _OWN_LIFT) + (lift == -_OWN_LIFT)
