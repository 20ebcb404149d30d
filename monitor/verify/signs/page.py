"""A page as the judge reads it: its sentences with their words, and which of them bear a statement."""

import math
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, islice

from monitor.extract.sentences import split_sentences
from monitor.verify.citations import PassageIndex, fold_alphanumerics
from monitor.verify.clauses import Mark, Segment, parse_segments
from monitor.verify.names import NameIndex
from monitor.verify.prose import is_chinese
from monitor.verify.signs.labels import Amount, label_amounts
from monitor.verify.statements import SourceText
from monitor.verify.units import NumericFigure

_UNIT_END = re.compile(r"[；;]")
_LEAD_IN = re.compile(r"[:：]\s*$")
_MAX_HEADING_CHARS = 30
_FIGURE_BONUS = 1.5
_AXIS_WEIGHT = 0.3
_MAX_EQUAL = 1_000  # places of one amount on a page
_MAX_AMOUNTS = 40  # of a statement: each is held against all of the page and of the statement


@dataclass(frozen=True, eq=False)
class PageUnit:
    """A sentence of a page, or the part of one up to a semicolon.

    `context` are words that it takes from around it: of the sentence before it, its sentence's beginning, and the
    heading or the introduction of the list above it. `start` is its position in the page's text.
    """

    number: int
    line: int
    start: int
    text: str
    segments: tuple[Segment, ...]
    context: frozenset[str]

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        return label_amounts(self.segments)

    @cached_property
    def words(self) -> frozenset[str]:
        return unite(segment.words for segment in self.segments)

    @cached_property
    def negated(self) -> frozenset[str]:
        return unite(segment.negated for segment in self.segments)

    @cached_property
    def affirmed(self) -> frozenset[str]:
        return unite(segment.words - segment.negated for segment in self.segments)

    @cached_property
    def order(self) -> tuple[str, ...]:
        return tuple(word for segment in self.segments for word in segment.order)

    @cached_property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(mark for segment in self.segments for mark in segment.marks)


def unite(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


class _Weights(dict[str, float]):
    """The weights of words on a page, each computed when it is first asked for."""

    def __init__(self, places: Mapping[str, Sequence[int]], count: int) -> None:
        self._places = places
        self._count = count

    def __missing__(self, word: str) -> float:
        weight = math.log(1 + (self._count + 2) / (len(self._places.get(word, ())) + 1))
        self[word] = weight * _AXIS_WEIGHT if is_axis_word(word) else weight
        return self[word]


class PageIndex:
    """A page, read once for all statements about it; title, publisher and date of its record are its first lines.

    Figures, dates and names are known of the whole page, sentences up to `max_chars`.
    """

    def __init__(self, source: SourceText, *, max_chars: int = 80_000) -> None:
        published = "" if source.published_on is None else f"{source.published_on:%Y年%m月%d日}发布"
        head = [part for part in (source.title, source.publisher, source.section, published) if part]
        self.head_lines = len(head)
        self.text = "\n".join([*head, source.text])
        self.is_chinese = is_chinese(source.text)
        self.particulars = PassageIndex(self.text, published_on=source.published_on)
        self.names = NameIndex(self.text)
        self.is_whole = len(self.text) <= max_chars
        self.units = _read_units(self.text[:max_chars])
        self.head_words = unite(unit.words for unit in self.units if unit.line < self.head_lines)
        self.places: dict[str, list[int]] = defaultdict(list)
        self.sides: dict[str, set[str]] = defaultdict(set)
        for unit in self.units:
            for word in unit.words:
                self.places[word].append(unit.number)
            for mark in unit.marks:
                self.sides[mark.axis].add(mark.side)
        self._starts = [unit.start for unit in self.units]
        self._weights = _Weights(self.places, len(self.units))
        pieces = [fold_alphanumerics(unit.text) for unit in self.units]
        self._folded = "".join(pieces)
        self._borders = {0, *accumulate(map(len, pieces))}

    def has_whole_sentences(self, text: str) -> bool:
        """Whether a text is one sentence of the page, or several in a row, letter by letter."""
        folded = fold_alphanumerics(text)
        place = self._folded.find(folded) if folded else -1
        while place >= 0:
            if place in self._borders and place + len(folded) in self._borders:
                return True
            place = self._folded.find(folded, place + 1)
        return False

    def find_unit(self, position: int) -> PageUnit:
        return self.units[max(bisect_right(self._starts, position) - 1, 0)]

    @cached_property
    def lowered(self) -> str:
        return self.text.lower()

    @cached_property
    def amounts(self) -> list[tuple["PageUnit", Amount]]:
        return [(unit, amount) for unit in self.units for amount in unit.amounts]

    @cached_property
    def _amounts_by_value(self) -> dict[Fraction | None, list[int]]:
        places: dict[Fraction | None, list[int]] = defaultdict(list)
        for place, (_, amount) in enumerate(self.amounts):
            values = {value for figure in amount.figures for value, _ in figure.readings}
            for value in values if amount.date is None else (None,):
                places[value].append(place)
        return places

    def list_equal_amounts(self, amount: Amount) -> list[tuple["PageUnit", Amount]]:
        """Return where the page has an amount, in page order; dates stand under no value."""
        values = {value for figure in amount.figures for value, _ in figure.readings}
        by_value = self._amounts_by_value
        places = {place for value in (values if amount.date is None else (None,)) for place in by_value.get(value, ())}
        entries = (self.amounts[place] for place in sorted(places))
        equal = ((unit, other) for unit, other in entries if amount.equals(other))
        return list(islice(equal, _MAX_EQUAL))

    @cached_property
    def parts_with_amounts(self) -> list[tuple["PageUnit", Segment]]:
        return [(unit, part) for unit in self.units for part in unit.segments if part.figures or part.dates]

    @cached_property
    def _figures_by_value(self) -> dict[Fraction, list[tuple["PageUnit", Segment, NumericFigure]]]:
        places: dict[Fraction, list[tuple[PageUnit, Segment, NumericFigure]]] = defaultdict(list)
        for unit, part in self.parts_with_amounts:
            for figure in part.figures:
                for value in dict.fromkeys(value for value, _ in figure.readings):
                    places[value].append((unit, part, figure))
        return places

    def list_equal_figures(self, figure: NumericFigure) -> list[tuple["PageUnit", Segment, NumericFigure]]:
        """Return where the page has a figure in any of its readings; a place may come twice."""
        values = dict.fromkeys(value for value, _ in figure.readings)
        entries = (entry for value in values for entry in self._figures_by_value.get(value, ()))
        return list(islice((entry for entry in entries if figure.equals(entry[2])), _MAX_EQUAL))

    @cached_property
    def amounts_by_unit(self) -> list[tuple["PageUnit", tuple[Amount, ...]]]:
        return [(unit, unit.amounts) for unit in self.units if unit.amounts]

    def list_line(self, line: int) -> list[PageUnit]:
        return [unit for unit in self.units if unit.line == line]

    def compute_weight(self, words: Iterable[str]) -> float:
        """Return the weight of words together: the rarer on the page, the heavier; a word on an axis is light."""
        # Exact, so that the order of a set decides no tie.
        return math.fsum(map(self._weights.__getitem__, words))

    def compute_share(self, words: Iterable[str], whole: Iterable[str]) -> float:
        """Return the weight of words in that of the whole, 0 where that weighs nothing."""
        total = self.compute_weight(whole)
        return self.compute_weight(words) / total if total else 0.0

    def find_bearers(self, segments: Sequence[Segment]) -> list["Bearer"]:
        """Return the unit that bears each segment of a statement: by its own words, then by those of the whole."""
        whole = unite(segment.words for segment in segments)
        by_whole = self._score(whole)
        by_context = {
            place: 0.2 * self.compute_weight(whole & self.units[place].context - self.units[place].words)
            for place in by_whole
        }
        bearers = []
        for segment in segments:
            scores = self._score(segment.words)
            for place, score in by_whole.items():
                scores[place] += 0.5 * score + by_context[place]
            for place in self._find_figures(segment) & scores.keys():
                scores[place] += _FIGURE_BONUS
            if scores:
                unit = self.units[max(scores, key=lambda number: (round(scores[number], 9), -number))]
                part = max(unit.segments, key=lambda part: self._rate_part(segment, part))
                bearers.append(Bearer(segment, unit, part))
        return bearers

    def _find_figures(self, segment: Segment) -> set[int]:
        """Return the numbers of the units that have a figure of a segment."""
        return {unit.number for figure in segment.figures for unit, _, _ in self.list_equal_figures(figure)}

    def _rate_part(self, segment: Segment, part: Segment) -> float:
        figures = sum(any(figure.equals(other) for other in part.figures) for figure in segment.figures)
        dates = sum(any(other.covers(date) for other in part.dates) for date in segment.dates)
        return self.compute_weight(segment.words & part.words) + 2.0 * (figures + dates)

    def _score(self, words: frozenset[str]) -> dict[int, float]:
        scores: dict[int, float] = defaultdict(float)
        for word in words:
            weight = self._weights[word]
            for place in self.places.get(word, ()):
                scores[place] += weight
        return scores


def is_axis_word(word: str) -> bool:
    return word.startswith("~") and "." in word


def _read_units(text: str) -> list[PageUnit]:
    units: list[PageUnit] = []
    heading = frozenset[str]()  # of the nearest short line, or of one that ends in a colon
    before = frozenset[str]()
    position = 0
    for number, line in enumerate(filter(str.strip, text.splitlines())):
        opening = frozenset[str]()
        for sentence in split_sentences(line):
            first = frozenset[str]()
            added: list[PageUnit] = []
            for part in filter(str.strip, _UNIT_END.split(sentence)):
                segments = tuple(parse_segments(part, is_page=True))
                position = max(text.find(part, position), position)
                context = heading | before | first | opening
                added.append(PageUnit(len(units) + len(added), number, position, part, segments, context))
                first = first | (segments[0].words if segments else first)
            units += added
            before = unite(unit.words for unit in added)
            opening = opening or first
        if _LEAD_IN.search(line) or len(line) < _MAX_HEADING_CHARS:
            heading = before
    return units


@dataclass(frozen=True, eq=False)
class Bearer:
    """A segment of a statement with the unit of the page that is nearest to it, and the nearest segment of that."""

    segment: Segment
    unit: PageUnit
    part: Segment


def _bound_amounts(segments: Iterable[Segment]) -> Iterator[Segment]:
    """Yield the segments of a statement with its first figures and dates."""
    left = _MAX_AMOUNTS
    for segment in segments:
        figures, dates = segment.figures[:left], segment.dates[:left]
        left -= min(left, len(figures) + len(dates))
        is_whole = len(figures) == len(segment.figures) and len(dates) == len(segment.dates)
        yield segment if is_whole else replace(segment, figures=figures, dates=dates)


@dataclass(eq=False)
class Comparison:
    """A statement beside its page: `signs` are the strengths of what was found, `said` its words and the page's."""

    statement: str
    page: PageIndex
    signs: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    said: dict[str, str] = field(default_factory=dict)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(_bound_amounts(parse_segments(self.statement, is_page=False)))

    @cached_property
    def words(self) -> frozenset[str]:
        return unite(segment.words for segment in self.segments)

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        return label_amounts(self.segments)[:_MAX_AMOUNTS]

    @cached_property
    def bearers(self) -> list[Bearer]:
        return self.page.find_bearers(self.segments)

    @cached_property
    def units(self) -> list[PageUnit]:
        """The units that bear the statement, in page order, each once."""
        return sorted(
            {bearer.unit.number: bearer.unit for bearer in self.bearers}.values(), key=lambda unit: unit.number
        )

    @cached_property
    def is_cross_language(self) -> bool:
        return is_chinese(self.statement) != self.page.is_chinese

    def raise_sign(self, name: str, strength: float, said: str = "") -> None:
        """Keep the strongest of each sign."""
        if strength > self.signs[name]:
            self.signs[name] = strength
            self.said[name] = said
