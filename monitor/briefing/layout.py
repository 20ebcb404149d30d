"""A briefing laid out as a document: facts, warnings, overview, items, changes, and what could not be seen."""

import re
from collections.abc import Mapping, Sequence
from itertools import count

from monitor.briefing.compose import (
    AnalystNote,
    Briefing,
    BriefingItem,
    ChangedItem,
    ItemReference,
    MoreItem,
    get_part_key,
)
from monitor.briefing.gaps import Gap, GapKind, SourceRunSummary
from monitor.briefing.item import UNCHECKED_MARK, BriefingMessages, describe_statements, get_briefing_messages
from monitor.exports.document import (
    Badge,
    Block,
    Document,
    Entries,
    Entry,
    Facts,
    Heading,
    LinkRow,
    Listing,
    Paragraph,
    Remark,
    Span,
    Table,
    Tone,
)
from monitor.i18n.catalogue import has_message
from monitor.i18n.message import Message
from monitor.vocabulary import DateSource, RunStatus, SummaryBy

_MAX_SIMILAR_GAPS = 3


def build_closing_blocks(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    blocks: list[Block] = []
    if briefing.sources:
        rows = [
            [
                state.name,
                words.get_word("status", state.status),
                str(state.new_items),
                format_remarks(state, briefing, words),
            ]
            for state in briefing.sources
        ]
        header = [words(name) for name in ("source", "state", "new_items", "remarks")]
        tones = ["warning" if state.has_problems else "plain" for state in briefing.sources]
        blocks.extend([Heading(text=words("source_states")), Table(header=header, rows=rows, tones=tones)])
    listed = [gap for gap in briefing.gaps if gap.kind != "silent"]
    blocks.append(Heading(text=words("gaps")))
    if listed:
        blocks.append(Listing(points=_build_gap_points(listed, words)))
    else:
        blocks.append(_build_text(words("no_gaps") if briefing.sources else words("nothing_seen")))
    if notes := [[Span(text=note)] for note in list_reading_notes(briefing, words)]:
        blocks.extend([Heading(text=words("notes")), Listing(points=notes)])
    return blocks


def list_reading_notes(briefing: Briefing, words: BriefingMessages) -> list[str]:
    """Return how to read this briefing, and what its model did and did not do."""
    notes = [words(f"ranked_{briefing.ranked_by}"), words("rank_note"), words("date_note")] if briefing.items else []
    if briefing.edited_by:
        notes.append(words("edited_note", by=briefing.edited_by))
    if briefing.left_out:
        notes.append(words("left_out_note", count=briefing.left_out))
    notes.extend(words(f"fault_{fault.task}", reason=words.translate(fault.reason)) for fault in briefing.model_faults)
    notes.extend(list_statement_notes(briefing, words))
    if briefing.overview:
        notes.append(words("overview_note"))
    if any(sentence.is_assessment for sentence in briefing.overview):
        notes.append(words("assessment_note"))
    counts = {
        "dropped_note": briefing.overview_dropped,
        "extract_note": briefing.extracts,
        "no_summary_note": briefing.without_summary,
    }
    return [*notes, *(words(name, count=number) for name, number in counts.items() if number)]


def list_statement_notes(briefing: Briefing, words: BriefingMessages) -> list[str]:
    """Return how many sentences were verified and by whom, and what the mark means where one stands."""
    notes = [words.translate(describe_statements(briefing.statements))] if briefing.statements.shown else []
    return [*notes, words("unchecked_note", mark=UNCHECKED_MARK)] if briefing.has_unchecked else notes


def format_overview(briefing: Briefing, words: BriefingMessages) -> str:
    """Return the overview as running text, each assessment under its name."""
    label = f"{words('assessment')}{words('colon')}"
    return " ".join(
        f"{label if sentence.is_assessment else ''}{sentence.marked_text}" for sentence in briefing.overview
    )


def format_remarks(state: SourceRunSummary, briefing: Briefing, words: BriefingMessages) -> str:
    """Return the remarks on a source beside its state, on one line."""
    remarks = [words("baseline")] if state.is_baseline else []
    if state.last_error:
        remarks.append(words.translate(state.last_error))
    kinds = [gap.kind for gap in briefing.gaps if gap.source == state.name]
    counted: tuple[GapKind, ...] = ("degraded", "unseen")
    remarks.extend(f"{words.get_word('gap', kind)} {kinds.count(kind)}" for kind in counted if kind in kinds)
    if "silent" in kinds:
        remarks.append(words.get_word("gap", "silent"))
    return " · ".join(remarks)


def _build_gap_points(gaps: Sequence[Gap], words: BriefingMessages) -> list[list[Span]]:
    """Return a point for each gap; many fallbacks of one source for one reason are one point with their number."""
    alike: dict[tuple[object, ...], list[Gap]] = {}
    for gap in gaps:
        what = _shorten_reason(gap.reason, words) if gap.kind == "degraded" else gap.model_dump_json()
        alike.setdefault((gap.source, gap.kind, gap.phase, what), []).append(gap)
    points: list[list[Span]] = []
    for same in alike.values():
        if len(same) <= _MAX_SIMILAR_GAPS:
            points.extend(build_gap_spans(gap, words) for gap in same)
            continue
        source, kind, _ = build_gap_spans(same[0], words)
        phase = same[0].phase and words.get_word("phase", same[0].phase)
        places = words("and_more", first=same[0].place, count=len(same))
        points.append([source, kind, Span(text=_join_parts(phase, places, _shorten_reason(same[0].reason, words)))])
    return points


def _shorten_reason(reason: Message | None, words: BriefingMessages) -> str:
    """Return the reason without its details, where the catalogue has a short form."""
    short = f"briefing.short_{reason.code.rpartition('.')[2]}" if reason else ""
    return words(short) if has_message(words.language, short) else words.translate(reason)


def build_gap_spans(gap: Gap, words: BriefingMessages) -> list[Span]:
    figures = ("" if gap.count is None else str(gap.count), gap.day.isoformat() if gap.day else "")
    detail = _join_parts(
        gap.phase and words.get_word("phase", gap.phase), gap.place, words.translate(gap.reason), *figures
    )
    return [Span(text=gap.source), Span(text=words.get_word("gap", gap.kind)), Span(text=detail, url=gap.url)]


def _join_parts(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)


def build_document(briefing: Briefing) -> Document:
    words = get_briefing_messages(briefing.language)
    parts = group_items_by_heading(briefing)
    return Document(
        title=briefing.title,
        language=words.locale,
        overline=words("overline"),
        subtitle=format_period(briefing, words),
        blocks=[
            *_build_head(briefing, words),
            *_build_note_blocks(briefing, words),
            *_build_overview(briefing, words, parts),
            *_build_body(briefing, words, parts),
            *_build_changes(briefing, words),
            *build_closing_blocks(briefing, words),
        ],
        colophon=build_colophon(briefing, words),
        contents=words("contents"),
        written_at=briefing.generated_at,
    )


def format_period(briefing: Briefing, words: BriefingMessages) -> str:
    since, until = briefing.period.since.isoformat(), briefing.period.until.isoformat()
    return since if since == until else words("period", since=since, until=until)


def build_colophon(briefing: Briefing, words: BriefingMessages) -> list[Span]:
    """Return when the briefing was written, and where it stands online."""
    offset = f"{briefing.generated_at:%z}".removesuffix("+0000")
    colophon = [Span(text=words("generated", at=f"{briefing.generated_at:%Y-%m-%d %H:%M} UTC{offset}"))]
    return [*colophon, Span(text=words("online"), url=briefing.public_url)] if briefing.public_url else colophon


def group_items_by_heading(briefing: Briefing) -> dict[str, list[BriefingItem]]:
    """Return the items under the headings of their parts; a part stands where its first item would."""
    words = get_briefing_messages(briefing.language)
    parts: dict[str, list[BriefingItem]] = {}
    for item in briefing.items:
        part = get_part_key(item, briefing.group)
        heading = words.get_word("tier", part) if isinstance(part, int) else part or words("entries")
        parts.setdefault(heading, []).append(item)
    return parts


def _build_head(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    troubled = [state for state in briefing.sources if state.has_problems]
    counts = {
        "items": len(briefing.items) + len(briefing.more),
        "sources": len(briefing.sources),
        "troubles": len(troubled),
        "extracts": briefing.extracts,
    }
    blocks: list[Block] = [Facts(facts=[(words(name), str(number)) for name, number in counts.items()])]
    if troubled:
        names = [_format_source_status(state, words) for state in troubled]
        blocks.append(_build_text(words("alert", names=names), "warning"))
    if briefing.baselines:
        blocks.append(_build_text(words("baseline_alert", names=briefing.baselines), "accent"))
    return blocks


def _build_note_blocks(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    """Return the paragraphs that were written by hand on the briefing, the first with its author."""
    remark = _build_remark(briefing.note, words)
    if remark is None:
        return []
    first, *others = remark.paragraphs
    return [_build_text(text, "accent") for text in (f"{remark.mark} {first}", *others)]


def _build_text(text: str, tone: Tone = "plain") -> Paragraph:
    return Paragraph(spans=[Span(text=text)], tone=tone)


def _build_remark(note: AnalystNote | None, words: BriefingMessages) -> Remark | None:
    if note is None or not note.paragraphs:
        return None
    return Remark(mark=words("analyst_note", by=note.by), paragraphs=note.paragraphs)


def _format_source_status(state: SourceRunSummary, words: BriefingMessages) -> str:
    if state.status is RunStatus.SUCCEEDED:
        return state.name
    return words("aside", text=state.name, aside=words.get_word("status", state.status))


def _build_overview(
    briefing: Briefing, words: BriefingMessages, parts: Mapping[str, Sequence[BriefingItem]]
) -> list[Block]:
    """Return the findings and, apart from them, the assessments; numbers behind each sentence link to its items."""
    if not briefing.overview:
        return []
    in_order = [item for items in parts.values() for item in items]
    places = {item.id: (number, item.url) for number, item in enumerate(in_order, start=1)}
    blocks: list[Block] = [Heading(text=words("overview"))]
    between = "" if words.locale.startswith("zh") else " "
    for is_assessment in (False, True):
        spans = [Span(text=f"{words('assessment')}{words('colon')}")] if is_assessment else []
        for sentence in briefing.overview:
            if sentence.is_assessment is is_assessment:
                spans.append(Span(text=f"{between if len(spans) > is_assessment else ''}{sentence.marked_text}"))
                cited = sorted(places[item] for item in sentence.items if item in places)
                spans.extend(Span(text=f"[{number}]", url=url, entry=number) for number, url in cited)
        if len(spans) > is_assessment:
            blocks.append(Paragraph(spans=spans, tone="accent" if is_assessment else "plain"))
    return blocks


def _build_body(
    briefing: Briefing, words: BriefingMessages, parts: Mapping[str, Sequence[BriefingItem]]
) -> list[Block]:
    if not briefing.items and not briefing.more:
        was_seen = any(state.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED) for state in briefing.sources)
        return [_build_text(words("nothing") if was_seen else words("nothing_seen"))]
    numbers, reposts = count(1), set(briefing.reposts)
    blocks: list[Block] = []
    for heading, items in parts.items():
        entries = [_build_entry(next(numbers), item, words, is_repost=item.id in reposts) for item in items]
        blocks.extend([Heading(text=heading), Entries(entries=entries)])
    if briefing.more:
        points = [_build_more_point(item, words) for item in briefing.more]
        blocks.extend([Heading(text=words("more")), Listing(points=points)])
    return blocks


def _build_entry(number: int, item: BriefingItem, words: BriefingMessages, *, is_repost: bool) -> Entry:
    date = words("undated")
    if item.date is not None:
        date = words("aside", text=item.date.isoformat(), aside=words.get_word("date_source", item.date_source))
        if item.date_conflict is not None:
            listed = words.get_word("date_source", item.date_source)
            stated = words.get_word("date_source", DateSource.PAGE)
            date = f"{listed} {item.date.isoformat()} / {stated} {item.date_conflict.isoformat()}"
    first = [Span(text=text) for text in (words.get_word("type", item.type), date, item.source, item.section)]
    second = [Span(text=text) for text in (item.issuer, item.document_number) if text and text != item.source]
    attachments = [Span(text=_format_attachment_title(a.title, a.type), url=a.url) for a in item.attachments]
    badges = [Badge(text=words("late"), tone="warning")] if item.late else []
    if is_repost:
        badges.append(Badge(text=words("repost"), tone="accent"))
    if item.moved is not None:
        badges.append(Badge(text=words.get_word("moved", item.moved), tone="accent"))
    return Entry(
        number=number,
        title=Span(text=item.title, url=item.url),
        particulars=[first, second],
        badges=badges,
        text=item.marked_summary,
        text_mark=words("extract") if item.summary and item.summary_by is SummaryBy.EXTRACT else "",
        links=[*_build_link_row(words("attachments"), attachments), *_build_related_links(item, words)],
        remark=_build_remark(item.note, words),
    )


def _format_attachment_title(title: str, file_type: str) -> str:
    """The title with the type of the file, unless it ends with that by itself: `.pdf`, `（PDF）`."""
    is_said = not file_type or re.search(rf"[.(（\[【]{re.escape(file_type)}[)）\]】]?\s*$", title, re.IGNORECASE)
    return title if is_said else f"{title} ({file_type.upper()})"


def _build_reference_span(reference: ItemReference, beside: str, words: BriefingMessages) -> Span:
    """Return another item with its section, if it has the same source as the item beside it, else with its source."""
    where = reference.section if reference.source == beside else reference.source
    if reference.date is not None:
        where = f"{where} {reference.date.isoformat()}"
    return Span(text=words("aside", text=reference.title, aside=where), url=reference.url)


def _build_related_links(item: BriefingItem | MoreItem, words: BriefingMessages) -> list[LinkRow]:
    """Return the interpretations of an item, each with its other places, and the item's own other places."""
    readings: list[Span] = []
    for reading in item.interpretations:
        readings.append(_build_reference_span(reading, item.source, words))
        readings.extend(Span(text=f"{words('places')} {place.source}", url=place.url) for place in reading.places)
    places = [_build_reference_span(place, item.source, words) for place in item.places]
    return [*_build_link_row(words("interpretations"), readings), *_build_link_row(words("places"), places)]


def _build_link_row(label: str, links: list[Span]) -> list[LinkRow]:
    return [LinkRow(label=label, links=links)] if links else []


def _build_more_point(item: MoreItem, words: BriefingMessages) -> list[Span]:
    date = item.date.isoformat() if item.date else words("undated")
    under = [
        Span(text=f"{row.label} {link.text}", url=link.url)
        for row in _build_related_links(item, words)
        for link in row.links
    ]
    remark = _build_remark(item.note, words)
    notes = [Span(text=" ".join([remark.mark, *remark.paragraphs]))] if remark else []
    return [Span(text=item.title, url=item.url), Span(text=date), Span(text=item.source), *under, *notes]


def _build_changes(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    if not briefing.changes:
        return []
    points = [_build_change_point(change, words) for change in briefing.changes]
    return [Heading(text=words("changes")), Listing(points=points)]


def _build_change_point(change: ChangedItem, words: BriefingMessages) -> list[Span]:
    kind, seen_on = words.get_word("change", change.kind), words("seen_on", day=change.seen_at.date().isoformat())
    texts = (kind, *list_differences(change, words), change.source, seen_on)
    return [Span(text=change.title, url=change.url), *(Span(text=text) for text in texts)]


def list_differences(change: ChangedItem, words: BriefingMessages) -> list[str]:
    """Return what differs: the clauses by what became of them, then the other parts."""
    articles = [words(f"articles_{op}", articles=names) for op, names in change.articles.items()]
    return [*articles, *(words(f"part_{part}") for part in change.parts)]
