"""One tab of the browser, used for page after page."""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, CDPSession, Page, Request
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Response as Answer

from monitor.net.response import Response
from monitor.pages.render.complaints import refused, too_large
from monitor.pages.render.scripts import HAS_SCRIPTS, LOAD_MORE, TEXT_LENGTH, UNTIL_QUIET

_NEVER_AWAITED = frozenset({"eventsource", "websocket", "ping", "beacon"})
_QUIET_S = 0.25
_PATIENT_QUIET_S = 1.0
_SETTLE_S = 8.0  # a page that never rests is taken as it stands then
_CLOSE_S = 5.0
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_FEW_CHARS = 200
_MAX_ROUNDS = 5  # of scrolling and of pressing "load more"
_MAX_PAGES_BYTES = 4  # all that a page loads may weigh this many times as much as one page


@dataclass(slots=True)
class _Growth:
    """How often a list was made to show more of itself, and how many links it had before the last time."""

    rounds: int = 0
    seen: int = -1


@dataclass(frozen=True, slots=True)
class _View:
    """The document at one moment."""

    main: Answer
    url: str
    html: str


class Tab:
    """Draws a page and says what became of it; knows what the page has asked for and not got yet.

    `is_dead`: its process crashed. `is_flooded`: it was closed because more came in than a page may weigh.
    `failed_url` is the address at which the last navigation ended without an answer.
    """

    def __init__(self, page: Page, network: CDPSession, *, max_bytes: int) -> None:
        self._page = page
        self._max_bytes = max_bytes
        self._pending: set[Request] = set()
        self._idle = asyncio.Event()
        self._main: Answer | None = None
        self._growth = _Growth()
        self._received: Counter[str] = Counter()
        self._closing: asyncio.Task[None] | None = None
        self.is_dead = False
        self.is_flooded = False
        self.failed_url: str | None = None
        page.on("request", self._on_request)
        page.on("requestfinished", self._on_end)
        page.on("requestfailed", self._on_failure)
        page.on("response", self._on_response)
        page.on("crash", self._on_crash)
        page.on("popup", _close_popup)
        network.on("Network.dataReceived", self._on_data)

    @property
    def is_sent_elsewhere(self) -> bool:
        """Whether the last answer is a redirect out of the web, to a file or a script; browsers stop there silently."""
        location = self._main.headers.get("location", "") if self._main else ""
        return _OTHER_SCHEME.match(location) is not None

    @classmethod
    async def open(cls, context: BrowserContext, *, max_bytes: int) -> "Tab":
        """A new tab, which counts what comes in after decompression: only the browser knows that."""
        page = await context.new_page()
        network = await context.new_cdp_session(page)
        await network.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
        return cls(page, network, max_bytes=max_bytes)

    async def draw(self, url: str, *, timeout_s: float) -> Response:
        """The page once it has come to rest, and a list once it shows no more by scrolling or its button."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        self._forget()
        await self._page.goto(url, wait_until="domcontentloaded", timeout=timeout_s * 1000)
        self._refuse_too_large()
        if await self._may_change():
            await self._settle(_QUIET_S, min(deadline, loop.time() + _SETTLE_S))
            if await self._is_nearly_empty():
                await self._settle(_PATIENT_QUIET_S, min(deadline, loop.time() + _SETTLE_S))
            view = await self._grown(min(deadline, loop.time() + _SETTLE_S))
        else:
            view = await self._view()
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
        )

    async def clear(self) -> None:
        """Leaves the page, so that nothing of it goes on."""
        await self._page.goto("about:blank")
        self._forget()

    async def close(self) -> None:
        """Closes the tab, whatever its page is doing."""
        await self._page.close()

    async def _view(self) -> _View:
        html, url = await self._page.content(), self._page.url
        if urlsplit(url).scheme not in ("http", "https") or self._main is None:
            raise refused()
        return _View(self._main, url, html)

    async def _grown(self, deadline: float) -> _View:
        """The document after its button for more was pressed as long as that brought new links.

        A button that leads to another document was none; the list is then as it was before.
        """
        links = -1
        before: _View | None = None
        while self._growth.rounds < _MAX_ROUNDS and asyncio.get_running_loop().time() < deadline:
            view = await self._view()
            links = await self._ask(LOAD_MORE, {"seen": links}, if_moving=-1)
            if links < 0:
                return view
            before = view
            self._growth.rounds += 1
            await self._settle(_QUIET_S, deadline)
            if self._main is not before.main:
                return before
        return await self._view()

    async def _settle(self, quiet_s: float, deadline: float) -> None:
        """Waits until the page asks for nothing and changes nothing for `quiet_s`, but no longer than `deadline`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while True:
                    await self._idle.wait()
                    try:
                        await self._rest(quiet_s)
                    except PlaywrightError:
                        # The page moved on, as script redirects and cookie walls do: the next one is waited for.
                        if self.is_dead or self._page.is_closed():
                            raise
                        self._growth = _Growth()
                        await self._page.wait_for_load_state("domcontentloaded")
                        continue
                    if not self._pending:
                        return

    async def _rest(self, quiet_s: float) -> None:
        growth = self._growth
        state = {
            "quietMs": quiet_s * 1000,
            "rounds": growth.rounds,
            "seen": growth.seen,
            "maxRounds": _MAX_ROUNDS,
        }
        growth.rounds, growth.seen = await self._page.evaluate(UNTIL_QUIET, state)

    async def _may_change(self) -> bool:
        return bool(await self._ask(HAS_SCRIPTS, if_moving=True))

    async def _is_nearly_empty(self) -> bool:
        if self._main is None or self._main.status != 200:
            return await self._may_change()
        return bool(await self._ask(TEXT_LENGTH, if_moving=0) < _FEW_CHARS)

    async def _ask(self, script: str, given: dict[str, int] | None = None, *, if_moving: int) -> int:
        """A script's answer, or `if_moving` where the page was leaving for the next one and could not answer."""
        try:
            return int(await self._page.evaluate(script, given))
        except PlaywrightError:
            if self.is_dead or self._page.is_closed():
                raise
            return if_moving

    def _refuse_too_large(self) -> None:
        length = self._main.headers.get("content-length", "") if self._main else ""
        if length.isdigit() and int(length) > self._max_bytes:
            raise too_large(self._max_bytes)

    def _forget(self) -> None:
        self._main = None
        self._growth = _Growth()
        self.failed_url = None
        self._received.clear()
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

    def _on_failure(self, request: Request) -> None:
        if self._is_main(request):
            self.failed_url = request.url
        self._on_end(request)

    def _on_response(self, answer: Answer) -> None:
        if self._is_main(answer.request):
            self._main = answer

    def _is_main(self, request: Request) -> bool:
        return request.is_navigation_request() and request.frame == self._page.main_frame

    def _on_crash(self, _page: Page) -> None:
        self.is_dead = True

    def _on_data(self, event: dict[str, Any]) -> None:
        name, length = event["requestId"], event["dataLength"]
        self._received[name] += length
        is_much = self._received[name] > self._max_bytes
        if (is_much or self._received.total() > _MAX_PAGES_BYTES * self._max_bytes) and not self.is_flooded:
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
