"""A document as CommonMark with GitHub's tables."""

import re

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
    one_line,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&!@^$])")
_STARTS_A_BLOCK = re.compile(r"^(\s*)([-+=]|\d+(?=[.)]))")


def markdown(document: Document) -> str:
    """The document as Markdown. No text in it can become markup: a title stays a title, on one line, without links."""
    parts: list[str] = []
    if document.overline:
        parts.append(escaped(document.overline))
    parts.append(f"# {escaped(document.title)}")
    if document.subtitle:
        parts.append(escaped(document.subtitle))
    parts.extend(_block(block) for block in document.blocks)
    if document.colophon:
        parts.extend(["---", _spans(document.colophon, " · ")])
    return "\n\n".join(part for part in parts if part) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown reads as text: on one line, with every mark and every address in it disarmed."""
    safe = _SPECIAL.sub(r"\\\1", one_line(text))
    safe = re.sub(r"(https?|ftp|mailto):", r"\1\\:", safe, flags=re.IGNORECASE)
    safe = re.sub(r"\bwww\.", r"www\\.", safe, flags=re.IGNORECASE)
    return _STARTS_A_BLOCK.sub(lambda match: f"{match[1]}\\{match[2]}" if not match[2].isdigit() else match[0], safe)


def _block(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {escaped(block.text)}"
        case Paragraph():
            text = _spans(block.spans).strip()
            return f"> {text}" if block.tone == "warning" else _guarded(text)
        case Facts():
            return " · ".join(f"{escaped(label)} **{escaped(value)}**" for label, value in block.facts)
        case Entries():
            return "\n\n".join(_entry(entry) for entry in block.entries)
        case Listing():
            between = "" if block.is_running else " · "
            return "\n".join(f"- {_guarded(_spans(point, between))}" for point in block.points)
        case Table():
            return _table(block)
        case Figure():
            return f"{_table(block.table)}\n\n*{escaped(block.caption)}*"


def _entry(entry: Entry) -> str:
    mark = f"{entry.number}. "
    indent = " " * len(mark)
    badges = "".join(f" 〔{escaped(badge.text)}〕" for badge in entry.badges)
    lines = [f"{mark}**{_span(entry.title)}**{badges}"]
    lines.extend(_spans(particulars, " · ") for particulars in entry.particulars)
    text = "  \n".join([lines[0], *(indent + line for line in lines[1:] if line)])
    if entry.text:
        note = f" *（{escaped(entry.text_mark)}）*" if entry.text_mark else ""
        text += f"\n\n{indent}{_guarded(escaped(entry.text))}{note}"
    for row in entry.links:
        text += f"\n\n{indent}{escaped(row.label)} {_spans(row.links, ' · ')}"
    if entry.remark is not None:
        mark, *lines = [f"**{escaped(entry.remark.mark)}**", *map(escaped, entry.remark.paragraphs)]
        quoted = f"\n{indent}>\n{indent}> ".join([f"{mark} {lines[0]}", *map(_guarded, lines[1:])])
        text += f"\n\n{indent}> {quoted}"
    return text


def _table(table: Table) -> str:
    rows = [[escaped(cell) or " " for cell in row] for row in (table.header, *table.rows)]
    for index, row in enumerate(rows[1:]):
        row[-1] += _spans(table.notes_of(index))
    rows.insert(1, ["---"] * len(table.header))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _spans(spans: list[Span], between: str = "") -> str:
    return between.join(_span(span) for span in spans if span.text)


def _span(span: Span) -> str:
    url = link_target(span.url)
    if url:
        return f"[{escaped(link_text(span.text))}](<{url}>)"
    text = escaped(span.text)
    return inline(span.text).replace(one_line(span.text), text) if text else ""


def _guarded(text: str) -> str:
    # A paragraph that begins with `1.` would become a list.
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", text)
