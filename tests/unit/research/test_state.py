import datetime as dt
from pathlib import Path

import pytest

from monitor.errors import UsageError
from monitor.research.shapes import PlanParagraph
from monitor.research.state import ParagraphResearch, ParagraphState, SearchEntry, State

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)


def planned(*titles: str) -> State:
    state = State.create("碳市场的最新进展", at=NOON)
    state.apply_plan("碳市场", [PlanParagraph(title=title, content=f"写{title}") for title in titles])
    return state


def test_a_state_that_was_saved_is_loaded_as_it_was(tmp_path: Path) -> None:
    state = planned("背景", "进展")
    entry = SearchEntry(
        query="碳市场", url="https://a.example/1", title="通知", content="全文", score=0.7, timestamp=NOON
    )
    state.paragraphs[1].research = ParagraphResearch(search_history=[entry], latest_summary="已印发[1]。")
    state.save(tmp_path / "state.json")
    assert State.load(tmp_path / "state.json") == state
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize("content", ["", "[]", '{"query": 1}', "{"], ids=["empty", "array", "wrong", "cut"])
def test_a_file_that_holds_no_state_is_refused_in_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match="is not the state"):
        State.load(path)
    with pytest.raises(UsageError, match="cannot be read"):
        State.load(tmp_path / "missing.json")


def test_a_paragraph_counts_only_when_it_is_flagged_and_has_a_summary() -> None:
    state = planned("一", "二", "三", "四")
    states = [(True, "写好了[1]。"), (True, "  "), (False, "写了一半"), (False, "")]
    for paragraph, (is_completed, summary) in zip(state.paragraphs, states, strict=True):
        paragraph.research = ParagraphResearch(is_completed=is_completed, latest_summary=summary)
    assert state.progress == 0.25
    assert State.create("x", at=NOON).progress == 0.0


def test_a_new_plan_takes_the_place_of_the_old_one_with_its_order() -> None:
    state = planned("一", "二")
    state.apply_plan("新题", [PlanParagraph(title="三", content="写三")])
    assert state.paragraphs == [ParagraphState(title="三", content="写三", order=0)]
    assert state.report_title == "新题"
