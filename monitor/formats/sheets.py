"""Rows that are not yet in any format: what the renderers of tables write, and nothing about where they came from.

A text is untrusted and plain; only http(s) addresses of spans become links.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from monitor.formats.document import Span

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
