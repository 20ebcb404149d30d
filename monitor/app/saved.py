"""The use case of seeing for oneself: the saved page behind a statement, as text, with the passage that bears it."""

import asyncio
import datetime as dt
import tempfile
from pathlib import Path

from pydantic import BaseModel

from monitor.domain.evidence import Claim, ClaimKind, Record
from monitor.domain.sighting import Sighting, Way
from monitor.domain.tables import Item
from monitor.errors import NotFound, RecordLost, WorkFailed
from monitor.evidence.records import Records
from monitor.evidence.showing import Shown, shown, shown_text
from monitor.pages.filetype import extension_of
from monitor.ports import DocumentReader
from monitor.store import Store

_READ_APART = ("pdf", "docx", "xlsx")


class SavedPage(BaseModel):
    """A saved page as text. `start` and `end` are where the passage stands in it; None where it does not, or none is.

    `problem` says why there is no text: the record is gone, or is not any more what was kept. `is_source`: the text is
    a piece of the page's markup, for the passage stands in nothing that people see. `is_cut`: there is more of it.
    """

    item_id: int
    title: str
    claim_number: int | None = None
    kind: ClaimKind | None = None
    claim: str = ""
    passage: str = ""
    record: str
    url: str
    final_url: str
    way: Way
    status: int | None
    fetched_at: dt.datetime
    sha256: str | None
    text: str = ""
    start: int | None = None
    end: int | None = None
    is_source: bool = False
    is_cut: bool = False
    problem: str = ""


class SavedPageDesk:
    """Shows what items rest on."""

    def __init__(self, *, store: Store, records: Records, documents: DocumentReader) -> None:
        self._store = store
        self._records = records
        self._documents = documents

    async def page(self, item_id: int, claim_number: int | None = None) -> SavedPage:
        """The saved page behind a claim of an item, counted from 1 in the order of its evidence.

        Without a number it is the item's own page. `NotFound` where there is no such item or claim, or nothing was
        kept.
        """
        item = await self._store.items.get(item_id)
        if item is None:
            raise NotFound(f"There is no item {item_id}.")
        claim = await self._claim(item_id, claim_number)
        record = await self._store.evidence.record(_record_id(item, claim))
        if record is None:
            raise NotFound(f"Of the item {item_id} no page was kept, or not any more.")
        told = SavedPage(
            item_id=item_id, title=item.title, claim_number=claim_number, record=record.id,
            **record.model_dump(include={"url", "final_url", "way", "status", "fetched_at", "sha256"}),
        )  # fmt: skip
        if claim is not None and claim_number is not None:
            update = {"kind": claim.kind, "claim": claim.claim, "passage": claim.passage}
            told = told.model_copy(update=update)
        try:
            found = await self._read(record, told.passage, item.title)
        except (RecordLost, WorkFailed) as error:
            return told.model_copy(update={"problem": str(error)})
        return told.model_copy(
            update={
                "text": found.text, "start": found.start, "end": found.end, "is_source": found.is_source,
                "is_cut": found.is_cut,
            }
        )  # fmt: skip

    async def _claim(self, item_id: int, number: int | None) -> Claim | None:
        claims = await self._store.evidence.claims(item_id)
        if number is None:
            return next((one for one in claims if one.kind is ClaimKind.PAGE), None)
        if not 1 <= number <= len(claims):
            raise NotFound(f"The item {item_id} has no claim {number}; its evidence counts {len(claims)}.")
        return claims[number - 1]

    async def _read(self, record: Record, passage: str, title: str) -> Shown:
        sighting = await self._records.sighting(record)
        if sighting.body is None:
            return Shown("")
        kind = extension_of(sighting.body, url=sighting.final_url, content_type=sighting.content_type)
        if kind in _READ_APART:
            return await asyncio.to_thread(shown_text, await self._document(sighting, kind), passage, near=title)
        return await asyncio.to_thread(shown, sighting, passage, near=title)

    async def _document(self, sighting: Sighting, kind: str) -> str:
        with tempfile.TemporaryDirectory(prefix="monitor-saved-") as folder:
            path = Path(folder) / f"document.{kind}"
            await asyncio.to_thread(path.write_bytes, sighting.body or b"")
            return await self._documents.read(path)


def _record_id(item: Item, claim: Claim | None) -> str:
    """The record of the claim; without one the last that the item names, which is its own page."""
    return claim.record_id if claim is not None else next(reversed(item.evidence), "")
