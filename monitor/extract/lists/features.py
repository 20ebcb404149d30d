"""Measures a group of links as the list that its page may exist for: what its rows hold and where they stand."""

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from monitor.dates import has_day
from monitor.extract.attachments import detect_document_type
from monitor.extract.html import Anchor, Element, Outline, measure_text_weight
from monitor.extract.lists.grouping import RECORD_TAGS, LinkPaths, get_url_shape
from monitor.extract.lists.rows import ListRow

_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt"})
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
_MAX_LINK_WIDTH = 60
_MAX_RECORDS, _MAX_RECORD_LINKS, _MAX_RECORD_WEIGHT = 8, 4, 1_200
_MAX_STEPS_UP = 4  # from a link to the heading that it may be
_MIN_PROSE_WIDTH = 24  # of what stands before and after a link in a sentence

_COMPARED = ("count", "text_share", "dated", "link_width", "row_width", "page_dates", "record_urls")


@dataclass(slots=True, eq=False)
class RowGroup:
    """Rows that may be the page's list, with their features by name; `score` is the chance that they are."""

    rows: list[ListRow]
    features: dict[str, float]
    score: float = 0.0

    @property
    def dated_share(self) -> float:
        """Share of rows with a date in them, after them or in a heading above them."""
        return min(1.0, self.features["dated"] + max(self.features["beside"], self.features["headed"]))


class _LinkTraits(NamedTuple):
    """What holds for a link in every group: sums of these over its rows are features of the same names."""

    link_width: float
    wide_links: bool
    record_urls: bool
    text_before: float
    text_after: float
    within_prose: bool
    documents: bool
    same_host: bool
    below_page: bool
    above_page: bool
    digits_in_links: bool
    like_page: bool
    in_heading: bool


class GroupFeatures:
    """Measures the groups of one page; prefix sums over its texts answer for any row in two look-ups."""

    def __init__(self, page: Outline) -> None:
        self.page = page
        self.paths = LinkPaths(page)
        dated = {text: has_day(text, relative=True) for text in set(page.texts)}
        self._dates = [0, *accumulate(map(dated.__getitem__, page.texts))]
        date_lines = (
            end > start and len(text.strip()) <= _MAX_DATE_CHARS
            for text, (start, end) in zip(page.texts, pairwise(self._dates), strict=True)
        )
        self._date_lines = [0, *accumulate(date_lines)]
        linked = [False] * len(page.texts)
        for anchor in page.anchors:
            element = anchor.element
            linked[element.text_start : element.text_end] = [True] * (element.text_end - element.text_start)
        widths = [measure_text_weight(text) for text in page.texts]
        prose = [
            width if width >= _MIN_SENTENCE_WEIGHT and not is_link else 0
            for width, is_link in zip(widths, linked, strict=True)
        ]
        self._widths = [0, *accumulate(widths)]
        self._prose = [0, *accumulate(prose)]
        self._headings = [0, *accumulate([element.tag in _HEADING_TAGS for element in page.elements])]
        self._traits: dict[int, _LinkTraits] = {}
        self._pagers = [page.elements[index].text_start for index in self.paths.pagers]
        self._title = next((element for element in page.elements if element.tag == "h1"), None)
        address = urlsplit(page.url)
        self._host, self._path = address.netloc.removeprefix("www."), address.path
        self._folder = address.path.rsplit("/", 1)[0] + "/"
        self._shape = get_url_shape(page.url)
        self._page = self._measure_page(prose)

    def _measure_page(self, prose: Sequence[int]) -> dict[str, float]:
        """Return what tells a page of links from an article."""
        title = self._title
        start, end = (title.text_start, title.text_end) if title is not None else (0, 0)
        *_, slug = "", *filter(None, self._path.split("/"))
        return {
            "page_prose": math.log2(1 + self._prose[-1]),
            "page_main_prose": math.log2(1 + self._measure_main_prose(prose)),
            "page_anchors": math.log2(1 + len(self.page.anchors)),
            "page_day_count": math.log2(1 + self._dates[-1]),
            "page_day_by_title": self._dates[min(end + _MAX_NEARBY_TEXTS, len(self._dates) - 1)] > self._dates[end],
            "page_title_width": self._widths[end] - self._widths[start],
            "page_has_pager": len(self._pagers) >= 2,
            "page_url_is_record": _RECORD_URL.search(self.page.url.split("/", 3)[-1]) is not None,
            "page_url_depth": len(list(filter(None, self._path.split("/")))),
            "page_slug_words": len(_SLUG_WORD.findall(slug)),
            "page_slug_digits": sum(map(str.isdigit, slug)),
            "page_declares_article": self.page.declares_article,
        }

    def _measure_main_prose(self, prose: Sequence[int]) -> int:
        """Return the width of the prose that stands in one box, paragraph by paragraph, as an article's does."""
        by_box: Counter[int] = Counter()
        for owner, width in zip(self.page.text_owner, prose, strict=True):
            if width:
                node = self.page.elements[owner]
                while node.tag in _TEXT_TAGS and node.parent is not None:
                    node = node.parent
                by_box[node.index] += width
        return max(by_box.values(), default=0)

    def measure(self, rows: list[ListRow]) -> RowGroup:
        """Return the rows as a group with its own features."""
        count = len(rows)
        texts, whole = max(1, len(self.page.texts)), max(1, self._widths[-1])
        elements = [row.element for row in rows]
        traits = [self._get_traits(row.anchor) for row in rows]
        widths, prose = self._widths, self._prose
        row_widths = [widths[node.text_end] - widths[node.text_start] for node in elements]
        records = self.paths.records
        first, last = rows[0], rows[-1]
        dated, beside, headed = self._count_dated(rows)
        prose_inside = sum([prose[node.text_end] - prose[node.text_start] for node in elements])
        span = widths[last.text_end] - widths[first.text_start]
        tags = Counter([element.tag for element in elements])
        shares = {
            **dict(zip(_LinkTraits._fields, map(sum, zip(*traits, strict=True)), strict=True)),
            "dated": dated,
            "beside": beside,
            "headed": headed,
            "row_width": sum([min(200, width) for width in row_widths]),
            "landmarks": sum([self.paths.landmarks[element.index] for element in elements]),
            "further_links": min(
                8 * count, sum([self.page.count_links(row.element) - len(row.anchors) for row in rows])
            ),
            "distinct": len({row.anchor.text or self.page.get_text(row.element, 200) for row in rows}),
            "one_shape": _count_commonest([get_url_shape(row.url) for row in rows]),
            "records": len({node.index if (record := records[node.index]) < 0 else record for node in elements}),
            "siblings": _count_commonest([element.parent.index if element.parent else 0 for element in elements]),
            "one_kind": _count_commonest([element.kind for element in elements]),
            "one_class": _count_commonest([element.css_class for element in elements]),
            "one_path": _count_commonest([self.paths.classes[row.anchor.element.index] for row in rows]),
            "in_list_items": tags["li"] + tags["dd"] + tags["dl"],
            "in_table_rows": tags["tr"],
            "in_headings": sum([tags[tag] for tag in _HEADING_TAGS]),
            "link_alone": sum([row.element is row.anchor.element for row in rows]),
            "with_heading": sum([self._headings[node.end] > self._headings[node.index] for node in elements]),
            **self._count_regions(rows),
            **self._count_links_of_rows(rows),
        }
        features = {
            "count": math.log2(min(count, 64)),
            "text_share": sum([min(_MAX_ROW_WEIGHT, width) for width in row_widths]) / whole,
            "median_link_width": float(median([trait.link_width for trait in traits])),
            "widest_row": math.log2(1 + max(row_widths)),
            "start": first.text_start / texts,
            "end": last.text_end / texts,
            "depth": float(min(30, first.element.depth)),
            "prose_inside": prose_inside / max(1, sum(row_widths)),
            "prose_outside": math.log2(1 + prose[-1] - prose_inside),
            "prose_before": math.log2(1 + prose[first.text_start]),
            "prose_after": math.log2(1 + prose[-1] - prose[last.text_end]),
            "page_links": count / max(1, len(self.page.anchors)),
            "page_dates": dated / max(1, self._dates[-1]),
            "after_h1": (first.text_start - self._title.text_end) / texts if self._title is not None else -2.0,
            "before_pager": float(any(last.text_end <= start <= last.text_end + 12 for start in self._pagers)),
            "between": 1 - min(1.0, sum(row_widths) / max(1, span)),
        }
        return RowGroup(rows, {**features, **{name: total / count for name, total in shares.items()}})

    def _count_links_of_rows(self, rows: list[ListRow]) -> dict[str, int]:
        """Return in how many rows the link is the first of the row's links, has the longest text, opens the row."""
        first = longest = opens = 0
        for row in rows:
            link = row.anchor
            opens += link.element.text_start == row.text_start
            if self.page.count_links(row.element) == 1:
                first, longest = first + 1, longest + 1
                continue
            links = self.page.list_links(row.element)
            first += links[0] is link
            longest += len(link.text) >= max([len(other.text) for other in links])
        return {"first_in_row": first, "longest_in_row": longest, "opens_row": opens}

    def _count_regions(self, rows: list[ListRow]) -> dict[str, int]:
        """Return how many rows are in the commonest kind of region, and how many in the first region.

        The regions of a group are the children of the element around all its rows, as main part and side box, or the
        blocks of months, which are of one kind.
        """
        last = rows[-1].element
        whole = last
        if last is not rows[0].element:
            around = rows[0].element.iter_ancestors()
            whole = next(node for node in around if node is not last and node.contains(last))
        regions = []
        for row in rows:
            region = row.anchor.element
            while region.depth > whole.depth + 1 and region.parent is not None:
                region = region.parent
            regions.append(region.index)
        return {
            "one_region": _count_commonest([self.paths.steps[region] for region in regions]),
            "in_first_region": regions.count(regions[0]),
        }

    def complete(self, groups: Sequence[RowGroup]) -> None:
        """Add to the features of all groups of the page those of the page, and how they stand against the best."""
        for name in _COMPARED:
            most = max((group.features[name] for group in groups), default=0.0) or 1.0
            for group in groups:
                group.features[f"{name}_to_best"] = group.features[name] / most
        for group in groups:
            group.features.update(self._page)

    def list_dated_records(self) -> list[ListRow]:
        """Return a row for each date that stands with a few links of its own, as the only row of a list does."""
        found: dict[int, ListRow] = {}
        for owner, (before, after) in zip(self.page.text_owner, pairwise(self._dates), strict=True):
            if before == after or (record := self._find_record(self.page.elements[owner])) is None:
                continue
            links = self.page.list_links(record)
            link = max(links, key=lambda link: len(link.text))
            found.setdefault(record.index, ListRow(link, [link], record))
        return list(found.values()) if len(found) <= _MAX_RECORDS else []

    def _find_record(self, dated: Element) -> Element | None:
        """Return the record of a date and a few links: what is marked as one, else all around it without more links.

        A row of a table or an item may have more links than stand with the date, where it has no other date. One
        without a link is no part of a record with other dates.
        """
        found: Element | None = None
        nearest = dated.closest(RECORD_TAGS)
        is_linked = nearest is None or self.page.count_links(nearest) > 0
        for node in dated.iter_ancestors():
            links = self.page.count_links(node)
            if not is_linked and self._count_dates(node) > 1:
                break
            if links > _MAX_RECORD_LINKS or self._measure_width(node) > _MAX_RECORD_WEIGHT:
                break
            if found is None and links and self.paths.landmarks[node.index]:
                break
            if node is nearest and links and self._count_dates(node) == 1:
                return node
            if links and (found is None or links == self.page.count_links(found)):
                found = node
        return found

    def _count_dates(self, element: Element) -> int:
        return self._dates[element.text_end] - self._dates[element.text_start]

    def _measure_width(self, element: Element) -> int:
        return self._widths[element.text_end] - self._widths[element.text_start]

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
            width = measure_text_weight(anchor.text)
            before, after = self._measure_beside(element)
            traits = self._traits[element.index] = _LinkTraits(
                link_width=min(_MAX_LINK_WIDTH, width),
                wide_links=width >= _MIN_TITLE_WEIGHT,
                record_urls=_RECORD_URL.search(path) is not None,
                text_before=min(_MAX_LINK_WIDTH, before),
                text_after=min(_MAX_LINK_WIDTH, after),
                within_prose=min(before, after) >= _MIN_PROSE_WIDTH,
                documents=detect_document_type(url) is not None,
                same_host=host.removeprefix("www.") == self._host,
                below_page=f"/{path}".startswith(self._folder) and len(self._folder) > 1,
                above_page=self._path.startswith(f"/{path}") and len(path) > 1,
                digits_in_links=any(map(str.isdigit, anchor.text[:80])),
                like_page=get_url_shape(url) == self._shape,
                in_heading=not _HEADING_TAGS.isdisjoint(
                    node.tag for node in islice(element.iter_ancestors(), _MAX_STEPS_UP)
                ),
            )
        return traits

    def _measure_beside(self, link: Element) -> list[int]:
        """Return the widths of the texts right before and right after a link, in the element that it stands in."""
        owner, parent = self.page.text_owner, link.parent.index if link.parent is not None else -1
        return [
            self._widths[index + 1] - self._widths[index] if 0 <= index < len(owner) and owner[index] == parent else 0
            for index in (link.text_start - 1, link.text_end)
        ]


def _count_commonest(values: Sequence[Hashable]) -> int:
    alike = values.count(values[0])
    return alike if 2 * alike >= len(values) else max(Counter(values).values())
