"""Lists of sources as tables, CSV and XLSX: a source in a row, the names of its fields in the first one."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from monitor.config.loading import MAX_YAML_BYTES
from monitor.db.tables.collection import Source
from monitor.errors import UsageError
from monitor.extras import needs_extra
from monitor.i18n.message import Message
from monitor.log_in import LogInStep, format_step
from monitor.services.schedules import OFF
from monitor.services.sources.form import SourceForm, dump_form_values
from monitor.urls import get_host

if TYPE_CHECKING:
    from monitor.extract.office import SheetRows

MAX_IMPORT_BYTES = MAX_YAML_BYTES
MAX_IMPORT_SOURCES = 5000
REASON_FIELD = "reason"  # of rows that come back; read again, it says nothing about the source

_LIST_FIELDS = ("focus_areas", "sections", "steps", "keywords_include", "keywords_exclude", "tags")
_JSON_FIELDS = ("recipes",)
_NUMBER_FIELDS = ("window_days", "max_items")
_BOOLEAN_FIELDS = ("allow_other_hosts", "enabled")

_BOOLEAN_WORDS = dict.fromkeys(("true", "yes", "1", "是"), True) | dict.fromkeys(("false", "no", "0", "否"), False)
_FIELDS = list(SourceForm.model_fields)

# A cell that begins so is a formula to some spreadsheet; an apostrophe before it makes it a text.
_FORMULA_PATTERN = re.compile(r"[=+\-@|%＝＋－＠\t\r]|'['=+\-@|%＝＋－＠\t\r]")
_ESCAPED_FORMULA_PATTERN = re.compile(r"'['=+\-@|%＝＋－＠\t\r]")
_DELIMITERS = ",;\t"
_MAX_ROW_LINES = 200  # of a row with line breaks in its cells, in a file that is damaged
_MAX_CELL_CHARS = 32_767  # of a workbook
# What XML cannot hold, as workbooks write it: `_x0000_`; and what looks like that already.
_UNWRITABLE_PATTERN = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


class SourceListFormat(StrEnum):
    YAML = "yaml"
    OPML = "opml"
    CSV = "csv"
    XLSX = "xlsx"


@dataclass(frozen=True)
class SourceRow:
    """A row of a list: its values, unchecked, and `raw`, as it stands there; `fault` where no values can be read.

    `raw` is a list of cells, the value of a YAML list, or the attributes of an outline; `folders` are those of OPML.
    """

    raw: Any
    values: dict[str, Any] = field(default_factory=dict)
    fault: Message | None = None
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceList:
    """The rows of a list; `columns` are the names at the head of a table."""

    list_format: SourceListFormat
    rows: Sequence[SourceRow]
    columns: Sequence[str] = ()


RejectedRows = Sequence[tuple[SourceRow, str]]


def dump_source(source: Source) -> dict[str, Any]:
    """Return the fields that are not at their defaults, and that a source is run by hand: a new one is not."""
    return dump_form_values(source) | ({} if source.schedule else {"schedule": OFF})


def format_csv(sources: Iterable[Source]) -> bytes:
    return _encode_csv(_build_cells(sources))


def format_workbook(sources: Iterable[Source]) -> bytes:
    return _encode_workbook(_build_cells(sources))


def parse_csv(label: str, content: bytes) -> SourceList:
    """Parse UTF-8 or GB 18030; a source without a name gets its host. `UsageError` without a header."""
    text = _decode(label, content)
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=lambda sign: sum(_normalize_column(name) in _FIELDS for name in head.split(sign)))
    rows = [row for row in _read_csv_rows(text, delimiter) if row.fault or any(cell.strip() for cell in row.raw)]
    if rows and rows[0].fault:
        raise UsageError("source.bad_csv", label=label)
    return _build_list(SourceListFormat.CSV, label, rows)


def parse_sheets(label: str, sheets: "Sequence[SheetRows]") -> SourceList:
    """Parse the first sheet of a workbook that has rows; each further one comes back as a row that was not read."""
    filled = [sheet for sheet in sheets if sheet.rows]
    rows = [SourceRow(cells) for sheet in filled[:1] for cells in sheet.rows]
    found = _build_list(SourceListFormat.XLSX, label, rows)
    others = [
        SourceRow([sheet.title], fault=Message("source.other_sheet", {"sheet": sheet.title})) for sheet in filled[1:]
    ]
    return SourceList(found.list_format, [*found.rows, *others], found.columns)


def format_rejected_csv(rows: RejectedRows, columns: Sequence[str]) -> bytes:
    return _encode_csv(_build_rejected_cells(rows, columns))


def format_rejected_workbook(rows: RejectedRows, columns: Sequence[str]) -> bytes:
    return _encode_workbook(_build_rejected_cells(rows, columns))


def parse_json_cell(text: str) -> Any:
    """Return what a cell or a hidden field holds as JSON; the text itself, which no check takes, where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def format_steps(steps: Iterable[Mapping[str, Any] | str]) -> list[str]:
    """Return the lines of steps; one that is a line already, and may be wrong, stays as it is."""
    return [step if isinstance(step, str) else format_step(LogInStep.model_validate(step)) for step in steps]


def format_section(section: dict[str, str]) -> str:
    return f"{section['name']} {section['url']}"


def parse_section(line: str) -> dict[str, str]:
    name, _, url = line.strip().rpartition(" ")
    return {"name": name.strip() or url, "url": url}


def _build_list(list_format: SourceListFormat, label: str, rows: Sequence[SourceRow]) -> SourceList:
    columns = [_normalize_column(name) for name in rows[0].raw] if rows else []
    if "url" not in columns and "name" not in columns:
        raise UsageError("source.csv_without_header", label=label, names=",".join(_FIELDS[:4]))
    return SourceList(list_format, [_fill_row(row, columns, list_format) for row in rows[1:]], rows[0].raw)


def _fill_row(row: SourceRow, columns: Sequence[str], list_format: SourceListFormat) -> SourceRow:
    if row.fault is not None:
        return row
    if any(cell.strip() for cell in row.raw[len(columns) :]):
        code = "source.csv_cells" if list_format is SourceListFormat.CSV else "source.sheet_cells"
        return SourceRow(row.raw, fault=Message(code, {"cells": len(row.raw), "columns": len(columns)}))
    return SourceRow(row.raw, _parse_row(dict(zip(columns, row.raw, strict=False))))


def _read_csv_rows(text: str, delimiter: str) -> list[SourceRow]:
    lines = list(io.StringIO(text, newline=""))
    try:
        return [SourceRow(cells) for cells in csv.reader(lines, delimiter=delimiter, strict=True)]
    except csv.Error:
        return list(_recover_csv_rows(lines, delimiter))


def _recover_csv_rows(lines: Sequence[str], delimiter: str) -> Iterator[SourceRow]:
    """Read row by row; where that fails, a row ends with its line, so that a quote left open takes no other row."""
    start = found = 0
    while start < len(lines) and found <= MAX_IMPORT_SOURCES + 1:
        reader = csv.reader(lines[start : start + _MAX_ROW_LINES], delimiter=delimiter, strict=True)
        try:
            yield SourceRow(next(reader))
            start += reader.line_num
        except csv.Error:
            yield SourceRow([lines[start].rstrip("\r\n")], fault=Message("source.bad_csv_row"))
            start += 1
        found += 1


def _decode(label: str, content: bytes) -> str:
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UsageError("source.bad_csv_encoding", label=label)


def _normalize_column(name: str) -> str:
    return name.strip().strip('"').lower()


def _parse_row(row: dict[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, cell in row.items():
        text = cell[1:] if _ESCAPED_FORMULA_PATTERN.match(cell) else cell
        if name and name != REASON_FIELD and text:
            values[name] = _parse_value(name, text)
    if not values.get("name") and values.get("url"):
        values["name"] = get_host(values["url"]).removeprefix("www.") or values["url"]
    return values


def _parse_value(name: str, text: str) -> Any:
    if name in _LIST_FIELDS:
        return _parse_list(name, text)
    if name in _JSON_FIELDS:
        return parse_json_cell(text)
    if name in _NUMBER_FIELDS and text.strip().isdecimal():
        return int(text)
    return _BOOLEAN_WORDS.get(text.strip().lower(), text) if name in _BOOLEAN_FIELDS else text


def _parse_list(name: str, text: str) -> list[Any]:
    entries = [
        re.sub(r"\\(.)", r"\1", entry, flags=re.DOTALL).strip()
        for entry in re.findall(r"(?:[^\\;]|\\.|\\$)+", text, flags=re.DOTALL)
    ]
    entries = [entry for entry in entries if entry]
    return [parse_section(entry) for entry in entries] if name == "sections" else entries


def _build_cells(sources: Iterable[Source]) -> Iterator[list[str]]:
    yield _FIELDS
    for source in sources:
        values = dump_source(source)
        yield [_format_cell(name, values[name]) if name in values else "" for name in _FIELDS]


def _format_cell(name: str, value: Any) -> str:
    if name in _JSON_FIELDS:
        text = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        entries = [_format_entry(name, entry) for entry in value]
        text = "; ".join(re.sub(r"([\\;])", r"\\\1", entry) for entry in entries)
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text}" if _FORMULA_PATTERN.match(text) else text


def _format_entry(name: str, entry: Any) -> str:
    if name == "steps":
        return format_steps([entry])[0]
    return format_section(entry) if name == "sections" else str(entry)


def _build_rejected_cells(rows: RejectedRows, columns: Sequence[str]) -> Iterator[list[str]]:
    """The reason stands in the first column, where cells that are too many do not move it."""
    left_out = {index for index, name in enumerate(columns) if _normalize_column(name) == REASON_FIELD}
    yield [REASON_FIELD, *(name for index, name in enumerate(columns) if index not in left_out)]
    for row, reason in rows:
        cells = [cell for index, cell in enumerate(row.raw) if row.fault or index not in left_out]
        yield [_escape_formula(reason), *map(_escape_formula, cells)]


def _escape_formula(cell: str) -> str:
    """Return a cell as it stood, or with the apostrophe that makes a formula a text."""
    is_safe = _ESCAPED_FORMULA_PATTERN.match(cell) or not _FORMULA_PATTERN.match(cell)
    return cell if is_safe else f"'{cell}"


def _encode_csv(rows: Iterable[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    # A spreadsheet takes a CSV for the country's old encoding unless a mark at its head says otherwise.
    return text.getvalue().encode("utf-8-sig")


def _encode_workbook(rows: Iterable[Sequence[str]]) -> bytes:
    """Write texts alone, each as it is: nothing of them becomes a formula or a number."""
    with needs_extra("documents"):
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell

    file = Workbook(write_only=True)
    sheet = file.create_sheet("sources")
    sheet.freeze_panes = "A2"
    for row in rows:
        cells = []
        for text in row:
            if len(text) > _MAX_CELL_CHARS:
                raise UsageError("source.long_cell", limit=_MAX_CELL_CHARS)
            cell = WriteOnlyCell(sheet, _UNWRITABLE_PATTERN.sub(lambda found: f"_x{ord(found[0]):04X}_", text))
            cell.data_type = "s"
            cells.append(cell)
        sheet.append(cells)
    made = io.BytesIO()
    file.save(made)
    return made.getvalue()
