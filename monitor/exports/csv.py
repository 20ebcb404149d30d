"""Rows written as CSV, safe to open in a spreadsheet."""

import csv
import datetime as dt
import io

from monitor.exports.document import Cell, Sheet, Span, normalize_line

# A cell that begins with one of these is a formula to some spreadsheet, and titles come from other people's pages.
_FORMULA_STARTS = ("=", "+", "-", "@", "|", "%", "＝", "＋", "－", "＠")


def render_csv(sheet: Sheet) -> bytes:
    """One line a row, under the columns' names; UTF-8 with the mark by which a spreadsheet knows that it is.

    No cell can become a formula: one that looks like it begins with an apostrophe. A link is its text.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([column.name for column in sheet.columns])
    writer.writerows([_format_cell(cell) for cell in row] for row in sheet.rows)
    return text.getvalue().encode("utf-8-sig")


def _format_cell(cell: Cell) -> str | int:
    if cell is None:
        return ""
    if isinstance(cell, int):
        return cell
    if isinstance(cell, dt.date):
        return cell.isoformat()
    text = normalize_line(cell.text if isinstance(cell, Span) else cell)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
