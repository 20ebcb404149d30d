"""A document as one self-contained HTML file: no script, and no address that is asked when it is opened."""

import base64
import hashlib
from html import escape
from importlib.resources import files

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
    inline,
    link_target,
    link_text,
    numeric_columns,
    one_line,
)


def html(document: Document) -> str:
    """The document as HTML. Its content policy allows its own style sheet, by its hash, and nothing else at all."""
    style = files("monitor.formats").joinpath("document.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    overline = f'<p class="overline">{_text(document.overline)}</p>\n' if document.overline else ""
    subtitle = f'<p class="subtitle">{_text(document.subtitle)}</p>\n' if document.subtitle else ""
    blocks = "\n".join(_block(block) for block in document.blocks)
    colophon = f"<footer>{_spans(document.colophon, ' · ')}</footer>\n" if document.colophon else ""
    return (
        f'<!doctype html>\n<html lang="{escape(document.language)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{_text(document.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n"
        f"<header>\n{overline}<h1>{_text(document.title)}</h1>\n{subtitle}</header>\n{blocks}\n{colophon}</main>\n"
        "</body>\n</html>\n"
    )


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{_text(block.text)}</h{block.level}>"
        case Paragraph():
            role = ' role="note"' if block.tone == "warning" else ""
            return f'<p class="{block.tone}"{role}>{_spans(block.spans)}</p>'
        case Facts():
            pairs = "".join(
                f"<div><dt>{_text(label)}</dt><dd>{_text(value)}</dd></div>" for label, value in block.facts
            )
            return f'<dl class="facts">{pairs}</dl>'
        case Entries():
            return '<ol class="entries">\n' + "\n".join(_entry(entry) for entry in block.entries) + "\n</ol>"
        case Listing():
            return _listing(block)
        case Table():
            return _table(block)
        case Figure():
            return f"<figure>{block.svg}<figcaption>{_text(block.caption)}</figcaption></figure>"


_DOT = ' <span class="dot">·</span> '


def _listing(listing: Listing) -> str:
    if listing.is_running:
        points = "\n".join(f"<li>{_spans(point)}</li>" for point in listing.points)
        return f'<ul class="points">\n{points}\n</ul>'
    points = "\n".join(f"<li{_address(point)}>{_spans(point, _DOT)}</li>" for point in listing.points)
    return f'<ul class="listing">\n{points}\n</ul>'


def _entry(entry: Entry) -> str:
    badges = "".join(f' <span class="badge {badge.tone}">{_text(badge.text)}</span>' for badge in entry.badges)
    particulars = "".join(f'<p class="particulars">{_spans(spans, _DOT)}</p>' for spans in entry.particulars if spans)
    text = ""
    if entry.text:
        mark = f' <span class="mark">{_text(entry.text_mark)}</span>' if entry.text_mark else ""
        text = f'<p class="text">{_text(entry.text)}{mark}</p>'
    links = "".join(f'<p class="links">{_text(row.label)} {_spans(row.links, _DOT)}</p>' for row in entry.links)
    number = f'<span class="number" aria-hidden="true">{entry.number}</span>'
    title = f"<h3>{_span(entry.title)}{badges}</h3>"
    said = f"{number}{title}{particulars}{text}{links}{_remark(entry)}"
    return f'<li value="{entry.number}"><article{_address([entry.title])}>{said}</article></li>'


def _remark(entry: Entry) -> str:
    if entry.remark is None:
        return ""
    paragraphs = "".join(f"<p>{_text(paragraph)}</p>" for paragraph in entry.remark.paragraphs)
    return f'<aside class="remark"><span class="mark">{_text(entry.remark.mark)}</span>{paragraphs}</aside>'


def _address(spans: list[Span]) -> str:
    """What the first link of the spans says on paper."""
    url = next(filter(None, (link_target(span.url) for span in spans)), None)
    return f' data-address="{escape(url)}"' if url else ""


def _table(table: Table) -> str:
    # Each cell carries its column's name, so that a narrow screen can stack the cells of a row.
    numeric = numeric_columns(table)
    classes = [' class="count"' if index in numeric else "" for index in range(len(table.header))]
    head = "".join(
        f'<th scope="col"{kind}>{_text(cell)}</th>' for cell, kind in zip(table.header, classes, strict=True)
    )
    rows, last = [], len(table.header) - 1
    for index, row in enumerate(table.rows):
        tone = table.tones[index] if index < len(table.tones) else "plain"
        notes = f'<span class="notes">{_spans(table.notes_of(index))}</span>' if table.notes_of(index) else ""
        cells = "".join(
            f'<td{kind} data-label="{escape(one_line(label))}">{_text(cell)}{"" if column < last else notes}</td>'
            for column, (label, cell, kind) in enumerate(zip(table.header, row, classes, strict=True))
        )
        rows.append(f'<tr class="{tone}">{cells}</tr>')
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table>"


def _spans(spans: list[Span], between: str = "") -> str:
    return between.join(_span(span) for span in spans if span.text)


def _span(span: Span) -> str:
    url = link_target(span.url)
    if url is None:
        return f"<span>{escape(inline(span.text))}</span>"
    return f'<a href="{escape(url)}" rel="noopener noreferrer">{escape(link_text(span.text))}</a>'


def _text(text: str) -> str:
    return escape(one_line(text))
