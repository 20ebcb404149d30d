"""A page over HTTP: no browser, no scripts, a hundredth of the cost."""

import asyncio
import datetime as dt
import re
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser

from monitor.domain.page import Page
from monitor.domain.urls import clean_url
from monitor.net.decompress import Garbled, TooMuch, decompress
from monitor.net.failure import FetchFailed
from monitor.net.response import Response
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


async def seen(response: Response, *, url: str, at: dt.datetime, rendered: bool = False) -> Seen:
    """The page in a response, parsed apart from the event loop: a large one takes a while."""
    return await asyncio.to_thread(_parse, response, url, at, rendered)


def page_of_failure(url: str, failure: FetchFailed, *, at: dt.datetime, rendered: bool = False) -> Page:
    """The page that says why there is none."""
    response = failure.response
    final_url = response.final_url if response else url
    return Page(
        url=url,
        final_url=clean_url(final_url) or final_url,
        status=response.status if response else None,
        content_type=response.content_type if response else None,
        rendered=rendered,
        fetched_at=at,
        error=failure.error,
    )


def _parse(response: Response, url: str, at: dt.datetime, rendered: bool) -> Seen:
    response = _unpacked(response)
    page = parse_page(
        response.body,
        url=url,
        final_url=clean_url(response.final_url) or response.final_url,
        status=response.status,
        content_type=response.content_type,
        fetched_at=at,
        rendered=rendered,
    )
    page.is_cut_short = page.is_cut_short or response.is_cut_short
    if page.error is None and is_sitemap_index(response.body[:3000].decode("ascii", "replace")):
        return Seen(page, is_sitemap_index=True)
    has_list = any(candidate.date is not None for candidate in page.candidates)
    if page.error or (has_list and not _MAY_LEAD_ON.search(response.body)):
        return Seen(page)
    html = decode(response.body, response.content_type)[0]
    frame = None
    if not has_list and "frame" in html.lower():
        frame = main_frame(LexborHTMLParser(html), page.final_url)
    return Seen(page, html, redirect_in(html, page.final_url), frame)


def _unpacked(response: Response) -> Response:
    """A sitemap that is served as a file of its own, packed with gzip, as what it holds."""
    if not response.body.startswith(b"\x1f\x8b") or not response.final_url.split("?")[0].endswith(".xml.gz"):
        return response
    try:
        body = decompress(response.body, "gzip", max_bytes=_PACKED_MAX_BYTES)
    except (TooMuch, Garbled):
        return response
    return replace(response, body=body, headers={**response.headers, "content-type": "application/xml"})
