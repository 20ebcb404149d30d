"""How far a research came, as its page tells it from the row and the paragraphs."""

import datetime as dt
from typing import Any

import pytest

from monitor.db.tables.research import Research, ResearchStatus
from monitor.i18n.message import Message
from monitor.research.shapes import ModelBlueprint
from monitor.research.state import ParagraphResearch, ParagraphState, SearchRound, State
from monitor.services.runs import PhaseState
from monitor.web.ui.research import render_graph
from monitor.web.ui.research_progress import build_paragraph_views, build_step_views

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
STEPS = ("plan", "deep_search", "modeling", "reporting")


def row(status: ResearchStatus, done: int, **report: Any) -> Research:
    outputs = {step: {"result": {}, "told": report} for step in STEPS[:done]}
    return Research(id="r", query="q", language="zh", status=status, outputs=outputs, created_at=NOON)


def paragraph(order: int, *rounds: SearchRound, is_completed: bool = False) -> ParagraphState:
    research = ParagraphResearch(
        rounds=list(rounds), is_completed=is_completed, latest_summary="s" if is_completed else ""
    )
    return ParagraphState(title=f"p{order}", content="c", order=order, research=research)


def a_round(number: int = 0, *, is_searched: bool = False, is_summarised: bool = False) -> SearchRound:
    return SearchRound(
        number=number,
        query_id=f"q{number}",
        search_query="x",
        search_tool="basic_search_news",
        is_searched=is_searched,
        is_summarised=is_summarised,
    )


@pytest.mark.parametrize(
    ("status", "done", "expected"),
    [
        ("queued", 0, ["waiting"] * 4),
        ("running", 0, ["now", "waiting", "waiting", "waiting"]),
        ("awaiting_plan", 1, ["done", "waiting", "waiting", "waiting"]),
        ("running", 2, ["done", "done", "now", "waiting"]),
        ("failed", 1, ["done", "stopped", "not_reached", "not_reached"]),
        ("cancelled", 0, ["stopped", "not_reached", "not_reached", "not_reached"]),
        ("degraded", 4, ["done"] * 4),
    ],
)
def test_each_step_says_how_it_stands(status: str, done: int, expected: list[str]) -> None:
    steps = build_step_views(row(ResearchStatus(status), done), None)
    assert [str(step.state) for step in steps] == expected


def test_a_step_says_what_it_took_and_why_it_went_by_rule() -> None:
    reasons = (Message.other("a"), Message.of("research.answer_empty"))
    stored = Message.of("research.reasons", reasons=reasons).to_json()
    report = {"durationMs": 2400, "isFallback": True, "reason": "a; empty", "reasonMessage": stored}
    first, second, *_ = build_step_views(row(ResearchStatus.RUNNING, 1, **report), None)
    assert (first.state, first.seconds, first.is_by_rule) == (PhaseState.DONE, 2.4, True)
    assert first.reasons == reasons
    assert (second.seconds, second.is_by_rule) == (None, False)


def test_the_search_counts_its_finished_paragraphs() -> None:
    state = State.create("q", at=NOON)
    state.paragraphs = [paragraph(0, a_round(), is_completed=True), paragraph(1), paragraph(2)]
    (step,) = (step for step in build_step_views(row(ResearchStatus.RUNNING, 1), state) if step.total)
    assert (step.step, step.done, step.total) == ("deep_search", 1, 3)


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([], "waiting"),
        ([a_round()], "reading"),
        ([a_round(is_searched=True)], "first_summary"),
        ([a_round(is_searched=True, is_summarised=True)], "reflection"),
        ([a_round(), a_round(1, is_searched=True)], "reflection_summary"),
    ],
    ids=["nothing", "chosen", "read", "summed-up", "read-again"],
)
def test_a_paragraph_says_what_is_done_for_it(rounds: list[SearchRound], expected: str) -> None:
    state = State.create("q", at=NOON)
    state.paragraphs = [paragraph(0, *rounds)]
    (going,) = build_paragraph_views(row(ResearchStatus.RUNNING, 1), state)
    assert going.node == expected
    (ended,) = build_paragraph_views(row(ResearchStatus.FAILED, 1), state)
    assert ended.node == "stopped"


def test_a_search_under_way_has_no_results_and_one_that_found_nothing_has_none() -> None:
    state = State.create("q", at=NOON)
    state.paragraphs = [paragraph(0, a_round(is_searched=True), a_round(1))]
    (view,) = build_paragraph_views(row(ResearchStatus.RUNNING, 1), state)
    assert [search.results for search in view.searches] == [0, None]


def test_a_model_in_which_nothing_hangs_together_is_not_drawn() -> None:
    lonely = ModelBlueprint.model_validate({"coreDrivers": [{"name": "a", "description": "b", "evidenceRefs": [0]}]})
    assert render_graph(lonely, "zh", "x") == ""
    assert render_graph(None, "zh", "x") == ""
