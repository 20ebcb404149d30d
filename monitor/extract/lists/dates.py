"""Finds the date of each row of a list: which of the dates in and around the rows are those of posting."""

import datetime as dt
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice, pairwise

from monitor.dates import ERA_START, DateMatch, DateOrder, date_in_url, detect_order, find_dates, find_days, infer_order
from monitor.dates.partial import SpanSet
from monitor.extract.html import Element, Outline, collapse_whitespace
from monitor.extract.lists.rows import ListRow
from monitor.vocabulary import DateSource

HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "th", "caption", "dt"})
"""Elements that are headings of what follows."""

_ANNOUNCEMENT = re.compile(
    r"as follows|handed down|posted on|released on|published on|issued on|filed on|如下|发布如下", re.IGNORECASE
)
_HAS_DIGIT = re.compile(r"\d")
_MAX_PIECE_CHARS = 40
_MAX_DATE_LINE_CHARS = 30
_MAX_LINE_CHARS = 100
_MAX_ROW_TEXTS, _MAX_TEXT_CHARS = 200, 1_000
"""How much of a row, or of what is between two, is read for dates: what is longer is no row."""

SlotKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedDate:
    """A date in or beside a row; `slot` is its place in every row, `owner` the element with its text."""

    match: DateMatch
    slot: SlotKey
    owner: Element
    is_in_title: bool
    label: str
    is_heading: bool
    is_line: bool
    is_in_sentence: bool


@dataclass(eq=False)
class DateReader:
    """Reads the dates in ranges of the page's texts. `order` settles day and month of numeric dates."""

    page: Outline
    today: dt.date
    order: DateOrder | None
    _matches_by_text: dict[tuple[str, int | None], list[DateMatch]] = field(default_factory=dict)
    _headers: dict[tuple[int, int], str] = field(default_factory=dict)
    _machine_dates: dict[int, dt.date | None] = field(default_factory=dict)

    def list_dates(
        self, zone: str, start: int, end: int, top: Element | None, row: ListRow, year: int | None
    ) -> list[PlacedDate]:
        """Return the dates in the texts from `start` to `end`: those within a text first, then those over several."""
        spans: list[tuple[int, int, int]] = []
        parts: list[str] = []
        matches: list[DateMatch] = []
        offset = 0
        for index in range(start, min(end, start + _MAX_ROW_TEXTS)):
            text = collapse_whitespace(self.page.texts[index][:_MAX_TEXT_CHARS])
            spans.append((offset, offset + len(text), index))
            parts.append(text)
            stated = self._find_machine_date(index)
            if stated is None:
                matches.extend(_shift_match(match, offset) for match in self._find_in_text(text, year))
            else:
                matches.append(DateMatch(stated, offset, offset + len(text)))
            offset += len(text) + 1
        if not any(map(_HAS_DIGIT.search, parts)) and not matches:
            return []
        joined = " ".join(parts)
        taken = SpanSet(len(joined))
        for match in matches:
            taken.take(match.start, match.end)
        for left, right in _list_runs(spans, parts, matches):
            for match in find_days(joined[left:right], self.today, order=self.order, year=year):
                moved = _shift_match(match, left)
                if taken.is_free(moved.start, moved.end):
                    taken.take(moved.start, moved.end)
                    matches.append(moved)
        matches.sort(key=lambda match: match.start)
        return self._place_dates(zone, matches, spans, joined, top, row) if matches else []

    def _find_machine_date(self, index: int) -> dt.date | None:
        """Return the date in the markup of a text that shows no full date ("3 days ago", "Nov 12")."""
        owner = self.page.elements[self.page.text_owner[index]]
        for element in islice(owner.iter_ancestors(), 3):
            if value := _get_machine_date(element):
                if element.index not in self._machine_dates:
                    self._machine_dates[element.index] = self._read_machine_date(element, value)
                return self._machine_dates[element.index]
        return None

    def _read_machine_date(self, element: Element, value: str) -> dt.date | None:
        text = self.page.get_text(element, _MAX_TEXT_CHARS)[:_MAX_TEXT_CHARS]
        shown = find_days(text, self.today, order=self.order)
        found = find_days(value[:_MAX_TEXT_CHARS], self.today)
        return found[0].date if found and not any(match.has_year for match in shown) else None

    def _find_in_text(self, text: str, year: int | None) -> list[DateMatch]:
        """Return the dates of one text, cached: a row is read for itself and as the neighbour of others."""
        key = text, year
        if key not in self._matches_by_text:
            self._matches_by_text[key] = find_days(
                text, self.today, order=self.order, year=year, relative=len(text) < 40
            )
        return self._matches_by_text[key]

    def _place_dates(
        self,
        zone: str,
        matches: list[DateMatch],
        spans: list[tuple[int, int, int]],
        joined: str,
        top: Element | None,
        row: ListRow,
    ) -> list[PlacedDate]:
        counts: dict[SlotKey, int] = defaultdict(int)
        found = []
        anchors = row.anchors[:_MAX_ROW_TEXTS]
        ends = {anchor.element.text_end - 1 for anchor in anchors}
        title_ends = [right for _, right, i in spans if i in ends]
        lefts = [left for left, _, _ in spans]
        for match in matches:
            text_left, text_right, index = spans[bisect_right(lefts, match.start) - 1]
            owner = self.page.elements[self.page.text_owner[index]]
            path, column = self._get_path(owner, top)
            key = (zone, *path, match.form if match.form == "compact" else "")
            counts[key] += 1
            length = text_right - text_left
            is_in_title = match.end - match.start < 0.6 * length and any(
                anchor.element.contains(owner) for anchor in anchors
            )
            # The words of a title ("publication of…") are no label of the date after it.
            title_place = bisect_right(title_ends, match.start)
            left = title_ends[title_place - 1] if title_place else 0
            before = re.sub(r"^.*\d", "", joined[max(left, match.start - 24) : match.start])
            label = f"{before} {self._get_header(owner, column)} {owner.css_class}"
            around = joined[max(0, match.start - 48) : match.end + 24]
            is_heading = any(node.tag in HEADING_TAGS for node in islice(owner.iter_ancestors(), 2)) or bool(
                _ANNOUNCEMENT.search(around)
            )
            is_line, is_in_sentence = length <= _MAX_DATE_LINE_CHARS, length > _MAX_LINE_CHARS and not is_heading
            slot = (*key, str(counts[key]))
            found.append(PlacedDate(match, slot, owner, is_in_title, label, is_heading, is_line, is_in_sentence))
        return found

    def _get_path(self, owner: Element, top: Element | None) -> tuple[list[str], int | None]:
        path, column = [], None
        for node in owner.iter_ancestors():
            if node is top:
                break
            is_cell = node.tag in ("td", "th")
            if is_cell and column is None:
                column = node.position
            path.append(f"cell{node.position}" if is_cell else node.tag)
        return path[::-1], column

    def _get_header(self, owner: Element, column: int | None) -> str:
        if column is None:
            return ""
        table = owner.closest(("table",)) or self.page.elements[0]
        key = table.index, column
        if key not in self._headers:
            inside = islice(self.page.elements, table.index + 1, min(table.end, table.index + 61))
            above = (cell for cell in inside if cell.index < owner.index)
            cells = ((cell.tag, self.page.get_text(cell, _MAX_TEXT_CHARS)) for cell in above if cell.position == column)
            headers = (text for tag, text in cells if tag == "th" or (tag == "td" and not _HAS_DIGIT.search(text)))
            self._headers[key] = next(headers, "")[:40]
        return self._headers[key]


def _get_machine_date(element: Element) -> str | None:
    if element.tag == "time":
        return element.attributes.get("datetime")
    title = element.attributes.get("title")
    if not title or element.tag not in ("abbr", "span", "em"):
        return None
    first = next(iter(find_dates(title.strip()[:_MAX_PIECE_CHARS])), None)
    return title if first and first.start == 0 and first.value.to_date() else None


def _shift_match(match: DateMatch, offset: int) -> DateMatch:
    return replace(match, start=match.start + offset, end=match.end + offset) if offset else match


def _list_runs(
    spans: list[tuple[int, int, int]], parts: list[str], matches: Sequence[DateMatch]
) -> Iterator[tuple[int, int]]:
    """Yield runs of short texts that may form a date together: cards show the day apart from year and month."""
    dated = sorted(match.start for match in matches)

    def is_dated(index: int) -> bool:
        return bisect_left(dated, spans[index][0]) < bisect_left(dated, spans[index][1])

    for is_short, group in groupby(range(len(parts)), key=lambda position: len(parts[position]) <= _MAX_PIECE_CHARS):
        run = list(group)
        has_undated_number = any(_HAS_DIGIT.search(parts[index]) and not is_dated(index) for index in run)
        if is_short and len(run) >= 2 and has_undated_number:
            yield spans[run[0]][0], spans[run[-1]][1]


_POSTED_WORDS = re.compile(
    r"发布|公布|公开|发文|刊登|登载|上网|印发|發布|公佈|掲載|公開|게시|등록|작성|\bpost(?:ed|ing)\b|"
    r"publish|release|date added|uploaded",
    re.IGNORECASE,
)
_FILED_WORDS = re.compile(r"\bfiled\b|filing|\bissued?\b", re.IGNORECASE)
_NOT_POSTED_WORDS = re.compile(
    r"成文|制定|生效|施行|实施|截止|有效|会议时间|开庭|来信|decided|decision date|argued|effective|"
    r"deadline|expire|closing|hearing|due|"
    r"updated|modified|next|trial",
    re.IGNORECASE,
)
_ROW_TAGS = frozenset({"tr", "li", "dd", "article"})
_YEAR_HEADING = re.compile(
    rf"^(?!.*(?:©|copyright|版权))\D{{0,12}}(?:(?P<y>(?:19|20)\d\d)|(?P<era>{'|'.join(ERA_START)})\s?(?P<of_era>\d{{1,4}}))"
    r"(?!年度)(?:\s?[-/.年]\s?\d{1,2}\s?月?)?(?P<rest>\D{0,40})$",
    re.IGNORECASE,
)
_MAX_HEADING_REST_CHARS = 12
_YEAR_IN_URL = re.compile(r"(?:year\w*=|[?&]yr=|[?&]y=|/)((?:19|20)\d\d)(?=$|[&/])")
_MAX_NEARBY_TEXTS = 12


def find_row_dates(page: Outline, rows: Sequence[ListRow], today: dt.date) -> list[tuple[dt.date | None, DateSource]]:
    """Return each row's date and where it was read: in the row, beside it, in a heading above it, last in its url.

    Numeric dates follow the order that a number above 12 on the page settles, else the custom of the host's country,
    else the one order in which the rows are sorted by date; where both orders are, they are no dates.
    """
    order = detect_order(page.full_text) or infer_order(page.url, page.language)
    days = _find_dates_in_order(page, rows, today, order)
    if order is None and not any(days):
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
    reader = DateReader(page, today, order)
    years = _find_heading_years(page, rows)
    inside = [
        reader.list_dates("in", record.text_start, record.text_end, record.element, record, year)
        for record, year in zip(rows, years, strict=True)
    ]
    chosen = _choose_dates(inside)
    if any(chosen):
        chosen = [found or _find_in_shared_row(reader, record) for found, record in zip(chosen, rows, strict=True)]
    filled = sum(day is not None for day in chosen) / max(1, len(rows))
    if filled < 0.5:
        beside = _find_beside(reader, rows, years)
        # Where few rows contain a date, it is that of a change or a hearing, not the one of the list.
        first, second = (beside, chosen) if filled < 0.2 else (chosen, beside)
        chosen = [day or other for day, other in zip(first, second, strict=True)]
    return _apply_years(chosen, years)


def _choose_dates(rows: list[list[PlacedDate]]) -> list[PlacedDate | None]:
    """Return for each row its date in the slot that most rows fill and that is sorted by date."""
    slots: dict[SlotKey, list[PlacedDate]] = defaultdict(list)
    for row in rows:
        for found in row:
            slots[found.slot].append(found)
    ranked = sorted(slots, key=lambda slot: _rank_slot(slots[slot], len(rows)), reverse=True)
    chosen: list[PlacedDate | None] = []
    for row in rows:
        by_slot = {found.slot: found for found in row}
        pick = next((by_slot[slot] for slot in ranked if slot in by_slot and not by_slot[slot].is_in_title), None)
        if pick is not None and len(slots[pick.slot]) < 0.2 * len(rows):
            # A date in the sentences of one row, where nearly all titles contain their own.
            titled = (found for found in row if found.is_in_title and len(slots[found.slot]) > 0.8 * len(rows))
            pick = next(titled, pick)
        if pick is None and len({found.match.date for found in row}) == 1:
            pick = row[0]
        chosen.append(pick)
    return chosen


def _find_in_shared_row(reader: DateReader, record: ListRow) -> PlacedDate | None:
    """Return the date in a table row of several list rows, before them: one case, two documents of the same day."""
    row = record.element.parent and record.element.parent.closest(_ROW_TAGS)
    if row is None or row.text_end - row.text_start > 40:
        return None
    found = reader.list_dates("row", row.text_start, record.text_start, row, record, None)
    return found[0] if len({placed.match.date for placed in found}) == 1 else None


def _rank_slot(found: list[PlacedDate], row_count: int) -> float:
    days = [placed.match.date for placed in found]
    labels = " ".join({placed.label for placed in found})
    rank = 2.0 * len(found) / row_count + 0.6 * _measure_monotony(days) + 0.2 * (len(set(days)) > 1)
    rank += 0.8 * bool(_POSTED_WORDS.search(labels)) - 0.8 * bool(_NOT_POSTED_WORDS.search(labels))
    rank += 0.4 * bool(_FILED_WORDS.search(labels))
    rank -= 1.0 * (sum(placed.is_in_title for placed in found) / len(found))
    rank -= 0.5 * (sum(placed.match.form == "compact" for placed in found) / len(found))
    return rank - 0.3 * (not found[0].match.has_year)


def _measure_monotony(days: Sequence[dt.date]) -> float:
    """Return the share of neighbours in the order in which most are, 0.5 to 1."""
    pairs = list(pairwise(days))
    if not pairs:
        return 0.5
    falling = sum(first >= second for first, second in pairs)
    rising = sum(first <= second for first, second in pairs)
    return max(falling, rising) / len(pairs)


def _find_beside(reader: DateReader, rows: Sequence[ListRow], years: Sequence[int | None]) -> list[PlacedDate | None]:
    """Return the dates between the rows: just before each, just after each, or in a heading for the rows below it."""
    before: list[PlacedDate | None] = []
    after: list[PlacedDate | None] = []
    bounds = [record.text_end for record in rows]
    for position, (record, year) in enumerate(zip(rows, years, strict=True)):
        floor = bounds[position - 1] if position else max(0, record.text_start - _MAX_NEARBY_TEXTS)
        start = max(floor, record.text_start - 4 * _MAX_NEARBY_TEXTS)
        above = reader.list_dates("before", start, record.text_start, None, record, year)
        before.append(above[-1] if above else None)
        ceiling = rows[position + 1].text_start if position + 1 < len(rows) else record.text_end + _MAX_NEARBY_TEXTS
        below = reader.list_dates("after", record.text_end, min(ceiling, len(reader.page.texts)), None, record, year)
        after.append(below[0] if below else None)
    before, after = _drop_sentence_dates(before), _drop_sentence_dates(after)
    count_before = sum(found is not None for found in before)
    count_after = sum(found is not None for found in after)
    if count_after > count_before or (
        count_after == count_before and after and after[-1] is not None and before[0] is None
    ):
        return after if count_after >= 0.6 * len(rows) else [None] * len(rows)
    first = before[0] if before else None
    are_headings = count_before >= 2 if first else _are_headings(before)
    if are_headings or (first is not None and _applies_to_all(first, rows, reader.today)):
        carried = before[:1]
        for found in before[1:]:
            carried.append(found or carried[-1])
        return carried
    return before if count_before >= 0.6 * len(rows) else [None] * len(rows)


def _are_headings(before: list[PlacedDate | None]) -> bool:
    """Whether dates above later rows are headings of one kind, so that the few rows above the first have none."""
    undated = next((position for position, placed in enumerate(before) if placed), len(before))
    kinds = [(placed.slot, placed.label) for placed in before if placed]
    return len(kinds) >= 2 and undated <= 0.2 * len(before) and len(set(kinds)) == 1


def _applies_to_all(first: PlacedDate, rows: Sequence[ListRow], today: dt.date) -> bool:
    """Whether the one date above the rows is theirs: a heading, or a separate line within the list."""
    above = islice(rows[0].element.iter_ancestors(), 1, None)
    whole = next((node for node in above if node.contains(rows[-1].element)), None)
    is_within = first.is_line and whole is not None and whole.tag != "body" and whole.contains(first.owner)
    return (first.is_heading or is_within) and first.match.date != today


def _drop_sentence_dates(found: list[PlacedDate | None]) -> list[PlacedDate | None]:
    """Return the dates without those in sentences, which are of events, unless one label announces them all."""
    if len({placed.label for placed in found if placed and placed.is_in_sentence}) <= 1:
        return found
    return [None if placed and placed.is_in_sentence else placed for placed in found]


def _find_heading_years(page: Outline, rows: Sequence[ListRow]) -> list[int | None]:
    """Return for each row the year in a heading above it or in the page's url; some rows show only day and month."""
    in_url = _YEAR_IN_URL.findall(page.url)
    year = int(in_url[-1]) if len(set(in_url)) == 1 else None
    years: list[int | None] = []
    floor = max(0, rows[0].text_start - _MAX_NEARBY_TEXTS) if rows else 0
    for record in rows:
        for index in range(max(floor, record.text_start - 3), record.text_start):
            heading_year = _parse_heading_year(page, index)
            # Several years in a row are a menu.
            if heading_year and not (_parse_heading_year(page, index - 1) or _parse_heading_year(page, index + 1)):
                year = heading_year
        years.append(year)
        floor = record.text_end
    return years


def _parse_heading_year(page: Outline, index: int) -> int | None:
    """Return the year of a heading: 2023, 2023年11月, 令和5年, 2023 News Releases."""
    if not 0 <= index < len(page.texts):
        return None
    if len(page.texts[index]) > _MAX_TEXT_CHARS:
        return None
    found = _YEAR_HEADING.match(collapse_whitespace(page.texts[index]))
    tag = page.elements[page.text_owner[index]].tag
    if found is None or tag == "option":
        return None
    if len(found["rest"]) > _MAX_HEADING_REST_CHARS and tag not in HEADING_TAGS:
        return None
    return int(found["y"]) if found["y"] else ERA_START[found["era"]] + int(found["of_era"])


def _apply_years(chosen: list[PlacedDate | None], years: Sequence[int | None]) -> list[dt.date | None]:
    """Return the dates; where rows show no year, those below a step from January up to December are a year earlier."""
    days: list[dt.date | None] = []
    years_back = 0
    last: dt.date | None = None
    for found, year in zip(chosen, years, strict=True):
        if found is None:
            days.append(None)
            continue
        day = found.match.date
        if not found.match.has_year and year is None:
            if last is not None and (day - last).days > 180:
                years_back += 1
            last = day
            is_leap_day = (day.month, day.day) == (2, 29)
            day = day.replace(year=day.year - years_back, day=28 if is_leap_day and years_back % 4 else day.day)
        days.append(day)
    return days
