"""Extracts the main text of a page: the lines that a model takes for it, or trafilatura's where it is unsure."""

import logging
import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from lxml import etree

from monitor.extract.articles.lines import PageLines, TextLine, list_blocks, measure_lines
from monitor.extract.html import Element, Outline, collapse_whitespace
from monitor.extract.trees import load_scorer

_MIN_SENTENCE_CHARS = 40
_MIN_SHARE_OF_BEST = 0.5
_MIN_SURE = 0.8
_MIN_OTHER_SHARE = 0.7
_MAX_LINKED_SHARE = 0.3  # of a table of the text
_MAX_LINES_APART = 2
_ADJACENT_ARTICLE_LINE = re.compile(r"\W*(?:上一?[篇条條则頁页]|下一?[篇条條则頁页]|[前后後]一[篇條条则])\s*[:：]")
_EDITOR_LINE = re.compile(r"\W*(?:本文)?(?:责任编辑|責任編輯|责编|責編)\W*[:：].{0,20}$")
_MAX_TAIL_SHARE = 0.25
# trafilatura takes some 50 microseconds for an element, so half a second here; the largest article known has 3,100.
_MAX_ELEMENTS = 10_000
# It warns of every page that is no article.
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)


def score_lines(view: PageLines) -> list[float]:
    """Return for each line the probability that it belongs to the main text."""
    return load_scorer("article_line").score(measure_lines(view))


def select_lines(scores: Sequence[float]) -> list[int]:
    """Return the lines of the main text: those at least half as likely as the likeliest one of the page."""
    least = _MIN_SHARE_OF_BEST * max(scores, default=0)
    return [place for place, score in enumerate(scores) if score > least]


def select_text(view: PageLines, scores: Sequence[float], html_text: str) -> str:
    """Return the page's main text, a line for each paragraph, without the editor's line and links to other articles.

    Where the scores leave it open which lines are the text, trafilatura decides, which compares several extractors.
    """
    text = _join_lines(view.lines[place] for place in _add_tables(view, select_lines(scores)))
    if measure_certainty(view, scores) < _MIN_SURE and len(view.page.elements) <= _MAX_ELEMENTS:
        other = run_trafilatura(html_text)
        text = other if len(other) >= _MIN_OTHER_SHARE * len(text) else text
    lines = [line for line in text.splitlines() if not _ADJACENT_ARTICLE_LINE.match(line)]
    last = max((place for place, line in enumerate(lines, start=1) if _EDITOR_LINE.match(line)), default=len(lines))
    chars = sum(map(len, lines))
    return "\n".join(lines[:last] if sum(map(len, lines[last:])) < _MAX_TAIL_SHARE * chars else lines)


def _add_tables(view: PageLines, chosen: Sequence[int]) -> list[int]:
    """Return the chosen lines with all lines of the tables among them, or right behind them, in the same container."""
    if not chosen:
        return []
    first, last = view.lines[chosen[0]].block, view.lines[chosen[-1]].block
    around = next((node for node in first.iter_ancestors() if node.contains(last)), first)
    found = set(chosen)
    for table in view.page.elements[around.index + 1 : around.end]:
        start, end = view.line_of_text[table.text_start], view.line_of_text[table.text_end]
        if table.tag != "table" or not chosen[0] < start <= chosen[-1] + _MAX_LINES_APART:
            continue
        width, linked, _ = view.measure(table)
        if linked <= _MAX_LINKED_SHARE * width:
            found.update(range(start, end))
    return sorted(found)


def measure_certainty(view: PageLines, scores: Sequence[float]) -> float:
    """Return how likely the lines of the main text are, weighed by their widths; 0 where there are none."""
    chosen = select_lines(scores)
    total = sum(view.lines[place].width for place in chosen)
    return sum(view.lines[place].width * scores[place] for place in chosen) / max(1, total)


def run_trafilatura(html_text: str) -> str:
    """Return trafilatura's text of a page, the empty string where it finds none or is not installed."""
    try:
        import trafilatura
    except ModuleNotFoundError:
        return ""
    try:
        text = trafilatura.extract(html_text, include_comments=False, favor_precision=True)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError, etree.LxmlError):
        return ""  # a tree that it cannot walk: the page's other fields still stand
    return text or ""


def _join_lines(lines: Iterable[TextLine]) -> str:
    return "\n".join(dict.fromkeys(line.text for line in lines))


def join_prose(view: PageLines) -> str:
    """Return the sentences of a page, in the place of the main text that a list page has not."""
    return _join_lines(line for line in view.lines if line.is_prose)


def list_prose_weights(view: PageLines) -> list[int]:
    """Return for each text of the page its length if it is a sentence and no link, else 0."""
    texts = zip(view.page.texts, view.linked_texts, strict=True)
    return [len(text) if len(text) >= _MIN_SENTENCE_CHARS and not is_linked else 0 for text, is_linked in texts]


def list_lines(page: Outline) -> list[str]:
    """Return the lines of the whole page, each once, those beside its content included."""
    return list(dict.fromkeys(extract_block_text(page, page.elements[0]).splitlines())) if page.elements else []


def extract_block_text(page: Outline, element: Element) -> str:
    """Return the text of an element, a line for each block in it."""
    block_of = list_blocks(page)
    blocks = groupby(
        range(element.text_start, element.text_end), key=lambda index: block_of[page.text_owner[index]].index
    )
    lines = ("".join(page.texts[index] for index in indexes) for _, indexes in blocks)
    return "\n".join(filter(None, map(collapse_whitespace, lines)))
