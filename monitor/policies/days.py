"""Reads the days of a document: when it was made, from when and until when it holds, and what is due by when."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from monitor.dates import find_dates
from monitor.document import StatedDeadline
from monitor.policies import chinese_days, english_days, english_terms
from monitor.policies.day_classifier import classify_day, list_days_in_context
from monitor.policies.day_mentions import DayBase, DayMention, add_period
from monitor.policies.day_rules import HANDED_IN, DayReading, StatedDay
from monitor.policies.document_text import DocumentText, Sentence
from monitor.vocabulary import DeadlineKind, PolicyStage

_MAX_PAST_YEARS = 3  # an older day is that of a document that is quoted
_MAX_AHEAD_YEARS = 40
_CALL = re.compile(
    r"申报|申请|报名|遴选|推荐|征集(?!.{0,12}意见)|招募|揭榜"
    r"|call for (?:applications|proposals|expressions|nominations)"
    r"|applications? (?:open|invited)|expressions? of interest|invitation to (?:apply|tender)|funding round",
    re.IGNORECASE,
)
_HANDING_IN = re.compile(
    r"报送|提交|上报|推荐|申报|寄送|上传|填报|送至|\b(?:submit|send|lodge|file|nominat|register)", re.IGNORECASE
)
_SIGNING_UP = re.compile(
    r"报名|应聘|申报(?:书|表)|\b(?:expressions? of interest|sign up|register to|nominat)", re.IGNORECASE
)
_COMMENTING = re.compile(r"意见|异议|\b(?:comment|respon|submission|view|objection)", re.IGNORECASE)
_MAX_APPOSITION_CHARS = 16
_THAT_IS = re.compile(r"即|也就是|\b(?:that is|i\.e\.|namely|being)|\(\s*$", re.IGNORECASE)
_OF_WHOLE = (DeadlineKind.IN_FORCE, DeadlineKind.VALID_UNTIL)
_BINDING = (*_OF_WHOLE, DeadlineKind.COMPLY_BY)


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
    document: DocumentText, sentences: Sequence[Sentence], base: DayBase, reading: DayReading, stage: PolicyStage | None
) -> DocumentDays:
    """Return the deadlines of a document, each day of a kind and subject once."""
    rules = chinese_days if document.is_chinese else english_days
    proposed = list(rules.find_stated_days(sentences, reading))
    selected = _select_days(document, sentences, proposed, reading, stage)
    stated = _drop_unlikely(selected, base)
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


def _select_days(
    document: DocumentText,
    sentences: Sequence[Sentence],
    proposed: Sequence[StatedDay],
    reading: DayReading,
    stage: PolicyStage | None,
) -> Iterator[StatedDay]:
    """Yield the days that the classifier takes for deadlines, and of the rules those that no date in the text gives."""
    is_chinese = document.is_chinese
    rules = chinese_days if is_chinese else english_days
    calls_for_papers = stage is PolicyStage.PILOT or bool(_CALL.search(document.title))
    named: set[tuple[int, dt.date]] = set()
    for day in list_days_in_context(sentences, proposed, stage=stage, is_chinese=is_chinese):
        sentence, mention = day.sentence, day.mention
        if mention.day is None:
            continue
        named.add((sentence.start, mention.day))
        if mention.is_counted and _is_said_again(sentence, day.place):
            continue
        kind = classify_day(day, is_news=reading.is_news)
        if kind is None or _is_ruled_out(kind, mention, reading):
            continue
        if kind in _BINDING and not day.proposed and rules.is_uncertain(sentence, mention.start, reading):
            continue
        kind = _refine(kind, sentence.text, calls_for_papers=calls_for_papers)
        subject = "" if kind is DeadlineKind.COMMENTS_UNTIL else rules.find_subject(sentence, day.place)
        yield StatedDay(kind, mention.day, subject, sentence.start, sentence.end)
    yield from (day for day in proposed if (day.start, day.day) not in named)


def _is_ruled_out(kind: DeadlineKind, mention: DayMention, reading: DayReading) -> bool:
    """Whether a document cannot state this: a draft counts from no day that is known yet."""
    if reading.asks_comments and kind in _OF_WHOLE and mention.is_counted:
        return True
    is_past = mention.day is not None and reading.published_on is not None and mention.day < reading.published_on
    return kind in HANDED_IN and is_past


def _refine(kind: DeadlineKind, text: str, *, calls_for_papers: bool) -> DeadlineKind:
    """Return what papers are for: in a call for applications they are applications, a name for a list is no comment."""
    if kind is DeadlineKind.COMPLY_BY and calls_for_papers and _HANDING_IN.search(text):
        return DeadlineKind.APPLY_BY
    if kind is DeadlineKind.COMMENTS_UNTIL and _SIGNING_UP.search(text) and not _COMMENTING.search(text):
        return DeadlineKind.APPLY_BY
    return kind


def _is_said_again(sentence: Sentence, place: int) -> bool:
    """Whether the date of a counted day stands behind it: 施行后三个月内，即2027年8月31日前."""
    if place + 1 == len(sentence.days):
        return False
    between = sentence.text[sentence.days[place].end : sentence.days[place + 1].start]
    return len(between) < _MAX_APPOSITION_CHARS and bool(_THAT_IS.search(between))


def _read_table(document: DocumentText) -> Iterator[StatedDay]:
    """Yield the days of a table of standards, each of which is in force from its own."""
    lines = document.lines
    for number, column in chinese_days.find_table_days([line.text for line in lines]):
        line = lines[number]
        days = [date.value.to_date() for date in find_dates(line.text)]
        if day := days[column]:
            yield StatedDay(DeadlineKind.IN_FORCE, day, "", line.start, line.end)


def _drop_unlikely(stated: Iterable[StatedDay], base: DayBase) -> list[StatedDay]:
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
