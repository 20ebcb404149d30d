"""Reads the days of a document: when it was made, from when and until when it holds, and what is due by when."""

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.document import StatedDeadline
from monitor.policies import chinese_days, english_days
from monitor.policies.day_mentions import DayBase, add_period
from monitor.policies.day_rules import DayReading, StatedDay
from monitor.policies.document_text import DocumentText, Sentence
from monitor.vocabulary import DeadlineKind

_MAX_PAST_YEARS = 3  # an older day is that of a document that is quoted
_MAX_AHEAD_YEARS = 40


@dataclass(frozen=True)
class DocumentDays:
    """The days of a document, the first of each kind that holds for the whole of it, and how to hand in papers."""

    deadlines: list[StatedDeadline]

    def get_first(self, kind: DeadlineKind) -> StatedDeadline | None:
        """Return the deadline of a kind for the whole document, else its first one."""
        of_kind = [deadline for deadline in self.deadlines if deadline.kind is kind]
        return next((deadline for deadline in of_kind if not deadline.subject), of_kind[0] if of_kind else None)


def read_days(
    document: DocumentText, sentences: Sequence[Sentence], base: DayBase, reading: DayReading
) -> DocumentDays:
    """Return the deadlines of a document, each day of a kind and subject once."""
    rules = chinese_days if document.is_chinese else english_days
    stated = _drop_unlikely(rules.find_stated_days(sentences, reading), base)
    in_force = next((day for day in stated if day.kind is DeadlineKind.IN_FORCE and not day.subject), None)
    start = in_force.day if in_force else base.day
    for term in rules.find_terms(sentences, reading):
        end = add_period(start, term.count, term.unit)
        if end is not None:
            stated.append(StatedDay(DeadlineKind.VALID_UNTIL, end - dt.timedelta(days=1), "", term.start, term.end))
    return DocumentDays([*_merge(document, sorted(stated, key=lambda day: day.start))])


def _drop_unlikely(stated: Iterator[StatedDay], base: DayBase) -> list[StatedDay]:
    origin = base.publication
    if origin is None:
        return list(stated)
    first = origin.replace(year=origin.year - _MAX_PAST_YEARS, day=1)
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
