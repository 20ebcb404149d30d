"""What a receiver's answer means: taken, to be tried again, or refused for good."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from monitor.db.tables.delivery import DeliveryKind
from monitor.errors import NotDelivered
from monitor.fetch.result import FetchError
from monitor.page import PageErrorCode

_RETRYABLE_STATUSES = (408, 425, 429)
_PERMANENT_CODES = (PageErrorCode.FORBIDDEN, PageErrorCode.INVALID_URL)
_MAX_REASON_CHARS = 300


def check_status(status: int, reason: str, *, retry_after: str = "", now: dt.datetime | None = None) -> None:
    """Nothing where an HTTP status says that it was taken; else `NotDelivered`, with what the receiver wants."""
    if 200 <= status < 300:
        return
    may_retry = status >= 500 or status in _RETRYABLE_STATUSES
    message = f"The receiver answered {status}{': ' if reason else ''}{flatten_text(reason)}."
    raise NotDelivered(message, may_retry=may_retry, retry_after_s=parse_retry_after(retry_after, now))


def map_fetch_error(failure: FetchError) -> NotDelivered:
    """No answer came: that may pass, unless it was we who refused to ask."""
    return NotDelivered(str(failure), may_retry=failure.error.code not in _PERMANENT_CODES)


def parse_retry_after(retry_after: str, now: dt.datetime | None) -> float | None:
    """A Retry-After header in seconds, in either of its forms; None where it says nothing."""
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
    """The error in words that may be shown to anyone."""
    message = str(error)
    for secret in secrets:
        message = message.replace(secret, "…")
    return NotDelivered(message, may_retry=error.may_retry, retry_after_s=error.retry_after_s, accepted=error.accepted)


def flatten_text(text: str) -> str:
    """A receiver's own words, at a length and in a form that a log bears."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:_MAX_REASON_CHARS].rstrip(
        "."
    )


@dataclass(frozen=True)
class NotificationAttachment:
    name: str
    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Digest:
    """A letter's short form: as many points as there is room for stand between `head` and `tail`.

    `more` says, with the number put in, how many points there was no room for.
    """

    head: str
    points: Sequence[str]
    more: str
    tail: str = ""


@dataclass(frozen=True, kw_only=True)
class Notification:
    """What is sent, in the forms that channels carry: mail the texts, a webhook the payload, a chat the digest.

    `id`, `key` and `message_id` are the delivery's, the same at every try.
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


class Channel(Protocol):
    async def send(self, notification: Notification, *, accepted: Collection[str] = ()) -> None:
        """Hand a letter over, once; `NotDelivered` where it did not arrive. `accepted` are addresses that have it."""
        ...
