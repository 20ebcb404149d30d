"""The figures and dates of a sentence, each with its label: the words around it that say what it is the amount of."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from monitor.dates import WrittenDate
from monitor.verify.clauses import Segment, iter_words, tokenise
from monitor.verify.units import NO_UNIT, NumericFigure

_RANGE_GAP = re.compile(r"\s*(?:[-–—~至到]|to|and)\s*[$€£¥]?")
_TIME = re.compile(
    r"(?:(?:19|20)\d\d(?:年(?!以上|限)[初中末底度]?)?|\d{1,2}月[初中末底份]*|[一二三四上下前]?(?:季度|半年)|前?\d{1,2}个月)$"
)
_REFERENCE = re.compile(r"(?:[条款章节号届]|第[\d一二三四五六七八九十百]+\D?)$")
_CODE = re.compile(r"(?<![A-Za-z\d])(?:[A-Za-z]{1,6}[-‑]?\d{1,5}[A-Za-z]?|[A-Z])(?![A-Za-z\d])")


_RATE_UNIT = re.compile(
    r"每(?:千瓦时?|[年月日周天人户吨亩台辆次套克斤升米股]|公斤|平方米|立方米)"
    r"|\bper (?:year|month|day|person|unit|tonne)\b"
)
"""What an amount is for each of: part of its unit, and so of no label."""


_Span = tuple[int, int, tuple[NumericFigure, ...], WrittenDate | None]
_MAX_INHERITED = 8


@dataclass(frozen=True, eq=False)
class Amount:
    """A figure or a date in its segment; `label` are the words between it and the amounts beside it.

    `inherited` are the words of the segments before it, which may say of what all the amounts after them are.
    """

    written: str
    start: int
    end: int
    segment: Segment
    figures: tuple[NumericFigure, ...]
    date: WrittenDate | None
    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()
    place: int = field(default=0)

    @cached_property
    def label(self) -> frozenset[str]:
        return self.before | self.after

    @cached_property
    def is_bare(self) -> bool:
        return any(kind == NO_UNIT for figure in self.figures for _, kind in figure.readings)

    @cached_property
    def is_time(self) -> bool:
        """Whether it is a year, a month or a quarter: of such the words around it say little."""
        return self.date is None and _TIME.search(self.written) is not None

    @cached_property
    def is_reference(self) -> bool:
        """Whether it is the number of an article, a document or a term of office."""
        return self.date is None and _REFERENCE.search(self.written) is not None

    def equals(self, other: "Amount") -> bool:
        """Whether the other amount, of a page, bears this one."""
        if self.date is not None or other.date is not None:
            return self.date is not None and other.date is not None and other.date.covers(self.date)
        return any(figure.equals(theirs) for figure in self.figures for theirs in other.figures)

    def is_near(self, other: "Amount") -> bool:
        """Whether the other may be the same in a rounded form."""
        return any(
            0 < abs(value - theirs) * 50 <= abs(theirs)
            for figure in self.figures
            if not self.is_time
            for value, kind in figure.readings
            for other_figure in other.figures
            for theirs, their_kind in other_figure.readings
            if kind == their_kind and kind != NO_UNIT
        )

    def is_comparable_to(self, other: "Amount") -> bool:
        if self.date is not None or other.date is not None:
            return self.date is not None and other.date is not None
        return any(figure.is_comparable_to(theirs) for figure in self.figures for theirs in other.figures)


def label_amounts(segments: Sequence[Segment]) -> tuple[Amount, ...]:
    """Return the amounts of a sentence in order, with their labels."""
    amounts: list[Amount] = []
    labels: list[frozenset[str]] = []
    for place, segment in enumerate(segments):
        spans = _list_spans(segment)
        inherited = frozenset[str]().union(*labels[:1], *labels[-_MAX_INHERITED:]) if spans else frozenset[str]()
        for number, (start, end, figures, date) in enumerate(spans):
            left = spans[number - 1][1] if number else 0
            right = spans[number + 1][0] if number + 1 < len(spans) else len(segment.text)
            before, after = read_label(segment.text[left:start]), read_label(segment.text[end:right])
            if number and _RANGE_GAP.fullmatch(segment.text[left:start]):
                before = amounts[-1].before
            written = segment.text[start:end]
            amounts.append(Amount(written, start, end, segment, figures, date, before, after, inherited, place))
        labels.append(frozenset(word for word in segment.words if word[0] != "@") | _list_codes(segment.text))
    return tuple(amounts)


def _list_spans(segment: Segment) -> list[_Span]:
    """Return where the amounts of a segment stand, in order; of two that overlap the first, or the longer."""
    spans: list[_Span] = []
    for span in sorted(_find_spans(segment), key=lambda span: (span[0], -span[1])):
        if not spans or span[0] >= spans[-1][1]:
            spans.append(span)
    return spans


def read_label(text: str) -> frozenset[str]:
    """Return the words of a label: as a segment has them, with codes such as M2 and T-4, without periods."""
    return frozenset(iter_words(list(tokenise(_RATE_UNIT.sub(" ", text))))) | _list_codes(text)


def _list_codes(text: str) -> set[str]:
    return {f"#{code[0].lower()}" for code in _CODE.finditer(text)}


def _find_spans(segment: Segment) -> Iterator[_Span]:
    """Yield where the dates and figures of a segment stand; the parts of a date are no figures of their own."""
    text = segment.text
    reached: dict[str, int] = {}
    dates = {date.written for date in segment.dates}
    by_written: dict[str, dict[object, NumericFigure]] = {}
    for figure in segment.figures:
        if figure.written and figure.written not in dates:
            by_written.setdefault(figure.written, {})[figure.readings] = figure
    written: list[tuple[str, tuple[NumericFigure, ...], WrittenDate | None]] = [
        *((date.written, (), date) for date in segment.dates),
        *((words, tuple(figures.values()), None) for words, figures in by_written.items()),
    ]
    for words, figures, date in written:
        start = text.find(words, reached.get(words, 0))
        while start >= 0:
            if date is not None or not _is_part_of_code(text, start, words):
                yield start, start + len(words), figures, date
            reached[words] = start + len(words)
            start = text.find(words, start + 1) if date is None else -1


def _is_part_of_code(text: str, start: int, words: str) -> bool:
    """Whether a number is part of a longer one, or of a code such as M2 or T-4."""
    before = text[max(start - 2, 0) : start]
    return words[:1].isdigit() and (
        before[-1:].isdigit() or (words.isdigit() and len(words) < 4 and re.search(r"[A-Za-z]-?$", before) is not None)
    )
