"""Groups of links that may be one list: the same links are grouped in several overlapping ways.

No single way of grouping fits all markup: the tag path cuts a list whose third row has an image, the class path one
whose first row is highlighted, the url shape one that mixes pages and documents. So every link takes part in many
groups, and `listing` picks the best group by what it holds.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache

from monitor.pages.outline import Anchor, Element, Outline
from monitor.pages.pagerwords import is_pager_text

# Words that tell rows of one list apart, not lists from each other.
_ROW_WORDS = re.compile(r"\b(odd|even|first|last|active|current|cur|on|alt|alternate|new|hot|top|sticky|clearfix|cf)\b")
_DIGITS = re.compile(r"\d+")
# A text that so many links of a group show tells nothing about any of them.
_REFRAIN = 3


def link_groups(page: Outline) -> list[list[Anchor]]:
    """Every distinct group of at least two links (of different urls), each in page order."""
    pagers = _pager_links(page)
    anchors = [anchor for anchor in page.anchors if anchor.element.index not in pagers and not _is_blank(page, anchor)]
    names = _PathNames([anchor.element for anchor in anchors])
    groups: dict[Hashable, list[Anchor]] = defaultdict(list)
    for anchor in anchors:
        for key in _keys(anchor, names):
            groups[key].append(anchor)
    distinct: dict[tuple[int, ...], list[Anchor]] = {}
    _add(distinct, groups.values())
    _add(distinct, [part for members in distinct.values() for part in _parted_by_refrain(members)])
    return list(distinct.values())


def _add(distinct: dict[tuple[int, ...], list[Anchor]], groups: Iterable[list[Anchor]]) -> None:
    for members in groups:
        if len(members) >= 2 and any(anchor.url != members[0].url for anchor in members):
            distinct.setdefault(tuple([anchor.element.index for anchor in members]), members)


def _parted_by_refrain(members: list[Anchor]) -> list[list[Anchor]]:
    """The links whose texts differ, where others say the same in row after row ("Summary", "Download"), or nothing.

    Where hardly any differ (a "Decision" and a "Summary" in each row), those that say the same.
    """
    counts = Counter([anchor.text for anchor in members])
    if len(counts) in (1, len(members)):
        return []
    kept = [anchor for anchor in members if anchor.text and counts[anchor.text] < _REFRAIN]
    if len(kept) >= 0.2 * len(members):
        return [kept] if len(kept) <= 0.8 * len(members) or counts[""] else []
    return [
        [anchor for anchor in members if anchor.text == text] for text, count in counts.items() if count >= _REFRAIN
    ]


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
    """A link that nobody could see: no text, nothing in it, and no name by which a style could draw a sign."""
    return not (anchor.text or page.inside(anchor.element) or anchor.element.css_class)


def _keys(anchor: Anchor, names: "_PathNames") -> Iterator[Hashable]:
    index = anchor.element.index
    shape = url_shape(anchor.url)
    yield "columns", names.columns[index]
    yield "columns", names.columns[index], shape
    yield "classes", names.classes[index]
    yield "tail", names.tail(anchor.element)
    yield "container", names.container(anchor.element), shape
    yield "shape", shape


@lru_cache(maxsize=4096)
def url_shape(url: str) -> Hashable:
    """What the urls of one list have in common: host, first two directories, extension, names of query fields."""
    address, _, query = url.partition("?")
    _, _, host, *segments = address.split("/")
    directories = tuple([_DIGITS.sub("#", segment) for segment in segments[:-1][:2]])
    extension = segments[-1].rpartition(".")[2].lower()[:6] if segments and "." in segments[-1] else ""
    return host, directories, extension, tuple(sorted({field.partition("=")[0] for field in query.split("&")}))


class _PathNames:
    """Names of the ways from the page's top to its links, each a number, for they are compared thousands of times."""

    def __init__(self, ends: list[Element]) -> None:
        self.classes: dict[int, int] = {-1: 0}
        self.columns: dict[int, int] = {-1: 0}
        self._step: dict[int, str] = {}
        self._numbers: dict[Hashable, int] = {}
        for element in _with_parents(ends):
            above = element.parent.index if element.parent else -1
            index, tag = element.index, element.tag
            step = f"cell{element.position}" if tag in ("td", "th") else tag
            self._step[index] = class_step = f"{tag}.{_class_name(element.css_class)}"
            self.classes[index] = self._number(("classes", self.classes[above], class_step))
            self.columns[index] = self._number(("columns", self.columns[above], step))

    def _number(self, name: Hashable) -> int:
        return self._numbers.setdefault(name, len(self._numbers) + 1)

    def tail(self, element: Element) -> Hashable:
        """The last three steps, with their classes."""
        found: list[str] = []
        node: Element | None = element
        while node is not None and len(found) < 3:
            found.append(self._step[node.index])
            node = node.parent
        return tuple(found)

    def container(self, element: Element) -> tuple[int, tuple[str, ...]]:
        """The nearest element above with several children, and the way down from there."""
        node = element
        way = [node.tag]
        while node.parent is not None and node.parent.child_count < 3:
            node = node.parent
            way.append(node.tag)
        return node.parent.index if node.parent else 0, tuple(way)


def _with_parents(ends: list[Element]) -> list[Element]:
    """The elements and all that they lie in, parents first."""
    found: dict[int, Element] = {}
    for end in ends:
        node: Element | None = end
        while node is not None and node.index not in found:
            found[node.index] = node
            node = node.parent
    return [found[index] for index in sorted(found)]


@lru_cache(maxsize=4096)
def _class_name(css_class: str) -> str:
    """The words of a class attribute that tell lists apart, in one order."""
    return " ".join(sorted(_DIGITS.sub("", _ROW_WORDS.sub("", css_class)).split())) if css_class else ""
