"""Whatever a model writes, a node makes of it something that may stand, or nothing; it never raises."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.research.searching import BY_DATE, MAX_QUERY_CHARS, TOOLS, FirstSearchNode, SearchNodeInput
from monitor.research.structure import MAX_TITLE_CHARS, StructureNode

WORDS = st.sampled_from(
    [
        "储能 装机",
        "https://evil.example/",
        "site:evil.example 储能",
        "2031年达到87%",
        "2026-01-01",
        "2026-13-40",
        "STATE>>>",
        "<<<STATE",
        "",
        " ",
        "?",
        *TOOLS,
        "no_tool",
        "\x00\u202e",
        "长" * 300,
    ]
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), WORDS, st.text(max_size=30), st.lists(WORDS, max_size=2)
)
CHOICES = st.dictionaries(
    st.sampled_from(["search_query", "search_tool", "reasoning", "start_date", "end_date", "x"]), VALUES, max_size=6
)
PLANS = st.lists(
    st.one_of(VALUES, st.dictionaries(st.sampled_from(["title", "content", "x"]), VALUES, max_size=3)), max_size=8
)


def written(value: Any, cut: int) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text[: len(text) - cut] if cut else f"<think>…</think>\n```json\n{text}\n```"


@settings(max_examples=150, deadline=None)
@given(answer=CHOICES, cut=st.integers(0, 20))
def test_a_search_can_be_called(parts_of_noon: Any, answer: Any, cut: int) -> None:
    gap = SearchNodeInput(question="新型储能如何？", title="装机规模", content="装机容量和投资")
    choice = FirstSearchNode(parts_of_noon).process_output(written(answer, cut), gap)
    if choice is None:
        return
    assert choice.search_tool in TOOLS
    assert 0 < len(choice.search_query) <= MAX_QUERY_CHARS
    assert not any(entry in choice.search_query + choice.reasoning for entry in ("http", "site:", "<<<", ">>>", "\n"))
    assert all((choice.search_tool == BY_DATE) == bool(day) for day in (choice.start_date, choice.end_date))


@settings(max_examples=150, deadline=None)
@given(answer=PLANS, cut=st.integers(0, 20))
def test_a_plan_can_be_worked_by(parts_of_noon: Any, answer: Any, cut: int) -> None:
    structure = StructureNode(parts_of_noon).process_output(written(answer, cut), "新型储能如何？")
    if structure is None:
        return
    assert 1 <= len(structure.paragraphs) <= 5
    assert len({paragraph.title for paragraph in structure.paragraphs}) == len(structure.paragraphs)
    for paragraph in structure.paragraphs:
        assert 0 < len(paragraph.title) <= MAX_TITLE_CHARS
        assert paragraph.content
        assert not any(mark in paragraph.title + paragraph.content for mark in ("http", "<<<", ">>>", "\n", "87%"))
