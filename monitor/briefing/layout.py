"""A briefing laid out as a document: headlines, deadlines, items by subject, changes, and what could not be seen."""

import re
from collections import Counter
from collections.abc import Sequence

from monitor.briefing.compose import (
    LOWEST_TIER,
    Briefing,
    BriefingDeadline,
    BriefingItem,
    ChangedItem,
    ItemReference,
    MoreItem,
)
from monitor.briefing.editor_text import AnalystNote
from monitor.briefing.gaps import Gap, SourceRunSummary, count_gaps
from monitor.briefing.headlines import Why
from monitor.briefing.item import UNCHECKED_MARK, BriefingMessages, describe_statements, get_briefing_messages
from monitor.clock import format_with_offset
from monitor.exports.document import (
    Badge,
    Block,
    Document,
    Entries,
    Entry,
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
from monitor.page import PagePart
from monitor.verify.statements import EDITOR_MARK
from monitor.vocabulary import DateSource, ItemChangeKind, RunStatus, SummaryBy

_MAX_SIMILAR_GAPS = 3
MIN_THEME_ITEMS = 2
_MIN_ENTRIES_WITH_CONTENTS = 8  # a shorter briefing is read from its headlines on
_CHANGES_OF_TEXT = (ItemChangeKind.DEADLINE_MOVED, ItemChangeKind.FIGURE_CHANGED, ItemChangeKind.TEXT_CHANGED)


def build_closing_blocks(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    """Return the footer: what could not be seen, which a client's copy lacks, and how to read the briefing."""
    blocks: list[Block] = []
    if briefing.include_gaps:
        blocks.append(Heading(text=words("gaps")))
        if incomplete := [_format_source_status(state, words) for state in briefing.sources if state.is_incomplete]:
            blocks.append(_build_text(words("alert", names=incomplete), "warning"))
        if listed := [gap for gap in briefing.gaps if gap.is_unseen]:
            blocks.append(Listing(points=_build_gap_points(listed, words)))
        else:
            blocks.append(_build_text(words("no_gaps") if briefing.sources else words("nothing_seen")))
        blocks.extend(_build_source_blocks(briefing, words))
    notes = [[Span(text=note)] for note in list_reading_notes(briefing, words)]
    if briefing.include_gaps:
        notes.extend(_build_gap_points([gap for gap in briefing.gaps if gap.kind == "degraded"], words))
    if notes:
        blocks.extend([Heading(text=words("notes")), Listing(points=notes)])
    return blocks


def _build_source_blocks(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    if not briefing.sources:
        return []
    of = count_gaps(briefing.gaps)
    rows = [
        [state.name, format_coverage(state, words), str(state.new_items), format_remarks(state, of[state.name], words)]
        for state in briefing.sources
    ]
    header = [words(name) for name in ("source", "coverage", "new_items", "remarks")]
    tones: list[Tone] = ["warning" if state.is_incomplete else "plain" for state in briefing.sources]
    return [Heading(text=words("source_states"), level=3), Table(header=header, rows=rows, tones=tones)]


def format_coverage(state: SourceRunSummary, words: BriefingMessages) -> str:
    """Return whether a source was seen whole; where it was not read at all, how its run ended."""
    if state.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED):
        return words("incomplete") if state.is_incomplete else words("complete")
    return words.get_word("status", state.status)


def list_reading_notes(briefing: Briefing, words: BriefingMessages) -> list[str]:
    """Return how to read this briefing, and what its model did and did not do."""
    notes = [words(f"ranked_{briefing.ranked_by}"), words("rank_note"), words("date_note")] if briefing.items else []
    if any(line.why for line in briefing.headlines):
        notes.append(words("why_note"))
    if briefing.baselines:
        notes.append(words("baseline_alert", names=briefing.baselines))
    if briefing.off_topic:
        notes.append(words("off_topic_note", count=briefing.off_topic, audience=briefing.audience))
    if briefing.edited_by:
        edited = words("reworded_note", by=briefing.edited_by, mark=EDITOR_MARK)
        notes.append(edited if briefing.has_editor_text else words("edited_note", by=briefing.edited_by))
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


def format_remarks(state: SourceRunSummary, gaps: Counter[str], words: BriefingMessages) -> str:
    """Return the remarks on a source beside its state, on one line; `gaps` are its own, by kind."""
    remarks = [words("baseline")] if state.is_baseline else []
    if state.last_error:
        remarks.append(words.translate(state.last_error))
    if gaps["unseen"]:
        remarks.append(f"{words.get_word('gap', 'unseen')} {gaps['unseen']}")
    if gaps["degraded"]:
        remarks.append(words("fell_back", count=gaps["degraded"]))
    if gaps["silent"]:
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
    """Return the briefing laid out: headlines, deadlines, the items by subject, changes, routine, and the footer."""
    words = get_briefing_messages(briefing.language)
    overline = words("overline_for", audience=briefing.audience) if briefing.audience else words("overline")
    return Document(
        title=briefing.title,
        language=words.locale,
        overline=overline,
        subtitle=format_head(briefing, words),
        blocks=[
            *_build_lead(briefing, words),
            *_build_headlines(briefing, words),
            *_build_deadlines(briefing, words),
            *_build_overview(briefing, words),
            *_build_body(briefing, words),
            *build_closing_blocks(briefing, words),
        ],
        colophon=build_colophon(briefing, words),
        contents=words("contents") if len(list_entries(briefing)) >= _MIN_ENTRIES_WITH_CONTENTS else "",
        contents_after=bool(briefing.headlines),
        written_at=briefing.generated_at,
    )


def format_head(briefing: Briefing, words: BriefingMessages) -> str:
    """Return the line below the title: the period, how much there is, and how many sources are incomplete."""
    count = words("item_count", items=len(briefing.items) + len(briefing.more), sources=len(briefing.sources))
    if not briefing.include_gaps:
        return format_period(briefing, words)
    incomplete = sum(state.is_incomplete for state in briefing.sources)
    warning = words("incomplete_count", count=incomplete) if incomplete else None
    return _join_parts(format_period(briefing, words), count if briefing.sources else None, warning)


def format_period(briefing: Briefing, words: BriefingMessages) -> str:
    since, until = briefing.period.since.isoformat(), briefing.period.until.isoformat()
    return since if since == until else words("period", since=since, until=until)


def build_colophon(briefing: Briefing, words: BriefingMessages) -> list[Span]:
    """Return when the briefing was written, and where it stands online."""
    colophon = [Span(text=words("generated", at=format_with_offset(briefing.generated_at)))]
    return [*colophon, Span(text=words("online"), url=briefing.public_url)] if briefing.public_url else colophon


def group_items_by_heading(briefing: Briefing) -> dict[str, list[BriefingItem]]:
    """Return the items that follow the headlines in full, under the headings of their parts, which stand in order.

    By theme, those of a subject are together, each part where its first item stands; behind them come those that are by
    themselves, also where the headlines have their fellows, then enforcement and data. Routine is left to the floor.
    """
    words = get_briefing_messages(briefing.language)
    headlines = {headline.item for headline in briefing.headlines}
    rest = [item for item in briefing.items if item.id not in headlines]
    left = {item.id for item in rest}
    themes = [theme for theme in briefing.themes if len(left.intersection(theme.items)) >= MIN_THEME_ITEMS]
    subject_of = {item: theme.name for theme in themes for item in theme.items}
    parts: dict[str, list[BriefingItem]] = {}
    last: dict[str, list[BriefingItem]] = {}
    for item in rest:
        if item.part == "routine":
            continue
        if briefing.group != "theme":
            parts.setdefault(item.source if briefing.group == "source" else words("entries"), []).append(item)
        elif item.part == "theme":
            subject = subject_of.get(item.id or 0)
            (last if subject is None else parts).setdefault(subject or words("other_subjects"), []).append(item)
        else:
            last.setdefault(words(item.part), []).append(item)
    behind = [words("other_subjects"), words("enforcement"), words("data")]
    return parts | {heading: last[heading] for heading in behind if heading in last}


def list_routine(briefing: Briefing) -> list[BriefingItem]:
    headlines = {headline.item for headline in briefing.headlines}
    return [item for item in briefing.items if item.part == "routine" and item.id not in headlines]


def list_entries(briefing: Briefing) -> list[BriefingItem]:
    """Return the items that stand in full, in reading order: the headlines, then those below the headings."""
    by_id = {item.id: item for item in briefing.items}
    first = [by_id[headline.item] for headline in briefing.headlines if headline.item in by_id]
    return [*first, *(item for part in group_items_by_heading(briefing).values() for item in part)]


def _build_lead(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    """Return what was written by hand on the whole, signed with its author's name."""
    if briefing.note is None or not briefing.note.paragraphs:
        return []
    paragraphs = briefing.note.paragraphs
    texts = [*paragraphs[:-1], paragraphs[-1] + words("signature", by=briefing.note.by)]
    return [_build_text(text, "accent") for text in texts]


def _build_headlines(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    if not briefing.headlines:
        return []
    by_id = {item.id: item for item in briefing.items}
    entries = [_build_entry(by_id[line.item], briefing, words) for line in briefing.headlines if line.item in by_id]
    return [Heading(text=words("headlines")), Entries(entries=entries)]


def _build_deadlines(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    if not briefing.deadlines:
        return []
    numbers = {item.id: item.rank or 0 for item in list_entries(briefing)}
    rows, notes = [], []
    for deadline in briefing.deadlines:
        name = f"{deadline.title}{words('colon')}{deadline.subject}" if deadline.subject else deadline.title
        rows.append([deadline.day.isoformat(), format_deadline_kind(deadline, words), name])
        number = numbers.get(deadline.item)
        mark = f"[{number}]" if number else "↗"
        notes.append([Span(text=f" {mark}" if number is None else mark, url=deadline.url, entry=number)])
    header = [words(name) for name in ("deadline_day", "deadline_kind", "document")]
    tones: list[Tone] = ["warning" if deadline.moved_from else "plain" for deadline in briefing.deadlines]
    table = Table(header=header, rows=rows, tones=tones, notes=notes)
    return [Heading(text=words("deadlines")), table]


def format_deadline_kind(deadline: BriefingDeadline, words: BriefingMessages) -> str:
    """Return what begins or ends that day, marked where nothing could verify it, and from when it was moved."""
    kind = f"{words.get_word('deadline', deadline.kind)}{UNCHECKED_MARK if deadline.is_unchecked else ''}"
    if deadline.moved_from is None:
        return kind
    return words("aside", text=kind, aside=words("moved_from", day=deadline.moved_from.isoformat()))


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


def _build_overview(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    """Return the findings and, apart from them, the assessments; numbers behind each sentence link to its items."""
    if not briefing.overview:
        return []
    entries = {item.id for item in list_entries(briefing)}
    places = {item.id: (item.rank or 0, item.url) for item in briefing.items}
    blocks: list[Block] = [Heading(text=words("overview"))]
    between = "" if words.locale.startswith("zh") else " "
    for is_assessment in (False, True):
        spans = [Span(text=f"{words('assessment')}{words('colon')}")] if is_assessment else []
        for sentence in briefing.overview:
            if sentence.is_assessment is is_assessment:
                spans.append(Span(text=f"{between if len(spans) > is_assessment else ''}{sentence.marked_text}"))
                cited = sorted((*places[item], item in entries) for item in sentence.items if item in places)
                spans.extend(
                    Span(text=f"[{number}]", url=url, entry=number if is_entry else None)
                    for number, url, is_entry in cited
                )
        if len(spans) > is_assessment:
            blocks.append(Paragraph(spans=spans, tone="accent" if is_assessment else "plain"))
    return blocks


def _build_body(briefing: Briefing, words: BriefingMessages) -> list[Block]:
    """Return the items below the headlines; changes stand before enforcement and data, routine comes last."""
    if not briefing.items and not briefing.more:
        was_seen = any(state.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED) for state in briefing.sources)
        is_known = was_seen or not briefing.include_gaps
        nothing = [_build_text(words("nothing") if is_known else words("nothing_seen"))]
        return [*nothing, *_build_changes(briefing, words)]
    blocks: list[Block] = []
    changes = _build_changes(briefing, words)
    for heading, items in group_items_by_heading(briefing).items():
        if briefing.group == "theme" and items[0].part in ("enforcement", "data"):
            blocks.extend(changes)
            changes = []
        blocks.extend([Heading(text=heading), Entries(entries=[_build_entry(item, briefing, words) for item in items])])
    blocks.extend(changes)
    further, beyond = list[MoreItem](), list[MoreItem]()
    for item in briefing.more:
        (further if item.tier != LOWEST_TIER or item.note or item.editor_title else beyond).append(item)
    routine: list[BriefingItem | MoreItem] = [*list_routine(briefing), *beyond]
    lists: list[tuple[str, Sequence[BriefingItem | MoreItem]]] = [("more", further), ("routine", routine)]
    for name, listed in lists:
        if listed:
            points = [_build_more_point(item, words) for item in listed]
            blocks.extend([Heading(text=words(name)), Listing(points=points)])
    return blocks


def _build_entry(item: BriefingItem, briefing: Briefing, words: BriefingMessages) -> Entry:
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
    third = [Span(text=words("relevance", audience=briefing.audience, reason=item.relevance))]
    badges = [Badge(text=words.get_word("tier_tag", item.tier))] if item.tier else []
    if item.stage is not None:
        badges.append(Badge(text=words.get_word("stage", item.stage), tone="accent"))
    if item.late:
        badges.append(Badge(text=words("late"), tone="warning"))
    if item.id in briefing.reposts:
        badges.append(Badge(text=words("repost"), tone="accent"))
    if item.moved is not None:
        badges.append(Badge(text=words.get_word("moved", item.moved), tone="accent"))
    if item.editor_title is not None:
        badges.append(Badge(text=words("title_by", by=item.editor_title.by), tone="accent"))
    is_headline = any(headline.item == item.id for headline in briefing.headlines)
    why = item.why if is_headline or item.why is None or not item.why.is_assessment else None
    return Entry(
        number=item.rank or 0,
        title=Span(text=item.shown_title, url=item.url),
        gist=format_why(why),
        gist_mark=words("assessment") if why is not None and why.is_assessment else "",
        particulars=[
            first,
            second,
            third if item.relevance and (item.why is None or item.why.text != item.relevance) else [],
        ],
        badges=badges,
        text=item.marked_summary,
        text_mark=_format_text_mark(item, words),
        links=[
            *_build_original_title(item, words),
            *_build_link_row(words("attachments"), attachments),
            *_build_related_links(item, words),
        ],
        remark=_build_remark(item.note, words),
    )


def _format_text_mark(item: BriefingItem, words: BriefingMessages) -> str:
    """Return whose words the summary is in, where it is not a model's own."""
    if item.editor_summary is not None:
        return words("summary_by_editor", by=item.editor_summary.by)
    return words("extract") if item.summary and item.summary_by is SummaryBy.EXTRACT else ""


def _build_original_title(item: BriefingItem | MoreItem, words: BriefingMessages) -> list[LinkRow]:
    """Return the title as it was published, where an editor put another one in its place."""
    if item.editor_title is None:
        return []
    return _build_link_row(words("original_title"), [Span(text=item.title, url=item.url)])


def format_why(why: Why | None) -> str:
    """Return the line on why an item matters, with the mark of what nothing could verify."""
    return "" if why is None else f"{why.text}{UNCHECKED_MARK if why.is_unchecked else ''}"


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


def _build_more_point(item: BriefingItem | MoreItem, words: BriefingMessages) -> list[Span]:
    date = item.date.isoformat() if item.date else words("undated")
    under = [
        Span(text=f"{row.label} {link.text}", url=link.url)
        for row in [*_build_original_title(item, words), *_build_related_links(item, words)]
        for link in row.links
    ]
    remark = _build_remark(item.note, words)
    notes = [Span(text=" ".join([remark.mark, *remark.paragraphs]))] if remark else []
    return [Span(text=item.shown_title, url=item.url), Span(text=date), Span(text=item.source), *under, *notes]


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
    """Return what differs: in sentences, or the clauses by what became of them; then the parts that these leave out."""
    named = [words.translate(each.message).rstrip("。.") for each in change.changes]
    covered = {PagePart.ATTACHMENT} if named else set()
    if any(each.kind in _CHANGES_OF_TEXT for each in change.changes):
        covered.add(PagePart.PARAGRAPH)
    if not named:
        named = [words(f"articles_{op}", articles=names) for op, names in change.articles.items()]
    return [*named, *(words(f"part_{part}") for part in change.parts if part not in covered)]
