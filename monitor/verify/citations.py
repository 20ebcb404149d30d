"""Checks sentences with citations for their particulars: figures, dates, document numbers and quoted names."""

import datetime as dt
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from monitor.extract.sentences import CLOSING_MARKS, WEB_ADDRESS, split_sentences
from monitor.llm.prompts import flatten_untrusted_text
from monitor.verify.grounding import NumberIndex

MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 8, 400
CITATION = re.compile(r"(?:(?<!\s)\s+)?[\[［【]\s*(\d{1,3}(?:\s*[,，、;；]\s*\d{1,3})*)\s*[\]］】]")
"""Numbers in square brackets: [1], [1, 2], 【3】."""

_CITATION_AFTER_STOP = re.compile(rf"([。！？!?.][{re.escape(CLOSING_MARKS)}]*)((?:{CITATION.pattern})+)")
_LIST_MARK = re.compile(r"^\s*(?:[-*•·]|\d{1,2}[.、)）])\s+")
_QUOTED_NAME = re.compile(r"《([^《》]+)》|“([^“”]+)”|‘([^‘’]+)’|「([^「」]+)」|『([^『』]+)』|\"([^\"]+)\"")
DOCUMENT_NUMBER = re.compile(
    r"([\u4e00-\u9fff]{2})?\s*[〔\[［【(（]\s*((?:19|20)\d\d)\s*[〕\]］】)）]\s*第?\s*(\d{1,5})\s*号"
)
_PLAN = re.compile(r"十[一二三四五六]五(?:规划|时期|期间)?")  # a period, not a name
_QUOTED_QUESTION = re.compile(r"[！？!?][》”」』]$")
_FINAL_STOP = re.compile(rf"(?:(?<!\s)\s+)?(?<![。！？!?.])[。！？!?.]+[{re.escape(CLOSING_MARKS)}]*$")


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence without its citations, and the distinct numbers that it cites, from 1."""

    text: str
    numbers: tuple[int, ...]


def parse_cited_sentences(text: str, count: int) -> list[CitedSentence]:
    """Return the sentences of a text with their citations of `count` sources; other brackets stay in the sentence."""
    return [parse_cited_sentence(sentence, count) for sentence in _iter_cited_sentences(text)]


def parse_cited_sentence(sentence: str, count: int) -> CitedSentence:
    """Return a sentence, list item or table row with its citations of `count` sources."""
    cited: list[int] = []

    def take_numbers(match: re.Match[str]) -> str:
        numbers = [int(number) for number in re.findall(r"\d+", match[1])]
        if not all(1 <= number <= count for number in numbers):
            return match[0]
        cited.extend(numbers)
        return ""

    text = flatten_untrusted_text(CITATION.sub(take_numbers, sentence))
    return CitedSentence(text, tuple(dict.fromkeys(cited)))


def append_citations(text: str, numbers: Sequence[int]) -> str:
    """Return the sentence with the numbers in brackets before its full stop."""
    brackets = "".join(f"[{number}]" for number in numbers)
    stop = _FINAL_STOP.search(text)
    return text + brackets if stop is None else text[: stop.start()] + brackets + text[stop.start() :].lstrip()


def is_supported_by(text: str, passages: Sequence[str]) -> bool:
    """Whether the passages have all particulars of a sentence; each passage counts alone, also for parts of a date.

    A sentence with a web address, and one shorter than 8 or longer than 400 characters, is never supported.
    """
    if not MIN_SENTENCE_CHARS <= len(text) <= MAX_SENTENCE_CHARS or WEB_ADDRESS.search(text) or not passages:
        return False
    return not find_missing_particulars(text, passages)


def find_missing_particulars(text: str, passages: Sequence[str]) -> set[str]:
    """Return the particulars of a text that every passage lacks."""
    missing = [_get_passage_index(passage).find_missing(text) for passage in passages]
    return set.intersection(*missing) if missing else {text}


def has_particulars(text: str) -> bool:
    return bool(_get_passage_index("").find_missing(text))


class PassageIndex:
    """A text parsed once, so that many sentences can be checked against it; `published_on` as for `NumberIndex`."""

    def __init__(self, text: str, *, published_on: dt.date | None = None) -> None:
        self._numbers = NumberIndex(text, published_on=published_on)
        self._alphanumerics = fold_alphanumerics(text)

    def find_missing(self, sentence: str) -> set[str]:
        return {
            *self._numbers.find_ungrounded(sentence),
            *(name for name in _extract_names(sentence) if name not in self._alphanumerics),
        }


@lru_cache(maxsize=512)
def _get_passage_index(text: str) -> PassageIndex:
    return PassageIndex(text)


@lru_cache(maxsize=256)
def _extract_names(text: str) -> tuple[str, ...]:
    """Return the quoted names and document numbers of a text as letters and digits alone."""
    numbers = (fold_alphanumerics("".join(groups)) + "号" for groups in DOCUMENT_NUMBER.findall(text))
    names = ("".join(groups) for groups in _QUOTED_NAME.findall(text))
    return (*(fold_alphanumerics(name) for name in names if not _PLAN.fullmatch(name)), *numbers)


def _iter_cited_sentences(text: str) -> Iterator[str]:
    """Yield the sentences with their citations, which models write before or after the full stop."""
    for line in text.splitlines():
        bare = _LIST_MARK.sub("", line.replace("**", ""))
        moved = _CITATION_AFTER_STOP.sub(lambda match: f"{match[2].strip()}{match[1]}", bare)
        begun = ""
        for piece in split_sentences(moved):
            begun += piece
            # A quoted question is part of a sentence whose citation is still to come.
            if CITATION.search(begun) or not _QUOTED_QUESTION.search(piece):
                yield begun
                begun = ""
        if begun:
            yield begun


def fold_alphanumerics(text: str) -> str:
    """Return the letters and digits of a text, case and width folded, so that names compare in any typography."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())
