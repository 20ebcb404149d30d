"""Being known to be at work: a name of one's own, and a heartbeat under it."""

import asyncio
import fcntl
import os
import re
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.tables.research import Executor, Lease
from monitor.errors import DatabaseError, UsageError

HEARTBEAT_INTERVAL_S = 5.0
ALIVE_TIMEOUT_S = 20.0
"""Who was seen within this time counts as alive; several heartbeats may be late before that is in doubt."""


class HeartbeatRegistry:
    """Who is at work (`ports.Presence`): rows of the database, renewed for as long as a process lives."""

    def __init__(self, *, store: Store, clock: Clock, folder: Path, executor_id: str | None = None) -> None:
        self._store = store
        self._clock = clock
        self._folder = folder
        self._executor_id = executor_id

    @asynccontextmanager
    async def register(self, kind: str) -> AsyncIterator[str]:
        """Be at work as a process of that kind; the name stays the same from start to start.

        `UsageError` where a configured name is used by another process that lives.
        """
        with self._reserve_name(kind) as name:
            await self._check_name_is_free(name)
            me = self._build_executor(name, kind)
            await self._store.executors.record_heartbeat(me)
            beating = asyncio.create_task(self._send_heartbeats(me))
            try:
                yield name
            finally:
                beating.cancel()
                with suppress(asyncio.CancelledError):
                    await beating
                with suppress(DatabaseError):
                    await self._store.executors.remove(me.id, token=me.token)

    async def list_alive(self) -> dict[str, str]:
        """The processes that were seen lately, each with its kind; on this machine, only those that still are there."""
        now = self._clock.now()
        return {
            executor.id: executor.kind
            for executor in await self._store.executors.list_all()
            if abs((now - executor.seen_at).total_seconds()) < ALIVE_TIMEOUT_S
            and (executor.host != _get_hostname() or _is_process_alive(executor.pid))
        }

    async def is_here(self, kind: str) -> bool:
        """Whether this very process is at work as one of that kind."""
        me = (_get_hostname(), os.getpid(), kind)
        return any(
            (executor.host, executor.pid, executor.kind) == me for executor in await self._store.executors.list_all()
        )

    async def _send_heartbeats(self, me: Executor) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_INTERVAL_S)
            # A database that is gone for a while comes back; the work itself says that it is gone.
            with suppress(DatabaseError):
                await self._store.executors.record_heartbeat(me.model_copy(update={"seen_at": self._clock.now()}))

    async def _check_name_is_free(self, name: str) -> None:
        now = self._clock.now()
        for executor in await self._store.executors.list_all():
            is_fresh = abs((now - executor.seen_at).total_seconds()) < ALIVE_TIMEOUT_S
            if executor.id == name and executor.host != _get_hostname() and is_fresh:
                raise UsageError("process.name_taken", name=name, host=executor.host)

    @contextmanager
    def _reserve_name(self, kind: str) -> Iterator[str]:
        """A name that no other process of this machine holds: the configured one, or the host's with a number."""
        names = iter([self._executor_id]) if self._executor_id else (f"{_get_hostname()}-{kind}-{n}" for n in count(1))
        for name in names:
            with _try_lock(self._folder / "executors" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.lock") as is_mine:
                if is_mine:
                    yield name
                    return
        raise UsageError("process.name_taken_here", name=self._executor_id)

    def _build_executor(self, name: str, kind: str) -> Executor:
        now = self._clock.now()
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
    """Be the one service of a SQLite database; `UsageError` where there is one already. Ends with the process."""
    with _try_lock(database.with_name(f"{database.name}.lock")) as is_mine:
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


LEASE_TIMEOUT_S = 15.0
"""A holder that has not renewed for so long has lost its duty; it renews several times within."""


class LeaseHolder:
    """One process's claim on a duty.

    `has_it()` is asked every few seconds: it renews, or takes over where the duty is free or its holder silent. Silence
    is measured with this process's own steady clock, so that clocks that differ or jump do no harm.
    """

    def __init__(
        self, name: str, *, holder: str, store: Store, clock: Clock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._name = name
        self._holder = holder
        self._store = store
        self._clock = clock
        self._monotonic = monotonic
        self._seen: Lease | None = None
        self._seen_at_s = 0.0

    async def acquire(self) -> bool:
        """Whether the duty is this process's for now."""
        leases = self._store.leases
        if await leases.renew(self._name, self._holder, at=self._clock.now()):
            return True
        lease = await leases.get(self._name)
        if lease is not None and not self._is_expired(lease):
            return False
        return await leases.acquire(self._name, self._holder, at=self._clock.now(), expected=lease)

    async def release(self) -> None:
        """Leave the duty to whoever stands by."""
        await self._store.leases.release(self._name, self._holder)

    def _is_expired(self, lease: Lease) -> bool:
        now_s = self._monotonic()
        if lease != self._seen:
            self._seen, self._seen_at_s = lease, now_s
        return now_s - self._seen_at_s >= LEASE_TIMEOUT_S
