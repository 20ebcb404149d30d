"""The rows of a list: each link of a group with the element, other links and documents that belong to it."""

import sys
from collections import Counter
from dataclasses import dataclass
from itertools import takewhile

from monitor.extract.attachments import detect_document_type
from monitor.extract.html import Anchor, Element, Outline
from monitor.extract.lists.grouping import RECORD_TAGS
from monitor.extract.lists.paging import is_pager_text
from monitor.page import Attachment
from monitor.urls import get_host

_MIN_SHARED_SHARE = 0.8
_SINGLE_ROW_TAGS = frozenset({"li", "tr", "dd", "dl", "article", "div", "p"})
_MAX_SINGLE_ROW_CHARS, _MAX_RECORD_CHARS = 600, 3_000


def list_steps(element: Element, top: Element) -> tuple[str, ...]:
    """Return the tags from an element up to below `top`, those of cells with their column."""
    inside = takewhile(lambda node: node is not top, element.iter_ancestors())
    return tuple([f"{node.tag}{node.position}" if node.tag in ("td", "th") else node.tag for node in inside])


@dataclass(slots=True, eq=False)
class ListRow:
    """One row: its link, all `anchors` of the group to its url, the largest element without other links of the list."""

    anchor: Anchor
    anchors: list[Anchor]
    element: Element

    @property
    def url(self) -> str:
        return self.anchor.url

    @property
    def text_start(self) -> int:
        return self.element.text_start

    @property
    def text_end(self) -> int:
        return self.element.text_end


def build_rows(anchors: list[Anchor]) -> list[ListRow]:
    """Return the rows of a group of links in page order, one for each url, at its first link."""
    by_url: dict[str, list[Anchor]] = {}
    starts: list[int] = []
    for position, anchor in enumerate(anchors):
        if anchor.url not in by_url:
            starts.append(position)
        by_url.setdefault(anchor.url, []).append(anchor)
    rows: list[ListRow] = []
    for first in starts:
        link = anchors[first]
        # An element that contains a neighbouring link to another url is larger than this row.
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
        rows.append(ListRow(link, inside, element))
    _align_rows(rows)
    return rows


def _align_rows(rows: list[ListRow]) -> None:
    """Give all rows elements of one kind, where most share one: the first would include the heading above it."""
    if len({row.element.kind for row in rows}) == 1:
        return
    paths = [list(takewhile(row.element.contains, row.anchor.element.iter_ancestors())) for row in rows]
    counts = Counter(element.kind for path in paths for element in path)
    shared = [kind for kind, count in counts.items() if count >= _MIN_SHARED_SHARE * len(rows) and kind[0] != "a"]
    if shared:
        outermost = min(shared, key=lambda kind: kind[1])
        for row, path in zip(rows, paths, strict=True):
            row.element = next((node for node in path if node.kind == outermost), row.element)


def build_single_row(page: Outline, anchor: Anchor) -> ListRow | None:
    """Return the row of a link that stands alone: what is marked as a record, else all around it without more links."""
    if is_pager_text(anchor.text):
        return None
    inside = anchor.element.iter_ancestors()
    record = next((element for element in inside if element.tag in _SINGLE_ROW_TAGS), None)
    if record is None or _is_long(page, record, _MAX_RECORD_CHARS):
        return None
    links = page.count_links(record)
    for element in inside if record.tag not in RECORD_TAGS else ():
        if page.count_links(element) > links or _is_long(page, element, _MAX_SINGLE_ROW_CHARS):
            break
        if element.tag in _SINGLE_ROW_TAGS:
            record = element
    return ListRow(anchor, [anchor], record)


def _is_long(page: Outline, element: Element, most: int) -> bool:
    return len(page.get_text(element, 2 * most)) > most


def prefer_pages(page: Outline, rows: list[ListRow]) -> list[ListRow]:
    """Return the rows with links to pages, where the list's links are documents and most rows link to a page too.

    A row with a decision's page and its PDF is the page with the PDF as its attachment. A link that many rows share
    (a category, an office) is not a row's page.
    """
    if sum(detect_document_type(row.url) is not None for row in rows) < 0.5 * len(rows):
        return rows
    pages = [_find_page_link(page, row) for row in rows]
    found = [anchor.url for anchor in pages if anchor is not None]
    if len(found) < 0.7 * len(rows) or len(set(found)) < 0.95 * len(found):
        return rows
    return [ListRow(link, [link], row.element) if link else row for row, link in zip(rows, pages, strict=True)]


def list_row_attachments(page: Outline, row: ListRow) -> list[Attachment]:
    """Return the documents in a row besides the one it leads to."""
    found: dict[str, Attachment] = {}
    for anchor in page.list_links(row.element):
        kind = detect_document_type(anchor.url)
        if kind and anchor.url != row.url:
            title = anchor.text or anchor.element.get_title() or anchor.url.rsplit("/", 1)[-1]
            found.setdefault(anchor.url, Attachment(title=title, url=anchor.url, type=kind))
    return list(found.values())


def _find_page_link(page: Outline, row: ListRow) -> Anchor | None:
    host = get_host(row.url)
    named = (link for link in page.list_links(row.element) if len(link.text) >= 4 and get_host(link.url) == host)
    pages = (link for link in named if detect_document_type(link.url) is None)
    return max(pages, key=lambda link: len(link.text), default=None)
