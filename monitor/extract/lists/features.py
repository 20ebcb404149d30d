"""Measures a group of links as the list that its page may exist for: what its rows hold and where they stand."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from monitor.dates import has_day
from monitor.extract.attachments import detect_document_type
from monitor.extract.html import Anchor, Element, Outline, is_inline, is_within_sentence, measure_text_weight
from monitor.extract.lists.grouping import get_url_shape, normalize_class
from monitor.extract.lists.paging import is_pager_text
from monitor.extract.lists.rows import ListRow

_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt"})
_LANDMARK_TAGS = frozenset({"nav", "footer", "aside", "header", "menu", "select"})
_LANDMARK_ROLES = frozenset({"navigation", "contentinfo", "complementary", "banner", "menu", "menubar", "search"})
_RECORD_URL = re.compile(
    r"\d{4,}|/20\d\d|[-_]\w+[-_]\w+|\d+[^/]*\.s?html?$|\.(?:pdf|docx?|xlsx?|ofd|mp3)$|[?&]\w*id=|[?&]p=\d|"
    r"content|article|detail|view|show",
    re.IGNORECASE,
)
_SLUG_WORD = re.compile(r"[^\W\d_]+")
_TEXT_TAGS = frozenset({"p", "span", "font", "b", "strong", "em", "i", "u", "a", "small", "sup", "sub"})
_MAX_ROW_WEIGHT = 600  # elements with a longer text are articles, not rows of a list
_MAX_NEARBY_TEXTS = 6
_MAX_DATE_CHARS = 40
_MIN_SENTENCE_WEIGHT = 50
_MIN_TITLE_WEIGHT = 16
_MAX_SAMPLED_ROWS = 60

OWN_FEATURES = (
    "count",
    "dated",
    "beside",
    "headed",
    "text_share",
    "link_width",
    "median_link_width",
    "wide_links",
    "row_width",
    "widest_row",
    "record_urls",
    "landmarks",
    "further_links",
    "repeated",
    "inline",
    "within_prose",
    "one_shape",
    "siblings",
    "one_kind",
    "one_class",
    "in_list_items",
    "in_table_rows",
    "in_headings",
    "link_alone",
    "with_heading",
    "start",
    "end",
    "depth",
    "prose_inside",
    "prose_outside",
    "documents",
    "same_host",
    "below_page",
    "above_page",
    "digits_in_links",
    "page_links",
    "page_dates",
    "after_h1",
    "before_pager",
    "between",
    "one_region",
    "one_path",
    "in_first_region",
    "like_page",
    "prose_before",
    "prose_after",
)
PAGE_FEATURES = (
    "page_prose",
    "page_anchors",
    "page_day_count",
    "page_has_pager",
    "page_url_is_record",
    "page_url_depth",
    "page_main_prose",
    "page_title_width",
    "page_day_by_title",
    "page_slug_words",
    "page_slug_digits",
    "page_declares_article",
)
RELATIVE_FEATURES = ("count", "text_share", "dated", "link_width", "row_width", "page_dates", "record_urls")
FEATURES = (*OWN_FEATURES, *PAGE_FEATURES, *(f"{name}_to_best" for name in RELATIVE_FEATURES))


@dataclass(slots=True, eq=False)
class RowGroup:
    """Rows that may be the page's list, with their features by `OWN_FEATURES`; `score` is the chance that they are."""

    rows: list[ListRow]
    features: dict[str, float]
    score: float = 0.0

    @property
    def dated_share(self) -> float:
        """Share of rows with a date in them, after them or in a heading above them."""
        return min(1.0, self.features["dated"] + max(self.features["beside"], self.features["headed"]))


class _LinkTraits(NamedTuple):
    """What holds for a link in every group."""

    width: int
    has_record_url: bool
    is_inline: bool
    is_within_prose: bool
    is_document: bool
    is_same_host: bool
    is_below_page: bool
    is_above_page: bool
    has_digit: bool


class GroupFeatures:
    """Measures the groups of one page; prefix sums over its texts answer for any row in two look-ups."""

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
        sentences = [
            w if w >= _MIN_SENTENCE_WEIGHT and not is_link else 0 for w, is_link in zip(weights, linked, strict=True)
        ]
        self._widths = [0, *accumulate(weights)]
        self._prose = [0, *accumulate(sentences)]
        self._links = [0, *accumulate(anchored)]
        self._headings = [0, *accumulate([element.tag in _HEADING_TAGS for element in page.elements])]
        self._traits: dict[int, _LinkTraits] = {}
        self._landmarks: dict[int, bool] = {}
        self._pagers = [anchor.element.text_start for anchor in page.anchors if is_pager_text(anchor.text)]
        self._h1 = next((element.text_end for element in page.elements if element.tag == "h1"), 0)
        address = urlsplit(page.url)
        self._host = address.netloc.removeprefix("www.")
        self._folder = address.path.rsplit("/", 1)[0] + "/"
        self._path = address.path
        self._shape = get_url_shape(page.url)
        segments = [segment for segment in address.path.split("/") if segment]
        slug = segments[-1] if segments else ""
        title = next((element for element in page.elements if element.tag == "h1"), None)
        by_title = 0
        if title is not None:
            end = min(len(page.texts), title.text_end + _MAX_NEARBY_TEXTS)
            by_title = self._dates[end] - self._dates[title.text_end]
        self._page = [
            math.log2(1 + self._prose[-1]),
            math.log2(1 + len(page.anchors)),
            math.log2(1 + self._dates[-1]),
            float(len(self._pagers) >= 2),
            float(_RECORD_URL.search(page.url.split("/", 3)[-1]) is not None),
            float(len(segments)),
            math.log2(1 + self._measure_main_prose(sentences)),
            float(self._widths[title.text_end] - self._widths[title.text_start]) if title is not None else -1.0,
            float(by_title > 0),
            float(len(_SLUG_WORD.findall(slug))),
            float(sum(map(str.isdigit, slug))),
            float(page.declares_article),
        ]

    def _measure_main_prose(self, sentences: Sequence[int]) -> int:
        """Return the width of the prose that stands in one box, paragraph by paragraph, as an article's does."""
        by_box: Counter[int] = Counter()
        for owner, width in zip(self.page.text_owner, sentences, strict=True):
            if width:
                node = self.page.elements[owner]
                while node.tag in _TEXT_TAGS and node.parent is not None:
                    node = node.parent
                by_box[node.index] += width
        return max(by_box.values(), default=0)

    def measure(self, rows: list[ListRow]) -> RowGroup:
        """Return the rows as a group with its own features."""
        count = len(rows)
        traits = [self._get_traits(row.anchor) for row in rows]
        link_widths = [trait.width for trait in traits]
        row_widths = [self.measure_text(row) for row in rows]
        dated, beside, headed = self._count_dated(rows)
        first, last = rows[0], rows[-1]
        inside_rows = sum(self._prose[row.text_end] - self._prose[row.text_start] for row in rows)
        whole = max(1, self._widths[-1])
        span = self._widths[last.text_end] - self._widths[first.text_start]
        texts = max(1, len(self.page.texts))
        parents = Counter([row.element.parent.index if row.element.parent else 0 for row in rows])
        tags = Counter([row.element.tag for row in rows])
        after = [start for start in self._pagers if last.text_end <= start <= last.text_end + 12]
        capped = [min(_MAX_ROW_WEIGHT, width) for width in row_widths]
        values = (
            math.log2(min(count, 64)),
            dated / count,
            beside / count,
            headed / count,
            sum(capped) / whole,
            sum([min(60, width) for width in link_widths]) / count,
            float(median(link_widths)),
            sum([width >= _MIN_TITLE_WEIGHT for width in link_widths]) / count,
            sum([min(200, width) for width in row_widths]) / count,
            math.log2(1 + max(row_widths)),
            sum([trait.has_record_url for trait in traits]) / count,
            sum([self._is_in_landmark(row.element) for row in rows]) / count,
            min(8.0, sum([self._count_links(row) - len(row.anchors) for row in rows]) / count),
            1 - len({row.anchor.text or self.page.get_text(row.element, 200) for row in rows}) / count,
            sum([trait.is_inline for trait in traits]) / count,
            sum([trait.is_within_prose for trait in traits]) / count,
            max(Counter([get_url_shape(row.url) for row in rows]).values()) / count,
            max(parents.values()) / count,
            max(Counter([row.element.kind for row in rows]).values()) / count,
            max(Counter([row.element.css_class for row in rows]).values()) / count,
            (tags["li"] + tags["dd"] + tags["dl"]) / count,
            tags["tr"] / count,
            sum([tags[tag] for tag in _HEADING_TAGS]) / count,
            sum([row.element is row.anchor.element for row in rows]) / count,
            sum([self._headings[row.element.end] > self._headings[row.element.index] for row in rows]) / count,
            first.text_start / texts,
            last.text_end / texts,
            float(min(30, first.element.depth)),
            inside_rows / max(1, sum(row_widths)),
            math.log2(1 + self._prose[-1] - inside_rows),
            sum([trait.is_document for trait in traits]) / count,
            sum([trait.is_same_host for trait in traits]) / count,
            sum([trait.is_below_page for trait in traits]) / count,
            sum([trait.is_above_page for trait in traits]) / count,
            sum([trait.has_digit for trait in traits]) / count,
            count / max(1, len(self.page.anchors)),
            dated / max(1, self._dates[-1]),
            (first.text_start - self._h1) / texts if self._h1 else -2.0,
            float(bool(after)),
            1 - min(1.0, sum(row_widths) / max(1, span)),
            *self._measure_regions(rows),
            sum([get_url_shape(row.url) == self._shape for row in rows]) / count,
            math.log2(1 + self._prose[first.text_start]),
            math.log2(1 + self._prose[-1] - self._prose[last.text_end]),
        )
        return RowGroup(rows, dict(zip(OWN_FEATURES, values, strict=True)))

    def _measure_regions(self, rows: list[ListRow]) -> tuple[float, float, float]:
        """Return the shares of the largest kind of region, of the commonest path, and of rows in the first region.

        The regions of a group are the children of the element around all its rows, as main part and side box, or the
        blocks of months, which are of one kind. A path is that of tags and classes from there to a row's link.
        """
        step = max(1, len(rows) // _MAX_SAMPLED_ROWS)
        sampled = rows[::step]
        last = rows[-1].element
        whole = (
            next(node for node in rows[0].element.iter_ancestors() if node is not last and node.contains(last))
            if (last is not rows[0].element)
            else last
        )
        kinds: Counter[str] = Counter()
        paths: Counter[tuple[str, ...]] = Counter()
        first = -1
        in_first = 0
        for row in sampled:
            path: list[str] = []
            region = row.anchor.element
            for node in row.anchor.element.iter_ancestors():
                if node is whole:
                    break
                region = node
                path.append(f"{node.tag}.{normalize_class(node.css_class)}")
            first = region.index if first < 0 else first
            in_first += region.index == first
            kinds[path[-1] if path else ""] += 1
            paths[tuple(path)] += 1
        count = len(sampled)
        return max(kinds.values()) / count, max(paths.values()) / count, in_first / count

    def complete(self, groups: Sequence[RowGroup]) -> list[list[float]]:
        """Return a row of `FEATURES` for each of all groups of the page."""
        best = [max((group.features[name] for group in groups), default=0.0) or 1.0 for name in RELATIVE_FEATURES]
        return [
            [
                *group.features.values(),
                *self._page,
                *(group.features[name] / most for name, most in zip(RELATIVE_FEATURES, best, strict=True)),
            ]
            for group in groups
        ]

    def measure_text(self, row: ListRow) -> int:
        return self._widths[row.text_end] - self._widths[row.text_start]

    def measure_prose(self, start: int, end: int) -> int:
        """Return the width of the sentences that are no links in a range of texts."""
        return self._prose[end] - self._prose[start]

    def is_single_row(self, row: ListRow) -> bool:
        """Whether a row has a date beside its link and is in no navigation or footer, as the only row of a list is."""
        dates, link = self._dates, row.anchor.element
        beside = dates[row.text_end] - dates[link.text_end] + dates[link.text_start] - dates[row.text_start]
        return beside > 0 and not self._is_in_landmark(row.element)

    def _count_links(self, row: ListRow) -> int:
        return self._links[row.element.end] - self._links[row.element.index]

    def _count_dated(self, rows: list[ListRow]) -> tuple[int, int, int]:
        """Return how many rows contain a date; how many others have one just after them, or in a heading above."""
        dates = self._dates
        inside = behind = headings = headed = 0
        last = len(dates) - 1
        before = max(0, rows[0].text_start - _MAX_NEARBY_TEXTS)
        for position, row in enumerate(rows):
            end = row.text_end
            # The heading above the rows of one day is hardly more than a date.
            headings += self._date_lines[max(before, row.text_start)] > self._date_lines[before]
            before = end
            if dates[end] > dates[row.text_start]:
                inside += 1
                continue
            headed += headings > 0
            following = rows[position + 1].text_start if position + 1 < len(rows) else last
            behind += dates[max(end, min(following, end + _MAX_NEARBY_TEXTS, last))] > dates[end]
        return inside, behind, headed

    def _get_traits(self, anchor: Anchor) -> _LinkTraits:
        traits = self._traits.get(anchor.element.index)
        if traits is None:
            url, element = anchor.url, anchor.element
            host, _, path = url.partition("://")[2].partition("/")
            traits = self._traits[element.index] = _LinkTraits(
                measure_text_weight(anchor.text),
                _RECORD_URL.search(path) is not None,
                is_inline(self.page, element),
                is_within_sentence(self.page, element) or self._is_within_prose(element),
                detect_document_type(url) is not None,
                host.removeprefix("www.") == self._host,
                f"/{path}".startswith(self._folder) and len(self._folder) > 1,
                self._path.startswith(f"/{path}") and len(path) > 1,
                any(map(str.isdigit, anchor.text[:80])),
            )
        return traits

    def _is_within_prose(self, link: Element) -> bool:
        """Whether sentences stand before and after a link, in the element that it stands in."""
        texts, owner, parent = self.page.texts, self.page.text_owner, link.parent
        before, after = link.text_start - 1, link.text_end
        return (
            parent is not None
            and before >= 0
            and after < len(texts)
            and owner[before] == owner[after] == parent.index
            and min(self._widths[before + 1] - self._widths[before], self._widths[after + 1] - self._widths[after])
            >= _MIN_SENTENCE_WEIGHT
        )

    def _is_in_landmark(self, element: Element) -> bool:
        """Whether an element is in a navigation, footer, sidebar and the like by HTML's own words for them."""
        passed: list[int] = []
        is_landmark = False
        for node in element.iter_ancestors():
            known = self._landmarks.get(node.index)
            if known is not None:
                is_landmark = known
                break
            passed.append(node.index)
            if node.tag in _LANDMARK_TAGS or (node.attributes.get("role") or "") in _LANDMARK_ROLES:
                is_landmark = True
                break
        self._landmarks.update(dict.fromkeys(passed, is_landmark))
        return is_landmark
