"""Blind pairs: two summaries of one item side by side, whose models nobody sees before the choice."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from pydantic import BaseModel

from monitor.evaluation.pieces import PieceRow, SummaryWritten

Side = Literal["left", "right", "neither"]


class BlindPair(BaseModel):
    """What a person is shown; `pair` says nothing about the models."""

    pair: str
    item_id: int
    title: str
    url: str
    left: str
    right: str


@dataclass(frozen=True)
class SummaryPair:
    """Two summaries that were kept, of the contenders `first` and `second`; `pair` is its name."""

    pair: str
    first: int
    second: int
    summaries: tuple[SummaryWritten, SummaryWritten]

    def show(self, seed: str, person: str) -> BlindPair:
        left, right = self.summaries if not self._is_swapped(seed, person) else self.summaries[::-1]
        item = self.summaries[0]
        return BlindPair(
            pair=self.pair, item_id=item.item_id, title=item.title, url=item.url, left=left.summary, right=right.summary
        )

    def get_contender(self, side: Side, seed: str, person: str) -> int | None:
        """Return the contender whose summary this person was shown on a side; None for neither."""
        if side == "neither":
            return None
        return self.first if (side == "left") != self._is_swapped(seed, person) else self.second

    def _is_swapped(self, seed: str, person: str) -> bool:
        return _hash(seed, self.pair, person)[0] % 2 == 1


def list_pairs(rows: Sequence[PieceRow], seed: str) -> list[SummaryPair]:
    """Return all pairs of summaries that differ, in an order that the seed draws."""
    by_item: dict[tuple[str, int], dict[int, SummaryWritten]] = {}
    for row in rows:
        if isinstance(row.measured, SummaryWritten) and row.measured.is_kept:
            by_item.setdefault((row.run_id, row.measured.item_id), {})[row.contender] = row.measured
    pairs = [
        SummaryPair(
            _hash(seed, *map(str, (*item, first, second))).hex()[:16], first, second, (written[first], written[second])
        )
        for item, written in by_item.items()
        for first, second in combinations(sorted(written), 2)
        if written[first].summary != written[second].summary
    ]
    return sorted(pairs, key=lambda pair: pair.pair)


def find_next(pairs: Sequence[SummaryPair], chosen: Collection[str]) -> SummaryPair | None:
    return next((pair for pair in pairs if pair.pair not in chosen), None)


def _hash(*values: str) -> bytes:
    return hashlib.sha256("\x1f".join(values).encode()).digest()
