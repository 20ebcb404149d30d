"""The health of the installation and the service: `monitor doctor`, readiness, metrics, blocked hosts."""

import datetime as dt
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.engines import DatabaseAddress
from monitor.db.queries.dashboard import BLOCKED_CODE, BlockedPage
from monitor.db.queries.service import ServiceMetrics
from monitor.errors import MonitorError, UsageError
from monitor.fetch.browser.launch import find_browser
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel, reader_language
from monitor.search.registry import STUB_BACKEND, find_missing_setting, select_backends
from monitor.services.briefings import check_template
from monitor.services.runtime import WorkerRegistry, has_worker
from monitor.services.schedules import check_timezone
from monitor.services.settings import SettingsService, join_messages


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
DISK_FAIL_BYTES = 100_000_000
_MIN_CLOCK_TIME = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
FindingLevel = Literal["ok", "warn", "fail"]


class DoctorFinding(MessageModel):
    """The result of a check; the message of one that is not ok says how to repair it."""

    check: str
    level: FindingLevel
    message: Message


Check = Callable[[Settings], str | Message]  # says what it found; raises a `MonitorError` that says what is wrong
AsyncCheck = Callable[[Settings], Awaitable[str | Message]]


@dataclass(kw_only=True)
class Doctor:
    """Examines an installation; where `load` cannot read the settings, what depends on them is not checked."""

    load: Callable[[], tuple[Settings, str]]
    check_database: AsyncCheck
    load_stored_settings: Callable[[Settings], Awaitable[SettingsService]]
    find_browser: Check
    check_model: AsyncCheck
    check_targets: Check
    check_storage: Check
    clock: Clock

    async def run_checks(self) -> list[DoctorFinding]:
        settings, configuration = self._check_configuration()
        is_readable = configuration.level == "ok"
        database = _skip_check("database")
        if is_readable:
            database = await _run_async_check("database", self.check_database, settings)
        stored = _skip_check("settings")
        if database.level == "ok":
            settings, stored = await self._check_stored_settings(settings)
        model = await _run_async_check("model", self.check_model, settings) if is_readable else _skip_check("model")
        checks = {"template": check_template, "delivery": self.check_targets, "storage": self.check_storage}
        return [
            configuration,
            database,
            stored,
            self._check_browser(settings),
            model,
            _check_search(settings),
            *(_run_check(name, ask, settings) if is_readable else _skip_check(name) for name, ask in checks.items()),
            check_disk_space(settings.data_dir, get_free_bytes(settings.data_dir)),
            self._check_clock(settings),
        ]

    def _check_configuration(self) -> tuple[Settings, DoctorFinding]:
        try:
            settings, path = self.load()
        except MonitorError as error:
            # `model_construct` asks neither the file nor the environment: one of them is what is broken.
            return Settings.model_construct(), _build_finding("configuration", "fail", error.message)
        return settings, _build_finding("configuration", "ok", path)

    async def _check_stored_settings(self, settings: Settings) -> tuple[Settings, DoctorFinding]:
        try:
            service = await self.load_stored_settings(settings)
        except MonitorError as error:
            return settings, _build_finding("settings", "fail", error.message)
        return service.current, _run_check("settings", lambda _: service.describe_stored(), settings)

    def _check_browser(self, settings: Settings) -> DoctorFinding:
        endpoint = settings.pages.browser.endpoint
        if endpoint is not None:
            return _build_finding("browser", "ok", Message.of("doctor.remote_browser", endpoint=endpoint))
        return _run_check("browser", self.find_browser, settings)

    def _check_clock(self, settings: Settings) -> DoctorFinding:
        now = self.clock.now()
        try:
            local = now.astimezone(check_timezone(settings.timezone))
        except UsageError as error:
            return _build_finding("clock", "fail", Message.of("doctor.bad_timezone", reason=error.message))
        if now < _MIN_CLOCK_TIME:
            return _build_finding("clock", "fail", Message.of("doctor.clock_behind", day=f"{now:%Y-%m-%d}"))
        message = Message.of("doctor.clock", time=f"{local:%Y-%m-%d %H:%M}", timezone=settings.timezone)
        return _build_finding("clock", "ok", message)


def _build_finding(check: str, level: FindingLevel, message: str | Message) -> DoctorFinding:
    return DoctorFinding(
        check=check, level=level, message=message if isinstance(message, Message) else Message.other(message)
    )


async def _run_async_check(check: str, ask: AsyncCheck, settings: Settings) -> DoctorFinding:
    try:
        found = await ask(settings)
    except MonitorError as error:
        return _build_finding(check, "fail", error.message)
    return _build_finding(check, "ok", found)


def _run_check(check: str, ask: Check, settings: Settings) -> DoctorFinding:
    try:
        return _build_finding(check, "ok", ask(settings))
    except MonitorError as error:
        return _build_finding(check, "fail", error.message)


def _skip_check(check: str) -> DoctorFinding:
    return _build_finding(check, "warn", Message("doctor.not_checked"))


def _check_search(settings: Settings) -> DoctorFinding:
    choice = select_backends(settings.search)
    missing = [what for name in choice.names if (what := find_missing_setting(settings.search, name)) is not None]
    if missing:
        return _build_finding("search", "fail", join_messages(missing))
    if choice.warnings:
        return _build_finding("search", "warn", join_messages(choice.warnings))
    if list(choice.names) == [STUB_BACKEND]:
        return _build_finding("search", "warn", Message("doctor.only_stub"))
    return _build_finding("search", "ok", ", ".join(choice.names))


def check_disk_space(folder: Path, free_bytes: int) -> DoctorFinding:
    level: FindingLevel = "fail" if free_bytes < DISK_FAIL_BYTES else "warn" if free_bytes < DISK_WARN_BYTES else "ok"
    free = f"{free_bytes / 1e9:.1f} GB" if free_bytes >= DISK_WARN_BYTES else f"{free_bytes / 1e6:.0f} MB"
    code = "doctor.disk" if level == "ok" else "doctor.disk_low"
    return _build_finding("disk", level, Message.of(code, free=free, folder=str(folder)))


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
    """Whether the service can work; each of the three says `ok` or what is wrong."""

    is_ready: bool
    database: str
    queue: str
    browser: str


class Process(BaseModel):
    name: str = Field(examples=["office-worker-1"])
    kind: str = Field(examples=["worker"])


class ServiceStatus(BaseModel):
    """Who is at work, what waits, and the space that is left; `database_bytes` is None unless it is SQLite."""

    processes: list[Process]
    queued: int = Field(examples=[2])
    running: int = Field(examples=[1])
    waits_s: float = Field(examples=[12.5])
    free_bytes: int = Field(examples=[78_700_000_000])
    is_room_low: bool = Field(examples=[False])
    database_bytes: int | None = Field(examples=[10_300_000])


@dataclass(kw_only=True)
class Readiness:
    store: Store
    settings: Settings
    clock: Clock
    presence: WorkerRegistry

    async def check(self) -> ReadinessSchema:
        """Check database, worker and browser; the service is ready without a browser, as most pages need none."""
        try:
            await self.store.check()
            database = "ok"
            queue = "ok" if await has_worker(self.presence) else _render(Message("health.no_worker"))
        except MonitorError as error:
            database = queue = _render(error.message)
        try:
            browser = "ok" if self.settings.pages.browser.endpoint else str(find_browser(self.settings.pages.browser))
        except MonitorError as error:
            browser = _render(error.message)
        return ReadinessSchema(is_ready=database == queue == "ok", database=database, queue=queue, browser=browser)

    async def get_metrics(self) -> tuple[ServiceMetrics, float, dict[str, int]]:
        """Return the counts, the wait of the oldest queued run in seconds, and the living processes by kind."""
        figures = await self.store.metrics.load_service_metrics()
        waits_s = _seconds_since(figures.oldest_queued_at, self.clock.now())
        alive = list((await self.presence.list_alive()).values())
        return figures, waits_s, {kind: alive.count(kind) for kind in ("worker", "scheduler")}

    async def get_service_status(self) -> ServiceStatus:
        now = self.clock.now()
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
        )


def _render(message: Message) -> str:
    return render(message, reader_language.get())


def _seconds_since(instant: dt.datetime | None, now: dt.datetime) -> float:
    return max(0.0, (now - instant).total_seconds()) if instant else 0.0
