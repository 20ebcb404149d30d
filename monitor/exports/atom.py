"""A feed as Atom 1.0 (RFC 4287)."""

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lxml.etree import Element, tostring

from monitor.exports.document import Span, normalize_line, sanitize_link_target

_NAMESPACE = "http://www.w3.org/2005/Atom"
_PREFIXES: dict[Any, str] = {None: _NAMESPACE}
_XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"


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
    """Entries, newest first or as they are to be read; `name` tells this feed from all others."""

    name: str
    title: str
    language: str
    updated: dt.datetime
    author: str
    subtitle: str = ""
    url: str | None = None
    entries: Sequence[FeedEntry] = field(default_factory=list)


def render_atom(feed: Feed) -> bytes:
    """The feed in UTF-8. Ids are made of names, so that a reader knows an entry again in every feed that holds it."""
    root = _make_element(
        "feed",
        [
            _make_text_element("id", _build_id(feed.name)),
            _make_text_element("title", feed.title),
            _make_instant_element("updated", feed.updated),
        ],
    )
    root.set(f"{{{_XML_NAMESPACE}}}lang", feed.language)
    root.append(_make_element("author", [_make_text_element("name", feed.author)]))
    root.append(_make_text_element("generator", "Monitor"))
    if feed.subtitle:
        root.append(_make_text_element("subtitle", feed.subtitle))
    if url := sanitize_link_target(feed.url):
        root.append(_make_element("link", rel="alternate", href=url))
    root.extend(_build_entry(entry) for entry in feed.entries)
    return tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)


def _build_entry(entry: FeedEntry) -> Any:
    made = _make_element(
        "entry", [_make_text_element("id", _build_id(entry.name)), _make_text_element("title", entry.title)]
    )
    made.append(_make_instant_element("updated", entry.updated))
    if entry.published is not None:
        made.append(_make_instant_element("published", entry.published))
    if url := sanitize_link_target(entry.url):
        made.append(_make_element("link", rel="alternate", href=url))
    if entry.author:
        made.append(_make_element("author", [_make_text_element("name", entry.author)]))
    for category in filter(None, map(normalize_line, entry.categories)):
        made.append(_make_element("category", term=category))
    for relation, spans in (("enclosure", entry.enclosures), ("related", entry.related)):
        for span in spans:
            if url := sanitize_link_target(span.url):
                made.append(_make_element("link", rel=relation, href=url, title=normalize_line(span.text)))
    # Without a link an entry must have content (RFC 4287, 4.1.1.1); a summary alone would not do.
    made.append(_make_text_element("summary" if sanitize_link_target(entry.url) else "content", entry.summary))
    return made


def _make_element(tag: str, children: Sequence[Any] = (), /, **attributes: str) -> Any:
    made = Element(f"{{{_NAMESPACE}}}{tag}", attributes, nsmap=_PREFIXES)
    made.extend(children)
    return made


def _make_text_element(name: str, text: str) -> Any:
    made = _make_element(name)
    made.text = normalize_line(text)
    return made


def _make_instant_element(name: str, instant: dt.datetime) -> Any:
    return _make_text_element(name, instant.isoformat(timespec="seconds").replace("+00:00", "Z"))


def _build_id(name: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, normalize_line(name)).urn
