"""Lists of sources in and out: YAML as in config.yaml, OPML for feed readers, CSV for spreadsheets."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml
from lxml import etree

from monitor.config.loading import MAX_YAML_BYTES, parse_yaml
from monitor.db.tables.collection import Source
from monitor.errors import UsageError
from monitor.exports.document import normalize_line
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


def parse_csv(label: str, content: bytes) -> list[dict[str, Any]]:
    """Parse UTF-8 or GB 18030, unchecked; a source without a name gets its host. `UsageError` without a header."""
    text = _decode(label, content)
    head = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=lambda sign: sum(_normalize_column(name) in _FIELDS for name in head.split(sign)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [line for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise UsageError("source.bad_csv", label=label, reason=str(error), line=reader.line_num) from None
    names = [_normalize_column(name) for name in lines[0]] if lines else []
    if "url" not in names and "name" not in names:
        raise UsageError("source.csv_without_header", label=label, names=",".join(_FIELDS[:4]))
    return [_parse_row(dict(zip(names, line, strict=False))) for line in lines[1:]]


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
        if field and text:
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


def read_source_file(path: Path) -> list[dict[str, Any]]:
    """Parse a file, unchecked, in the form that its name says; `UsageError` where it cannot be read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError("source.unreadable_file", path=str(path), reason=error.strerror) from None
    return parse_rows(content, detect_format(path.name), label=str(path))


def detect_format(name: str) -> SourceListFormat:
    """The form that a file of this name has: YAML unless its ending says OPML or CSV."""
    endings = {".opml": SourceListFormat.OPML, ".xml": SourceListFormat.OPML, ".csv": SourceListFormat.CSV}
    return endings.get(Path(name).suffix.lower(), SourceListFormat.YAML)


def parse_rows(content: bytes, list_format: SourceListFormat, *, label: str) -> list[dict[str, Any]]:
    """Parse a list, unchecked; `UsageError` for another form, more than 2 MB or more than 5,000 sources."""
    if len(content) > MAX_IMPORT_BYTES:
        raise UsageError("source.large_list", label=label, limit_mb=MAX_IMPORT_BYTES // 1024**2)
    rows = _READERS[list_format](label, content)
    if len(rows) > MAX_IMPORT_SOURCES:
        raise UsageError("source.long_list", label=label, number=len(rows), limit=MAX_IMPORT_SOURCES)
    return rows


def _parse_yaml(label: str, content: bytes) -> list[dict[str, Any]]:
    try:
        document = parse_yaml(content.decode("utf-8-sig"))
    except (yaml.YAMLError, ValueError, RecursionError):
        raise UsageError("source.bad_yaml", label=label) from None
    rows = document.get("sources") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError("source.yaml_without_list", label=label)
    return [{str(key): value for key, value in row.items()} for row in rows]


def _parse_opml(label: str, content: bytes) -> list[dict[str, Any]]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise UsageError("source.bad_opml", label=label, reason=error.msg) from None
    return [row for outline in root.iter("outline") if (row := _parse_outline(outline))]


def _parse_outline(outline: Any) -> dict[str, Any]:
    own = outline.get(_OPML_ATTRIBUTE)
    if own:
        try:
            values = json.loads(own)
        except (ValueError, RecursionError):
            values = None
        if isinstance(values, dict):
            return values
    feed, page = outline.get("xmlUrl"), outline.get("url") or outline.get("htmlUrl")
    name = outline.get("title") or outline.get("text")
    if feed:
        return {"name": name or feed, "url": feed, "kind": "feed"}
    return {"name": name or page, "url": page} if page else {}


_WRITERS: dict[SourceListFormat, Callable[[list[Source]], str]] = {
    SourceListFormat.YAML: to_yaml,
    SourceListFormat.OPML: to_opml,
    SourceListFormat.CSV: to_csv,
}
_READERS: dict[SourceListFormat, Callable[[str, bytes], list[dict[str, Any]]]] = {
    SourceListFormat.YAML: _parse_yaml,
    SourceListFormat.OPML: _parse_opml,
    SourceListFormat.CSV: parse_csv,
}
