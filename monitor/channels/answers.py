"""What a receiver's answer means: taken, to be tried again, or refused for good."""

import datetime as dt
from collections.abc import Sequence
from email.utils import parsedate_to_datetime

from monitor.domain.page import PageErrorCode
from monitor.errors import NotDelivered
from monitor.net.failure import FetchFailed

_MAY_PASS = (408, 425, 429)
_FINAL = (PageErrorCode.FORBIDDEN, PageErrorCode.INVALID_URL)
_MOST_CHARS = 300


def check_status(status: int, reason: str, *, retry_after: str = "", now: dt.datetime | None = None) -> None:
    """Nothing where an HTTP status says that it was taken; else `NotDelivered`, with what the receiver wants."""
    if 200 <= status < 300:
        return
    may_retry = status >= 500 or status in _MAY_PASS
    message = f"The receiver answered {status}{': ' if reason else ''}{one_line(reason)}."
    raise NotDelivered(message, may_retry=may_retry, retry_after_s=seconds_of(retry_after, now))


def of_failure(failure: FetchFailed) -> NotDelivered:
    """No answer came: that may pass, unless it was we who refused to ask."""
    return NotDelivered(str(failure), may_retry=failure.error.code not in _FINAL)


def seconds_of(retry_after: str, now: dt.datetime | None) -> float | None:
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


def without_secrets(error: NotDelivered, secrets: Sequence[str]) -> NotDelivered:
    """The error in words that may be shown to anyone."""
    message = str(error)
    for secret in secrets:
        message = message.replace(secret, "…")
    return NotDelivered(message, may_retry=error.may_retry, retry_after_s=error.retry_after_s, accepted=error.accepted)


def one_line(text: str) -> str:
    """A receiver's own words, at a length and in a form that a log bears."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:_MOST_CHARS].rstrip(".")
