"""What a year of history costs: every page, list, command and briefing beside the same on a day of history."""

import gc
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel

from benchmarks.age_data import TARGET, fill_history, format_run_id
from monitor.bootstrap import App, open_app
from monitor.clock import SystemClock
from monitor.config.model import Settings
from monitor.db.queries.filters import ItemFilter
from monitor.errors import WorkFailed
from monitor.services.audit import COMMAND_LINE
from monitor.services.briefings import BriefingQuery
from monitor.vocabulary import Role

YOUNG_RUNS = 4
"""So many runs a source has in the database without a history: those of a day, which both have."""

_REPEATS = 5

_COMMAND_REPEATS = 3

_COMMANDS = (
    "brief",
    "sources list",
    "runs list",
    "health",
    "doctor",
    "costs",
    "items list",
    "items search 储能",
    "deliver list",
)

_PAGES = (
    "/",
    "/sources",
    "/sources/{source_id}",
    "/sources/{source_id}/edit",
    "/runs",
    "/runs?status=failed",
    "/runs?source=示例部 0001",
    "/runs/{run_id}",
    "/items",
    "/items?source=示例部 0001",
    "/items/{item_id}",
    "/briefings",
    "/briefings/new",
    "/briefings/now",
    "/deliveries",
    "/research",
    "/health",
    "/health/alarms",
    "/health/blocks?days=1",
    "/health/blocks",
    "/health/costs?days=1",
    "/health/costs",
    "/health/sources/{source_id}",
    "/audit",
    "/settings",
    "/settings/people",
    "/settings/storage",
    "/settings/targets",
    "/settings/tokens",
)

_NO_LISTS = re.compile(r"/(events|export|saved|search|trials|prompts)")
"""Streams, files, and what history has no part in."""

ReportStep = Callable[[str], None]
BuildWebApp = Callable[[App], Any]
Ask = Callable[[], Awaitable[None]]


class AgeCost(BaseModel):
    """The best of several: processor time (children included) and seconds; `ratio` is that of the processor time.

    On PostgreSQL, whose processor time is not ours, it is that of the seconds.
    """

    question: str
    young_cpu_ms: float
    old_cpu_ms: float
    young_ms: float
    old_ms: float
    ratio: float


class AgeBenchmarkResult(BaseModel):
    sources: int
    runs: int
    database: str
    filled_in_s: float
    size_mb: float | None
    costs: list[AgeCost]


@dataclass(frozen=True)
class _Place:
    """One of the two databases with its settings, which commands read from a file."""

    settings: Settings
    folder: Path


async def measure(
    *,
    sources: int,
    runs: int,
    folder: Path | None,
    databases: Sequence[str],
    build_web: BuildWebApp,
    on_step: ReportStep,
) -> AgeBenchmarkResult:
    """All figures. `databases` are those of the long and of the short history; SQLite files where none is named.

    With a `folder` the files stay there, and are not filled again.
    """
    with tempfile.TemporaryDirectory(prefix="monitor-bench-") as made:
        base = folder or Path(made)
        names = {"old": runs, "young": YOUNG_RUNS}
        urls = dict(zip(names, databases or (f"sqlite:///{base}/{name}/monitor.db" for name in names), strict=True))
        began = time.monotonic()
        places = {}
        for name, count in names.items():
            on_step(f"filling: {name}")
            places[name] = _prepare(base / name, urls[name], sources=sources, runs=count)
        filled_in_s = round(time.monotonic() - began, 1)
        costs = [cost async for cost in _measure_inside(places, build_web, on_step)]
        costs += _measure_commands(places, on_step)
        file = base / "old" / "monitor.db"
        return AgeBenchmarkResult(
            sources=sources,
            runs=runs,
            database="postgresql" if databases else "sqlite",
            filled_in_s=filled_in_s,
            size_mb=round(file.stat().st_size / 1e6) if file.is_file() else None,
            costs=costs,
        )


def _prepare(folder: Path, url: str, *, sources: int, runs: int) -> _Place:
    folder.mkdir(parents=True, exist_ok=True)
    targets = [{"name": TARGET, "url": "https://hook.example.org/"}]
    given = {
        "data_dir": str(folder),
        "database_url": url,
        "deliver": {"targets": targets},
        "work": {"scheduler": False},
    }
    (folder / "config.yaml").write_text(json.dumps(given))
    settings = Settings.model_validate(given)
    mark = folder / "filled"
    if not mark.exists():
        fill_history(url, sources=sources, runs=runs, now=SystemClock().now(), zone=settings.timezone)
        mark.touch()
    return _Place(settings, folder)


async def _measure_inside(
    places: dict[str, _Place], build_web: BuildWebApp, on_step: ReportStep
) -> AsyncIterator[AgeCost]:
    """Measure pages, lists and briefings in this process, the two databases in turn."""
    async with AsyncExitStack() as stack:
        asked: list[dict[str, Ask]] = []
        for name in ("young", "old"):
            app = await stack.enter_async_context(open_app(places[name].settings))
            web = build_web(app)
            client = await stack.enter_async_context(_open_client(app, web))
            asked.append(await _list_questions(app, client))
        gc.collect()
        gc.freeze()
        is_sqlite = places["old"].settings.database_url.startswith("sqlite")
        for question in sorted(asked[0].keys() & asked[1].keys()):
            on_step(question)
            young, old = [await _time_best(questions[question]) for questions in asked]
            yield _build_cost(question, young, old, is_sqlite=is_sqlite)


@asynccontextmanager
async def _open_client(app: App, web: Any) -> AsyncIterator[httpx.AsyncClient]:
    token = await app.tokens.create(f"bench-{time.time_ns()}", Role.ADMIN, by=COMMAND_LINE)
    headers = {"Authorization": f"Bearer {token}"}
    transport = httpx.ASGITransport(app=web)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        yield client


async def _list_questions(app: App, client: httpx.AsyncClient) -> dict[str, Ask]:
    """Every page and list of the web part, and the briefing of the day."""

    async def compose() -> None:
        await app.briefings.compose(BriefingQuery())

    questions: dict[str, Ask] = {"briefing of the day": compose}
    values = {
        "source_id": "1",
        "run_id": format_run_id(1, 0),
        "item_id": str((await app.store.items.list(ItemFilter(), limit=1))[0].id),
        "task_id": "bench-research-0",
    }
    described = (await client.get("/api/openapi.json")).json()["paths"]
    lists = [path for path, methods in described.items() if "get" in methods and not _NO_LISTS.search(path)]
    for path in (*_PAGES, *lists):
        if set(re.findall(r"{(\w+)}", path)) <= values.keys():
            questions[path] = _build_request(client, path.format_map(values))
    return questions


def _build_request(client: httpx.AsyncClient, path: str) -> Ask:
    async def ask() -> None:
        answer = await client.get(path)
        if answer.status_code not in (200, 404, 503):  # what was not kept, and readiness without a worker
            raise WorkFailed(f"{path} answered {answer.status_code}")

    return ask


async def _time_best(ask: Ask) -> tuple[float, float]:
    await ask()  # what is kept between questions is there from now on
    times = []
    for _ in range(_REPEATS):
        began, began_cpu = time.perf_counter(), time.process_time()
        await ask()
        times.append((time.process_time() - began_cpu, time.perf_counter() - began))
        if times[-1][1] > 5:
            break  # so slow that once tells enough
    return min(cpu for cpu, _ in times), min(seconds for _, seconds in times)


def _measure_commands(places: dict[str, _Place], on_step: ReportStep) -> Iterator[AgeCost]:
    is_sqlite = places["old"].settings.database_url.startswith("sqlite")
    for command in _COMMANDS:
        on_step(f"monitor {command}")
        best: dict[str, tuple[float, float]] = {}
        for _ in range(_COMMAND_REPEATS):
            for name in ("young", "old"):
                taken = _run(command.split(), places[name].folder)
                best[name] = min(best.get(name, taken), taken)
        yield _build_cost(f"monitor {command}", best["young"], best["old"], is_sqlite=is_sqlite)


def _run(words: Sequence[str], folder: Path) -> tuple[float, float]:
    """Return the processor time and the seconds of a command."""
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONPATH": str(Path(__file__).parents[1])}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "monitor", *words], cwd=folder, env=environment, check=False, capture_output=True
    )
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if b"Traceback" in done.stderr:
        raise WorkFailed(done.stderr.decode()[-500:])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, seconds


def _build_cost(question: str, young: tuple[float, float], old: tuple[float, float], *, is_sqlite: bool) -> AgeCost:
    of = 0 if is_sqlite else 1
    return AgeCost(
        question=question,
        young_cpu_ms=round(young[0] * 1000, 1),
        old_cpu_ms=round(old[0] * 1000, 1),
        young_ms=round(young[1] * 1000, 1),
        old_ms=round(old[1] * 1000, 1),
        ratio=round(old[of] / max(young[of], 1e-6), 2),
    )
