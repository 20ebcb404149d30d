"""The one registry of output formats; command line, desk, API, delivery and docs list what stands here.

A format writes one shape of content. Whoever has something to export (a briefing, items, a report) says in which shapes
it can be had, and thereby has every format of these shapes.
"""

import asyncio
import pkgutil
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from monitor.errors import UsageError

if TYPE_CHECKING:
    from monitor.exports.document import Document

Shape = Literal["document", "workbook", "sheet", "feed", "data", "records"]
"""A `Document`, a `Workbook`, one `Sheet`, a `Feed`, or JSON: one value, or one value per record."""

Content = Mapping[Shape, Callable[[], Any]]
"""Something to export: how to build it in each shape that it can be had in."""


@dataclass(frozen=True, slots=True)
class Format:
    """An output format; `name` is also its file extension.

    `writer` names the function, as `module:function` in this package, that makes bytes of content in the format's
    `shape`. It is imported when it is used: command line and desk list formats without loading office libraries.
    """

    name: str
    media_type: str
    shape: Shape
    writer: str
    is_binary: bool = False
    takes_template: bool = False  # a firm's Word file, as a second argument of the writer
    needs_browser: bool = False  # to print the HTML page that the writer makes

    @property
    def content_type(self) -> str:
        return f"{self.media_type}; charset=utf-8" if self.media_type.startswith("text/") else self.media_type

    def write(self, content: "Content", template: bytes | None = None) -> bytes:
        """Write the content; for a format that needs a browser, the page that it is to print."""
        writer: Callable[..., bytes] = pkgutil.resolve_name(f"{__package__}.{self.writer}")
        built = content[self.shape]()
        return writer(built, template) if self.takes_template else writer(built)


_OFFICE = "application/vnd.openxmlformats-officedocument"

_REGISTRY = (
    Format("md", "text/markdown", "document", "markdown:render_markdown"),
    Format("html", "text/html", "document", "html:render_html"),
    Format("docx", f"{_OFFICE}.wordprocessingml.document", "document", "docx:render_docx", True, takes_template=True),
    Format("pdf", "application/pdf", "document", "html:render_html", True, needs_browser=True),
    Format("csv", "text/csv", "sheet", "data:render_csv"),
    Format("xlsx", f"{_OFFICE}.spreadsheetml.sheet", "workbook", "xlsx:render_xlsx", True),
    Format("json", "application/json", "data", "data:render_json"),
    Format("jsonl", "application/x-ndjson", "records", "data:render_json_lines"),
    Format("atom", "application/atom+xml", "feed", "atom:render_atom"),
)

FORMATS = tuple(entry.name for entry in _REGISTRY)


def list_formats(shapes: Collection[Shape]) -> tuple[str, ...]:
    """Return the names of the formats in which content of these shapes can be written."""
    return tuple(entry.name for entry in _REGISTRY if entry.shape in shapes)


REPORT_FORMATS = list_formats({"document"})
BRIEFING_FORMATS = list_formats({"document", "workbook", "sheet", "feed", "data"})
ITEM_FORMATS = list_formats({"workbook", "sheet", "feed", "data", "records"})

if TYPE_CHECKING:
    ReportFormat = str
    BriefingFormat = str
    ItemFormat = str
else:  # the values that the API accepts and documents
    ReportFormat = Literal[REPORT_FORMATS]
    BriefingFormat = Literal[BRIEFING_FORMATS]
    ItemFormat = Literal[ITEM_FORMATS]


def get_format(name: str, known: Collection[str] = FORMATS) -> Format:
    """Return the format of that name; `UsageError` where it is not among the known ones, which the message lists."""
    if name not in known:
        raise UsageError("format.unknown", name=name, known=list(known))
    return next(entry for entry in _REGISTRY if entry.name == name)


def write_content(content: Content, name: str) -> bytes:
    """Write content in a format that needs no browser, without a template.

    Raises `UsageError` for a format that the content does not have, or one that a browser prints.
    """
    wanted = get_format(name, list_formats(content))
    if wanted.needs_browser:
        raise UsageError("format.needs_browser", name=name)
    return wanted.write(content)


def render_document(document: "Document", name: str) -> bytes:
    return write_content({"document": lambda: document}, name)


async def export_content(
    content: Content,
    name: str,
    *,
    load_template: Callable[[], bytes | None],
    print_page: Callable[[bytes], Awaitable[bytes]],
) -> bytes:
    """Write content in any format; `print_page` makes a PDF of an HTML page. Errors as those of the two."""
    wanted = get_format(name, list_formats(content))
    template = load_template() if wanted.takes_template else None
    written = await asyncio.to_thread(wanted.write, content, template)
    return await print_page(written) if wanted.needs_browser else written
