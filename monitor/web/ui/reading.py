"""The lists and tables of a document as HTML: a briefing has thousands of cells, and a macro for each takes long."""

from collections.abc import Collection, Iterable, Iterator
from html import escape

from markupsafe import Markup

from monitor.exports.document import ISO_DAY, Span, Table, is_short


def keep_days_whole(text: str) -> str:
    """Mark up the dates of a text, so that no line ends within one."""
    if ISO_DAY.search(text) is None:
        return text
    shown, end = Markup(""), 0
    for day in ISO_DAY.finditer(text):
        shown += text[end : day.start()] + Markup('<span class="short">{}</span>').format(day[0])
        end = day.end()
    return shown + text[end:]


def render_row(spans: Iterable[Span]) -> Markup:
    """Return pieces of text behind one another; those that fit are kept on one line."""
    return Markup(" · ".join(_render_span(piece) for piece in spans if piece.text))  # noqa: S704  each is escaped


def _render_span(piece: Span) -> str:
    text = escape(piece.text)
    if piece.entry:
        return f'<a class="footnote" href="#entry-{piece.entry}">{text}</a>'
    if piece.url:
        is_link = piece.url.startswith(("http://", "https://"))
        link = f'<a class="outside" href="{escape(piece.url)}" rel="noopener noreferrer nofollow" target="_blank">'
        return f"{link}{text}</a>" if is_link else text
    if is_short(piece.text):
        return f'<span class="short">{text}</span>'
    marked_up = keep_days_whole(piece.text)
    return marked_up if isinstance(marked_up, Markup) else text


def render_table_rows(table: Table, numeric: Collection[int]) -> Markup:
    """Return the rows of a table; a tone marks the second cell, notes stand in the last one."""
    rows = (f"<tr>\n{''.join(_list_cells(table, place, numeric))}</tr>\n" for place in range(len(table.rows)))
    return Markup("".join(rows))  # noqa: S704  each cell is escaped


def _list_cells(table: Table, place: int, numeric: Collection[int]) -> Iterator[str]:
    cells = table.rows[place]
    is_warning = place < len(table.tones) and table.tones[place] == "warning"
    for column, cell in enumerate(cells):
        text = escape(cell)
        if column == 0:
            yield f'<th scope="row"{_SHORT if is_short(cell) else ""}>{text}</th>\n'
            continue
        if column == 1 and is_warning:
            text = f'<span class="badge warn">{text}</span>'
        notes = "".join(f" {_render_span(note)}" for note in table.notes_of(place)) if column == len(cells) - 1 else ""
        kind = ' class="number"' if column in numeric else _SHORT if len(cell) < _MAX_SHORT_CHARS else ""
        yield f'<td data-label="{escape(table.header[column])}"{kind}>{text}{notes}</td>\n'


_SHORT = ' class="short"'
_MAX_SHORT_CHARS = 14
