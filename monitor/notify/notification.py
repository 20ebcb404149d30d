"""Notifications and the interface of channels; what a receiver's answer means: delivered, retry or refused."""

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from monitor.clock import Clock
from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import DeliveryKind
from monitor.errors import NotDelivered
from monitor.fetch.outbound import OutboundPolicy
from monitor.fetch.result import FetchError
from monitor.i18n.message import Message
from monitor.page import PageErrorCode

_RETRYABLE_STATUSES = (408, 425, 429)
_PERMANENT_CODES = (PageErrorCode.FORBIDDEN, PageErrorCode.INVALID_URL)
_MAX_REASON_CHARS = 300


def check_status(status: int, reason: str, *, retry_after: str = "", now: dt.datetime | None = None) -> None:
    """Raise `NotDelivered` for an HTTP status that is no success, with the receiver's error code and Retry-After."""
    if 200 <= status < 300:
        return
    raise NotDelivered(
        "notify.refused_with_reason" if reason else "notify.refused",
        may_retry=status >= 500 or status in _RETRYABLE_STATUSES,
        retry_after_s=parse_retry_after(retry_after, now),
        status=status,
        reason=reason,
    )


def map_fetch_error(failure: FetchError) -> NotDelivered:
    """Return the failure of a request without an answer; retry, unless the guard refused it."""
    return NotDelivered(failure.error.message, may_retry=failure.error.code not in _PERMANENT_CODES)


def parse_retry_after(retry_after: str, now: dt.datetime | None) -> float | None:
    """Return the seconds of a Retry-After header in either of its forms; None for any other text."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    if not text or now is None:
        return None
    try:
        return max(0.0, (parsedate_to_datetime(text).astimezone(dt.UTC) - now).total_seconds())
    except (ValueError, TypeError):
        return None


def redact_secrets(error: NotDelivered, secrets: Sequence[str]) -> NotDelivered:
    """Return the error without the secrets, so that it may be shown to anyone."""

    def redact(value: Any) -> Any:
        if isinstance(value, list):
            return [redact(entry) for entry in value]
        if isinstance(value, str):
            for secret in secrets:
                value = value.replace(secret, "…")
        return value

    message = Message(error.message.code, {name: redact(value) for name, value in error.message.args.items()})
    return NotDelivered(message, may_retry=error.may_retry, retry_after_s=error.retry_after_s, accepted=error.accepted)


def flatten_text(text: str) -> str:
    """Return a receiver's own words as one short line of printable characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line[:_MAX_REASON_CHARS].rstrip(".")


@dataclass(frozen=True)
class NotificationAttachment:
    name: str
    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Digest:
    """The short form of a notification: `head`, as many points as there is room for, and `tail`.

    `more` is the line about the points that were left out, with `{}` for their number.
    """

    head: str
    points: Sequence[str]
    more: str
    tail: str = ""


@dataclass(frozen=True, kw_only=True)
class Notification:
    """What is sent: mail carries the texts, a webhook the payload, a chat the digest.

    `id`, `key` and `message_id` are those of the delivery, the same at every try. `test_to` is the one mail address
    that gets it as a test, in place of the target's. `unsubscribe_url` is where its receiver ends what it is part of.
    """

    id: str
    key: str
    message_id: str
    target: str
    kind: DeliveryKind
    planned_at: dt.datetime
    subject: str
    text: str
    html: str
    digest: Digest
    payload: Mapping[str, Any]
    attachments: Sequence[NotificationAttachment] = ()
    test_to: str | None = None
    unsubscribe_url: str | None = None


@dataclass(frozen=True, kw_only=True)
class Channel(ABC):
    target: TargetSettings
    policy: OutboundPolicy
    clock: Clock

    @abstractmethod
    async def send(self, notification: Notification, *, accepted: Collection[str] = ()) -> None:
        """Try once to deliver; raise `NotDelivered` on failure. Addresses in `accepted` have it already."""
