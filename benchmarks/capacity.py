"""`make bench NAME=capacity`: what a run that finds nothing new leaves, a year of such runs, and how it is pruned."""

import asyncio
import datetime as dt
import os
import secrets
import sqlite3
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel

from benchmarks.service import SiteFarm, start_service_process
from monitor.bootstrap import open_app
from monitor.clock import SystemClock
from monitor.config.loading import load_settings
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.migrate import upgrade
from monitor.db.tables.collection import Run
from monitor.services.audit import COMMAND_LINE

RUNS_A_DAY = 4
DAYS_A_YEAR = 365

_FIRST_PORT = 28_000
_TIMEOUT_S = 3600.0
_SETTLING_ROUNDS = 2
_HOSTS = 20

# All else stays as long as its run does. Tables that are not ours are the queue's.
_KEPT_DAYS = {"run_event": 1, "workflow": 14, "workflow_step": 14}
_QUEUE_KEPT_DAYS = 14

# Where a cloned row has a key of its own that is no number: a new one of so many bytes.
_RANDOM_KEYS = {"record": 8}
_WRITER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("PRAGMA synchronous=FULL")
longest = 0.0
while True:
    began = time.monotonic()
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE source SET consecutive_failures = 0 WHERE id = 1")
    connection.execute("COMMIT")
    longest = max(longest, time.monotonic() - began)
    print(longest, flush=True)
    time.sleep(0.05)
"""


class TableGrowth(BaseModel):
    """What one table gains by a run that finds nothing new; `bytes` count its indexes in."""

    table: str
    rows_a_run: float
    bytes_a_run: float
    kept_days: int
    year_mb: float


class PruneFigures(BaseModel):
    """How runs of a year were deleted; `longest_wait_s` is that of another process that wrote meanwhile."""

    runs: int
    database_mb: float
    seconds: float
    cpu_s: float
    longest_wait_s: float


class CapacityFigures(BaseModel):
    """The year is that of `year_sources` with `RUNS_A_DAY` runs a day each that find nothing new."""

    sources: int
    runs: int
    tables: list[TableGrowth]
    bytes_a_run: float
    files_a_run: float
    year_sources: int
    year_gb: float
    year_files: int
    prune: PruneFigures | None = None


async def measure(
    sources: int, rounds: int, *, year_sources: int, pruned_runs: int, on_step: Callable[[str], None]
) -> CapacityFigures:
    """Let a service run unchanged sites so many times; then multiply what a run left, and prune clones of it."""
    farm = SiteFarm(today=SystemClock().now().astimezone().date())
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="monitor-capacity-")))
        bases = await stack.enter_async_context(farm.serve(min(sources, _HOSTS)))
        settings = _configure(folder, bases)
        upgrade(settings.database_url)
        async with open_app(settings) as app:
            for number in range(sources):
                url = f"{bases[number % len(bases)]}/{number}/"
                await app.sources.add({"name": f"site {number}", "url": url}, by=COMMAND_LINE)
        before: dict[str, tuple[int, int]] = {}
        files_before = 0
        async with start_service_process(folder, "serve"):
            for number in range(_SETTLING_ROUNDS + rounds):
                on_step(f"round {number + 1} of {_SETTLING_ROUNDS + rounds}")
                if number == _SETTLING_ROUNDS:
                    before, files_before = await _measure_rows(settings), _count_files(folder)
                await _run_all(settings)
        after, files = await _measure_rows(settings), _count_files(folder) - files_before
        figures = _compute_figures(sources, rounds, before, after, files, year_sources)
        if pruned_runs:
            on_step(f"{pruned_runs} runs of the last year")
            clone_runs(_get_database(settings), pruned_runs, now=SystemClock().now())
            on_step("pruning")
            figures.prune = await _prune(settings)
    return figures


def _configure(folder: Path, bases: Sequence[str]) -> Settings:
    values = {
        "timezone": "UTC",
        "llm": {"enabled": False},
        "pages": {"delay_s": 0, "render": "never"},
        "network": {"allowed_private_hosts": [urlsplit(base).netloc for base in bases]},
        "web": {"port": _FIRST_PORT + os.getpid() % 10_000},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return load_settings(path)


def _get_database(settings: Settings) -> Path:
    return settings.data_dir / "monitor.db"


async def _run_all(settings: Settings) -> None:
    """Queue a run of every source, as the scheduler does, and wait until all have ended and told so."""
    async with open_app(settings) as app, asyncio.timeout(_TIMEOUT_S):
        now = app.clock.now()
        runs = [
            Run(id=f"s{source.id}-{now:%Y%m%dT%H%M%SZ}", source_id=source.id, source=source.name, planned_at=now)
            for source in await app.sources.list_sources()
        ]
        for run in runs:
            await app.store.runs.create(run)

        async def watch(run_id: str) -> None:
            async with app.run_events.subscribe(run_id, after=0, heartbeat_s=1.0) as batches:
                async for _ in batches:
                    pass

        await asyncio.gather(*(watch(run.id) for run in runs))


async def _measure_rows(settings: Settings) -> dict[str, tuple[int, int]]:
    """Rows and bytes of each table, once what is to be signed is signed."""
    async with open_app(settings) as app:
        await app.chain.sign()
    with closing(sqlite3.connect(_get_database(settings))) as connection:
        owners = dict(connection.execute("SELECT name, tbl_name FROM sqlite_master WHERE rootpage > 0"))
        sizes: dict[str, int] = {}
        for name, size in connection.execute("SELECT name, SUM(pgsize - unused) FROM dbstat GROUP BY name"):
            owner = owners.get(name, name)
            sizes[owner] = sizes.get(owner, 0) + size
        return {
            table: (int(connection.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0]), size)  # noqa: S608
            for table, size in sizes.items()
        }


def _count_files(folder: Path) -> int:
    return sum(1 for path in (folder / "data" / "evidence").rglob("*") if path.is_file())


def _compute_figures(
    sources: int,
    rounds: int,
    before: Mapping[str, tuple[int, int]],
    after: Mapping[str, tuple[int, int]],
    files: int,
    year_sources: int,
) -> CapacityFigures:
    runs, a_day = sources * rounds, RUNS_A_DAY * year_sources
    tables = []
    for table, (rows, size) in after.items():
        rows_before, size_before = before.get(table, (0, 0))
        if rows == rows_before:
            continue  # a row that is written anew may have moved to another page
        is_ours = table in _list_own_tables()
        days = _KEPT_DAYS.get(table, DAYS_A_YEAR) if is_ours else _QUEUE_KEPT_DAYS
        a_run = (size - size_before) / runs
        growth = TableGrowth(
            table=table,
            rows_a_run=round((rows - rows_before) / runs, 2),
            bytes_a_run=round(a_run, 1),
            kept_days=days,
            year_mb=round(a_run * days * a_day / 1e6, 1),
        )
        tables.append(growth)
    tables.sort(key=lambda growth: growth.year_mb, reverse=True)
    return CapacityFigures(
        sources=sources,
        runs=runs,
        tables=tables,
        bytes_a_run=round(sum(growth.bytes_a_run for growth in tables), 1),
        files_a_run=round(files / runs, 3),
        year_sources=year_sources,
        year_gb=round(sum(growth.year_mb for growth in tables) / 1e3, 2),
        year_files=round(files / runs * a_day * DAYS_A_YEAR),
    )


def _list_own_tables() -> set[str]:
    from sqlmodel import SQLModel

    return set(SQLModel.metadata.tables)


def clone_runs(database: Path, number: int, *, now: dt.datetime) -> None:
    """Make so many runs of the last year out of the latest run of each source, with all rows that belong to a run."""
    with closing(sqlite3.connect(database)) as connection:
        tables = [name for name in sorted(_list_own_tables()) if "run_id" in _list_columns(connection, name)]
        tables = [name for name in tables if name not in ("item", "alarm", "item_sight", "revision")]
        query = "SELECT MAX(id) FROM run WHERE source_id IS NOT NULL GROUP BY source_id"
        templates = [row[0] for row in connection.execute(query)]
        rows = {run_id: _load_rows(connection, tables, run_id) for run_id in templates}
        for place in range(number):
            run_id = templates[place % len(templates)]
            at = now - dt.timedelta(days=DAYS_A_YEAR * (number - place) / number)
            new_id = f"{run_id.partition('-')[0]}-{at:%Y%m%dT%H%M%S}-{place}"
            for table, of_table in rows[run_id].items():
                for row in of_table:
                    _insert(connection, table, row, new_id=new_id, at=f"{at:%Y-%m-%d %H:%M:%S.%f}")
            if place % 5000 == 0:
                connection.commit()
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.sync()  # what was made must not be waited for by those who are measured next


def _list_columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]


def _load_rows(connection: sqlite3.Connection, tables: list[str], run_id: str) -> dict[str, list[dict[str, object]]]:
    found = {}
    for table, column in [("run", "id"), *((table, "run_id") for table in tables)]:
        query = f'SELECT * FROM "{table}" WHERE {column} = ?'  # noqa: S608 -- names of the schema
        names = _list_columns(connection, table)
        found[table] = [dict(zip(names, row, strict=True)) for row in connection.execute(query, [run_id])]
    return found


def _insert(connection: sqlite3.Connection, table: str, row: Mapping[str, object], *, new_id: str, at: str) -> None:
    values = dict(row)
    if table == "run":
        values |= {"id": new_id, "planned_at": at}
    else:
        values["run_id"] = new_id
        values |= {"at": at} if "at" in values else {}
        if table in _RANDOM_KEYS:
            values["id"] = secrets.token_hex(_RANDOM_KEYS[table])
        else:
            values.pop("id", None)
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("?" * len(values))
    connection.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', [*values.values()])  # noqa: S608


async def _prune(settings: Settings) -> PruneFigures:
    now, file = SystemClock().now(), _get_database(settings)
    size_mb = file.stat().st_size / 1e6
    async with Store.open(settings.database_url) as store, _measure_waits(file) as waits:
        began, cpu = time.monotonic(), time.process_time()
        await store.retention.prune_events(now, quiet_before=now)
        pruned = await store.retention.prune(now - dt.timedelta(hours=1))
        spent, cpu = time.monotonic() - began, time.process_time() - cpu
    return PruneFigures(
        runs=pruned.runs,
        database_mb=round(size_mb, 1),
        seconds=round(spent, 1),
        cpu_s=round(cpu, 1),
        longest_wait_s=round(max(waits), 2),
    )


@asynccontextmanager
async def _measure_waits(database: Path) -> AsyncIterator[list[float]]:
    """Write twenty times a second from another process; the list has the longest wait when the block is left."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _WRITER, str(database), stdout=asyncio.subprocess.PIPE
    )
    waits = [0.0]

    async def read() -> None:
        if process.stdout is None:
            return
        async for line in process.stdout:
            waits[0] = max(waits[0], float(line))

    reading = asyncio.create_task(read())
    try:
        yield waits
    finally:
        process.terminate()
        await process.wait()
        await reading
