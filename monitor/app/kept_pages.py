"""Kept pages, read again as text with a passage in it: for whoever wants to see for himself, person or program."""

import asyncio
import datetime as dt
import tempfile
from pathlib import Path

from pydantic import BaseModel

from monitor.domain.evidence import Record
from monitor.domain.sighting import Sighting, Way
from monitor.errors import RecordLost, WorkFailed
from monitor.evidence.records import Records
from monitor.evidence.showing import Shown, all_text, shown, shown_text
from monitor.pages.filetype import extension_of
from monitor.ports import DocumentReader
from monitor.store import Store

_READ_APART = ("pdf", "docx", "xlsx")


class KeptPage(BaseModel):
    """A kept page as text. `start` and `end` are where the passage stands in it; None where it does not, or none is.

    `problem` says why there is no text: the record is gone, or is not any more what was kept. `is_source`: the text is
    a piece of the page's markup, for the passage stands in nothing that people see. `is_cut`: there is more of it.
    """

    title: str
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


class KeptPages:
    """Reads what records hold; `documents` reads what is no web page."""

    def __init__(self, *, store: Store, records: Records, documents: DocumentReader) -> None:
        self._store = store
        self._records = records
        self._documents = documents

    async def page(self, record: Record, *, title: str, passage: str = "") -> KeptPage:
        """The page of a record, with a passage in it."""
        told = KeptPage(
            title=title,
            passage=passage,
            record=record.id,
            **record.model_dump(include={"url", "final_url", "way", "status", "fetched_at", "sha256"}),
        )
        try:
            found = await self._shown(record, passage, title)
        except (RecordLost, WorkFailed) as error:
            return told.model_copy(update={"problem": str(error)})
        return told.model_copy(
            update={
                "text": found.text,
                "start": found.start,
                "end": found.end,
                "is_source": found.is_source,
                "is_cut": found.is_cut,
            }
        )

    async def text(self, record_id: str) -> str | None:
        """All that the page of a record says; None where it is gone, or is not any more what was kept."""
        record = await self._store.evidence.record(record_id)
        if record is None:
            return None
        try:
            sighting = await self._records.sighting(record)
            kind = _kind_of(sighting)
            if kind in _READ_APART:
                return await self._document(sighting, kind)
            return "" if sighting.body is None else await asyncio.to_thread(all_text, sighting)
        except (RecordLost, WorkFailed):
            return None

    async def _shown(self, record: Record, passage: str, title: str) -> Shown:
        sighting = await self._records.sighting(record)
        if sighting.body is None:
            return Shown("")
        kind = _kind_of(sighting)
        if kind in _READ_APART:
            return await asyncio.to_thread(shown_text, await self._document(sighting, kind), passage, near=title)
        return await asyncio.to_thread(shown, sighting, passage, near=title)

    async def _document(self, sighting: Sighting, kind: str) -> str:
        with tempfile.TemporaryDirectory(prefix="monitor-saved-") as folder:
            path = Path(folder) / f"document.{kind}"
            await asyncio.to_thread(path.write_bytes, sighting.body or b"")
            return await self._documents.read(path)


def _kind_of(sighting: Sighting) -> str:
    if sighting.body is None:
        return ""
    return extension_of(sighting.body, url=sighting.final_url, content_type=sighting.content_type)
