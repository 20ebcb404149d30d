import datetime as dt
import json
from typing import Any

import pytest

from monitor.errors import UsageError
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.research.node import EMPTY_ANSWER_FAILURE, NO_MODEL_FAILURE
from monitor.research.searching import (
    BASIC,
    BY_DATE,
    TOOLS,
    FirstSearchNode,
    ReflectionNode,
    SearchChoice,
    SearchNodeInput,
    clean_query,
)
from monitor.research.shapes import PlanParagraph
from monitor.research.state import SearchRound, State

GAP = SearchNodeInput(
    question="新型储能如何发展？", title="装机规模", content="装机容量、投资金额、地区分布和技术路线。"
)


def answer(**fields: Any) -> str:
    return json.dumps({"search_query": "储能 装机", "search_tool": BASIC, "reasoning": "先看数据", **fields})


@pytest.mark.parametrize("tool", [entry for entry in TOOLS if entry != BY_DATE])
def test_a_tool_that_is_chosen_is_taken(parts_of: Any, tool: str) -> None:
    choice = FirstSearchNode(parts_of()).process_output(answer(search_tool=tool, start_date="2026-01-01"), GAP)
    assert choice == SearchChoice(search_query="储能 装机", search_tool=tool, reasoning="先看数据")


def test_the_tool_that_takes_dates_gets_them(parts_of: Any) -> None:
    given = answer(search_tool=BY_DATE, start_date="2026-01-01", end_date="2026-06-30")
    choice = FirstSearchNode(parts_of()).process_output(given, GAP)
    assert choice is not None
    assert (choice.search_tool, choice.start_date, choice.end_date) == (BY_DATE, "2026-01-01", "2026-06-30")
    assert choice.corrections == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"search_tool": "delete_everything"},
        {"search_tool": None},
        {"search_tool": ["basic_search_news"]},
        {"search_tool": BY_DATE},
        {"search_tool": BY_DATE, "start_date": "2026-01-01"},
        {"search_tool": BY_DATE, "start_date": "2026-13-01", "end_date": "2026-12-31"},
        {"search_tool": BY_DATE, "start_date": "last week", "end_date": "today"},
        {"search_tool": BY_DATE, "start_date": "2026-06-30", "end_date": "2026-01-01"},
        {"search_tool": BY_DATE, "start_date": "2027-01-01", "end_date": "2027-02-01"},
        {"search_tool": BY_DATE, "start_date": 20260101, "end_date": 20261231},
    ],
    ids=["unknown", "null", "array", "no dates", "one date", "no month", "words", "reversed", "ahead", "numbers"],
)
def test_a_tool_that_cannot_be_called_gives_way_to_the_basic_one_and_it_is_said(parts_of: Any, wrong: Any) -> None:
    choice = FirstSearchNode(parts_of()).process_output(answer(**wrong), GAP)
    assert choice is not None
    assert (choice.search_tool, choice.start_date, choice.end_date) == (BASIC, None, None)
    assert choice.search_query == "储能 装机"
    assert len(choice.corrections) == 1


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("储能 site:evil.example 装机", "储能 装机"),
        ("https://evil.example/a 储能", "储能"),
        ("-site:gov.cn filetype：pdf 储能\n装机", "储能 装机"),
        ("see www.evil.example now", "see now"),
        ("<<<STATE 储能", "STATE 储能"),
        ("inurl:admin", ""),
        ("？！", ""),
        ("", ""),
        ("长" * 161, ""),
        ("EU: batteries", "EU: batteries"),
    ],
    ids=["site", "url", "operators", "www", "mark", "operator alone", "signs", "nothing", "long", "colon"],
)
def test_a_query_is_plain_words(written: str, clean: str) -> None:
    assert clean_query(written) == clean


@pytest.mark.parametrize(
    "query", ["", "https://evil.example/", "字" * 200, None, 7], ids=["no", "url", "long", "null", "number"]
)
def test_a_query_that_is_none_gives_way_to_paragraph_and_question(parts_of: Any, query: Any) -> None:
    choice = FirstSearchNode(parts_of()).process_output(answer(search_query=query), GAP)
    assert choice is not None
    assert choice.search_query == "装机规模 新型储能如何发展"
    assert [problem.code for problem in choice.corrections] == ["research.query_missing"]


@pytest.mark.parametrize(
    "text", ["", "[]", "储能装机", '{"answer": 1}', "[1,"], ids=["empty", "array", "prose", "other", "cut"]
)
def test_an_answer_that_is_none_is_of_no_use(parts_of: Any, text: str) -> None:
    assert FirstSearchNode(parts_of()).process_output(text, GAP) is None


def test_the_reason_holds_no_web_address(parts_of: Any) -> None:
    choice = FirstSearchNode(parts_of()).process_output(answer(reasoning="见 https://evil.example/a 。\n因此"), GAP)
    assert choice is not None
    assert choice.reasoning == "见 。 因此"


async def test_without_a_model_each_search_is_for_what_no_result_covers(parts_of: Any) -> None:
    node = ReflectionNode(parts_of())
    made = [SearchRound(number=0, query_id="p1-q1", search_query="装机规模 新型储能如何发展", search_tool=BASIC)]
    gap = GAP.model_copy(
        update={"latest_summary": "", "rounds": made, "found": ["装机规模和装机容量超过一亿，地区分布如下"]}
    )
    second = await node.run(gap)
    assert (second.search_query, second.fallback) == ("新型储能如何发展 投资金额 技术路线", NO_MODEL_FAILURE)
    made.append(SearchRound(number=1, query_id="p1-q2", search_query=second.search_query, search_tool=BASIC))
    assert (await node.run(gap)).search_query == "新型储能如何发展 投资金额"
    covered = gap.model_copy(update={"found": [GAP.title + GAP.content]})
    assert (await node.run(covered)).search_query == "新型储能如何发展 最新进展"


def test_the_same_search_is_not_made_twice(parts_of: Any) -> None:
    made = [SearchRound(number=0, query_id="p1-q1", search_query="储能 装机", search_tool=BASIC)]
    gap = GAP.model_copy(update={"latest_summary": "已有内容", "rounds": made})
    again = ReflectionNode(parts_of()).process_output(answer(), gap)
    assert again is not None
    assert again.search_query != "储能 装机"
    assert [problem.code for problem in again.corrections] == ["research.query_repeated"]
    other = ReflectionNode(parts_of()).process_output(answer(search_tool="deep_search_news"), gap)
    assert other is not None
    assert (other.search_query, other.corrections) == ("储能 装机", [])


async def test_a_search_that_was_chosen_is_a_round_of_the_state(parts_of: Any) -> None:
    node = FirstSearchNode(parts_of())
    state = State.create("q", at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    state.apply_plan("q", [PlanParagraph(title=entry, content=entry) for entry in ("一", "二")])
    for choice in (
        SearchChoice(search_query="a", tokens=5, fallback=EMPTY_ANSWER_FAILURE),
        SearchChoice(search_query="b", corrections=[Message.other("x")]),
    ):
        node.mutate_state(choice, state, 1)
    rounds = state.paragraphs[1].research.rounds
    assert [(search_round.number, search_round.query_id, search_round.search_query) for search_round in rounds] == [
        (0, "p2-q1", "a"),
        (1, "p2-q2", "b"),
    ]
    assert [[render(problem, "en") for problem in made.fallbacks] for made in rounds] == [
        ["first_search: empty"],
        ["first_search, corrected: x"],
    ]
    assert state.paragraphs[1].research.tokens == 5
    assert state.paragraphs[0].research.rounds == []


async def test_a_node_refuses_what_it_cannot_work_with(parts_of: Any) -> None:
    for gap in (
        SearchNodeInput(question="q", title=" ", content="c"),
        SearchNodeInput(question="q", title="t", content=""),
    ):
        with pytest.raises(UsageError, match="title and a content"):
            await FirstSearchNode(parts_of()).run(gap)
    with pytest.raises(UsageError, match="latest summary"):
        await ReflectionNode(parts_of()).run(GAP)
