"""Draws pages with one browser for the whole process.

It is started at the first need, its tabs are used again, and it is replaced after a number of pages, because browsers
eat memory for as long as they live. Pictures, fonts and media are never loaded.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator

from playwright.async_api import Browser, Route, async_playwright
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing, WorkFailed
from monitor.fetch.browser.launch import (
    build_forbidden_error,
    build_too_large_error,
    find_browser,
    format_start_failure,
    map_browser_error,
)
from monitor.fetch.browser.session import BrowserSession
from monitor.fetch.browser.tab import Tab, close_quietly
from monitor.fetch.client import build_tls_context
from monitor.fetch.guard import Guard
from monitor.fetch.proxy import GuardedProxy
from monitor.fetch.result import FetchError, Response, build_fetch_error, classify_response
from monitor.page import PageErrorCode

_MAX_ATTEMPTS = 2

_GRACE_S = 2.0


class Renderer:
    """Draws pages, at most `pages.max_concurrency` at once. Close it, or the browser stays."""

    def __init__(self, *, pages: PagesSettings, network: NetworkSettings, guard: Guard) -> None:
        self._pages = pages
        self._network = network
        self._guard = guard
        self._slots = asyncio.Semaphore(pages.max_concurrency)
        self._start_lock = asyncio.Lock()
        self._session: BrowserSession | None = None
        self._proxy: GuardedProxy | None = None

    async def close(self) -> None:
        """Stops the browser, or lets go of the one that runs elsewhere, and closes its way out."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        proxy, self._proxy = self._proxy, None
        if proxy is not None:
            await proxy.close()

    async def render(self, url: str) -> Response:
        """The page's HTML once its scripts have come to rest, in UTF-8, with status and headers of the last answer.

        A list that shows more of itself by scrolling or by a button is asked for it up to five times. `FetchToolError`
        where the page is an error, `BrowserMissing` where no browser can be started. A browser that dies over the
        page is started once more; if it dies again, that is an error of the page.
        """
        await self._guard.check(url, may_be_unresolved=self._network.proxy is not None)
        async with self._slots:
            for _ in range(_MAX_ATTEMPTS):
                async with self._use_session() as session:
                    try:
                        response = await self._render_in_session(session, url)
                    except _BrowserCrashed:
                        session.is_retired = True
                        continue
                if error := classify_response(response.status, response.headers, response.body, response.final_url):
                    raise FetchError(error, response=response)
                return response
        raise build_fetch_error(PageErrorCode.NETWORK, "page.browser_stopped", count=_MAX_ATTEMPTS)

    async def _render_in_session(self, session: BrowserSession, url: str) -> Response:
        try:
            return await self._attempt(session, url, in_empty_tab=False)
        except _ReusedTabFailed:
            return await self._attempt(session, url, in_empty_tab=True)

    async def _attempt(self, session: BrowserSession, url: str, *, in_empty_tab: bool) -> Response:
        timeout_s = self._pages.timeout_s
        tab: Tab | None = None
        is_over_another = False
        try:
            async with asyncio.timeout(timeout_s + _GRACE_S):
                tab = await session.acquire_tab(is_empty=in_empty_tab)
                is_over_another = tab.is_idle
                response = await tab.render(url, timeout_s=timeout_s)
                for hop in response.hops:
                    await self._guard.check(hop, may_be_unresolved=self._network.proxy is not None)
        except (PlaywrightError, TimeoutError, FetchError) as error:
            failure = self._map_failure(error, session, tab)
            if tab is not None:
                await close_quietly(tab.close)
            is_quick = isinstance(failure, FetchError) and failure.error.code is not PageErrorCode.TIMEOUT
            if is_over_another and is_quick:
                raise _ReusedTabFailed from error
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
        """The page's error: what the way out has to say about it, before what the browser makes of that."""
        if tab is not None and tab.is_over_limit:
            return build_too_large_error(self._pages.max_bytes)
        is_dead = session.is_dead() or tab is None or tab.is_dead
        if isinstance(error, PlaywrightError) and is_dead and not isinstance(error, PlaywrightTimeout):
            return _BrowserCrashed()
        refusal = self._proxy.find_failure(tab.failed_url) if self._proxy and tab and tab.failed_url else None
        if refusal is not None:
            return refusal
        if isinstance(error, FetchError):
            return error
        if tab and tab.is_redirected_off_web:
            return build_forbidden_error()
        if isinstance(error, PlaywrightTimeout | TimeoutError):
            return build_fetch_error(PageErrorCode.TIMEOUT, "page.not_drawn", seconds=f"{self._pages.timeout_s:g}")
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
        """A new browser; the way out is opened before the first one and stays open for those that follow."""
        network, is_first = self._network, self._proxy is None
        if self._proxy is None:
            upstream = None
            if network.proxy is not None:
                from monitor.fetch.proxy import UpstreamProxy

                context = build_tls_context(ca_bundle=network.ca_bundle, allow_legacy_tls=network.allow_legacy_tls)
                upstream = UpstreamProxy(network.proxy, context=context)
            self._proxy = GuardedProxy(guard=self._guard, upstream=upstream)
            await self._proxy.start()
        try:
            return await BrowserSession.start(pages=self._pages, network=network, guard=self._guard, proxy=self._proxy)
        except BaseException:
            if is_first:
                await self._proxy.close()
                self._proxy = None
            raise


class _ReusedTabFailed(Exception):
    """A page was not drawn, perhaps because of the one that it was opened over."""


class _BrowserCrashed(Exception):
    """The browser or the tab crashed; another one may do better."""


class BrowserProvider:
    """Draws pages as `render.Renderer` does, which is made for the first one. Close it, or the browser stays."""

    def __init__(self, *, pages: PagesSettings, network: NetworkSettings, guard: Guard) -> None:
        self._pages = pages
        self._network = network
        self._guard = guard
        self._renderer: Renderer | None = None

    async def close(self) -> None:
        """Stops the browser, if there is one."""
        if self._renderer is not None:
            await self._renderer.close()

    def is_available(self) -> bool:
        """Whether there is a browser to draw with; it may still fail to start."""
        if self._pages.browser.endpoint:
            return True
        try:
            find_browser(self._pages.browser)
        except BrowserMissing:
            return False
        return True

    async def render(self, url: str) -> Response:
        """The page once its scripts have come to rest; errors as of `Renderer.render`."""
        if self._renderer is None:
            self._renderer = Renderer(pages=self._pages, network=self._network, guard=self._guard)
        return await self._renderer.render(url)


_TIMEOUT_S = 120.0

_FLAGS = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")


async def print_pdf(html: bytes, settings: BrowserSettings) -> bytes:
    """The document on sheets, tagged, with bookmarks and the fonts that it uses; in a browser of its own.

    It must be whole in itself: no address is asked and no script is run. Size and numbers of pages are for its style
    sheet to set. `BrowserMissing` where no browser can be started, `WorkFailed` where it does not print.
    """
    async with contextlib.AsyncExitStack() as stack:
        browser = await _start_browser(settings, stack)
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                context = await browser.new_context(java_script_enabled=False, offline=True)
                stack.push_async_callback(close_quietly, context.close)
                await context.route("**/*", _abort_route)
                tab = await context.new_page()
                await tab.set_content(html.decode(), timeout=0)
                return await tab.pdf(prefer_css_page_size=True, print_background=True, tagged=True, outline=True)
        except TimeoutError:
            raise WorkFailed(f"The browser did not print the document within {_TIMEOUT_S:g} s.") from None
        except PlaywrightError as error:
            raise WorkFailed(f"The browser could not print the document: {error.message}.") from error


async def _start_browser(settings: BrowserSettings, stack: contextlib.AsyncExitStack) -> Browser:
    path = None if settings.endpoint else find_browser(settings)
    playwright = await stack.enter_async_context(async_playwright())
    try:
        if settings.endpoint:
            browser = await playwright.chromium.connect_over_cdp(settings.endpoint)
        else:
            browser = await playwright.chromium.launch(
                executable_path=path,
                args=_FLAGS,
                chromium_sandbox=os.geteuid() != 0,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
    except PlaywrightError as error:
        raise BrowserMissing(format_start_failure(error.message, path, settings.endpoint)) from error
    stack.push_async_callback(close_quietly, browser.close)
    return browser


async def _abort_route(route: Route) -> None:
    await route.abort("blockedbyclient")
