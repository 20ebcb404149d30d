"""The end of a briefing: the state of its sources, what could not be seen, and how to read it."""

from collections.abc import Sequence

from monitor.briefing.compose import Briefing
from monitor.briefing.gaps import Gap, GapKind, SourceState
from monitor.briefing.wording import Wording
from monitor.domain.words import Phase
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
    notes.extend(words.fault_notes[fault.task].format(fault.reason) for fault in briefing.model_faults)
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
        remarks.append(state.last_error)
    kinds = [gap.kind for gap in briefing.gaps if gap.source == state.name]
    counted: tuple[GapKind, ...] = ("degraded", "unseen")
    remarks.extend(f"{words.gap_kinds[kind]} {kinds.count(kind)}" for kind in counted if kind in kinds)
    if "silent" in kinds:
        remarks.append(words.gap_kinds["silent"])
    return " · ".join(remarks)


def _gap_points(gaps: Sequence[Gap], words: Wording) -> list[list[Span]]:
    """A point for each gap; many fallbacks of one source for one reason are one point with their number."""
    alike: dict[tuple[str, str], list[Gap]] = {}
    for gap in gaps:
        phase, _, reason = _fallback(gap)
        key = (
            f"{phase} · {reason.partition(':')[0]}" if gap.kind == "degraded" else f"{gap.kind} {gap.detail} {gap.url}"
        )
        alike.setdefault((gap.source, key), []).append(gap)
    points: list[list[Span]] = []
    for same in alike.values():
        if len(same) <= _MOST_ALIKE:
            points.extend(gap_spans(gap, words) for gap in same)
            continue
        phase, where, reason = _fallback(same[0])
        detail = f"{phase} · {words.and_more.format(where, len(same))} · {reason.partition(':')[0]}"
        points.append(gap_spans(same[0].model_copy(update={"detail": detail}), words))
    return points


def _fallback(gap: Gap) -> tuple[str, str, str]:
    """Phase, place and reason of a fallback, as its detail has them."""
    phase, _, rest = gap.detail.partition(" · ")
    where, _, reason = rest.partition(" · ")
    return phase, where, reason


def gap_spans(gap: Gap, words: Wording) -> list[Span]:
    """A gap in words: source, kind, detail."""
    phase, dot, rest = gap.detail.partition(" · ")
    is_phase = gap.kind == "degraded" and phase in words.phases
    detail = f"{words.phases[Phase(phase)]}{dot}{rest}" if is_phase else gap.detail
    label = words.gap_kinds[gap.kind]
    return [Span(text=gap.source), Span(text=label), Span(text=detail, url=gap.url)]
