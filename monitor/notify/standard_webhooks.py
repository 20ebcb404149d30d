"""Requests as Standard Webhooks wants them: signed, with an id that stays the same however often it is sent."""

import base64
import datetime as dt
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.errors import NotDelivered
from monitor.fetch.client import HttpClient
from monitor.fetch.outbound import find_error_code
from monitor.fetch.result import FetchError
from monitor.i18n.message import Message
from monitor.notify.notification import check_status, map_fetch_error, parse_retry_after

SECRET_PREFIX = "whsec_"  # noqa: S105 -- what every secret begins with
_SECRET_BYTES = 32
_TIMEOUT_S = 15.0


def create_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def build_signature_headers(
    event_id: str, body: bytes, *, signing_secrets: Sequence[str], at: dt.datetime
) -> dict[str, str]:
    """Return the headers of a request that is sent at an instant, with a signature by each secret."""
    timestamp = str(int(at.timestamp()))
    content = b".".join((event_id.encode(), timestamp.encode(), body))
    signatures = (hmac.new(_decode_secret(secret), content, hashlib.sha256).digest() for secret in signing_secrets)
    return {
        "webhook-id": event_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{base64.b64encode(signature).decode()}" for signature in signatures),
    }


def _decode_secret(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(SECRET_PREFIX))


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """What one request came to: the receiver's status, None without an answer; `error` is None where it was taken."""

    status: int | None
    duration_ms: int
    error: Message | None = None
    retry_after_s: float | None = None


async def post_event(
    client: HttpClient, url: str, body: bytes, *, headers: Mapping[str, str], now: dt.datetime
) -> WebhookAnswer:
    """Send an event once, following no redirect; any status 2xx takes it."""
    began = time.monotonic()

    def build_answer(status: int | None, error: Message | None, retry_after: str = "") -> WebhookAnswer:
        duration_ms = round((time.monotonic() - began) * 1000)
        return WebhookAnswer(status, duration_ms, error, parse_retry_after(retry_after, now))

    try:
        answer = await client.request(
            url, method="POST", headers=headers, content=body, timeout_s=_TIMEOUT_S, may_retry=False
        )
    except FetchError as failure:
        return build_answer(None, map_fetch_error(failure).message)
    try:
        check_status(answer.status, find_error_code(answer.body))
    except NotDelivered as error:
        return build_answer(answer.status, error.message, answer.headers.get("retry-after", ""))
    return build_answer(answer.status, None)
