"""Notifications of briefings, alarms and tests, in every form that a channel carries."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from monitor.briefing.compose import AnalystNote, Briefing, BriefingItem, MoreItem
from monitor.briefing.deliver import list_unread_sources
from monitor.briefing.gaps import GAP_KIND_BY_ALARM
from monitor.briefing.render import render_briefing
from monitor.briefing.words import BriefingMessages, get_briefing_messages
from monitor.db.tables.delivery import AlarmView, Delivery
from monitor.exports.document import Document, Paragraph, Span
from monitor.exports.registry import render_document
from monitor.notify.notification import Digest, Notification, NotificationAttachment

_MAX_SUBJECT_CHARS = 120


def build_briefing_notification(
    delivery: Delivery, briefing: Briefing, *, unfinished: Sequence[str], enclosures: Sequence[NotificationAttachment]
) -> Notification:
    """Build the notification of a briefing; `unfinished` are the sources that were not done by its deadline."""
    words = get_briefing_messages(briefing.language)
    listed: list[BriefingItem | MoreItem] = [*briefing.items, *briefing.more]
    total = len(listed) + len(briefing.changes)
    count = words("notification.count", count=total) if total else words("notification.nothing")
    subject = f"{briefing.title} {briefing.period.until} · {count}"
    points = [
        f"{number}. {item.title} ({item.source}{f', {item.date}' if item.date else ''})\n"
        f"{_format_note(item.note)}{item.url}"
        for number, item in enumerate(listed, start=1)
    ]
    points = [_format_note(briefing.note).strip(), *points] if briefing.note else points
    points += [f"△ {change.title} ({change.source})\n{change.url}" for change in briefing.changes]
    unseen = list_unread_sources(briefing, unfinished)
    tail = [words("notification.unseen", sources=unseen)] if unseen else []
    tail += [briefing.public_url] if briefing.public_url else []
    return _build_notification(
        delivery,
        subject,
        text=render_briefing(briefing, "md").decode(),
        html=render_briefing(briefing, "html").decode(),
        digest=Digest(head=subject, points=points, more=words("notification.more", count="{}"), tail="\n".join(tail)),
        payload={"briefing": briefing.model_dump(mode="json"), "unfinished": list(unfinished)},
        attachments=enclosures,
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


def build_test_notification(delivery: Delivery, language: str, at: dt.datetime) -> Notification:
    words = get_briefing_messages(language)
    text = words("notification.test_text", target=delivery.target, at=f"{at:%Y-%m-%d %H:%MZ}")
    return _build_plain_notification(delivery, words("notification.test"), [text], words, {})


def build_attachment_name(briefing: Briefing, format_name: str) -> str:
    """Return the file name of an attached document: the title and the day."""
    title = "".join(char if char.isalnum() else "-" for char in briefing.title)
    return f"{title}-{briefing.period.until}.{format_name}"


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
        text=render_document(document, "md").decode(),
        html=render_document(document, "html").decode(),
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
        **parts,
    )
