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

from monitor.config.model import NetworkSettings
from monitor.config.targets import TargetSettings
from monitor.errors import NotDelivered, SettingsError
from monitor.fetch.client import build_tls_context
from monitor.fetch.guard import Address, Guard
from monitor.fetch.result import FetchError
from monitor.notify.notification import Notification, flatten_text, map_fetch_error, redact_secrets

_DEFAULT_PORTS = {"smtp": 587, "smtps": 465}
_MIN_PERMANENT_CODE = 500


class MailChannel:
    """Sends a letter through a mail server (`ports.Channel`).

    `smtps` speaks TLS from the first byte; `smtp` changes to it where the server offers it, and must before a password
    is sent. The server's address is under the guard; it is connected to directly, not through `network.proxy`.
    """

    def __init__(self, target: TargetSettings, network: NetworkSettings, guard: Guard) -> None:
        self._target = target
        self._network = network
        self._guard = guard

    async def send(self, notification: Notification, *, accepted: Collection[str] = ()) -> None:
        """Hand it to the server for every address that does not have it; `NotDelivered` says who has it now."""
        parts = urlsplit(self._target.url)
        host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS[self._target.scheme]
        left = [address for address in self._target.to if address not in accepted]
        try:
            addresses = await self._guard.resolve(host, port)
            await asyncio.to_thread(
                self._deliver, host, addresses, port, build_message(notification, self._target), left
            )
        except FetchError as failure:
            raise map_fetch_error(failure) from None
        except NotDelivered as error:
            raise redact_secrets(error, self._target.list_secrets()) from None

    def _deliver(
        self, host: str, addresses: Sequence[Address], port: int, message: EmailMessage, recipients: Sequence[str]
    ) -> None:
        context = build_tls_context(ca_bundle=self._network.ca_bundle, allow_legacy_tls=self._network.allow_legacy_tls)
        is_secure = self._target.scheme == "smtps"
        try:
            server = _PinnedSmtpClient(host, addresses, port, self._network.timeout_s, context if is_secure else None)
            try:
                self._log_in(server, context, is_secure=is_secure)
                refused = server.send_message(message, to_addrs=list(recipients))
            finally:
                with suppress(smtplib.SMTPException, OSError):
                    server.quit()
        except smtplib.SMTPRecipientsRefused as error:
            refused = error.recipients
        except smtplib.SMTPResponseException as error:
            raise _map_smtp_response(error.smtp_code, error.smtp_error) from None
        except smtplib.SMTPNotSupportedError as error:
            raise NotDelivered(f"The mail server cannot do what is asked of it: {flatten_text(str(error))}.") from None
        except smtplib.SMTPException as error:
            raise NotDelivered(f"The mail server broke off: {flatten_text(str(error))}.", may_retry=True) from None
        except OSError as error:
            reason = (
                f"The mail server {host}:{port} was not reached: {flatten_text(str(error) or type(error).__name__)}."
            )
            raise NotDelivered(reason, may_retry=True) from None
        if refused:
            raise _build_refusal(refused, recipients)

    def _log_in(self, server: smtplib.SMTP, context: ssl.SSLContext, *, is_secure: bool) -> None:
        server.ehlo_or_helo_if_needed()
        if not is_secure and server.has_extn("starttls"):
            server.starttls(context=context)
            server.ehlo()
            is_secure = True
        user_and_password = self._target.load_credentials()
        if user_and_password is None:
            return
        if not is_secure:
            raise NotDelivered("The mail server offers no TLS, and the password is not sent without: use smtps://.")
        server.login(*user_and_password)


class _PinnedSmtpClient(smtplib.SMTP):
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


def build_message(notification: Notification, target: TargetSettings) -> EmailMessage:
    """The letter as mail: plain text, the same as html, the documents attached; the same bytes of header every time."""
    message = EmailMessage(policy=policy.SMTP)
    try:
        message["From"] = target.sender or ""
        message["To"] = ", ".join(target.to)
    except (ValueError, IndexError):
        raise SettingsError(f"The target {target.name} has an address that no mail server understands.") from None
    message["Subject"] = flatten_text(notification.subject)
    message["Date"] = format_datetime(notification.planned_at)
    message["Message-ID"] = notification.message_id
    message["Auto-Submitted"] = "auto-generated"
    message["X-Monitor-Delivery"] = flatten_text(notification.id)
    message.set_content(_replace_surrogates(notification.text), cte="base64")
    message.add_alternative(_replace_surrogates(notification.html), subtype="html", cte="base64")
    for enclosure in notification.attachments:
        kind, _, subtype = enclosure.media_type.partition("/")
        message.add_attachment(enclosure.content, maintype=kind, subtype=subtype, filename=enclosure.name)
    return message


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _map_smtp_response(code: int, text: bytes | str) -> NotDelivered:
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    message = f"The mail server answered {code}: {flatten_text(said)}."
    return NotDelivered(message, may_retry=code < _MIN_PERMANENT_CODE)


def _build_refusal(refused: Mapping[str, tuple[int, bytes]], recipients: Sequence[str]) -> NotDelivered:
    words = "; ".join(
        f"{address} ({code} {flatten_text(said.decode('utf-8', 'replace'))})"
        for address, (code, said) in refused.items()
    )
    return NotDelivered(
        f"The mail server refused {words}.",
        may_retry=any(code < _MIN_PERMANENT_CODE for code, _ in refused.values()),
        accepted=[address for address in recipients if address not in refused],
    )
