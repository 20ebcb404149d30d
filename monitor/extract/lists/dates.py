"""Finds the day of posting of each row of a list: in the place where the rows show it, beside them or above them."""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from monitor.dates import DateOrder, PartialDate, date_in_url, detect_order, infer_order
from monitor.extract.html import Element, Outline
from monitor.extract.lists.date_cells import CellReader, DateCell, Slot
from monitor.extract.lists.date_scopes import find_scopes
from monitor.extract.lists.rows import ListRow
from monitor.urls import get_host
from monitor.vocabulary import DateSource

_FIRST_DAY = dt.date(1990, 1, 1)
_RECORD_TAGS = frozenset({"tr", "li", "dd", "article"})
_MAX_RECORD_TEXTS = 40
_MAX_SPAN = 100  # table rows that one cell spans
_MAX_NEARBY_TEXTS = 12
_YEAR_IN_URL = re.compile(r"/((?:19|20)\d\d)(?:[01]\d)?/")

RowCells = dict[Slot, DateCell]


def find_row_dates(page: Outline, rows: Sequence[ListRow], today: dt.date) -> list[tuple[dt.date | None, DateSource]]:
    """Return each row's date and where it was read: in the row, beside it, in a heading above it, last in its url.

    Numeric dates follow the order that a number above 12 on the page settles, else the custom of the host's country,
    else the one order in which the rows are sorted by date; where both orders are, they are no dates. A day without
    its year is a date only where the page says the year.
    """
    if not rows:
        return []
    order = detect_order(page.full_text) or infer_order(page.url, page.language)
    days = _find_dates_in_order(page, rows, today, order)
    if order in (None, "ymd") and not any(days):
        days = _find_dates_in_likelier_order(page, rows, today) or days
    dated: list[tuple[dt.date | None, DateSource]] = []
    for record, day in zip(rows, days, strict=True):
        in_url = None if day else date_in_url(record.url, today)
        source = DateSource.LISTED if day else DateSource.URL if in_url else DateSource.UNKNOWN
        dated.append((day or in_url, source))
    return dated


def _find_dates_in_likelier_order(
    page: Outline, rows: Sequence[ListRow], today: dt.date
) -> list[dt.date | None] | None:
    readings = []
    for order in ("mdy", "dmy"):
        dated = _find_dates_in_order(page, rows, today, order)
        days = [day for day in dated if day]
        if len(set(days)) >= 3 and len(days) >= 0.8 * len(rows) and _measure_monotony(days) == 1.0:
            readings.append(dated)
    return readings[0] if len(readings) == 1 else None


def _find_dates_in_order(
    page: Outline, rows: Sequence[ListRow], today: dt.date, order: DateOrder | None
) -> list[dt.date | None]:
    language = page.language.lower()[:2] or get_host(page.url).rpartition(".")[2]
    reader = CellReader(page, today, order, rows, language)
    above = rows[0].element.parent or rows[0].element
    whole = next(node for node in above.iter_ancestors() if node.contains(rows[-1].element))
    scopes = find_scopes(page, rows, whole, order, today, language)
    cells = [_list_row_cells(reader, row) for row in rows]
    if len(rows) > 1 or not cells[0]:  # beside a single row with a day of its own are days of something else
        for row_cells, beside in zip(cells, _list_cells_beside(reader, rows, whole), strict=True):
            row_cells.update(beside)
    _span_table_rows(rows, cells)
    for row, row_cells, scope in zip(rows, cells, scopes, strict=True):
        if scope.day:
            slot: Slot = ("heading",)
            row_cells[slot] = DateCell(scope, slot, "plain", 1.0, row.text_start, row.element, "heading")
    return _read_columns(rows, cells, scopes, today)


def _list_row_cells(reader: CellReader, row: ListRow) -> RowCells:
    """Return the days of a row, and of what is before it in a table row or item that it shares with other rows."""
    record = row.element.closest(_RECORD_TAGS)
    if record is None or record.text_end - record.text_start > _MAX_RECORD_TEXTS:
        record = row.element
    found = reader.list_cells("row", record.text_start, row.text_start, row, record)
    found += reader.list_cells("row", row.text_start, row.text_end, row, record)
    return {cell.slot: cell for cell in found}


def _span_table_rows(rows: Sequence[ListRow], cells: list[RowCells]) -> None:
    """Give the date in a cell that spans table rows to the rows beside it."""
    for place, row_cells in enumerate(cells):
        for slot, cell in list(row_cells.items()):
            box = cell.owner.closest(("td", "th"))
            span = (box.attributes.get("rowspan") or "") if box is not None else ""
            if box is None or box.parent is None or not span.isdecimal() or not 1 < int(span) <= _MAX_SPAN:
                continue
            last = box.parent.position + int(span)
            below = slice(place + 1, place + int(span))
            for row, other in zip(rows[below], cells[below], strict=True):
                line = row.element.closest(("tr",))
                if line is None or line.parent is not box.parent.parent or line.position >= last:
                    break
                other.setdefault(slot, cell)


def _list_cells_beside(reader: CellReader, rows: Sequence[ListRow], whole: Element) -> list[RowCells]:
    """Return for each row the days between the rows that are its own: those before it, or those after it."""
    ends = [max(whole.text_start, rows[0].text_start - 4 * _MAX_NEARBY_TEXTS), *(row.text_end for row in rows)]
    starts = [*(row.text_start for row in rows), min(whole.text_end, rows[-1].text_end + _MAX_NEARBY_TEXTS)]
    gaps: dict[Slot, dict[int, list[DateCell]]] = defaultdict(lambda: defaultdict(list))
    for place, (start, end) in enumerate(zip(ends, starts, strict=True)):
        for cell in reader.list_cells("gap", max(start, end - 4 * _MAX_NEARBY_TEXTS), end, None, None):
            gaps[cell.slot][place].append(cell)
    beside: list[RowCells] = [{} for _ in rows]
    for slot, by_gap in gaps.items():
        is_after = _are_after_rows(by_gap, ends, starts)
        for place, found in by_gap.items():
            owner = place - is_after
            if 0 <= owner < len(rows):
                beside[owner][slot] = found[0 if is_after else -1]
    return beside


def _are_after_rows(by_gap: dict[int, list[DateCell]], ends: list[int], starts: list[int]) -> bool:
    """Whether the dates of one place between the rows follow their rows, as the first and the last of them tell."""
    is_above_first, is_below_last = 0 in by_gap, len(starts) - 1 in by_gap
    if is_above_first != is_below_last:
        return is_below_last
    inner = [(place, cell.index) for place, found in by_gap.items() for cell in found if 0 < place < len(starts) - 1]
    return sum(index - ends[place] for place, index in inner) < sum(starts[place] - 1 - index for place, index in inner)


@dataclass(slots=True)
class _Column:
    """The cells of one slot, by row, with the days that they are; a day after tomorrow is none."""

    cells: dict[int, DateCell]
    days: dict[int, dt.date]
    future_count: int
    row_count: int

    @property
    def share(self) -> float:
        return len(self.cells) / self.row_count

    @property
    def is_posted(self) -> bool:
        return any(cell.kind == "posted" for cell in self.cells.values())

    @property
    def fit(self) -> float:
        return sum(cell.fit for cell in self.cells.values()) / len(self.cells)

    @property
    def monotony(self) -> float:
        return _measure_monotony([self.days[place] for place in sorted(self.days)])

    def is_date_of_rows(self) -> bool:
        """Whether the days may be those of posting: not of events, nor the chance days of titles and sentences."""
        cell = next(iter(self.cells.values()))
        if cell.kind == "event":
            return False
        if cell.form in ("compact", "day") and not (self.is_posted or (self.share >= 0.6 and self.monotony >= 0.9)):
            return False
        if self.fit >= 0.8:
            return self.share >= 0.2 or self.is_posted
        is_regular = len(self.cells) >= 3 and self.share >= 0.8 and self.monotony >= 0.9
        return is_regular and self.fit >= 0.4 and len(set(self.days.values())) > 1

    def rank(self) -> float:
        cell = next(iter(self.cells.values()))
        rank = 2.0 * (self.share + self.fit)
        rank += 0.4 + 0.6 * self.monotony if len(set(self.days.values())) > 1 else 0.3
        rank -= 2.0 * (self.future_count > 0.02 * len(self.cells))
        rank += {"posted": 0.8, "filed": 0.4, "plain": 0.0, "other": -0.8, "event": -2.0}[cell.kind]
        return rank - 0.5 * (cell.form == "compact") - 0.3 * (cell.value.year is None) - 0.4 * (cell.form == "heading")


def _read_columns(
    rows: Sequence[ListRow], cells: list[RowCells], scopes: list[PartialDate], today: dt.date
) -> list[dt.date | None]:
    """Return each row's day in the best column, or in another one whose days differ from it in no row."""
    columns: dict[Slot, _Column] = {}
    for place, (row, row_cells, scope) in enumerate(zip(rows, cells, scopes, strict=True)):
        for slot, cell in row_cells.items():
            column = columns.setdefault(slot, _Column({}, {}, 0, len(rows)))
            column.cells[place] = cell
            if day := _complete(cell, scope, row.url):
                column.future_count += day > today + dt.timedelta(days=1)
                if _FIRST_DAY <= day <= today + dt.timedelta(days=1):
                    column.days[place] = day
    ranked = sorted((column for column in columns.values() if column.is_date_of_rows()), key=_Column.rank, reverse=True)
    days: dict[int, dt.date] = {}
    shown: set[int] = set()
    for column in ranked:
        if all(days.get(place, day) == day for place, day in column.days.items()):
            days |= {place: day for place, day in column.days.items() if place not in shown}
            shown |= column.cells.keys()
    return [days.get(place) for place in range(len(rows))]


def _complete(cell: DateCell, scope: PartialDate, url: str) -> dt.date | None:
    """Return a day with the year that stands above its row or in the row's url; None where no year does."""
    value = cell.value
    if cell.form == "day":
        value = PartialDate(scope.year, scope.month, value.day)
    elif value.year is None:
        in_url = set(_YEAR_IN_URL.findall(url))
        year = scope.year or (int(in_url.pop()) if len(in_url) == 1 else None)
        value = PartialDate(year, value.month, value.day)
    return value.to_date()


def _measure_monotony(days: Sequence[dt.date]) -> float:
    """Return the share of neighbours in the order in which most are, 0.5 to 1."""
    pairs = list(pairwise(days))
    if not pairs:
        return 0.5
    falling = sum(first >= second for first, second in pairs)
    rising = sum(first <= second for first, second in pairs)
    return max(falling, rising) / len(pairs)
