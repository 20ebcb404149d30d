"""A document as plain text, for mail programs and terminals: no marks, and addresses beside what they belong to."""

import re

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
    format_inline,
    measure_text_width,
    normalize_line,
    sanitize_link_target,
)

_ADDRESS_START = re.compile(r"\b((?:https?|ftp|mailto):|www)(?=[/.\w])", re.IGNORECASE)


def render_plain_text(document: Document) -> str:
    parts = [_clean(document.overline), _underline(_clean(document.title), "="), _clean(document.subtitle)]
    parts += map(_render_block, document.blocks)
    if document.colophon:
        parts += ["--", _render_spans(document.colophon, " · ")]
    return "\n\n".join(filter(None, parts)) + "\n"


def _clean(text: str) -> str:
    """Return the text on one line; an address in it is broken, so that no program makes a link of it."""
    return _ADDRESS_START.sub(r"\1 ", normalize_line(text))


def _underline(text: str, mark: str) -> str:
    return f"{text}\n{mark * min(measure_text_width(text), 72)}"


def _render_block(block: Block) -> str:
    match block:
        case Heading(level=2):
            return _underline(_clean(block.text), "-")
        case Heading():
            return _clean(block.text)
        case Paragraph():
            text = _render_spans(block.spans).strip()
            return f"! {text}" if block.tone == "warning" else text
        case Facts():
            return " · ".join(f"{_clean(label)} {_clean(value)}" for label, value in block.facts)
        case Entries():
            return "\n\n".join(_render_entry(entry) for entry in block.entries)
        case Listing():
            between = "" if block.is_running else " · "
            return "\n".join(f"- {_render_spans(point, between)}" for point in block.points)
        case Table():
            return _render_table(block)
        case Figure():
            return f"{_render_table(block.table)}\n\n{_clean(block.caption)}"


def _render_entry(entry: Entry) -> str:
    mark = f"{entry.number}. "
    badges = "".join(f" [{_clean(badge.text)}]" for badge in entry.badges)
    lines = [url] if (url := sanitize_link_target(entry.title.url)) else []
    if entry.gist:
        lines.append(
            " ".join(filter(None, [f"[{_clean(entry.gist_mark)}]" * bool(entry.gist_mark), _clean(entry.gist)]))
        )
    lines += filter(None, (_render_spans(particulars, " · ") for particulars in entry.particulars))
    if entry.text:
        lines += ["", _clean(entry.text) + (f" ({_clean(entry.text_mark)})" if entry.text_mark else "")]
    lines += [f"{_clean(row.label)} {_render_spans(row.links, ' · ')}" for row in entry.links]
    if entry.remark is not None:
        lines += ["", f"{_clean(entry.remark.mark)} {' '.join(map(_clean, entry.remark.paragraphs))}"]
    body = "\n".join(lines).strip("\n").splitlines()
    indent = " " * len(mark)
    return "\n".join([f"{mark}{_clean(entry.title.text)}{badges}", *(f"{indent}{line}".rstrip() for line in body)])


def _render_table(table: Table) -> str:
    rows = [[_clean(cell) for cell in row] for row in (table.header, *table.rows)]
    for index, row in enumerate(rows[1:]):
        row[-1] += _render_spans(table.notes_of(index))
    return "\n".join(" | ".join(row) for row in rows)


def _render_spans(spans: list[Span], between: str = "") -> str:
    return between.join(_render_span(span) for span in spans if span.text)


def _render_span(span: Span) -> str:
    """Return the text and its address; what points at an entry has its address there."""
    url = sanitize_link_target(span.url)
    text = _ADDRESS_START.sub(r"\1 ", format_inline(span.text))
    if url is None or span.entry is not None:
        return text
    return f"<{url}>" if normalize_line(span.text) == span.url else f"{text.rstrip()} <{url}>{' ' * text.endswith(' ')}"
