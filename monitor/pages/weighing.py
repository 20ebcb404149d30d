"""What speaks for a group of links being the list that a page is there for."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from monitor.pages.grouping import url_shape
from monitor.pages.outline import Anchor, Element, Outline
from monitor.pages.records import Record
from monitor.pages.sentences import is_inline, text_weight

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt"})
_BOILERPLATE_TAGS = frozenset({"nav", "footer", "aside", "select", "menu"})
_BOILERPLATE = re.compile(
    r"(?:^|[\s_-])(?:nav\w*|menus?|footer|foot|header|head|crumbs?|breadcrumbs?|bread|sidebar|side|related|"
    r"recommend\w*|hot|rank\w*|tags?|tagcloud|"
    r"pager|pagination|paging|social|share|login|lang\w*|friend\w*|flink|links|copyright|toolbar|topbar|logo|"
    r"search-?(?:box|form|bar)|sitemap|widget\w*|"
    r"utility|subnav|submenu|dropdown|filter\w*|facets?|skip\w*|weizhi|dqwz|banner)(?=$|[\s_-])"
)
_HERE = re.compile(
    r"[\W_]*(?:(?:您?当前|您?的?|你的?|所在|現在)(?:所在)?(?:的)?位置|您现在|現在地|현재\s*위치|you\s+are\s+here|sie\s+(?:sind|befinden\s+sich)\s+hier|"
    r"vous\s+êtes\s+ici|está\s+(?:usted\s+)?(?:aquí|en))",
    re.IGNORECASE,
)
_DATE_LIKE = re.compile(
    r"(?:19|20)\d\d\s?[-/.年]\s?\d{1,2}(?!\d{2})|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d\d(?!\d)|[\[(（]\d\d[-/]\d\d[\])）]|"
    r"^\s*\d\d-\d\d\s*$|\d{1,2}月\d{1,2}日"
    r"|\b(?:jan|feb|mar|mär|apr|may|jun|jul|aug|sep|oct|okt|nov|dec|dez|dic|ene|abr|avr|fév|déc)[a-z]*\.?\s+\d{1,2}\b|"
    r"\b\d{1,2}\.?\s+(?:jan|feb|mar|mär|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz]|dic|ene|abr|avr|fév|déc)"
    r"|(?<!\d)\d{1,4}\s?(?:天|小时|分钟)前|昨天",
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


LONG_RECORD = 600
"""Longer records (in the weight of their text) are no rows of a list but articles."""
_NEAR_TEXTS = 6
_LONGEST_DATE = 40
_MOST_BEFORE_COLUMNS = 40
_MAYBE_DATE = re.compile(r"\d|昨天")


@dataclass(slots=True)
class Group:
    """Records that may be the page's list, and what speaks for them."""

    records: list[Record]
    parts: dict[str, float]
    score: float

    @property
    def dated(self) -> float:
        """Share of records with a date in them or behind them."""
        return self.parts["dated"] + self.parts["beside"]


@dataclass(slots=True)
class _LinkTraits:
    """What one link shows, whatever group it is looked at in."""

    length: int
    is_article_like: bool
    is_inline: bool


class Scales:
    """Weighs groups of one page: sums over its texts make a record's share of text and dates two look-ups."""

    def __init__(self, page: Outline) -> None:
        self.page = page
        self._dates = [
            0,
            *accumulate(bool(_MAYBE_DATE.search(text) and _DATE_LIKE.search(text)) for text in page.texts),
        ]
        anchored = [False] * (len(page.elements) + 1)
        linked = [False] * len(page.texts)
        for anchor in page.anchors:
            element = anchor.element
            anchored[element.index] = True
            linked[element.text_start : element.text_end] = [True] * (element.text_end - element.text_start)
        weights = [text_weight(text) for text in page.texts]
        self._lengths = [0, *accumulate(weights)]
        self._prose = [
            0,
            *accumulate(w if w >= 50 and not is_link else 0 for w, is_link in zip(weights, linked, strict=True)),
        ]
        self._boilerplate: dict[int, bool] = {}
        self._named_columns: dict[int, bool] = {}
        self._links = [0, *accumulate(anchored)]
        self._traits: dict[int, _LinkTraits] = {}

    def prose_outside(self, records: Sequence[Record]) -> int:
        """How much of the page's text is in sentences that are no links and lie in none of these records."""
        if self._lead_teasers(records):
            last = records[-1].element.parent or records[-1].element
            return self._prose[-1] - (self._prose[last.text_end] - self._prose[records[0].text_start])
        return self._prose[-1] - sum(
            self._prose[record.text_end] - self._prose[record.text_start] for record in records
        )

    def _lead_teasers(self, records: Sequence[Record]) -> bool:
        """Whether the paragraphs between the records are theirs: below headings, or with the same "read more" each."""
        if all(record.element.tag in _HEADINGS for record in records):
            return True
        said: Counter[str] = Counter()
        for one, after in pairwise(records):
            between = range(self._links[one.element.end], self._links[after.element.index])
            said.update({self.page.anchors[position].text for position in between})
        return max(said.values(), default=0) >= 0.8 * (len(records) - 1)

    def text(self, record: Record) -> int:
        """The weight of a record's text."""
        return self._lengths[record.text_end] - self._lengths[record.text_start]

    def weigh(self, records: list[Record]) -> Group:
        """The group that these records are, with what speaks for and against it, each between 0 and a few."""
        count = len(records)
        traits = [self._traits_of(record.anchor) for record in records]
        lengths = [
            trait.length if len(record.anchors) == 1 else text_weight(record.link_text)
            for trait, record in zip(traits, records, strict=True)
        ]
        texts = [self.text(record) for record in records]
        shapes = Counter([url_shape(record.url) for record in records])
        parents = Counter([record.element.parent.index if record.element.parent else 0 for record in records])
        dated, beside = self._dated(records)
        swallowed = sum(max(0, self._links_in(record.element) - 3) for record in records) / count
        parts = {
            "dated": dated / count,
            "beside": beside / count,
            "text_share": sum(min(LONG_RECORD, text) for text in texts) / max(1, self._lengths[-1]),
            "link_length": sum(min(60, length) for length in lengths) / count / 20,
            "record_length": sum(min(160, text) for text in texts) / count / 40,
            "article_like": sum(one.is_article_like for one in traits) / count,
            "count": math.log2(min(count, 24)),
            "boilerplate": sum(self._is_boilerplate(record.element) for record in records) / count,
            "swallowed": min(7.5, swallowed),
            "repeated": 1 - len({one.link_text or self.page.text_of(one.element) for one in records}) / count,
            "few": max(0, 4 - count) / 2,
            "inline": sum(one.is_inline for one in traits) / count,
            "purity": max(shapes.values()) / count,
            "siblings": max(parents.values()) / count,
        }
        return Group(records, parts, sum(_WEIGHTS[name] * value for name, value in parts.items()))

    def is_dated_row(self, record: Record) -> bool:
        """Whether a row that stands alone has a date outside its link, and is no part of navigation or footer."""
        dates, link = self._dates, record.anchor.element
        outside = dates[record.text_end] - dates[link.text_end] + dates[link.text_start] - dates[record.text_start]
        return outside > 0 and not self._is_boilerplate(record.element)

    def is_table_row(self, element: Element) -> bool:
        """Whether an element is a row of a table whose columns are named."""
        table: Element | None = element if element.tag == "tr" else None
        while table is not None and table.tag != "table":
            table = table.parent
        if table is None:
            return False
        if table.index not in self._named_columns:
            inside = self.page.inside(table)[:_MOST_BEFORE_COLUMNS]
            self._named_columns[table.index] = sum(one.tag == "th" for one in inside) >= 2
        return self._named_columns[table.index]

    def are_day_headings(self, records: Sequence[Record]) -> bool:
        """Whether records are headings that say a day each, with other links below them: those are the rows."""
        headings = [
            record.element.tag in _HEADINGS
            and len(self.page.text_of(record.element)) <= _LONGEST_DATE
            and self.is_dated(record)
            and self._links[record.element.end] < self._links[after.element.index]
            for record, after in pairwise(records)
        ]
        return 2 * sum(headings) > len(headings)

    def is_dated(self, record: Record) -> bool:
        """Whether a text in a record looks like a date."""
        return self._dates[record.text_end] > self._dates[record.text_start]

    def _dated(self, records: list[Record]) -> tuple[int, int]:
        """How many records have a date in them, and how many of the others one close behind them or as a heading."""
        dates = self._dates
        inside = behind = headings = headed = 0
        last = len(dates) - 1
        before = max(0, records[0].text_start - _NEAR_TEXTS)
        for position, record in enumerate(records):
            end = record.text_end
            headings += any(self._is_date_line(index) for index in range(before, record.text_start))
            headed += headings > 0
            before = end
            if dates[end] > dates[record.text_start]:
                inside += 1
                continue
            following = records[position + 1].text_start if position + 1 < len(records) else last
            behind += dates[max(end, min(following, end + _NEAR_TEXTS, last))] > dates[end]
        is_headed = inside <= 0.1 * len(records) and 2 <= headings <= 0.5 * len(records)
        return inside, max(behind, headed - inside) if is_headed else behind

    def _is_date_line(self, index: int) -> bool:
        """Whether a text is hardly more than a date, as the heading over the rows of one day is."""
        return self._dates[index + 1] > self._dates[index] and len(self.page.texts[index].strip()) <= _LONGEST_DATE

    def _traits_of(self, anchor: Anchor) -> _LinkTraits:
        traits = self._traits.get(anchor.element.index)
        if traits is None:
            traits = self._traits[anchor.element.index] = _LinkTraits(
                length=text_weight(anchor.text),
                is_article_like=bool(_ARTICLE_URL.search(_after_host(anchor.url))),
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
        while node is not None and node.index not in self._boilerplate and not self._is_named_so(node):
            seen.append(node.index)
            node = node.parent
        answer = node is not None and self._boilerplate.get(node.index, True)
        self._boilerplate.update(dict.fromkeys(seen, answer))
        return answer

    def _is_named_so(self, element: Element) -> bool:
        # A post's classes name its subjects, as tag-rank or category-hot, and not what it is on the page.
        if element.tag in ("body", "html", "article") or "hentry" in element.css_class:
            return False
        if not (
            element.tag in _BOILERPLATE_TAGS
            or (element.names != " " and _BOILERPLATE.search(element.names))
            or (element.text_start < element.text_end and _HERE.match(self.page.texts[element.text_start]))
        ):
            return False
        return 2 * (self._lengths[element.text_end] - self._lengths[element.text_start]) <= self._lengths[-1]

    def _links_in(self, element: Element) -> int:
        return self._links[element.end] - self._links[element.index]


def _after_host(url: str) -> str:
    return url.split("/", 3)[-1] if url.count("/") >= 3 else ""
