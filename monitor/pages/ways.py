"""The two ways to a page, over HTTP and drawn in the browser, and which of them one address is worth."""

from contextlib import suppress
from dataclasses import replace

from monitor.domain.page import Page, PageError, PageErrorCode
from monitor.domain.words import Render
from monitor.errors import BrowserMissing
from monitor.net.blocks import SCRIPT_COOKIE
from monitor.net.caching import Keep
from monitor.net.client import HttpClient
from monitor.net.failure import FetchFailed
from monitor.pages.drawnfolders import DrawnFolders
from monitor.pages.fetch import Seen, page_of_failure, seen
from monitor.pages.render import Renderer
from monitor.pages.shell import needs_browser
from monitor.pages.turns import Turns
from monitor.ports import Clock
from monitor.settings import PagesSettings

_SHELL_MAX_CHARS = 200
_SHELL_MAX_LINKS = 5


class Ways:
    """Asks for one address, once, and says in the page what went wrong outside.

    `Render.AUTO` tries without a browser first, except where pages beside this one were found to need it, and takes
    the browser where scripts draw the page or let only browsers in. A site that refuses a page (403), asks for a
    captcha or finds us too fast said no: a browser is not sent to ask again.
    """

    def __init__(
        self,
        *,
        pages: PagesSettings,
        clock: Clock,
        client: HttpClient,
        renderer: Renderer,
        turns: Turns,
        drawn_folders: DrawnFolders,
    ) -> None:
        self._pages = pages
        self._clock = clock
        self._client = client
        self._renderer = renderer
        self._turns = turns
        self._drawn_folders = drawn_folders

    async def take(self, address: str, mode: Render) -> Seen:
        """What stands at `address`; `BrowserMissing` where it is to be drawn in any case and cannot be."""
        if mode is Render.ALWAYS:
            return await self._drawn(address)
        if mode is Render.NEVER:
            return await self._static(address)
        if self._drawn_folders.holds(address, self._clock.now().date()):
            drawn = await self.drawn_if_possible(address)
            if drawn is not None:
                return drawn
        return await self._static_then_drawn(address)

    async def drawn_if_possible(self, address: str) -> Seen | None:
        """The page from the browser, None where there is none that starts."""
        with suppress(BrowserMissing):
            return await self._drawn(address) if self._renderer.is_available() else None
        return None

    async def _static_then_drawn(self, address: str) -> Seen:
        static = await self._static(address)
        if static.leads_to or not _wants_browser(static):
            return static
        drawn = await self.drawn_if_possible(address)
        if drawn is None:
            return static
        if drawn.page.error is None:
            if not static.page.is_cut_short:  # which says nothing about the pages beside it
                self._drawn_folders.add(address, self._clock.now().date())
            return drawn
        # A page that says something without its scripts is better than none with them.
        return drawn if static.page.error or _is_shell(static) else static

    async def _static(self, address: str) -> Seen:
        at = self._clock.now()
        try:
            async with self._turns.turn(address):
                response = await self._client.fetch(
                    address, max_bytes=self._pages.max_bytes, timeout_s=self._pages.timeout_s, keep=Keep.ASK
                )
        except FetchFailed as failure:
            return Seen(page_of_failure(address, failure, at=at))
        return await seen(response, url=address, at=at)

    async def _drawn(self, address: str) -> Seen:
        at = self._clock.now()
        try:
            async with self._turns.turn(address):
                response = await self._renderer.render(address)
        except FetchFailed as failure:
            return Seen(page_of_failure(address, failure, at=at, rendered=True))
        drawn = await seen(response, url=address, at=at, rendered=True)
        return replace(drawn, page=page_or_shell(drawn))


def page_or_shell(loaded: Seen) -> Page:
    """The page, or the error that it is an empty shell: an empty list must not look like a quiet week."""
    if loaded.page.error is not None or not _is_shell(loaded):
        return loaded.page
    error = PageError(
        code=PageErrorCode.WEB_BLOCKED,
        detail_code="empty_shell",
        message="The page is an empty shell that its scripts did not fill.",
    )
    return loaded.page.model_copy(update={"error": error})


def _wants_browser(static: Seen) -> bool:
    """Whether a second try in the browser is called for: scripts draw (more of) the page, or let only browsers in."""
    if static.page.error is not None:
        return static.page.error.detail_code == SCRIPT_COOKIE
    return static.page.is_cut_short or needs_browser(static.page, static.html)


def _is_shell(loaded: Seen) -> bool:
    """Whether there is nothing to read, and by its structure there should be; a drawn page may be short and whole."""
    page = loaded.page
    if page.candidates or len(page.text) >= _SHELL_MAX_CHARS or (page.rendered and len(page.links) >= _SHELL_MAX_LINKS):
        return False
    return needs_browser(page.model_copy(update={"rendered": False}), loaded.html)
