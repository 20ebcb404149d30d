"""The browser's only connection to the network: a forward proxy on loopback that connects where the guard allows.

The driver's interception does not see all requests of a page: redirects, preconnects, sockets and beacons bypass it.
So the browser can only use this proxy, which asks the guard for each connection and connects to the checked address.
"""

import asyncio
import base64
import contextlib
import hmac
import re
import secrets
import ssl
from collections import OrderedDict
from collections.abc import AsyncIterator, Coroutine
from typing import Self
from urllib.parse import unquote, urlsplit

import h11
from python_socks import ProxyConnectionError, ProxyError, ProxyTimeoutError
from python_socks.async_.asyncio.v2 import Proxy

from monitor.config.model import NetworkSettings
from monitor.errors import SettingsError
from monitor.fetch.client import build_tls_context
from monitor.fetch.guard import Address, ConnectionGuard
from monitor.fetch.result import FetchError
from monitor.page import PageErrorCode

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_LOOPBACK = "127.0.0.1"
_USER = "monitor"
_CONNECT_TIMEOUT_S = 10.0
_MAX_HEAD_BYTES = 65_536
_CHUNK_BYTES = 65_536
_MAX_FAILURES = 256
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOP_BY_HOP_HEADERS = frozenset(
    {b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"te", b"upgrade", b"host"}
)
_AUTH_REQUIRED_RESPONSE = (
    b'HTTP/1.1 407 Password Required\r\nProxy-Authenticate: Basic realm="monitor"\r\n'
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)


class GuardedProxy:
    """Serves one process on a free port of loopback, to clients that know its random password.

    Speaks CONNECT and plain HTTP with absolute URLs. With `upstream`, connections go through that proxy, which resolves
    the names; the guard then checks what it can resolve itself, and refuses other names but those of the settings.

    A refused request gets no response of ours, which would look like one of the site: its connection ends, and
    `find_failure` returns the reason.
    """

    def __init__(self, *, guard: ConnectionGuard, upstream: "UpstreamProxy | None" = None) -> None:
        self.username = _USER
        self.password = secrets.token_urlsafe(24)
        self._guard = guard
        self._upstream = upstream
        self._credentials = _encode_credentials(self.username, self.password)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: OrderedDict[tuple[str, int], FetchError] = OrderedDict()

    @property
    def url(self) -> str:
        """The address without the password; only after `start`."""
        if self._server is None:
            raise RuntimeError("the proxy is not started")
        return f"http://{_LOOPBACK}:{self._server.sockets[0].getsockname()[1]}"

    @classmethod
    async def open(cls, guard: ConnectionGuard, network: NetworkSettings) -> Self:
        """Start a proxy whose connections go through `network.proxy`, if there is one."""
        upstream = None
        if network.proxy is not None:
            context = build_tls_context(ca_bundle=network.ca_bundle, allow_legacy_tls=network.allow_legacy_tls)
            upstream = UpstreamProxy(network.proxy, context=context)
        proxy = cls(guard=guard, upstream=upstream)
        await proxy.start()
        return proxy

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, _LOOPBACK, 0)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self.disconnect_all()
            await self._server.wait_closed()
            self._server = None

    async def disconnect_all(self) -> None:
        """End all connections; those that the browser opens next are asked for anew."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def find_failure(self, url: str) -> FetchError | None:
        """Return why the last connection to this URL's host and port failed, if it did."""
        try:
            parts = urlsplit(url)
            port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)
        except ValueError:
            return None
        return self._failures.get(((parts.hostname or "").rstrip("."), port))

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        browser = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)
        with contextlib.suppress(OSError, h11.ProtocolError, FetchError, UnicodeDecodeError):
            async with _closing(writer):
                request = await _read_event(browser, reader)
                if not isinstance(request, h11.Request):
                    return
                given = dict(request.headers).get(b"proxy-authorization", b"")
                if not hmac.compare_digest(given, self._credentials):
                    await _write(writer, _AUTH_REQUIRED_RESPONSE)
                elif request.method == b"CONNECT":
                    await self._tunnel(request, browser, reader, writer)
                else:
                    await self._forward(request, browser, reader, writer)

    async def _tunnel(
        self, request: h11.Request, browser: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        authority = request.target.decode()
        if re.search(r"[/?#@\\]", authority):
            return
        host, port = _split_authority(f"//{authority}", default_port=443)
        try:
            streams, _ = await self._connect(host, port, is_tunnel=True)
        except FetchError:
            await _write(writer, b"HTTP/1.1 502 Not Connected\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            raise
        async with _closing(streams[1]):
            await _write(writer, b"HTTP/1.1 200 Connected\r\n\r\n")
            await _write(streams[1], browser.trailing_data[0])
            await _run_until_first_ends(_copy(reader, streams[1]), _copy(streams[0], writer))

    async def _forward(
        self, request: h11.Request, browser: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Forward one request of plain HTTP and close: a second one would need checks of its own."""
        url = request.target.decode()
        if not url.lower().startswith("http://"):
            return
        host, port = _split_authority(url, default_port=80)
        streams, forwarder = await self._connect(host, port, is_tunnel=False)
        async with _closing(streams[1]):
            site = h11.Connection(h11.CLIENT)
            head = _build_request_head(request, url, forwarder=forwarder)
            await _write(streams[1], site.send(head))
            await _run_until_first_ends(
                _relay_request_body(browser, reader, site, streams[1]), _relay_response(streams[0], writer)
            )

    async def _connect(self, host: str, port: int, *, is_tunnel: bool) -> "tuple[Streams, UpstreamProxy | None]":
        """Return a connection, and the proxy behind it where that has to be told the whole URL."""
        try:
            connected = await self._open_streams(host, port, is_tunnel=is_tunnel)
        except FetchError as failure:
            self._failures[host, port] = failure
            while len(self._failures) > _MAX_FAILURES:
                self._failures.popitem(last=False)
            raise
        self._failures.pop((host, port), None)
        return connected

    async def _open_streams(self, host: str, port: int, *, is_tunnel: bool) -> "tuple[Streams, UpstreamProxy | None]":
        if self._upstream is None or not await self._guard.check_host(host, port):
            return await _connect_to_first(await self._guard.resolve(host, port), port), None
        if is_tunnel or not self._upstream.forwards_plain_http:
            return await self._upstream.open_tunnel(host, port), None
        return await self._upstream.open_connection(), self._upstream


def _encode_credentials(username: str, password: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{username}:{password}".encode())


def _split_authority(url: str, *, default_port: int) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise FetchError.of(PageErrorCode.INVALID_URL, "page.browser_no_url") from error
    if not host:
        raise FetchError.of(PageErrorCode.INVALID_URL, "page.browser_no_host")
    return host.rstrip("."), port if port is not None else default_port


def _build_request_head(request: h11.Request, url: str, *, forwarder: "UpstreamProxy | None") -> h11.Request:
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if "?" in url else "")
    headers = [(b"host", parts.netloc.rpartition("@")[2].encode()), (b"connection", b"close")]
    if forwarder is not None:
        headers += forwarder.authorization_headers
    headers += [(name, value) for name, value in request.headers if name not in _HOP_BY_HOP_HEADERS]
    return h11.Request(method=request.method, target=path if forwarder is None else url, headers=headers)


async def _connect_to_first(addresses: list[Address], port: int) -> Streams:
    """Return streams to the first of the checked addresses that accepts."""
    failure = FetchError.of(PageErrorCode.NETWORK, "page.no_address")
    for address in addresses:
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                return await asyncio.open_connection(str(address), port)
        except TimeoutError:
            failure = FetchError.of(PageErrorCode.TIMEOUT, "page.no_connection_in_time")
        except OSError as error:
            failure = FetchError.of(
                PageErrorCode.NETWORK, "page.connection_failed", reason=error.strerror or str(error)
            )
    raise failure


async def _read_event(browser: h11.Connection, reader: asyncio.StreamReader) -> object:
    while (event := browser.next_event()) is h11.NEED_DATA:
        browser.receive_data(await reader.read(_CHUNK_BYTES))
    return event


async def _relay_request_body(
    browser: h11.Connection, reader: asyncio.StreamReader, site: h11.Connection, writer: asyncio.StreamWriter
) -> None:
    """Forward the request's body, then wait until the browser hangs up or sends what it should not."""
    while isinstance(event := await _read_event(browser, reader), h11.Data | h11.EndOfMessage):
        await _write(writer, site.send(event))
        if isinstance(event, h11.EndOfMessage):
            await reader.read(1)
            return


async def _relay_response(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward the response as it comes, with a `Connection: close` after its first line."""
    start = await reader.read(_CHUNK_BYTES)
    status_line, line_end, rest = start.partition(b"\n")
    if line_end and status_line.startswith(b"HTTP/"):
        start = status_line + b"\nConnection: close\r\n" + rest
    await _write(writer, start)
    await _copy(reader, writer)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK_BYTES):
        await _write(writer, data)


async def _write(writer: asyncio.StreamWriter, data: bytes | None) -> None:
    if data:
        writer.write(data)
        await writer.drain()


async def _run_until_first_ends(*coroutines: Coroutine[None, None, None]) -> None:
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


@contextlib.asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


class UpstreamProxy:
    """Opens connections through the proxy of `network.proxy` (http, https, socks4, socks5), which resolves the names.

    `forwards_plain_http`: it takes plain HTTP with an absolute URL, as HTTP proxies do; many of them allow tunnels to
    port 443 only. Raises `SettingsError` if the URL is not that of a proxy.
    """

    def __init__(self, url: str, *, context: ssl.SSLContext) -> None:
        try:
            self._parts = urlsplit(url)
            scheme = self._parts.scheme.lower()
            is_secure = scheme == "https"
            plain = url.replace("https", "http", 1) if is_secure else url.replace("socks5h", "socks5", 1)
            self._context = context if is_secure else None
            self._proxy = Proxy.from_url(plain, rdns=True, proxy_ssl=self._context)
        except ValueError as error:
            raise SettingsError("network.proxy_invalid", reason=str(error)) from error
        self.forwards_plain_http = scheme in _DEFAULT_PORTS

    @property
    def authorization_headers(self) -> list[tuple[bytes, bytes]]:
        """The header with the user and password of the setting, if it has them."""
        if self._parts.username is None:
            return []
        credentials = _encode_credentials(unquote(self._parts.username), unquote(self._parts.password or ""))
        return [(b"proxy-authorization", credentials)]

    async def open_tunnel(self, host: str, port: int) -> Streams:
        """Return a connection to host and port through the proxy; raise `FetchError` if it fails."""
        try:
            stream = await self._proxy.connect(host, port, timeout=_CONNECT_TIMEOUT_S)
        except ProxyTimeoutError as error:
            raise FetchError.of(PageErrorCode.TIMEOUT, "page.proxy_slow") from error
        except (ProxyError, ProxyConnectionError, OSError) as error:
            reason = " ".join(str(error).split())[:200]
            raise FetchError.of(PageErrorCode.NETWORK, "page.proxy_no_connection", reason=reason) from error
        return stream.reader, stream.writer

    async def open_connection(self) -> Streams:
        """Return a connection to the proxy itself, for plain HTTP; raise `FetchError` if it does not answer."""
        parts = self._parts
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT_S):
                return await asyncio.open_connection(
                    parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme.lower()], ssl=self._context
                )
        except TimeoutError:
            raise FetchError.of(PageErrorCode.TIMEOUT, "page.proxy_no_answer_in_time") from None
        except OSError as error:
            raise FetchError.of(PageErrorCode.NETWORK, "page.proxy_no_answer", reason=str(error)) from error
