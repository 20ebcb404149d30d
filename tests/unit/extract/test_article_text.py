"""What is the text of an article beside the lines that the trees are sure of; the scores here stand for the trees'."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from monitor.extract.articles.labels import read_metadata
from monitor.extract.articles.lines import PageLines
from monitor.extract.articles.text import select_text
from monitor.extract.html import build_outline

FIRST = "The agency has published its guidance for residents of the lower valley and asks all of them to read it."
LAST = "Residents who have not had a letter by the first of December should ask the office in Harbour Street for it."
RATES = "<table><tr><td>Dessau</td><td>4.2%</td></tr><tr><td>Hixon</td><td>4.2%</td></tr></table>"


def read(body: str, *, sure: float = 0.95, repeated: frozenset[str] = frozenset()) -> list[str]:
    """Return the text of a page where the trees know sentences only."""
    html = f"<html><head><title>Flood notice</title></head><body>{body}</body></html>"
    tree = LexborHTMLParser(html)
    view = PageLines(build_outline(tree, "https://www.sample.gov/a/1.html"), read_metadata(tree))
    places = {place for place, line in enumerate(view.lines) if line.text in repeated}
    scores = [sure if line.is_prose else 0.05 for line in view.lines]
    return select_text(view, scores, html, places).splitlines()


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        ("<ul><li><a href=/1>Route 113</a></li><li><a href=/2>Route 92</a></li></ul>", ["Route 113", "Route 92"]),
        ("<h3>Who must ask?</h3>", ["Who must ask?"]),
        ("<p>In short:</p>", ["In short:"]),
        (RATES, ["Dessau", "4.2%", "Hixon", "4.2%"]),
    ],
)
def test_what_stands_among_the_paragraphs_is_text(part: str, lines: list[str]) -> None:
    assert read(f"<main><p>{FIRST}</p>{part}<p>{LAST}</p></main>") == [FIRST, *lines, LAST]


@pytest.mark.parametrize(
    "part",
    [
        "<div><a href=/1>Read also: dikes</a></div>",
        "<aside><ul><li>More news</li></ul></aside>",
        "<ul><li><figure><figcaption>The dike</figcaption></figure></li></ul>",
        "<ul style='display:none'><li>Share</li></ul>",
        "<table><tr><td><a href=/1>Plan of the dike</a></td><td><a href=/2>PDF</a></td></tr></table>",
    ],
)
def test_boxes_figures_and_tables_of_links_among_the_paragraphs_are_none(part: str) -> None:
    assert read(f"<main><p>{FIRST}</p>{part}<p>{LAST}</p></main>") == [FIRST, LAST]


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        ("<h2>References</h2><ol><li><a href=/1>Aldous (2017)</a></li></ol>", ["References", "Aldous (2017)"]),
        (RATES, ["Dessau", "4.2%", "Hixon", "4.2%"]),
        ("<h2>More</h2><ul><li><a href=/1>Older notices</a></li></ul>", []),
        ("<table><tr><td>Plan of the dike</td><td><a href=/1>PDF</a></td></tr></table>", []),
    ],
)
def test_a_numbered_list_or_a_plain_table_right_behind_the_text_is_part_of_it(part: str, lines: list[str]) -> None:
    assert read(f"<main><p>{FIRST}</p><p>{LAST}</p>{part}</main>") == [FIRST, LAST, *lines]


def test_what_the_other_pages_of_the_site_have_too_stays_out() -> None:
    page = f"<main><p>{FIRST}</p><p>Subscribe to our letter</p><p>{LAST}</p></main>"
    assert read(page, repeated=frozenset({"Subscribe to our letter"})) == [FIRST, LAST]


def test_unsure_lines_stand_where_trafilatura_has_them_and_more() -> None:
    menu = "".join(f"<p>Notice of the office about the dike number {number}</p>" for number in range(9))
    assert read(f"<main><p>{FIRST}</p><p>{LAST}</p></main><div>{menu}</div>", sure=0.5) == [FIRST, LAST]
