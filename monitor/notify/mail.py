"""The channel to people: mail over SMTP, with plain text, HTML and attachments."""

import asyncio
import re
import smtplib
import socket
import ssl
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime
from typing import BinaryIO
from urllib.parse import urlsplit

from monitor.config.targets import TargetSettings
from monitor.errors import NotDelivered, SettingsError
from monitor.fetch.guard import Address
from monitor.fetch.result import FetchError
from monitor.notify.notification import Channel, Notification, flatten_text, map_fetch_error, redact_secrets

_DEFAULT_PORTS = {"smtp": 587, "smtps": 465}
_MIN_PERMANENT_CODE = 500
_MAX_REPLY_BYTES = 1_048_576
_MAX_SESSION_S = 900.0
_UNDISCLOSED = "undisclosed-recipients:;"
_ENHANCED_CODE = re.compile(r"[245]\.\d{1,3}\.\d{1,3}\b")


class MailChannel(Channel):
    """Sends a notification through a mail server.

    `smtps` uses TLS from the start; `smtp` changes to it where the server offers it, and must before a password is
    sent. The guard checks the server's address; the connection is direct, not through `network.proxy`.
    """

    async def send(self, notification: Notification, *, accepted: Collection[str] = ()) -> None:
        """Send to every address that does not have it; `NotDelivered` lists those that have it now."""
        server = urlsplit(self.target.url)
        host, port = server.hostname or "", server.port or _DEFAULT_PORTS[self.target.scheme]
        receivers = [notification.test_to] if notification.test_to else [*self.target.to, *self.target.bcc]
        left = [address for address in dict.fromkeys(receivers) if address not in accepted]
        try:
            addresses = await self.policy.guard.resolve(host, port)
            await asyncio.to_thread(
                self._deliver, host, addresses, port, build_message(notification, self.target), left
            )
        except FetchError as failure:
            raise map_fetch_error(failure) from None
        except NotDelivered as error:
            raise redact_secrets(error, self.target.list_secrets()) from None

    def _deliver(
        self, host: str, addresses: Sequence[Address], port: int, message: EmailMessage, recipients: Sequence[str]
    ) -> None:
        context = self.policy.build_tls_context()
        is_secure = self.target.scheme == "smtps"
        try:
            timeout_s = self.policy.network.timeout_s
            server = _PinnedSmtpClient(host, addresses, port, timeout_s, context if is_secure else None)
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
            raise NotDelivered("notify.mail_unsupported", reason=flatten_text(str(error))) from None
        except smtplib.SMTPException as error:
            raise NotDelivered("notify.mail_interrupted", may_retry=True, reason=flatten_text(str(error))) from None
        except OSError as error:
            reason = flatten_text(str(error) or type(error).__name__)
            raise NotDelivered(
                "notify.mail_unreachable", may_retry=True, server=f"{host}:{port}", reason=reason
            ) from None
        if refused:
            raise _build_refusal(refused, recipients)

    def _log_in(self, server: smtplib.SMTP, context: ssl.SSLContext, *, is_secure: bool) -> None:
        server.ehlo_or_helo_if_needed()
        if not is_secure and server.has_extn("starttls"):
            server.starttls(context=context)
            server.ehlo()
            is_secure = True
        user_and_password = self.target.load_credentials()
        if user_and_password is None:
            return
        if not is_secure:
            raise NotDelivered("notify.mail_without_tls")
        server.login(*user_and_password)


class _PinnedSmtpClient(smtplib.SMTP):
    """Connects to the very addresses that the guard checked; TLS verifies the host name."""

    def __init__(
        self, host: str, addresses: Sequence[Address], port: int, timeout_s: float, context: ssl.SSLContext | None
    ) -> None:
        self._addresses = addresses
        self._context = context
        self._ends_at = time.monotonic() + _MAX_SESSION_S
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

    def getreply(self) -> tuple[int, bytes]:
        """Return a reply as the library does, from a server that says no more than a mail server has to say."""
        if self.file is None and self.sock is not None:
            self.file = _ReplyReader(self.sock.makefile("rb"), self._ends_at)
        return super().getreply()


class _ReplyReader:
    """Reads the lines of a server up to a number of bytes and a time; the socket limits the wait for each alone."""

    def __init__(self, stream: BinaryIO, ends_at: float) -> None:
        self._stream = stream
        self._ends_at = ends_at
        self._left = _MAX_REPLY_BYTES

    def readline(self, size: int = -1) -> bytes:
        line = self._stream.readline(size)
        self._left -= len(line)
        if self._left < 0 or time.monotonic() > self._ends_at:
            raise OSError("the server's replies have no end")
        return line

    def close(self) -> None:
        self._stream.close()


def build_message(notification: Notification, target: TargetSettings) -> EmailMessage:
    """Return the mail: plain text, HTML and attachments; its header is the same at every try."""
    message = EmailMessage(policy=policy.SMTP)
    try:
        message["From"] = target.sender or ""
        # Those of Bcc stand in no header: only the envelope names them.
        message["To"] = notification.test_to or ", ".join(target.to) or _UNDISCLOSED
    except (ValueError, IndexError):
        raise SettingsError("notify.mail_address_invalid", target=target.name) from None
    message["Subject"] = flatten_text(notification.subject)
    message["Date"] = format_datetime(notification.planned_at)
    message["Message-ID"] = notification.message_id
    message["Auto-Submitted"] = "auto-generated"
    message["X-Monitor-Delivery"] = flatten_text(notification.id)
    if notification.unsubscribe_url is not None:  # RFC 8058: mail programs offer it as a button
        message["List-Unsubscribe"] = f"<{notification.unsubscribe_url}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message.set_content(_replace_surrogates(notification.text), cte="base64")
    message.add_alternative(_replace_surrogates(notification.html), subtype="html", cte="base64")
    for attachment in notification.attachments:
        kind, _, subtype = attachment.media_type.partition("/")
        message.add_attachment(attachment.content, maintype=kind, subtype=subtype, filename=attachment.name)
    return message


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _map_smtp_response(code: int, text: bytes | str) -> NotDelivered:
    if code < 0:
        return NotDelivered("notify.no_mail_server", may_retry=True)
    return NotDelivered("notify.mail_error", may_retry=code < _MIN_PERMANENT_CODE, status=_join_codes(code, text))


def _join_codes(code: int, text: bytes | str) -> str:
    """Return `550 5.7.1`: the reply's code and the one of RFC 3463 before its text, which is shown to nobody.

    Whoever can choose a server could otherwise read what other machines answer.
    """
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    found = _ENHANCED_CODE.match(plain)
    return f"{code} {found[0]}" if found else str(code)


def _build_refusal(refused: Mapping[str, tuple[int, bytes]], recipients: Sequence[str]) -> NotDelivered:
    recipients_with_reasons = [
        f"{address} ({_join_codes(code, reason)})" for address, (code, reason) in refused.items()
    ]
    return NotDelivered(
        "notify.mail_recipients_refused",
        recipients=recipients_with_reasons,
        may_retry=any(code < _MIN_PERMANENT_CODE for code, _ in refused.values()),
        accepted=[address for address in recipients if address not in refused],
    )
