"""A document as a Word file: styles, links, and a table of contents that is filled and stays true.

Looks live in the styles of `blank_docx/word/styles.xml`; a firm's template may bring styles of the same names.
"""

import io
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from lxml import etree

from monitor.errors import UsageError
from monitor.exports.document import (
    Block,
    Document,
    Entries,
    Entry,
    Facts,
    Figure,
    Heading,
    Listing,
    Paragraph,
    Span,
    Table,
    Tone,
    find_numeric_columns,
    format_inline,
    format_link_text,
    measure_text_width,
    normalize_line,
    sanitize_link_target,
)
from monitor.extras import needs_extra

if TYPE_CHECKING:
    from docx.document import Document as WordFile


PLACEHOLDER = "{{briefing}}"
_TEMPLATE_CONTENT_TYPE = b"wordprocessingml.template.main+xml"
_DOCUMENT_CONTENT_TYPE = b"wordprocessingml.document.main+xml"
_CONTENT_TYPES_PART = "[Content_Types].xml"
_BLANK_FOLDER = Path(__file__).with_name("blank_docx")
_W_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_R_NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"


def open_template(template: bytes | None) -> "WordFile":
    """Return the firm's file, docx or dotx, or the blank one.

    `UsageError` for anything else, `ExtraMissing` without the library that reads it.
    """
    with needs_extra("documents"):
        import docx  # takes a while

    try:
        return docx.Document(io.BytesIO(_convert_to_docx(template) if template is not None else _build_blank_docx()))
    except (ValueError, KeyError, zipfile.BadZipFile, etree.XMLSyntaxError):
        raise UsageError("template.not_word") from None


def adopt_styles(file: "WordFile") -> dict[str, str]:
    """Add those of our styles that the file lacks, and return the file's style ids by ours.

    A style of the same name is the firm's and stays as it is.
    """
    theirs = {
        _get_style_name(style): style.get(qualify_name("styleId"))
        for style in file.styles.element.iter(qualify_name("style"))
    }
    ids: dict[str, str] = {}
    ours = etree.parse(_BLANK_FOLDER / "word" / "styles.xml")
    for style in ours.iter(qualify_name("style")):
        own_id = style.get(qualify_name("styleId"), "")
        ids[own_id] = theirs.get(_get_style_name(style)) or own_id
        if _get_style_name(style) not in theirs:
            added = deepcopy(style)
            for kin in added.iter(qualify_name("basedOn"), qualify_name("next")):
                name = kin.get(qualify_name("val"), "")
                kin.set(qualify_name("val"), ids.get(name, name))
            file.styles.element.append(added)
    return ids


def find_placeholder(file: "WordFile") -> Any:
    """Return the paragraph `{{briefing}}`, which the content replaces, or None where there is none."""
    for paragraph in file.element.body.iterchildren(qualify_name("p")):
        if "".join(text.text or "" for text in paragraph.iter(qualify_name("t"))).strip() == PLACEHOLDER:
            return paragraph
    return None


def _get_style_name(style: Any) -> str:
    name = style.find(qualify_name("name"))
    return str(name.get(qualify_name("val"))).lower() if name is not None else ""


def _convert_to_docx(template: bytes) -> bytes:
    """Return the template as a document, which differs from it by a word in its list of contents."""
    with zipfile.ZipFile(io.BytesIO(template)) as given:
        if _TEMPLATE_CONTENT_TYPE not in given.read(_CONTENT_TYPES_PART):
            return template
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
            for name in given.namelist():
                content = given.read(name)
                if name == _CONTENT_TYPES_PART:
                    content = content.replace(_TEMPLATE_CONTENT_TYPE, _DOCUMENT_CONTENT_TYPE)
                file.writestr(name, content)
    return made.getvalue()


def _build_blank_docx() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for part in sorted(path for path in _BLANK_FOLDER.rglob("*") if path.is_file()):
            file.writestr(part.relative_to(_BLANK_FOLDER).as_posix(), part.read_bytes())
    return made.getvalue()


# Levels of headings, links, no page numbers: those are only known once the pages are laid out, and Word would have
# to ask its reader whether it may look. The numbers of the entries take their place.
_TOC_INSTRUCTION = 'TOC \\o "1-3" \\h \\n'
_FIRST_BOOKMARK = 10_000
_MAX_PROPERTY_CHARS = 255
_PARAGRAPH_STYLES: dict[Tone, str] = {"plain": "MonitorPlain", "accent": "MonitorAccent", "warning": "MonitorWarning"}

_BADGE_STYLES: dict[Tone, str] = {
    "plain": "MonitorBadge",
    "accent": "MonitorBadgeAccent",
    "warning": "MonitorBadgeWarning",
}

_MIN_COLUMN_LETTERS, _MAX_COLUMN_LETTERS = 6, 44  # letters that a column is made for


def render_docx(document: Document, template: bytes | None = None) -> bytes:
    """Return the document as a Word file, made from the firm's template where one is given.

    It replaces the template's paragraph `{{briefing}}`, or follows all that the template holds. Raises `UsageError`
    where the template cannot be read.
    """
    file = open_template(template)
    writer = _DocxWriter(file, adopt_styles(file))
    content = writer.build_content(document)
    place = find_placeholder(file)
    if place is None:
        place = make_element("p")
        file.element.body.insert_element_before(place, "w:sectPr")
    for child in content:
        place.addprevious(child)
    place.getparent().remove(place)
    properties = file.core_properties
    properties.title = normalize_line(document.title)[:_MAX_PROPERTY_CHARS]
    properties.language = document.language
    if document.written_at is not None:
        properties.created = properties.modified = document.written_at
    made = io.BytesIO()
    file.save(made)
    return made.getvalue()


class _DocxWriter:
    """Turns blocks into elements, and collects the headings for the table of contents."""

    def __init__(self, file: "WordFile", style_ids: dict[str, str]) -> None:
        self._file = file
        self._ids = style_ids
        self._headings: list[tuple[int, str]] = []
        self._relations: dict[str, str] = {}

    def build_content(self, document: Document) -> list[Any]:
        head = [("MonitorOverline", document.overline), ("Title", document.title), ("Subtitle", document.subtitle)]
        before = [self._build_line(style, [self._build_text_run(text)]) for style, text in head if text]
        parts = [at for at, block in enumerate(document.blocks) if isinstance(block, Heading) and block.level == 2]
        first = next(iter(parts[document.contents_after :]), len(document.blocks) if parts else 0)
        before.extend(made for block in document.blocks[:first] for made in self._build_block(block))
        after = [made for block in document.blocks[first:] for made in self._build_block(block)]
        if document.colophon:
            after.append(self._build_line("MonitorColophon", self._build_spans(document.colophon)))
        elif after and after[-1].tag == qualify_name("tbl"):
            after.append(self._build_line("Normal", []))  # Word wants a paragraph behind the last table
        return [*before, *self._build_contents(document.contents), *after]

    def _build_contents(self, title: str) -> list[Any]:
        if not title or not self._headings:
            return []
        lines = []
        for number, (level, text) in enumerate(self._headings):
            link = make_element("hyperlink", make_run(text), anchor=_format_bookmark(number), history="1")
            lines.append(self._build_line(f"TOC{level}", [link]))
        wrap_in_field(_TOC_INSTRUCTION, lines)
        return [self._build_line("TOCHeading", [self._build_text_run(title)]), *lines]

    def _build_block(self, block: Block) -> Iterator[Any]:
        match block:
            case Heading():
                text = normalize_line(block.text)
                yield self._build_heading(block.level - 1, text, [make_run(text)])
            case Paragraph():
                yield self._build_line(_PARAGRAPH_STYLES[block.tone], self._build_spans(block.spans, between=""))
            case Facts():
                yield self._build_facts(block)
            case Entries():
                for entry in block.entries:
                    yield from self._build_entry(entry)
            case Listing():
                between = "" if block.is_running else " · "
                for point in block.points:
                    yield self._build_line(
                        "MonitorPoint", [make_run("•\t"), *self._build_spans(point, between=between)]
                    )
            case Table():
                yield self._build_table(block)
            case Figure():
                yield self._build_table(block.table)
                yield self._build_line("MonitorLinks", [self._build_text_run(block.caption)])
            case _:
                assert_never(block)

    def _build_heading(self, level: int, text: str, content: Iterable[Any]) -> Any:
        number = len(self._headings)
        self._headings.append((level, text))
        bookmark = str(_FIRST_BOOKMARK + number)
        start = make_element("bookmarkStart", id=bookmark, name=_format_bookmark(number))
        return self._build_line(f"Heading{level}", [start, *content, make_element("bookmarkEnd", id=bookmark)])

    def _build_entry(self, entry: Entry) -> Iterator[Any]:
        number = self._build_text_run(str(entry.number), "MonitorNumber")
        title = [number, make_run("\t"), self._build_span(entry.title, "MonitorTitleLink")]
        for badge in entry.badges:
            title.extend([make_run("  "), self._build_text_run(f"〔{badge.text}〕", _BADGE_STYLES[badge.tone])])
        yield self._build_heading(3, f"{entry.number}\t{format_link_text(normalize_line(entry.title.text))}", title)
        if entry.gist:
            mark = self._build_mark(entry.gist_mark, "MonitorBadge") if entry.gist_mark else []
            yield self._build_line("MonitorGist", [*mark, self._build_text_run(entry.gist)])
        for spans in entry.particulars:
            if any(span.text for span in spans):
                yield self._build_line("MonitorParticulars", self._build_spans(spans))
        if entry.text:
            mark = self._build_mark(entry.text_mark, "MonitorBadge") if entry.text_mark else []
            yield self._build_line("MonitorText", [*mark, self._build_text_run(entry.text)])
        for row in entry.links:
            yield self._build_line(
                "MonitorLinks", [self._build_text_run(row.label), make_run(" "), *self._build_spans(row.links)]
            )
        if entry.remark is not None:
            mark = self._build_mark(entry.remark.mark, "MonitorBadgeAccent")
            for paragraph in entry.remark.paragraphs:
                yield self._build_line("MonitorAccent", [*mark, self._build_text_run(paragraph)])
                mark = []

    def _build_facts(self, block: Facts) -> Any:
        width = self._get_text_width() // max(len(block.facts), 1)
        cells = [
            [
                self._build_line("MonitorFigure", [self._build_text_run(value)]),
                self._build_line("MonitorFigureLabel", [self._build_text_run(label)]),
            ]
            for label, value in block.facts
        ]
        return make_table(self._ids["MonitorFigures"], [width] * len(cells), [cells], has_head=False)

    def _build_table(self, block: Table) -> Any:
        numeric = find_numeric_columns(block)
        columns = zip(block.header, *block.rows, strict=True)
        longest = [max(measure_text_width(normalize_line(cell)) for cell in column) + 2 for column in columns]
        wanted = [max(min(letters, _MAX_COLUMN_LETTERS), _MIN_COLUMN_LETTERS) for letters in longest]
        widths = [self._get_text_width() * letters // sum(wanted) for letters in wanted]
        rows = [[self._build_cell(text, "MonitorHead", column in numeric) for column, text in enumerate(block.header)]]
        for index, row in enumerate(block.rows):
            is_troubled = block.tones[index : index + 1] == ["warning"]
            cells = [
                self._build_cell(text, "MonitorCell", column in numeric, is_troubled=is_troubled and column == 1)
                for column, text in enumerate(row)
            ]
            cells[-1][0].extend(self._build_spans(block.notes_of(index), between=""))
            rows.append(cells)
        return make_table(self._ids["MonitorTable"], widths, rows, has_head=True)

    def _build_cell(self, text: str, style: str, is_number: bool, *, is_troubled: bool = False) -> list[Any]:
        words = self._build_text_run(text, "MonitorTrouble" if is_troubled else None)
        return [make_paragraph(self._ids[style], [words], align="right" if is_number else None)]

    def _build_line(self, style: str, content: Iterable[Any]) -> Any:
        return make_paragraph(self._ids[style], content)

    def _build_spans(self, spans: list[Span], between: str = " · ") -> list[Any]:
        made: list[Any] = []
        for span in spans:
            if span.text:
                if made and between:
                    made.append(make_run(between))
                made.append(self._build_span(span, "Hyperlink"))
        return made

    def _build_span(self, span: Span, link_style: str) -> Any:
        url = sanitize_link_target(span.url)
        if url is None:
            return self._build_text_run(span.text)
        link = make_element("hyperlink", self._build_text_run(format_link_text(span.text), link_style), history="1")
        link.set(f"{{{_R_NAMESPACE}}}id", self._get_relation_id(url))
        return link

    def _get_relation_id(self, url: str) -> str:
        from docx.opc.constants import RELATIONSHIP_TYPE

        if url not in self._relations:  # python-docx would compare it with each that is there
            self._relations[url] = f"rIdLink{len(self._relations)}"
            self._file.part.load_rel(RELATIONSHIP_TYPE.HYPERLINK, url, self._relations[url], is_external=True)
        return self._relations[url]

    def _build_text_run(self, text: str, style: str | None = None) -> Any:
        return make_run(format_inline(text), self._ids[style] if style else None)

    def _build_mark(self, text: str, style: str) -> list[Any]:
        return [self._build_text_run(f"〔{text}〕", style), make_run(" ")]

    def _get_text_width(self) -> int:
        section = self._file.sections[-1]
        page, left, right = section.page_width, section.left_margin, section.right_margin
        return (page.twips - left.twips - right.twips) if page and left is not None and right is not None else 9000


def _format_bookmark(number: int) -> str:
    return f"_Toc{_FIRST_BOOKMARK + number:08d}"


def qualify_name(name: str) -> str:
    return f"{{{_W_NAMESPACE}}}{name}"


def make_element(tag: str, /, *children: Any, **attributes: str) -> Any:
    made = etree.Element(
        qualify_name(tag),
        {qualify_name(key): value for key, value in attributes.items()},
        nsmap={"w": _W_NAMESPACE, "r": _R_NAMESPACE},
    )
    made.extend(children)
    return made


def make_paragraph(style: str, content: Iterable[Any], align: str | None = None) -> Any:
    properties = make_element("pPr", make_element("pStyle", val=style))
    if align:
        properties.append(make_element("jc", val=align))
    return make_element("p", properties, *content)


def make_run(text: str, style: str | None = None) -> Any:
    """Return a run of text in one style; its tabs become Word's."""
    made = make_element("r")
    if style:
        made.append(make_element("rPr", make_element("rStyle", val=style)))
    for index, part in enumerate(text.split("\t")):
        if index:
            made.append(make_element("tab"))
        if part:
            made.append(_make_text("t", part))
    return made


def wrap_in_field(instruction: str, lines: Sequence[Any]) -> None:
    """Make paragraphs the result of a field, which begins in the first and ends in the last of them."""
    begin = [
        make_element("r", make_element("fldChar", fldCharType="begin")),
        make_element("r", _make_text("instrText", f" {instruction} ")),
        make_element("r", make_element("fldChar", fldCharType="separate")),
    ]
    for offset, mark in enumerate(begin, start=1):  # behind the paragraph's properties
        lines[0].insert(offset, mark)
    lines[-1].append(make_element("r", make_element("fldChar", fldCharType="end")))


def make_table(style: str, widths: Sequence[int], rows: Sequence[Sequence[Any]], *, has_head: bool) -> Any:
    """Return a table with column widths in twentieths of a point; a cell is a list of paragraphs."""
    made = make_element(
        "tbl",
        make_element(
            "tblPr",
            make_element("tblStyle", val=style),
            make_element("tblW", w=str(sum(widths)), type="dxa"),
            make_element("tblLayout", type="fixed"),
            make_element("tblLook", val="0020" if has_head else "0000", firstRow=str(int(has_head))),
        ),
        make_element("tblGrid", *(make_element("gridCol", w=str(width)) for width in widths)),
    )
    for index, cells in enumerate(rows):
        properties = make_element("trPr", make_element("cantSplit"))
        if has_head and index == 0:
            properties.append(make_element("tblHeader"))
        row = make_element("tr", properties)
        for width, content in zip(widths, cells, strict=True):
            row.append(
                make_element("tc", make_element("tcPr", make_element("tcW", w=str(width), type="dxa")), *content)
            )
        made.append(row)
    return made


def _make_text(tag: str, text: str) -> Any:
    made = make_element(tag)
    made.text = text
    made.set(f"{{{_XML_NAMESPACE}}}space", "preserve")
    return made
