"""Maintenance: copying a database, backups as one verified SQLite file each, and deleting old records."""

import asyncio
import datetime as dt
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from sqlalchemy import (
    ColumnElement,
    Connection,
    MetaData,
    NullPool,
    Table,
    bindparam,
    create_engine,
    delete,
    exists,
    func,
    insert,
    inspect,
    or_,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped
from sqlmodel import SQLModel, col

from monitor.db import migrate
from monitor.db.engines import DatabaseAddress, open_migration_engine, open_read_engine
from monitor.db.fulltext_index import reindex_without_texts
from monitor.db.integrity import BackupLog
from monitor.db.queries.items import ItemStore
from monitor.db.sessions import (
    BATCH_SIZE,
    USE_MARK_INTERVAL,
    Queries,
    SessionFactory,
    build_not_migrated_error,
    translate_errors,
)
from monitor.db.tables import exports as _exports  # noqa: F401
from monitor.db.tables import idempotency as _idempotency  # noqa: F401
from monitor.db.tables import policies as _policies  # noqa: F401
from monitor.db.tables import questions as _questions  # noqa: F401
from monitor.db.tables import webhooks as _webhooks  # noqa: F401
from monitor.db.tables.collection import Fallback, Item, ItemPageText, ModelCall, Reading, Run, RunSection, Unseen
from monitor.db.tables.delivery import Alarm, Delivery, DeliveryStatus, Subscription
from monitor.db.tables.evaluation import Evaluation, EvaluationStatus
from monitor.db.tables.evidence import Claim, EvidenceRecord, ItemSnapshot, ManifestPart, Revision
from monitor.db.tables.people import AuditEntry
from monitor.db.tables.research import Executor, Lease, Research, ResearchStatus, RunEvent, SearchCall
from monitor.errors import DatabaseError, UsageError, WorkFailed
from monitor.i18n.message import Message
from monitor.urls import url_key
from monitor.vocabulary import RunStatus

_ACTIVE_RUN_STATUSES = (RunStatus.QUEUED, RunStatus.RUNNING)
_ACTIVE_RESEARCH_STATUSES = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
_ACTIVE_EVALUATION_STATUSES = (EvaluationStatus.QUEUED, EvaluationStatus.RUNNING)
_FINAL_DELIVERY_STATUSES = (DeliveryStatus.SENT, DeliveryStatus.QUIET, DeliveryStatus.FAILED)
_FIRST_NEW_ID = 1_000_000_000
"""The ids of items that the other database does not have begin here, above all of its own."""


class ReplayItemStore(ItemStore):
    """Items that get the number and the instant of first sight that they have in another database."""

    def __init__(self, sessions: SessionFactory, originals: Iterable[Item]) -> None:
        super().__init__(sessions)
        self._originals = {item.url_key: item for item in originals}
        self._new_ids = count(_FIRST_NEW_ID)

    async def save_all(self, items: Sequence[Item]) -> list[tuple[Item, bool]]:
        return await super().save_all([self._restore_identity(item) for item in items])

    def _restore_identity(self, item: Item) -> Item:
        known = self._originals.get(item.url_key or url_key(item.url))
        if known is not None:
            return Item(**item.model_dump() | {"id": known.id, "first_seen": known.first_seen})
        return Item(**item.model_dump() | {"id": next(self._new_ids)})


async def restore_row_order(run_id: str, *, origin: SessionFactory, target: SessionFactory) -> None:
    """Bring the fallbacks and unseen places of a run into the order of another database, unknown ones last."""
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
_OLD_TABLES_LEFT = _PROCESS_TABLES | {"alembic_version"}


def transfer_database(origin: str, target: str, *, is_replacing: bool = False) -> dict[str, int]:
    """Migrate the `target` and copy every row of one moment into it, or none; returns the numbers of rows by table.

    Runs and researches under way then are failed at the target, evaluations are stopped. `UsageError` where the target
    holds rows and `is_replacing` is not set, or where both are one database.
    """
    here, there = DatabaseAddress.parse(origin), DatabaseAddress.parse(target)
    if here.url == there.url or (here.file and there.file and here.file.resolve() == there.file.resolve()):
        raise UsageError("database.same_database")
    with translate_errors(here):
        if here.file is not None and not here.file.is_file():
            raise DatabaseError("database.not_there", url=here.redacted_url)
        if migrate.get_current_revision(origin) != migrate.get_head_revision():
            raise build_not_migrated_error(here)
    migrate.upgrade(target)
    with translate_errors(there), open_migration_engine(there).begin() as into:
        _clear_tables(into, there, is_replacing=is_replacing)
        with translate_errors(here), open_read_engine(here).begin() as out_of:
            counts = {table.name: _copy_table(table, out_of, into) for table in _list_tables()}
        runs = update(Run).where(col(Run.status).in_(_ACTIVE_RUN_STATUSES))
        into.execute(runs.values(status=RunStatus.FAILED, error=INTERRUPTED_RUN_ERROR))
        researches = update(Research).where(col(Research.status).in_(_ACTIVE_RESEARCH_STATUSES))
        into.execute(researches.values(status=ResearchStatus.FAILED, error=INTERRUPTED_RESEARCH_ERROR))
        evaluations = update(Evaluation).where(col(Evaluation.status).in_(_ACTIVE_EVALUATION_STATUSES))
        into.execute(evaluations.values(status=EvaluationStatus.STOPPED))
        for table in _list_tables():
            if (arrived := _count_rows(table, into)) != counts[table.name]:
                raise WorkFailed("database.rows_missing", rows=counts[table.name], table=table.name, arrived=arrived)
    return counts


def _list_tables() -> list[Table]:
    """The tables, each after those that it refers to."""
    return [table for table in SQLModel.metadata.sorted_tables if table.name not in _PROCESS_TABLES]


def _clear_tables(into: Connection, address: DatabaseAddress, *, is_replacing: bool) -> None:
    if not is_replacing and any(_count_rows(table, into) for table in _list_tables()):
        raise UsageError("database.not_empty", url=address.redacted_url)
    for table in reversed(SQLModel.metadata.sorted_tables):
        into.execute(delete(table))


def _copy_table(table: Table, out_of: Connection, into: Connection) -> int:
    copied = 0
    refers_to_itself = any(key.column.table is table for key in table.foreign_keys)
    # A follow-up's id begins with that of its research, which is therefore copied first.
    query = select(table).order_by(*table.primary_key) if refers_to_itself else select(table)
    rows = out_of.execution_options(yield_per=BATCH_SIZE).execute(query).mappings()
    for batch in rows.partitions():
        into.execute(insert(table), [dict(row) for row in batch])
        copied += len(batch)
    if into.dialect.name == "postgresql" and copied and table.c.get("id") is not None:
        _reset_sequence(table, into)
    return copied


def _reset_sequence(table: Table, into: Connection) -> None:
    """Rows that bring their own id do not advance PostgreSQL's sequence: the next id would be given twice."""
    sequence = into.scalar(text("SELECT pg_get_serial_sequence(:name, 'id')"), {"name": f'"{table.name}"'})
    if sequence is not None:
        highest = into.scalar(select(func.max(table.c.id)))
        into.execute(text("SELECT setval(:sequence, :highest)"), {"sequence": sequence, "highest": highest})


def _count_rows(table: Table, connection: Connection) -> int:
    return int(connection.scalar(select(func.count()).select_from(table)) or 0)


def create_backup(url: str, file: Path) -> int:
    """Write everything that the database holds now into a new file; returns its size in bytes.

    The file has its name only once it is verified. `UsageError` where it exists, `WorkFailed` where writing fails.
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
            with closing(sqlite3.connect(address.file)) as reader, closing(sqlite3.connect(part)) as writer:
                reader.backup(writer)  # a view of one moment, while others read and write
        else:
            revision = migrate.get_current_revision(url)
            if revision in (None, migrate.get_head_revision()):
                transfer_database(url, f"sqlite:///{part}")
            else:
                _copy_old_database(address, part, str(revision))
        with closing(sqlite3.connect(part)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
        verify_backup(part)
        part.rename(file)
        return file.stat().st_size
    except (OSError, sqlite3.Error) as error:
        raise WorkFailed("backup.not_written", file=str(file), reason=str(error)) from error
    finally:
        for left in (part, Path(f"{part}-wal"), Path(f"{part}-shm"), Path(f"{part}-journal")):
            with suppress(OSError):
                left.unlink()


_UPGRADE_BACKUPS = "backups"
_MAX_UPGRADE_BACKUPS = 5


def upgrade_database(url: str, *, data_dir: Path, now: dt.datetime, has_backup: bool = True) -> Message:
    """Create the database or bring it to this version's schema; return what was done.

    What a database of an older version holds is first written into `backups` of the data folder, where the last five of
    these backups are kept. `WorkFailed` where that cannot be written: then nothing is changed.
    """
    shown, before = DatabaseAddress.parse(url).redacted_url, migrate.get_current_revision(url)
    if before == migrate.get_head_revision():
        return Message.of("database.up_to_date", database=shown)
    if before is None or not has_backup:
        migrate.upgrade(url)
        return Message.of("database.created" if before is None else "database.upgraded", database=shown)
    file = data_dir / _UPGRADE_BACKUPS / f"before-upgrade-{before}-{now:%Y%m%dT%H%M%SZ}.db"
    create_backup(url, file)
    BackupLog(data_dir).add(file, at=now)
    kept = sorted(file.parent.glob("before-upgrade-*.db"), key=lambda path: path.stat().st_mtime)
    for old in kept[:-_MAX_UPGRADE_BACKUPS]:
        old.unlink()
    migrate.upgrade(url)
    return Message.of("database.upgraded_with_backup", database=shown, backup=str(file))


def _copy_old_database(address: DatabaseAddress, file: Path, revision: str) -> None:
    """Copy a database of an older revision into a new SQLite file of that revision, by the columns that both have."""
    target = DatabaseAddress.parse(f"sqlite:///{file}")
    migrate.upgrade(target.full_url, revision)
    theirs, ours = MetaData(), MetaData()
    with translate_errors(address), open_read_engine(address).begin() as out_of:
        theirs.reflect(out_of)
        with open_migration_engine(target).begin() as into:
            ours.reflect(into, only=lambda name, _: name in theirs.tables and name not in _OLD_TABLES_LEFT)
            for table in ours.sorted_tables:
                columns = [theirs.tables[table.name].c[column.name] for column in table.columns]
                into.execute(delete(table))
                rows = out_of.execution_options(yield_per=BATCH_SIZE).execute(select(*columns)).mappings()
                for batch in rows.partitions():
                    into.execute(insert(table), [dict(row) for row in batch])


def restore_backup(file: Path, url: str, *, is_replacing: bool = False) -> dict[str, int]:
    """Verify a backup and copy it into the database, as `transfer_database` does; returns the numbers of rows by table.

    A backup of an older version is migrated in a copy.
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
    """`DatabaseError` where a backup is damaged or of a version that this one does not know."""
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
    if revision not in migrate.list_revisions():
        raise DatabaseError("backup.foreign", file=str(file))


class PruneResult(BaseModel):
    """How many rows were deleted; `files` are those of records that no other record needs, and those of bundles."""

    runs: int
    researches: int
    records: int
    files: int = 0
    texts: int
    revisions: int
    model_calls: int
    alarms: int
    deliveries: int
    audit_entries: int = 0


_STEP_S = 0.1
_MIN_PAUSE_S = 0.1
"""As long as SQLite lets a process sleep that waits for the database: in a shorter pause it would not wake up."""

_FIRST_STEP_ROWS = 20
_MAX_EVENTS_A_STEP = 5000
_Prepare = Callable[[AsyncSession, Sequence[Any]], Awaitable[None]]

_ITEMS = SQLModel.metadata.tables["item"]
_UPDATE_EVIDENCE = update(_ITEMS).where(_ITEMS.c.id == bindparam("item")).values(evidence=bindparam("records"))


@dataclass
class _PrunePace:
    """How many rows are deleted in one transaction: about as many as take a tenth of a second."""

    rows: int = _FIRST_STEP_ROWS
    max_rows: int = BATCH_SIZE

    async def pause(self, spent_s: float) -> None:
        """Let others write for as long as we did, and take more or fewer rows the next time."""
        if spent_s > _STEP_S:
            self.rows = max(self.rows // 2, 1)
        elif spent_s < _STEP_S / 2:
            self.rows = min(self.rows * 2, self.max_rows)
        await asyncio.sleep(max(spent_s, _MIN_PAUSE_S))


class RetentionStore(Queries):
    """Deletes old records, oldest first, in many short transactions with pauses between them: nobody waits for it."""

    async def prune(self, before: dt.datetime) -> PruneResult:
        """Delete what is older than an instant. Items, all urls that were ever seen, and the audit stay."""
        is_old_run = (col(Run.planned_at) < before, col(Run.status).not_in(_ACTIVE_RUN_STATUSES))
        is_old_research = (col(Research.created_at) < before, col(Research.status).not_in(_ACTIVE_RESEARCH_STATUSES))
        is_old_delivery = (col(Delivery.planned_at) < before, col(Delivery.status).in_(_FINAL_DELIVERY_STATUSES))
        record_id, text_id, look_id = col(EvidenceRecord.id), col(ItemPageText.item_id), col(ItemSnapshot.item_id)
        of_run, of_research = col(EvidenceRecord.run_id) == col(Run.id), col(EvidenceRecord.research_id) == Research.id
        planned_at, created_at, first_seen = col(Run.planned_at), col(Research.created_at), col(Item.first_seen)
        delete_old, drop = self._delete_old, _drop_records_from_items
        pruned = PruneResult(
            records=await delete_old(record_id, of_run, *is_old_run, order=planned_at, prepare=drop)
            + await delete_old(record_id, of_research, *is_old_research, order=created_at, prepare=drop),
            runs=await delete_old(col(Run.id), *is_old_run, order=planned_at),
            researches=await delete_old(col(Research.id), *is_old_research, order=created_at),
            texts=await delete_old(
                text_id, text_id == Item.id, first_seen < before, order=first_seen, prepare=reindex_without_texts
            ),
            revisions=await delete_old(col(Revision.id), col(Revision.seen_at) < before, order=col(Revision.seen_at)),
            model_calls=await delete_old(col(ModelCall.id), col(ModelCall.at) < before, order=col(ModelCall.at)),
            alarms=await delete_old(col(Alarm.id), col(Alarm.cleared_at) < before),
            deliveries=await delete_old(col(Delivery.id), *is_old_delivery),
        )
        await delete_old(col(SearchCall.id), col(SearchCall.at) < before)
        await delete_old(col(Subscription.id), col(Subscription.ended_at) < before)
        await delete_old(look_id, look_id == Item.id, first_seen < before, order=first_seen)
        await self._delete_unused(before - USE_MARK_INTERVAL)
        return pruned

    async def _delete_unused(self, before: dt.datetime) -> None:
        """Delete what only runs needed that are gone. Whoever needs it again marks it first, or stores it anew."""
        last_used_at = col(Reading.last_used_at)
        is_used = exists().where(col(RunSection.reading_id) == col(Reading.id))
        await self._delete_old(col(Reading.id), last_used_at < before, ~is_used, order=last_used_at)
        last_used_at = col(ManifestPart.last_used_at)
        await self._delete_old(col(ManifestPart.id), last_used_at < before, order=last_used_at)

    async def prune_events(self, before: dt.datetime, *, quiet_before: dt.datetime) -> int:
        """Delete events older than `before`; of runs that succeeded without items, those older than `quiet_before`."""
        deleted, last, pace = 0, 0, _PrunePace(BATCH_SIZE, _MAX_EVENTS_A_STEP)
        while True:
            query = select(col(RunEvent.id), col(RunEvent.run_id), col(RunEvent.at))
            query = query.where(col(RunEvent.id) > last, col(RunEvent.at) < quiet_before)
            rows = await self._fetch_rows(query.order_by(col(RunEvent.id)).limit(pace.rows))
            if not rows:
                return deleted
            first, last = rows[0][0], rows[-1][0] or 0
            has_item = exists().where(col(Item.run_id) == col(Run.id))
            quiet = select(col(Run.id)).where(col(Run.status) == RunStatus.SUCCEEDED, ~has_item)
            quiet_runs = set(await self._fetch_in(quiet, col(Run.id), {run_id for _, run_id, _ in rows}))
            expired = sum(at < before or run_id in quiet_runs for _, run_id, at in rows)
            if expired:
                is_expired = or_(col(RunEvent.at) < before, col(RunEvent.run_id).in_(quiet_runs))
                async with self._sessions.begin_write() as session:
                    await session.connection()
                    began = time.monotonic()
                    await session.execute(delete(RunEvent).where(col(RunEvent.id).between(first, last), is_expired))
                deleted += expired
                await pace.pause(time.monotonic() - began)

    async def prune_audit(self, before: dt.datetime) -> int:
        return await self._delete_old(col(AuditEntry.id), col(AuditEntry.at) < before, order=col(AuditEntry.at))

    async def _delete_old(
        self,
        key: Mapped[Any],
        *conditions: ColumnElement[bool],
        order: Mapped[Any] | None = None,
        prepare: _Prepare | None = None,
    ) -> int:
        """Delete the rows of the key's table that meet the conditions, in the order of `order`, else of their keys.

        They are looked for before the transaction that deletes them, each time from the last ones on, and looked at
        again in it. `prepare` is called there with the keys.
        """
        deleted, pace, table = 0, _PrunePace(), inspect(key).class_
        columns = (key,) if order is None else (order, key)
        query = select(*columns).where(*conditions).order_by(*columns)
        rows = await self._fetch_rows(query.limit(pace.rows))
        while rows:
            keys = [row[-1] for row in rows]
            async with self._sessions.begin_write() as session:
                await session.connection()
                began = time.monotonic()
                still = select(key).where(key.in_(keys), *conditions).with_for_update(of=table)
                keys = list(await session.scalars(still))
                if prepare is not None:
                    await prepare(session, keys)
                await session.execute(delete(table).where(key.in_(keys)))
            deleted += len(keys)
            if len(rows) < pace.rows:
                break
            await pace.pause(time.monotonic() - began)
            last = tuple(rows[-1])
            # The first condition is for PostgreSQL, which finds its place in an index by columns of one table alone.
            later = query.where(columns[0] >= last[0], tuple_(*columns) > last)
            rows = await self._fetch_rows(later.limit(pace.rows))
        return deleted


async def _drop_records_from_items(session: AsyncSession, record_ids: Sequence[str]) -> None:
    """Take records out of the items that rest on them, so that these name none that is gone."""
    of_records = select(col(Claim.item_id)).where(col(Claim.record_id).in_(record_ids))
    items = await session.execute(select(col(Item.id), col(Item.evidence)).where(col(Item.id).in_(of_records)))
    gone = {*record_ids}
    kept = [{"item": item, "records": [name for name in evidence if name not in gone]} for item, evidence in items]
    if kept:
        await (await session.connection()).execute(_UPDATE_EVIDENCE, kept)
