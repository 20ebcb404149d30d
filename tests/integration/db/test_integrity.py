"""A damaged database is found within seconds, and the newest backup that is still there is named."""

import datetime as dt
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from monitor.config.model import Settings
from monitor.db.integrity import BackupLog, check_integrity
from monitor.db.migrate import upgrade
from monitor.errors import DatabaseError

AT = dt.datetime(2026, 3, 2, 8, tzinfo=dt.UTC)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    file = tmp_path / "monitor.db"
    upgrade(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE filler (number INTEGER PRIMARY KEY, words TEXT)")
        connection.executemany("INSERT INTO filler VALUES (?, ?)", ((n, "word " * 100) for n in range(4000)))
        connection.execute("CREATE INDEX by_words ON filler (words)")
        connection.commit()
    return file


@pytest.fixture
def log(tmp_path: Path) -> BackupLog:
    return BackupLog(tmp_path / "data")


def zero_pages(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for page in range(200, len(content) // 4096, 7):
        content[page * 4096 : page * 4096 + 512] = bytes(512)
    file.write_bytes(content)


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def overwrite_head(file: Path) -> None:
    file.write_bytes(b"not a database at all" * 5 + file.read_bytes()[105:])


def test_a_whole_database_is_whole_and_one_that_is_not_there_too(database: Path, log: BackupLog) -> None:
    assert check_integrity(f"sqlite:///{database}", log)
    assert check_integrity(f"sqlite:///{database.with_name('other.db')}", log)


@pytest.mark.parametrize("damage", [zero_pages, cut_off, overwrite_head])
def test_damage_is_found_and_the_newest_backup_that_is_there_is_named(
    database: Path, log: BackupLog, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(database)
    with pytest.raises(DatabaseError, match="No backup of it is known here"):
        check_integrity(f"sqlite:///{database}", log)
    for day in range(30):
        log.add(tmp_path / f"{day}.bak", at=AT + dt.timedelta(days=day))
    for day in (21, 25):
        (tmp_path / f"{day}.bak").touch()
    with pytest.raises(DatabaseError, match=r"monitor db restore .*/25\.bak.* from 2026-03-27 08:00Z"):
        check_integrity(f"sqlite:///{database}", log)


def test_a_check_that_takes_too_long_is_given_up_and_says_so(database: Path, log: BackupLog) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")  # whoever reads waits
        assert not check_integrity(f"sqlite:///{database}", log, timeout_s=0.05)


def test_backups_of_an_older_version_are_known_from_the_audit(database: Path, log: BackupLog, tmp_path: Path) -> None:
    backup = tmp_path / "older.bak"
    backup.touch()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(
            "INSERT INTO audit_entry (at, person, action, subject, detail) VALUES (?, 'cli', 'storage.backup', ?, ?)",
            ("2026-03-01 08:00:00.000000", "storage", f'{{"file": "{backup}", "bytes": 1}}'),
        )
        connection.commit()
    assert [entry.file for entry in log.list_existing(database)] == [backup]


def test_a_postgresql_database_is_asked_for_the_pages_that_it_found_damaged(postgres_url: str, log: BackupLog) -> None:
    assert check_integrity(Settings(database_url=postgres_url).database_url, log)
