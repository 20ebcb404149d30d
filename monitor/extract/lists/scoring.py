"""Groups the links of a page and scores each group as the list that the page exists for."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice, pairwise, takewhile
from typing import NamedTuple

from monitor.dates import has_day
from monitor.extract.html import Anchor, Element, Outline, is_inline, measure_text_weight
from monitor.extract.lists.paging import is_pager_text
from monitor.extract.lists.rows import ListRow

# Class names that differ between the rows of one list.
_ROW_STATE_WORDS = re.compile(
    r"\b(odd|even|first|last|active|current|cur|on|alt|alternate|new|hot|top|sticky|clearfix|cf)\b"
)
_DIGITS = re.compile(r"\d+")
# A text that so many links of a group share describes none of them.
_MIN_REPEATS = 3


def group_links(page: Outline) -> list[list[Anchor]]:
    """Return every distinct group of at least two links (to different urls), each in page order."""
    pagers = _find_pager_links(page)
    # A link without text, content and a class that could style it is invisible.
    anchors = [
        anchor
        for anchor in page.anchors
        if anchor.element.index not in pagers
        and (anchor.text or anchor.element.end > anchor.element.index + 1 or anchor.element.css_class)
    ]
    names = _PathIndex([anchor.element for anchor in anchors])
    groups: dict[Hashable, list[Anchor]] = defaultdict(list)
    for anchor in anchors:
        for key in _list_keys(anchor, names):
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


def _find_pager_links(page: Outline) -> set[int]:
    """Return the elements of pager links; bare numbers count where they follow each other (2 3 4)."""
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


def _list_keys(anchor: Anchor, names: "_PathIndex") -> Iterator[Hashable]:
    index = anchor.element.index
    shape = get_url_shape(anchor.url)
    yield "columns", names.columns[index]
    yield "columns", names.columns[index], shape
    yield "classes", names.classes[index]
    yield "tail", names.get_tail(anchor.element)
    yield "container", names.get_container(anchor.element), shape
    yield "shape", shape


@lru_cache(maxsize=4096)
def get_url_shape(url: str) -> Hashable:
    """Return what the urls of one list share: host, first two directories, extension, names of query fields."""
    address, _, query = url.partition("?")
    _, _, host, *segments = address.split("/")
    directories = tuple([_DIGITS.sub("#", segment) for segment in segments[:-1][:2]])
    extension = segments[-1].rpartition(".")[2].lower()[:6] if segments and "." in segments[-1] else ""
    return host, directories, extension, tuple(sorted({field.partition("=")[0] for field in query.split("&")}))


class _PathIndex:
    """The paths from the page's root to its links, each as a number, since they are compared thousands of times."""

    def __init__(self, ends: list[Element]) -> None:
        self.classes: dict[int, int] = {-1: 0}
        self.columns: dict[int, int] = {-1: 0}
        self._steps: dict[int, str] = {}
        self._numbers: dict[Hashable, int] = {}
        for element in _list_with_ancestors(ends):
            above = element.parent.index if element.parent else -1
            index, tag = element.index, element.tag
            step = f"cell{element.position}" if tag in ("td", "th") else tag
            self._steps[index] = class_step = f"{tag}.{_normalize_class(element.css_class)}"
            self.classes[index] = self._get_number(("classes", self.classes[above], class_step))
            self.columns[index] = self._get_number(("columns", self.columns[above], step))

    def _get_number(self, name: Hashable) -> int:
        return self._numbers.setdefault(name, len(self._numbers) + 1)

    def get_tail(self, element: Element) -> Hashable:
        """Return the last three steps of the path, with their classes."""
        return tuple([self._steps[node.index] for node in islice(element.iter_ancestors(), 3)])

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
        for node in takewhile(lambda node: node.index not in found, end.iter_ancestors()):
            found[node.index] = node
    return [found[index] for index in sorted(found)]


@lru_cache(maxsize=4096)
def _normalize_class(css_class: str) -> str:
    """Return the words of a class attribute that distinguish lists, sorted."""
    return " ".join(sorted(_DIGITS.sub("", _ROW_STATE_WORDS.sub("", css_class)).split())) if css_class else ""


_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt"})
_BOILERPLATE_TAGS = frozenset({"nav", "footer", "aside", "select", "menu"})
_BOILERPLATE_NAMES = re.compile(
    r"(?:^|[\s_-])(?:nav\w*|menus?|footer|foot|header|head|crumbs?|breadcrumbs?|bread|sidebar|side|related|"
    r"recommend\w*|hot|rank\w*|tags?|tagcloud|"
    r"pager|pagination|paging|social|share|login|lang\w*|friend\w*|flink|links|copyright|toolbar|topbar|logo|"
    r"search-?(?:box|form|bar)|sitemap|widget\w*|"
    r"utility|subnav|submenu|dropdown|filter\w*|facets?|skip\w*|weizhi|dqwz|banner)(?=$|[\s_-])"
)
_BREADCRUMB_TEXT = re.compile(
    r"[\W_]*(?:(?:您?当前|您?的?|你的?|所在|現在)(?:所在)?(?:的)?位置|您现在|現在地|현재\s*위치|you\s+are\s+here|sie\s+(?:sind|befinden\s+sich)\s+hier|"
    r"vous\s+êtes\s+ici|está\s+(?:usted\s+)?(?:aquí|en))",
    re.IGNORECASE,
)
_ARTICLE_URL = re.compile(
    r"\d{4,}|/20\d\d|[-_]\w+[-_]\w+|\d+[^/]*\.s?html?$|\.(?:pdf|docx?|xlsx?|ofd|mp3)$|[?&]\w*id=|[?&]p=\d|"
    r"content|article|detail|view|show",
    re.IGNORECASE,
)

# The weight of each feature: fitted on one half of the sites of a corpus of real pages, checked on the other.
_WEIGHTS = {
    "dated": 4.0,
    "beside": 1.2,
    "text_share": 4.0,
    "link_length": 1.0,
    "record_length": 0.4,
    "article_like": 2.2,
    "count": 0.6,
    "boilerplate": -3.0,
    "swallowed": -0.4,
    "repeated": -0.9,
    "few": -1.5,
    "inline": -2.5,
    "purity": 1.0,
    "siblings": 0.6,
}


MAX_ROW_WEIGHT = 600
"""Elements with a longer text are articles, not rows of a list."""

_MAX_NEARBY_TEXTS = 6
_MAX_DATE_CHARS = 40
_MAX_HEADER_ELEMENTS = 40


@dataclass(slots=True)
class RowGroup:
    """Rows that may be the page's list, with their features and score."""

    rows: list[ListRow]
    features: dict[str, float]
    score: float

    @property
    def dated_share(self) -> float:
        """Share of rows with a date in or after them."""
        return self.features["dated"] + self.features["beside"]


class _LinkTraits(NamedTuple):
    """What holds for a link in every group."""

    length: int
    is_article_like: bool
    is_inline: bool


class ListScorer:
    """Scores the link groups of a page; prefix sums over its texts give text and dates of a row in two look-ups."""

    def __init__(self, page: Outline) -> None:
        self.page = page
        self._dates = [0, *accumulate(has_day(text, relative=True) for text in page.texts)]
        date_lines = (
            end > start and len(text.strip()) <= _MAX_DATE_CHARS
            for text, (start, end) in zip(page.texts, pairwise(self._dates), strict=True)
        )
        self._date_lines = [0, *accumulate(date_lines)]
        anchored = [False] * (len(page.elements) + 1)
        linked = [False] * len(page.texts)
        for anchor in page.anchors:
            element = anchor.element
            anchored[element.index] = True
            linked[element.text_start : element.text_end] = [True] * (element.text_end - element.text_start)
        weights = [measure_text_weight(text) for text in page.texts]
        sentences = (w if w >= 50 and not is_link else 0 for w, is_link in zip(weights, linked, strict=True))
        self._lengths = [0, *accumulate(weights)]
        self._prose = [0, *accumulate(sentences)]
        self._links = [0, *accumulate(anchored)]
        self._boilerplate: dict[int, bool] = {}
        self._named_columns: dict[int, bool] = {}
        self._traits: dict[int, _LinkTraits] = {}

    def measure_other_prose(self, rows: Sequence[ListRow]) -> int:
        """Return the length of the page's sentences that are no links and in none of these rows."""
        if self._have_teasers(rows):
            last = rows[-1].element.parent or rows[-1].element
            return self._prose[-1] - (self._prose[last.text_end] - self._prose[rows[0].text_start])
        return self._prose[-1] - sum(self._prose[record.text_end] - self._prose[record.text_start] for record in rows)

    def _have_teasers(self, rows: Sequence[ListRow]) -> bool:
        """Whether the paragraphs between the rows are their teasers: below headings, or with one "read more" each."""
        if all(record.element.tag in _HEADING_TAGS for record in rows):
            return True
        link_texts: Counter[str] = Counter()
        for row, following in pairwise(rows):
            between = range(self._links[row.element.end], self._links[following.element.index])
            link_texts.update({self.page.anchors[position].text for position in between})
        return max(link_texts.values(), default=0) >= 0.8 * (len(rows) - 1)

    def measure_text(self, row: ListRow) -> int:
        return self._lengths[row.text_end] - self._lengths[row.text_start]

    def score(self, rows: list[ListRow]) -> RowGroup:
        """Return the rows as a group, with its features, each between 0 and about 8, and their weighted sum."""
        count = len(rows)
        traits = [self._get_traits(record.anchor) for record in rows]
        lengths = [
            trait.length if len(row.anchors) == 1 else measure_text_weight(row.anchor.text)
            for trait, row in zip(traits, rows, strict=True)
        ]
        texts = [self.measure_text(record) for record in rows]
        shapes = Counter([get_url_shape(record.url) for record in rows])
        parents = Counter([record.element.parent.index if record.element.parent else 0 for record in rows])
        dated, beside = self._count_dated(rows)
        links = self._links
        swallowed = sum(max(0, links[row.element.end] - links[row.element.index] - 3) for row in rows) / count
        parts = {
            "dated": dated / count,
            "beside": beside / count,
            "text_share": sum(min(MAX_ROW_WEIGHT, text) for text in texts) / max(1, self._lengths[-1]),
            "link_length": sum(min(60, length) for length in lengths) / count / 20,
            "record_length": sum(min(160, text) for text in texts) / count / 40,
            "article_like": sum(trait.is_article_like for trait in traits) / count,
            "count": math.log2(min(count, 24)),
            "boilerplate": sum(self._is_boilerplate(record.element) for record in rows) / count,
            "swallowed": min(7.5, swallowed),
            "repeated": 1 - len({row.anchor.text or self.page.get_text(row.element) for row in rows}) / count,
            "few": max(0, 4 - count) / 2,
            "inline": sum(trait.is_inline for trait in traits) / count,
            "purity": max(shapes.values()) / count,
            "siblings": max(parents.values()) / count,
        }
        return RowGroup(rows, parts, sum(_WEIGHTS[name] * value for name, value in parts.items()))

    def is_dated_row(self, row: ListRow) -> bool:
        """Whether a single row has a date beside its link and is not part of a navigation or footer."""
        dates, link = self._dates, row.anchor.element
        beside = dates[row.text_end] - dates[link.text_end] + dates[link.text_start] - dates[row.text_start]
        return beside > 0 and not self._is_boilerplate(row.element)

    def is_table_row(self, element: Element) -> bool:
        """Whether an element is a row of a table whose columns are named."""
        table = element.closest(("table",)) if element.tag == "tr" else None
        if table is None:
            return False
        if table.index not in self._named_columns:
            inside = islice(self.page.elements, table.index + 1, min(table.end, table.index + 1 + _MAX_HEADER_ELEMENTS))
            self._named_columns[table.index] = sum(cell.tag == "th" for cell in inside) >= 2
        return self._named_columns[table.index]

    def are_day_headings(self, rows: Sequence[ListRow]) -> bool:
        """Whether the links are headings with a date each and other links below them, which are the real rows."""
        headings = [
            row.element.tag in _HEADING_TAGS
            and len(self.page.get_text(row.element, 2 * _MAX_DATE_CHARS)) <= _MAX_DATE_CHARS
            and self.is_dated(row)
            and self._links[row.element.end] < self._links[following.element.index]
            for row, following in pairwise(rows)
        ]
        return 2 * sum(headings) > len(headings)

    def is_dated(self, row: ListRow) -> bool:
        return self._dates[row.text_end] > self._dates[row.text_start]

    def _count_dated(self, rows: list[ListRow]) -> tuple[int, int]:
        """Return how many rows contain a date, and how many of the others have one just after them or in a heading."""
        dates = self._dates
        inside = behind = headings = headed = 0
        last = len(dates) - 1
        before = max(0, rows[0].text_start - _MAX_NEARBY_TEXTS)
        for position, record in enumerate(rows):
            end = record.text_end
            # The heading above the rows of one day is hardly more than a date.
            headings += self._date_lines[max(before, record.text_start)] > self._date_lines[before]
            headed += headings > 0
            before = end
            if dates[end] > dates[record.text_start]:
                inside += 1
                continue
            following = rows[position + 1].text_start if position + 1 < len(rows) else last
            behind += dates[max(end, min(following, end + _MAX_NEARBY_TEXTS, last))] > dates[end]
        is_headed = inside <= 0.1 * len(rows) and 2 <= headings <= 0.5 * len(rows)
        return inside, max(behind, headed - inside) if is_headed else behind

    def _get_traits(self, anchor: Anchor) -> _LinkTraits:
        element = anchor.element
        traits = self._traits.get(element.index)
        if traits is None:
            path = anchor.url.split("/", 3)[-1] if anchor.url.count("/") >= 3 else ""
            is_article_like = _ARTICLE_URL.search(path) is not None
            traits = _LinkTraits(
                measure_text_weight(anchor.text), is_article_like, is_inline(self.page, anchor.element)
            )
            self._traits[anchor.element.index] = traits
        return traits

    def _is_boilerplate(self, element: Element) -> bool:
        """Whether an element is in a navigation, footer, sidebar and the like, by the author's names.

        An element with half of the page's text is the page itself, whatever its name, and a row of a table with named
        columns is data wherever it is.
        """
        if self.is_table_row(element):
            return False
        passed: list[int] = []
        is_boilerplate = False
        for node in element.iter_ancestors():
            if node.index in self._boilerplate or self._has_boilerplate_name(node):
                is_boilerplate = self._boilerplate.get(node.index, True)
                break
            passed.append(node.index)
        self._boilerplate.update(dict.fromkeys(passed, is_boilerplate))
        return is_boilerplate

    def _has_boilerplate_name(self, element: Element) -> bool:
        # The classes of a post name its subjects (tag-rank, category-hot), not its part in the page.
        if element.tag in ("body", "html", "article") or "hentry" in element.css_class:
            return False
        if not (
            element.tag in _BOILERPLATE_TAGS
            or (element.class_and_id != " " and _BOILERPLATE_NAMES.search(element.class_and_id))
            or (element.text_start < element.text_end and _BREADCRUMB_TEXT.match(self.page.texts[element.text_start]))
        ):
            return False
        return 2 * (self._lengths[element.text_end] - self._lengths[element.text_start]) <= self._lengths[-1]
