"""One tab of the browser, used for page after page."""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, CDPSession, Frame, Page, Request
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Response as Answer

from monitor.net.response import Response
from monitor.pages.render.complaints import failure_of_complaint, refused, too_large
from monitor.pages.render.scripts import GOES_ON, HAS_SCRIPTS, IS_NEARLY_EMPTY, PRESSED, SHOW_MORE, UNTIL_QUIET
from monitor.pages.render.world import World

_NEVER_AWAITED = frozenset({"eventsource", "websocket", "ping", "beacon"})
_QUIET_S = 0.25
_PATIENT_QUIET_S = 1.0
_SETTLE_S = 8.0  # a page that never rests is taken as it stands then
_CLOSE_S = 5.0
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_MAX_ROUNDS = 5  # of scrolling, and of pressing a button for more
_MOVED_ON = "net::ERR_ABORTED"  # what the browser says of a page that was left before it had come in whole
_MAX_PAGES = 4  # all that a page loads may weigh as much as so many pages


@dataclass(frozen=True, slots=True)
class _View:
    main: Answer
    url: str
    html: str


class Tab:
    """Draws a page and says what became of it; knows what the page has asked for and not got yet.

    `is_dead`: its process crashed. `is_flooded`: it was closed because more came in than a page may weigh.
    `failed_url` is the address at which the last navigation ended without an answer.
    """

    def __init__(self, page: Page, network: CDPSession, world: World, *, max_bytes: int) -> None:
        self._page = page
        self._world = world
        self._max_bytes = max_bytes
        self._pending: set[Request] = set()
        self._idle = asyncio.Event()
        self._main: Answer | None = None
        self._led_to = ""
        self._navigation = ""
        self._breaks_off = asyncio.Event()
        self._complaint = ""
        self._received: Counter[str] = Counter()
        self._closing: asyncio.Task[None] | None = None
        self._is_quiet = False
        self.is_dead = False
        self.is_flooded = False
        self.failed_url: str | None = None
        page.on("request", self._on_request)
        page.on("requestfinished", self._on_end)
        page.on("requestfailed", self._on_failure)
        page.on("response", self._on_response)
        page.on("crash", self._on_crash)
        page.on("popup", _close_popup)
        page.on("framenavigated", self._on_navigated)
        network.on("Network.dataReceived", self._on_data)
        network.on("Network.requestWillBeSent", self._on_sent)
        network.on("Network.responseReceivedExtraInfo", self._on_headers)

    @property
    def is_at_rest(self) -> bool:
        """Whether the page that was drawn last had come to rest, so that the next one may be opened over it."""
        return self._is_quiet and not self._pending

    @property
    def is_sent_elsewhere(self) -> bool:
        """Whether the page redirects out of the web, to a file or a script; browsers stop there silently."""
        return _OTHER_SCHEME.match(self._led_to) is not None

    @classmethod
    async def open(cls, context: BrowserContext, *, max_bytes: int) -> "Tab":
        """A new tab, which counts what comes in after decompression: only the browser knows that."""
        page = await context.new_page()
        network = await context.new_cdp_session(page)
        await network.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
        return cls(page, network, await World.open(network), max_bytes=max_bytes)

    async def draw(self, url: str, *, timeout_s: float) -> Response:
        """The page once it has come to rest, and a list once it shows no more by scrolling or its button."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        self._forget()
        await self._go(url, timeout_s=timeout_s)
        self._refuse_too_large()
        if await self._may_change():
            await self._settle(_QUIET_S, min(deadline, loop.time() + _SETTLE_S))
            if await self._is_nearly_empty():
                await self._settle(_PATIENT_QUIET_S, min(deadline, loop.time() + _SETTLE_S))
            view, is_cut_short = await self._grown(min(deadline, loop.time() + _SETTLE_S))
        else:
            view, is_cut_short = await self._view(), False
            self._is_quiet = True
        # The byte order mark settles the encoding, whatever the document says that it was written in.
        body = b"\xef\xbb\xbf" + view.html.encode("utf-8", "replace")
        if len(body) > self._max_bytes:
            raise too_large(self._max_bytes)
        return Response(
            url=url,
            final_url=view.url,
            status=view.main.status,
            headers={**view.main.headers, "content-type": "text/html; charset=utf-8"},
            body=body,
            hops=_hops(view.main.request),
            is_cut_short=is_cut_short,
        )

    async def clear(self) -> None:
        """Leaves the page, so that nothing of it goes on."""
        await self._page.goto("about:blank")
        self._forget()

    async def close(self) -> None:
        """Closes the tab, whatever its page is doing."""
        await self._page.close()

    async def _go(self, url: str, *, timeout_s: float) -> None:
        """Opens the page. The browser waits without end for one whose body breaks off, so that is watched for."""
        going = asyncio.ensure_future(self._page.goto(url, wait_until="domcontentloaded", timeout=timeout_s * 1000))
        breaking = asyncio.ensure_future(self._breaks_off.wait())
        try:
            await asyncio.wait({going, breaking}, return_when=asyncio.FIRST_COMPLETED)
            if not going.done():
                raise failure_of_complaint(self._complaint)
            await going
        finally:
            going.cancel()
            breaking.cancel()
            await asyncio.gather(going, breaking, return_exceptions=True)

    async def _view(self) -> _View:
        html, url = await self._page.content(), self._page.url
        if urlsplit(url).scheme not in ("http", "https") or self._main is None:
            raise refused()
        return _View(self._main, url, html)

    async def _grown(self, deadline: float) -> tuple[_View, bool]:
        """The document after its button for more was pressed as long as that brought new links, and if it goes on.

        A button that leads to another document was none; the list is then as it was before.
        """
        while True:
            view = await self._view()
            most = _MAX_ROUNDS if asyncio.get_running_loop().time() < deadline else 0
            answer = await self._ask(SHOW_MORE, {"most": most}, if_moving="")
            if answer != PRESSED:
                return view, answer == GOES_ON
            await self._settle(_QUIET_S, deadline)
            if self._main is not view.main:
                return view, False

    async def _settle(self, quiet_s: float, deadline: float) -> None:
        """Waits until the page asks for nothing and changes nothing for `quiet_s`, but no longer than `deadline`."""
        self._is_quiet = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while True:
                    await self._idle.wait()
                    try:
                        await self._world.ask(UNTIL_QUIET, {"quietMs": quiet_s * 1000, "most": _MAX_ROUNDS})
                    except PlaywrightError:
                        # The page moved on, as script redirects and cookie walls do: the next one is waited for.
                        if self._is_gone:
                            raise
                        await self._page.wait_for_load_state("domcontentloaded")
                        continue
                    if not self._pending:
                        self._is_quiet = True
                        return

    async def _may_change(self) -> bool:
        return await self._ask(HAS_SCRIPTS, if_moving=True) is True

    async def _is_nearly_empty(self) -> bool:
        if self._main is None or self._main.status != 200:
            return await self._may_change()
        return await self._ask(IS_NEARLY_EMPTY, if_moving=True) is True

    async def _ask(self, script: str, given: dict[str, float] | None = None, *, if_moving: object) -> object:
        """The page's answer, or `if_moving` where it was leaving for the next one and could give none."""
        try:
            return await self._world.ask(script, given)
        except PlaywrightError:
            if self._is_gone:
                raise
            return if_moving

    @property
    def _is_gone(self) -> bool:
        return self.is_dead or self._page.is_closed()

    def _refuse_too_large(self) -> None:
        length = self._main.headers.get("content-length", "") if self._main else ""
        if length.isdigit() and int(length) > self._max_bytes:
            raise too_large(self._max_bytes)

    def _forget(self) -> None:
        self._is_quiet = False
        self._main = None
        self._led_to = ""
        self._breaks_off.clear()
        self._complaint = ""
        self.failed_url = None
        self._received.clear()
        self._pending.clear()
        self._idle.set()

    def _on_request(self, request: Request) -> None:
        if self._is_main(request):
            self.failed_url, self._complaint = None, ""
        if request.resource_type not in _NEVER_AWAITED:
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
            self._complaint = request.failure or ""
            if self._main is not None and self._main.request == request and self._complaint != _MOVED_ON:
                self._breaks_off.set()
        self._on_end(request)

    def _on_response(self, answer: Answer) -> None:
        if self._is_main(answer.request):
            self._main = answer
            self._pending &= {answer.request}  # what was asked for before belongs to the page that is left

    def _is_main(self, request: Request) -> bool:
        return request.is_navigation_request() and request.frame == self._page.main_frame

    def _on_sent(self, event: dict[str, Any]) -> None:
        if event.get("type") == "Document" and event.get("frameId") == self._world.frame_id:
            self._navigation, self._led_to = event["requestId"], event["request"]["url"]

    def _on_headers(self, event: dict[str, Any]) -> None:
        """The driver tells of a redirect only when the browser follows it; the protocol tells of each."""
        if event["requestId"] == self._navigation and 300 <= event.get("statusCode", 0) < 400:
            headers = {name.lower(): value for name, value in event["headers"].items()}
            self._led_to = headers.get("location", "").strip()

    def _on_navigated(self, frame: Frame) -> None:
        if frame == self._page.main_frame:
            self._world.forget()

    def _on_crash(self, _page: Page) -> None:
        self.is_dead = True

    def _on_data(self, event: dict[str, Any]) -> None:
        name, length = event["requestId"], event["dataLength"]
        self._received[name] += length
        is_much = self._received[name] > self._max_bytes
        if (is_much or self._received.total() > _MAX_PAGES * self._max_bytes) and not self.is_flooded:
            self.is_flooded = True
            self._closing = asyncio.ensure_future(quietly(self.close))


async def quietly(close: Callable[[], Awaitable[None]]) -> None:
    """Closes what may be dead already; a corpse that does not answer is left behind."""
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(_CLOSE_S):
            await close()


async def _close_popup(popup: Page) -> None:
    await quietly(popup.close)


def _hops(request: Request) -> tuple[str, ...]:
    urls = [request.url]
    while request.redirected_from is not None:
        request = request.redirected_from
        urls.append(request.url)
    return tuple(reversed(urls))
