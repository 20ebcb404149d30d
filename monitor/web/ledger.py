"""The coverage of a run as a picture: one square for each candidate of its list pages, and the rows beneath."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from monitor.domain.tables import RunSection
from monitor.domain.words import Disposition
from monitor.store.history import LedgerRow

ROWS_SHOWN = 25
MARKS = {
    Disposition.SAVED: "✓",
    Disposition.KNOWN: "=",
    Disposition.OUT_OF_RANGE: "–",
    Disposition.FILTERED: "×",
    Disposition.OVER_LIMIT: "+",
    Disposition.REFUSED: "!",
    Disposition.LEFT: "○",
}
"""The sign in a square: what colour tells some, it tells all."""


class LedgerWish(NamedTuple):
    """What of a ledger somebody looks for; `at` is the number of the candidate whose row is wanted."""

    disposition: Disposition | None = None
    section: int | None = None
    text: str = ""
    at: int | None = None

    @property
    def is_narrowed(self) -> bool:
        """Whether some candidates are not meant."""
        return self.disposition is not None or self.section is not None or bool(self.text)

    def takes(self, row: LedgerRow) -> bool:
        if self.disposition not in (None, row.disposition) or self.section not in (None, row.section):
            return False
        text = self.text.casefold()
        return text in row.title.casefold() or text in row.url.casefold()


class SectionCells(NamedTuple):
    """The candidates of one section in the order of its pages, each with whether it is meant."""

    section: RunSection
    cells: list[tuple[LedgerRow, bool]]


class LedgerView(NamedTuple):
    """A ledger as it is drawn; `rows` are those around the wanted one, `before` and `after` the way to the others."""

    wish: LedgerWish
    groups: list[SectionCells]
    counts: dict[Disposition, int]
    total: int
    meant: int
    rows: list[LedgerRow]
    first: int
    before: int | None
    after: int | None


def ledger_view(rows: Sequence[LedgerRow], sections: Sequence[RunSection], wish: LedgerWish) -> LedgerView:
    """Every candidate in its place, and a page of rows of those that are meant: the one with the wanted candidate."""
    meant = [row for row in rows if wish.takes(row)]
    numbers = {row.id for row in meant}
    place = next((place for place, row in enumerate(meant) if row.id == wish.at), 0)
    first = place - place % ROWS_SHOWN
    counts = Counter(row.disposition for row in rows)
    cells: dict[int, list[tuple[LedgerRow, bool]]] = {section.ordinal: [] for section in sections}
    for row in rows:
        cells.setdefault(row.section, []).append((row, row.id in numbers))
    return LedgerView(
        wish=wish,
        groups=[SectionCells(section, cells[section.ordinal]) for section in sections],
        counts={one: counts[one] for one in Disposition if counts[one]},
        total=len(rows),
        meant=len(meant),
        rows=meant[first : first + ROWS_SHOWN],
        first=first,
        before=meant[first - ROWS_SHOWN].id if first else None,
        after=meant[first + ROWS_SHOWN].id if len(meant) > first + ROWS_SHOWN else None,
    )
