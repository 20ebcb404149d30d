"""`make bench NAME=quiet`: what a run costs inside a service when its pages have not changed, and what waiting costs.

The service works in this process, the site in another one. Counted are the transactions and statements of every engine,
the processor time of this process and its workers, and the bytes that they hand to the disk. What the service costs
while it waits is measured first and taken off.
"""

import asyncio
import datetime as dt
import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel
from sqlalchemy import Connection, Engine, event

from benchmarks.pages import list_tree_pids, measure_tree_memory
from benchmarks.service import SiteFarm
from monitor.bootstrap import App, open_service
from monitor.config.loading import load_settings
from monitor.db.migrate import upgrade
from monitor.errors import WorkFailed
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import RunStatus

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_TIMEOUT_S = 600.0
_MEGABYTE = 2**20


class IdleCost(BaseModel):
    """What the service costs in a minute without work: `core_percent` of one core."""

    seconds: float
    core_percent: float
    transactions_a_minute: float
    queue_transactions_a_minute: float
    memory_mb: float | None


class QuietCost(BaseModel):
    """What one run costs, on average, that finds nothing new; `first_s` is what the first one cost.

    `queue_transactions` are those of the queue's library, which come on top of ours.
    """

    runs: int
    cpu_s: float
    transactions: float
    queue_transactions: float
    statements: float
    kilobytes_written: float
    first_s: float
    seconds: float


class QuietResult(BaseModel):
    database: str
    idle: IdleCost
    quiet: QuietCost


@dataclass
class StatementCounter:
    """Counts what all engines of this process do; `by_text` is filled for whoever looks for what to spare.

    The queue's library works through an engine that blocks, the program through one that does not.
    """

    begun: int = 0
    queue_begun: int = 0
    executed: int = 0
    by_text: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def watch(self) -> Iterator[None]:
        def on_begin(connection: Connection) -> None:
            if not connection.dialect.is_async:
                self.queue_begun += 1
            elif connection.dialect.name != "sqlite":  # there a statement begins it, which a single read does without
                self.begun += connection.get_isolation_level() != "AUTOCOMMIT"

        def on_execute(connection: Connection, _: object, statement: str, *rest: object) -> None:
            del rest
            self.executed += 1
            if statement.startswith("BEGIN"):  # on SQLite the program says it, and the queue's driver does without
                self.begun += 1
                self.queue_begun -= not connection.dialect.is_async
            self.by_text[statement] += 1

        listeners = (("begin", on_begin), ("before_cursor_execute", on_execute))
        for name, listener in listeners:
            event.listen(Engine, name, listener)
        try:
            yield
        finally:
            for name, listener in listeners:
                event.remove(Engine, name, listener)


@dataclass(frozen=True)
class _Reading:
    """What was spent up to a moment."""

    at_s: float
    cpu_s: float
    written: int
    begun: int
    queue_begun: int
    executed: int

    @classmethod
    def take(cls, counter: StatementCounter, farm_pid: int) -> "_Reading":
        pids = list_tree_pids(exclude_pid=farm_pid)
        return cls(
            at_s=asyncio.get_running_loop().time(),
            cpu_s=sum(_read_cpu_s(pid) for pid in pids),
            written=sum(_read_written(pid) for pid in pids),
            begun=counter.begun,
            queue_begun=counter.queue_begun,
            executed=counter.executed,
        )


async def measure(*, runs: int, idle_s: float, postgres: str | None = None) -> QuietResult:
    """Run one source so often, one run after the other, on SQLite or on an empty PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="monitor-quiet-") as name, _start_farm() as (base, farm_pid):
        folder = Path(name)
        values = {
            "timezone": "UTC",
            "llm": {"enabled": False},
            "pages": {"delay_s": 0, "render": "never"},
            "network": {"allowed_private_hosts": [urlsplit(base).netloc]},
            **({"database_url": postgres} if postgres else {}),
        }
        (folder / "config.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        settings = load_settings(folder / "config.yaml")
        upgrade(settings.database_url)
        counter = StatementCounter()
        async with open_service(settings, worker=True, scheduler=True) as app:
            app.workers.start()
            await app.sources.add({"name": "site", "url": f"{base}/0/"}, by=COMMAND_LINE)
            with counter.watch():
                before_first = _Reading.take(counter, farm_pid)
                await _run_once(app)
                first = _Reading.take(counter, farm_pid)
                for _ in range(3):
                    await _run_once(app)
                idle, spent = await _measure_idle(counter, farm_pid, idle_s)
                quiet = await _measure_runs(app, counter, farm_pid, runs, spent)
        quiet.first_s = round(first.cpu_s - before_first.cpu_s, 3)
        return QuietResult(database="PostgreSQL" if postgres else "SQLite", idle=idle, quiet=quiet)


async def _measure_idle(counter: StatementCounter, farm_pid: int, seconds: float) -> tuple[IdleCost, _Reading]:
    """What a service without work costs, and that as a reading of one second."""
    await asyncio.sleep(2)  # the last run's events are being written
    begin = _Reading.take(counter, farm_pid)
    await asyncio.sleep(seconds)
    end = _Reading.take(counter, farm_pid)
    took_s = end.at_s - begin.at_s
    memory = measure_tree_memory(exclude_pid=farm_pid)
    idle = IdleCost(
        seconds=round(took_s, 1),
        core_percent=round((end.cpu_s - begin.cpu_s) / took_s * 100, 2),
        transactions_a_minute=round((end.begun - begin.begun) / took_s * 60, 1),
        queue_transactions_a_minute=round((end.queue_begun - begin.queue_begun) / took_s * 60, 1),
        memory_mb=None if memory is None else round(memory / _MEGABYTE, 1),
    )
    return idle, begin


async def _measure_runs(
    app: App, counter: StatementCounter, farm_pid: int, runs: int, idle_begin: _Reading
) -> QuietCost:
    begin = _Reading.take(counter, farm_pid)
    idle_s = begin.at_s - idle_begin.at_s
    for _ in range(runs):
        await _run_once(app)
    end = _Reading.take(counter, farm_pid)
    seconds = end.at_s - begin.at_s
    share = seconds / idle_s  # of the wait's cost, which goes on beside the runs

    def compute(name: str, digits: int = 1) -> float:
        first, middle, last = (float(getattr(reading, name)) for reading in (idle_begin, begin, end))
        return round((last - middle - (middle - first) * share) / runs, digits)

    return QuietCost(
        runs=runs,
        cpu_s=compute("cpu_s", 3),
        transactions=compute("begun"),
        queue_transactions=compute("queue_begun"),
        statements=compute("executed"),
        kilobytes_written=round(compute("written") / 1024, 1),
        first_s=0.0,
        seconds=round(seconds / runs, 2),
    )


async def _run_once(app: App) -> None:
    """Have the service run the source; the wait for it asks the database nothing."""
    source = await app.sources.get("site")
    execute, ended = app.sweeps.execute, asyncio.get_running_loop().create_future()

    async def execute_and_report(*args: Any, **kwargs: Any) -> RunStatus:
        status = await execute(*args, **kwargs)
        ended.set_result(status)
        return status

    with patch.object(app.sweeps, "execute", execute_and_report):
        run_id = await app.sweeps.enqueue(source, by=COMMAND_LINE)
        status = await asyncio.wait_for(ended, _TIMEOUT_S)
    if status is not RunStatus.SUCCEEDED:
        raise WorkFailed(f"The run {run_id} ended {status}.")


@contextmanager
def _start_farm() -> Iterator[tuple[str, int]]:
    """Serve one site from a process of its own; gives its base url and the process's number."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve_farm, args=(theirs,), daemon=True)
    process.start()
    try:
        yield str(ours.recv()), process.pid or 0
    finally:
        process.kill()
        process.join()


def _serve_farm(connection: Pipe) -> None:
    async def serve() -> None:
        farm = SiteFarm(today=dt.datetime.now(dt.UTC).date())
        async with farm.serve(1) as bases:
            connection.send(bases[0])
            await asyncio.Event().wait()

    asyncio.run(serve())


def _read_cpu_s(pid: int) -> float:
    """Processor time of a process, with that of its children that have ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(word) for word in words[11:15]) / _TICKS_PER_S


def _read_written(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/io").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("write_bytes")), 0)
