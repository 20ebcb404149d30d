"""What is put into a letter: a briefing, an alarm or a test, in every form that a channel carries."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from monitor.briefing.compose import AnalystNote, Briefing, BriefingItem, MoreItem
from monitor.briefing.deliver import list_unread_sources
from monitor.briefing.gaps import GAP_KIND_BY_ALARM
from monitor.briefing.render import render_briefing
from monitor.briefing.words import get_briefing_messages
from monitor.db.tables.delivery import AlarmView, Delivery
from monitor.exports.document import Document, Paragraph, Span
from monitor.exports.registry import render_document
from monitor.notify.notification import Digest, Notification, NotificationAttachment

_MAX_SUBJECT_CHARS = 120


class _NotificationMessages(BaseModel):
    count: str
    nothing: str
    more: str
    unseen: str
    separator: str
    locale: str
    alarm: str
    alarms: str
    test: str
    test_text: str


_MESSAGES = {
    "zh": _NotificationMessages(
        count="{} 条",
        nothing="无新增内容",
        more="另有 {} 条",
        unseen="未能读取：{}",
        separator="、",
        locale="zh-CN",
        alarm="告警",
        alarms="{} 项：{}",
        test="[测试] Monitor 投递测试",
        test_text="这是一封测试消息，不含简报内容。收到即表示投递目标“{}”可用。发送时间：{}。",
    ),
    "en": _NotificationMessages(
        count="{} items",
        nothing="nothing new",
        more="{} more",
        unseen="Not read: {}",
        separator=", ",
        locale="en",
        alarm="Alarm",
        alarms="{} alarms: {}",
        test="[TEST] Monitor test delivery",
        test_text="This is a test and no briefing. If you read it, the target “{}” works. Sent at {}.",
    ),
}


def build_briefing_notification(
    delivery: Delivery, briefing: Briefing, *, unfinished: Sequence[str], enclosures: Sequence[NotificationAttachment]
) -> Notification:
    """The letter that carries a briefing and its documents; `unfinished` are sources that it waited for in vain."""
    words = _MESSAGES[briefing.language]
    told: list[BriefingItem | MoreItem] = [*briefing.items, *briefing.more]
    total = len(told) + len(briefing.changes)
    count = words.count.format(total) if total else words.nothing
    subject = f"{briefing.title} {briefing.period.until} · {count}"
    points = [
        f"{number}. {one.title} ({one.source}{f', {one.date}' if one.date else ''})\n{_format_note(one.note)}{one.url}"
        for number, one in enumerate(told, start=1)
    ]
    points = [_format_note(briefing.note).strip(), *points] if briefing.note else points
    points += [f"△ {change.title} ({change.source})\n{change.url}" for change in briefing.changes]
    unseen = list_unread_sources(briefing, unfinished)
    tail = [words.unseen.format(words.separator.join(unseen))] if unseen else []
    tail += [briefing.public_url] if briefing.public_url else []
    return _build_notification(
        delivery,
        subject,
        text=render_briefing(briefing, "md").decode(),
        html=render_briefing(briefing, "html").decode(),
        digest=Digest(head=subject, points=points, more=words.more, tail="\n".join(tail)),
        payload={"briefing": briefing.model_dump(mode="json"), "unfinished": list(unfinished)},
        attachments=enclosures,
    )


def build_alarm_notification(delivery: Delivery, notes: Sequence[AlarmView], language: str) -> Notification:
    """The letter that tells of one or more alarms."""
    words, wording = _MESSAGES[language], get_briefing_messages(language)
    first = notes[0]
    if len(notes) == 1:
        told = f"{wording.gap_kinds[GAP_KIND_BY_ALARM[first.kind]]}: {_format_place(first)}"
    else:
        told = words.alarms.format(len(notes), words.separator.join(dict.fromkeys(note.source for note in notes)))
    points = [
        f"{_format_place(note)} · {wording.gap_kinds[GAP_KIND_BY_ALARM[note.kind]]} · {wording.translate(note.message)} "
        f"({note.raised_at:%Y-%m-%d %H:%MZ}, {note.run_id})"
        for note in notes
    ]
    payload = {"alarms": [note.model_dump(mode="json") for note in notes]}
    return _build_plain_notification(delivery, f"[{words.alarm}] {told[:_MAX_SUBJECT_CHARS]}", points, words, payload)


def build_test_notification(delivery: Delivery, language: str, at: dt.datetime) -> Notification:
    """The letter that only shows that a target can be reached."""
    words = _MESSAGES[language]
    return _build_plain_notification(
        delivery, words.test, [words.test_text.format(delivery.target, f"{at:%Y-%m-%d %H:%MZ}")], words, {}
    )


def build_attachment_name(briefing: Briefing, format_name: str) -> str:
    """The file name of a document that goes along: the title and the day."""
    title = "".join(char if char.isalnum() else "-" for char in briefing.title)
    return f"{title}-{briefing.period.until}.{format_name}"


def _format_note(note: AnalystNote | None) -> str:
    return f"✎ {' '.join(note.paragraphs)} ({note.by})\n" if note else ""


def _format_place(note: AlarmView) -> str:
    return f"{note.source} / {note.section}" if note.section else note.source


def _build_plain_notification(
    delivery: Delivery, subject: str, points: Sequence[str], words: _NotificationMessages, payload: Mapping[str, Any]
) -> Notification:
    blocks = [Paragraph(spans=[Span(text=point)]) for point in points]
    document = Document(title=subject, language=words.locale, blocks=blocks)
    return _build_notification(
        delivery,
        subject,
        text=render_document(document, "md").decode(),
        html=render_document(document, "html").decode(),
        digest=Digest(head=subject, points=points, more=words.more),
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
