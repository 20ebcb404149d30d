"""Everything that was gathered, from one database to another: SQLite or PostgreSQL, whole or not at all."""

from pathlib import Path

from sqlalchemy import Connection, Table, delete, func, insert, select, text, update
from sqlmodel import SQLModel, col

from monitor.domain.research import Research, ResearchStatus
from monitor.domain.service import Executor, Lease
from monitor.domain.tables import Run
from monitor.domain.words import RunStatus
from monitor.errors import DatabaseError, UsageError, WorkFailed
from monitor.store import migrate
from monitor.store.address import DatabaseAddress
from monitor.store.engines import open_migration_engine, open_reading_engine
from monitor.store.failure import explained, not_migrated
from monitor.store.sessions import BATCH_SIZE

CUT_OFF = "The database was moved while this run was at work; `monitor runs retry` does it again."
RESEARCH_CUT_OFF = (
    "The database was moved while this research was at work; `monitor research --resume` with its id goes on with it."
)

# Who is at work at the one place says nothing about the other.
_OF_PROCESSES = frozenset(str(table.__tablename__) for table in (Executor, Lease))


def transfer(origin: str, target: str, *, is_replacing: bool = False) -> dict[str, int]:
    """Copy every row of the database at `origin` into the one at `target`; answers how many, by table.

    The target is migrated first. It holds all of it afterwards, or what it held before: one transaction each, on
    the reading side a view of one moment. Runs and researches that were under way then are failed ones at the target.
    `UsageError` where the target holds rows and they are not to be replaced, or where both are one database.
    """
    here, there = DatabaseAddress.parse(origin), DatabaseAddress.parse(target)
    if here.url == there.url or (here.file and there.file and here.file.resolve() == there.file.resolve()):
        raise UsageError("Both are the same database: name another one to copy to.")
    with explained(here):
        _check_schema(here)
    migrate.upgrade(target)
    reader, writer = open_reading_engine(here), open_migration_engine(there)
    try:
        with explained(there), writer.begin() as into:
            _make_room(into, there, is_replacing=is_replacing)
            with explained(here), reader.begin() as out_of:
                counts = {table.name: _copy(table, out_of, into) for table in _tables()}
            under_way = col(Run.status).in_([RunStatus.QUEUED, RunStatus.RUNNING])
            into.execute(update(Run).where(under_way).values(status=RunStatus.FAILED, error=CUT_OFF))
            at_work = col(Research.status).in_([ResearchStatus.QUEUED, ResearchStatus.RUNNING])
            cut_off = {"status": ResearchStatus.FAILED, "error": RESEARCH_CUT_OFF}
            into.execute(update(Research).where(at_work).values(cut_off))
            _check_counts(counts, into)
        return counts
    finally:
        reader.dispose()
        writer.dispose()


def _tables() -> list[Table]:
    """The tables in an order in which each comes after those that it refers to."""
    return [table for table in SQLModel.metadata.sorted_tables if table.name not in _OF_PROCESSES]


def _check_schema(address: DatabaseAddress) -> None:
    if address.file is not None and not Path(address.file).is_file():
        raise DatabaseError(f"There is no database {address.shown}.")
    if migrate.current(address.text) != migrate.head():
        raise not_migrated(address)


def _make_room(into: Connection, address: DatabaseAddress, *, is_replacing: bool) -> None:
    if not is_replacing and any(_count(table, into) for table in _tables()):
        raise UsageError(f"The database {address.shown} is not empty: give --replace to lose what it holds.")
    for table in reversed(SQLModel.metadata.sorted_tables):
        into.execute(delete(table))


def _copy(table: Table, out_of: Connection, into: Connection) -> int:
    count = 0
    rows = out_of.execution_options(yield_per=BATCH_SIZE).execute(select(table)).mappings()
    for batch in rows.partitions():
        into.execute(insert(table), [dict(row) for row in batch])
        count += len(batch)
    if into.dialect.name == "postgresql" and count and table.c.get("id") is not None:
        _go_on_counting(table, into)
    return count


def _go_on_counting(table: Table, into: Connection) -> None:
    """Rows that bring their own number do not move PostgreSQL's counter: the next one would be given twice."""
    sequence = into.scalar(text("SELECT pg_get_serial_sequence(:name, 'id')"), {"name": f'"{table.name}"'})
    if sequence is not None:
        highest = into.scalar(select(func.max(table.c.id)))
        into.execute(text("SELECT setval(:sequence, :highest)"), {"sequence": sequence, "highest": highest})


def _check_counts(counts: dict[str, int], into: Connection) -> None:
    for table in _tables():
        arrived = _count(table, into)
        if arrived != counts[table.name]:
            raise WorkFailed(f"Of {counts[table.name]} rows of the table {table.name}, {arrived} arrived.")


def _count(table: Table, connection: Connection) -> int:
    return int(connection.scalar(select(func.count()).select_from(table)) or 0)
