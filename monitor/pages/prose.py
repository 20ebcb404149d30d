"""Where a page's sentences stand: the main text of a page that is plain enough to be sure of it.

Most official pages keep their text in one element, with hardly a link in it. To find that one on the outline costs a
millisecond; the library that weighs every kind of page takes twelve, and is asked for the rest only.
"""

import re
from dataclasses import dataclass

from monitor.pages.outline import Element, Outline, squeeze, wide_chars

BLOCKS = frozenset(
    {
        *("p", "div", "li", "tr", "td", "th", "br", "section", "article", "main", "blockquote", "table", "ul", "ol"),
        *("dd", "dt", "dl", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "form", "header", "footer", "figure", "body"),
        *("figcaption", "aside", "nav", "center", "address", "tbody", "details", "summary", "fieldset", "label"),
    }
)
_BESIDE_TAGS = frozenset(
    {"nav", "footer", "aside", "form", "button", "select", "textarea", "figcaption", "figure", "label", "fieldset"}
)
_BESIDE = re.compile(
    r"(?:^|[\s_-])(?:nav\w*|navigation|footer\w*|sidebar\w*|side|aside|comments?\w*|disqus\w*|respond|reply|related\w*|"
    r"recommend\w*|more\w*|share\w*|sharing|social\w*|bshare\w*|bdshare\w*|jiathis\w*|addtoany\w*|newsletter\w*|"
    r"subscribe\w*|signup|promo\w*|advert\w*|ads?|advertisement|sponsor\w*|banner\w*|breadcrumbs?|crumbs?|menu\w*|"
    r"toolbar|tools|pagination|pager|tags?|taglist|post-?tags|widget\w*|popup|modal|cookie\w*|copyright|disclaimer|"
    r"author-?bio|bio|byline|meta|entry-?meta|post-?meta|caption\w*|wp-caption-text|credit\w*|print\w*|teaser\w*|"
    r"hot|rank\w*|popular|trending|latest|login|search\w*|hidden|screen-reader-text|sr-only|skip\w*|erweima|qrcode|"
    r"pinglun|fenxiang|xgxw|xiangguan)(?=$|[\s_-])"
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


_SENTENCE_CHARS = 40
_SENTENCE_WEIGHT = 80
_LEAST_PROSE = 450
_MAIN_SHARE = 0.9
_RIVAL_SHARE = 0.5
_LARGEST_LINK_SHARE = 0.25
_LINKED_LINE_SHARE = 0.8
_LEAST_PROSE_SHARE = 0.7


@dataclass(slots=True)
class Line:
    """The text of one block, or of a part of it between line breaks."""

    block: Element
    text: str
    weight: int
    linked: int

    @property
    def is_prose(self) -> bool:
        """Whether it says a sentence outside of links."""
        return self.weight - self.linked >= _SENTENCE_WEIGHT

    @property
    def is_link(self) -> bool:
        """Whether it is hardly more than links."""
        return self.linked >= _LINKED_LINE_SHARE * self.weight


def sure_text(page: Outline, lines: list[Line]) -> str | None:
    """The main text where one element plainly holds nearly all the page's sentences; None where that is not so."""
    least = _MAIN_SHARE * sum(line.weight for line in lines if line.is_prose)
    if least < _MAIN_SHARE * _LEAST_PROSE:
        return None
    prose = _prose_in_elements(lines)
    index = max(index for index, weights in prose.items() if sum(weights) >= least)
    body = page.elements[index]
    if body.tag in ("body", "html") or _has_rival(body, prose):
        return None
    inside = _from_first_to_last([line for line in lines if body.holds(line.block)])
    weight = sum(line.weight for line in inside)
    in_links = sum(line.linked for line in inside)
    in_sentences = sum(line.weight for line in inside if line.is_prose)
    if in_links > _LARGEST_LINK_SHARE * weight or in_sentences < _LEAST_PROSE_SHARE * weight:
        return None
    return "\n".join(dict.fromkeys(line.text for line in inside))


def _from_first_to_last(lines: list[Line]) -> list[Line]:
    """The lines from the first paragraph to the last, and the short ones of the same make just before and after.

    Those are the salutation of a circular, the last article of a law, the signature.
    """
    places = [place for place, line in enumerate(lines) if line.is_prose]
    first, last = places[0], places[-1]
    while first > 0 and _are_alike(lines[first - 1], lines[first]):
        first -= 1
    while last + 1 < len(lines) and _are_alike(lines[last + 1], lines[last]):
        last += 1
    return [line for line in lines[first : last + 1] if not line.is_link]


def _are_alike(line: Line, other: Line) -> bool:
    return line.linked == 0 and (
        line.block is other.block or (line.block.tag == other.block.tag and line.block.parent is other.block.parent)
    )


def sentences(lines: list[Line]) -> str:
    """The paragraphs of a page that is no article, wherever they stand in it, without links and what lies beside."""
    return "\n".join(dict.fromkeys(line.text for line in lines if line.is_prose))


def unlinked(lines: list[Line]) -> str:
    """The lines that are more than links, each once."""
    return "\n".join(dict.fromkeys(line.text for line in lines if not line.is_link))


def prose_weights(page: Outline) -> list[int]:
    """For each text of the page its length, if it is a sentence and no link, else 0."""
    linked = _linked_texts(page)
    return [
        len(text) if len(text) >= _SENTENCE_CHARS and index not in linked else 0
        for index, text in enumerate(page.texts)
    ]


def _prose_in_elements(lines: list[Line]) -> dict[int, list[int]]:
    """For each element that holds prose, by its index, the weights of its paragraphs."""
    found: dict[int, list[int]] = {}
    for line in lines:
        if line.is_prose:
            node: Element | None = line.block
            while node is not None:
                found.setdefault(node.index, []).append(line.weight)
                node = node.parent
    return found


def _has_rival(body: Element, prose: dict[int, list[int]]) -> bool:
    """Whether an element in the body holds so much of its sentences that it could be the body itself."""
    total = sum(prose[body.index])
    return any(
        body.index < index < body.end and len(weights) >= 2 and sum(weights) > _RIVAL_SHARE * total
        for index, weights in prose.items()
    )


def _linked_texts(page: Outline) -> set[int]:
    return {index for link in page.elements if link.tag == "a" for index in range(link.text_start, link.text_end)}


def content_lines(page: Outline) -> list[Line]:
    """The page's lines outside of what lies beside its content."""
    block_of: list[Element] = []
    beside: list[bool] = []
    for element in page.elements:
        parent = element.parent
        block_of.append(element if parent is None or element.tag in BLOCKS else block_of[parent.index])
        beside.append(
            (parent is not None and beside[parent.index])
            or (_is_beside(element) and 3 * (element.text_end - element.text_start) < len(page.texts))
        )
    linked = _linked_texts(page)
    breaks = {element.text_start for element in page.elements if element.tag == "br"}
    lines: list[Line] = []
    for index, text in enumerate(page.texts):
        owner = page.text_owner[index]
        if beside[owner]:
            continue
        block = block_of[owner]
        weight = _weight(text)
        if lines and lines[-1].block is block and index not in breaks:
            lines[-1].text += text
            lines[-1].weight += weight
            lines[-1].linked += weight if index in linked else 0
        else:
            lines.append(Line(block, text, weight, weight if index in linked else 0))
    for line in lines:
        line.text = squeeze(line.text)
    return [line for line in lines if line.text]


def _is_beside(element: Element) -> bool:
    if element.tag in _BESIDE_TAGS:
        return True
    return element.tag in BLOCKS and (
        (len(element.names) > 1 and _BESIDE.search(element.names) is not None)
        or bool(_HIDDEN.search(element.attributes.get("style") or ""))
    )


def _weight(text: str) -> int:
    """The length of a text in letters, its wide characters counted twice."""
    text = text.strip()
    return len(text) + wide_chars(text)
