"""The lines of a page and what is measured of them."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.articles.labels import read_metadata
from monitor.extract.articles.lines import LINE_FEATURES, PageLines, measure_lines
from monitor.extract.articles.text import extract_block_text
from monitor.extract.html import build_outline

SENTENCE = "The agency has published its guidance for residents of the lower valley and asks all of them to read it."


def view_lines(body: str) -> PageLines:
    tree = LexborHTMLParser(f"<html><head><title>Flood notice - Agency</title></head><body>{body}</body></html>")
    return PageLines(build_outline(tree, "https://www.sample.gov/a/1.html"), read_metadata(tree))


def test_blocks_and_breaks_end_lines_and_links_count_their_width() -> None:
    view = view_lines('<p>One <b>two</b><br>three</p><p>see <a href="/b">four</a></p>')
    assert [(line.text, line.linked) for line in view.lines] == [("One two", 0), ("three", 0), ("see four", 4)]


def test_the_container_is_the_innermost_element_with_the_sentences() -> None:
    view = view_lines(f"<div id=a><div id=b><p>{SENTENCE}</p><p>{SENTENCE}</p></div></div><p>Imprint</p>")
    container = view.find_container(0.75)
    assert container is not None
    assert container.attributes["id"] == "b"
    assert view_lines("<p>Imprint</p>").find_container(0.75) is None


def test_every_line_has_every_feature() -> None:
    rows = measure_lines(view_lines(f"<nav><a href=/b>Home</a></nav><h1>Flood notice</h1><p>{SENTENCE}</p>"))
    named = [dict(zip(LINE_FEATURES, row, strict=True)) for row in rows]
    assert [entry["in_nav"] for entry in named] == [1, 0, 0]
    assert [entry["level"] for entry in named] == [0, 1, 0]
    assert [entry["since_prose"] == 0 for entry in named] == [False, False, True]
    assert [entry["since_h1"] for entry in named] == [50, 0, 1]
    assert [entry["link_share"] for entry in named] == [1, 0, 0]
    assert measure_lines(view_lines("")) == []


def test_what_is_hidden_by_its_style_is_marked_so() -> None:
    rows = measure_lines(view_lines(f'<div style="display: none"><p>{SENTENCE}</p></div><p>{SENTENCE}</p>'))
    hidden = LINE_FEATURES.index("hidden")
    assert [row[hidden] for row in rows] == [1, 0]


@pytest.mark.parametrize(
    ("markup", "line"),
    [
        ("<strong>Date</strong> <span>28.01.2022</span>", "Date 28.01.2022"),
        ("<span>2026</span>\n  <a href='/b'>report</a>", "2026 report"),
        ("<b>Minis</b><i>try</i>", "Ministry"),
        ("Ver\u00adfas\u00adsung und Über&shy;sicht", "Verfassung und Übersicht"),
    ],
)
def test_words_are_apart_where_white_space_is_between_their_elements_and_only_there(markup: str, line: str) -> None:
    view = view_lines(f"<p>{markup}</p>")
    assert [entry.text for entry in view.lines] == [line]
    assert extract_block_text(view.page, view.page.elements[0]) == line
