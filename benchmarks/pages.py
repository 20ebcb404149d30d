"""How fast pages come, and what they cost in memory, against the bare libraries on the same pages in the same run.

Both sides do the same work. Static: a page is fetched and parsed to a tree; ours asks guard, politeness and limits too.
Rendered: a page is drawn with images, media and fonts blocked, until what its script fetched has come, and its HTML is
taken; Playwright's own wait for that is `networkidle`. Rows that do more or less say so: the bare libraries do not keep
what they fetched, do not read candidates, dates and text, and at the load event lack a list that the page fetches.
"""

import asyncio
import datetime as dt
import os
import re
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

from benchmarks.page_site import HOST_COUNT, RENDERED_ROWS, start_bench_site
from monitor.clock import SystemClock
from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.errors import WorkFailed
from monitor.extract.encoding import decode
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.browser.renderer import Renderer
from monitor.fetch.client import CachePolicy, HttpClient
from monitor.fetch.guard import Guard
from monitor.fetch.politeness import Politeness
from monitor.isolation.pool import WorkerPool
from monitor.pages.loader import Loader
from monitor.vocabulary import Render

_PROC = Path("/proc")

_PSS_LINE = re.compile(r"^Pss:\s+(\d+) kB$", re.MULTILINE)


def measure_tree_memory(root: int | None = None, *, exclude_pid: int | None = None) -> int | None:
    """Bytes that a process (this one) and its descendants hold, what they share counted once; None if untold.

    `exclude_pid` is a child that is left out together with its own.
    """
    root = root or os.getpid()
    if _read_process_memory(root) == 0:
        return None
    return sum(_read_process_memory(pid) for pid in list_tree_pids(root, exclude_pid=exclude_pid))


def list_tree_pids(root: int | None = None, *, exclude_pid: int | None = None) -> list[int]:
    """The numbers of a process (this one) and its descendants, without those of a child that is left out."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and (parent := _read_parent_pid(folder)) is not None:
            children.setdefault(parent, []).append(int(folder.name))
    found, waiting = [], [root or os.getpid()]
    while waiting:
        process = waiting.pop()
        if process != exclude_pid:
            found.append(process)
            waiting += children.get(process, [])
    return found


def _read_parent_pid(folder: Path) -> int | None:
    try:
        # The name in parentheses may hold anything, parentheses too: what follows the last one is numbers.
        return int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None  # it has ended meanwhile


def _read_process_memory(process: int) -> int:
    """The process's proportional share of memory; 0 where it has ended meanwhile or may not be looked at."""
    try:
        found = _PSS_LINE.search((_PROC / str(process) / "smaps_rollup").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


CONCURRENCY_LEVELS = (1, 2, 4, 8)

_MEMORY_PAGES = 1_000

# Many short rounds: what else the machine does then meets every approach alike.
_STATIC_PAGES, _STATIC_ROUNDS = 48, 9

_RENDERED_PAGES, _RENDERED_ROUNDS = 16, 3

_MEMORY_BATCH_PAGES = 50

_MEMORY_CONCURRENCY = 4

_FLAGS = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")

_BLOCKED_RESOURCE_TYPES = frozenset({"image", "media", "font"})

_ROW = b"<li>"

LoadPage = Callable[[str], Awaitable[None]]

ReportStep = Callable[[str], None]


class PageRate(BaseModel):
    """Pages a second of one approach, in its best round.

    `ratio` is the part of what the first approach of the table reached beside it: the median over the rounds, because a
    machine that is busy with other things slows down now one approach, now the other.
    """

    approach: str
    at_once: int
    pages_per_s: float
    ratio: float


class MemoryUsage(BaseModel):
    """What this process, the browser and its driver hold in memory, in MB, each shared page counted once."""

    pages: int
    after_first_50_mb: float
    at_end_mb: float
    highest_mb: float


class PagesBenchmarkResult(BaseModel):
    """What was measured; the first approach of each table is the one that the others are compared with."""

    static: list[PageRate]
    rendered: list[PageRate]
    memory: MemoryUsage | None


async def measure(today: dt.date, *, on_step: ReportStep) -> PagesBenchmarkResult:
    """Return all figures; the approaches take turns in short rounds. `on_step` hears what is being measured.

    Memory is None where the system does not tell it.
    """
    async with start_bench_site(today) as (bases, server):
        bench = _PagesBenchmark(bases, on_step)
        static, rendered = await bench.measure_static(), await bench.measure_rendered()
        return PagesBenchmarkResult(static=static, rendered=rendered, memory=await bench.measure_memory(server))


class _PagesBenchmark:
    def __init__(self, bases: Sequence[str], on_step: ReportStep) -> None:
        self._bases = bases
        self._on_step = on_step
        self._round = 0
        self._network = NetworkSettings(allowed_private_hosts=[base.removeprefix("http://") for base in bases])
        self._pages = PagesSettings(delay_s=0, max_concurrency=max(CONCURRENCY_LEVELS))
        self._guard = Guard.from_settings(self._network)

    async def measure_static(self) -> list[PageRate]:
        with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
            async with (
                httpx.AsyncClient(trust_env=False) as bare,
                self._open_fetch(None) as ours,
                self._open_fetch(Path(folder) / "a") as keeping,
                self._open_loader(Path(folder) / "b") as loader,
            ):

                async def by_httpx(url: str) -> None:
                    LexborHTMLParser((await bare.get(url)).content).css("a")

                approaches = {
                    "bare httpx + lexbor": by_httpx,
                    "ours: fetch + lexbor": ours,
                    "ours: and kept on disk": keeping,
                    "ours: the whole page read": _build_whole_page_load(loader, Render.NEVER),
                }
                return await self._compare(approaches, _STATIC_PAGES, _STATIC_ROUNDS, ("listed", "articles"))

    async def measure_rendered(self) -> list[PageRate]:
        renderer = Renderer(pages=self._pages, network=self._network, guard=self._guard)
        try:
            async with (
                _open_bare_browser("networkidle") as bare,
                _open_bare_browser("load") as without_rows,
                self._open_loader(None) as loader,
            ):

                async def by_renderer(url: str) -> None:
                    _check_rows((await renderer.render(url)).body)

                approaches = {
                    "bare Playwright": bare,
                    "ours: drawn": by_renderer,
                    "ours: the whole page read": _build_whole_page_load(loader, Render.ALWAYS),
                    "bare, without the list": without_rows,
                }
                return await self._compare(approaches, _RENDERED_PAGES, _RENDERED_ROUNDS, ("drawn",))
        finally:
            await renderer.close()

    async def measure_memory(self, server: int) -> MemoryUsage | None:
        """The browser is started anew every so many pages; both ends are looked at as far from that."""
        held: list[float] = []
        async with self._open_loader(None) as loader:
            drawn = _build_whole_page_load(loader, Render.ALWAYS)
            for start in range(0, _MEMORY_PAGES + _MEMORY_BATCH_PAGES, _MEMORY_BATCH_PAGES):
                self._on_step(f"memory: {start} of {_MEMORY_PAGES + _MEMORY_BATCH_PAGES} pages")
                await self._load_pages(drawn, _MEMORY_CONCURRENCY, _MEMORY_BATCH_PAGES, ("drawn", "listed"))
                if (now := measure_tree_memory(exclude_pid=server)) is None:
                    return None
                held.append(now / 2**20)
        return MemoryUsage(pages=_MEMORY_PAGES, after_first_50_mb=held[0], at_end_mb=held[-1], highest_mb=max(held))

    async def _compare(
        self, approaches: dict[str, LoadPage], pages: int, rounds: int, folders: Sequence[str]
    ) -> list[PageRate]:
        rates = []
        for load in approaches.values():
            await self._load_pages(load, len(self._bases), 2 * len(self._bases), folders)
        for at_once in CONCURRENCY_LEVELS:
            reached: dict[str, list[float]] = {approach: [] for approach in approaches}
            for number in range(rounds):
                self._on_step(f"{folders[0]} pages, {at_once} at once, round {number + 1} of {rounds}")
                for approach, load in approaches.items():
                    reached[approach].append(await self._load_pages(load, at_once, pages, folders))
            rates += [
                _compute_rate(approach, at_once, own, next(iter(reached.values()))) for approach, own in reached.items()
            ]
        return rates

    async def _load_pages(self, load: LoadPage, at_once: int, pages: int, folders: Sequence[str]) -> float:
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
    async def _open_fetch(self, cache_folder: Path | None) -> AsyncIterator[LoadPage]:
        """Load a page's bytes as the product does, and parse them as the bare library does."""
        async with HttpClient(network=self._network, guard=self._guard, cache_folder=cache_folder) as client:
            politeness = Politeness(client=client, pages=self._pages)

            async def get(url: str) -> None:
                async with politeness.acquire(url):
                    response = await client.fetch(url, cache_policy=CachePolicy.REVALIDATE if cache_folder else None)
                LexborHTMLParser(decode(response.body, response.content_type)[0]).css("a")

            yield get

    @asynccontextmanager
    async def _open_loader(self, cache_folder: Path | None) -> AsyncIterator[Loader]:
        workers = WorkerPool(preload=["monitor.extract.parse"])
        try:
            async with Loader.from_settings(
                pages=self._pages,
                network=self._network,
                clock=SystemClock(),
                workers=workers,
                cache_folder=cache_folder,
            ) as loader:
                yield loader
        finally:
            await workers.close()


def _compute_rate(approach: str, at_once: int, reached: Sequence[float], bare: Sequence[float]) -> PageRate:
    ratio = statistics.median(own / other for own, other in zip(reached, bare, strict=True))
    return PageRate(approach=approach, at_once=at_once, pages_per_s=max(reached), ratio=ratio)


def _build_whole_page_load(loader: Loader, render: Render) -> LoadPage:
    async def load(url: str) -> None:
        page = await loader.load(url, render=render)
        if page.error is not None:
            raise WorkFailed(f"{url} could not be loaded: {page.error.message}")

    return load


@asynccontextmanager
async def _open_bare_browser(until: Literal["networkidle", "load"]) -> AsyncIterator[LoadPage]:
    """The same browser with the same blocking, its tabs used again, and nothing of ours around it."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(BrowserSettings()), args=_FLAGS)
        context = await browser.new_context(service_workers="block")

        async def limiter(route: Route) -> None:
            if route.request.resource_type in _BLOCKED_RESOURCE_TYPES:
                await route.abort()
            else:
                await route.continue_()

        await context.route("**/*", limiter)
        free = [await context.new_page() for _ in range(HOST_COUNT)]

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
    """Refuse a page that was taken before its list was there: that is not faster but wrong."""
    if html.count(_ROW) != RENDERED_ROWS:
        raise WorkFailed(f"A page was drawn with {html.count(_ROW)} of its {RENDERED_ROWS} rows.")
