"""Lists of sources in and out: YAML as in config.yaml, OPML for feed readers, CSV for spreadsheets."""

import csv
import dataclasses
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml
from lxml import etree

from monitor.config.loading import MAX_YAML_BYTES, parse_yaml
from monitor.db.tables.collection import Source
from monitor.errors import UsageError
from monitor.exports.document import normalize_line
from monitor.i18n.message import Message
from monitor.log_in import LogInStep, format_step
from monitor.services.schedules import OFF
from monitor.services.sources.form import SourceForm, dump_form_values
from monitor.urls import get_host
from monitor.vocabulary import SourceKind

LIST_FIELDS = ("focus_areas", "sections", "steps", "keywords_include", "keywords_exclude", "tags")
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
REASON_FIELD = "reason"  # of rows that come back; read again, it says nothing about the source


def to_csv(sources: list[Source]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _FIELDS, lineterminator="\r\n")
    writer.writeheader()
    for source in sources:
        writer.writerow({field: _format_cell(field, value) for field, value in _dump_source(source).items()})
    return text.getvalue()


def _dump_source(source: Source) -> dict[str, Any]:
    """Return the fields that are not at their defaults, and that a source is run by hand: a new one is not."""
    return dump_form_values(source) | ({} if source.schedule else {"schedule": OFF})


@dataclasses.dataclass(frozen=True)
class SourceRow:
    """A row of a list: its values, unchecked, and `raw`, as it stands there; `fault` where no values can be read.

    `raw` is a list of cells, the value of a YAML list, or the attributes of an outline; `folders` are those of OPML.
    """

    raw: Any
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    fault: Message | None = None
    folders: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class SourceList:
    """The rows of a list; `columns` are the names at the head of a CSV."""

    list_format: "SourceListFormat"
    rows: Sequence[SourceRow]
    columns: Sequence[str] = ()


def _parse_csv(label: str, content: bytes) -> SourceList:
    """Parse UTF-8 or GB 18030; a source without a name gets its host. `UsageError` without a header."""
    text = _decode(label, content)
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=lambda sign: sum(_normalize_column(name) in _FIELDS for name in head.split(sign)))
    rows = [row for row in _read_csv_rows(text, delimiter) if row.fault or any(cell.strip() for cell in row.raw)]
    if rows and rows[0].fault:
        raise UsageError("source.bad_csv", label=label)
    columns = [_normalize_column(name) for name in rows[0].raw] if rows else []
    if "url" not in columns and "name" not in columns:
        raise UsageError("source.csv_without_header", label=label, names=",".join(_FIELDS[:4]))
    return SourceList(SourceListFormat.CSV, [_fill_csv_row(row, columns) for row in rows[1:]], rows[0].raw)


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


def _fill_csv_row(row: SourceRow, columns: Sequence[str]) -> SourceRow:
    if row.fault is not None:
        return row
    if any(cell.strip() for cell in row.raw[len(columns) :]):
        return SourceRow(row.raw, fault=Message("source.csv_cells", {"cells": len(row.raw), "columns": len(columns)}))
    return SourceRow(row.raw, _parse_row(dict(zip(columns, row.raw, strict=False))))


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
    for field, cell in row.items():
        text = cell[1:] if _ESCAPED_FORMULA_PATTERN.match(cell) else cell
        if field and field != REASON_FIELD and text:
            values[field] = _parse_value(field, text)
    if not values.get("name") and values.get("url"):
        values["name"] = get_host(values["url"]).removeprefix("www.") or values["url"]
    return values


def _parse_value(field: str, text: str) -> Any:
    if field in LIST_FIELDS:
        return _parse_list(field, text)
    if field in _JSON_FIELDS:
        return parse_json_cell(text)
    if field in _NUMBER_FIELDS and text.strip().isdecimal():
        return int(text)
    return _BOOLEAN_WORDS.get(text.strip().lower(), text) if field in _BOOLEAN_FIELDS else text


def parse_json_cell(text: str) -> Any:
    """Return what a cell or a hidden field holds as JSON; the text itself, which no check takes, where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _format_cell(field: str, value: Any) -> str:
    if field in _JSON_FIELDS:
        text = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, list):
        entries = [_format_entry(field, entry) for entry in value]
        text = "; ".join(re.sub(r"([\\;])", r"\\\1", entry) for entry in entries)
    else:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text}" if _FORMULA_PATTERN.match(text) else text


def _format_entry(field: str, entry: Any) -> str:
    if field == "steps":
        return format_steps([entry])[0]
    return format_section(entry) if field == "sections" else str(entry)


def _parse_list(field: str, text: str) -> list[Any]:
    entries = [
        re.sub(r"\\(.)", r"\1", entry, flags=re.DOTALL).strip()
        for entry in re.findall(r"(?:[^\\;]|\\.|\\$)+", text, flags=re.DOTALL)
    ]
    entries = [entry for entry in entries if entry]
    return [parse_section(entry) for entry in entries] if field == "sections" else entries


def format_steps(steps: Iterable[Mapping[str, Any] | str]) -> list[str]:
    """Return the lines of steps; one that is a line already, and may be wrong, stays as it is."""
    return [step if isinstance(step, str) else format_step(LogInStep.model_validate(step)) for step in steps]


def format_section(section: dict[str, str]) -> str:
    return f"{section['name']} {section['url']}"


def parse_section(line: str) -> dict[str, str]:
    name, _, url = line.strip().rpartition(" ")
    return {"name": name.strip() or url, "url": url}


MAX_IMPORT_BYTES = MAX_YAML_BYTES
MAX_IMPORT_SOURCES = 5000
_MAX_TAG_CHARS = 100
_OPML_ATTRIBUTE = "monitorSource"
_INVALID_XML_CHARS = re.compile(r"[\ud800-\udfff\ufffe\uffff]")  # JSON itself escapes control characters


class SourceListFormat(StrEnum):
    YAML = "yaml"
    OPML = "opml"
    CSV = "csv"


def format_sources(sources: list[Source], list_format: SourceListFormat) -> str:
    return _WRITERS[list_format](sources)


def to_yaml(sources: list[Source]) -> str:
    document = {"sources": [_dump_source(source) for source in sources]}
    return yaml.dump(document, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120)


class _Dumper(yaml.SafeDumper):
    """Puts a text with a line break of Unicode's own between double quotes, where it is escaped and not folded."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        style = '"' if re.search("[\x85\u2028\u2029]", text) else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


def to_opml(sources: list[Source]) -> str:
    """The sources as OPML 2.0; what OPML has no word for stands whole in an attribute of ours."""
    root = etree.Element("opml", version="2.0")
    etree.SubElement(etree.SubElement(root, "head"), "title").text = "Monitor sources"
    body = etree.SubElement(root, "body")
    for source in sources:
        address = _build_opml_address(source)
        own = _INVALID_XML_CHARS.sub(_escape_char, json.dumps(_dump_source(source), ensure_ascii=False))
        etree.SubElement(body, "outline", {"text": normalize_line(source.name), **address, _OPML_ATTRIBUTE: own})
    text: bytes = etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)
    return text.decode()


def _build_opml_address(source: Source) -> dict[str, str]:
    """What a feed reader understands; a standing search has no address."""
    match source.kind:
        case SourceKind.QUERY:
            return {}
        case SourceKind.FEED:
            return {"type": "rss", "xmlUrl": source.url}
    return {"type": "link", "url": source.url}


def _escape_char(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def read_source_file(path: Path) -> SourceList:
    """Parse a file in the form that its name says; `UsageError` where it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError("source.unreadable_file", path=str(path), reason=error.strerror) from None
    return parse_list(content, detect_format(path.name), label=str(path))


def detect_format(name: str) -> SourceListFormat:
    """The form that a file of this name has: YAML unless its ending says OPML or CSV."""
    endings = {".opml": SourceListFormat.OPML, ".xml": SourceListFormat.OPML, ".csv": SourceListFormat.CSV}
    return endings.get(Path(name).suffix.lower(), SourceListFormat.YAML)


def parse_list(content: bytes, list_format: SourceListFormat, *, label: str) -> SourceList:
    """Parse a list; `UsageError` for another form, more than 2 MB or more than 5,000 sources."""
    if len(content) > MAX_IMPORT_BYTES:
        raise UsageError("source.large_list", label=label, limit_mb=MAX_IMPORT_BYTES // 1024**2)
    source_list = _READERS[list_format](label, content)
    if len(source_list.rows) > MAX_IMPORT_SOURCES:
        raise UsageError("source.long_list", label=label, number=len(source_list.rows), limit=MAX_IMPORT_SOURCES)
    return source_list


def _parse_yaml(label: str, content: bytes) -> SourceList:
    try:
        text = content.decode("utf-8-sig")
    except ValueError:
        raise UsageError("source.bad_yaml", label=label) from None
    try:
        document = parse_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        blocks = _split_yaml_entries(text)
        if not blocks:
            raise UsageError("source.bad_yaml", label=label) from None
        return SourceList(SourceListFormat.YAML, [_parse_yaml_entry(block) for block in blocks])
    rows = document.get("sources") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise UsageError("source.yaml_without_list", label=label)
    return SourceList(SourceListFormat.YAML, [_build_yaml_row(row) for row in rows])


def _split_yaml_entries(text: str) -> list[str]:
    """Return the entries of a list whose document cannot be parsed as a whole: each begins like the first one."""
    first = re.search(r"^ *- ", text, re.MULTILINE)
    if first is None:
        return []
    return re.split(rf"^(?={re.escape(first[0])})", text[first.start() :], flags=re.MULTILINE)[
        1 : MAX_IMPORT_SOURCES + 2
    ]


def _parse_yaml_entry(block: str) -> SourceRow:
    try:
        (entry,) = parse_yaml(block)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return SourceRow(block, fault=Message("source.bad_yaml_entry"))
    return _build_yaml_row(entry)


def _build_yaml_row(entry: Any) -> SourceRow:
    if not isinstance(entry, dict):
        return SourceRow(entry, fault=Message("source.bad_yaml_entry"))
    values = {str(key): value for key, value in entry.items() if key != REASON_FIELD}
    return SourceRow(values, values)


def _parse_xml(content: bytes) -> Any:
    return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))


def _parse_opml(label: str, content: bytes) -> SourceList:
    try:
        root = _parse_xml(content)
    except etree.XMLSyntaxError as error:
        rows = list(_recover_outlines(content.decode("utf-8-sig", "replace")))
        if not rows:
            raise UsageError("source.bad_opml", label=label, reason=error.msg) from None
    else:
        rows = list(_parse_outlines(root if root.find("body") is None else root.find("body")))
    return SourceList(SourceListFormat.OPML, rows)


def _parse_outlines(parent: Any) -> Iterator[SourceRow]:
    """Yield the sources below an element; an outline without an address that holds others is a folder."""
    walk: list[tuple[Any, tuple[str, ...]]] = [(child, ()) for child in reversed(parent.findall("outline"))]
    while walk:
        outline, path = walk.pop()
        children, row = outline.findall("outline"), _parse_outline(dict(outline.attrib), path)
        if row.values.get("url") or not children:
            yield row
        else:
            path = (*path, row.values.get("name") or "")
        walk.extend((child, path) for child in reversed(children))


def _recover_outlines(text: str) -> Iterator[SourceRow]:
    """Read tag by tag what is no XML as a whole, so that a sign in one title takes no other source."""
    path: list[str] = []
    for tag in re.findall(r"<(/?outline\b[^<]*)", text):
        body, end, _ = tag.rpartition(">")
        if tag.startswith("/"):
            del path[-1:]
            continue
        is_open = not body.endswith("/")
        try:
            outline = _parse_xml(f"<{body.removesuffix('/')}/>".encode()) if end else None
        except etree.XMLSyntaxError:
            outline = None
        if outline is None:
            yield SourceRow({"text": f"<{tag.strip()}"}, fault=Message("source.bad_outline"), folders=tuple(path))
        else:
            row = _parse_outline(dict(outline.attrib), tuple(name for name in path if name))
            if row.values.get("url") or not is_open:
                yield row
        if is_open:
            path.append("" if outline is None or row.values.get("url") else str(row.values.get("name") or ""))


def _parse_outline(attributes: dict[str, str], folders: tuple[str, ...]) -> SourceRow:
    raw = {name: value for name, value in attributes.items() if name != REASON_FIELD}
    if own := raw.get(_OPML_ATTRIBUTE):
        values = parse_json_cell(own)
        if not isinstance(values, dict):
            return SourceRow(raw, fault=Message("source.bad_outline"), folders=folders)
    else:
        feed, page = raw.get("xmlUrl"), raw.get("url") or raw.get("htmlUrl")
        name = raw.get("title") or raw.get("text")
        kind = {"kind": "feed"} if feed else {}
        values = {"name": name or feed or page, "url": feed or page, **kind}
    return SourceRow(raw, _add_folder_tags(values, folders), folders=folders)


def _add_folder_tags(values: dict[str, Any], folders: tuple[str, ...]) -> dict[str, Any]:
    names = [normalize_line(name)[:_MAX_TAG_CHARS] for name in folders if normalize_line(name)]
    tags = values.get("tags", [])
    return {**values, "tags": list(dict.fromkeys([*tags, *names]))} if names and isinstance(tags, list) else values


def format_rejected(source_list: SourceList, reasons: Mapping[int, str]) -> str:
    """Return a list of the rows with these indexes, as they stood, each with its reason."""
    rows = [(source_list.rows[index], normalize_line(reason)) for index, reason in sorted(reasons.items())]
    return _REJECT_WRITERS[source_list.list_format](rows, source_list.columns)


RejectedRows = Sequence[tuple[SourceRow, str]]


def _reject_csv(rows: RejectedRows, columns: Sequence[str]) -> str:
    """The reason stands in the first column, where cells that are too many do not move it."""
    left_out = {index for index, name in enumerate(columns) if _normalize_column(name) == REASON_FIELD}
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([REASON_FIELD, *(name for index, name in enumerate(columns) if index not in left_out)])
    for row, reason in rows:
        cells = [cell for index, cell in enumerate(row.raw) if row.fault or index not in left_out]
        writer.writerow([_escape_formula(reason), *map(_escape_formula, cells)])
    return text.getvalue()


def _escape_formula(cell: str) -> str:
    """Return a cell as it stood, or with the apostrophe that makes a formula a text."""
    is_safe = _ESCAPED_FORMULA_PATTERN.match(cell) or not _FORMULA_PATTERN.match(cell)
    return cell if is_safe else f"'{cell}"


def _reject_yaml(rows: RejectedRows, _: Sequence[str]) -> str:
    entries = [
        {REASON_FIELD: reason, **(row.raw if isinstance(row.raw, dict) else {"text": row.raw})} for row, reason in rows
    ]
    return yaml.dump({"sources": entries}, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120)


def _reject_opml(rows: RejectedRows, _: Sequence[str]) -> str:
    root = etree.Element("opml", version="2.0")
    etree.SubElement(etree.SubElement(root, "head"), "title").text = "Monitor sources"
    body = etree.SubElement(root, "body")
    for row, reason in rows:
        parent = body
        for name in row.folders:
            parent = etree.SubElement(parent, "outline", {"text": normalize_line(name)})
        raw = {name: value if row.fault is None else normalize_line(value) for name, value in row.raw.items()}
        etree.SubElement(parent, "outline", {REASON_FIELD: reason, **raw})
    text: bytes = etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)
    return text.decode()


_WRITERS: dict[SourceListFormat, Callable[[list[Source]], str]] = {
    SourceListFormat.YAML: to_yaml,
    SourceListFormat.OPML: to_opml,
    SourceListFormat.CSV: to_csv,
}
_READERS: dict[SourceListFormat, Callable[[str, bytes], SourceList]] = {
    SourceListFormat.YAML: _parse_yaml,
    SourceListFormat.OPML: _parse_opml,
    SourceListFormat.CSV: _parse_csv,
}
_REJECT_WRITERS: dict[SourceListFormat, Callable[[RejectedRows, Sequence[str]], str]] = {
    SourceListFormat.YAML: _reject_yaml,
    SourceListFormat.OPML: _reject_opml,
    SourceListFormat.CSV: _reject_csv,
}
