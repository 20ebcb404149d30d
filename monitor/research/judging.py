"""Whether a sentence, a heading or a row of a report may stand, held against the notes that it cites."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from monitor.evidence.citing import CITATION, LEAST_CHARS, MOST_CHARS, Cited, has_particulars, missing_from
from monitor.evidence.instructions import reads_as_instruction
from monitor.evidence.sentences import WEB_ADDRESS
from monitor.evidence.vocabulary import is_chinese, shared, words_of
from monitor.research.findings import quotes_of
from monitor.research.quotes import NEAR, bears
from monitor.research.shapes import Note

_LINK = re.compile(r"\]\s?\(")
_MOST_HEADING_CHARS = 80


@dataclass(frozen=True)
class Verdict:
    """What may stand of a sentence: its words, and the notes from 1 that bear it; or the kind of its `fault`.

    `strays` is the number of citations of nothing that were taken out of it.
    """

    text: str
    numbers: tuple[int, ...] = ()
    fault: str = ""
    strays: int = 0


class Judge:
    """Knows the notes of a research and its question; its verdict on the same sentence is always the same."""

    def __init__(self, notes: Sequence[Note], *, query: str) -> None:
        self.notes = notes
        self._quotes = [quotes_of(note) for note in notes]
        self._all = [query, *(quote for quotes in self._quotes for quote in quotes)]

    def sentence(self, cited: Cited) -> Verdict:
        """A sentence stands where the notes that it cites bear it, and cites those alone."""
        verdict = self.row(cited)
        if not verdict.fault and not LEAST_CHARS <= len(verdict.text) <= MOST_CHARS:
            return Verdict(verdict.text, fault="uncited", strays=verdict.strays)
        return verdict

    def row(self, cited: Cited) -> Verdict:
        """The same for a row or a point, which may be as short as it likes."""
        strays = len(CITATION.findall(cited.text))
        text = CITATION.sub("", cited.text).strip()
        if WEB_ADDRESS.search(text) or _LINK.search(text):
            return Verdict(text, fault="urls", strays=strays)
        if not cited.numbers:
            return Verdict(text, fault="uncited", strays=strays)
        numbers = self._bearers(text, cited.numbers)
        if not numbers:
            return Verdict(text, fault="figures" if has_particulars(text) else "uncited", strays=strays)
        if reads_as_instruction(text) or not self._is_about(text, numbers):
            return Verdict(text, fault="uncited", strays=strays)
        return Verdict(text, numbers, strays=strays)

    def heading(self, text: str) -> str:
        """The kind of a heading's fault; empty where it may stand: its figures are the question's or some note's."""
        if WEB_ADDRESS.search(text) or _LINK.search(text):
            return "urls"
        if not text or len(text) > _MOST_HEADING_CHARS or reads_as_instruction(text):
            return "uncited"
        return "figures" if any(map(_has_digit, missing_from(text, self._all))) else ""

    def bearers(self, text: str) -> tuple[int, ...]:
        """All notes, from 1, that bear a text by themselves."""
        return tuple(number for number, quotes in enumerate(self._quotes, 1) if not missing_from(text, quotes))

    def with_fewest(self, verdict: Verdict, cited: Sequence[int]) -> tuple[int, ...]:
        """The notes of a sentence, in place of each one of the same page that bears all and is `cited` already."""
        numbers = []
        for number in verdict.numbers:
            url = self.notes[number - 1].source_url
            alike = [
                one for one in cited if self.notes[one - 1].source_url == url and self._bearers(verdict.text, [one])
            ]
            numbers.append(number if number in cited or not alike else alike[0])
        return tuple(dict.fromkeys(numbers))

    def _bearers(self, text: str, cited: Sequence[int]) -> tuple[int, ...]:
        """Those of the cited notes that bear a text: each by itself, or else all that bear a part, together."""
        quotes = {number: self._quotes[number - 1] for number in cited}
        if not has_particulars(text):
            return self._of_pages(number for number, own in quotes.items() if bears(own, text))
        missing = {number: missing_from(text, own) for number, own in quotes.items()}
        if alone := self._of_pages(number for number, one in missing.items() if not one):
            return alone
        whole = missing_from(text, [""])
        together = tuple(number for number, one in missing.items() if one < whole)
        return together if together and not set.intersection(*(missing[one] for one in together)) else ()

    def _of_pages(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """The first of the notes of each page."""
        by_page: dict[str, int] = {}
        for number in numbers:
            by_page.setdefault(self.notes[number - 1].source_url, number)
        return tuple(by_page.values())

    def _is_about(self, text: str, numbers: Sequence[int]) -> bool:
        """Whether the notes speak of what a text speaks of; across languages no words can be compared."""
        told = "\n".join(
            part for number in numbers for part in (self.notes[number - 1].summary, *self._quotes[number - 1])
        )
        words = words_of(text)
        return not words or shared(words, words_of(told)) >= NEAR or is_chinese(text) != is_chinese(told)


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)
