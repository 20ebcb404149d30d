"""The use cases of those who watch the service: is it ready, and how does it fare."""

import datetime as dt
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
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
from monitor.errors import MonitorError
from monitor.fetch.browser.launch import find_browser
from monitor.i18n.catalogue import render
from monitor.search.registry import STUB_BACKEND, find_missing_setting, select_backends
from monitor.services.briefings import check_template
from monitor.services.runtime import WorkerRegistry
from monitor.services.settings import SettingsService
from monitor.services.sources.form import check_timezone


class HostBlock(BaseModel):
    """How many pages of a host were kept from us on a day, by one kind of block (`detail_code` of a page error)."""

    day: dt.date
    host: str = Field(examples=["www.example.gov.cn"])
    detail_code: str = Field(examples=["http_403"])
    pages: int = Field(examples=[3])


def count_blocks_by_host(blocks: Sequence[BlockedPage], zone: ZoneInfo) -> list[HostBlock]:
    """The blocks counted, newest day first; what names a section instead of a page counts for its source's host."""
    counted: Counter[tuple[dt.date, str, str]] = Counter()
    for block in blocks:
        kind = next((str(one.args["detail"]) for one in block.reason.walk() if one.code == BLOCKED_CODE), "")
        host = _parse_host(block.place) or _parse_host(block.source_url or "") or block.source
        counted[block.at.astimezone(zone).date(), host, kind] += 1
    rows = sorted(counted.items(), key=lambda one: (-one[0][0].toordinal(), one[0][1:]))
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


class DoctorFinding(BaseModel):
    """What one check found; the message of one that is not ok says how to mend it."""

    check: str
    level: FindingLevel
    message: str


class Doctor:
    """Examines an installation.

    `load` gives the settings or raises what is wrong with them; the others ask the real parts: `check_database`,
    `check_model`, `check_targets` (of delivery) and `check_storage` (for evidence) raise a `MonitorError` where they
    are not well and else say what they found; `find_browser` gives its path. Where the settings cannot be read, what
    depends on them is not checked and the rest goes by the defaults. `lay_over` reads what the Settings page stored,
    which then holds for the other checks.
    """

    def __init__(
        self,
        *,
        load: Callable[[], tuple[Settings, str]],
        check_database: Callable[[Settings], Awaitable[str]],
        load_stored_settings: Callable[[Settings], Awaitable[SettingsService]],
        find_browser: Callable[[Settings], str],
        check_model: Callable[[Settings], Awaitable[str]],
        check_targets: Callable[[Settings], str],
        check_storage: Callable[[Settings], str],
        clock: Clock,
    ) -> None:
        self._load = load
        self._check_database = check_database
        self._load_stored_settings = load_stored_settings
        self._find_browser = find_browser
        self._check_model = check_model
        self._check_targets = check_targets
        self._check_storage = check_storage
        self._clock = clock

    async def run_checks(self) -> list[DoctorFinding]:
        """Every check with what it found, in the order of the commands that need it."""
        settings, configuration = self._check_configuration()
        is_readable = configuration.level == "ok"
        database = (
            await _run_async_check("database", self._check_database, settings)
            if is_readable
            else _skip_check("database")
        )
        settings, stored = (
            await self._check_stored_settings(settings)
            if database.level == "ok"
            else (settings, _skip_check("settings"))
        )
        return [
            configuration,
            database,
            stored,
            self._check_browser(settings),
            await _run_async_check("model", self._check_model, settings) if is_readable else _skip_check("model"),
            _check_search(settings),
            _run_check("template", check_template, settings) if is_readable else _skip_check("template"),
            _run_check("delivery", self._check_targets, settings) if is_readable else _skip_check("delivery"),
            _run_check("storage", self._check_storage, settings) if is_readable else _skip_check("storage"),
            check_disk_space(settings.data_dir, get_free_bytes(settings.data_dir)),
            self._check_clock(settings),
        ]

    def _check_configuration(self) -> tuple[Settings, DoctorFinding]:
        try:
            settings, where = self._load()
        except MonitorError as error:
            # `model_construct` asks neither the file nor the environment: one of them is what is broken.
            return Settings.model_construct(), DoctorFinding(check="configuration", level="fail", message=str(error))
        return settings, DoctorFinding(check="configuration", level="ok", message=where)

    async def _check_stored_settings(self, settings: Settings) -> tuple[Settings, DoctorFinding]:
        try:
            desk = await self._load_stored_settings(settings)
        except MonitorError as error:
            return settings, DoctorFinding(check="settings", level="fail", message=str(error))
        return desk.current, _run_check("settings", lambda _: desk.describe_stored(), settings)

    def _check_browser(self, settings: Settings) -> DoctorFinding:
        browser = settings.pages.browser
        if browser.endpoint is not None:
            return DoctorFinding(check="browser", level="ok", message=f"elsewhere: {browser.endpoint}")
        try:
            return DoctorFinding(check="browser", level="ok", message=self._find_browser(settings))
        except MonitorError as error:
            return DoctorFinding(check="browser", level="fail", message=str(error))

    def _check_clock(self, settings: Settings) -> DoctorFinding:
        now = self._clock.now()
        try:
            check_timezone(settings.timezone)
        except ValueError as error:
            return DoctorFinding(check="clock", level="fail", message=f"The setting `timezone` is wrong: {error}.")
        if now < _MIN_CLOCK_TIME:
            message = f"The clock says {now:%Y-%m-%d}, which is past: set it, or windows of dates are wrong."
            return DoctorFinding(check="clock", level="fail", message=message)
        local = now.astimezone(ZoneInfo(settings.timezone))
        return DoctorFinding(check="clock", level="ok", message=f"{local:%Y-%m-%d %H:%M} in {settings.timezone}")


async def _run_async_check(check: str, ask: Callable[[Settings], Awaitable[str]], settings: Settings) -> DoctorFinding:
    try:
        return DoctorFinding(check=check, level="ok", message=await ask(settings))
    except MonitorError as error:
        return DoctorFinding(check=check, level="fail", message=str(error))


def _run_check(check: str, ask: Callable[[Settings], str], settings: Settings) -> DoctorFinding:
    try:
        return DoctorFinding(check=check, level="ok", message=ask(settings))
    except MonitorError as error:
        return DoctorFinding(check=check, level="fail", message=str(error))


def _skip_check(check: str) -> DoctorFinding:
    return DoctorFinding(check=check, level="warn", message="not checked: mend what stands above first")


def _check_search(settings: Settings) -> DoctorFinding:
    """Whether the backends can be asked, as far as the settings tell; a question of ours might cost money."""
    choice = select_backends(settings.search)
    lacks = [what for name in choice.names if (what := find_missing_setting(settings.search, name)) is not None]
    if lacks:
        return DoctorFinding(check="search", level="fail", message=" ".join(render(lack, "en") for lack in lacks))
    if choice.warnings:
        return DoctorFinding(
            check="search", level="warn", message=" ".join(render(warning, "en") for warning in choice.warnings)
        )
    if list(choice.names) == [STUB_BACKEND]:
        message = "Only the stub is set, which finds nothing real: set search.backend to search the web."
        return DoctorFinding(check="search", level="warn", message=message)
    return DoctorFinding(check="search", level="ok", message=", ".join(choice.names))


def check_disk_space(folder: Path, free_bytes: int) -> DoctorFinding:
    """Whether so many free bytes are enough for the data in `folder`."""
    level: FindingLevel = "fail" if free_bytes < DISK_FAIL_BYTES else "warn" if free_bytes < DISK_WARN_BYTES else "ok"
    room = f"{free_bytes / 1e9:.1f} GB" if free_bytes >= DISK_WARN_BYTES else f"{free_bytes / 1e6:.0f} MB"
    mend = "" if level == "ok" else ": make room, or move data_dir"
    return DoctorFinding(check="disk", level=level, message=f"{room} free for {folder}{mend}")


def get_free_bytes(folder: Path) -> int:
    """The room where the data lies; for a folder that is not there yet, the room where it will be."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


class ReadinessSchema(BaseModel):
    """Whether work can be done; each of the three says `ok` or what is wrong."""

    is_ready: bool
    database: str
    queue: str
    browser: str


class Process(BaseModel):
    name: str = Field(examples=["office-worker-1"])
    kind: str = Field(examples=["worker"])


class ServiceStatus(BaseModel):
    """What the work stands on: who is at work, what waits and since when, how much room is left for the data.

    `database_bytes` is the size of a SQLite file, None for another database.
    """

    processes: list[Process]
    queued: int = Field(examples=[2])
    running: int = Field(examples=[1])
    waits_s: float = Field(examples=[12.5])
    free_bytes: int = Field(examples=[78_700_000_000])
    is_room_low: bool = Field(examples=[False])
    database_bytes: int | None = Field(examples=[10_300_000])


class Readiness:
    """What can be said of the service from its database alone, in whatever process."""

    def __init__(self, *, store: Store, settings: Settings, clock: Clock, presence: WorkerRegistry) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._presence = presence

    async def check(self) -> ReadinessSchema:
        """Database and a living worker are needed; a missing browser is told, but most pages do without."""
        try:
            await self._store.check()
            database = "ok"
            queue = "ok" if "worker" in (await self._presence.list_alive()).values() else "no worker is at work"
        except MonitorError as error:
            database = queue = str(error)
        try:
            browser = "ok" if self._settings.pages.browser.endpoint else str(find_browser(self._settings.pages.browser))
        except MonitorError as error:
            browser = str(error)
        return ReadinessSchema(is_ready=database == queue == "ok", database=database, queue=queue, browser=browser)

    async def get_metrics(self) -> tuple[ServiceMetrics, float, dict[str, int]]:
        """The counts, how long the oldest queued run waits in seconds, and how many processes of each kind live."""
        figures = await self._store.metrics.load_service_metrics()
        waits_s = _seconds_since(figures.oldest_queued_at, self._clock.now())
        alive = list((await self._presence.list_alive()).values())
        return figures, waits_s, {kind: alive.count(kind) for kind in ("worker", "scheduler")}

    async def get_service_status(self) -> ServiceStatus:
        """What the work stands on at this moment."""
        now = self._clock.now()
        pulse = await self._store.dashboard.load_queue_status(now)
        alive = await self._presence.list_alive()
        free = get_free_bytes(self._settings.data_dir)
        file = DatabaseAddress.parse(self._settings.database_url).file
        return ServiceStatus(
            processes=[Process(name=name, kind=kind) for name, kind in sorted(alive.items())],
            queued=pulse.queued,
            running=pulse.running,
            waits_s=_seconds_since(pulse.oldest_queued_at, now),
            free_bytes=free,
            is_room_low=free < DISK_WARN_BYTES,
            database_bytes=file.stat().st_size if file is not None and file.exists() else None,
        )


def _seconds_since(instant: dt.datetime | None, now: dt.datetime) -> float:
    return max(0.0, (now - instant).total_seconds()) if instant else 0.0
