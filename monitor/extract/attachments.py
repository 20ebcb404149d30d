"""The documents that a page links to, and the type of a document by url, link text or content."""

import io
import re
import zipfile
from functools import lru_cache
from pathlib import PurePosixPath
from urllib.parse import parse_qsl, unquote, urlsplit

from monitor.extract.html import Outline
from monitor.page import Attachment

DOCUMENT_TYPES = frozenset(
    {
        *("pdf", "ofd", "ceb", "rtf", "txt", "epub", "odt", "ods", "odp"),
        *("doc", "docx", "docm", "dot", "wps", "xls", "xlsx", "xlsm", "xlsb", "et", "csv", "xml"),
        *("ppt", "pptx", "pps", "ppsx", "dps", "zip", "rar", "7z", "tar", "gz", "mp3", "mp4"),
    }
)
_AMBIGUOUS_TYPES = frozenset({"xml", "txt", "mp3", "mp4", "gz", "tar"})
# A quick check, for most links name no document.
_MAY_BE_DOCUMENT = re.compile(rf"%|\.[+\s]*(?:{'|'.join(sorted(DOCUMENT_TYPES))})", re.IGNORECASE)
_DOWNLOAD_URL = re.compile(r"download|attach|file|upload|/doc|fujian", re.IGNORECASE)
_TYPE_IN_TEXT = re.compile(
    r"\.(pdf|docx?|xlsx?|pptx?|zip|rar|ofd|wps|csv)\b|[\[(（]\s*(pdf|docx?|xlsx?|word|excel)\b", re.IGNORECASE
)
_TYPE_BY_WORD = {"word": "doc", "excel": "xls"}
_GENERIC_TEXT = re.compile(
    r"^(?:点击)?(?:下载|查看|download|view|open|pdf|doc|附件|here|アクセス)?[\s.…。]*$", re.IGNORECASE
)


@lru_cache(maxsize=4096)
def detect_document_type(url: str) -> str | None:
    """Return the lower-case extension of the document that a path or a query field names; None for a page's url."""
    if not _MAY_BE_DOCUMENT.search(url):
        return None
    parts = urlsplit(url)
    names = [unquote(parts.path).rsplit("/", 1)[-1], *(value for _, value in parse_qsl(parts.query))]
    for name in names:
        extension = name.rsplit(".", 1)[-1].lower().strip() if "." in name else ""
        if extension in DOCUMENT_TYPES and not (extension in _AMBIGUOUS_TYPES and name != names[0]):
            return extension
    return None


def find_attachments(page: Outline) -> list[Attachment]:
    """Return the documents that a page links to, in page order, each url once with its longest title."""
    found: dict[str, Attachment] = {}
    for anchor in page.anchors:
        kind = detect_document_type(anchor.url)
        if kind is None and (named := _TYPE_IN_TEXT.search(anchor.text)) and _DOWNLOAD_URL.search(anchor.url):
            word = (named[1] or named[2]).lower()
            kind = _TYPE_BY_WORD.get(word, word)
        if kind is None:
            continue
        title = anchor.text
        if _GENERIC_TEXT.match(title):
            title = anchor.element.get_title() or title or unquote(urlsplit(anchor.url).path).rsplit("/", 1)[-1]
        known = found.get(anchor.url)
        if known is None or len(title) > len(known.title):
            found[anchor.url] = Attachment(title=title, url=anchor.url, type=kind)
    return list(found.values())


_EXTENSION_BY_ENTRY = {"word/": "docx", "xl/": "xlsx", "ppt/": "pptx", "OFD.xml": "ofd"}

_EXTENSION_BY_MEDIA_TYPE = {
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

_KNOWN_EXTENSIONS = frozenset(_EXTENSION_BY_MEDIA_TYPE.values()) | {"wps", "et", "ofd", "rar", "7z", "htm", "shtml"}
_TEXT_EXTENSIONS = frozenset({"txt", "csv", "html", "htm", "shtml", "xml"})


def detect_extension(body: bytes, *, url: str, content_type: str | None) -> str:
    """Return a document's type by its first bytes (a login page?), else its url or content type; `bin` if unknown."""
    if body[:1024].find(b"%PDF-") >= 0:
        return "pdf"
    if body.startswith(b"PK\x03\x04"):
        return _detect_zip_extension(body)
    named = PurePosixPath(unquote(urlsplit(url).path)).suffix.lower().removeprefix(".")
    typed = _EXTENSION_BY_MEDIA_TYPE.get((content_type or "").split(";", 1)[0].strip().lower())
    if body.lstrip()[:200].lower().startswith((b"<!doctype html", b"<html")):
        return "html"
    if named in _KNOWN_EXTENSIONS and (
        b"\x00" in body[:1024] or named in _TEXT_EXTENSIONS or typed not in _TEXT_EXTENSIONS
    ):
        return named
    return typed or "bin"


def _detect_zip_extension(body: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError):
        return "zip"
    found = (extension for start, extension in _EXTENSION_BY_ENTRY.items() if any(n.startswith(start) for n in names))
    return next(found, "zip")
