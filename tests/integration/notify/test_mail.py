"""Mail to a real server on loopback."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from monitor.clock import SystemClock
from monitor.config.model import NetworkSettings
from monitor.config.targets import TargetSettings
from monitor.errors import NotDelivered
from monitor.fetch.outbound import OutboundPolicy
from monitor.notify.mail import MailChannel
from monitor.notify.notification import Notification
from tests.conftest import Mailbox

OpenMailbox = Callable[..., Awaitable[Any]]
TO = ["partner@example.org", "clerk@example.org"]


def channel(mailbox: Any, *, scheme: str = "smtp", user: str = "", ca_bundle: Path | None = None) -> MailChannel:
    url = f"{scheme}://{user}127.0.0.1:{mailbox.port}"
    target = TargetSettings(name="partners", url=url, sender="Monitor <monitor@example.org>", to=TO)
    hosts = [f"127.0.0.1:{mailbox.port}"]
    network = NetworkSettings(allowed_private_hosts=hosts, ca_bundle=ca_bundle, timeout_s=5)
    return MailChannel(target=target, policy=OutboundPolicy(network), clock=SystemClock())


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_a_letter_arrives_with_both_texts_its_documents_and_its_own_id(
    open_mailbox: OpenMailbox, letter: Notification
) -> None:
    mailbox = await open_mailbox()
    await channel(mailbox).send(letter)
    (message,) = mailbox.messages()
    assert mailbox.envelopes[0].rcpt_tos == TO
    assert (message["Message-ID"], message["Subject"]) == (letter.message_id, letter.subject)
    assert (message["From"], message["To"]) == ("Monitor <monitor@example.org>", ", ".join(TO))
    assert message["X-Monitor-Delivery"] == letter.id
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain.get_content().split() == letter.text.split()
    assert html.get_content().strip() == letter.html
    assert [(attachment.get_filename(), attachment.get_content()) for attachment in message.iter_attachments()] == [
        ("简报.docx", b"PK")
    ]


async def test_the_headers_are_the_same_at_every_try(open_mailbox: OpenMailbox, letter: Notification) -> None:
    mailbox = await open_mailbox()
    for _ in range(2):
        await channel(mailbox).send(letter)
    first, second = (
        {name: value for name, value in message.items() if name != "Content-Type"} for message in mailbox.messages()
    )
    assert first == second


async def test_a_password_goes_over_tls_alone(
    open_mailbox: OpenMailbox, letter: Notification, certificate: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "right/pass@word")
    user = "monitor:${MAIL_PASSWORD}@"
    own = certificate()
    upgrading = await open_mailbox(signs_in=True, tls_context=server_context(own), auth_require_tls=True)
    await channel(upgrading, user=user, ca_bundle=own).send(letter)
    assert upgrading.sign_ins == [(b"monitor", b"right/pass@word")]
    assert len(upgrading.envelopes) == 1
    secure = await open_mailbox(signs_in=True, ssl=server_context(own), auth_require_tls=False)
    await channel(secure, scheme="smtps", user=user, ca_bundle=own).send(letter)
    assert len(secure.envelopes) == 1
    plain = await open_mailbox(signs_in=True, auth_require_tls=False)
    with pytest.raises(NotDelivered, match="offers no TLS") as raised:
        await channel(plain, user=user).send(letter)
    assert (plain.sign_ins, raised.value.may_retry) == ([], False)


async def test_a_certificate_that_nobody_signed_is_not_spoken_to(
    open_mailbox: OpenMailbox, letter: Notification, certificate: Callable[..., Path]
) -> None:
    mailbox = await open_mailbox(tls_context=server_context(certificate()))
    with pytest.raises(NotDelivered, match="certificate") as raised:
        await channel(mailbox).send(letter)
    assert raised.value.may_retry
    assert mailbox.envelopes == []


async def test_a_wrong_password_is_told_without_it_and_not_tried_again(
    open_mailbox: OpenMailbox, letter: Notification, certificate: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "wrong-and-secret")
    own = certificate()
    mailbox = await open_mailbox(signs_in=True, tls_context=server_context(own), auth_require_tls=True)
    with pytest.raises(NotDelivered, match="535") as raised:
        await channel(mailbox, user="monitor:${MAIL_PASSWORD}@", ca_bundle=own).send(letter)
    assert not raised.value.may_retry
    assert "wrong-and-secret" not in str(raised.value)


async def test_who_was_refused_for_now_is_asked_again_and_nobody_else(
    open_mailbox: OpenMailbox, letter: Notification
) -> None:
    mailbox = await open_mailbox()
    mailbox.refusals = {"clerk@example.org": "451 come back later"}
    with pytest.raises(NotDelivered, match="clerk@") as raised:
        await channel(mailbox).send(letter)
    assert (raised.value.may_retry, raised.value.accepted) == (True, ["partner@example.org"])
    mailbox.refusals = {}
    await channel(mailbox).send(letter, accepted=raised.value.accepted)
    assert [envelope.rcpt_tos for envelope in mailbox.envelopes] == [["partner@example.org"], ["clerk@example.org"]]
    assert {message["Message-ID"] for message in mailbox.messages()} == {letter.message_id}


@pytest.mark.parametrize(("answer", "may_retry"), [("451 busy", True), ("552 too large", False), ("554 spam", False)])
async def test_a_refusal_of_the_text_is_final_only_where_the_server_says_so(
    open_mailbox: OpenMailbox, letter: Notification, answer: str, may_retry: bool
) -> None:
    mailbox = await open_mailbox()
    mailbox.after_data = answer
    with pytest.raises(NotDelivered, match=answer[:3]) as raised:
        await channel(mailbox).send(letter)
    assert raised.value.may_retry is may_retry


async def test_a_server_that_is_away_may_come_back_and_a_private_one_must_be_allowed(
    open_mailbox: OpenMailbox, letter: Notification, free_port: int
) -> None:
    nobody = await open_mailbox()
    nobody.port = free_port
    with pytest.raises(NotDelivered, match="could not be reached") as raised:
        await channel(nobody).send(letter)
    assert raised.value.may_retry
    mailbox = await open_mailbox()
    target = TargetSettings(name="p", url=f"smtp://127.0.0.1:{mailbox.port}", sender="m@example.org", to=TO)
    mail = MailChannel(target=target, policy=OutboundPolicy(NetworkSettings()), clock=SystemClock())
    with pytest.raises(NotDelivered, match="allowed_private_hosts") as raised:
        await mail.send(letter)
    assert (raised.value.may_retry, mailbox.envelopes) == (False, [])


async def test_a_refusal_gives_its_codes_and_no_word_of_the_server(
    open_mailbox: OpenMailbox, letter: Notification
) -> None:
    mailbox = await open_mailbox()
    mailbox.after_data = "554 5.7.1 INNER says no"
    with pytest.raises(NotDelivered, match=r"answered 554 5\.7\.1\.") as raised:
        await channel(mailbox).send(letter)
    assert "INNER" not in str(raised.value)
    mailbox.refusals = dict.fromkeys(TO, "550 INNER says no")
    with pytest.raises(NotDelivered, match=r"clerk@example\.org \(550\)") as raised:
        await channel(mailbox).send(letter)
    assert "INNER" not in str(raised.value)


@pytest.mark.parametrize(
    ("greeting", "said"),
    [(b"+OK INNER ready\r\n", "not a mail server"), (b"220-INNER " + b"x" * 4000 + b"\r\n", "no end")],
    ids=["another protocol", "without end"],
)
async def test_what_is_no_mail_server_is_left_and_not_quoted(letter: Notification, greeting: bytes, said: str) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            for _ in range(2000):
                writer.write(greeting)
                await writer.drain()
            await reader.read()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        place = Mailbox(port=server.sockets[0].getsockname()[1])
        with pytest.raises(NotDelivered, match=said) as raised:
            await channel(place).send(letter)
    assert "INNER" not in str(raised.value)
