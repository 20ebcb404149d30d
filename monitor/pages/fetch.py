"""A page over HTTP: no browser, no scripts, a hundredth of the cost."""

import asyncio
import datetime as dt
from dataclasses import dataclass

from monitor.domain.page import Page
from monitor.domain.urls import clean_url
from monitor.net.client import HttpClient
from monitor.net.failure import FetchFailed
from monitor.net.response import Response
from monitor.pages.encoding import decode
from monitor.pages.parse import parse_page


@dataclass(frozen=True, slots=True)
class Seen:
    """A page, and the HTML that it was read from, which tells whether a browser would see more."""

    page: Page
    html: str = ""


async def fetch_page(url: str, *, client: HttpClient, at: dt.datetime, max_bytes: int, timeout_s: float) -> Seen:
    """The page at `url` as it is served, seen at the instant `at`. An error of the outside is the page's `error`."""
    try:
        response = await client.fetch(url, max_bytes=max_bytes, timeout_s=timeout_s)
        return await seen(response, url=url, at=at)
    except FetchFailed as failure:
        return Seen(page_of_failure(url, failure, at=at))


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
    page = parse_page(
        response.body,
        url=url,
        final_url=clean_url(response.final_url) or response.final_url,
        status=response.status,
        content_type=response.content_type,
        fetched_at=at,
        rendered=rendered,
    )
    html = "" if page.error else decode(response.body, response.content_type)[0]
    return Seen(page, html)
