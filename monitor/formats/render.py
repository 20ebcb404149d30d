"""From a document to bytes, by the name of a format."""

from monitor.errors import UsageError
from monitor.formats.document import Document
from monitor.formats.html import html
from monitor.formats.markdown import markdown

DOCUMENT_FORMATS = ("md", "html")
FORMATS = (*DOCUMENT_FORMATS, "json")
_LATER = ("docx", "pdf", "xlsx", "csv", "atom")


def check_format(name: str) -> str:
    """The format's name; `UsageError` where this version cannot write it, saying which it can and which will come."""
    if name in FORMATS:
        return name
    now = ", ".join(FORMATS)
    if name in _LATER:
        raise UsageError(f"The format {name} comes in a later version, as do {_others(name)}; choose one of {now}.")
    raise UsageError(f"There is no format {name!r}; choose one of {now} ({', '.join(_LATER)} come in a later version).")


def render(document: Document, format_name: str) -> bytes:
    """The document in `md` or `html`, in UTF-8; `UsageError` for a format that a document cannot take."""
    check_format(format_name)
    if format_name == "html":
        return html(document).encode()
    if format_name == "md":
        return markdown(document).encode()
    raise UsageError("A document has no JSON form; the JSON of a briefing is the briefing's own.")


def _others(name: str) -> str:
    return ", ".join(other for other in _LATER if other != name)
