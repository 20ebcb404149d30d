"""Engines: how this program opens its two kinds of database.

The driver of SQLite begins a transaction only at the first write and leaves DDL outside of it; both would let two
processes see half of each other's work. So it is told to begin nothing, and every transaction is begun here: a writing
one takes the write lock at once and waits for it, instead of failing in the middle.
"""

import sqlite3
from typing import Any, Protocol

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from monitor.store.address import DatabaseAddress

_BUSY_TIMEOUT_MS = 15_000
_CONNECT_TIMEOUT_S = 10
_POOL_SIZE = 20
"""So many connections are kept open: those of sixteen runs at once; making one costs more than most questions."""

_BEGINS = "sqlite_begins"


class _Cursor(Protocol):
    def execute(self, statement: str) -> object: ...
    def close(self) -> object: ...


class _SqliteConnection(Protocol):
    isolation_level: str | None

    def cursor(self) -> _Cursor: ...


def open_async_engine(address: DatabaseAddress) -> AsyncEngine:
    """The engine of a store; no connection is made yet."""
    if address.file is None:
        return create_async_engine(address.async_url, pool_pre_ping=True, connect_args=_postgres_arguments())
    engine = create_async_engine(address.async_url, pool_size=_POOL_SIZE)
    _attend(engine.sync_engine, pragmas=("synchronous=NORMAL", "foreign_keys=ON", "journal_mode=WAL"))
    return engine


def open_migration_engine(address: DatabaseAddress) -> Engine:
    """The engine of migrations: one connection, no foreign keys on SQLite, where a changed table is built anew."""
    if address.file is None:
        return create_engine(address.url, poolclass=NullPool, connect_args=_postgres_arguments())
    engine = create_engine(address.url, poolclass=NullPool)
    _attend(engine, pragmas=("foreign_keys=OFF",))
    return engine.execution_options(**{_BEGINS: "IMMEDIATE"})


def open_reading_engine(address: DatabaseAddress) -> Engine:
    """The engine of a copy: a transaction of its own sees one moment, whatever others write meanwhile."""
    if address.file is None:
        return create_engine(
            address.url, poolclass=NullPool, isolation_level="REPEATABLE READ", connect_args=_postgres_arguments()
        )
    engine = create_engine(address.url, poolclass=NullPool)
    _attend(engine, pragmas=())
    return engine


def for_writing(engine: AsyncEngine) -> AsyncEngine:
    """The same engine, whose transactions take SQLite's write lock when they begin."""
    return engine.execution_options(**{_BEGINS: "IMMEDIATE"})


def _postgres_arguments() -> dict[str, Any]:
    return {"connect_timeout": _CONNECT_TIMEOUT_S, "application_name": "monitor", "options": "-c timezone=UTC"}


def _attend(engine: Engine, *, pragmas: tuple[str, ...]) -> None:
    def connected(connection: _SqliteConnection, _: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        try:
            for pragma in (f"busy_timeout={_BUSY_TIMEOUT_MS}", *pragmas):
                cursor.execute(f"PRAGMA {pragma}")
        except sqlite3.OperationalError as error:
            # Going over to WAL does not wait for others. The mode is the file's: whoever holds it now, or connects
            # next, does it for all.
            if "locked" not in str(error):
                raise
        finally:
            cursor.close()

    def begun(connection: Connection) -> None:
        connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get(_BEGINS, 'DEFERRED')}")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)


def open_queue_engine(address: DatabaseAddress) -> Engine | None:
    """The engine of the queue's own tables in the same database; None where the queue may open its own.

    On SQLite its commits are as durable as ours, no more: both stand in one file, which after a power cut holds a
    moment of the past, whole.
    """
    if address.file is None:
        return None
    engine = create_engine(address.url)

    def connected(connection: _SqliteConnection, _: object) -> None:
        connection.isolation_level = "IMMEDIATE"
        cursor = connection.cursor()
        for pragma in (f"busy_timeout={2 * _BUSY_TIMEOUT_MS}", "synchronous=NORMAL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    event.listen(engine, "connect", connected)
    return engine
