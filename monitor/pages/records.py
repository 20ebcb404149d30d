"""Records: what belongs to one link of a list."""

from collections import defaultdict
from dataclasses import dataclass

from monitor.pages.outline import Anchor, Element, Outline


@dataclass(slots=True, eq=False)
class Record:
    """One row of a list: its link, and the largest element that holds no other link of the list.

    `anchors` are all links of the group that lead to the record's url: a picture and a headline often both do.
    """

    anchor: Anchor
    anchors: list[Anchor]
    element: Element
    last: Element
    link_text: str = ""

    def __post_init__(self) -> None:
        """The longest text among the record's links is what its link says."""
        self.link_text = max((anchor.text for anchor in self.anchors), key=len)

    @property
    def url(self) -> str:
        """Where the record leads."""
        return self.anchor.url

    @property
    def text_start(self) -> int:
        """Where the record's text begins, in the outline's texts."""
        return self.element.text_start

    @property
    def text_end(self) -> int:
        """Where the record's text ends."""
        return self.last.text_end


def records_of(page: Outline, anchors: list[Anchor]) -> list[Record]:
    """The records of a group of links, in page order, one for each url.

    A url that the group holds twice, far apart, is one record: that of its first link. Where rows are flat (a heading
    with its link, then paragraphs, then the next heading), the siblings up to the next row belong to the record.
    """
    by_url: dict[str, list[Anchor]] = defaultdict(list)
    holders: dict[int, set[str]] = defaultdict(set)
    for anchor in anchors:
        by_url[anchor.url].append(anchor)
        node: Element | None = anchor.element
        while node is not None:
            holders[node.index].add(anchor.url)
            node = node.parent
    records = []
    for links in by_url.values():
        element = links[0].element
        while element.parent is not None and len(holders[element.parent.index]) == 1:
            element = element.parent
        inside = [anchor for anchor in links if element.holds(anchor.element)]
        best = max(inside, key=lambda anchor: len(anchor.text))
        records.append(Record(best, inside, element, element))
    records.sort(key=lambda record: record.element.index)
    return records
