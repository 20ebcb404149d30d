"""Decides whether a page is fetched over HTTP or rendered in the browser."""

from contextlib import suppress
from dataclasses import dataclass, field, replace

from monitor.errors import BrowserMissing, ExtraMissing
from monitor.extras import check_extra
from monitor.fetch.result import NO_BROWSER, SCRIPT_CHALLENGE, FetchResult, Transport
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.page import NO_HINTS, Page, PageError, PageErrorCode, PageHints
from monitor.pages.parsing import PageTask, ParsedPages, ParsedResponse, parse_result
from monitor.vocabulary import FetchMode, Render


@dataclass
class FetchStrategy:
    """Fetches one address once; what a site does wrong is the page's error.

    `Render.AUTO` tries HTTP first, except where pages of the same folder needed the browser. A site that refuses a page
    (403), asks for a captcha or says that we are too fast is not asked again with a browser.
    """

    transport: Transport
    workers: WorkerPool
    parsed: ParsedPages | None = None
    notes: dict[str, Message] = field(default_factory=dict)
    """What the run should report, by url."""

    async def fetch_page(
        self, address: str, render: Render, task: PageTask | None = None, hints: PageHints = NO_HINTS
    ) -> ParsedResponse:
        """Return the page at `address`; `BrowserMissing` if it must be rendered and there is no browser."""
        if render is Render.ALWAYS:
            return await self._fetch_rendered(address, task, hints)
        if render is Render.NEVER:
            return await self._fetch_static(address, task, hints)
        renders_first = self.transport.renders_first(address)
        if renders_first and (rendered := await self.render_if_possible(address, task, hints)) is not None:
            return rendered
        return await self._fetch_then_render(address, task, hints)

    async def render_if_possible(
        self, address: str, task: PageTask | None = None, hints: PageHints = NO_HINTS
    ) -> ParsedResponse | None:
        """Return the rendered page, or None if there is no browser that starts."""
        with suppress(BrowserMissing):
            return await self._fetch_rendered(address, task, hints) if self.transport.can_render() else None
        return None

    async def _fetch_then_render(self, address: str, task: PageTask | None, hints: PageHints) -> ParsedResponse:
        static = await self._fetch_static(address, task, hints)
        failure = static.page.error
        # Scripts render (more of) the page, or admit only browsers.
        needs = static.page.is_cut_short or static.needs_browser
        if static.redirect_url or not (failure.detail_code == SCRIPT_CHALLENGE if failure else needs):
            return static
        rendered = await self.render_if_possible(address, task, hints)
        if rendered is None:
            self._note_missing_extra(address)
            return static
        if rendered.page.error is None:
            if not static.page.is_cut_short:  # which says nothing about other pages of the folder
                self.transport.mark_rendered(address)
            return rendered
        # A page with some content without its scripts is better than an error with them.
        return rendered if static.page.error or static.is_empty_shell else static

    def _note_missing_extra(self, address: str) -> None:
        try:
            check_extra("browser")
        except ExtraMissing as missing:
            self.notes.setdefault(address, missing.message)

    async def _fetch_static(self, address: str, task: PageTask | None, hints: PageHints) -> ParsedResponse:
        result = await self.fetch(address, FetchMode.HTTP)
        return await parse_result(result, self.workers, task=task, hints=hints, parsed=self.parsed)

    async def _fetch_rendered(self, address: str, task: PageTask | None, hints: PageHints) -> ParsedResponse:
        result = await self.fetch(address, FetchMode.RENDERED)
        if result.error is not None and result.error.detail_code == NO_BROWSER:
            raise BrowserMissing(result.error.message)
        rendered = await parse_result(result, self.workers, task=task, hints=hints)
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
