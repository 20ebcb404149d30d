"""The pages of a research: from the archive where they were saved, else from their sites; all of them on record."""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path

from monitor.domain.page import Page, PageErrorCode
from monitor.domain.urls import clean_url, url_key
from monitor.domain.words import Render
from monitor.errors import WorkFailed
from monitor.ports import DocumentReader, PageLoader
from monitor.store import Store


class ResearchPages:
    """Loads the pages of one research (`ports.PageLoader`). `loader` keeps what it sees.

    Paragraphs that are at work at once find the same pages: who asks for one that is under way gets that one.
    """

    def __init__(self, *, store: Store, loader: PageLoader, documents: DocumentReader) -> None:
        self._store = store
        self._loader = loader
        self._documents = documents
        self._under_way: dict[tuple[str, Render], asyncio.Future[Page | None]] = {}

    async def load(self, url: str, *, render: Render = Render.AUTO) -> Page:
        """The page at `url`; one that is a document has its text too. What went wrong outside is its `error`."""
        asked = (clean_url(url) or url, render)
        while (other := self._under_way.get(asked)) is not None:
            await asyncio.wait({other})
            if (page := other.result()) is not None:
                return page
        mine = self._under_way[asked] = asyncio.get_running_loop().create_future()
        page = None
        try:
            page = await self._loaded(url, render)
        finally:  # broken off, it gave nothing: those who waited try for themselves
            del self._under_way[asked]
            mine.set_result(page)
        return page

    async def _loaded(self, url: str, render: Render) -> Page:
        saved = await self._saved(url)
        if saved is not None:
            return saved
        page = await self._loader.load(url, render=render)
        if page.error is not None and page.error.code is PageErrorCode.UNSUPPORTED_TYPE:
            return await self._document(page)
        return page

    async def download(self, url: str, folder: Path) -> Path:
        """The document at `url`, from its site."""
        return await self._loader.download(url, folder)

    def can_draw(self) -> bool:
        """Whether there is a browser to draw with."""
        return self._loader.can_draw()

    def notes(self) -> Mapping[str, str]:
        """What is to be said about getting there, by url."""
        return self._loader.notes()

    async def _saved(self, url: str) -> Page | None:
        """The page of an item as it was kept; None where none was, or no text of it."""
        address = clean_url(url)
        item = await self._store.items.at(url_key(address)) if address else None
        text = await self._store.items.text(item.id or 0) if item else None
        if address is None or item is None or not text:
            return None
        record = await self._store.evidence.record(next(reversed(item.evidence), ""))
        is_kept = record is not None and record.stored_at is not None
        return Page(
            url=address,
            final_url=record.final_url if record and is_kept else item.url,
            title=item.title,
            text=text,
            published_on=item.date or item.page_date,
            date_source=item.date_source,
            language=item.language,
            issuer=item.issuer,
            document_number=item.document_number,
            fetched_at=record.fetched_at if record else item.first_seen,
            sha256=record.sha256 if record else None,
            record=record.id if record and is_kept else None,
        )

    async def _document(self, page: Page) -> Page:
        with tempfile.TemporaryDirectory(prefix="monitor-research-") as folder:
            try:
                path = await self._loader.download(page.url, Path(folder))
                text = await self._documents.read(path)
            except WorkFailed:
                return page
        return page.model_copy(update={"text": text, "error": None})
