import csv
import datetime as dt
import io

import pytest

from monitor.briefing.wire import ItemWire
from monitor.cli.export import to_csv
from monitor.domain.page import Attachment
from monitor.domain.words import DateSource, ItemType, SavedBy, SummaryBy


def _item(title: str) -> ItemWire:
    return ItemWire(
        id=1, source="s", section="x", title=title, url="https://a.example/1", date=dt.date(2026, 2, 3),
        date_source=DateSource.LISTED, type=ItemType.NOTICE, summary="", summary_by=SummaryBy.NONE, rank=1, tier=2,
        by=SavedBy.RULE, late=False, document_number=None, issuer=None, language=None,
        first_seen=dt.datetime(2026, 2, 3, tzinfo=dt.UTC),
        attachments=[Attachment(title="a", url="https://a.example/a.pdf", type="pdf")],
    )  # fmt: skip


def _read(text: str) -> dict[str, str]:
    return next(iter(csv.DictReader(io.StringIO(text))))


@pytest.mark.parametrize("title", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =cmd|' /C calc'!A0", "|x", "%x"])
def test_no_title_becomes_a_formula(title: str) -> None:
    assert _read(to_csv([_item(title)]))["title"] == f"'{title}"


def test_what_is_no_formula_stays_as_it_is() -> None:
    row = _read(to_csv([_item('关于“=”的通知, "一"\n二')]))
    assert row["title"] == '关于“=”的通知, "一"\n二'
    assert row["date"] == "2026-02-03"
    assert row["attachments"] == "https://a.example/a.pdf"
    assert row["document_number"] == ""
