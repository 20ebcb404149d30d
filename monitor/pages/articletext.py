"""The main text of a page."""

import logging
import re

from lxml import etree

from monitor.pages.outline import Element, Outline, squeeze
from monitor.pages.prose import BLOCKS, content_lines, sentences, sure_text, unlinked

# It warns of every page that is no article; such pages are our daily bread.
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

# Where Chinese government systems put the text of a document, by the names that the systems themselves give it.
_BODIES = re.compile(
    r"(?:^|\s)(?:trs_editor|trs_ueditor|ucap-content|pages_content|zoom|js_content|trs_preappend|arti_content|"
    r"wp_articlecontent|v_news_content|xxgk_content|"
    r"trs_editor_view|news_conent_two_text|article_con|con_con|bt-article|zwxl-article|ewb-article-info|"
    r"detail_content)(?=\s|$)"
)
_NEIGHBOUR = re.compile(r"\W*(?:上一?[篇条條则頁页]|下一?[篇条條则頁页]|[前后後]一[篇条條则])\s*[:：]")
_EDITOR = re.compile(r"\W*(?:本文)?(?:责任编辑|責任編輯|责编|責編)\W*[:：].{0,20}$")
_LARGEST_TAIL = 0.25
_HARDLY_ANY_TEXT = 80
_LEAST_SHARE = 0.6
# The library takes some 50 microseconds for an element, so half a second here; the largest article known has 3,100.
_MOST_ELEMENTS = 10_000


def main_text(page: Outline, html_text: str, *, is_list: bool = False) -> str:
    """The page's main text, a line for each paragraph, up to the editor's name where one ends it.

    The titles of the article before and the one after are left out.

    The element that a known system names as the document's body is taken whole, then the one that plainly holds the
    page's sentences; trafilatura decides about the rest, which misses tables and short notices in government markup.
    Of a list page (`is_list`) only its sentences are told: its rows are told as candidates. Of a page
    so large that the library would take seconds all is told that is no link.
    """
    lines = _text(page, html_text, is_list=is_list).splitlines()
    lines = [line for line in lines if not _NEIGHBOUR.match(line)]
    last = max((place for place, line in enumerate(lines, start=1) if _EDITOR.match(line)), default=len(lines))
    chars = sum(map(len, lines))
    return "\n".join(lines[:last] if sum(map(len, lines[last:])) < _LARGEST_TAIL * chars else lines)


def all_lines(page: Outline) -> list[str]:
    """The lines of the whole page, each once, what lies beside its content included."""
    return list(dict.fromkeys(block_text(page, page.elements[0]).splitlines())) if page.elements else []


def _text(page: Outline, html_text: str, *, is_list: bool) -> str:
    body = _named_body(page)
    if body is not None:
        return block_text(page, body)
    lines = content_lines(page)
    if is_list:
        return sentences(lines)
    if (sure := sure_text(page, lines)) is not None:
        return sure
    if len(page.elements) > _MOST_ELEMENTS:
        return unlinked(lines)
    told = sentences(lines)
    text = _extracted(html_text, is_fast=True)
    could_be_more = sum(line.weight - line.linked for line in lines) >= _HARDLY_ANY_TEXT
    if (len(text) < _HARDLY_ANY_TEXT and could_be_more) or len(text) < _LEAST_SHARE * len(told):
        # Its slower way compares other extractors' answers; it is worth its time where the first one left much out.
        text = _extracted(html_text, is_fast=False) or text
    return text


def _extracted(html_text: str, *, is_fast: bool) -> str:
    import trafilatura

    try:
        text = trafilatura.extract(html_text, include_comments=False, favor_precision=True, fast=is_fast)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError, etree.LxmlError):
        return ""  # a tree that it cannot walk: the page's other fields still stand
    return text or ""


def _named_body(page: Outline) -> Element | None:
    named = [
        element
        for element in page.elements
        if len(element.names) > 1 and _BODIES.search(element.names) and element.tag not in ("body", "html", "a", "img")
    ]
    best = max(named, key=lambda element: len(page.text_of(element)), default=None)
    return best if best is not None and len(page.text_of(best)) >= 80 else None


def block_text(page: Outline, element: Element) -> str:
    """The text of an element, a line for each block in it."""
    lines: list[str] = []
    last_block: Element | None = None
    for index in range(element.text_start, element.text_end):
        block = page.elements[page.text_owner[index]]
        while block.parent is not None and block.tag not in BLOCKS:
            block = block.parent
        if block is last_block and lines:
            lines[-1] += page.texts[index]
        else:
            lines.append(page.texts[index])
        last_block = block
    return "\n".join(line for line in map(squeeze, lines) if line)
