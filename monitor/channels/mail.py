"""Letters to people: mail over SMTP."""

import asyncio
import smtplib
import socket
import ssl
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime
from urllib.parse import urlsplit

from monitor.channels.answers import of_failure, one_line, without_secrets
from monitor.domain.deliveries import Letter
from monitor.errors import NotDelivered, SettingsError
from monitor.net.failure import FetchFailed
from monitor.net.guard import Address, Guard
from monitor.net.tls import tls_context
from monitor.settings import NetworkSettings
from monitor.settings.targets import TargetSettings

_PORTS = {"smtp": 587, "smtps": 465}
_REFUSED_FOR_GOOD = 500


class MailChannel:
    """Sends a letter through a mail server (`ports.Channel`).

    `smtps` speaks TLS from the first byte; `smtp` changes to it where the server offers it, and must before a password
    is sent. The server's address is under the guard; it is connected to directly, not through `network.proxy`.
    """

    def __init__(self, target: TargetSettings, network: NetworkSettings, guard: Guard) -> None:
        self._target = target
        self._network = network
        self._guard = guard

    async def send(self, letter: Letter, *, accepted: Collection[str] = ()) -> None:
        """Hand it to the server for every address that does not have it; `NotDelivered` says who has it now."""
        parts = urlsplit(self._target.url)
        host, port = parts.hostname or "", parts.port or _PORTS[self._target.scheme]
        left = [address for address in self._target.to if address not in accepted]
        try:
            addresses = await self._guard.addresses(host, port)
            await asyncio.to_thread(self._hand_over, host, addresses, port, message_of(letter, self._target), left)
        except FetchFailed as failure:
            raise of_failure(failure) from None
        except NotDelivered as error:
            raise without_secrets(error, self._target.secrets()) from None

    def _hand_over(
        self, host: str, addresses: Sequence[Address], port: int, message: EmailMessage, left: Sequence[str]
    ) -> None:
        context = tls_context(ca_bundle=self._network.ca_bundle, allow_legacy_tls=self._network.allow_legacy_tls)
        is_secure = self._target.scheme == "smtps"
        try:
            server = _Server(host, addresses, port, self._network.timeout_s, context if is_secure else None)
            try:
                self._enter(server, context, is_secure=is_secure)
                refused = server.send_message(message, to_addrs=list(left))
            finally:
                with suppress(smtplib.SMTPException, OSError):
                    server.quit()
        except smtplib.SMTPRecipientsRefused as error:
            refused = error.recipients
        except smtplib.SMTPResponseException as error:
            raise _answered(error.smtp_code, error.smtp_error) from None
        except smtplib.SMTPNotSupportedError as error:
            raise NotDelivered(f"The mail server cannot do what is asked of it: {one_line(str(error))}.") from None
        except smtplib.SMTPException as error:
            raise NotDelivered(f"The mail server broke off: {one_line(str(error))}.", may_retry=True) from None
        except OSError as error:
            reason = f"The mail server {host}:{port} was not reached: {one_line(str(error) or type(error).__name__)}."
            raise NotDelivered(reason, may_retry=True) from None
        if refused:
            raise _refused(refused, left)

    def _enter(self, server: smtplib.SMTP, context: ssl.SSLContext, *, is_secure: bool) -> None:
        server.ehlo_or_helo_if_needed()
        if not is_secure and server.has_extn("starttls"):
            server.starttls(context=context)
            server.ehlo()
            is_secure = True
        user_and_password = self._target.sign_in()
        if user_and_password is None:
            return
        if not is_secure:
            raise NotDelivered("The mail server offers no TLS, and the password is not sent without: use smtps://.")
        server.login(*user_and_password)


class _Server(smtplib.SMTP):
    """The library's client, connected to the very addresses that the guard passed; TLS is about the name."""

    def __init__(
        self, host: str, addresses: Sequence[Address], port: int, timeout_s: float, context: ssl.SSLContext | None
    ) -> None:
        self._addresses = addresses
        self._context = context
        super().__init__(host, port, timeout=timeout_s)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        failure: OSError | None = None
        for address in self._addresses:
            try:
                connected = socket.create_connection((str(address), port), timeout)
            except OSError as error:
                failure = error
                continue
            return self._context.wrap_socket(connected, server_hostname=host) if self._context else connected
        raise failure or OSError(f"{host} has no address")


def message_of(letter: Letter, target: TargetSettings) -> EmailMessage:
    """The letter as mail: plain text, the same as html, the documents attached; the same bytes of header every time."""
    message = EmailMessage(policy=policy.SMTP)
    try:
        message["From"] = target.sender or ""
        message["To"] = ", ".join(target.to)
    except (ValueError, IndexError):
        raise SettingsError(f"The target {target.name} has an address that no mail server understands.") from None
    message["Subject"] = one_line(letter.subject)
    message["Date"] = format_datetime(letter.planned_at)
    message["Message-ID"] = letter.message_id
    message["Auto-Submitted"] = "auto-generated"
    message["X-Monitor-Delivery"] = one_line(letter.id)
    message.set_content(_sendable(letter.text), cte="base64")
    message.add_alternative(_sendable(letter.html), subtype="html", cte="base64")
    for enclosure in letter.enclosures:
        kind, _, subtype = enclosure.media_type.partition("/")
        message.add_attachment(enclosure.content, maintype=kind, subtype=subtype, filename=enclosure.name)
    return message


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _answered(code: int, words: bytes | str) -> NotDelivered:
    said = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    message = f"The mail server answered {code}: {one_line(said)}."
    return NotDelivered(message, may_retry=code < _REFUSED_FOR_GOOD)


def _refused(refused: Mapping[str, tuple[int, bytes]], left: Sequence[str]) -> NotDelivered:
    words = "; ".join(
        f"{address} ({code} {one_line(said.decode('utf-8', 'replace'))})" for address, (code, said) in refused.items()
    )
    return NotDelivered(
        f"The mail server refused {words}.",
        may_retry=any(code < _REFUSED_FOR_GOOD for code, _ in refused.values()),
        accepted=[address for address in left if address not in refused],
    )
