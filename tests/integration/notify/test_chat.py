"""Chat services: Apprise in a process of its own, its only way out a guarded proxy."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from monitor.clock import SystemClock
from monitor.config.model import NetworkSettings
from monitor.config.targets import TargetSettings
from monitor.errors import NotDelivered
from monitor.fetch.outbound import OutboundPolicy
from monitor.notify.chat import ChatChannel
from monitor.notify.notification import Notification

KEY = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
HOST = "qyapi.weixin.qq.com"


def open_chat(target: TargetSettings, network: NetworkSettings) -> ChatChannel:
    return ChatChannel(target=target, policy=OutboundPolicy(network), clock=SystemClock())


@dataclass
class Service:
    """A chat service behind the organisation's proxy, which leads every host to it."""

    answer: str = '{"errcode":0,"errmsg":"ok"}'
    status: str = "200 OK\r\nX-Nothing: 0"
    tunnels: list[str] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0
    secure_port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            length = next(int(part.split(":")[1]) for part in head.lower().split("\r\n") if "content-length" in part)
            self.asked.append((head.split("\r\n")[0], (await reader.readexactly(length)).decode()))
            answer = f"HTTP/1.1 {self.status}\r\nContent-Length: {len(self.answer)}\r\n\r\n{self.answer}"
            writer.write(answer.encode())
            await writer.drain()
        writer.close()

    async def lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.tunnels.append(head.split()[1])
        inner, outer = await asyncio.open_connection("127.0.0.1", self.secure_port)
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await asyncio.gather(_carry(reader, outer), _carry(inner, writer), return_exceptions=True)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()
    writer.close()


@pytest.fixture
async def service(certificate: Callable[..., Path]) -> AsyncIterator[Service]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(f"DNS:{HOST}"))
    service = Service()
    secure = await asyncio.start_server(service.serve, "127.0.0.1", 0, ssl=context)
    proxy = await asyncio.start_server(service.lead, "127.0.0.1", 0)
    async with secure, proxy:
        service.secure_port = secure.sockets[0].getsockname()[1]
        service.port = proxy.sockets[0].getsockname()[1]
        yield service


@pytest.fixture
def channel(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChatChannel:
    monkeypatch.setenv("WECOM_KEY", KEY)
    proxy = f"http://127.0.0.1:{service.port}"
    network = NetworkSettings(proxy=proxy, proxy_suffixes=[HOST], ca_bundle=tmp_path / "made.pem")
    return open_chat(TargetSettings(name="team", url="wecombot://${WECOM_KEY}"), network)


async def test_a_digest_arrives_by_way_of_the_proxy_and_shows_the_key(
    channel: ChatChannel, service: Service, letter: Notification
) -> None:
    await channel.send(letter)
    ((line, body),) = service.asked
    assert KEY in line
    text = json.dumps(json.loads(body), ensure_ascii=False)
    assert all(part in text for part in ("官方动态简报", "1. 能源法", f"#{letter.key[:8]}"))
    assert service.tunnels == [f"{HOST}:443"]


@pytest.mark.parametrize(
    ("status", "answer", "may_retry", "after_s"),
    [
        ("200 OK", '{"errcode":93000,"errmsg":"invalid webhook url"}', True, None),
        ("429 Often\r\nRetry-After: 60", "{}", True, 60.0),
        ("500 Down", "{}", True, None),
        ("404 None", "{}", False, None),
        (f"307 Elsewhere\r\nLocation: https://{HOST}:8443/thief", "{}", False, None),
        (f"302 Elsewhere\r\nLocation: https://{HOST}/thief", "{}", False, None),
    ],
)
async def test_what_the_service_did_not_take_is_not_sent(
    channel: ChatChannel,
    service: Service,
    letter: Notification,
    status: str,
    answer: str,
    may_retry: bool,
    after_s: float | None,
) -> None:
    service.status, service.answer = status, answer
    with pytest.raises(NotDelivered) as raised:
        await channel.send(letter)
    assert (raised.value.may_retry, raised.value.retry_after_s) == (may_retry, after_s)
    assert KEY not in str(raised.value)
    assert "invalid webhook url" not in str(raised.value), "the service's words are not shown"
    assert (len(service.asked), service.tunnels) == (1, [f"{HOST}:443"])


async def test_without_the_proxy_a_private_address_is_refused_and_nothing_is_asked(
    service: Service, letter: Notification
) -> None:
    url = f"workflows://127.0.0.1:{service.secure_port}/{'a' * 32}/{'b' * 43}"
    with pytest.raises(NotDelivered, match="could not be reached"):
        await open_chat(TargetSettings(name="team", url=url), NetworkSettings()).send(letter)
    assert service.asked == []


async def test_a_url_that_apprise_cannot_read_is_said(letter: Notification) -> None:
    target = TargetSettings(name="team", url="tgram://nonsense")
    with pytest.raises(NotDelivered, match="cannot read the url") as raised:
        await open_chat(target, NetworkSettings()).send(letter)
    assert not raised.value.may_retry
