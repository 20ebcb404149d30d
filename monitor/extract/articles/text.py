"""Extracts the main text of a page: the lines that a model takes for it, or trafilatura's where it is unsure."""

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import groupby

from lxml import etree

from monitor.extract.articles.lines import LEVELS, PageLines, TextLine, list_blocks, measure_lines, normalize_title
from monitor.extract.html import Element, Outline, collapse_whitespace
from monitor.extract.trees import load_scorer

_MIN_SENTENCE_CHARS = 40
_MIN_SHARE_OF_BEST = 0.5
_MIN_SURE = 0.8
_MIN_OTHER_SHARE = 0.4
_MIN_COVERED_SHARE = 0.9
# What stands among the paragraphs of a text as part of it; a box or a section may be anything.
_PART_TAGS = frozenset({*LEVELS, "ul", "ol", "dl", "table", "blockquote", "p", "pre", "center"})
_MAX_LINKED_SHARE = 0.7  # of a table of the text
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


def select_text(view: PageLines, scores: Sequence[float], html_text: str, repeated: Collection[int] = ()) -> str:
    """Return the page's main text, a line for each paragraph, without the editor's line and links to other articles.

    Where the scores leave it open which lines are the text, trafilatura decides, which compares several extractors,
    unless it has all that the scores say and more beside. `repeated` are lines that the site's other pages have too.
    """
    chosen = _add_parts(view, select_lines(scores), repeated)
    text = _join_lines(view.lines[place] for place in chosen)
    if measure_certainty(view, scores) < _MIN_SURE and len(view.page.elements) <= _MAX_ELEMENTS:
        other = run_trafilatura(html_text)
        is_long = len(other) >= _MIN_OTHER_SHARE * len(text)
        text = other if is_long and not _is_covered(view, chosen, other) else text
    lines = [line for line in text.splitlines() if not _ADJACENT_ARTICLE_LINE.match(line)]
    last = max((place for place, line in enumerate(lines, start=1) if _EDITOR_LINE.match(line)), default=len(lines))
    chars = sum(map(len, lines))
    return "\n".join(lines[:last] if sum(map(len, lines[last:])) < _MAX_TAIL_SHARE * chars else lines)


def _is_covered(view: PageLines, chosen: Sequence[int], text: str) -> bool:
    """Whether a text has nearly all of the chosen lines, among which there are sentences."""
    if not any(view.lines[place].is_prose for place in chosen):
        return False  # the cells of a table, say, whose page has its few words elsewhere
    folded = normalize_title(text)
    widths = {place: view.lines[place].width for place in chosen}
    covered = sum(width for place, width in widths.items() if view.folded[place] in folded)
    return covered >= _MIN_COVERED_SHARE * sum(widths.values())


def _add_parts(view: PageLines, chosen: Sequence[int], repeated: Collection[int]) -> list[int]:
    """Return the chosen lines with the lists, tables, headings and paragraphs among them that the scores left out.

    They stand between chosen lines, as children of the element whose own paragraphs have most of the text. A numbered
    list right behind the text is part of it too, with its heading: references, the documents that a notice names; and
    a table without links, as an annex is.
    """
    if (body := _find_body(view, chosen)) is None:
        return list(chosen)
    found, behind = set(chosen), list[int]()
    inside = [place for place, line in enumerate(view.lines) if body.index < line.block.index < body.end]
    kept = [place for place in inside if place in found]
    for index, group in groupby(inside[inside.index(kept[0]) :], lambda place: _find_child(view, body, place)):
        part, places = view.page.elements[index], list(group)
        is_part = _is_part_of_text(view, body, part, places, repeated)
        if places[0] <= kept[-1]:
            found.update(places if is_part else ())
        elif is_part and part.tag in LEVELS:
            behind += places
        elif is_part and (part.tag == "ol" or (part.tag == "table" and not view.measure(part)[1])):
            found.update(behind, places)
        else:
            break
    return sorted(found)


def _find_body(view: PageLines, chosen: Sequence[int]) -> Element | None:
    """Return the element whose own blocks have most of the chosen sentences."""
    widths: Counter[int] = Counter()
    for line in (view.lines[place] for place in chosen):
        if line.block.parent is not None and line.is_prose:
            widths[line.block.parent.index] += line.width
    return view.page.elements[widths.most_common(1)[0][0]] if widths else None


def _find_child(view: PageLines, element: Element, place: int) -> int:
    """Return the index of the child of an element that a line in it stands in."""
    return next(node.index for node in view.lines[place].block.iter_ancestors() if node.parent is element)


def _is_part_of_text(
    view: PageLines, body: Element, part: Element, places: Sequence[int], repeated: Collection[int]
) -> bool:
    if part.tag not in _PART_TAGS or any(view.is_aside(place, body) for place in places):
        return False
    width, linked, _ = view.measure(part)
    if 2 * sum(view.lines[place].width for place in places if place in repeated) > width:
        return False
    return part.tag != "table" or linked <= _MAX_LINKED_SHARE * width


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
    """Return the lines, each once; the cells of a table may be alike."""
    seen: set[str] = set()
    found = []
    for line in lines:
        if line.text not in seen or line.block.tag in ("td", "th"):
            found.append(line.text)
        seen.add(line.text)
    return "\n".join(found)


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
    spans = (list(indexes) for _, indexes in blocks)
    lines = (page.join_texts(span[0], span[-1] + 1) for span in spans)
    return "\n".join(filter(None, map(collapse_whitespace, lines)))
