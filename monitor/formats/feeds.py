"""A feed as Atom 1.0 (RFC 4287)."""

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lxml.etree import Element, tostring

from monitor.formats.document import Span, link_target, one_line

_NAMESPACE = "http://www.w3.org/2005/Atom"
_PREFIXES: dict[Any, str] = {None: _NAMESPACE}
_XML = "http://www.w3.org/XML/1998/namespace"


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


def atom(feed: Feed) -> bytes:
    """The feed in UTF-8. Ids are made of names, so that a reader knows an entry again in every feed that holds it."""
    root = _made("feed", [_text("id", _id(feed.name)), _text("title", feed.title), _instant("updated", feed.updated)])
    root.set(f"{{{_XML}}}lang", feed.language)
    root.append(_made("author", [_text("name", feed.author)]))
    root.append(_text("generator", "Monitor"))
    if feed.subtitle:
        root.append(_text("subtitle", feed.subtitle))
    if url := link_target(feed.url):
        root.append(_made("link", rel="alternate", href=url))
    root.extend(_entry(entry) for entry in feed.entries)
    return tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)


def _entry(entry: FeedEntry) -> Any:
    made = _made("entry", [_text("id", _id(entry.name)), _text("title", entry.title)])
    made.append(_instant("updated", entry.updated))
    if entry.published is not None:
        made.append(_instant("published", entry.published))
    if url := link_target(entry.url):
        made.append(_made("link", rel="alternate", href=url))
    if entry.author:
        made.append(_made("author", [_text("name", entry.author)]))
    for category in filter(None, map(one_line, entry.categories)):
        made.append(_made("category", term=category))
    for relation, spans in (("enclosure", entry.enclosures), ("related", entry.related)):
        for span in spans:
            if url := link_target(span.url):
                made.append(_made("link", rel=relation, href=url, title=one_line(span.text)))
    # Without a link an entry must have content (RFC 4287, 4.1.1.1); a summary alone would not do.
    made.append(_text("summary" if link_target(entry.url) else "content", entry.summary))
    return made


def _made(tag: str, children: Sequence[Any] = (), /, **attributes: str) -> Any:
    made = Element(f"{{{_NAMESPACE}}}{tag}", attributes, nsmap=_PREFIXES)
    made.extend(children)
    return made


def _text(name: str, text: str) -> Any:
    made = _made(name)
    made.text = one_line(text)
    return made


def _instant(name: str, instant: dt.datetime) -> Any:
    return _text(name, instant.isoformat(timespec="seconds").replace("+00:00", "Z"))


def _id(name: str) -> str:
    return uuid.uuid5(uuid.NAMESPACE_URL, one_line(name)).urn
