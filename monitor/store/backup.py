"""Backups: one SQLite file each, whatever the database is; made while others work, and checked before it counts."""

import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy import NullPool, create_engine

from monitor.errors import DatabaseError, UsageError, WorkFailed
from monitor.store import migrate
from monitor.store.address import DatabaseAddress
from monitor.store.transfer import transfer


def back_up(url: str, file: Path) -> int:
    """Write everything that the database holds now into a new file; answers its size in bytes.

    The file appears under its name when it is whole and checked. `UsageError` where there is one of that name,
    `WorkFailed` where it cannot be written.
    """
    address = DatabaseAddress.parse(url)
    if file.exists():
        raise UsageError(f"There is a file {file} already: choose another name.")
    if address.file is not None and not address.file.is_file():
        raise DatabaseError(f"There is no database {address.shown} to back up.")
    part = file.with_name(f"{file.name}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        if address.file is not None:
            _copy_file(address.file, part)
        else:
            transfer(url, f"sqlite:///{part}")
            _settle(part)
        check(part)
        part.rename(file)
        return file.stat().st_size
    except (OSError, sqlite3.Error) as error:
        raise WorkFailed(f"The backup {file} cannot be written ({error}).") from error
    finally:
        for left in (part, Path(f"{part}-wal"), Path(f"{part}-shm"), Path(f"{part}-journal")):
            with suppress(OSError):
                left.unlink()


def restore(file: Path, url: str, *, is_replacing: bool = False) -> dict[str, int]:
    """Put a backup into the database, after checking it; answers how many rows, by table.

    A backup of an older version is brought to this one's schema first; the file itself stays as it is. The database
    holds all of it afterwards, or what it held before. `UsageError` where it is not empty and not to be replaced.
    """
    check(file)
    try:
        with tempfile.TemporaryDirectory(prefix="monitor-restore-") as folder:
            copy = Path(folder) / "backup.db"
            shutil.copyfile(file, copy)
            migrate.upgrade(f"sqlite:///{copy}")
            return transfer(f"sqlite:///{copy}", url, is_replacing=is_replacing)
    except OSError as error:
        raise WorkFailed(f"The backup {file} cannot be restored ({error}).") from error


def check(file: Path) -> None:
    """See that a backup is whole and of a version that this one knows, else `DatabaseError` says what is wrong."""
    if not file.is_file():
        raise UsageError(f"There is no backup {file}.")
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            complaint = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
            orphan = connection.execute("PRAGMA foreign_key_check").fetchone()
    except sqlite3.Error as error:
        raise DatabaseError(f"{file} is no backup that can be used ({error}).") from error
    if complaint != "ok" or orphan is not None:
        raise DatabaseError(f"{file} is damaged ({complaint if orphan is None else f'orphans in {orphan[0]}'}).")
    engine = create_engine(f"sqlite:///{file}", poolclass=NullPool)
    with engine.connect() as connection:
        revision = migrate.revision_of(connection)
    if revision is None or not migrate.is_known(revision):
        raise DatabaseError(f"{file} is a backup of another program, or of a newer version of this one.")


def _copy_file(origin: Path, target: Path) -> None:
    """SQLite's own online backup: a view of one moment, while others read and write."""
    with closing(sqlite3.connect(origin)) as reader, closing(sqlite3.connect(target)) as writer:
        reader.backup(writer)
        writer.execute("PRAGMA journal_mode=DELETE")


def _settle(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
