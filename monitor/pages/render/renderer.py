"""Draws pages with one browser for the whole process.

It is started at the first need, its tabs are used again, and it is replaced after a number of pages, because browsers
eat memory for as long as they live. Pictures, fonts and media are never loaded.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from monitor.domain.page import PageErrorCode
from monitor.net.blocks import error_of_status
from monitor.net.failure import FetchFailed, failed
from monitor.net.guard import Guard
from monitor.net.proxy import GuardedProxy
from monitor.net.response import Response
from monitor.net.tls import tls_context
from monitor.pages.render.complaints import failure_of_complaint, refused, too_large
from monitor.pages.render.session import Session
from monitor.pages.render.tab import Tab, quietly
from monitor.settings import NetworkSettings, PagesSettings

_TRIES = 2
_GRACE_S = 2.0


class Renderer:
    """Draws pages, at most `pages.max_concurrency` at once. Close it, or the browser stays."""

    def __init__(self, *, pages: PagesSettings, network: NetworkSettings, guard: Guard) -> None:
        self._pages = pages
        self._network = network
        self._guard = guard
        self._slots = asyncio.Semaphore(pages.max_concurrency)
        self._starting = asyncio.Lock()
        self._session: Session | None = None
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

        A list that shows more of itself by scrolling or by a button is asked for it up to five times. `FetchFailed`
        where the page is an error, `BrowserMissing` where no browser can be started. A browser that dies over the
        page is started once more; if it dies again, that is an error of the page.
        """
        await self._guard.check(url, may_be_unresolved=self._network.proxy is not None)
        async with self._slots:
            for _ in range(_TRIES):
                async with self._session_in_use() as session:
                    try:
                        response = await self._draw(session, url)
                    except _BrowserDied:
                        session.is_retired = True
                        continue
                if error := error_of_status(response.status, response.headers, response.body, response.final_url):
                    raise FetchFailed(error, response=response)
                return response
        raise failed(PageErrorCode.NETWORK, f"The browser stopped {_TRIES} times while it drew this page.")

    async def _draw(self, session: Session, url: str) -> Response:
        try:
            return await self._attempt(session, url, in_empty_tab=False)
        except _MaybeDisturbed:
            return await self._attempt(session, url, in_empty_tab=True)

    async def _attempt(self, session: Session, url: str, *, in_empty_tab: bool) -> Response:
        timeout_s = self._pages.timeout_s
        tab: Tab | None = None
        is_over_another = False
        try:
            async with asyncio.timeout(timeout_s + _GRACE_S):
                tab = await session.take_tab(is_empty=in_empty_tab)
                is_over_another = tab.is_at_rest
                response = await tab.draw(url, timeout_s=timeout_s)
                for hop in response.hops:
                    await self._guard.check(hop, may_be_unresolved=self._network.proxy is not None)
        except (PlaywrightError, TimeoutError, FetchFailed) as error:
            failure = self._failure_of(error, session, tab)
            if tab is not None:
                await quietly(tab.close)
            is_quick = isinstance(failure, FetchFailed) and failure.error.code is not PageErrorCode.TIMEOUT
            if is_over_another and is_quick:
                raise _MaybeDisturbed from error
            raise failure from error
        except BaseException:
            if tab is not None:
                await quietly(tab.close)
            raise
        await session.give_back(tab)
        return response

    def _failure_of(
        self, error: PlaywrightError | TimeoutError | FetchFailed, session: Session, tab: Tab | None
    ) -> "FetchFailed | _BrowserDied":
        """The page's error: what the way out has to say about it, before what the browser makes of that."""
        if tab is not None and tab.is_flooded:
            return too_large(self._pages.max_bytes)
        is_dead = session.is_dead() or tab is None or tab.is_dead
        if isinstance(error, PlaywrightError) and is_dead and not isinstance(error, PlaywrightTimeout):
            return _BrowserDied()
        refusal = self._proxy.failure_of(tab.failed_url) if self._proxy and tab and tab.failed_url else None
        if refusal is not None:
            return refusal
        if isinstance(error, FetchFailed):
            return error
        if tab and tab.is_sent_elsewhere:
            return refused()
        if isinstance(error, PlaywrightTimeout | TimeoutError):
            return failed(PageErrorCode.TIMEOUT, f"The page was not drawn within {self._pages.timeout_s:g} s.")
        return failure_of_complaint(error.message)

    @contextlib.asynccontextmanager
    async def _session_in_use(self) -> AsyncIterator[Session]:
        async with self._starting:
            if self._session is not None and (self._session.is_retired or self._session.is_dead()):
                self._session.is_retired = True
                await self._session.close_if_done()
                self._session = None
            if self._session is None:
                self._session = await self._start()
            session = self._session
            session.in_use += 1
            session.drawn += 1
            session.is_retired = session.drawn >= self._pages.browser.recycle_after
        try:
            yield session
        finally:
            session.in_use -= 1
            await session.close_if_done()

    async def _start(self) -> Session:
        """A new browser; the way out is opened before the first one and stays open for those that follow."""
        network, is_first = self._network, self._proxy is None
        if self._proxy is None:
            upstream = None
            if network.proxy is not None:
                from monitor.net.upstream import Upstream

                context = tls_context(ca_bundle=network.ca_bundle, allow_legacy_tls=network.allow_legacy_tls)
                upstream = Upstream(network.proxy, context=context)
            self._proxy = GuardedProxy(guard=self._guard, upstream=upstream)
            await self._proxy.start()
        try:
            return await Session.start(pages=self._pages, network=network, guard=self._guard, proxy=self._proxy)
        except BaseException:
            if is_first:
                await self._proxy.close()
                self._proxy = None
            raise


class _MaybeDisturbed(Exception):
    """A page was not drawn, perhaps because of the one that it was opened over."""


class _BrowserDied(Exception):
    """The browser or the tab crashed; another one may do better."""
