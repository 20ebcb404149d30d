"""The health of the service: readiness, metrics, blocked hosts, free space."""

import asyncio
import datetime as dt
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.engines import DatabaseAddress
from monitor.db.queries.dashboard import BLOCKED_CODE, BlockedPage
from monitor.db.queries.service import ServiceMetrics
from monitor.errors import MonitorError
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.i18n.model import reader_language
from monitor.services.probes import CachedProbe, probe_browser, probe_database, probe_storage
from monitor.services.runtime import WorkerRegistry, has_worker
from monitor.verify.statements import StatementCounts


class HostBlock(BaseModel):
    """How many pages a host refused on a day, by one kind of block (`detail_code` of a page error)."""

    day: dt.date
    host: str = Field(examples=["www.example.gov.cn"])
    detail_code: str = Field(examples=["http_403"])
    pages: int = Field(examples=[3])


def count_blocks_by_host(blocks: Sequence[BlockedPage], zone: ZoneInfo) -> list[HostBlock]:
    counted: Counter[tuple[dt.date, str, str]] = Counter()
    for block in blocks:
        kind = next(
            (str(message.args["detail"]) for message in block.reason.walk() if message.code == BLOCKED_CODE), ""
        )
        host = _parse_host(block.place) or _parse_host(block.source_url or "") or block.source
        counted[block.at.astimezone(zone).date(), host, kind] += 1
    rows = sorted(counted.items(), key=lambda row: (-row[0][0].toordinal(), row[0][1:]))
    return [HostBlock(day=day, host=host, detail_code=code, pages=pages) for (day, host, code), pages in rows]


def _parse_host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


DISK_WARN_BYTES = 1_000_000_000
STATEMENT_DAYS = 7


def get_free_bytes(folder: Path) -> int:
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    return shutil.disk_usage(existing).free


def measure_database(settings: Settings) -> int | None:
    """Return the size of a SQLite file; None for another database."""
    file = DatabaseAddress.parse(settings.database_url).file
    return file.stat().st_size if file is not None and file.exists() else None


class ReadinessSchema(BaseModel):
    """Whether the service can work. Each of the four says `ok` or what is wrong; they are absent for a stranger."""

    is_ready: bool
    database: str | None = None
    queue: str | None = None
    storage: str | None = None
    browser: str | None = None


class Process(BaseModel):
    name: str = Field(examples=["office-worker-1"])
    kind: str = Field(examples=["worker"])


class ServiceStatus(BaseModel):
    """Who is at work, what waits, and the space that is left; `database_bytes` is None unless it is SQLite.

    `statements` counts the sentences of the summaries of the last 7 days, today included, by verdict.
    """

    processes: list[Process]
    queued: int = Field(examples=[2])
    running: int = Field(examples=[1])
    waits_s: float = Field(examples=[12.5])
    free_bytes: int = Field(examples=[78_700_000_000])
    is_room_low: bool = Field(examples=[False])
    database_bytes: int | None = Field(examples=[10_300_000])
    statements: StatementCounts


_DATABASE_TIMEOUT_S = 10.0
_DATABASE_FRESH_S = 30.0


@dataclass(kw_only=True)
class Readiness:
    store: Store
    settings: Settings
    clock: Clock
    presence: WorkerRegistry

    def __post_init__(self) -> None:
        self._browser = CachedProbe(lambda: probe_browser(self.settings))
        self._storage = CachedProbe(lambda: asyncio.to_thread(probe_storage, self.settings))
        self._database = CachedProbe(lambda: probe_database(self.store, self.clock), fresh_s=_DATABASE_FRESH_S)

    async def close(self) -> None:
        await asyncio.gather(*(probe.close() for probe in (self._browser, self._storage, self._database)))

    async def check(self) -> ReadinessSchema:
        """Say whether pages can be drawn and printed, data written and read, and whether a worker is at work.

        Cheap enough to be asked every second: the probes are repeated only now and then.
        """
        browser, storage, (database, queue) = await asyncio.gather(
            self._browser.find_problem(), self._storage.find_problem(), self._check_database()
        )
        found = {"database": database, "queue": queue, "storage": storage, "browser": browser}
        return ReadinessSchema(
            is_ready=not any(found.values()), **{name: _render(said) if said else "ok" for name, said in found.items()}
        )

    async def _check_database(self) -> tuple[Message | None, Message | None]:
        """Return what is wrong with the database and with the queue, which is in it."""
        try:
            async with asyncio.timeout(_DATABASE_TIMEOUT_S):
                await self.store.check()
                problem = await self._database.find_problem()
                return problem, None if await has_worker(self.presence) else Message("health.no_worker")
        except MonitorError as error:
            return error.message, error.message
        except TimeoutError:
            problem = Message.of("health.probe_hangs", seconds=f"{_DATABASE_TIMEOUT_S:g}")
            return problem, problem

    async def get_metrics(self) -> tuple[ServiceMetrics, float, dict[str, int]]:
        """Return the counts, the wait of the oldest queued run in seconds, and the living processes by kind."""
        figures = await self.store.metrics.load_service_metrics()
        waits_s = _seconds_since(figures.oldest_queued_at, self.clock.now())
        alive = list((await self.presence.list_alive()).values())
        return figures, waits_s, {kind: alive.count(kind) for kind in ("worker", "scheduler")}

    async def get_service_status(self) -> ServiceStatus:
        now = self.clock.now()
        today = now.astimezone(ZoneInfo(self.settings.timezone)).date()
        queue = await self.store.dashboard.load_queue_status(now)
        alive = await self.presence.list_alive()
        free = get_free_bytes(self.settings.data_dir)
        return ServiceStatus(
            processes=[Process(name=name, kind=kind) for name, kind in sorted(alive.items())],
            queued=queue.queued,
            running=queue.running,
            waits_s=_seconds_since(queue.oldest_queued_at, now),
            free_bytes=free,
            is_room_low=free < DISK_WARN_BYTES,
            database_bytes=measure_database(self.settings),
            statements=StatementCounts(
                **await self.store.metrics.count_statements(today - dt.timedelta(days=STATEMENT_DAYS - 1))
            ),
        )


def _render(message: Message) -> str:
    return render(message, reader_language.get())


def _seconds_since(instant: dt.datetime | None, now: dt.datetime) -> float:
    return max(0.0, (now - instant).total_seconds()) if instant else 0.0
