"""Being known to be at work: a name of one's own, and a heartbeat under it."""

import asyncio
import fcntl
import os
import re
import secrets
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path

from monitor.domain.service import Executor
from monitor.errors import DatabaseError, UsageError
from monitor.ports import Clock
from monitor.store import Store

BEAT_EVERY_S = 5.0
FRESH_S = 20.0
"""Who was seen within this time counts as alive; several heartbeats may be late before that is in doubt."""


class HeartbeatPresence:
    """Who is at work (`ports.Presence`): rows of the database, renewed for as long as a process lives."""

    def __init__(self, *, store: Store, clock: Clock, folder: Path, executor_id: str | None = None) -> None:
        self._store = store
        self._clock = clock
        self._folder = folder
        self._executor_id = executor_id

    @asynccontextmanager
    async def attending(self, kind: str) -> AsyncIterator[str]:
        """Be at work as a process of that kind; the name stays the same from start to start.

        `UsageError` where a configured name is used by another process that lives.
        """
        with self._name(kind) as name:
            await self._refuse_namesake(name)
            me = self._executor(name, kind)
            await self._store.executors.beat(me)
            beating = asyncio.create_task(self._beat(me))
            try:
                yield name
            finally:
                beating.cancel()
                with suppress(asyncio.CancelledError):
                    await beating
                with suppress(DatabaseError):
                    await self._store.executors.remove(me.id, token=me.token)

    async def alive(self) -> dict[str, str]:
        """The processes that were seen lately, each with its kind; on this machine, only those that still are there."""
        now = self._clock.now()
        return {
            executor.id: executor.kind
            for executor in await self._store.executors.all()
            if abs((now - executor.seen_at).total_seconds()) < FRESH_S
            and (executor.host != _host() or _is_there(executor.pid))
        }

    async def is_here(self, kind: str) -> bool:
        """Whether this very process is at work as one of that kind."""
        me = (_host(), os.getpid(), kind)
        return any((executor.host, executor.pid, executor.kind) == me for executor in await self._store.executors.all())

    async def _beat(self, me: Executor) -> None:
        while True:
            await asyncio.sleep(BEAT_EVERY_S)
            # A database that is gone for a while comes back; the work itself says that it is gone.
            with suppress(DatabaseError):
                await self._store.executors.beat(me.model_copy(update={"seen_at": self._clock.now()}))

    async def _refuse_namesake(self, name: str) -> None:
        now = self._clock.now()
        for executor in await self._store.executors.all():
            is_fresh = abs((now - executor.seen_at).total_seconds()) < FRESH_S
            if executor.id == name and executor.host != _host() and is_fresh:
                raise UsageError(
                    f"A process named {name!r} is at work on {executor.host}: give each its own work.executor_id, or none."
                )

    @contextmanager
    def _name(self, kind: str) -> Iterator[str]:
        """A name that no other process of this machine holds: the configured one, or the host's with a number."""
        names = iter([self._executor_id]) if self._executor_id else (f"{_host()}-{kind}-{n}" for n in count(1))
        for name in names:
            with _locked(self._folder / "executors" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.lock") as is_mine:
                if is_mine:
                    yield name
                    return
        raise UsageError(f"A process named {self._executor_id!r} is at work here: give each its own work.executor_id.")

    def _executor(self, name: str, kind: str) -> Executor:
        now = self._clock.now()
        return Executor(
            id=name, kind=kind, host=_host(), pid=os.getpid(), token=secrets.token_hex(8), started_at=now, seen_at=now
        )


@contextmanager
def alone_on(database: Path) -> Iterator[None]:
    """Be the one service of a SQLite database; `UsageError` where there is one already. Ends with the process."""
    with _locked(database.with_name(f"{database.name}.lock")) as is_mine:
        if not is_mine:
            raise UsageError(
                f"A service works on {database} already, and SQLite bears one: stop it first, or use PostgreSQL "
                "(`monitor db copy`) for several workers and schedulers."
            )
        yield


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Whether the file's lock could be had; the system takes it back when the process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _host() -> str:
    return socket.gethostname() or "localhost"


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
