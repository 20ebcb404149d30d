"""Lists of sources in and out: YAML as in config.yaml, OPML for feed readers, CSV for spreadsheets."""

import json
import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml
from lxml import etree

from monitor.app.source_form import form_values
from monitor.app.source_rows import from_csv, to_csv
from monitor.domain.tables import Source
from monitor.domain.words import SourceKind
from monitor.errors import UsageError
from monitor.formats.document import one_line

MOST_BYTES = 2 * 1024 * 1024
MOST_SOURCES = 5000
_OWN = "monitorSource"
_NOT_IN_XML = re.compile(r"[\ud800-\udfff\ufffe\uffff]")  # JSON itself escapes control characters


class Form(StrEnum):
    """How a list of sources is written down."""

    YAML = "yaml"
    OPML = "opml"
    CSV = "csv"


def written(sources: list[Source], form: Form) -> str:
    """The sources as a text of that form."""
    writers: dict[Form, Callable[[list[Source]], str]] = {Form.YAML: to_yaml, Form.OPML: to_opml, Form.CSV: to_csv}
    return writers[form](sources)


def to_yaml(sources: list[Source]) -> str:
    """The sources as config.yaml writes them."""
    document = {"sources": [form_values(source) for source in sources]}
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
        address = _addresses(source)
        own = _NOT_IN_XML.sub(_escaped, json.dumps(form_values(source), ensure_ascii=False))
        etree.SubElement(body, "outline", {"text": one_line(source.name), **address, _OWN: own})
    text: bytes = etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True)
    return text.decode()


def _addresses(source: Source) -> dict[str, str]:
    """What a feed reader understands; a standing search has no address."""
    if source.kind is SourceKind.QUERY:
        return {}
    return (
        {"type": "rss", "xmlUrl": source.url} if source.kind is SourceKind.FEED else {"type": "link", "url": source.url}
    )


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def read_sources(path: Path) -> list[dict[str, Any]]:
    """What a file of sources says, not yet checked; its name says which form it has.

    `UsageError` where the file cannot be read as that.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; name a YAML, OPML or CSV file.") from None
    return rows_of(content, form_of(path.name), where=str(path))


def form_of(name: str) -> Form:
    """The form that a file of this name has: YAML unless its ending says OPML or CSV."""
    endings = {".opml": Form.OPML, ".xml": Form.OPML, ".csv": Form.CSV}
    return endings.get(Path(name).suffix.lower(), Form.YAML)


def rows_of(content: bytes, form: Form, *, where: str) -> list[dict[str, Any]]:
    """What a list of sources says, not yet checked; `where` is what complaints call it.

    `UsageError` for what is not of that form, or too much: 2 MB and 5,000 sources are the most.
    """
    if len(content) > MOST_BYTES:
        raise UsageError(f"{where} is larger than {MOST_BYTES // 1024**2} MB: split it.")
    readers: dict[Form, Callable[[str, bytes], list[dict[str, Any]]]] = {
        Form.YAML: _from_yaml,
        Form.OPML: _from_opml,
        Form.CSV: from_csv,
    }
    rows = readers[form](where, content)
    if len(rows) > MOST_SOURCES:
        raise UsageError(f"{where} holds {len(rows)} sources: bring in at most {MOST_SOURCES:,} at once.")
    return rows


def _from_yaml(where: str, content: bytes) -> list[dict[str, Any]]:
    try:
        document = yaml.safe_load(content.decode("utf-8-sig"))
    except (yaml.YAMLError, ValueError, RecursionError):
        raise UsageError(
            f"{where} is no YAML in UTF-8: write the sources as `sources: [{{name: …, url: …}}]`."
        ) from None
    rows = document.get("sources") if isinstance(document, dict) else document
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{where} holds no list of sources: write them as `sources: [{{name: …, url: …}}]`.")
    return [{str(key): value for key, value in row.items()} for row in rows]


def _from_opml(where: str, content: bytes) -> list[dict[str, Any]]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise UsageError(f"{where} is no OPML: {error.msg}.") from None
    rows = [_of_outline(outline) for outline in root.iter("outline")]
    return [row for row in rows if row]


def _of_outline(outline: Any) -> dict[str, Any]:
    own = outline.get(_OWN)
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
