"""A process at work: what it does again and again, its name and heartbeat, its lock of a database, its leases."""

import asyncio
import datetime as dt
import fcntl
import logging
import os
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.tables.research import Executor, Lease
from monitor.errors import DatabaseError, MonitorError, UsageError
from monitor.logs import get_logger

if TYPE_CHECKING:
    from monitor.services.embeddings import EmbeddingService
    from monitor.services.scrub import ScrubService
    from monitor.services.settings import SettingsService
    from monitor.services.usage import RetentionService

_log = logging.getLogger(__name__)
Work = Callable[[], Awaitable[None]]
_SETTINGS_INTERVAL_S = 2.0
_CLOCK_INTERVAL_S = 60.0
_PRUNE_INTERVAL = dt.timedelta(days=1)
_SCRUB_INTERVAL_S = 60.0
_EMBEDDING_INTERVAL_S = 20.0


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
    """Do each duty at once and again after so many seconds of the steady clock, which no change of the time stops."""

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
    settings: "SettingsService",
    *,
    close_unused: Work,
    retention: "RetentionService | None",
    scrub: "ScrubService | None" = None,
    embeddings: "EmbeddingService | None" = None,
) -> AsyncIterator[None]:
    """Follow settings that another process stored; prune daily where there is `retention`, check evidence by `scrub`.

    `embeddings` gives new items their vectors, in one process at a time.

    `close_unused` closes what only earlier settings needed. Each job runs at once and then at its interval, never
    twice at a time; to do it twice does no harm.
    """

    async def follow_settings() -> None:
        await settings.reload_if_changed()
        await close_unused()

    duties = [(_SETTINGS_INTERVAL_S, follow_settings)]
    if scrub is not None:
        duties.append((_SCRUB_INTERVAL_S, scrub.run_background))
    if embeddings is not None:
        duties.append(
            (_EMBEDDING_INTERVAL_S, partial(_embed_new_items, embeddings, _build_embedding_lease(embeddings)))
        )
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(repeat(*duties))
        if retention is not None:
            await stack.enter_async_context(run_daily(partial(_prune, retention)))
        yield


@asynccontextmanager
async def run_daily(work: Work) -> AsyncIterator[None]:
    """Do some work at once, and again each day by the clock on the wall."""
    from apscheduler.schedulers.asyncio import AsyncIOScheduler
    from apscheduler.triggers.interval import IntervalTrigger

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
    trigger = IntervalTrigger(seconds=_PRUNE_INTERVAL.total_seconds(), timezone=dt.UTC)
    job = scheduler.add_job(run, trigger, args=[survive_errors(work)], next_run_time=dt.datetime.now(dt.UTC))
    scheduler.start()

    async def follow_clock() -> None:
        """Bring the next time back where the clock was ahead when it was set: the library would wait for it."""
        latest = dt.datetime.now(dt.UTC) + _PRUNE_INTERVAL
        if job.next_run_time is not None and job.next_run_time > latest:
            job.modify(next_run_time=latest)

    try:
        async with repeat((_CLOCK_INTERVAL_S, follow_clock)):
            yield
    finally:
        scheduler.shutdown()
        await asyncio.sleep(0)  # in this turn of the event loop it stops, and cancels what is running
        await asyncio.gather(*filter(None, running))


def _build_embedding_lease(embeddings: "EmbeddingService") -> "LeaseHolder":
    holder = secrets.token_hex(8)
    return LeaseHolder("embeddings", holder=holder, store=embeddings.store, clock=embeddings.clock)


async def _embed_new_items(embeddings: "EmbeddingService", lease: "LeaseHolder") -> None:
    """Go on until every item has its vector; the lease is renewed with each portion."""
    while await lease.acquire() and await embeddings.embed_portion():
        pass


async def _prune(retention: "RetentionService") -> None:
    pruned = await retention.prune_expired()
    get_logger("upkeep").info("pruned", **pruned.model_dump())


HEARTBEAT_INTERVAL_S = 5.0
ALIVE_TIMEOUT_S = 20.0  # a process seen within this time counts as alive, even if several heartbeats are late


@dataclass(kw_only=True)
class HeartbeatRegistry:
    """Who is at work: rows of the database, renewed for as long as a process lives."""

    store: Store
    clock: Clock
    folder: Path
    executor_id: str | None = None

    @asynccontextmanager
    async def register(self, kind: str) -> AsyncIterator[str]:
        """Be at work under a name that is the same at every start; `UsageError` where a live process has it."""
        with self._reserve_name(kind) as name:
            await self._check_name_is_free(name)
            me = self._build_executor(name, kind)
            await self.store.executors.record_heartbeat(me)
            try:
                async with repeat((HEARTBEAT_INTERVAL_S, partial(self._send_heartbeat, me))):
                    yield name
            finally:
                with suppress(DatabaseError):
                    await self.store.executors.remove(me.id, token=me.token)

    async def list_alive(self) -> dict[str, str]:
        """The kinds of the processes seen lately, by name; on this machine, only of those that still exist."""
        return {
            executor.id: executor.kind
            for executor in await self.store.executors.list_all()
            if self._is_fresh(executor) and (executor.host != _get_hostname() or _is_process_alive(executor.pid))
        }

    async def is_here(self, kind: str) -> bool:
        me = (_get_hostname(), os.getpid(), kind)
        return any(
            (executor.host, executor.pid, executor.kind) == me for executor in await self.store.executors.list_all()
        )

    async def _send_heartbeat(self, me: Executor) -> None:
        # A database that is gone for a while comes back; the work itself says that it is gone.
        with suppress(DatabaseError):
            await self.store.executors.record_heartbeat(me.model_copy(update={"seen_at": self.clock.now()}))

    def _is_fresh(self, executor: Executor) -> bool:
        return abs((self.clock.now() - executor.seen_at).total_seconds()) < ALIVE_TIMEOUT_S

    async def _check_name_is_free(self, name: str) -> None:
        for executor in await self.store.executors.list_all():
            if executor.id == name and executor.host != _get_hostname() and self._is_fresh(executor):
                raise UsageError("process.name_taken", name=name, host=executor.host)

    @contextmanager
    def _reserve_name(self, kind: str) -> Iterator[str]:
        """A name that no other process of this machine holds: the configured one, or the host's with a number."""
        names = iter([self.executor_id]) if self.executor_id else (f"{_get_hostname()}-{kind}-{n}" for n in count(1))
        for name in names:
            with _try_lock(self.folder / "executors" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.lock") as is_mine:
                if is_mine:
                    yield name
                    return
        raise UsageError("process.name_taken_here", name=self.executor_id)

    def _build_executor(self, name: str, kind: str) -> Executor:
        now = self.clock.now()
        return Executor(
            id=name,
            kind=kind,
            host=_get_hostname(),
            pid=os.getpid(),
            token=secrets.token_hex(8),
            started_at=now,
            seen_at=now,
        )


@contextmanager
def lock_database(database: Path) -> Iterator[None]:
    """Be the one service of a SQLite database; `UsageError` where there is one already. Ends with the process.

    The lock lies beside the real file, whatever links lead to it; a file that has other names beside its own could be
    locked under each of them, and is refused.
    """
    real = database.resolve()
    if real.is_file() and (link_count := real.stat().st_nlink) > 1:
        raise UsageError("process.database_linked", database=str(real), count=link_count)
    with _try_lock(real.with_name(f"{real.name}.lock")) as is_mine:
        if not is_mine:
            raise UsageError("process.database_taken", database=str(database))
        yield


@contextmanager
def _try_lock(path: Path) -> Iterator[bool]:
    """Whether the file's lock could be had; the system takes it back when the process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _get_hostname() -> str:
    return socket.gethostname() or "localhost"


def _is_process_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


LEASE_TIMEOUT_S = 15.0  # a holder that has not renewed for this long has lost its duty


@dataclass
class LeaseHolder:
    """One process's claim on a duty; a holder's silence is measured with this process's own steady clock."""

    name: str
    _: KW_ONLY
    holder: str
    store: Store
    clock: Clock
    monotonic: Callable[[], float] = time.monotonic
    _seen: Lease | None = field(default=None, init=False)
    _seen_at_s: float = field(default=0.0, init=False)

    async def acquire(self) -> bool:
        """Renew the lease, or take it over where it is free or its holder silent; whether it is this process's now."""
        leases = self.store.leases
        if await leases.renew(self.name, self.holder, at=self.clock.now()):
            return True
        lease = await leases.get(self.name)
        if lease is not None and not self._is_expired(lease):
            return False
        return await leases.acquire(self.name, self.holder, at=self.clock.now(), expected=lease)

    async def release(self) -> None:
        """Give up the duty, so that the next holder need not wait; where the database is away, the lease expires."""
        with suppress(DatabaseError):
            await self.store.leases.release(self.name, self.holder)

    def _is_expired(self, lease: Lease) -> bool:
        now_s = self.monotonic()
        if lease != self._seen:
            self._seen, self._seen_at_s = lease, now_s
        return now_s - self._seen_at_s >= LEASE_TIMEOUT_S
