"""Data of every released version is upgraded, after a backup of it."""

import datetime as dt
import json
from pathlib import Path

import pytest

from monitor.db import migrate
from monitor.db.database import Store
from monitor.db.integrity import BackupLog
from monitor.db.maintenance import restore_backup, upgrade_database, verify_backup
from monitor.db.queries.filters import ItemFilter
from monitor.errors import WorkFailed
from tests.package.installation import RELEASES, list_releases, move_release, unpack_release

NOW = dt.datetime(2026, 2, 3, tzinfo=dt.UTC)


@pytest.fixture(params=list_releases())
def release(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    unpack_release(request.param, tmp_path)
    return str(request.param)


@pytest.fixture(params=["sqlite", "postgresql"])
def old_url(request: pytest.FixtureRequest, release: str, tmp_path: Path) -> str:
    """The data of a release in either database, with the tables that the release had."""
    file = tmp_path / "data" / "monitor.db"
    if request.param == "sqlite":
        return f"sqlite:///{file}"
    url = request.getfixturevalue("postgres_url")
    migrate.downgrade(url, "base")
    move_release(file, url)
    return str(url)


async def _list_titles(url: str) -> dict[str, str]:
    async with Store.open(url) as store:
        items = await store.items.list(ItemFilter(), limit=None)
    return {item.url: item.title for item in items}


async def test_the_items_of_a_release_are_listed_after_the_upgrade_and_kept_as_they_were_in_a_backup(
    old_url: str, release: str, sqlite_url: str, tmp_path: Path
) -> None:
    expected = json.loads((RELEASES / f"{release}.json").read_text(encoding="utf-8"))
    revision = migrate.get_current_revision(old_url)
    message = upgrade_database(old_url, data_dir=tmp_path, now=NOW)
    assert await _list_titles(old_url) == expected
    (backup,) = BackupLog(tmp_path).list_existing()
    assert message.args["backup"] == str(backup.file)
    verify_backup(backup.file)
    assert migrate.get_current_revision(f"sqlite:///{backup.file}") == revision
    restore_backup(backup.file, sqlite_url)
    assert await _list_titles(sqlite_url) == expected


def test_five_backups_of_upgrades_are_kept(release: str, tmp_path: Path) -> None:
    file = tmp_path / "data" / "monitor.db"
    before = file.read_bytes()
    for minute in range(7):
        file.write_bytes(before)
        upgrade_database(f"sqlite:///{file}", data_dir=tmp_path, now=NOW + dt.timedelta(minutes=minute))
    kept = sorted(path.name for path in (tmp_path / "backups").iterdir())
    assert len(kept) == 5
    assert kept[0].endswith("T000200Z.db")


def test_a_database_is_left_alone_where_its_backup_cannot_be_written(release: str, tmp_path: Path) -> None:
    file = tmp_path / "data" / "monitor.db"
    (tmp_path / "backups").write_text("a file where the folder should be")
    revision = migrate.get_current_revision(f"sqlite:///{file}")
    with pytest.raises(WorkFailed, match="backup"):
        upgrade_database(f"sqlite:///{file}", data_dir=tmp_path, now=NOW)
    assert migrate.get_current_revision(f"sqlite:///{file}") == revision
