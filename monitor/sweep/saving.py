"""Saving an item: what is kept is the page's, not the model's."""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum

from pydantic import BaseModel

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.tables.collection import Item, Source
from monitor.i18n.message import Message
from monitor.page import Candidate
from monitor.ranking.rule import classify_item_type
from monitor.sweep.ledger import CandidateEntry, CoverageLedger
from monitor.sweep.progress import Progress, ProgressCallback, discard_progress
from monitor.urls import clean_url, url_key
from monitor.vocabulary import Disposition, EventKind, ItemType, Phase, SavedBy


class SaveRefusal(StrEnum):
    """Why a save was refused; the word is the tool's answer."""

    NOT_ON_PAGE = "url_not_on_any_page_seen"
    NO_TITLE = "title_missing"
    BAD_SCHEME = "url_scheme_is_not_http"
    OUT_OF_RANGE = "date_outside_range"
    UNDATED = "no_date_on_list_url_or_article"
    KNOWN = "already_saved"
    FILTERED = "excluded_by_the_administrator"
    NO_ROOM = "limit_of_items_reached"


_REFUSAL_BY_DISPOSITION = {
    Disposition.SAVED: SaveRefusal.KNOWN,
    Disposition.KNOWN: SaveRefusal.KNOWN,
    Disposition.OUT_OF_RANGE: SaveRefusal.OUT_OF_RANGE,
    Disposition.FILTERED: SaveRefusal.FILTERED,
    Disposition.OVER_LIMIT: SaveRefusal.NO_ROOM,
}


class SaveRequest(BaseModel):
    """What an agent wants to save, as it says it; nothing in it is believed but the choice itself."""

    title: str = ""
    url: str = ""
    date: dt.date | None = None
    type: str = ""
    summary: str = ""


class ItemSaver:
    """Where items of one section are saved: the ledger decides, the store keeps."""

    def __init__(
        self,
        *,
        source: Source,
        ledger: CoverageLedger,
        store: Store,
        clock: Clock,
        date_candidate: Callable[[Candidate], Awaitable[Candidate]],
        adopt_summary: Callable[[Item, str], Awaitable[bool]],
        report_progress: ProgressCallback = discard_progress,
    ) -> None:
        self.ledger = ledger
        self.items: list[Item] = []
        self.refused_saves = 0
        self.corrected_dates = 0
        self._source = source
        self._store = store
        self._clock = clock
        self._date_candidate = date_candidate
        self._adopt_summary = adopt_summary
        self._report_progress = report_progress

    async def save_requested(self, request: SaveRequest, *, links: dict[str, Candidate]) -> Item | SaveRefusal:
        """Save what an agent asks for, in the page's own words, or say why not.

        `links` are all links on the pages that the agent saw, by url key: one that is no candidate of the list may
        be saved too, under its text on the page and the date of its article.
        """
        found = await self._admit(request, links)
        if isinstance(found, SaveRefusal):
            self.refused_saves += found is not SaveRefusal.KNOWN
            return found
        if request.date is not None and request.date != found.candidate.date:
            self.corrected_dates += 1
        kind = ItemType(request.type) if request.type in set(ItemType) else None
        (item,) = await self._save([found], by=SavedBy.AGENT, kind=kind)
        if request.summary.strip():
            await self._adopt_summary(item, request.summary)
        return item

    async def save_open(self) -> None:
        """Keep the open candidates as items, by rule, as far as there is room."""
        await self._save(self.ledger.list_open_entries()[: self.ledger.room], by=SavedBy.RULE)

    async def _save(
        self, entries: Sequence[CandidateEntry], *, by: SavedBy, kind: ItemType | None = None
    ) -> list[Item]:
        saved = await self._store.items.save_all([self._build_item(entry, by, kind) for entry in entries])
        kept = [item for item, _ in saved]
        for entry, item in zip(entries, kept, strict=True):
            entry.settle(Disposition.SAVED, Message(f"candidate.{by}"), item.id)
            self._report_saved(item)
        self.items += kept
        return kept

    def _report_saved(self, item: Item) -> None:
        self._report_progress(
            Progress(
                phase=Phase.CRAWL,
                place=self.ledger.section,
                kind=EventKind.SAVED,
                title=item.title,
                url=item.url,
                item_id=item.id,
            )
        )

    def _build_item(self, entry: CandidateEntry, by: SavedBy, kind: ItemType | None) -> Item:
        candidate = entry.candidate
        return Item(
            source_id=self._source.id,
            run_id=self.ledger.run_id,
            source=self._source.name,
            section=self.ledger.section,
            url_key=url_key(candidate.url),
            type=kind or classify_item_type(candidate.title, self.ledger.section),
            by=by,
            late=entry.is_late,
            first_seen=self._clock.now(),
            **candidate.model_dump(exclude={"record"}),
        )

    async def _admit(self, request: SaveRequest, links: dict[str, Candidate]) -> CandidateEntry | SaveRefusal:
        if not request.title.strip():
            return SaveRefusal.NO_TITLE
        url = clean_url(request.url)
        if url is None:
            return SaveRefusal.BAD_SCHEME
        entry = self.ledger.find(url)
        if entry is None:
            return await self._admit_link(links.get(url_key(url)))
        if entry.disposition is not None:
            return _REFUSAL_BY_DISPOSITION.get(entry.disposition, SaveRefusal.UNDATED)
        return entry if self.ledger.has_room else SaveRefusal.NO_ROOM

    async def _admit_link(self, link: Candidate | None) -> CandidateEntry | SaveRefusal:
        if link is None:
            return SaveRefusal.NOT_ON_PAGE
        if not link.title.strip():
            return SaveRefusal.NO_TITLE
        link = link if link.date else await self._date_candidate(link)
        if link.date is None:
            return SaveRefusal.UNDATED
        if link.date not in self.ledger.window:
            return SaveRefusal.OUT_OF_RANGE
        return self.ledger.add_extra(link, page_url=link.url) if self.ledger.has_room else SaveRefusal.NO_ROOM
