"""Formats for programs: CSV, JSON, and JSON Lines with one record per line."""

import csv
import datetime as dt
import io
import json
from collections.abc import Iterable
from typing import Any

from monitor.exports.document import Cell, Sheet, Span, normalize_line

# A cell that begins with one of these is a formula to some spreadsheet, and titles come from other people's pages.
_FORMULA_STARTS = ("=", "+", "-", "@", "|", "%", "＝", "＋", "－", "＠")


def render_csv(sheet: Sheet, *, has_head: bool = True) -> bytes:
    """Return a line per row below the names of the columns, in UTF-8 with a byte order mark for spreadsheets.

    Without the head, these are further rows of a file that has begun. No cell can become a formula: one
    that looks like it gets a leading apostrophe. A link is written as its text.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    if has_head:
        writer.writerow([column.name for column in sheet.columns])
    writer.writerows([_format_cell(cell) for cell in row] for row in sheet.rows)
    return text.getvalue().encode("utf-8-sig" if has_head else "utf-8")


def _format_cell(cell: Cell) -> str | int:
    if cell is None:
        return ""
    if isinstance(cell, int):
        return cell
    if isinstance(cell, dt.date):
        return cell.isoformat()
    text = normalize_line(cell.text if isinstance(cell, Span) else cell)
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def render_json(document: Any, indent: int | None = 2) -> bytes:
    # Half a surrogate pair, which a broken page may bring, has no place in UTF-8: it becomes a question mark.
    return (json.dumps(document, ensure_ascii=False, indent=indent) + "\n").encode(errors="replace")


def render_json_lines(records: Iterable[Any]) -> bytes:
    return b"".join(render_json(record, indent=None) for record in records)
