"""A document that is not yet in any format: what the renderers draw, and nothing about where it came from.

Every text in it is untrusted and plain: a renderer escapes it for its format. Only http(s) addresses become links. The
one exception is a figure's picture, which is markup of our own making.
"""

import datetime as dt
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import BaseModel, Field

Tone = Literal["plain", "accent", "warning"]
_INVISIBLE_CHARS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]+"
)
_MAX_LINK_TEXT_CHARS = 300
_MAX_UNBROKEN_WIDTH = 24
ISO_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b", re.ASCII)
_SAFE_URL_CHARS = "%:/?#[]@!$&()*+,;=~"


class Span(BaseModel):
    """A piece of text, linked where it has a url; `entry` is the number of the entry that it points at."""

    text: str
    url: str | None = None
    entry: int | None = None


class Badge(BaseModel):
    text: str
    tone: Tone = "plain"


class Heading(BaseModel):
    """The title of a part; the document's own title is level 1 and no block."""

    kind: Literal["heading"] = "heading"
    text: str
    level: Literal[2, 3] = 2


class Paragraph(BaseModel):
    kind: Literal["paragraph"] = "paragraph"
    spans: list[Span]
    tone: Tone = "plain"


class Facts(BaseModel):
    kind: Literal["facts"] = "facts"
    facts: list[tuple[str, str]]


class LinkRow(BaseModel):
    label: str
    links: list[Span]


class Remark(BaseModel):
    mark: str
    paragraphs: list[str]


class Entry(BaseModel):
    """A numbered piece: its title, in a line what it comes to (`gist`), and what there is to read of it."""

    number: int
    title: Span
    gist: str = ""
    gist_mark: str = ""
    particulars: list[list[Span]] = Field(default_factory=list)
    badges: list[Badge] = Field(default_factory=list)
    text: str = ""
    text_mark: str = ""
    links: list[LinkRow] = Field(default_factory=list)
    remark: Remark | None = None


class Entries(BaseModel):
    kind: Literal["entries"] = "entries"
    entries: list[Entry]


class Listing(BaseModel):
    """A plain list; each point is a row of spans, parted by dots, or where it `is_running` text, by nothing."""

    kind: Literal["listing"] = "listing"
    points: list[list[Span]]
    is_running: bool = False


class Table(BaseModel):
    """A small table: a header and rows of as many cells; `tones` marks rows that need an eye.

    `notes` stand behind the last cell of each row, as the citations that it has.
    """

    kind: Literal["table"] = "table"
    header: list[str]
    rows: list[list[str]]
    tones: list[Tone] = Field(default_factory=list)
    notes: list[list[Span]] = Field(default_factory=list)

    def notes_of(self, row: int) -> list[Span]:
        return self.notes[row] if row < len(self.notes) else []


class Figure(BaseModel):
    """A picture with its caption; `svg` is our own markup, `table` says the same where no picture can be shown."""

    kind: Literal["figure"] = "figure"
    svg: str
    caption: str
    table: Table


Block = Annotated[Heading | Paragraph | Facts | Entries | Listing | Table | Figure, Field(discriminator="kind")]


class Document(BaseModel):
    """A whole document; `overline` stands above its title, `subtitle` below, `colophon` at its foot.

    `contents` is the title of a table of contents, which formats with pages have behind the first `contents_after`
    parts; `written_at` is kept in the file.
    """

    title: str
    language: str = "zh-CN"
    overline: str = ""
    subtitle: str = ""
    blocks: list[Block] = Field(default_factory=list)
    colophon: list[Span] = Field(default_factory=list)
    contents: str = ""
    contents_after: int = 0
    written_at: dt.datetime | None = None


def find_numeric_columns(table: Table) -> set[int]:
    """Return the columns, counted from 0, whose cells are all numbers or empty, so that they are aligned right."""
    return {
        index
        for index in range(len(table.header))
        if any(row[index] for row in table.rows)
        and all(re.fullmatch(r"[-+]?[\d,]*\.?\d*%?", row[index]) for row in table.rows)
    }


def is_short(text: str) -> bool:
    """Whether a text stays on one line wherever it stands, as a date or the name of an office."""
    return len(text) <= _MAX_UNBROKEN_WIDTH and measure_text_width(text) <= _MAX_UNBROKEN_WIDTH


def measure_text_width(text: str) -> int:
    """Return the width of a text in Latin letters; a Chinese one is two wide."""
    return len(text) if text.isascii() else sum(map(_CHARACTER_WIDTHS.__getitem__, text))


class _CharacterWidths(dict[str, int]):
    """The width of each character that was met."""

    def __missing__(self, character: str) -> int:
        self[character] = width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        return width


_CHARACTER_WIDTHS = _CharacterWidths()


def format_inline(text: str) -> str:
    """Return the text on one line, with the spaces at its ends that separate it from its neighbours."""
    line = normalize_line(text)
    return f"{' ' * text.startswith(' ')}{line}{' ' * text.endswith(' ')}" if line else ""


def format_link_text(text: str) -> str:
    """Return the text of a link, cut where it is longer than any title."""
    line = format_inline(text)
    return line if len(line) <= _MAX_LINK_TEXT_CHARS else f"{line[: _MAX_LINK_TEXT_CHARS - 1]}…"


def normalize_line(text: str) -> str:
    """Return the text on one line, with spaces for line breaks, direction marks and what XML and UTF-8 cannot hold.

    The last are control characters, halves of surrogate pairs and non-characters.
    """
    if text.isprintable() and "  " not in text:  # most texts; the patterns would take most of the time of a long list
        return text.strip()
    return re.sub(r"\s+", " ", _INVISIBLE_CHARS.sub(" ", text)).strip()


def sanitize_link_target(url: str | None) -> str | None:
    """Return the url if it may be a link: absolute, http or https, without spaces; else None.

    Characters that a url may not hold are percent-encoded: Word refuses a whole file for one invalid address.
    """
    if not url or not re.fullmatch(r"https?://[^\s<>\"'`\\]+", url, re.IGNORECASE):
        return None
    return quote(re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", _INVISIBLE_CHARS.sub("", url)), safe=_SAFE_URL_CHARS)


Cell = str | int | dt.date | dt.datetime | Span | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name for programs, its title for people, and how many Latin letters wide it is shown."""

    name: str
    title: str
    width: int = 12


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows with a cell for each column. Instants are written as the clock that they carry shows them.

    `printed` columns, from the first on, are put on paper: all of them would be too small to read.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    printed: int | None = None


@dataclass(frozen=True, slots=True)
class Workbook:
    """Sheets, the most important first: a format that holds one only holds that."""

    title: str
    sheets: Sequence[Sheet]
    written_at: dt.datetime | None = None
