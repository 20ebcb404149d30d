"""What a process does again and again: its duties by the steady clock, its housekeeping by APScheduler."""

import asyncio
import datetime as dt
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from monitor.errors import MonitorError
from monitor.logs import get_logger

if TYPE_CHECKING:
    from monitor.services.settings import SettingsService
    from monitor.services.usage import RetentionService

Work = Callable[[], Awaitable[None]]
_SETTINGS_INTERVAL = dt.timedelta(seconds=2)
_PRUNE_INTERVAL = dt.timedelta(days=1)
_log = logging.getLogger(__name__)


def survive_errors(work: Work) -> Work:
    """Wrap work that is repeated: an error is logged, once until another one comes, and never raised."""
    last_error = ""

    async def run() -> None:
        nonlocal last_error
        try:
            await work()
            last_error = ""
        except MonitorError as error:
            if str(error) != last_error:
                _log.warning("%s", error)
            last_error = str(error)
        except Exception as error:  # noqa: BLE001 -- the work goes on, whatever the library meets
            if repr(error) != last_error:
                _log.exception("The service goes on after an unexpected error.")
            last_error = repr(error)

    return run


@asynccontextmanager
async def repeat(*duties: tuple[float, Work]) -> AsyncIterator[None]:
    """Do each duty at once and again after a pause of so many seconds, for as long as the block lasts.

    The pauses are measured with the steady clock, whatever happens to the time of day: other processes take one that
    is silent for dead.
    """

    async def run(pause_s: float, work: Work) -> None:
        while True:
            await work()
            await asyncio.sleep(pause_s)

    tasks = [asyncio.create_task(run(pause_s, survive_errors(work))) for pause_s, work in duties]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def run_housekeeping(
    settings: "SettingsService", *, close_unused: Work, retention: "RetentionService | None"
) -> AsyncIterator[None]:
    """Follow settings that another process stored, and prune daily where there is `retention`.

    `close_unused` closes what only earlier settings needed. Each job runs at once and then at its interval, never
    twice at a time; to do it twice does no harm.
    """
    from apscheduler.schedulers.asyncio import AsyncIOScheduler
    from apscheduler.triggers.interval import IntervalTrigger

    async def follow_settings() -> None:
        await settings.reload_if_changed()
        await close_unused()

    jobs: list[tuple[dt.timedelta, Work]] = [(_SETTINGS_INTERVAL, follow_settings)]
    if retention is not None:
        jobs.append((_PRUNE_INTERVAL, partial(_prune, retention)))
    running: set[asyncio.Task[None] | None] = set()

    async def run(work: Work) -> None:
        task = asyncio.current_task()
        running.add(task)
        with suppress(asyncio.CancelledError):  # the end of the process is no error of the job
            await work()
        running.discard(task)

    # Errors are logged by `survive_errors`; that a job outlasts its interval is no news.
    logging.getLogger("apscheduler").setLevel(logging.CRITICAL)
    scheduler = AsyncIOScheduler(
        timezone=dt.UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
    )
    for interval, work in jobs:
        trigger = IntervalTrigger(seconds=interval.total_seconds(), timezone=dt.UTC)
        scheduler.add_job(run, trigger, args=[survive_errors(work)], next_run_time=dt.datetime.now(dt.UTC))
    scheduler.start()
    try:
        yield
    finally:
        scheduler.shutdown()
        await asyncio.sleep(0)  # in this turn of the event loop it stops, and cancels what is running
        await asyncio.gather(*filter(None, running))


async def _prune(retention: "RetentionService") -> None:
    pruned = await retention.prune_expired()
    get_logger("upkeep").info("pruned", **pruned.model_dump())
