"""`monitor bench service`: how late runs start, how many a minute are done, and with how much memory."""

import asyncio
import datetime as dt
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel

from monitor.bootstrap import SystemClock, open_app, upgrade_database
from monitor.demo.farm import Farm
from monitor.domain.tables import Run
from monitor.domain.words import RunStatus
from monitor.errors import WorkFailed
from monitor.settings import Settings, load_settings

_FIRST_PORT = 18_000
_LOOK_EVERY_S = 1.0
_PATIENCE_S = 1800.0
_START_PATIENCE_S = 120.0


class ServiceLoad(BaseModel):
    """What the service is given to do: `minutes` over which the sources fall due; 0 = all are asked for at once."""

    sources: int = 1000
    hosts: int = 1000
    minutes: int = 10
    latency_s: float = 0.0
    concurrency: int = 16


class ServiceFigures(BaseModel):
    """One arrangement, measured. `lag` is from the planned time to the first request, in seconds."""

    arrangement: str
    runs: int
    not_ended_well: int
    lag_p50_s: float
    lag_p95_s: float
    runs_a_minute: float
    memory_first_mb: float
    memory_last_mb: float
    duplicate_fetches: int


async def measure(load: ServiceLoad, *, workers: int, postgres: str | None) -> ServiceFigures:
    """Run the load on SQLite in one process, or on an empty PostgreSQL with so many workers and one scheduler."""
    clock = SystemClock()
    farm = Farm(today=clock.now().astimezone().date(), latency_s=load.latency_s)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="monitor-bench-")))
        bases = await stack.enter_async_context(farm.serve(min(load.hosts, load.sources)))
        settings = _configure(folder, load, bases, postgres)
        upgrade_database(settings)
        words = ["worker"] * workers + ["scheduler"] if postgres else ["serve"]
        first = (clock.now() + dt.timedelta(seconds=30 + 10 * len(words))).replace(second=0, microsecond=0)
        first += dt.timedelta(minutes=1)
        await _add_sources(settings, load, bases, first)
        pids = [await stack.enter_async_context(service_process(folder, word)) for word in words]
        if load.minutes == 0:
            await _ask_for_all(settings)
        runs, memory = await _watched(settings, load, pids)
    return _figures("PostgreSQL, " + f"{workers} workers" if postgres else "SQLite, one process", farm, runs, memory)


def _configure(folder: Path, load: ServiceLoad, bases: Sequence[str], postgres: str | None) -> Settings:
    values = {
        "timezone": "UTC",
        "llm": {"enabled": False},
        "pages": {"delay_s": 0, "render": "never"},
        "network": {"allowed_private_hosts": [urlsplit(base).netloc for base in bases]},
        "work": {"concurrency": load.concurrency},
        "web": {"port": _FIRST_PORT + os.getpid() % 10_000},
        **({"database_url": postgres} if postgres else {}),
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return load_settings(path)


async def _add_sources(settings: Settings, load: ServiceLoad, bases: Sequence[str], first: dt.datetime) -> None:
    async with open_app(settings) as app:
        for number in range(load.sources):
            due = first + dt.timedelta(minutes=number * load.minutes // load.sources)
            schedule = {"schedule": f"{due.minute} {due.hour} {due.day} {due.month} *"} if load.minutes else {}
            url = f"{bases[number % len(bases)]}/{number}/"
            await app.sources.add({"name": f"site {number}", "url": url, **schedule})


async def _ask_for_all(settings: Settings) -> None:
    async with open_app(settings) as app:
        now = app.clock.now()
        for source in await app.sources.all():
            run = Run(id=f"s{source.id}-bench", source_id=source.id, source=source.name, planned_at=now)
            await app.store.runs.create(run)


@asynccontextmanager
async def service_process(folder: Path, word: str) -> AsyncIterator[int]:
    """`monitor serve`, or a part of it, with the configuration in the folder; gives its process number."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "monitor",
        word,
        cwd=folder,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None  # noqa: S101 -- for the type checker
    said = ""
    async with asyncio.timeout(_START_PATIENCE_S):
        while "At work" not in said:
            said = (await process.stderr.readline()).decode()
            if not said:
                raise WorkFailed(f"`monitor {word}` ended before it began to work.")
    draining = asyncio.create_task(process.stderr.read())
    try:
        yield process.pid
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()
        await draining


async def _watched(settings: Settings, load: ServiceLoad, pids: Sequence[int]) -> tuple[list[Run], list[float]]:
    memory: list[float] = []
    async with open_app(settings) as app, asyncio.timeout(_PATIENCE_S):
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            runs = await app.store.runs.list(limit=None)
            if runs:
                memory.append(sum(_memory_mb(pid) for pid in pids))
            if len(runs) >= load.sources and all(run.status.is_final for run in runs):
                return runs, memory


def _memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def _figures(arrangement: str, farm: Farm, runs: Sequence[Run], memory: Sequence[float]) -> ServiceFigures:
    first_hit: dict[int, float] = {}
    for hit in farm.hits:
        first_hit.setdefault(hit.site, hit.at)
    lags = sorted(
        first_hit[number] - run.planned_at.timestamp()
        for run in runs
        if (number := int(run.source.split()[-1])) in first_hit
    )
    begun = min(run.planned_at for run in runs)
    ended = max(run.ended_at or begun for run in runs)
    fetches: Mapping[tuple[str, str], int] = Counter((hit.host, hit.path) for hit in farm.hits)
    tenth = max(1, len(memory) // 10)
    return ServiceFigures(
        arrangement=arrangement,
        runs=len(runs),
        not_ended_well=sum(run.status is not RunStatus.SUCCEEDED for run in runs),
        lag_p50_s=round(lags[len(lags) // 2], 1),
        lag_p95_s=round(lags[int(len(lags) * 0.95)], 1),
        runs_a_minute=round(len(runs) / max((ended - begun).total_seconds(), 1.0) * 60, 1),
        memory_first_mb=round(sum(memory[:tenth]) / tenth, 1),
        memory_last_mb=round(sum(memory[-tenth:]) / tenth, 1),
        duplicate_fetches=sum(count - 1 for count in fetches.values()),
    )
