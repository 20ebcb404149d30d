"""Extracts the main text of a page: by known containers, by where its sentences stand, else by trafilatura."""

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, groupby

from lxml import etree

from monitor.extract.html import Element, Outline, collapse_whitespace, measure_width

BLOCK_TAGS = frozenset(
    {
        *("p", "div", "li", "tr", "td", "th", "br", "section", "article", "main", "blockquote", "table", "ul", "ol"),
        *("dd", "dt", "dl", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "form", "header", "footer", "figure", "body"),
        *("figcaption", "aside", "nav", "center", "address", "tbody", "details", "summary", "fieldset", "label"),
    }
)
_BESIDE_TAGS = frozenset(
    {"nav", "footer", "aside", "form", "button", "select", "textarea", "figcaption", "figure", "label", "fieldset"}
)

_BESIDE_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav\w*|navigation|footer\w*|sidebar\w*|side|aside|comments?\w*|disqus\w*|respond|reply|related\w*|"
    r"recommend\w*|more\w*|share\w*|sharing|social\w*|bshare\w*|bdshare\w*|jiathis\w*|addtoany\w*|newsletter\w*|"
    r"subscribe\w*|signup|promo\w*|advert\w*|ads?|advertisement|sponsor\w*|banner\w*|breadcrumbs?|crumbs?|menu\w*|"
    r"toolbar|tools|pagination|pager|tags?|taglist|post-?tags|widget\w*|popup|modal|cookie\w*|copyright|disclaimer|"
    r"author-?bio|bio|byline|meta|entry-?meta|post-?meta|caption\w*|wp-caption-text|credit\w*|print\w*|teaser\w*|"
    r"hot|rank\w*|popular|trending|latest|login|search\w*|hidden|screen-reader-text|sr-only|skip\w*|erweima|qrcode|"
    r"pinglun|fenxiang|xgxw|xiangguan)(?=$|[\s_-])"
)

_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_MIN_SENTENCE_CHARS = 40
_MIN_SENTENCE_WEIGHT = 80
_MIN_PROSE_WEIGHT = 450
_MIN_MAIN_SHARE = 0.9
_MAX_RIVAL_SHARE = 0.5
_MAX_LINK_SHARE = 0.25
_MIN_LINKED_SHARE = 0.8
_MIN_LINE_PROSE_SHARE = 0.7


@dataclass(slots=True)
class TextLine:
    """The text of a block element, or of its part between two line breaks."""

    block: Element
    text: str
    weight: int
    linked_weight: int

    @property
    def is_prose(self) -> bool:
        """Whether it contains a sentence outside of links."""
        return self.weight - self.linked_weight >= _MIN_SENTENCE_WEIGHT

    @property
    def is_link(self) -> bool:
        """Whether it is hardly more than links."""
        return self.linked_weight >= _MIN_LINKED_SHARE * self.weight


def _find_certain_text(page: Outline, lines: list[TextLine]) -> str | None:
    """Return the main text if one element clearly contains nearly all sentences of the page, else None."""
    min_weight = _MIN_MAIN_SHARE * sum(line.weight for line in lines if line.is_prose)
    if min_weight < _MIN_MAIN_SHARE * _MIN_PROSE_WEIGHT:
        return None
    prose = _collect_prose_weights(lines)
    index = max(index for index, weights in prose.items() if sum(weights) >= min_weight)
    body = page.elements[index]
    if body.tag in ("body", "html") or _has_rival(body, prose):
        return None
    inside = _trim_to_prose([line for line in lines if body.contains(line.block)])
    weight = sum(line.weight for line in inside)
    in_links = sum(line.linked_weight for line in inside)
    in_sentences = sum(line.weight for line in inside if line.is_prose)
    if in_links > _MAX_LINK_SHARE * weight or in_sentences < _MIN_LINE_PROSE_SHARE * weight:
        return None
    return _join_lines(inside)


def _trim_to_prose(lines: list[TextLine]) -> list[TextLine]:
    """Return the lines from the first paragraph to the last, and those of the same kind around (signature)."""
    places = [place for place, line in enumerate(lines) if line.is_prose]
    first, last = places[0], places[-1]
    while first > 0 and _are_alike(lines[first - 1], lines[first]):
        first -= 1
    while last + 1 < len(lines) and _are_alike(lines[last + 1], lines[last]):
        last += 1
    return [line for line in lines[first : last + 1] if not line.is_link]


def _are_alike(line: TextLine, other: TextLine) -> bool:
    return line.linked_weight == 0 and (
        line.block is other.block or (line.block.tag == other.block.tag and line.block.parent is other.block.parent)
    )


def _join_lines(lines: Iterable[TextLine]) -> str:
    return "\n".join(dict.fromkeys(line.text for line in lines))


def list_prose_weights(page: Outline) -> list[int]:
    """Return for each text of the page its length if it is a sentence and no link, else 0."""
    linked = _find_linked_texts(page)
    return [
        len(text) if len(text) >= _MIN_SENTENCE_CHARS and index not in linked else 0
        for index, text in enumerate(page.texts)
    ]


def _collect_prose_weights(lines: list[TextLine]) -> dict[int, list[int]]:
    """Return for each element that contains prose, by its index, the weights of its paragraphs."""
    found: dict[int, list[int]] = {}
    for line in lines:
        if line.is_prose:
            for node in line.block.iter_ancestors():
                found.setdefault(node.index, []).append(line.weight)
    return found


def _has_rival(body: Element, prose: dict[int, list[int]]) -> bool:
    """Whether an element in the body contains so many of its sentences that it could be the body itself."""
    total = sum(prose[body.index])
    return any(
        body.index < index < body.end and len(weights) >= 2 and sum(weights) > _MAX_RIVAL_SHARE * total
        for index, weights in prose.items()
    )


def _find_linked_texts(page: Outline) -> set[int]:
    return {index for link in page.elements if link.tag == "a" for index in range(link.text_start, link.text_end)}


def _list_content_lines(page: Outline) -> list[TextLine]:
    """Return the page's lines without navigation, sidebars and other blocks beside the content."""
    block_of = _list_blocks(page)
    beside: list[bool] = []
    for element in page.elements:
        parent = element.parent
        beside.append(
            (parent is not None and beside[parent.index])
            or (_is_beside_content(element) and 3 * (element.text_end - element.text_start) < len(page.texts))
        )
    linked = _find_linked_texts(page)
    breaks = {element.text_start for element in page.elements if element.tag == "br"}
    lines: list[TextLine] = []
    parts: list[list[str]] = []
    for index, text in enumerate(page.texts):
        owner = page.text_owner[index]
        if beside[owner]:
            continue
        block = block_of[owner]
        weight = measure_width(text.strip())
        if lines and lines[-1].block is block and index not in breaks:
            parts[-1].append(text)
            lines[-1].weight += weight
            lines[-1].linked_weight += weight if index in linked else 0
        else:
            lines.append(TextLine(block, "", weight, weight if index in linked else 0))
            parts.append([text])
    for line, pieces in zip(lines, parts, strict=True):
        line.text = collapse_whitespace("".join(pieces))
    return [line for line in lines if line.text]


def _list_blocks(page: Outline) -> list[Element]:
    """Return for each element the block that it is or lies in, the root where there is none."""
    block_of: list[Element] = []
    for element in page.elements:
        parent = element.parent
        block_of.append(element if parent is None or element.tag in BLOCK_TAGS else block_of[parent.index])
    return block_of


def _is_beside_content(element: Element) -> bool:
    if element.tag not in BLOCK_TAGS or element.tag in _BESIDE_TAGS:
        return element.tag in _BESIDE_TAGS
    is_named_so = len(element.class_and_id) > 1 and _BESIDE_NAMES.search(element.class_and_id) is not None
    return is_named_so or _HIDDEN_STYLE.search(element.attributes.get("style") or "") is not None


# It warns of every page that is no article.
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

# Where Chinese government systems put the text of a document, by the names that the systems themselves give it.
_BODY_NAMES = re.compile(
    r"(?:^|\s)(?:trs_editor|trs_ueditor|ucap-content|pages_content|zoom|js_content|trs_preappend|arti_content|"
    r"wp_articlecontent|v_news_content|xxgk_content|"
    r"trs_editor_view|news_conent_two_text|article_con|con_con|bt-article|zwxl-article|ewb-article-info|"
    r"detail_content)(?=\s|$)"
)
_ADJACENT_ARTICLE_LINE = re.compile(r"\W*(?:上一?[篇条條则頁页]|下一?[篇条條则頁页]|[前后後]一[篇条條则])\s*[:：]")
_EDITOR_LINE = re.compile(r"\W*(?:本文)?(?:责任编辑|責任編輯|责编|責編)\W*[:：].{0,20}$")
_MAX_TAIL_SHARE = 0.25
_MIN_TEXT_CHARS = 80
_MIN_PROSE_SHARE = 0.6
# The library takes some 50 microseconds for an element, so half a second here; the largest article known has 3,100.
_MAX_ELEMENTS = 10_000


def extract_main_text(page: Outline, html_text: str, *, is_list: bool = False) -> str:
    """Return the page's main text, a line for each paragraph, without the editor's line and links to other articles.

    An element that a known system names as the document's body is taken whole, else the one that clearly contains the
    page's sentences; trafilatura decides the rest. A list page (`is_list`) gives its sentences only, a page so large
    that the library would take seconds all its lines that are no links.
    """
    lines = _extract_text(page, html_text, is_list=is_list).splitlines()
    lines = [line for line in lines if not _ADJACENT_ARTICLE_LINE.match(line)]
    last = max((place for place, line in enumerate(lines, start=1) if _EDITOR_LINE.match(line)), default=len(lines))
    chars = sum(map(len, lines))
    return "\n".join(lines[:last] if sum(map(len, lines[last:])) < _MAX_TAIL_SHARE * chars else lines)


def list_lines(page: Outline) -> list[str]:
    """Return the lines of the whole page, each once, those beside its content included."""
    return list(dict.fromkeys(extract_block_text(page, page.elements[0]).splitlines())) if page.elements else []


def _extract_text(page: Outline, html_text: str, *, is_list: bool) -> str:
    body = _find_named_body(page)
    if body is not None:
        return extract_block_text(page, body)
    lines = _list_content_lines(page)
    prose = _join_lines(line for line in lines if line.is_prose)
    if is_list:
        return prose
    if (sure := _find_certain_text(page, lines)) is not None:
        return sure
    if len(page.elements) > _MAX_ELEMENTS:
        return _join_lines(line for line in lines if not line.is_link)
    text = _run_trafilatura(html_text, is_fast=True)
    could_be_more = sum(line.weight - line.linked_weight for line in lines) >= _MIN_TEXT_CHARS
    if (len(text) < _MIN_TEXT_CHARS and could_be_more) or len(text) < _MIN_PROSE_SHARE * len(prose):
        # The slow mode compares several extractors; it is worth its time where the fast one dropped much.
        text = _run_trafilatura(html_text, is_fast=False) or text
    return text


def _run_trafilatura(html_text: str, *, is_fast: bool) -> str:
    import trafilatura

    try:
        text = trafilatura.extract(html_text, include_comments=False, favor_precision=True, fast=is_fast)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError, etree.LxmlError):
        return ""  # a tree that it cannot walk: the page's other fields still stand
    return text or ""


def _find_named_body(page: Outline) -> Element | None:
    named = [element for element in page.elements if _BODY_NAMES.search(element.class_and_id)]
    bodies = (element for element in named if element.tag not in ("body", "html", "a", "img"))
    lengths = [0, *accumulate(len(collapse_whitespace(text)) + 1 for text in page.texts)] if named else []
    best = max(bodies, key=lambda element: lengths[element.text_end] - lengths[element.text_start], default=None)
    return best if best is not None and len(page.get_text(best)) >= 80 else None


def extract_block_text(page: Outline, element: Element) -> str:
    """Return the text of an element, a line for each block in it."""
    block_of = _list_blocks(page)
    blocks = groupby(
        range(element.text_start, element.text_end), key=lambda index: block_of[page.text_owner[index]].index
    )
    lines = ("".join(page.texts[index] for index in indexes) for _, indexes in blocks)
    return "\n".join(filter(None, map(collapse_whitespace, lines)))
