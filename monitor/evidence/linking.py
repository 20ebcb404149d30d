"""From what an item says to the record and the passage that bear it."""

import asyncio
import datetime as dt
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from monitor.domain.evidence import Claim, ClaimKind, Links
from monitor.domain.page import Attachment, Candidate
from monitor.domain.reading import LedgerEntry
from monitor.domain.sighting import Sighting
from monitor.domain.tables import Item
from monitor.domain.words import DateSource, Disposition
from monitor.errors import RecordLost
from monitor.evidence.grounding import grounded_numbers
from monitor.evidence.passages import MOST_CHARS, Passages, nearest
from monitor.evidence.sentences import split_sentences
from monitor.logs import logger_of

_ON_LISTS = (DateSource.LISTED, DateSource.FEED, DateSource.URL)
_OF_LIST = frozenset({ClaimKind.LIST})
_OF_PAGE = frozenset({ClaimKind.PAGE, ClaimKind.SUMMARY, ClaimKind.FIGURE})
_OPEN_AT_ONCE = 4


class Linker:
    """Links the items of one run to its records. What cannot be linked is left out, and stops nothing.

    `sighting_of` gives what a record holds, by the record's id.
    """

    def __init__(self, sighting_of: Callable[[str], Awaitable[Sighting | None]]) -> None:
        self._sighting_of = sighting_of
        self._opened: OrderedDict[str, Passages | None] = OrderedDict()

    async def listed(self, entries: Sequence[LedgerEntry]) -> Links:
        """The saved candidates of a section, linked to the list pages where they stood."""
        claims = {
            entry.item_id: await self._of_row(entry.item_id, entry.candidate, entry.candidate.record)
            for entry in entries
            if entry.disposition is Disposition.SAVED and entry.item_id is not None and entry.candidate.record
        }
        return Links(claims, instead_of=_OF_LIST)

    async def read(
        self,
        item: Item,
        *,
        record: str,
        title: str,
        text: str,
        summary: str,
        published_on: dt.date | None,
        attachments: Sequence[Attachment],
    ) -> Links:
        """An item, linked to the page that it was read from: its summary by sentences, its figures and dates."""
        on_list = next((one for one in item.evidence if one != record), record)
        claims = [_claim(item.id, ClaimKind.PAGE, item.url, record, "")]
        days = {published_on, item.date if item.date_source is DateSource.PAGE else None} - {None}
        passages = await self._passages(record) if days or attachments else None
        if passages is not None:
            for day in sorted(filter(None, days)):
                passage = await asyncio.to_thread(passages.date, day)
                claims.append(_claim(item.id, ClaimKind.DATE, day.isoformat(), record, passage))
            claims += [
                _claim(item.id, ClaimKind.ATTACHMENT, attachment.url, record, passages.link(attachment.url))
                for attachment in attachments
            ]
        claims += await asyncio.to_thread(_of_summary, item.id, summary, title, text, record, on_list)
        return Links({item.id or 0: claims}, instead_of=_OF_PAGE)

    async def _of_row(self, item_id: int, candidate: Candidate, record: str) -> list[Claim]:
        passages = await self._passages(record)
        date = candidate.date if candidate.date_source in (DateSource.LISTED, DateSource.FEED) else None
        row = "" if passages is None else await asyncio.to_thread(passages.row, candidate.url, candidate.title, date)
        claims = [_claim(item_id, ClaimKind.LIST, candidate.title, record, row)]
        if candidate.date is not None and candidate.date_source in _ON_LISTS:
            passage = "" if passages is None else await asyncio.to_thread(_date_passage, passages, candidate, row)
            claims.append(_claim(item_id, ClaimKind.DATE, candidate.date.isoformat(), record, passage))
        return claims + [
            _claim(item_id, ClaimKind.ATTACHMENT, attachment.url, record, attachment.title)
            for attachment in candidate.attachments
        ]

    async def _passages(self, record_id: str) -> Passages | None:
        """The recorded page, opened; the latest ones are kept open, for one list page bears many items."""
        if record_id in self._opened:
            self._opened.move_to_end(record_id)
            return self._opened[record_id]
        passages: Passages | None = None
        try:
            sighting = await self._sighting_of(record_id)
            if sighting is not None:
                passages = await asyncio.to_thread(Passages, sighting)
        except RecordLost as error:
            logger_of("evidence").warning("not linked", record=record_id, reason=str(error))
        self._opened[record_id] = passages
        while len(self._opened) > _OPEN_AT_ONCE:
            self._opened.popitem(last=False)
        return passages


def _date_passage(passages: Passages, candidate: Candidate, row: str) -> str:
    if candidate.date is None or candidate.date_source is DateSource.URL:
        return passages.href(candidate.url)
    return passages.row_date(candidate.url, row, candidate.date)


def _of_summary(item_id: int | None, summary: str, title: str, text: str, record: str, on_list: str) -> list[Claim]:
    """A claim for each sentence of the summary, and for each number and date in it."""
    sentences = [sentence for line in summary.splitlines() for sentence in split_sentences(line)]
    claims = [_claim(item_id, ClaimKind.SUMMARY, one, record, nearest(one, text)) for one in sentences]
    for number in grounded_numbers(summary, f"{title}\n{text}"):
        if number.passage is not None:
            bearer = record if number.passage in text else on_list
            claims.append(
                _claim(item_id, ClaimKind.FIGURE, number.written, bearer, _around(number.written, number.passage))
            )
    return claims


def _claim(item_id: int | None, kind: ClaimKind, claim: str, record: str, passage: str) -> Claim:
    return Claim(item_id=item_id or 0, kind=kind, claim=claim, record_id=record, passage=passage)


def _around(written: str, passage: str) -> str:
    """A long passage, cut to what stands around a figure; one in which it stands in other signs stays whole."""
    place = passage.find(written)
    if len(passage) <= MOST_CHARS or place < 0:
        return passage
    start = max(place - MOST_CHARS // 2, 0)
    return passage[start : start + MOST_CHARS]
