import datetime as dt
import io
import zipfile
from collections.abc import Callable

import pytest
from docx import Document as WordDocument
from docx.document import Document as WordFile
from lxml import etree

from monitor.errors import UsageError
from monitor.exports.document import Document, Entries, Entry, Heading, Paragraph, Span, Table, normalize_line
from monitor.exports.docx import render_docx

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
NewDocument = Callable[[str], Document]


def opened(content: bytes) -> WordFile:
    return WordDocument(io.BytesIO(content))


def values(file: WordFile, tag: str, attribute: str = "val") -> list[str]:
    return [element.get(f"{W}{attribute}", "") for element in file.element.body.iter(f"{W}{tag}")]


def texts(file: WordFile) -> list[str]:
    return [paragraph.text for paragraph in file.paragraphs]


def words(file: WordFile) -> str:
    return "".join(file.element.body.itertext())


def briefing(**fields: object) -> Document:
    entry = Entry(number=1, title=Span(text="关于储能的通知", url="https://gov.example/1"), text="到2030年。")
    blocks = [Heading(text="政策法规"), Entries(entries=[entry]), Heading(text="来源情况")]
    return Document.model_validate({"title": "官方动态简报", "contents": "目录", "blocks": blocks, **fields})


def template(*paragraphs: str, heading_color: str = "112233") -> bytes:
    """A firm's file, of Word's own styles, with a heading style of the firm's."""
    file = WordDocument()
    for text in paragraphs:
        file.add_paragraph(text)
    (style,) = (entry for entry in file.styles.element if entry.get(f"{W}styleId") == "Heading1")
    style.find(f"{W}rPr").find(f"{W}color").set(f"{W}val", heading_color)
    made = io.BytesIO()
    file.save(made)
    return made.getvalue()


def test_hostile_text_stays_text_and_the_file_whole(hostile: str, new_document: NewDocument) -> None:
    file, plain = opened(render_docx(new_document(hostile))), opened(render_docx(new_document("plain")))
    line = normalize_line(hostile)
    assert [element.tag for element in file.element.body.iter()] == [
        element.tag for element in plain.element.body.iter()
    ]
    titles = [paragraph.text for paragraph in file.paragraphs if paragraph.style and paragraph.style.name == "Title"]
    assert titles == [line]
    links = {relation.target_ref for relation in file.part.rels.values() if relation.is_external}
    assert links == {"https://gov.example/a?b=1&c=2"}
    assert file.core_properties.title == line[:255]


def test_the_contents_are_filled_and_each_line_leads_to_its_heading() -> None:
    file = opened(render_docx(briefing()))
    lines = [
        paragraph.text for paragraph in file.paragraphs if paragraph.style and paragraph.style.name.startswith("toc ")
    ]
    assert lines == ["政策法规", "1\t关于储能的通知", "来源情况"]
    anchors = [anchor for anchor in values(file, "hyperlink", "anchor") if anchor]
    assert anchors == values(file, "bookmarkStart", "name")
    assert len(set(anchors)) == 3
    assert [entry.text for entry in file.element.body.iter(f"{W}instrText")] == [' TOC \\o "1-3" \\h \\n ']
    assert values(file, "fldChar", "fldCharType") == ["begin", "separate", "end"]
    headings = [
        (entry.style.name, entry.text)
        for entry in file.paragraphs
        if entry.style and entry.style.name.startswith("Head")
    ]
    assert headings == [("Heading 1", "政策法规"), ("Heading 3", "1\t关于储能的通知"), ("Heading 1", "来源情况")]


def test_each_style_is_there_and_names_a_chinese_font() -> None:
    file = opened(render_docx(briefing()))
    known = {style.style_id for style in file.styles}
    assert set(values(file, "pStyle") + values(file, "rStyle") + values(file, "tblStyle")) <= known
    fonts = file.styles.element.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr/{W}rFonts")
    assert fonts.get(f"{W}eastAsia") == "Microsoft YaHei"
    (table,) = (part.blob for part in file.part.package.iter_parts() if part.partname == "/word/fontTable.xml")
    assert "微软雅黑" in table.decode()


def test_pages_are_numbered() -> None:
    (section,) = opened(render_docx(briefing())).sections
    fields = [entry.get(f"{W}instr").strip() for entry in section.footer._element.iter(f"{W}fldSimple")]
    assert fields == ["PAGE", "NUMPAGES"]


def test_the_head_of_a_table_stands_on_each_page_and_figures_stand_in_line() -> None:
    table = Table(header=["来源", "状态", "新条目"], rows=[["a", "失败", "51"], ["b", "正常", "3"]], tones=["warning"])
    file = opened(render_docx(Document(title="x", blocks=[table])))
    assert len(values(file, "tblHeader")) == 1
    assert [row.cells[2].paragraphs[0].alignment for row in file.tables[0].rows] == [2, 2, 2]
    assert file.tables[0].rows[1].cells[0].paragraphs[0].alignment is None
    assert "失败" in [run.text for run in file.tables[0].rows[1].cells[1].paragraphs[0].runs if run.style]


def test_spaces_between_pieces_of_a_sentence_are_kept() -> None:
    spans = [Span(text="One."), Span(text="[1]", url="https://gov.example/1"), Span(text=" Two.")]
    file = opened(render_docx(Document(title="x", blocks=[Paragraph(spans=spans)])))
    assert "One.[1] Two." in texts(file)


def test_the_file_says_when_it_was_written() -> None:
    file = opened(render_docx(briefing(written_at=dt.datetime(2026, 2, 3, 9, tzinfo=dt.UTC))))
    assert file.core_properties.created == dt.datetime(2026, 2, 3, 9, tzinfo=dt.UTC)


def test_a_template_gives_its_styles_and_keeps_what_stands_in_it() -> None:
    firm = template("封面", "{{briefing}}", "免责声明")
    file = opened(render_docx(briefing(), firm))
    said = texts(file)
    assert said[0] == "封面"
    assert said[-1] == "免责声明"
    assert "{{briefing}}" not in words(file)
    assert said.index("官方动态简报") == 1
    assert file.styles["Heading 1"].font.color.rgb == opened(firm).styles["Heading 1"].font.color.rgb
    assert {style.style_id for style in file.styles} >= set(values(file, "pStyle") + values(file, "rStyle"))


def test_without_a_mark_the_briefing_follows_what_the_template_holds() -> None:
    said = texts(opened(render_docx(briefing(), template("封面"))))
    assert said[:2] == ["封面", "官方动态简报"]


def test_a_dotx_is_a_template_too() -> None:
    given, made = zipfile.ZipFile(io.BytesIO(template("封面"))), io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name in given.namelist():
            file.writestr(
                name, given.read(name).replace(b"wordprocessingml.document.main", b"wordprocessingml.template.main")
            )
    assert texts(opened(render_docx(briefing(), made.getvalue())))[0] == "封面"


def test_what_is_no_word_file_is_refused_plainly() -> None:
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as file:
        file.writestr("x", "y")
    for content in (b"no zip", b"", empty.getvalue()):
        with pytest.raises(UsageError, match="not a Word file"):
            render_docx(briefing(), content)


def test_every_part_is_well_formed(new_document: NewDocument) -> None:
    with zipfile.ZipFile(io.BytesIO(render_docx(new_document("x")))) as file:
        assert file.testzip() is None
        for name in file.namelist():
            etree.fromstring(file.read(name))


def test_styles_are_known_by_their_names_whatever_their_ids() -> None:
    """Word in Chinese numbers its styles: there the first heading has the id 1."""
    given, made = zipfile.ZipFile(io.BytesIO(template("封面"))), io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name in given.namelist():
            content = given.read(name)
            if name == "word/styles.xml":
                content = content.replace(b'w:styleId="Heading1"', b'w:styleId="1"')
            file.writestr(name, content)
    written = opened(render_docx(briefing(), made.getvalue()))
    assert values(written, "pStyle").count("1") == 2
    assert "Heading1" not in values(written, "pStyle")
