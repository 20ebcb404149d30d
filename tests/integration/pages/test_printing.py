"""A PDF as another reader finds it: its words, its fonts, its links; and that printing asks nobody for anything."""

import ctypes
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium
import pytest

from monitor.config.model import BrowserSettings
from monitor.errors import BrowserMissing
from monitor.exports.document import Document, Entries, Entry, Heading, Span
from monitor.exports.html import render_html
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.browser.renderer import print_pdf

A4_PT = (595, 842)


@pytest.fixture(autouse=True)
def _browser() -> None:
    try:
        find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))


async def printed(page: str) -> Any:
    return pypdfium2.PdfDocument(await print_pdf(page.encode(), BrowserSettings()))


def words(pdf: Any) -> list[str]:
    return [page.get_textpage().get_text_range() for page in pdf]


def link_urls(pdf: Any) -> set[str]:
    """The addresses of the link annotations, out of the objects of the file."""
    found = set()
    for page in pdf:
        for index in range(pdfium.FPDFPage_GetAnnotCount(page.raw)):
            annotation = pdfium.FPDFPage_GetAnnot(page.raw, index)
            action = pdfium.FPDFLink_GetAction(pdfium.FPDFAnnot_GetLink(annotation))
            size = pdfium.FPDFAction_GetURIPath(pdf.raw, action, None, 0)
            buffer = ctypes.create_string_buffer(size)
            pdfium.FPDFAction_GetURIPath(pdf.raw, action, buffer, size)
            found.add(buffer.value.decode())
    return found


def briefing(count: int) -> str:
    entries = [
        Entry(
            number=n,
            title=Span(text=f"第{n}号通知", url=f"https://gov.example/{n}"),
            text="到2030年，装机达到18亿千瓦。" * 8,
        )
        for n in range(1, count + 1)
    ]
    return render_html(
        Document(title="官方动态简报", blocks=[Heading(text="政策法规"), Entries(entries=entries)])
    ).decode()


async def test_the_words_come_back_and_links_lead_to_their_pages() -> None:
    pdf = await printed(briefing(20))
    text = "".join(words(pdf))
    assert "官方动态简报" in text
    assert all(f"第{n}号通知" in text for n in range(1, 21))
    assert "https://gov.example/7" in text, "on paper nobody can follow a link that does not say where it leads"
    assert link_urls(pdf) == {f"https://gov.example/{n}" for n in range(1, 21)}


async def test_sheets_are_a4_and_numbered_and_the_parts_are_bookmarks() -> None:
    pdf = await printed(briefing(20))
    assert len(pdf) > 1
    assert [tuple(round(side) for side in page.get_size()) for page in pdf] == [A4_PT] * len(pdf)
    assert [f"{number} / {len(pdf)}" in text for number, text in enumerate(words(pdf), start=1)] == [True] * len(pdf)
    assert "政策法规" in [mark.get_title() for mark in pdf.get_toc()]
    assert pdf.get_metadata_dict()["Title"] == "官方动态简报"


async def test_each_character_has_its_font_in_the_file() -> None:
    pdf = await printed(briefing(1))
    fonts = [pdfium.FPDFTextObj_GetFont(piece.raw) for page in pdf for piece in page.get_objects() if _is_text(piece)]
    assert len(fonts) > 5
    # A font whose outlines are PostScript's, such as Noto CJK, is embedded glyph by glyph, as a font of type 3.
    assert {pdfium.FPDFFont_GetIsEmbedded(font) for font in fonts} == {1}


def _is_text(piece: Any) -> bool:
    return piece.type == pdfium.FPDF_PAGEOBJ_TEXT


async def test_printing_asks_no_address_and_runs_no_script(open_site: Any) -> None:
    async with open_site() as site:
        url = site.on("/x.png", "x")
        page = (
            f"<!doctype html><title>x</title><img src='{url}'><link rel=stylesheet href='{url}'>"
            f"<iframe src='{url}'></iframe><meta http-equiv=refresh content='0;{url}'>"
            f"<style>@import '{url}';body{{background:url({url})}}</style><p id=p>as it was</p>"
            f"<script>document.getElementById('p').textContent='changed'</script>"
        )
        pdf = await printed(page)
        assert "as it was" in words(pdf)[0]
        assert site.asked == []


async def test_without_a_browser_there_is_a_plain_word(tmp_path: Any) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(BrowserMissing, match="could not be started"):
        await print_pdf(b"<p>x", BrowserSettings(path=broken))
