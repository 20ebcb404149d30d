"""Documents that are made to hurt: they swell, nest, lie about their size, or ask for files of ours."""

import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import docx
import openpyxl
import pytest

from monitor.errors import WorkFailed
from monitor.isolation.pool import WorkerPool
from monitor.pages.documents import DocumentReader

WORDS = 'xmlns="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SHEETS = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY l0 "ha">' + "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10)) + "]>"
)
SWOLLEN_BYTES = 210_000_000


def swollen(piece: bytes, times: int) -> bytes:
    """`piece` so many times over, deflated and then deflated again: some kilobytes."""
    packer = zlib.compressobj(level=9)
    first = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush a block stands for itself, so that it can be repeated without packing it again.
    block = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
    return zlib.compress(first + block * (times - 1))


def a_pdf(path: Path, content: bytes, *, kids: str = "3 0 R", count: int = 1) -> Path:
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids.encode(), count),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, written in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, written)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(body))
    path.write_bytes(body + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + trailer)
    return path


def an_archive(path: Path, part: str, content: str) -> Path:
    """An honest DOCX or XLSX file but for one part."""
    honest = path.with_name(f"honest{path.suffix}")
    if path.suffix == ".docx":
        docx.Document().save(str(honest))
    else:
        openpyxl.Workbook().save(honest)
    with (
        zipfile.ZipFile(honest) as source,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        for name in source.namelist():
            archive.writestr(name, content if name == part else source.read(name))
    return path


def words(path: Path, body: str, head: str = "") -> Path:
    return an_archive(
        path, "word/document.xml", f'<?xml version="1.0"?>{head}<document {WORDS}><body>{body}</body></document>'
    )


def sheet(path: Path, rows: str, head: str = "", dimension: str = "") -> Path:
    content = f'<?xml version="1.0"?>{head}<worksheet {SHEETS}>{dimension}<sheetData>{rows}</sheetData></worksheet>'
    return an_archive(path, "xl/worksheets/sheet1.xml", content)


def cell(place: str, text: str) -> str:
    row = place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return f'<row r="{row}"><c r="{place}" t="inlineStr"><is><t>{text}</t></is></c></row>'


def test_the_bomb_is_one(tmp_path: Path) -> None:
    path = a_pdf(tmp_path / "a.pdf", swollen(b"BT /F1 12 Tf (x) Tj ET\n" * 100_000, 300))
    assert path.stat().st_size < 10_000
    packed = path.read_bytes().partition(b"stream\n")[2].partition(b"\nendstream")[0]
    assert len(zlib.decompressobj().decompress(zlib.decompress(packed), 50_000_000)) == 50_000_000


BOMBS: dict[str, Callable[[Path], Path]] = {
    "a PDF whose page swells to 700 MB": lambda folder: a_pdf(
        folder / "a.pdf", swollen(b"BT /F1 12 Tf (x) Tj ET\n" * 100_000, 300)
    ),
    "a PDF with one string of 1.8 GB": lambda folder: a_pdf(folder / "a.pdf", swollen(b"(" + b"A" * 3_000_000, 600)),
    "a PDF whose pages contain themselves": lambda folder: a_pdf(folder / "a.pdf", b"", kids="2 0 R"),
    "a PDF with two billion pages": lambda folder: a_pdf(folder / "a.pdf", b"", count=2**31 - 1),
    "a document of entities within entities": lambda folder: words(
        folder / "a.docx", "<p><r><t>&l9;</t></r></p>", LAUGHS
    ),
    "a document nested 100,000 deep": lambda folder: words(folder / "a.docx", "<p>" * 100_000 + "</p>" * 100_000),
    "a table of entities within entities": lambda folder: sheet(folder / "a.xlsx", cell("A1", "&l9;"), LAUGHS),
}


@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_is_one_clear_sentence_long_before_the_time_is_up(
    tmp_path: Path, name: str, workers: WorkerPool
) -> None:
    path = BOMBS[name](tmp_path)
    with pytest.raises(WorkFailed, match=r"cannot be read: (The file is damaged|its reader needed)|contains no text"):
        await DocumentReader(workers=workers, timeout_s=90).read(path)


async def test_a_document_that_only_takes_time_is_stopped(tmp_path: Path, workers: WorkerPool) -> None:
    path = sheet(tmp_path / "a.xlsx", cell("A1", "") * 1_500_000)
    with pytest.raises(WorkFailed, match="could not be read within 1 s"):
        await DocumentReader(workers=workers, timeout_s=1).read(path)


async def test_an_archive_that_lies_about_its_size_is_unpacked_no_further_than_it_says(
    tmp_path: Path, workers: WorkerPool
) -> None:
    path = sheet(tmp_path / "a.xlsx", cell("A1", "first") + " " * SWOLLEN_BYTES)
    with zipfile.ZipFile(path) as archive:
        size = struct.pack("<I", archive.getinfo("xl/worksheets/sheet1.xml").file_size)
    path.write_bytes(path.read_bytes().replace(size, struct.pack("<I", 100)))
    with zipfile.ZipFile(path) as archive:
        assert sum(entry.file_size for entry in archive.infolist()) < 1_000_000
    with pytest.raises(WorkFailed, match="cannot be read: The file is damaged"):
        await DocumentReader(workers=workers, timeout_s=90).read(path)


async def test_a_sheet_that_says_it_is_boundless_is_read_as_far_as_it_goes(tmp_path: Path, workers: WorkerPool) -> None:
    boundless = '<dimension ref="A1:XFD1048576"/>'
    path = sheet(tmp_path / "a.xlsx", cell("A1", "first") + cell("B1048576", "last"), dimension=boundless)
    text = await DocumentReader(workers=workers, timeout_s=60).read(path)
    assert text.splitlines()[1:] == ["first", "\tlast"]


async def test_a_document_cannot_ask_for_files_of_ours(tmp_path: Path, workers: WorkerPool) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    head = f'<!DOCTYPE x [<!ENTITY f SYSTEM "{secret.as_uri()}">]>'
    text = await DocumentReader(workers=workers).read(
        words(tmp_path / "a.docx", "<p><r><t>here &f; end</t></r></p>", head)
    )
    assert "here" in text
    assert "secret" not in text
