"""Is everything there that the service needs? Each check by itself, so that one that fails hides no other."""

import datetime as dt
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from monitor.app.configuring import SettingsDesk
from monitor.app.source_form import check_timezone
from monitor.app.writing import examine_template
from monitor.errors import MonitorError
from monitor.ports import Clock
from monitor.search.choosing import STUB, chosen, lacking
from monitor.settings import Settings

WARN_BYTES = 1_000_000_000
FAIL_BYTES = 100_000_000
_EARLIEST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

Level = Literal["ok", "warn", "fail"]


class Finding(BaseModel):
    """What one check found; the message of one that is not ok says how to mend it."""

    check: str
    level: Level
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
        lay_over: Callable[[Settings], Awaitable[SettingsDesk]],
        find_browser: Callable[[Settings], str],
        check_model: Callable[[Settings], Awaitable[str]],
        check_targets: Callable[[Settings], str],
        check_storage: Callable[[Settings], str],
        clock: Clock,
    ) -> None:
        self._load = load
        self._check_database = check_database
        self._lay_over = lay_over
        self._find_browser = find_browser
        self._check_model = check_model
        self._check_targets = check_targets
        self._check_storage = check_storage
        self._clock = clock

    async def examine(self) -> list[Finding]:
        """Every check with what it found, in the order of the commands that need it."""
        settings, configuration = self._configuration()
        is_readable = configuration.level == "ok"
        database = await _asked("database", self._check_database, settings) if is_readable else _unchecked("database")
        settings, stored = (
            await self._stored(settings) if database.level == "ok" else (settings, _unchecked("settings"))
        )
        return [
            configuration,
            database,
            stored,
            self._browser(settings),
            await _asked("model", self._check_model, settings) if is_readable else _unchecked("model"),
            _search(settings),
            _told("template", examine_template, settings) if is_readable else _unchecked("template"),
            _told("delivery", self._check_targets, settings) if is_readable else _unchecked("delivery"),
            _told("storage", self._check_storage, settings) if is_readable else _unchecked("storage"),
            disk_finding(settings.data_dir, free_bytes(settings.data_dir)),
            self._time(settings),
        ]

    def _configuration(self) -> tuple[Settings, Finding]:
        try:
            settings, where = self._load()
        except MonitorError as error:
            # `model_construct` asks neither the file nor the environment: one of them is what is broken.
            return Settings.model_construct(), Finding(check="configuration", level="fail", message=str(error))
        return settings, Finding(check="configuration", level="ok", message=where)

    async def _stored(self, settings: Settings) -> tuple[Settings, Finding]:
        try:
            desk = await self._lay_over(settings)
        except MonitorError as error:
            return settings, Finding(check="settings", level="fail", message=str(error))
        return desk.current, _told("settings", lambda _: desk.summary(), settings)

    def _browser(self, settings: Settings) -> Finding:
        browser = settings.pages.browser
        if browser.endpoint is not None:
            return Finding(check="browser", level="ok", message=f"elsewhere: {browser.endpoint}")
        try:
            return Finding(check="browser", level="ok", message=self._find_browser(settings))
        except MonitorError as error:
            return Finding(check="browser", level="fail", message=str(error))

    def _time(self, settings: Settings) -> Finding:
        now = self._clock.now()
        try:
            check_timezone(settings.timezone)
        except ValueError as error:
            return Finding(check="clock", level="fail", message=f"The setting `timezone` is wrong: {error}.")
        if now < _EARLIEST:
            message = f"The clock says {now:%Y-%m-%d}, which is past: set it, or windows of dates are wrong."
            return Finding(check="clock", level="fail", message=message)
        local = now.astimezone(ZoneInfo(settings.timezone))
        return Finding(check="clock", level="ok", message=f"{local:%Y-%m-%d %H:%M} in {settings.timezone}")


async def _asked(check: str, ask: Callable[[Settings], Awaitable[str]], settings: Settings) -> Finding:
    try:
        return Finding(check=check, level="ok", message=await ask(settings))
    except MonitorError as error:
        return Finding(check=check, level="fail", message=str(error))


def _told(check: str, ask: Callable[[Settings], str], settings: Settings) -> Finding:
    try:
        return Finding(check=check, level="ok", message=ask(settings))
    except MonitorError as error:
        return Finding(check=check, level="fail", message=str(error))


def _unchecked(check: str) -> Finding:
    return Finding(check=check, level="warn", message="not checked: mend what stands above first")


def _search(settings: Settings) -> Finding:
    """Whether the backends can be asked, as far as the settings tell; a question of ours might cost money."""
    choice = chosen(settings.search)
    lacks = [what for name in choice.names if (what := lacking(settings.search, name)) is not None]
    if lacks:
        return Finding(check="search", level="fail", message=f"{'; '.join(lacks)}.")
    if choice.warnings:
        return Finding(check="search", level="warn", message=" ".join(choice.warnings))
    if list(choice.names) == [STUB]:
        message = "Only the stub is set, which finds nothing real: set search.backend to search the web."
        return Finding(check="search", level="warn", message=message)
    return Finding(check="search", level="ok", message=", ".join(choice.names))


def disk_finding(folder: Path, free: int) -> Finding:
    """Whether so many free bytes are enough for the data in `folder`."""
    level: Level = "fail" if free < FAIL_BYTES else "warn" if free < WARN_BYTES else "ok"
    room = f"{free / 1e9:.1f} GB" if free >= WARN_BYTES else f"{free / 1e6:.0f} MB"
    mend = "" if level == "ok" else ": make room, or move data_dir"
    return Finding(check="disk", level=level, message=f"{room} free for {folder}{mend}")


def free_bytes(folder: Path) -> int:
    """The room where the data lies; for a folder that is not there yet, the room where it will be."""
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free
