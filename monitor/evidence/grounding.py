"""Whether a summary rests on the page: every number and date in it must stand in the page's text."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

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
    return list(dict.fromkeys(one.written for one in grounded_numbers(summary, text) if one.passage is None))


def grounded_numbers(summary: str, text: str) -> list[Grounding]:
    """Every number and date of a summary with the sentence of its page that bears it, by the rules above."""
    pieces = _PIECE.findall(text)
    findings = [read_figures(piece, is_page=True) for piece in pieces]
    claimed = read_figures(summary, is_page=False)
    dates = list(_dates(findings))
    found = [_grounded(date.written, next((i for other, i in dates if date.rests_on(other)), None), pieces)
             for date in claimed.dates]  # fmt: skip
    by_value = _by_value(findings)
    page_has_percent = "%" in text or "％" in text
    is_falling_there, is_falling_here = _tells_of_falling(text), _tells_of_falling(summary)
    for figure in claimed.figures:
        bearer = next(
            (
                index
                for value, kind in figure.readings
                for other, other_kind, index in by_value.get(value, ())
                if (agree(kind, other_kind) or (page_has_percent and _is_column_of_percents(kind, other, other_kind)))
                and (
                    figure.is_negative == other.is_negative
                    or (is_falling_there if figure.is_negative else is_falling_here)
                )
            ),
            None,
        )
        found.append(_grounded(figure.written, bearer, pieces))
    return found


def _grounded(written: str, piece: int | None, pieces: Sequence[str]) -> Grounding:
    return Grounding(written, None if piece is None else pieces[piece].strip())


def _dates(findings: Sequence[Findings]) -> Iterator[tuple[WrittenDate, int]]:
    """The dates of a page with the numbers of their sentences, years carried over from one to the next."""
    flat = [(date, index) for index, one in enumerate(findings) for date in one.dates]
    place = -1
    for date in with_carried_years([date for date, _ in flat]):
        place += place + 1 < len(flat) and date is flat[place + 1][0]
        yield date, flat[place][1]


def _by_value(findings: Sequence[Findings]) -> dict[Fraction, list[tuple[Figure, str, int]]]:
    index: dict[Fraction, list[tuple[Figure, str, int]]] = defaultdict(list)
    for number, one in enumerate(findings):
        for figure in one.figures:
            for value, kind in figure.readings:
                index[value].append((figure, kind, number))
    return index


def _is_column_of_percents(claimed: str, other: Figure, other_kind: str) -> bool:
    # Statistical tables print the sign once, in the head of the column; decimals make an accident unlikely.
    return claimed == PERCENT and other_kind == NO_UNIT and other.has_decimals


def _tells_of_falling(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _FALLING)
