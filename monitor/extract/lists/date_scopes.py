"""The dates above the rows of a list: headings, captions, active tabs and urls that say a day, a month or a year."""

import datetime as dt
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from monitor.dates import DateOrder, PartialDate, classify_label, find_heading_date
from monitor.extract.html import Element, Outline
from monitor.extract.lists.date_cells import count_letters_before
from monitor.extract.lists.rows import ListRow

_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "th", "caption", "dt", "legend", "summary"})
_YEAR_IN_URL = re.compile(r"(?:year\w*=|[?&]yr=|[?&]y=|/)((?:19|20)\d\d)(?=$|[&/])")
_TARGETS = ("href", "aria-controls", "data-target", "data-bs-target")
_MAX_HEADING_CHARS = 100
_MAX_LINE_LETTERS, _MAX_DAY_LETTERS, _MAX_LABELLED_LETTERS, _MAX_HEADING_LETTERS = 12, 24, 80, 60
_MAX_LINES_ABOVE = 40
_MAX_MENU_STEP = 3
_MAX_CELL_TEXTS = 3  # in a cell with more, as in a layout, headings are headings
_MAX_LINE_HEADINGS = 0.7  # per row: where nearly every row has a date above it, it is its own


@dataclass(frozen=True, slots=True)
class DateScope:
    """A date that holds for the rows from the text `index` on, and the heading or line that says it."""

    index: int
    value: PartialDate
    element: Element
    is_heading: bool

    @property
    def level(self) -> int:
        return 3 if self.value.day else 2 if self.value.month else 1


def find_scopes(
    page: Outline, rows: Sequence[ListRow], whole: Element, order: DateOrder | None, today: dt.date, language: str
) -> list[PartialDate]:
    """Return for each row what stands above it: a whole day, or only a year or month that completes its own date.

    `whole` is the element around all rows.
    """
    reader = _ScopeReader(page, order, today, language)
    first = rows[0].text_start
    found = [*reader.list_headings_above(rows[0])]
    lines = reader.list_lines(max(0, first - _MAX_LINES_ABOVE), first)
    found += [scope for scope in lines if not _is_section_heading(scope.element) or whole.contains(scope.element)]
    for row, following in pairwise(rows):
        found += reader.list_lines(row.text_end, following.text_start)
    usable = {scope.index: scope for scope in found if _is_usable(scope, whole)}
    scopes = _resolve_menus(page, sorted(usable.values(), key=lambda scope: scope.index), rows)
    scopes = _drop_dates_of_rows(reader, scopes, rows, whole)
    in_url = set(_YEAR_IN_URL.findall(page.url))
    state = PartialDate(int(in_url.pop()) if len(in_url) == 1 else None)
    states, place = [], 0
    for row in rows:
        while place < len(scopes) and scopes[place].index <= row.text_start:
            state = _narrow(state, scopes[place].value)
            place += 1
        states.append(state)
    return states


def _narrow(state: PartialDate, value: PartialDate) -> PartialDate:
    """Return what holds below a further heading: a year ends the month above it, a month without year keeps it."""
    month = value.month if value.year or value.month else state.month
    return PartialDate(value.year or state.year, month, value.day)


@dataclass(frozen=True, slots=True)
class _ScopeReader:
    page: Outline
    order: DateOrder | None
    today: dt.date
    language: str

    def list_headings_above(self, row: ListRow) -> Iterator[DateScope]:
        """Yield the dates of the headings that are over a row: the nearest one, then those of a higher level each."""
        level = 7
        for element in reversed(self.page.elements[: row.element.index]):
            is_above = _is_section_heading(element) and element.text_end <= row.text_start
            if is_above and int(element.tag[1]) < level:
                level = int(element.tag[1])
                if scope := self._read(element.text_start, element):
                    yield scope

    def list_lines(self, start: int, end: int) -> Iterator[DateScope]:
        """Yield the dates of the lines and headings in a range of texts that are hardly more than a date."""
        page = self.page
        for index in range(start, end):
            owner = page.elements[page.text_owner[index]]
            heading = next((node for node in islice(owner.iter_ancestors(), 4) if node.tag in _HEADING_TAGS), None)
            if (heading is not None and heading.text_start != index) or _has_other_columns(owner):
                continue
            is_inline = heading is None and count_letters_before(page, owner, index) > _MAX_LINE_LETTERS
            scope = self._read(index, heading or (owner.parent if is_inline and owner.parent else owner))
            if scope is not None and (scope.is_heading or not is_inline):
                yield scope

    def _read(self, index: int, element: Element) -> DateScope | None:
        is_heading = element.tag in _HEADING_TAGS
        is_whole = is_heading or self.page.text_owner[index] != element.index
        text = self.page.get_text(element, _MAX_HEADING_CHARS) if is_whole else self.page.texts[index]
        if len(text) > _MAX_HEADING_CHARS:
            return None
        found = find_heading_date(text, self.today, order=self.order, language=self.language)
        if found is None:
            return None
        is_labelled = False
        most = _MAX_HEADING_LETTERS if is_heading else _MAX_LINE_LETTERS
        if found.value.day:
            kind = classify_label(text)
            is_labelled = kind in ("posted", "filed")
            most = 0 if kind == "event" else _MAX_LABELLED_LETTERS if is_labelled else min(most, _MAX_DAY_LETTERS)
        return DateScope(index, found.value, element, is_heading or is_labelled) if found.letters <= most else None


def _is_section_heading(element: Element) -> bool:
    return len(element.tag) == 2 and element.tag[0] == "h" and element.tag[1].isdigit()


def _has_other_columns(owner: Element) -> bool:
    """Whether an element is in one of several cells of a table's row."""
    cell = owner.closest(("td", "th"))
    row = cell.parent if cell is not None else None
    if cell is None or row is None or cell.text_end - cell.text_start > _MAX_CELL_TEXTS:
        return False
    return cell.text_end - cell.text_start < row.text_end - row.text_start


def _is_usable(scope: DateScope, whole: Element) -> bool:
    """Whether a scope is a heading, a year or month in a line, or a line with a day within the list."""
    return scope.is_heading or not scope.value.day or (whole.tag != "body" and whole.contains(scope.element))


def _resolve_menus(page: Outline, scopes: list[DateScope], rows: Sequence[ListRow]) -> list[DateScope]:
    """Return the scopes, of a menu of years or months only what it marks, or each where its part of the page begins."""
    starts = [row.text_start for row in rows]
    runs: list[list[DateScope]] = []
    for scope in scopes:
        last = runs[-1][-1] if runs else None
        is_next = last is not None and scope.level == last.level and scope.index - last.index <= _MAX_MENU_STEP
        if is_next and last is not None and not any(last.index < start <= scope.index for start in starts):
            runs[-1].append(scope)
        else:
            runs.append([scope])
    resolved = []
    for run in runs:
        if len(run) == 1 or all(scope.is_heading for scope in run):
            resolved.append(run[-1])
        else:
            resolved += _find_parts(page, run) or _find_active(run)
    return sorted(resolved, key=lambda scope: scope.index)


def _find_parts(page: Outline, run: list[DateScope]) -> list[DateScope]:
    """Return the scopes of a menu at the parts of the page that its links or tabs open."""
    parts = {}
    for scope in run:
        for node in islice(scope.element.iter_ancestors(), 3):
            names = (node.attributes.get(key) or "" for key in _TARGETS)
            parts.update({name.lstrip("#"): scope for name in names if name.startswith("#") or name.isidentifier()})
    if not parts:
        return []
    found = (
        (element, parts.get(element.attributes.get("id") or "")) for element in page.elements if element.attributes
    )
    return [DateScope(part.text_start, scope.value, part, True) for part, scope in found if scope is not None]


def _find_active(run: list[DateScope]) -> list[DateScope]:
    """Return the one entry of a menu that is marked as selected, is no link as the others are, or looks different."""
    chains = [list(islice(scope.element.iter_ancestors(), 3)) for scope in run]
    stated = [
        any(
            (node.attributes.get("aria-selected") or node.attributes.get("aria-current") or "false") != "false"
            or (node.tag == "option" and "selected" in node.attributes)
            for node in chain
        )
        for chain in chains
    ]
    unlinked = [not any(node.tag == "a" for node in chain) for chain in chains]
    looks = [tuple(node.css_class for node in chain) for chain in chains]
    different = [looks.count(look) == 1 for look in looks] if len(run) > 2 else []
    # A box to choose from shows its first option.
    shown = [chain[0].tag == "option" and chain[0].position == 1 for chain in chains]
    for marks in (stated, unlinked, different, shown):
        if sum(marks) == 1:
            return [run[marks.index(True)]]
    return []


def _drop_dates_of_rows(
    reader: _ScopeReader, scopes: list[DateScope], rows: Sequence[ListRow], whole: Element
) -> list[DateScope]:
    """Return the scopes without lines with a day that are those of single rows: after them, or above nearly each."""
    lines = {scope.index for scope in scopes if scope.value.day and whole.contains(scope.element)}
    if not lines:
        return scopes
    first, last = rows[0].text_start, rows[-1].text_end
    behind = reader.list_lines(last, min(whole.text_end, last + _MAX_LINES_ABOVE // 4))
    kinds = {scope.element.kind for scope in behind if scope.value.day}
    is_after = min(lines) >= first and any(scope.element.kind in kinds for scope in scopes if scope.index in lines)
    is_of_rows = len(lines) > _MAX_LINE_HEADINGS * len(rows)
    return [
        scope for scope in scopes if scope.index not in lines or not (is_after or (is_of_rows and not scope.is_heading))
    ]
