"""Decides whether a page is fetched over HTTP or rendered in the browser, and parses the response."""

import re
from contextlib import suppress
from dataclasses import dataclass, field, replace

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
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.markup import parse_html
from monitor.page import Page, PageError, PageErrorCode
from monitor.urls import clean_url
from monitor.vocabulary import FetchMode, Render

_MAX_SITEMAP_BYTES = 52_428_800  # what the sitemap protocol allows
_MAX_SHELL_CHARS = 200
_MAX_SHELL_LINKS = 5
_MAY_REDIRECT = re.compile(rb"refresh|<i?frame", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedResponse:
    """A page and what its markup says beyond it.

    `is_empty_shell`: it has nothing to read though by its structure it should. A sitemap index has sitemaps as
    candidates.
    """

    page: Page
    needs_browser: bool = False
    is_empty_shell: bool = False
    redirect_url: str | None = None
    frame_url: str | None = None
    is_sitemap_index: bool = False


async def parse_result(result: FetchResult, workers: WorkerPool) -> ParsedResponse:
    """Parse the page in a worker; one that a worker cannot get through has an error."""
    error = result.error
    if error is None and result.body is not None:
        try:
            return await workers.run(parse_body, replace(result, notes={}))
        except IsolatedWorkFailed as failure:
            error = PageError(code=PageErrorCode.PARSE, message=failure.message)
    page = Page(
        url=result.url,
        final_url=clean_url(result.final_url) or result.final_url,
        status=result.status,
        content_type=result.content_type,
        rendered=result.mode is FetchMode.RENDERED,
        fetched_at=result.at,
        record=result.record,
        error=error,
    )
    return ParsedResponse(page)


def parse_body(result: FetchResult) -> ParsedResponse:
    """Return the page of a result with a body, and what its markup says beyond it."""
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
        frame = find_main_frame(parse_html(html), page.final_url)
    return ParsedResponse(
        page,
        needs_browser=needs_browser(page, html),
        is_empty_shell=_is_empty_shell(page, html),
        redirect_url=find_redirect(html, page.final_url),
        frame_url=frame,
    )


def _is_empty_shell(page: Page, html: str) -> bool:
    """Whether the page has nothing to read though by its structure it should; a rendered page may be short."""
    if page.candidates or len(page.text) >= _MAX_SHELL_CHARS or (page.rendered and len(page.links) >= _MAX_SHELL_LINKS):
        return False
    return needs_browser(page.model_copy(update={"rendered": False}), html)


def unpack_body(result: FetchResult) -> tuple[bytes, str | None]:
    """Return body and content type, those of the content for a gzipped sitemap file."""
    body = result.body or b""
    if not body.startswith(b"\x1f\x8b") or not result.final_url.split("?")[0].endswith(".xml.gz"):
        return body, result.content_type
    try:
        return decompress(body, "gzip", max_bytes=_MAX_SITEMAP_BYTES), "application/xml"
    except (DecompressionLimitError, DecompressionError):
        return body, result.content_type


@dataclass
class FetchStrategy:
    """Fetches one address once; what a site does wrong is the page's error.

    `Render.AUTO` tries HTTP first, except where pages of the same folder needed the browser. A site that refuses a page
    (403), asks for a captcha or says that we are too fast is not asked again with a browser.
    """

    transport: Transport
    workers: WorkerPool
    notes: dict[str, Message] = field(default_factory=dict)
    """What the run should report, by url."""

    async def fetch_page(self, address: str, render: Render) -> ParsedResponse:
        """Return the page at `address`; `BrowserMissing` if it must be rendered and there is no browser."""
        if render is Render.ALWAYS:
            return await self._fetch_rendered(address)
        if render is Render.NEVER:
            return await self._fetch_static(address)
        if self.transport.renders_first(address) and (rendered := await self.render_if_possible(address)) is not None:
            return rendered
        return await self._fetch_then_render(address)

    async def render_if_possible(self, address: str) -> ParsedResponse | None:
        """Return the rendered page, or None if there is no browser that starts."""
        with suppress(BrowserMissing):
            return await self._fetch_rendered(address) if self.transport.can_render() else None
        return None

    async def _fetch_then_render(self, address: str) -> ParsedResponse:
        static = await self._fetch_static(address)
        failure = static.page.error
        # Scripts render (more of) the page, or admit only browsers.
        needs = static.page.is_cut_short or static.needs_browser
        if static.redirect_url or not (failure.detail_code == SCRIPT_CHALLENGE if failure else needs):
            return static
        rendered = await self.render_if_possible(address)
        if rendered is None:
            return static
        if rendered.page.error is None:
            if not static.page.is_cut_short:  # which says nothing about other pages of the folder
                self.transport.mark_rendered(address)
            return rendered
        # A page with some content without its scripts is better than an error with them.
        return rendered if static.page.error or static.is_empty_shell else static

    async def _fetch_static(self, address: str) -> ParsedResponse:
        return await parse_result(await self.fetch(address, FetchMode.HTTP), self.workers)

    async def _fetch_rendered(self, address: str) -> ParsedResponse:
        result = await self.fetch(address, FetchMode.RENDERED)
        if result.error is not None and result.error.detail_code == NO_BROWSER:
            raise BrowserMissing(result.error.message)
        rendered = await parse_result(result, self.workers)
        return replace(rendered, page=reject_shell(rendered))

    async def fetch(self, address: str, mode: FetchMode) -> FetchResult:
        """Return what came of one request, and keep its notes."""
        result = await self.transport.fetch(address, mode)
        for url, note in result.notes.items():
            self.notes.setdefault(url, note)
        return result


def reject_shell(loaded: ParsedResponse) -> Page:
    """Return the page, or one with an error if it is an empty shell, which must not look like an empty list."""
    if loaded.page.error is not None or not loaded.is_empty_shell:
        return loaded.page
    error = PageError(code=PageErrorCode.WEB_BLOCKED, detail_code="empty_shell", message=Message("page.empty_shell"))
    return loaded.page.model_copy(update={"error": error})
