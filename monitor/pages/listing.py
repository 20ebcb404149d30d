"""The list of a list page: which of its links are records of one list, by structure, on any site."""

import datetime as dt
import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate

from selectolax.lexbor import LexborHTMLParser

from monitor.domain.page import Candidate
from monitor.pages.grouping import link_groups, url_shape
from monitor.pages.listdates import date_records
from monitor.pages.outline import Element, Outline, outline
from monitor.pages.records import Record, attachments_inside, prefer_pages, records_of
from monitor.pages.registrable import same_site
from monitor.pages.titles import record_title

_BOILERPLATE_TAGS = frozenset({"nav", "footer", "aside", "select", "menu"})
_BOILERPLATE = re.compile(
    r"(?:^|[\s_-])(?:nav\w*|menus?|footer|foot|header|head|crumbs?|breadcrumbs?|bread|sidebar|side|related|"
    r"recommend\w*|hot|rank\w*|tags?|tagcloud|"
    r"pager|pagination|paging|social|share|login|lang\w*|friend\w*|flink|links|copyright|toolbar|topbar|logo|"
    r"search-?(?:box|form|bar)|sitemap|widget\w*|"
    r"utility|subnav|submenu|dropdown|filter\w*|facets?|skip\w*|weizhi|dqwz|banner)(?=$|[\s_-])"
)
_DATE_LIKE = re.compile(
    r"(?:19|20)\d\d\s?[-/.年]\s?\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)?\d\d(?!\d)|[\[(（]\d\d[-/]\d\d[\])）]|"
    r"^\s*\d\d-\d\d\s*$|\d{1,2}月\d{1,2}日"
    r"|\b(?:jan|feb|mar|mär|apr|may|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-z]*\.?\s+\d{1,2}\b|"
    r"\b\d{1,2}\.?\s+(?:jan|feb|mar|mär|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])"
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
    "short": -0.3,
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


_LONG_RECORD = 600
_LEAST_SCORE = 7.0
_LEAST_DATED_SCORE = 5.5


@dataclass(slots=True)
class _Group:
    """Records that may be the page's list, and what speaks for them."""

    records: list[Record]
    parts: dict[str, float]

    @property
    def score(self) -> float:
        """How much the group looks like the list that a page is there for."""
        return sum(_WEIGHTS[name] * value for name, value in self.parts.items())

    @property
    def dated(self) -> float:
        """Share of records with a date in them or behind them."""
        return self.parts["dated"] + self.parts["beside"]


class _Sums:
    """Sums over the page's texts, so that a record's share of text and dates costs two look-ups."""

    def __init__(self, page: Outline) -> None:
        self.dates = [0, *accumulate(bool(_DATE_LIKE.search(text)) for text in page.texts)]
        anchored = [False] * (len(page.elements) + 1)
        for anchor in page.anchors:
            anchored[anchor.element.index] = True
        linked = [False] * len(page.texts)
        for anchor in page.anchors:
            for index in range(anchor.element.text_start, anchor.element.text_end):
                linked[index] = True
        weights = [_weight(text) for text in page.texts]
        self.lengths = [0, *accumulate(weights)]
        self._prose = [
            0,
            *accumulate(w if w >= 50 and not is_link else 0 for w, is_link in zip(weights, linked, strict=True)),
        ]
        self._boilerplate: dict[int, bool] = {}
        self.links = [0, *accumulate(anchored)]

    @property
    def prose(self) -> int:
        """How much of the page's text is in sentences that are no links."""
        return self._prose[-1]

    def prose_in(self, record: Record) -> int:
        """How much of that is in a record."""
        return self._prose[record.text_end] - self._prose[record.text_start]

    def text(self, record: Record) -> int:
        return self.lengths[record.text_end] - self.lengths[record.text_start]

    def has_date(self, start: int, end: int) -> bool:
        return self.dates[end] > self.dates[start]

    def is_boilerplate(self, element: Element) -> bool:
        """Whether an element lies in what its author calls navigation, footer, sidebar and the like.

        What holds half of the page's text is the page, whatever words its name is made of.
        """
        node: Element | None = element
        seen = []
        while node is not None and node.index not in self._boilerplate and not self._is_named_so(node):
            seen.append(node.index)
            node = node.parent
        answer = node is not None and self._boilerplate.get(node.index, True)
        self._boilerplate.update(dict.fromkeys(seen, answer))
        return answer

    def _is_named_so(self, element: Element) -> bool:
        if (
            element.tag in ("body", "html")
            or 2 * (self.lengths[element.text_end] - self.lengths[element.text_start]) > self.lengths[-1]
        ):
            return False
        return element.tag in _BOILERPLATE_TAGS or bool(_BOILERPLATE.search(element.names))

    def links_in(self, element: Element) -> int:
        return self.links[element.end] - self.links[element.index]


def find_candidates(tree: LexborHTMLParser, url: str, today: dt.date) -> list[Candidate]:
    """The items of the page's list (or lists of one kind), in page order; empty where the page has none.

    `url` is the page's own; `today` bounds dates and is what "yesterday" counts from. Each candidate is one record;
    a title never holds the date, and a date is None where it is doubtful.
    """
    return list_candidates(outline(tree, url), today)


def list_candidates(page: Outline, today: dt.date) -> list[Candidate]:
    """As `find_candidates`, for a page whose outline is known already."""
    sums = _Sums(page)
    best = _best_group(page, sums)
    if best is None or not _is_list(best, sums):
        return []
    return _candidates(page, best, today)


def _best_group(page: Outline, sums: _Sums) -> _Group | None:
    best: _Group | None = None
    best_score = 0.0
    for anchors in link_groups(page):
        records = records_of(anchors)
        if len(records) < 2:
            continue
        group = _Group(records, _parts(page, records, sums))
        if best is None or group.score > best_score:
            best, best_score = group, group.score
    return best


def _is_list(group: _Group, sums: _Sums) -> bool:
    """Whether the best group is a list at all: menus are not, nor are the links in an article's text or beside it."""
    parts, count = group.parts, len(group.records)
    is_dated = group.dated >= 0.6 and count >= 4
    if group.score < (_LEAST_DATED_SCORE if is_dated else _LEAST_SCORE):
        return False
    if not is_dated and (
        parts["inline"] > 0.5
        or parts["boilerplate"] > 0.5
        or (parts["article_like"] < 0.4 and parts["link_length"] < 0.7)
    ):
        return False
    in_records = sum(sums.text(record) for record in group.records)
    if count <= 6 and in_records > count * 1.2 * _LONG_RECORD:
        return False
    prose = sums.prose - sum(sums.prose_in(record) for record in group.records)
    return is_dated or prose < max(600, in_records)


def _is_inline(page: Outline, record: Record) -> bool:
    """Whether the record's link stands within a sentence: words of the same element go before it."""
    link = record.anchor.element
    index = link.text_start - 1
    if link.parent is None or index < 0 or page.text_owner[index] != link.parent.index:
        return False
    for element in reversed(page.elements[link.parent.index + 1 : link.index]):
        if element.text_start < link.text_start:
            break
        if element.tag in ("br", "hr"):
            return False
    return _weight(page.texts[index]) >= 24


def _parts(page: Outline, records: list[Record], sums: _Sums) -> dict[str, float]:
    """What speaks for and against a group, each between 0 and a few."""
    count = len(records)
    texts = Counter(record.link_text for record in records)
    shapes = Counter(url_shape(record.url) for record in records)
    parents = Counter(record.element.parent.index if record.element.parent else 0 for record in records)
    lengths = [_weight(record.link_text) for record in records]
    beside = [
        not sums.has_date(record.text_start, record.text_end)
        and sums.has_date(record.text_end, min(following, record.text_end + 6))
        for record, following in zip(
            records, [*(after.text_start for after in records[1:]), len(page.texts)], strict=True
        )
    ]
    return {
        "dated": sum(sums.has_date(record.text_start, record.text_end) for record in records) / count,
        "beside": sum(beside) / count,
        "text_share": sum(min(_LONG_RECORD, sums.text(record)) for record in records) / max(1, sums.lengths[-1]),
        "link_length": sum(min(60, length) for length in lengths) / count / 20,
        "record_length": sum(min(160, sums.text(record)) for record in records) / count / 40,
        "short": sum(length < 10 for length in lengths) / count,
        "article_like": sum(bool(_ARTICLE_URL.search(_after_host(record.url))) for record in records) / count,
        "count": math.log2(min(count, 24)),
        "boilerplate": sum(sums.is_boilerplate(record.anchor.element) for record in records) / count,
        "swallowed": min(7.5, sum(max(0, sums.links_in(record.element) - 3) for record in records) / count),
        "repeated": 1 - len(texts) / count,
        "few": max(0, 4 - count) / 2,
        "inline": sum(_is_inline(page, record) for record in records) / count,
        "purity": shapes.most_common(1)[0][1] / count,
        "siblings": parents.most_common(1)[0][1] / count,
    }


def _after_host(url: str) -> str:
    return url.split("/", 3)[-1] if url.count("/") >= 3 else ""


def _weight(text: str) -> int:
    """Length of a text for the eye: an ideograph says as much as two letters."""
    compact = "".join(text.split())
    return len(compact) if compact.isascii() else len(compact) + sum(char > "\u2e80" for char in compact)


def _candidates(page: Outline, group: _Group, today: dt.date) -> list[Candidate]:
    records = prefer_pages(page, group.records)
    dates = date_records(page, records, today)
    found: dict[str, Candidate] = {}
    for record, dated in zip(records, dates, strict=True):
        candidate = Candidate(
            title=record_title(page, record),
            url=record.url,
            date=dated.date,
            date_source=dated.source,
            is_repost=not same_site(record.url, page.url),
            attachments=attachments_inside(page, record),
        )
        found.setdefault(record.url, candidate)
    return list(found.values())
