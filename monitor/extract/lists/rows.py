"""Records: what belongs to one link of a list."""

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from monitor.extract.attachments import detect_document_type
from monitor.extract.html import Anchor, Element, Outline, collapse_whitespace
from monitor.page import Attachment
from monitor.urls import get_host

_MIN_SHARED_SHARE = 0.8


@dataclass(slots=True, eq=False)
class ListRow:
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


def build_rows(anchors: list[Anchor]) -> list[ListRow]:
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
            inside = [anchor for anchor in inside if element.contains(anchor.element)]
            link = max(inside, key=lambda anchor: len(anchor.text))
        records.append(ListRow(link, inside, element))
    _align_rows(records)
    return records


def _align_rows(rows: list[ListRow]) -> None:
    """Makes the records elements of one kind, where the markup has one: the row, not what else stands around it.

    The first row below a heading is alone with that heading in its parent as far as links go, but no more than a row.
    """
    if len({(record.element.tag, record.element.depth) for record in rows}) == 1:
        return
    ways = [list(_list_path_up(record)) for record in rows]
    counts = Counter((element.tag, element.depth) for way in ways for element in way)
    shared = [kind for kind, count in counts.items() if count >= _MIN_SHARED_SHARE * len(rows) and kind[0] != "a"]
    if shared:
        row = min(shared, key=lambda kind: kind[1])
        for record, way in zip(rows, ways, strict=True):
            record.element = next((one for one in way if (one.tag, one.depth) == row), record.element)


def _list_path_up(row: ListRow) -> Iterator[Element]:
    """The elements from a record's link up to the record itself."""
    element = row.anchor.element
    yield element
    while element is not row.element and element.parent is not None:
        element = element.parent
        yield element


def list_row_links(page: Outline, row: ListRow) -> list[Anchor]:
    """All links of the record's element, those of the list and others."""
    start = bisect_left(page.anchors, row.element.index, key=lambda anchor: anchor.element.index)
    end = bisect_left(page.anchors, row.element.end, key=lambda anchor: anchor.element.index)
    return page.anchors[start:end]


def prefer_pages(page: Outline, rows: list[ListRow]) -> list[ListRow]:
    """The records, led by their pages where the list's links are documents and most rows have a page too.

    A row that shows a decision's page and its PDF is one record: the page's, with the PDF as its attachment. Links
    that many rows share (a category, an office) are no record's page.
    """
    if sum(detect_document_type(record.url) is not None for record in rows) < 0.5 * len(rows):
        return rows
    pages = {id(record): _find_page_link(page, record) for record in rows}
    found = [anchor.url for anchor in pages.values() if anchor is not None]
    if len(found) < 0.7 * len(rows) or len(set(found)) < 0.95 * len(found):
        return rows
    return [_relink_row(record, pages[id(record)]) for record in rows]


def list_row_attachments(page: Outline, row: ListRow) -> list[Attachment]:
    """The documents in a record besides the one it leads to."""
    found: dict[str, Attachment] = {}
    for anchor in list_row_links(page, row):
        kind = detect_document_type(anchor.url)
        if kind and anchor.url != row.url:
            title = (
                anchor.text
                or collapse_whitespace(anchor.element.attributes.get("title") or "")
                or anchor.url.rsplit("/", 1)[-1]
            )
            found.setdefault(anchor.url, Attachment(title=title, url=anchor.url, type=kind))
    return list(found.values())


def _find_page_link(page: Outline, row: ListRow) -> Anchor | None:
    pages = [
        anchor
        for anchor in list_row_links(page, row)
        if detect_document_type(anchor.url) is None
        and get_host(anchor.url) == get_host(row.url)
        and len(anchor.text) >= 4
    ]
    return max(pages, key=lambda anchor: len(anchor.text), default=None)


def _relink_row(row: ListRow, anchor: Anchor | None) -> ListRow:
    return ListRow(anchor, [anchor], row.element) if anchor else row
