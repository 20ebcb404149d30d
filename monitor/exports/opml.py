"""A list of feeds as OPML 2.0 (https://opml.org/spec2.opml), which feed readers import."""

from collections.abc import Iterable
from dataclasses import dataclass

from lxml.builder import E
from lxml.etree import tostring

from monitor.exports.document import normalize_line

OPML_MEDIA_TYPE = "text/x-opml"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpmlOutline:
    """A feed, or else something that a feed reader shows as a link."""

    title: str
    url: str
    is_feed: bool = True


def render_opml(title: str, outlines: Iterable[OpmlOutline]) -> bytes:
    head, body = E.head(E.title(normalize_line(title))), E.body(*map(_build_outline, outlines))
    root = E.opml(head, body, version="2.0")
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True))


def _build_outline(outline: OpmlOutline) -> object:
    title = normalize_line(outline.title)
    address = {"type": "rss", "xmlUrl": outline.url} if outline.is_feed else {"type": "link", "url": outline.url}
    return E.outline(text=title, title=title, **address)
