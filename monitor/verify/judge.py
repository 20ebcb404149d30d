"""The judge of statements: whether a page says what a sentence says about it."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from monitor.extract.sentences import split_sentences
from monitor.verify.citations import PassageIndex
from monitor.verify.clauses import Mark, Segment, Sentence, parse_page_sentences, parse_sentence
from monitor.verify.figures import NO_UNIT, are_compatible
from monitor.verify.prose import is_chinese
from monitor.verify.statements import Judgement, Reason, SourceText
from monitor.vocabulary import ReasonCode, Verdict

_REASON_BY_AXIS = {
    "direction": ReasonCode.DIRECTION, "course": ReasonCode.DIRECTION, "founding": ReasonCode.POLARITY,
    "validity": ReasonCode.VALIDITY, "permission": ReasonCode.POLARITY, "burden": ReasonCode.POLARITY,
    "answer": ReasonCode.POLARITY, "office": ReasonCode.POLARITY, "bound": ReasonCode.BOUND, "duty": ReasonCode.MODALITY,
    "quantity": ReasonCode.QUANTIFIER, "extreme": ReasonCode.DIRECTION, "order": ReasonCode.PERIOD,
    "trade": ReasonCode.WHOSE_FIGURE, "place": ReasonCode.WHOSE_FIGURE, "rate": ReasonCode.PERIOD,
    "side": ReasonCode.SUBJECT_OBJECT, "sign": ReasonCode.DIRECTION, "truth": ReasonCode.POLARITY,
    "will": ReasonCode.MODALITY, "time": ReasonCode.VALIDITY, "knowledge": ReasonCode.POLARITY, "stage": ReasonCode.STAGE,
}
MIN_COVERAGE = 0.3
@dataclass(frozen=True)
class _Aligned:
    segment: Segment
    sentence: int
    score: float


class PageIndex:
    def __init__(self, source: SourceText) -> None:
        head = "\n".join(part for part in (source.title, source.publisher, source.section) if part)
        published = "" if source.published_on is None else f"{source.published_on:%Y年%-m月%-d日}发布"
        self.text = "\n".join(part for part in (head, published, source.text) if part)
        self.sentences = parse_page_sentences(self.text)
        self.is_chinese = is_chinese(source.text)
        self.index = PassageIndex(self.text)
        self._places: dict[str, set[int]] = defaultdict(set)
        for place, sentence in enumerate(self.sentences):
            for word in sentence.words:
                self._places[word].add(place)

    def weigh(self, word: str) -> float:
        found = len(self._places.get(word, ()))
        base = math.log(1 + (len(self.sentences) + 1) / (found + 0.5))
        return base * (0.35 if "." in word and word[0] == "~" else 1.0)

    def score_all(self, words: frozenset[str]) -> Counter[int]:
        scores: Counter[int] = Counter()
        for word in words:
            for place in self._places.get(word, ()):
                scores[place] += self.weigh(word)
        return scores

    def align(self, sentence: Sentence) -> list[_Aligned]:
        whole = self.score_all(sentence.words)
        aligned = []
        for segment in sentence.segments:
            own = self.score_all(segment.words)
            total: Counter[int] = Counter()
            for place, score in own.items():
                total[place] += score
            for place, score in whole.items():
                total[place] += 0.5 * score
                total[place + 1] += 0.15 * score
                total[place - 1] += 0.15 * score
            best = max((place for place in total if 0 <= place < len(self.sentences)), key=lambda place: total[place], default=0)
            aligned.append(_Aligned(segment, best, total[best]))
        return aligned

    def cover(self, words: frozenset[str], places: set[int]) -> float:
        window = {place + step for place in places for step in (-1, 0, 1)} | {0}
        there = frozenset().union(*(self.sentences[place].words for place in window if 0 <= place < len(self.sentences)))
        total = sum(map(self.weigh, words))
        return sum(self.weigh(word) for word in words & there) / total if total else 1.0


class StatementJudge:
    """Judges statements against pages that are read once; by code alone, without waiting for anything."""

    def __init__(self, sources: Sequence[SourceText]) -> None:
        self._pages = [PageIndex(source) for source in sources]

    def judge(self, statement: str) -> Judgement:
        page = self._pages[0]
        sentence = parse_sentence(statement, is_page=False)
        missing = page.index.find_missing(statement)
        aligned = page.align(sentence)
        places = {entry.sentence for entry in aligned}
        passage = "\n".join(page.sentences[place].text for place in sorted(places)) if page.sentences else ""
        if missing:
            reasons = tuple(Reason(code=ReasonCode.NUMBER, args={"said": said}) for said in sorted(missing))
            return Judgement(verdict=Verdict.UNSUPPORTED, passage=passage, reasons=reasons)
        reasons = tuple(self._find_reasons(page, aligned))
        if reasons:
            return Judgement(verdict=Verdict.CONTRADICTED, passage=passage, reasons=reasons, is_open=True, context=passage)
        coverage = page.cover(sentence.words, places)
        if is_chinese(statement) == page.is_chinese and coverage < MIN_COVERAGE:
            return Judgement(verdict=Verdict.UNSUPPORTED, passage=passage, is_open=True, context=passage)
        if coverage >= 0.75:
            return Judgement(verdict=Verdict.SUPPORTED, passage=passage)
        return Judgement(verdict=Verdict.UNCHECKED, passage=passage, is_open=True, context=passage)

    def _find_reasons(self, page: PageIndex, aligned: Sequence[_Aligned]) -> Iterator[Reason]:
        for entry in aligned:
            there = page.sentences[entry.sentence]
            yield from _compare_marks(entry.segment, there, page)
            yield from _compare_negation(entry.segment, there, page)
            yield from _compare_figures(entry.segment, aligned, page)


def _compare_marks(segment: Segment, there: Sentence, page: PageIndex) -> Iterator[Reason]:
    for mark in segment.marks:
        code = _REASON_BY_AXIS.get(mark.axis)
        if code is None:
            continue
        others = [(other, part) for part in there.segments for other in part.marks if other.axis == mark.axis]
        if any(_is_same(mark, other) for other, _ in others):
            continue
        against = [other for other, part in others if _is_near(mark, other, segment, part, page)]
        if against:
            yield Reason(code=code, args={"said": mark.word, "page": against[0].word})


def _is_same(mark: Mark, other: Mark) -> bool:
    return (mark.side == other.side) == (mark.is_negated == other.is_negated)


def _is_near(mark: Mark, other: Mark, segment: Segment, part: Segment, page: PageIndex) -> bool:
    plain = {word for word in mark.near if "." not in word}
    total = sum(map(page.weigh, plain))
    shared = sum(page.weigh(word) for word in plain & other.near)
    return bool(total) and shared / total >= 0.3


def _compare_negation(segment: Segment, there: Sentence, page: PageIndex) -> Iterator[Reason]:
    negated_there = frozenset().union(*(part.negated for part in there.segments))
    plain_there = frozenset().union(*(part.words - part.negated for part in there.segments))
    turned = (segment.negated & plain_there - negated_there) | ((segment.words - segment.negated) & (negated_there - plain_there))
    turned = {word for word in turned if "." not in word}
    best = max(there.segments, key=lambda part: sum(map(page.weigh, part.words & segment.words)), default=None)
    if best is None:
        return
    total = sum(map(page.weigh, segment.words))
    shared = sum(map(page.weigh, segment.words & best.words))
    if turned and total and shared / total >= 0.5 and bool(segment.negated) != bool(best.negated):
        yield Reason(code=ReasonCode.POLARITY, args={"said": " ".join(sorted(turned))})


def _compare_figures(segment: Segment, aligned: Sequence[_Aligned], page: PageIndex) -> Iterator[Reason]:
    values = {value for entry in aligned for figure in entry.segment.figures for value, _ in figure.readings}
    whole = frozenset().union(*(entry.segment.words for entry in aligned))
    for figure in segment.figures:
        own = best_other = (0.0, None)
        for sentence in page.sentences:
            for part in sentence.segments:
                score = _similarity(segment, whole, part, sentence, page)
                for other in part.figures:
                    if _equal(figure, other):
                        own = max(own, (score, part), key=lambda entry: entry[0])
                    elif _comparable(figure, other) and not values & {value for value, _ in other.readings}:
                        best_other = max(best_other, (score, part), key=lambda entry: entry[0])
        if own[1] is not None and best_other[0] > own[0] + 0.15:
            yield Reason(code=ReasonCode.WHOSE_FIGURE, args={"said": figure.written, "page": best_other[1].text})


def _similarity(segment: Segment, whole: frozenset[str], part: Segment, sentence: Sentence, page: PageIndex) -> float:
    own = sum(map(page.weigh, segment.words)) or 1.0
    rest = sum(map(page.weigh, whole)) or 1.0
    return sum(map(page.weigh, segment.words & part.words)) / own + 0.6 * sum(map(page.weigh, whole & sentence.words)) / rest


def _equal(figure, other) -> bool:
    return any(value == theirs and are_compatible(kind, their_kind) for value, kind in figure.readings for theirs, their_kind in other.readings)


def _comparable(figure, other) -> bool:
    return any(kind == their_kind and kind != NO_UNIT for _, kind in figure.readings for _, their_kind in other.readings)
