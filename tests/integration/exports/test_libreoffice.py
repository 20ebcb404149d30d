"""Word files and workbooks as LibreOffice, a program of other people, opens them."""

import asyncio
import datetime as dt
import shutil
from pathlib import Path

import pypdfium2
import pytest

from monitor.exports.document import (
    Cell,
    Column,
    Document,
    Entries,
    Entry,
    Heading,
    Paragraph,
    Sheet,
    Span,
    Table,
    Workbook,
)
from monitor.exports.docx import render_docx
from monitor.exports.xlsx import render_xlsx

TIMEOUT_S = 90
HOSTILE = ["=cmd|' /C calc'!A0", "<script>alert(1)</script>", "\u202egnp.exe", "a\x00b\ud800c", "长" * 5000, "👩‍👩‍👧"]


def needs_libreoffice(component: str, library: str) -> pytest.MarkDecorator:
    """Skip where LibreOffice, or the part of it that opens such files, is not installed."""
    program = shutil.which("soffice")
    is_there = program is not None and (Path(program).resolve().parent / library).exists()
    reason = f"LibreOffice {component} is not here: apt-get install libreoffice-{component.lower()}-nogui"
    return pytest.mark.skipif(not is_there, reason=reason)


async def converted(content: bytes, name: str, folder: Path) -> str:
    """The words of the PDF that LibreOffice makes of a file; it must do so without complaint."""
    given = folder / name
    given.write_bytes(content)
    process = await asyncio.create_subprocess_exec(
        "soffice",
        f"-env:UserInstallation=file://{folder}/profile",
        "--headless",
        "--convert-to",
        "pdf",
        "--outdir",
        str(folder),
        str(given),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(TIMEOUT_S):
        _, complaint = await process.communicate()
    assert process.returncode == 0
    assert "Error" not in complaint.decode()
    pdf = pypdfium2.PdfDocument(given.with_suffix(".pdf"))
    return "".join(page.get_textpage().get_text_range() for page in pdf)


@needs_libreoffice("Writer", "libswlo.so")
async def test_libreoffice_opens_a_word_file_with_its_contents_and_numbers(tmp_path: Path) -> None:
    entries = [
        Entry(number=number, title=Span(text=title, url="https://gov.example/1"), text=f"到2030年。{title}")
        for number, title in enumerate(["关于储能的通知", *HOSTILE], start=1)
    ]
    document = Document(
        title="官方动态简报",
        contents="目录",
        blocks=[
            Paragraph(spans=[Span(text="有来源未能读取。")], tone="warning"),
            Heading(text="政策法规"),
            Entries(entries=entries),
            Table(header=["来源", "新条目"], rows=[["能源局", "51"]]),
        ],
    )
    text = await converted(render_docx(document), "briefing.docx", tmp_path)
    assert text.count("关于储能的通知") == 3, "in the contents, as a heading, in the text"
    assert all(words in text for words in ("官方动态简报", "目录", "=cmd|", "<script>", "能源局"))
    assert "1 / " in text, "no number of a page"


@needs_libreoffice("Calc", "libsclo.so")
async def test_libreoffice_opens_a_workbook_and_takes_no_text_for_a_formula(tmp_path: Path) -> None:
    columns = [Column(name=name, title=name, width=40) for name in ("标题", "日期", "链接")]
    day = dt.date(2026, 2, 3)
    rows: list[list[Cell]] = [[text, day, Span(text=text, url="https://gov.example/1")] for text in HOSTILE]
    rows.append(["=1+1", day, "@SUM(1+1)"])
    book = Workbook(title="条目", sheets=[Sheet(title="条目", columns=columns, rows=rows)])
    text = await converted(render_xlsx(book), "items.xlsx", tmp_path)
    assert all(words in text for words in ("标题", "2026-02-03", "=cmd|", "=1+1", "@SUM(1+1)", "<script>"))
    assert not any(fault in text for fault in ("#NAME?", "#VALUE!", "Err:"))
