"""Extracts the text of documents; a hostile file may loop or crash it, so that it belongs into a worker."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby

from monitor.errors import WorkFailed
from monitor.extract.encoding import decode
from monitor.extras import needs_extra
from monitor.i18n.message import Message
from monitor.markup import parse_html

_MAX_UNPACKED_BYTES = 200 * 2**20
_ESCAPED_CHAR = re.compile(r"_x(?!d[89a-f])([0-9a-f]{4})_", re.IGNORECASE)  # without surrogates
_MAX_ARCHIVE_ENTRIES = 5_000  # sheets and pictures are files of their own; openpyxl takes minutes for 10,000 sheets
_WORD_TYPES = (
    "application/vnd.ms-word.document.macroEnabled.main+xml",
    "application/vnd.ms-word.template.macroEnabledTemplate.main+xml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
)
"""Word files other than .docx that are made alike; their macros are never looked at."""

_MARKUP_SUFFIXES = (".html", ".htm", ".shtml", ".xml")


@dataclass(frozen=True)
class DocumentPart:
    """A page of a PDF, from 1, or a sheet of a workbook; neither for the whole of another document."""

    text: str
    page: int | None = None
    sheet: str | None = None


@dataclass(frozen=True)
class SheetRows:
    """The rows of a sheet that have anything, each without the empty cells at its end."""

    title: str
    rows: list[list[str]]


def extract_document_text(body: bytes, kind: str, *, max_chars: int) -> str:
    """Return the first `max_chars` characters of a document of this kind, such as `.pdf`.

    What is neither PDF, DOCX, XLSX nor markup is text. `WorkFailed` where the file cannot be read.
    """
    if kind not in _READERS:
        return _read_text(body, is_markup=kind in _MARKUP_SUFFIXES)[:max_chars]
    parts = extract_document_parts(body, kind, max_chars=max_chars)
    return "\n".join(f"# {part.sheet}\n{part.text}" if part.sheet else part.text for part in parts)[:max_chars]


def extract_document_parts(body: bytes, kind: str, *, max_chars: int) -> list[DocumentPart]:
    """Return the pages or sheets of a `.pdf`, `.docx` or `.xlsx` file, in all up to the piece that passes `max_chars`.

    `WorkFailed` where the file cannot be read.
    """
    pieces: list[DocumentPart] = []
    length = 0
    with _refuse_damaged():
        for piece in _READERS[kind](body):
            pieces.append(piece)
            length += len(piece.text) + 1
            if length >= max_chars:
                break
    grouped = groupby(pieces, key=lambda piece: (piece.page, piece.sheet))
    return [
        DocumentPart("\n".join(piece.text for piece in group), page=page, sheet=sheet)
        for (page, sheet), group in grouped
    ]


def extract_sheet_rows(body: bytes, *, max_chars: int) -> list[SheetRows]:
    """Return the cells of the first sheet of a workbook that has any, as texts, and the first row of each other one.

    A formula is the value that is stored with it. `WorkFailed` for more than `max_chars` in all, each cell counted as
    one more, and where the file cannot be read.
    """
    sheets: dict[str, list[list[str]]] = {}
    length = 0
    with _refuse_damaged():
        for title, cells in _iterate_rows(body):
            if len(sheets) > 1 and title in sheets:
                continue
            length += sum(len(cell) + 1 for cell in cells)
            if length > max_chars:
                raise WorkFailed("document.too_much_text", limit=max_chars)
            sheets.setdefault(title, []).append(cells)
    return [SheetRows(title, rows) for title, rows in sheets.items()]


@contextmanager
def _refuse_damaged() -> Iterator[None]:
    try:
        yield
    except (WorkFailed, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  a reader may raise anything
        raise WorkFailed(Message.of("document.damaged", error=type(error).__name__)) from None


def _read_text(body: bytes, *, is_markup: bool) -> str:
    text, _ = decode(body, None)
    if not is_markup:
        return text
    tree = parse_html(text)
    tree.strip_tags(["script", "style", "noscript", "template"])
    lines = tree.body.text(separator="\n").splitlines() if tree.body else []
    return "\n".join(line.strip() for line in lines if line.strip())


def _read_pdf(body: bytes) -> Iterator[DocumentPart]:
    with needs_extra("documents"):
        import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise WorkFailed("document.encrypted") from None
        raise
    try:
        for number, page in enumerate(document, 1):
            text_page = page.get_textpage()
            yield DocumentPart(text_page.get_text_bounded().replace("\r\n", "\n"), page=number)
            text_page.close()
            page.close()
    finally:
        document.close()


def _read_docx(body: bytes) -> Iterator[DocumentPart]:
    with needs_extra("documents"):
        from docx.opc.part import PartFactory
        from docx.package import Package
        from docx.parts.document import DocumentPart as WordPart
        from docx.table import Table

    _check_archive(body)
    PartFactory.part_type_for.update(dict.fromkeys(_WORD_TYPES, WordPart))
    part = Package.open(io.BytesIO(body)).main_document_part
    for block in part.document.iter_inner_content():
        if isinstance(block, Table):
            for row in block.rows:
                yield DocumentPart("\t".join(" ".join(cell.text.split()) for cell in row.cells))
        else:
            yield DocumentPart(block.text)


def _read_xlsx(body: bytes) -> Iterator[DocumentPart]:
    for title, cells in _iterate_rows(body):
        yield DocumentPart("\t".join(cells), sheet=title)


def _iterate_rows(body: bytes) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of all sheets that have anything, each with the title of its sheet."""
    with needs_extra("documents"):
        import openpyxl

    _check_archive(body)
    workbook = openpyxl.load_workbook(io.BytesIO(body), read_only=True, data_only=True)
    try:
        for sheet in workbook.worksheets:
            sheet.reset_dimensions()  # a file may declare a million empty columns
            for row in sheet.iter_rows(values_only=True):
                cells = ["" if value is None else _unescape(str(value)) for value in row]
                while cells and not cells[-1]:
                    del cells[-1]
                if cells:
                    yield sheet.title, cells
    finally:
        workbook.close()


def _unescape(text: str) -> str:
    """Return a text with the characters that XML cannot hold, which a workbook writes as `_x000D_`."""
    return _ESCAPED_CHAR.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


_READERS: Mapping[str, Callable[[bytes], Iterator[DocumentPart]]] = {
    ".pdf": _read_pdf,
    ".docx": _read_docx,
    ".xlsx": _read_xlsx,
}


def _check_archive(body: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        entries = archive.infolist()
    if len(entries) > _MAX_ARCHIVE_ENTRIES:
        raise WorkFailed("document.too_many_entries", limit=_MAX_ARCHIVE_ENTRIES)
    if sum(entry.file_size for entry in entries) > _MAX_UNPACKED_BYTES:
        raise WorkFailed("document.unpacked_too_large", limit_mb=_MAX_UNPACKED_BYTES // 2**20)
