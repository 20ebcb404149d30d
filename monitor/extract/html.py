"""The outline of a parsed page: its elements, texts and links in page order, on flat arrays for fast look-ups."""

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import accumulate, zip_longest

from selectolax.lexbor import LexborHTMLParser, LexborNode

from monitor.site_memory import SiteRepeats
from monitor.urls import clean_url

_URL_ATTRIBUTES = ("data-url", "data-href", "data-link", "data-src-url", "_href", "link")
# openUrl('/art/2026/a.html'), window.open("a.html"), location.href = 'a.html', toDetail('detail?id=3').
_CALL = re.compile(
    r"(?:\b(?:\w{0,40}(?:open|go|goto|jump|link|url|href|view|detail|show|redirect|navigate|to)\w{0,40})\s{0,9}\(|"
    r"location(?:\.href)?\s{0,9}=)\s{0,9}(?P<quote>[\"'])(?P<url>[^\"'<>\s]{3,1000})(?P=quote)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"https?://|\.{0,2}/[\w%]|\?\w+=|[\w%./-]+\.(?:s?html?|jspx?|aspx?|php|do|action|pdf|docx?)\b|[\w%-]+/\w"
)
_SCRIPT_HREF = re.compile(r"\s*(?:javascript:|#|$)", re.IGNORECASE)
_SCRIPT_ATTRIBUTES = frozenset({*_URL_ATTRIBUTES, "onclick"})
_CLICKABLE_TAGS = frozenset(
    {"a", "area", "li", "tr", "td", "div", "p", "span", "dt", "dd", "h2", "h3", "h4", "article"}
)


def find_link_address(tag: str, attributes: Mapping[str, str | None]) -> str | None:
    """Return the address that an element leads to as written: `href`, a data attribute, or a handler's argument.

    None for a handler whose argument is no address (an identifier, a word): only running it would tell.
    """
    if tag in ("a", "area"):
        href = (attributes.get("href") or "").strip()
        if not _SCRIPT_HREF.match(href):
            return href
        if (found := _find_call_address(href)) is not None:
            return found
    elif tag not in _CLICKABLE_TAGS or _SCRIPT_ATTRIBUTES.isdisjoint(attributes):
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
# Deeper than any author nests; the elements of a hostile page count as their parent's content from there on.
_MAX_DEPTH = 200
# Longer "urls" are data, and hostile to every pattern that looks at them.
_MAX_URL_CHARS = 2048
MAX_LINK_CHARS = 5_000
"""A link with more text is a whole page: it is read so far, for links may lie in links."""

_ZERO_WIDTH = ("\u200b", "\ufeff")
_WIDE_CHARS = re.compile("[\u2e80-\U0010ffff]+")
# An address without a query, a dot segment or a character that an url must not hold.
_PLAIN_ADDRESS = re.compile(
    r"(?:(?P<site>https?://(?:[a-z\d-]+\.)++[a-z]{2,12}/)|(?P<root>/(?!/))|(?:\./)?)"
    r"(?P<path>(?:[\w~-][\w.~-]*+(?:/|\Z))*+)",
    re.ASCII,
)


def collapse_whitespace(text: str) -> str:
    """Return the text with each run of white space, zero-width spaces included, as one space; without soft hyphens."""
    if not text.isascii():
        text = text.replace("\xad", "")
        for invisible in _ZERO_WIDTH:
            text = text.replace(invisible, " ")
    return " ".join(text.split())


def measure_width(text: str) -> int:
    """Return the length of a text in Latin letters: a Chinese, Japanese or Korean character counts as two."""
    return len(text) + count_wide_chars(text)


def count_wide_chars(text: str) -> int:
    """Return the number of Chinese, Japanese and Korean characters; each says as much as two letters."""
    return 0 if text.isascii() else sum(map(len, _WIDE_CHARS.findall(text)))


@dataclass(slots=True, eq=False)
class Element:
    """One element. `end` and `text_end` are one past its last descendant and its last text; children count from 1."""

    index: int
    tag: str
    parent: "Element | None"
    attributes: dict[str, str | None]
    text_start: int
    end: int
    text_end: int
    depth: int = 0
    child_count: int = 0
    position: int = 1
    css_class: str = ""

    @property
    def class_and_id(self) -> str:
        return f"{self.css_class} {(self.attributes.get('id') or '').lower()}"

    @property
    def kind(self) -> tuple[str, int]:
        return self.tag, self.depth

    def contains(self, other: "Element") -> bool:
        """Whether `other` is this element or lies in it."""
        return self.index <= other.index < self.end

    def iter_ancestors(self) -> Iterator["Element"]:
        """Yield the element itself, its parent, and so on up to the root."""
        node: Element | None = self
        while node is not None:
            yield node
            node = node.parent

    def get_title(self) -> str:
        """Return the `title` attribute, its white space collapsed."""
        return collapse_whitespace(self.attributes.get("title") or "")

    def closest(self, tags: Collection[str]) -> "Element | None":
        """Return the nearest of the element and its ancestors that has one of the tags."""
        return next((node for node in self.iter_ancestors() if node.tag in tags), None)


@dataclass(slots=True, eq=False)
class Anchor:
    """A link to another document, with its absolute url."""

    element: Element
    url: str
    text: str


@dataclass(eq=False)
class Outline:
    """The page as flat arrays. `texts[i]` stands in `elements[text_owner[i]]`; `memory` is of other pages.

    `spaced` has the texts before which there is nothing but white space between two elements, as between two words.
    """

    url: str
    base: str
    elements: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    text_owner: list[int] = field(default_factory=list)
    spaced: set[int] = field(default_factory=set)
    memory: SiteRepeats | None = None
    declares_article: bool = False

    def get_text(self, element: Element, max_chars: int | None = None) -> str:
        """Return the visible text in an element, its white space collapsed; no more texts than reach `max_chars`."""
        end = element.text_end
        if max_chars is not None and end - element.text_start > 1:
            start = bisect_left(self._lengths, self._lengths[element.text_start] + max_chars, element.text_start, end)
            end = min(end, start + 1)
        return collapse_whitespace(" ".join(self.texts[element.text_start : end]))

    def join_texts(self, start: int, end: int) -> str:
        """Return texts as one, with the white space that stands between them."""
        texts, spaced = self.texts, self.spaced
        return "".join([f" {texts[index]}" if index in spaced else texts[index] for index in range(start, end)])

    @cached_property
    def _lengths(self) -> list[int]:
        """The length of all texts before each one, and of all."""
        return [0, *accumulate(map(len, self.texts))]

    def get_descendants(self, element: Element) -> list[Element]:
        return self.elements[element.index + 1 : element.end]

    @property
    def language(self) -> str:
        """The language that the page declares, as `de-AT`; the empty string where it declares none."""
        return (self.elements[0].attributes.get("lang") or "") if self.elements else ""

    @cached_property
    def full_text(self) -> str:
        return collapse_whitespace(" ".join(self.texts))

    @cached_property
    def anchors(self) -> list[Anchor]:
        """The links to other documents in page order; what a script opens is a link where its text has the address."""
        here = clean_url(self.url)
        resolve = _build_resolver(self.base)
        found: list[tuple[Element, str]] = []
        for element in self.elements:
            if not element.attributes:
                continue
            href = find_link_address(element.tag, element.attributes)
            url = resolve(href) if href else None
            if url and url != here and len(url) <= _MAX_URL_CHARS:
                found.append((element, url))
        # Without the clickable rows and boxes that contain a link of their own.
        return [
            Anchor(element, url, self._get_link_text(element))
            for (element, url), after in zip_longest(found, found[1:])
            if element.tag in ("a", "area") or after is None or not element.contains(after[0])
        ]

    @cached_property
    def link_indexes(self) -> frozenset[int]:
        """The indexes of the elements that are links."""
        return frozenset(anchor.element.index for anchor in self.anchors)

    def list_links(self, element: Element) -> list[Anchor]:
        """Return the links in an element, itself included."""
        return self.anchors[self._link_counts[element.index] : self._link_counts[element.end]]

    def count_links(self, element: Element) -> int:
        return self._link_counts[element.end] - self._link_counts[element.index]

    @cached_property
    def _link_counts(self) -> list[int]:
        """The number of links before each element, and of all."""
        return [0, *accumulate([element.index in self.link_indexes for element in self.elements])]

    def _get_link_text(self, element: Element) -> str:
        # The title of an empty link counts: a script writes its text, or it lies over a card.
        title = "" if element.end > element.index + 1 else element.get_title()
        return self.get_text(element, MAX_LINK_CHARS) or title


def _build_resolver(base: str) -> Callable[[str], str | None]:
    """Return what makes a page's links absolute as `clean_url` does; simple ones, which most are, without parsing."""
    site, folder = (clean_url("/", base) or "").removesuffix("/"), clean_url("./", base) or ""

    @cache
    def resolve(href: str) -> str | None:
        if site and (plain := _PLAIN_ADDRESS.fullmatch(href)):
            if plain["site"]:
                return href
            return f"{site}{href}" if plain["root"] else f"{folder}{plain['path']}"
        # Some systems escape an url twice; no field of a query is called "amp;page".
        return clean_url(href.replace("&amp;", "&"), base)

    return resolve


_ARTICLE_META = 'meta[property="og:type"][content="article" i], meta[property="article:published_time"]'


def build_outline(tree: LexborHTMLParser, url: str) -> Outline:
    """Return the outline of a page that was loaded from `url`; its links are relative to its `base` element, if any."""
    page = Outline(url=url, base=get_base_url(tree, url), declares_article=tree.css_first(_ARTICLE_META) is not None)
    if tree.root is not None:
        _fill_outline(page, tree.root)
    return page


def get_base_url(tree: LexborHTMLParser, url: str) -> str:
    declared = tree.css_first("base[href]")
    return clean_url(declared.attributes.get("href") or "", url) or url if declared is not None else url


def _fill_outline(page: Outline, root: LexborNode) -> None:
    """Walk the tree in page order; what lies in a node without an element, as in a script, is left out."""
    elements, texts = page.elements, page.texts
    element_of: dict[int, Element] = {}

    def add_text(text: str, owner: Element) -> None:
        texts.append(text)
        page.text_owner.append(owner.index)
        owner.text_end = len(texts)

    for node in root.traverse(include_text=True):
        text = node.text_content if node.is_text_node else None
        if text is not None and (not text or text.isspace()):
            page.spaced.add(len(texts))
            continue
        above = node.parent
        parent = element_of.get(above.mem_id) if above is not None else None
        if text is not None:
            if parent is not None:
                add_text(text, parent)
            continue
        tag = node.tag or ""
        if tag in _HIDDEN_TAGS or not node.is_element_node or (parent is None and elements):
            continue
        if parent is not None and parent.depth >= _MAX_DEPTH and tag != "a":
            element_of[node.mem_id] = parent
            continue
        attributes = node.attributes
        element = Element(len(elements), tag, parent, attributes, len(texts), len(elements) + 1, len(texts))
        if parent is not None:
            parent.child_count += 1
            element.position, element.depth = parent.child_count, parent.depth + 1
        if "class" in attributes:
            element.css_class = (attributes["class"] or "").lower()
        element_of[node.mem_id] = element
        elements.append(element)
        is_button = tag == "input" and (attributes.get("type") or "").lower() in ("button", "submit")
        if is_button and (label := (attributes.get("value") or "").strip()):
            add_text(label, element)
    _close_elements(elements)


def _close_elements(elements: list[Element]) -> None:
    """Let each element end no earlier than the last one in it."""
    for element in reversed(elements):
        if (parent := element.parent) is not None:
            parent.end, parent.text_end = max(parent.end, element.end), max(parent.text_end, element.text_end)


def measure_text_weight(text: str) -> int:
    """Return the length of a text without white space, a Chinese character counted as two."""
    return measure_width("".join(text.split()))
