import csv
import datetime as dt
import io

import pytest

from monitor.exports.data import render_csv
from monitor.exports.document import Cell, Column, Sheet, Span

URL = "https://a.example/1"


def read(*cells: Cell) -> list[str]:
    columns = [Column(name=f"c{number}", title="没有人看") for number in range(len(cells))]
    content = render_csv(Sheet(title="x", columns=columns, rows=[cells]))
    head, row = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""))
    assert head == [column.name for column in columns]
    return row


@pytest.mark.parametrize(
    "title", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =cmd|' /C calc'!A0", "|x", "%x", "＝1+1", "\u202e=1"]
)
def test_no_text_becomes_a_formula(title: str) -> None:
    (cell,) = read(title)
    assert cell == f"'{title.lstrip(chr(0x202E)).strip()}"
    assert read(Span(text=title, url=URL)) == [cell]


def test_what_is_no_formula_stays_as_it_is_on_one_line() -> None:
    day = dt.datetime(2026, 2, 3, 8, tzinfo=dt.UTC)
    row = read('关于“=”的通知, "一"\n二', day.date(), day, -5, None)
    assert row == ['关于“=”的通知, "一" 二', "2026-02-03", "2026-02-03T08:00:00+00:00", "-5", ""]


def test_a_spreadsheet_can_tell_that_it_is_utf_8() -> None:
    assert render_csv(Sheet(title="x", columns=[Column(name="a", title="b")], rows=[])) == b"\xef\xbb\xbfa\r\n"
