"""Reads the text of documents within limits of size, length, memory and time."""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from monitor.errors import WorkFailed
from monitor.extract.office import extract_document_text
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool

_SUFFIXES = frozenset({".pdf", ".docx", ".xlsx", ".txt", ".csv", ".md", ".html", ".htm", ".shtml", ".xml"})
_LEGACY_SUFFIXES = {".doc": ".docx", ".wps": ".docx", ".rtf": ".docx", ".ofd": ".pdf", ".xls": ".xlsx", ".et": ".xlsx"}


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
        text = await self._extract_text(path.name, body, kind)
        if not text.strip():
            raise WorkFailed("cause.document_empty", name=path.name)
        return text[: self.max_chars]

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

    async def _extract_text(self, name: str, body: bytes, kind: str) -> str:
        limits = replace(self.workers.limits, timeout_s=self.timeout_s, cpu_s=self.timeout_s)
        reason: Message
        try:
            return await self.workers.run_limited(limits, extract_document_text, body, kind, max_chars=self.max_chars)
        except IsolatedWorkFailed as failure:
            if failure.message.code == "isolation.timeout":
                raise WorkFailed("cause.document_slow", name=name, seconds=f"{self.timeout_s:g}") from None
            is_known = failure.message.code == "isolation.too_large"
            reason = failure.message if is_known else Message("cause.document_reader_crashed")
        except WorkFailed as failure:
            reason = failure.message
        raise WorkFailed("cause.document_broken", name=name, reason=reason)
