"""The two ways to a page, over HTTP and drawn in the browser, and which of them one address is worth."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from selectolax.lexbor import LexborHTMLParser

from monitor.errors import BrowserMissing
from monitor.extract.encoding import decode
from monitor.extract.feeds import is_sitemap_index
from monitor.extract.parse import parse_page
from monitor.extract.redirects import find_main_frame, find_redirect, needs_browser
from monitor.fetch.result import (
    NO_BROWSER,
    SCRIPT_CHALLENGE,
    DecompressionError,
    DecompressionLimitError,
    FetchResult,
    Transport,
    decompress,
)
from monitor.i18n.message import Message
from monitor.page import Page, PageError, PageErrorCode
from monitor.urls import clean_url
from monitor.vocabulary import FetchMode, Render

_MAX_SITEMAP_BYTES = 52_428_800  # what the sitemap protocol allows
_MAY_REDIRECT = re.compile(rb"refresh|<i?frame", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedResponse:
    """A page and what its markup tells beside it.

    `html` serves to ask whether a browser would see more, and is empty where a list was found; `leads_to` is where a
    page that is only a signpost sends its readers, `frame` the frame that holds its content. A sitemap index has its
    sitemaps as candidates.
    """

    page: Page
    html: str = ""
    redirect_url: str | None = None
    frame_url: str | None = None
    is_sitemap_index: bool = False


async def parse_result(result: FetchResult) -> ParsedResponse:
    """The page in a sighting, parsed apart from the event loop: a large one takes a while."""
    if result.error is not None or result.body is None:
        return ParsedResponse(_build_error_page(result))
    return await asyncio.to_thread(_parse_body, result)


def _build_error_page(result: FetchResult) -> Page:
    """The page that says why there is none."""
    return Page(
        url=result.url,
        final_url=clean_url(result.final_url) or result.final_url,
        status=result.status,
        content_type=result.content_type,
        rendered=result.mode is FetchMode.RENDERED,
        fetched_at=result.at,
        record=result.record,
        error=result.error,
    )


def _parse_body(result: FetchResult) -> ParsedResponse:
    body, content_type = unpack_body(result)
    page = parse_page(
        body,
        url=result.url,
        final_url=clean_url(result.final_url) or result.final_url,
        status=result.status,
        content_type=content_type,
        fetched_at=result.at,
        rendered=result.mode is FetchMode.RENDERED,
    )
    page.is_cut_short = page.is_cut_short or result.is_cut_short
    page.record = result.record
    for candidate in page.candidates:
        candidate.record = result.record
    if page.error is None and is_sitemap_index(body[:3000].decode("ascii", "replace")):
        return ParsedResponse(page, is_sitemap_index=True)
    has_list = any(candidate.date is not None for candidate in page.candidates)
    if page.error or (has_list and not _MAY_REDIRECT.search(body)):
        return ParsedResponse(page)
    html = decode(body, content_type)[0]
    frame = None
    if not has_list and "frame" in html.lower():
        frame = find_main_frame(LexborHTMLParser(html), page.final_url)
    return ParsedResponse(page, html, find_redirect(html, page.final_url), frame)


def unpack_body(result: FetchResult) -> tuple[bytes, str | None]:
    """Body and content type; of a sitemap that is served as a file of its own, packed with gzip, what it holds."""
    body = result.body or b""
    if not body.startswith(b"\x1f\x8b") or not result.final_url.split("?")[0].endswith(".xml.gz"):
        return body, result.content_type
    try:
        return decompress(body, "gzip", max_bytes=_MAX_SITEMAP_BYTES), "application/xml"
    except (DecompressionLimitError, DecompressionError):
        return body, result.content_type


_MAX_SHELL_CHARS = 200
_MAX_SHELL_LINKS = 5


class FetchStrategy:
    """Asks for one address, once, and says in the page what went wrong outside.

    `Render.AUTO` tries without a browser first, except where pages beside this one were found to need it, and takes
    the browser where scripts draw the page or let only browsers in. A site that refuses a page (403), asks for a
    captcha or finds us too fast said no: a browser is not sent to ask again.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._notes: dict[str, Message] = {}

    async def fetch_page(self, address: str, render: Render) -> ParsedResponse:
        """What stands at `address`; `BrowserMissing` where it is to be drawn in any case and cannot be."""
        if render is Render.ALWAYS:
            return await self._fetch_rendered(address)
        if render is Render.NEVER:
            return await self._fetch_static(address)
        if self._transport.renders_first(address):
            drawn = await self.render_if_possible(address)
            if drawn is not None:
                return drawn
        return await self._fetch_then_render(address)

    async def render_if_possible(self, address: str) -> ParsedResponse | None:
        """The page from the browser, None where there is none that starts."""
        with suppress(BrowserMissing):
            return await self._fetch_rendered(address) if self._transport.can_render() else None
        return None

    async def fetch_document(self, address: str) -> FetchResult:
        """The document at `address`, as it came."""
        return await self._fetch(address, FetchMode.DOCUMENT)

    def add_note(self, url: str, note: Message) -> None:
        """Takes down something that the run should say about a url."""
        self._notes[url] = note

    def notes(self) -> Mapping[str, Message]:
        """What was taken down, by url."""
        return dict(self._notes)

    async def _fetch_then_render(self, address: str) -> ParsedResponse:
        static = await self._fetch_static(address)
        if static.redirect_url or not _should_render(static):
            return static
        drawn = await self.render_if_possible(address)
        if drawn is None:
            return static
        if drawn.page.error is None:
            if not static.page.is_cut_short:  # which says nothing about the pages beside it
                self._transport.mark_rendered(address)
            return drawn
        # A page that says something without its scripts is better than none with them.
        return drawn if static.page.error or _is_shell(static) else static

    async def _fetch_static(self, address: str) -> ParsedResponse:
        return await parse_result(await self._fetch(address, FetchMode.HTTP))

    async def _fetch_rendered(self, address: str) -> ParsedResponse:
        sighting = await self._fetch(address, FetchMode.RENDERED)
        if sighting.error is not None and sighting.error.detail_code == NO_BROWSER:
            raise BrowserMissing(sighting.error.message)
        drawn = await parse_result(sighting)
        return replace(drawn, page=reject_shell(drawn))

    async def _fetch(self, address: str, mode: FetchMode) -> FetchResult:
        sighting = await self._transport.fetch(address, mode)
        for url, note in sighting.notes.items():
            self._notes.setdefault(url, note)
        return sighting


def reject_shell(loaded: ParsedResponse) -> Page:
    """The page, or the error that it is an empty shell: an empty list must not look like a quiet week."""
    if loaded.page.error is not None or not _is_shell(loaded):
        return loaded.page
    error = PageError(code=PageErrorCode.WEB_BLOCKED, detail_code="empty_shell", message=Message("page.empty_shell"))
    return loaded.page.model_copy(update={"error": error})


def _should_render(static: ParsedResponse) -> bool:
    """Whether a second try in the browser is called for: scripts draw (more of) the page, or let only browsers in."""
    if static.page.error is not None:
        return static.page.error.detail_code == SCRIPT_CHALLENGE
    return static.page.is_cut_short or needs_browser(static.page, static.html)


def _is_shell(loaded: ParsedResponse) -> bool:
    """Whether there is nothing to read, and by its structure there should be; a drawn page may be short and whole."""
    page = loaded.page
    if page.candidates or len(page.text) >= _MAX_SHELL_CHARS or (page.rendered and len(page.links) >= _MAX_SHELL_LINKS):
        return False
    return needs_browser(page.model_copy(update={"rendered": False}), loaded.html)
