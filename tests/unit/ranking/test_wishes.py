"""What feedback does to an order, and how far it goes at most."""

import datetime as dt
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from monitor.db.tables.collection import Item
from monitor.db.tables.people import RankFeedbackEntry
from monitor.ranking.feedback import apply_feedback, compute_lifts
from monitor.vocabulary import ItemType, RankDirection

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
HIGHER, LOWER = RankDirection.HIGHER, RankDirection.LOWER


def item(number: int, **fields: Any) -> Item:
    values: dict[str, Any] = {"source_id": 1, "section": "通知", "type": ItemType.NOTICE} | fields
    return Item(id=number, run_id="run", source="甲", url="https://gov.example", title="", first_seen=NOON, **values)


def wish(number: int, said: RankDirection, person: str = "wang", *, hour: int = 0, **fields: Any) -> RankFeedbackEntry:
    values: dict[str, Any] = {"source_id": 1, "section": "通知", "type": ItemType.NOTICE} | fields
    return RankFeedbackEntry(item_id=number, person=person, wish=said, at=NOON + dt.timedelta(hours=hour), **values)


def test_an_item_moves_further_than_those_that_are_like_it() -> None:
    items = [item(1), item(2), item(3, section="公告"), item(4, type=ItemType.DATA), item(5, source_id=2)]
    assert compute_lifts(items, [wish(1, HIGHER)]) == [2, 1, 0, 0, 0]
    assert compute_lifts(items, [wish(1, LOWER)]) == [-2, -1, 0, 0, 0]
    assert compute_lifts(items, []) == [0, 0, 0, 0, 0]


def test_the_newest_word_of_each_person_counts_and_opposite_words_cancel_each_other() -> None:
    others = [wish(8, LOWER, hour=1), wish(9, HIGHER, hour=2)]
    assert compute_lifts([item(1)], others) == [1]
    assert compute_lifts([item(1)], [*others, wish(9, LOWER, "li")]) == [0]
    assert compute_lifts([item(1)], [*others, wish(9, LOWER, "li"), wish(9, LOWER, "hu")]) == [-1]
    assert compute_lifts([item(1)], [wish(1, HIGHER), wish(1, LOWER, "li"), wish(9, LOWER)]) == [0]


def test_items_of_no_source_any_more_have_nothing_that_is_like_them() -> None:
    assert compute_lifts([item(1, source_id=None)], [wish(9, HIGHER, source_id=None)]) == [0]


def test_feedback_on_an_item_takes_it_past_its_own_tier_and_the_next() -> None:
    after = apply_feedback([0, 1, 2, 3, 4], tiers=[1, 2, 2, 3, 3], lifts=[0, 0, 0, 0, 2])
    assert (after.order, after.moved, after.tiers) == ([0, 4, 1, 2, 3], {4: HIGHER}, {4: 2})
    after = apply_feedback([0, 1, 2, 3, 4], tiers=[1, 2, 3, 3, 4], lifts=[0, -2, 0, 0, 0])
    assert (after.order, after.moved, after.tiers) == ([0, 2, 3, 1, 4], {1: LOWER}, {1: 3})


def test_what_is_like_it_stays_in_its_tier() -> None:
    after = apply_feedback([0, 1, 2, 3], tiers=[1, 2, 2, 3], lifts=[0, 0, 1, 0])
    assert (after.order, after.moved, after.tiers) == ([0, 2, 1, 3], {2: HIGHER}, {})
    assert apply_feedback([0, 1, 2], tiers=[2, 1, 2], lifts=[0, 0, 1]).moved == {}


def test_nothing_leaves_the_highest_or_the_lowest_tier() -> None:
    after = apply_feedback([0, 1], tiers=[1, 5], lifts=[2, -2])
    assert (after.order, after.moved, after.tiers) == ([0, 1], {}, {0: 1, 1: 5})


@st.composite
def rankings(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    count = draw(st.integers(0, 12))
    order = draw(st.permutations(range(count)))
    tiers = draw(st.lists(st.integers(1, 5), min_size=count, max_size=count))
    lifts = draw(st.lists(st.sampled_from([-2, -1, 0, 0, 0, 1, 2]), min_size=count, max_size=count))
    return order, tiers, lifts


@given(rankings())
def test_no_item_passes_what_is_further_than_a_tier_away_and_twice_is_as_once(
    drawn: tuple[list[int], list[int], list[int]],
) -> None:
    order, tiers, lifts = drawn
    after = apply_feedback(order, tiers=tiers, lifts=lifts)
    assert sorted(after.order) == sorted(order)
    assert apply_feedback(after.order, tiers=tiers, lifts=lifts).order == after.order
    assert [n for n in after.order if not lifts[n]] == [n for n in order if not lifts[n]]
    before, now = ({n: place for place, n in enumerate(group)} for group in (order, after.order))
    for n in (n for n in order if lifts[n]):
        for other in (other for other in order if not lifts[other]):
            has_passed = (before[n] < before[other]) != (now[n] < now[other])
            reach = tiers[n] - (lifts[n] == 2) + (lifts[n] == -2)
            is_near = tiers[other] >= reach if lifts[n] > 0 else tiers[other] <= reach
            is_right_direction = (now[n] < now[other]) == (lifts[n] > 0)
            assert not has_passed or (is_near and is_right_direction)
