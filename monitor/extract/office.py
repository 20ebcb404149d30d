"""Extracts the text of documents; a hostile file may loop or crash it, so that it belongs into a worker."""

import io
import zipfile
from collections.abc import Iterator

from monitor.errors import WorkFailed
from monitor.extract.encoding import decode
from monitor.extras import needs_extra
from monitor.i18n.message import Message
from monitor.markup import parse_html

_MAX_UNPACKED_BYTES = 200 * 2**20
_MARKUP_SUFFIXES = (".html", ".htm", ".shtml", ".xml")


def extract_document_text(body: bytes, kind: str, *, max_chars: int) -> str:
    """Return the first `max_chars` characters of a document of this kind, such as `.pdf`.

    What is neither PDF, DOCX, XLSX nor markup is text. `WorkFailed` where the file cannot be read.
    """
    reader = {".pdf": _read_pdf, ".docx": _read_docx, ".xlsx": _read_xlsx}.get(kind)
    if reader is None:
        return _read_text(body, is_markup=kind in _MARKUP_SUFFIXES)[:max_chars]
    parts: list[str] = []
    length = 0
    try:
        for part in reader(body):
            parts.append(part)
            length += len(part) + 1
            if length >= max_chars:
                break
    except (WorkFailed, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  a reader may raise anything
        raise WorkFailed(Message.of("document.damaged", error=type(error).__name__)) from None
    return "\n".join(parts)[:max_chars]


def _read_text(body: bytes, *, is_markup: bool) -> str:
    text, _ = decode(body, None)
    if not is_markup:
        return text
    tree = parse_html(text)
    tree.strip_tags(["script", "style", "noscript", "template"])
    lines = tree.body.text(separator="\n").splitlines() if tree.body else []
    return "\n".join(line.strip() for line in lines if line.strip())


def _read_pdf(body: bytes) -> Iterator[str]:
    with needs_extra("documents"):
        import pypdfium2

    document = pypdfium2.PdfDocument(body)
    try:
        for page in document:
            text_page = page.get_textpage()
            yield text_page.get_text_bounded().replace("\r\n", "\n")
            text_page.close()
            page.close()
    finally:
        document.close()


def _read_docx(body: bytes) -> Iterator[str]:
    with needs_extra("documents"):
        import docx
        from docx.table import Table

    _check_unpacked_size(body)
    for block in docx.Document(io.BytesIO(body)).iter_inner_content():
        if isinstance(block, Table):
            for row in block.rows:
                yield "\t".join(" ".join(cell.text.split()) for cell in row.cells)
        else:
            yield block.text


def _read_xlsx(body: bytes) -> Iterator[str]:
    with needs_extra("documents"):
        import openpyxl

    _check_unpacked_size(body)
    workbook = openpyxl.load_workbook(io.BytesIO(body), read_only=True, data_only=True)
    try:
        for sheet in workbook.worksheets:
            yield f"# {sheet.title}"
            sheet.reset_dimensions()  # a file may declare a million empty columns
            for row in sheet.iter_rows(values_only=True):
                cells = ["" if value is None else str(value) for value in row]
                if any(cells):
                    yield "\t".join(cells).rstrip("\t")
    finally:
        workbook.close()


def _check_unpacked_size(body: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MAX_UNPACKED_BYTES:
            raise WorkFailed("document.unpacked_too_large", limit_mb=_MAX_UNPACKED_BYTES // 2**20)
