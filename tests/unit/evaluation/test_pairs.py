"""Blind pairs: what is shown does not say whose it is, and the choice is kept for the right one."""

from monitor.evaluation.pairs import find_next, list_pairs
from monitor.evaluation.pieces import PieceRow, SummaryWritten
from monitor.vocabulary import Phase


def build_rows(count: int, *, is_kept: bool = True) -> list[PieceRow]:
    return [
        PieceRow(
            contender=contender,
            source="ministry",
            run_id="run",
            phase=Phase.SUMMARISE,
            place=str(item),
            is_answered=is_kept,
            measured=SummaryWritten(
                item_id=item,
                title=f"通知{item}",
                url=f"https://a.example/{item}",
                drafts=1,
                is_kept=is_kept,
                is_kept_at_first=is_kept,
                summary=f"summary of {item} by {contender}",
            ),
        )
        for item in range(count)
        for contender in range(2)
    ]


def test_each_side_belongs_to_each_contender_about_as_often() -> None:
    pairs = list_pairs(build_rows(200), "seed")
    left = sum(pair.show("seed", "anna").left.endswith("by 0") for pair in pairs)
    assert len(pairs) == 200
    assert 70 < left < 130


def test_the_order_is_drawn_for_each_person_anew() -> None:
    pairs = list_pairs(build_rows(50), "seed")
    assert any(pair.show("seed", "anna") != pair.show("seed", "bert") for pair in pairs)
    assert [pair.show("seed", "anna") for pair in pairs] == [pair.show("seed", "anna") for pair in pairs]


def test_a_choice_of_a_side_is_one_for_whose_summary_stood_there() -> None:
    for pair in list_pairs(build_rows(20), "seed"):
        shown = pair.show("seed", "anna")
        assert shown.left.endswith(f"by {pair.get_contender('left', 'seed', 'anna')}")
        assert shown.right.endswith(f"by {pair.get_contender('right', 'seed', 'anna')}")
        assert pair.get_contender("neither", "seed", "anna") is None


def test_summaries_that_were_not_kept_are_not_compared() -> None:
    assert list_pairs(build_rows(3, is_kept=False), "seed") == []


def test_what_was_chosen_does_not_come_again() -> None:
    pairs = list_pairs(build_rows(3), "seed")
    assert find_next(pairs, [pairs[0].pair]) == pairs[1]
    assert find_next(pairs, [pair.pair for pair in pairs]) is None
