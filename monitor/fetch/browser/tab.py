"""One tab of the browser: navigation, waiting until a page is idle, and extending lists on it."""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, CDPSession, Frame, Page, Request
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Response as BrowserResponse

from monitor.fetch.browser.launch import build_forbidden_error, map_browser_error
from monitor.fetch.result import FetchError, Response
from monitor.vocabulary import LOAD_MORE_WORDS

_UNAWAITED_RESOURCE_TYPES = frozenset({"eventsource", "websocket", "ping", "beacon"})
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_NAVIGATION_ABORTED = "net::ERR_ABORTED"  # the browser's word for a page that was left before it had loaded
_WORLD_NAME = "monitor"
_QUIET_S = 0.25
_LONG_QUIET_S = 1.0
_MAX_SETTLE_S = 8.0  # a page that is never idle is taken as it is then
_CLOSE_TIMEOUT_S = 5.0
_MAX_ROUNDS = 5  # of scrolling, and of pressing a button for more
_MAX_TOTAL_FACTOR = 4  # all that a page loads may be as large as so many pages
HAS_SCRIPTS = "() => document.querySelector('script') !== null"
IS_NEARLY_EMPTY = "() => !document.body || document.body.innerText.trim().length < 200"

# Answers of the action `showMore` of list.js.
_PRESSED = "pressed"
_HAS_MORE = "goes on"


@cache
def _read_list_script() -> str:
    return files(__package__).joinpath("list.js").read_text(encoding="utf-8")


class IsolatedWorld:
    """Runs scripts in an isolated world of a tab's main frame.

    They see the page's elements, not its scripts, and their `globalThis` lasts as long as the document. Elements may
    still interfere (`<img name=links>` hides `document.links`), so results must be checked. `frame_id` is the frame's
    id in the DevTools protocol, the same for page after page.
    """

    def __init__(self, session: CDPSession, frame_id: str) -> None:
        self._session = session
        self._context_id: int | None = None
        self.frame_id = frame_id

    def reset(self) -> None:
        """Forget the world of the last document: the next one needs another."""
        self._context_id = None

    async def evaluate(self, script: str, arguments: Mapping[str, object] | None = None) -> object:
        """Return the result of the function in `script`, or None if it threw.

        Raises Playwright's error if the page navigated to another one meanwhile, or is closed.
        """
        try:
            answer = await self._session.send(
                "Runtime.callFunctionOn",
                {
                    "functionDeclaration": script,
                    "executionContextId": self._context_id or await self._create_context(),
                    "arguments": [{"value": arguments or {}}],
                    "awaitPromise": True,
                    "returnByValue": True,
                },
            )
        except PlaywrightError:
            self.reset()
            raise
        return None if "exceptionDetails" in answer else answer["result"].get("value")

    async def _create_context(self) -> int:
        """Return the world of the current document; repeated calls give the same one."""
        made = await self._session.send(
            "Page.createIsolatedWorld", {"frameId": self.frame_id, "worldName": _WORLD_NAME}
        )
        self._context_id = int(made["executionContextId"])
        return self._context_id


@dataclass(frozen=True, slots=True)
class _DocumentSnapshot:
    response: BrowserResponse
    url: str
    html: str


class Tab:
    """Renders one page after another, and tracks the requests that a page is waiting for.

    `is_dead`: its process crashed. `is_over_limit`: it was closed because a page loaded too much. `failed_url` is the
    URL at which the last navigation ended without a response.
    """

    def __init__(self, page: Page, network: CDPSession, world: IsolatedWorld, *, max_bytes: int) -> None:
        self._page = page
        self._world = world
        self._max_bytes = max_bytes
        self._pending: set[Request] = set()
        self._idle = asyncio.Event()
        self._main_response: BrowserResponse | None = None
        self._redirect_url = ""
        self._navigation_id = ""
        self._interrupted = asyncio.Event()
        self._failure_text = ""
        self._received_bytes: Counter[str] = Counter()
        self._close_task: asyncio.Task[None] | None = None
        self._is_quiet = False
        self.is_dead = False
        self.is_over_limit = False
        self.failed_url: str | None = None
        page.on("request", self._on_request)
        page.on("requestfinished", self._on_end)
        page.on("requestfailed", self._on_failure)
        page.on("response", self._on_response)
        page.on("crash", self._on_crash)
        page.on("popup", _close_popup)
        page.on("framenavigated", self._on_navigated)
        network.on("Network.dataReceived", self._on_data)
        network.on("Network.requestWillBeSent", self._on_request_sent)
        network.on("Network.responseReceivedExtraInfo", self._on_headers)

    @property
    def is_idle(self) -> bool:
        """Whether the last page was idle in the end, so that the next one may replace it."""
        return self._is_quiet and not self._pending

    @property
    def is_redirected_off_web(self) -> bool:
        """Whether the page redirects to a file or a script; browsers stop there silently."""
        return _OTHER_SCHEME.match(self._redirect_url) is not None

    @classmethod
    async def open(cls, context: BrowserContext, *, max_bytes: int) -> "Tab":
        """Open a tab that counts received bytes after decompression, which only the browser knows."""
        page = await context.new_page()
        network = await context.new_cdp_session(page)
        await network.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
        tree = await network.send("Page.getFrameTree")
        world = IsolatedWorld(network, tree["frameTree"]["frame"]["id"])
        return cls(page, network, world, max_bytes=max_bytes)

    async def render(self, url: str, *, timeout_s: float) -> Response:
        """Return the page once it is idle, and a list once it shows no more by scrolling or its button."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        self._reset()
        await self._navigate(url, timeout_s=timeout_s)
        length = self._main_response.headers.get("content-length", "") if self._main_response else ""
        if length.isdigit() and int(length) > self._max_bytes:
            raise FetchError.too_large(self._max_bytes)
        if await self._has_scripts():
            await self._wait_until_quiet(_QUIET_S, min(deadline, loop.time() + _MAX_SETTLE_S))
            if await self._is_nearly_empty():
                await self._wait_until_quiet(_LONG_QUIET_S, min(deadline, loop.time() + _MAX_SETTLE_S))
            view, is_cut_short = await self._expand_list(min(deadline, loop.time() + _MAX_SETTLE_S))
        else:
            view, is_cut_short = await self._take_snapshot(), False
            self._is_quiet = True
        # The byte order mark decides the encoding, whatever the document declares.
        body = b"\xef\xbb\xbf" + view.html.encode("utf-8", "replace")
        if len(body) > self._max_bytes:
            raise FetchError.too_large(self._max_bytes)
        return Response(
            url=url,
            final_url=view.url,
            status=view.response.status,
            headers={**view.response.headers, "content-type": "text/html; charset=utf-8"},
            body=body,
            hops=_list_hops(view.response.request),
            is_cut_short=is_cut_short,
        )

    async def clear(self) -> None:
        await self._page.goto("about:blank")
        self._reset()

    async def close(self) -> None:
        await self._page.close()

    async def _navigate(self, url: str, *, timeout_s: float) -> None:
        """Open the page. The browser waits forever for a body that breaks off, so that is detected here."""
        navigation = asyncio.ensure_future(
            self._page.goto(url, wait_until="domcontentloaded", timeout=timeout_s * 1000)
        )
        interruption = asyncio.ensure_future(self._interrupted.wait())
        try:
            await asyncio.wait({navigation, interruption}, return_when=asyncio.FIRST_COMPLETED)
            if not navigation.done():
                raise map_browser_error(self._failure_text)
            await navigation
        finally:
            navigation.cancel()
            interruption.cancel()
            await asyncio.gather(navigation, interruption, return_exceptions=True)

    async def _take_snapshot(self) -> _DocumentSnapshot:
        html, url = await self._page.content(), self._page.url
        if urlsplit(url).scheme not in ("http", "https") or self._main_response is None:
            raise build_forbidden_error()
        return _DocumentSnapshot(self._main_response, url, html)

    async def _expand_list(self, deadline: float) -> tuple[_DocumentSnapshot, bool]:
        """Press the button for more as long as it brings new links; return the document and whether there is more.

        A button that opens another document was none: the list stays as it was before.
        """
        while True:
            view = await self._take_snapshot()
            most = _MAX_ROUNDS if asyncio.get_running_loop().time() < deadline else 0
            more = {"action": "showMore", "most": most, "loadMoreWords": LOAD_MORE_WORDS}
            answer = await self._evaluate(_read_list_script(), more, if_moving="")
            if answer != _PRESSED:
                return view, answer == _HAS_MORE
            await self._wait_until_quiet(_QUIET_S, deadline)
            if self._main_response is not view.response:
                return view, False

    async def _wait_until_quiet(self, quiet_s: float, deadline: float) -> None:
        """Wait until the page requests and changes nothing for `quiet_s`, but not beyond `deadline`."""
        self._is_quiet = False
        wait = {
            "action": "waitUntilQuiet",
            "quietMs": quiet_s * 1000,
            "most": _MAX_ROUNDS,
            "loadMoreWords": LOAD_MORE_WORDS,
        }
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while True:
                    await self._idle.wait()
                    try:
                        await self._world.evaluate(_read_list_script(), wait)
                    except PlaywrightError:
                        # The page navigated, as script redirects and cookie walls do: wait for the next one.
                        if self._is_gone:
                            raise
                        await self._page.wait_for_load_state("domcontentloaded")
                        continue
                    if not self._pending:
                        self._is_quiet = True
                        return

    async def _has_scripts(self) -> bool:
        return await self._evaluate(HAS_SCRIPTS, if_moving=True) is True

    async def _is_nearly_empty(self) -> bool:
        if self._main_response is None or self._main_response.status != 200:
            return await self._has_scripts()
        return await self._evaluate(IS_NEARLY_EMPTY, if_moving=True) is True

    async def _evaluate(
        self, script: str, arguments: Mapping[str, object] | None = None, *, if_moving: object
    ) -> object:
        """Return the script's result, or `if_moving` if the page was navigating and could give none."""
        try:
            return await self._world.evaluate(script, arguments)
        except PlaywrightError:
            if self._is_gone:
                raise
            return if_moving

    @property
    def _is_gone(self) -> bool:
        return self.is_dead or self._page.is_closed()

    def _reset(self) -> None:
        self._is_quiet = False
        self._main_response = None
        self._redirect_url = ""
        self._interrupted.clear()
        self._failure_text = ""
        self.failed_url = None
        self._received_bytes.clear()
        self._pending.clear()
        self._idle.set()

    def _on_request(self, request: Request) -> None:
        if self._is_main(request):
            self.failed_url, self._failure_text = None, ""
        if request.resource_type not in _UNAWAITED_RESOURCE_TYPES:
            self._pending.add(request)
            self._idle.clear()
        if request.redirected_from is not None:
            self._on_end(request.redirected_from)

    def _on_end(self, request: Request) -> None:
        self._pending.discard(request)
        if not self._pending:
            self._idle.set()

    def _on_failure(self, request: Request) -> None:
        if self._is_main(request):
            self.failed_url = request.url
            self._failure_text = request.failure or ""
            has_begun = self._main_response is not None and self._main_response.request == request
            if has_begun and self._failure_text != _NAVIGATION_ABORTED:
                self._interrupted.set()
        self._on_end(request)

    def _on_response(self, response: BrowserResponse) -> None:
        if self._is_main(response.request):
            self._main_response = response
            self._pending &= {response.request}  # earlier requests belong to the previous page

    def _is_main(self, request: Request) -> bool:
        return request.is_navigation_request() and request.frame == self._page.main_frame

    def _on_request_sent(self, event: dict[str, Any]) -> None:
        if event.get("type") == "Document" and event.get("frameId") == self._world.frame_id:
            self._navigation_id, self._redirect_url = event["requestId"], event["request"]["url"]

    def _on_headers(self, event: dict[str, Any]) -> None:
        """Note redirects: the driver reports only those that the browser follows, the protocol all."""
        if event["requestId"] == self._navigation_id and 300 <= event.get("statusCode", 0) < 400:
            headers = {name.lower(): value for name, value in event["headers"].items()}
            self._redirect_url = headers.get("location", "").strip()

    def _on_navigated(self, frame: Frame) -> None:
        if frame == self._page.main_frame:
            self._world.reset()

    def _on_crash(self, _page: Page) -> None:
        self.is_dead = True

    def _on_data(self, event: dict[str, Any]) -> None:
        name, length = event["requestId"], event["dataLength"]
        self._received_bytes[name] += length
        is_much = self._received_bytes[name] > self._max_bytes
        if (is_much or self._received_bytes.total() > _MAX_TOTAL_FACTOR * self._max_bytes) and not self.is_over_limit:
            self.is_over_limit = True
            self._close_task = asyncio.ensure_future(close_quietly(self.close))


async def close_quietly(close: Callable[[], Awaitable[None]]) -> None:
    """Close what may be dead already; give up if it does not respond."""
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(_CLOSE_TIMEOUT_S):
            await close()


async def _close_popup(popup: Page) -> None:
    await close_quietly(popup.close)


def _list_hops(request: Request) -> tuple[str, ...]:
    urls = [request.url]
    while request.redirected_from is not None:
        request = request.redirected_from
        urls.append(request.url)
    return tuple(reversed(urls))
