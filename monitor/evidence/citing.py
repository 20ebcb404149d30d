"""Sentences that cite what they rest on by number, and whether they do rest on it.

Whoever writes such a sentence, nothing is taken on trust: each figure, date, document number and quoted name of it must
stand in what it cites.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from monitor.domain.prompts import as_material
from monitor.evidence.grounding import ReadText
from monitor.evidence.sentences import CLOSING, WEB_ADDRESS, split_sentences

LEAST_CHARS, MOST_CHARS = 8, 400

CITATION = re.compile(r"\s*[\[［【]\s*(\d{1,3}(?:\s*[,，、;；]\s*\d{1,3})*)\s*[\]］】]")
"""Numbers in square brackets: [1], [1, 2], 【3】."""

_AFTER_THE_STOP = re.compile(rf"([。！？!?.][{re.escape(CLOSING)}]*)((?:{CITATION.pattern})+)")
_LIST_MARK = re.compile(r"^\s*(?:[-*•·]|\d{1,2}[.、)）])\s+")
_NAME = re.compile(r"《([^《》]+)》|“([^“”]+)”|‘([^‘’]+)’|「([^「」]+)」|『([^『』]+)』|\"([^\"]+)\"")
DOCUMENT_NUMBER = re.compile(
    r"([\u4e00-\u9fff]{2})?\s*[〔\[［【(（]\s*((?:19|20)\d\d)\s*[〕\]］】)）]\s*第?\s*(\d{1,5})\s*号"
)
_QUOTED_QUESTION = re.compile(r"[！？!?][》”」』]$")
_STOP = re.compile(rf"\s*[。！？!?.]+[{re.escape(CLOSING)}]*$")


@dataclass(frozen=True, slots=True)
class Cited:
    """A sentence without its citations, and the numbers that it cites, from 1, each once."""

    text: str
    numbers: tuple[int, ...]


def cited_sentences(text: str, count: int) -> list[Cited]:
    """The sentences of a text with what they cite of `count` things, before the full stop or after it.

    Brackets that hold other numbers stay in the sentence: `CITATION` finds them there.
    """
    return [cited_line(sentence, count) for sentence in _sentences(text)]


def cited_line(sentence: str, count: int) -> Cited:
    """A sentence, the point of a list or the row of a table with what it cites of `count` things."""
    cited: list[int] = []

    def taken(match: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        if not all(1 <= number <= count for number in numbers):
            return match[0]
        cited.extend(numbers)
        return ""

    text = as_material(CITATION.sub(taken, sentence))
    return Cited(text, tuple(dict.fromkeys(cited)))


def with_citations(text: str, numbers: Sequence[int]) -> str:
    """The sentence with the numbers in brackets before its full stop."""
    brackets = "".join(f"[{number}]" for number in numbers)
    stop = _STOP.search(text)
    return text + brackets if stop is None else text[: stop.start()] + brackets + text[stop.start() :].lstrip()


def rests_on(text: str, passages: Sequence[str]) -> bool:
    """Whether a sentence may stand: each figure, date, document number and quoted name of it is in one of the passages.

    Each passage is read by itself, so that the year of one never completes a date of another. A sentence with a web
    address, one of a few characters, one of more than four hundred never stands.
    """
    if not LEAST_CHARS <= len(text) <= MOST_CHARS or WEB_ADDRESS.search(text) or not passages:
        return False
    return not missing_from(text, passages)


def missing_from(text: str, passages: Sequence[str]) -> set[str]:
    """The figures, dates, document numbers and quoted names of a text that stand in none of the passages."""
    return set.intersection(*(_passage(passage).lacks(text) for passage in passages)) if passages else {text}


def has_particulars(text: str) -> bool:
    """Whether a text says a figure, a date, a document number or a quoted name at all."""
    return bool(_passage("").lacks(text))


class Passage:
    """A text read once, so that many sentences can be held against it."""

    def __init__(self, text: str) -> None:
        self._numbers = ReadText(text)
        self._letters = letters_of_text(text)

    def lacks(self, sentence: str) -> set[str]:
        """The figures, dates, document numbers and quoted names of a sentence that this text does not have."""
        return {*self._numbers.ungrounded(sentence), *(name for name in _names(sentence) if name not in self._letters)}


@lru_cache(maxsize=512)
def _passage(text: str) -> Passage:
    return Passage(text)


@lru_cache(maxsize=256)
def _names(text: str) -> tuple[str, ...]:
    """What is said word for word in a text, its letters alone: quoted names, document numbers."""
    numbers = (letters_of_text("".join(groups)) + "号" for groups in DOCUMENT_NUMBER.findall(text))
    return (*(letters_of_text("".join(groups)) for groups in _NAME.findall(text)), *numbers)


def _sentences(text: str) -> Iterator[str]:
    """The sentences with their citations, which models write before the full stop or after it."""
    for line in text.splitlines():
        bare = _LIST_MARK.sub("", line.replace("**", ""))
        moved = _AFTER_THE_STOP.sub(lambda match: f"{match[2].strip()}{match[1]}", bare)
        begun = ""
        for piece in split_sentences(moved):
            begun += piece
            # A question in quotation marks is part of a sentence, whose citation is still to come.
            if CITATION.search(begun) or not _QUOTED_QUESTION.search(piece):
                yield begun
                begun = ""
        if begun:
            yield begun


def letters_of_text(text: str) -> str:
    """Its letters and digits alone, case and width folded: names are the same however they are set."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())
