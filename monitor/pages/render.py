"""Pages drawn in Chromium: the only module that knows Playwright.

One browser serves the process. It is started at the first need, its tabs are used again, and it is replaced after a
number of pages, because browsers eat memory for as long as they live. Pictures, fonts and media are never loaded.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    Page,
    ProxySettings,
    Request,
    Route,
    WebSocketRoute,
    async_playwright,
)
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Response as Answer
from playwright.async_api import TimeoutError as PlaywrightTimeout

from monitor.domain.page import PageErrorCode
from monitor.errors import BrowserMissing
from monitor.net.blocks import error_of_status
from monitor.net.failure import FetchFailed, failed
from monitor.net.guard import Guard
from monitor.net.response import Response
from monitor.pages.browser import find_browser
from monitor.pages.drawing import (
    FLAGS,
    HAS_SCRIPTS,
    TEXT_LENGTH,
    UNTIL_QUIET,
    failure_of_complaint,
    too_large,
    why_not_started,
)
from monitor.settings import NetworkSettings, PagesSettings

_NEVER_LOADED = frozenset({"image", "media", "font"})
_NEVER_AWAITED = frozenset({"eventsource", "websocket", "ping", "beacon"})
_TRIES = 2
_QUIET_S = 0.25
_PATIENT_QUIET_S = 1.0
_SETTLE_S = 8.0  # a page that never rests is taken as it stands then
_CLOSE_S = 5.0
_FEW_CHARS = 200


class Renderer:
    """Draws pages, at most `pages.max_concurrency` at once. Close it, or the browser stays."""

    def __init__(self, *, pages: PagesSettings, network: NetworkSettings, guard: Guard) -> None:
        self._pages = pages
        self._network = network
        self._guard = guard
        self._slots = asyncio.Semaphore(pages.max_concurrency)
        self._starting = asyncio.Lock()
        self._session: _Session | None = None

    async def close(self) -> None:
        """Stops the browser, or lets go of the one that runs elsewhere."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

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
        """The page's HTML once its scripts have come to rest, in UTF-8, with status and headers of the last answer.

        `FetchFailed` where the page is an error, `BrowserMissing` where no browser can be started. A browser that
        dies over the page is started once more; if it dies again, that is an error of the page.
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

    async def _draw(self, session: "_Session", url: str) -> Response:
        timeout_s = self._pages.timeout_s
        tab: _Tab | None = None
        try:
            async with asyncio.timeout(timeout_s + _CLOSE_S):
                tab = await session.take_tab()
                response = await tab.draw(url, timeout_s=timeout_s, max_bytes=self._pages.max_bytes)
                for hop in response.hops:
                    await self._guard.check(hop, may_be_unresolved=self._network.proxy is not None)
        except BaseException as error:
            is_dead = session.is_dead() or tab is None or tab.is_dead
            if tab is not None:
                await _quietly(tab.close)
            if isinstance(error, PlaywrightError) and is_dead and not isinstance(error, PlaywrightTimeout):
                raise _BrowserDied from error
            if isinstance(error, PlaywrightError | TimeoutError):
                raise _failure_of(error, timeout_s) from error
            raise
        await session.give_back(tab)
        return response

    @contextlib.asynccontextmanager
    async def _session_in_use(self) -> AsyncIterator["_Session"]:
        async with self._starting:
            if self._session is not None and (self._session.is_retired or self._session.is_dead()):
                self._session.is_retired = True
                await self._session.close_if_done()
                self._session = None
            if self._session is None:
                self._session = await _Session.start(self._pages, self._network, self._guard)
            session = self._session
            session.in_use += 1
            session.drawn += 1
            session.is_retired = session.drawn >= self._pages.browser.recycle_after
        try:
            yield session
        finally:
            session.in_use -= 1
            await session.close_if_done()


class _BrowserDied(Exception):
    """The browser or the tab crashed; another one may do better."""


class _Session:
    """One browser from start to end, together with Playwright's driver, whose memory grows with it."""

    def __init__(self, stack: contextlib.AsyncExitStack, browser: Browser, context: BrowserContext) -> None:
        self._stack = stack
        self._browser = browser
        self._context = context
        self._free: list[_Tab] = []
        self.in_use = 0
        self.drawn = 0
        self.is_retired = False

    @classmethod
    async def start(cls, pages: PagesSettings, network: NetworkSettings, guard: Guard) -> "_Session":
        path = None if pages.browser.endpoint else find_browser(pages.browser)
        stack = contextlib.AsyncExitStack()
        try:
            playwright = await stack.enter_async_context(async_playwright())
            if pages.browser.endpoint:
                browser = await playwright.chromium.connect_over_cdp(pages.browser.endpoint)
            else:
                browser = await playwright.chromium.launch(
                    executable_path=path,
                    args=FLAGS,
                    chromium_sandbox=os.geteuid() != 0,  # Chromium refuses to start with its sandbox as root
                    proxy=_proxy(network.proxy),
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                )
            stack.push_async_callback(_quietly, browser.close)
            context = await browser.new_context(
                accept_downloads=False, service_workers="block", user_agent=network.user_agent
            )
            await context.route("**/*", _gate(guard, may_be_unresolved=network.proxy is not None))
            await context.route_web_socket("**/*", _refuse_socket)
        except BaseException as error:
            await stack.aclose()
            if isinstance(error, PlaywrightError):
                raise BrowserMissing(why_not_started(error.message, path, pages.browser.endpoint)) from error
            raise
        return cls(stack, browser, context)

    def is_dead(self) -> bool:
        return not self._browser.is_connected()

    async def take_tab(self) -> "_Tab":
        return self._free.pop() if self._free else _Tab(await self._context.new_page())

    async def give_back(self, tab: "_Tab") -> None:
        """Empties the tab and keeps it for the next page; one that cannot be emptied is closed."""
        try:
            async with asyncio.timeout(_CLOSE_S):
                await tab.clear()
        except (PlaywrightError, TimeoutError):
            await _quietly(tab.close)
        else:
            self._free.append(tab)

    async def close_if_done(self) -> None:
        if self.is_retired and self.in_use == 0:
            await self.close()

    async def close(self) -> None:
        self.is_retired = True
        await self._stack.aclose()


class _Tab:
    """One tab, used for page after page; it knows what the page has asked for and not got yet."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._pending: set[Request] = set()
        self._idle = asyncio.Event()
        self._main: Answer | None = None
        self.is_dead = False
        page.on("request", self._on_request)
        page.on("requestfinished", self._on_end)
        page.on("requestfailed", self._on_end)
        page.on("response", self._on_response)
        page.on("crash", self._on_crash)
        page.on("popup", _close_popup)

    async def draw(self, url: str, *, timeout_s: float, max_bytes: int) -> Response:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        self._main = None
        self._forget_requests()
        await self._page.goto(url, wait_until="domcontentloaded", timeout=timeout_s * 1000)
        self._refusetoo_large(max_bytes)
        if await self._may_change():
            await self._settle(_QUIET_S, min(deadline, loop.time() + _SETTLE_S))
            if await self._is_nearly_empty():
                await self._settle(_PATIENT_QUIET_S, min(deadline, loop.time() + _SETTLE_S))
        # The byte order mark settles the encoding, whatever the document says that it was written in.
        body = b"\xef\xbb\xbf" + (await self._page.content()).encode("utf-8", "replace")
        if len(body) > max_bytes:
            raise too_large(max_bytes)
        if urlsplit(self._page.url).scheme not in ("http", "https") or self._main is None:
            raise failed(PageErrorCode.FORBIDDEN, "The page leads to an address that is refused.")
        return Response(
            url=url,
            final_url=self._page.url,
            status=self._main.status,
            headers={**self._main.headers, "content-type": "text/html; charset=utf-8"},
            body=body,
            hops=_hops(self._main.request),
        )

    async def clear(self) -> None:
        await self._page.goto("about:blank")
        self._forget_requests()

    async def close(self) -> None:
        await self._page.close()

    async def _settle(self, quiet_s: float, deadline: float) -> None:
        """Waits until the page asks for nothing and changes nothing for `quiet_s`, but no longer than `deadline`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while True:
                    await self._idle.wait()
                    try:
                        await self._page.evaluate(UNTIL_QUIET, quiet_s * 1000)
                    except PlaywrightError:
                        # The page moved on, as script redirects and cookie walls do: the next one is waited for.
                        if self.is_dead or self._page.is_closed():
                            raise
                        await self._page.wait_for_load_state("domcontentloaded")
                        continue
                    if not self._pending:
                        return

    async def _may_change(self) -> bool:
        return bool(await self._ask(HAS_SCRIPTS, if_moving=True))

    async def _is_nearly_empty(self) -> bool:
        if self._main is None or self._main.status != 200:
            return await self._may_change()
        return bool(await self._ask(TEXT_LENGTH, if_moving=0) < _FEW_CHARS)

    async def _ask(self, script: str, *, if_moving: int) -> int:
        """A script's answer, or `if_moving` where the page was leaving for the next one and could not answer."""
        try:
            return int(await self._page.evaluate(script))
        except PlaywrightError:
            if self.is_dead or self._page.is_closed():
                raise
            return if_moving

    def _refusetoo_large(self, max_bytes: int) -> None:
        length = self._main.headers.get("content-length", "") if self._main else ""
        if length.isdigit() and int(length) > max_bytes:
            raise too_large(max_bytes)

    def _forget_requests(self) -> None:
        self._pending.clear()
        self._idle.set()

    def _on_request(self, request: Request) -> None:
        if request.resource_type not in _NEVER_AWAITED:
            self._pending.add(request)
            self._idle.clear()
        if request.redirected_from is not None:
            self._on_end(request.redirected_from)

    def _on_end(self, request: Request) -> None:
        self._pending.discard(request)
        if not self._pending:
            self._idle.set()

    def _on_response(self, answer: Answer) -> None:
        request = answer.request
        if request.is_navigation_request() and request.frame == self._page.main_frame:
            self._main = answer

    def _on_crash(self, _page: Page) -> None:
        self.is_dead = True


def _gate(guard: Guard, *, may_be_unresolved: bool) -> Callable[[Route], Awaitable[None]]:
    """What a request of the browser must pass. Hops of a redirect do not come by here; the tab reports them."""

    async def gate(route: Route) -> None:
        with contextlib.suppress(PlaywrightError):  # the page may have gone meanwhile
            if route.request.resource_type in _NEVER_LOADED:
                await route.abort("blockedbyclient")
                return
            try:
                await guard.check(route.request.url, may_be_unresolved=may_be_unresolved)
            except FetchFailed as refusal:
                is_refused = refusal.error.code is not PageErrorCode.NETWORK
                await route.abort("blockedbyclient" if is_refused else "namenotresolved")
                return
            await route.continue_()

    return gate


async def _refuse_socket(socket: WebSocketRoute) -> None:
    await socket.close()


async def _close_popup(popup: Page) -> None:
    await _quietly(popup.close)


async def _quietly(close: Callable[[], Awaitable[None]]) -> None:
    """Closes what may be dead already; a corpse that does not answer is left behind."""
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(_CLOSE_S):
            await close()


def _hops(request: Request) -> tuple[str, ...]:
    urls = [request.url]
    while request.redirected_from is not None:
        request = request.redirected_from
        urls.append(request.url)
    return tuple(reversed(urls))


def _proxy(url: str | None) -> ProxySettings | None:
    if url is None:
        return None
    parts = urlsplit(url)
    server = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
    return ProxySettings(server=server, username=parts.username or "", password=parts.password or "")


def _failure_of(error: PlaywrightError | TimeoutError, timeout_s: float) -> FetchFailed:
    if isinstance(error, PlaywrightTimeout | TimeoutError):
        return failed(PageErrorCode.TIMEOUT, f"The page was not drawn within {timeout_s:g} s.")
    return failure_of_complaint(error.message)
