"""Engines: how this program opens its two kinds of database.

The driver of SQLite begins a transaction only at the first write and leaves DDL outside of it; both would let two
processes see half of each other's work. So it is told to begin nothing, and every transaction is begun here: a writing
one takes the write lock at once and waits for it, instead of failing in the middle.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from monitor.errors import DatabaseError

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_EXAMPLES = "sqlite:///data/monitor.db or postgresql://user:password@host/name"


@dataclass(frozen=True)
class DatabaseAddress:
    """A database of one of the two kinds that the service runs on; `file` is that of SQLite, None for PostgreSQL."""

    url: URL
    file: Path | None = None

    @classmethod
    def parse(cls, text: str) -> "DatabaseAddress":
        """The address that a `database_url` names, with or without a driver in its scheme.

        `DatabaseError` where it is no url, names another kind of database, or a SQLite database without a file, which
        would forget everything at the end of the program.
        """
        try:
            url = make_url(text)
        except (ArgumentError, ValueError):
            raise DatabaseError("database.not_a_url", examples=_EXAMPLES) from None
        kind = url.drivername.split("+", 1)[0]
        if kind not in _DRIVERS:
            raise DatabaseError("database.unknown_kind", kind=repr(kind), examples=_EXAMPLES)
        url = url.set(drivername=_DRIVERS[kind])
        if kind != "sqlite":
            return cls(url)
        if not url.database or url.database == ":memory:" or url.database.startswith("file:"):
            raise DatabaseError("database.no_file_named", examples=_EXAMPLES)
        return cls(url, Path(url.database))

    @property
    def async_url(self) -> URL:
        """The url for an asynchronous engine; psycopg serves both kinds under one name."""
        return self.url.set(drivername="sqlite+aiosqlite") if self.file is not None else self.url

    @property
    def full_url(self) -> str:
        """The whole url again, password and all: to be handed on, never to be shown."""
        return self.url.render_as_string(hide_password=False)

    @property
    def redacted_url(self) -> str:
        """The url as people may see it: without password, driver and parameters (a password may stand there too)."""
        scheme = self.url.drivername.split("+", 1)[0]
        return self.url.set(drivername=scheme, query={}).render_as_string(hide_password=True)


_BUSY_TIMEOUT_MS = 15_000
_CONNECT_TIMEOUT_S = 10
_POOL_SIZE = 20
"""So many connections are kept open: those of sixteen runs at once; making one costs more than most questions."""

_BEGIN_OPTION = "sqlite_begins"


class _Cursor(Protocol):
    def execute(self, statement: str) -> object: ...
    def close(self) -> object: ...


class _SqliteConnection(Protocol):
    isolation_level: str | None

    def cursor(self) -> _Cursor: ...


def open_async_engine(address: DatabaseAddress) -> AsyncEngine:
    """The engine of a store; no connection is made yet."""
    if address.file is None:
        return create_async_engine(address.async_url, pool_pre_ping=True, connect_args=_build_postgres_arguments())
    engine = create_async_engine(address.async_url, pool_size=_POOL_SIZE)
    _attach_listeners(engine.sync_engine, pragmas=("synchronous=NORMAL", "foreign_keys=ON", "journal_mode=WAL"))
    return engine


def open_migration_engine(address: DatabaseAddress) -> Engine:
    """The engine of migrations: one connection, no foreign keys on SQLite, where a changed table is built anew."""
    if address.file is None:
        return create_engine(address.url, poolclass=NullPool, connect_args=_build_postgres_arguments())
    engine = create_engine(address.url, poolclass=NullPool)
    _attach_listeners(engine, pragmas=("foreign_keys=OFF",))
    return engine.execution_options(**{_BEGIN_OPTION: "IMMEDIATE"})


def open_read_engine(address: DatabaseAddress) -> Engine:
    """The engine of a copy: a transaction of its own sees one moment, whatever others write meanwhile."""
    if address.file is None:
        return create_engine(
            address.url, poolclass=NullPool, isolation_level="REPEATABLE READ", connect_args=_build_postgres_arguments()
        )
    engine = create_engine(address.url, poolclass=NullPool)
    _attach_listeners(engine, pragmas=())
    return engine


def make_write_engine(engine: AsyncEngine) -> AsyncEngine:
    """The same engine, whose transactions take SQLite's write lock when they begin."""
    return engine.execution_options(**{_BEGIN_OPTION: "IMMEDIATE"})


def _build_postgres_arguments() -> dict[str, Any]:
    return {"connect_timeout": _CONNECT_TIMEOUT_S, "application_name": "monitor", "options": "-c timezone=UTC"}


def _attach_listeners(engine: Engine, *, pragmas: tuple[str, ...]) -> None:
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
        connection.exec_driver_sql(f"BEGIN {connection.get_execution_options().get(_BEGIN_OPTION, 'DEFERRED')}")

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
