"""Backups: one SQLite file each, whatever the database is; made while others work, and checked before it counts."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import Connection, NullPool, Table, create_engine, delete, func, insert, select, text, update
from sqlmodel import SQLModel, col

from monitor.db import migrate
from monitor.db.engines import DatabaseAddress, open_migration_engine, open_read_engine
from monitor.db.queries.items import ItemStore
from monitor.db.sessions import BATCH_SIZE, SessionFactory, build_not_migrated_error, translate_errors
from monitor.db.tables.collection import Fallback, Item, Run, Unseen
from monitor.db.tables.research import Executor, Lease, Research, ResearchStatus
from monitor.errors import DatabaseError, UsageError, WorkFailed
from monitor.i18n.message import Message
from monitor.urls import url_key
from monitor.vocabulary import RunStatus

_FIRST_NEW_ID = 1_000_000_000
"""From here on count the items that the other database does not have: no number of its own is so high."""


class ReplayItemStore(ItemStore):
    """Items that get the number and the instant of first sight that they have in another database."""

    def __init__(self, sessions: SessionFactory, originals: Iterable[Item]) -> None:
        super().__init__(sessions)
        self._originals = {item.url_key: item for item in originals}
        self._last_new_id = _FIRST_NEW_ID

    async def save_all(self, items: Sequence[Item]) -> list[tuple[Item, bool]]:
        """Keep items under their old numbers."""
        return await super().save_all([self._restore_identity(item) for item in items])

    def _restore_identity(self, item: Item) -> Item:
        known = self._originals.get(item.url_key or url_key(item.url))
        if known is None:
            self._last_new_id += 1
        given = {"id": self._last_new_id} if known is None else {"id": known.id, "first_seen": known.first_seen}
        return Item(**item.model_dump() | given)


async def restore_row_order(run_id: str, *, origin: SessionFactory, target: SessionFactory) -> None:
    """Bring what a run wrote down from several tasks at once into the order that it has in another database.

    Those of its fallbacks and unseen places that the other one does not have come last.
    """
    for table in (Fallback, Unseen):
        query = select(table).where(col(table.run_id) == run_id).order_by(col(table.id))
        async with origin.begin_read() as session:
            wanted = {_fingerprint_row(row): row for row in await session.scalars(query)}
        places = {content: place for place, content in enumerate(wanted)}
        async with target.begin_write() as session:
            rows = sorted(await session.scalars(query), key=lambda row: places.get(_fingerprint_row(row), len(places)))
            await session.execute(delete(table).where(col(table.run_id) == run_id))
            for row in rows:
                values = wanted.get(_fingerprint_row(row), row).model_dump(exclude={"id"})
                await session.execute(insert(table), [values])


def _fingerprint_row(row: SQLModel) -> str:
    return row.model_dump_json(exclude={"id", "at"})


INTERRUPTED_RUN_ERROR = Message("cause.run_moved")
INTERRUPTED_RESEARCH_ERROR = Message("cause.research_moved")

# Who is at work at the one place says nothing about the other.
_PROCESS_TABLES = frozenset(str(table.__tablename__) for table in (Executor, Lease))


def transfer_database(origin: str, target: str, *, is_replacing: bool = False) -> dict[str, int]:
    """Copy every row of the database at `origin` into the one at `target`; answers how many, by table.

    The target is migrated first. It holds all of it afterwards, or what it held before: one transaction each, on
    the reading side a view of one moment. Runs and researches that were under way then are failed ones at the target.
    `UsageError` where the target holds rows and they are not to be replaced, or where both are one database.
    """
    here, there = DatabaseAddress.parse(origin), DatabaseAddress.parse(target)
    if here.url == there.url or (here.file and there.file and here.file.resolve() == there.file.resolve()):
        raise UsageError("database.same_database")
    with translate_errors(here):
        _check_schema(here)
    migrate.upgrade(target)
    reader, writer = open_read_engine(here), open_migration_engine(there)
    try:
        with translate_errors(there), writer.begin() as into:
            _clear_tables(into, there, is_replacing=is_replacing)
            with translate_errors(here), reader.begin() as out_of:
                counts = {table.name: _copy_table(table, out_of, into) for table in _list_tables()}
            in_progress = col(Run.status).in_([RunStatus.QUEUED, RunStatus.RUNNING])
            into.execute(update(Run).where(in_progress).values(status=RunStatus.FAILED, error=INTERRUPTED_RUN_ERROR))
            at_work = col(Research.status).in_([ResearchStatus.QUEUED, ResearchStatus.RUNNING])
            cut_off = {"status": ResearchStatus.FAILED, "error": INTERRUPTED_RESEARCH_ERROR}
            into.execute(update(Research).where(at_work).values(cut_off))
            _check_counts(counts, into)
        return counts
    finally:
        reader.dispose()
        writer.dispose()


def _list_tables() -> list[Table]:
    """The tables in an order in which each comes after those that it refers to."""
    return [table for table in SQLModel.metadata.sorted_tables if table.name not in _PROCESS_TABLES]


def _check_schema(address: DatabaseAddress) -> None:
    if address.file is not None and not Path(address.file).is_file():
        raise DatabaseError("database.not_there", url=address.redacted_url)
    if migrate.get_current_revision(address.full_url) != migrate.get_head_revision():
        raise build_not_migrated_error(address)


def _clear_tables(into: Connection, address: DatabaseAddress, *, is_replacing: bool) -> None:
    if not is_replacing and any(_count_rows(table, into) for table in _list_tables()):
        raise UsageError("database.not_empty", url=address.redacted_url)
    for table in reversed(SQLModel.metadata.sorted_tables):
        into.execute(delete(table))


def _copy_table(table: Table, out_of: Connection, into: Connection) -> int:
    count = 0
    rows = out_of.execution_options(yield_per=BATCH_SIZE).execute(select(table)).mappings()
    for batch in rows.partitions():
        into.execute(insert(table), [dict(row) for row in batch])
        count += len(batch)
    if into.dialect.name == "postgresql" and count and table.c.get("id") is not None:
        _reset_sequence(table, into)
    return count


def _reset_sequence(table: Table, into: Connection) -> None:
    """Rows that bring their own number do not move PostgreSQL's counter: the next one would be given twice."""
    sequence = into.scalar(text("SELECT pg_get_serial_sequence(:name, 'id')"), {"name": f'"{table.name}"'})
    if sequence is not None:
        highest = into.scalar(select(func.max(table.c.id)))
        into.execute(text("SELECT setval(:sequence, :highest)"), {"sequence": sequence, "highest": highest})


def _check_counts(counts: dict[str, int], into: Connection) -> None:
    for table in _list_tables():
        arrived = _count_rows(table, into)
        if arrived != counts[table.name]:
            raise WorkFailed("database.rows_missing", rows=counts[table.name], table=table.name, arrived=arrived)


def _count_rows(table: Table, connection: Connection) -> int:
    return int(connection.scalar(select(func.count()).select_from(table)) or 0)


def create_backup(url: str, file: Path) -> int:
    """Write everything that the database holds now into a new file; answers its size in bytes.

    The file appears under its name when it is whole and checked. `UsageError` where there is one of that name,
    `WorkFailed` where it cannot be written.
    """
    address = DatabaseAddress.parse(url)
    if file.exists():
        raise UsageError("backup.file_exists", file=str(file))
    if address.file is not None and not address.file.is_file():
        raise DatabaseError("database.not_there_to_back_up", url=address.redacted_url)
    part = file.with_name(f"{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        if address.file is not None:
            _copy_file(address.file, part)
        else:
            transfer_database(url, f"sqlite:///{part}")
            _disable_wal(part)
        verify_backup(part)
        part.rename(file)
        return file.stat().st_size
    except (OSError, sqlite3.Error) as error:
        raise WorkFailed("backup.not_written", file=str(file), reason=str(error)) from error
    finally:
        for left in (part, Path(f"{part}-wal"), Path(f"{part}-shm"), Path(f"{part}-journal")):
            with suppress(OSError):
                left.unlink()


def restore_backup(file: Path, url: str, *, is_replacing: bool = False) -> dict[str, int]:
    """Put a backup into the database, after checking it; answers how many rows, by table.

    A backup of an older version is brought to this one's schema first; the file itself stays as it is. The database
    holds all of it afterwards, or what it held before. `UsageError` where it is not empty and not to be replaced.
    """
    verify_backup(file)
    try:
        with tempfile.TemporaryDirectory(prefix="monitor-restore-") as folder:
            copy = Path(folder) / "backup.db"
            shutil.copyfile(file, copy)
            migrate.upgrade(f"sqlite:///{copy}")
            return transfer_database(f"sqlite:///{copy}", url, is_replacing=is_replacing)
    except OSError as error:
        raise WorkFailed("backup.not_restored", file=str(file), reason=str(error)) from error


def verify_backup(file: Path) -> None:
    """See that a backup is whole and of a version that this one knows, else `DatabaseError` says what is wrong."""
    if not file.is_file():
        raise UsageError("backup.not_there", file=str(file))
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            complaint = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            orphan = connection.execute("PRAGMA foreign_key_check").fetchone()
    except sqlite3.Error as error:
        raise DatabaseError("backup.unusable", file=str(file), reason=str(error)) from error
    if complaint != "ok" or orphan is not None:
        reason = complaint if orphan is None else f"orphans in {orphan[0]}"
        raise DatabaseError("backup.damaged", file=str(file), reason=reason)
    engine = create_engine(f"sqlite:///{file}", poolclass=NullPool)
    with engine.connect() as connection:
        revision = migrate.read_revision(connection)
    if revision is None or not migrate.is_known_revision(revision):
        raise DatabaseError("backup.foreign", file=str(file))


def _copy_file(origin: Path, target: Path) -> None:
    """SQLite's own online backup: a view of one moment, while others read and write."""
    with closing(sqlite3.connect(origin)) as reader, closing(sqlite3.connect(target)) as writer:
        reader.backup(writer)
        writer.execute("PRAGMA journal_mode=DELETE")


def _disable_wal(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
