"""A report's Markdown as blocks that a template draws: headings, paragraphs, lists, tables, quotes, and [n].

It knows what our reports are written with, and nothing else: all other marks, and all HTML, stay the text that they
are. `static/research_markdown.js` reads a report that is still being written in the same way.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*$")
_ITEM = re.compile(r"\s*(?:[-*+]|(\d{1,4})[.)])\s+(.*)$")
_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*$")
_SPAN = re.compile(
    r"\[(?P<cite>\d{1,4})\](?!\()|\[(?P<text>[^\[\]]+)\]\((?P<url>https?://[^\s()]+)\)|\*\*(?P<strong>[^*]+)\*\*"
)
_BARE_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Piece:
    """A piece of a text: plain, strong, linked, or the citation of a source, counted from 1."""

    text: str
    url: str = ""
    cite: int = 0
    is_strong: bool = False


@dataclass
class Block:
    """A part of a report. `kind` is heading, paragraph, quote, list, numbered or table; a table's first row heads it.

    `rows` holds a list's points or a table's rows, each of cells; `first` is the number that a list begins with.
    """

    kind: str
    pieces: list[Piece] = field(default_factory=list)
    rows: list[list[list[Piece]]] = field(default_factory=list)
    level: int = 0
    first: int = 1

    @property
    def text(self) -> str:
        """Its words alone."""
        return "".join(one.text for one in self.pieces)


def blocks_of(markdown: str) -> list[Block]:
    """The report in blocks, in its order."""
    return [_block(kind, lines) for kind, lines in _grouped(markdown.splitlines())]


def pieces_of(text: str) -> list[Piece]:
    """A line in pieces."""
    pieces, done = [], 0
    for match in _SPAN.finditer(text):
        if match.start() > done:
            pieces.append(Piece(text[done : match.start()]))
        if match["cite"]:
            pieces.append(Piece(match[0], cite=int(match["cite"])))
        elif match["url"]:
            pieces.append(Piece(match["text"], url=match["url"]))
        else:
            pieces.append(Piece(match["strong"], is_strong=True))
        done = match.end()
    return [*pieces, *([Piece(text[done:])] if done < len(text) else [])]


def _grouped(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Lines that belong together, with what they are: a heading is alone, a blank line ends everything."""
    kind, gathered = "", []
    for line in lines:
        found = _kind(line, kind)
        if gathered and (found != kind or found == "heading"):
            yield kind, gathered
            gathered = []
        kind = found
        if found:
            gathered.append(line)
    if gathered:
        yield kind, gathered


def _kind(line: str, before: str) -> str:
    if not line.strip():
        return ""
    if _HEADING.match(line):
        return "heading"
    if line.lstrip().startswith("|"):
        return "table"
    if item := _ITEM.match(line):
        return before if before in ("list", "numbered") else "numbered" if item[1] else "list"
    if line.startswith(">"):
        return "quote"
    return before if before in ("list", "numbered", "quote") else "paragraph"


def _block(kind: str, lines: list[str]) -> Block:
    match kind:
        case "heading":
            found = _HEADING.match(lines[0])
            return Block(kind, pieces_of(found[2] if found else lines[0]), level=len(found[1]) if found else 2)
        case "table":
            rows = [line for place, line in enumerate(lines) if place != 1 or not _RULE.match(line)]
            return Block(kind, rows=[[pieces_of(cell) for cell in _cells(row)] for row in rows])
        case "list" | "numbered":
            first = _ITEM.match(lines[0])
            number = int(first[1]) if first and first[1] else 1
            return Block(kind, rows=[[pieces_of(point)] for point in _points(lines)], first=number)
        case "quote":
            return Block(kind, pieces_of(" ".join(line.lstrip("> ") for line in lines)))
    return Block(kind, pieces_of("\n".join(line.strip() for line in lines)))


def _points(lines: list[str]) -> list[str]:
    """The points of a list; a line that begins none goes on with the one before."""
    points: list[str] = []
    for line in lines:
        if match := _ITEM.match(line):
            points.append(match[2])
        elif points:
            points[-1] += f" {line.strip()}"
    return points


def _cells(row: str) -> list[str]:
    """The cells of a table's row."""
    inner = row.strip().removeprefix("|")
    parts = _BARE_CELL.split(inner)
    if parts and not parts[-1].strip():
        parts.pop()
    return [part.replace("\\|", "|").strip() for part in parts]
