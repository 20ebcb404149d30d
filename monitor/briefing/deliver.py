"""Deliveries of briefings, alarms and tests: when they are tried, and the notification that a channel carries."""

import datetime as dt
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from monitor.briefing.compose import Briefing, BriefingItem, MoreItem
from monitor.briefing.editor_text import AnalystNote
from monitor.briefing.gaps import GAP_KIND_BY_ALARM
from monitor.briefing.item import BriefingMessages, get_briefing_messages
from monitor.briefing.layout import build_document
from monitor.config.targets import TargetSettings
from monitor.db.queries.deadlines import AlertView
from monitor.db.tables.delivery import (
    MAX_RETRY_DELAY,
    AlarmView,
    Delivery,
    DeliveryKind,
    DeliveryOutcome,
    DeliveryStatus,
)
from monitor.errors import MonitorError, NotDelivered
from monitor.exports.document import Document, Paragraph, Span
from monitor.exports.html import render_mail
from monitor.exports.plain import render_plain_text
from monitor.notify.notification import Digest, Notification, NotificationAttachment

_RETRY_DELAYS_S = (5, 30, 120, 600, 1800, 3600, 7200, 14400, 14400)
_UNREAD_KINDS = ("failed", "cancelled", "running")
_MAX_SUBJECT_CHARS = 120


def create_delivery(
    target: TargetSettings,
    kind: DeliveryKind,
    *,
    name: str,
    planned_at: dt.datetime,
    now: dt.datetime,
    team_id: int | None,
) -> Delivery:
    """Return a delivery that may be tried at once; its key and Message-ID go with every try.

    `name` is unique for the target: the planned time, so that it happens once. `team_id` is the target's: a delivery
    has what that team sees.
    """
    key = secrets.token_hex(16)
    address = re.search(r"@([\w.-]+)", target.sender or "")
    return Delivery(
        id=f"{target.name}-{name}",
        target=target.name,
        team_id=team_id,
        kind=kind,
        planned_at=planned_at,
        key=key,
        message_id=f"<{key}@{address[1] if address else 'monitor.invalid'}>",
        next_try_at=now,
    )


def format_planned_time(planned_at: dt.datetime) -> str:
    return f"{planned_at.astimezone(dt.UTC):%Y%m%dT%H%M%SZ}"


def decide_retry(delivery: Delivery, error: MonitorError, now: dt.datetime) -> DeliveryOutcome:
    """Return what follows a failed try: another one after a growing pause, or the end.

    A receiver's Retry-After is respected, for up to a day. A permanent refusal is not retried.
    """
    failure = error if isinstance(error, NotDelivered) else NotDelivered(error.message)
    left = delivery.attempts_allowed - delivery.attempts - 1
    outcome = DeliveryOutcome(status=DeliveryStatus.FAILED, last_error=failure.message, accepted=failure.accepted)
    if not failure.may_retry or left <= 0:
        return outcome
    pause_s = max(
        _RETRY_DELAYS_S[max(0, len(_RETRY_DELAYS_S) - left)],
        min(failure.retry_after_s or 0.0, MAX_RETRY_DELAY.total_seconds()),
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


def build_subject(briefing: Briefing) -> str:
    """Return the subject of a mail: the title, for whom it is, the day, and how much there is."""
    words = get_briefing_messages(briefing.language)
    total = len(briefing.items) + len(briefing.more) + len(briefing.changes)
    count = words("notification.count", count=total) if total else words("notification.nothing")
    parts = [f"{briefing.title} {briefing.period.until}", briefing.audience, count]
    return " · ".join(part for part in parts if part)


def build_briefing_notification(
    delivery: Delivery,
    briefing: Briefing,
    *,
    unfinished: Sequence[str],
    enclosures: Sequence[NotificationAttachment],
    unsubscribe_url: str | None = None,
) -> Notification:
    """Build the notification of a briefing; `unfinished` are the sources that were not done by its deadline.

    With an `unsubscribe_url`, its foot and its header say how to end it.
    """
    words = get_briefing_messages(briefing.language)
    listed: list[BriefingItem | MoreItem] = [*briefing.items, *briefing.more]
    subject = build_subject(briefing)
    if delivery.test_to is not None:
        subject = words("notification.briefing_test", subject=subject)
    whys = {headline.item: f"{headline.why}\n" for headline in briefing.headlines if headline.why}
    points = [
        f"{number}. {item.shown_title} ({item.source}{f', {item.date}' if item.date else ''})\n"
        f"{whys.get(item.id or 0, '')}{_format_note(item.note)}{item.url}"
        for number, item in enumerate(listed, start=1)
    ]
    points = [_format_note(briefing.note).strip(), *points] if briefing.note else points
    points += [f"△ {change.title} ({change.source})\n{change.url}" for change in briefing.changes]
    late = list(unfinished) if briefing.include_gaps else []
    unseen = list_unread_sources(briefing, late)
    tail = [words("notification.unseen", sources=unseen)] if unseen else []
    tail += [briefing.public_url] if briefing.public_url else []
    document = build_document(briefing)
    if unsubscribe_url is not None:
        leave = words("notification.unsubscribe")
        foot = [*document.colophon, Span(text=leave, url=unsubscribe_url)]
        document = document.model_copy(update={"colophon": foot})
    return _build_notification(
        delivery,
        subject,
        text=render_plain_text(document),
        html=render_mail(document).decode(),
        digest=Digest(head=subject, points=points, more=words("notification.more", count="{}"), tail="\n".join(tail)),
        payload={"briefing": briefing.model_dump(mode="json"), "unfinished": late},
        attachments=enclosures,
        unsubscribe_url=unsubscribe_url,
    )


def build_alarm_notification(delivery: Delivery, alarms: Sequence[AlarmView], language: str) -> Notification:
    words = get_briefing_messages(language)
    kinds = [words.get_word("gap", GAP_KIND_BY_ALARM[alarm.kind]) for alarm in alarms]
    sources = list(dict.fromkeys(alarm.source for alarm in alarms))
    summary = words("notification.alarms", count=len(alarms), sources=sources)
    if len(alarms) == 1:
        summary = f"{kinds[0]}: {_format_place(alarms[0])}"
    subject = f"[{words('notification.alarm')}] {summary[:_MAX_SUBJECT_CHARS]}"
    points = [
        f"{_format_place(alarm)} · {kind} · {words.translate(alarm.message)} "
        f"({alarm.raised_at:%Y-%m-%d %H:%MZ}, {alarm.run_id})"
        for alarm, kind in zip(alarms, kinds, strict=True)
    ]
    payload = {"alarms": [alarm.model_dump(mode="json") for alarm in alarms]}
    return _build_plain_notification(delivery, subject, points, words, payload)


def build_alert_notification(delivery: Delivery, alerts: Sequence[AlertView], language: str) -> Notification:
    words = get_briefing_messages(language)
    titles = list(dict.fromkeys(alert.title for alert in alerts))
    summary = words("notification.alerts", count=len(alerts), titles=titles)
    if len(alerts) == 1:
        summary = f"{words.translate(alerts[0].message).rstrip('。.')} · {alerts[0].title}"
    subject = f"[{words('notification.alert')}] {summary[:_MAX_SUBJECT_CHARS]}"
    points = [
        f"{words.get_word('alert', alert.kind)} · {words.translate(alert.message)}\n"
        f"{alert.title} ({alert.source})\n{alert.url}"
        for alert in alerts
    ]
    payload = {"alerts": [alert.model_dump(mode="json") for alert in alerts]}
    return _build_plain_notification(delivery, subject, points, words, payload)


def build_test_notification(delivery: Delivery, language: str, at: dt.datetime) -> Notification:
    words = get_briefing_messages(language)
    text = words("notification.test_text", target=delivery.target, at=f"{at:%Y-%m-%d %H:%MZ}")
    return _build_plain_notification(delivery, words("notification.test"), [text], words, {})


def build_confirmation_notification(delivery: Delivery, language: str, url: str, *, person: str) -> Notification:
    """Build the mail by which an address is confirmed; nothing else goes to it before."""
    words = get_briefing_messages(language)
    lines = [words("notification.confirm_text", person=person), url, words("notification.confirm_ignore")]
    subject = words("notification.confirm")
    document = Document(
        title=subject,
        language=words.locale,
        blocks=[
            Paragraph(spans=[Span(text=lines[0])]),
            Paragraph(spans=[Span(text=words("notification.confirm_link"), url=url)]),
            Paragraph(spans=[Span(text=lines[2])]),
        ],
    )
    return _build_notification(
        delivery,
        subject,
        text="\n\n".join(lines) + "\n",
        html=render_mail(document).decode(),
        digest=Digest(head=subject, points=lines, more=""),
        payload={},
        unsubscribe_url=url,
    )


def build_attachment_name(briefing: Briefing, format_name: str) -> str:
    """Return the file name of an attached document: the title, for whom it is, and the day."""
    parts = ["-".join(re.findall(r"\w+", part)) for part in (briefing.title, briefing.audience)]
    return f"{'-'.join(filter(None, [*parts, str(briefing.period.until)]))}.{format_name}"


def _format_note(note: AnalystNote | None) -> str:
    return f"✎ {' '.join(note.paragraphs)} ({note.by})\n" if note else ""


def _format_place(alarm: AlarmView) -> str:
    return f"{alarm.source} / {alarm.section}" if alarm.section else alarm.source


def _build_plain_notification(
    delivery: Delivery, subject: str, points: Sequence[str], words: BriefingMessages, payload: Mapping[str, Any]
) -> Notification:
    blocks = [Paragraph(spans=[Span(text=point)]) for point in points]
    document = Document(title=subject, language=words.locale, blocks=blocks)
    return _build_notification(
        delivery,
        subject,
        text=render_plain_text(document),
        html=render_mail(document).decode(),
        digest=Digest(head=subject, points=points, more=words("notification.more", count="{}")),
        payload={"text": "\n".join(points), **payload},
    )


def _build_notification(delivery: Delivery, subject: str, **parts: Any) -> Notification:
    return Notification(
        id=delivery.id,
        key=delivery.key,
        message_id=delivery.message_id,
        target=delivery.target,
        kind=delivery.kind,
        planned_at=delivery.planned_at,
        subject=subject,
        test_to=delivery.test_to,
        **parts,
    )
