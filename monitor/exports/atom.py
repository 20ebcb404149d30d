"""A feed as Atom 1.0 (RFC 4287)."""

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lxml.builder import ElementMaker
from lxml.etree import tostring

from monitor.exports.document import Span, normalize_line, sanitize_link_target

_NAMESPACE = "http://www.w3.org/2005/Atom"
_XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"
_ATOM: Any = ElementMaker(namespace=_NAMESPACE, nsmap={None: _NAMESPACE})


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """Something that was published, or a note where it has no url.

    `name` is what it is known by for ever, such as its url.
    """

    name: str
    title: str
    updated: dt.datetime
    url: str | None = None
    published: dt.datetime | None = None
    author: str = ""
    summary: str = ""
    categories: Sequence[str] = ()
    enclosures: Sequence[Span] = ()
    related: Sequence[Span] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Entries, newest first or as they are to be read; `name` tells this feed from all others.

    `url` is the page that shows the same, `self_url` where the feed itself is fetched.
    """

    name: str
    title: str
    language: str
    updated: dt.datetime
    author: str
    subtitle: str = ""
    url: str | None = None
    self_url: str | None = None
    entries: Sequence[FeedEntry] = field(default_factory=list)


def render_atom(feed: Feed) -> bytes:
    """Return the feed in UTF-8. Ids are made of names, so that a reader knows an entry again in every feed."""
    root = _ATOM.feed(
        _ATOM.id(build_feed_id(feed.name)),
        _ATOM.title(normalize_line(feed.title)),
        _ATOM.updated(format_instant(feed.updated)),
        _ATOM.author(_ATOM.name(normalize_line(feed.author))),
        _ATOM.generator("Monitor"),
    )
    root.set(f"{{{_XML_NAMESPACE}}}lang", feed.language)
    if feed.subtitle:
        root.append(_ATOM.subtitle(normalize_line(feed.subtitle)))
    if url := sanitize_link_target(feed.url):
        root.append(_ATOM.link(rel="alternate", href=url))
    if url := sanitize_link_target(feed.self_url):
        root.append(_ATOM.link(rel="self", href=url))
    root.extend(_build_entry(entry) for entry in feed.entries)
    return tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)


def _build_entry(entry: FeedEntry) -> Any:
    url = sanitize_link_target(entry.url)
    made = _ATOM.entry(
        _ATOM.id(build_feed_id(entry.name)),
        _ATOM.title(normalize_line(entry.title)),
        _ATOM.updated(format_instant(entry.updated)),
    )
    if entry.published is not None:
        made.append(_ATOM.published(format_instant(entry.published)))
    if url:
        made.append(_ATOM.link(rel="alternate", href=url))
    if entry.author:
        made.append(_ATOM.author(_ATOM.name(normalize_line(entry.author))))
    made.extend(_ATOM.category(term=category) for category in map(normalize_line, entry.categories) if category)
    for relation, spans in (("enclosure", entry.enclosures), ("related", entry.related)):
        for span in spans:
            if target := sanitize_link_target(span.url):
                made.append(_ATOM.link(rel=relation, href=target, title=normalize_line(span.text)))
    # Without a link an entry must have content (RFC 4287, 4.1.1.1); a summary alone would not do.
    made.append((_ATOM.summary if url else _ATOM.content)(normalize_line(entry.summary)))
    return made


def format_instant(instant: dt.datetime) -> str:
    return instant.isoformat(timespec="seconds").replace("+00:00", "Z")


def build_feed_id(name: str) -> str:
    """Return the id of a feed or an entry: a URN that is the same for the same name, wherever it appears."""
    return uuid.uuid5(uuid.NAMESPACE_URL, normalize_line(name)).urn
