"""A briefing, or any items, as rows: for spreadsheets, and for programs that read a line an item."""

import datetime as dt
from collections.abc import Iterable, Sequence

from monitor.briefing.columns import CHANGES, GAPS, ITEMS, LAST_PRINTED, NOTED_ITEMS, NOTES, SOURCES, build_columns
from monitor.briefing.closing import gap_spans, notes_on, remarks_on
from monitor.briefing.compose import Briefing, BriefingItem, MoreItem, Place
from monitor.briefing.layout import as_document, differences_of
from monitor.briefing.wire import ItemWire
from monitor.briefing.wording import Wording, wording_for
from monitor.formats.document import Span
from monitor.formats.sheets import Cell, Column, Sheet, Workbook

_FIELDS = tuple(name for name in ItemWire.model_fields if name != "evidence")


def field_sheet(items: Iterable[ItemWire]) -> Sheet:
    """A row an item for programs: the columns are the fields, the words those that are stored, instants in UTC."""
    rows = []
    for item in items:
        values = item.model_dump(mode="json", include=set(_FIELDS))
        values["attachments"] = " ".join(attachment.url for attachment in item.attachments)
        values["late"] = "true" if item.late else "false"
        rows.append([values[name] for name in _FIELDS])
    return Sheet(title="items", columns=[Column(name=name, title=name) for name in _FIELDS], rows=rows)


def item_workbook(items: Sequence[ItemWire], title: str, language: str, zone: dt.tzinfo) -> Workbook:
    """Items for people: titles link to their pages, words are in the language, instants as the zone's clocks show."""
    words = wording_for(language)
    names = tuple(name for name in ITEMS if name != "place")
    return Workbook(title=title, sheets=[_sheet(title, names, [_item(item, words, zone) for item in items], words)])


def briefing_workbook(briefing: Briefing) -> Workbook:
    """All that a briefing says: its items with what stands under them, changes, sources, gaps, overview and notes."""
    words = wording_for(briefing.language)
    zone = briefing.generated_at.tzinfo or dt.UTC
    rows = _all_items(briefing, words, zone)
    names = NOTED_ITEMS if any("note" in row for row in rows) else ITEMS
    sheets = [_sheet(words.entries, names, rows, words)]
    if briefing.changes:
        changes: list[dict[str, Cell]] = [
            {
                "title": Span(text=change.title, url=change.url),
                "change": words.change_kinds[change.kind],
                "differences": " · ".join(differences_of(change, words)),
                "source": change.source,
                "seen_at": change.seen_at.astimezone(zone),
                "url": Span(text=change.url, url=change.url),
            }
            for change in briefing.changes
        ]
        sheets.append(_sheet(words.changes, CHANGES, changes, words))
    sheets.append(_sheet(words.source_states, SOURCES, _sources(briefing, words, zone), words))
    sheets.append(_sheet(words.gaps, GAPS, _gaps(briefing, words), words))
    sheets.append(_sheet(words.notes, NOTES, _notes(briefing, words), words))
    return Workbook(title=briefing.title, sheets=sheets, written_at=briefing.generated_at)


def _sheet(title: str, names: tuple[str, ...], rows: Iterable[dict[str, Cell]], words: Wording) -> Sheet:
    return Sheet(
        title=title,
        columns=build_columns(names, words.locale),
        rows=[[row.get(name) for name in names] for row in rows],
        printed=names.index(LAST_PRINTED) + 1 if LAST_PRINTED in names else None,
    )


def _all_items(briefing: Briefing, words: Wording, zone: dt.tzinfo) -> list[dict[str, Cell]]:
    """Each item in its rank, followed by what stands under it, which shares that rank."""
    rows: list[dict[str, Cell]] = []
    told: list[BriefingItem | MoreItem] = [*briefing.items, *briefing.more]
    for rank, one in enumerate(told, start=1):
        is_shown = isinstance(one, BriefingItem)
        row = _item(one, words, zone) if isinstance(one, BriefingItem) else _place(one)
        noted: dict[str, Cell] = {"note": f"{one.note.text} ({one.note.by})"} if one.note else {}
        rows.append({**row, **noted, "rank": rank, "place": words.entries if is_shown else words.more})
        again = [*one.places, *(place for reading in one.interpretations for place in reading.places)]
        for label, places in ((words.interpretations, one.interpretations), (words.places, again)):
            rows.extend({**_place(place), "rank": rank, "place": label.rstrip("：:")} for place in places)
    return rows


def _item(item: ItemWire, words: Wording, zone: dt.tzinfo) -> dict[str, Cell]:
    return {
        "rank": item.rank,
        "date": item.date,
        "title": Span(text=item.title, url=item.url),
        "type": words.types[item.type],
        "source": item.source,
        "section": item.section,
        "summary": item.summary,
        "summary_by": words.summary_makers[item.summary_by],
        "document_number": item.document_number,
        "issuer": item.issuer,
        "date_source": words.date_sources[item.date_source],
        "late": words.late if item.late else "",
        "attachments": _attachments(item),
        "first_seen": item.first_seen.astimezone(zone),
        "url": Span(text=item.url, url=item.url),
    }


def _attachments(item: ItemWire) -> Span | None:
    """Their names and urls; a cell has one link only, and it leads to the first."""
    if not item.attachments:
        return None
    return Span(
        text=" · ".join(f"{attachment.title} {attachment.url}" for attachment in item.attachments),
        url=item.attachments[0].url,
    )


def _place(place: Place) -> dict[str, Cell]:
    return {
        "date": place.date,
        "title": Span(text=place.title, url=place.url),
        "source": place.source,
        "section": place.section,
        "url": Span(text=place.url, url=place.url),
    }


def _sources(briefing: Briefing, words: Wording, zone: dt.tzinfo) -> list[dict[str, Cell]]:
    return [
        {
            "source": state.name,
            "state": words.statuses[state.status],
            "new_items": state.new_items,
            "remarks": remarks_on(state, briefing, words),
            "last_run_at": state.last_run_at.astimezone(zone) if state.last_run_at else None,
            "last_new_item_at": state.last_new_item_at.astimezone(zone) if state.last_new_item_at else None,
        }
        for state in briefing.sources
    ]


def _gaps(briefing: Briefing, words: Wording) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for gap in briefing.gaps:
        source, kind, detail = gap_spans(gap, words)
        url = Span(text=gap.url, url=gap.url) if gap.url else None
        rows.append({"source": source.text, "kind": kind.text, "detail": detail.text, "url": url})
    return rows


def _notes(briefing: Briefing, words: Wording) -> list[dict[str, Cell]]:
    """What was written by hand; the overview, citing items by rank; how to read the marks; the period and the time."""
    ranks = {item.id: rank for rank, item in enumerate(briefing.items, start=1)}
    rows: list[dict[str, Cell]] = []
    if briefing.note:
        rows.append({"subject": words.analyst_note.format(briefing.note.by), "text": briefing.note.text})
    for sentence in briefing.overview:
        cited = "".join(f"[{rank}]" for rank in sorted(ranks[item] for item in sentence.items if item in ranks))
        rows.append({"subject": words.overview, "text": f"{sentence.text} {cited}"})
    rows.extend({"subject": words.notes, "text": note} for note in notes_on(briefing, words))
    document = as_document(briefing)
    rows.append({"subject": document.title, "text": document.subtitle})
    rows.extend({"subject": document.title, "text": Span(text=one.text, url=one.url)} for one in document.colophon)
    return rows
