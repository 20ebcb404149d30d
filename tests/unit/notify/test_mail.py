"""Letters as mail: what a page says can add no header and no line."""

import datetime as dt
from email import message_from_bytes, policy

from hypothesis import given, settings
from hypothesis import strategies as some

from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import DeliveryKind
from monitor.notify.mail import build_message
from monitor.notify.notification import Digest, Notification

TARGET = TargetSettings(name="partners", url="smtp://x", sender="Monitor <m@example.org>", to=["p@example.org"])
ANY_TEXT = some.text(max_size=60) | some.just("简报\r\nBcc: thief@example.org\r\n\r\n.\r\n")


@settings(max_examples=80)
@given(subject=ANY_TEXT, text=ANY_TEXT, html=ANY_TEXT)
def test_no_text_adds_a_header_or_ends_the_letter(subject: str, text: str, html: str) -> None:
    letter = Notification(
        id="partners-1",
        key="k",
        message_id="<k@example.org>",
        target="partners",
        kind=DeliveryKind.PLANNED,
        planned_at=dt.datetime(2026, 3, 2, tzinfo=dt.UTC),
        subject=subject,
        text=text,
        html=html,
        digest=Digest(head="", points=[], more=""),
        payload={},
    )
    read = message_from_bytes(build_message(letter, TARGET).as_bytes(), policy=policy.default)
    assert {name.lower() for name in read} == {
        "from",
        "to",
        "subject",
        "date",
        "message-id",
        "auto-submitted",
        "x-monitor-delivery",
        "mime-version",
        "content-type",
    }
    body = read.get_body(("plain",))
    assert body is not None
    assert body.get_content().split() == text.encode("utf-8", "replace").decode().split()
