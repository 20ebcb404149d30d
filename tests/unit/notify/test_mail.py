"""Letters as mail: what a page says can add no header and no line."""

import datetime as dt
from email import message_from_bytes, policy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import DeliveryKind
from monitor.notify.mail import build_message
from monitor.notify.notification import Digest, Notification

TARGET = TargetSettings(name="partners", url="smtp://x", sender="Monitor <m@example.org>", to=["p@example.org"])
ANY_TEXT = some.text(max_size=60) | some.just("简报\r\nBcc: thief@example.org\r\n\r\n.\r\n")


def build_letter(**fields: Any) -> Notification:
    values: dict[str, Any] = {"subject": "简报", "text": "正文", "html": "<p>正文</p>"}
    return Notification(
        id="partners-1",
        key="k",
        message_id="<k@example.org>",
        target="partners",
        kind=DeliveryKind.PLANNED,
        planned_at=dt.datetime(2026, 3, 2, tzinfo=dt.UTC),
        digest=Digest(head="", points=[], more=""),
        payload={},
        **(values | fields),
    )


def test_those_of_bcc_stand_in_no_header() -> None:
    clients = TargetSettings(name="c", url="smtp://x", sender="m@example.org", bcc=["one@a.example", "two@b.example"])
    written = build_message(build_letter(), clients).as_bytes()
    assert b"a.example" not in written
    assert message_from_bytes(written, policy=policy.default)["To"] == "undisclosed-recipients:;"


def test_a_test_names_its_one_receiver_alone() -> None:
    written = build_message(build_letter(test_to="me@example.org"), TARGET).as_bytes()
    assert message_from_bytes(written, policy=policy.default)["To"] == "me@example.org"
    assert b"p@example.org" not in written


@settings(max_examples=80)
@given(subject=ANY_TEXT, text=ANY_TEXT, html=ANY_TEXT)
def test_no_text_adds_a_header_or_ends_the_letter(subject: str, text: str, html: str) -> None:
    letter = build_letter(subject=subject, text=text, html=html)
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
