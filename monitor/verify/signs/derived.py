"""Figures that a page does not write but bears: sums, differences, counts of what it lists, and rounded ones."""

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations

from monitor.verify.signs.labels import Amount
from monitor.verify.signs.page import Comparison
from monitor.verify.units import COUNT, NO_UNIT, PERCENT, POINTS, NumericFigure

_ABOUT = re.compile(
    r"(?:约|大约|左右|上下|将近|接近|近|\babout|\baround|\broughly|\bapproximately|\bsome|\bnearly|\balmost)\s?$",
    re.IGNORECASE,
)
_OVER = re.compile(r"(?:超过|逾|超|高于|多于|不止|\bmore than|\bover|\babove|\bexceed\w*)\s?[$€£¥]?$", re.IGNORECASE)
_UNDER = re.compile(r"(?:不到|不足|低于|少于|未到|\bless than|\bfewer than|\bunder|\bbelow)\s?[$€£¥]?$", re.IGNORECASE)
_ABOUT_AFTER = re.compile(r"\s?(?:左右|上下)")
_ROUNDING = Fraction(6, 100)
_OVERSHOOT = Fraction(10, 100)
_LIST_BREAK = re.compile(r"[，。；;：:（）()]|,(?! and)|\b(?:are|is|were|was|of)\b")
_LIST_ITEM = re.compile(r"、|和|及|与|,| and ")
_MAX_LISTED = 20
_MAX_SUMMED = 24


def list_derived(found: Comparison, missing: Iterable[str]) -> set[str]:
    """Return those of the missing figures that follow from figures, or from a list, of the bearing sentences."""
    written = set(missing)
    wanted = [amount for amount in found.amounts if amount.date is None and amount.written in written]
    if not wanted:
        return set()
    numbers = {number for unit in found.units for number in (unit.number - 1, unit.number, unit.number + 1)}
    units = [unit for unit in found.page.units if unit.number in numbers]
    figures = [figure for unit in units for segment in unit.segments for figure in segment.figures]
    counts = {count for text in (found.statement, *(unit.text for unit in units)) for count in _count_listed(text)}
    return {amount.written for amount in wanted if _is_derived(amount, figures, counts)}


def _is_derived(amount: Amount, figures: Iterable[NumericFigure], counts: set[int]) -> bool:
    if any(figure.is_negative for figure in amount.figures):
        return False
    readings = [reading for figure in amount.figures for reading in figure.readings]
    given = {reading for figure in figures for reading in figure.readings}
    for value, kind in readings:
        values = {other for other, their_kind in given if their_kind == kind or (kind, their_kind) == (POINTS, PERCENT)}
        if kind == COUNT:
            values |= {other for other, their_kind in given if their_kind == NO_UNIT}
        is_word = not amount.written[:1].isdigit()
        if (kind == COUNT or (kind == NO_UNIT and is_word)) and value in counts:
            return True
        if kind != NO_UNIT and (value > 1 or kind == POINTS) and _is_sum(value, values):
            return True
        if any(_is_rounded(amount, value, other) for other in values):
            return True
    return False


def _is_sum(value: Fraction, values: set[Fraction]) -> bool:
    if len(values) > _MAX_SUMMED:
        return False
    return (
        value == sum(values)
        or any(value in (first + second, abs(first - second)) for first, second in combinations(values, 2))
        or any(value == sum(three) for three in combinations(values, 3))
    )


def _is_rounded(amount: Amount, value: Fraction, given: Fraction) -> bool:
    """Whether a figure is a rounded one, and on the side that the word at it says."""
    text = amount.segment.text
    before = text[max(amount.start - 16, 0) : amount.start]
    if given <= 0 or abs(value - given) > _OVERSHOOT * given:
        return False
    if _OVER.search(before) or re.search(r"[多余]", amount.written):
        return given > value
    if _UNDER.search(before):
        return given < value
    is_near = abs(value - given) <= _ROUNDING * given
    return is_near and bool(_ABOUT.search(before) or _ABOUT_AFTER.match(text, amount.end))


def _count_listed(text: str) -> Iterator[int]:
    """Yield how many items the lists of a sentence have."""
    for piece in _LIST_BREAK.split(text):
        count = len(_LIST_ITEM.findall(piece)) + 1
        if 2 <= count <= _MAX_LISTED:
            yield count
