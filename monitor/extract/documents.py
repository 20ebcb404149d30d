"""Reads the text of documents within limits of size, length, memory and time."""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from monitor.errors import WorkFailed
from monitor.extract.encoding import decode
from monitor.i18n.message import Message
from monitor.markup import parse_html

_TEXT_SUFFIXES = (".txt", ".csv", ".md")
_MARKUP_SUFFIXES = (".html", ".htm", ".shtml", ".xml")
_OFFICE_SUFFIXES = (".pdf", ".docx", ".xlsx")
_LEGACY_SUFFIXES = {".doc": ".docx", ".wps": ".docx", ".rtf": ".docx", ".ofd": ".pdf", ".xls": ".xlsx", ".et": ".xlsx"}


@dataclass(kw_only=True)
class DocumentReader:
    """Reads PDF, DOCX, XLSX, text, CSV and HTML files."""

    max_bytes: int = 10_485_760
    max_chars: int = 200_000
    timeout_s: float = 30.0

    async def read(self, path: Path) -> str:
        """Return the first `max_chars` characters of a document; `WorkFailed` where there is nothing to read."""
        kind = path.suffix.lower()
        path = await asyncio.to_thread(self._check_file, path)
        if kind in _OFFICE_SUFFIXES:
            text = await self._read_in_subprocess(path)
        elif kind in _TEXT_SUFFIXES or kind in _MARKUP_SUFFIXES:
            text = await asyncio.to_thread(_read_text, path, kind in _MARKUP_SUFFIXES)
        elif kind in _LEGACY_SUFFIXES:
            raise WorkFailed("cause.document_old", name=path.name, kind=kind, wanted=_LEGACY_SUFFIXES[kind])
        else:
            raise WorkFailed("cause.document_kind", name=path.name)
        if not text.strip():
            raise WorkFailed("cause.document_empty", name=path.name)
        return text[: self.max_chars]

    def _check_file(self, path: Path) -> Path:
        try:
            size = path.stat().st_size
        except OSError as error:
            raise WorkFailed("cause.document_missing", name=path.name) from error
        if not path.is_file():
            raise WorkFailed("cause.document_no_file", name=path.name)
        if size > self.max_bytes:
            raise WorkFailed("cause.document_large", name=path.name, limit_mb=f"{self.max_bytes / 2**20:.3g}")
        return path.resolve()

    async def _read_in_subprocess(self, path: Path) -> str:
        arguments = (str(path), str(self.max_chars), str(max(1, round(self.timeout_s))))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "monitor.extract.office", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(self.timeout_s):
                text, complaint = await process.communicate()
        except TimeoutError:
            raise WorkFailed("cause.document_slow", name=path.name, seconds=f"{self.timeout_s:g}") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()
        if process.returncode != 0:
            crashed = Message("cause.document_reader_crashed")
            reason = _parse_reason(complaint) if process.returncode == 1 else crashed
            raise WorkFailed("cause.document_broken", name=path.name, reason=reason)
        return text.decode("utf-8", "replace")


def _parse_reason(stderr: bytes) -> Message:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    if not lines:
        return Message("cause.document_no_reason")
    try:
        return Message.from_json(json.loads(lines[-1]))
    except (ValueError, AttributeError):  # another program's words
        return Message.other(lines[-1][:300])


def _read_text(path: Path, is_markup: bool) -> str:
    text, _ = decode(path.read_bytes(), None)
    if not is_markup:
        return text
    tree = parse_html(text)
    tree.strip_tags(["script", "style", "noscript", "template"])
    lines = tree.body.text(separator="\n").splitlines() if tree.body else []
    return "\n".join(line.strip() for line in lines if line.strip())
