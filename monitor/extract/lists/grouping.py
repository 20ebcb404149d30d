"""Groups the links of a page: all that could be the links of one list, by their paths, classes and urls."""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from itertools import islice

from monitor.extract.html import Anchor, Element, Outline
from monitor.extract.lists.paging import is_pager_text

# Class names that differ between the rows of one list.
_ROW_STATE_WORDS = re.compile(
    r"\b(odd|even|first|last|active|current|cur|on|alt|alternate|new|hot|top|sticky|clearfix|cf)\b"
)
# Navigation, footer, sidebar and the like, by HTML's own words for them.
_LANDMARK_TAGS = frozenset({"nav", "footer", "aside", "header", "menu", "select"})
_LANDMARK_ROLES = frozenset({"navigation", "contentinfo", "complementary", "banner", "menu", "menubar", "search"})
RECORD_TAGS = frozenset({"tr", "li", "dl", "article"})
_DIGITS = re.compile(r"\d+")
# A text that so many links of a group share describes none of them.
_MIN_REPEATS = 3


def group_links(page: Outline, paths: "LinkPaths") -> list[list[Anchor]]:
    """Return every distinct group of at least two links (to different urls), each in page order."""
    pagers = _find_pager_links(page, frozenset(paths.pagers))
    # A link without text, content and a class that could style it is invisible.
    anchors = [
        anchor
        for anchor in page.anchors
        if anchor.element.index not in pagers
        and (anchor.text or anchor.element.end > anchor.element.index + 1 or anchor.element.css_class)
    ]
    groups: dict[Hashable, list[Anchor]] = defaultdict(list)
    for anchor in anchors:
        for key in _list_keys(anchor, paths):
            groups[key].append(anchor)
    distinct: dict[tuple[int, ...], list[Anchor]] = {}
    _add_distinct(distinct, groups.values())
    _add_distinct(distinct, [part for members in distinct.values() for part in _split_by_repeated_text(members)])
    return list(distinct.values())


def _add_distinct(distinct: dict[tuple[int, ...], list[Anchor]], groups: Iterable[list[Anchor]]) -> None:
    for members in groups:
        if len(members) >= 2 and any(anchor.url != members[0].url for anchor in members):
            distinct.setdefault(tuple([anchor.element.index for anchor in members]), members)


def _split_by_repeated_text(members: list[Anchor]) -> list[list[Anchor]]:
    """Return the links without those of one text in each row ("Download"), or those of each text if few differ."""
    counts = Counter([anchor.text for anchor in members])
    if len(counts) in (1, len(members)):
        return []
    kept = [anchor for anchor in members if anchor.text and counts[anchor.text] < _MIN_REPEATS]
    if len(kept) >= 0.2 * len(members):
        return [kept] if len(kept) <= 0.8 * len(members) or counts[""] else []
    by_text: dict[str, list[Anchor]] = defaultdict(list)
    for anchor in members:
        by_text[anchor.text].append(anchor)
    return [repeated for repeated in by_text.values() if len(repeated) >= _MIN_REPEATS]


def _find_pager_links(page: Outline, likely: frozenset[int]) -> set[int]:
    """Return the elements of pager links; bare numbers count where they follow each other (2 3 4)."""
    found: set[int] = set()
    last: tuple[Anchor, int] | None = None
    for anchor in page.anchors:
        if anchor.element.index not in likely:
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


def _list_keys(anchor: Anchor, paths: "LinkPaths") -> Iterator[Hashable]:
    index = anchor.element.index
    shape, columns = get_url_shape(anchor.url), paths.columns[index]
    yield "columns", columns
    yield "columns", columns, shape
    yield "classes", paths.classes[index]
    yield "tail", paths.get_tail(anchor.element)
    yield "container", paths.get_container(anchor.element), shape
    yield "shape", shape


@lru_cache(maxsize=4096)
def get_url_shape(url: str) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
    """Return what the urls of one list share: host, first two directories, extension, names of query fields."""
    address, _, query = url.partition("?")
    host, *segments = address.rpartition("://")[2].split("/")
    directories = tuple([_DIGITS.sub("#", segment) for segment in segments[:-1][:2]])
    extension = segments[-1].rpartition(".")[2].lower()[:6] if segments and "." in segments[-1] else ""
    return host, directories, extension, tuple(sorted({field.partition("=")[0] for field in query.split("&")}))


class LinkPaths:
    """The paths from the page's root to its links, each as a number, since they are compared thousands of times.

    `landmarks` says of each element on them whether it is or lies in one; `pagers` are the links of a pager's words.
    """

    def __init__(self, page: Outline) -> None:
        self.classes: dict[int, int] = {-1: 0}
        self.columns: dict[int, int] = {-1: 0}
        self.records: dict[int, int] = {-1: -1}
        self.steps: dict[int, str] = {}
        self.landmarks: dict[int, bool] = {-1: False}
        self.pagers = [anchor.element.index for anchor in page.anchors if is_pager_text(anchor.text)]
        self._alike: dict[Hashable, list[Anchor]] = defaultdict(list)
        classes: dict[tuple[int, str], int] = {}
        columns: dict[tuple[int, str], int] = {}
        for element in _list_with_ancestors([anchor.element for anchor in page.anchors]):
            above = element.parent.index if element.parent else -1
            index, tag = element.index, element.tag
            is_landmark = tag in _LANDMARK_TAGS or (element.attributes.get("role") or "") in _LANDMARK_ROLES
            self.landmarks[index] = is_landmark or self.landmarks[above]
            self.records[index] = index if tag in RECORD_TAGS else self.records[above]
            step = f"cell{element.position}" if tag in ("td", "th") else tag
            self.steps[index] = class_step = f"{tag}.{normalize_class(element.css_class)}"
            self.classes[index] = classes.setdefault((self.classes[above], class_step), len(classes) + 1)
            self.columns[index] = columns.setdefault((self.columns[above], step), len(columns) + 1)

    def list_alike(self, page: Outline, link: Anchor) -> list[list[Anchor]]:
        """Return the links that are like one: by tags and classes, by tags and columns, beside it, by their urls."""
        if not self._alike:
            for anchor in page.anchors:
                for kind in self._list_kinds(anchor):
                    self._alike[kind].append(anchor)
        return [self._alike[kind] for kind in self._list_kinds(link)]

    def _list_kinds(self, link: Anchor) -> list[Hashable]:
        index = link.element.index
        record = link.element.closest(RECORD_TAGS) or link.element
        beside = record.parent.index if record.parent else 0
        columns = self.columns[index]
        return [("classes", self.classes[index]), columns, (beside, columns), get_url_shape(link.url)]

    def get_tail(self, element: Element) -> Hashable:
        """Return the last three steps of the path, with their classes."""
        return tuple([self.steps[node.index] for node in islice(element.iter_ancestors(), 3)])

    def get_container(self, element: Element) -> tuple[int, tuple[str, ...]]:
        """Return the nearest ancestor with several children, and the tags on the path up to it."""
        node = element
        path = [node.tag]
        while node.parent is not None and node.parent.child_count < 3:
            node = node.parent
            path.append(node.tag)
        return node.parent.index if node.parent else 0, tuple(path)


def _list_with_ancestors(ends: list[Element]) -> list[Element]:
    """Return the elements and all their ancestors, parents first."""
    found: dict[int, Element] = {}
    for end in ends:
        node: Element | None = end
        while node is not None and node.index not in found:
            found[node.index] = node
            node = node.parent
    return [found[index] for index in sorted(found)]


@lru_cache(maxsize=4096)
def normalize_class(css_class: str) -> str:
    """Return the words of a class attribute that distinguish lists, sorted."""
    return " ".join(sorted(set(_DIGITS.sub("", _ROW_STATE_WORDS.sub("", css_class)).split()))) if css_class else ""
