"""Looking at researches: the history, one with all that it has, the page behind a note, the report as a document."""

import datetime as dt
from collections.abc import Callable

from monitor.app.kept_pages import KeptPage, KeptPages
from monitor.app.research_notebook import StoreNotebook
from monitor.app.research_view import ResearchSummary, ResearchView, summary_of, view_of
from monitor.domain.reading import Usage
from monitor.domain.research import Research, ResearchRemark
from monitor.domain.sighting import Way
from monitor.errors import Conflict, NotFound
from monitor.formats.document import Document
from monitor.research.document import report_document
from monitor.research.findings import NoteBasis
from monitor.research.shapes import Note
from monitor.research.state import SearchEntry, State
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.research import ResearchKey
from monitor.store.sessions import storable

CitationUrl = Callable[[int], str | None]
"""Where the reader of a report is led by a citation of the note at an index, from 0; None: to the source itself."""


class NotePage(KeptPage):
    """The page behind a note with one of its quotes; `claim` is what the note says by it.

    Where the page itself is not kept any more, `record` is empty and the text is what of it was read.
    """

    task_id: str
    note_index: int
    quote: int
    claim: str


class ResearchReading:
    def __init__(self, *, store: Store, pages: KeptPages, settings: Settings) -> None:
        self._store = store
        self._pages = pages
        self._settings = settings

    async def row(self, task_id: str) -> Research:
        """The research of that id as it is on record; `NotFound` where there is none."""
        research = await self._store.research.get(storable(task_id))
        if research is None:
            raise NotFound(f"There is no research {task_id!r}; `/research` and `GET /api/research` list them.")
        return research

    async def get(self, task_id: str) -> ResearchView:
        """A research with all that it has so far."""
        research = await self.row(task_id)
        latest = await self._store.research_events.latest(research.id)
        return view_of(research, latest, await self._store.usage.for_run(research.id))

    async def state(self, task_id: str) -> State | None:
        """The plan with its paragraphs as they stand; None before there is one."""
        return await StoreNotebook(self._store, (await self.row(task_id)).id).state()

    async def remarks(self, task_id: str) -> list[ResearchRemark]:
        """What people said while it ran."""
        return await self._store.research.remarks((await self.row(task_id)).id)

    async def passage(self, task_id: str, note_index: int, quote: int = 0) -> NotePage:
        """The kept page behind a note, with the quote of that number, from 0, marked in it."""
        research = await self.row(task_id)
        found = view_of(research, None, Usage())
        if not 0 <= note_index < len(found.notes):
            raise NotFound(f"The research {task_id} has no note {note_index}; it has {len(found.notes)}.")
        note, basis = found.notes[note_index], found.bases[note_index]
        if not 0 <= quote < max(len(note.evidence), 1):
            raise NotFound(f"The note {note_index} has no quote {quote}; it has {len(note.evidence)}.")
        passage = note.evidence[quote].quote if note.evidence else ""
        record = await self._store.evidence.record(basis.record) if basis.record else None
        page = await self._pages.page(record, title=basis.title, passage=passage) if record else None
        if page is None or page.problem:
            page = await self._as_read(research.id, note, basis, passage) or page
        if page is None:
            raise NotFound(f"Of the page {note.source_url} nothing is kept any more.")
        return NotePage(
            **page.model_dump(), task_id=research.id, note_index=note_index, quote=quote, claim=note.summary
        )

    async def document(self, task_id: str, *, citation_url: CitationUrl | None = None) -> Document:
        """The report as a document; `Conflict` while there is none.

        Where the service has an address that others reach, its citations lead to the kept pages there.
        """
        research = await self.row(task_id)
        view = view_of(research, None, Usage())
        if view.report is None:
            raise Conflict(f"The research {task_id} has no report yet: it is {view.status}.")
        return report_document(
            view.report,
            query=view.query,
            notes=view.notes,
            bases=view.bases,
            score=view.score,
            blueprint=view.blueprint,
            language=view.language,
            citation_url=citation_url or self._noted_at(research.id),
            written_at=view.ended_at,
        )

    async def list(self, *, limit: int = 50, after: ResearchKey | None = None, text: str = "") -> list[ResearchSummary]:
        """The history, newest first, of those whose question holds the text; `after` the last row that was shown."""
        rows = await self._store.research.rows(after=after, text=text, limit=limit)
        return [summary_of(row) for row in rows]

    def _noted_at(self, task_id: str) -> CitationUrl:
        home = self._settings.web.public_url
        return lambda index: f"{home.rstrip('/')}/research/{task_id}/notes/{index}" if home else None

    async def _as_read(self, task_id: str, note: Note, basis: NoteBasis, passage: str) -> KeptPage | None:
        """What of a page was read, from the paragraphs that took it up."""
        state = await StoreNotebook(self._store, task_id).state()
        entries = (
            [entry for paragraph in state.paragraphs for entry in paragraph.research.search_history] if state else []
        )
        entry = next((one for one in entries if one.url == note.source_url and passage in one.content), None)
        return None if entry is None else _of_entry(entry, basis, passage)


def _of_entry(entry: SearchEntry, basis: NoteBasis, passage: str) -> KeptPage:
    start = entry.content.find(passage) if passage else -1
    return KeptPage(
        title=basis.title,
        passage=passage,
        record="",
        url=entry.url,
        final_url=entry.url,
        way=Way.HTTP,
        status=None,
        fetched_at=entry.timestamp.astimezone(dt.UTC),
        sha256=None,
        text=entry.content,
        is_cut=True,
        start=start if start >= 0 else None,
        end=start + len(passage) if start >= 0 else None,
    )
