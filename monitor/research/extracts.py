"""A paragraph without a model: whole sentences of its pages, word for word, each citing its page."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.evidence.citing import CITATION, LEAST_CHARS, MOST_CHARS, has_particulars, with_citations
from monitor.evidence.prose import FORMULA, LEANING, TELLING, whole_sentences
from monitor.evidence.vocabulary import is_chinese, likeness, words_of
from monitor.research.findings import running_text
from monitor.research.quotes import is_piece, material_of
from monitor.research.state import Paragraph, SearchEntry

MOST_SENTENCES = 6
MOST_OF_ONE = 2
_MOST_WEIGHT = 160
_SAME = 0.75
_ANSWERING = re.compile(r"^(?:[答问]|记者|[AQ])\s?[:：]\s*")
_QUESTION = re.compile(r"[?？]\W*$")
_LEAST_COMMON = {True: 2, False: 1}  # two pairs of Chinese characters, one Latin word
_MOST_GENERAL = 3
_OWN, _NEARNESS, _LANGUAGE, _RESULT, _NEW, _PLACE = 4.0, 2.0, 0.5, 0.4, 0.2, 0.2
_PARTICULARS, _TELLING, _LEANING = 0.4, 0.2, -0.4


@dataclass(frozen=True)
class _Extract:
    number: int
    place: int
    text: str
    score: float
    is_own: bool
    is_general: bool


def extracted_summary(
    paragraph: Paragraph, entries: Sequence[SearchEntry], query: str, others: Sequence[Paragraph] = ()
) -> str:
    """Up to six sentences, two of a page at most, with [n] before each full stop; '' where the pages have none.

    A sentence is a paragraph's own that has words of its title and content that the question does not have, more of
    them than of those of any other paragraph. Chosen are its own sentences, and three of those that are nobody's: the
    first paragraph takes the best, the second the next, so that no two say the same about the same pages. What stands
    in documents of every subject is told only where there is nothing else. What is best tells the formula in
    `_extracts`. They stand in the order of the results and pages.
    """
    found = sorted(_extracts(paragraph, entries, query, others), key=lambda one: (-one.score, one.number, one.place))
    ranked = _different(found)
    general = [one for one in ranked if one.is_general]
    first = _MOST_GENERAL * paragraph.order
    mine = general[first : first + _MOST_GENERAL] or general[:_MOST_GENERAL]
    told: list[_Extract] = []
    for extract in ranked:
        is_full = len(told) == MOST_SENTENCES or sum(one.number == extract.number for one in told) == MOST_OF_ONE
        if not is_full and (extract.is_own or extract in mine):
            told.append(extract)
    told = sorted(told or ranked[:_MOST_GENERAL], key=lambda one: (one.number, one.place))
    return running_text([with_citations(one.text, [one.number]) for one in told])


def _different(ranked: Sequence[_Extract]) -> list[_Extract]:
    """Those that do not say the same as one before them."""
    told: list[_Extract] = []
    for extract in ranked:
        words = words_of(extract.text)
        if all(likeness(words, words_of(one.text)) < _SAME for one in told):
            told.append(extract)
    return told


def _extracts(
    paragraph: Paragraph, entries: Sequence[SearchEntry], query: str, others: Sequence[Paragraph]
) -> Iterator[_Extract]:
    """The sentences that may be told with their scores, sums by the weights above.

    Nearness to what is the paragraph's own, and to its whole topic with the question (Dice's coefficients); whether it
    is in the question's language; what it tells by itself; the result's score and freshness; an early place.
    """
    topic = _topic(paragraph) | words_of(query)
    own = _topic(paragraph) - words_of(query)
    theirs = [_topic(other) - words_of(query) for other in others if other.order != paragraph.order]
    wants_chinese = is_chinese(query)
    for number, entry in enumerate(entries, start=1):
        for place, text in enumerate(_sentences_of(entry)):
            words = words_of(text)
            in_language = is_chinese(text) == wants_chinese
            if in_language and len(words & topic) < _LEAST_COMMON[wants_chinese]:
                continue
            nearness, best = likeness(words, own), max((likeness(words, their) for their in theirs), default=0.0)
            score = _OWN * nearness + _NEARNESS * likeness(words, topic) + _LANGUAGE * in_language + _worth(text)
            score += _RESULT * entry.score + _NEW * entry.freshness + _PLACE / (1 + place)
            is_told = FORMULA.search(text) is None
            is_own, is_general = is_told and 0 < nearness >= best, is_told and not nearness and not best
            yield _Extract(number, place, text, score, is_own=is_own, is_general=is_general)


def _worth(text: str) -> float:
    """What a sentence tells by itself: a figure or name, up to two measures.

    Less where it leans on the one before it.
    """
    worth = _PARTICULARS * has_particulars(text) + _TELLING * min(len(TELLING.findall(text)), 2)
    return worth + _LEANING * bool(LEANING.match(text))


def _topic(paragraph: Paragraph) -> frozenset[str]:
    return words_of(f"{paragraph.title}\n{paragraph.content}")


def _sentences_of(entry: SearchEntry) -> list[str]:
    """What of a page may be told: whole sentences without the 答： before them, no questions."""
    told = (_ANSWERING.sub("", sentence) for sentence in whole_sentences(material_of(entry).text, _MOST_WEIGHT))
    return [
        one
        for one in told
        if is_piece(one)
        and not CITATION.search(one)
        and not _QUESTION.search(one)
        and LEAST_CHARS <= len(one) <= MOST_CHARS
    ]
