"""A paragraph without a model: whole sentences of its pages, word for word, each citing its page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.evidence.citing import CITATION, LEAST_CHARS, MOST_CHARS, has_particulars, with_citations
from monitor.evidence.prose import whole_sentences
from monitor.evidence.vocabulary import is_chinese, likeness, words_of
from monitor.research.findings import running_text
from monitor.research.quotes import is_quotable, material_of
from monitor.research.state import Paragraph, SearchEntry

MOST_SENTENCES = 6
MOST_OF_ONE = 2
_MOST_WEIGHT = 160
_SAME = 0.75
_LEAST_COMMON = 2
_NEARNESS, _LANGUAGE, _PARTICULARS, _WORTH, _PLACE = 3.0, 0.5, 0.2, 0.4, 0.2


@dataclass(frozen=True)
class _Extract:
    number: int
    place: int
    text: str
    score: float


def extracted_summary(paragraph: Paragraph, entries: Sequence[SearchEntry], query: str) -> str:
    """Up to six sentences, two of a page at most, with [n] before each full stop; '' where the pages have none.

    Chosen are those that have most of the words of the paragraph and the question; then the question's language, a
    figure or a name in the sentence, the worth of the result and an early place count. What says the same as a chosen
    one is left out. They stand in the order of the results, and on a page in the page's.
    """
    told: list[_Extract] = []
    for extract in sorted(_extracts(paragraph, entries, query), key=lambda one: (-one.score, one.number, one.place)):
        is_full = sum(one.number == extract.number for one in told) == MOST_OF_ONE
        words = words_of(extract.text)
        if not is_full and all(likeness(words, words_of(one.text)) < _SAME for one in told):
            told.append(extract)
        if len(told) == MOST_SENTENCES:
            break
    told.sort(key=lambda one: (one.number, one.place))
    return running_text([with_citations(one.text, [one.number]) for one in told])


def _extracts(paragraph: Paragraph, entries: Sequence[SearchEntry], query: str) -> Iterator[_Extract]:
    topic = words_of(f"{query}\n{paragraph.title}\n{paragraph.content}")
    wants_chinese = is_chinese(query)
    for number, entry in enumerate(entries, start=1):
        for place, text in enumerate(_sentences_of(entry)):
            words = words_of(text)
            in_language = is_chinese(text) == wants_chinese
            if in_language and len(words & topic) < _LEAST_COMMON:
                continue
            score = _NEARNESS * likeness(words, topic) + _LANGUAGE * in_language + _PARTICULARS * has_particulars(text)
            yield _Extract(number, place, text, score + _WORTH * entry.score + _PLACE / (1 + place))


def _sentences_of(entry: SearchEntry) -> list[str]:
    told = whole_sentences(material_of(entry).text, _MOST_WEIGHT)
    return [
        one for one in told if is_quotable(one) and not CITATION.search(one) and LEAST_CHARS <= len(one) <= MOST_CHARS
    ]
