"""Logs in to a source as a person would: opens, fills and clicks in a browser of its own, step by step.

From the moment a secret is typed, that browser reaches no host but the source's: not by a form, a redirect, a script
or a worker, for its proxy is its only way out. Nothing that the driver says is passed on, because it quotes what was
typed.
"""

import asyncio
import contextlib
import re
from collections.abc import Collection
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator, Page, Request, StorageState

from monitor.config.model import NetworkSettings, PagesSettings
from monitor.config.secrets import get_host, get_host_and_port
from monitor.fetch.browser.session import (
    BROWSER_FLAGS,
    build_context_proxy,
    build_proxy_settings,
    close_websocket,
    is_local_endpoint,
    start_browser,
)
from monitor.fetch.browser.tab import close_quietly
from monitor.fetch.guard import Address, Guard
from monitor.fetch.log_in import LogIn, LogInFailed
from monitor.fetch.proxy import GuardedProxy
from monitor.fetch.result import FetchError
from monitor.i18n.message import Message
from monitor.log_in import LogInStep, StepKind, format_step
from monitor.page import PageErrorCode

_MAX_LOG_IN_S = 180.0
_QUIET_S = 0.4
_MAX_SETTLE_S = 10.0
_MAX_QUOTED_CHARS = 160
_IS_PASSWORD = "element => element instanceof HTMLInputElement && element.type === 'password'"  # noqa: S105
_TEXT = "() => document.body ? document.body.innerText : ''"


async def perform_log_in(
    log_in: LogIn, *, pages: PagesSettings, network: NetworkSettings, guard: Guard
) -> tuple[StorageState, frozenset[str]]:
    """Perform the steps; return the browser's cookies and storage, and the passwords that were typed.

    Raises `LogInFailed`, or `BrowserMissing` if there is no browser. A remote browser is refused: what it sends where
    cannot be held back from here.
    """
    endpoint = pages.browser.endpoint
    if not is_local_endpoint(endpoint):
        raise LogInFailed("log_in.remote_browser")
    fence = _HostFence(guard, log_in.hosts)
    async with contextlib.AsyncExitStack() as stack:
        proxy = await GuardedProxy.open(fence, network)
        stack.push_async_callback(proxy.close)
        browser = await start_browser(pages.browser, stack, flags=BROWSER_FLAGS, proxy=build_proxy_settings(proxy))
        try:
            async with asyncio.timeout(_MAX_LOG_IN_S):
                context = await browser.new_context(
                    accept_downloads=False,
                    service_workers="block",
                    user_agent=network.user_agent,
                    proxy=build_context_proxy(endpoint, network, proxy),
                )
                stack.push_async_callback(close_quietly, context.close)
                await context.route_web_socket("**/*", close_websocket)
                tab = _LogInTab(await context.new_page(), log_in, fence, proxy, timeout_s=pages.timeout_s)
                await tab.perform()
                return await context.storage_state(), frozenset(tab.passwords)
        except TimeoutError:
            raise LogInFailed("log_in.too_long", seconds=f"{_MAX_LOG_IN_S:g}") from None
        except PlaywrightError:
            raise LogInFailed("log_in.browser_stopped") from None


class _HostFence:
    """The guard of the log-in's connections; once it `is_closed`, only the source's hosts are connected to."""

    def __init__(self, guard: Guard, hosts: Collection[str]) -> None:
        self._guard = guard
        addresses = (host if "://" in host else f"https://{host}" for host in hosts)
        self._places = {get_host_and_port(address) for address in addresses}
        self.is_closed = False

    async def check_host(self, host: str, port: int) -> bool:
        self._check(host, port)
        return await self._guard.check_host(host, port)

    async def resolve(self, host: str, port: int) -> list[Address]:
        self._check(host, port)
        return await self._guard.resolve(host, port)

    def _check(self, host: str, port: int) -> None:
        name = host.strip("[]").rstrip(".").lower()
        place = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        if self.is_closed and place not in self._places:
            raise FetchError.of(PageErrorCode.FORBIDDEN, "log_in.leaves", host=place)


class _LogInTab:
    """The page in which the steps are done; `passwords` are those that were typed."""

    def __init__(self, page: Page, log_in: LogIn, fence: _HostFence, proxy: GuardedProxy, *, timeout_s: float) -> None:
        self._page = page
        self._log_in = log_in
        self._hosts = log_in.hosts
        self._fence = fence
        self._proxy = proxy
        self._timeout_ms = timeout_s * 1000
        self._settle_s = min(timeout_s, _MAX_SETTLE_S)
        self._typed: set[str] = set()
        self._asked_for: list[tuple[str, bool]] = []  # selectors of secrets, and whether they are password fields
        self._text_before = ""
        self._refused_host: str | None = None
        self._pending: set[Request] = set()
        self._news = asyncio.Event()
        self.passwords: set[str] = set()
        page.set_default_timeout(self._timeout_ms)
        page.on("request", self._on_request)
        page.on("requestfinished", self._on_end)
        page.on("requestfailed", self._on_failed)

    async def perform(self) -> None:
        """Do all steps; unless the last one waited for what shows that it worked, look whether the form is gone."""
        for step in self._log_in.steps:
            is_done = False
            with contextlib.suppress(PlaywrightError):  # its text may quote what was typed
                await self._do(step)
                is_done = True
            if not is_done:
                raise await self._explain_failure(step)
            self._check_place(step)
        if self._log_in.steps[-1].kind is not StepKind.WAIT and await self._still_asks():
            raise await self._build_refusal()

    async def _do(self, step: LogInStep) -> None:
        match step.kind:
            case StepKind.OPEN:
                await self._open(step)
            case StepKind.FILL:
                await self._fill(step)
            case StepKind.CLICK:
                self._text_before = await self._read_text()
                await self._locate(step.selector).click()
                await self._settle()
            case StepKind.WAIT if step.url:
                await self._page.wait_for_url(re.compile(re.escape(step.url)), wait_until="domcontentloaded")
            case StepKind.WAIT:
                await self._locate(step.selector).wait_for(state="visible")

    async def _open(self, step: LogInStep) -> None:
        if get_host(step.url) not in self._hosts:
            raise LogInFailed("log_in.step_leaves", step=format_step(step), host=get_host(step.url) or step.url)
        response = await self._page.goto(step.url, wait_until="domcontentloaded")
        self._check_place(step)
        if response is not None and response.status >= 400:
            raise LogInFailed("log_in.page_error", step=format_step(step), status=response.status)
        await self._settle()

    async def _fill(self, step: LogInStep) -> None:
        """Type into a field of the source's own page; a secret after all other hosts are shut out."""
        field = self._locate(step.selector)
        await field.wait_for(state="visible")
        is_password = await field.evaluate(_IS_PASSWORD) is True
        if not step.secret:
            if is_password:
                raise LogInFailed("log_in.plain_password", step=format_step(step))
            await field.fill(step.value)
            return
        if not self._fence.is_closed:
            self._fence.is_closed = True
            await self._proxy.disconnect_all()
        self._check_place(step)
        host = get_host(_strip(self._page.url))
        value = self._log_in.secrets.get(step.secret, host)
        if value is None:
            problem = self._log_in.secrets.describe_problem(step.secret, host)
            raise LogInFailed(problem or Message.of("log_in.no_secret", name=step.secret))
        self._typed.add(value)
        if is_password:
            self.passwords.add(value)
        self._asked_for.append((step.selector, is_password))
        await field.fill(value)

    def _locate(self, selector: str) -> Locator:
        """Return the first element, in the page itself and in none of its frames."""
        return self._page.locator(f"css={selector}").first

    def _check_place(self, step: LogInStep) -> None:
        """Raise `LogInFailed` if the page is not one of the source, or was to be sent elsewhere."""
        host = get_host(_strip(self._page.url))
        if host in self._hosts:
            return
        left_for = self._refused_host or host
        if left_for is None:
            raise LogInFailed("log_in.no_page", step=format_step(step))
        raise LogInFailed("log_in.step_leaves", step=format_step(step), host=left_for)

    async def _explain_failure(self, step: LogInStep) -> LogInFailed:
        if self._refused_host is not None:
            return LogInFailed("log_in.step_leaves", step=format_step(step), host=self._refused_host)
        if step.kind is StepKind.OPEN:
            failure = self._proxy.find_failure(step.url)
            return LogInFailed("log_in.not_opened", step=format_step(step), reason=failure and failure.message)
        if step.kind is StepKind.WAIT and self._text_before and await self._still_asks():
            return await self._build_refusal()
        seconds = f"{self._timeout_ms / 1000:g}"
        return LogInFailed("log_in.step_failed", step=format_step(step), seconds=seconds)

    async def _still_asks(self) -> bool:
        """Whether a field that a secret was typed into is still there, the password's if there is one."""
        has_password = any(is_password for _, is_password in self._asked_for)
        for selector, is_password in self._asked_for:
            if is_password == has_password:
                with contextlib.suppress(PlaywrightError):
                    if await self._locate(selector).is_visible():
                        return True
        return False

    async def _build_refusal(self) -> LogInFailed:
        """Say that the form is still there, in the words that its page shows since the last click."""
        if self._refused_host is not None:
            return LogInFailed("log_in.leaves", host=self._refused_host)
        before = set(self._text_before.splitlines())
        news = (" ".join(line.split()) for line in (await self._read_text()).splitlines() if line not in before)
        words = next((line for line in news if line), "")
        for value in sorted(self._typed, key=len, reverse=True):
            words = words.replace(value, "***")
        if not words:
            return LogInFailed("log_in.form_still_there")
        return LogInFailed("log_in.refused", words=words[:_MAX_QUOTED_CHARS])

    async def _read_text(self) -> str:
        with contextlib.suppress(PlaywrightError):  # it is being replaced by another page
            return str(await self._page.evaluate(_TEXT))
        return ""

    async def _settle(self) -> None:
        """Wait until nothing has been requested for a while, and no answer is awaited."""
        loop = asyncio.get_running_loop()
        until = loop.time() + self._settle_s
        while loop.time() < until:
            self._news.clear()
            try:
                async with asyncio.timeout_at(until if self._pending else min(until, loop.time() + _QUIET_S)):
                    await self._news.wait()
            except TimeoutError:
                break
        with contextlib.suppress(PlaywrightError):
            await self._page.wait_for_load_state("domcontentloaded")

    def _on_request(self, request: Request) -> None:
        self._pending.add(request)
        self._news.set()

    def _on_end(self, request: Request) -> None:
        self._pending.discard(request)
        self._news.set()

    def _on_failed(self, request: Request) -> None:
        """Note where the page was to be led or something to be sent, if that is no host of the source."""
        self._on_end(request)
        host = get_host(_strip(request.url))
        is_sending = request.is_navigation_request() or request.method != "GET"
        if is_sending and self._fence.is_closed and host not in self._hosts:
            self._refused_host = host


def _strip(url: str) -> str:
    """Return scheme and place of a page's address: the rest may hold anything."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/" if parts.scheme in ("http", "https") else ""
