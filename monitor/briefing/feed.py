"""A briefing, or any items, as entries of a feed."""

import datetime as dt
from collections.abc import Sequence

from monitor.briefing.closing import gap_spans
from monitor.briefing.compose import Briefing, BriefingItem, MoreItem
from monitor.briefing.wire import ItemWire
from monitor.briefing.wording import Wording, wording_for
from monitor.formats.document import Span
from monitor.formats.feeds import Feed, FeedEntry

_AUTHOR = "Monitor"


def item_feed(items: Sequence[ItemWire], title: str, language: str, now: dt.datetime) -> Feed:
    """The items as a feed, in their order. `now` is said where there is none; days are the clock's that it carries."""
    words, zone = wording_for(language), now.tzinfo or dt.UTC
    return Feed(
        name="items", title=title, language=words.locale, author=_AUTHOR,
        updated=max((item.first_seen for item in items), default=now),
        entries=[_entry(item, words, zone, related=()) for item in items],
    )  # fmt: skip


def briefing_feed(briefing: Briefing) -> Feed:
    """All documents of the briefing, in its order, and last an entry that says what could not be seen."""
    words, zone = wording_for(briefing.language), briefing.generated_at.tzinfo or dt.UTC
    entries = [_entry(item, words, zone, _related(item)) for item in briefing.items]
    entries.extend(_more(item, zone, briefing.generated_at) for item in briefing.more)
    if gaps := [gap for gap in briefing.gaps if gap.kind != "silent"]:
        told = "; ".join(" · ".join(span.text for span in gap_spans(gap, words) if span.text) for gap in gaps)
        name = f"gaps {briefing.title} {briefing.period.since} {briefing.period.until}"
        entries.append(FeedEntry(name=name, title=words.gaps, updated=briefing.generated_at, summary=told))
    return Feed(
        name=f"briefing {briefing.public_url or ''} {briefing.title}", title=briefing.title, language=words.locale,
        author=_AUTHOR, updated=briefing.generated_at, url=briefing.public_url, entries=entries,
        subtitle=" ".join(sentence.text for sentence in briefing.overview),
    )  # fmt: skip


def _entry(item: ItemWire, words: Wording, zone: dt.tzinfo, related: Sequence[Span]) -> FeedEntry:
    return FeedEntry(
        name=item.url, title=item.title, url=item.url, updated=item.first_seen, published=_begin(item.date, zone),
        author=item.issuer or item.source, summary=item.summary, categories=[words.types[item.type]],
        enclosures=[Span(text=one.title, url=one.url) for one in item.attachments], related=related,
    )  # fmt: skip


def _more(item: MoreItem, zone: dt.tzinfo, now: dt.datetime) -> FeedEntry:
    published = _begin(item.date, zone)
    return FeedEntry(
        name=item.url, title=item.title, url=item.url, updated=published or now, published=published,
        author=item.source, related=_related(item),
    )  # fmt: skip


def _related(item: BriefingItem | MoreItem) -> list[Span]:
    again = [place for reading in item.interpretations for place in reading.places]
    return [Span(text=place.title, url=place.url) for place in (*item.interpretations, *item.places, *again)]


def _begin(day: dt.date | None, zone: dt.tzinfo) -> dt.datetime | None:
    return dt.datetime.combine(day, dt.time.min, tzinfo=zone) if day else None
