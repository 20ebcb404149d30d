"""Lists of sources in and out: YAML as in config.yaml, OPML for feed readers, CSV and XLSX for spreadsheets."""

import asyncio
import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from lxml import etree

from monitor.config.loading import parse_yaml
from monitor.db.tables.collection import Source
from monitor.errors import UsageError, WorkFailed
from monitor.exports.document import normalize_line
from monitor.i18n.message import Message
from monitor.services.sources.tables import (
    MAX_IMPORT_BYTES,
    MAX_IMPORT_SOURCES,
    REASON_FIELD,
    RejectedRows,
    SourceList,
    SourceListFormat,
    SourceRow,
    dump_source,
    format_csv,
    format_rejected_csv,
    format_rejected_workbook,
    format_workbook,
    parse_csv,
    parse_json_cell,
    parse_sheets,
)
from monitor.vocabulary import SourceKind

if TYPE_CHECKING:
    from monitor.pages.documents import DocumentReader

_MAX_TAG_CHARS = 100
_OPML_ATTRIBUTE = "monitorSource"
_INVALID_XML_CHARS = re.compile(r"[\ud800-\udfff\ufffe\uffff]")  # JSON itself escapes control characters


def format_sources(sources: list[Source], list_format: SourceListFormat) -> bytes:
    return _WRITERS[list_format](sources)


def to_text(content: bytes, list_format: SourceListFormat) -> str:
    """Return a list as it goes into JSON or a terminal: a workbook in base64."""
    is_binary = list_format is SourceListFormat.XLSX
    return base64.b64encode(content).decode() if is_binary else content.decode("utf-8-sig")


def _format_yaml(sources: list[Source]) -> bytes:
    return _dump_yaml([dump_source(source) for source in sources])


def _dump_yaml(entries: list[dict[str, Any]]) -> bytes:
    text: str = yaml.dump({"sources": entries}, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120)
    return text.encode()


class _Dumper(yaml.SafeDumper):
    """Puts a text with a line break of Unicode's own between double quotes, where it is escaped and not folded."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        style = '"' if re.search("[\x85\u2028\u2029]", text) else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_str)


def _format_opml(sources: list[Source]) -> bytes:
    """The sources as OPML 2.0; what OPML has no word for stands whole in an attribute of ours."""
    root = etree.Element("opml", version="2.0")
    etree.SubElement(etree.SubElement(root, "head"), "title").text = "Monitor sources"
    body = etree.SubElement(root, "body")
    for source in sources:
        address = _build_opml_address(source)
        own = _INVALID_XML_CHARS.sub(_escape_char, json.dumps(dump_source(source), ensure_ascii=False))
        etree.SubElement(body, "outline", {"text": normalize_line(source.name), **address, _OPML_ATTRIBUTE: own})
    text: bytes = etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)
    return text


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


async def read_source_file(path: Path, documents: "DocumentReader") -> SourceList:
    """Parse a file in the form that its name says; `UsageError` where it cannot be read."""
    try:
        content = await asyncio.to_thread(path.read_bytes)
    except OSError as error:
        raise UsageError("source.unreadable_file", path=str(path), reason=error.strerror) from None
    return await read_list(content, detect_format(path.name), label=str(path), documents=documents)


def detect_format(name: str) -> SourceListFormat:
    """The form that a file of this name has: YAML unless its ending says another one."""
    endings = {f".{form}": form for form in SourceListFormat} | {".xml": SourceListFormat.OPML}
    return endings.get(Path(name).suffix.lower(), SourceListFormat.YAML)


async def read_list(
    content: bytes, list_format: SourceListFormat, *, label: str, documents: "DocumentReader"
) -> SourceList:
    """Parse a list as `parse_list` does, or a workbook in a process of its own."""
    if list_format is not SourceListFormat.XLSX:
        return await asyncio.to_thread(parse_list, content, list_format, label=label)
    _check_size(content, label)
    try:
        sheets = await documents.read_sheets(label, content, max_chars=MAX_IMPORT_BYTES)
    except WorkFailed as failure:
        raise UsageError(failure.message) from None
    return _check_length(parse_sheets(label, sheets), label)


def parse_list(content: bytes, list_format: SourceListFormat, *, label: str) -> SourceList:
    """Parse a list of text; `UsageError` for another form, more than 2 MB or more than 5,000 sources."""
    _check_size(content, label)
    return _check_length(_READERS[list_format](label, content), label)


def _check_size(content: bytes, label: str) -> None:
    if len(content) > MAX_IMPORT_BYTES:
        raise UsageError("source.large_list", label=label, limit_mb=MAX_IMPORT_BYTES // 1024**2)


def _check_length(source_list: SourceList, label: str) -> SourceList:
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


def format_rejected(source_list: SourceList, reasons: Mapping[int, str]) -> bytes:
    """Return a list of the rows with these indexes, as they stood, each with its reason."""
    rows = [(source_list.rows[index], normalize_line(reason)) for index, reason in sorted(reasons.items())]
    return _REJECT_WRITERS[source_list.list_format](rows, source_list.columns)


def _reject_yaml(rows: RejectedRows, _: Sequence[str]) -> bytes:
    return _dump_yaml(
        [
            {REASON_FIELD: reason, **(row.raw if isinstance(row.raw, dict) else {"text": row.raw})}
            for row, reason in rows
        ]
    )


def _reject_opml(rows: RejectedRows, _: Sequence[str]) -> bytes:
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
    return text


_WRITERS: dict[SourceListFormat, Callable[[list[Source]], bytes]] = {
    SourceListFormat.YAML: _format_yaml,
    SourceListFormat.OPML: _format_opml,
    SourceListFormat.CSV: format_csv,
    SourceListFormat.XLSX: format_workbook,
}
_READERS: dict[SourceListFormat, Callable[[str, bytes], SourceList]] = {
    SourceListFormat.YAML: _parse_yaml,
    SourceListFormat.OPML: _parse_opml,
    SourceListFormat.CSV: parse_csv,
}
_REJECT_WRITERS: dict[SourceListFormat, Callable[[RejectedRows, Sequence[str]], bytes]] = {
    SourceListFormat.YAML: _reject_yaml,
    SourceListFormat.OPML: _reject_opml,
    SourceListFormat.CSV: format_rejected_csv,
    SourceListFormat.XLSX: format_rejected_workbook,
}
