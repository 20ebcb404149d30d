"""`make bench NAME=capacity`: what a run that finds nothing new leaves behind, and what a year of them comes to."""

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel

from benchmarks.service import SiteFarm, start_service_process
from monitor.bootstrap import open_app
from monitor.clock import SystemClock
from monitor.config.loading import load_settings
from monitor.config.model import Settings
from monitor.db.migrate import upgrade_database
from monitor.db.tables.collection import Run
from monitor.services.audit import COMMAND_LINE

RUNS_A_DAY = 4
DAYS_A_YEAR = 365

_FIRST_PORT = 28_000
_POLL_INTERVAL_S = 0.5
_TIMEOUT_S = 3600.0
_SETTLING_ROUNDS = 2

# Everything else stays as long as its run does.
_KEPT_DAYS = {"run_event": 14}
_QUEUE_KEPT_DAYS = 14


class TableGrowth(BaseModel):
    """What one table gains by a run that finds nothing new; `bytes` count its indexes in."""

    table: str
    rows_a_run: float
    bytes_a_run: float
    kept_days: int


class CapacityFigures(BaseModel):
    """`files_a_run` are those of evidence; the year is that of so many sources with `RUNS_A_DAY` runs a day each."""

    sources: int
    runs: int
    tables: list[TableGrowth]
    bytes_a_run: float
    files_a_run: float
    year_sources: int
    year_gb: float
    year_files: float


async def measure(sources: int, rounds: int, *, year_sources: int, on_step: Callable[[str], None]) -> CapacityFigures:
    """Run a service over unchanged sites, each source so many times, and multiply what the quiet runs left."""
    today = SystemClock().now().astimezone().date()
    farm = SiteFarm(today=today)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="monitor-capacity-")))
        bases = await stack.enter_async_context(farm.serve(min(sources, 20)))
        settings = _configure(folder, bases)
        upgrade_database(settings.database_url)
        async with open_app(settings) as app:
            for number in range(sources):
                url = f"{bases[number % len(bases)]}/{number}/"
                await app.sources.add({"name": f"site {number}", "url": url}, by=COMMAND_LINE)
        async with start_service_process(folder, "serve"):
            for number in range(_SETTLING_ROUNDS):
                on_step(f"round {number + 1} of {_SETTLING_ROUNDS + rounds}")
                await _run_all(settings)
            before, files_before = measure_tables(folder), _count_files(folder)
            for number in range(rounds):
                on_step(f"round {_SETTLING_ROUNDS + number + 1} of {_SETTLING_ROUNDS + rounds}")
                await _run_all(settings)
            after, files_after = measure_tables(folder), _count_files(folder)
    return _compute_figures(sources, rounds, before, after, files_after - files_before, year_sources)


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


async def _run_all(settings: Settings) -> None:
    """Queue a run of every source, as the scheduler does, and wait until all have ended."""
    async with open_app(settings) as app, asyncio.timeout(_TIMEOUT_S):
        now = app.clock.now()
        runs = [
            Run(id=f"s{source.id}-{now:%Y%m%dT%H%M%SZ}", source_id=source.id, source=source.name, planned_at=now)
            for source in await app.sources.list_sources()
        ]
        for run in runs:
            await app.store.runs.create(run)
        while await app.store.runs.list_open():
            await asyncio.sleep(_POLL_INTERVAL_S)
        await asyncio.sleep(2 * _POLL_INTERVAL_S)  # the last events of a run are written just after its end


def measure_tables(folder: Path) -> dict[str, tuple[int, int]]:
    """Rows and bytes of each table of the SQLite database, its indexes counted in."""
    with closing(sqlite3.connect(folder / "data" / "monitor.db")) as connection:
        owners = dict(connection.execute("SELECT name, tbl_name FROM sqlite_master WHERE rootpage > 0"))
        sizes: dict[str, int] = {}
        for name, size in connection.execute("SELECT name, SUM(pgsize - unused) FROM dbstat GROUP BY name"):
            owner = owners.get(name, name)
            sizes[owner] = sizes.get(owner, 0) + size
        return {
            table: (connection.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0], size)  # noqa: S608 -- of the schema
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
    runs = sources * rounds
    tables = []
    for table, (rows, size) in after.items():
        rows_before, size_before = before.get(table, (0, 0))
        if size == size_before and rows == rows_before:
            continue
        is_queue = table not in _list_own_tables()
        kept_days = _QUEUE_KEPT_DAYS if is_queue else _KEPT_DAYS.get(table, DAYS_A_YEAR)
        growth = TableGrowth(
            table=table,
            rows_a_run=round((rows - rows_before) / runs, 2),
            bytes_a_run=round((size - size_before) / runs, 1),
            kept_days=kept_days,
        )
        tables.append(growth)
    tables.sort(key=lambda growth: growth.bytes_a_run * growth.kept_days, reverse=True)
    year = sum(growth.bytes_a_run * growth.kept_days for growth in tables) * RUNS_A_DAY * year_sources
    return CapacityFigures(
        sources=sources,
        runs=runs,
        tables=tables,
        bytes_a_run=round(sum(growth.bytes_a_run for growth in tables), 1),
        files_a_run=round(files / runs, 3),
        year_sources=year_sources,
        year_gb=round(year / 1e9, 2),
        year_files=round(files / runs * RUNS_A_DAY * DAYS_A_YEAR * year_sources),
    )


def _list_own_tables() -> set[str]:
    from sqlmodel import SQLModel

    return set(SQLModel.metadata.tables)
