"""How fast a large archive is listed, filtered, searched and shown: made-up items, the newest fifty, counts capped."""

import datetime as dt
import gc
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel

from benchmarks.archive_data import SOURCES, TAGS, SampleVocabulary, fill_archive, format_source_name
from monitor.bootstrap import App, open_app
from monitor.config.model import Settings
from monitor.db.fulltext import FullTextScope
from monitor.db.queries.filters import ItemFilter
from monitor.db.terms import TextQuery
from monitor.errors import WorkFailed
from monitor.services.audit import COMMAND_LINE
from monitor.services.items import ItemQuery
from monitor.vocabulary import ItemType, Role

QUERIES = 200

_LIMIT = 50

_COUNT_CAP = 1000

ReportStep = Callable[[str], None]

BuildWebApp = Callable[[App], Any]
"""Makes the web part (an ASGI application) of an opened program."""

RunQuery = Callable[[random.Random], Awaitable[int]]

BuildFilter = Callable[[random.Random], dict[str, Any]]

PickText = Callable[[random.Random], str]


class QuerySpeed(BaseModel):
    """How long one kind of question takes, in ms, over so many of them; `found` is the median of what is answered.

    `cpu_p95_ms` is the time for which a question kept a processor busy in this process, which on a busy machine is
    less than it took; on PostgreSQL, the server's part is not in it.
    """

    question: str
    queries: int
    p50_ms: float
    p95_ms: float
    cpu_p95_ms: float
    slowest_ms: float
    found: int


class StoreBenchmarkResult(BaseModel):
    """What was measured: the time that the filling took is 0 where the database was filled before."""

    items: int
    database: str
    filled_in_s: float
    speeds: list[QuerySpeed]


async def measure(
    items: int, *, url: str | None, today: dt.date, build_web: BuildWebApp, on_step: ReportStep
) -> StoreBenchmarkResult:
    """All figures, on the database at `url`, which is filled where it is empty, or on a SQLite file of its own."""
    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as folder:
        database = url or f"sqlite:///{folder}/monitor.db"
        settings = Settings(data_dir=Path(folder), database_url=database, work={"scheduler": False})
        on_step("filling")
        began = time.monotonic()
        is_filled = await _is_filled(settings)
        if not is_filled:
            fill_archive(database, items, today=today)
        filled_in_s = 0.0 if is_filled else round(time.monotonic() - began, 1)
        async with open_app(settings) as app, _open_client(app, build_web) as client:
            questions = list(_list_queries(app, client, today))
            _freeze_garbage()
            speeds = []
            for question, ask in questions:
                on_step(question)
                speeds.append(await _measure_speed(question, ask))
            count = await app.store.items.count(ItemFilter(), cap=items)
        kind = "postgresql" if database.startswith("postgres") else "sqlite"
        return StoreBenchmarkResult(items=count, database=kind, filled_in_s=filled_in_s, speeds=speeds)


async def _is_filled(settings: Settings) -> bool:
    async with open_app(settings) as app:
        return await app.store.items.count(ItemFilter(), cap=1) > 0


def _freeze_garbage() -> None:
    """What the start has made is not looked at again when memory is cleaned: a service does the same."""
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def _open_client(app: App, build_web: BuildWebApp) -> AsyncIterator[httpx.AsyncClient]:
    """Asks the web part as a reader's program does, without a network between."""
    token = await app.tokens.create("bench", Role.READER, by=COMMAND_LINE)
    headers = {"Authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app=build_web(app))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        yield client


async def _measure_speed(question: str, ask: RunQuery) -> QuerySpeed:
    chance = random.Random(question)  # noqa: S311 -- the same questions each time
    for _ in range(QUERIES // 10):
        await ask(chance)  # what is kept between questions is there from now on
    times, cpu_times, found = [], [], []
    for _ in range(QUERIES):
        began, cpu_began = time.perf_counter(), time.process_time()
        found.append(await ask(chance))
        times.append((time.perf_counter() - began) * 1000)
        cpu_times.append((time.process_time() - cpu_began) * 1000)
    return QuerySpeed(
        question=question,
        queries=QUERIES,
        found=round(statistics.median(found)),
        p50_ms=round(statistics.median(times), 1),
        p95_ms=round(statistics.quantiles(times, n=20)[-1], 1),
        cpu_p95_ms=round(statistics.quantiles(cpu_times, n=20)[-1], 1),
        slowest_ms=round(max(times), 1),
    )


def _list_queries(app: App, client: httpx.AsyncClient, today: dt.date) -> Iterator[tuple[str, RunQuery]]:
    for name, narrowing in _list_filters(today).items():
        yield f"list: {name}", _build_list_query(app, narrowing)
    texts = _list_texts(SampleVocabulary())
    for name, text in texts.items():
        yield f"search: {name}", _build_search_query(app, text)
    yield (
        "search in a source: a frequent word",
        _build_search_query(app, texts["a frequent Chinese word"], _pick_source_filter),
    )
    yield "search, the best first", _build_ranked_query(app, texts["a frequent Chinese word"])
    yield "page: the list", _build_page_query(client, lambda _: {})
    yield (
        "page: a filter",
        _build_page_query(client, lambda chance: {"source": _pick_source_filter(chance)["sources"][0]}),
    )
    yield "page: a search", _build_page_query(client, lambda chance: {"q": texts[chance.choice(list(texts))](chance)})


def _list_filters(today: dt.date) -> dict[str, BuildFilter]:
    def back(chance: random.Random, most: int) -> dt.date:
        return today - dt.timedelta(days=chance.randrange(most))

    return {
        "all": lambda _: {},
        "a source": _pick_source_filter,
        "a tag": lambda chance: {"tags": [f"tag{chance.randrange(TAGS)}"]},
        "two types": lambda chance: {"types": chance.sample(list(ItemType), 2)},
        "a month": lambda chance: {"until": (until := back(chance, 1400)), "since": until - dt.timedelta(days=30)},
        "a section's name": lambda chance: {"section": str(chance.randrange(7))},
        "a document number": lambda chance: {"document_number": f"示发[2026]{chance.randrange(10_000) * 5}号"},
        "a language and a type": lambda chance: {"language": "en", "types": [chance.choice(list(ItemType))]},
        "deep in the list": lambda chance: {"after": (back(chance, 1400), chance.randrange(1, 1_000_000))},
        "deep in a tag": lambda chance: {
            "tags": [f"tag{chance.randrange(TAGS)}"],
            "after": (back(chance, 1400), chance.randrange(1, 1_000_000)),
        },
    }


def _pick_source_filter(chance: random.Random) -> dict[str, Any]:
    return {"sources": [format_source_name(chance.randrange(SOURCES))]}


def _list_texts(stock: SampleVocabulary) -> dict[str, PickText]:
    """What is searched for: words by how often they stand in the archive, side by side and apart."""

    def frequent(chance: random.Random, words: Sequence[str], count: int) -> list[str]:
        return chance.sample(words[:50], count)

    return {
        "a frequent Chinese word": lambda chance: chance.choice(stock.chinese[:50]),
        "a frequent English word": lambda chance: chance.choice(stock.english[:50]),
        "a less frequent Chinese word": lambda chance: chance.choice(stock.chinese[500:]),
        "a less frequent English word": lambda chance: chance.choice(stock.english[500:]),
        "a rare Chinese word": lambda chance: chance.choice(stock.rare_chinese),
        "a rare English word": lambda chance: chance.choice(stock.rare_english),
        "a number": lambda chance: str(chance.randrange(1_000_000)),
        "a Chinese phrase": lambda chance: stock.pick_phrase(chance, is_english=False),
        "an English phrase": lambda chance: f'"{stock.pick_phrase(chance, is_english=True)}"',
        "two Chinese words": lambda chance: " ".join(frequent(chance, stock.chinese, 2)),
        "a frequent and a less frequent word": lambda chance: " ".join(
            [chance.choice(stock.chinese[:50]), chance.choice(stock.chinese[500:])]
        ),
        "a Chinese and an English word": lambda chance: " ".join(
            [chance.choice(stock.chinese[:50]), chance.choice(stock.rare_english)]
        ),
    }


def _build_list_query(app: App, narrowing: BuildFilter) -> RunQuery:
    async def ask(chance: random.Random) -> int:
        wanted = ItemFilter.model_validate(narrowing(chance))
        await app.store.items.count(wanted, _COUNT_CAP)
        return len(await app.store.items.list(wanted, _LIMIT))

    return ask


def _build_search_query(app: App, text: PickText, narrowing: BuildFilter = lambda _: {}) -> RunQuery:
    async def ask(chance: random.Random) -> int:
        query, scope = TextQuery.parse(text(chance)), FullTextScope(items=ItemFilter.model_validate(narrowing(chance)))
        await app.store.fulltext.count(query, scope, _COUNT_CAP)
        return len((await app.store.fulltext.find_page(query, scope, limit=_LIMIT)).matches)

    return ask


def _build_ranked_query(app: App, text: PickText) -> RunQuery:
    async def ask(chance: random.Random) -> int:
        return len((await app.archive.search(ItemQuery(text=text(chance)), _LIMIT)).items)

    return ask


def _build_page_query(client: httpx.AsyncClient, parameters: BuildFilter) -> RunQuery:
    async def ask(chance: random.Random) -> int:
        answer = await client.get("/items", params=parameters(chance))
        if answer.status_code != 200:
            raise WorkFailed(f"The page {answer.url} answered {answer.status_code}.")
        return answer.text.count("<h2")

    return ask
