"""WordprocessingML in small: paragraphs, runs, links, bookmarks, fields and tables, as elements."""

from collections.abc import Iterable, Sequence
from typing import Any

from lxml.etree import Element

W_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R_NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_XML_NAMESPACE = "http://www.w3.org/XML/1998/namespace"


def qualify_name(name: str) -> str:
    """The name in WordprocessingML's namespace, as lxml writes it."""
    return f"{{{W_NAMESPACE}}}{name}"


def make_element(tag: str, /, *children: Any, **attributes: str) -> Any:
    """An element with its children; attributes are of the same namespace."""
    made = Element(
        qualify_name(tag),
        {qualify_name(key): value for key, value in attributes.items()},
        nsmap={"w": W_NAMESPACE, "r": R_NAMESPACE},
    )
    made.extend(children)
    return made


def make_paragraph(style: str, content: Iterable[Any], align: str | None = None) -> Any:
    """A paragraph of the style with that id."""
    properties = make_element("pPr", make_element("pStyle", val=style))
    if align:
        properties.append(make_element("jc", val=align))
    return make_element("p", properties, *content)


def make_run(text: str, style: str | None = None) -> Any:
    """Text in one style; tabs in it are Word's."""
    made = make_element("r")
    if style:
        made.append(make_element("rPr", make_element("rStyle", val=style)))
    for index, part in enumerate(text.split("\t")):
        if index:
            made.append(make_element("tab"))
        if part:
            made.append(_make_text("t", part))
    return made


def make_external_link(relation: str, content: Any) -> Any:
    """A link to the address that the relation of that id names."""
    made = make_element("hyperlink", content, history="1")
    made.set(f"{{{R_NAMESPACE}}}id", relation)
    return made


def make_internal_link(bookmark: str, content: Any) -> Any:
    """A link to a bookmark of the same document."""
    return make_element("hyperlink", content, anchor=bookmark, history="1")


def wrap_in_bookmark(name: str, number: int, content: Iterable[Any]) -> list[Any]:
    """The content between the two ends of a bookmark; `number` is its own in the document."""
    start = make_element("bookmarkStart", id=str(number), name=name)
    return [start, *content, make_element("bookmarkEnd", id=str(number))]


def wrap_in_field(instruction: str, lines: Sequence[Any]) -> None:
    """Makes paragraphs the result of a field: it begins in the first and ends in the last of them."""
    begin = [
        make_element("r", make_element("fldChar", fldCharType="begin")),
        make_element("r", _make_text("instrText", f" {instruction} ")),
        make_element("r", make_element("fldChar", fldCharType="separate")),
    ]
    for offset, mark in enumerate(begin, start=1):  # behind the paragraph's properties
        lines[0].insert(offset, mark)
    lines[-1].append(make_element("r", make_element("fldChar", fldCharType="end")))


def make_table(style: str, widths: Sequence[int], rows: Sequence[Sequence[Any]], *, has_head: bool) -> Any:
    """A table of so wide columns, in twentieths of a point; a cell is its paragraphs. The head stands on each page."""
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
