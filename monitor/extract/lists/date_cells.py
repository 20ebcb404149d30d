"""The cells of a list's rows that say a day, and what kind of day their labels and columns make it."""

import datetime as dt
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, islice
from typing import Literal

from monitor.dates import (
    DateOrder,
    DayKind,
    PartialDate,
    WrittenDate,
    classify_label,
    find_day_of_week,
    find_days_in_pieces,
    find_written_days,
)
from monitor.extract.html import Element, Outline, collapse_whitespace, count_wide_chars
from monitor.extract.lists.rows import ListRow, list_steps

_HAS_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_SEPARATOR = re.compile(r"[|·•;；/]|\s[-–—]\s")
_MAX_PIECE_CHARS = 40
_MAX_PIECE_LETTERS = 12
_MAX_LABEL_CHARS, _MAX_LABEL_LETTERS = 40, 28
_MAX_CELL_LETTERS = 40
_MAX_EDGE_LETTERS = 6  # as in "(PDF, 729 kB)" behind a date that ends a title
_MAX_LABELLED_LETTERS = 120
_MAX_ROW_TEXTS, _MAX_TEXT_CHARS = 200, 1_000
"""How much of a row, or of what is between two, is read for dates: what is longer is no row."""

_BLOCK_TAGS = frozenset({"td", "th", "li", "div", "p", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6"})
Zone = Literal["row", "record", "gap", "heading"]
Slot = tuple[str | int | None, ...]


@dataclass(frozen=True, slots=True)
class DateCell:
    """A day in or beside a row. `slot` is its place in every row; `fit` how much its text is the date alone.

    `fit`: 1 for a date with hardly more than its label, 0.5 at the start or end of a title or sentence, 0 within one.
    """

    value: PartialDate
    slot: Slot
    kind: DayKind
    fit: float
    index: int
    owner: Element
    form: str


@dataclass(eq=False)
class CellReader:
    """Reads the days in ranges of the page's texts. `order` settles day and month of numeric dates."""

    page: Outline
    today: dt.date
    order: DateOrder | None
    rows: Sequence[ListRow]
    language: str
    _days: dict[str, list[WrittenDate]] = field(default_factory=dict)
    _headers: dict[tuple[int, int], str] = field(default_factory=dict)
    _title_letters: dict[int, int] = field(default_factory=dict)

    def list_cells(self, zone: Zone, start: int, end: int, row: ListRow | None, top: Element | None) -> list[DateCell]:
        """Return the days in the texts from `start` to `end`; paths count from `top`, or from the page's root."""
        if start >= end:
            return []
        indexes = range(start, min(end, start + _MAX_ROW_TEXTS))
        parts = [collapse_whitespace(self.page.texts[index][:_MAX_TEXT_CHARS]) for index in indexes]
        stated = {place: day for place, index in enumerate(indexes) if (day := self._find_machine_day(index))}
        found = find_days_in_pieces(parts, stated, self._find_in_text)
        ends = accumulate(len(part) + 1 for part in parts)
        spans = [(end - len(part) - 1, end - 1, index) for end, part, index in zip(ends, parts, indexes, strict=True)]
        if not found and zone == "row":
            lone = (
                (span, find_day_of_week(part))
                for span, part in zip(spans, parts, strict=True)
                if len(part) < _MAX_LABEL_CHARS
            )
            found = [WrittenDate("", left, right, "day", day) for (left, right, _), day in lone if day]
        return list(self._place(zone, found, spans, " ".join(parts), row, top)) if found else []

    def _find_in_text(self, text: str) -> list[WrittenDate]:
        if text not in self._days:
            self._days[text] = find_written_days(text, self.today, order=self.order, language=self.language)
        return self._days[text]

    def _find_machine_day(self, index: int) -> PartialDate | None:
        """Return the date in the markup of a text that shows no full date ("3 days ago", "Nov 12")."""
        if not self._machine_days:
            return None
        around = islice(self.page.elements[self.page.text_owner[index]].iter_ancestors(), 3)
        return next((self._machine_days[node.index] for node in around if node.index in self._machine_days), None)

    @cached_property
    def _machine_days(self) -> dict[int, PartialDate | None]:
        values = ((element, _get_machine_date(element)) for element in self.page.elements if element.attributes)
        return {element.index: self._read_machine_day(element, value) for element, value in values if value}

    def _read_machine_day(self, element: Element, value: str) -> PartialDate | None:
        stated = find_written_days(value[:_MAX_PIECE_CHARS], self.today)
        if not stated or not stated[0].year:
            return None
        shown = self._find_in_text(self.page.get_text(element, _MAX_TEXT_CHARS)[:_MAX_TEXT_CHARS])
        is_shown = any(day.year is not None and day.form not in ("ago", "word") for day in shown)
        return None if is_shown else stated[0].value

    def _place(
        self,
        zone: Zone,
        found: list[WrittenDate],
        spans: list[tuple[int, int, int]],
        joined: str,
        row: ListRow | None,
        top: Element | None,
    ) -> Iterator[DateCell]:
        counts: Counter[Slot] = Counter()
        lefts = [left for left, _, _ in spans]
        last_end = 0
        for day in found:
            place = bisect_right(lefts, day.start) - 1
            left, right, index = spans[place]
            owner = self.page.elements[self.page.text_owner[index]]
            is_title = day.end - day.start < 0.6 * (right - left) and row is not None and self._is_title(row, index)
            before, behind = joined[max(left, last_end) : day.start], joined[day.end : max(right, day.end)]
            kind: DayKind = "plain"
            if not is_title:
                label = before if _LETTER.search(before) else self._get_label(spans, joined, place, last_end, row)
                unit = _SEPARATOR.split(behind, maxsplit=1)[0]
                labels = (self._get_header(owner, row), label[-_MAX_LABEL_CHARS:], unit[:_MAX_LABEL_CHARS])
                kind = next((kind for kind in map(classify_label, filter(None, labels)) if kind != "plain"), "plain")
            last_end = day.end
            fit = 0.0 if is_title else self._measure_fit(day, joined[left : day.start], behind, kind, owner, index)
            if fit < 1 and min(_count_letters(joined[left : day.start]), _count_letters(behind)) <= _MAX_EDGE_LETTERS:
                fit = 0.5
            path = list_steps(owner, top) if top is not None else (owner.tag, owner.depth, _get_column(owner)[0])
            slot = (zone, *path, kind, day.form in ("compact", "day"), fit == 1)
            counts[slot] += 1
            yield DateCell(day.value, (*slot, counts[slot] * (zone == "row")), kind, fit, index, owner, day.form)

    def _is_title(self, row: ListRow, index: int) -> bool:
        """Whether a text is the longest one of its link: a card that is a link as a whole has others."""
        links = (anchor.element for anchor in row.anchors[:_MAX_ROW_TEXTS])
        link = next((element for element in links if element.text_start <= index < element.text_end), None)
        if link is None:
            return False
        if link.index not in self._title_letters:
            texts = self.page.texts[link.text_start : min(link.text_end, link.text_start + _MAX_ROW_TEXTS)]
            self._title_letters[link.index] = max(_count_letters(text[:_MAX_TEXT_CHARS]) for text in texts)
        return _count_letters(self.page.texts[index][:_MAX_TEXT_CHARS]) >= self._title_letters[link.index]

    def _measure_fit(
        self, day: WrittenDate, before: str, behind: str, kind: DayKind, owner: Element, index: int
    ) -> float:
        """Return 1 for a date with hardly more than its label in its text, 0 for one in a sentence."""
        most = _MAX_LABELLED_LETTERS if kind == "posted" else _MAX_CELL_LETTERS
        if day.form == "word":
            most = _MAX_PIECE_LETTERS
        is_inline = count_letters_before(self.page, owner, index) > _MAX_CELL_LETTERS
        return float(not is_inline and _count_letters(before) + _count_letters(behind) <= most)

    def _get_label(
        self, spans: list[tuple[int, int, int]], joined: str, place: int, last_end: int, row: ListRow | None
    ) -> str:
        """Return the text before a date that begins its own, where it is short enough to be a label."""
        left, right, index = spans[place - 1]
        if not place or left < last_end or _count_letters(joined[left:right]) > _MAX_LABEL_LETTERS:
            return ""
        owner = self.page.elements[self.page.text_owner[index]]
        is_link = any(node.tag == "a" for node in islice(owner.iter_ancestors(), 3))
        is_title = row is not None and self._is_title(row, index)
        return "" if is_link or is_title else joined[left:right]

    def _get_header(self, owner: Element, row: ListRow | None) -> str:
        """Return the heading of a date's column: in the table's first row, or in a row of boxes above the list."""
        column, cell = _get_column(owner)
        table = owner.closest(("table",)) if cell is not None else None
        record = row.element if row is not None else None
        if table is None or cell is None:
            if record is None or record.child_count < 2 or not record.contains(owner) or record is owner:
                return ""
            cell = next(node for node in owner.iter_ancestors() if node.parent is record)
            column, table = cell.position, record.parent and (record.parent.parent or record.parent)
        if table is None or column is None:
            return ""
        key = table.index, column
        if key not in self._headers:
            first = self.rows[0].element.index if cell.tag not in ("td", "th") else owner.index
            self._headers[key] = self._read_header(table, column, first, cell, record)
        return self._headers[key]

    def _read_header(self, table: Element, column: int, first: int, cell: Element, record: Element | None) -> str:
        inside = islice(self.page.elements, table.index + 1, min(table.end, first, table.index + 200))
        for element in inside:
            if element.position != column or element.parent is None:
                continue
            if cell.tag in ("td", "th"):
                is_header = element.tag in ("td", "th")
            else:
                is_header = record is not None and element.parent.child_count == record.child_count
            text = self.page.get_text(element, _MAX_LABEL_CHARS) if is_header else ""
            if text and (element.tag == "th" or not _HAS_DIGIT.search(text)):
                return text[:_MAX_LABEL_CHARS]
        # Some write the header as a table of its own.
        above = self.page.elements[max(0, table.index - 100) : table.index] if cell.tag in ("td", "th") else []
        for element in reversed(above):
            if element.tag == "th" and element.position == column and element.parent and cell.parent:
                is_alike = element.parent.child_count == cell.parent.child_count
                return self.page.get_text(element, _MAX_LABEL_CHARS)[:_MAX_LABEL_CHARS] if is_alike else ""
        return ""


def count_letters_before(page: Outline, owner: Element, index: int) -> int:
    """Return the letters of the sentence before a text in an inline element: a day that begins one is a cell."""
    if owner.tag in _BLOCK_TAGS or not index or owner.parent is None:
        return 0
    if page.text_owner[index - 1] != owner.parent.index:
        return 0
    before = page.texts[index - 1][-_MAX_TEXT_CHARS:].rstrip("([（【 ")
    return 0 if before.endswith((*".。!?…|·•",)) else _count_letters(before)


def _count_letters(text: str) -> int:
    return len(_LETTER.findall(text)) + count_wide_chars(text)


def _get_column(owner: Element) -> tuple[int | None, Element | None]:
    cell = owner.closest(("td", "th"))
    return (cell.position, cell) if cell is not None else (None, None)


def _get_machine_date(element: Element) -> str | None:
    if element.tag == "time":
        return element.attributes.get("datetime")
    title = element.attributes.get("title")
    return title if title and element.tag in ("abbr", "span", "em") and len(title) <= _MAX_PIECE_CHARS else None
