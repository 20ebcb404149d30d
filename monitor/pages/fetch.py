"""From a sighting to the page in it, the same for what came a moment ago and for what was recorded."""

import asyncio
import re
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

from monitor.domain.page import Page
from monitor.domain.sighting import Sighting, Way
from monitor.domain.urls import clean_url
from monitor.net.decompress import Garbled, TooMuch, decompress
from monitor.pages.encoding import decode
from monitor.pages.parse import parse_page
from monitor.pages.redirects import main_frame, redirect_in
from monitor.pages.sitemaps import is_sitemap_index

_PACKED_MAX_BYTES = 52_428_800  # what the sitemap protocol allows
_MAY_LEAD_ON = re.compile(rb"refresh|<i?frame", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Seen:
    """A page and what its markup tells beside it.

    `html` serves to ask whether a browser would see more, and is empty where a list was found; `leads_to` is where a
    page that is only a signpost sends its readers, `frame` the frame that holds its content. A sitemap index has its
    sitemaps as candidates.
    """

    page: Page
    html: str = ""
    leads_to: str | None = None
    frame: str | None = None
    is_sitemap_index: bool = False


async def read(sighting: Sighting) -> Seen:
    """The page in a sighting, parsed apart from the event loop: a large one takes a while."""
    if sighting.error is not None or sighting.body is None:
        return Seen(_page_of_failure(sighting))
    return await asyncio.to_thread(_parse, sighting)


def _page_of_failure(sighting: Sighting) -> Page:
    """The page that says why there is none."""
    return Page(
        url=sighting.url,
        final_url=clean_url(sighting.final_url) or sighting.final_url,
        status=sighting.status,
        content_type=sighting.content_type,
        rendered=sighting.way is Way.DRAWN,
        fetched_at=sighting.at,
        record=sighting.record,
        error=sighting.error,
    )


def _parse(sighting: Sighting) -> Seen:
    body, content_type = unpacked(sighting)
    page = parse_page(
        body,
        url=sighting.url,
        final_url=clean_url(sighting.final_url) or sighting.final_url,
        status=sighting.status,
        content_type=content_type,
        fetched_at=sighting.at,
        rendered=sighting.way is Way.DRAWN,
    )
    page.is_cut_short = page.is_cut_short or sighting.is_cut_short
    page.record = sighting.record
    for candidate in page.candidates:
        candidate.record = sighting.record
    if page.error is None and is_sitemap_index(body[:3000].decode("ascii", "replace")):
        return Seen(page, is_sitemap_index=True)
    has_list = any(candidate.date is not None for candidate in page.candidates)
    if page.error or (has_list and not _MAY_LEAD_ON.search(body)):
        return Seen(page)
    html = decode(body, content_type)[0]
    frame = None
    if not has_list and "frame" in html.lower():
        frame = main_frame(LexborHTMLParser(html), page.final_url)
    return Seen(page, html, redirect_in(html, page.final_url), frame)


def unpacked(sighting: Sighting) -> tuple[bytes, str | None]:
    """Body and content type; of a sitemap that is served as a file of its own, packed with gzip, what it holds."""
    body = sighting.body or b""
    if not body.startswith(b"\x1f\x8b") or not sighting.final_url.split("?")[0].endswith(".xml.gz"):
        return body, sighting.content_type
    try:
        return decompress(body, "gzip", max_bytes=_PACKED_MAX_BYTES), "application/xml"
    except (TooMuch, Garbled):
        return body, sighting.content_type
