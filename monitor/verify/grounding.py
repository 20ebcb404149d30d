"""Checks that every number and date of a summary is on its page, and links items to the passages that support them."""

import asyncio
import datetime as dt
import re
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from monitor.dates import DateOrder, WrittenDate, carry_years, detect_order
from monitor.db.reading import LedgerEntry
from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import Claim, ClaimKind, ClaimUpdate
from monitor.errors import RecordLost
from monitor.evidence.passages import MAX_PASSAGE_CHARS, PassageFinder
from monitor.fetch.result import FetchResult
from monitor.logs import get_logger
from monitor.page import Attachment, Candidate
from monitor.verify.figures import NO_UNIT, PERCENT, FiguresAndDates, NumericFigure, are_compatible, parse_figures
from monitor.verify.statements import Judgement
from monitor.vocabulary import DateSource, Disposition

_DECREASE_WORDS = (
    *("降", "减", "跌", "负", "回落", "下滑", "收窄", "亏"),
    *("fell", "fall", "declin", "decreas", "drop", "down", "lower", "reduc", "cut", "minus", "loss"),
)
_SENTENCE = re.compile(r"[^。\n]+。?")


@dataclass(frozen=True, slots=True)
class Grounding:
    """A number or date as a summary writes it, and the sentence of the page that supports it, if any."""

    written: str
    passage: str | None


def find_ungrounded_numbers(summary: str, text: str) -> list[str]:
    """Return the numbers and dates of a summary that its page lacks, as the summary writes them.

    Values are compared, not spellings (contracts, section 4). A number is a whole token with a compatible unit: 30 is
    not supported by 2030 or 1.30, 5% not by 5万, 3元 not by 3美元. A date may be less precise than the page's, never
    more; its year may come from the date before it. A negative number needs a minus or a word for a decrease on the
    other side.
    """
    return NumberIndex(text).find_ungrounded(summary)


class NumberIndex:
    """The numbers and dates of a text, parsed once so that many sentences can be checked against them."""

    def __init__(self, text: str) -> None:
        self._pieces = _SENTENCE.findall(text)
        self._order = detect_order(text)
        findings = [parse_figures(piece, is_page=True, order=self._order) for piece in self._pieces]
        self._dates = list(_iter_dates_with_sentences(findings))
        self._by_value = _index_by_value(findings)
        self._has_percent = "%" in text or "％" in text
        self._mentions_decrease = _mentions_decrease(text)

    def find_ungrounded(self, summary: str) -> list[str]:
        return list(dict.fromkeys(number.written for number in self.ground(summary) if number.passage is None))

    def ground(self, summary: str) -> list[Grounding]:
        """Return every number and date of a summary with the sentence that supports it."""
        claimed = _parse_claims(summary, self._order)
        is_falling = _mentions_decrease(summary)
        dates = ((date.written, self._find_date_sentence(date)) for date in claimed.dates)
        figures = (
            (figure.written, self._find_figure_sentence(figure, is_falling=is_falling)) for figure in claimed.figures
        )
        return [
            Grounding(written, None if piece is None else self._pieces[piece].strip())
            for written, piece in (*dates, *figures)
        ]

    def _find_date_sentence(self, date: WrittenDate) -> int | None:
        return next((index for other, index in self._dates if other.covers(date)), None)

    def _find_figure_sentence(self, figure: NumericFigure, *, is_falling: bool) -> int | None:
        for value, kind in figure.readings:
            for other, other_kind, index in self._by_value.get(value, ()):
                is_same_kind = are_compatible(kind, other_kind) or (
                    self._has_percent and _is_percent_column(kind, other, other_kind)
                )
                is_same_sign = figure.is_negative == other.is_negative or (
                    self._mentions_decrease if figure.is_negative else is_falling
                )
                if is_same_kind and is_same_sign:
                    return index
        return None


@lru_cache(maxsize=256)
def _parse_claims(summary: str, order: DateOrder | None) -> FiguresAndDates:
    # A sentence is checked against many texts.
    return parse_figures(summary, is_page=False, order=order)


def _iter_dates_with_sentences(findings: Sequence[FiguresAndDates]) -> Iterator[tuple[WrittenDate, int]]:
    """Yield the dates of a page with the indexes of their sentences, years carried over to dates without one."""
    flat = [(date, index) for index, finding in enumerate(findings) for date in finding.dates]
    for place, date in carry_years([date for date, _ in flat]):
        yield date, flat[place][1]


def _index_by_value(findings: Sequence[FiguresAndDates]) -> dict[Fraction, list[tuple[NumericFigure, str, int]]]:
    index: dict[Fraction, list[tuple[NumericFigure, str, int]]] = defaultdict(list)
    for number, finding in enumerate(findings):
        for figure in finding.figures:
            for value, kind in figure.readings:
                index[value].append((figure, kind, number))
    return index


def _is_percent_column(claimed: str, other: NumericFigure, other_kind: str) -> bool:
    # Statistical tables have the sign only in the header; decimals make a coincidence unlikely.
    return claimed == PERCENT and other_kind == NO_UNIT and other.has_decimals


def _mentions_decrease(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _DECREASE_WORDS)


_LIST_DATE_SOURCES = (DateSource.LISTED, DateSource.FEED, DateSource.URL)
_LIST_CLAIMS = frozenset({ClaimKind.LIST})
_PAGE_CLAIMS = frozenset({ClaimKind.PAGE, ClaimKind.SUMMARY, ClaimKind.FIGURE})
_MAX_OPEN_PAGES = 4


class EvidenceLinker:
    """Links the items of one run to its evidence records, which `load_result` loads by their ids."""

    def __init__(self, load_result: Callable[[str], Awaitable[FetchResult | None]]) -> None:
        self._load_result = load_result
        self._opened: OrderedDict[str, PassageFinder | None] = OrderedDict()

    async def link_list(self, entries: Sequence[LedgerEntry]) -> ClaimUpdate:
        """Return the claims of a section's saved candidates, with rows of their list pages as passages."""
        claims = {
            entry.item_id: await self._build_row_claims(entry.item_id, entry.candidate, entry.candidate.record)
            for entry in entries
            if entry.disposition is Disposition.SAVED and entry.item_id is not None and entry.candidate.record
        }
        return ClaimUpdate(claims, replaced_kinds=_LIST_CLAIMS)

    async def link_article(
        self,
        item: Item,
        *,
        record: str,
        title: str,
        text: str,
        statements: Sequence[tuple[str, Judgement]],
        published_on: dt.date | None,
        attachments: Sequence[Attachment],
    ) -> ClaimUpdate:
        """Return the claims of an item from its page: its url, dates, attachments, summary sentences and figures.

        `statements` are the sentences of its summary, each with the judgement on it.
        """
        on_list = next((other for other in item.evidence if other != record), record)
        claims = [_build_claim(item.id, ClaimKind.PAGE, item.url, record, "")]
        days = {published_on, item.date if item.date_source is DateSource.PAGE else None} - {None}
        passages = await self._open_passages(record) if days or attachments else None
        if passages is not None:
            for day in sorted(filter(None, days)):
                passage = await asyncio.to_thread(passages.find_date, day)
                claims.append(_build_claim(item.id, ClaimKind.DATE, day.isoformat(), record, passage))
            urls = [attachment.url for attachment in attachments]
            claims += [
                _build_claim(item.id, ClaimKind.ATTACHMENT, url, record, passages.find_link_text(url)) for url in urls
            ]
        claims += await asyncio.to_thread(_build_summary_claims, item.id, statements, title, text, record, on_list)
        return ClaimUpdate({item.id or 0: claims}, replaced_kinds=_PAGE_CLAIMS)

    async def _build_row_claims(self, item_id: int, candidate: Candidate, record: str) -> list[Claim]:
        passages = await self._open_passages(record)
        date = candidate.date if candidate.date_source in (DateSource.LISTED, DateSource.FEED) else None
        row = passage = ""
        if passages is not None:
            row = await asyncio.to_thread(passages.find_row, candidate.url, candidate.title, date)
        claims = [_build_claim(item_id, ClaimKind.LIST, candidate.title, record, row)]
        if candidate.date is not None and candidate.date_source in _LIST_DATE_SOURCES:
            if passages is not None:
                passage = await asyncio.to_thread(_find_date_passage, passages, candidate, row)
            claims.append(_build_claim(item_id, ClaimKind.DATE, candidate.date.isoformat(), record, passage))
        return claims + [
            _build_claim(item_id, ClaimKind.ATTACHMENT, attachment.url, record, attachment.title)
            for attachment in candidate.attachments
        ]

    async def _open_passages(self, record_id: str) -> PassageFinder | None:
        """Return the recorded page, from a cache of the latest ones; None where it cannot be loaded."""
        if record_id in self._opened:
            self._opened.move_to_end(record_id)
            return self._opened[record_id]
        passages: PassageFinder | None = None
        try:
            result = await self._load_result(record_id)
            if result is not None:
                passages = await asyncio.to_thread(PassageFinder, result)
        except RecordLost as error:
            get_logger("evidence").warning("not linked", record=record_id, reason=str(error))
        self._opened[record_id] = passages
        while len(self._opened) > _MAX_OPEN_PAGES:
            self._opened.popitem(last=False)
        return passages


def _find_date_passage(passages: PassageFinder, candidate: Candidate, row: str) -> str:
    if candidate.date is None or candidate.date_source is DateSource.URL:
        return passages.find_href(candidate.url)
    return passages.find_row_date(candidate.url, row, candidate.date)


def _build_summary_claims(
    item_id: int | None, statements: Sequence[tuple[str, Judgement]], title: str, text: str, record: str, on_list: str
) -> list[Claim]:
    """Return a claim for each sentence of the summary, with its verdict, and for each number and date in it."""
    claims = [_build_statement_claim(item_id, sentence, judgement, record) for sentence, judgement in statements]
    summary = "\n".join(sentence for sentence, _ in statements)
    for number in NumberIndex(f"{title}\n{text}").ground(summary):
        if number.passage is not None:
            source = record if number.passage in text else on_list
            passage = _cut_around_figure(number.written, number.passage)
            claims.append(_build_claim(item_id, ClaimKind.FIGURE, number.written, source, passage))
    return claims


def _build_statement_claim(item_id: int | None, sentence: str, judgement: Judgement, record: str) -> Claim:
    claim = _build_claim(item_id, ClaimKind.SUMMARY, sentence, record, judgement.passage)
    claim.verdict, claim.judged_by = judgement.verdict, judgement.by
    claim.reasons = [reason.model_dump(mode="json") for reason in judgement.reasons]
    return claim


def _build_claim(item_id: int | None, kind: ClaimKind, claim: str, record: str, passage: str) -> Claim:
    return Claim(item_id=item_id or 0, kind=kind, claim=claim, record_id=record, passage=passage)


def _cut_around_figure(written: str, passage: str) -> str:
    """Return a long passage cut to the text around a figure, whole if the figure is spelled differently in it."""
    place = passage.find(written)
    if len(passage) <= MAX_PASSAGE_CHARS or place < 0:
        return passage
    start = max(place - MAX_PASSAGE_CHARS // 2, 0)
    return passage[start : start + MAX_PASSAGE_CHARS]
