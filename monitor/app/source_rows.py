"""Sources as rows of a spreadsheet: CSV with the fields' names above, lists in one cell, separated by semicolons."""

import csv
import io
import re
from typing import Any

from monitor.app.source_form import SourceForm, form_values
from monitor.domain.tables import Source
from monitor.domain.urls import host_of
from monitor.errors import UsageError

LISTS = ("focus_areas", "sections", "keywords_include", "keywords_exclude", "tags")
_NUMBERS = ("window_days", "max_items")
_SWITCHES = ("allow_other_hosts", "enabled")
_YES_NO = {"true": True, "yes": True, "1": True, "是": True, "false": False, "no": False, "0": False, "否": False}
_FIELDS = list(SourceForm.model_fields)
# A cell that begins so is a formula to some spreadsheet; an apostrophe before it makes it a text.
_IS_FORMULA = re.compile(r"[=+\-@|%＝＋－＠\t\r]|'['=+\-@|%＝＋－＠\t\r]")
_IS_GUARDED = re.compile(r"'['=+\-@|%＝＋－＠\t\r]")
_DELIMITERS = ",;\t"


def to_csv(sources: list[Source]) -> str:
    """One line a source; what is at its default is left empty."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _FIELDS, lineterminator="\r\n")
    writer.writeheader()
    for source in sources:
        writer.writerow({field: _cell(field, value) for field, value in form_values(source).items()})
    return text.getvalue()


def from_csv(where: str, content: bytes) -> list[dict[str, Any]]:
    """What the lines say, not yet checked; UTF-8, or GB 18030 as spreadsheets in China write it.

    A source without a name is called after its host. `UsageError` where there is no line of fields' names.
    """
    text = _decoded(where, content)
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=lambda one: sum(_key(name) in _FIELDS for name in head.split(one)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [line for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise UsageError(f"{where} is no CSV: {error}, near line {reader.line_num}.") from None
    names = [_key(name) for name in lines[0]] if lines else []
    if "url" not in names and "name" not in names:
        raise UsageError(
            f"{where} has no line of names at its head: write {','.join(_FIELDS[:4])},… above the sources."
        )
    rows = [dict(zip(names, line, strict=False)) for line in lines[1:]]
    return [_values(row) for row in rows]


def _decoded(where: str, content: bytes) -> str:
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UsageError(f"{where} is neither UTF-8 nor GB 18030: save it as “CSV UTF-8”.")


def _key(name: str) -> str:
    return name.strip().strip('"').lower()


def _values(row: dict[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field, cell in row.items():
        text = cell[1:] if _IS_GUARDED.match(cell) else cell
        if field and text:
            values[field] = _value(field, text)
    if not values.get("name") and values.get("url"):
        values["name"] = host_of(values["url"]).removeprefix("www.") or values["url"]
    return values


def _value(field: str, text: str) -> Any:
    if field in LISTS:
        return _list(field, text)
    if field in _NUMBERS and text.strip().isdecimal():
        return int(text)
    return _YES_NO.get(text.strip().lower(), text) if field in _SWITCHES else text


def _cell(field: str, value: Any) -> str:
    if isinstance(value, list):
        entries = [section_line(one) if field == "sections" else one for one in value]
        text = "; ".join(re.sub(r"([\\;])", r"\\\1", entry) for entry in entries)
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text}" if _IS_FORMULA.match(text) else text


def _list(field: str, text: str) -> list[Any]:
    entries = [
        re.sub(r"\\(.)", r"\1", entry, flags=re.DOTALL).strip()
        for entry in re.findall(r"(?:[^\\;]|\\.|\\$)+", text, flags=re.DOTALL)
    ]
    entries = [entry for entry in entries if entry]
    return [section_of(entry) for entry in entries] if field == "sections" else entries


def section_line(section: dict[str, str]) -> str:
    """A pinned section on one line: its name, then its url, which holds no space."""
    return f"{section['name']} {section['url']}"


def section_of(line: str) -> dict[str, str]:
    """The section on a line; a line without a name gets its url as one."""
    name, _, url = line.strip().rpartition(" ")
    return {"name": name.strip() or url, "url": url}
