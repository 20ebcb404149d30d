"""A feed as JSON Feed 1.1 (https://www.jsonfeed.org/version/1.1/)."""

import json
import mimetypes
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from monitor.exports.atom import Feed, FeedEntry, build_feed_id, format_instant
from monitor.exports.document import Span, normalize_line, sanitize_link_target

_VERSION = "https://jsonfeed.org/version/1.1"
_UNKNOWN_TYPE = "application/octet-stream"  # an attachment has to have a type


def render_json_feed(feed: Feed) -> bytes:
    """Return the feed in UTF-8, with the ids that it has as Atom."""
    made = {
        "version": _VERSION,
        "title": normalize_line(feed.title),
        "home_page_url": sanitize_link_target(feed.url),
        "feed_url": sanitize_link_target(feed.self_url),
        "description": normalize_line(feed.subtitle),
        "authors": [{"name": normalize_line(feed.author)}],
        "language": feed.language,
        "items": [_build_entry(entry) for entry in feed.entries],
    }
    return json.dumps(_drop_empty(made) | {"items": made["items"]}, ensure_ascii=False, indent=1).encode()


def _build_entry(entry: FeedEntry) -> dict[str, Any]:
    made = {
        "id": build_feed_id(entry.name),
        "url": sanitize_link_target(entry.url),
        "title": normalize_line(entry.title),
        "date_published": format_instant(entry.published) if entry.published else None,
        "date_modified": format_instant(entry.updated),
        "authors": [{"name": normalize_line(entry.author)}] if entry.author else [],
        "tags": [tag for tag in map(normalize_line, entry.categories) if tag],
        "attachments": _list_attachments(entry.enclosures),
    }
    # The text is the one field of content that an entry must have, so that it stands there even where it is empty.
    return _drop_empty(made) | {"content_text": normalize_line(entry.summary)}


def _list_attachments(enclosures: Sequence[Span]) -> list[dict[str, str]]:
    targets = [(span, target) for span in enclosures if (target := sanitize_link_target(span.url))]
    return [
        {"url": target, "mime_type": _guess_type(target), "title": normalize_line(span.text)}
        for span, target in targets
    ]


def _guess_type(url: str) -> str:
    return mimetypes.guess_type(urlsplit(url).path)[0] or _UNKNOWN_TYPE


def _drop_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}
