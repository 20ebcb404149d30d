"""The two ways to a page, over HTTP and drawn in the browser, and which of them one address is worth."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from monitor.domain.page import Page, PageError, PageErrorCode
from monitor.domain.sighting import NO_BROWSER, Sighting, Way
from monitor.domain.words import Render
from monitor.errors import BrowserMissing
from monitor.net.blocks import SCRIPT_COOKIE
from monitor.pages.fetch import Seen, read
from monitor.pages.shell import needs_browser
from monitor.ports import Outside

_SHELL_MAX_CHARS = 200
_SHELL_MAX_LINKS = 5


class Ways:
    """Asks for one address, once, and says in the page what went wrong outside.

    `Render.AUTO` tries without a browser first, except where pages beside this one were found to need it, and takes
    the browser where scripts draw the page or let only browsers in. A site that refuses a page (403), asks for a
    captcha or finds us too fast said no: a browser is not sent to ask again.
    """

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._notes: dict[str, str] = {}

    async def take(self, address: str, mode: Render) -> Seen:
        """What stands at `address`; `BrowserMissing` where it is to be drawn in any case and cannot be."""
        if mode is Render.ALWAYS:
            return await self._drawn(address)
        if mode is Render.NEVER:
            return await self._static(address)
        if self._outside.draws_first(address):
            drawn = await self.drawn_if_possible(address)
            if drawn is not None:
                return drawn
        return await self._static_then_drawn(address)

    async def drawn_if_possible(self, address: str) -> Seen | None:
        """The page from the browser, None where there is none that starts."""
        with suppress(BrowserMissing):
            return await self._drawn(address) if self._outside.can_draw() else None
        return None

    async def document(self, address: str) -> Sighting:
        """The document at `address`, as it came."""
        return await self._see(address, Way.DOCUMENT)

    def note(self, url: str, text: str) -> None:
        """Takes down something that the run should say about a url."""
        self._notes[url] = text

    def notes(self) -> Mapping[str, str]:
        """What was taken down, by url."""
        return dict(self._notes)

    async def _static_then_drawn(self, address: str) -> Seen:
        static = await self._static(address)
        if static.leads_to or not _wants_browser(static):
            return static
        drawn = await self.drawn_if_possible(address)
        if drawn is None:
            return static
        if drawn.page.error is None:
            if not static.page.is_cut_short:  # which says nothing about the pages beside it
                self._outside.found_drawn(address)
            return drawn
        # A page that says something without its scripts is better than none with them.
        return drawn if static.page.error or _is_shell(static) else static

    async def _static(self, address: str) -> Seen:
        return await read(await self._see(address, Way.HTTP))

    async def _drawn(self, address: str) -> Seen:
        sighting = await self._see(address, Way.DRAWN)
        if sighting.error is not None and sighting.error.detail_code == NO_BROWSER:
            raise BrowserMissing(sighting.error.message)
        drawn = await read(sighting)
        return replace(drawn, page=page_or_shell(drawn))

    async def _see(self, address: str, way: Way) -> Sighting:
        sighting = await self._outside.see(address, way)
        for url, note in sighting.notes.items():
            self._notes.setdefault(url, note)
        return sighting


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
