"""`make bench NAME=draw`: what a drawn page costs, beside Playwright alone and Crawl4AI, and whether its rows are seen.

The same pages, served by another process, are drawn by each approach in turn, in short rounds, so that what else the
machine does meets all alike. Every approach has its own browser, opened before, and does not load images.
"""

import asyncio
import os
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from playwright.async_api import Page, Route, async_playwright
from pydantic import BaseModel

from benchmarks.pages import measure_tree_memory
from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.demo.serving import HOST, LoopbackRequest, LoopbackResponse, build_status_response, serve_loopback
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.browser.renderer import Renderer
from monitor.fetch.guard import Guard

ROW_COUNT = 30

_START_TIMEOUT_S = 120.0
_WARM_UP_PAGES = 4
_FLAGS = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
_HTML = "text/html; charset=utf-8"
_ROW = b'<li class="row">'
_FETCH = "fetch('/rows/%s').then(answer => answer.text()).then(rows => { list.innerHTML = rows; });"

KINDS = {
    "there": "the list is there at load",
    "fetched": "a script fetches it",
    "slow": "the site takes a second for it",
    "timer": "a timer of 300 ms fills a skeleton",
    "polling": "a script fetches it, and then polls for ever",
}

_SCRIPTS = {
    "there": "",
    "fetched": _FETCH % "now",
    "slow": _FETCH % "later",
    "timer": f"setTimeout(() => {{ {_FETCH % 'now'} }}, 300);",
    "polling": f"{_FETCH % 'now'} const poll = () => fetch('/status').then(() => setTimeout(poll, 30)); poll();",
}

Draw = Callable[[str], Awaitable[bytes]]


class DrawCost(BaseModel):
    """The median page of one approach, and the fewest rows that were seen.

    `ratio` is the part of the first approach's speed that this one reaches.
    """

    page: str
    approach: str
    ms: float
    cpu_ms: float
    ratio: float
    rows: int


class DrawStart(BaseModel):
    """Until the first page was drawn, and the memory after the first few, each shared page counted once."""

    approach: str
    s: float
    cpu_s: float
    memory_mb: float | None


class DrawBenchmarkResult(BaseModel):
    """All figures; approaches that are not installed are in `missing`, with the reason."""

    starts: list[DrawStart]
    costs: list[DrawCost]
    missing: dict[str, str]


async def measure(
    *, pages: int, rounds: int, peers: Path | None, on_step: Callable[[str], None]
) -> DrawBenchmarkResult:
    """Return what so many pages of each kind cost in each of so many rounds."""
    async with AsyncExitStack() as stack:
        base, server = await stack.enter_async_context(_start_site())
        bench = _DrawBenchmark(base, server, on_step)
        missing = {}
        for approach, opened in {
            "Playwright, load event": _open_playwright(_wait_for_load),
            "Playwright, its rows": _open_playwright(_wait_for_rows),
            "Monitor": _open_renderer(base),
            "Crawl4AI": _open_crawl4ai(peers),
        }.items():
            try:
                await bench.open(stack, approach, opened)
            except FileNotFoundError as error:
                missing[approach] = str(error)
        costs = [cost for kind in KINDS for cost in await bench.compare(kind, pages=pages, rounds=rounds)]
        return DrawBenchmarkResult(starts=bench.starts, costs=costs, missing=missing)


class _DrawBenchmark:
    def __init__(self, base: str, server: int, on_step: Callable[[str], None]) -> None:
        self._base = base
        self._server = server
        self._on_step = on_step
        self._number = 0
        self._approaches: dict[str, Draw] = {}
        self.starts: list[DrawStart] = []

    async def open(self, stack: AsyncExitStack, approach: str, opened: AbstractAsyncContextManager[Draw]) -> None:
        self._on_step(f"start: {approach}")
        memory = measure_tree_memory(exclude_pid=self._server)
        started, cpu_s = time.perf_counter(), self._read_cpu_s()
        draw = await stack.enter_async_context(opened)
        await draw(self._build_url("there"))
        start = DrawStart(
            approach=approach, s=time.perf_counter() - started, cpu_s=self._read_cpu_s() - cpu_s, memory_mb=None
        )
        for _ in range(_WARM_UP_PAGES):
            await draw(self._build_url("fetched"))
        after = measure_tree_memory(exclude_pid=self._server)
        if memory is not None and after is not None:
            start.memory_mb = (after - memory) / 2**20
        self.starts.append(start)
        self._approaches[approach] = draw

    async def compare(self, kind: str, *, pages: int, rounds: int) -> list[DrawCost]:
        times: dict[str, list[float]] = {approach: [] for approach in self._approaches}
        cpu: dict[str, list[float]] = {approach: [] for approach in self._approaches}
        rows: dict[str, int] = dict.fromkeys(self._approaches, ROW_COUNT)
        for number in range(rounds):
            for approach, draw in self._approaches.items():
                self._on_step(f"{KINDS[kind]}, round {number + 1} of {rounds}: {approach}")
                started, cpu_s = time.perf_counter(), self._read_cpu_s()
                for _ in range(pages):
                    rows[approach] = min(rows[approach], (await draw(self._build_url(kind))).count(_ROW))
                times[approach].append((time.perf_counter() - started) * 1000 / pages)
                cpu[approach].append((self._read_cpu_s() - cpu_s) * 1000 / pages)
        first = next(iter(times.values()))
        return [
            DrawCost(
                page=KINDS[kind],
                approach=approach,
                ms=statistics.median(own),
                cpu_ms=statistics.median(cpu[approach]),
                ratio=statistics.median(other / mine for other, mine in zip(first, own, strict=True)),
                rows=rows[approach],
            )
            for approach, own in times.items()
        ]

    def _build_url(self, kind: str) -> str:
        self._number += 1
        return f"{self._base}/{kind}/{self._number}"

    def _read_cpu_s(self) -> float:
        return _measure_tree_cpu_s(exclude_pid=self._server)


def _measure_tree_cpu_s(*, exclude_pid: int) -> float:
    """Processor seconds of this process, its descendants, and those of them that have ended."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        children.setdefault(int(fields[1]), []).append(int(folder.name))
        ticks[int(folder.name)] = sum(int(field) for field in fields[11:15])
    total, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        if process != exclude_pid:
            total += ticks.get(process, 0)
            waiting += children.get(process, [])
    return total / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def _open_renderer(base: str) -> AsyncIterator[Draw]:
    network = NetworkSettings(allowed_private_hosts=[base.removeprefix("http://")])
    renderer = Renderer(pages=PagesSettings(), network=network, guard=Guard.from_settings(network))

    async def draw(url: str) -> bytes:
        return (await renderer.render(url)).body

    try:
        yield draw
    finally:
        await renderer.close()


async def _wait_for_load(page: Page, url: str) -> None:
    await page.goto(url, wait_until="load")


async def _wait_for_rows(page: Page, url: str) -> None:
    await page.goto(url, wait_until="domcontentloaded")
    await page.wait_for_selector(f"li.row:nth-child({ROW_COUNT})", state="attached")


@asynccontextmanager
async def _open_playwright(wait: Callable[[Page, str], Awaitable[None]]) -> AsyncIterator[Draw]:
    """Playwright alone: one tab that is used again, images blocked, and nothing of ours around it."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(BrowserSettings()), args=_FLAGS)
        context = await browser.new_context(service_workers="block")

        async def block(route: Route) -> None:
            if route.request.resource_type in ("image", "media", "font"):
                await route.abort()
            else:
                await route.continue_()

        await context.route("**/*", block)
        page = await context.new_page()

        async def draw(url: str) -> bytes:
            await wait(page, url)
            return (await page.content()).encode()

        try:
            yield draw
        finally:
            await context.unroute_all(behavior="ignoreErrors")
            await browser.close()


_CRAWL4AI = """
import asyncio, contextlib, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from crawl4ai import AsyncWebCrawler, BrowserConfig, CacheMode, CrawlerRunConfig

async def main():
    config = CrawlerRunConfig(cache_mode=CacheMode.BYPASS, wait_until="domcontentloaded", page_timeout=20000,
                              wait_for="css:li.row:nth-child(%d)", session_id="bench", verbose=False)
    async with AsyncWebCrawler(config=BrowserConfig(headless=True, text_mode=True, verbose=False)) as crawler:
        print("ready", file=answers, flush=True)
        while url := (await asyncio.to_thread(sys.stdin.readline)).strip():
            result = await crawler.arun(url, config=config)
            print((result.html or "").count('<li class="row">'), file=answers, flush=True)

asyncio.run(main())
"""


@asynccontextmanager
async def _open_crawl4ai(peers: Path | None) -> AsyncIterator[Draw]:
    """Crawl4AI in an interpreter of its own, told to wait for the rows; raises `FileNotFoundError` without it."""
    if peers is None:
        raise FileNotFoundError("needs --peers PYTHON, an interpreter with crawl4ai and its browser")
    process = await asyncio.create_subprocess_exec(
        str(peers),
        "-c",
        _CRAWL4AI % ROW_COUNT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the process has no pipes")
    given, answered = process.stdin, process.stdout

    async def draw(url: str) -> bytes:
        given.write(f"{url}\n".encode())
        return _ROW * int(await asyncio.wait_for(answered.readline(), _START_TIMEOUT_S) or 0)

    try:
        if await asyncio.wait_for(answered.readline(), _START_TIMEOUT_S) != b"ready\n":
            raise FileNotFoundError(f"{peers} has no crawl4ai that starts a browser")
        yield draw
    finally:
        given.close()
        await process.wait()


@asynccontextmanager
async def _start_site() -> AsyncIterator[tuple[str, int]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.draw", stdout=asyncio.subprocess.PIPE
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the process that serves the pages has no output")
        port = int(await asyncio.wait_for(process.stdout.readline(), _START_TIMEOUT_S))
        yield f"http://{HOST}:{port}", process.pid
    finally:
        process.terminate()
        await process.wait()


def respond(request: LoopbackRequest) -> LoopbackResponse:
    """A page of the kind that is asked for, its rows, or what a page polls."""
    kind = request.target.split("/")[1]
    if kind in _SCRIPTS:
        return LoopbackResponse(200, _HTML, _build_page(kind).encode())
    if kind == "rows":
        return LoopbackResponse(200, _HTML, _build_rows().encode(), delay_s=1.0 if "later" in request.target else 0.0)
    if kind == "status":
        return LoopbackResponse(200, "text/plain", b"fine")
    return build_status_response(404)


def _build_rows() -> str:
    return "".join(
        f'<li class="row"><a href="/notice/{number}.html">关于开展第{number}批专项检查工作的通知</a>'
        f"<span>2026-11-{number + 1:02}</span></li>"
        for number in range(ROW_COUNT)
    )


def _build_page(kind: str) -> str:
    """A page as sites have them: a bar of links, an image, a carousel that turns for ever, a list, and a footer."""
    links = "".join(f'<a href="/{number}/">栏目{number}</a>' for number in range(12))
    inside = {"there": _build_rows(), "timer": '<li class="skeleton"></li>' * ROW_COUNT}.get(kind, "")
    return (
        '<!DOCTYPE html><html lang="zh"><head><meta charset="utf-8"><title>通知公告</title></head><body>'
        f'<nav>{links}</nav><div id="carousel"><img src="/1.png" alt=""></div><ul id="list">{inside}</ul>'
        f"<footer>{'主办单位：办公厅 版权所有 ' * 20}</footer><script>const list = document.getElementById('list');"
        "let turns = 0; setInterval(() => { document.getElementById('carousel').dataset.turn = ++turns; }, 3000);"
        f"{_SCRIPTS[kind]}</script></body></html>"
    )


async def _serve() -> None:
    async with serve_loopback(respond) as port:
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def list_rows(costs: Sequence[DrawCost]) -> list[tuple[object, ...]]:
    """Return the figures as rows of a table."""
    return [
        (cost.page, cost.approach, f"{cost.ms:.0f}", f"{cost.cpu_ms:.0f}", f"{cost.ratio:.2f}", cost.rows)
        for cost in costs
    ]


if __name__ == "__main__":
    asyncio.run(_serve())
