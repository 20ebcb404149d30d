import datetime as dt
import json
from typing import Any

import pytest

from monitor.errors import UsageError
from monitor.i18n.catalogue import render
from monitor.research.node import EMPTY_ANSWER_FAILURE, NO_MODEL_FAILURE
from monitor.research.searching import BASIC
from monitor.research.state import ParagraphState, SearchEntry, SearchRound, State
from monitor.research.summarising import FirstSummaryNode, ParagraphSummary, ReflectionSummaryNode, SummaryNodeInput

NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
TEXTS = (
    "截至2026年9月底，全国新型储能装机规模达到1.2亿千瓦，同比增长45%。锂电池占比最高。",
    "《新型储能管理办法》（发改能源〔2026〕118号）自2026年7月1日起施行，要求优化调度。",
    "",
)


def entry(number: int, text: str) -> SearchEntry:
    return SearchEntry(
        query="储能",
        url=f"https://a{number}.example/",
        title=f"标题{number}",
        content=text,
        score=0.5,
        timestamp=NOON,
        query_id="p1-q1",
    )


def material(latest: str = "", remark: str = "", shown: tuple[int, ...] = (0, 1)) -> SummaryNodeInput:
    paragraph = ParagraphState(title="储能现状", content="新型储能装机和政策", order=0)
    paragraph.research.search_history = [entry(number, text) for number, text in enumerate(TEXTS)]
    paragraph.research.rounds = [SearchRound(number=0, query_id="p1-q1", search_query="储能", search_tool=BASIC)]
    paragraph.research.latest_summary = latest
    return SummaryNodeInput(question="储能如何？", paragraph=paragraph, query="储能", shown=list(shown), remark=remark)


def answer(text: str, key: str = "paragraph_latest_state", **more: Any) -> str:
    return json.dumps({key: text, **more}, ensure_ascii=False)


def test_only_sentences_that_rest_on_the_results_are_kept(parts_of: Any) -> None:
    written = (
        "新型储能装机规模达到1.2亿千瓦[1]。装机规模将达到9亿千瓦[1]。《新型储能管理办法》自2026年7月1日起施行[2]。"
        "锂电池占比最高。据https://evil.example报道装机增长[1]。装机规模同比增长45%[7]。"
    )
    summary = FirstSummaryNode(parts_of()).process_output(answer(written), material())
    assert summary is not None
    assert summary.text == "新型储能装机规模达到1.2亿千瓦[1]。《新型储能管理办法》自2026年7月1日起施行[2]。"
    assert summary.refused == {"figures": 1, "uncited": 1, "urls": 1, "citations": 1}


def test_quotes_are_taken_only_from_the_results(parts_of: Any) -> None:
    quotes = [
        {"result": 1, "quote": "锂电池占比最高。"},
        {"result": 2, "quote": "锂电池占比最高。"},
        {"result": 9},
        "x",
    ]
    summary = FirstSummaryNode(parts_of()).process_output(answer("锂电池占比最高[1]。", quotes=quotes), material())
    assert summary is not None
    assert summary.quotes == {0: ["锂电池占比最高。"]}
    assert summary.refused == {"quotes": 3}


@pytest.mark.parametrize(
    "text",
    ["", '{"note": "x"}', '{"paragraph_latest_state": 3}', '{"paragraph_latest_state": " "}'],
    ids=["empty", "other", "number", "blank"],
)
def test_an_answer_without_a_text_is_of_no_use(parts_of: Any, text: str) -> None:
    assert FirstSummaryNode(parts_of()).process_output(text, material()) is None


def test_a_text_without_its_json_is_checked_like_any_other(parts_of: Any) -> None:
    summary = FirstSummaryNode(parts_of()).process_output("<think>嗯</think>锂电池占比最高[1]。", material())
    assert summary is not None
    assert summary.text == "锂电池占比最高[1]。"


def test_a_revision_does_not_lose_what_was_sound(parts_of: Any) -> None:
    before = "新型储能装机规模达到1.2亿千瓦[1]。锂电池占比最高[1]。"
    written = answer("全国新型储能装机规模达到1.2亿千瓦，同比增长45%[1]。《新型储能管理办法》自2026年7月1日起施行[2]。")
    node = ReflectionSummaryNode(parts_of())
    revised = node.process_output(written, material(before))
    assert revised is not None
    assert revised.text == (
        "锂电池占比最高[1]。全国新型储能装机规模达到1.2亿千瓦，同比增长45%[1]。《新型储能管理办法》自2026年7月1日起施行[2]。"
    )
    nothing = node.process_output(answer("装机将达9亿千瓦[1]。"), material(before))
    assert nothing is not None
    assert nothing.text == ""
    asked_for = node.process_output(written, material(before, remark="不要写电池"))
    assert asked_for is not None
    assert "锂电池" not in asked_for.text


async def test_without_a_model_sentences_of_the_results_take_the_place_of_a_text(parts_of: Any) -> None:
    summary = await FirstSummaryNode(parts_of()).run(material())
    assert summary.fallback == NO_MODEL_FAILURE
    assert "[1]。" in summary.text
    assert "[2]。" in summary.text
    before = "锂电池占比最高[1]。"
    revised = await ReflectionSummaryNode(parts_of()).run(material(before))
    assert "锂电池占比最高" in revised.text
    assert "[2]。" in revised.text


def test_a_text_is_written_into_the_state_with_what_it_cost(parts_of: Any) -> None:
    given = material()
    state = State(query="q", paragraphs=[given.paragraph], created_at=NOON, updated_at=NOON)
    state.paragraphs[0].research.refused = {"figures": 1}
    out = ParagraphSummary(
        text="新[1]。",
        tokens=7,
        quotes={0: ["锂电池占比最高。"]},
        refused={"figures": 2},
        fallback=EMPTY_ANSWER_FAILURE,
    )
    FirstSummaryNode(parts_of()).mutate_state(out, state, 0)
    research = state.paragraphs[0].research
    assert (research.latest_summary, research.tokens, research.refused) == ("新[1]。", 7, {"figures": 3})
    assert research.search_history[0].quotes == ["锂电池占比最高。"]
    assert research.rounds[0].is_summarised
    assert [render(problem, "en") for problem in research.rounds[0].fallbacks] == ["first_summary: empty"]


async def test_a_node_refuses_what_it_cannot_work_with(parts_of: Any) -> None:
    for shown in ((), (2,)):
        with pytest.raises(UsageError, match="results with text"):
            await FirstSummaryNode(parts_of()).run(material(shown=shown))
    with pytest.raises(UsageError, match="latest summary"):
        await ReflectionSummaryNode(parts_of()).run(material())
