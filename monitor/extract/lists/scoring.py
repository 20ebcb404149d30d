"""What speaks for a group of links being the list that a page is there for."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from monitor.dates import has_day
from monitor.extract.html import Anchor, Element, Outline, is_inline, measure_text_weight
from monitor.extract.lists.paging import is_pager_text
from monitor.extract.lists.rows import ListRow

# Words that tell rows of one list apart, not lists from each other.
_ROW_STATE_WORDS = re.compile(
    r"\b(odd|even|first|last|active|current|cur|on|alt|alternate|new|hot|top|sticky|clearfix|cf)\b"
)
_DIGITS = re.compile(r"\d+")
# A text that so many links of a group show tells nothing about any of them.
_MIN_REPEATS = 3


def group_links(page: Outline) -> list[list[Anchor]]:
    """Every distinct group of at least two links (of different urls), each in page order."""
    pagers = _find_pager_links(page)
    anchors = [anchor for anchor in page.anchors if anchor.element.index not in pagers and not _is_blank(page, anchor)]
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
    """The links whose texts differ, where others say the same in row after row ("Summary", "Download"), or nothing.

    Where hardly any differ (a "Decision" and a "Summary" in each row), those that say the same.
    """
    counts = Counter([anchor.text for anchor in members])
    if len(counts) in (1, len(members)):
        return []
    kept = [anchor for anchor in members if anchor.text and counts[anchor.text] < _MIN_REPEATS]
    if len(kept) >= 0.2 * len(members):
        return [kept] if len(kept) <= 0.8 * len(members) or counts[""] else []
    return [
        [anchor for anchor in members if anchor.text == text] for text, count in counts.items() if count >= _MIN_REPEATS
    ]


def _find_pager_links(page: Outline) -> set[int]:
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
    return not (anchor.text or page.get_descendants(anchor.element) or anchor.element.css_class)


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
    """What the urls of one list have in common: host, first two directories, extension, names of query fields."""
    address, _, query = url.partition("?")
    _, _, host, *segments = address.split("/")
    directories = tuple([_DIGITS.sub("#", segment) for segment in segments[:-1][:2]])
    extension = segments[-1].rpartition(".")[2].lower()[:6] if segments and "." in segments[-1] else ""
    return host, directories, extension, tuple(sorted({field.partition("=")[0] for field in query.split("&")}))


class _PathIndex:
    """Names of the ways from the page's top to its links, each a number, for they are compared thousands of times."""

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
        """The last three steps, with their classes."""
        found: list[str] = []
        node: Element | None = element
        while node is not None and len(found) < 3:
            found.append(self._steps[node.index])
            node = node.parent
        return tuple(found)

    def get_container(self, element: Element) -> tuple[int, tuple[str, ...]]:
        """The nearest element above with several children, and the way down from there."""
        node = element
        way = [node.tag]
        while node.parent is not None and node.parent.child_count < 3:
            node = node.parent
            way.append(node.tag)
        return node.parent.index if node.parent else 0, tuple(way)


def _list_with_ancestors(ends: list[Element]) -> list[Element]:
    """The elements and all that they lie in, parents first."""
    found: dict[int, Element] = {}
    for end in ends:
        node: Element | None = end
        while node is not None and node.index not in found:
            found[node.index] = node
            node = node.parent
    return [found[index] for index in sorted(found)]


@lru_cache(maxsize=4096)
def _normalize_class(css_class: str) -> str:
    """The words of a class attribute that tell lists apart, in one order."""
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

# What each part counts: found on one half of a corpus of real pages, by site, and checked on the other.
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
"""Longer records (in the weight of their text) are no rows of a list but articles."""

_MAX_NEARBY_TEXTS = 6
_MAX_DATE_CHARS = 40
_MAX_HEADER_ELEMENTS = 40
_RECENTLY = re.compile(r"(?<!\d)\d{1,4}\s?(?:天|小时|分钟)前|昨天")


@dataclass(slots=True)
class RowGroup:
    """Records that may be the page's list, and what speaks for them."""

    rows: list[ListRow]
    features: dict[str, float]
    score: float

    @property
    def dated_share(self) -> float:
        """Share of records with a date in them or behind them."""
        return self.features["dated"] + self.features["beside"]


@dataclass(slots=True)
class _LinkTraits:
    """What one link shows, whatever group it is looked at in."""

    length: int
    is_article_like: bool
    is_inline: bool


class ListScorer:
    """Weighs groups of one page: sums over its texts make a record's share of text and dates two look-ups."""

    def __init__(self, page: Outline) -> None:
        self.page = page
        self._dates = [0, *accumulate(_is_dated(text) for text in page.texts)]
        anchored = [False] * (len(page.elements) + 1)
        linked = [False] * len(page.texts)
        for anchor in page.anchors:
            element = anchor.element
            anchored[element.index] = True
            linked[element.text_start : element.text_end] = [True] * (element.text_end - element.text_start)
        weights = [measure_text_weight(text) for text in page.texts]
        self._lengths = [0, *accumulate(weights)]
        self._prose = [
            0,
            *accumulate(w if w >= 50 and not is_link else 0 for w, is_link in zip(weights, linked, strict=True)),
        ]
        self._boilerplate: dict[int, bool] = {}
        self._named_columns: dict[int, bool] = {}
        self._links = [0, *accumulate(anchored)]
        self._traits: dict[int, _LinkTraits] = {}

    def measure_prose_outside(self, rows: Sequence[ListRow]) -> int:
        """How much of the page's text is in sentences that are no links and lie in none of these records."""
        if self._have_teasers(rows):
            last = rows[-1].element.parent or rows[-1].element
            return self._prose[-1] - (self._prose[last.text_end] - self._prose[rows[0].text_start])
        return self._prose[-1] - sum(self._prose[record.text_end] - self._prose[record.text_start] for record in rows)

    def _have_teasers(self, rows: Sequence[ListRow]) -> bool:
        """Whether the paragraphs between the records are theirs: below headings, or with the same "read more" each."""
        if all(record.element.tag in _HEADING_TAGS for record in rows):
            return True
        said: Counter[str] = Counter()
        for one, after in pairwise(rows):
            between = range(self._links[one.element.end], self._links[after.element.index])
            said.update({self.page.anchors[position].text for position in between})
        return max(said.values(), default=0) >= 0.8 * (len(rows) - 1)

    def measure_text(self, row: ListRow) -> int:
        """The weight of a record's text."""
        return self._lengths[row.text_end] - self._lengths[row.text_start]

    def score(self, rows: list[ListRow]) -> RowGroup:
        """The group that these records are, with what speaks for and against it, each between 0 and a few."""
        count = len(rows)
        traits = [self._get_traits(record.anchor) for record in rows]
        lengths = [
            trait.length if len(record.anchors) == 1 else measure_text_weight(record.link_text)
            for trait, record in zip(traits, rows, strict=True)
        ]
        texts = [self.measure_text(record) for record in rows]
        shapes = Counter([get_url_shape(record.url) for record in rows])
        parents = Counter([record.element.parent.index if record.element.parent else 0 for record in rows])
        dated, beside = self._count_dated(rows)
        swallowed = sum(max(0, self._count_links(record.element) - 3) for record in rows) / count
        parts = {
            "dated": dated / count,
            "beside": beside / count,
            "text_share": sum(min(MAX_ROW_WEIGHT, text) for text in texts) / max(1, self._lengths[-1]),
            "link_length": sum(min(60, length) for length in lengths) / count / 20,
            "record_length": sum(min(160, text) for text in texts) / count / 40,
            "article_like": sum(one.is_article_like for one in traits) / count,
            "count": math.log2(min(count, 24)),
            "boilerplate": sum(self._is_boilerplate(record.element) for record in rows) / count,
            "swallowed": min(7.5, swallowed),
            "repeated": 1 - len({one.link_text or self.page.get_text(one.element) for one in rows}) / count,
            "few": max(0, 4 - count) / 2,
            "inline": sum(one.is_inline for one in traits) / count,
            "purity": max(shapes.values()) / count,
            "siblings": max(parents.values()) / count,
        }
        return RowGroup(rows, parts, sum(_WEIGHTS[name] * value for name, value in parts.items()))

    def is_dated_row(self, row: ListRow) -> bool:
        """Whether a row that stands alone has a date outside its link, and is no part of navigation or footer."""
        dates, link = self._dates, row.anchor.element
        outside = dates[row.text_end] - dates[link.text_end] + dates[link.text_start] - dates[row.text_start]
        return outside > 0 and not self._is_boilerplate(row.element)

    def is_table_row(self, element: Element) -> bool:
        """Whether an element is a row of a table whose columns are named."""
        table: Element | None = element if element.tag == "tr" else None
        while table is not None and table.tag != "table":
            table = table.parent
        if table is None:
            return False
        if table.index not in self._named_columns:
            inside = self.page.get_descendants(table)[:_MAX_HEADER_ELEMENTS]
            self._named_columns[table.index] = sum(one.tag == "th" for one in inside) >= 2
        return self._named_columns[table.index]

    def are_day_headings(self, rows: Sequence[ListRow]) -> bool:
        """Whether records are headings that say a day each, with other links below them: those are the rows."""
        headings = [
            record.element.tag in _HEADING_TAGS
            and len(self.page.get_text(record.element)) <= _MAX_DATE_CHARS
            and self.is_dated(record)
            and self._links[record.element.end] < self._links[after.element.index]
            for record, after in pairwise(rows)
        ]
        return 2 * sum(headings) > len(headings)

    def is_dated(self, row: ListRow) -> bool:
        """Whether a text in a record looks like a date."""
        return self._dates[row.text_end] > self._dates[row.text_start]

    def _count_dated(self, rows: list[ListRow]) -> tuple[int, int]:
        """How many records have a date in them, and how many of the others one close behind them or as a heading."""
        dates = self._dates
        inside = behind = headings = headed = 0
        last = len(dates) - 1
        before = max(0, rows[0].text_start - _MAX_NEARBY_TEXTS)
        for position, record in enumerate(rows):
            end = record.text_end
            headings += any(self._is_date_line(index) for index in range(before, record.text_start))
            headed += headings > 0
            before = end
            if dates[end] > dates[record.text_start]:
                inside += 1
                continue
            following = rows[position + 1].text_start if position + 1 < len(rows) else last
            behind += dates[max(end, min(following, end + _MAX_NEARBY_TEXTS, last))] > dates[end]
        is_headed = inside <= 0.1 * len(rows) and 2 <= headings <= 0.5 * len(rows)
        return inside, max(behind, headed - inside) if is_headed else behind

    def _is_date_line(self, index: int) -> bool:
        """Whether a text is hardly more than a date, as the heading over the rows of one day is."""
        return self._dates[index + 1] > self._dates[index] and len(self.page.texts[index].strip()) <= _MAX_DATE_CHARS

    def _get_traits(self, anchor: Anchor) -> _LinkTraits:
        traits = self._traits.get(anchor.element.index)
        if traits is None:
            traits = self._traits[anchor.element.index] = _LinkTraits(
                length=measure_text_weight(anchor.text),
                is_article_like=bool(_ARTICLE_URL.search(_strip_host(anchor.url))),
                is_inline=is_inline(self.page, anchor.element),
            )
        return traits

    def _is_boilerplate(self, element: Element) -> bool:
        """Whether an element lies in what its author calls navigation, footer, sidebar and the like.

        What holds half of the page's text is the page, whatever words its name is made of; and a row of a table with
        named columns is data wherever it lies.
        """
        if self.is_table_row(element):
            return False
        node: Element | None = element
        seen = []
        while node is not None and node.index not in self._boilerplate and not self._has_boilerplate_name(node):
            seen.append(node.index)
            node = node.parent
        answer = node is not None and self._boilerplate.get(node.index, True)
        self._boilerplate.update(dict.fromkeys(seen, answer))
        return answer

    def _has_boilerplate_name(self, element: Element) -> bool:
        # A post's classes name its subjects, as tag-rank or category-hot, and not what it is on the page.
        if element.tag in ("body", "html", "article") or "hentry" in element.css_class:
            return False
        if not (
            element.tag in _BOILERPLATE_TAGS
            or (element.class_and_id != " " and _BOILERPLATE_NAMES.search(element.class_and_id))
            or (element.text_start < element.text_end and _BREADCRUMB_TEXT.match(self.page.texts[element.text_start]))
        ):
            return False
        return 2 * (self._lengths[element.text_end] - self._lengths[element.text_start]) <= self._lengths[-1]

    def _count_links(self, element: Element) -> int:
        return self._links[element.end] - self._links[element.index]


def _is_dated(text: str) -> bool:
    return has_day(text) or _RECENTLY.search(text) is not None


def _strip_host(url: str) -> str:
    return url.split("/", 3)[-1] if url.count("/") >= 3 else ""
