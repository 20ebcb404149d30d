"""Groups of links that may be one list: the same links are grouped in several overlapping ways.

No single way of grouping fits all markup: the tag path cuts a list whose third row has an image, the class path one
whose first row is highlighted, the url shape one that mixes pages and documents. So every link takes part in many
groups, and `listing` picks the best group by what it holds.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator
from functools import lru_cache
from urllib.parse import parse_qsl, urlsplit

from monitor.pages.attachments import document_type
from monitor.pages.outline import Anchor, Element, Outline
from monitor.pages.pagerwords import is_pager_text

_LIST_TAGS = frozenset({"ul", "ol", "table", "dl", "tbody", "section", "main", "article"})
# Words that tell rows of one list apart, not lists from each other.
_ROW_WORDS = re.compile(r"\b(odd|even|first|last|active|current|cur|on|alt|alternate|new|hot|top|sticky|clearfix|cf)\b")
_DIGITS = re.compile(r"\d+")


def link_groups(page: Outline) -> list[list[Anchor]]:
    """Every distinct group of at least two links (of different urls), each in page order."""
    groups: dict[Hashable, list[Anchor]] = defaultdict(list)
    namer = _PathNames()
    pagers = _pager_links(page)
    for anchor in page.anchors:
        if anchor.element.index in pagers or _is_blank(page, anchor):
            continue
        for key in _keys(anchor, namer):
            groups[key].append(anchor)
    distinct: dict[tuple[int, ...], list[Anchor]] = {}
    for members in groups.values():
        if len({anchor.url for anchor in members}) >= 2:
            distinct.setdefault(tuple(anchor.element.index for anchor in members), members)
    return list(distinct.values())


def _pager_links(page: Outline) -> set[int]:
    """The elements of links that belong to a pager.

    Bare numbers do where they stand in a row: 2 3 4; a docket number in each row of a table does not.
    """
    found: set[int] = set()
    last: tuple[Anchor, int] | None = None
    for anchor in page.anchors:
        if not is_pager_text(anchor.text):
            last = None
            continue
        digits = _DIGITS.search(anchor.text)
        if not digits:
            found.add(anchor.element.index)
            continue
        number = int(digits[0])
        if last and 0 < number - last[1] <= 10 and anchor.element.text_start - last[0].element.text_end <= 1:
            found.update((last[0].element.index, anchor.element.index))
        last = (anchor, number)
    return found


def _is_blank(page: Outline, anchor: Anchor) -> bool:
    """A link that nobody could see: no text, nothing in it, and no document behind it."""
    return not (anchor.text or page.inside(anchor.element) or document_type(anchor.url))


def _keys(anchor: Anchor, names: "_PathNames") -> Iterator[Hashable]:
    element = anchor.element
    shape = url_shape(anchor.url)
    plain, classes, columns = names.plain(element), names.classes(element), names.columns(element)
    container, within = names.container(element)
    yield "plain", plain
    yield "plain+shape", plain, shape
    yield "classes", classes
    yield "classes+shape", classes, shape
    yield "columns", columns
    yield "columns+shape", columns, shape
    yield "tail", tuple(classes[-3:])
    yield "tail+shape", tuple(classes[-3:]), shape
    yield "container", container, within
    yield "container+shape", container, within, shape
    yield "container+column", container, columns[-4:]
    yield "shape", shape
    yield "ancestor+shape", names.list_ancestor(element), shape


@lru_cache(maxsize=4096)
def url_shape(url: str) -> Hashable:
    """What the urls of one list have in common: host, first two directories, extension, names of query fields."""
    parts = urlsplit(url)
    segments = parts.path.split("/")
    directories = tuple(_DIGITS.sub("#", segment) for segment in segments[1:-1][:2])
    extension = segments[-1].rsplit(".", 1)[-1].lower() if "." in segments[-1] else ""
    return parts.netloc, directories, extension[:6], tuple(sorted({key for key, _ in parse_qsl(parts.query)}))


class _PathNames:
    """Names of the ways to elements, remembered: parents are asked again for each of their children."""

    def __init__(self) -> None:
        self._plain: dict[int, tuple[str, ...]] = {}
        self._classes: dict[int, tuple[str, ...]] = {}
        self._columns: dict[int, tuple[str, ...]] = {}
        self._cells: dict[int, int] = {}

    def plain(self, element: Element) -> tuple[str, ...]:
        if element.index not in self._plain:
            above = self.plain(element.parent) if element.parent else ()
            self._plain[element.index] = (*above[-24:], element.tag)
        return self._plain[element.index]

    def classes(self, element: Element) -> tuple[str, ...]:
        if element.index not in self._classes:
            above = self.classes(element.parent) if element.parent else ()
            name = _DIGITS.sub("", _ROW_WORDS.sub("", element.css_class))
            self._classes[element.index] = (*above[-24:], f"{element.tag}.{'.'.join(sorted(name.split()))}")
        return self._classes[element.index]

    def columns(self, element: Element) -> tuple[str, ...]:
        """The plain path, with the number of the cell in its row."""
        if element.index not in self._columns:
            above = self.columns(element.parent) if element.parent else ()
            name = element.tag
            if name in ("td", "th") and element.parent is not None:
                row = element.parent.index
                self._cells[row] = self._cells.get(row, 0) + 1
                name = f"cell{self._cells[row]}"
            self._columns[element.index] = (*above[-24:], name)
        return self._columns[element.index]

    def container(self, element: Element) -> tuple[int, tuple[str, ...]]:
        """The nearest element above with several children, and the way down from there."""
        node = element
        while node.parent is not None and node.parent.child_count < 3:
            node = node.parent
        top = node.parent.index if node.parent else 0
        depth = element.depth - (node.depth - 1)
        return top, self.plain(element)[-depth:] if depth else ()

    def list_ancestor(self, element: Element) -> int:
        node: Element | None = element
        while node is not None and node.tag not in _LIST_TAGS:
            node = node.parent
        return node.index if node else 0
