"""What speaks for a statement and against it on a page: signs, each a number that grows with its strength."""

import math
from difflib import SequenceMatcher
from bisect import bisect_right
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from monitor.dates import WrittenDate
from monitor.extract.sentences import split_sentences
from monitor.verify.citations import PassageIndex
from monitor.verify.clauses import Mark, Segment, parse_segments
from monitor.verify.lexicon import stem
from monitor.verify.figures import NO_UNIT, NumericFigure, are_compatible

from monitor.verify.names import NameIndex, find_names
from monitor.verify.prose import is_chinese
from monitor.verify.statements import SourceText

_UNIT_END = re.compile(r"[；;]")
_LEAD_IN = re.compile(r"[:：]\s*$")
_NEW = {"finality.final", "finality.first", "length.more", "length.less", "only.only", "quantity.all", "quantity.some", "duty.must", "permission.allowed", "permission.forbidden", "founding.end", "founding.keep", "validity.void", "stage.done",
    "stage.proposed", "extreme.most", "extreme.least", "answer.yes", "answer.no", "course.tighten", "course.relax", "bound.max", "bound.min", "direction.up", "direction.down", "burden.free", "burden.charged", "report.think", "order.before", "order.after"}
_LEFT = {"finality.first", "quantity.some", "only.only", "bound.max", "bound.min", "permission.forbidden", "permission.allowed", "duty.may"}


@dataclass(frozen=True, eq=False)
class Unit:
    """A sentence of a page, or a part of one up to a semicolon; `context` are the words that it takes from around it."""

    number: int
    sentence: int
    text: str
    segments: tuple[Segment, ...]
    context: frozenset[str]
    line: int = 0
    start: int = 0

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset().union(*(segment.words for segment in self.segments))

    @cached_property
    def negated(self) -> frozenset[str]:
        return frozenset().union(*(segment.negated for segment in self.segments))

    @cached_property
    def plain(self) -> frozenset[str]:
        return frozenset().union(*(segment.words - segment.negated for segment in self.segments))

    @cached_property
    def order(self) -> tuple[str, ...]:
        return tuple(word for segment in self.segments for word in segment.order)


class PageIndex:
    """A page, read once for all statements about it."""

    def __init__(self, source: SourceText) -> None:
        head = [part for part in (source.title, source.publisher, source.section) if part]
        published = "" if source.published_on is None else f"{source.published_on:%Y年%m月%d日}发布"
        self.source = source
        self.text = "\n".join(part for part in (*head, published, source.text) if part)
        self.is_chinese = is_chinese(source.text)
        self.index = PassageIndex(self.text)
        self.names = NameIndex(self.text)
        self.sentences: list[str] = []
        self.units: list[Unit] = []
        self.head_words = frozenset(word for part in (source.title, source.publisher) for segment in parse_segments(part, is_page=True) for word in segment.words)
        self.head_lines = len(head) + bool(published)
        self._read([*head, published, *source.text.splitlines()])
        self.sides: dict[str, set[str]] = defaultdict(set)
        for unit in self.units:
            for segment in unit.segments:
                for mark in segment.marks:
                    self.sides[mark.axis].add(mark.side)
        self._starts = [unit.start for unit in self.units]
        self.places: dict[str, set[int]] = defaultdict(set)
        for unit in self.units:
            for word in unit.words:
                self.places[word].add(unit.number)

    def _read(self, lines: Sequence[str]) -> None:
        lead: frozenset[str] = frozenset()
        last: frozenset[str] = frozenset()
        position = 0
        for line_number, line in enumerate(filter(str.strip, lines)):
            line_words: frozenset[str] = frozenset()
            for sentence in split_sentences(line):
                first: frozenset[str] = frozenset()
                start = len(self.units)
                for part in filter(str.strip, _UNIT_END.split(sentence)):
                    segments = tuple(parse_segments(part, is_page=True))
                    context = lead | last | first | line_words
                    position = max(self.text.find(part, position), position)
                    unit = Unit(len(self.units), len(self.sentences), part, segments, context, line_number, position)
                    self.units.append(unit)
                    first = first | (segments[0].words if segments else frozenset())
                self.sentences.append(sentence)
                last = frozenset().union(*(unit.words for unit in self.units[start:]))
                line_words = line_words or (self.units[start].segments[0].words if len(self.units) > start and self.units[start].segments else frozenset())
            if _LEAD_IN.search(line) or len(line) < 30:
                lead = last

    def find_unit(self, position: int) -> int:
        """Return the number of the unit at a position of the text."""
        return max(bisect_right(self._starts, position) - 1, 0)

    def weigh(self, word: str) -> float:
        found = len(self.places.get(word, ()))
        base = math.log(1 + (len(self.units) + 2) / (found + 1))
        return base * (0.3 if "." in word and word[0] == "~" else 1.0)

    def total(self, words: Iterable[str]) -> float:
        return sum(map(self.weigh, words))

    def find_bearers(self, segments: Sequence[Segment]) -> list[tuple[Segment, Unit, Segment]]:
        whole = frozenset().union(*(segment.words for segment in segments)) if segments else frozenset()
        scores_whole = self._score(whole)
        found = []
        for segment in segments:
            own = self._score(segment.words)
            total: Counter[int] = Counter()
            for place, score in own.items():
                total[place] += score
            for place, score in scores_whole.items():
                total[place] += 0.5 * score
            for place in list(total):
                total[place] += 0.2 * self.total(whole & self.units[place].context - self.units[place].words)
                if any(_is_equal(figure, other) for figure in segment.figures for part in self.units[place].segments for other in part.figures):
                    total[place] += 1.5
            place = max(total, key=lambda number: (total[number], -number), default=None)
            if place is not None:
                unit = self.units[place]
                found.append((segment, unit, max(unit.segments, key=lambda part: self._rate_part(segment, part))))
        return found

    def _rate_part(self, segment: Segment, part: Segment) -> float:
        figures = sum(any(_is_equal(figure, other) for other in part.figures) for figure in segment.figures)
        dates = sum(any(other.covers(date) for other in part.dates) for date in segment.dates)
        return self.total(segment.words & part.words) + 2.0 * (figures + dates)

    def _score(self, words: frozenset[str]) -> Counter[int]:
        scores: Counter[int] = Counter()
        for word in words:
            weight = self.weigh(word)
            for place in self.places.get(word, ()):
                scores[place] += weight
        return scores


def _is_equal(figure: NumericFigure, other: NumericFigure) -> bool:
    return any(value == theirs and are_compatible(kind, their_kind) for value, kind in figure.readings for theirs, their_kind in other.readings)


def _is_comparable(figure: NumericFigure, other: NumericFigure) -> bool:
    return any(kind == their_kind and kind != NO_UNIT for _, kind in figure.readings for _, their_kind in other.readings)


@dataclass
class Signs:
    values: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    said: dict[str, str] = field(default_factory=dict)
    bearers: list[Unit] = field(default_factory=list)

    def raise_to(self, name: str, value: float, said: str = "") -> None:
        if value > self.values[name]:
            self.values[name] = value
            self.said[name] = said


def read_signs(statement: str, page: PageIndex) -> Signs:
    segments = tuple(parse_segments(statement, is_page=False))
    found = page.find_bearers(segments)
    signs = Signs()
    signs.bearers = list({unit.number: unit for _, unit, _ in found}.values())
    words = frozenset().union(*(segment.words for segment in segments)) if segments else frozenset()
    borne = frozenset().union(*(unit.words for unit in signs.bearers)) if signs.bearers else frozenset()
    context = frozenset().union(page.head_words, *(unit.context for unit in signs.bearers))
    sides = {mark.word for segment in segments for mark in segment.marks for unit in signs.bearers if any(_is_same(mark, other) and mark.axis == other.axis for part in unit.segments for other in part.marks)}
    content = frozenset(word for word in words if (not word.startswith("~") or "." not in word) and word not in sides and word not in {stem(side) for side in sides})
    total = page.total(content) or 1.0
    signs.values["coverage"] = page.total(content & borne) / total
    signs.values["context"] = page.total(content & context - borne) / total
    signs.values["foreign"] = page.total(word for word in content - borne - context if page.places.get(word)) / total
    signs.values["novel"] = page.total(word for word in content if not page.places.get(word)) / total
    signs.values["bearers"] = len(signs.bearers) - 1
    signs.values["cross"] = float(is_chinese(statement) != page.is_chinese)
    best = max((page.total(content & unit.words) / total for unit in signs.bearers), default=0.0)
    signs.values["single"] = best
    for segment, unit, part in found:
        _compare_marks(signs, segment, unit, part, page)
        _compare_negation(signs, segment, unit, part, page)
        _compare_speakers(signs, segment, unit, part, page)
    _compare_roles(signs, segments, found, page)
    _compare_figures(signs, segments, page)
    _compare_order(signs, segments, page)
    _compare_periods(signs, found, page)
    _compare_names(signs, statement, page)
    _compare_slots(signs, found, page)
    _compare_sequence(signs, found, page)
    _compare_citations(signs, statement, page)
    _compare_speech(signs, statement, segments, found, page)
    _compare_figure_marks(signs, segments, found, page)
    _compare_subject(signs, segments, page, borne | context)
    signs.values["foreign inside"] = signs.values["foreign"] * signs.values["coverage"]
    signs.values["novel inside"] = signs.values["novel"] * signs.values["coverage"]
    return signs


def _compare_marks(signs: Signs, segment: Segment, unit: Unit, part: Segment, page: PageIndex) -> None:
    for mark in segment.marks:
        if mark.axis in _SILENT:
            continue
        around = [
            (_nearness(mark, other, page) + (0.3 if piece is part else 0.0), other)
            for piece in unit.segments
            for other in piece.marks
            if other.axis == mark.axis
        ]
        same = max((rate for rate, other in around if _is_same(mark, other)), default=-1.0)
        against = max(((rate, other) for rate, other in around if not _is_same(mark, other)), key=lambda entry: entry[0], default=None)
        if against is not None and against[0] > same + 0.35:
            strength = against[0] + 0.1 - (0.3 * max(same, 0) if same >= 0 else 0)
            signs.raise_to(f"against:{mark.axis}", strength, f"{mark.word}/{against[1].word}")
        elif around:
            continue
        elif f"{mark.axis}.{mark.side}" in _NEW:
            context_sides = page.sides.get(mark.axis, frozenset())
            name = "new" if mark.side in context_sides else "never"
            signs.raise_to(f"{name}:{mark.axis}.{mark.side}", 1.0, mark.word)
    total = page.total(part.words) or 1.0
    share = page.total(part.words & segment.words) / total
    axes = {mark.axis for mark in segment.marks}
    for mark in part.marks:
        if mark.axis not in axes and share > 0.3 and f"{mark.axis}.{mark.side}" in _LEFT:
            signs.raise_to(f"left:{mark.axis}.{mark.side}", share, mark.word)


_SILENT = {"event", "start", "report", "order", "knowledge", "time", "will"}


def _compare_speakers(signs: Signs, segment: Segment, unit: Unit, part: Segment, page: PageIndex) -> None:
    """Who says it: the words before a verb of saying, in the statement and on the page."""
    theirs = [(place, piece) for piece in unit.segments for place, word in enumerate(piece.order) if word.startswith("~report.")]
    own = [place for place, word in enumerate(segment.order) if word.startswith("~report.")]
    if own:
        speaker = {word for word in segment.order[: own[0]] if "." not in word}
        if speaker and theirs:
            others = frozenset(word for place, piece in theirs for word in piece.order[:place] if "." not in word)
            share = page.total(speaker & (unit.words | unit.context)) / (page.total(speaker) or 1.0)
            known = page.total(word for word in speaker if page.places.get(word)) / (page.total(speaker) or 1.0)
            if others:
                signs.raise_to("speaker other", (1 - share) * (0.3 + known), " ".join(sorted(others)))
    elif theirs and not any(mark.axis == "report" for mark in segment.marks):
        kinds = {word for piece in unit.segments for word in piece.order if word.startswith("~report.")}
        if "~report.think" in kinds:
            signs.raise_to("attribution left", page.total(segment.words & unit.words) / (page.total(segment.words) or 1.0), "")


_AGENT_MARKS = re.compile(r"(?:由|被|经|受|\bby)\s*$")
_PATIENT_MARKS = re.compile(r"(?:对|向|给|将|把|报|送|交|予|与|同|\bto|\bagainst|\bfrom|\bfor|\bof|\bon|\bwith)\s*(?:the\s*)?$")


_PASSIVE = re.compile(r"被|由(?!于)|受到|\bby\b")
_GENERIC_ACTOR = re.compile(
    r"市场监管部门|主管部门|监管机构|监管部门|税务机关|科技部门|财政部门|农业农村部门|监护人|提供者|经营者|平台|银行|企业|公司|机构|用户|消费者|委员|法院|政府|协会|申请人|当事人|保险公司|电网企业|合作机构|供应商|客户"
    r"|\b(?:banks?|compan(?:y|ies)|firms?|regulators?|court|government|ministry|board|providers?|consumers?|customers?|employers?|workers?|authority|authorities|commission|agency|supplier|buyers?|lenders?|insurers?|investors?|members?|states?|applicants?)\b",
    re.IGNORECASE,
)


def _compare_roles(signs: Signs, segments: Sequence[Segment], found: Sequence[tuple[Segment, Unit, Segment]], page: PageIndex) -> None:
    """Who acts, and upon whom: for actors that both name, whether they come in the same order."""
    for segment, unit, _ in found:
        mine = _list_actors(segment.text)
        theirs = _list_actors(unit.text)
        both = [name for name in mine if name in theirs]
        if len(both) < 2:
            continue
        is_passive = bool(_PASSIVE.search(segment.text)) != bool(_PASSIVE.search(unit.text))
        for first, second in zip(both, both[1:], strict=False):
            if theirs[first] > theirs[second]:
                between_mine = segment.text[mine[first] : mine[second]]
                is_list = re.fullmatch(r".{0,12}?(?:和|与|及|、|\band\b|,).{0,2}", between_mine[len(first):]) is not None
                if not is_list:
                    signs.raise_to("roles passive" if is_passive else "roles turned", 1.0, f"{first}/{second}")


def _list_actors(text: str) -> dict[str, int]:
    """Return the actors of a text, each with its first place."""
    places: dict[str, int] = {}
    taken: list[tuple[int, int]] = []
    for name in find_names(text):
        key = name.text if not name.text.isascii() else name.text.split()[-1]
        places.setdefault(key, name.start)
        taken.append((name.start, name.end))
    for match in _GENERIC_ACTOR.finditer(text):
        if not any(start <= match.start() < end for start, end in taken):
            places.setdefault(match[0].lower().rstrip("s"), match.start())
    return dict(sorted(places.items(), key=lambda entry: entry[1]))


def _find_role(text: str, actor: str) -> str:
    place = text.find(actor)
    if _AGENT_MARKS.search(text[:place]):
        return "agent"
    return "patient" if _PATIENT_MARKS.search(text[:place]) else ""


def _is_same(mark: Mark, other: Mark) -> bool:
    return (mark.side == other.side) == (mark.is_negated == other.is_negated)


def _nearness(mark: Mark, other: Mark, page: PageIndex) -> float:
    plain = {word for word in mark.near if "." not in word}
    total = page.total(plain)
    return page.total(plain & other.near) / total if total else 0.0


def _compare_negation(signs: Signs, segment: Segment, unit: Unit, part: Segment, page: PageIndex) -> None:
    total = page.total(segment.words) or 1.0
    share = page.total(segment.words & part.words) / total
    has_mine = bool(segment.negated) or any(mark.is_negated for mark in segment.marks)
    has_theirs = bool(part.negated) or any(mark.is_negated for mark in part.marks)
    added = {word for word in segment.negated & unit.plain - unit.negated if "." not in word}
    lost = {word for word in (segment.words - segment.negated) & (unit.negated - unit.plain) if "." not in word}
    if added and not has_theirs:
        signs.raise_to("negation added", share + 0.3, " ".join(sorted(added)))
    if lost and not has_mine:
        signs.raise_to("negation lost", share + 0.3, " ".join(sorted(lost)))


def _compare_figures(signs: Signs, segments: Sequence[Segment], page: PageIndex) -> None:
    values = {value for segment in segments for figure in segment.figures for value, _ in figure.readings}
    whole = frozenset().union(*(segment.words for segment in segments)) if segments else frozenset()
    signs.values["figures"] = float(bool(values))
    for segment in segments:
        for figure in segment.figures:
            own, other_best, other_text, own_unit, swapped, own_near = 0.0, 0.0, "", None, 0.0, 0.0
            for unit in page.units:
                for part in unit.segments:
                    if not part.figures:
                        continue
                    score = None
                    for other in part.figures:
                        is_equal = _is_equal(figure, other)
                        is_said = bool(values & {value for value, _ in other.readings})
                        if not is_equal and not _is_comparable(figure, other) and not is_said:
                            continue
                        if not is_equal and any(_is_equal(figure, third) for third in part.figures):
                            continue
                        if not is_equal and is_said:
                            near = page.total(segment.words & part.words) / (page.total(segment.words) or 1.0)
                            swapped = max(swapped, near)
                            continue
                        if score is None:
                            score = _similarity(segment, whole, part, unit, page)
                        if is_equal:
                            own_near = max(own_near, page.total(segment.words & part.words) / (page.total(segment.words) or 1.0))
                            if score >= own:
                                own, own_unit = score, unit
                        elif score > other_best:
                            other_best, other_text = score, part.text
            if own_unit is None:
                continue
            signs.raise_to("figure rival", max(other_best - own, -0.5) + 0.5, f"{figure.written}: {other_text}")
            signs.raise_to("figure apart", 1.6 - own, figure.written)
            signs.raise_to("figure swapped", swapped - own_near, figure.written)
            if not any(_is_equal(figure, other) for unit in signs.bearers for part in unit.segments for other in part.figures):
                rivals = [other.written for unit in signs.bearers for part in unit.segments for other in part.figures if _is_comparable(figure, other)]
                signs.raise_to("figure other" if rivals else "figure elsewhere", 1.0, f"{figure.written}/{rivals[:2]}")
    _compare_dates(signs, segments, page, whole)


def _compare_dates(signs: Signs, segments: Sequence[Segment], page: PageIndex, whole: frozenset[str]) -> None:
    for segment in segments:
        for date in segment.dates:
            own, other_best, text, swapped, own_near = None, 0.0, "", 0.0, 0.0
            words = frozenset(word for word in segment.words if word[0] != "@")
            others = [other for piece in segments for other in piece.dates if other is not date]
            for unit in page.units:
                for part in unit.segments:
                    near = page.total(words & part.words) / (page.total(words) or 1.0)
                    is_own = any(other.covers(date) for other in part.dates)
                    for other in part.dates:
                        score = _similarity(segment, whole, part, unit, page)
                        if other.covers(date):
                            own = max(own or 0.0, score)
                            own_near = max(own_near, near)
                        elif any(other.covers(third) for third in others):
                            swapped = max(swapped, 0.0 if is_own else near)
                        elif score > other_best:
                            other_best, text = score, part.text
            if own is not None and not any(other.covers(date) for unit in signs.bearers for part in unit.segments for other in part.dates):
                rivals = [other.written for unit in signs.bearers for part in unit.segments for other in part.dates]
                signs.raise_to("date other" if rivals else "date elsewhere", 1.0, f"{date.written}/{rivals[:2]}")
            if own is not None:
                signs.raise_to("date swapped", swapped - own_near, date.written)
                signs.raise_to("date rival", max(other_best - own, -0.5) + 0.5, f"{date.written}: {text}")
                signs.raise_to("date apart", 1.6 - own, date.written)


def _similarity(segment: Segment, whole: frozenset[str], part: Segment, unit: Unit, page: PageIndex) -> float:
    own = page.total(segment.words) or 1.0
    rest = page.total(whole) or 1.0
    near = page.total(segment.words & part.words) / own
    around = page.total(whole & (unit.words | unit.context)) / rest
    return near + 0.6 * around


def _compare_order(signs: Signs, segments: Sequence[Segment], page: PageIndex) -> None:
    """Look for words around another word that stand the other way round on the page: who acts, and upon whom."""
    turned = 0.0
    for segment in segments:
        order = [word for word in segment.order if word[0] != "@"]
        for unit in signs.bearers:
            place = {word: number for number, word in reversed(list(enumerate(unit.order)))}
            common = [place[word] for word in order if word in place]
            triples = reversals = 0
            for first in range(len(common)):
                for second in range(first + 1, len(common)):
                    for third in range(second + 1, len(common)):
                        triples += 1
                        reversals += common[first] > common[second] > common[third]
            if triples >= 4:
                turned = max(turned, reversals / triples)
    signs.values["turned"] = turned


def _compare_periods(signs: Signs, found: Sequence[tuple[Segment, Unit, Segment]], page: PageIndex) -> None:
    for segment, unit, _ in found:
        said = {word for word in segment.words if word[0] == "@"}
        there = {word for word in unit.words | unit.context if word[0] == "@"}
        for word in said - there:
            rivals = {other for other in there if other[1] == word[1]}
            signs.raise_to("period other" if rivals else "period new", 1.0, f"{word}/{' '.join(sorted(rivals))}")


def _compare_subject(signs: Signs, segments: Sequence[Segment], page: PageIndex, borne: frozenset[str]) -> None:
    """Look at what a statement begins with: its subject must be that of the page's sentence."""
    first = next((segment.order for segment in segments if segment.order), ())[:4]
    total = page.total(first)
    if total:
        signs.values["subject foreign"] = page.total(word for word in first if word not in borne and page.places.get(word)) / total
        signs.values["subject novel"] = page.total(word for word in first if not page.places.get(word)) / total


def _compare_names(signs: Signs, statement: str, page: PageIndex) -> None:
    lines = {unit.line for unit in signs.bearers}
    numbers = {unit.number for unit in signs.bearers}
    for name in find_names(statement):
        is_mentioned = page.names.mentions(name)
        if is_mentioned is None:
            continue
        if not is_mentioned:
            signs.raise_to("name missing", 1.0, name.text)
            continue
        units = {page.find_unit(place) for place in page.names.find(name)}
        if name.kind == "person":
            last = name.text.split()[-1]
            units |= {unit.number for unit in page.units if last in unit.text}
        if units & numbers:
            continue
        near = {page.units[number].line for number in units}
        rivals = [other.text for unit in signs.bearers for other in find_names(unit.text) if other.kind == name.kind and not _is_said(other.text, statement)]
        suffix = " rival" if rivals else ""
        if any(page.units[number].line < page.head_lines for number in units):
            signs.raise_to("name head" + suffix, 1.0, f"{name.text}/{rivals[:1]}")
        elif near & lines or any(number + 1 in units or number - 1 in units for number in numbers):
            signs.raise_to("name near" + suffix, 1.0, f"{name.text}/{rivals[:1]}")
        else:
            signs.raise_to("name apart" + suffix, 1.0, f"{name.text}/{rivals[:1]}")


def _is_said(name: str, statement: str) -> bool:
    return name in statement or any(part in statement for part in name.split() if len(part) > 3)


def _compare_figure_marks(signs: Signs, segments: Sequence[Segment], found: Sequence[tuple[Segment, Unit, Segment]], page: PageIndex) -> None:
    for segment, unit, part in found:
        for figure in segment.figures:
            mine = _find_figure_marks(segment, figure)
            words = segment.words
            theirs = [
                marks
                for other_unit in page.units
                for piece in other_unit.segments
                for other in piece.figures
                if _is_equal(figure, other) and (other_unit is unit or page.total(words & piece.words) >= 0.4 * page.total(words))
                for marks in [_find_figure_marks(piece, other)]
            ]
            if not theirs:
                continue
            for axis in ("bound", "direction"):
                own = {side for kind, side in mine if kind == axis}
                others = {side for marks in theirs for kind, side in marks if kind == axis}
                if own and others and not own & others:
                    signs.raise_to(f"figure {axis}", 1.0, figure.written)
                elif own and not others and axis == "bound":
                    signs.raise_to("figure bound new", 1.0, figure.written)
                elif others and not own and axis == "bound":
                    signs.raise_to("figure bound left", 1.0, figure.written)


def _find_figure_marks(segment: Segment, figure: NumericFigure) -> set[tuple[str, str]]:
    """Return the sides of marks right before a figure, or a bound right after it."""
    place = segment.text.find(figure.written)
    if place < 0:
        return set()
    end = place + len(figure.written)
    found: dict[str, tuple[int, str]] = {}
    for mark in segment.marks:
        if mark.axis not in ("bound", "direction"):
            continue
        width = 30 if mark.word.isascii() else 12
        before = segment.text.lower().rfind(mark.word.lower(), max(place - width, 0), place)
        after = segment.text.lower().find(mark.word.lower(), end, end + 6) if mark.axis == "bound" else -1
        distance = place - before if before >= 0 else after - end if after >= 0 else None
        if distance is not None and (mark.axis not in found or distance < found[mark.axis][0]):
            side = mark.side if not mark.is_negated else f"not {mark.side}"
            found[mark.axis] = (distance, side)
    return {(axis, side) for axis, (_, side) in found.items()}


_SMALL = set("的了和与及在对为以等将该其并或之于而是由从至到个把、，,。.（）()“”\"《》「」 的") | {"the", "a", "an", "of", "to", "in", "on", "and", "that", "has", "have", "had", "is", "are", "was", "were", "be", "been", "it", "its", "by", "for", "with", "as", "at", "from"}


def _compare_slots(signs: Signs, found: Sequence[tuple[Segment, Unit, Segment]], page: PageIndex) -> None:
    """Align the words of a statement with those of its bearer: what stands in the place of something else."""
    for segment, unit, _ in found:
        theirs = [key for piece in unit.segments for key in piece.keys]
        their_texts = [text for piece in unit.segments for text in piece.texts]
        matcher = SequenceMatcher(None, segment.keys, theirs, autojunk=False)
        codes = [code for code in matcher.get_opcodes()]
        for place, (kind, i, j, k, l) in enumerate(codes):
            if kind not in ("replace", "insert", "delete"):
                continue
            left = codes[place - 1] if place else None
            right = codes[place + 1] if place + 1 < len(codes) else None
            flank = sum((code[2] - code[1]) for code in (left, right) if code is not None and code[0] == "equal")
            said = [text for text in segment.texts[i:j] if text not in _SMALL]
            there = [text for text in their_texts[k:l] if text not in _SMALL]
            joined, other = "".join(said) if said and not said[0].isascii() else " ".join(said), "".join(there) if there and not there[0].isascii() else " ".join(there)
            if not said or flank < 3 or any(char.isdigit() for char in joined):
                continue
            size = min(len(said), 6)
            if kind == "delete":
                name = "slot added"
            elif len(there) <= len(said) + 4:
                name = "slot replaced"
            else:
                continue
            is_elsewhere = len(joined) > 1 and joined.lower() in page.text.lower()
            shares = bool(set(joined) & set(other)) if not joined.isascii() else False
            state = "foreign" if is_elsewhere else "variant" if shares and name == "slot replaced" else "novel"
            strength = 0.3 + min(flank, 10) / 10 if len(joined) > 1 else 0.2
            signs.raise_to(f"{name} {state}", strength, f"{joined}/{other}")


def _compare_sequence(signs: Signs, found: Sequence[tuple[Segment, Unit, Segment]], page: PageIndex) -> None:
    """How much of what both say has to be moved to stand in the page's order."""
    for segment, unit, _ in found:
        theirs: dict[str, int] = {}
        for number, word in enumerate(unit.order):
            theirs.setdefault(word, number)
        common = [(theirs[word], word) for word in dict.fromkeys(segment.order) if word in theirs and word[0] != "@" and "." not in word]
        if len(common) < 4:
            continue
        keep = _longest_rising([place for place, _ in common])
        total = page.total(word for _, word in common) or 1.0
        moved = page.total(word for number, (_, word) in enumerate(common) if number not in keep) / total
        share = page.total(word for _, word in common) / (page.total(segment.words) or 1.0)
        signs.raise_to("moved", moved * share, " ".join(word for number, (_, word) in enumerate(common) if number not in keep))


def _longest_rising(places: Sequence[int]) -> set[int]:
    best: list[list[int]] = []
    for number, place in enumerate(places):
        prior = max((chain for chain in best if places[chain[-1]] < place), key=len, default=[])
        best.append([*prior, number])
    return set(max(best, key=len, default=[]))


_LAW_ARTICLE = re.compile(r"《?([\u4e00-\u9fff]{2,20}?(?:法|条例|办法|规定|细则|规则))》?(?:（[^）]*）)?第([一二三四五六七八九十百千零\d]+)条")
_OWN_ARTICLE = re.compile(r"(?:征求意见稿|草案|本?办法|本?规定|细则|条例|指南|公告|通知|文件|规则)?(?:第)([一二三四五六七八九十百千零\d]+)条(?:提出|规定|明确|要求|指出|,|，|的规定)")
_ARTICLE_HEAD = re.compile(r"^\s*第([一二三四五六七八九十百千零\d]+)条", re.MULTILINE)


def _compare_citations(signs: Signs, statement: str, page: PageIndex) -> None:
    for match in _LAW_ARTICLE.finditer(statement):
        law, article = match[1][-6:], match[2]
        places = [found.start() for found in re.finditer(f"第{article}条", page.text)]
        if places and not any(law[-3:] in page.text[max(place - 60, 0) : place] for place in places):
            signs.raise_to("citation other", 1.0, match[0])
    match = _OWN_ARTICLE.search(statement)
    if match is not None and not _LAW_ARTICLE.search(statement):
        heads = [(found.start(), found[1]) for found in _ARTICLE_HEAD.finditer(page.text)]
        if any(number == match[1] for _, number in heads):
            over = set()
            for unit in signs.bearers:
                before = [number for place, number in heads if place <= unit.start + 2]
                over.add(before[-1] if before else "")
            if match[1] not in over:
                signs.raise_to("citation other", 1.0, match[0])


_SAY = re.compile(r"(?:表示|认为|称|说|指出|介绍|强调|透露|回应|坦言|提到|主张|提出|建议|预计|预测|批评|质疑|宣布|承认|\b(?:said|says|say|told|argued|argues|claimed|claims|estimated|estimates|believes|believed|noted|stated|warned|suggested|suggests|criticised|criticized|called|expects|expected|emphasised|stressed)\b)")


def _compare_speech(signs: Signs, statement: str, segments: Sequence[Segment], found: Sequence[tuple[Segment, Unit, Segment]], page: PageIndex) -> None:
    """Who is quoted: the speaker of a statement must be the one who speaks where the page says it."""
    verb = _SAY.search(statement)
    if verb is None:
        return
    names = [name for name in find_names(statement) if name.end <= verb.start()]
    if not names:
        return
    speaker = names[-1].text.split()[-1] if names[-1].text.isascii() else names[-1].text
    content = [(segment, unit) for segment, unit, _ in found if speaker not in segment.text and not _SAY.search(segment.text)] or [(segment, unit) for segment, unit, _ in found]
    for segment, unit in content:
        line = "\n".join(other.text for other in page.units if other.line == unit.line)
        speakers = []
        for said in _SAY.finditer(line):
            around = line[max(said.start() - 40, 0) : said.start()] if not line[said.start()].isascii() else line[max(said.start() - 60, 0) : said.end() + 60]
            speakers += [name.text for name in find_names(around)]
        is_theirs = any(speaker in other or other in names[-1].text for other in speakers) or any(
            unit.start <= place < unit.start + len(unit.text) for place in page.names.find(names[-1])
        )
        if speakers and not is_theirs:
            signs.raise_to("speech other", 1.0, f"{speaker}/{speakers[:2]}")
