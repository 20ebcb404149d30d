"""Records: what belongs to one link of a list."""

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from monitor.domain.page import Attachment
from monitor.domain.urls import host_of
from monitor.pages.attachments import document_type
from monitor.pages.outline import Anchor, Element, Outline, squeeze

_MOST = 0.8


@dataclass(slots=True, eq=False)
class Record:
    """One row of a list: its link, and the largest element that holds no other link of the list.

    `anchors` are all links of the group that lead to the record's url: a picture and a headline often both do.
    """

    anchor: Anchor
    anchors: list[Anchor]
    element: Element

    @property
    def link_text(self) -> str:
        """What the record's link says: the longest text among its links."""
        return self.anchor.text

    @property
    def url(self) -> str:
        return self.anchor.url

    @property
    def text_start(self) -> int:
        """Where the record's text begins, in the outline's texts."""
        return self.element.text_start

    @property
    def text_end(self) -> int:
        return self.element.text_end


def records_of(anchors: list[Anchor]) -> list[Record]:
    """The records of a group of links, in page order, one for each url.

    A url that the group holds twice, far apart, is one record: that of its first link.
    """
    by_url: dict[str, list[Anchor]] = {}
    starts: list[int] = []
    for position, anchor in enumerate(anchors):
        if anchor.url in by_url:
            by_url[anchor.url].append(anchor)
        else:
            by_url[anchor.url] = [anchor]
            starts.append(position)
    records = []
    for first in starts:
        link = anchors[first]
        # The nearest links of other records on either side: what holds one of them is more than this record.
        before = anchors[first - 1].element.index if first else -1
        after = first + 1
        while after < len(anchors) and anchors[after].url == link.url:
            after += 1
        end = anchors[after].element.index if after < len(anchors) else sys.maxsize
        element = link.element
        while (parent := element.parent) is not None and before < parent.index and parent.end <= end:
            element = parent
        inside = by_url[link.url]
        if len(inside) > 1:
            inside = [anchor for anchor in inside if element.holds(anchor.element)]
            link = max(inside, key=lambda anchor: len(anchor.text))
        records.append(Record(link, inside, element))
    _level(records)
    return records


def _level(records: list[Record]) -> None:
    """Makes the records elements of one kind, where the markup has one: the row, not what else stands around it.

    The first row below a heading is alone with that heading in its parent as far as links go, but no more than a row.
    """
    if len({(record.element.tag, record.element.depth) for record in records}) == 1:
        return
    ways = [list(_way_up(record)) for record in records]
    counts = Counter((element.tag, element.depth) for way in ways for element in way)
    shared = [kind for kind, count in counts.items() if count >= _MOST * len(records) and kind[0] != "a"]
    if shared:
        row = min(shared, key=lambda kind: kind[1])
        for record, way in zip(records, ways, strict=True):
            record.element = next((one for one in way if (one.tag, one.depth) == row), record.element)


def _way_up(record: Record) -> Iterator[Element]:
    """The elements from a record's link up to the record itself."""
    element = record.anchor.element
    yield element
    while element is not record.element and element.parent is not None:
        element = element.parent
        yield element


def links_inside(page: Outline, record: Record) -> list[Anchor]:
    """All links of the record's element, those of the list and others."""
    start = bisect_left(page.anchors, record.element.index, key=lambda anchor: anchor.element.index)
    end = bisect_left(page.anchors, record.element.end, key=lambda anchor: anchor.element.index)
    return page.anchors[start:end]


def prefer_pages(page: Outline, records: list[Record]) -> list[Record]:
    """The records, led by their pages where the list's links are documents and most rows have a page too.

    A row that shows a decision's page and its PDF is one record: the page's, with the PDF as its attachment. Links
    that many rows share (a category, an office) are no record's page.
    """
    if sum(document_type(record.url) is not None for record in records) < 0.5 * len(records):
        return records
    pages = {id(record): _page_link(page, record) for record in records}
    found = [anchor.url for anchor in pages.values() if anchor is not None]
    if len(found) < 0.7 * len(records) or len(set(found)) < 0.95 * len(found):
        return records
    return [_led_by(record, pages[id(record)]) for record in records]


def attachments_inside(page: Outline, record: Record) -> list[Attachment]:
    """The documents in a record besides the one it leads to."""
    found: dict[str, Attachment] = {}
    for anchor in links_inside(page, record):
        kind = document_type(anchor.url)
        if kind and anchor.url != record.url:
            title = (
                anchor.text or squeeze(anchor.element.attributes.get("title") or "") or anchor.url.rsplit("/", 1)[-1]
            )
            found.setdefault(anchor.url, Attachment(title=title, url=anchor.url, type=kind))
    return list(found.values())


def _page_link(page: Outline, record: Record) -> Anchor | None:
    pages = [
        anchor
        for anchor in links_inside(page, record)
        if document_type(anchor.url) is None and host_of(anchor.url) == host_of(record.url) and len(anchor.text) >= 4
    ]
    return max(pages, key=lambda anchor: len(anchor.text), default=None)


def _led_by(record: Record, anchor: Anchor | None) -> Record:
    return Record(anchor, [anchor], record.element) if anchor else record
