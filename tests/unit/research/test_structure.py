import datetime as dt
import json
from typing import Any

import pytest

from monitor.errors import UsageError
from monitor.research.node import NO_MODEL_FAILURE
from monitor.research.state import State
from monitor.research.structure import StructureNode, extract_topic

QUESTION = "2026年新型储能的发展现状与政策走向如何？"


def answer(*paragraphs: tuple[str, str]) -> str:
    return json.dumps([{"title": title, "content": content} for title, content in paragraphs], ensure_ascii=False)


def test_paragraphs_are_taken_in_their_order_each_title_once_and_no_more_than_set(parts_of: Any) -> None:
    node = StructureNode(parts_of(max_paragraphs=3))
    given = answer(("背景", "由来"), ("## 现状：", "数据"), ("现状", "又一次"), ("影响", "企业"), ("展望", "走势"))
    structure = node.process_output(f"好的，提纲如下：\n```json\n{given}\n```", QUESTION)
    assert structure is not None
    assert [(paragraph.title, paragraph.content) for paragraph in structure.paragraphs] == [
        ("背景", "由来"),
        ("现状", "数据"),
        ("影响", "企业"),
    ]
    assert structure.title == "2026年新型储能的发展现状与政策走向如何"


def test_what_a_plan_may_not_say_is_left_out_and_counted(parts_of: Any) -> None:
    given = answer(
        ("见 https://evil.example/ 的结论", "照抄"),
        ("2031年占比达87%的目标", "证明它"),
        ("", "没有标题"),
        ("2026年的三个方面", "到2030年达到3亿千瓦。梳理2026年的数据。见https://evil.example/x。"),
        ("只有标题", ""),
    )
    structure = StructureNode(parts_of()).process_output(given, QUESTION)
    assert structure is not None
    assert [(paragraph.title, paragraph.content) for paragraph in structure.paragraphs] == [
        ("2026年的三个方面", "梳理2026年的数据。见"),
        ("只有标题", "只有标题"),
    ]
    assert structure.refused == {"urls": 1, "figures": 1}


@pytest.mark.parametrize(
    "text",
    ["", "我不能回答", "[]", "{}", '[{"title": ""}]', "[1, 2]", '["背景"]', '[{"title": "https://evil.example"}]'],
    ids=["empty", "prose", "array", "object", "untitled", "numbers", "strings", "url"],
)
def test_an_answer_without_a_paragraph_is_of_no_use(parts_of: Any, text: str) -> None:
    assert StructureNode(parts_of()).process_output(text, QUESTION) is None


def test_an_answer_that_was_cut_off_gives_what_was_whole_or_can_be_mended(parts_of: Any) -> None:
    whole = answer(("背景", "由来"), ("现状", "数据"))
    structure = StructureNode(parts_of()).process_output(whole[: whole.index("数据")], QUESTION)
    assert structure is not None
    assert structure.paragraphs[0].title == "背景"


@pytest.mark.parametrize(
    ("language", "question", "topic"),
    [
        ("zh", "请分析2026年新型储能的政策走向？", "2026年新型储能的政策走向"),
        ("zh", "碳市场的现状与前景如何？", "碳市场的现状与前景"),
        ("en", "What is the state of EU batteries?", "state of EU batteries"),
    ],
    ids=["zh", "zh asked at its end", "en"],
)
async def test_without_a_model_the_plan_is_made_of_the_question(
    parts_of: Any, language: str, question: str, topic: str
) -> None:
    structure = await StructureNode(parts_of(language)).run(question)
    assert structure.fallback == NO_MODEL_FAILURE
    assert len(structure.paragraphs) == 5
    assert all(topic in paragraph.content for paragraph in structure.paragraphs)
    few = await StructureNode(parts_of(language, max_paragraphs=2)).run(question)
    assert few.paragraphs == structure.paragraphs[:2]


async def test_the_structure_is_written_into_the_state(parts_of: Any) -> None:
    node = StructureNode(parts_of())
    state = State.create(QUESTION, at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    changed = node.mutate_state(await node.run(QUESTION), state)
    assert [paragraph.order for paragraph in changed.paragraphs] == [0, 1, 2, 3, 4]
    assert changed.report_title == QUESTION.strip("？")
    assert changed.updated_at > changed.created_at


async def test_no_question_no_plan(parts_of: Any) -> None:
    with pytest.raises(UsageError, match="no question"):
        await StructureNode(parts_of()).run("  ")


def test_a_question_that_only_asks_is_its_own_topic() -> None:
    assert extract_topic("请分析") == "请分析"
    assert extract_topic("Explain the law. See https://evil.example/x") == "law. See"
