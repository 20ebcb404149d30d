"""A briefing laid out as a document: facts, warnings, items, and at the end what could not be seen."""

from monitor.briefing.compose import Briefing, Gap, GapKind, SourceState
from monitor.briefing.wire import ItemWire
from monitor.briefing.wording import Wording, wording_for
from monitor.domain.words import DateSource, Phase, RunStatus, SummaryBy
from monitor.formats.document import (
    Badge,
    Block,
    Document,
    Entries,
    Entry,
    Facts,
    Heading,
    Listing,
    Paragraph,
    Span,
    Table,
)

_TROUBLED = (RunStatus.FAILED, RunStatus.DEGRADED, RunStatus.CANCELLED)


def as_document(briefing: Briefing) -> Document:
    """The briefing as a document in its own language, for any format that draws documents."""
    words = wording_for(briefing.language)
    since, until = briefing.period.since.isoformat(), briefing.period.until.isoformat()
    subtitle = words.one_day.format(since) if since == until else words.period.format(since, until)
    offset = f"{briefing.generated_at:%z}".removesuffix("+0000")
    colophon = [Span(text=words.generated.format(f"{briefing.generated_at:%Y-%m-%d %H:%M} UTC{offset}"))]
    if briefing.public_url:
        colophon.append(Span(text=words.online, url=briefing.public_url))
    return Document(
        title=briefing.title,
        language=words.locale,
        overline=words.overline,
        subtitle=subtitle,
        blocks=[*_head(briefing, words), *_body(briefing, words), *_end(briefing, words)],
        colophon=colophon,
    )


def _head(briefing: Briefing, words: Wording) -> list[Block]:
    troubled = [state for state in briefing.sources if _is_troubled(state)]
    facts = [
        (words.items, str(len(briefing.items) + len(briefing.more))),
        (words.sources, str(len(briefing.sources))),
        (words.troubles, str(len(troubled))),
        (words.extracts, str(briefing.extracts)),
    ]
    blocks: list[Block] = [Facts(facts=facts)]
    if troubled:
        names = words.comma.join(words.aside.format(state.name, words.statuses[state.status]) for state in troubled)
        blocks.append(Paragraph(spans=[Span(text=words.alert.format(names))], tone="warning"))
    if briefing.baselines:
        text = words.baseline_alert.format(words.comma.join(briefing.baselines))
        blocks.append(Paragraph(spans=[Span(text=text)], tone="accent"))
    return blocks


def _body(briefing: Briefing, words: Wording) -> list[Block]:
    if not briefing.items and not briefing.more:
        was_seen = any(state.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED) for state in briefing.sources)
        return [Paragraph(spans=[Span(text=words.nothing if was_seen else words.nothing_seen)])]
    reposts = set(briefing.reposts)
    entries = [
        _entry(number, item, words, is_repost=item.id in reposts) for number, item in enumerate(briefing.items, start=1)
    ]
    blocks: list[Block] = [Heading(text=words.entries), Entries(entries=entries)]
    if briefing.more:
        points = [
            [Span(text=more.title, url=more.url), Span(text=more.date.isoformat() if more.date else words.undated)]
            for more in briefing.more
        ]
        blocks.extend([Heading(text=words.more), Listing(points=points)])
    return blocks


def _entry(number: int, item: ItemWire, words: Wording, *, is_repost: bool) -> Entry:
    date = words.undated
    if item.date is not None:
        date = words.aside.format(item.date.isoformat(), words.date_sources[item.date_source])
        if item.date_conflict is not None:
            listed, stated = words.date_sources[item.date_source], words.date_sources[DateSource.PAGE]
            date = f"{listed} {item.date.isoformat()} / {stated} {item.date_conflict.isoformat()}"
    first = [Span(text=words.types[item.type]), Span(text=date)]
    first.extend([Span(text=item.source), Span(text=item.section)])
    second = [Span(text=text) for text in (item.issuer, item.document_number) if text and text != item.source]
    badges = []
    if item.late:
        badges.append(Badge(text=words.late, tone="warning"))
    if is_repost:
        badges.append(Badge(text=words.repost, tone="accent"))
    return Entry(
        number=number,
        title=Span(text=item.title, url=item.url),
        particulars=[first, second],
        badges=badges,
        text=item.summary,
        text_mark=words.extract if item.summary and item.summary_by is SummaryBy.EXTRACT else "",
        links_label=words.attachments,
        links=[Span(text=_attachment(a.title, a.type), url=a.url) for a in item.attachments],
    )


def _attachment(title: str, file_type: str) -> str:
    return f"{title} ({file_type.upper()})" if file_type and not title.lower().endswith(f".{file_type}") else title


def _end(briefing: Briefing, words: Wording) -> list[Block]:
    """State of the sources, what was not seen, how to read the marks."""
    blocks: list[Block] = []
    if briefing.sources:
        rows = [
            [state.name, words.statuses[state.status], str(state.new_items), _remarks(state, briefing, words)]
            for state in briefing.sources
        ]
        header = [words.source, words.state, words.new_items, words.remarks]
        tones = ["warning" if _is_troubled(state) else "plain" for state in briefing.sources]
        blocks.extend([Heading(text=words.source_states), Table(header=header, rows=rows, tones=tones)])
    listed = [gap for gap in briefing.gaps if gap.kind != "silent"]
    blocks.append(Heading(text=words.gaps))
    if listed:
        blocks.append(Listing(points=[_gap(gap, words) for gap in listed]))
    else:
        text = words.no_gaps if briefing.sources else words.nothing_seen
        blocks.append(Paragraph(spans=[Span(text=text)]))
    notes = [words.rank_note, words.date_note]
    if briefing.extracts:
        notes.append(words.extract_note.format(briefing.extracts))
    if briefing.without_summary:
        notes.append(words.no_summary_note.format(briefing.without_summary))
    blocks.extend([Heading(text=words.notes), Listing(points=[[Span(text=note)] for note in notes])])
    return blocks


def _remarks(state: SourceState, briefing: Briefing, words: Wording) -> str:
    remarks = [words.baseline] if state.is_baseline else []
    if state.last_error:
        remarks.append(state.last_error)
    kinds = [gap.kind for gap in briefing.gaps if gap.source == state.name]
    counted: tuple[GapKind, ...] = ("degraded", "unseen")
    remarks.extend(f"{words.gap_kinds[kind]} {kinds.count(kind)}" for kind in counted if kind in kinds)
    if "silent" in kinds:
        remarks.append(words.gap_kinds["silent"])
    return " · ".join(remarks)


def _gap(gap: Gap, words: Wording) -> list[Span]:
    phase, dot, rest = gap.detail.partition(" · ")
    is_phase = gap.kind == "degraded" and phase in words.phases
    detail = f"{words.phases[Phase(phase)]}{dot}{rest}" if is_phase else gap.detail
    label = words.gap_kinds[gap.kind]
    return [Span(text=gap.source), Span(text=label), Span(text=detail, url=gap.url)]


def _is_troubled(state: SourceState) -> bool:
    return state.status is None or state.status in _TROUBLED or bool(state.unseen)
