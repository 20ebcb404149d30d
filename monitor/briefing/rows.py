"""A briefing, or any items, as rows: for spreadsheets, and for programs that read a line an item."""

import datetime as dt
from collections.abc import Iterable, Sequence

from monitor.briefing.compose import Briefing, BriefingItem, ItemReference, MoreItem
from monitor.briefing.gaps import count_gaps
from monitor.briefing.item import ITEM_COLUMNS, BriefingMessages, ItemSchema, build_item_cell, get_briefing_messages
from monitor.briefing.layout import (
    build_colophon,
    build_gap_spans,
    format_coverage,
    format_period,
    format_remarks,
    format_why,
    list_differences,
    list_reading_notes,
)
from monitor.exports.document import Cell, Column, Sheet, Span, Workbook

_LAST_PRINTED_COLUMN = "summary"

_COLUMN_WIDTHS = {name: column.width for name, column in ITEM_COLUMNS.items()} | {
    "place": 12,
    "why": 48,
    "tier": 10,
    "theme": 20,
    "day": 12,
    "deadline": 20,
    "moved_from": 12,
    "note": 40,
    "verified_text": 48,
    "change": 14,
    "differences": 44,
    "seen_at": 17,
    "state": 12,
    "new_items": 10,
    "remarks": 60,
    "last_run_at": 17,
    "last_new_item_at": 17,
    "kind": 26,
    "subject": 18,
    "text": 100,
    "detail": 70,
}
"""In Latin letters."""

_CHANGE_COLUMNS = ("title", "change", "differences", "source", "seen_at", "url")
_DEADLINE_COLUMNS = ("day", "deadline", "title", "moved_from", "url")
_SOURCE_COLUMNS = ("source", "state", "new_items", "remarks", "last_run_at", "last_new_item_at")
_GAP_COLUMNS = ("source", "kind", "detail", "url")
_NOTE_COLUMNS = ("subject", "text")
_FIELDS = tuple(name for name in ItemSchema.model_fields if name != "evidence")


def build_field_sheet(items: Iterable[ItemSchema]) -> Sheet:
    """A row an item for programs: the columns are the fields, the words those that are stored, instants in UTC."""
    rows = []
    for item in items:
        values = item.model_dump(mode="json", include=set(_FIELDS))
        values["attachments"] = " ".join(attachment.url for attachment in item.attachments)
        values["late"] = "true" if item.late else "false"
        values["statements"] = item.statements.model_dump_json() if item.statements else None
        rows.append([values[name] for name in _FIELDS])
    return Sheet(title="items", columns=[Column(name=name, title=name) for name in _FIELDS], rows=rows)


def build_item_workbook(items: Sequence[ItemSchema], title: str, language: str, zone: dt.tzinfo) -> Workbook:
    """Items for people: titles link to their pages, words are in the language, instants as the zone's clocks show."""
    words = get_briefing_messages(language)
    rows = [_build_item_row(item, words, zone) for item in items]
    return Workbook(title=title, sheets=[_build_sheet(title, tuple(ITEM_COLUMNS), rows, words)])


def build_briefing_workbook(briefing: Briefing) -> Workbook:
    """All that a briefing says: its items with what stands under them, changes, sources, gaps, overview and notes."""
    words = get_briefing_messages(briefing.language)
    zone = briefing.generated_at.tzinfo or dt.UTC
    rows = _build_item_rows(briefing, words, zone)
    names = list(ITEM_COLUMNS)
    names[1:1] = ("place", "tier", "theme")  # behind the rank
    names.insert(names.index(_LAST_PRINTED_COLUMN), "why")
    if any("note" in row for row in rows):
        names.insert(names.index(_LAST_PRINTED_COLUMN), "note")
    if briefing.has_editor_text:
        names.insert(names.index(_LAST_PRINTED_COLUMN), "verified_text")
    sheets = [_build_sheet(words("entries"), names, rows, words)]
    if briefing.deadlines:
        sheets.append(_build_sheet(words("deadlines"), _DEADLINE_COLUMNS, _build_deadline_rows(briefing, words), words))
    if briefing.changes:
        changes: list[dict[str, Cell]] = [
            {
                "title": Span(text=change.title, url=change.url),
                "change": words.get_word("change", change.kind),
                "differences": " · ".join(list_differences(change, words)),
                "source": change.source,
                "seen_at": change.seen_at.astimezone(zone),
                "url": Span(text=change.url, url=change.url),
            }
            for change in briefing.changes
        ]
        sheets.append(_build_sheet(words("changes"), _CHANGE_COLUMNS, changes, words))
    if briefing.include_gaps:
        source_rows = _build_source_rows(briefing, words, zone)
        sheets.append(_build_sheet(words("source_states"), _SOURCE_COLUMNS, source_rows, words))
        sheets.append(_build_sheet(words("gaps"), _GAP_COLUMNS, _build_gap_rows(briefing, words), words))
    sheets.append(_build_sheet(words("notes"), _NOTE_COLUMNS, _build_note_rows(briefing, words), words))
    return Workbook(title=briefing.title, sheets=sheets, written_at=briefing.generated_at)


def _build_sheet(title: str, names: Sequence[str], rows: Iterable[dict[str, Cell]], words: BriefingMessages) -> Sheet:
    return Sheet(
        title=title,
        columns=[Column(name=name, title=words.get_title(name), width=_COLUMN_WIDTHS[name]) for name in names],
        rows=[[row.get(name) for name in names] for row in rows],
        printed=names.index(_LAST_PRINTED_COLUMN) + 1 if _LAST_PRINTED_COLUMN in names else None,
    )


def _build_item_rows(briefing: Briefing, words: BriefingMessages, zone: dt.tzinfo) -> list[dict[str, Cell]]:
    """Each item in its rank, followed by what stands under it, which shares that rank."""
    rows: list[dict[str, Cell]] = []
    theme_of = {item: theme.name for theme in briefing.themes for item in theme.items}
    listed: list[BriefingItem | MoreItem] = [*briefing.items, *briefing.more]
    for rank, item in enumerate(listed, start=1):
        if isinstance(item, BriefingItem):
            row = _build_item_row(item, words, zone) | {
                "place": words("entries"),
                "title": Span(text=item.shown_title, url=item.url),
                "summary": item.marked_summary,
                "why": format_why(item.why),
                "theme": theme_of.get(item.id or 0, ""),
            }
        else:
            row = _build_reference_row(item) | {
                "place": words("more"),
                "title": Span(text=item.shown_title, url=item.url),
            }
        if item.note:
            row["note"] = f"{item.note.text} ({item.note.by})"
        if isinstance(item, BriefingItem) and item.editor_summary is not None:
            row["summary_by"] = words("summary_by_editor", by=item.editor_summary.by)
        row["verified_text"] = _join_verified_texts(item)
        rows.append(row | {"rank": rank, "tier": words.get_word("tier_tag", item.tier)})
        again = [*item.places, *(place for reading in item.interpretations for place in reading.places)]
        for label, places in ((words("interpretations"), item.interpretations), (words("places"), again)):
            rows.extend(_build_reference_row(place) | {"rank": rank, "place": label.rstrip("：:")} for place in places)
    return rows


def _join_verified_texts(item: BriefingItem | MoreItem) -> str:
    """Return the verified title and summary where an editor put others in their place."""
    texts = [item.title] if item.editor_title is not None else []
    if isinstance(item, BriefingItem) and item.editor_summary is not None:
        texts.append(item.summary)
    return "\n".join(texts)


def _build_item_row(item: ItemSchema, words: BriefingMessages, zone: dt.tzinfo) -> dict[str, Cell]:
    return {name: build_item_cell(item, name, words, zone) for name in ITEM_COLUMNS}


def _build_reference_row(reference: ItemReference) -> dict[str, Cell]:
    return {
        "date": reference.date,
        "title": Span(text=reference.title, url=reference.url),
        "source": reference.source,
        "section": reference.section,
        "url": Span(text=reference.url, url=reference.url),
    }


def _build_deadline_rows(briefing: Briefing, words: BriefingMessages) -> list[dict[str, Cell]]:
    return [
        {
            "day": deadline.day,
            "deadline": words.get_word("deadline", deadline.kind),
            "title": f"{deadline.title}{words('colon')}{deadline.subject}" if deadline.subject else deadline.title,
            "moved_from": deadline.moved_from,
            "url": Span(text=deadline.url, url=deadline.url),
        }
        for deadline in briefing.deadlines
    ]


def _build_source_rows(briefing: Briefing, words: BriefingMessages, zone: dt.tzinfo) -> list[dict[str, Cell]]:
    gaps = count_gaps(briefing.gaps)
    return [
        {
            "source": state.name,
            "state": format_coverage(state, words),
            "new_items": state.new_items,
            "remarks": format_remarks(state, gaps[state.name], words),
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
        rows.append({"subject": words("analyst_note", by=briefing.note.by), "text": briefing.note.text})
    for sentence in briefing.overview:
        cited = "".join(f"[{rank}]" for rank in sorted(ranks[item] for item in sentence.items if item in ranks))
        subject = words("assessment") if sentence.is_assessment else words("overview")
        rows.append({"subject": subject, "text": f"{sentence.marked_text} {cited}"})
    rows.extend({"subject": words("notes"), "text": note} for note in list_reading_notes(briefing, words))
    rows.append({"subject": briefing.title, "text": format_period(briefing, words)})
    rows.extend({"subject": briefing.title, "text": span} for span in build_colophon(briefing, words))
    return rows
