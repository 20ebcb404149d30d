"""Where the dates of a page stand: each with its place in its row, which is the same from row to row."""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from monitor.pages.calendar import DateMatch, Order
from monitor.pages.dates import dates_in_text
from monitor.pages.outline import Element, Outline, squeeze
from monitor.pages.records import Record

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "th", "caption", "dt"})
"""Elements that head what stands below them."""
_ANNOUNCES = re.compile(
    r"as follows|handed down|posted on|released on|published on|issued on|filed on|如下|发布如下", re.IGNORECASE
)
_HAS_DIGIT = re.compile(r"\d")
_ISO = re.compile(r"\s*(?:19|20)\d\d-\d{1,2}-\d{1,2}(?!\d)")
_LONGEST_PIECE = 40
_LONGEST_DATE_LINE = 30
_LONGEST_LINE = 100

SlotKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedDate:
    """A date in or beside a record: the slot is its place, the same from row to row; the owner holds its text."""

    match: DateMatch
    slot: SlotKey
    owner: Element
    is_in_title: bool
    label: str
    is_heading: bool = False
    is_line: bool = False
    is_in_sentence: bool = False


class DateReader:
    """Reads dates out of stretches of the page's texts, with what the whole page says about their order and year."""

    def __init__(self, page: Outline, today: dt.date, order: Order | None) -> None:
        self.page = page
        self.today = today
        self.order = order
        self._known: dict[tuple[str, int | None], list[DateMatch]] = {}
        self._headers: dict[tuple[int, int], str] = {}

    def read(
        self, zone: str, start: int, end: int, top: Element | None, record: Record, year: int | None
    ) -> list[PlacedDate]:
        """The dates in the texts from `start` to `end`: text by text first, then those that lie over several."""
        spans: list[tuple[int, int, int]] = []
        parts: list[str] = []
        matches: list[DateMatch] = []
        offset = 0
        for index in range(start, end):
            text = squeeze(self.page.texts[index])
            spans.append((offset, offset + len(text), index))
            parts.append(text)
            stated = self._stated(index)
            if stated is None:
                matches.extend(_moved(match, offset) for match in self._in_text(text, year))
            else:
                matches.append(DateMatch(stated, offset, offset + len(text)))
            offset += len(text) + 1
        if not any(map(_HAS_DIGIT.search, parts)) and not matches:
            return []
        joined = " ".join(parts)
        for left, right in _runs(spans, parts, matches):
            for match in dates_in_text(joined[left:right], self.today, order=self.order, year=year):
                moved = _moved(match, left)
                if all(moved.end <= other.start or moved.start >= other.end for other in matches):
                    matches.append(moved)
        matches.sort(key=lambda match: match.start)
        return self._placed(zone, matches, spans, joined, top, record) if matches else []

    def _stated(self, index: int) -> dt.date | None:
        """The date that markup gives for machines ("3 days ago", "Nov 12"), where what a text shows is no full date."""
        owner = self.page.elements[self.page.text_owner[index]]
        for element in (owner, owner.parent, owner.parent and owner.parent.parent):
            if element is None or not (value := _machine_date(element)):
                continue
            shown = dates_in_text(self.page.text_of(element), self.today, order=self.order)
            found = dates_in_text(value, self.today)
            return found[0].date if found and not any(match.has_year for match in shown) else None
        return None

    def _in_text(self, text: str, year: int | None) -> list[DateMatch]:
        """The dates of one text, remembered: rows are read for themselves and as the neighbours of others."""
        key = text, year
        if key not in self._known:
            self._known[key] = dates_in_text(text, self.today, order=self.order, year=year, relative=len(text) < 40)
        return self._known[key]

    def _placed(
        self,
        zone: str,
        matches: list[DateMatch],
        spans: list[tuple[int, int, int]],
        joined: str,
        top: Element | None,
        record: Record,
    ) -> list[PlacedDate]:
        counts: dict[SlotKey, int] = defaultdict(int)
        found = []
        ends = {anchor.element.text_end - 1 for anchor in record.anchors}
        title_ends = [right for _, right, i in spans if i in ends]
        for match in matches:
            index = next((i for left, right, i in spans if left <= match.start <= right), None)
            if index is None:
                continue
            owner = self.page.elements[self.page.text_owner[index]]
            path, column = self._path(owner, top)
            key = (zone, *path, "compact" if match.is_compact else "")
            counts[key] += 1
            is_in_title = any(anchor.element.holds(owner) for anchor in record.anchors) and (
                match.end - match.start < 0.6 * len(squeeze(self.page.texts[index]))
            )
            # The words of a title ("publication of…") are no label of the date behind it.
            left = max([right for right in title_ends if right <= match.start], default=0)
            before = joined[max(left, match.start - 24) : match.start]
            before = re.sub(r"^.*\d", "", before)
            label = f"{before} {self._header(owner, column)} {owner.css_class}"
            around = joined[max(0, match.start - 48) : match.end + 24]
            is_heading = _is_in_heading(owner) or bool(_ANNOUNCES.search(around))
            length = len(self.page.texts[index].strip())
            found.append(
                PlacedDate(
                    match,
                    (*key, str(counts[key])),
                    owner,
                    is_in_title,
                    label,
                    is_heading,
                    is_line=length <= _LONGEST_DATE_LINE,
                    is_in_sentence=length > _LONGEST_LINE and not is_heading,
                )
            )
        return found

    def _path(self, owner: Element, top: Element | None) -> tuple[list[str], int | None]:
        path, column = [], None
        node: Element | None = owner
        while node is not None and node is not top:
            name = node.tag
            if node.tag in ("td", "th"):
                name = f"cell{node.position}"
                column = node.position if column is None else column
            path.append(name)
            node = node.parent
        return path[::-1], column

    def _header(self, owner: Element, column: int | None) -> str:
        if column is None:
            return ""
        table = owner
        while table.parent is not None and table.tag != "table":
            table = table.parent
        key = table.index, column
        if key not in self._headers:
            self._headers[key] = self._header_of(table, column, owner)
        return self._headers[key]

    def _header_of(self, table: Element, column: int, owner: Element) -> str:
        for element in self.page.inside(table)[:60]:
            if element.index >= owner.index:
                break
            if (
                element.tag in ("td", "th")
                and element.position == column
                and (element.tag == "th" or not _HAS_DIGIT.search(self.page.text_of(element)))
            ):
                return self.page.text_of(element)[:40]
        return ""


def _machine_date(element: Element) -> str | None:
    if element.tag == "time":
        return element.attributes.get("datetime")
    title = element.attributes.get("title")
    return title if title and element.tag in ("abbr", "span", "em") and _ISO.match(title) else None


def _is_in_heading(element: Element) -> bool:
    parent = element.parent
    return element.tag in HEADINGS or (parent is not None and parent.tag in HEADINGS)


def _moved(match: DateMatch, offset: int) -> DateMatch:
    return replace(match, start=match.start + offset, end=match.end + offset) if offset else match


def _runs(
    spans: list[tuple[int, int, int]], parts: list[str], matches: Sequence[DateMatch]
) -> Iterator[tuple[int, int]]:
    """Stretches of short texts that may hold a date between them: cards show the day apart from year and month."""
    dated = {match.start for match in matches}
    run: list[int] = []
    for position in range(len(parts) + 1):
        if position < len(parts) and len(parts[position]) <= _LONGEST_PIECE:
            run.append(position)
            continue
        if len(run) >= 2 and any(
            _HAS_DIGIT.search(parts[one]) and not any(spans[one][0] <= start < spans[one][1] for start in dated)
            for one in run
        ):
            yield spans[run[0]][0], spans[run[-1]][1]
        run = []
