"""One tab of the browser: navigation, waiting until a page stands still, and extending lists on it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, CDPSession, Frame, Page
from playwright.async_api import Error as PlaywrightError

from monitor.fetch.browser.launch import build_forbidden_error, map_browser_error
from monitor.fetch.browser.pace import MAX_SETTLE_S, PageWatch, SitePace
from monitor.fetch.browser.traffic import MainResponse, Traffic
from monitor.fetch.result import FetchError, Response
from monitor.vocabulary import LOAD_MORE_WORDS

_WORLD_NAME = "monitor"
_QUIET_MS = 250
_FIRST_LOOK_S = 1.0  # with requests pending; each further look comes after twice as long
_CLOSE_TIMEOUT_S = 5.0
_MAX_ROUNDS = 5  # of scrolling, and of pressing a button for more
_HAS_SCRIPTS = "() => document.querySelector('script') !== null"


@cache
def read_script(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


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
class _Look:
    """How a document stands; `more` says how its list could be extended (see list.js)."""

    response: MainResponse
    url: str
    html: str
    rows: str = ""
    has_list: bool = False
    more: str = ""
    scrolls: int = 0
    is_awaited: bool = False
    late_s: float | None = None


class Tab:
    """Renders one page after another. `is_dead`: its process crashed."""

    def __init__(
        self, page: Page, session: CDPSession, world: IsolatedWorld, *, pace: SitePace, max_bytes: int
    ) -> None:
        self._page = page
        self._world = world
        self._pace = pace
        self._max_bytes = max_bytes
        self._close_task: asyncio.Task[None] | None = None
        self._is_quiet = False
        self.is_dead = False
        self.traffic = Traffic(session, world.frame_id, max_bytes=max_bytes, on_excess=self._close_at_once)
        page.on("crash", self._on_crash)
        page.on("popup", _close_popup)
        page.on("framenavigated", self._on_navigated)

    @property
    def is_idle(self) -> bool:
        """Whether the last page was idle in the end, so that the next one may replace it."""
        return self._is_quiet and self.traffic.is_idle

    @classmethod
    async def open(cls, context: BrowserContext, *, pace: SitePace, max_bytes: int, blocks: bool) -> "Tab":
        """Open a tab that counts received bytes; with `blocks`, it loads no images, fonts and media."""
        page = await context.new_page()
        session = await context.new_cdp_session(page)
        tree = await session.send("Page.getFrameTree")
        world = IsolatedWorld(session, tree["frameTree"]["frame"]["id"])
        tab = cls(page, session, world, pace=pace, max_bytes=max_bytes)
        await tab.traffic.start(blocks=blocks)
        return tab

    async def render(self, url: str, *, timeout_s: float) -> Response:
        """Return the page once it stands still, and a list once it shows no more by scrolling or its button."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        self._reset()
        await self._navigate(url, timeout_s=timeout_s)
        main = self.traffic.main_response
        length = main.headers.get("content-length", "") if main else ""
        if length.isdigit() and int(length) > self._max_bytes:
            raise FetchError.too_large(self._max_bytes)
        view, is_cut_short = await self._expand_list(await self._settle(url, deadline), url, deadline)
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
            hops=view.response.hops,
            is_cut_short=is_cut_short,
            data_urls=tuple(self.traffic.data_urls),
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
        interruption = asyncio.ensure_future(self.traffic.interrupted.wait())
        try:
            await asyncio.wait({navigation, interruption}, return_when=asyncio.FIRST_COMPLETED)
            if not navigation.done():
                raise map_browser_error(self.traffic.failure_text)
            await navigation
        finally:
            navigation.cancel()
            interruption.cancel()
            await asyncio.gather(navigation, interruption, return_exceptions=True)

    async def _settle(self, url: str, deadline: float) -> _Look:
        """Wait until the page requests and changes nothing, or nothing but what leaves its list as it is.

        A page without its list is waited for as long as a timer runs that may bring it. All ends at a bound.
        """
        loop = asyncio.get_running_loop()
        self._is_quiet = False
        if not self.traffic.is_idle and not await self._has_scripts():
            return await self._take_snapshot()
        watch = PageWatch(self._pace, url, started=loop.time(), deadline=deadline)
        next_look_s = _FIRST_LOOK_S
        while True:
            if watch.timer_s is None:
                await _wait_until(min(watch.until, loop.time() + next_look_s), self.traffic.wait_for_news())
                next_look_s *= 2
            view = await self._look(watch.timer_s, watch.until)
            if view is None:  # the page navigated, as script redirects and cookie walls do: wait for the next one
                if loop.time() >= watch.until:
                    return await self._take_snapshot()
                await _wait_until(watch.until, self._page.wait_for_load_state("domcontentloaded"))
                watch.timer_s = None
                continue
            pending, answers = self.traffic.pending_endpoints, self.traffic.answers
            if watch.is_settled(
                now=loop.time(),
                rows=view.rows,
                has_list=view.has_list,
                scrolls=view.scrolls,
                is_awaited=view.is_awaited,
                late_s=view.late_s,
                pending=pending,
                answers=answers,
            ):
                self._is_quiet = not pending
                watch.note(pending=pending, answers=answers)
                return view

    async def _look(self, timer_s: float | None, until: float) -> _Look | None:
        """Return how the document stands once it changes no more; None if it navigated away meanwhile."""
        main = self.traffic.main_response
        left_s = max(0.0, until - asyncio.get_running_loop().time())
        arguments = {
            "action": "look",
            "most": _MAX_ROUNDS,
            "quietMs": _QUIET_MS,
            "waitMs": 0 if timer_s is None else timer_s * 1000 + _QUIET_MS,
            "mostMs": left_s * 1000,
            "hasAnswers": self.traffic.is_idle,
            "loadMoreWords": LOAD_MORE_WORDS,
        }
        answer = None
        try:
            async with asyncio.timeout(left_s + _QUIET_MS / 1000):
                answer = await self._world.evaluate(read_script("list.js"), arguments)
        except TimeoutError:
            pass  # its scripts leave no time for ours
        except PlaywrightError:
            if self._is_gone:
                raise
            return None
        if main is not self.traffic.main_response:
            return None
        return _read_look(answer, main) or await self._take_snapshot()

    async def _take_snapshot(self) -> _Look:
        """Return the document as it is, by Playwright's own means, which no element of the page interferes with."""
        html, url, main = await self._page.content(), self._page.url, self.traffic.main_response
        if urlsplit(url).scheme not in ("http", "https") or main is None:
            raise build_forbidden_error()
        return _Look(main, url, html)

    async def _expand_list(self, view: _Look, url: str, deadline: float) -> tuple[_Look, bool]:
        """Press the button for more as long as it brings new links; return the document and whether there is more.

        A button that opens another document was none: the list stays as it was before.
        """
        loop = asyncio.get_running_loop()
        until = min(deadline, loop.time() + MAX_SETTLE_S)
        while view.more == "button" and loop.time() < until and await self._press():
            after = await self._settle(url, until)
            if after.response is not view.response:
                return view, False
            view = after
        return view, view.more != ""

    async def _press(self) -> bool:
        arguments = {"action": "press", "loadMoreWords": LOAD_MORE_WORDS}
        return await self._evaluate(read_script("list.js"), arguments, if_moving=False) is True

    async def _has_scripts(self) -> bool:
        return await self._evaluate(_HAS_SCRIPTS, if_moving=True) is True

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
        self.traffic.reset()

    def _on_navigated(self, frame: Frame) -> None:
        if frame == self._page.main_frame:
            self._world.reset()

    def _on_crash(self, _page: Page) -> None:
        self.is_dead = True

    def _close_at_once(self) -> None:
        self._close_task = asyncio.ensure_future(close_quietly(self.close))


def _read_look(answer: object, main: MainResponse | None) -> _Look | None:
    """Return what list.js says of a document; None if the page's elements kept it from saying it."""
    match answer:
        case {
            "rows": str(rows),
            "hasList": bool(has_list),
            "more": str(more),
            "scrolls": int(scrolls),
            "isAwaited": bool(is_awaited),
            "lateMs": int() | float() | None as late_ms,
            "url": str(url),
            "html": str(html),
        } if main is not None and urlsplit(url).scheme in ("http", "https"):
            late_s = None if late_ms is None else late_ms / 1000
            return _Look(main, url, html, rows, has_list, more, scrolls, is_awaited, late_s)
    return None


async def _wait_until(until: float, event: Awaitable[object]) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(until):
            await event


async def close_quietly(close: Callable[[], Awaitable[None]]) -> None:
    """Close what may be dead already; give up if it does not respond."""
    with contextlib.suppress(PlaywrightError, TimeoutError):
        async with asyncio.timeout(_CLOSE_TIMEOUT_S):
            await close()


async def _close_popup(popup: Page) -> None:
    await close_quietly(popup.close)
