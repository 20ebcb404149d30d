"""Ways to inner addresses, from all that goes out, with and without a proxy of the organisation.

The proxies lead everywhere and resolve every name to this machine, as one that stands in the inner network would. They
log what they are asked for: a request that only they would have stopped counts as one that arrived.
"""

import asyncio
import contextlib
import datetime as dt
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
from pydantic import ValidationError

from monitor.clock import SystemClock
from monitor.config.llm import LlmSettings
from monitor.config.model import BrowserSettings, NetworkSettings, PagesSettings, Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.db.tables.delivery import DeliveryKind
from monitor.errors import BrowserMissing, MonitorError
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.guard import Address, Guard
from monitor.fetch.outbound import OutboundPolicy
from monitor.fetch.transport import SiteTransport
from monitor.isolation.pool import WorkerPool
from monitor.llm.chat import ChatMessage, CompletionRequest
from monitor.llm.client import ModelClient
from monitor.notify.chat import ChatChannel
from monitor.notify.mail import MailChannel
from monitor.notify.notification import Digest, Notification
from monitor.notify.webhook import WebhookChannel
from monitor.pages.loader import Loader
from monitor.search.backends.archive import ArchiveSearch
from monitor.search.contract import SearchQuery
from monitor.search.registry import SearchBackends
from monitor.vocabulary import Phase, Render
from tests.integration.conftest import Reply

pytestmark = pytest.mark.asyncio(loop_scope="module")

# The host and port of each way; "{port}" is that of the server that must not be reached.
ADDRESSES = {
    "loopback": "127.0.0.1:{port}",
    "loopback elsewhere": "127.8.9.1:{port}",
    "localhost": "localhost:{port}",
    "localhost, dotted": "localhost.:{port}",
    "below localhost": "a.localhost:{port}",
    "one number": "2130706433:{port}",
    "hexadecimal": "0x7f.1:{port}",
    "hexadecimal number": "0x7f000001:{port}",
    "octal": "0177.0.0.1:{port}",
    "short": "127.1:{port}",
    "trailing dot": "127.0.0.1.:{port}",
    "percent-encoded": "127.0.0.%31:{port}",
    "full-width digits": "１２７.０.０.１:{port}",
    "ideographic dots": "127。0。0。1:{port}",
    "circled digits": "①②⑦.⓪.⓪.①:{port}",
    "circled letters": "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:{port}",
    "this network": "0.0.0.0:{port}",
    "zero": "0:{port}",
    "IPv6 loopback": "[::1]:{port}",
    "IPv6 any": "[::]:{port}",
    "IPv6-mapped": "[::ffff:127.0.0.1]:{port}",
    "IPv6-mapped, hexadecimal": "[::ffff:7f00:1]:{port}",
    "IPv6-compatible": "[::127.0.0.1]:{port}",
    "IPv6 NAT64": "[64:ff9b::7f00:1]:{port}",
    "IPv6 local NAT64": "[64:ff9b:1::7f00:1]:{port}",
    "IPv6 6to4": "[2002:7f00:1::]:{port}",
    "IPv6 link-local": "[fe80::1]:{port}",
    "IPv6 unique local": "[fc00::1]:{port}",
    "private 10": "10.0.0.1:{port}",
    "private 192": "192.168.1.1:{port}",
    "metadata": "169.254.169.254:{port}",
    "metadata by name": "metadata.google.internal:{port}",
    "one label": "intranet:{port}",
    "a name for an inner address": "inner.example:{port}",
    "a name for a public and an inner one": "both.example:{port}",
    "a name for a mapped address": "mapped.example:{port}",
    "a name that changes its address": "rebinding.example:{port}",
    "a name that only the proxy knows": "wiki.corp.example:{port}",
    "a name made of an address": "127.0.0.1.nip.example:{port}",
    "user before loopback": "user:secret@127.0.0.1:{port}",
    "public name as user": "public.example@127.0.0.1:{port}",
    "public name and port as user": "public.example:80@127.0.0.1:{port}",
    "backslash before at": "127.0.0.1:{port}\\@public.example",
}
PROXIED_NAME = "outside.example"  # a name that only the proxy knows, and that it may be asked for
NAMES = {
    "inner.example": ["10.1.2.3"],
    "both.example": ["93.184.216.34", "127.0.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "localhost": ["127.0.0.1"],
}
# A server that is connected to at once gets the address that was checked: one that is not there, outside.
CONNECTED_AS_CHECKED = {"a name that changes its address"}
LETTER = Notification(
    id="t-1",
    key="0123456789abcdef0123456789abcdef",
    message_id="<0123@example.org>",
    target="t",
    kind=DeliveryKind.TEST,
    planned_at=dt.datetime(2026, 3, 2, tzinfo=dt.UTC),
    subject="subject",
    text="text",
    html="<p>text</p>",
    digest=Digest(head="head", points=["1. point"], more="{} more"),
    payload={},
)


@dataclass
class OpenProxy:
    """Speaks HTTP and SOCKS5 on one port, and leads all that it is asked for to this machine."""

    port: int = 0
    asked: list[tuple[str, int]] = field(default_factory=list)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            first = await reader.readexactly(1)
            await (self._serve_socks(reader, writer) if first == b"\x05" else self._serve_http(first, reader, writer))
        writer.close()

    async def _serve_socks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly((await reader.readexactly(1))[0])
        writer.write(b"\x05\x00")
        _, _, _, kind = await reader.readexactly(4)
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        port = int.from_bytes(await reader.readexactly(2))
        await self._lead(host, port, reader, writer, b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", b"")

    async def _serve_http(self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = first + await reader.readuntil(b"\r\n\r\n")
        line, _, rest = head.partition(b"\r\n")
        method, target, _ = line.decode().split(" ")
        place = target if method == "CONNECT" else target.split("/")[2]
        host, _, port = place.rpartition(":") if place.rpartition(":")[2].isdigit() else (place, "", "80")
        greeting, sent = b"HTTP/1.1 200 Connected\r\n\r\n", b""
        if method != "CONNECT":
            path = "/" + target.split("/", 3)[3]
            greeting, sent = b"", f"{method} {path} HTTP/1.1\r\nConnection: close\r\n".encode() + rest
        await self._lead(host, int(port), reader, writer, greeting, sent)

    async def _lead(
        self,
        host: str,
        port: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        greeting: bytes,
        sent: bytes,
    ) -> None:
        self.asked.append((host, port))
        there, to_there = await asyncio.open_connection("127.0.0.1", port)
        writer.write(greeting)
        to_there.write(sent)
        back = asyncio.create_task(copy(there, writer))
        try:
            await asyncio.wait({asyncio.create_task(copy(reader, to_there)), back}, return_when="FIRST_COMPLETED")
            await back
        finally:
            to_there.close()


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()


class Neighbour(asyncio.Protocol):
    """A server in the inner network that must not be reached."""

    calls = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        type(self).calls += 1
        transport.close()


class World:
    def __init__(self, site: Any, proxy: OpenProxy, port: int, folder: Any, store: Store, workers: WorkerPool) -> None:
        self.site, self.proxy, self.port, self.folder, self.store = site, proxy, port, folder, store
        self.workers = workers
        self.lookups = 0

    async def resolve(self, host: str, _port: int) -> list[Address]:
        if host == "rebinding.example":
            self.lookups += 1
            return [ipaddress.ip_address("93.184.216.34" if self.lookups == 1 else "127.0.0.1")]
        if host not in NAMES:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [ipaddress.ip_address(address) for address in NAMES[host]]

    def configure(self, kind: str) -> NetworkSettings:
        """The settings of an operator who has one site on this machine, and names that only the proxy knows."""
        proxy = None if kind == "direct" else f"{kind}://127.0.0.1:{self.proxy.port}"
        network = NetworkSettings(
            proxy=proxy, proxy_suffixes=[PROXIED_NAME], allowed_private_hosts=[self.site.host], timeout_s=2
        )
        return network.with_service_hosts([f"127.0.0.1:{self.site.port}"])

    def fill(self, way: str) -> str:
        return ADDRESSES[way].replace("{port}", str(self.port))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(
    open_site: Any, sqlite_template: Any, tmp_path_factory: pytest.TempPathFactory, workers: WorkerPool
) -> AsyncIterator[World]:
    listening = socket.create_server(("", 0))
    inner = socket.create_server(("::1", listening.getsockname()[1]), family=socket.AF_INET6)
    loop, proxy = asyncio.get_running_loop(), OpenProxy()
    servers = [await loop.create_server(Neighbour, sock=sock) for sock in (listening, inner)]
    relay = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = relay.sockets[0].getsockname()[1]
    folder = tmp_path_factory.mktemp("world")
    url = f"sqlite:///{folder / 'monitor.db'}"
    (folder / "monitor.db").write_bytes(sqlite_template.read_bytes())
    async with open_site() as site, Store.open(url) as store:
        yield World(site, proxy, listening.getsockname()[1], folder, store, workers)
    for task in list(proxy.tasks):
        task.cancel()
    await asyncio.gather(*proxy.tasks, return_exceptions=True)
    for server in (*servers, relay):
        server.close()
        await server.wait_closed()


@pytest.fixture
def world(shared: World) -> World:
    shared.site.forget()
    shared.proxy.asked.clear()
    Neighbour.calls = 0
    return shared


Attempt = Callable[[str], Awaitable[None]]
"""Sends something to a place, as `127.0.0.1:80`; raises what was said of it."""


@contextlib.asynccontextmanager
async def open_pages(world: World, network: NetworkSettings) -> AsyncIterator[Loader]:
    pages, clock = PagesSettings(delay_s=0, timeout_s=10, render="never", respect_robots=False), SystemClock()
    guard = Guard.from_settings(network, resolver=world.resolve)
    sites = SiteTransport.from_settings(pages=pages, network=network, clock=clock, guard=guard, cache_folder=None)
    async with Loader(pages=pages, clock=clock, guard=guard, workers=world.workers, transport=sites) as loader:
        yield loader


async def load(loader: Loader, url: str) -> None:
    page = await loader.for_run().load(url)
    if page.error is not None:
        raise MonitorError(page.error.message)


@contextlib.asynccontextmanager
async def as_source(world: World, network: NetworkSettings) -> AsyncIterator[Attempt]:
    """An editor's source, or a link on a page: both are loaded as they stand."""
    async with open_pages(world, network) as loader:
        yield lambda place: load(loader, f"http://{place}/")


@contextlib.asynccontextmanager
async def as_redirect(world: World, network: NetworkSettings) -> AsyncIterator[Attempt]:
    async with open_pages(world, network) as loader:

        async def follow(place: str) -> None:
            headers = {"location": f"http://{place}/".encode().decode("latin-1")}
            await load(loader, world.site.on("/start", Reply(status=302, headers=headers)))

        yield follow


@contextlib.asynccontextmanager
async def as_model(world: World, network: NetworkSettings) -> AsyncIterator[Attempt]:
    async def ask(place: str) -> None:
        llm = LlmSettings(base_url=f"http://{place}/v1", max_retries=0, timeout_s=2)
        client = ModelClient(llm, OutboundPolicy(network, resolver=world.resolve))
        try:
            await client.ask_once("m", CompletionRequest([ChatMessage(role="user", content="?")], phase=Phase.PLAN))
        finally:
            await client.close()

    yield ask


@contextlib.asynccontextmanager
async def as_webhook(world: World, network: NetworkSettings) -> AsyncIterator[Attempt]:
    async def send(place: str) -> None:
        target = TargetSettings(name="t", url=f"http://{place}/hook")
        policy = OutboundPolicy(network, resolver=world.resolve)
        await WebhookChannel(target=target, policy=policy, clock=SystemClock()).send(LETTER)

    yield send


@contextlib.asynccontextmanager
async def as_mail(world: World, network: NetworkSettings) -> AsyncIterator[Attempt]:
    async def send(place: str) -> None:
        target = TargetSettings(name="t", url=f"smtp://{place}", sender="m@example.org", to=["a@example.org"])
        policy = OutboundPolicy(network, resolver=world.resolve)
        await MailChannel(target=target, policy=policy, clock=SystemClock()).send(LETTER)

    yield send


@contextlib.asynccontextmanager
async def as_search(world: World, network: NetworkSettings) -> AsyncIterator[Attempt]:
    opened: list[SearchBackends] = []

    async def search(place: str) -> None:
        settings = Settings(
            data_dir=world.folder,
            network=network,
            search={"cache_s": 0, "backends": {"searxng": {"base_url": f"http://{place}"}}},
        )
        backends = SearchBackends(
            settings=settings,
            searches=world.store.searches,
            archive=ArchiveSearch(fulltext=world.store.fulltext, score_item=lambda relevance, *_: relevance),
            clock=SystemClock(),
            new_client=OutboundPolicy(network, resolver=world.resolve).open_client,
        )
        opened.append(backends)
        for error in (await backends.build_search(["searxng"]).search(SearchQuery(text="x"), 3)).errors:
            raise MonitorError(error.message)

    yield search
    for backends in opened:
        await backends.close()


ROUTES = {
    "source or link": as_source,
    "redirect": as_redirect,
    "model": as_model,
    "webhook": as_webhook,
    "mail": as_mail,
    "search": as_search,
}
NETWORKS = ("direct", "http", "socks5")


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("route", ROUTES)
async def test_no_way_leads_to_an_inner_address(world: World, route: str, kind: str) -> None:
    async with ROUTES[route](world, world.configure(kind)) as attempt:
        for way in ADDRESSES:
            if route == "mail" and way in CONNECTED_AS_CHECKED:
                continue
            world.lookups = 0
            with pytest.raises((MonitorError, ValidationError)):
                await attempt(world.fill(way))
    assert Neighbour.calls == 0
    assert {port for _, port in world.proxy.asked} <= {world.site.port}


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("route", [route for route in ROUTES if route != "mail"])
async def test_the_same_senders_reach_what_they_may(world: World, route: str, kind: str) -> None:
    for path in ("/", "/hook", "/v1/chat/completions", "/search"):
        world.site.on(path, f"<html><body><p>{'text ' * 60}</p></body></html>")
    # What is in the private network is not asked of a proxy, to which the same address would be another machine.
    places = [world.site.host] if kind == "direct" else [world.site.host, f"{PROXIED_NAME}:{world.site.port}"]
    async with ROUTES[route](world, world.configure(kind)) as attempt:
        for place in places:
            world.site.asked.clear()
            with contextlib.suppress(MonitorError):  # what answers is a page, to whoever asks
                await attempt(place)
            assert len(world.site.paths()) == (2 if route == "redirect" else 1)
    assert world.proxy.asked == [(PROXIED_NAME, world.site.port) for _ in places[1:]]


@pytest.mark.parametrize("kind", NETWORKS)
async def test_a_script_of_a_page_reaches_no_inner_address(world: World, kind: str) -> None:
    try:
        find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))
    tries = "".join(
        f"<iframe src='http://{place}/'></iframe><script>fetch('http://{place}/', {{mode: 'no-cors'}})"
        ".catch(() => 0)</script>"
        for place in (world.fill(way).replace("\\", "\\\\") for way in ADDRESSES)
    )
    says = "<script>document.title = document.querySelector('h1').textContent = 'The script ran'</script>"
    url = world.site.on("/", f"<html><body><h1>Nothing ran</h1><p>{'text ' * 60}</p>{tries}{says}</body>")
    world.lookups = 0
    async with open_pages(world, world.configure(kind)) as loader:
        page = await loader.for_run().load(url, render=Render.ALWAYS)
    assert (page.error, page.title) == (None, "The script ran")
    assert Neighbour.calls == 0
    assert {port for _, port in world.proxy.asked} <= {world.site.port}


@pytest.mark.parametrize("kind", NETWORKS)
async def test_a_chat_service_leads_to_no_inner_address(world: World, kind: str) -> None:
    policy = OutboundPolicy(world.configure(kind), resolver=world.resolve)
    names = ("loopback", "a name for an inner address", "a name that only the proxy knows")

    async def send(place: str) -> None:
        target = TargetSettings(name="t", url=f"workflows://{place}/{'a' * 32}/{'b' * 43}")
        with pytest.raises(MonitorError):
            await ChatChannel(target=target, policy=policy, clock=SystemClock()).send(LETTER)

    await asyncio.gather(*(send(world.fill(way)) for way in names))
    assert (Neighbour.calls, world.proxy.asked) == (0, [])
