"""How fast pages come, and what they cost in memory, against the bare libraries on the same pages in the same run.

What is compared does the same work on both sides. Static: a page is fetched and parsed to a tree; ours asks guard,
manners and limits on the way. Rendered: a page is drawn with images, media and fonts blocked, until what its script
fetched has come, and its HTML is taken; Playwright's own way to wait for that is `networkidle`. Rows that do more or
less than that stand beside them and say so: the bare libraries do not keep what they fetched, do not read candidates,
dates and text from a page, and at the load event do not have the list of a page that fetches it.
"""

import asyncio
import datetime as dt
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import httpx
from playwright.async_api import Route, async_playwright
from pydantic import BaseModel
from selectolax.lexbor import LexborHTMLParser

from monitor.bootstrap import SystemClock
from monitor.demo.bench_site import DRAWN_ROWS, HOSTS, served_apart
from monitor.demo.memory import memory_of_tree
from monitor.domain.words import Render
from monitor.errors import WorkFailed
from monitor.net.caching import Keep
from monitor.net.client import HttpClient
from monitor.net.guard import Guard
from monitor.net.politeness import Politeness
from monitor.pages.browser import find_browser
from monitor.pages.encoding import decode
from monitor.pages.loader import Loader
from monitor.pages.render import Renderer
from monitor.settings import BrowserSettings, NetworkSettings, PagesSettings

AT_ONCE = (1, 2, 4, 8)
_MEMORY_PAGES = 1_000
# Many short rounds: what else the machine does then meets every way alike.
_STATIC_PAGES, _STATIC_ROUNDS = 48, 9
_DRAWN_PAGES, _DRAWN_ROUNDS = 16, 3
_FIRST_PAGES = 50
_MEMORY_AT_ONCE = 4
_FLAGS = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
_BLOCKED = frozenset({"image", "media", "font"})
_ROW = b"<li>"

Load = Callable[[str], Awaitable[None]]
Hear = Callable[[str], None]


class Rate(BaseModel):
    """Pages a second of one way to load them, in its best round.

    `ratio` is the part of what the first way of the table reached beside it: the median over the rounds, because a
    machine that is busy with other things slows down now one way, now the other.
    """

    way: str
    at_once: int
    pages_per_s: float
    ratio: float


class Memory(BaseModel):
    """What this process, the browser and its driver hold in memory, in MB, each shared page counted once."""

    pages: int
    after_first_50_mb: float
    at_end_mb: float
    highest_mb: float


class PagesFigures(BaseModel):
    """What was measured; the first way of each table is the one that the others are compared with."""

    static: list[Rate]
    rendered: list[Rate]
    memory: Memory | None


async def measure(today: dt.date, *, on_step: Hear) -> PagesFigures:
    """All figures; the ways to load pages take turns in short rounds. `on_step` hears what is being measured.

    Memory is None where the system does not tell it.
    """
    async with served_apart(today) as (bases, server):
        bench = _Bench(bases, on_step)
        static, rendered = await bench.static(), await bench.rendered()
        return PagesFigures(static=static, rendered=rendered, memory=await bench.memory(server))


class _Bench:
    def __init__(self, bases: Sequence[str], on_step: Hear) -> None:
        self._bases = bases
        self._on_step = on_step
        self._round = 0
        self._network = NetworkSettings(allowed_private_hosts=[base.removeprefix("http://") for base in bases])
        self._pages = PagesSettings(delay_s=0, max_concurrency=max(AT_ONCE))
        self._guard = Guard(allowed_private_hosts=self._network.allowed_private_hosts)

    async def static(self) -> list[Rate]:
        with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
            async with (
                httpx.AsyncClient(trust_env=False) as bare,
                self._getting(None) as ours,
                self._getting(Path(folder) / "a") as keeping,
                self._loader(Path(folder) / "b") as loader,
            ):

                async def by_httpx(url: str) -> None:
                    LexborHTMLParser((await bare.get(url)).content).css("a")

                ways = {
                    "bare httpx + lexbor": by_httpx,
                    "ours: fetch + lexbor": ours,
                    "ours: and kept on disk": keeping,
                    "ours: the whole page read": _whole(loader, Render.NEVER),
                }
                return await self._compared(ways, _STATIC_PAGES, _STATIC_ROUNDS, ("listed", "articles"))

    async def rendered(self) -> list[Rate]:
        renderer = Renderer(pages=self._pages, network=self._network, guard=self._guard)
        try:
            async with (
                _bare_browser("networkidle") as bare,
                _bare_browser("load") as without_rows,
                self._loader(None) as loader,
            ):

                async def by_renderer(url: str) -> None:
                    _check_rows((await renderer.render(url)).body)

                ways = {
                    "bare Playwright": bare,
                    "ours: drawn": by_renderer,
                    "ours: the whole page read": _whole(loader, Render.ALWAYS),
                    "bare, without the list": without_rows,
                }
                return await self._compared(ways, _DRAWN_PAGES, _DRAWN_ROUNDS, ("drawn",))
        finally:
            await renderer.close()

    async def memory(self, server: int) -> Memory | None:
        """The browser is started anew every so many pages; both ends are looked at as far from that."""
        held: list[float] = []
        async with self._loader(None) as loader:
            drawn = _whole(loader, Render.ALWAYS)
            for start in range(0, _MEMORY_PAGES + _FIRST_PAGES, _FIRST_PAGES):
                self._on_step(f"memory: {start} of {_MEMORY_PAGES + _FIRST_PAGES} pages")
                await self._passed(drawn, _MEMORY_AT_ONCE, _FIRST_PAGES, ("drawn", "listed"))
                if (now := memory_of_tree(without=server)) is None:
                    return None
                held.append(now / 2**20)
        return Memory(pages=_MEMORY_PAGES, after_first_50_mb=held[0], at_end_mb=held[-1], highest_mb=max(held))

    async def _compared(self, ways: dict[str, Load], pages: int, rounds: int, folders: Sequence[str]) -> list[Rate]:
        rates = []
        for load in ways.values():
            await self._passed(load, len(self._bases), 2 * len(self._bases), folders)
        for at_once in AT_ONCE:
            reached: dict[str, list[float]] = {way: [] for way in ways}
            for number in range(rounds):
                self._on_step(f"{folders[0]} pages, {at_once} at once, round {number + 1} of {rounds}")
                for way, load in ways.items():
                    reached[way].append(await self._passed(load, at_once, pages, folders))
            rates += [_rate(way, at_once, own, next(iter(reached.values()))) for way, own in reached.items()]
        return rates

    async def _passed(self, load: Load, at_once: int, pages: int, folders: Sequence[str]) -> float:
        """Pages a second over so many pages, each of them new, so many at once, each worker at a host of its own."""
        self._round += 1

        async def work(worker: int) -> None:
            for number in range(worker, pages, at_once):
                folder = folders[number % len(folders)]
                await load(f"{self._bases[worker]}/{folder}/{number}/{self._round}")

        started = time.perf_counter()
        await asyncio.gather(*(work(worker) for worker in range(at_once)))
        return pages / (time.perf_counter() - started)

    @asynccontextmanager
    async def _getting(self, cache_folder: Path | None) -> AsyncIterator[Load]:
        """Our way to a page's bytes, and the tree that the bare library makes of them."""
        async with HttpClient(network=self._network, guard=self._guard, cache_folder=cache_folder) as client:
            politeness = Politeness(client=client, pages=self._pages)

            async def get(url: str) -> None:
                async with politeness.turn(url):
                    response = await client.fetch(url, keep=Keep.ASK if cache_folder else None)
                LexborHTMLParser(decode(response.body, response.content_type)[0]).css("a")

            yield get

    @asynccontextmanager
    async def _loader(self, cache_folder: Path | None) -> AsyncIterator[Loader]:
        async with Loader.from_settings(
            pages=self._pages, network=self._network, clock=SystemClock(), cache_folder=cache_folder
        ) as loader:
            yield loader


def _rate(way: str, at_once: int, reached: Sequence[float], bare: Sequence[float]) -> Rate:
    ratio = statistics.median(own / other for own, other in zip(reached, bare, strict=True))
    return Rate(way=way, at_once=at_once, pages_per_s=max(reached), ratio=ratio)


def _whole(loader: Loader, render: Render) -> Load:
    async def load(url: str) -> None:
        page = await loader.load(url, render=render)
        if page.error is not None:
            raise WorkFailed(f"{url} could not be loaded: {page.error.message}")

    return load


@asynccontextmanager
async def _bare_browser(until: Literal["networkidle", "load"]) -> AsyncIterator[Load]:
    """The same browser with the same blocking, its tabs used again, and nothing of ours around it."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(BrowserSettings()), args=_FLAGS)
        context = await browser.new_context(service_workers="block")

        async def gate(route: Route) -> None:
            if route.request.resource_type in _BLOCKED:
                await route.abort()
            else:
                await route.continue_()

        await context.route("**/*", gate)
        free = [await context.new_page() for _ in range(HOSTS)]

        async def draw(url: str) -> None:
            page = free.pop()
            await page.goto(url, wait_until=until)
            html = await page.content()
            if until == "networkidle":
                _check_rows(html.encode())
            free.append(page)

        try:
            yield draw
        finally:
            await context.unroute_all(behavior="ignoreErrors")
            await browser.close()


def _check_rows(html: bytes) -> None:
    """A way that takes a page before its list is there is no faster, it is wrong."""
    if html.count(_ROW) != DRAWN_ROWS:
        raise WorkFailed(f"A page was drawn with {html.count(_ROW)} of its {DRAWN_ROWS} rows.")
