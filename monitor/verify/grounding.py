"""Checks that every number and date of a summary is on its page."""

import datetime as dt
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate

from monitor.dates import DateOrder, PartialDate, WrittenDate, WrittenPeriod, carry_years, detect_order
from monitor.extract.sentences import cut_long
from monitor.verify.figures import FiguresAndDates, parse_figures
from monitor.verify.quantities import ListCount, find_list_counts
from monitor.verify.units import (
    BOUND,
    COUNT,
    FRACTION,
    MONTH,
    NO_UNIT,
    PERCENT,
    YEAR,
    NumericFigure,
    Side,
    are_compatible,
)

_DECREASE_WORDS = (
    *("降", "减", "跌", "负", "回落", "下滑", "收窄", "亏"),
    *("fell", "fall", "declin", "decreas", "drop", "down", "lower", "reduc", "cut", "minus", "loss"),
)
_SENTENCE = re.compile(r"[^。\n]+。?")
_NO_SENTENCE = -1  # of the day of publication, and of what a page neither says nor denies
_SPANS = {"span": ("span", "years", "plan"), "plan": ("plan", "years"), "edge": ("edge",)}
_ALIKE = {"span": ("span", "month"), "plan": ("plan", "years"), "edge": ("edge",)}
_EXACT_KINDS = frozenset({YEAR, MONTH, BOUND})
_NEARLY, _ABOUT, _HALF = Fraction(4, 5), Fraction(1, 20), Fraction(1, 2)
_MAX_LISTED = 60
_EARLY_DAYS = 10  # 11月初


@dataclass(frozen=True, slots=True)
class Grounding:
    """A number or date as a summary writes it, and the sentence of the page that supports it, if any."""

    written: str
    passage: str | None


def find_ungrounded_numbers(summary: str, text: str, *, published_on: dt.date | None = None) -> list[str]:
    """Return the numbers and dates of a summary that its page lacks, as the summary writes them.

    Values are compared, not spellings (contracts, section 4). A number is a whole token with a compatible unit: 30 is
    not supported by 2030 or 1.30, 5% not by 5万, 3元 not by 3美元. A date may be less precise than the page's, never
    more; its year may come from the date before it. A negative number needs a minus or a word for a decrease on the
    other side. A round number with a word for it, 近100亿 or "more than 300", needs one on that side of it. A period is
    its first and its last day; one in words alone, 上半年, is missing only where the page speaks of other periods.
    """
    return NumberIndex(text, published_on=published_on).find_ungrounded(summary)


class NumberIndex:
    """The numbers, dates and periods of a text, parsed once so that many sentences can be checked against them.

    `published_on` is the day that 今年, 上月 or "last year" count from, on the page and in a sentence about it, and
    whose year days and periods without a year have. Without it such words claim nothing.
    """

    def __init__(self, text: str, *, published_on: dt.date | None = None) -> None:
        self._text = text
        self._published_on = published_on
        self._pieces = [piece for sentence in _SENTENCE.findall(text) for piece in cut_long(sentence)]
        self._order = detect_order(text)
        findings = self._parse_pieces()
        self._dates = list(_iter_dates_with_sentences(findings))
        self._by_value = _index_by_value(findings)
        self._periods = [(period, index) for index, finding in enumerate(findings) for period in finding.periods]
        self._published, self._has_months = PartialDate(), True
        self._has_percent = "%" in text or "％" in text
        self._mentions_decrease = _mentions_decrease(text)
        if published_on is not None:
            self._add_publication(published_on)

    def _parse_pieces(self) -> list[FiguresAndDates]:
        findings: list[FiguresAndDates] = []
        year: int | None = None
        for piece in self._pieces:
            finding = parse_figures(piece, is_page=True, order=self._order, published_on=self._published_on, year=year)
            findings.append(finding)
            year = finding.last_year
        return findings

    def _add_publication(self, day: dt.date) -> None:
        """Let the day of publication be claimed; its month and year alone only where the page tells of no other."""
        self._published = PartialDate(day.year, day.month, day.day)
        self._has_months = any(date.month for date, _ in self._dates) or any(
            period.kind in ("month", "span") for period, _ in self._periods
        )
        if not any(kind == YEAR and value > 1900 for value, others in self._by_value.items() for _, kind, _ in others):
            year = Fraction(day.year)
            self._by_value[year].append((NumericFigure("", ((year, YEAR),)), YEAR, _NO_SENTENCE))

    def find_ungrounded(self, summary: str) -> list[str]:
        return list(dict.fromkeys(number.written for number in self.ground(summary) if number.passage is None))

    def ground(self, summary: str) -> list[Grounding]:
        """Return every number, date and period of a summary with the sentence that supports it.

        What only the day of publication supports has an empty one.
        """
        claimed = _parse_claims(summary, self._order, self._published_on)
        is_falling = _mentions_decrease(summary)
        dates = ((date.written, self._find_date_sentence(date, date in claimed.bounds)) for date in claimed.dates)
        periods = ((period.written, self._find_period_sentence(period)) for period in claimed.periods)
        figures = (
            (figure.written, self._find_figure_sentence(figure, summary, is_falling=is_falling))
            for figure in claimed.figures
        )
        return [
            Grounding(written, piece if piece is None else self._get_sentence(piece))
            for written, piece in (*dates, *periods, *figures)
        ]

    def _get_sentence(self, index: int) -> str:
        return "" if index == _NO_SENTENCE else self._pieces[index].strip()

    def _find_date_sentence(self, date: WrittenDate, is_bound: bool) -> int | None:
        found = next((index for other, index in self._dates if other.covers(date)), None)
        if found is None and self._published.covers(date.value) and (date.day or not self._has_months):
            return _NO_SENTENCE
        if found is not None or not is_bound:
            return found
        # 自3月起 follows from 3月至8月, which says nothing of March alone.
        return next(
            (
                index
                for period, index in self._periods
                if period.kind == "span" and any(end.covers(date.value) for ends in period.list_ends() for end in ends)
            ),
            None,
        )

    def _find_period_sentence(self, claim: WrittenPeriod) -> int | None:
        same = (index for period, index in self._periods if period.kind in _SPANS[claim.kind] and period.covers(claim))
        if (found := next(same, None)) is not None:
            return found
        if claim.kind == "edge":
            found = self._find_edge_sentence(claim)
        elif claim.first[0] == claim.last[0] and claim.kind == "span":
            found = self._find_day_within(claim)
        elif claim.is_range and not any(period.is_range for period, _ in self._periods):
            found = self._find_ends(claim)
        if found is not None or not claim.is_word or self._has_periods_like(claim):
            return found
        years = claim.years if claim.has_year and claim.kind != "plan" else ()
        is_known = not years or any(self._find_year(year) is not None for year in years)
        return _NO_SENTENCE if is_known else None

    def _find_edge_sentence(self, claim: WrittenPeriod) -> int | None:
        """Return the sentence with the day that a period ends with, its month, or a longer period up to it."""
        has_year = claim.has_year
        for day, _ in claim.list_ends():
            wanted = day if has_year else replace(day, year=None)
            for date, index in self._dates:
                is_early = claim.last[1] == 1 and (date.day or 0) <= _EARLY_DAYS
                is_month = (date.day is None or is_early) and date.value.covers(replace(wanted, day=None))
                if date.value.covers(wanted) or (is_month and not claim.is_word) or (is_month and date.month == 12):
                    return index
            for period, index in self._periods:
                if period.kind == "span" and any(end.covers(wanted) for ends in period.list_ends() for end in ends):
                    return index
            if not has_year and not claim.is_word:
                for figure, kind, index in self._by_value.get(Fraction(claim.last[0]), ()):
                    if kind == MONTH and figure.written:
                        return index
        return None

    def _find_day_within(self, claim: WrittenPeriod) -> int | None:
        for date, index in self._dates:
            is_within = date.month == claim.first[0] and claim.first[1] <= (date.day or 0) <= claim.last[1]
            if is_within and (not claim.has_year or not claim.years or date.year in claim.years):
                return index
        return None

    def _find_ends(self, claim: WrittenPeriod) -> int | None:
        """Return the sentence of the later end of a range, where the page has both ends apart from each other."""
        found: int | None = None
        for month, _ in (claim.first, claim.last):
            figures = self._by_value.get(Fraction(month), ())
            found = next((index for _, kind, index in figures if kind == MONTH), None)
            if found is None:
                return None
        years = claim.years if claim.has_year else ()
        return found if not years or any(self._find_year(year) is not None for year in years) else None

    def _find_year(self, year: int) -> int | None:
        return next(
            (index for _, kind, index in self._by_value.get(Fraction(year), ()) if kind in (YEAR, NO_UNIT)), None
        )

    def _has_periods_like(self, claim: WrittenPeriod) -> bool:
        if claim.kind == "edge" and any(date.month for date, _ in self._dates):
            return True
        return any(
            period.kind in _ALIKE[claim.kind] and (claim.kind != "plan" or period.more_years == claim.more_years)
            for period, _ in self._periods
        )

    def _find_figure_sentence(self, figure: NumericFigure, summary: str, *, is_falling: bool) -> int | None:
        for value, kind in figure.readings:
            for other, other_kind, index in self._by_value.get(value, ()):
                if self._is_like(figure, kind, other, other_kind, is_falling=is_falling):
                    return index
        if figure.side is not None:
            for value, kind in figure.readings:
                for near in self._list_values(_span_values(value, kind, figure.side)):
                    for other, other_kind, index in self._by_value[near]:
                        is_like = self._is_like(figure, kind, other, other_kind, is_falling=is_falling)
                        is_counted = kind == other_kind or {kind, other_kind} == {NO_UNIT, COUNT}
                        if kind not in _EXACT_KINDS and is_counted and is_like:
                            return index
        return self._find_list(figure, summary)

    def _is_like(
        self, figure: NumericFigure, kind: str, other: NumericFigure, other_kind: str, *, is_falling: bool
    ) -> bool:
        is_same_kind = are_compatible(kind, other_kind) or (
            self._has_percent and _is_percent_column(kind, other, other_kind)
        )
        return is_same_kind and (
            figure.is_negative == other.is_negative or (self._mentions_decrease if figure.is_negative else is_falling)
        )

    @cached_property
    def _values(self) -> list[Fraction]:
        return sorted(self._by_value)

    def _list_values(self, span: tuple[Fraction, Fraction]) -> list[Fraction]:
        low, high = span
        return self._values[bisect_right(self._values, low) : bisect_left(self._values, high)]

    def _find_list(self, figure: NumericFigure, summary: str) -> int | None:
        """Return the sentence that lists as many as the figure counts."""
        value, kind = figure.readings[0]
        if kind not in (COUNT, NO_UNIT) or value.denominator != 1 or not 2 <= value <= _MAX_LISTED:
            return None
        listed = self._lists.get(int(value), ())
        return next((index for count, index in listed if count.can_count(figure.written, figure.noun, summary)), None)

    @cached_property
    def _lists(self) -> dict[int, list[tuple[ListCount, int]]]:
        starts: list[int] = []
        for sentence in _SENTENCE.finditer(self._text):
            lengths = map(len, cut_long(sentence[0]))
            starts += [sentence.start() + offset for offset in accumulate(lengths, initial=0)][:-1]
        lists: dict[int, list[tuple[ListCount, int]]] = defaultdict(list)
        for count in find_list_counts(self._text):
            lists[count.count].append((count, max(bisect_right(starts, count.start) - 1, 0)))
        return lists


def _span_values(value: Fraction, kind: str, side: Side) -> tuple[Fraction, Fraction]:
    """Return the open span of values that 近100, 超100 or 约100 may stand for."""
    if side == "under":
        return value * _NEARLY, value
    if side == "about":
        return value * (1 - _ABOUT), value * (1 + _ABOUT)
    if kind in (FRACTION, PERCENT) and value in (_HALF, 100 * _HALF):
        return value, 2 * value  # 过半
    digits = str(int(value)) if value >= 1 else "1"
    step = Fraction(10) ** (len(digits) - len(digits.rstrip("0") or "1"))
    return value, max(value + step, value * (1 + 2 * _ABOUT))


@lru_cache(maxsize=256)
def _parse_claims(summary: str, order: DateOrder | None, published_on: dt.date | None) -> FiguresAndDates:
    # A sentence is checked against many texts.
    return parse_figures(summary, is_page=False, order=order, published_on=published_on)


def _iter_dates_with_sentences(findings: Sequence[FiguresAndDates]) -> Iterator[tuple[WrittenDate, int]]:
    """Yield the dates of a page with the indexes of their sentences, years carried over to dates without one."""
    flat = [(date, index) for index, finding in enumerate(findings) for date in finding.dates]
    for place, date in carry_years([date for date, _ in flat]):
        yield date, flat[place][1]


def _index_by_value(findings: Sequence[FiguresAndDates]) -> dict[Fraction, list[tuple[NumericFigure, str, int]]]:
    index: dict[Fraction, list[tuple[NumericFigure, str, int]]] = defaultdict(list)
    for number, finding in enumerate(findings):
        for figure in finding.figures:
            for value, kind in figure.readings:
                index[value].append((figure, kind, number))
    return index


def _is_percent_column(claimed: str, other: NumericFigure, other_kind: str) -> bool:
    # Statistical tables have the sign only in the header; decimals make a coincidence unlikely.
    return claimed == PERCENT and other_kind == NO_UNIT and other.has_decimals


def _mentions_decrease(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _DECREASE_WORDS)
