"""The use case of writing: a briefing in any format, the report of a research as a document, a PDF too."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from monitor.briefing.compose import Briefing
from monitor.briefing.render import render_briefing
from monitor.errors import UsageError
from monitor.formats.document import Document
from monitor.formats.docx_template import open_template
from monitor.formats.render import render
from monitor.settings import Settings


class WritingDesk:
    """Writes documents; `print_pdf` makes a PDF of an HTML page, `template` is the firm's Word file."""

    def __init__(self, *, print_pdf: Callable[[bytes], Awaitable[bytes]], template: Path | None) -> None:
        self._print_pdf = print_pdf
        self._template = template
        self._turn = asyncio.Semaphore(1)  # a browser at a time

    async def briefing(self, briefing: Briefing, format_name: str, *, template: Path | None = None) -> bytes:
        """The briefing in the format; a docx is made from `template`, else from the one of the settings.

        `UsageError` for an unknown format or a template that cannot be read; `WorkFailed` where a PDF cannot be
        printed.
        """
        if format_name == "pdf":
            return await self._printed(await asyncio.to_thread(render_briefing, briefing, "html"))
        word_file = self._word_file(format_name, template)
        return await asyncio.to_thread(render_briefing, briefing, format_name, word_file)

    async def document(self, document: Document, format_name: str) -> bytes:
        """A document as md, html, docx or pdf; errors as above."""
        if format_name == "pdf":
            return await self._printed(await asyncio.to_thread(render, document, "html"))
        return await asyncio.to_thread(render, document, format_name, self._word_file(format_name))

    async def _printed(self, page: bytes) -> bytes:
        async with self._turn:
            return await self._print_pdf(page)

    def _word_file(self, format_name: str, given: Path | None = None) -> bytes | None:
        chosen = given or self._template
        return _read(chosen) if chosen is not None and format_name == "docx" else None


def examine_template(settings: Settings) -> str:
    """The firm's Word file, read and opened; `UsageError` where that fails, for then no docx can be written."""
    path = settings.briefing.template
    if path is None:
        return "none: a docx has Monitor's look"
    open_template(_read(path))
    return str(path)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"The template {path} cannot be read: {error.strerror}; name a .docx or .dotx file.") from None
