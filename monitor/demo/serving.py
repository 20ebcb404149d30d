"""A small HTTP/1.1 server on loopback: one request a connection, answers made by a function."""

import asyncio
import datetime as dt
import email.utils
import http
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field


class BusyTimer:
    """Counts the time in which at least one of several requests was under way, and how many were at once."""

    def __init__(self) -> None:
        self.max_concurrent = 0
        self._pending = 0
        self._since = 0.0
        self._whole_s = 0.0

    @contextmanager
    def track(self) -> Iterator[None]:
        if not self._pending:
            self._since = time.monotonic()
        self._pending += 1
        self.max_concurrent = max(self.max_concurrent, self._pending)
        try:
            yield
        finally:
            self._pending -= 1
            if not self._pending:
                self._whole_s += time.monotonic() - self._since

    @property
    def elapsed_s(self) -> float:
        return self._whole_s + (time.monotonic() - self._since if self._pending else 0.0)


HOST = "127.0.0.1"
REQUEST_TIMEOUT_S = 30.0
_MAX_BODY_BYTES = 10_000_000


@dataclass(frozen=True)
class LoopbackRequest:
    """What was asked: `target` is the path with its query as sent, of a proxy the whole url, `host` the Host header.

    The names of `headers` are in lower case.
    """

    method: str
    target: str
    host: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LoopbackResponse:
    """What is sent back; `delay_s` keeps the client waiting first, and `hold` until it is set.

    `pieces` are sent one by one, as they come, in place of `body`; a `ConnectionError` in them ends the connection.
    """

    status: int
    content_type: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    hold: asyncio.Event | None = None
    pieces: AsyncIterator[bytes] | None = None


Responder = Callable[[LoopbackRequest], LoopbackResponse | Awaitable[LoopbackResponse]]


@asynccontextmanager
async def serve_loopback(
    respond: Responder, *, port: int = 0, methods: Collection[str] = ("GET", "HEAD"), busy: BusyTimer | None = None
) -> AsyncIterator[int]:
    """Serves until the block ends and gives the port that it listens on (a free one for 0); `busy` counts its time.

    Connections that are still open when the block ends are dropped, so that a test leaves nothing behind.
    """
    open_connections: set[asyncio.Task[None]] = set()
    busy = busy or BusyTimer()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            open_connections.add(task)
            task.add_done_callback(open_connections.discard)
        try:
            # A browser opens connections that it never uses, and any client may hang up: nothing to report.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), REQUEST_TIMEOUT_S)
                with busy.track():
                    await _handle_exchange(respond, head, reader, writer, methods)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(handle, HOST, port)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()
        for task in list(open_connections):
            task.cancel()
        await asyncio.gather(*open_connections, return_exceptions=True)
        await server.wait_closed()


async def _handle_exchange(
    respond: Responder,
    head: bytes,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    methods: Collection[str],
) -> None:
    request = await _parse_request(head, reader)
    if request is None:
        answer = build_status_response(400)
    elif request.method not in methods:
        answer = build_status_response(405, {"Allow": ", ".join(methods)})
    else:
        responded = respond(request)
        answer = responded if isinstance(responded, LoopbackResponse) else await responded
    if answer.delay_s:
        await asyncio.sleep(answer.delay_s)
    if answer.hold is not None:
        await answer.hold.wait()
    writer.write(_format_head(answer))
    if request is None or request.method != "HEAD":
        writer.write(answer.body)
    await writer.drain()
    if answer.pieces is not None:
        async for piece in answer.pieces:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def build_status_response(status: int, headers: dict[str, str] | None = None) -> LoopbackResponse:
    phrase = http.HTTPStatus(status).phrase
    body = f"<html><head><title>{status} {phrase}</title></head><body><h1>{status} {phrase}</h1></body></html>"
    return LoopbackResponse(status, "text/html", body.encode(), headers or {})


async def _parse_request(head: bytes, reader: asyncio.StreamReader) -> LoopbackRequest | None:
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return None
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    length = fields.get("content-length", "0")
    if not length.isdigit() or int(length) > _MAX_BODY_BYTES:
        return None
    body = await asyncio.wait_for(reader.readexactly(int(length)), REQUEST_TIMEOUT_S)
    return LoopbackRequest(words[0], words[1], fields.get("host", ""), body, fields)


def _format_head(answer: LoopbackResponse) -> bytes:
    fields = {
        "Date": email.utils.format_datetime(dt.datetime.now(dt.UTC), usegmt=True),
        "Server": "sample",
        "Content-Type": answer.content_type,
        **({"Transfer-Encoding": "chunked"} if answer.pieces else {"Content-Length": str(len(answer.body))}),
        "Connection": "close",
        **answer.headers,
    }
    lines = [f"HTTP/1.1 {answer.status} {http.HTTPStatus(answer.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
