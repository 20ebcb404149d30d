"""A briefing laid out as a document: facts, warnings, overview, items, changes, and what could not be seen."""

import re
from collections.abc import Mapping, Sequence

from monitor.briefing.closing import closing
from monitor.briefing.compose import Briefing, BriefingItem, ChangedItem, MoreItem, Note, Place, part_of
from monitor.briefing.gaps import SourceState
from monitor.briefing.wording import Wording, wording_for
from monitor.domain.words import DateSource, RunStatus, SummaryBy
from monitor.formats.document import (
    Badge,
    Block,
    Document,
    Entries,
    Entry,
    Facts,
    Heading,
    Links,
    Listing,
    Paragraph,
    Remark,
    Span,
)


def as_document(briefing: Briefing) -> Document:
    """The briefing as a document in its own language, for any format that draws documents."""
    words = wording_for(briefing.language)
    since, until = briefing.period.since.isoformat(), briefing.period.until.isoformat()
    subtitle = words.one_day.format(since) if since == until else words.period.format(since, until)
    offset = f"{briefing.generated_at:%z}".removesuffix("+0000")
    colophon = [Span(text=words.generated.format(f"{briefing.generated_at:%Y-%m-%d %H:%M} UTC{offset}"))]
    if briefing.public_url:
        colophon.append(Span(text=words.online, url=briefing.public_url))
    parts = parts_of(briefing)
    return Document(
        title=briefing.title,
        language=words.locale,
        overline=words.overline,
        subtitle=subtitle,
        blocks=[
            *_head(briefing, words),
            *_note(briefing, words),
            *_overview(briefing, words, parts),
            *_body(briefing, words, parts),
            *_changes(briefing, words),
            *closing(briefing, words),
        ],
        colophon=colophon,
        contents=words.contents,
        written_at=briefing.generated_at,
    )


def parts_of(briefing: Briefing) -> dict[str, list[BriefingItem]]:
    """The items as they are read, under the headings of their parts; a part stands where its first item would."""
    words = wording_for(briefing.language)
    parts: dict[str, list[BriefingItem]] = {}
    for item in briefing.items:
        part = part_of(item, briefing.group)
        heading = words.themes[part] if isinstance(part, int) else part or words.entries
        parts.setdefault(heading, []).append(item)
    return parts


def _head(briefing: Briefing, words: Wording) -> list[Block]:
    troubled = [state for state in briefing.sources if state.is_troubled]
    facts = [
        (words.items, str(len(briefing.items) + len(briefing.more))),
        (words.sources, str(len(briefing.sources))),
        (words.troubles, str(len(troubled))),
        (words.extracts, str(briefing.extracts)),
    ]
    blocks: list[Block] = [Facts(facts=facts)]
    if troubled:
        names = words.comma.join(_with_status(state, words) for state in troubled)
        blocks.append(Paragraph(spans=[Span(text=words.alert.format(names))], tone="warning"))
    if briefing.baselines:
        text = words.baseline_alert.format(words.comma.join(briefing.baselines))
        blocks.append(Paragraph(spans=[Span(text=text)], tone="accent"))
    return blocks


def _note(briefing: Briefing, words: Wording) -> list[Block]:
    """What was written by hand on the whole, each paragraph of it, the first with its author."""
    remark = _remark(briefing.note, words)
    if remark is None:
        return []
    marks = [f"{remark.mark} ", *("" for _ in remark.paragraphs[1:])]
    return [
        Paragraph(spans=[Span(text=f"{mark}{text}")], tone="accent")
        for mark, text in zip(marks, remark.paragraphs, strict=True)
    ]


def _remark(note: Note | None, words: Wording) -> Remark | None:
    if note is None or not note.paragraphs:
        return None
    return Remark(mark=words.analyst_note.format(note.by), paragraphs=note.paragraphs)


def _with_status(state: SourceState, words: Wording) -> str:
    if state.status is RunStatus.SUCCEEDED:
        return state.name
    return words.aside.format(state.name, words.statuses[state.status])


def _overview(briefing: Briefing, words: Wording, parts: Mapping[str, Sequence[BriefingItem]]) -> list[Block]:
    """The sentences, each followed by the numbers under which its items stand below, as links to them."""
    if not briefing.overview:
        return []
    in_order = [item for items in parts.values() for item in items]
    places = {item.id: (number, item.url) for number, item in enumerate(in_order, start=1)}
    spans: list[Span] = []
    between = "" if words.locale.startswith("zh") else " "
    for sentence in briefing.overview:
        spans.append(Span(text=f"{between if spans else ''}{sentence.text}"))
        for number, url in sorted(places[item] for item in sentence.items if item in places):
            spans.append(Span(text=f"[{number}]", url=url, entry=number))
    return [Heading(text=words.overview), Paragraph(spans=spans)]


def _body(briefing: Briefing, words: Wording, parts: Mapping[str, Sequence[BriefingItem]]) -> list[Block]:
    if not briefing.items and not briefing.more:
        was_seen = any(state.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED) for state in briefing.sources)
        return [Paragraph(spans=[Span(text=words.nothing if was_seen else words.nothing_seen)])]
    reposts = set(briefing.reposts)
    blocks: list[Block] = []
    number = 0
    for heading, items in parts.items():
        entries = []
        for item in items:
            number += 1
            entries.append(_entry(number, item, words, is_repost=item.id in reposts))
        blocks.extend([Heading(text=heading), Entries(entries=entries)])
    if briefing.more:
        blocks.extend([Heading(text=words.more), Listing(points=[_more(item, words) for item in briefing.more])])
    return blocks


def _entry(number: int, item: BriefingItem, words: Wording, *, is_repost: bool) -> Entry:
    date = words.undated
    if item.date is not None:
        date = words.aside.format(item.date.isoformat(), words.date_sources[item.date_source])
        if item.date_conflict is not None:
            listed, stated = words.date_sources[item.date_source], words.date_sources[DateSource.PAGE]
            date = f"{listed} {item.date.isoformat()} / {stated} {item.date_conflict.isoformat()}"
    first = [Span(text=words.types[item.type]), Span(text=date)]
    first.extend([Span(text=item.source), Span(text=item.section)])
    second = [Span(text=text) for text in (item.issuer, item.document_number) if text and text != item.source]
    attachments = [Span(text=_attachment(a.title, a.type), url=a.url) for a in item.attachments]
    badges = []
    if item.late:
        badges.append(Badge(text=words.late, tone="warning"))
    if is_repost:
        badges.append(Badge(text=words.repost, tone="accent"))
    if item.moved is not None:
        badges.append(Badge(text=words.moved[item.moved], tone="accent"))
    return Entry(
        number=number,
        title=Span(text=item.title, url=item.url),
        particulars=[first, second],
        badges=badges,
        text=item.summary,
        text_mark=words.extract if item.summary and item.summary_by is SummaryBy.EXTRACT else "",
        links=[*_links(words.attachments, attachments), *_under(item, words)],
        remark=_remark(item.note, words),
    )


def _attachment(title: str, file_type: str) -> str:
    """The title with the type of the file, unless it ends with that by itself: `.pdf`, `（PDF）`."""
    is_said = not file_type or re.search(rf"[.(（\[【]{re.escape(file_type)}[)）\]】]?\s*$", title, re.IGNORECASE)
    return title if is_said else f"{title} ({file_type.upper()})"


def _place(place: Place, beside: str, words: Wording) -> Span:
    """Another item, with where it stands: its section on the source of the item beside it, else its source."""
    where = place.section if place.source == beside else place.source
    if place.date is not None:
        where = f"{where} {place.date.isoformat()}"
    return Span(text=words.aside.format(place.title, where), url=place.url)


def _under(item: BriefingItem | MoreItem, words: Wording) -> list[Links]:
    """What stands under an item: its interpretations, each with its other places, and its own other places."""
    readings: list[Span] = []
    for reading in item.interpretations:
        readings.append(_place(reading, item.source, words))
        readings.extend(Span(text=f"{words.places} {place.source}", url=place.url) for place in reading.places)
    places = [_place(place, item.source, words) for place in item.places]
    return [*_links(words.interpretations, readings), *_links(words.places, places)]


def _links(label: str, links: list[Span]) -> list[Links]:
    return [Links(label=label, links=links)] if links else []


def _more(item: MoreItem, words: Wording) -> list[Span]:
    date = item.date.isoformat() if item.date else words.undated
    under = [Span(text=f"{row.label} {link.text}", url=link.url) for row in _under(item, words) for link in row.links]
    remark = _remark(item.note, words)
    notes = [Span(text=" ".join([remark.mark, *remark.paragraphs]))] if remark else []
    return [Span(text=item.title, url=item.url), Span(text=date), Span(text=item.source), *under, *notes]


def _changes(briefing: Briefing, words: Wording) -> list[Block]:
    if not briefing.changes:
        return []
    return [Heading(text=words.changes), Listing(points=[_change(change, words) for change in briefing.changes])]


def _change(change: ChangedItem, words: Wording) -> list[Span]:
    spans = [Span(text=change.title, url=change.url), Span(text=words.change_kinds[change.kind])]
    said = [Span(text=one) for one in differences_of(change, words)]
    return [*spans, *said, Span(text=change.source), Span(text=_seen_on(change, words))]


def differences_of(change: ChangedItem, words: Wording) -> list[str]:
    """What differs: the clauses by what became of them, then the other parts."""
    said = [f"{words.ops[op]} {words.comma.join(articles)}" for op, articles in change.articles.items()]
    return [*said, *(words.parts[part] for part in change.parts)]


def _seen_on(change: ChangedItem, words: Wording) -> str:
    return words.seen_on.format(change.seen_at.date().isoformat())
