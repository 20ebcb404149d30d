"""What the program creates is closed to other users of the machine, under whatever umask a person works."""

import asyncio
import os
import sqlite3
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True)
def _usual_umask(monitor: Any) -> Iterator[None]:
    """As on most machines; the folder above can be entered by all."""
    monitor.folder.chmod(0o755)
    monitor.environment["MONITOR_PAGES__RENDER"] = "never"
    before = os.umask(0o022)
    yield
    os.umask(before)


@asynccontextmanager
async def serve(monitor: Any, *options: str, **environment: str) -> AsyncIterator[list[str]]:
    """The service at work; gives what it said until then."""
    service = await monitor.start(*options, "serve", **environment)
    said = []
    try:
        while b"At work" not in (line := await service.stderr.readline()):
            assert line, f"the service did not start: {said}"
            said.append(line.decode())
        yield said
    finally:
        service.terminate()
        await service.communicate()


def list_open(folder: Path) -> list[str]:
    """What others may do anything with, of all that lies below a folder, with its mode."""
    return [
        f"{path.relative_to(folder)} {stat.S_IMODE(path.lstat().st_mode):o}"
        for path in sorted(folder.rglob("*"))
        if path.lstat().st_mode & 0o077 and not path.is_symlink()
    ]


async def test_all_that_the_program_creates_is_its_own_alone(monitor: Any, ministry: Any, free_port: int) -> None:
    site, base_url = ministry
    section = next(section for section in site.list_sections(base_url) if section["name"] == "政策法规")
    monitor.environment["MONITOR_WEB__PORT"] = str(free_port)
    for words in (
        ["init"],
        ["sources", "add", base_url, "--name", "总署", f"--section=政策法规={section['url']}"],
        ["sweep", "--json"],
        ["search", "能源"],
        ["research", "能源", "--json"],
        ["db", "backup", "backups/kept.bak"],
    ):
        assert (await monitor(*words)).code == 0, words
    async with serve(monitor):
        assert list_open(monitor.folder) == []
    assert list((monitor.folder / "data" / "evidence").rglob("*.warc.gz"))
    assert list_open(monitor.folder) == []


async def test_what_was_asked_for_by_path_is_as_the_users_umask_says(monitor: Any) -> None:
    await monitor("init")
    assert (await monitor("items", "export", "--format", "json", "--out", "for/all.json")).code == 0
    assert (await monitor("sources", "export", "--out", "list.yaml")).code == 0
    assert list_open(monitor.folder) == ["for 755", "for/all.json 644", "list.yaml 644"]


async def test_the_files_of_an_older_version_are_closed_at_the_start_and_it_is_logged(
    monitor: Any, free_port: int
) -> None:
    monitor.environment["MONITOR_WEB__PORT"] = str(free_port)
    await monitor("init")
    data = monitor.folder / "data"
    (data / "evidence" / "2026").mkdir(parents=True)
    (data / "evidence" / "2026" / "a.warc.gz").touch()
    elsewhere = monitor.folder / "elsewhere"
    elsewhere.touch()
    (data / "evidence" / "link").symlink_to(elsewhere)
    for path in (elsewhere, data, *data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    doctor = await monitor("doctor", "--json")
    (files,) = [check for check in doctor.document["checks"] if check["check"] == "files"]
    assert files["level"] == "warn"
    assert "chmod -R go-rwx" in (await monitor("doctor")).out
    async with serve(monitor) as said:
        assert list_open(data) == []
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        assert any("could be read by others" in line and str(data) in line for line in said)
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o644, "a link led out of the folder"
    async with serve(monitor) as said:
        assert not any("could be read by others" in line for line in said)


async def test_a_folder_that_holds_other_things_stays_as_it_is_but_for_our_parts(monitor: Any, free_port: int) -> None:
    monitor.environment |= {"MONITOR_WEB__PORT": str(free_port), "MONITOR_DATA_DIR": "."}
    await monitor("init")
    script = monitor.folder / "script.sh"
    script.touch()
    (monitor.folder / "evidence").mkdir()
    (monitor.folder / "data" / "monitor.db").chmod(0o644)
    for path in (monitor.folder, script, monitor.folder / "evidence"):
        path.chmod(0o755)
    async with serve(monitor):
        assert [stat.S_IMODE(path.stat().st_mode) for path in (monitor.folder, script)] == [0o755, 0o755]
        assert list_open(monitor.folder) == ["script.sh 755"]


async def test_a_link_to_the_database_starts_no_second_service(monitor: Any, free_port: int) -> None:
    monitor.environment["MONITOR_WEB__PORT"] = str(free_port)
    await monitor("init")
    database = monitor.folder / "data" / "monitor.db"
    beside = monitor.folder / "beside"
    beside.mkdir()
    (beside / "file.db").symlink_to(database)
    (beside / "folder").symlink_to(database.parent)
    os.link(database, beside / "hard.db")
    hard = await monitor("worker", MONITOR_DATABASE_URL=f"sqlite:///{beside / 'hard.db'}")
    assert (hard.code, "2 names" in hard.err) == (2, True)
    (beside / "hard.db").unlink()
    async with serve(monitor):
        for linked in (beside / "file.db", beside / "folder" / "monitor.db"):
            environment = {"MONITOR_DATABASE_URL": f"sqlite:///{linked}", "MONITOR_DATA_DIR": str(beside / "data")}
            second = await monitor("worker", **environment)
            assert (second.code, "A service is using" in second.err) == (2, True), second.err


async def test_a_damaged_database_stops_the_start_and_the_newest_backup_is_named(monitor: Any) -> None:
    await monitor("init")
    database = monitor.folder / "data" / "monitor.db"
    for name in ("first.bak", "second.bak"):
        assert (await monitor("db", "backup", name)).code == 0
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(database.read_bytes())
    for page in range(20, len(content) // 4096):
        content[page * 4096 : page * 4096 + 100] = b"\xff" * 100
    database.write_bytes(content)
    for words in (["serve"], ["worker"], ["doctor"]):
        output = await monitor(*words)
        assert output.code != 0
        assert f"monitor db restore {monitor.folder / 'second.bak'}" in output.out + output.err, words
        assert "Traceback" not in output.err
    for file in database.parent.glob("monitor.db*"):
        file.rename(monitor.folder / file.name)
    assert (await monitor("db", "restore", "second.bak")).code == 0
    assert "intact" in (await monitor("doctor")).out


async def test_a_merge_bomb_is_refused_in_one_line(monitor: Any) -> None:
    lines = ["a0: &a0 {k: v}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40))]
    (monitor.folder / "config.yaml").write_text("\n".join(lines))
    async with asyncio.timeout(20):
        output = await monitor("sources", "list")
    assert (output.code, "aliases that multiply" in output.complaint) == (2, True)
