"""The forward proxy before the browser, and the organisation's own proxy behind it and behind the HTTP client."""

import asyncio
import base64
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing, SettingsError
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.browser.renderer import Renderer
from monitor.fetch.client import HttpClient
from monitor.fetch.guard import Address, Guard
from monitor.fetch.proxy import GuardedProxy, UpstreamProxy
from monitor.fetch.result import FetchError
from monitor.page import PageErrorCode

NAME = "named.example"


class Caller:
    """A connection to a proxy, as a browser makes it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def say(self, text: str) -> None:
        self._writer.write(text.replace("\n", "\r\n").encode())
        await self._writer.drain()

    async def hear(self, count: int) -> str:
        async with asyncio.timeout(20):
            return (await self._reader.readexactly(count)).decode()

    async def hear_all(self) -> str:
        """What comes until the proxy hangs up; a reset is a way to hang up."""
        heard = b""
        async with asyncio.timeout(20):
            try:
                while data := await self._reader.read(65_536):
                    heard += data
            except ConnectionError:
                pass
        return heard.decode("latin-1")

    def hang_up(self) -> None:
        self._writer.close()


async def call(proxy: GuardedProxy) -> Caller:
    return Caller(*await asyncio.open_connection("127.0.0.1", int(proxy.url.rpartition(":")[2])))


async def ask(proxy: GuardedProxy, text: str) -> str:
    caller = await call(proxy)
    try:
        await caller.say(text)
        return await caller.hear_all()
    finally:
        caller.hang_up()


def password(proxy: GuardedProxy) -> str:
    pair = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    return f"Proxy-Authorization: Basic {pair}"


def url_of(proxy: GuardedProxy) -> str:
    return f"http://{proxy.username}:{proxy.password}@{proxy.url.removeprefix('http://')}"


async def knows_the_name(host: str, port: int) -> list[Address]:
    if host != NAME:
        raise OSError("no such name")
    return [ipaddress.ip_address("127.0.0.1")]


async def knows_no_name(host: str, port: int) -> list[Address]:
    raise OSError("no such name")


async def a_server_that_is_gone() -> tuple[str, int]:
    gone = await asyncio.start_server(answer_briefly, "127.0.0.1", 0)
    host, port = gone.sockets[0].getsockname()
    gone.close()
    await gone.wait_closed()
    return host, port


async def answer_briefly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 204 Nothing\r\n\r\n")
    writer.close()


@asynccontextmanager
async def an_open_proxy(guard: Guard, upstream: UpstreamProxy | None = None) -> AsyncIterator[GuardedProxy]:
    opened = GuardedProxy(guard=guard, upstream=upstream)
    await opened.start()
    try:
        yield opened
    finally:
        await opened.close()


@pytest.fixture
async def proxy(site: Any) -> AsyncIterator[GuardedProxy]:
    async with an_open_proxy(Guard(allowed_private_hosts=[site.host])) as opened:
        yield opened


@pytest.fixture
async def far(site: Any) -> AsyncIterator[GuardedProxy]:
    """Stands for the organisation's proxy, which alone resolves names."""
    allowed = [site.host, f"{NAME}:{site.port}"]
    async with an_open_proxy(Guard(allowed_private_hosts=allowed, resolver=knows_the_name)) as opened:
        yield opened


@pytest.fixture
async def near(site: Any, far: GuardedProxy) -> AsyncIterator[GuardedProxy]:
    guard = Guard(allowed_private_hosts=[site.host], proxy_suffixes=[NAME], resolver=knows_no_name)
    async with an_open_proxy(guard, UpstreamProxy(url_of(far), context=ssl.create_default_context())) as opened:
        yield opened


async def test_a_request_is_handed_on_for_one_host_and_without_what_is_the_proxys_own(proxy, site, reply) -> None:
    site.on("/list", lambda asked: reply(f"{asked.method} {asked.body.decode()}"))
    request = (
        f"POST http://{site.host}/list?a=1 HTTP/1.1\nHost: evil.example\n{password(proxy)}\n"
        "Proxy-Connection: keep-alive\nConnection: keep-alive\nX-Own: yes\nContent-Length: 4\n\nbody"
    )
    answer = await ask(proxy, request)
    assert answer.startswith("HTTP/1.1 200")
    assert answer.endswith("POST body")
    asked = site.asked[0]
    assert (asked.path, asked.headers["host"], asked.headers["connection"]) == ("/list?a=1", site.host, "close")
    assert asked.headers["x-own"] == "yes"
    assert not {"proxy-authorization", "proxy-connection"} & set(asked.headers)


async def test_a_connection_serves_one_request(proxy, site) -> None:
    site.on("/1", "first")
    request = f"GET http://{site.host}/1 HTTP/1.1\nHost: x\n{password(proxy)}\n\n"
    assert (await ask(proxy, request + request.replace("/1", "/2"))).count("HTTP/1.1 200") <= 1
    assert "/2" not in site.paths()


async def test_a_tunnel_carries_bytes_both_ways(proxy, site) -> None:
    site.on("/", "through the tunnel")
    caller = await call(proxy)
    await caller.say(f"CONNECT {site.host} HTTP/1.1\nHost: {site.host}\n{password(proxy)}\n\n")
    assert await caller.hear(len("HTTP/1.1 200 Connected\r\n\r\n")) == "HTTP/1.1 200 Connected\r\n\r\n"
    await caller.say(f"GET / HTTP/1.1\nHost: {site.host}\n\n")
    assert (await caller.hear_all()).endswith("through the tunnel")
    caller.hang_up()


@pytest.mark.parametrize("given", ["", "Proxy-Authorization: Basic bW9uaXRvcjpndWVzcw==\n", "Proxy-Authorization: x\n"])
@pytest.mark.parametrize("line", ["GET http://{host}/ HTTP/1.1", "CONNECT {host} HTTP/1.1"])
async def test_who_does_not_know_the_password_is_asked_for_it(proxy, site, line: str, given: str) -> None:
    answer = await ask(proxy, f"{line.format(host=site.host)}\nHost: x\n{given}\n")
    assert answer.startswith("HTTP/1.1 407")
    assert site.asked == []


@pytest.mark.parametrize(
    "line",
    [
        "GET / HTTP/1.1",
        "GET https://{host}/ HTTP/1.1",
        "GET file:///etc/passwd HTTP/1.1",
        "GET http:///nowhere HTTP/1.1",
        "GET http://{host}:99999/ HTTP/1.1",
        "GET http://[::1/ HTTP/1.1",
        "CONNECT :1 HTTP/1.1",
        "CONNECT {host}/path:0 HTTP/1.1",
        "no request at all",
        "GET http://{host}/ HTTP/1.1\nContent-Length: 1\nContent-Length: 2",
        "GET http://{host}/ HTTP/1.1\nTransfer-Encoding: odd",
        "GET http://{host}/ HTTP/1.1\nX: {much}",
    ],
)
async def test_what_is_no_request_for_a_site_gets_nothing_and_harms_nobody(proxy, site, line: str) -> None:
    site.on("/", "fine")
    answer = await ask(proxy, f"{line.format(host=site.host, much='x' * 200_000)}\nHost: x\n{password(proxy)}\n\n")
    assert "HTTP/1.1 200" not in answer
    assert site.asked == []
    assert (await ask(proxy, f"GET {site.url('/')} HTTP/1.1\nHost: x\n{password(proxy)}\n\n")).endswith("fine")


@pytest.mark.parametrize("line", ["GET http://127.0.0.1:{port}/ HTTP/1.1", "CONNECT 127.0.0.1:{port} HTTP/1.1"])
async def test_what_the_guard_refuses_is_not_connected_to_and_the_reason_is_kept(proxy, open_site, line: str) -> None:
    async with open_site() as neighbour:
        answer = await ask(proxy, f"{line.format(port=neighbour.port)}\nHost: x\n{password(proxy)}\n\n")
        assert "HTTP/1.1 200" not in answer
        assert neighbour.asked == []
        refusal = proxy.find_failure(neighbour.url("/"))
        assert refusal is not None
        assert refusal.error.code is PageErrorCode.FORBIDDEN


async def test_the_reason_is_forgotten_when_the_site_is_up_again(site) -> None:
    async with an_open_proxy(Guard(allowed_private_hosts=["127.0.0.1"])) as proxy:
        host, port = await a_server_that_is_gone()
        request = f"GET http://{host}:{port}/ HTTP/1.1\nHost: x\n{password(proxy)}\n\n"
        await ask(proxy, request)
        failure = proxy.find_failure(f"http://{host}:{port}/a")
        assert failure is not None
        assert failure.error.code is PageErrorCode.NETWORK
        back = await asyncio.start_server(answer_briefly, host, port)
        assert (await ask(proxy, request)).startswith("HTTP/1.1 204")
        assert proxy.find_failure(f"http://{host}:{port}/a") is None
        back.close()
        await back.wait_closed()


async def test_closing_ends_what_is_under_way(site) -> None:
    is_asked = asyncio.Event()

    async def silence(writer: asyncio.StreamWriter) -> None:
        is_asked.set()
        await asyncio.Event().wait()

    async with an_open_proxy(Guard(allowed_private_hosts=[site.host])) as proxy:
        caller = await call(proxy)
        await caller.say(f"GET {site.on('/', lambda _: silence)} HTTP/1.1\nHost: x\n{password(proxy)}\n\n")
        await is_asked.wait()
    assert await caller.hear_all() == ""
    caller.hang_up()


async def test_names_are_resolved_by_the_organisations_proxy(near, site) -> None:
    site.on("/", "from far away")
    url = f"http://{NAME}:{site.port}/"
    assert (await ask(near, f"GET {url} HTTP/1.1\nHost: x\n{password(near)}\n\n")).endswith("from far away")
    caller = await call(near)
    await caller.say(f"CONNECT {NAME}:{site.port} HTTP/1.1\nHost: x\n{password(near)}\n\n")
    assert (await caller.hear(12)).endswith("200")
    caller.hang_up()


@pytest.mark.parametrize(
    "host", ["10.1.2.3", "169.254.169.254", "localhost", "intranet", "wiki.internal", "[::1]", "unknown.example"]
)
async def test_the_organisations_proxy_is_not_asked_for_the_machines_around_it(open_site, host: str) -> None:
    async with open_site() as far:
        upstream = UpstreamProxy(far.url(""), context=ssl.create_default_context())
        guard = Guard(proxy_suffixes=["public.example"], resolver=knows_no_name)
        async with an_open_proxy(guard, upstream) as near:
            for line in (f"GET http://{host}/ HTTP/1.1", f"CONNECT {host}:80 HTTP/1.1"):
                assert "HTTP/1.1 200" not in await ask(near, f"{line}\nHost: x\n{password(near)}\n\n")
            refusal = near.find_failure(f"http://{host}/")
            assert refusal is not None
            assert refusal.error.code in {PageErrorCode.FORBIDDEN, PageErrorCode.NETWORK}
            assert far.asked == []
            await ask(near, f"GET http://public.example/ HTTP/1.1\nHost: x\n{password(near)}\n\n")
            assert far.paths() == ["http://public.example/"]


async def test_an_organisations_proxy_that_refuses_us_is_named(site, far) -> None:
    upstream = UpstreamProxy(url_of(far).replace(far.password, "wrong"), context=ssl.create_default_context())
    async with an_open_proxy(Guard(proxy_suffixes=[NAME], resolver=knows_no_name), upstream) as proxy:
        await ask(proxy, f"CONNECT {NAME}:{site.port} HTTP/1.1\nHost: x\n{password(proxy)}\n\n")
        failure = proxy.find_failure(f"https://{NAME}:{site.port}/")
    assert failure is not None
    assert "network.proxy" in str(failure)


async def test_an_allowed_private_host_is_connected_to_directly_and_hears_no_password_of_the_proxy(
    near: GuardedProxy, far: GuardedProxy, site: Any
) -> None:
    site.on("/list", "from near by")
    await far.close()
    answer = await ask(near, f"GET {site.url('/list')} HTTP/1.1\nHost: x\n{password(near)}\n\n")
    assert answer.endswith("from near by")
    assert (site.asked[0].path, "proxy-authorization" in site.asked[0].headers) == ("/list", False)


@pytest.mark.parametrize("url", ["nonsense", "ftp://a:1", "http://", "http://a:99999"])
def test_a_setting_that_is_no_proxy_says_how_to_write_one(url: str) -> None:
    with pytest.raises(SettingsError, match=r"network\.proxy .* http://host:port"):
        UpstreamProxy(url, context=ssl.create_default_context())


async def test_client_and_browser_go_out_by_the_setting(site, far) -> None:
    site.on("/", "<p>from far away</p>")
    url = f"http://{NAME}:{site.port}/"
    network = NetworkSettings(proxy=url_of(far), proxy_suffixes=[NAME])
    guard = Guard.from_settings(network, resolver=knows_no_name)
    async with HttpClient(network=network, guard=guard) as client:
        assert b"far away" in (await client.fetch(url)).body
        with pytest.raises(FetchError) as caught:
            await client.fetch("http://10.1.2.3/")
        assert caught.value.error.code is PageErrorCode.FORBIDDEN
    try:
        find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    renderer = Renderer(pages=PagesSettings(), network=network, guard=guard)
    try:
        assert b"far away" in (await renderer.render(url)).body
    finally:
        await renderer.close()
