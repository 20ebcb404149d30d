"""A letter for real receivers on loopback."""

import datetime as dt

import pytest

from monitor.db.tables.delivery import DeliveryKind
from monitor.notify.notification import Digest, Notification, NotificationAttachment


@pytest.fixture
def letter() -> Notification:
    return Notification(
        id="partners-20260302T000000Z",
        key="0123456789abcdef0123456789abcdef",
        message_id="<0123@example.org>",
        target="partners",
        kind=DeliveryKind.PLANNED,
        planned_at=dt.datetime(2026, 3, 2, tzinfo=dt.UTC),
        subject="官方动态简报 2026-03-02 · 2 条",
        text="第一条\n第二条\n",
        html="<p>第一条</p><p>第二条</p>",
        digest=Digest(head="官方动态简报", points=["1. 能源法", "2. 公告"], more="另有 {} 条"),
        payload={"briefing": {"title": "官方动态简报"}},
        attachments=[NotificationAttachment("简报.docx", "application/zip", b"PK")],
    )
