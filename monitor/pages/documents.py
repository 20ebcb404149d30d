"""Reads the text of documents within limits of size, length, memory and time."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from monitor.errors import WorkFailed
from monitor.extract.attachments import detect_extension
from monitor.extract.office import (
    DocumentPart,
    SheetRows,
    extract_document_parts,
    extract_document_text,
    extract_sheet_rows,
)
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool

T = TypeVar("T")
_SUFFIXES = frozenset({".pdf", ".docx", ".xlsx", ".txt", ".csv", ".md", ".html", ".htm", ".shtml", ".xml"})
_LEGACY_SUFFIXES = {".doc": ".docx", ".wps": ".docx", ".rtf": ".docx", ".ofd": ".pdf", ".xls": ".xlsx", ".et": ".xlsx"}

_UPLOAD_KINDS = ("pdf", "docx", "xlsx")
_OLE_HEADER = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")


@dataclass(frozen=True)
class UploadedText:
    """What a PDF, DOCX or XLSX file says, by its pages or sheets; `is_cut`: there is more than was read."""

    kind: str
    parts: list[DocumentPart]
    is_cut: bool


def read_upload(body: bytes, *, max_chars: int) -> UploadedText:
    """Read a file of a kind that its bytes alone decide; `WorkFailed` where there is nothing to read."""
    kind = _detect_kind(body)
    if kind not in _UPLOAD_KINDS:
        raise WorkFailed("cause.upload_kind")
    parts = extract_document_parts(body, f".{kind}", max_chars=max_chars)
    return UploadedText(kind, parts, is_cut=sum(len(part.text) + 1 for part in parts) >= max_chars)


def read_sheets(body: bytes, *, max_chars: int) -> list[SheetRows]:
    """Read the rows of a workbook as `extract_sheet_rows` does; its bytes alone decide that it is one."""
    if _detect_kind(body) != "xlsx":
        raise WorkFailed("document.no_workbook")
    return extract_sheet_rows(body, max_chars=max_chars)


def _detect_kind(body: bytes) -> str:
    if body.startswith(_OLE_HEADER) and _ENCRYPTED_PACKAGE in body:
        raise WorkFailed("document.encrypted")  # that is how Office protects a file by a password
    return detect_extension(body, url="", content_type=None)


@dataclass(kw_only=True)
class DocumentReader:
    """Reads PDF, DOCX, XLSX, text, CSV and HTML files, in a worker: a hostile file may loop or crash it."""

    workers: WorkerPool
    max_bytes: int = 10_485_760
    max_chars: int = 200_000
    timeout_s: float = 30.0

    async def read(self, path: Path) -> str:
        """Return the first `max_chars` characters of a document; `WorkFailed` where there is nothing to read."""
        kind = path.suffix.lower()
        body = await asyncio.to_thread(self._load_file, path)
        if kind in _LEGACY_SUFFIXES:
            raise WorkFailed("cause.document_old", name=path.name, kind=kind, wanted=_LEGACY_SUFFIXES[kind])
        if kind not in _SUFFIXES:
            raise WorkFailed("cause.document_kind", name=path.name)
        text = await self._work(path.name, extract_document_text, body, kind, max_chars=self.max_chars)
        if not text.strip():
            raise WorkFailed("cause.document_empty", name=path.name)
        return text[: self.max_chars]

    async def read_upload(self, name: str, body: bytes, *, max_bytes: int, max_chars: int) -> UploadedText:
        """Read what somebody uploaded under a name, which decides nothing; `WorkFailed` says why it is refused."""
        if not body:
            raise WorkFailed("cause.document_zero_bytes", name=name)
        if len(body) > max_bytes:
            raise WorkFailed("cause.document_large", name=name, limit_mb=f"{max_bytes / 2**20:.3g}")
        found = await self._work(name, read_upload, body, max_chars=max_chars)
        if not any(part.text.strip() for part in found.parts):
            raise WorkFailed("cause.document_empty", name=name)
        return found

    async def read_sheets(self, name: str, body: bytes, *, max_chars: int) -> list[SheetRows]:
        """Return the rows of a workbook; `WorkFailed` where it is none, or has more than `max_chars`."""
        return await self._work(name, read_sheets, body, max_chars=max_chars)

    def _load_file(self, path: Path) -> bytes:
        try:
            size = path.stat().st_size
        except OSError as error:
            raise WorkFailed("cause.document_missing", name=path.name) from error
        if not path.is_file():
            raise WorkFailed("cause.document_no_file", name=path.name)
        if size > self.max_bytes:
            raise WorkFailed("cause.document_large", name=path.name, limit_mb=f"{self.max_bytes / 2**20:.3g}")
        return path.read_bytes()

    async def _work(self, name: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        limits = replace(self.workers.limits, timeout_s=self.timeout_s, cpu_s=self.timeout_s)
        reason: Message
        try:
            return await self.workers.run_limited(limits, function, *args, **kwargs)
        except IsolatedWorkFailed as failure:
            if failure.message.code == "isolation.timeout":
                raise WorkFailed("cause.document_slow", name=name, seconds=f"{self.timeout_s:g}") from None
            is_known = failure.message.code == "isolation.too_large"
            reason = failure.message if is_known else Message("cause.document_reader_crashed")
        except WorkFailed as failure:
            if failure.message.code == "cause.upload_kind":
                raise WorkFailed("cause.upload_kind", name=name) from None
            reason = failure.message
        raise WorkFailed("cause.document_broken", name=name, reason=reason)
