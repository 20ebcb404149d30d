"""Probes: whether an installation can do what its work needs, by doing it. `doctor` and `/readyz` share them."""

import asyncio
import errno
import getpass
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.errors import BrowserMissing, MonitorError, WorkFailed
from monitor.evidence.storage import FileStorage
from monitor.extras import needs_extra
from monitor.fetch.browser.launch import find_browser
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.logs import get_logger

_FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


async def probe_browser(settings: Settings) -> Message:
    """Draw a page and print a PDF, and say with which browser; `BrowserMissing` or `WorkFailed` where that fails.

    Where pages are never drawn, a machine without a browser is well.
    """
    browser = settings.pages.browser
    try:
        shown = browser.endpoint or str(find_browser(browser))
    except BrowserMissing:
        if settings.pages.render == "never" and browser.path is None:
            return Message("doctor.browser_unused")
        raise
    with needs_extra("browser", BrowserMissing):
        from monitor.fetch.browser.renderer import try_browser  # its library takes a third of a second to import

    await try_browser(browser)
    return Message.of("doctor.browser", browser=shown)


def probe_storage(settings: Settings) -> Message:
    """Write a file to the data folder, and to the storage where it is elsewhere, read it and remove it. Blocks.

    A data folder that is not there yet is made, as the first run would.
    """
    folder = settings.data_dir
    try:
        found = FileStorage(str(folder)).check()
    except WorkFailed as error:
        raise _explain_failure(folder, error) from error
    return found if settings.storage_url is None else FileStorage(settings.storage_url).check()


def _explain_failure(folder: Path, error: WorkFailed) -> WorkFailed:
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in _FULL_DISK:
        return WorkFailed("storage.folder_full", folder=folder)
    reason = (isinstance(cause, OSError) and cause.strerror) or error.message
    return WorkFailed("storage.folder_unusable", folder=folder, user=_get_user_name(), reason=reason)


def _get_user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number without a name
        return str(os.geteuid())


async def probe_database(store: Store, clock: Clock) -> None:
    """Read the schema; write a row, read it back and remove it; `DatabaseError` where that fails."""
    await store.check()
    await store.check_writing(clock.now())


@dataclass
class CachedProbe:
    """A probe that may be asked as often as one likes: it runs once in `fresh_s`, after a failure once in `retry_s`.

    While it runs again, the last result stands. Nobody waits for the first one longer than `max_wait_s`, and a probe
    that has not ended after `timeout_s` counts as failed until it does end.
    """

    probe: Callable[[], Awaitable[object]]
    fresh_s: float = 300.0
    retry_s: float = 20.0
    max_wait_s: float = 15.0
    timeout_s: float = 30.0
    _task: "asyncio.Task[None] | None" = field(default=None, init=False)
    _started_s: float = field(default=0.0, init=False)
    _ended_s: float | None = field(default=None, init=False)
    _problem: Message | None = field(default=None, init=False)

    async def find_problem(self) -> Message | None:
        """Return what is wrong by the last result, None where all is well."""
        now_s = asyncio.get_running_loop().time()
        if self._task is None and self._is_due(now_s):
            self._started_s, self._task = now_s, asyncio.create_task(self._run())
        if self._task is not None and self._ended_s is None:
            await asyncio.wait({self._task}, timeout=self.max_wait_s)
        if self._task is not None and now_s - self._started_s > self.timeout_s:
            return Message.of("health.probe_hangs", seconds=f"{now_s - self._started_s:.0f}")
        return Message("health.probe_runs") if self._ended_s is None else self._problem

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=self.max_wait_s)

    def _is_due(self, now_s: float) -> bool:
        return self._ended_s is None or now_s - self._ended_s >= (self.retry_s if self._problem else self.fresh_s)

    async def _run(self) -> None:
        problem: Message | None = None
        try:
            await self.probe()
        except MonitorError as error:
            problem = error.message
        except Exception as error:  # noqa: BLE001 -- whatever it is, the work would meet it too
            problem = Message.of("health.probe_crashed", type=type(error).__name__, text=str(error))
        if problem is not None and problem != self._problem:
            get_logger("probes").warning("not ready", reason=render(problem, "en"))
        self._problem, self._ended_s, self._task = problem, asyncio.get_running_loop().time(), None
