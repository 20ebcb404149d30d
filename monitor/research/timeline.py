"""The dated facts of the notes, in the order of their dates."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.evidence.calendar_dates import WrittenDate, dates_in
from monitor.evidence.figures import fold
from monitor.evidence.sentences import split_sentences
from monitor.research.shapes import Note

LEAST_NOTES = 3
MOST_FACTS = 12
_MOST_CHARS = 160


@dataclass(frozen=True)
class DatedFact:
    """What happened on a day, or in a month, as the note of that number, from 1, says it."""

    written: str
    text: str
    number: int
    day: tuple[int, int, int]


def timeline(notes: Sequence[Note]) -> list[DatedFact]:
    """The sentences of the notes that say year and month, by their first such date; each sentence once.

    Nothing where fewer than three notes have one: that is no course of events.
    """
    facts: dict[str, DatedFact] = {}
    for number, note in enumerate(notes, start=1):
        for sentence in split_sentences(note.summary):
            date = _first_date(sentence)
            if date is not None and len(sentence) <= _MOST_CHARS:
                day = (date.year or 0, date.month or 0, date.day or 0)
                facts.setdefault(sentence, DatedFact(date.written, sentence, number, day))
    if len({fact.number for fact in facts.values()}) < LEAST_NOTES:
        return []
    return sorted(facts.values(), key=lambda one: (one.day, one.number))[-MOST_FACTS:]


def _first_date(sentence: str) -> WrittenDate | None:
    return next((date for date in dates_in(fold(sentence)) if date.year is not None and date.month is not None), None)
