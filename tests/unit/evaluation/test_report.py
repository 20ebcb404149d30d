"""Which contender is recommended, and what is compared at all."""

import pytest

from monitor.evaluation.pieces import (
    CallRow,
    ChoiceRow,
    Contender,
    DraftStatement,
    ItemsRanked,
    PieceRow,
    RankWish,
    SummaryWritten,
)
from monitor.evaluation.report import EvaluationFigures, EvaluationRows, compute_figures
from monitor.vocabulary import Phase, RankDirection, Verdict


def write_summary(contender: int, item: int, *, lies: int = 0, cost: float | None = 1.0, ms: int = 10) -> PieceRow:
    verdicts = [*[Verdict.CONTRADICTED] * lies, *[Verdict.SUPPORTED] * (10 - lies)]
    return PieceRow(
        contender=contender,
        source="ministry",
        run_id="run",
        phase=Phase.SUMMARISE,
        place=str(item),
        is_answered=True,
        calls=[CallRow(phase=Phase.SUMMARISE, outcome="ok", prompt_tokens=10, latency_ms=ms, cost=cost)],
        measured=SummaryWritten(
            item_id=item,
            title="t",
            url="https://a.example/",
            drafts=1,
            is_kept=True,
            is_kept_at_first=True,
            summary=f"by {contender}",
            statements=[DraftStatement(text="s", verdict=verdict) for verdict in verdicts],
        ),
    )


def compute(pieces: list[PieceRow], choices: list[ChoiceRow] | None = None) -> EvaluationFigures:
    contenders = [Contender(model="a"), Contender(model="b")]
    rows = EvaluationRows(contenders=contenders, samples=[], pieces=pieces, choices=choices or [], gaps=[])
    return compute_figures(rows)


def taken_for(figures: EvaluationFigures, phase: Phase = Phase.SUMMARISE) -> int | None:
    return next(each.contender for each in figures.recommendations if each.phase is phase)


def test_the_cheaper_one_is_taken_where_both_are_as_good() -> None:
    pieces = [write_summary(n, item, cost=3.0 - n) for item in range(5) for n in (0, 1)]
    assert taken_for(compute(pieces)) == 1


def test_the_better_one_is_taken_however_much_it_costs() -> None:
    pieces = [write_summary(n, item, lies=n, cost=9.0 - 8 * n) for item in range(5) for n in (0, 1)]
    figures = compute(pieces)
    assert taken_for(figures) == 0
    assert len(figures.refused) == 5
    assert {each.contender for each in figures.refused} == {1}


def test_one_without_a_price_is_not_taken_for_the_cheaper_one() -> None:
    pieces = [write_summary(n, item, cost=None if n else 5.0) for item in range(5) for n in (0, 1)]
    assert taken_for(compute(pieces)) == 0


def test_people_decide_between_two_that_are_as_good() -> None:
    pieces = [write_summary(n, item, cost=9.0 - 8 * n) for item in range(8) for n in (0, 1)]
    choices = [ChoiceRow(item_id=item, first=0, second=1, preferred=0, person="anna") for item in range(8)]
    figures = compute(pieces, choices)
    assert figures.pairs[0].p == pytest.approx(2 / 256)
    assert taken_for(figures) == 0


def test_what_one_of_them_has_not_done_is_not_compared() -> None:
    pieces = [write_summary(0, 1), write_summary(0, 2, lies=9), write_summary(1, 1)]
    figures = {each.contender: each for each in compute(pieces).figures if each.phase is Phase.SUMMARISE}
    assert (figures[0].things, figures[1].things) == (1, 1)
    assert figures[0].quality == 1


def test_a_phase_that_nobody_did_has_no_recommendation() -> None:
    assert taken_for(compute([write_summary(0, 1), write_summary(1, 1)]), Phase.NAVIGATE) is None


def test_orders_are_measured_by_what_people_wished() -> None:
    def rank(contender: int, moved: int) -> PieceRow:
        wishes = [RankWish(item_id=1, wish=RankDirection.HIGHER, moved=moved)]
        return PieceRow(
            contender=contender,
            source="ministry",
            run_id="run",
            phase=Phase.RANK,
            place="",
            is_answered=True,
            measured=ItemsRanked(order=[1, 2, 3][:: 1 - 2 * contender], order_by_rule=[1, 2, 3], wishes=wishes),
        )

    figures = compute([rank(0, 2), rank(1, -1)])
    followed = {each.contender: (each.quality, each.opposed) for each in figures.figures if each.phase is Phase.RANK}
    assert followed == {0: (1.0, 0), 1: (0.0, 1)}
    assert taken_for(figures, Phase.RANK) == 0
    taus = {(each.first, each.second): each.tau_b for each in figures.agreements}
    assert taus == {(0, 1): -1, (0, None): 1, (1, None): -1}
