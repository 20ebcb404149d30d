"""A document as one self-contained HTML file: no script, and no address that is asked when it is opened."""

import base64
import hashlib
from html import escape
from importlib.resources import files

from monitor.exports.document import (
    ISO_DAY,
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
    find_numeric_columns,
    format_inline,
    format_link_text,
    is_short,
    normalize_line,
    sanitize_link_target,
)
from monitor.extras import needs_extra


def render_html(document: Document) -> bytes:
    """Return the document as HTML, whose content policy allows only its own style sheet, by its hash."""
    style = _load_style("document.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<style>{style}</style>\n"
    )
    return _render_page(document, head).encode()


def render_mail(document: Document) -> bytes:
    """Return the document as HTML for mail: every style stands at its element, for readers that drop style sheets."""
    with needs_extra("notify"):
        import css_inline

    inliner = css_inline.CSSInliner(
        inline_style_tags=False, keep_link_tags=True, load_remote_stylesheets=False, extra_css=_load_style("mail.css")
    )
    return inliner.inline(_render_page(document, "")).encode()


def _load_style(name: str) -> str:
    return files("monitor.exports").joinpath(name).read_text(encoding="utf-8")


def _render_page(document: Document, head: str) -> str:
    overline = f'<p class="overline">{_escape_text(document.overline)}</p>\n' if document.overline else ""
    subtitle = f'<p class="subtitle">{_escape_text(document.subtitle)}</p>\n' if document.subtitle else ""
    blocks = "\n".join(_render_block(block) for block in document.blocks)
    colophon = f"<footer>{_render_spans(document.colophon, ' · ')}</footer>\n" if document.colophon else ""
    return (
        f'<!doctype html>\n<html lang="{escape(document.language)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n{head}'
        f"<title>{_escape_text(document.title)}</title>\n</head>\n<body>\n<main>\n"
        f"<header>\n{overline}<h1>{_escape_text(document.title)}</h1>\n{subtitle}</header>\n{blocks}\n{colophon}</main>\n"
        "</body>\n</html>\n"
    )


def _render_block(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{_escape_text(block.text)}</h{block.level}>"
        case Paragraph():
            role = ' role="note"' if block.tone == "warning" else ""
            return f'<p class="{block.tone}"{role}>{_render_spans(block.spans)}</p>'
        case Facts():
            pairs = "".join(
                f"<div><dt>{_escape_text(label)}</dt><dd>{_escape_text(value)}</dd></div>"
                for label, value in block.facts
            )
            return f'<dl class="facts">{pairs}</dl>'
        case Entries():
            return '<ol class="entries">\n' + "\n".join(_render_entry(entry) for entry in block.entries) + "\n</ol>"
        case Listing():
            return _render_listing(block)
        case Table():
            return _render_table(block)
        case Figure():
            return f"<figure>{block.svg}<figcaption>{_escape_text(block.caption)}</figcaption></figure>"


_DOT_SEPARATOR = ' <span class="dot">·</span> '


def _render_listing(listing: Listing) -> str:
    if listing.is_running:
        points = "\n".join(f"<li>{_render_spans(point)}</li>" for point in listing.points)
        return f'<ul class="points">\n{points}\n</ul>'
    points = "\n".join(
        f"<li{_render_address_attribute(point)}>{_render_spans(point, _DOT_SEPARATOR)}</li>" for point in listing.points
    )
    return f'<ul class="listing">\n{points}\n</ul>'


def _render_entry(entry: Entry) -> str:
    badges = "".join(f' <span class="badge {badge.tone}">{_escape_text(badge.text)}</span>' for badge in entry.badges)
    particulars = "".join(
        f'<p class="particulars">{_render_spans(spans, _DOT_SEPARATOR)}</p>' for spans in entry.particulars if spans
    )
    gist = ""
    if entry.gist:
        mark = f'<span class="mark">{_escape_text(entry.gist_mark)}</span> ' if entry.gist_mark else ""
        gist = f'<p class="gist">{mark}{_keep_days_whole(_escape_text(entry.gist))}</p>'
    text = ""
    if entry.text:
        mark = f' <span class="mark">{_escape_text(entry.text_mark)}</span>' if entry.text_mark else ""
        text = f'<p class="text">{_escape_text(entry.text)}{mark}</p>'
    links = "".join(
        f'<p class="links">{_escape_text(row.label)} {_render_spans(row.links, _DOT_SEPARATOR)}</p>'
        for row in entry.links
    )
    number = f'<span class="number" aria-hidden="true">{entry.number}</span> '
    title = f"<h3>{_render_span(entry.title)}{badges}</h3>"
    content = f"{number}{title}{gist}{particulars}{text}{links}{_render_remark(entry)}"
    return f'<li value="{entry.number}"><article{_render_address_attribute([entry.title])}>{content}</article></li>'


def _render_remark(entry: Entry) -> str:
    if entry.remark is None:
        return ""
    paragraphs = "".join(f"<p>{_escape_text(paragraph)}</p>" for paragraph in entry.remark.paragraphs)
    return f'<aside class="remark"><span class="mark">{_escape_text(entry.remark.mark)}</span>{paragraphs}</aside>'


def _render_address_attribute(spans: list[Span]) -> str:
    """Return an attribute with the address of the first link, which the style sheet prints on paper."""
    url = next(filter(None, (sanitize_link_target(span.url) for span in spans)), None)
    return f' data-address="{escape(url)}"' if url else ""


def _render_table(table: Table) -> str:
    # Each cell carries its column's name, so that a narrow screen can stack the cells of a row.
    numeric = find_numeric_columns(table)
    classes = [' class="count"' if index in numeric else "" for index in range(len(table.header))]
    head = "".join(
        f'<th scope="col"{kind}>{_escape_text(cell)}</th>' for cell, kind in zip(table.header, classes, strict=True)
    )
    rows, last = [], len(table.header) - 1
    for index, row in enumerate(table.rows):
        tone = table.tones[index] if index < len(table.tones) else "plain"
        notes = f'<span class="notes">{_render_spans(table.notes_of(index))}</span>' if table.notes_of(index) else ""
        cells = "".join(
            f'<td{kind} data-label="{_escape_text(label)}">'
            f"{_keep_days_whole(_escape_text(cell))}{'' if column < last else notes}</td>"
            for column, (label, cell, kind) in enumerate(zip(table.header, row, classes, strict=True))
        )
        rows.append(f'<tr class="{tone}">{cells}</tr>')
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table>"


def _render_spans(spans: list[Span], between: str = "") -> str:
    return between.join(_render_span(span) for span in spans if span.text)


def _render_span(span: Span) -> str:
    url = sanitize_link_target(span.url)
    if url is None:
        kind = ' class="short"' if is_short(span.text) else ""
        return f"<span{kind}>{escape(format_inline(span.text))}</span>"
    return f'<a href="{escape(url)}" rel="noopener noreferrer">{escape(format_link_text(span.text))}</a>'


def _keep_days_whole(escaped: str) -> str:
    """Return escaped text in which no line ends within a date such as 2026-03-01."""
    return ISO_DAY.sub(r'<span class="short">\g<0></span>', escaped)


def _escape_text(text: str) -> str:
    return escape(normalize_line(text))
