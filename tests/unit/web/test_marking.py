"""Words set apart in a text: never more of the text, never less, and nothing of it becomes markup."""

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from monitor.domain.terms import TextQuery
from monitor.web.marking import compared, marked

TEXTS = st.text(alphabet="光伏发电ab <>&\"'\n", max_size=40)


def test_every_place_of_every_word_is_marked() -> None:
    query = TextQuery.parse("光伏 PV")
    assert marked("光伏与pv，光 伏", query) == "<mark>光伏</mark>与<mark>pv</mark>，<mark>光 伏</mark>"
    assert marked("<b>光伏</b>", query) == "&lt;b&gt;<mark>光伏</mark>&lt;/b&gt;"
    assert marked("<b>", None) == "&lt;b&gt;"


@given(TEXTS, TEXTS)
def test_without_its_marks_the_text_is_what_it_was(text: str, words: str) -> None:
    shown = str(marked(text, TextQuery.parse(words)))
    assert unescape(re.sub(r"</?mark>", "", shown)) == text


@given(TEXTS, TEXTS)
def test_a_difference_holds_both_texts(before: str, after: str) -> None:
    pieces = compared(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "new") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "gone") == after


def test_only_what_changed_is_told_apart() -> None:
    told = [(piece.kind, piece.text) for piece in compared("补贴每瓦30元。", "补贴每瓦50元。")]
    assert told == [("same", "补贴每瓦"), ("gone", "30"), ("new", "50"), ("same", "元。")]
    assert [piece.kind for piece in compared("甲" * 5000, "乙" * 5000)] == ["gone", "new"]
