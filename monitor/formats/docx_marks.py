"""WordprocessingML in small: paragraphs, runs, links, bookmarks, fields and tables, as elements."""

from collections.abc import Iterable, Sequence
from typing import Any

from lxml.etree import Element

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_XML = "http://www.w3.org/XML/1998/namespace"


def w(name: str) -> str:
    """The name in WordprocessingML's namespace, as lxml writes it."""
    return f"{{{W}}}{name}"


def element(tag: str, /, *children: Any, **attributes: str) -> Any:
    """An element with its children; attributes are of the same namespace."""
    made = Element(w(tag), {w(key): value for key, value in attributes.items()}, nsmap={"w": W, "r": R})
    made.extend(children)
    return made


def paragraph(style: str, content: Iterable[Any], align: str | None = None) -> Any:
    """A paragraph of the style with that id."""
    properties = element("pPr", element("pStyle", val=style))
    if align:
        properties.append(element("jc", val=align))
    return element("p", properties, *content)


def run(text: str, style: str | None = None) -> Any:
    """Text in one style; tabs in it are Word's."""
    made = element("r")
    if style:
        made.append(element("rPr", element("rStyle", val=style)))
    for index, part in enumerate(text.split("\t")):
        if index:
            made.append(element("tab"))
        if part:
            made.append(_words("t", part))
    return made


def outer_link(relation: str, content: Any) -> Any:
    """A link to the address that the relation of that id names."""
    made = element("hyperlink", content, history="1")
    made.set(f"{{{R}}}id", relation)
    return made


def inner_link(bookmark: str, content: Any) -> Any:
    """A link to a bookmark of the same document."""
    return element("hyperlink", content, anchor=bookmark, history="1")


def bookmarked(name: str, number: int, content: Iterable[Any]) -> list[Any]:
    """The content between the two ends of a bookmark; `number` is its own in the document."""
    start = element("bookmarkStart", id=str(number), name=name)
    return [start, *content, element("bookmarkEnd", id=str(number))]


def field(instruction: str, lines: Sequence[Any]) -> None:
    """Makes paragraphs the result of a field: it begins in the first and ends in the last of them."""
    begin = [
        element("r", element("fldChar", fldCharType="begin")),
        element("r", _words("instrText", f" {instruction} ")),
        element("r", element("fldChar", fldCharType="separate")),
    ]
    for offset, mark in enumerate(begin, start=1):  # behind the paragraph's properties
        lines[0].insert(offset, mark)
    lines[-1].append(element("r", element("fldChar", fldCharType="end")))


def table(style: str, widths: Sequence[int], rows: Sequence[Sequence[Any]], *, has_head: bool) -> Any:
    """A table of so wide columns, in twentieths of a point; a cell is its paragraphs. The head stands on each page."""
    made = element(
        "tbl",
        element(
            "tblPr",
            element("tblStyle", val=style),
            element("tblW", w=str(sum(widths)), type="dxa"),
            element("tblLayout", type="fixed"),
            element("tblLook", val="0020" if has_head else "0000", firstRow=str(int(has_head))),
        ),
        element("tblGrid", *(element("gridCol", w=str(width)) for width in widths)),
    )
    for index, cells in enumerate(rows):
        properties = element("trPr", element("cantSplit"))
        if has_head and index == 0:
            properties.append(element("tblHeader"))
        row = element("tr", properties)
        for width, content in zip(widths, cells, strict=True):
            row.append(element("tc", element("tcPr", element("tcW", w=str(width), type="dxa")), *content))
        made.append(row)
    return made


def _words(tag: str, text: str) -> Any:
    made = element(tag)
    made.text = text
    made.set(f"{{{_XML}}}space", "preserve")
    return made
