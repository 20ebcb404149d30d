"""A briefing, or any items, as entries of a feed."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace

from monitor.briefing.closing import gap_spans
from monitor.briefing.compose import Briefing, BriefingItem, MoreItem, Note
from monitor.briefing.wire import ItemWire
from monitor.briefing.wording import Wording, wording_for
from monitor.formats.document import Span
from monitor.formats.feeds import Feed, FeedEntry

_AUTHOR = "Monitor"


def item_feed(items: Sequence[ItemWire], title: str, language: str, now: dt.datetime) -> Feed:
    """The items as a feed, in their order. `now` is said where there is none; days are the clock's that it carries."""
    words, zone = wording_for(language), now.tzinfo or dt.UTC
    return Feed(
        name="items",
        title=title,
        language=words.locale,
        author=_AUTHOR,
        updated=max((item.first_seen for item in items), default=now),
        entries=[_entry(item, words, zone, related=()) for item in items],
    )


def briefing_feed(briefing: Briefing) -> Feed:
    """All documents of the briefing, in its order, and last an entry that says what could not be seen."""
    words, zone = wording_for(briefing.language), briefing.generated_at.tzinfo or dt.UTC
    entries = [_noted(_entry(item, words, zone, _related(item)), item.note, words) for item in briefing.items]
    entries.extend(_noted(_more(item, zone, briefing.generated_at), item.note, words) for item in briefing.more)
    if gaps := [gap for gap in briefing.gaps if gap.kind != "silent"]:
        told = "; ".join(" · ".join(span.text for span in gap_spans(gap, words) if span.text) for gap in gaps)
        name = f"gaps {briefing.title} {briefing.period.since} {briefing.period.until}"
        entries.append(FeedEntry(name=name, title=words.gaps, updated=briefing.generated_at, summary=told))
    return Feed(
        name=f"briefing {briefing.public_url or ''} {briefing.title}",
        title=briefing.title,
        language=words.locale,
        author=_AUTHOR,
        updated=briefing.generated_at,
        url=briefing.public_url,
        entries=entries,
        subtitle=" ".join([*_told(briefing.note, words), *(sentence.text for sentence in briefing.overview)]),
    )


@dataclass(frozen=True, slots=True)
class KeptBriefing:
    """A briefing that somebody saved: its number, when it last changed, and by whom."""

    number: int
    at: dt.datetime
    by: str
    briefing: Briefing


def briefings_feed(kept: Sequence[KeptBriefing], language: str, now: dt.datetime, public_url: str | None) -> Feed:
    """Saved briefings as a feed, an entry each: what was written of it by hand, the overview, and its titles."""
    words = wording_for(language)
    home = (public_url or "").rstrip("/")
    entries = []
    for one in kept:
        since, until = one.briefing.period.since, one.briefing.period.until
        told = [*_told(one.briefing.note, words), *(sentence.text for sentence in one.briefing.overview)]
        titles = [f"{number}. {item.title}" for number, item in enumerate(one.briefing.items, start=1)]
        entries.append(
            FeedEntry(
                name=f"saved briefing {home} {one.number}",
                updated=one.at,
                author=one.by,
                title=f"{one.briefing.title} {since if since == until else words.period.format(since, until)}",
                url=f"{home}/briefings/{one.number}" if home else None,
                summary=" ".join([*told, *titles]),
            )
        )
    return Feed(
        name=f"saved briefings {home}",
        title=words.overline,
        language=words.locale,
        author=_AUTHOR,
        updated=max((one.at for one in kept), default=now),
        url=f"{home}/briefings" if home else None,
        entries=entries,
    )


def _noted(entry: FeedEntry, note: Note | None, words: Wording) -> FeedEntry:
    return replace(entry, summary=" ".join([*filter(None, [entry.summary]), *_told(note, words)]))


def _told(note: Note | None, words: Wording) -> list[str]:
    return [f"{words.analyst_note.format(note.by)} {note.text}"] if note else []


def _entry(item: ItemWire, words: Wording, zone: dt.tzinfo, related: Sequence[Span]) -> FeedEntry:
    return FeedEntry(
        name=item.url,
        title=item.title,
        url=item.url,
        updated=item.first_seen,
        published=_begin(item.date, zone),
        author=item.issuer or item.source,
        summary=item.summary,
        categories=[words.types[item.type]],
        enclosures=[Span(text=attachment.title, url=attachment.url) for attachment in item.attachments],
        related=related,
    )


def _more(item: MoreItem, zone: dt.tzinfo, now: dt.datetime) -> FeedEntry:
    published = _begin(item.date, zone)
    return FeedEntry(
        name=item.url,
        title=item.title,
        url=item.url,
        updated=published or now,
        published=published,
        author=item.source,
        related=_related(item),
    )


def _related(item: BriefingItem | MoreItem) -> list[Span]:
    again = [place for reading in item.interpretations for place in reading.places]
    return [Span(text=place.title, url=place.url) for place in (*item.interpretations, *item.places, *again)]


def _begin(day: dt.date | None, zone: dt.tzinfo) -> dt.datetime | None:
    return dt.datetime.combine(day, dt.time.min, tzinfo=zone) if day else None
