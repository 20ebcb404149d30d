"""The end of a briefing: the state of its sources, what could not be seen, and how to read it."""

import re
from collections.abc import Sequence

from monitor.briefing.compose import Briefing
from monitor.briefing.gaps import Gap, GapKind, SourceState
from monitor.briefing.wording import Wording
from monitor.formats.document import Block, Heading, Listing, Paragraph, Span, Table

_MOST_ALIKE = 3


def closing(briefing: Briefing, words: Wording) -> list[Block]:
    """State of the sources, what was not seen, how to read the marks."""
    blocks: list[Block] = []
    if briefing.sources:
        rows = [
            [state.name, words.statuses[state.status], str(state.new_items), remarks_on(state, briefing, words)]
            for state in briefing.sources
        ]
        header = [words.source, words.state, words.new_items, words.remarks]
        tones = ["warning" if state.is_troubled else "plain" for state in briefing.sources]
        blocks.extend([Heading(text=words.source_states), Table(header=header, rows=rows, tones=tones)])
    listed = [gap for gap in briefing.gaps if gap.kind != "silent"]
    blocks.append(Heading(text=words.gaps))
    if listed:
        blocks.append(Listing(points=_gap_points(listed, words)))
    else:
        text = words.no_gaps if briefing.sources else words.nothing_seen
        blocks.append(Paragraph(spans=[Span(text=text)]))
    if notes := [[Span(text=note)] for note in notes_on(briefing, words)]:
        blocks.extend([Heading(text=words.notes), Listing(points=notes)])
    return blocks


def notes_on(briefing: Briefing, words: Wording) -> list[str]:
    """How to read this briefing, and what its model did and did not do."""
    notes = [words.ranked_notes[briefing.ranked_by], words.rank_note, words.date_note] if briefing.items else []
    if briefing.edited_by:
        notes.append(words.edited_note.format(briefing.edited_by))
    if briefing.left_out:
        notes.append(words.left_out_note.format(briefing.left_out))
    notes.extend(words.fault_notes[fault.task].format(words.said(fault.reason)) for fault in briefing.model_faults)
    if briefing.overview:
        notes.append(words.overview_note)
    if briefing.overview_dropped:
        notes.append(words.dropped_note.format(briefing.overview_dropped))
    if briefing.extracts:
        notes.append(words.extract_note.format(briefing.extracts))
    if briefing.without_summary:
        notes.append(words.no_summary_note.format(briefing.without_summary))
    return notes


def remarks_on(state: SourceState, briefing: Briefing, words: Wording) -> str:
    """What is to be said of a source beside its state, on one line."""
    remarks = [words.baseline] if state.is_baseline else []
    if state.last_error:
        remarks.append(words.said(state.last_error))
    kinds = [gap.kind for gap in briefing.gaps if gap.source == state.name]
    counted: tuple[GapKind, ...] = ("degraded", "unseen")
    remarks.extend(f"{words.gap_kinds[kind]} {kinds.count(kind)}" for kind in counted if kind in kinds)
    if "silent" in kinds:
        remarks.append(words.gap_kinds["silent"])
    return " · ".join(remarks)


def _gap_points(gaps: Sequence[Gap], words: Wording) -> list[list[Span]]:
    """A point for each gap; many fallbacks of one source for one reason are one point with their number."""
    alike: dict[tuple[object, ...], list[Gap]] = {}
    for gap in gaps:
        what = _kind_of(gap.reason) if gap.kind == "degraded" else (gap.place, gap.reason, gap.count, gap.url)
        alike.setdefault((gap.source, gap.kind, gap.phase, what), []).append(gap)
    points: list[list[Span]] = []
    for same in alike.values():
        if len(same) <= _MOST_ALIKE:
            points.extend(gap_spans(gap, words) for gap in same)
            continue
        source, kind, _ = gap_spans(same[0], words)
        phase, reason = same[0].phase, _kind_of(words.said(same[0].reason))
        places = words.and_more.format(same[0].place, len(same))
        points.append([source, kind, Span(text=_joined(phase and words.phases[phase], places, reason))])
    return points


def _kind_of(reason: str) -> str:
    """What is common to reasons that differ in their figures only."""
    return re.split("[:：]", reason, maxsplit=1)[0]


def gap_spans(gap: Gap, words: Wording) -> list[Span]:
    """A gap in words: source, kind, detail."""
    figures = ("" if gap.count is None else str(gap.count), gap.day.isoformat() if gap.day else "")
    detail = _joined(gap.phase and words.phases[gap.phase], gap.place, words.said(gap.reason), *figures)
    return [Span(text=gap.source), Span(text=words.gap_kinds[gap.kind]), Span(text=detail, url=gap.url)]


def _joined(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)
