"""Text laid out for a terminal: wrapped lines and tables, with Chinese characters two columns wide.

A url, an id or any other word without spaces is never broken: where it does not fit, it gets a line of its own, and a
url that is wider than the terminal stays whole.
"""

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

_GAP = 2
_INDENT = 4
_MIN_TEXT_WIDTH = 24
"""A column of text that would become narrower than this gets lines of its own below the row."""

_WIDE = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_CLOSING = "，。；：、！？）》〉」』】”’%"  # begin no line
_OPENING = "（《〈「『【“‘"  # end no line
_PIECE = re.compile(
    rf"(\s*)([{_OPENING}]*(?:[^\s{_WIDE}{_OPENING}]+(?:[{_CLOSING}]+)?|[{_WIDE}](?:[{_CLOSING}]+)?)|[{_OPENING}]+)"
)


def wrap_text(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    """Return the lines of a paragraph, `first` before the first of them and `rest` before the others."""
    lines, line, is_empty = [], first, True
    for match in _PIECE.finditer(text):
        space, piece = (" " if "\n" in match[1] else match[1]), match[2]
        if not is_empty and cell_len(line + space + piece) > width:
            lines.append(line)
            line, is_empty = rest, True
        line += piece if is_empty else space + piece
        is_empty = False
    return [*lines, line] if not is_empty or not lines else lines


def lay_out_table(rows: Sequence[Sequence[str]], width: int | None) -> Iterator[str]:
    """Yield the lines of a table, the first row its head, no wider than `width` (None: as wide as its cells).

    Columns that leave no room for the others stand below each row; the others are wrapped.
    """
    beside = list(range(len(rows[0])))
    natural = [max(cell_len(row[index]) for row in rows) for index in beside]
    least = [max(_measure_least(row[index]) for row in rows) for index in beside]
    below: list[int] = []
    if width is not None:
        while len(beside) > 1 and _measure_row(least, beside) > width:
            below.append(beside.pop(max(range(len(beside)), key=lambda place: least[beside[place]])))
        natural = _shrink(natural, least, beside, width)
    for number, row in enumerate(rows):
        yield from _lay_out_row(row, beside, natural)
        for index in sorted(below):
            if width is not None and number and row[index] not in ("", "-"):
                indent = " " * _INDENT
                yield from wrap_text(row[index], width, first=indent, rest=indent)


def _measure_row(widths: Sequence[int], columns: Sequence[int]) -> int:
    return sum(widths[index] for index in columns) + _GAP * (len(columns) - 1)


def _measure_least(text: str) -> int:
    """Return how narrow a column of this text may become."""
    longest = max((cell_len(match[2]) for match in _PIECE.finditer(text)), default=0)
    return max(longest, min(cell_len(text), _MIN_TEXT_WIDTH))


def _shrink(natural: Sequence[int], least: Sequence[int], columns: Sequence[int], width: int) -> list[int]:
    """Return the widths of the columns, the widest made narrower until the row fits."""
    widths = list(natural)
    while _measure_row(widths, columns) > width:
        slack = [index for index in columns if widths[index] > least[index]]
        if not slack:
            break
        widths[max(slack, key=lambda index: widths[index])] -= 1
    return widths


def _lay_out_row(row: Sequence[str], columns: Sequence[int], widths: Sequence[int]) -> Iterator[str]:
    cells = [wrap_text(row[index], widths[index]) for index in columns]
    for number in range(max(map(len, cells))):
        texts = [cell[number] if number < len(cell) else "" for cell in cells]
        padded = [text + " " * (widths[index] - cell_len(text)) for text, index in zip(texts, columns, strict=True)]
        yield (" " * _GAP).join(padded).rstrip()
