"""One browser from start to end, together with Playwright's driver, whose memory grows with it."""

import asyncio
import contextlib
import ipaddress
import os
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from playwright.async_api import (
    Browser,
    BrowserContext,
    Playwright,
    ProxySettings,
    Route,
    WebSocketRoute,
    async_playwright,
)
from playwright.async_api import Error as PlaywrightError

from monitor.config.model import NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser, format_start_failure
from monitor.fetch.browser.tab import Tab, close_quietly
from monitor.fetch.guard import Guard
from monitor.fetch.proxy import GuardedProxy
from monitor.fetch.result import FetchError
from monitor.page import PageErrorCode

_BLOCKED_RESOURCE_TYPES = frozenset({"image", "media", "font"})


def build_route_handler(guard: Guard, *, may_be_unresolved: bool) -> Callable[[Route], Awaitable[None]]:
    """A handler that stops pictures, fonts and media, and what the guard refuses.

    Hops of a redirect, preconnects and sockets do not come by here; those meet the guard in the proxy.
    """

    async def pass_or_stop(route: Route) -> None:
        with contextlib.suppress(PlaywrightError):  # the page may have gone meanwhile
            if route.request.resource_type in _BLOCKED_RESOURCE_TYPES:
                await route.abort("blockedbyclient")
                return
            try:
                await guard.check(route.request.url, may_be_unresolved=may_be_unresolved)
            except FetchError as refusal:
                is_refused = refusal.error.code is not PageErrorCode.NETWORK
                await route.abort("blockedbyclient" if is_refused else "namenotresolved")
                return
            await route.continue_()

    return pass_or_stop


async def close_websocket(socket: WebSocketRoute) -> None:
    """No page needs a WebSocket to be read."""
    await socket.close()


_CLOSE_TIMEOUT_S = 5.0

_REUSE_WINDOW_S = 0.1

_FLAGS = (
    # Nothing but drawing.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-default-apps",
    "--disable-breakpad",
    "--mute-audio",
    # No way out but the proxy: no UDP, and no name is looked up here.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    # A script that eats memory loses its tab before the machine loses its own.
    "--js-flags=--max-old-space-size=512",
)


class BrowserSession:
    """A running browser and its free tabs; `is_retired` once it is to take no further page."""

    def __init__(
        self, stack: contextlib.AsyncExitStack, browser: Browser, context: BrowserContext, *, pages: PagesSettings
    ) -> None:
        self._stack = stack
        self._browser = browser
        self._context = context
        self._max_bytes, self._max_tabs = pages.max_bytes, pages.max_concurrency
        self._free_tabs: list[Tab] = []
        self._idle_tabs: dict[Tab, asyncio.TimerHandle] = {}
        self._clearing_tasks: set[asyncio.Task[None]] = set()
        self.active_count = 0
        self.rendered_count = 0
        self.is_retired = False

    @classmethod
    async def start(
        cls, *, pages: PagesSettings, network: NetworkSettings, guard: Guard, proxy: GuardedProxy
    ) -> "BrowserSession":
        """A browser that knows no way out but `proxy`; `BrowserMissing` where none can be had.

        One that runs on another machine cannot reach a proxy on this one's loopback: `network.proxy` is its way, and
        the guard sees what passes through the gate.
        """
        path = None if pages.browser.endpoint else find_browser(pages.browser)
        stack = contextlib.AsyncExitStack()
        try:
            playwright = await stack.enter_async_context(async_playwright())
            browser = await _launch_browser(playwright, pages, str(path), proxy)
            stack.push_async_callback(close_quietly, browser.close)
            context = await browser.new_context(
                accept_downloads=False,
                service_workers="block",
                user_agent=network.user_agent,
                proxy=_build_context_proxy(pages.browser.endpoint, network, proxy),
            )
            await context.route("**/*", build_route_handler(guard, may_be_unresolved=network.proxy is not None))
            await context.route_web_socket("**/*", close_websocket)
        except BaseException as error:
            await stack.aclose()
            if isinstance(error, PlaywrightError):
                raise BrowserMissing(format_start_failure(error.message, path, pages.browser.endpoint)) from error
            raise
        return cls(stack, browser, context, pages=pages)

    def is_dead(self) -> bool:
        return not self._browser.is_connected()

    async def acquire_tab(self, *, is_empty: bool) -> Tab:
        """A tab, new if need be; where it need not be empty, a page may still be in it, at rest."""
        if self._idle_tabs and not is_empty:
            tab, timer = self._idle_tabs.popitem()
            timer.cancel()
            return tab
        return self._free_tabs.pop() if self._free_tabs else await Tab.open(self._context, max_bytes=self._max_bytes)

    async def release_tab(self, tab: Tab) -> None:
        """Keeps the tab for the next page.

        That page is opened over one that rests, if it comes at once: to empty the tab costs as much as another page.
        Otherwise the tab is emptied, so that nothing of its page goes on. A page that fails over another one is to be
        tried again in an empty tab.
        """
        if tab.is_idle:
            self._idle_tabs[tab] = asyncio.get_running_loop().call_later(_REUSE_WINDOW_S, self._start_clearing, tab)
        else:
            await self._clear_tab(tab)

    def _start_clearing(self, tab: Tab) -> None:
        del self._idle_tabs[tab]
        task = asyncio.ensure_future(self._clear_tab(tab))
        self._clearing_tasks.add(task)
        task.add_done_callback(self._clearing_tasks.discard)

    async def _clear_tab(self, tab: Tab) -> None:
        """A tab that cannot be emptied is closed, and one more than are needed."""
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await tab.clear()
        except (PlaywrightError, TimeoutError):
            await close_quietly(tab.close)
            return
        if len(self._free_tabs) < self._max_tabs:
            self._free_tabs.append(tab)
        else:
            await close_quietly(tab.close)

    async def close_if_done(self) -> None:
        """Stops a retired browser that draws nothing any more."""
        if self.is_retired and self.active_count == 0:
            await self.close()

    async def close(self) -> None:
        """Stops the browser, or lets go of the one that runs elsewhere."""
        self.is_retired = True
        while self._idle_tabs:
            self._idle_tabs.popitem()[1].cancel()
        for task in self._clearing_tasks:
            task.cancel()
        await asyncio.gather(*self._clearing_tasks, return_exceptions=True)
        await self._stack.aclose()


def is_local_endpoint(endpoint: str | None) -> bool:
    """Whether the browser is on this machine, where it reaches our loopback."""
    host = urlsplit(endpoint).hostname or "" if endpoint else "localhost"
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _launch_browser(playwright: Playwright, pages: PagesSettings, path: str, proxy: GuardedProxy) -> Browser:
    if pages.browser.endpoint:
        return await playwright.chromium.connect_over_cdp(pages.browser.endpoint)
    return await playwright.chromium.launch(
        executable_path=path,
        args=_FLAGS,
        chromium_sandbox=os.geteuid() != 0,  # Chromium refuses to start with its sandbox as root
        proxy=_build_proxy_settings(proxy),
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
    )


def _build_context_proxy(endpoint: str | None, network: NetworkSettings, proxy: GuardedProxy) -> ProxySettings | None:
    if endpoint is None:
        return None  # the whole browser has it
    if is_local_endpoint(endpoint):
        return _build_proxy_settings(proxy)
    if network.proxy is None:
        return None
    parts = urlsplit(network.proxy)
    server = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
    return ProxySettings(server=server, username=parts.username or "", password=parts.password or "")


def _build_proxy_settings(proxy: GuardedProxy) -> ProxySettings:
    # "<-loopback>" takes back the browser's own exception for addresses of this machine.
    return ProxySettings(server=proxy.url, bypass="<-loopback>", username=proxy.username, password=proxy.password)
