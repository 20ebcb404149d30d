"""Whether a database is whole, and which backup could take its place."""

import datetime as dt
import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from monitor.db.engines import DatabaseAddress, open_read_engine
from monitor.db.sessions import translate_errors
from monitor.errors import DatabaseError
from monitor.i18n.message import Message

QUICK_CHECK_TIMEOUT_S = 5.0
"""Enough for a gigabyte and more; what is larger is checked as far as that."""

BACKUP_LOG = "backups.jsonl"
_MAX_LOGGED = 20
_PAGE_FAILURES = "SELECT checksum_failures FROM pg_stat_database WHERE datname = current_database()"
_BACKUP_ENTRIES = "SELECT at, detail FROM audit_entry WHERE action = 'storage.backup' ORDER BY id DESC LIMIT 20"


@dataclass(frozen=True)
class Backup:
    file: Path
    at: dt.datetime


@dataclass(frozen=True)
class BackupLog:
    """The backups that were written lately, in a file beside the data: the database may be what is broken."""

    folder: Path

    def add(self, file: Path, *, at: dt.datetime) -> None:
        """Note a backup; `OSError` where the folder cannot be written."""
        entries = [*self._read(), Backup(file.absolute(), at)][-_MAX_LOGGED:]
        lines = [json.dumps({"file": str(entry.file), "at": entry.at.isoformat()}) for entry in entries]
        part = self._file.with_name(f"{BACKUP_LOG}.part")
        self.folder.mkdir(parents=True, exist_ok=True)
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        part.replace(self._file)

    def list_existing(self, database: Path | None = None) -> list[Backup]:
        """Return the backups that are still there, oldest first, with those that the database's audit can name."""
        known = [*self._read(), *(_read_audited_backups(database) if database is not None else ())]
        return sorted({backup.file: backup for backup in known if backup.file.is_file()}.values(), key=lambda b: b.at)

    @property
    def _file(self) -> Path:
        return self.folder / BACKUP_LOG

    def _read(self) -> list[Backup]:
        with suppress(OSError, UnicodeDecodeError):
            return list(_parse_backups(self._file.read_text(encoding="utf-8").splitlines()))
        return []


def _parse_backups(lines: list[str]) -> Iterator[Backup]:
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            yield Backup(Path(entry["file"]), dt.datetime.fromisoformat(entry["at"]).astimezone(dt.UTC))


def _read_audited_backups(database: Path) -> list[Backup]:
    """Return what the audit of a SQLite database says, which may be damaged, foreign or empty: then nothing."""
    with suppress(sqlite3.Error, OSError), closing(sqlite3.connect(_build_uri(database), uri=True)) as connection:
        rows = connection.execute(_BACKUP_ENTRIES).fetchall()
        lines = [json.dumps({**json.loads(detail), "at": f"{at}+00:00"}) for at, detail in rows]
        return list(_parse_backups(lines))
    return []


def _build_uri(database: Path) -> str:
    return f"{database.resolve().as_uri()}?mode=rw"


def check_integrity(url: str, log: BackupLog, *, timeout_s: float = QUICK_CHECK_TIMEOUT_S) -> bool:
    """Whether all of the database was looked through; False where the time did not suffice and nothing was found.

    `DatabaseError` names the damage and the newest backup. A missing SQLite file is whole. PostgreSQL is asked only for
    the pages that it has found damaged since its statistics began, which it counts with `data_checksums` on.
    """
    address = DatabaseAddress.parse(url)
    if address.file is None:
        with translate_errors(address), open_read_engine(address).connect() as connection:
            failures = connection.scalar(text(_PAGE_FAILURES))
        if failures:
            backup = _describe_newest_backup(log, None)
            raise DatabaseError("database.pages_damaged", url=address.redacted_url, count=failures, backup=backup)
        return True
    if not address.file.is_file():
        return True
    complaint, is_complete = _check_file(address.file, timeout_s)
    if complaint is not None:
        backup = _describe_newest_backup(log, address.file)
        raise DatabaseError("database.damaged", url=address.redacted_url, reason=complaint, backup=backup)
    return is_complete


def _describe_newest_backup(log: BackupLog, database: Path | None) -> Message:
    backups = log.list_existing(database)
    if not backups:
        return Message("database.no_backup_known")
    newest = backups[-1]
    return Message.of("database.newest_backup", file=newest.file, at=f"{newest.at:%Y-%m-%d %H:%MZ}")


def _check_file(database: Path, timeout_s: float) -> tuple[str | None, bool]:
    """Return what is wrong, if anything, and whether the check came to its end.

    The check runs in a thread that is left behind after `timeout_s`: SQLite looks for an interruption only between
    tables, and one of them may take minutes.
    """
    try:
        connection = sqlite3.connect(_build_uri(database), uri=True, check_same_thread=False, timeout=timeout_s)
    except sqlite3.OperationalError:
        return None, False  # not to be opened: whoever opens it next says why
    found: list[str | None] = []

    def check() -> None:
        with closing(connection):
            try:
                complaint = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                found.append(None if complaint == "ok" else str(complaint).splitlines()[-1])
            except sqlite3.OperationalError:
                pass  # interrupted, or locked for long
            except sqlite3.DatabaseError as error:
                found.append(str(error))

    thread = threading.Thread(target=check, name="quick-check", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if found:
        return found[0], True
    with suppress(sqlite3.ProgrammingError):  # it has ended meanwhile
        connection.interrupt()
    return None, False
