"""What is decided about a delivery: its name, when it is tried again, and whether a day is quiet."""

import datetime as dt
import re
import secrets
from collections.abc import Sequence

from monitor.briefing.compose import Briefing
from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import Delivery, DeliveryKind, DeliveryOutcome, DeliveryStatus
from monitor.errors import MonitorError, NotDelivered

_RETRY_DELAYS_S = (5, 30, 120, 600, 1800, 3600, 7200, 14400, 14400)
_MAX_RETRY_DELAY_S = 86_400.0
_UNREAD_KINDS = ("failed", "cancelled", "running")


def create_delivery(
    target: TargetSettings, kind: DeliveryKind, *, name: str, planned_at: dt.datetime, now: dt.datetime
) -> Delivery:
    """A delivery that may be tried at once, with the key and the Message-ID that go with every try of it.

    `name` tells it from the other ones of its target: the planned time, so that it happens once.
    """
    key = secrets.token_hex(16)
    address = re.search(r"@([\w.-]+)", target.sender or "")
    return Delivery(
        id=f"{target.name}-{name}",
        target=target.name,
        kind=kind,
        planned_at=planned_at,
        key=key,
        message_id=f"<{key}@{address[1] if address else 'monitor.invalid'}>",
        next_try_at=now,
    )


def format_planned_time(planned_at: dt.datetime) -> str:
    return f"{planned_at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"


def decide_retry(delivery: Delivery, error: MonitorError, now: dt.datetime) -> DeliveryOutcome:
    """What a failed try leads to: another one after a pause that grows, or the end.

    A receiver's Retry-After is respected, for up to a day. A permanent refusal is not retried.
    """
    failure = error if isinstance(error, NotDelivered) else NotDelivered(error.message)
    left = delivery.attempts_allowed - delivery.attempts - 1
    outcome = DeliveryOutcome(status=DeliveryStatus.FAILED, last_error=failure.message, accepted=failure.accepted)
    if not failure.may_retry or left <= 0:
        return outcome
    pause_s = max(
        _RETRY_DELAYS_S[max(0, len(_RETRY_DELAYS_S) - left)], min(failure.retry_after_s or 0.0, _MAX_RETRY_DELAY_S)
    )
    return outcome.model_copy(
        update={"status": DeliveryStatus.QUEUED, "next_try_at": now + dt.timedelta(seconds=pause_s)}
    )


def is_quiet(briefing: Briefing, unfinished: Sequence[str]) -> bool:
    """Whether there is nothing to report: no item, no change, and every source was read."""
    has_news = briefing.items or briefing.more or briefing.changes
    return not has_news and not list_unread_sources(briefing, unfinished)


def list_unread_sources(briefing: Briefing, unfinished: Sequence[str]) -> list[str]:
    """The sources that were not done by the deadline, and those whose last run failed or was stopped, each once."""
    return list(dict.fromkeys([*unfinished, *(gap.source for gap in briefing.gaps if gap.kind in _UNREAD_KINDS)]))
