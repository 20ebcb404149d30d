import zipfile
from pathlib import Path

import docx
import openpyxl
import pytest

from monitor.errors import WorkFailed
from monitor.isolation.pool import WorkerPool
from monitor.pages.documents import DocumentReader


def a_pdf(path: Path, text: str, pages: int = 1) -> Path:
    """A PDF written by hand: one font, one line of text on each page."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(pages))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i in range(pages):
        stream = f"BT /F1 12 Tf 40 700 Td ({text} {i + 1}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * i} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    body, places = "%PDF-1.4\n", []
    for number, written in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{written}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    path.write_text(f"{body}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}")
    return path


async def test_pdf_is_read_page_by_page(tmp_path: Path, workers: WorkerPool) -> None:
    text = await DocumentReader(workers=workers).read(a_pdf(tmp_path / "a.pdf", "Notice of the ministry", pages=3))
    assert [line for line in text.splitlines() if line] == [f"Notice of the ministry {i}" for i in (1, 2, 3)]


async def test_docx_is_read_with_its_tables_in_order(tmp_path: Path, workers: WorkerPool) -> None:
    document = docx.Document()
    document.add_paragraph("国发〔2026〕3号")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "装机容量", "1,234 MW"
    document.add_paragraph("结尾")
    document.save(str(tmp_path / "a.docx"))
    text = await DocumentReader(workers=workers).read(tmp_path / "a.docx")
    assert text.split("\n") == ["国发〔2026〕3号", "装机容量\t1,234 MW", "结尾"]


async def test_xlsx_is_read_sheet_by_sheet(tmp_path: Path, workers: WorkerPool) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.title = "一月"
    workbook.active.append(["指标", "数值"])
    workbook.active.append(["增加值", 5.2])
    workbook.save(tmp_path / "a.xlsx")
    assert await DocumentReader(workers=workers).read(tmp_path / "a.xlsx") == "# 一月\n指标\t数值\n增加值\t5.2"


async def test_text_csv_and_html_are_read_in_their_own_encoding(tmp_path: Path, workers: WorkerPool) -> None:
    (tmp_path / "a.txt").write_bytes("关于做好工作的通知，请各单位遵照执行".encode("gb18030"))
    (tmp_path / "a.csv").write_text("指标,数值\n增加值,5.2", encoding="utf-8")
    (tmp_path / "a.html").write_text("<title>t</title><script>x()</script><p>正文 一</p><p>二</p>", encoding="utf-8")
    documents = DocumentReader(workers=workers)
    assert await documents.read(tmp_path / "a.txt") == "关于做好工作的通知，请各单位遵照执行"
    assert await documents.read(tmp_path / "a.csv") == "指标,数值\n增加值,5.2"
    assert await documents.read(tmp_path / "a.html") == "正文 一\n二"


async def test_long_documents_are_cut(tmp_path: Path, workers: WorkerPool) -> None:
    path = a_pdf(tmp_path / "a.pdf", "Notice", pages=50)
    assert len(await DocumentReader(workers=workers, max_chars=60).read(path)) <= 60


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xlsx"])
@pytest.mark.parametrize("body", [b"", b"no document at all", b"%PDF-1.4\nbroken", b"PK\x03\x04broken"])
async def test_a_damaged_file_is_one_clear_sentence(
    tmp_path: Path, name: str, body: bytes, workers: WorkerPool
) -> None:
    (tmp_path / name).write_bytes(body)
    with pytest.raises(WorkFailed, match=f"{name} cannot be read: The file is damaged"):
        await DocumentReader(workers=workers).read(tmp_path / name)


@pytest.mark.parametrize("name", ["a.exe", "a.bin", "a", "a.doc", "a.xls", "a.wps", "missing.pdf"])
async def test_other_files_are_refused(tmp_path: Path, name: str, workers: WorkerPool) -> None:
    if not name.startswith("missing"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(WorkFailed):
        await DocumentReader(workers=workers).read(tmp_path / name)


async def test_a_file_over_the_limit_and_one_without_text_are_refused(tmp_path: Path, workers: WorkerPool) -> None:
    (tmp_path / "a.txt").write_text("x" * 2000)
    with pytest.raises(WorkFailed, match="larger than"):
        await DocumentReader(workers=workers, max_bytes=1000).read(tmp_path / "a.txt")
    (tmp_path / "b.txt").write_text("  \n")
    with pytest.raises(WorkFailed, match="contains no text"):
        await DocumentReader(workers=workers).read(tmp_path / "b.txt")


async def test_an_archive_that_swells_is_refused(tmp_path: Path, workers: WorkerPool) -> None:
    with zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for i in range(3):
            archive.writestr(f"word/{i}.xml", b"\0" * 70_000_000)
    with pytest.raises(WorkFailed, match="grows to more than"):
        await DocumentReader(workers=workers).read(tmp_path / "a.docx")


async def test_a_reader_that_takes_too_long_is_stopped(tmp_path: Path, workers: WorkerPool) -> None:
    path = a_pdf(tmp_path / "a.pdf", "Notice", pages=2000)
    with pytest.raises(WorkFailed, match="could not be read within"):
        await DocumentReader(workers=workers, timeout_s=0.001).read(path)
