"""A parsed page, flattened: elements and texts in page order, with what asks for them often at hand.

The list and paging rules ask thousands of times "what stands in this element", "what is its parent", "how far is it
from there"; on flat arrays each such question is one look-up.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.urls import clean_url

_URL_ATTRIBUTES = ("data-url", "data-href", "data-link", "data-src-url", "_href", "link")
# openUrl('/art/2026/a.html'), window.open("a.html"), location.href = 'a.html', toDetail('detail?id=3').
_CALL = re.compile(
    r"(?:\b(?:\w*(?:open|go|goto|jump|link|url|href|view|detail|show|redirect|navigate|to)\w*)\s*\(|"
    r"location(?:\.href)?\s*=)\s*(?P<quote>[\"'])(?P<url>[^\"'<>\s]{3,1000})(?P=quote)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"https?://|\.{0,2}/[\w%]|\?\w+=|[\w%./-]+\.(?:s?html?|jspx?|aspx?|php|do|action|pdf|docx?)\b|[\w%-]+/\w"
)
_SCRIPT_HREF = re.compile(r"\s*(?:javascript:|#|$)", re.IGNORECASE)
_CLICKABLE_TAGS = frozenset(
    {"a", "area", "li", "tr", "td", "div", "p", "span", "dt", "dd", "h2", "h3", "h4", "article"}
)


def find_link_address(tag: str, attributes: Mapping[str, str | None]) -> str | None:
    """The address that an element leads to, as its author wrote it: `href`, a data attribute, or a handler's argument.

    A handler whose argument is no address (an identifier, a word) leads nowhere that could be known without running it.
    """
    if tag in ("a", "area"):
        href = (attributes.get("href") or "").strip()
        if not _SCRIPT_HREF.match(href):
            return href
        if (found := _find_call_address(href)) is not None:
            return found
    elif tag not in _CLICKABLE_TAGS or attributes.keys().isdisjoint((*_URL_ATTRIBUTES, "onclick")):
        return None
    for name in _URL_ATTRIBUTES:
        value = (attributes.get(name) or "").strip()
        if value and _ADDRESS.match(value):
            return value
    return _find_call_address(attributes.get("onclick") or "")


def _find_call_address(script: str) -> str | None:
    found = _CALL.search(script) if script else None
    return found["url"] if found and _ADDRESS.match(found["url"]) else None


_HIDDEN_TAGS = frozenset({"script", "style", "noscript", "template", "head", "svg", "iframe", "object", "rt", "rp"})
# Deeper than any author nests: only a page that means harm does, and its elements count as their parent's content.
_MAX_DEPTH = 200
# Longer "urls" are data, and hostile to every pattern that looks at them.
_MAX_URL_CHARS = 2048
_ZERO_WIDTH = ("\u200b", "\ufeff")
_WIDE_CHARS = re.compile("[\u2e80-\U0010ffff]+")
# An address without a query, a dot segment or a character that an url must not hold.
_PLAIN_ADDRESS = re.compile(
    r"(?:(?P<site>https?://(?:[a-z\d-]+\.)+[a-z]{2,12}/)|(?P<root>/(?!/))|(?:\./)?)"
    r"(?P<path>(?:[\w~-][\w.~-]*/)*(?:[\w~-][\w.~-]*)?)",
    re.ASCII,
)
_NON_DOCUMENT_HREF = re.compile(r"#|(?:javascript|mailto|tel|data|about):", re.IGNORECASE)


def collapse_whitespace(text: str) -> str:
    """The text with every run of spaces, of whatever kind, made one."""
    for invisible in _ZERO_WIDTH:
        if invisible in text:
            text = text.replace(invisible, " ")
    return " ".join(text.split())


def count_wide_chars(text: str) -> int:
    """How many characters of a text are Chinese, Japanese or Korean: each says as much as two letters."""
    return 0 if text.isascii() else sum(map(len, _WIDE_CHARS.findall(text)))


@dataclass(slots=True, eq=False)
class Element:
    """One element. `end` and `text_end` are one past its last descendant and its last text; children count from 1."""

    index: int
    tag: str
    parent: "Element | None"
    attributes: dict[str, str | None]
    depth: int
    text_start: int
    end: int = 0
    text_end: int = 0
    child_count: int = 0
    position: int = 1
    css_class: str = ""
    class_and_id: str = " "

    def __post_init__(self) -> None:
        """Class, and class and id together: the words by which the page's author calls the element, lower case."""
        if not self.attributes:
            return
        self.css_class = (self.attributes.get("class") or "").lower()
        self.class_and_id = f"{self.css_class} {(self.attributes.get('id') or '').lower()}"

    def contains(self, other: "Element") -> bool:
        """Whether `other` is this element or lies in it."""
        return self.index <= other.index < self.end


@dataclass(slots=True, eq=False)
class Anchor:
    """A link that leads to another document."""

    element: Element
    url: str
    text: str


@dataclass(eq=False)
class Outline:
    """The page as flat arrays. `texts[i]` stands in `elements[text_owner[i]]`."""

    url: str
    base: str
    elements: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    text_owner: list[int] = field(default_factory=list)

    def get_text(self, element: Element) -> str:
        """The visible text in an element, spaces squeezed."""
        return collapse_whitespace(" ".join(self.texts[element.text_start : element.text_end]))

    def get_descendants(self, element: Element) -> list[Element]:
        """The element's descendants, in page order."""
        return self.elements[element.index + 1 : element.end]

    @property
    def language(self) -> str:
        """The language that the page declares, as `de-AT`; the empty string where it declares none."""
        return (self.elements[0].attributes.get("lang") or "") if self.elements else ""

    @cached_property
    def full_text(self) -> str:
        """All visible text of the page."""
        return collapse_whitespace(" ".join(self.texts))

    @cached_property
    def anchors(self) -> list[Anchor]:
        """Links to other documents, in page order; links within this page are none.

        Those that a script follows are links where the script's text names the address.
        """
        here = clean_url(self.url)
        urls: dict[str, str | None] = {}
        links = _LinkResolver(self.base)
        found: list[Anchor] = []
        for element in self.elements:
            if not element.attributes:
                continue
            href = find_link_address(element.tag, element.attributes)
            if not href or _NON_DOCUMENT_HREF.match(href):
                continue
            if href not in urls:
                urls[href] = links.resolve(href)
            url = urls[href]
            if url and url != here and len(url) <= _MAX_URL_CHARS:
                found.append(Anchor(element, url, self.get_text(element) or self._get_title_attribute(element)))
        return _drop_outer_links(found)

    def _get_title_attribute(self, link: Element) -> str:
        """What the markup calls a link with nothing in it: a script writes its text, or it lies over a card."""
        return "" if self.get_descendants(link) else collapse_whitespace(link.attributes.get("title") or "")


class _LinkResolver:
    """Makes a page's links absolute; those written plainly, which most are, without taking them apart."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._site = (clean_url("/", base) or "").removesuffix("/")
        self._folder = clean_url("./", base) or ""

    def resolve(self, href: str) -> str | None:
        """What `clean_url` makes of a link of this page."""
        if self._site and href and (plain := _PLAIN_ADDRESS.fullmatch(href)):
            if plain["site"]:
                return href
            return f"{self._site}{href}" if plain["root"] else f"{self._folder}{plain['path']}"
        # Some systems escape an url twice; no field of a query is called "amp;page".
        return clean_url(href.replace("&amp;", "&"), self._base)


def _drop_outer_links(anchors: list[Anchor]) -> list[Anchor]:
    """The links without those rows and boxes that a script makes one and that hold a link of their own."""
    kept = []
    for position, anchor in enumerate(anchors):
        after = anchors[position + 1].element if position + 1 < len(anchors) else None
        if anchor.element.tag in ("a", "area") or after is None or not anchor.element.contains(after):
            kept.append(anchor)
    return kept


def build_outline(tree: LexborHTMLParser, url: str) -> Outline:
    """The outline of a parsed page that was loaded from `url`; a `base` element changes what its links mean."""
    root = tree.root
    base = url
    declared = tree.css_first("base[href]")
    if declared is not None:
        base = clean_url(declared.attributes.get("href") or "", url) or url
    page = Outline(url=url, base=base)
    if root is not None:
        _fill_outline(page, root)
    return page


def _fill_outline(page: Outline, root: LexborNode) -> None:
    """Walks the tree in page order, with a stack of its own: pages may nest deeper than Python's calls may.

    On the stack lie nodes that come later, each with the element it is in; a node's next sibling waits below its child.
    """
    open_elements: list[Element] = []
    waiting: list[tuple[LexborNode, Element | None]] = [(root, None)]
    while waiting:
        node, parent = waiting.pop()
        if parent is not None and (sibling := node.next) is not None:
            waiting.append((sibling, parent))
        if node.is_text_node:
            text = node.text_content
            if text and not text.isspace() and parent is not None:
                _close_elements(page, open_elements, parent)
                page.texts.append(text)
                page.text_owner.append(parent.index)
            continue
        if not node.is_element_node:
            continue
        tag = node.tag or ""
        if tag in _HIDDEN_TAGS:
            continue
        child = node.first_child
        if parent is not None and parent.depth >= _MAX_DEPTH and tag != "a":
            if child is not None:
                waiting.append((child, parent))
            continue
        if parent is not None:
            _close_elements(page, open_elements, parent)
            parent.child_count += 1
        element = Element(
            index=len(page.elements),
            tag=tag,
            parent=parent,
            attributes=node.attributes,
            depth=parent.depth + 1 if parent else 0,
            position=parent.child_count if parent else 1,
            text_start=len(page.texts),
        )
        if child is not None:
            waiting.append((child, element))
        page.elements.append(element)
        open_elements.append(element)
        if tag == "input" and (label := _get_button_label(element.attributes)):
            page.texts.append(label)
            page.text_owner.append(element.index)
    _close_elements(page, open_elements, None)


def _get_button_label(attributes: dict[str, str | None]) -> str:
    """What a form's button says: a text like any other on the page, written in an attribute."""
    is_button = (attributes.get("type") or "").lower() in ("button", "submit")
    return (attributes.get("value") or "").strip() if is_button else ""


def _close_elements(page: Outline, open_elements: list[Element], until: Element | None) -> None:
    """Ends the elements that are over when the walk is back in `until`."""
    while open_elements and open_elements[-1] is not until:
        element = open_elements.pop()
        element.end = len(page.elements)
        element.text_end = len(page.texts)


_MIN_SENTENCE_WEIGHT = 24
_MIN_WIDE_CHARS = re.compile(r"[^\u0000-\u2e80]+")


def measure_text_weight(text: str) -> int:
    """Length of a text for the eye: an ideograph says as much as two letters."""
    compact = "".join(text.split())
    return len(compact) if compact.isascii() else 2 * len(compact) - len(_MIN_WIDE_CHARS.sub("", compact))


def is_inline(page: Outline, link: Element) -> bool:
    """Whether words go before a link: so many of the same element that it stands in a sentence, or at its end."""
    if link.parent is None or not _follows_text(page, link, link.parent):
        return False
    for element in reversed(page.elements[link.parent.index + 1 : link.index]):
        if element.text_start < link.text_start:
            break
        if element.tag in ("br", "hr"):
            return False
    return measure_text_weight(page.texts[link.text_start - 1]) >= _MIN_SENTENCE_WEIGHT or is_within_sentence(
        page, link
    )


def is_within_sentence(page: Outline, link: Element) -> bool:
    """Whether the sentence in which a link stands begins with a word before it and goes on behind it."""
    after = link.text_end
    if (
        link.parent is None
        or not _follows_text(page, link, link.parent)
        or after >= len(page.texts)
        or page.text_owner[after] != link.parent.index
    ):
        return False
    word, rest = page.texts[link.text_start - 1].rstrip()[-1:], page.texts[after].lstrip()
    return (
        word.isalpha()
        and (rest[:1].islower() or rest[:1] in "，、")
        and measure_text_weight(rest) >= _MIN_SENTENCE_WEIGHT
    )


def _follows_text(page: Outline, link: Element, parent: Element) -> bool:
    return link.text_start > 0 and page.text_owner[link.text_start - 1] == parent.index
