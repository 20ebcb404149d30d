"""Sentences that cite what they rest on by number, and whether they do rest on it.

Whoever writes such a sentence, nothing is taken on trust: each figure, date, document number and quoted name of it must
stand in what it cites.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from monitor.extract.sentences import CLOSING_MARKS, WEB_ADDRESS, split_sentences
from monitor.llm.prompts import flatten_untrusted_text
from monitor.verify.grounding import NumberIndex

MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 8, 400
CITATION = re.compile(r"\s*[\[［【]\s*(\d{1,3}(?:\s*[,，、;；]\s*\d{1,3})*)\s*[\]］】]")
"""Numbers in square brackets: [1], [1, 2], 【3】."""

_CITATION_AFTER_STOP = re.compile(rf"([。！？!?.][{re.escape(CLOSING_MARKS)}]*)((?:{CITATION.pattern})+)")
_LIST_MARK = re.compile(r"^\s*(?:[-*•·]|\d{1,2}[.、)）])\s+")
_QUOTED_NAME = re.compile(r"《([^《》]+)》|“([^“”]+)”|‘([^‘’]+)’|「([^「」]+)」|『([^『』]+)』|\"([^\"]+)\"")
DOCUMENT_NUMBER = re.compile(
    r"([\u4e00-\u9fff]{2})?\s*[〔\[［【(（]\s*((?:19|20)\d\d)\s*[〕\]］】)）]\s*第?\s*(\d{1,5})\s*号"
)
_QUOTED_QUESTION = re.compile(r"[！？!?][》”」』]$")
_FINAL_STOP = re.compile(rf"\s*[。！？!?.]+[{re.escape(CLOSING_MARKS)}]*$")


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence without its citations, and the numbers that it cites, from 1, each once."""

    text: str
    numbers: tuple[int, ...]


def parse_cited_sentences(text: str, count: int) -> list[CitedSentence]:
    """The sentences of a text with what they cite of `count` things, before the full stop or after it.

    Brackets that hold other numbers stay in the sentence: `CITATION` finds them there.
    """
    return [parse_cited_sentence(sentence, count) for sentence in _iter_cited_sentences(text)]


def parse_cited_sentence(sentence: str, count: int) -> CitedSentence:
    """A sentence, the point of a list or the row of a table with what it cites of `count` things."""
    cited: list[int] = []

    def taken(match: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        if not all(1 <= number <= count for number in numbers):
            return match[0]
        cited.extend(numbers)
        return ""

    text = flatten_untrusted_text(CITATION.sub(taken, sentence))
    return CitedSentence(text, tuple(dict.fromkeys(cited)))


def append_citations(text: str, numbers: Sequence[int]) -> str:
    """The sentence with the numbers in brackets before its full stop."""
    brackets = "".join(f"[{number}]" for number in numbers)
    stop = _FINAL_STOP.search(text)
    return text + brackets if stop is None else text[: stop.start()] + brackets + text[stop.start() :].lstrip()


def is_supported_by(text: str, passages: Sequence[str]) -> bool:
    """Whether a sentence may stand: each figure, date, document number and quoted name of it is in one of the passages.

    Each passage is read by itself, so that the year of one never completes a date of another. A sentence with a web
    address, one of a few characters, one of more than four hundred never stands.
    """
    if not MIN_SENTENCE_CHARS <= len(text) <= MAX_SENTENCE_CHARS or WEB_ADDRESS.search(text) or not passages:
        return False
    return not find_missing_particulars(text, passages)


def find_missing_particulars(text: str, passages: Sequence[str]) -> set[str]:
    """The figures, dates, document numbers and quoted names of a text that stand in none of the passages."""
    return (
        set.intersection(*(_get_passage_index(passage).find_missing(text) for passage in passages))
        if passages
        else {text}
    )


def has_particulars(text: str) -> bool:
    """Whether a text says a figure, a date, a document number or a quoted name at all."""
    return bool(_get_passage_index("").find_missing(text))


class PassageIndex:
    """A text read once, so that many sentences can be held against it."""

    def __init__(self, text: str) -> None:
        self._numbers = NumberIndex(text)
        self._letters = fold_letters(text)

    def find_missing(self, sentence: str) -> set[str]:
        """The figures, dates, document numbers and quoted names of a sentence that this text does not have."""
        return {
            *self._numbers.find_ungrounded(sentence),
            *(name for name in _extract_names(sentence) if name not in self._letters),
        }


@lru_cache(maxsize=512)
def _get_passage_index(text: str) -> PassageIndex:
    return PassageIndex(text)


@lru_cache(maxsize=256)
def _extract_names(text: str) -> tuple[str, ...]:
    """What is said word for word in a text, its letters alone: quoted names, document numbers."""
    numbers = (fold_letters("".join(groups)) + "号" for groups in DOCUMENT_NUMBER.findall(text))
    return (*(fold_letters("".join(groups)) for groups in _QUOTED_NAME.findall(text)), *numbers)


def _iter_cited_sentences(text: str) -> Iterator[str]:
    """The sentences with their citations, which models write before the full stop or after it."""
    for line in text.splitlines():
        bare = _LIST_MARK.sub("", line.replace("**", ""))
        moved = _CITATION_AFTER_STOP.sub(lambda match: f"{match[2].strip()}{match[1]}", bare)
        begun = ""
        for piece in split_sentences(moved):
            begun += piece
            # A question in quotation marks is part of a sentence, whose citation is still to come.
            if CITATION.search(begun) or not _QUOTED_QUESTION.search(piece):
                yield begun
                begun = ""
        if begun:
            yield begun


def fold_letters(text: str) -> str:
    """Its letters and digits alone, case and width folded: names are the same however they are set."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())
