"""`make bench NAME=service`: how late runs start, how many a minute are done, and with how much memory."""

import asyncio
import datetime as dt
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel

from monitor.bootstrap import open_app
from monitor.clock import SystemClock
from monitor.config.loading import load_settings
from monitor.config.model import Settings
from monitor.db.migrate import upgrade
from monitor.db.tables.collection import Run
from monitor.demo.serving import HOST, LoopbackRequest, LoopbackResponse, build_status_response, serve_loopback
from monitor.errors import WorkFailed
from monitor.services.audit import COMMAND_LINE
from monitor.vocabulary import RunStatus

SECTIONS = ("通知公告", "政策文件", "工作动态")

ROWS_PER_SECTION = 20

NEW_ROWS_PER_SECTION = 2

_MIN_OLD_DAYS = 30

_HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class FarmRequest:
    """One request: when, to which host, for which site and page."""

    at: float
    host: str
    site: int
    path: str


class SiteFarm:
    """The sites, each under `/<number>/` of one of the hosts. `hits` is what was asked; it may be cleared."""

    def __init__(self, *, today: dt.date, latency_s: float = 0.0) -> None:
        self.requests: list[FarmRequest] = []
        self._today = today
        self._latency_s = latency_s

    @asynccontextmanager
    async def serve(self, hosts: int) -> AsyncIterator[list[str]]:
        """Serve on so many hosts, each a port of its own; gives their base urls."""
        async with AsyncExitStack() as stack:
            ports = [await stack.enter_async_context(serve_loopback(self.respond)) for _ in range(hosts)]
            yield [f"http://{HOST}:{port}" for port in ports]

    def respond(self, request: LoopbackRequest) -> LoopbackResponse:
        """A page of a site; everything else is not there."""
        words = request.target.strip("/").split("/")
        if not words[0].isdigit():
            return build_status_response(404)
        site = int(words[0])
        self.requests.append(FarmRequest(time.time(), request.host, site, request.target))
        body = _render_home(site) if len(words) == 1 else None
        if len(words) == 2 and words[1].isdigit() and int(words[1]) < len(SECTIONS):
            body = self._render_list(site, int(words[1]))
        if len(words) == 3 and words[2].endswith(".html"):
            body = self._render_article(site, words[1], words[2])
        if body is None:
            return build_status_response(404)
        return LoopbackResponse(200, _HTML, body.encode(), delay_s=self._latency_s)

    def _render_list(self, site: int, section: int) -> str:
        rows = "".join(
            f'<li><a href="/{site}/{section}/{self._get_row_date(row):%Y%m%d}{row:02d}.html">'
            f"{_format_title(site, section, row)}</a>"
            f"<span>{self._get_row_date(row)}</span></li>"
            for row in range(ROWS_PER_SECTION)
        )
        return _render_page(SECTIONS[section], f'<ul class="list">{rows}</ul>')

    def _render_article(self, site: int, section: str, name: str) -> str:
        row = int(name[8:10])
        title = _format_title(site, int(section), row)
        day = self._get_row_date(row)
        text = f"{title}。经研究，现就有关事项通知如下：各单位应当于{day}前完成第{row + 1}项工作，并报送结果。"
        return _render_page(title, f"<h1>{title}</h1><p>{text}</p>" + f"<p>{text}</p>" * 3)

    def _get_row_date(self, row: int) -> dt.date:
        return self._today - dt.timedelta(days=0 if row < NEW_ROWS_PER_SECTION else _MIN_OLD_DAYS + row)


def _render_home(site: int) -> str:
    links = "".join(f'<li><a href="/{site}/{n}/">{name}</a></li>' for n, name in enumerate(SECTIONS))
    return _render_page(f"第{site}号示例局", f'<ul class="nav">{links}</ul>')


def _format_title(site: int, section: int, row: int) -> str:
    return f"第{site}号示例局关于{SECTIONS[section]}第{row + 1}项工作安排的通知"


def _render_page(title: str, body: str) -> str:
    return f'<html><head><meta charset="utf-8"><title>{title}</title></head><body>{body}</body></html>'


_FIRST_PORT = 18_000

_POLL_INTERVAL_S = 1.0

_TIMEOUT_S = 1800.0

_START_TIMEOUT_S = 120.0


class ServiceLoad(BaseModel):
    """What the service is given to do: `minutes` over which the sources fall due; 0 = all are asked for at once."""

    sources: int = 1000
    hosts: int = 1000
    minutes: int = 10
    latency_s: float = 0.0
    concurrency: int = 16


class ServiceBenchmarkResult(BaseModel):
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


async def measure(load: ServiceLoad, *, workers: int, postgres: str | None) -> ServiceBenchmarkResult:
    """Run the load on SQLite in one process, or on an empty PostgreSQL with so many workers and one scheduler."""
    clock = SystemClock()
    farm = SiteFarm(today=clock.now().astimezone().date(), latency_s=load.latency_s)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="monitor-bench-")))
        bases = await stack.enter_async_context(farm.serve(min(load.hosts, load.sources)))
        settings = _configure(folder, load, bases, postgres)
        upgrade(settings.database_url)
        words = ["worker"] * workers + ["scheduler"] if postgres else ["serve"]
        first = (clock.now() + dt.timedelta(seconds=30 + 10 * len(words))).replace(second=0, microsecond=0)
        first += dt.timedelta(minutes=1)
        await _add_sources(settings, load, bases, first)
        pids = [await stack.enter_async_context(start_service_process(folder, word)) for word in words]
        if load.minutes == 0:
            await _create_all_runs(settings)
        runs, memory = await _wait_for_runs(settings, load, pids)
    return _compute_result(
        "PostgreSQL, " + f"{workers} workers" if postgres else "SQLite, one process", farm, runs, memory
    )


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
            await app.sources.add({"name": f"site {number}", "url": url, **schedule}, by=COMMAND_LINE)


async def _create_all_runs(settings: Settings) -> None:
    async with open_app(settings) as app:
        now = app.clock.now()
        for source in await app.sources.list_sources():
            run = Run(id=f"s{source.id}-bench", source_id=source.id, source=source.name, planned_at=now)
            await app.store.runs.create(run)


@asynccontextmanager
async def start_service_process(folder: Path, command: str) -> AsyncIterator[int]:
    """`monitor serve`, or a part of it, with the configuration in the folder; gives its process number."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "monitor",
        command,
        cwd=folder,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None  # noqa: S101 -- for the type checker
    said = ""
    async with asyncio.timeout(_START_TIMEOUT_S):
        while "At work" not in said:
            said = (await process.stderr.readline()).decode()
            if not said:
                raise WorkFailed(f"`monitor {command}` ended before it began to work.")
    draining = asyncio.create_task(process.stderr.read())
    try:
        yield process.pid
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()
        await draining


async def _wait_for_runs(settings: Settings, load: ServiceLoad, pids: Sequence[int]) -> tuple[list[Run], list[float]]:
    memory: list[float] = []
    async with open_app(settings) as app, asyncio.timeout(_TIMEOUT_S):
        while True:
            await asyncio.sleep(_POLL_INTERVAL_S)
            runs = await app.store.runs.list(limit=None)
            if runs:
                memory.append(sum(_read_memory_mb(pid) for pid in pids))
            if len(runs) >= load.sources and all(run.status.is_final for run in runs):
                return runs, memory


def _read_memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def _compute_result(
    arrangement: str, farm: SiteFarm, runs: Sequence[Run], memory: Sequence[float]
) -> ServiceBenchmarkResult:
    first_hit: dict[int, float] = {}
    for hit in farm.requests:
        first_hit.setdefault(hit.site, hit.at)
    lags = sorted(
        first_hit[number] - run.planned_at.timestamp()
        for run in runs
        if (number := int(run.source.split()[-1])) in first_hit
    )
    begun = min(run.planned_at for run in runs)
    ended = max(run.ended_at or begun for run in runs)
    fetches: Mapping[tuple[str, str], int] = Counter((hit.host, hit.path) for hit in farm.requests)
    tenth = max(1, len(memory) // 10)
    return ServiceBenchmarkResult(
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
