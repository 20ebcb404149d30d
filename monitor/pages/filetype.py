"""What kind of document a response holds, as an extension from a closed list."""

import io
import zipfile
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

_ZIPPED = {"word/": "docx", "xl/": "xlsx", "ppt/": "pptx", "OFD.xml": "ofd"}
_BY_MEDIA_TYPE = {
    "application/pdf": "pdf",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/rtf": "rtf",
    "text/csv": "csv",
    "text/html": "html",
    "text/plain": "txt",
    "application/xml": "xml",
    "text/xml": "xml",
    "application/zip": "zip",
}
_KNOWN = frozenset(_BY_MEDIA_TYPE.values()) | {"wps", "et", "ofd", "rar", "7z", "htm", "shtml"}
_TEXTS = frozenset({"txt", "csv", "html", "htm", "shtml", "xml"})


def extension_of(body: bytes, *, url: str, content_type: str | None) -> str:
    """The kind of a document by its first bytes, else by its url, else by its content type; `bin` where none tells.

    The bytes come first because a login page served in place of a PDF still has the PDF's url.
    """
    if body[:1024].find(b"%PDF-") >= 0:
        return "pdf"
    if body.startswith(b"PK\x03\x04"):
        return _zipped(body)
    named = PurePosixPath(unquote(urlsplit(url).path)).suffix.lower().removeprefix(".")
    typed = _BY_MEDIA_TYPE.get((content_type or "").split(";", 1)[0].strip().lower())
    if body.lstrip()[:200].lower().startswith((b"<!doctype html", b"<html")):
        return "html"
    if named in _KNOWN and (b"\x00" in body[:1024] or named in _TEXTS or typed not in _TEXTS):
        return named
    return typed or "bin"


def _zipped(body: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError):
        return "zip"
    for start, extension in _ZIPPED.items():
        if any(name.startswith(start) for name in names):
            return extension
    return "zip"
