"""What a Word file holds, as a page: its paragraphs, tables and links in their order and by their styles.

It is read from the file itself, so nothing is shown that the file lacks. Where pages break, Word decides.
"""

import io
import zipfile
from collections.abc import Iterator
from html import escape
from typing import Any

from lxml import etree

from monitor.exports.docx import qualify_name

_HEADINGS = {"title": "h1", "heading 1": "h2", "heading 2": "h3", "heading 3": "h4"}
_STYLE = """\
body { margin: 0; padding: 1.5rem; background: #e9e9e9; color: #111; }
main { max-width: 40rem; margin: 0 auto; padding: 4rem 3.5rem; background: #fff; box-shadow: 0 1px 6px #0003; \
font: 11pt/1.6 "Noto Serif CJK SC", SimSun, Cambria, serif; overflow-wrap: anywhere; }
h1, h2, h3, h4 { font-family: "Noto Sans CJK SC", "Microsoft YaHei", Calibri, sans-serif; line-height: 1.35; }
h1 { font-size: 20pt; } h2 { font-size: 14pt; } h3 { font-size: 12pt; } h4 { font-size: 11.5pt; }
p, h4 { margin: .4em 0; } table { border-collapse: collapse; width: 100%; font-size: 10pt; }
td { padding: .3em .5em; border: 1px solid #bbb; vertical-align: top; } td p { margin: 0; }
a { color: #0f4c5c; } .toc { margin: 0 0 0 1em; color: #444; } .monitoraccent { padding-left: .8em; \
border-left: 3px solid #0f4c5c; } .monitorwarning { padding-left: .8em; border-left: 3px solid #7c4305; }
@media (max-width: 40rem) { body { padding: 0; } main { padding: 1.5rem; } }
"""


def render_docx_view(file: bytes) -> bytes:
    """Return the content of a Word file that we wrote as an HTML page without scripts."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        document = etree.fromstring(archive.read("word/document.xml"), parser)
        styles = etree.fromstring(archive.read("word/styles.xml"), parser)
    names = {
        style.get(qualify_name("styleId"), ""): _get_value(style.find(qualify_name("name"))).lower()
        for style in styles.iter(qualify_name("style"))
    }
    body = document.find(qualify_name("body"))
    content = "\n".join(_render_children(body if body is not None else document, names))
    return (
        '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Word</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{content}\n</main>\n</body>\n</html>\n"
    ).encode()


def _render_children(parent: Any, names: dict[str, str]) -> Iterator[str]:
    for child in parent:
        if child.tag == qualify_name("p"):
            yield _render_paragraph(child, names)
        elif child.tag == qualify_name("tbl"):
            rows = "".join(_render_row(row, names) for row in child.iterchildren(qualify_name("tr")))
            yield f"<table>{rows}</table>"


def _render_row(row: Any, names: dict[str, str]) -> str:
    cells = "".join(f"<td>{''.join(_render_children(cell, names))}</td>" for cell in row.iter(qualify_name("tc")))
    return f"<tr>{cells}</tr>"


def _render_paragraph(paragraph: Any, names: dict[str, str]) -> str:
    style = names.get(_get_value(paragraph.find(f"{qualify_name('pPr')}/{qualify_name('pStyle')}")), "")
    pieces = paragraph.iterchildren(qualify_name("r"), qualify_name("hyperlink"))
    text = "".join(_render_inline(piece) for piece in pieces)
    if tag := _HEADINGS.get(style):
        return f"<{tag}>{text}</{tag}>"
    kind = "toc" if style.startswith("toc") else style.replace(" ", "")
    return f'<p class="{escape(kind)}">{text}</p>'


def _render_inline(element: Any) -> str:
    """Return the text of a run or a link; links are shown as such and lead nowhere."""
    text = escape("".join(_read_text(part) for part in element.iter(qualify_name("t"), qualify_name("tab"))))
    return f"<a>{text}</a>" if element.tag == qualify_name("hyperlink") else text


def _read_text(part: Any) -> str:
    return "\u2003" if part.tag == qualify_name("tab") else part.text or ""


def _get_value(element: Any) -> str:
    return "" if element is None else str(element.get(qualify_name("val")) or "")
