"""Sessions: one short transaction each, for reading or for writing."""

import asyncio
import datetime as dt
import inspect
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from functools import cache, wraps
from itertools import islice
from typing import Any, TypeVar, TypeVarTuple
from zoneinfo import ZoneInfo

from sqlalchemy import Executable, Insert, Row, Select, Table, exc, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import Mapped
from sqlmodel import SQLModel

from monitor.db.engines import DatabaseAddress, make_statement_engine, make_write_engine
from monitor.db.visibility import VisibleSession
from monitor.errors import DatabaseError, DatabaseGone, WorkFailed
from monitor.i18n.message import Message
from monitor.logs import get_logger

DEFAULT_MAX_RETRY_S = 300.0
_PAUSES_S = (0.1, 0.5, 1.0, 2.0, 5.0)
_Method = Callable[..., Awaitable[Any]]


def _retry_method(method: _Method) -> _Method:
    @wraps(method)
    async def retry(self: "Queries", *args: Any, **kwargs: Any) -> Any:
        return await self._sessions.retry(lambda: method(self, *args, **kwargs))

    return retry


_UNDEFINED_CODES = ("42P01", "42703")  # PostgreSQL: undefined table, undefined column
_ENVIRONMENT_CODES = ("42P07", "42501")  # PostgreSQL: a table of that name is there already, permission denied
_FOREIGN_KEY_VIOLATION = "23503"  # PostgreSQL: foreign key violation
_MAX_REASON_CHARS = 200

# PostgreSQL: a connection that broke, a server that goes down or comes up, too many connections, no room on the disk.
_TRANSIENT_CODES = ("08", "57P", "53")
_TRANSIENT_MESSAGES = ("disk is full", "disk I/O error", "database is locked", "unable to open database file")


@contextmanager
def translate_errors(address: DatabaseAddress) -> Iterator[None]:
    """Translate the errors of SQLAlchemy inside the block.

    `DatabaseError` for a database that cannot be reached, is no database or has another schema; `WorkFailed` where a
    row belongs to a source or run that was removed meanwhile. Anything else is a bug of ours and passes unchanged.
    """
    try:
        yield
    except exc.IntegrityError as error:
        if _get_sqlstate(error) == _FOREIGN_KEY_VIOLATION or "FOREIGN KEY" in str(error.orig):
            raise WorkFailed("database.owner_removed") from error
        raise
    except (exc.OperationalError, exc.InterfaceError, exc.ProgrammingError, exc.DataError) as error:
        if _is_schema_mismatch(error):
            raise build_not_migrated_error(address) from error
        if isinstance(error, exc.ProgrammingError | exc.DataError) and _get_sqlstate(error) not in _ENVIRONMENT_CODES:
            raise
        if _is_transient(error):
            raise DatabaseGone(build_unusable_error(address, _get_reason(error)).message) from error
        raise build_unusable_error(address, _get_reason(error)) from error
    except exc.TimeoutError as error:
        raise DatabaseGone(build_unusable_error(address, Message("database.connections_busy")).message) from error
    except exc.DBAPIError as error:
        if type(error) is exc.DatabaseError:  # SQLite: "file is not a database", "disk image is malformed"
            raise build_unusable_error(address, _get_reason(error)) from error
        raise


def build_unusable_error(address: DatabaseAddress, reason: str | Message) -> DatabaseError:
    code = "database.unusable_file" if address.file else "database.unusable_server"
    return DatabaseError(code, url=address.redacted_url, reason=reason)


def build_not_migrated_error(address: DatabaseAddress) -> DatabaseError:
    return DatabaseError("database.not_migrated", url=address.redacted_url)


def _is_transient(error: exc.DBAPIError) -> bool:
    """Whether waiting may help: the driver gives no code where there was no connection at all."""
    if isinstance(error.orig, sqlite3.Error):
        return any(word in str(error.orig) for word in _TRANSIENT_MESSAGES)
    code = _get_sqlstate(error)
    return error.connection_invalidated or code is None or code.startswith(_TRANSIENT_CODES)


def _is_schema_mismatch(error: exc.DBAPIError) -> bool:
    return _get_sqlstate(error) in _UNDEFINED_CODES or any(
        word in str(error.orig) for word in ("no such table", "no such column", "has no column named")
    )


def _get_sqlstate(error: exc.DBAPIError) -> str | None:
    code = getattr(error.orig, "sqlstate", None)
    return code if isinstance(code, str) else None


def _get_reason(error: exc.DBAPIError) -> str:
    lines = str(error.orig).strip().splitlines() or [type(error).__name__]
    return lines[0].strip().rstrip(".:")[:_MAX_REASON_CHARS]


BATCH_SIZE = 500
"""How many values one statement carries, far below the limit of either database."""

USE_MARK_INTERVAL = dt.timedelta(days=1)
"""How far a `last_used_at` may lie behind, so that what is used again and again is not written each time."""

_ADVISORY_LOCK_KEY = 20_261_122
V = TypeVar("V")
Columns = TypeVarTuple("Columns")


class SessionFactory:
    """Opens sessions, each one transaction; objects from them are plain values afterwards, not loaded lazily.

    `max_retry_s` is 0 until the database was reached once. `timezone` is the service's, whose days are counted.
    """

    def __init__(self, engine: AsyncEngine, address: DatabaseAddress) -> None:
        self.max_retry_s = 0.0
        self.timezone = "UTC"
        self.address = address
        self._readers, self._statements, self._writers = (
            async_sessionmaker(bound, expire_on_commit=False, sync_session_class=VisibleSession)
            for bound in (engine, make_statement_engine(engine), make_write_engine(engine))
        )
        self._transactions: dict[asyncio.Task[Any] | None, AsyncSession] = {}
        self._after_commit: dict[asyncio.Task[Any] | None, list[Callable[[], None]]] = {}
        self._waiting: list[SQLModel] = []
        self._carrying = asyncio.Lock()

    def get_day(self, instant: dt.datetime) -> dt.date:
        return instant.astimezone(ZoneInfo(self.timezone)).date()

    @property
    def is_in_transaction(self) -> bool:
        return asyncio.current_task() in self._transactions

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        """One transaction for all that this task reads and writes inside, without retries; nested blocks join it."""
        if self.is_in_transaction:
            yield
            return
        task = asyncio.current_task()
        callbacks = self._after_commit[task] = []
        try:
            async with self.begin_write() as session:
                self._transactions[task] = session
                try:
                    yield
                finally:
                    del self._transactions[task]
        finally:
            del self._after_commit[task]
        for callback in callbacks:
            callback()

    async def write_together(self, work: Callable[[], Awaitable[V]]) -> V:
        """Do what only reads and writes here in one transaction, again from the start where the database was away."""

        async def work_in_transaction() -> V:
            async with self.transaction():
                return await work()

        return await self.retry(work_in_transaction)

    async def retry(self, work: Callable[[], Awaitable[V]]) -> V:
        """Do some work again for as long as the database is away; inside of a transaction only once."""
        waited_s, tries = 0.0, 0
        while True:
            try:
                answer = await work()
            except DatabaseGone as error:
                pause_s = _PAUSES_S[min(tries, len(_PAUSES_S) - 1)]
                if self.is_in_transaction or waited_s + pause_s > self.max_retry_s:
                    raise
                if tries == 0:
                    get_logger("store").warning("database gone", reason=str(error))
                await asyncio.sleep(pause_s)
                waited_s, tries = waited_s + pause_s, tries + 1
            else:
                if tries:
                    get_logger("store").warning("database back", waited_s=round(waited_s, 1))
                return answer

    def call_after_commit(self, callback: Callable[[], None]) -> None:
        """Call this once the transaction of this task is committed, never if it fails; at once where there is none."""
        waiting = self._after_commit.get(asyncio.current_task())
        if waiting is None:
            callback()
        else:
            waiting.append(callback)

    def add_with_next(self, row: SQLModel) -> None:
        """Insert a row with the next transaction of this process that writes, so before whatever refers to it.

        A kill may come first: this is for what then is done again. A row whose owner was removed meanwhile is dropped.
        """
        self._waiting.append(row)

    async def write_waiting(self) -> None:
        """Insert now what waits for the next transaction, for a query that is to see it."""
        if self._waiting and not self.is_in_transaction:
            async with self.begin_write():
                pass

    def begin_read(self) -> AbstractAsyncContextManager[AsyncSession]:
        """A transaction that reads: all its queries see one moment."""
        return self._begin(self._readers)

    def begin_statement(self) -> AbstractAsyncContextManager[AsyncSession]:
        """A session for one query, which needs no transaction of its own."""
        return self._begin(self._statements)

    def begin_write(self) -> AbstractAsyncContextManager[AsyncSession]:
        """A transaction that writes; on SQLite it waits here until no other one does."""
        return self._begin(self._writers)

    @asynccontextmanager
    async def _begin(self, sessions: async_sessionmaker[AsyncSession]) -> AsyncIterator[AsyncSession]:
        joined = self._transactions.get(asyncio.current_task())
        with translate_errors(self.address):
            if joined is not None:
                yield joined
                await joined.flush()
                joined.expunge_all()  # as after a commit, what was loaded is a plain value
                return
            if sessions is self._writers:
                async with self._carrying:  # what others write may refer to the rows that wait, so it comes later
                    if self._waiting:
                        async with self._carry_waiting() as session:
                            yield session
                        return
            async with sessions.begin() as session:
                yield session

    @asynccontextmanager
    async def _carry_waiting(self) -> AsyncIterator[AsyncSession]:
        """A transaction that writes, with the rows that wait; where it fails, they wait again."""
        waiting: list[SQLModel] = []
        try:
            async with self._writers.begin() as session:
                waiting, self._waiting = self._waiting, []
                try:
                    async with session.begin_nested():
                        await _insert_all(session, waiting)
                except exc.IntegrityError:
                    for row in waiting:
                        with suppress(exc.IntegrityError):
                            async with session.begin_nested():
                                await _insert_all(session, [row])
                yield session
        except BaseException:
            self._waiting = [*waiting, *self._waiting]
            raise


async def _insert_all(session: AsyncSession, rows: Sequence[SQLModel]) -> None:
    by_table: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_table.setdefault(str(row.__tablename__), []).append(row.model_dump())
    for name, values in by_table.items():
        statement = build_insert(get_dialect(session), SQLModel.metadata.tables[name])
        await session.execute(statement.on_conflict_do_nothing(), values)


class Queries:
    """The queries of one subject; each public method is one short transaction.

    A method waits for a database that is gone and then starts over, except in a class declared with `retries=False`.
    """

    def __init_subclass__(cls, *, retries: bool = True) -> None:
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if retries and inspect.iscoroutinefunction(method) and not name.startswith("_"):
                setattr(cls, name, _retry_method(method))

    def __init__(self, sessions: SessionFactory) -> None:
        self._sessions = sessions

    async def _get(self, table: type[V], key: Any) -> V | None:
        async with self._sessions.begin_statement() as session:
            return await session.get(table, key)

    async def _fetch_all(self, query: Select[V]) -> list[V]:
        async with self._sessions.begin_statement() as session:
            return list((await session.scalars(query)).all())

    async def _fetch_first(self, query: Select[V]) -> V | None:
        async with self._sessions.begin_statement() as session:
            return await session.scalar(query)

    async def _fetch_in(self, query: Select[V], column: Mapped[Any], values: Iterable[Any]) -> list[V]:
        """Return the first column of every row whose `column` has one of any number of values."""
        found: list[V] = []
        async with self._sessions.begin_read() as session:
            for batch in split_batches(values):
                found += await session.scalars(query.where(column.in_(batch)))
        return found

    async def _fetch_rows(self, query: Select[*Columns]) -> Sequence[Row[*Columns]]:
        async with self._sessions.begin_statement() as session:
            return (await session.execute(query)).all()

    async def _fetch_as(self, model: Callable[..., V], query: Select[*tuple[Any, ...]]) -> list[V]:
        """Return every row as a `model`, whose fields are called like the columns."""
        async with self._sessions.begin_statement() as session:
            result = await session.execute(query)
            names = list(result.keys())
            return [model(**dict(zip(names, row, strict=True))) for row in result]

    @asynccontextmanager
    async def _lock(self, table: type[V], key: Any) -> AsyncIterator[tuple[AsyncSession, V | None]]:
        """A transaction, and a row that nobody else changes until it ends; None where there is no such row."""
        async with self._sessions.begin_write() as session:
            yield session, await session.get(table, key, with_for_update=True)

    async def _execute(self, statement: Executable) -> None:
        async with self._sessions.begin_write() as session:
            await session.execute(statement)

    async def _upsert(self, rows: Sequence[SQLModel], *, key: Sequence[str], update: Sequence[str] = ()) -> None:
        """Upsert rows of one table, as `upsert_rows` does."""
        async with self._sessions.begin_write() as session:
            if rows:
                await upsert_rows(session, type(rows[0]), [row.model_dump() for row in rows], key=key, update=update)


def split_batches(values: Iterable[V], size: int = BATCH_SIZE) -> Iterator[list[V]]:
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch


async def upsert_rows(
    session: AsyncSession,
    table: type[SQLModel],
    rows: Iterable[Mapping[str, Any]],
    *,
    key: Sequence[str],
    update: Sequence[str] = (),
) -> None:
    """Insert rows; where a `key` exists, change the columns `update`, for which no key may occur twice, or nothing."""
    upsert = _build_upsert(get_dialect(session), str(table.__tablename__), tuple(key), tuple(update))
    for batch in split_batches(rows):
        await session.execute(upsert, batch)


@cache
def _build_upsert(dialect: str, name: str, key: tuple[str, ...], update: tuple[str, ...]) -> Insert:
    """Cached: with its rows as parameters, it is compiled once for all batches of the same columns."""
    statement = build_insert(dialect, SQLModel.metadata.tables[name])
    if not update:
        return statement.on_conflict_do_nothing(index_elements=key)
    changes = {name: statement.excluded[name] for name in update}
    return statement.on_conflict_do_update(index_elements=key, set_=changes)


async def insert_if_new(session: AsyncSession, row: SQLModel, *, key: str = "id") -> bool:
    """Insert a row; False where its `key` is taken, and that row stays as it is."""
    table = SQLModel.metadata.tables[str(row.__tablename__)]
    statement = build_insert(get_dialect(session), table).values(sanitize_value(row.model_dump()))
    new = statement.on_conflict_do_nothing(index_elements=[key]).returning(table.c[key])
    return await session.scalar(new) is not None


async def lock_decisions(session: AsyncSession) -> None:
    """Make processes that count before they write take turns; SQLite has one writer anyway."""
    if get_dialect(session) == "postgresql":
        await session.execute(select(func.pg_advisory_xact_lock(_ADVISORY_LOCK_KEY)))


def get_dialect(session: AsyncSession) -> str:
    return session.get_bind().dialect.name


def build_insert(dialect: str, table: type[SQLModel] | Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that understands ON CONFLICT."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


def sanitize_text(text: str) -> str:
    """The text without what a database refuses: NUL, which PostgreSQL cannot hold, and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def sanitize_value(value: Any) -> Any:
    """A value without what a database refuses in a text, in lists and in JSON with its keys too."""
    if type(value) is str:  # members of a StrEnum stay members: their column type writes them
        return sanitize_text(value)
    if isinstance(value, list):
        return [sanitize_value(inner) for inner in value]
    if isinstance(value, dict):
        return {sanitize_value(name): sanitize_value(inner) for name, inner in value.items()}
    return value
