"""What is put into a letter: a briefing, an alarm or a test, in every form that a channel carries."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from monitor.briefing.compose import Briefing, BriefingItem, MoreItem, Note
from monitor.briefing.deliver import unseen_sources
from monitor.briefing.gaps import BY_ALARM
from monitor.briefing.render import render_briefing
from monitor.briefing.wording import wording_for
from monitor.domain.alarms import AlarmNote
from monitor.domain.deliveries import Delivery, Digest, Enclosure, Letter
from monitor.formats.document import Document, Paragraph, Span
from monitor.formats.render import render

MEDIA_TYPES = {
    "md": "text/markdown",
    "html": "text/html",
    "json": "application/json",
    "csv": "text/csv",
    "atom": "application/atom+xml",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

_SUBJECT_CHARS = 120


class _Words(BaseModel):
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


_WORDS = {
    "zh": _Words(
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
    "en": _Words(
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


def briefing_letter(
    delivery: Delivery, briefing: Briefing, *, unfinished: Sequence[str], enclosures: Sequence[Enclosure]
) -> Letter:
    """The letter that carries a briefing and its documents; `unfinished` are sources that it waited for in vain."""
    words = _WORDS[briefing.language]
    told: list[BriefingItem | MoreItem] = [*briefing.items, *briefing.more]
    total = len(told) + len(briefing.changes)
    count = words.count.format(total) if total else words.nothing
    subject = f"{briefing.title} {briefing.period.until} · {count}"
    points = [
        f"{number}. {one.title} ({one.source}{f', {one.date}' if one.date else ''})\n{_noted(one.note)}{one.url}"
        for number, one in enumerate(told, start=1)
    ]
    points = [_noted(briefing.note).strip(), *points] if briefing.note else points
    points += [f"△ {change.title} ({change.source})\n{change.url}" for change in briefing.changes]
    unseen = unseen_sources(briefing, unfinished)
    tail = [words.unseen.format(words.separator.join(unseen))] if unseen else []
    tail += [briefing.public_url] if briefing.public_url else []
    return _letter(
        delivery,
        subject,
        text=render_briefing(briefing, "md").decode(),
        html=render_briefing(briefing, "html").decode(),
        digest=Digest(head=subject, points=points, more=words.more, tail="\n".join(tail)),
        payload={"briefing": briefing.model_dump(mode="json"), "unfinished": list(unfinished)},
        enclosures=enclosures,
    )


def alarm_letter(delivery: Delivery, notes: Sequence[AlarmNote], language: str) -> Letter:
    """The letter that tells of one or more alarms."""
    words, wording = _WORDS[language], wording_for(language)
    first = notes[0]
    if len(notes) == 1:
        told = f"{wording.gap_kinds[BY_ALARM[first.kind]]}: {_place_of(first)}"
    else:
        told = words.alarms.format(len(notes), words.separator.join(dict.fromkeys(note.source for note in notes)))
    points = [
        f"{_place_of(note)} · {wording.gap_kinds[BY_ALARM[note.kind]]} · {wording.said(note.message)} "
        f"({note.raised_at:%Y-%m-%d %H:%MZ}, {note.run_id})"
        for note in notes
    ]
    payload = {"alarms": [note.model_dump(mode="json") for note in notes]}
    return _plain(delivery, f"[{words.alarm}] {told[:_SUBJECT_CHARS]}", points, words, payload)


def trial_letter(delivery: Delivery, language: str, at: dt.datetime) -> Letter:
    """The letter that only shows that a target can be reached."""
    words = _WORDS[language]
    return _plain(delivery, words.test, [words.test_text.format(delivery.target, f"{at:%Y-%m-%d %H:%MZ}")], words, {})


def enclosure_name(briefing: Briefing, format_name: str) -> str:
    """The file name of a document that goes along: the title and the day."""
    title = "".join(char if char.isalnum() else "-" for char in briefing.title)
    return f"{title}-{briefing.period.until}.{format_name}"


def _noted(note: Note | None) -> str:
    return f"✎ {' '.join(note.paragraphs)} ({note.by})\n" if note else ""


def _place_of(note: AlarmNote) -> str:
    return f"{note.source} / {note.section}" if note.section else note.source


def _plain(
    delivery: Delivery, subject: str, points: Sequence[str], words: _Words, payload: Mapping[str, Any]
) -> Letter:
    blocks = [Paragraph(spans=[Span(text=point)]) for point in points]
    document = Document(title=subject, language=words.locale, blocks=blocks)
    return _letter(
        delivery,
        subject,
        text=render(document, "md").decode(),
        html=render(document, "html").decode(),
        digest=Digest(head=subject, points=points, more=words.more),
        payload={"text": "\n".join(points), **payload},
    )


def _letter(delivery: Delivery, subject: str, **parts: Any) -> Letter:
    return Letter(
        id=delivery.id,
        key=delivery.key,
        message_id=delivery.message_id,
        target=delivery.target,
        kind=delivery.kind,
        planned_at=delivery.planned_at,
        subject=subject,
        **parts,
    )
