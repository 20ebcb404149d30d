"""Engines: how this program opens its two kinds of database.

The driver of SQLite begins a transaction only at the first write and leaves DDL outside of it; both would let two
processes see half of each other's work. So the driver begins nothing, and every transaction is begun here: a writing
one waits for the write lock at its start instead of failing in the middle.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import unquote

import aiosqlite
from aiosqlite.core import _connection_worker_thread
from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from monitor.errors import DatabaseError

EngineT = TypeVar("EngineT", Engine, AsyncEngine)

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_EXAMPLES = "sqlite:///data/monitor.db or postgresql://user:password@host/name"


@dataclass(frozen=True)
class DatabaseAddress:
    """A database of one of the two kinds that the service runs on; `file` is that of SQLite, None for PostgreSQL."""

    url: URL
    file: Path | None = None

    @classmethod
    def parse(cls, text: str) -> "DatabaseAddress":
        """Parse a `database_url`, with or without a driver in its scheme.

        `DatabaseError` where it is no url, names another kind of database, SQLite without a file, or is
        ambiguous because a password has signs of its own meaning.
        """
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            code = "database.url_ambiguous" if text.count("@") > 1 else "database.not_a_url"
            raise DatabaseError(code, examples=_EXAMPLES) from None
        kind = url.drivername.split("+", 1)[0]
        if kind not in _DRIVERS:
            raise DatabaseError("database.unknown_kind", kind=repr(kind), examples=_EXAMPLES)
        url = url.set(drivername=_DRIVERS[kind])
        if kind != "sqlite":
            return cls(_restore_password(url))
        if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
            raise DatabaseError("database.no_file_named", examples=_EXAMPLES)
        return cls(url, Path(url.database))

    @property
    def full_url(self) -> str:
        """The url with its password: to be handed on, never to be shown."""
        return self.url.render_as_string(hide_password=False)

    @property
    def redacted_url(self) -> str:
        """The url without password, driver and parameters (which may hold a password too)."""
        scheme = self.url.drivername.split("+", 1)[0]
        return self.url.set(drivername=scheme, query={}).render_as_string(hide_password=True)


def _restore_password(url: URL) -> URL:
    """Give a password what follows its first @, where SQLAlchemy ends it; else it would be shown as the host.

    `DatabaseError` where it cannot be told where the password ends.
    """
    rest, at, host = (url.host or "").rpartition("@")
    if "@" in (url.database or "") or (at and (url.password is None or not host)):
        raise DatabaseError("database.url_ambiguous")
    return url.set(password=f"{url.password}@{unquote(rest)}", host=host) if at else url


_BUSY_TIMEOUT_MS = 15_000
_CONNECT_TIMEOUT_S = 10
_POOL_SIZE = 20  # enough for sixteen runs at once; opening a connection costs more than most queries

_BEGIN_OPTION = "sqlite_begins"
_POSTGRES_ARGUMENTS = {
    "connect_timeout": _CONNECT_TIMEOUT_S,
    "application_name": "monitor",
    "options": "-c timezone=UTC",
}


class _RollingBackConnection(sqlite3.Connection):
    """Gives its locks back when it is closed.

    SQLite keeps a closed connection's transaction until its last cursor is gone, and a task that was cancelled within
    a query leaves its cursor to the garbage collector.
    """

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self.rollback()
        super().close()


class _ThreadedConnection(aiosqlite.Connection):
    """Stops its thread once, and whatever becomes of those who asked it.

    SQLAlchemy stops it twice where a task is cancelled again while its connection is closed; aiosqlite would then wait
    for an answer of the thread that has ended, and the process would never end. And aiosqlite's thread dies of an
    answer to an event loop that has been closed meanwhile, before it has closed the database.
    """

    def __init__(self, connector: Callable[[], sqlite3.Connection], iter_chunk_size: int) -> None:
        super().__init__(connector, iter_chunk_size)
        self._thread = Thread(target=self._work, daemon=True)  # as SQLAlchemy makes those that it opens itself
        self._stopped: asyncio.Future[None] | None = None

    def _work(self) -> None:
        is_over = False
        while not is_over:
            try:
                _connection_worker_thread(self._tx)
                is_over = True
            except RuntimeError:  # the loop is closed: nobody waits for this answer
                is_over = self._connection is None

    def stop(self) -> "asyncio.Future[None] | None":
        if self._stopped is None:
            self._stopped = super().stop()
        return self._stopped and asyncio.shield(self._stopped)


async def _connect(database: str, **options: Any) -> aiosqlite.Connection:
    return await _ThreadedConnection(partial(sqlite3.connect, database, factory=_RollingBackConnection, **options), 64)


def open_async_engine(address: DatabaseAddress) -> AsyncEngine:
    """The engine of a store; no connection is made yet."""
    if address.file is None:
        return create_async_engine(address.url, pool_pre_ping=True, connect_args=_POSTGRES_ARGUMENTS)
    url = address.url.set(drivername="sqlite+aiosqlite")
    engine = create_async_engine(url, pool_size=_POOL_SIZE, connect_args={"async_creator_fn": _connect})
    _attach_listeners(engine.sync_engine, pragmas=("synchronous=FULL", "foreign_keys=ON", "journal_mode=WAL"))
    return engine


def open_migration_engine(address: DatabaseAddress) -> Engine:
    """One connection, on SQLite without foreign keys: there a changed table is built anew."""
    engine = _open_unpooled_engine(address, pragmas=("foreign_keys=OFF",))
    return engine.execution_options(**{_BEGIN_OPTION: "IMMEDIATE"})


def open_read_engine(address: DatabaseAddress) -> Engine:
    """The engine of a copy: its transaction sees one moment, whatever others write meanwhile."""
    if address.file is None:
        return _open_unpooled_engine(address, isolation_level="REPEATABLE READ")
    return _open_unpooled_engine(address)


def _open_unpooled_engine(address: DatabaseAddress, *, pragmas: tuple[str, ...] = (), **options: Any) -> Engine:
    if address.file is None:
        return create_engine(address.url, poolclass=NullPool, connect_args=_POSTGRES_ARGUMENTS, **options)
    engine = create_engine(address.url, poolclass=NullPool, **options)
    _attach_listeners(engine, pragmas=pragmas)
    return engine


def make_statement_engine(engine: AsyncEngine) -> AsyncEngine:
    """The same engine for single reads: a statement by itself sees one moment and needs no transaction."""
    if engine.dialect.name == "sqlite":
        return engine.execution_options(**{_BEGIN_OPTION: None})
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def make_write_engine(engine: EngineT) -> EngineT:
    """The same engine, whose transactions take SQLite's write lock when they begin."""
    return engine.execution_options(**{_BEGIN_OPTION: "IMMEDIATE"})


def open_thread_engine(address: DatabaseAddress) -> Engine:
    """An engine for blocking calls in threads, as durable as the store's; no connection is made yet."""
    if address.file is None:
        return create_engine(address.url, pool_pre_ping=True, connect_args=_POSTGRES_ARGUMENTS)
    engine = create_engine(address.url)
    _attach_listeners(engine, pragmas=("synchronous=FULL", "foreign_keys=ON", "journal_mode=WAL"))
    return engine


def open_queue_engine(address: DatabaseAddress) -> Engine | None:
    """The engine of the queue's tables in the same SQLite file, as durable as ours; None for PostgreSQL."""
    if address.file is None:
        return None
    engine = create_engine(address.url)

    def connected(connection: DBAPIConnection, _: object) -> None:
        connection.isolation_level = "IMMEDIATE"
        _execute_pragmas(connection, f"busy_timeout={2 * _BUSY_TIMEOUT_MS}", "synchronous=FULL", "foreign_keys=ON")

    event.listen(engine, "connect", connected)
    return engine


def _attach_listeners(engine: Engine, *, pragmas: tuple[str, ...]) -> None:
    def connected(connection: DBAPIConnection, _: object) -> None:
        connection.isolation_level = None
        try:
            _execute_pragmas(connection, f"busy_timeout={_BUSY_TIMEOUT_MS}", *pragmas)
        except sqlite3.OperationalError as error:
            # Switching to WAL does not wait for others. The mode is the file's: whoever holds it now, or connects
            # next, switches for all.
            if "locked" not in str(error):
                raise

    def begun(connection: Connection) -> None:
        if (mode := connection.get_execution_options().get(_BEGIN_OPTION, "DEFERRED")) is not None:
            connection.exec_driver_sql(f"BEGIN {mode}")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)


def _execute_pragmas(connection: DBAPIConnection, *pragmas: str) -> None:
    with closing(connection.cursor()) as cursor:
        for pragma in pragmas:
            cursor.execute(f"PRAGMA {pragma}")
