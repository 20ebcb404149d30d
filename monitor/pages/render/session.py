"""One browser from start to end, together with Playwright's driver, whose memory grows with it."""

import asyncio
import contextlib
import ipaddress
import os
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, Playwright, ProxySettings, async_playwright
from playwright.async_api import Error as PlaywrightError

from monitor.errors import BrowserMissing
from monitor.net.guard import Guard
from monitor.net.proxy import GuardedProxy
from monitor.pages.browser import find_browser
from monitor.pages.render.complaints import why_not_started
from monitor.pages.render.gate import gate, refuse_socket
from monitor.pages.render.tab import Tab, quietly
from monitor.settings import NetworkSettings, PagesSettings

_CLOSE_S = 5.0
_AT_ONCE_S = 0.1
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


class Session:
    """A running browser and its free tabs; `is_retired` once it is to take no further page."""

    def __init__(
        self, stack: contextlib.AsyncExitStack, browser: Browser, context: BrowserContext, *, pages: PagesSettings
    ) -> None:
        self._stack = stack
        self._browser = browser
        self._context = context
        self._max_bytes, self._most_tabs = pages.max_bytes, pages.max_concurrency
        self._free: list[Tab] = []
        self._left: dict[Tab, asyncio.TimerHandle] = {}
        self._emptying: set[asyncio.Task[None]] = set()
        self.in_use = 0
        self.drawn = 0
        self.is_retired = False

    @classmethod
    async def start(
        cls, *, pages: PagesSettings, network: NetworkSettings, guard: Guard, proxy: GuardedProxy
    ) -> "Session":
        """A browser that knows no way out but `proxy`; `BrowserMissing` where none can be had.

        One that runs on another machine cannot reach a proxy on this one's loopback: `network.proxy` is its way, and
        the guard sees what passes through the gate.
        """
        path = None if pages.browser.endpoint else find_browser(pages.browser)
        stack = contextlib.AsyncExitStack()
        try:
            playwright = await stack.enter_async_context(async_playwright())
            browser = await _browser(playwright, pages, str(path), proxy)
            stack.push_async_callback(quietly, browser.close)
            context = await browser.new_context(
                accept_downloads=False,
                service_workers="block",
                user_agent=network.user_agent,
                proxy=_proxy_of_context(pages.browser.endpoint, network, proxy),
            )
            await context.route("**/*", gate(guard, may_be_unresolved=network.proxy is not None))
            await context.route_web_socket("**/*", refuse_socket)
        except BaseException as error:
            await stack.aclose()
            if isinstance(error, PlaywrightError):
                raise BrowserMissing(why_not_started(error.message, path, pages.browser.endpoint)) from error
            raise
        return cls(stack, browser, context, pages=pages)

    def is_dead(self) -> bool:
        return not self._browser.is_connected()

    async def take_tab(self, *, is_empty: bool) -> Tab:
        """A tab, new if need be; where it need not be empty, a page may still be in it, at rest."""
        if self._left and not is_empty:
            tab, timer = self._left.popitem()
            timer.cancel()
            return tab
        return self._free.pop() if self._free else await Tab.open(self._context, max_bytes=self._max_bytes)

    async def give_back(self, tab: Tab) -> None:
        """Keeps the tab for the next page.

        That page is opened over one that rests, if it comes at once: to empty the tab costs as much as another page.
        Otherwise the tab is emptied, so that nothing of its page goes on. A page that fails over another one is to be
        tried again in an empty tab.
        """
        if tab.is_at_rest:
            self._left[tab] = asyncio.get_running_loop().call_later(_AT_ONCE_S, self._leave, tab)
        else:
            await self._empty(tab)

    def _leave(self, tab: Tab) -> None:
        del self._left[tab]
        task = asyncio.ensure_future(self._empty(tab))
        self._emptying.add(task)
        task.add_done_callback(self._emptying.discard)

    async def _empty(self, tab: Tab) -> None:
        """A tab that cannot be emptied is closed, and one more than are needed."""
        try:
            async with asyncio.timeout(_CLOSE_S):
                await tab.clear()
        except (PlaywrightError, TimeoutError):
            await quietly(tab.close)
            return
        if len(self._free) < self._most_tabs:
            self._free.append(tab)
        else:
            await quietly(tab.close)

    async def close_if_done(self) -> None:
        """Stops a retired browser that draws nothing any more."""
        if self.is_retired and self.in_use == 0:
            await self.close()

    async def close(self) -> None:
        """Stops the browser, or lets go of the one that runs elsewhere."""
        self.is_retired = True
        while self._left:
            self._left.popitem()[1].cancel()
        for task in self._emptying:
            task.cancel()
        await asyncio.gather(*self._emptying, return_exceptions=True)
        await self._stack.aclose()


def runs_here(endpoint: str | None) -> bool:
    """Whether the browser is on this machine, where it reaches our loopback."""
    host = urlsplit(endpoint).hostname or "" if endpoint else "localhost"
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _browser(playwright: Playwright, pages: PagesSettings, path: str, proxy: GuardedProxy) -> Browser:
    if pages.browser.endpoint:
        return await playwright.chromium.connect_over_cdp(pages.browser.endpoint)
    return await playwright.chromium.launch(
        executable_path=path,
        args=_FLAGS,
        chromium_sandbox=os.geteuid() != 0,  # Chromium refuses to start with its sandbox as root
        proxy=_our(proxy),
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
    )


def _proxy_of_context(endpoint: str | None, network: NetworkSettings, proxy: GuardedProxy) -> ProxySettings | None:
    if endpoint is None:
        return None  # the whole browser has it
    if runs_here(endpoint):
        return _our(proxy)
    if network.proxy is None:
        return None
    parts = urlsplit(network.proxy)
    server = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
    return ProxySettings(server=server, username=parts.username or "", password=parts.password or "")


def _our(proxy: GuardedProxy) -> ProxySettings:
    # "<-loopback>" takes back the browser's own exception for addresses of this machine.
    return ProxySettings(server=proxy.url, bypass="<-loopback>", username=proxy.username, password=proxy.password)
