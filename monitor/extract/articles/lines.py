"""The lines of a page, one for each block of text, and what can be measured of each for a model to judge."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, islice
from math import log2

from monitor.extract.articles.labels import PageMetadata
from monitor.extract.html import Element, Outline, collapse_whitespace, measure_width

BLOCK_TAGS = frozenset(
    {
        *("p", "div", "li", "tr", "td", "th", "br", "section", "article", "main", "blockquote", "table", "ul", "ol"),
        *("dd", "dt", "dl", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "form", "header", "footer", "figure", "body"),
        *("figcaption", "aside", "nav", "center", "address", "tbody", "details", "summary", "fieldset", "label"),
        *("button", "select", "textarea", "option"),
    }
)
# What an element lies in, by its own tag and those around it.
_REGION_TAGS = {
    "in_nav": ("nav", "menu"),
    "in_header": ("header",),
    "in_aside": ("aside",),
    "in_article": ("article",),
    "in_main": ("main",),
    "in_table": ("table",),
    "in_list": ("ul", "ol", "dl"),
    "in_quote": ("blockquote",),
    "in_footer": ("footer",),
    "in_form": ("form", "button", "select", "textarea", "label", "fieldset", "option"),
    "in_figure": ("figure", "figcaption"),
}
REGION_FEATURES = (*_REGION_TAGS, "hidden")
_REGIONS = {tag: 1 << place for place, tags in enumerate(_REGION_TAGS.values()) for tag in tags}
_HIDDEN = 1 << len(_REGION_TAGS)
_ASIDE = _HIDDEN | sum(_REGIONS[tag] for tag in ("nav", "footer", "header", "aside", "form", "figure"))
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SENTENCE_MARK = re.compile(r"[.!?;。！？；…]")
_COMMA = re.compile(r"[,，、]")
_ENDING_MARKS = tuple('.!?。！？…”"」』)）')
_NON_WORD = re.compile(r"[\W_]+")
_MIN_PROSE_WIDTH = 80
LEVELS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_TAGS = {"p": 1, "li": 2, "td": 3, "th": 3, "tr": 3, "dd": 4, "dt": 4, "br": 5, "blockquote": 6, "pre": 7}
_TAGS |= dict.fromkeys(("div", "section", "article", "main", "body", "center"), 8)
_MAX_TEXT_CHARS = 400
_FAR = 50
CONTAINER_SHARE = 0.75  # of the sentences of the page


def normalize_title(text: str) -> str:
    """Return the form in which titles are compared: letters and digits only, one width, lower case."""
    return _NON_WORD.sub("", text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()


@dataclass(slots=True)
class TextLine:
    """The text of a block element, or of its part between two line breaks; `start` and `end` count texts.

    `width` is that of the text in Latin letters, `linked` that of the part in links.
    """

    block: Element
    start: int
    end: int
    text: str
    width: int
    linked: int

    @property
    def is_prose(self) -> bool:
        """Whether it contains a sentence outside of links."""
        return self.width - self.linked >= _MIN_PROSE_WIDTH


@dataclass(eq=False)
class PageLines:
    """The lines of a page in page order, with running sums for questions about elements."""

    page: Outline
    metadata: PageMetadata

    @cached_property
    def lines(self) -> list[TextLine]:
        page = self.page
        block_of = list_blocks(page)
        breaks = {element.text_start for element in page.elements if element.tag == "br"}
        found: list[TextLine] = []
        block: Element | None = None
        start = 0
        for index, owner in enumerate([*page.text_owner, -1]):
            here = block_of[owner] if owner >= 0 else None
            if here is block and index not in breaks:
                continue
            if block is not None and (text := collapse_whitespace(page.join_texts(start, index))):
                linked = self._linked[index] - self._linked[start]
                found.append(TextLine(block, start, index, text, measure_width(text), linked))
            block, start = here, index
        return found

    @cached_property
    def folded(self) -> list[str]:
        """The text of each line as titles are compared."""
        return [normalize_title(line.text) for line in self.lines]

    @cached_property
    def headings(self) -> list[Element | None]:
        """For each line the heading that its block is or lies right in."""
        return [
            next((node for node in islice(line.block.iter_ancestors(), 3) if node.tag in LEVELS), None)
            for line in self.lines
        ]

    @cached_property
    def linked_texts(self) -> list[bool]:
        """For each text whether it lies in a link."""
        flags = [False] * len(self.page.texts)
        for element in self.page.elements:
            if element.tag == "a":
                flags[element.text_start : element.text_end] = [True] * (element.text_end - element.text_start)
        return flags

    @cached_property
    def _linked(self) -> list[int]:
        texts = zip(self.page.texts, self.linked_texts, strict=True)
        return [0, *accumulate(measure_width(collapse_whitespace(text)) if is_link else 0 for text, is_link in texts)]

    @cached_property
    def regions(self) -> list[int]:
        """For each element the kinds of elements that it lies in, as bits in the order of `REGION_FEATURES`."""
        found: list[int] = []
        for element in self.page.elements:
            bits = found[element.parent.index] if element.parent is not None else 0
            bits |= _REGIONS.get(element.tag, 0)
            if element.attributes and (
                "hidden" in element.attributes or _HIDDEN_STYLE.search(element.attributes.get("style") or "")
            ):
                bits |= _HIDDEN
            found.append(bits)
        return found

    @cached_property
    def line_of_text(self) -> list[int]:
        """For each text the line that it belongs to, or the next one."""
        found = [0] * (len(self.page.texts) + 1)
        for place, line in enumerate(self.lines):
            found[line.start : line.end] = [place] * (line.end - line.start)
        found[-1] = len(self.lines)
        return found

    @cached_property
    def sums(self) -> tuple[list[int], list[int], list[int]]:
        """Widths, widths in links and widths of prose of all lines before each one."""
        lines = self.lines
        return (
            [0, *accumulate(line.width for line in lines)],
            [0, *accumulate(line.linked for line in lines)],
            [0, *accumulate(line.width if line.is_prose else 0 for line in lines)],
        )

    def measure(self, element: Element) -> tuple[int, int, int]:
        """Return the widths of an element's lines: of all, of those in links, of those with sentences."""
        first, last = self.line_of_text[element.text_start], self.line_of_text[element.text_end]
        widths, linked, prose = self.sums
        return widths[last] - widths[first], linked[last] - linked[first], prose[last] - prose[first]

    def is_aside(self, place: int, element: Element) -> bool:
        """Whether a line of an element lies in a part of it that is menu, box, form, figure or hidden."""
        regions = self.regions
        return bool(regions[self.lines[place].block.index] & ~regions[element.index] & _ASIDE)

    def find_container(self, share: float) -> Element | None:
        """Return the innermost element that has this share of the page's sentences."""
        total = self.sums[2][-1]
        element = self.page.elements[0] if self.page.elements and total else None
        while element is not None:
            index, inner = element.index + 1, None
            while index < element.end:
                child = self.page.elements[index]
                if self.measure(child)[2] >= share * total:
                    inner = child
                    break
                index = child.end
            if inner is None:
                return element
            element = inner
        return None


LINE_FEATURES = (
    *("width", "link_share", "sentences", "ends_sentence", "commas", "tag", "level", *REGION_FEATURES),
    *("place", "prose_before", "from_end", "copies", "since_h1", "heads_above", "in_half", "below_most"),
    *("since_prose", "until_prose", "is_between", "width_above", "links_above"),
    *("same_parent_prose", "same_kind_prose", "same_class_prose", "same_parent_lines"),
    *("prose_1", "link_1", "children_1", "prose_2", "link_2", "prose_3", "link_3", "prose_4", "link_4"),
    *("page_prose", "page_links", "link_run", "link_window"),
)


def measure_lines(view: PageLines) -> list[tuple[float, ...]]:
    """Return the features of each line, in the order of `LINE_FEATURES`."""
    return _LineMeter(view).measure()


class _LineMeter:
    def __init__(self, view: PageLines) -> None:
        self.view, self.lines = view, view.lines
        self.widths, self.linked, self.prose = view.sums
        self.copies = Counter(line.text for line in self.lines)
        self.total_prose = max(1, self.prose[-1])
        self.by_parent: dict[int, int] = defaultdict(int)
        self.by_kind: dict[tuple[str, int], int] = defaultdict(int)
        self.by_class: dict[tuple[str, str], int] = defaultdict(int)
        self.count = Counter(_get_parent(line.block).index for line in self.lines)
        for line in self.lines:
            if line.is_prose:
                self.by_parent[_get_parent(line.block).index] += line.width
                self.by_kind[line.block.kind] += line.width
                self.by_class[line.block.tag, line.block.css_class] += line.width
        self.half, self.most = (view.find_container(share) for share in (0.5, CONTAINER_SHARE))
        self.around: dict[int, tuple[float, ...]] = {}

    def measure(self) -> list[tuple[float, ...]]:
        lines, count = self.lines, len(self.lines)
        before = _count_since([line.is_prose for line in lines])
        after = _count_since([line.is_prose for line in reversed(lines)])[::-1]
        since_h1 = _count_since([line.block.tag == "h1" for line in lines])
        heads = list(accumulate(line.block.tag in LEVELS for line in lines))
        links = [line.linked / max(1, line.width) for line in lines]
        runs = _count_runs([share > 0.8 for share in links])
        logs = [log2(1 + line.width) for line in lines]
        page = (log2(1 + self.total_prose), self.linked[-1] / max(1, self.widths[-1]))
        rows = []
        for place, line in enumerate(lines):
            low, high = max(0, place - 4), min(count, place + 5)
            rows.append(
                (
                    logs[place],
                    links[place],
                    *_measure_text(line.text[:_MAX_TEXT_CHARS]),
                    *self._measure_block(line.block),
                    place / count,
                    self.prose[place] / self.total_prose,
                    min(_FAR, count - place),
                    min(9, self.copies[line.text]),
                    since_h1[place],
                    min(9, heads[place]),
                    float(self.half is not None and self.half.contains(line.block)),
                    line.block.depth - (self.most.depth if self.most else 0),
                    before[place],
                    after[place],
                    float(before[place] < _FAR and after[place] < _FAR),
                    *((logs[place - 1], links[place - 1]) if place else (0.0, 0.0)),
                    *self._measure_likes(line.block),
                    *self._measure_around(line.block),
                    *page,
                    runs[place],
                    (self.linked[high] - self.linked[low]) / max(1, self.widths[high] - self.widths[low]),
                )
            )
        return rows

    def _measure_block(self, block: Element) -> tuple[float, ...]:
        level = LEVELS.get(block.tag) or LEVELS.get(_get_parent(block).tag, 0)
        return (_TAGS.get(block.tag, 0), level, *list_bits(self.view.regions[block.index]))

    def _measure_likes(self, block: Element) -> tuple[float, ...]:
        parent = _get_parent(block).index
        return (
            self.by_parent[parent] / self.total_prose,
            self.by_kind[block.kind] / self.total_prose,
            self.by_class[block.tag, block.css_class] / self.total_prose,
            min(_FAR, self.count[parent]),
        )

    def _measure_around(self, block: Element) -> tuple[float, ...]:
        parent = _get_parent(block)
        if (known := self.around.get(parent.index)) is not None:
            return known
        found: list[float] = []
        node = parent
        for step in range(4):
            width, linked, prose = self.view.measure(node)
            found += [prose / self.total_prose, linked / max(1, width)]
            if step == 0:
                found.append(min(_FAR, node.child_count))
            node = _get_parent(node)
        self.around[parent.index] = tuple(found)
        return self.around[parent.index]


def _measure_text(text: str) -> tuple[float, ...]:
    return (len(_SENTENCE_MARK.findall(text)), float(text.endswith(_ENDING_MARKS)), len(_COMMA.findall(text)))


@cache
def list_bits(regions: int) -> tuple[float, ...]:
    """Return the bits of an element's regions, the lowest first."""
    return tuple([float(regions >> place & 1) for place in range(_HIDDEN.bit_length())])


def list_blocks(page: Outline) -> list[Element]:
    """Return for each element the block that it is or lies in, the root where there is none."""
    block_of: list[Element] = []
    for element in page.elements:
        parent = element.parent
        block_of.append(element if parent is None or element.tag in BLOCK_TAGS else block_of[parent.index])
    return block_of


def _get_parent(element: Element) -> Element:
    return element.parent or element


def _count_since(flags: Sequence[bool]) -> list[int]:
    """Return how many places ago a flag was last set, 0 where it is set itself; at most `_FAR`."""
    found, since = [], _FAR
    for flag in flags:
        since = 0 if flag else min(_FAR, since + 1)
        found.append(since)
    return found


def _count_runs(flags: Sequence[bool]) -> list[int]:
    """Return for each place how long the run of set flags around it is, 0 where its own is not set."""
    found = [0] * len(flags)
    start = 0
    for place, flag in enumerate([*flags, False]):
        if not flag:
            found[start:place] = [min(_FAR, place - start)] * (place - start)
            start = place + 1
    return found
