"""What web.search costs beside the bare libraries, when a merged answer comes, and how fast the archive answers.

The services are simulated on loopback. What is compared does the same work: a request, its answer parsed, the results
taken out of it; ours asks guard, quota and cool-down on the approach, writes the ledger, cleans and ranks.
"""

import datetime as dt
import json
import socket
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel
from selectolax.lexbor import LexborHTMLParser

from benchmarks.search_services import SIMULATED_BACKENDS, SimulatedResult
from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.db.tables.collection import Item
from monitor.demo.serving import LoopbackRequest, LoopbackResponse, build_status_response, serve_loopback
from monitor.errors import WorkFailed

BACKEND_NAMES = ("searxng", "brave", "baidu_html")

ARCHIVE_ITEMS = 5_000

_ROUNDS = 60

_ARCHIVE_ROUNDS = 20

_BUDGET_MS = 1_000

_WORDS = ("光伏", "风电", "储能", "碳市场", "电价", "氢能", "煤炭", "核电")

_KEY_SETTINGS = {"api_key_env": "PATH"}  # any variable that is set: nobody here looks at the key

_SIMULATED_BACKENDS = {exchange.name: exchange for exchange in SIMULATED_BACKENDS if exchange.name in BACKEND_NAMES}

_DAY = dt.date(2026, 11, 1)

_RESULTS = [
    SimulatedResult(
        f"光伏新闻第 {n} 条", f"https://news.example/{n}.html", f"光伏装机第 {n} 次增长，详见通知。" * 3, _DAY
    )
    for n in range(10)
]

ReportStep = Callable[[str], None]


class BackendCost(BaseModel):
    """What one search keeps a processor busy, in ms: with bare httpx and a parser, and with ours; medians."""

    service: str
    bare_ms: float
    ours_ms: float


class MergedSearchTime(BaseModel):
    """When the answer of one good, one slow and one dead service came, in ms, within which budget."""

    budget_ms: int
    answer_ms: float
    results: int
    errors: int


class ArchiveSearchTime(BaseModel):
    """How long a search in so many items takes, in ms; medians over queries of one and of two words."""

    items: int
    one_word_ms: float
    two_words_ms: float


class SearchBenchmarkResult(BaseModel):
    costs: list[BackendCost]
    merged: MergedSearchTime
    archive: ArchiveSearchTime


async def measure(*, on_step: ReportStep) -> SearchBenchmarkResult:
    """All figures; `on_step` hears what is being measured."""
    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
        async with serve_loopback(_respond) as port:
            on_step("services")
            async with _open_app(Path(folder), port) as app:
                costs = [await _measure_cost(app, name, port) for name in BACKEND_NAMES]
                on_step("archive")
                archive = await _measure_archive(app)
            on_step("merged")
            # Connections to it are made, and then nothing comes.
            with socket.create_server(("127.0.0.1", 0)) as silent:
                async with _open_app(Path(folder), port, slow=silent.getsockname()[1]) as app:
                    merged = await _measure_merged(app)
        return SearchBenchmarkResult(costs=costs, merged=merged, archive=archive)


@asynccontextmanager
async def _open_app(folder: Path, port: int, *, slow: int | None = None) -> AsyncIterator[App]:
    """The program with its services on loopback; with `slow`, one of them there and another one nowhere."""
    places = dict.fromkeys(BACKEND_NAMES, port) | ({"searxng": slow, "baidu_html": 9} if slow else {})
    backends = {name: {"base_url": f"http://127.0.0.1:{place}", **_KEY_SETTINGS} for name, place in places.items()}
    settings = Settings(
        data_dir=folder,
        database_url=f"sqlite:///{folder / 'monitor.db'}",
        pages={"delay_s": 0},
        network={"allowed_private_hosts": ["127.0.0.1"]},
        search={"backend": list(BACKEND_NAMES), "backends": backends, "cache_s": 0},
    )
    async with open_app(settings) as app:
        yield app


def _respond(request: LoopbackRequest) -> LoopbackResponse:
    path = urlsplit(request.target).path
    exchange = next((backend for backend in _SIMULATED_BACKENDS.values() if backend.path == path), None)
    return build_status_response(404) if exchange is None else exchange.build_response(_RESULTS)


async def _measure_cost(app: App, name: str, port: int) -> BackendCost:
    url = f"http://127.0.0.1:{port}{_SIMULATED_BACKENDS[name].path}?q=x"

    async def ours() -> None:
        found = await app.search.search({"query": "光伏"}, backend=name)
        if len(found.items) != len(_RESULTS):
            raise WorkFailed(f"{name} gave {len(found.items)} results: {found.errors}")

    async with httpx.AsyncClient(trust_env=False) as client:

        async def bare() -> None:
            body = (await client.get(url)).content
            if name == "baidu_html":
                [entry.text() for entry in LexborHTMLParser(body).css("#content_left h3 a")]
            else:
                json.loads(body)

        bare_ms, ours_ms = await _measure_alternately([bare, ours])
    return BackendCost(service=name, bare_ms=bare_ms, ours_ms=ours_ms)


async def _measure_alternately(approaches: Sequence[Callable[[], Awaitable[None]]]) -> list[float]:
    """The median of the processor's ms for each approach, server included; taking turns, they meet the same machine."""
    spent: list[list[float]] = [[] for _ in approaches]
    for _ in range(_ROUNDS):
        for approach, times in zip(approaches, spent, strict=True):
            began = time.process_time()
            await approach()
            times.append((time.process_time() - began) * 1000)
    return [round(statistics.median(times[_ROUNDS // 10 :]), 2) for times in spent]


async def _measure_merged(app: App) -> MergedSearchTime:
    await app.search.search({"query": "光伏"}, backend="brave")  # the approach out is open before the time runs
    began = time.monotonic()
    found = await app.search.search({"query": "光伏", "budget_ms": _BUDGET_MS})
    took_ms = round((time.monotonic() - began) * 1000, 1)
    return MergedSearchTime(budget_ms=_BUDGET_MS, answer_ms=took_ms, results=len(found.items), errors=len(found.errors))


async def _measure_archive(app: App) -> ArchiveSearchTime:
    now = app.clock.now()
    items = [
        Item(
            run_id="bench",
            source="bench",
            section="bench",
            url=f"https://gov.example/{n}.html",
            url_key=str(n),
            title=f"关于{_WORDS[n % 8]}与{_WORDS[n // 8 % 8]}有关事项的通知（{n}）",
            first_seen=now,
            summary=f"{_WORDS[n // 64 % 8]}项目管理办法第 {n} 号，自发布之日起施行。",
            date=now.date() - dt.timedelta(n % 700),
        )
        for n in range(ARCHIVE_ITEMS)
    ]
    for at in range(0, ARCHIVE_ITEMS, 500):
        await app.store.items.save_all(items[at : at + 500])
    return ArchiveSearchTime(
        items=ARCHIVE_ITEMS,
        one_word_ms=await _measure_query_ms(app, list(_WORDS)),
        two_words_ms=await _measure_query_ms(app, [f"{entry} {other}" for entry, other in pairwise(_WORDS)]),
    )


async def _measure_query_ms(app: App, queries: Sequence[str]) -> float:
    times = []
    for number in range(_ARCHIVE_ROUNDS):
        began = time.process_time()
        await app.search.search({"query": queries[number % len(queries)]}, backend="archive")
        times.append((time.process_time() - began) * 1000)
    return round(statistics.median(times), 2)
