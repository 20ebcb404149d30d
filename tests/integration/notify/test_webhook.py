"""Webhooks to a real server on loopback."""

import asyncio
import base64
import hashlib
import hmac
import json
from typing import Any

import pytest

from monitor.config.model import NetworkSettings
from monitor.config.targets import TargetSettings
from monitor.errors import NotDelivered
from monitor.fetch.outbound import OutboundPolicy
from monitor.notify.notification import Notification
from monitor.notify.webhook import WebhookChannel


@pytest.fixture
def channel(site: Any, network: NetworkSettings, clock: Any, monkeypatch: pytest.MonkeyPatch) -> WebhookChannel:
    monkeypatch.setenv("HOOK_SECRET", "s3cret")
    monkeypatch.setenv("HOOK_TOKEN", "t0ken-in-the-path")
    url = site.url("/hook/${HOOK_TOKEN}")
    target = TargetSettings(name="intranet", url=url, secret_env="HOOK_SECRET")  # noqa: S106 -- the variable's name
    fast = network.model_copy(update={"timeout_s": 1.0})
    return WebhookChannel(target=target, policy=OutboundPolicy(fast), clock=clock)


PATH = "/hook/t0ken-in-the-path"


async def test_the_body_is_signed_and_the_key_is_the_same_at_every_try(
    channel: WebhookChannel, site: Any, letter: Notification
) -> None:
    site.on(PATH, "ok")
    for _ in range(2):
        await channel.send(letter)
    first, second = site.asked
    assert (first.method, first.body) == ("POST", second.body)
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"] == letter.key
    signed = first.headers["x-monitor-timestamp"].encode() + b"." + first.body
    assert first.headers["x-monitor-signature"] == "sha256=" + hmac.new(b"s3cret", signed, hashlib.sha256).hexdigest()
    report = json.loads(first.body)
    assert {name: report[name] for name in ("id", "key", "kind", "target", "title", "briefing")} == {
        "id": letter.id,
        "key": letter.key,
        "kind": "planned",
        "target": "partners",
        "title": letter.subject,
        "briefing": letter.payload["briefing"],
    }
    (document,) = report["documents"]
    assert (document["name"], base64.b64decode(document["base64"])) == ("简报.docx", b"PK")


@pytest.mark.parametrize(
    ("status", "headers", "may_retry", "after_s"),
    [
        (500, {}, True, None),
        (503, {"Retry-After": "120"}, True, 120.0),
        (429, {"Retry-After": "Sat, 21 Nov 2026 09:00:00 GMT"}, True, 3600.0),
        (408, {}, True, None),
        (400, {}, False, None),
        (404, {}, False, None),
        (302, {"Location": "/elsewhere"}, False, None),
    ],
)
async def test_an_answer_says_whether_to_come_back_and_when(
    channel: WebhookChannel,
    site: Any,
    letter: Notification,
    reply: Any,
    status: int,
    headers: dict[str, str],
    may_retry: bool,
    after_s: float | None,
) -> None:
    site.on(PATH, reply("s3cret t0ken-in-the-path, says the page", status, headers))
    site.on("/elsewhere", "ok")
    with pytest.raises(NotDelivered, match=str(status)) as raised:
        await channel.send(letter)
    assert (raised.value.may_retry, raised.value.retry_after_s) == (may_retry, after_s)
    assert site.paths() == [PATH]
    assert "s3cret" not in str(raised.value)
    assert "t0ken" not in str(raised.value)


async def test_silence_and_a_lost_connection_may_pass(channel: WebhookChannel, site: Any, letter: Notification) -> None:
    asked = asyncio.Event()

    async def silent(writer: asyncio.StreamWriter) -> None:
        asked.set()
        await asyncio.Event().wait()

    async def broken(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 2")

    for how in (silent, broken):
        site.on(PATH, lambda _asked, how=how: how)
        with pytest.raises(NotDelivered) as raised:
            await channel.send(letter)
        assert raised.value.may_retry
        assert "t0ken" not in str(raised.value)
    assert asked.is_set()


async def test_a_private_address_is_asked_only_where_it_is_allowed(site: Any, letter: Notification, clock: Any) -> None:
    target = TargetSettings(name="intranet", url=site.url("/hook"))
    with pytest.raises(NotDelivered, match="allowed_private_hosts") as raised:
        await WebhookChannel(target=target, policy=OutboundPolicy(NetworkSettings()), clock=clock).send(letter)
    assert (raised.value.may_retry, site.asked) == (False, [])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": {"code": "no_such_hook", "message": "INNER"}}', "400 with the error no_such_hook."),
        ('{"code": "INNER in words", "message": "INNER"}', "answered 400."),
        ("INNER", "answered 400."),
    ],
)
async def test_an_answer_gives_its_error_code_and_no_other_word(
    channel: WebhookChannel, site: Any, letter: Notification, reply: Any, body: str, said: str
) -> None:
    site.on(PATH, reply(body, 400))
    with pytest.raises(NotDelivered) as raised:
        await channel.send(letter)
    assert said in str(raised.value)
    assert "INNER" not in str(raised.value)


async def test_a_server_of_another_kind_is_not_quoted(channel: WebhookChannel, site: Any, letter: Notification) -> None:
    async def greet(writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-INNER\r\n\r\n" * 10)
        await writer.drain()

    site.on(PATH, lambda _: greet)
    with pytest.raises(NotDelivered, match="not HTTP") as raised:
        await channel.send(letter)
    assert "INNER" not in str(raised.value)
