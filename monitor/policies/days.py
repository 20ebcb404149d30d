"""Reads the days of a document: when it was made, from when and until when it holds, and what is due by when."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.dates import find_dates
from monitor.document import StatedDeadline
from monitor.policies import chinese_days, english_days, english_terms
from monitor.policies.day_mentions import DayBase, add_period
from monitor.policies.day_rules import DayReading, StatedDay
from monitor.policies.document_text import DocumentText, Sentence
from monitor.vocabulary import DeadlineKind

_MAX_PAST_YEARS = 3  # an older day is that of a document that is quoted
_MAX_AHEAD_YEARS = 40
_OF_WHOLE = (DeadlineKind.IN_FORCE, DeadlineKind.VALID_UNTIL)


@dataclass(frozen=True)
class DocumentDays:
    """The days of a document, the first of each kind that holds for the whole of it, and how to hand in papers."""

    deadlines: list[StatedDeadline]

    def get_first(self, kind: DeadlineKind) -> StatedDeadline | None:
        """Return the first deadline of a kind; of validity, one for the whole document before one for a part."""
        of_kind = [deadline for deadline in self.deadlines if deadline.kind is kind]
        whole = [deadline for deadline in of_kind if not deadline.subject and kind in _OF_WHOLE]
        return next(iter([*whole, *of_kind]), None)


def read_days(
    document: DocumentText, sentences: Sequence[Sentence], base: DayBase, reading: DayReading
) -> DocumentDays:
    """Return the deadlines of a document, each day of a kind and subject once."""
    rules = chinese_days if document.is_chinese else english_days
    stated = _drop_unlikely(rules.find_stated_days(sentences, reading), base)
    if document.is_chinese:
        stated += _read_table(document)
    in_force = next((day for day in stated if day.kind is DeadlineKind.IN_FORCE and not day.subject), None)
    start = in_force.day if in_force else None if reading.asks_comments else base.day
    find_terms = chinese_days.find_terms if document.is_chinese else english_terms.find_terms
    for term in find_terms(sentences):
        end = add_period(start, term.count, term.unit)
        if end is not None:
            stated.append(StatedDay(DeadlineKind.VALID_UNTIL, end - dt.timedelta(days=1), "", term.start, term.end))
    return DocumentDays([*_merge(document, sorted(stated, key=lambda day: day.start))])


def _read_table(document: DocumentText) -> Iterator[StatedDay]:
    """Yield the days of a table of standards, each of which is in force from its own."""
    lines = document.lines
    for number, column in chinese_days.find_table_days([line.text for line in lines]):
        line = lines[number]
        days = [date.value.to_date() for date in find_dates(line.text)]
        if day := days[column]:
            yield StatedDay(DeadlineKind.IN_FORCE, day, "", line.start, line.end)


def _drop_unlikely(stated: Iterator[StatedDay], base: DayBase) -> list[StatedDay]:
    origin = base.publication
    if origin is None:
        return list(stated)
    first = origin.replace(year=max(dt.MINYEAR, origin.year - _MAX_PAST_YEARS), day=1)
    return [day for day in stated if first <= day.day and day.day.year <= origin.year + _MAX_AHEAD_YEARS]


def _merge(document: DocumentText, stated: Sequence[StatedDay]) -> Iterator[StatedDeadline]:
    """Yield each deadline once: the words that name a subject are kept, later words that say the same are not."""
    seen: dict[tuple[DeadlineKind, dt.date], StatedDay] = {}
    for day in stated:
        known = seen.get((day.kind, day.day))
        if known is None:
            seen[day.kind, day.day] = day
    for day in seen.values():
        yield StatedDeadline(
            kind=day.kind, day=day.day, subject=day.subject, passage=document.quote(day.start, day.end)
        )
