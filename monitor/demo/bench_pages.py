"""How fast pages come, and what they cost in memory, against the bare libraries on the same pages in the same run.

What is compared does the same work on both sides. Static: a page is fetched, decoded and parsed to a tree; ours asks
guard, manners and limits on the way, and in a further row keeps it in the cache. Rendered: a page is drawn with
images, media and fonts blocked, its scripts run, and its HTML is taken. What the whole page costs, with candidates,
dates and text read from it, stands in a row of its own, because no bare library does that.
"""

import asyncio
import datetime as dt
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from playwright.async_api import BrowserContext, Route, async_playwright
from pydantic import BaseModel
from selectolax.lexbor import LexborHTMLParser

from monitor.bootstrap import SystemClock
from monitor.demo.bench_site import served_apart
from monitor.demo.memory import rss_of_tree
from monitor.domain.words import Render
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
_ROUNDS = 3
_FIRST_PAGES = 50
_FLAGS = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
_BLOCKED = frozenset({"image", "media", "font"})

Load = Callable[[str], Awaitable[None]]


class Rate(BaseModel):
    """Pages a second of one way to load them; `ratio` to the bare library's rate in the same row of the table."""

    way: str
    at_once: int
    pages_per_s: float
    ratio: float | None = None


class Memory(BaseModel):
    """Resident memory of this process, the browser and its driver, in MB; None where the system does not tell."""

    pages: int
    after_first_50_mb: float | None
    at_end_mb: float | None
    highest_mb: float | None


class PagesFigures(BaseModel):
    """What was measured."""

    static: list[Rate]
    rendered: list[Rate]
    memory: Memory


async def measure(
    today: dt.date, *, static_pages: int, rendered_pages: int, memory_pages: int, on_step: Callable[[str], None]
) -> PagesFigures:
    """All figures; the rates are the best of three rounds, in which the ways take turns. `on_step` hears what runs."""
    async with served_apart(today) as (bases, server):
        bench = _Bench(bases, on_step)
        static = await bench.static(static_pages)
        rendered = await bench.rendered(rendered_pages)
        return PagesFigures(static=static, rendered=rendered, memory=await bench.memory(memory_pages, server))


class _Bench:
    def __init__(self, bases: Sequence[str], on_step: Callable[[str], None]) -> None:
        self._bases = bases
        self._on_step = on_step
        self._round = 0
        self._network = NetworkSettings(allowed_private_hosts=[base.removeprefix("http://") for base in bases])
        self._pages = PagesSettings(delay_s=0, max_concurrency=max(AT_ONCE))
        self._guard = Guard(allowed_private_hosts=self._network.allowed_private_hosts)

    async def static(self, pages: int) -> list[Rate]:
        with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
            async with (
                httpx.AsyncClient(trust_env=False) as bare,
                self._getting(None) as ours,
                self._getting(Path(folder) / "a") as cached,
                self._loader(Path(folder) / "b") as loader,
            ):

                async def by_httpx(url: str) -> None:
                    LexborHTMLParser((await bare.get(url)).content).css("a")

                ways = {
                    "bare httpx + lexbor": by_httpx,
                    "ours: fetch + lexbor": ours,
                    "ours: fetch, cache + lexbor": cached,
                    "ours: whole page": _whole(loader, Render.NEVER),
                }
                return await self._compared(ways, pages, ("listed", "articles"))

    async def rendered(self, pages: int) -> list[Rate]:
        renderer = Renderer(pages=self._pages, network=self._network, guard=self._guard)
        try:
            async with _bare_browser() as bare, self._loader(None) as loader:

                async def by_renderer(url: str) -> None:
                    await renderer.render(url)

                ways = {
                    "bare Playwright": bare,
                    "ours: drawn": by_renderer,
                    "ours: whole page": _whole(loader, Render.ALWAYS),
                }
                return await self._compared(ways, pages, ("drawn",))
        finally:
            await renderer.close()

    async def memory(self, pages: int, server: int) -> Memory:
        """The browser is started anew every so many pages; both ends are looked at as far from that."""
        samples: list[float] = []
        async with self._loader(None) as loader:
            drawn = _whole(loader, Render.ALWAYS)
            for start in range(0, pages + _FIRST_PAGES, _FIRST_PAGES):
                self._on_step(f"memory: {start} of {pages + _FIRST_PAGES} pages")
                await self._passed(drawn, 4, _FIRST_PAGES, ("drawn", "listed"))
                rss = rss_of_tree(without=server)
                if rss is not None:
                    samples.append(rss / 2**20)
        first, last, highest = (samples[0], samples[-1], max(samples)) if samples else (None, None, None)
        return Memory(pages=pages, after_first_50_mb=first, at_end_mb=last, highest_mb=highest)

    async def _compared(self, ways: dict[str, Load], pages: int, folders: Sequence[str]) -> list[Rate]:
        rates = []
        for load in ways.values():
            await self._passed(load, len(self._bases), 2 * len(self._bases), folders)
        for at_once in AT_ONCE:
            best = dict.fromkeys(ways, 0.0)
            for _ in range(_ROUNDS):
                for way, load in ways.items():
                    self._on_step(f"{way}, {at_once} at once")
                    best[way] = max(best[way], await self._passed(load, at_once, pages, folders))
            bare = next(iter(best.values()))
            rates += [
                Rate(way=way, at_once=at_once, pages_per_s=rate, ratio=None if rate == bare else rate / bare)
                for way, rate in best.items()
            ]
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


def _whole(loader: Loader, render: Render) -> Load:
    async def load(url: str) -> None:
        page = await loader.load(url, render=render)
        if page.error is not None:
            raise RuntimeError(f"{url}: {page.error.message}")

    return load


@asynccontextmanager
async def _bare_browser() -> AsyncIterator[Load]:
    """The same browser with the same blocking, its tabs used again, and nothing of ours around it."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(BrowserSettings()), args=_FLAGS)
        context: BrowserContext = await browser.new_context(service_workers="block")

        async def gate(route: Route) -> None:
            if route.request.resource_type in _BLOCKED:
                await route.abort()
            else:
                await route.continue_()

        await context.route("**/*", gate)
        free = [await context.new_page() for _ in range(max(AT_ONCE))]

        async def draw(url: str) -> None:
            page = free.pop()
            await page.goto(url, wait_until="domcontentloaded")
            await page.content()
            free.append(page)

        yield draw
        await browser.close()
