"""A document as CommonMark with GitHub's tables."""

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
    format_link_text,
    normalize_line,
    sanitize_link_target,
)

_SPECIAL_CHARS = re.compile(r"([\\`*_{}\[\]<>#|~&!@^$])")
_BLOCK_START = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))")


def render_markdown(document: Document) -> bytes:
    """Return the document as Markdown, in which no text can become markup."""
    parts: list[str] = []
    if document.overline:
        parts.append(escape_markdown(document.overline))
    parts.append(f"# {escape_markdown(document.title)}")
    if document.subtitle:
        parts.append(escape_markdown(document.subtitle))
    parts.extend(_render_block(block) for block in document.blocks)
    if document.colophon:
        parts.extend(["---", _render_spans(document.colophon, " · ")])
    return ("\n\n".join(part for part in parts if part) + "\n").encode()


def escape_markdown(text: str) -> str:
    """Return the text on one line, with all markup and addresses in it escaped."""
    safe = _SPECIAL_CHARS.sub(r"\\\1", normalize_line(text))
    safe = re.sub(r"(https?|ftp|mailto):", r"\1\\:", safe, flags=re.IGNORECASE)
    safe = re.sub(r"\bwww\.", r"www\\.", safe, flags=re.IGNORECASE)
    return _BLOCK_START.sub(lambda match: f"{match[1]}\\{match[2]}" if not match[2].isdigit() else match[0], safe)


def _render_block(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {escape_markdown(block.text)}"
        case Paragraph():
            text = _render_spans(block.spans).strip()
            return f"> {text}" if block.tone == "warning" else _escape_list_start(text)
        case Facts():
            return " · ".join(f"{escape_markdown(label)} **{escape_markdown(value)}**" for label, value in block.facts)
        case Entries():
            return "\n\n".join(_render_entry(entry) for entry in block.entries)
        case Listing():
            between = "" if block.is_running else " · "
            return "\n".join(f"- {_escape_list_start(_render_spans(point, between))}" for point in block.points)
        case Table():
            return _render_table(block)
        case Figure():
            return f"{_render_table(block.table)}\n\n*{escape_markdown(block.caption)}*"


def _render_entry(entry: Entry) -> str:
    mark = f"{entry.number}. "
    indent = " " * len(mark)
    badges = "".join(f" 〔{escape_markdown(badge.text)}〕" for badge in entry.badges)
    lines = [f"{mark}**{_render_span(entry.title)}**{badges}"]
    if entry.gist:
        mark_of_gist = f"〔{escape_markdown(entry.gist_mark)}〕 " if entry.gist_mark else ""
        lines.append(f"{mark_of_gist}*{escape_markdown(entry.gist)}*")
    lines.extend(_render_spans(particulars, " · ") for particulars in entry.particulars)
    text = "  \n".join([lines[0], *(indent + line for line in lines[1:] if line)])
    if entry.text:
        note = f" *（{escape_markdown(entry.text_mark)}）*" if entry.text_mark else ""
        text += f"\n\n{indent}{_escape_list_start(escape_markdown(entry.text))}{note}"
    for row in entry.links:
        text += f"\n\n{indent}{escape_markdown(row.label)} {_render_spans(row.links, ' · ')}"
    if entry.remark is not None:
        mark, *lines = [f"**{escape_markdown(entry.remark.mark)}**", *map(escape_markdown, entry.remark.paragraphs)]
        quoted = f"\n{indent}>\n{indent}> ".join([f"{mark} {lines[0]}", *map(_escape_list_start, lines[1:])])
        text += f"\n\n{indent}> {quoted}"
    return text


def _render_table(table: Table) -> str:
    rows = [[escape_markdown(cell) or " " for cell in row] for row in (table.header, *table.rows)]
    for index, row in enumerate(rows[1:]):
        row[-1] += _render_spans(table.notes_of(index))
    rows.insert(1, ["---"] * len(table.header))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _render_spans(spans: list[Span], between: str = "") -> str:
    return between.join(_render_span(span) for span in spans if span.text)


def _render_span(span: Span) -> str:
    url = sanitize_link_target(span.url)
    if url:
        return f"[{escape_markdown(format_link_text(span.text))}](<{url}>)"
    text = escape_markdown(span.text)
    return format_inline(span.text).replace(normalize_line(span.text), text) if text else ""


def _escape_list_start(text: str) -> str:
    # A paragraph that begins with `1.` would become a list.
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", text)
