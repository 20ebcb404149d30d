"""Hostile addresses, answers and pages, over HTTP and in the browser.

Next to the site that may be asked stands a server that may not: it listens on all addresses of this machine and
counts who connects. Whatever a site or page tries, nobody may.
"""

import asyncio
import datetime as dt
import gzip
import ipaddress
import json
import socket
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio

from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings
from monitor.errors import BrowserMissing
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.browser.renderer import Renderer
from monitor.fetch.client import HttpClient
from monitor.fetch.guard import Address, Guard
from monitor.fetch.result import FetchError, FetchResult, Response
from monitor.isolation.pool import WorkerPool
from monitor.page import Page
from monitor.page import PageErrorCode as Code
from monitor.pages.parsing import parse_result
from monitor.vocabulary import FetchMode

pytestmark = pytest.mark.asyncio(loop_scope="module")

MAX_BYTES = 300_000
TIMEOUT_S = 30.0  # never waited for
HASTY_S = 2.0  # for those who keep us waiting
NOON = dt.datetime(2026, 11, 21, 4, tzinfo=dt.UTC)
TEXT = f"<p>{'text ' * 60}</p>"  # long enough not to be taken for a page that is still empty
REFUSED = {Code.FORBIDDEN}
NO_URL = {Code.INVALID_URL, Code.FORBIDDEN, Code.NETWORK}


async def page_in(response: Response, workers: WorkerPool) -> Page:
    """The page that a run reads in an answer."""
    result = FetchResult(
        url=response.final_url,
        mode=FetchMode.HTTP,
        at=NOON,
        final_url=response.final_url,
        status=response.status,
        headers=response.headers,
        body=response.body,
    )
    return (await parse_result(result, workers)).page


# "{port}" is the port of the server that must not be reached.
ADDRESSES = {
    "loopback": "http://127.0.0.1:{port}/",
    "loopback elsewhere": "http://127.8.9.1:{port}/",
    "localhost": "http://localhost:{port}/",
    "localhost, dotted": "http://localhost.:{port}/",
    "below localhost": "http://a.localhost:{port}/",
    "one number": "http://2130706433:{port}/",
    "hexadecimal": "http://0x7f.1:{port}/",
    "hexadecimal number": "http://0x7f000001:{port}/",
    "octal": "http://0177.0.0.1:{port}/",
    "short": "http://127.1:{port}/",
    "trailing dot": "http://127.0.0.1.:{port}/",
    "percent-encoded": "http://127.0.0.%31:{port}/",
    "full-width digits": "http://１２７.０.０.１:{port}/",
    "ideographic dots": "http://127。0。0。1:{port}/",
    "circled digits": "http://①②⑦.⓪.⓪.①:{port}/",
    "circled letters": "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{port}/",
    "this network": "http://0.0.0.0:{port}/",
    "zero": "http://0:{port}/",
    "IPv6 loopback": "http://[::1]:{port}/",
    "IPv6 any": "http://[::]:{port}/",
    "IPv6-mapped": "http://[::ffff:127.0.0.1]:{port}/",
    "IPv6-mapped, hexadecimal": "http://[::ffff:7f00:1]:{port}/",
    "IPv6-compatible": "http://[::127.0.0.1]:{port}/",
    "IPv6 NAT64": "http://[64:ff9b::7f00:1]:{port}/",
    "IPv6 local NAT64": "http://[64:ff9b:1::7f00:1]:{port}/",
    "IPv6 6to4": "http://[2002:7f00:1::]:{port}/",
    "IPv6 link-local": "http://[fe80::1]/",
    "IPv6 site-local": "http://[fec0::1]/",
    "IPv6 unique local": "http://[fc00::1]/",
    "IPv6 metadata": "http://[fd00:ec2::254]/",
    "IPv6 multicast": "http://[ff02::1]/",
    "private 10": "http://10.0.0.1/",
    "private 172": "http://172.16.3.4/",
    "private 192": "http://192.168.1.1/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "metadata by https": "https://169.254.169.254/latest/meta-data/",
    "metadata by name": "http://metadata.google.internal/computeMetadata/v1/",
    "metadata by short name": "http://metadata/computeMetadata/v1/",
    "metadata of another cloud": "http://100.100.100.200/",
    "metadata at a public address": "http://168.63.129.16/",
    "carrier-grade NAT": "http://100.64.0.1/",
    "protocol assignments": "http://192.0.0.10/",
    "benchmarks": "http://198.18.0.1/",
    "multicast": "http://224.0.0.1/",
    "reserved": "http://240.0.0.1/",
    "broadcast": "http://255.255.255.255/",
    "a name for 10.1.2.3": "http://intranet.example/",
    "a name for one public and one private": "http://both.example:{port}/",
    "a name for a mapped address": "http://mapped.example:{port}/",
    "a name that changes its address": "http://rebinding.example:{port}/",
    "user before loopback": "http://user:secret@127.0.0.1:{port}/",
    "public name as user": "http://public.example@127.0.0.1:{port}/",
    "public name and port as user": "http://public.example:80@127.0.0.1:{port}/",
    "backslash before at": "http://127.0.0.1:{port}\\@public.example/",
    "backslash after host": "http://public.example\\@127.0.0.1:{port}/",
    "hash before at": "http://127.0.0.1:{port}#@public.example/",
    "tab in host": "http://127.0\t.0.1:{port}/",
    "line end in host": "http://127.0.0.1\n:{port}/",
    "tab in scheme": "ht\ttp://127.0.0.1:{port}/",
    "port 0": "http://public.example:0/",
    "port 99999": "http://public.example:99999/",
    "no host": "http:///etc/passwd",
    "file": "file:///etc/passwd",
    "data": "data:text/html,<p>hello</p>",
    "view-source": "view-source:http://127.0.0.1:{port}/",
    "ftp": "ftp://127.0.0.1:{port}/",
    "gopher": "gopher://127.0.0.1:{port}/_GET%20/",
    "javascript": "javascript:fetch('http://127.0.0.1:{port}/')",
    "blob": "blob:http://127.0.0.1:{port}/0c9f1d2e",
    "filesystem": "filesystem:http://127.0.0.1:{port}/temporary/a",
    "chrome": "chrome://version/",
    "devtools": "devtools://devtools/bundled/inspector.html",
    "about": "about:blank",
    "websocket": "ws://127.0.0.1:{port}/",
}
# Addresses that the readers of urls split differently, so that each may find another thing wrong with them, or a name
# that does not exist.
MAY_BE_NO_URL = {
    *("percent-encoded", "backslash before at", "backslash after host", "tab in host", "line end in host"),
    *("tab in scheme", "port 0", "port 99999", "no host", "hash before at"),
}
ROUTES = ("http, asked", "http, redirected", "browser, asked", "browser, redirected")
# Addresses in plain writing that only their range sets apart: the guard tells them so on every route, and one such
# redirect stands for all where each costs the browser a process.
PLAIN_RANGES = {
    *("IPv6 link-local", "IPv6 site-local", "IPv6 unique local", "IPv6 multicast", "private 172", "private 192"),
    *("carrier-grade NAT", "protocol assignments", "benchmarks", "multicast", "reserved", "broadcast"),
    *("metadata of another cloud", "metadata at a public address"),
}
NOT_HOSTILE = {
    ("no host", "http, redirected"),  # stands for a path of the same site there
    ("a name that changes its address", "browser, redirected"),  # is looked up but once, and connected to as checked
}
CASES = [
    (name, route)
    for name in ADDRESSES
    for route in ROUTES
    if (name, route) not in NOT_HOSTILE and not (name in PLAIN_RANGES and route == "browser, redirected")
]
NAMES = {
    "intranet.example": ["10.1.2.3"],
    "both.example": ["93.184.216.34", "127.0.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
}

# Each takes the url of a server that must not be reached.
PAGES = {
    "frame": "<iframe src='{url}'></iframe>",
    "frame in a frame": "<iframe srcdoc=\"<iframe src='{url}'></iframe>\"></iframe>",
    "picture": "<img src='{url}'>",
    "script": "<script src='{url}'></script>",
    "module": "<script type=module>import('{url}').catch(() => 0)</script>",
    "style": "<link rel=stylesheet href='{url}'>",
    "import of a style": "<style>@import '{url}';</style>",
    "preload": "<link rel=preload as=script href='{url}'>",
    "prefetch": "<link rel=prefetch href='{url}'>",
    "preconnect": "<link rel=preconnect href='{url}'>",
    "icon": "<link rel=icon href='{url}'>",
    "manifest": "<link rel=manifest href='{url}'>",
    "speculation": '<script type=speculationrules>{{"prerender":[{{"urls":["{url}"]}}]}}</script>',
    "object": "<object data='{url}'></object><embed src='{url}'>",
    "video": "<video src='{url}' autoplay></video>",
    "fetch": "<script>fetch('{url}', {{mode: 'no-cors'}}).catch(() => 0)</script>",
    "fetch that is redirected": "<script>fetch('/hop?to={url}', {{mode: 'no-cors'}}).catch(() => 0)</script>",
    "script that is redirected": "<script src='/hop?to={url}'></script>",
    "frame that is redirected": "<iframe src='/hop?to={url}'></iframe>",
    "request": "<script>var r = new XMLHttpRequest(); r.open('POST', '{url}'); r.send('x')</script>",
    "events": "<script>new EventSource('{url}')</script>",
    "socket": "<script>new WebSocket('{url}'.replace('http', 'ws'))</script>",
    "transport": "<script>new WebTransport('{url}'.replace('http:', 'https:')).ready.catch(() => 0)</script>",
    "beacon": "<script>navigator.sendBeacon('{url}', 'x')</script>",
    "worker": "<script>new Worker(URL.createObjectURL(new Blob([\"fetch('{url}', {{mode:'no-cors'}})\"])))</script>",
    "import of a worker": "<script>new Worker(URL.createObjectURL(new Blob([\"importScripts('{url}')\"])))</script>",
    "ping": "<a id=a href='#x' ping='{url}'>x</a><script>document.getElementById('a').click()</script>",
    "form": "<form id=f method=post action='{url}'><input name=a></form><script>f.submit()</script>",
    "form into a new window": "<form id=f target=_blank action='{url}'></form><script>f.submit()</script>",
    "refresh": "<meta http-equiv=refresh content='0;url={url}'>",
    "location": "<script>location.href = '{url}'</script>",
    "location of a frame": "<iframe id=i></iframe><script>i.contentWindow.location = '{url}'</script>",
    "popup": "<script>open('{url}')</script>",
    "popup that is redirected": "<script>open('/hop?to={url}')</script>",
    "click": "<a id=a href='{url}'>x</a><script>document.getElementById('a').click()</script>",
    "paint": "<p style=\"background:url('{url}')\">x</p>",
    "drawing": "<svg><use href='{url}#a'/><image href='{url}'/></svg>",
    "call": (
        "<script>var c = new RTCPeerConnection({{iceServers: [{{urls: '{url}'.replace('http://', 'stun:')"
        ".replace(/[/].*$/, '')}}]}}); c.createDataChannel('x'); c.createOffer().then(o => c.setLocalDescription(o));"
        "</script>"
    ),
}


class Neighbour:
    """A server that must not be reached, over TCP or UDP."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.calls: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self.calls.append("tcp")
            transport.close()

    def datagram_received(self, data: bytes, _address: object) -> None:
        del data
        self.calls.append("udp")

    def data_received(self, data: bytes) -> None: ...
    def eof_received(self) -> None: ...
    def error_received(self, error: OSError) -> None: ...
    def connection_lost(self, error: Exception | None) -> None: ...


@dataclass
class World:
    """What all tests of this module share."""

    site: object
    neighbour: Neighbour
    client: HttpClient
    renderer: Renderer
    hasty_renderer: Renderer
    asked_names: list[str]
    is_hasty: bool = False

    async def ask(self, route: str, url: str) -> Response:
        if route == "http":
            return await self.client.fetch(url, timeout_s=HASTY_S if self.is_hasty else TIMEOUT_S)
        skip_without_browser()
        return await (self.hasty_renderer if self.is_hasty else self.renderer).render(url)

    async def text_or_code(self, route: str, url: str) -> str:
        try:
            return "text" if b"text" in (await self.ask(route, url)).body else "nothing"
        except FetchError as failure:
            return failure.error.code

    async def failure(self, route: str, url: str) -> FetchError:
        with pytest.raises(FetchError) as caught:
            await self.ask(route, url)
        return caught.value


def skip_without_browser() -> None:
    try:
        find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(open_site) -> AsyncIterator[World]:
    asked_names: list[str] = []

    async def resolve(host: str, port: int) -> list[Address]:
        if host == "rebinding.example":
            # Public for whoever looks first, this machine for whoever connects later.
            asked_names.append(host)
            return [ipaddress.ip_address("93.184.216.34" if len(asked_names) == 1 else "127.0.0.1")]
        if host not in NAMES:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [ipaddress.ip_address(address) for address in NAMES[host]]

    loop = asyncio.get_running_loop()
    listening = socket.create_server(("", 0))
    port = listening.getsockname()[1]
    neighbour = Neighbour(port)
    server = await loop.create_server(lambda: neighbour, sock=listening)
    datagrams, _ = await loop.create_datagram_endpoint(lambda: neighbour, local_addr=("0.0.0.0", port))
    async with open_site() as site:
        network = NetworkSettings(allowed_private_hosts=[site.host])
        guard = Guard(allowed_private_hosts=network.allowed_private_hosts, resolver=resolve)
        renderer, hasty_renderer = (
            Renderer(pages=PagesSettings(timeout_s=limit, max_bytes=MAX_BYTES), network=network, guard=guard)
            for limit in (TIMEOUT_S, HASTY_S)
        )
        async with HttpClient(network=network, guard=guard, max_bytes=MAX_BYTES, sleep=no_wait) as client:
            yield World(site, neighbour, client, renderer, hasty_renderer, asked_names)
        await renderer.close()
        await hasty_renderer.close()
    datagrams.close()
    server.close()
    await server.wait_closed()


async def no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
def world(shared: World) -> World:
    shared.site.forget()
    shared.neighbour.calls.clear()
    shared.asked_names.clear()
    shared.is_hasty = False
    return shared


@pytest.fixture
def site(world: World):
    return world.site


@pytest.mark.parametrize(("name", "route"), CASES)
async def test_a_hostile_address_is_refused_and_nobody_there_hears_of_it(
    world, site, reply, name: str, route: str
) -> None:
    address = ADDRESSES[name].replace("{port}", str(world.neighbour.port))
    client, _, how = route.partition(", ")
    url = address
    if how == "redirected":
        url = site.on("/start", reply(status=302, headers={"location": address.replace("\n", "\t")}))
    error = (await world.failure(client, url)).error
    assert error.code in (NO_URL if name in MAY_BE_NO_URL else REFUSED), error
    assert world.neighbour.calls == []


@pytest.mark.parametrize("name", PAGES)
async def test_what_a_page_asks_for_does_not_reach_the_machines_around_us(world, site, reply, name: str) -> None:
    def hop(asked):
        return reply(status=302, headers={"location": asked.path.partition("to=")[2]})

    site.on("/hop", hop)
    parts = [PAGES[name].format(url=f"http://127.0.0.1:{world.neighbour.port}/{name.replace(' ', '-')}")]
    parts.append(PAGES[name].format(url="http://169.254.169.254/latest/"))
    url = site.on("/", f"<html><body>{TEXT}{''.join(parts)}<script>document.title = 'ran'</script></body></html>")
    assert await world.text_or_code("browser", url) in {"text", *REFUSED}
    assert world.neighbour.calls == []
    assert "/" in site.paths()
    if "redirected" in name:
        assert any(path.startswith("/hop") for path in site.paths())


@pytest.mark.parametrize("name", ["frame", "script", "fetch", "request", "worker", "fetch that is redirected"])
async def test_the_same_pages_reach_what_they_may(world, site, reply, name: str) -> None:
    site.on("/hop", lambda asked: reply(status=302, headers={"location": asked.path.partition("to=")[2]}))
    site.on("/there", "1")
    page = PAGES[name].format(url=site.url("/there"))
    url = site.on("/", f"<html><body>{TEXT}{page}</body></html>")
    for _ in range(3):  # on a busy machine a page can be read before it has asked for what it embeds
        await world.ask("browser", url)
        if "/there" in site.paths():
            return
    pytest.fail("the page was kept from what it may load")


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html><body>")
    for _ in range(3_000):
        writer.write(b"<p>more</p>" * 6_000)
        await writer.drain()


async def slow_body(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 9999\r\n\r\n<html>")
    while True:
        writer.write(b"<p>x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def slow_headers(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"x-a: b\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)


async def silence(writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def huge_header(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nx-a: " + b"a" * 2_000_000 + b"\r\n\r\n<p>x</p>")
    await writer.drain()


async def many_headers(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: y\r\n" % i for i in range(100_000)) + b"\r\n<p>x</p>")
    await writer.drain()


async def nothing(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def another_protocol(writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example ESMTP\r\n" * 10)
    await writer.drain()


async def too_long_chunk(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"f" * 400 + b"\r\nx")
    await writer.drain()


Writer = Callable[[asyncio.StreamWriter], Awaitable[None]]
SLOW_OR_SILENT: dict[str, Writer] = {"slow body": slow_body, "slow headers": slow_headers, "silence": silence}
BROKEN: dict[str, Writer] = {
    "huge header": huge_header,
    "many headers": many_headers,
    "nothing": nothing,
    "another protocol": another_protocol,
    "a chunk too long to be counted": too_long_chunk,
}
ZEROES = b"<html><body>" + b"<p>0</p>\n" * 1_500_000
BOMBS = {
    "gzip": gzip.compress(ZEROES),
    "deflate": zlib.compress(ZEROES),
    "gzip, gzip": gzip.compress(gzip.compress(ZEROES)),
}


@pytest.mark.parametrize("route", ["http", "browser"])
@pytest.mark.parametrize("coding", BOMBS)
async def test_a_bomb_is_too_large(world, site, reply, coding: str, route: str) -> None:
    headers = {"content-encoding": coding, "content-type": "text/html"}
    url = site.on("/bomb", reply(BOMBS[coding], headers=headers))
    assert (await world.failure(route, url)).error.code is Code.TOO_LARGE


@pytest.mark.parametrize("route", ["http", "browser"])
async def test_an_endless_body_is_too_large(world, site, route: str) -> None:
    assert (await world.failure(route, site.on("/endless", lambda _: endless))).error.code is Code.TOO_LARGE


@pytest.mark.parametrize("route", ["http", "browser"])
@pytest.mark.parametrize("kind", SLOW_OR_SILENT)
async def test_who_keeps_us_waiting_is_left(world, site, kind: str, route: str) -> None:
    world.is_hasty = True
    url = site.on(f"/{kind.replace(' ', '-')}", lambda _: SLOW_OR_SILENT[kind])
    assert (await world.failure(route, url)).error.code is Code.TIMEOUT


@pytest.mark.parametrize("route", ["http", "browser"])
@pytest.mark.parametrize("kind", BROKEN)
async def test_an_answer_that_is_none_is_an_error_of_the_network(world, site, kind: str, route: str) -> None:
    url = site.on(f"/{kind.replace(' ', '-')}", lambda _: BROKEN[kind])
    assert (await world.failure(route, url)).error.code is Code.NETWORK


@pytest.mark.parametrize("route", ["http", "browser"])
@pytest.mark.parametrize("locations", [["/0"], ["/1", "/0"], [f"/{i + 1}" for i in range(30)]])
async def test_redirects_without_end_are_an_error(world, site, reply, locations: list[str], route: str) -> None:
    for i, location in enumerate(locations):
        site.on(f"/{i}", reply(status=302, headers={"location": location}))
    assert (await world.failure(route, site.url("/0"))).error.code is Code.NETWORK


HEAVY = {
    "a script that never ends": "<script>for (;;);</script>",
    "a script that never ends, later": "<script>setTimeout(() => { for (;;); }, 50)</script>",
    "a script that eats memory": "<script>const a = []; for (;;) a.push(Array(4e6).fill(0.5))</script>",
    "a document that grows": "<script>for (;;) document.body.append('x'.repeat(1000))</script>",
}


@pytest.mark.parametrize("name", HEAVY)
async def test_a_page_that_takes_all_there_is_is_closed(world, site, name: str) -> None:
    world.is_hasty = True
    error = (await world.failure("browser", site.on("/heavy", f"<html><body>{TEXT}{HEAVY[name]}</body></html>"))).error
    assert error.code in {Code.TIMEOUT, Code.NETWORK, Code.TOO_LARGE}
    assert b"fine" in (await world.ask("browser", site.on("/fine", "<p>fine</p>"))).body


ANNOYING = {
    "dialogs": "<script>alert(1); confirm(2); prompt(3); print()</script>",
    "a dialog on leaving": "<script>onbeforeunload = e => { e.preventDefault(); return 'stay' }</script>",
    "many windows": "<script>for (let i = 0; i < 10; i++) open('/other')</script>",
    "a window that opens another": "<script>open('/opener')</script>",
    "10,000 nested tags": "<div>" * 10_000,
    "200 frames": "<iframe></iframe>" * 200,
    "history": "<script>for (let i = 0; i < 90; i++) history.pushState(0, '', '/p' + i)</script>",
    "permissions": "<script>navigator.geolocation.getCurrentPosition(close); Notification.requestPermission()</script>",
}


@pytest.mark.parametrize("name", ANNOYING)
async def test_a_page_that_annoys_is_read_all_the_same(world, site, name: str) -> None:
    site.on("/other", "<p>other</p>")
    site.on("/opener", "<script>open('/other'); alert(1)</script>")
    url = site.on("/", f"<html><body>{TEXT}{ANNOYING[name]}</body></html>")
    assert b"text" in (await world.ask("browser", url)).body
    assert b"fine" in (await world.ask("browser", site.on("/fine", "<p>fine</p>"))).body


SERVICE_WORKER = (
    "<script>ServiceWorkerContainer.prototype.register.call(navigator.serviceWorker, '/worker.js').then("
    "() => document.body.append('registered'), () => document.body.append('blocked'))</script>"
)


async def test_a_page_cannot_leave_a_service_worker_behind(world, site, reply) -> None:
    """It would answer for the site, unseen by the guard, when the next page there is opened."""
    site.on("/worker.js", reply("0", headers={"content-type": "text/javascript"}))
    await world.ask("browser", site.on("/", f"<html><body>{TEXT}{SERVICE_WORKER}"))
    await world.ask("browser", site.on("/next", f"<html><body>{TEXT}"))
    assert site.paths() == ["/", "/next"]


@pytest.mark.parametrize("route", ["http", "browser"])
async def test_a_title_is_text_whatever_it_holds(world, site, workers, route: str) -> None:
    head = "<title>Notice <script>alert(1)</script>&lt;b&gt; \x1b[2J\x07&#27;]0;x&#x7;\u202e No&#8238;. 3</title>"
    rows = "".join(
        f"<li><a href='/{n}'>\x1b[31mCall number {n} for tenders\u202e&#7;</a> 2026-11-0{n}</li>" for n in range(1, 9)
    )
    response = await world.ask(route, site.on("/", f"<html><head>{head}</head><body><ul>{rows}</ul></body></html>"))
    page = await page_in(response, workers)
    assert page.title == "Notice <script>alert(1)</script><b> [2J]0;x No. 3"
    assert [candidate.title for candidate in page.candidates] == [
        f"[31mCall number {n} for tenders" for n in range(1, 9)
    ]


@pytest.mark.parametrize("route", ["http", "browser"])
@pytest.mark.parametrize("tag", ["div", "b", "table"])
async def test_ten_thousand_nested_tags_are_a_page(world, site, workers, tag: str, route: str) -> None:
    body = f"{TEXT}{f'<{tag}>' * 10_000}<a href='/deep'>deep</a>"
    response = await world.ask(route, site.on("/", f"<html><body>{body}"))
    page = await page_in(response, workers)
    assert page.error is None
    assert "text text" in page.text


BENT = {
    "no observers and timers": "<script>MutationObserver = setTimeout = clearTimeout = undefined</script>",
    "no promises": "<script>Promise.prototype.then = undefined; Promise = undefined</script>",
    "false answers": "<script>JSON.stringify = () => '[]'; Number.prototype.toString = () => 'x'</script>",
    "no way to look": "<script>document.querySelectorAll = document.createTreeWalker = () => { throw 1 }</script>",
    "a list that always grows": (
        "<script>Object.defineProperty(document, 'links', {get: () => ({length: 'many' + Math.random()})})</script>"
    ),
    "elements in the place of properties": "<img name=links><img name=scrollingElement><form name=body>",
}


@pytest.mark.parametrize("name", BENT)
async def test_a_page_cannot_write_scripts_into_our_own(world, site, name: str) -> None:
    """What we run inside the page lives in a world of its own, whatever the page makes of the built-in names."""
    late = "<script>setTimeout(() => document.getElementById('late').append('drawn late'), 100)</script><p id=late></p>"
    response = await world.ask("browser", site.on("/", f"<html><body>{TEXT}{late}{BENT[name]}"))
    assert b"text" in response.body
    assert b"drawn late" in response.body.replace(b"'drawn late'", b"")


async def test_the_checked_address_is_the_one_connected_to(open_site, shared: World) -> None:
    """The name exists for our resolver alone, so whoever reaches the site by it connected to what was checked."""

    async def resolve(host: str, port: int) -> list[Address]:
        assert host == "named.example"
        return [ipaddress.ip_address("127.0.0.1")]

    async with open_site() as site:
        site.on("/", "<p>here</p>")
        url = f"http://named.example:{site.port}/"
        network = NetworkSettings(allowed_private_hosts=[f"named.example:{site.port}"])
        guard = Guard(allowed_private_hosts=network.allowed_private_hosts, resolver=resolve)
        async with HttpClient(network=network, guard=guard) as client:
            assert b"here" in (await client.fetch(url)).body
        skip_without_browser()
        renderer = Renderer(pages=PagesSettings(), network=network, guard=guard)
        try:
            assert b"here" in (await renderer.render(url)).body
        finally:
            await renderer.close()
    assert json.dumps(sorted(set(site.paths()))) == '["/"]'
