"""The formats, by name; and from a document to bytes."""

from monitor.errors import UsageError
from monitor.exports.document import Document
from monitor.exports.docx import render_docx
from monitor.exports.html import render_html
from monitor.exports.markdown import render_markdown

FORMATS = ("md", "html", "docx", "pdf", "xlsx", "json", "csv", "atom")

BINARY_FORMATS = frozenset({"docx", "pdf", "xlsx"})


def check_format(name: str, known: tuple[str, ...] = FORMATS) -> str:
    """The format's name; `UsageError` where it is none of the known ones, which are named."""
    if name in known:
        return name
    raise UsageError(f"There is no format {name!r} here; choose one of {', '.join(known)}.")


def render_document(document: Document, format_name: str, template: bytes | None = None) -> bytes:
    """The document in `md`, `html` or `docx`; `UsageError` for a format that a document cannot take.

    A PDF is printed from the HTML, by a browser; `template` is the Word file that a docx is made from.
    """
    if format_name == "html":
        return render_html(document).encode()
    if format_name == "docx":
        return render_docx(document, template)
    if format_name == "md":
        return render_markdown(document).encode()
    raise UsageError(f"A document cannot be written as {format_name}; choose md, html or docx.")
