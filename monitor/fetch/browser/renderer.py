"""Renders pages with one browser for the whole process, and prints documents as PDF.

The browser starts with the first page, its tabs are reused, and it is replaced after a number of pages, because its
memory only grows. Images, fonts and media are not loaded, except in frames of other sites.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Route, StorageState
from playwright.async_api import TimeoutError as PlaywrightTimeout

from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing, WorkFailed
from monitor.fetch.browser.launch import build_forbidden_error, find_browser, map_browser_error
from monitor.fetch.browser.pace import SitePace
from monitor.fetch.browser.session import BROWSER_FLAGS, BrowserSession, start_browser
from monitor.fetch.browser.tab import Tab, close_quietly
from monitor.fetch.guard import Guard
from monitor.fetch.proxy import GuardedProxy
from monitor.fetch.result import FetchError, Response, classify_response
from monitor.page import PageErrorCode

_MAX_ATTEMPTS = 2
_GRACE_S = 2.0
_PRINT_TIMEOUT_S = 120.0
_TRY_TIMEOUT_S = 20.0
_TRY_PAGE = "<body></body><script>document.body.textContent = ['dra', 'wn'].join('')</script>"
_PRINT_FLAGS = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")


class Renderer:
    """Renders at most `pages.max_concurrency` pages at once. Close it, or the browser keeps running.

    `state` has the cookies of a log-in, with which its browsers begin.
    """

    def __init__(
        self, *, pages: PagesSettings, network: NetworkSettings, guard: Guard, state: StorageState | None = None
    ) -> None:
        self._state = state
        self._pages = pages
        self._network = network
        self._guard = guard
        self._slots = asyncio.Semaphore(pages.max_concurrency)
        self._start_lock = asyncio.Lock()
        self._session: BrowserSession | None = None
        self._proxy: GuardedProxy | None = None
        self._pace = SitePace()

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        proxy, self._proxy = self._proxy, None
        if proxy is not None:
            await proxy.close()

    def is_available(self) -> bool:
        """Whether there is a browser; it may still fail to start."""
        if self._pages.browser.endpoint:
            return True
        try:
            find_browser(self._pages.browser)
        except BrowserMissing:
            return False
        return True

    async def render(self, url: str) -> Response:
        """Return the page's HTML in UTF-8 once it stands still, with status and headers of the last response.

        A list that shows more by scrolling or by a button is extended up to five times. Raises `FetchError` if the page
        is an error, `BrowserMissing` if no browser can be started. A browser that crashes is started once more; a
        second crash is an error of the page.
        """
        await self._guard.check(url)
        async with self._slots:
            for _ in range(_MAX_ATTEMPTS):
                async with self._use_session() as session:
                    try:
                        response = await self._render_in_tab(session, url)
                    except _BrowserCrashed:
                        session.is_retired = True
                        continue
                if error := classify_response(response.status, response.headers, response.body, response.final_url):
                    raise FetchError(error, response=response)
                return response
        raise FetchError.of(PageErrorCode.NETWORK, "page.browser_stopped", count=_MAX_ATTEMPTS)

    async def _render_in_tab(self, session: BrowserSession, url: str, *, in_empty_tab: bool = False) -> Response:
        timeout_s = self._pages.timeout_s
        tab: Tab | None = None
        replaces_another = False
        try:
            async with asyncio.timeout(timeout_s + _GRACE_S):
                tab = await session.acquire_tab(is_empty=in_empty_tab)
                replaces_another = tab.is_idle
                response = await tab.render(url, timeout_s=timeout_s)
                for hop in response.hops:
                    await self._guard.check(hop)
        except (PlaywrightError, TimeoutError, FetchError) as error:
            failure = self._map_failure(error, session, tab)
            if tab is not None:
                await close_quietly(tab.close)
            is_quick = isinstance(failure, FetchError) and failure.error.code is not PageErrorCode.TIMEOUT
            if replaces_another and is_quick:  # the page before may be to blame
                return await self._render_in_tab(session, url, in_empty_tab=True)
            raise failure from error
        except BaseException:
            if tab is not None:
                await close_quietly(tab.close)
            raise
        await session.release_tab(tab)
        return response

    def _map_failure(
        self, error: PlaywrightError | TimeoutError | FetchError, session: BrowserSession, tab: Tab | None
    ) -> "FetchError | _BrowserCrashed":
        """Return the page's error: the proxy's reason, if it has one, before the browser's."""
        if tab is not None and tab.traffic.is_over_limit:
            return FetchError.too_large(self._pages.max_bytes)
        is_dead = session.is_dead() or tab is None or tab.is_dead
        if isinstance(error, PlaywrightError) and is_dead and not isinstance(error, PlaywrightTimeout):
            return _BrowserCrashed()
        refusal = (
            self._proxy.find_failure(tab.traffic.failed_url) if self._proxy and tab and tab.traffic.failed_url else None
        )
        if refusal is not None:
            return refusal
        if isinstance(error, FetchError):
            return error
        if tab and tab.traffic.is_redirected_off_web:
            return build_forbidden_error()
        if isinstance(error, PlaywrightTimeout | TimeoutError):
            return FetchError.of(PageErrorCode.TIMEOUT, "page.not_drawn", seconds=f"{self._pages.timeout_s:g}")
        return map_browser_error(error.message)

    @contextlib.asynccontextmanager
    async def _use_session(self) -> AsyncIterator[BrowserSession]:
        async with self._start_lock:
            if self._session is not None and (self._session.is_retired or self._session.is_dead()):
                self._session.is_retired = True
                await self._session.close_if_done()
                self._session = None
            if self._session is None:
                self._session = await self._start_session()
            session = self._session
            session.active_count += 1
            session.rendered_count += 1
            session.is_retired = session.rendered_count >= self._pages.browser.recycle_after
        try:
            yield session
        finally:
            session.active_count -= 1
            await session.close_if_done()

    async def _start_session(self) -> BrowserSession:
        """Start a browser; its proxy is opened before the first one and stays open for those that follow."""
        is_first = self._proxy is None
        if self._proxy is None:
            self._proxy = await GuardedProxy.open(self._guard, self._network)
        try:
            return await BrowserSession.start(
                pages=self._pages,
                network=self._network,
                guard=self._guard,
                proxy=self._proxy,
                pace=self._pace,
                state=self._state,
            )
        except BaseException:
            if is_first:
                await self._proxy.close()
                self._proxy = None
            raise


class _BrowserCrashed(Exception):
    """The browser or the tab crashed; another attempt may succeed."""


async def print_pdf(html: bytes, settings: BrowserSettings) -> bytes:
    """Print a document as tagged PDF with bookmarks and embedded fonts, in a browser of its own.

    The document must be self-contained: nothing is loaded and no script is run. Its style sheet sets size and numbers
    of pages. Raises `BrowserMissing` if no browser can be started, `WorkFailed` if it does not print.
    """
    async with contextlib.AsyncExitStack() as stack:
        browser = await start_browser(settings, stack, flags=_PRINT_FLAGS)
        try:
            async with asyncio.timeout(_PRINT_TIMEOUT_S):
                context = await browser.new_context(java_script_enabled=False, offline=True)
                stack.push_async_callback(close_quietly, context.close)
                await context.route("**/*", _abort_route)
                tab = await context.new_page()
                await tab.set_content(html.decode(), timeout=0)
                return await tab.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
        except TimeoutError:
            raise WorkFailed("browser.print_timed_out", seconds=f"{_PRINT_TIMEOUT_S:g}") from None
        except PlaywrightError as error:
            raise WorkFailed("browser.print_failed", reason=error.message) from error


async def try_browser(settings: BrowserSettings, *, timeout_s: float = _TRY_TIMEOUT_S) -> None:
    """Draw a page that a script fills, and print it, in a browser of its own that starts as the one for pages does.

    Raises `BrowserMissing` if no browser can be started, `WorkFailed` if it draws or prints nothing or takes too long.
    """
    try:
        async with asyncio.timeout(timeout_s), contextlib.AsyncExitStack() as stack:
            browser = await start_browser(settings, stack, flags=BROWSER_FLAGS)
            context = await browser.new_context(offline=True)
            stack.push_async_callback(close_quietly, context.close)
            tab = await context.new_page()
            await tab.set_content(_TRY_PAGE, timeout=0)
            if (text := await tab.inner_text("body")) != "drawn":
                raise WorkFailed("browser.draws_nothing", reason=repr(text[:100]))
            if not (await tab.pdf()).startswith(b"%PDF-"):
                raise WorkFailed("browser.print_failed", reason="%PDF")
    except TimeoutError:
        raise WorkFailed("browser.try_timed_out", seconds=f"{timeout_s:g}") from None
    except PlaywrightError as error:
        raise WorkFailed("browser.draws_nothing", reason=error.message.partition("\n")[0]) from error


async def _abort_route(route: Route) -> None:
    await route.abort("blockedbyclient")
