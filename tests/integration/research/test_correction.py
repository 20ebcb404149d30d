"""A text of which no sentence stands is asked for once more, and no more than once."""

import json
from typing import Any

import pytest

from monitor.config.llm import LlmSettings
from monitor.db.tables.collection import ModelCall
from monitor.llm.client import ModelClient
from monitor.research.node import UNUSABLE_ANSWER_FAILURE
from monitor.research.searching import BASIC
from monitor.research.state import ParagraphState, SearchEntry, SearchRound
from monitor.research.summarising import FirstSummaryNode, ReflectionSummaryNode, SummaryNodeInput
from tests.conftest import name_services

INVENTED = {"paragraph_latest_state": "装机将达9亿千瓦[1]。储能发展很快。"}
SOUND = {"paragraph_latest_state": "新型储能装机达到1.2亿千瓦[1]。"}


@pytest.fixture
async def asked(lab: Any, site: Any, reply: Any) -> Any:
    """Runs a node on a paragraph with one result; the model gives these answers, one after another."""
    requests: list[list[dict[str, str]]] = []

    async def run(node: Any, answers: list[Any], before: str = "") -> tuple[Any, list[list[dict[str, str]]]]:
        def answered(one: Any) -> Any:
            requests.append(json.loads(one.body)["messages"])
            content = json.dumps(answers[len(requests) - 1], ensure_ascii=False)
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
            usage = {"prompt_tokens": 10, "completion_tokens": 5}
            return reply(json.dumps({"choices": [choice], "usage": usage}), 200, {"content-type": "application/json"})

        async def record(row: ModelCall) -> None:
            lab.calls.append(row)

        site.on("/v1/chat/completions", answered)
        server = ModelClient(LlmSettings(base_url=site.url("/v1"), max_retries=0), name_services(site.url("/v1")))
        lab.stack.push_async_callback(server.close)
        parts = await lab.parts(model=server.for_run("t1", record=record, clock=lab.clock))
        paragraph = ParagraphState(title="储能现状", content="新型储能装机", order=0)
        text = "新型储能装机达到1.2亿千瓦。电池占比最高。"
        paragraph.research.search_history = [
            SearchEntry(
                query="储能", url="https://a.example/", title="储能", content=text, score=0.5, timestamp=lab.clock.now()
            )
        ]
        paragraph.research.rounds = [SearchRound(number=0, query_id="p1-q1", search_query="储能", search_tool=BASIC)]
        paragraph.research.latest_summary = before
        draft = SummaryNodeInput(question="储能如何？", paragraph=paragraph, query="储能", shown=[0])
        return await node(parts).run(draft), requests

    return run


async def test_the_model_is_told_what_was_wrong_and_its_second_answer_counts(asked: Any) -> None:
    summary, requests = await asked(FirstSummaryNode, [INVENTED, SOUND])
    assert (summary.text, summary.fallback) == ("新型储能装机达到1.2亿千瓦[1]。", None)
    assert summary.refused == {"figures": 1, "uncited": 1}
    assert summary.tokens == 30
    first, second = requests
    assert [entry["role"] for entry in second] == ["system", "user", "assistant", "user"]
    assert second[:2] == first
    assert "不在所注结果的正文里" in second[3]["content"]
    assert "没有注明结果编号" in second[3]["content"]


async def test_two_answers_of_which_nothing_stands_give_way_to_extracts(asked: Any) -> None:
    summary, requests = await asked(FirstSummaryNode, [INVENTED, INVENTED])
    assert len(requests) == 2
    assert summary.fallback.code == "research.answer_unsupported"
    assert "新型储能装机达到1.2亿千瓦[1]。" in summary.text
    assert summary.refused == {"figures": 2, "uncited": 2}


async def test_a_revision_of_which_nothing_stands_leaves_the_text_as_it_was(asked: Any) -> None:
    summary, requests = await asked(ReflectionSummaryNode, [INVENTED, {"note": 1}], before="电池占比最高[1]。")
    assert len(requests) == 2
    assert summary.fallback == UNUSABLE_ANSWER_FAILURE
    assert "电池占比最高[1]。" in summary.text
    assert "9亿" not in summary.text


async def test_an_answer_that_is_no_json_twice_is_no_end(asked: Any) -> None:
    summary, _ = await asked(FirstSummaryNode, [{"note": 1}, {"paragraph_latest_state": None}])
    assert summary.fallback == UNUSABLE_ANSWER_FAILURE
    assert summary.text
