"""Extracts the text of PDF, DOCX and XLSX files, in a process of its own: a hostile file may loop or crash it."""

import json
import resource
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from monitor.errors import WorkFailed
from monitor.i18n.message import Message

_MAX_UNPACKED_BYTES = 200 * 2**20
_MAX_MEMORY_BYTES = 2**30


def extract_document_text(path: Path, *, max_chars: int) -> str:
    """Return the first `max_chars` characters of a PDF, DOCX or XLSX file; `WorkFailed` for other kinds."""
    reader = {".pdf": _read_pdf, ".docx": _read_docx, ".xlsx": _read_xlsx}.get(path.suffix.lower())
    if reader is None:
        raise WorkFailed("document.unknown_kind", kind=path.suffix)
    parts: list[str] = []
    length = 0
    for part in reader(path):
        parts.append(part)
        length += len(part) + 1
        if length >= max_chars:
            break
    return "\n".join(parts)[:max_chars]


def _read_pdf(path: Path) -> Iterator[str]:
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    try:
        for page in document:
            text_page = page.get_textpage()
            yield text_page.get_text_bounded().replace("\r\n", "\n")
            text_page.close()
            page.close()
    finally:
        document.close()


def _read_docx(path: Path) -> Iterator[str]:
    import docx
    from docx.table import Table

    _check_unpacked_size(path)
    for block in docx.Document(str(path)).iter_inner_content():
        if isinstance(block, Table):
            for row in block.rows:
                yield "\t".join(" ".join(cell.text.split()) for cell in row.cells)
        else:
            yield block.text


def _read_xlsx(path: Path) -> Iterator[str]:
    import openpyxl

    _check_unpacked_size(path)
    workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
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


def _check_unpacked_size(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > _MAX_UNPACKED_BYTES:
            raise WorkFailed("document.unpacked_too_large", limit_mb=_MAX_UNPACKED_BYTES // 2**20)


def main(path: str, max_chars: str, cpu_s: str) -> int:
    """Write the text to stdout as UTF-8 and return 0; return 1 with the reason on stderr, a message as JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s), int(cpu_s) + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        text = extract_document_text(Path(path), max_chars=int(max_chars))
    except WorkFailed as error:
        return _report(error.message)
    except Exception as error:  # noqa: BLE001  a reader may raise anything
        return _report(Message.of("document.damaged", error=type(error).__name__))
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _report(reason: Message) -> int:
    sys.stderr.write(json.dumps(reason.to_json()))
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
