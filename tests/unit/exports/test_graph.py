"""A graph as SVG."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from monitor.exports.document import measure_text_width
from monitor.exports.graph import MAX_NODES, GraphEdge, GraphNode, layout_boxes, render_graph, wrap_label

SVG = "{http://www.w3.org/2000/svg}"
NAMES = [
    "装机规模",
    "市场化电价机制改革与容量补偿",
    "《新型储能发展行动方案》",
    "安全监管",
    "Technology cost",
    "地方补贴政策",
    "Supply chain of lithium carbonate",
    "电网调度",
    "用户侧需求",
    "国际贸易壁垒",
    "绿证与碳市场",
    "人才",
    "第十三个",
]


def parsed(text: str) -> Any:
    return etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False))


def drawn(count: int, pairs: list[tuple[int, int]], label: str = "influence") -> Any:
    edges = [GraphEdge(NAMES[start], NAMES[end], label) for start, end in pairs]
    return parsed(render_graph([GraphNode(name, "说明") for name in NAMES[:count]], edges, title="主题模型"))


def rects(picture: Any) -> list[tuple[float, ...]]:
    return [
        tuple(float(entry.get(key) or 0) for key in ("x", "y", "width", "height"))
        for entry in picture.iter(f"{SVG}rect")
    ]


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return all(one[axis] < other[axis] + other[axis + 2] and other[axis] < one[axis] + one[axis + 2] for axis in (0, 1))


@pytest.mark.parametrize("count", range(1, MAX_NODES + 1))
def test_no_box_lies_on_another_and_all_are_in_the_picture(count: int) -> None:
    picture = drawn(count, [(start, end) for start in range(count) for end in range(start + 1, count)])
    boxes = rects(picture)
    assert len(boxes) == count
    assert not any(overlap(box, other) for place, box in enumerate(boxes) for other in boxes[place + 1 :])
    left, top, width, height = map(float, (picture.get("viewBox") or "").split())
    for x, y, wide, high in boxes:
        assert left <= x and top <= y and x + wide <= left + width and y + high <= top + height  # noqa: PT018


def test_words_lie_neither_on_boxes_nor_on_each_other() -> None:
    picture = drawn(6, [(0, 1), (1, 0), (1, 2), (2, 5), (3, 1), (4, 1), (5, 4), (0, 3)])
    words = [entry for entry in picture.iter(f"{SVG}text") if entry.text == "influence"]
    assert len(words) >= 6
    around = [(float(word.get("x") or 0) - 30, float(word.get("y") or 0) - 10, 60.0, 12.0) for word in words]
    assert not any(overlap(pair, box) for pair in around for box in rects(picture))
    assert not any(overlap(pair, other) for place, pair in enumerate(around) for other in around[place + 1 :])


def test_the_same_graph_is_drawn_the_same() -> None:
    assert etree.tostring(drawn(7, [(0, 1), (3, 5)])) == etree.tostring(drawn(7, [(0, 1), (3, 5)]))


def test_it_is_told_to_those_who_do_not_see_it() -> None:
    picture = drawn(3, [(0, 1)], "促进")
    assert (picture.get("role"), picture.get("aria-label")) == ("img", "主题模型")
    assert picture.findtext(f"{SVG}title") == "主题模型"
    assert picture.findtext(f"{SVG}desc") == f"{NAMES[0]} → {NAMES[1]} (促进)"


def test_an_arrow_points_at_its_end_and_an_association_has_none() -> None:
    pointed = render_graph([GraphNode("甲"), GraphNode("乙")], [GraphEdge("甲", "乙", "促进")], title="图")
    plain = render_graph(
        [GraphNode("甲"), GraphNode("乙")], [GraphEdge("甲", "乙", "关联", is_directed=False)], title="图"
    )
    assert (pointed.count("<polygon"), plain.count("<polygon")) == (1, 0)
    tip = re.findall(r'<polygon points="([-\d.]+),', pointed)[0]
    [first, second] = rects(parsed(pointed))
    assert first[0] + first[2] < float(tip) <= second[0]


def test_a_long_name_is_wrapped_as_wide_as_its_letters_are() -> None:
    assert wrap_label("市场化电价机制改革与容量补偿") == ["市场化电价机制改革", "与容量补偿"]
    assert wrap_label("Supply chain of lithium carbonate") == ["Supply chain of", "lithium carbonate"]
    assert wrap_label("长" * 40) == ["长" * 9, "长" * 9, "长" * 8 + "…"]
    assert wrap_label("") == ["–"]


def test_edges_of_boxes_that_are_not_there_are_left_out() -> None:
    text = render_graph([GraphNode("甲")], [GraphEdge("甲", "乙"), GraphEdge("甲", "甲")], title="图")
    assert "<path" not in text
    assert parsed(render_graph([], [], title="空")).get("role") == "img"
    assert len(rects(drawn(13, []))) == MAX_NODES


@given(st.lists(st.text(max_size=60), max_size=14, unique=True), st.text(max_size=20))
@settings(max_examples=60)
def test_hostile_names_make_no_markup(names: list[str], label: str) -> None:
    hostile = [*names, "<script>alert(1)</script>", '"><image href="x" onload="y"/>']
    edges = [GraphEdge(entry, other, label) for entry, other in pairwise(hostile)]
    text = render_graph([GraphNode(name, name) for name in hostile], edges, title=label)
    tags = {entry.tag.removeprefix(SVG) for entry in parsed(text).iter()}
    assert tags <= {"svg", "title", "desc", "g", "rect", "text", "tspan", "path", "polygon"}
    assert not re.search(r"\s(?:style|id|href|on\w+)=\"", re.sub(r">[^<]*<", "><", text))


@given(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=12))
@settings(max_examples=60)
def test_no_line_of_a_name_is_wider_than_its_box(names: list[str]) -> None:
    lines = [wrap_label(name) for name in names]
    for report, box in zip(lines, layout_boxes(lines), strict=True):
        assert 1 <= len(report) <= 3
        assert all(measure_text_width(line) * 7.4 <= box.width for line in report)
