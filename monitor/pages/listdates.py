"""The dates of a list's records: which of the dates in and around the rows are the days they were posted."""

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from monitor.domain.words import DateSource
from monitor.pages.calendar import Order
from monitor.pages.dateorder import customary_order
from monitor.pages.dates import numeric_order
from monitor.pages.dateslots import HEADINGS, DateReader, PlacedDate, SlotKey
from monitor.pages.eras import ERA_START
from monitor.pages.outline import Outline, squeeze
from monitor.pages.records import Record
from monitor.pages.urldates import date_in_url

_POSTED = re.compile(
    r"发布|公布|公开|发文|刊登|登载|上网|印发|發布|公佈|掲載|公開|게시|등록|작성|\bpost(?:ed|ing)\b|"
    r"publish|release|date added|uploaded",
    re.IGNORECASE,
)
_FILED = re.compile(r"\bfiled\b|filing|\bissued?\b", re.IGNORECASE)
_NOT_POSTED = re.compile(
    r"成文|制定|生效|施行|实施|截止|有效|会议时间|开庭|来信|decided|decision date|argued|effective|"
    r"deadline|expire|closing|hearing|due|"
    r"updated|modified|next|trial",
    re.IGNORECASE,
)
_ROWS = frozenset({"tr", "li", "dd", "article"})
_YEAR_HEADING = re.compile(
    r"^(?!.*(?:©|copyright|版权))\D{0,12}(?:(?P<y>(?:19|20)\d\d)|(?P<era>令和|平成|民國|民国)\s?(?P<of_era>\d{1,3}))"
    r"(?!年度)(?:\s?[-/.年]\s?\d{1,2}\s?月?)?(?P<rest>\D{0,40})$",
    re.IGNORECASE,
)
_LONGEST_REST = 12
_YEAR_IN_URL = re.compile(r"(?:year\w*=|[?&]yr=|[?&]y=|/)((?:19|20)\d\d)(?=$|[&/])")
_NEAR_TEXTS = 12


@dataclass(frozen=True, slots=True)
class RecordDate:
    """The date of a record and where it was read; both empty-handed where none is certain."""

    date: dt.date | None = None
    source: DateSource = DateSource.UNKNOWN


def date_records(page: Outline, records: Sequence[Record], today: dt.date) -> list[RecordDate]:
    """One date for each record, from the best place: in the row, beside it, a heading above it, last its url.

    Numeric dates whose order nothing on the page settles by a number above 12 are read as the host's country writes
    them, else in the one order in which the rows run by date; where both orders do, they are no dates.
    """
    order = numeric_order(page.full_text) or customary_order(page.url, page.language)
    dated = _date_in_order(page, records, today, order)
    if order is None and not any(entry.source is DateSource.LISTED for entry in dated):
        dated = _date_in_likelier_order(page, records, today) or dated
    by_url = [date_in_url(record.url, today) for record in records]
    return [
        entry if entry.date else RecordDate(day, DateSource.URL) if day else entry
        for entry, day in zip(dated, by_url, strict=True)
    ]


def _date_in_likelier_order(page: Outline, records: Sequence[Record], today: dt.date) -> list[RecordDate] | None:
    readings = []
    for order in ("mdy", "dmy"):
        dated = _date_in_order(page, records, today, order)
        days = [entry.date for entry in dated if entry.date]
        if len(set(days)) >= 3 and len(days) >= 0.8 * len(records) and _monotony(days) == 1.0:
            readings.append(dated)
    return readings[0] if len(readings) == 1 else None


def _date_in_order(page: Outline, records: Sequence[Record], today: dt.date, order: Order | None) -> list[RecordDate]:
    reader = DateReader(page, today, order)
    years = _heading_years(page, records)
    inside = [
        reader.read("in", record.text_start, record.text_end, record.element, record, year)
        for record, year in zip(records, years, strict=True)
    ]
    chosen = _choose(inside)
    if any(chosen):
        chosen = [found or _in_shared_row(reader, record) for found, record in zip(chosen, records, strict=True)]
    filled = sum(day is not None for day in chosen) / max(1, len(records))
    if filled < 0.5:
        beside = _beside(reader, records, years)
        # Where a row in ten holds a date, it is that of a change or a hearing, not what the rows are listed by.
        first, second = (beside, chosen) if filled < 0.2 else (chosen, beside)
        chosen = [day or other for day, other in zip(first, second, strict=True)]
    days = _with_years(chosen, years)
    return [RecordDate(day, DateSource.LISTED) if day else RecordDate() for day in days]


def _choose(rows: list[list[PlacedDate]]) -> list[PlacedDate | None]:
    """For each row, its date in the slot that most rows fill and that runs by date."""
    slots: dict[SlotKey, list[PlacedDate]] = defaultdict(list)
    for row in rows:
        for found in row:
            slots[found.slot].append(found)
    ranked = sorted(slots, key=lambda slot: _slot_rank(slots[slot], len(rows)), reverse=True)
    chosen: list[PlacedDate | None] = []
    for row in rows:
        by_slot = {found.slot: found for found in row}
        pick = next((by_slot[slot] for slot in ranked if slot in by_slot and not by_slot[slot].is_in_title), None)
        if pick is not None and len(slots[pick.slot]) < 0.2 * len(rows):
            # A day in one row's sentences, where nearly all titles bear their own.
            titled = (found for found in row if found.is_in_title and len(slots[found.slot]) > 0.8 * len(rows))
            pick = next(titled, pick)
        if pick is None and len({found.match.date for found in row}) == 1:
            pick = row[0]
        chosen.append(pick)
    return chosen


def _in_shared_row(reader: DateReader, record: Record) -> PlacedDate | None:
    """The date of a row that holds several records, in front of them: one case, two documents of the same day."""
    row = record.element.parent
    while row is not None and row.tag not in _ROWS:
        row = row.parent
    if row is None or row.text_end - row.text_start > 40:
        return None
    found = reader.read("row", row.text_start, record.text_start, row, record, None)
    return found[0] if len({one.match.date for one in found}) == 1 else None


def _slot_rank(found: list[PlacedDate], rows: int) -> float:
    days = [one.match.date for one in found]
    labels = " ".join({one.label for one in found})
    rank = 2.0 * len(found) / rows + 0.6 * _monotony(days) + 0.2 * (len(set(days)) > 1)
    rank += 0.8 * bool(_POSTED.search(labels)) - 0.8 * bool(_NOT_POSTED.search(labels))
    rank += 0.4 * bool(_FILED.search(labels))
    rank -= 1.0 * (sum(one.is_in_title for one in found) / len(found))
    rank -= 0.5 * (sum(one.match.is_compact for one in found) / len(found))
    return rank - 0.3 * (not found[0].match.has_year)


def _monotony(days: Sequence[dt.date]) -> float:
    """Share of neighbours that stand in the order in which most do, 0.5 to 1."""
    pairs = list(pairwise(days))
    if not pairs:
        return 0.5
    falling = sum(first >= second for first, second in pairs)
    rising = sum(first <= second for first, second in pairs)
    return max(falling, rising) / len(pairs)


def _beside(reader: DateReader, records: Sequence[Record], years: Sequence[int | None]) -> list[PlacedDate | None]:
    """Dates between the rows: just before each, just after each, or a heading that holds for the rows below it."""
    before: list[PlacedDate | None] = []
    after: list[PlacedDate | None] = []
    bounds = [record.text_end for record in records]
    for position, (record, year) in enumerate(zip(records, years, strict=True)):
        floor = bounds[position - 1] if position else max(0, record.text_start - _NEAR_TEXTS)
        start = max(floor, record.text_start - 4 * _NEAR_TEXTS)
        above = reader.read("before", start, record.text_start, None, record, year)
        before.append(above[-1] if above else None)
        ceiling = records[position + 1].text_start if position + 1 < len(records) else record.text_end + _NEAR_TEXTS
        below = reader.read("after", record.text_end, min(ceiling, len(reader.page.texts)), None, record, year)
        after.append(below[0] if below else None)
    before, after = _without_tales(before), _without_tales(after)
    count_before = sum(found is not None for found in before)
    count_after = sum(found is not None for found in after)
    if count_after > count_before or (
        count_after == count_before and after and after[-1] is not None and before[0] is None
    ):
        return after if count_after >= 0.6 * len(records) else [None] * len(records)
    first = before[0] if before else None
    if count_before >= 2 if first else _are_headings(before):
        return _carried(before)
    if first is not None and _holds_for_all(first, records, reader.today):
        return _carried(before)
    return before if count_before >= 0.6 * len(records) else [None] * len(records)


def _are_headings(before: list[PlacedDate | None]) -> bool:
    """Whether dates above later rows are headings of one kind, so that the few rows above the first have none."""
    undated = next((position for position, one in enumerate(before) if one), len(before))
    found = [one for one in before if one]
    return len(found) >= 2 and undated <= 0.2 * len(before) and len({(one.slot, one.label) for one in found}) == 1


def _holds_for_all(first: PlacedDate, records: Sequence[Record], today: dt.date) -> bool:
    """Whether the one date above the rows is theirs: a heading, or a line of its own within the list."""
    whole = records[0].element.parent
    while whole is not None and not whole.holds(records[-1].element):
        whole = whole.parent
    is_within = first.is_line and whole is not None and whole.tag != "body" and whole.holds(first.owner)
    return (first.is_heading or is_within) and first.match.date != today


def _without_tales(found: list[PlacedDate | None]) -> list[PlacedDate | None]:
    """The dates without those in sentences, which tell what happened some day, unless one label announces them all."""
    if len({one.label for one in found if one and one.is_in_sentence}) <= 1:
        return found
    return [None if one and one.is_in_sentence else one for one in found]


def _carried(headings: list[PlacedDate | None]) -> list[PlacedDate | None]:
    carried: list[PlacedDate | None] = []
    last: PlacedDate | None = None
    for found in headings:
        last = found or last
        carried.append(last)
    return carried


def _heading_years(page: Outline, records: Sequence[Record]) -> list[int | None]:
    """The year that a heading between the rows, or the page's own url, gives to rows that show day and month only."""
    in_url = _YEAR_IN_URL.findall(page.url)
    year = int(in_url[-1]) if len(set(in_url)) == 1 else None
    years: list[int | None] = []
    floor = max(0, records[0].text_start - _NEAR_TEXTS) if records else 0
    for record in records:
        for index in range(max(floor, record.text_start - 3), record.text_start):
            told = _year_told(page, index)
            # Several years in a row are a menu.
            if told and not (_year_told(page, index - 1) or _year_told(page, index + 1)):
                year = told
        years.append(year)
        floor = record.text_end
    return years


def _year_told(page: Outline, index: int) -> int | None:
    """The year that one text tells, as a heading does: 2023, 2023年11月, 令和5年, in a heading 2023 News Releases."""
    if not 0 <= index < len(page.texts):
        return None
    found = _YEAR_HEADING.match(squeeze(page.texts[index]))
    owner = page.elements[page.text_owner[index]]
    if found is None or owner.tag == "option" or (len(found["rest"]) > _LONGEST_REST and owner.tag not in HEADINGS):
        return None
    return int(found["y"]) if found["y"] else ERA_START[found["era"]] + int(found["of_era"])


def _with_years(chosen: list[PlacedDate | None], years: Sequence[int | None]) -> list[dt.date | None]:
    """The days; where rows show no year, those below a step from January up to December lie a year back."""
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
            day = _years_before(day, years_back)
        days.append(day)
    return days


def _years_before(day: dt.date, years: int) -> dt.date:
    return day.replace(year=day.year - years, day=28 if (day.month, day.day) == (2, 29) and years % 4 else day.day)
