"""A parsed page, flattened: elements and texts in page order, with what asks for them often at hand.

The list and paging rules ask thousands of times "what stands in this element", "what is its parent", "how far is it
from there"; on flat arrays each such question is one look-up.
"""

import re
from dataclasses import dataclass, field
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.domain.urls import clean_url
from monitor.pages.scriptlinks import written_address

_UNSEEN = frozenset({"script", "style", "noscript", "template", "head", "svg", "iframe", "object", "rt", "rp"})
# Deeper than any author nests: only a page that means harm does, and its elements count as their parent's content.
_DEEPEST = 200
# Longer "urls" are data, and hostile to every pattern that looks at them.
_LONGEST_URL = 2048
_ZERO_WIDTH = ("\u200b", "\ufeff")
_WIDE = re.compile("[\u2e80-\U0010ffff]+")


# An address without a query, a dot segment or a character that an url must not hold.
_PLAIN = re.compile(
    r"(?:(?P<site>https?://(?:[a-z\d-]+\.)+[a-z]{2,12}/)|(?P<root>/(?!/))|(?:\./)?)"
    r"(?P<path>(?:[\w~-][\w.~-]*/)*(?:[\w~-][\w.~-]*)?)",
    re.ASCII,
)
_NO_DOCUMENT = re.compile(r"#|(?:javascript|mailto|tel|data|about):", re.IGNORECASE)


def squeeze(text: str) -> str:
    """The text with every run of spaces, of whatever kind, made one."""
    for invisible in _ZERO_WIDTH:
        if invisible in text:
            text = text.replace(invisible, " ")
    return " ".join(text.split())


def wide_chars(text: str) -> int:
    """How many characters of a text are Chinese, Japanese or Korean: each says as much as two letters."""
    return 0 if text.isascii() else sum(map(len, _WIDE.findall(text)))


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
    names: str = " "

    def __post_init__(self) -> None:
        """Class, and class and id together: the words by which the page's author calls the element, lower case."""
        if not self.attributes:
            return
        self.css_class = (self.attributes.get("class") or "").lower()
        self.names = f"{self.css_class} {(self.attributes.get('id') or '').lower()}"

    def holds(self, other: "Element") -> bool:
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

    def text_of(self, element: Element) -> str:
        """The visible text in an element, spaces squeezed."""
        return squeeze(" ".join(self.texts[element.text_start : element.text_end]))

    def inside(self, element: Element) -> list[Element]:
        """The element's descendants, in page order."""
        return self.elements[element.index + 1 : element.end]

    @property
    def language(self) -> str:
        """The language that the page declares, as `de-AT`; the empty string where it declares none."""
        return (self.elements[0].attributes.get("lang") or "") if self.elements else ""

    @cached_property
    def full_text(self) -> str:
        """All visible text of the page."""
        return squeeze(" ".join(self.texts))

    @cached_property
    def anchors(self) -> list[Anchor]:
        """Links to other documents, in page order; links within this page are none.

        Those that a script follows are links where the script's text names the address.
        """
        here = clean_url(self.url)
        urls: dict[str, str | None] = {}
        links = _Links(self.base)
        found: list[Anchor] = []
        for element in self.elements:
            if not element.attributes:
                continue
            href = written_address(element.tag, element.attributes)
            if not href or _NO_DOCUMENT.match(href):
                continue
            if href not in urls:
                urls[href] = links.absolute(href)
            url = urls[href]
            if url and url != here and len(url) <= _LONGEST_URL:
                found.append(Anchor(element, url, self.text_of(element) or self._title_written(element)))
        return _innermost(found)

    def _title_written(self, link: Element) -> str:
        """What the markup calls a link with nothing in it: a script writes its text, or it lies over a card."""
        return "" if self.inside(link) else squeeze(link.attributes.get("title") or "")


class _Links:
    """Makes a page's links absolute; those written plainly, which most are, without taking them apart."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._site = (clean_url("/", base) or "").removesuffix("/")
        self._folder = clean_url("./", base) or ""

    def absolute(self, href: str) -> str | None:
        """What `clean_url` makes of a link of this page."""
        if self._site and href and (plain := _PLAIN.fullmatch(href)):
            if plain["site"]:
                return href
            return f"{self._site}{href}" if plain["root"] else f"{self._folder}{plain['path']}"
        # Some systems escape an url twice; no field of a query is called "amp;page".
        return clean_url(href.replace("&amp;", "&"), self._base)


def _innermost(anchors: list[Anchor]) -> list[Anchor]:
    """The links without those rows and boxes that a script makes one and that hold a link of their own."""
    kept = []
    for position, anchor in enumerate(anchors):
        after = anchors[position + 1].element if position + 1 < len(anchors) else None
        if anchor.element.tag in ("a", "area") or after is None or not anchor.element.holds(after):
            kept.append(anchor)
    return kept


def outline(tree: LexborHTMLParser, url: str) -> Outline:
    """The outline of a parsed page that was loaded from `url`; a `base` element changes what its links mean."""
    root = tree.root
    base = url
    declared = tree.css_first("base[href]")
    if declared is not None:
        base = clean_url(declared.attributes.get("href") or "", url) or url
    page = Outline(url=url, base=base)
    if root is not None:
        _fill(page, root)
    return page


def _fill(page: Outline, root: LexborNode) -> None:
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
                _close(page, open_elements, parent)
                page.texts.append(text)
                page.text_owner.append(parent.index)
            continue
        if not node.is_element_node:
            continue
        tag = node.tag or ""
        if tag in _UNSEEN:
            continue
        child = node.first_child
        if parent is not None and parent.depth >= _DEEPEST and tag != "a":
            if child is not None:
                waiting.append((child, parent))
            continue
        if parent is not None:
            _close(page, open_elements, parent)
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
        if tag == "input" and (label := _button_label(element.attributes)):
            page.texts.append(label)
            page.text_owner.append(element.index)
    _close(page, open_elements, None)


def _button_label(attributes: dict[str, str | None]) -> str:
    """What a form's button says: a text like any other on the page, written in an attribute."""
    is_button = (attributes.get("type") or "").lower() in ("button", "submit")
    return (attributes.get("value") or "").strip() if is_button else ""


def _close(page: Outline, open_elements: list[Element], until: Element | None) -> None:
    """Ends the elements that are over when the walk is back in `until`."""
    while open_elements and open_elements[-1] is not until:
        element = open_elements.pop()
        element.end = len(page.elements)
        element.text_end = len(page.texts)
