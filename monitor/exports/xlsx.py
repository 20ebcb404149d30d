"""Rows as a workbook for Excel and its kin."""

import datetime as dt
import io
import re
from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from monitor.exports.document import (
    Cell,
    Column,
    Sheet,
    Span,
    Workbook,
    measure_text_width,
    normalize_line,
    sanitize_link_target,
)
from monitor.extras import needs_extra

if TYPE_CHECKING:
    from openpyxl import Workbook as File


_MAX_CELL_CHARS = 32_767
_MAX_LINK_CHARS = 2_079
_MAX_LINKS = 65_530  # of one sheet: Excel repairs a file that has more by throwing them away
_MAX_TITLE_CHARS = 31
_INVALID_TITLE_CHARS = re.compile(r"[\[\]:*?/\\']")
_FORMULA_STARTS = ("=", "+", "-", "@")
_TEXT_STYLE, _LINK_STYLE, _COUNT_STYLE, _DATE_STYLE, _INSTANT_STYLE, _HEAD_STYLE = (
    f"Monitor {kind}" for kind in ("text", "link", "count", "date", "time", "head")
)
_LINE_HEIGHT_PT, _MAX_LINES = 15, 12


def render_xlsx(workbook: Workbook) -> bytes:
    """Return the sheets with a frozen header, filters, real dates and real links, ready to be printed.

    They are written row by row, so that a large archive needs little memory. No text becomes a formula.
    """
    with needs_extra("documents"):
        from openpyxl import Workbook as File

    file = File(write_only=True)
    _add_styles(file)
    file.properties.title, file.properties.creator = normalize_line(workbook.title), "Monitor"
    if workbook.written_at is not None:
        file.properties.created = file.properties.modified = workbook.written_at.astimezone(dt.UTC).replace(tzinfo=None)
    for sheet in workbook.sheets:
        _write_sheet(file, sheet)
    made = io.BytesIO()
    file.save(made)
    return made.getvalue()


def _add_styles(file: "File") -> None:
    from openpyxl.styles import Alignment, Border, Font, NamedStyle, PatternFill, Side

    accent = "0F4C5C"
    text = Font(name="Microsoft YaHei", size=10, color="1D2329")
    linked = Font(name="Microsoft YaHei", size=10, color=accent, underline="single")
    head = Font(name="Microsoft YaHei", size=10, bold=True, color="FFFFFF")
    wrapped, left = Alignment(vertical="top", wrap_text=True), Alignment(vertical="top", horizontal="left")
    right = Alignment(vertical="top", horizontal="right", indent=1)
    below = Border(bottom=Side(style="thin", color="E2DFD7"))
    instant = "yyyy\\-mm\\-dd\\ hh:mm"
    for style in (
        NamedStyle(_COUNT_STYLE, font=text, alignment=right, border=below),
        NamedStyle(_TEXT_STYLE, font=text, alignment=wrapped, border=below),
        NamedStyle(_DATE_STYLE, font=text, alignment=left, border=below, number_format="yyyy\\-mm\\-dd"),
        NamedStyle(_INSTANT_STYLE, font=text, alignment=left, border=below, number_format=instant),
        NamedStyle(_LINK_STYLE, font=linked, alignment=wrapped, border=below),
        NamedStyle(
            _HEAD_STYLE,
            font=head,
            alignment=Alignment(vertical="center", wrap_text=True),
            fill=PatternFill("solid", fgColor=accent),
        ),
    ):
        file.add_named_style(style)


def _write_sheet(file: "File", sheet: Sheet) -> None:
    from openpyxl.utils import get_column_letter

    page: Any = file.create_sheet(normalize_line(_INVALID_TITLE_CHARS.sub(" ", sheet.title))[:_MAX_TITLE_CHARS])
    last, bottom = get_column_letter(len(sheet.columns)), len(sheet.rows) + 1
    for index, column in enumerate(sheet.columns, start=1):
        page.column_dimensions[get_column_letter(index)].width = column.width
    page.freeze_panes = "A2"
    page.auto_filter.ref = f"A1:{last}{bottom}"
    page.print_title_rows = "1:1"
    page.print_area = f"A1:{get_column_letter(sheet.printed or len(sheet.columns))}{bottom}"
    page.page_setup.orientation, page.page_setup.paperSize = "landscape", 9
    page.page_setup.fitToWidth, page.page_setup.fitToHeight = 1, 0
    page.sheet_properties.pageSetUpPr.fitToPage = True
    page.oddFooter.center.text = "&P / &N"
    page.append([_build_cell(page, column.title, _HEAD_STYLE) for column in sheet.columns])
    links = 0
    for number, row in enumerate(sheet.rows, start=2):
        # Not every program makes room by itself for a text that it breaks into lines.
        page.row_dimensions[number].height = _LINE_HEIGHT_PT * _count_lines(row, sheet.columns)
        cells = []
        for value in row:
            url = sanitize_link_target(value.url) if isinstance(value, Span) and links < _MAX_LINKS else None
            url = url if url and len(url) <= _MAX_LINK_CHARS else None
            links += url is not None
            cells.append(_build_value_cell(page, value, url))
        page.append(cells)


def _count_lines(row: Sequence[Cell], columns: Sequence[Column]) -> int:
    lines = 1
    for cell, column in zip(row, columns, strict=True):
        text = cell.text if isinstance(cell, Span) else cell
        if isinstance(text, str):
            lines = max(lines, ceil(measure_text_width(text) / (column.width - 2)))
    return min(lines, _MAX_LINES)


def _build_value_cell(page: Any, value: Cell, url: str | None) -> Any:
    if isinstance(value, dt.datetime):
        return _build_cell(page, value.replace(tzinfo=None, microsecond=0), _INSTANT_STYLE)
    if isinstance(value, dt.date):
        return _build_cell(page, value, _DATE_STYLE)
    if value is None or isinstance(value, int):
        return _build_cell(page, value, _COUNT_STYLE)
    text = normalize_line(value.text if isinstance(value, Span) else value)[:_MAX_CELL_CHARS]
    cell = _build_cell(page, text, _LINK_STYLE if url else _TEXT_STYLE)
    cell.hyperlink = url
    return cell


def _build_cell(page: Any, value: Any, style: str) -> Any:
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(page, value)
    cell.style = style
    if isinstance(value, str):
        cell.data_type = "s"  # openpyxl would take `=1+1` for a formula and `#N/A` for an error
        if value.startswith(_FORMULA_STARTS):
            cell.quotePrefix = True  # and it stays a text when somebody edits the cell
    return cell
