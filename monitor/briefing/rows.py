"""A briefing, or any items, as rows: for spreadsheets, and for programs that read a line an item."""

import datetime as dt
from collections.abc import Iterable, Sequence

from monitor.briefing.compose import Briefing, BriefingItem, ItemReference, MoreItem
from monitor.briefing.item import ItemSchema
from monitor.briefing.layout import (
    build_document,
    build_gap_spans,
    format_remarks,
    list_differences,
    list_reading_notes,
)
from monitor.briefing.words import BriefingMessages, get_briefing_messages
from monitor.exports.document import Cell, Column, Sheet, Span, Workbook

ITEM_COLUMNS = (
    "rank",
    "place",
    "date",
    "title",
    "type",
    "source",
    "document_number",
    "summary",
    "summary_by",
    "section",
    "issuer",
    "date_source",
    "late",
    "attachments",
    "first_seen",
    "url",
)

LAST_PRINTED_COLUMN = "summary"

ITEM_COLUMNS_WITH_NOTE = (
    *ITEM_COLUMNS[: ITEM_COLUMNS.index(LAST_PRINTED_COLUMN)],
    "note",
    *ITEM_COLUMNS[ITEM_COLUMNS.index(LAST_PRINTED_COLUMN) :],
)
"""Those of items of which one has a note."""

CHANGE_COLUMNS = ("title", "change", "differences", "source", "seen_at", "url")

SOURCE_COLUMNS = ("source", "state", "new_items", "remarks", "last_run_at", "last_new_item_at")

GAP_COLUMNS = ("source", "kind", "detail", "url")

NOTE_COLUMNS = ("subject", "text")

# A column's title in Chinese and in English, and its width in Latin letters.
_COLUMNS: dict[str, tuple[str, str, int]] = {
    "rank": ("序", "No.", 6),
    "place": ("位置", "Place", 12),
    "date": ("日期", "Date", 12),
    "title": ("标题", "Title", 72),
    "type": ("类型", "Type", 13),
    "source": ("来源", "Source", 18),
    "section": ("栏目", "Section", 16),
    "summary": ("摘要", "Summary", 64),
    "note": ("批注", "Note", 40),
    "summary_by": ("摘要方式", "Summary by", 11),
    "document_number": ("文号", "Document number", 22),
    "issuer": ("发布机关", "Issuer", 20),
    "date_source": ("日期出处", "Date from", 11),
    "late": ("迟到", "Late", 8),
    "attachments": ("附件", "Attachments", 36),
    "first_seen": ("首次看到", "First seen", 17),
    "url": ("网址", "Address", 48),
    "change": ("变更", "Change", 14),
    "differences": ("改动之处", "What differs", 44),
    "seen_at": ("发现于", "Seen", 17),
    "state": ("状态", "State", 12),
    "new_items": ("新条目", "New items", 10),
    "remarks": ("说明", "Remarks", 60),
    "last_run_at": ("最近采集", "Last run", 17),
    "last_new_item_at": ("最近新条目", "Last new item", 17),
    "kind": ("情形", "What", 26),
    "subject": ("事项", "Subject", 18),
    "text": ("内容", "Text", 100),
    "detail": ("详情", "Detail", 70),
}


def build_columns(names: tuple[str, ...], language: str) -> list[Column]:
    """The columns of those names, titled in the language: Chinese for any kind of it, English for all others."""
    chosen = []
    for name in names:
        chinese, english, width = _COLUMNS[name]
        chosen.append(Column(name=name, title=chinese if language.startswith("zh") else english, width=width))
    return chosen


_FIELDS = tuple(name for name in ItemSchema.model_fields if name != "evidence")


def build_field_sheet(items: Iterable[ItemSchema]) -> Sheet:
    """A row an item for programs: the columns are the fields, the words those that are stored, instants in UTC."""
    rows = []
    for item in items:
        values = item.model_dump(mode="json", include=set(_FIELDS))
        values["attachments"] = " ".join(attachment.url for attachment in item.attachments)
        values["late"] = "true" if item.late else "false"
        rows.append([values[name] for name in _FIELDS])
    return Sheet(title="items", columns=[Column(name=name, title=name) for name in _FIELDS], rows=rows)


def build_item_workbook(items: Sequence[ItemSchema], title: str, language: str, zone: dt.tzinfo) -> Workbook:
    """Items for people: titles link to their pages, words are in the language, instants as the zone's clocks show."""
    words = get_briefing_messages(language)
    names = tuple(name for name in ITEM_COLUMNS if name != "place")
    return Workbook(
        title=title, sheets=[_build_sheet(title, names, [_build_item_row(item, words, zone) for item in items], words)]
    )


def build_briefing_workbook(briefing: Briefing) -> Workbook:
    """All that a briefing says: its items with what stands under them, changes, sources, gaps, overview and notes."""
    words = get_briefing_messages(briefing.language)
    zone = briefing.generated_at.tzinfo or dt.UTC
    rows = _build_item_rows(briefing, words, zone)
    names = ITEM_COLUMNS_WITH_NOTE if any("note" in row for row in rows) else ITEM_COLUMNS
    sheets = [_build_sheet(words.entries, names, rows, words)]
    if briefing.changes:
        changes: list[dict[str, Cell]] = [
            {
                "title": Span(text=change.title, url=change.url),
                "change": words.change_kinds[change.kind],
                "differences": " · ".join(list_differences(change, words)),
                "source": change.source,
                "seen_at": change.seen_at.astimezone(zone),
                "url": Span(text=change.url, url=change.url),
            }
            for change in briefing.changes
        ]
        sheets.append(_build_sheet(words.changes, CHANGE_COLUMNS, changes, words))
    sheets.append(_build_sheet(words.source_states, SOURCE_COLUMNS, _build_source_rows(briefing, words, zone), words))
    sheets.append(_build_sheet(words.gaps, GAP_COLUMNS, _build_gap_rows(briefing, words), words))
    sheets.append(_build_sheet(words.notes, NOTE_COLUMNS, _build_note_rows(briefing, words), words))
    return Workbook(title=briefing.title, sheets=sheets, written_at=briefing.generated_at)


def _build_sheet(title: str, names: tuple[str, ...], rows: Iterable[dict[str, Cell]], words: BriefingMessages) -> Sheet:
    return Sheet(
        title=title,
        columns=build_columns(names, words.locale),
        rows=[[row.get(name) for name in names] for row in rows],
        printed=names.index(LAST_PRINTED_COLUMN) + 1 if LAST_PRINTED_COLUMN in names else None,
    )


def _build_item_rows(briefing: Briefing, words: BriefingMessages, zone: dt.tzinfo) -> list[dict[str, Cell]]:
    """Each item in its rank, followed by what stands under it, which shares that rank."""
    rows: list[dict[str, Cell]] = []
    told: list[BriefingItem | MoreItem] = [*briefing.items, *briefing.more]
    for rank, one in enumerate(told, start=1):
        is_shown = isinstance(one, BriefingItem)
        row = _build_item_row(one, words, zone) if isinstance(one, BriefingItem) else _build_reference_row(one)
        noted: dict[str, Cell] = {"note": f"{one.note.text} ({one.note.by})"} if one.note else {}
        rows.append({**row, **noted, "rank": rank, "place": words.entries if is_shown else words.more})
        again = [*one.places, *(place for reading in one.interpretations for place in reading.places)]
        for label, places in ((words.interpretations, one.interpretations), (words.places, again)):
            rows.extend({**_build_reference_row(place), "rank": rank, "place": label.rstrip("：:")} for place in places)
    return rows


def _build_item_row(item: ItemSchema, words: BriefingMessages, zone: dt.tzinfo) -> dict[str, Cell]:
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
        "attachments": _build_attachments_cell(item),
        "first_seen": item.first_seen.astimezone(zone),
        "url": Span(text=item.url, url=item.url),
    }


def _build_attachments_cell(item: ItemSchema) -> Span | None:
    """Their names and urls; a cell has one link only, and it leads to the first."""
    if not item.attachments:
        return None
    return Span(
        text=" · ".join(f"{attachment.title} {attachment.url}" for attachment in item.attachments),
        url=item.attachments[0].url,
    )


def _build_reference_row(reference: ItemReference) -> dict[str, Cell]:
    return {
        "date": reference.date,
        "title": Span(text=reference.title, url=reference.url),
        "source": reference.source,
        "section": reference.section,
        "url": Span(text=reference.url, url=reference.url),
    }


def _build_source_rows(briefing: Briefing, words: BriefingMessages, zone: dt.tzinfo) -> list[dict[str, Cell]]:
    return [
        {
            "source": state.name,
            "state": words.statuses[state.status],
            "new_items": state.new_items,
            "remarks": format_remarks(state, briefing, words),
            "last_run_at": state.last_run_at.astimezone(zone) if state.last_run_at else None,
            "last_new_item_at": state.last_new_item_at.astimezone(zone) if state.last_new_item_at else None,
        }
        for state in briefing.sources
    ]


def _build_gap_rows(briefing: Briefing, words: BriefingMessages) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for gap in briefing.gaps:
        source, kind, detail = build_gap_spans(gap, words)
        url = Span(text=gap.url, url=gap.url) if gap.url else None
        rows.append({"source": source.text, "kind": kind.text, "detail": detail.text, "url": url})
    return rows


def _build_note_rows(briefing: Briefing, words: BriefingMessages) -> list[dict[str, Cell]]:
    """What was written by hand; the overview, citing items by rank; how to read the marks; the period and the time."""
    ranks = {item.id: rank for rank, item in enumerate(briefing.items, start=1)}
    rows: list[dict[str, Cell]] = []
    if briefing.note:
        rows.append({"subject": words.analyst_note.format(briefing.note.by), "text": briefing.note.text})
    for sentence in briefing.overview:
        cited = "".join(f"[{rank}]" for rank in sorted(ranks[item] for item in sentence.items if item in ranks))
        rows.append({"subject": words.overview, "text": f"{sentence.text} {cited}"})
    rows.extend({"subject": words.notes, "text": note} for note in list_reading_notes(briefing, words))
    document = build_document(briefing)
    rows.append({"subject": document.title, "text": document.subtitle})
    rows.extend({"subject": document.title, "text": Span(text=one.text, url=one.url)} for one in document.colophon)
    return rows
