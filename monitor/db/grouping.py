"""One writer for SQLite: transactions of a process that write at the same time share one commit.

SQLite lets one transaction write at a time, and a durable commit waits for the disk. So whoever writes takes turns on
one connection, behind a savepoint of its own, and the last one of a group commits for all. Each is told only after the
commit; an error in one takes back its savepoint alone.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import aiosqlite
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession

_LOST = "disk I/O error: the transaction was rolled back"
_MAX_MEMBERS = 32
_MAX_AGE_S = 0.1  # a group commits after this time, however many wait


class PatientConnection(aiosqlite.Connection):
    """A connection that, while `is_shared`, ends a statement before its caller is cancelled: others work on it too."""

    is_shared = False

    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not self.is_shared:
            return await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]
        statement = asyncio.ensure_future(super()._execute(fn, *args, **kwargs))  # type: ignore[no-untyped-call]
        cancelled = 0
        while not statement.done():
            try:
                await asyncio.wait({statement})
            except asyncio.CancelledError:
                cancelled += 1
        task = asyncio.current_task()
        for _ in range(cancelled if task is not None else 0):
            task.uncancel()  # type: ignore[union-attr]
            task.cancel()  # type: ignore[union-attr]  # it is raised where the caller waits next
        return statement.result()


def open_patient_connection(database: str | Path, **options: Any) -> PatientConnection:
    connection = PatientConnection(partial(sqlite3.connect, str(database), **options), 64)
    connection._thread.daemon = True  # noqa: SLF001 -- as the dialect does
    return connection


@dataclass
class _Group:
    connection: AsyncConnection
    driver: PatientConnection
    began_s: float
    members: int = 0
    is_lost: bool = False
    ended: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class GroupWriter:
    """Gives sessions of which several share a transaction; `engine` begins transactions that write."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._group: _Group | None = None

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncSession]:
        """A session whose changes are durable when the block has ended."""
        await self._take_turn()
        try:
            group = self._group = self._group or await self._open_group()
            try:
                async with _open_session(group) as session:
                    yield session
                group.members += 1
            except BaseException:
                # Without a transaction nothing of the others is left: SQLite has rolled back all of it.
                group.is_lost = group.is_lost or not _is_in_transaction(group.driver)
                raise
            finally:
                if self._is_due(group):
                    await self._end_group()
        finally:
            self._turn.release()
        await asyncio.shield(group.ended)

    async def _take_turn(self) -> None:
        self._waiting += 1
        try:
            await self._turn.acquire()
        except asyncio.CancelledError:
            if self._waiting == 1 and not self._turn.locked() and self._group is not None:
                self._ending = asyncio.create_task(self._end_left_group())
            raise
        finally:
            self._waiting -= 1

    async def _end_left_group(self) -> None:
        """Commit for those who waited for one that gave up before its turn."""
        async with self._turn:
            if self._group is not None and not self._waiting:
                await self._end_group()

    async def _open_group(self) -> _Group:
        connection = await self._engine.connect()
        try:
            await connection.begin()
            driver = (await connection.get_raw_connection()).driver_connection
        except BaseException:
            await connection.close()
            raise
        assert isinstance(driver, PatientConnection)  # noqa: S101 -- for the type checker
        driver.is_shared = True
        return _Group(connection, driver, began_s=asyncio.get_running_loop().time())

    def _is_due(self, group: _Group) -> bool:
        age_s = asyncio.get_running_loop().time() - group.began_s
        return group.is_lost or not self._waiting or group.members >= _MAX_MEMBERS or age_s >= _MAX_AGE_S

    async def _end_group(self) -> None:
        group, self._group = self._group, None
        assert group is not None  # noqa: S101 -- whoever has the turn opened it
        try:
            if group.is_lost:
                raise exc.OperationalError("COMMIT", {}, sqlite3.OperationalError(_LOST))
            await group.connection.commit()
            group.ended.set_result(None)
        except exc.SQLAlchemyError as error:
            group.ended.set_exception(error)
            group.ended.exception()  # those who wait raise it; there may be none
        finally:
            group.ended.cancel()  # where neither came about
            await group.connection.close()
            group.driver.is_shared = False


def _is_in_transaction(driver: PatientConnection) -> bool:
    try:
        return driver.in_transaction
    except ValueError:  # it was closed
        return False


def _open_session(group: _Group) -> Any:
    """The first one of a group needs no savepoint: nothing of others is lost with it."""
    mode = "create_savepoint" if group.members else "rollback_only"
    return _begin_session(AsyncSession(group.connection, expire_on_commit=False, join_transaction_mode=mode))


@asynccontextmanager
async def _begin_session(session: AsyncSession) -> AsyncIterator[AsyncSession]:
    async with session, session.begin():
        yield session
