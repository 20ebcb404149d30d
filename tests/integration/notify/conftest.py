"""A letter for real receivers on loopback."""

import datetime as dt
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from monitor.db.tables.delivery import DeliveryKind
from monitor.notify.notification import Digest, Notification, NotificationAttachment

_EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


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


@pytest.fixture
def certificate(tmp_path: Path) -> Callable[..., Path]:
    """A certificate and its key in one file, signed by nobody but itself."""

    def make(names: str = "IP:127.0.0.1") -> Path:
        program = shutil.which("openssl")
        if program is None:
            pytest.skip("openssl is not on the PATH")
        key, made = tmp_path / "key.pem", tmp_path / "made.pem"
        subject = ["-subj", "/CN=loopback", "-addext", f"subjectAltName={names}"]
        words = [program, "req", "-x509", *_EC, "-days", "2", *subject, "-keyout", key, "-out", made]
        subprocess.run(words, check=True, capture_output=True)
        made.write_text(made.read_text() + key.read_text())
        return made

    return make
