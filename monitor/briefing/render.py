"""A briefing in a format, and items in one."""

import asyncio
import datetime as dt
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace

from monitor.briefing.compose import Briefing, BriefingItem, MoreItem
from monitor.briefing.editor_text import AnalystNote
from monitor.briefing.item import UNCHECKED_MARK, BriefingMessages, ItemSchema, get_briefing_messages
from monitor.briefing.layout import build_document, build_gap_spans, format_overview, format_why, list_statement_notes
from monitor.briefing.rows import build_briefing_workbook, build_field_sheet, build_item_workbook
from monitor.exports.atom import Feed, FeedEntry
from monitor.exports.data import render_csv, render_json, render_json_lines
from monitor.exports.document import Span
from monitor.exports.registry import Content, write_content
from monitor.i18n.message import Message

_FEED_AUTHOR = "Monitor"
_NEVER = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)  # an empty feed stays the same from one request to the next


def build_item_feed(items: Sequence[ItemSchema], language: str, zone: dt.tzinfo) -> Feed:
    """The items as a feed, in their order; days begin in `zone`.

    A page that several sources found is one entry, the first of them: ids are unique within a feed.
    """
    words = get_briefing_messages(language)
    first = {item.url: item for item in reversed(items)}
    return Feed(
        name="items",
        title=_get_title(language),
        language=words.locale,
        author=_FEED_AUTHOR,
        updated=max((item.first_seen for item in items), default=_NEVER),
        entries=[_build_item_entry(item, words, zone, related=()) for item in items if first[item.url] is item],
    )


def build_briefing_feed(briefing: Briefing) -> Feed:
    """All documents of the briefing, in its order, and last an entry that says what could not be seen."""
    words, zone = get_briefing_messages(briefing.language), briefing.generated_at.tzinfo or dt.UTC
    entries = [
        _append_note(
            _prepend_why(_build_item_entry(item, words, zone, _list_related_links(item)), item), item.note, words
        )
        for item in briefing.items
    ]
    entries.extend(
        _append_note(_build_more_entry(item, zone, briefing.generated_at), item.note, words) for item in briefing.more
    )
    if gaps := [gap for gap in briefing.gaps if gap.is_unseen]:
        missed = "; ".join(" · ".join(span.text for span in build_gap_spans(gap, words) if span.text) for gap in gaps)
        name = f"gaps {briefing.title} {briefing.period.since} {briefing.period.until}"
        entries.append(FeedEntry(name=name, title=words("gaps"), updated=briefing.generated_at, summary=missed))
    return Feed(
        name=f"briefing {briefing.public_url or ''} {briefing.title}",
        title=briefing.title,
        language=words.locale,
        author=_FEED_AUTHOR,
        updated=briefing.generated_at,
        url=briefing.public_url,
        entries=entries,
        subtitle=" ".join(_list_head_texts(briefing, words)),
    )


@dataclass(frozen=True, slots=True)
class BriefingFeedItem:
    """A briefing that somebody saved: its number, when it last changed, and by whom."""

    number: int
    at: dt.datetime
    by: str
    briefing: Briefing


def build_saved_briefings_feed(briefings: Sequence[BriefingFeedItem], language: str, public_url: str | None) -> Feed:
    """Saved briefings as a feed, an entry each: what was written of it by hand, the overview, and its titles."""
    words = get_briefing_messages(language)
    home = (public_url or "").rstrip("/")
    entries = []
    for saved in briefings:
        briefing = saved.briefing
        since, until = briefing.period.since, briefing.period.until
        period = since if since == until else words("period", since=since, until=until)
        titles = [f"{number}. {item.shown_title}" for number, item in enumerate(briefing.items, start=1)]
        entries.append(
            FeedEntry(
                name=f"saved briefing {home} {saved.number}",
                updated=saved.at,
                author=saved.by,
                title=f"{briefing.title} {period}",
                url=f"{home}/briefings/{saved.number}" if home else None,
                summary=" ".join([*_list_head_texts(briefing, words), *titles]),
            )
        )
    return Feed(
        name=f"saved briefings {home}",
        title=words("overline"),
        language=words.locale,
        author=_FEED_AUTHOR,
        updated=max((saved.at for saved in briefings), default=_NEVER),
        url=f"{home}/briefings" if home else None,
        entries=entries,
    )


def _list_head_texts(briefing: Briefing, words: BriefingMessages) -> list[str]:
    """Return what stands before the items: the note by hand, the overview, and how sentences were verified."""
    texts = [*_format_note(briefing.note, words), format_overview(briefing, words)]
    return [text for text in (*texts, *list_statement_notes(briefing, words)) if text]


def _prepend_why(entry: FeedEntry, item: BriefingItem) -> FeedEntry:
    return replace(entry, summary=" — ".join(filter(None, [format_why(item.why), entry.summary])))


def _append_note(entry: FeedEntry, note: AnalystNote | None, words: BriefingMessages) -> FeedEntry:
    return replace(entry, summary=" ".join([*filter(None, [entry.summary]), *_format_note(note, words)]))


def _format_note(note: AnalystNote | None, words: BriefingMessages) -> list[str]:
    return [f"{words('analyst_note', by=note.by)} {note.text}"] if note else []


def _build_item_entry(item: ItemSchema, words: BriefingMessages, zone: dt.tzinfo, related: Sequence[Span]) -> FeedEntry:
    return FeedEntry(
        name=item.url,
        title=item.shown_title if isinstance(item, BriefingItem) else item.title,
        url=item.url,
        updated=item.first_seen,
        published=_get_day_start(item.date, zone),
        author=item.issuer or item.source,
        summary=item.marked_summary if isinstance(item, BriefingItem) else _mark_summary(item, words),
        categories=[words.get_word("type", item.type)],
        enclosures=[Span(text=attachment.title, url=attachment.url) for attachment in item.attachments],
        related=related,
    )


def _mark_summary(item: ItemSchema, words: BriefingMessages) -> str:
    """Return the summary; behind it, how many of its sentences nothing could verify."""
    if item.statements is None or not item.statements.unchecked:
        return item.summary
    count = words.translate(Message.of("statements.unchecked", number=item.statements.unchecked))
    return words("aside", text=item.summary, aside=f"{UNCHECKED_MARK} {count}")


def _build_more_entry(item: MoreItem, zone: dt.tzinfo, now: dt.datetime) -> FeedEntry:
    published = _get_day_start(item.date, zone)
    return FeedEntry(
        name=item.url,
        title=item.shown_title,
        url=item.url,
        updated=published or now,
        published=published,
        author=item.source,
        related=_list_related_links(item),
    )


def _list_related_links(item: BriefingItem | MoreItem) -> list[Span]:
    again = [place for reading in item.interpretations for place in reading.places]
    return [Span(text=place.title, url=place.url) for place in (*item.interpretations, *item.places, *again)]


def _get_day_start(day: dt.date | None, zone: dt.tzinfo) -> dt.datetime | None:
    return dt.datetime.combine(day, dt.time.min, tzinfo=zone) if day else None


def _get_title(language: str) -> str:
    return "条目" if language.startswith("zh") else "Items"


def get_briefing_content(briefing: Briefing) -> Content:
    return {
        "document": lambda: build_document(briefing),
        "workbook": lambda: build_briefing_workbook(briefing),
        "sheet": lambda: build_briefing_workbook(briefing).sheets[0],
        "feed": lambda: build_briefing_feed(briefing),
        "data": lambda: briefing.model_dump(mode="json"),
    }


def get_item_content(items: Sequence[ItemSchema], *, language: str, now: dt.datetime) -> Content:
    """Return what items can be exported as; `now` carries the time zone in which instants are shown to people."""
    title, zone = _get_title(language), now.tzinfo or dt.UTC
    return {
        "sheet": lambda: build_field_sheet(items),
        "workbook": lambda: build_item_workbook(items, title, language, zone),
        "data": lambda: {"items": [item.model_dump(mode="json") for item in items]},
        "records": lambda: (item.model_dump(mode="json") for item in items),
        "feed": lambda: build_item_feed(items, language, zone),
    }


def render_briefing(briefing: Briefing, format_name: str) -> bytes:
    """Write the briefing in a format that needs no browser; errors as those of `write_content`."""
    return write_content(get_briefing_content(briefing), format_name)


def render_items(items: Sequence[ItemSchema], format_name: str, *, language: str, now: dt.datetime) -> bytes:
    """Write the items in one of `ITEM_FORMATS`; `now` carries the time zone in which instants are shown to people."""
    return write_content(get_item_content(items, language=language, now=now), format_name)


async def stream_items(batches: AsyncIterator[Sequence[ItemSchema]], format_name: str) -> AsyncIterator[bytes]:
    """Write items in one of `STREAMED_FORMATS` as they come, a part of the file for each batch."""
    write, is_first = _PART_WRITERS[format_name], True
    async for items in batches:
        yield await asyncio.to_thread(write, items, is_first)
        is_first = False
    if format_name == "json":
        yield b"\n]}\n"


def _write_rows(items: Sequence[ItemSchema], is_first: bool) -> bytes:
    return render_csv(build_field_sheet(items), has_head=is_first)


def _write_lines(items: Sequence[ItemSchema], is_first: bool) -> bytes:  # noqa: ARG001  no line depends on its place
    return render_json_lines(item.model_dump(mode="json") for item in items)


def _write_members(items: Sequence[ItemSchema], is_first: bool) -> bytes:
    members = [render_json(item.model_dump(mode="json"), indent=None).strip() for item in items]
    return (b'{"items": [\n' if is_first else b",\n" if members else b"") + b",\n".join(members)


_PART_WRITERS: dict[str, Callable[[Sequence[ItemSchema], bool], bytes]] = {
    "csv": _write_rows,
    "json": _write_members,
    "jsonl": _write_lines,
}
STREAMED_FORMATS = frozenset(_PART_WRITERS)


def build_briefing_schema() -> str:
    """What the JSON of every briefing of this version looks like, as docs/schemas/briefing.json keeps it."""
    schema = Briefing.model_json_schema(mode="serialization")
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(build_briefing_schema())
