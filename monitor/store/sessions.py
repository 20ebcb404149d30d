"""Sessions: one short transaction each, for reading or for writing."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Insert, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlmodel import SQLModel

from monitor.store.address import DatabaseAddress
from monitor.store.engines import for_writing
from monitor.store.failure import explained

BATCH_SIZE = 500
"""How many values one statement carries, far below what either database takes."""

_DECIDING = 20_261_122
"""The key of PostgreSQL's lock for transactions that count before they write."""

V = TypeVar("V")


class Sessions:
    """Hands out sessions; each is one transaction, committed at the end of its block, rolled back on an error.

    The objects that come out of them are plain values afterwards: nothing is loaded later. `patience_s` is how long a
    database that is gone is waited for (`store/patience.py`): not at all before it was seen to be there.
    """

    def __init__(self, engine: AsyncEngine, address: DatabaseAddress) -> None:
        self.patience_s = 0.0
        self._address = address
        self._readers = async_sessionmaker(engine, expire_on_commit=False)
        self._writers = async_sessionmaker(for_writing(engine), expire_on_commit=False)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncSession]:
        with explained(self._address):
            async with self._readers.begin() as session:
                yield session

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncSession]:
        """A transaction that writes; on SQLite it waits here until no other one does."""
        with explained(self._address):
            async with self._writers.begin() as session:
                yield session


def batches(values: Iterable[V], size: int = BATCH_SIZE) -> Iterator[list[V]]:
    """The values in lists of at most `size`."""
    rest = iter(values)
    while batch := list(islice(rest, size)):
        yield batch


async def insert_or(
    session: AsyncSession,
    table: type[SQLModel],
    rows: Iterable[Mapping[str, Any]],
    *,
    key: Sequence[str],
    update: Sequence[str] = (),
) -> None:
    """Insert the rows; where one with the same `key` is there already, change its columns `update`, or leave it alone.

    With `update`, no key may stand twice among the rows.
    """
    upsert = _upsert(dialect_of(session), str(table.__tablename__), tuple(key), tuple(update))
    for batch in batches(rows):
        await session.execute(upsert, batch)


@cache
def _upsert(dialect: str, name: str, key: tuple[str, ...], update: tuple[str, ...]) -> Insert:
    """Made once: with its rows as parameters, it is compiled once for all batches of the same columns."""
    statement = insert_for(dialect, SQLModel.metadata.tables[name])
    if not update:
        return statement.on_conflict_do_nothing(index_elements=key)
    changes = {name: statement.excluded[name] for name in update}
    return statement.on_conflict_do_update(index_elements=key, set_=changes)


async def alone(session: AsyncSession) -> None:
    """Keep other processes from deciding at the same time by what they count; SQLite has one writer anyway."""
    if dialect_of(session) == "postgresql":
        await session.execute(select(func.pg_advisory_xact_lock(_DECIDING)))


def dialect_of(session: AsyncSession) -> str:
    """The kind of the session's database, `sqlite` or `postgresql`."""
    return session.get_bind().dialect.name


def insert_for(dialect: str, table: type[SQLModel] | Table) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that understands ON CONFLICT, in the words of that kind of database."""
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


def storable(text: str) -> str:
    """The text without what a database refuses: NUL, which PostgreSQL cannot hold, and halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")


def storable_value(value: Any) -> Any:
    """A value without what a database refuses in a text, in lists and JSON too."""
    if type(value) is str:  # words of a vocabulary are strings too, but must stay members: their column writes them
        return storable(value)
    if isinstance(value, list):
        return [storable_value(one) for one in value]
    return {name: storable_value(one) for name, one in value.items()} if isinstance(value, dict) else value
