"""Whether a summary rests on the page: every number and date in it must stand in the page's text."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from monitor.evidence.calendar_dates import WrittenDate, with_carried_years
from monitor.evidence.figures import Figure, Findings, read_figures
from monitor.evidence.units import NO_UNIT, PERCENT, agree

_FALLING = (
    *("降", "减", "跌", "负", "回落", "下滑", "收窄", "亏"),
    *("fell", "fall", "declin", "decreas", "drop", "down", "lower", "reduc", "cut", "minus", "loss"),
)


_PIECE = re.compile(r"[^。\n]+。?")


@dataclass(frozen=True, slots=True)
class Grounding:
    """A number or date as a summary writes it, and the sentence of the page that bears it; None where none does."""

    written: str
    passage: str | None


def ungrounded_numbers(summary: str, text: str) -> list[str]:
    """The numbers and dates of a summary that its page does not have, as the summary writes them; [] when it is sound.

    Compared are values, not spellings: width, thousands separators, percent signs and words, 万 and 亿, million and
    billion, Chinese numerals and units of one kind are folded (contracts, section 4). A number counts only as a whole
    token with a unit that agrees: 30 does not rest on 2030 or 1.30, 5% not on 5万, 3元 not on 3美元. A date may say
    less than the page's, never more; the year may come from the last date before it. A minus needs a minus or a word
    of falling on the other side.
    """
    return ReadText(text).ungrounded(summary)


def grounded_numbers(summary: str, text: str) -> list[Grounding]:
    """Every number and date of a summary with the sentence of its page that bears it, by the rules above."""
    return ReadText(text).grounded(summary)


class ReadText:
    """A text read once for its numbers and dates, so that many sentences can be held against it."""

    def __init__(self, text: str) -> None:
        self._pieces = _PIECE.findall(text)
        findings = [read_figures(piece, is_page=True) for piece in self._pieces]
        self._dates = list(_dates(findings))
        self._by_value = _by_value(findings)
        self._has_percent = "%" in text or "％" in text
        self._is_falling = _tells_of_falling(text)

    def ungrounded(self, summary: str) -> list[str]:
        return list(dict.fromkeys(one.written for one in self.grounded(summary) if one.passage is None))

    def grounded(self, summary: str) -> list[Grounding]:
        claimed = _claimed(summary)
        is_falling = _tells_of_falling(summary)
        dates = ((date.written, self._bearer_of_date(date)) for date in claimed.dates)
        figures = ((figure.written, self._bearer_of(figure, is_falling=is_falling)) for figure in claimed.figures)
        return [
            Grounding(written, None if piece is None else self._pieces[piece].strip())
            for written, piece in (*dates, *figures)
        ]

    def _bearer_of_date(self, date: WrittenDate) -> int | None:
        return next((index for other, index in self._dates if date.rests_on(other)), None)

    def _bearer_of(self, figure: Figure, *, is_falling: bool) -> int | None:
        for value, kind in figure.readings:
            for other, other_kind, index in self._by_value.get(value, ()):
                is_same_kind = agree(kind, other_kind) or (
                    self._has_percent and _is_column_of_percents(kind, other, other_kind)
                )
                is_same_sign = figure.is_negative == other.is_negative or (
                    self._is_falling if figure.is_negative else is_falling
                )
                if is_same_kind and is_same_sign:
                    return index
        return None


@lru_cache(maxsize=256)
def _claimed(summary: str) -> Findings:
    # One sentence is held against many texts.
    return read_figures(summary, is_page=False)


def _dates(findings: Sequence[Findings]) -> Iterator[tuple[WrittenDate, int]]:
    """The dates of a page with the numbers of their sentences, years carried over from one to the next."""
    flat = [(date, index) for index, finding in enumerate(findings) for date in finding.dates]
    place = -1
    for date in with_carried_years([date for date, _ in flat]):
        place += place + 1 < len(flat) and date is flat[place + 1][0]
        yield date, flat[place][1]


def _by_value(findings: Sequence[Findings]) -> dict[Fraction, list[tuple[Figure, str, int]]]:
    index: dict[Fraction, list[tuple[Figure, str, int]]] = defaultdict(list)
    for number, finding in enumerate(findings):
        for figure in finding.figures:
            for value, kind in figure.readings:
                index[value].append((figure, kind, number))
    return index


def _is_column_of_percents(claimed: str, other: Figure, other_kind: str) -> bool:
    # Statistical tables print the sign once, in the head of the column; decimals make an accident unlikely.
    return claimed == PERCENT and other_kind == NO_UNIT and other.has_decimals


def _tells_of_falling(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _FALLING)
