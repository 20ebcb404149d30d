"""Words set apart in a text: never more of the text, never less, and nothing of it becomes markup."""

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from monitor.db.terms import TextQuery
from monitor.web.ui.items import diff_words, highlight_matches

TEXTS = st.text(alphabet="光伏发电ab <>&\"'\n", max_size=40)


def test_every_place_of_every_word_is_marked() -> None:
    query = TextQuery.parse("光伏 PV")
    assert highlight_matches("光伏与pv，光 伏", query) == "<mark>光伏</mark>与<mark>pv</mark>，<mark>光 伏</mark>"
    assert highlight_matches("<b>光伏</b>", query) == "&lt;b&gt;<mark>光伏</mark>&lt;/b&gt;"
    assert highlight_matches("<b>", None) == "&lt;b&gt;"


@given(TEXTS, TEXTS)
def test_without_its_marks_the_text_is_what_it_was(text: str, words: str) -> None:
    shown = str(highlight_matches(text, TextQuery.parse(words)))
    assert unescape(re.sub(r"</?mark>", "", shown)) == text


@given(TEXTS, TEXTS)
def test_a_difference_holds_both_texts(before: str, after: str) -> None:
    pieces = diff_words(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "new") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "gone") == after


def test_only_what_changed_is_told_apart() -> None:
    text = [(piece.kind, piece.text) for piece in diff_words("补贴每瓦30元。", "补贴每瓦50元。")]
    assert text == [("same", "补贴每瓦"), ("gone", "30"), ("new", "50"), ("same", "元。")]
    assert [piece.kind for piece in diff_words("甲" * 5000, "乙" * 5000)] == ["gone", "new"]
