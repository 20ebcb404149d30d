import datetime as dt
import io
from collections.abc import Sequence
from typing import Any

import pytest
from openpyxl import load_workbook

from monitor.exports.document import Cell, Column, Sheet, Span, Workbook, normalize_line
from monitor.exports.xlsx import render_xlsx

URL = "https://gov.example/1"


def written(*rows: Sequence[Cell], printed: int | None = None, title: str = "条目") -> Any:
    columns = [Column(name=f"c{number}", title=f"列{number}", width=20) for number in range(len(rows[0]))]
    sheet = Sheet(title=title, columns=columns, rows=rows, printed=printed)
    return load_workbook(io.BytesIO(render_xlsx(Workbook(title="x", sheets=[sheet]))))


def test_hostile_text_is_text_and_no_formula(hostile: str) -> None:
    row = written((hostile, Span(text=hostile, url=URL))).active[2]
    assert [cell.value for cell in row] == [normalize_line(hostile)] * 2
    assert [cell.data_type for cell in row] == ["s", "s"]
    assert [cell.quotePrefix for cell in row] == [hostile.startswith(("=", "@"))] * 2
    assert [cell.hyperlink and cell.hyperlink.target for cell in row] == [None, URL]


def test_a_text_is_cut_where_a_cell_ends() -> None:
    assert len(written(("x" * 40_000,)).active["A2"].value) == 32_767


def test_dates_instants_and_numbers_are_real() -> None:
    zone = dt.timezone(dt.timedelta(hours=8))
    row = written((dt.date(2026, 2, 3), dt.datetime(2026, 2, 3, 9, 30, 5, 7, tzinfo=zone), 51, None)).active[2]
    shown = [cell.value.isoformat() for cell in row[:2]]
    assert shown == ["2026-02-03T00:00:00", "2026-02-03T09:30:05"]
    assert [cell.value for cell in row[2:]] == [51, None]
    assert [cell.is_date for cell in row] == [True, True, False, False]
    assert row[0].number_format == "yyyy\\-mm\\-dd"


def test_the_header_stays_and_filters_and_only_what_can_be_read_is_printed() -> None:
    page = written(("a", "b", "c"), ("d", "e", "f"), printed=2).active
    assert [cell.value for cell in page[1]] == ["列0", "列1", "列2"]
    assert page.freeze_panes == "A2"
    assert page.auto_filter.ref == "A1:C3"
    assert page.print_title_rows == "$1:$1"
    assert page.print_area.endswith("$A$1:$B$3")
    assert page.column_dimensions["A"].width == 20


def test_a_row_is_as_high_as_its_longest_text_needs() -> None:
    page = written(("短", "短"), ("短", "长" * 30), ("短", "长" * 5000)).active
    first, second, third = (page.row_dimensions[number].height for number in (2, 3, 4))
    assert first < second < third
    assert third <= 400


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "file:///etc/passwd", "https://gov.example/" + "x" * 3000, "", None]
)
def test_what_is_no_address_is_no_link(url: str | None) -> None:
    assert written((Span(text="x", url=url),)).active["A2"].hyperlink is None


def test_the_title_of_a_sheet_is_one_that_excel_takes() -> None:
    assert written(("a",), title="[a]:b*c?/d\\'e" + "长" * 40).sheetnames == ["a b c d e" + "长" * 22]
