import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.llm.answers import extract_plain_text, parse_array, parse_object, parse_tool_arguments

SECTIONS = [{"name": "政策法规", "url": "http://a.gov.cn/zcfg/"}, {"name": "通知公告", "url": "http://a.gov.cn/tzgg/"}]
WRITTEN = json.dumps(SECTIONS, ensure_ascii=False)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(st.characters(codec="utf-8", exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="ascii", exclude_characters="\0")), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "text",
    [
        WRITTEN,
        f"```json\n{WRITTEN}\n```",
        f"~~~\n{WRITTEN}\n~~~",
        f"好的，以下是栏目：\n\n{WRITTEN}\n\n希望对您有帮助。",
        f"根据要求[1]（见【注】），答案如下：{WRITTEN} 以上依据[2]。",
        f'<think>[1,2] or {{"a": [3]}}?</think>{WRITTEN}',
        f'<THINK>先看看 [{{"name": "x", "url": "http://b/"}}]</THINK>\n```json\n{WRITTEN}\n```',
        f'the template opened it [{{"name": 1}}]</think>{WRITTEN}',
        f"<think>a <think>[9]</think> b</think>{WRITTEN}",
        f"<think>not closed, [1] then the answer\n{WRITTEN}",
        f"{WRITTEN}\n<think>was that right? [1, 2",
        WRITTEN.replace("}]", "},]").replace('"}', '",}'),
        WRITTEN.replace('"', "'"),
        WRITTEN.replace('"', "“", 1).replace('"', "”", 1),
        WRITTEN.replace(", ", "，").replace(": ", "：").replace("[", "［").replace("]", "］"),
        "[{name: 政策法规, url: http://a.gov.cn/zcfg/}, {name: 通知公告, url: http://a.gov.cn/tzgg/}]",
        WRITTEN[:-1],
        WRITTEN[:-1] + ', {"name": "人事", "url": "http://a.go',
        json.dumps({"sections": SECTIONS}),
        json.dumps({"count": 2, "sections": SECTIONS})[:-2],
        "\n".join(json.dumps(entry) for entry in SECTIONS),
        f"首先是 [首页](http://a.gov.cn/) 上的链接。\n{WRITTEN}",
        f'[{{"name": "旧", "url": "http://a.gov.cn/old/"}}]\n不对，更正：\n{WRITTEN}',
        f"[1, 2]\n{WRITTEN}\n[3]",
    ],
)
def test_an_array_of_objects_is_found_however_it_is_wrapped_or_broken(text: str) -> None:
    assert parse_array(text, element_type=dict) == SECTIONS


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("[2, 0, 1]", [2, 0, 1]),
        ("最重要的是 [0]，其次 [1]。排序：[2, 0, 1]", [2, 0, 1]),
        ("[2, 0, 1", [2, 0]),
        ("[2 0 1]", [2, 0, 1]),
        ('[2, "0", 1, 99, null,]', [2, "0", 1, 99, None]),
        ("先 [0, 1, 2]，再想：[2, 1, 0]", [2, 1, 0]),
        ('{"ranking": [2, 0, 1]}', [2, 0, 1]),
        ("[2, 0, 1] // by importance", [2, 0, 1]),
        ("[]", []),
    ],
)
def test_an_order_is_found(text: str, numbers: list[object]) -> None:
    assert parse_array(text) == numbers


@pytest.mark.parametrize(
    "text", ["", "sorry, no", "抱歉，我无法完成。", "[", "{]", "[{", '[{"name": "x", "ur', "5", "null"]
)
def test_no_array_is_none(text: str) -> None:
    assert parse_array(text) is None


def test_thinking_that_was_cut_off_is_no_answer() -> None:
    assert parse_array("<think>First I compare [0] and [1], and [1, 0] seems") is None
    assert parse_object("<think>maybe {}, but then") is None
    assert extract_plain_text("<think>The article says") == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"url": "http://a/b,c", "offset": 2}', {"url": "http://a/b,c", "offset": 2}),
        (
            '{"title": "关于"十四五"规划的通知", "url": "http://a/1"}',
            {"title": '关于"十四五"规划的通知', "url": "http://a/1"},
        ),
        ("{'title': 'it\\'s new', 'url': null}", {"title": "it's new", "url": None}),
        ('{"a": True, "b": None,}', {"a": True, "b": None}),
        ('[{"a": 1}]', {"a": 1}),
        ('{"a": "line\nbreak", "path": "c:\\data"}', {"a": "line\nbreak", "path": "c:\\data"}),
        ('{"items": [{"title": "a"}, {"title": "b"}, {"title": "c', {"items": [{"title": "a"}, {"title": "b"}]}),
        ('{"title": "a", "url": "http://a/1", "date": ', {"title": "a", "url": "http://a/1"}),
        ('{"date": 2026-02-03}', {"date": "2026-02-03"}),
        ('{"a": "x" "b": "y"}', {"a": "x", "b": "y"}),
        ('{"a": "\\ud800", "b": NaN, "c": 1e999}', {"a": "\ufffd", "b": None, "c": None}),
    ],
)
def test_an_object_is_found(text: str, value: dict[str, object]) -> None:
    assert parse_object(text) == value


def test_tool_arguments_are_an_object_or_nothing() -> None:
    assert parse_tool_arguments("") == {}
    assert parse_tool_arguments("  ") == {}
    assert parse_tool_arguments('{"url": "http://a/"') == {"url": "http://a/"}
    assert parse_tool_arguments('```json\n{"url": "http://a/"}\n```') == {"url": "http://a/"}
    assert parse_tool_arguments("[1, 2]") is None
    assert parse_tool_arguments('"http://a/"') is None
    assert parse_tool_arguments("nonsense") is None


def test_an_answer_stands_within_prose() -> None:
    assert parse_object('so: {"a": [1]}') == {"a": [1]}
    assert parse_array("so: [1, {}]") == [1, {}]
    assert parse_object("sorry, no") is None


@pytest.mark.parametrize(
    "text",
    [
        "总投资12亿元。",
        "  总投资12亿元。\n",
        "<think>let me {see}</think>\n\n总投资12亿元。",
        "```\n总投资12亿元。\n```",
        "```text\n“总投资12亿元。”\n```",
        "“总投资12亿元。”",
        '"总投资12亿元。"',
        "摘要：总投资12亿元。",
        "**摘要**：总投资12亿元。",
        "## Summary: 总投资12亿元。",
        '{"summary": "总投资12亿元。",}',
        '```json\n{"summary": "总投资12亿元。"}\n```',
    ],
)
def test_a_summary_comes_without_its_wrapping(text: str) -> None:
    assert extract_plain_text(text) == "总投资12亿元。"


def test_quotation_marks_inside_a_summary_stay() -> None:
    assert extract_plain_text("“双碳”目标与“十四五”") == "“双碳”目标与“十四五”"


@given(st.text(max_size=400))
def test_no_text_makes_the_parser_raise(text: str) -> None:
    parse_array(text)
    parse_object(text)
    parse_tool_arguments(text)
    extract_plain_text(text)


PIECES = [*"[]{}\"',:，“”\\a1- \n`#/", "\\u12", "<think>", "</think>", "//", "null"]


@given(st.lists(st.sampled_from(PIECES), max_size=60))
def test_no_heap_of_punctuation_makes_the_parser_raise(pieces: list[str]) -> None:
    text = "".join(pieces)
    parse_array(text)
    parse_object(text)
    extract_plain_text(text)


@given(st.lists(json_values, max_size=5), st.sampled_from(["", "好的：\n", "Here it is. ", "```json\n"]))
def test_a_good_array_in_prose_is_found_as_it_is(value: list[object], before: str) -> None:
    after = "\n```\n完毕。" if before.startswith("```") else "\n完毕。"
    assert parse_array(before + json.dumps(value, ensure_ascii=False) + after) == value


records = st.dictionaries(
    st.sampled_from("abc"), st.integers() | st.text(st.characters(codec="ascii", exclude_characters="\0")), min_size=1
)


@given(st.lists(records, min_size=2, max_size=5), st.data())
def test_a_truncated_array_keeps_exactly_its_whole_elements(
    written: list[dict[str, object]], data: st.DataObject
) -> None:
    pieces = [json.dumps(entry) for entry in written]
    whole = data.draw(st.integers(1, len(written) - 1))
    cut = data.draw(st.integers(0, len(pieces[whole]) - 1))
    text = "[" + ", ".join(pieces[:whole]) + ", " + pieces[whole][:cut]
    expected = [
        {k: v.replace("\0", "") if isinstance(v, str) else v for k, v in entry.items()} for entry in written[:whole]
    ]
    assert parse_array(text, element_type=dict) == expected


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"a":' * 50_000, "[1," * 50_000, '"' * 100_000, "[ " + '"a ' * 50_000, "{" + "a:" * 100_000],
)
def test_a_hostile_answer_takes_no_long_time(text: str) -> None:
    began = time.perf_counter()
    parse_array(text)
    parse_object(text)
    assert time.perf_counter() - began < 20
