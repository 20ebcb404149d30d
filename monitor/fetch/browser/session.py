"""One running browser with its tabs, and Playwright's driver, whose memory grows with it."""

import asyncio
import contextlib
import ipaddress
import os
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, ProxySettings, Route, StorageState, WebSocketRoute
from playwright.async_api import Error as PlaywrightError

from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import build_browser_environment, build_start_error, find_browser, start_driver
from monitor.fetch.browser.pace import SitePace
from monitor.fetch.browser.tab import Tab, close_quietly, read_script
from monitor.fetch.guard import Guard
from monitor.fetch.proxy import GuardedProxy
from monitor.fetch.result import FetchError
from monitor.page import PageErrorCode

_BLOCKED_RESOURCE_TYPES = frozenset({"image", "media", "font"})
_CLOSE_TIMEOUT_S = 5.0
_REUSE_WINDOW_S = 0.1

BROWSER_FLAGS = (
    # Nothing but rendering.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-default-apps",
    "--disable-breakpad",
    "--mute-audio",
    # No network but the proxy: no UDP, and no name is resolved here.
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    # A script that fills its memory crashes its tab before it harms the machine.
    "--js-flags=--max-old-space-size=512",
)


def needs_route_handler(pages: PagesSettings, network: NetworkSettings) -> bool:
    """Whether the guard must see requests before our proxy does, at the price of a message to us for each of them.

    Our proxy connects to the very address that the guard checked. Behind `network.proxy`, which resolves names once
    more, and with a remote browser, which does not use our proxy, the guard is asked here as well.
    """
    return network.proxy is not None or not is_local_endpoint(pages.browser.endpoint)


def build_route_handler(guard: Guard) -> Callable[[Route], Awaitable[None]]:
    """Return a handler that aborts images, fonts and media, and what the guard refuses.

    It does not see redirects, preconnects and sockets; the guard checks those in the proxy.
    """

    async def handle_route(route: Route) -> None:
        with contextlib.suppress(PlaywrightError):  # the page may have gone meanwhile
            if route.request.resource_type in _BLOCKED_RESOURCE_TYPES:
                await route.abort("blockedbyclient")
                return
            try:
                await guard.check(route.request.url)
            except FetchError as refusal:
                is_refused = refusal.error.code is not PageErrorCode.NETWORK
                await route.abort("blockedbyclient" if is_refused else "namenotresolved")
                return
            await route.continue_()

    return handle_route


async def close_websocket(socket: WebSocketRoute) -> None:
    """No page needs a WebSocket to be read."""
    await socket.close()


class BrowserSession:
    """A running browser and its free tabs; once `is_retired`, it takes no further page."""

    def __init__(
        self,
        stack: contextlib.AsyncExitStack,
        browser: Browser,
        context: BrowserContext,
        *,
        pages: PagesSettings,
        pace: SitePace,
        blocks: bool,
    ) -> None:
        self._stack = stack
        self._browser = browser
        self._context = context
        self._max_bytes, self._max_tabs = pages.max_bytes, pages.max_concurrency
        self._pace = pace
        self._blocks = blocks
        self._free_tabs: list[Tab] = []
        self._idle_tabs: dict[Tab, asyncio.TimerHandle] = {}
        self._clearing_tasks: set[asyncio.Task[None]] = set()
        self.active_count = 0
        self.rendered_count = 0
        self.is_retired = False

    @classmethod
    async def start(
        cls,
        *,
        pages: PagesSettings,
        network: NetworkSettings,
        guard: Guard,
        proxy: GuardedProxy,
        pace: SitePace,
        state: StorageState | None = None,
    ) -> "BrowserSession":
        """Start a browser that can only connect through `proxy`; raise `BrowserMissing` if there is none.

        `state` has the cookies of a log-in, with which its pages begin.
        A remote browser cannot reach a proxy on this machine's loopback: it uses `network.proxy`, and the guard checks
        only what the route handler sees.
        """
        stack = contextlib.AsyncExitStack()
        try:
            browser = await start_browser(pages.browser, stack, flags=BROWSER_FLAGS, proxy=build_proxy_settings(proxy))
            context = await browser.new_context(
                accept_downloads=False,
                service_workers="block",
                user_agent=network.user_agent,
                proxy=build_context_proxy(pages.browser.endpoint, network, proxy),
                storage_state=state,
            )
            await context.add_init_script(read_script("outstanding.js"))
            if needs_route_handler(pages, network):
                await context.route("**/*", build_route_handler(guard))
            await context.route_web_socket("**/*", close_websocket)
        except BaseException as error:
            await stack.aclose()
            if isinstance(error, PlaywrightError):
                raise build_start_error(error.message, pages.browser) from error
            raise
        return cls(stack, browser, context, pages=pages, pace=pace, blocks=not needs_route_handler(pages, network))

    def is_dead(self) -> bool:
        return not self._browser.is_connected()

    async def acquire_tab(self, *, is_empty: bool) -> Tab:
        """Return a tab, a new one if none is free; unless `is_empty`, it may still show an idle page."""
        if self._idle_tabs and not is_empty:
            tab, timer = self._idle_tabs.popitem()
            timer.cancel()
            return tab
        if self._free_tabs:
            return self._free_tabs.pop()
        return await Tab.open(self._context, pace=self._pace, max_bytes=self._max_bytes, blocks=self._blocks)

    async def release_tab(self, tab: Tab) -> None:
        """Keep the tab for the next page.

        If that comes at once, it replaces the idle page directly, because emptying a tab costs as much as a page.
        Otherwise the tab is emptied, so that nothing of its page keeps running. A page that fails in a tab with another
        page should be tried again in an empty one.
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
        """Empty the tab; close one that cannot be emptied, and one more than are needed."""
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
        """Close a retired browser that renders no page any more."""
        if self.is_retired and self.active_count == 0:
            await self.close()

    async def close(self) -> None:
        """Stop the browser, or disconnect from a remote one."""
        self.is_retired = True
        while self._idle_tabs:
            self._idle_tabs.popitem()[1].cancel()
        for task in self._clearing_tasks:
            task.cancel()
        await asyncio.gather(*self._clearing_tasks, return_exceptions=True)
        await self._stack.aclose()


def is_local_endpoint(endpoint: str | None) -> bool:
    """Whether the browser runs on this machine, where it reaches our loopback."""
    host = urlsplit(endpoint).hostname or "" if endpoint else "localhost"
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def start_browser(
    settings: BrowserSettings,
    stack: contextlib.AsyncExitStack,
    *,
    flags: Sequence[str],
    proxy: ProxySettings | None = None,
) -> Browser:
    """Start a browser, or connect to the configured endpoint, until `stack` closes; raises `BrowserMissing`."""
    path = None if settings.endpoint else find_browser(settings)
    try:
        playwright = await stack.enter_async_context(start_driver())
    except Exception as error:  # Playwright raises no narrower one where its driver ends at once
        raise BrowserMissing("browser.driver_not_started", reason=str(error)) from error
    try:
        if settings.endpoint:
            browser = await playwright.chromium.connect_over_cdp(settings.endpoint)
        else:
            browser = await playwright.chromium.launch(
                executable_path=path,
                env=dict(build_browser_environment()),
                args=flags,
                chromium_sandbox=os.geteuid() != 0,  # Chromium refuses to start with its sandbox as root
                proxy=proxy,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
            )
    except PlaywrightError as error:
        raise build_start_error(error.message, settings, path) from error
    stack.push_async_callback(close_quietly, browser.close)
    return browser


def build_context_proxy(endpoint: str | None, network: NetworkSettings, proxy: GuardedProxy) -> ProxySettings | None:
    if endpoint is None:
        return None  # the whole browser has it
    if is_local_endpoint(endpoint):
        return build_proxy_settings(proxy)
    if network.proxy is None:
        return None
    parts = urlsplit(network.proxy)
    server = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
    return ProxySettings(server=server, username=parts.username or "", password=parts.password or "")


def build_proxy_settings(proxy: GuardedProxy) -> ProxySettings:
    # "<-loopback>" removes the browser's own exception for addresses of this machine.
    return ProxySettings(server=proxy.url, bypass="<-loopback>", username=proxy.username, password=proxy.password)
