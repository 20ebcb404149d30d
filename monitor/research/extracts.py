"""A paragraph without a model: whole sentences of its pages, word for word, each citing its page."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.research.findings import join_sentences
from monitor.research.quotes import get_quotable_text, is_excerpt
from monitor.research.state import ParagraphState, SearchEntry
from monitor.verify.citations import CITATION, MAX_SENTENCE_CHARS, MIN_SENTENCE_CHARS, append_citations, has_particulars
from monitor.verify.prose import (
    DEPENDENT_START,
    STATEMENT_WORDS,
    STOCK_PHRASE,
    compute_dice_similarity,
    extract_words,
    is_chinese,
    iter_whole_sentences,
)

MAX_SENTENCES = 6
MAX_SENTENCES_PER_PAGE = 2
_MAX_SENTENCE_WEIGHT = 160
_MIN_DUPLICATE_LIKENESS = 0.75
_SPEAKER_PREFIX = re.compile(r"^(?:[答问]|记者|[AQ])\s?[:：]\s*")
_QUESTION = re.compile(r"[?？]\W*$")
_MIN_COMMON_WORDS = {True: 2, False: 1}  # two pairs of Chinese characters, one Latin word
_MAX_GENERAL_SENTENCES = 3

_OWN_TOPIC_WEIGHT, _TOPIC_WEIGHT, _LANGUAGE_WEIGHT, _RESULT_SCORE_WEIGHT, _FRESHNESS_WEIGHT, _POSITION_WEIGHT = (
    4.0,
    2.0,
    0.5,
    0.4,
    0.2,
    0.2,
)

_PARTICULARS_WEIGHT, _FACT_WEIGHT, _LEANING_WEIGHT = 0.4, 0.2, -0.4


@dataclass(frozen=True)
class _Extract:
    number: int
    place: int
    text: str
    score: float
    is_own: bool
    is_general: bool


def build_extractive_summary(
    paragraph: ParagraphState, entries: Sequence[SearchEntry], query: str, others: Sequence[ParagraphState] = ()
) -> str:
    """Up to six sentences, two of a page at most, with [n] before each full stop; '' where the pages have none.

    A sentence is a paragraph's own that has words of its title and content that the question does not have, more of
    them than of those of any other paragraph. Chosen are its own sentences, and three of those that are nobody's: the
    first paragraph takes the best, the second the next, so that no two say the same about the same pages. What stands
    in documents of every subject is told only where there is nothing else. What is best tells the formula in
    `_score_sentences`. They stand in the order of the results and pages.
    """
    found = sorted(
        _score_sentences(paragraph, entries, query, others), key=lambda one: (-one.score, one.number, one.place)
    )
    ranked = _drop_similar(found)
    general = [extract for extract in ranked if extract.is_general]
    first = _MAX_GENERAL_SENTENCES * paragraph.order
    mine = general[first : first + _MAX_GENERAL_SENTENCES] or general[:_MAX_GENERAL_SENTENCES]
    selected: list[_Extract] = []
    for extract in ranked:
        is_full = (
            len(selected) == MAX_SENTENCES
            or sum(chosen.number == extract.number for chosen in selected) == MAX_SENTENCES_PER_PAGE
        )
        if not is_full and (extract.is_own or extract in mine):
            selected.append(extract)
    selected = sorted(selected or ranked[:_MAX_GENERAL_SENTENCES], key=lambda one: (one.number, one.place))
    return join_sentences([append_citations(extract.text, [extract.number]) for extract in selected])


def _drop_similar(ranked: Sequence[_Extract]) -> list[_Extract]:
    """Those that do not say the same as one before them."""
    distinct: list[_Extract] = []
    for extract in ranked:
        words = extract_words(extract.text)
        if all(
            compute_dice_similarity(words, extract_words(chosen.text)) < _MIN_DUPLICATE_LIKENESS for chosen in distinct
        ):
            distinct.append(extract)
    return distinct


def _score_sentences(
    paragraph: ParagraphState, entries: Sequence[SearchEntry], query: str, others: Sequence[ParagraphState]
) -> Iterator[_Extract]:
    """The sentences that may be told with their scores, sums by the weights above.

    Nearness to what is the paragraph's own, and to its whole topic with the question (Dice's coefficients); whether it
    is in the question's language; what it tells by itself; the result's score and freshness; an early place.
    """
    topic = _get_topic_words(paragraph) | extract_words(query)
    own = _get_topic_words(paragraph) - extract_words(query)
    theirs = [_get_topic_words(other) - extract_words(query) for other in others if other.order != paragraph.order]
    wants_chinese = is_chinese(query)
    for number, entry in enumerate(entries, start=1):
        for place, text in enumerate(_list_sentences(entry)):
            words = extract_words(text)
            in_language = is_chinese(text) == wants_chinese
            if in_language and len(words & topic) < _MIN_COMMON_WORDS[wants_chinese]:
                continue
            nearness, best = (
                compute_dice_similarity(words, own),
                max((compute_dice_similarity(words, their) for their in theirs), default=0.0),
            )
            score = (
                _OWN_TOPIC_WEIGHT * nearness
                + _TOPIC_WEIGHT * compute_dice_similarity(words, topic)
                + _LANGUAGE_WEIGHT * in_language
                + _score_content(text)
            )
            score += (
                _RESULT_SCORE_WEIGHT * entry.score
                + _FRESHNESS_WEIGHT * entry.freshness
                + _POSITION_WEIGHT / (1 + place)
            )
            is_specific = STOCK_PHRASE.search(text) is None
            is_own, is_general = is_specific and 0 < nearness >= best, is_specific and not nearness and not best
            yield _Extract(number, place, text, score, is_own=is_own, is_general=is_general)


def _score_content(text: str) -> float:
    """What a sentence tells by itself: a figure or name, up to two measures.

    Less where it leans on the one before it.
    """
    worth = _PARTICULARS_WEIGHT * has_particulars(text) + _FACT_WEIGHT * min(len(STATEMENT_WORDS.findall(text)), 2)
    return worth + _LEANING_WEIGHT * bool(DEPENDENT_START.match(text))


def _get_topic_words(paragraph: ParagraphState) -> frozenset[str]:
    return extract_words(f"{paragraph.title}\n{paragraph.content}")


def _list_sentences(entry: SearchEntry) -> list[str]:
    """What of a page may be told: whole sentences without the 答： before them, no questions."""
    candidates = (
        _SPEAKER_PREFIX.sub("", sentence)
        for sentence in iter_whole_sentences(get_quotable_text(entry).text, _MAX_SENTENCE_WEIGHT)
    )
    return [
        text
        for text in candidates
        if is_excerpt(text)
        and not CITATION.search(text)
        and not _QUESTION.search(text)
        and MIN_SENTENCE_CHARS <= len(text) <= MAX_SENTENCE_CHARS
    ]
