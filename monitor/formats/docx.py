"""A document as a Word file: styles, links, and a table of contents that is filled and stays true.

Looks live in the styles of `blank_docx/word/styles.xml`; a firm's template may bring styles of the same names.
"""

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, assert_never

from monitor.formats import docx_marks as marks
from monitor.formats.document import (
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
    inline,
    letters_of,
    link_target,
    link_text,
    numeric_columns,
    one_line,
)
from monitor.formats.docx_template import adopt_styles, find_place, open_template

if TYPE_CHECKING:
    from docx.document import Document as WordFile

# Levels of headings, links, no page numbers: those are only known once the pages are laid out, and Word would have
# to ask its reader whether it may look. The numbers of the entries take their place.
_CONTENTS = 'TOC \\o "1-3" \\h \\n'
_FIRST_BOOKMARK = 10_000
_MAX_PROPERTY_CHARS = 255
_PARAGRAPH_STYLES: dict[Tone, str] = {"plain": "MonitorPlain", "accent": "MonitorAccent", "warning": "MonitorWarning"}
_BADGE_STYLES: dict[Tone, str] = {
    "plain": "MonitorBadge",
    "accent": "MonitorBadgeAccent",
    "warning": "MonitorBadgeWarning",
}
_MIN_COLUMN, _MAX_COLUMN = 6, 44  # letters that a column is made for


def docx(document: Document, template: bytes | None = None) -> bytes:
    """The document as a Word file, made from the firm's template where one is given.

    It takes the place of the template's paragraph `{{briefing}}`, or stands behind all that the template holds.
    `UsageError` where the template cannot be read.
    """
    file = open_template(template)
    writer = _Writer(file, adopt_styles(file))
    content = writer.content(document)
    place = find_place(file)
    if place is None:
        place = marks.element("p")
        file.element.body.insert_element_before(place, "w:sectPr")
    for child in content:
        place.addprevious(child)
    place.getparent().remove(place)
    _set_properties(file, document)
    made = io.BytesIO()
    file.save(made)
    return made.getvalue()


def _set_properties(file: "WordFile", document: Document) -> None:
    properties = file.core_properties
    properties.title = one_line(document.title)[:_MAX_PROPERTY_CHARS]
    properties.language = document.language
    if document.written_at is not None:
        properties.created = properties.modified = document.written_at


class _Writer:
    """Turns blocks into elements; gathers the headings on the way, for the table of contents."""

    def __init__(self, file: "WordFile", style_ids: dict[str, str]) -> None:
        self._file = file
        self._ids = style_ids
        self._headings: list[tuple[int, str]] = []
        self._relations: dict[str, str] = {}

    def content(self, document: Document) -> list[Any]:
        head = [("MonitorOverline", document.overline), ("Title", document.title), ("Subtitle", document.subtitle)]
        before = [self._line(style, [self._text(text)]) for style, text in head if text]
        first = next((at for at, block in enumerate(document.blocks) if isinstance(block, Heading)), 0)
        before.extend(made for block in document.blocks[:first] for made in self._block(block))
        after = [made for block in document.blocks[first:] for made in self._block(block)]
        if document.colophon:
            after.append(self._line("MonitorColophon", self._spans(document.colophon)))
        elif after and after[-1].tag == marks.w("tbl"):
            after.append(self._line("Normal", []))  # Word wants a paragraph behind the last table
        return [*before, *self._contents(document.contents), *after]

    def _contents(self, title: str) -> list[Any]:
        if not title or not self._headings:
            return []
        lines = []
        for number, (level, text) in enumerate(self._headings):
            link = marks.inner_link(_bookmark(number), marks.run(text))
            lines.append(self._line(f"TOC{level}", [link]))
        marks.field(_CONTENTS, lines)
        return [self._line("TOCHeading", [self._text(title)]), *lines]

    def _block(self, block: Block) -> Iterator[Any]:
        match block:
            case Heading():
                text = one_line(block.text)
                yield self._heading(block.level - 1, text, [marks.run(text)])
            case Paragraph():
                yield self._line(_PARAGRAPH_STYLES[block.tone], self._spans(block.spans, between=""))
            case Facts():
                yield self._facts(block)
            case Entries():
                for entry in block.entries:
                    yield from self._entry(entry)
            case Listing():
                between = "" if block.is_running else " · "
                for point in block.points:
                    yield self._line("MonitorPoint", [marks.run("•\t"), *self._spans(point, between=between)])
            case Table():
                yield self._table(block)
            case Figure():
                yield self._table(block.table)
                yield self._line("MonitorLinks", [self._text(block.caption)])
            case _:
                assert_never(block)

    def _heading(self, level: int, text: str, content: Iterable[Any]) -> Any:
        number = len(self._headings)
        self._headings.append((level, text))
        return self._line(f"Heading{level}", marks.bookmarked(_bookmark(number), _FIRST_BOOKMARK + number, content))

    def _entry(self, entry: Entry) -> Iterator[Any]:
        number = self._text(str(entry.number), "MonitorNumber")
        title = [number, marks.run("\t"), self._span(entry.title, "MonitorTitleLink")]
        for badge in entry.badges:
            title.extend([marks.run("  "), self._text(f"〔{badge.text}〕", _BADGE_STYLES[badge.tone])])
        yield self._heading(3, f"{entry.number}\t{link_text(one_line(entry.title.text))}", title)
        for spans in entry.particulars:
            if any(span.text for span in spans):
                yield self._line("MonitorParticulars", self._spans(spans))
        if entry.text:
            mark = [self._text(f"〔{entry.text_mark}〕", "MonitorBadge")] if entry.text_mark else []
            yield self._line("MonitorText", [*mark, self._text(entry.text)])
        for row in entry.links:
            yield self._line("MonitorLinks", [self._text(row.label), marks.run(" "), *self._spans(row.links)])
        if entry.remark is not None:
            mark = [self._text(f"〔{entry.remark.mark}〕", "MonitorBadgeAccent")]
            for paragraph in entry.remark.paragraphs:
                yield self._line("MonitorAccent", [*mark, self._text(paragraph)])
                mark = []

    def _facts(self, block: Facts) -> Any:
        width = self._text_width() // max(len(block.facts), 1)
        cells = [
            [self._line("MonitorFigure", [self._text(value)]), self._line("MonitorFigureLabel", [self._text(label)])]
            for label, value in block.facts
        ]
        return marks.table(self._ids["MonitorFigures"], [width] * len(cells), [cells], has_head=False)

    def _table(self, block: Table) -> Any:
        numeric = numeric_columns(block)
        wanted = [
            min(max(letters_of(one_line(row[column])) for row in (block.header, *block.rows)) + 2, _MAX_COLUMN)
            for column in range(len(block.header))
        ]
        wanted = [max(letters, _MIN_COLUMN) for letters in wanted]
        widths = [self._text_width() * letters // sum(wanted) for letters in wanted]
        rows = [[self._cell(text, "MonitorHead", column in numeric) for column, text in enumerate(block.header)]]
        for index, row in enumerate(block.rows):
            is_troubled = index < len(block.tones) and block.tones[index] == "warning"
            rows.append(
                [
                    self._cell(text, "MonitorCell", column in numeric, is_troubled=is_troubled and column == 1)
                    for column, text in enumerate(row)
                ]
            )
            rows[-1][-1][0].extend(self._spans(block.notes_of(index), between=""))
        return marks.table(self._ids["MonitorTable"], widths, rows, has_head=True)

    def _cell(self, text: str, style: str, is_number: bool, *, is_troubled: bool = False) -> list[Any]:
        words = self._text(text, "MonitorTrouble" if is_troubled else None)
        return [marks.paragraph(self._ids[style], [words], align="right" if is_number else None)]

    def _line(self, style: str, content: Iterable[Any]) -> Any:
        return marks.paragraph(self._ids[style], content)

    def _spans(self, spans: list[Span], between: str = " · ") -> list[Any]:
        made: list[Any] = []
        for span in spans:
            if span.text:
                if made and between:
                    made.append(marks.run(between))
                made.append(self._span(span, "Hyperlink"))
        return made

    def _span(self, span: Span, link_style: str) -> Any:
        url = link_target(span.url)
        if url is None:
            return self._text(span.text)
        return marks.outer_link(self._relation(url), self._text(link_text(span.text), link_style))

    def _relation(self, url: str) -> str:
        from docx.opc.constants import RELATIONSHIP_TYPE

        if url not in self._relations:  # python-docx would compare it with each that is there
            self._relations[url] = f"rIdLink{len(self._relations)}"
            self._file.part.load_rel(RELATIONSHIP_TYPE.HYPERLINK, url, self._relations[url], is_external=True)
        return self._relations[url]

    def _text(self, text: str, style: str | None = None) -> Any:
        return marks.run(inline(text), self._ids[style] if style else None)

    def _text_width(self) -> int:
        section = self._file.sections[-1]
        page, left, right = section.page_width, section.left_margin, section.right_margin
        return (page.twips - left.twips - right.twips) if page and left is not None and right is not None else 9000


def _bookmark(number: int) -> str:
    return f"_Toc{_FIRST_BOOKMARK + number:08d}"
