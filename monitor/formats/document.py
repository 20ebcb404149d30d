"""A document that is not yet in any format: what the renderers draw, and nothing about where it came from.

Every text in it is untrusted and plain: a renderer escapes it for its format. Only http(s) addresses become links.
"""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, Field

Tone = Literal["plain", "accent", "warning"]
_INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+")


class Span(BaseModel):
    """A piece of text, linked where it has a url."""

    text: str
    url: str | None = None


class Badge(BaseModel):
    """A word that sets an entry apart, such as 迟到."""

    text: str
    tone: Tone = "plain"


class Heading(BaseModel):
    """The title of a part; the document's own title is level 1 and no block."""

    kind: Literal["heading"] = "heading"
    text: str
    level: Literal[2, 3] = 2


class Paragraph(BaseModel):
    """Running text; `tone` says whether it warns."""

    kind: Literal["paragraph"] = "paragraph"
    spans: list[Span]
    tone: Tone = "plain"


class Facts(BaseModel):
    """A few figures that sum the document up, each with its label."""

    kind: Literal["facts"] = "facts"
    facts: list[tuple[str, str]]


class Entry(BaseModel):
    """One numbered entry: its title, lines of particulars, a text with its mark, and links to documents."""

    number: int
    title: Span
    particulars: list[list[Span]] = Field(default_factory=list)
    badges: list[Badge] = Field(default_factory=list)
    text: str = ""
    text_mark: str = ""
    links_label: str = ""
    links: list[Span] = Field(default_factory=list)


class Entries(BaseModel):
    """The entries, in order."""

    kind: Literal["entries"] = "entries"
    entries: list[Entry]


class Listing(BaseModel):
    """A plain list; each point is a row of spans."""

    kind: Literal["listing"] = "listing"
    points: list[list[Span]]


class Table(BaseModel):
    """A small table: a header and rows of as many cells; `tones` marks rows that need an eye."""

    kind: Literal["table"] = "table"
    header: list[str]
    rows: list[list[str]]
    tones: list[Tone] = Field(default_factory=list)


Block = Annotated[Heading | Paragraph | Facts | Entries | Listing | Table, Field(discriminator="kind")]


class Document(BaseModel):
    """A whole document; `overline` stands above its title, `subtitle` below, `colophon` at its foot."""

    title: str
    language: str = "zh-CN"
    overline: str = ""
    subtitle: str = ""
    blocks: list[Block] = Field(default_factory=list)
    colophon: list[Span] = Field(default_factory=list)


def one_line(text: str) -> str:
    """The text on one line: control characters, line breaks and what turns the direction of writing become spaces."""
    return re.sub(r"\s+", " ", _INVISIBLE.sub(" ", text)).strip()


def link_target(url: str | None) -> str | None:
    """The url where it may be a link: absolute, http or https, without spaces; else None."""
    if url and re.fullmatch(r"https?://[^\s<>\"'`\\]+", url, re.IGNORECASE):
        return _INVISIBLE.sub("", url)
    return None
