"""What the integration tests share: a real HTTP server on loopback that each test tells what to answer."""

import asyncio
import datetime as dt
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from monitor.config.model import NetworkSettings, PagesSettings

_TLS_HANDSHAKE = b"\x16"
_EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Reply:
    body: bytes | str = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Writer = Callable[[asyncio.StreamWriter], Awaitable[None]]
Handler = Callable[[Asked], Reply | Writer]


class LoopbackSite:
    """Serves what `on` was told; a handler may also write to the connection itself, to be slow or broken."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.at: list[float] = []
        self.in_progress = 0
        self.max_in_progress = 0
        self.port = 0
        self._replies: dict[str, Reply | Handler] = {}

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def on(self, path: str, reply: "Reply | Handler | str | bytes") -> str:
        self._replies[path] = Reply(reply) if isinstance(reply, str | bytes) else reply
        return self.url(path)

    def forget(self) -> None:
        """As new, for the next test of a module that shares one site."""
        self._replies.clear()
        self.asked.clear()
        self.at.clear()
        self.max_in_progress = 0

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked if asked.path != "/favicon.ico"]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            opening = await reader.readexactly(1)
            if opening == _TLS_HANDSHAKE:  # as servers without TLS do
                return
            head = (opening + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.split("\r\n")
            method, path, _ = first.split(" ", 2)
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            asked = Asked(method, path, headers, body)
            self.asked.append(asked)
            self.at.append(asyncio.get_running_loop().time())
            self.in_progress += 1
            self.max_in_progress = max(self.max_in_progress, self.in_progress)
            try:
                await self._answer(asked, writer)
            finally:
                self.in_progress -= 1
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        known = self._replies.get(asked.path.split("?")[0], Reply("not here", 404))
        reply = known if isinstance(known, Reply) else known(asked)
        if not isinstance(reply, Reply):
            await reply(writer)
            return
        body = reply.body.encode() if isinstance(reply.body, str) else reply.body
        headers = {
            "content-type": "text/html; charset=utf-8",
            "content-length": str(len(body)),
            "connection": "close",
            **reply.headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 {reply.status} Told\r\n{lines}\r\n".encode() + body)
        await writer.drain()


class FixedClock:
    """Always the same instant."""

    def now(self) -> dt.datetime:
        return dt.datetime(2026, 11, 21, 8, 0, tzinfo=dt.UTC)


@asynccontextmanager
async def serve_loopback() -> AsyncIterator[LoopbackSite]:
    loopback = LoopbackSite()
    serving: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(loopback.serve(reader, writer))
        serving.add(task)
        task.add_done_callback(serving.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    loopback.port = server.sockets[0].getsockname()[1]
    try:
        yield loopback
    finally:
        server.close()
        for task in list(serving):
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await server.wait_closed()


OpenSite = Callable[[], AbstractAsyncContextManager[LoopbackSite]]


@pytest.fixture(scope="session")
def open_site() -> OpenSite:
    """For modules whose tests share one site in one event loop."""
    return serve_loopback


@pytest.fixture
async def site() -> AsyncIterator[LoopbackSite]:
    async with serve_loopback() as opened:
        yield opened


@pytest.fixture
def reply() -> type[Reply]:
    return Reply


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def network(site: LoopbackSite) -> NetworkSettings:
    return NetworkSettings(allowed_private_hosts=[site.host])


@pytest.fixture
def pages() -> PagesSettings:
    return PagesSettings(delay_s=0, timeout_s=20)


@pytest.fixture
def certificate(tmp_path: Path) -> Callable[..., Path]:
    """A certificate and its key in one file, signed by nobody but itself."""

    def make(names: str = "IP:127.0.0.1") -> Path:
        program = shutil.which("openssl")
        if program is None:
            pytest.skip("openssl is not on the PATH")
        key, made = tmp_path / "key.pem", tmp_path / "made.pem"
        subject = ["-subj", "/CN=loopback", "-addext", f"subjectAltName={names}"]
        words = [program, "req", "-x509", *_EC, "-days", "2", *subject, "-keyout", key, "-out", made]
        subprocess.run(words, check=True, capture_output=True)
        made.write_text(made.read_text() + key.read_text())
        return made

    return make
