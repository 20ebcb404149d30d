"""What a found item is worth, and what is shown of it."""

import datetime as dt

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.db.fulltext import FullTextMatch
from monitor.db.tables.collection import Item
from monitor.db.terms import TextQuery
from monitor.search.backends.archive import MAX_ARCHIVE_SNIPPET_CHARS, build_snippet, compute_item_relevance

ITEM = Item(
    run_id="r",
    source="s",
    section="s",
    url="https://a.gov/1",
    url_key="a",
    title="t",
    first_seen=dt.datetime.now(dt.UTC),
)


def a_match(in_title: list[bool], in_body: list[int], body: str = "x" * 2000) -> FullTextMatch:
    return FullTextMatch(item=ITEM, body=body, in_title=tuple(in_title), in_body=tuple(in_body), is_withdrawn=False)


def test_the_formula_of_relevance_is_the_one_that_is_told() -> None:
    assert compute_item_relevance(a_match([True], [0])) == 0.5
    assert abs(compute_item_relevance(a_match([True, False], [3, 1])) - ((1 + 3 / 4.2) / 2 + (1 / 2.2) / 2) / 2) < 1e-9
    assert compute_item_relevance(a_match([], [])) == 0


@settings(max_examples=100)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), max_size=5), st.text(max_size=50), st.integers(0, 4))
def test_relevance_lies_between_0_and_1_and_grows_with_every_place(
    places: list[tuple[bool, int]], body: str, more: int
) -> None:
    titles, counts = [place for place, _ in places], [count for _, count in places]
    score = compute_item_relevance(a_match(titles, counts, body))
    assert 0 <= score <= 1
    if places:
        assert compute_item_relevance(a_match(titles, [count + more for count in counts], body)) >= score
        assert compute_item_relevance(a_match([True] * len(titles), counts, body)) >= score


def test_a_snippet_shows_the_place_that_was_found_on_one_line() -> None:
    body = "开头" * 100 + "\n\n分布式ＰＶ光\n伏发电" + "结尾" * 200
    snippet = build_snippet(body, TextQuery.parse("光伏 pv"))
    assert "分布式ＰＶ光 伏发电" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")
    assert "\n" not in snippet
    assert len(snippet) <= MAX_ARCHIVE_SNIPPET_CHARS + 2
    assert build_snippet("短 文", TextQuery.parse("无")) == "短 文"
    assert build_snippet("", TextQuery.parse("无")) == ""
