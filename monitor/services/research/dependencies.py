"""What one research is equipped with: its model, its searches, its pages, all within what was asked and is set."""

import asyncio
import re
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.research import Research
from monitor.errors import WorkFailed
from monitor.evidence.records import EvidenceArchive
from monitor.fetch.result import FetchResult
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.llm.chat import ChatModel
from monitor.page import NO_HINTS, Page, PageErrorCode, PageHints
from monitor.pages.documents import DocumentReader
from monitor.pages.loader import PageLoader
from monitor.pages.parsing import PageTask
from monitor.research.dependencies import ResearchDependencies
from monitor.research.documents import DocumentShelf
from monitor.research.follow_up import Exchange, ReportContext
from monitor.research.shapes import ResearchOptions, ResearchReport, SearchConfig, StepType
from monitor.research.state import ParagraphState, State
from monitor.search.bundles.bundle import BundleFolder
from monitor.search.bundles.scoring import ResultScorer
from monitor.services.evidence import SnapshotReader
from monitor.services.prompts import PromptsLoader
from monitor.services.recording import PageLoaderFactory
from monitor.services.research.documents import DocumentKeeper, is_part_reference, load_part_text
from monitor.services.search import SearchService
from monitor.urls import clean_url, url_key
from monitor.verify.citations import CITATION
from monitor.vocabulary import Render


@dataclass(kw_only=True)
class ResearchPageLoader:
    """Loads the pages of one research; whoever asks for a page that is under way gets that one."""

    store: Store
    loader: PageLoader
    documents: DocumentReader

    def __post_init__(self) -> None:
        self._in_flight: dict[tuple[str, Render], asyncio.Future[Page | None]] = {}

    async def load(
        self, url: str, *, render: Render = Render.AUTO, task: PageTask | None = None, hints: PageHints = NO_HINTS
    ) -> Page:
        """The page at `url`; one that is a document has its text too. What went wrong outside is its `error`.

        No `task` is done and no `hints` are used: others may wait for the same page.
        """
        del task, hints
        asked = (clean_url(url) or url, render)
        while (other := self._in_flight.get(asked)) is not None:
            await asyncio.wait({other})
            if (page := other.result()) is not None:
                return page
        mine = self._in_flight[asked] = asyncio.get_running_loop().create_future()
        page = None
        try:
            page = await self._load_page(url, render)
        finally:  # broken off, it gave nothing: those who waited try for themselves
            del self._in_flight[asked]
            mine.set_result(page)
        return page

    async def _load_page(self, url: str, render: Render) -> Page:
        page = await self._find_saved_page(url) or await self.loader.load(url, render=render)
        if page.error is None or page.error.code is not PageErrorCode.UNSUPPORTED_TYPE:
            return page
        with tempfile.TemporaryDirectory(prefix="monitor-research-") as folder:
            try:
                path = await self.loader.download(page.url, Path(folder))
                text = await self.documents.read(path)
            except WorkFailed:
                return page
        return page.model_copy(update={"text": text, "error": None})

    async def download(self, url: str, folder: Path) -> Path:
        return await self.loader.download(url, folder)

    async def fetch_data(self, url: str) -> FetchResult:
        return await self.loader.fetch_data(url)

    def list_sitemaps(self, url: str) -> list[str]:
        return self.loader.list_sitemaps(url)

    def can_render(self) -> bool:
        return self.loader.can_render()

    def notes(self) -> Mapping[str, Message]:
        return self.loader.notes()

    async def _find_saved_page(self, url: str) -> Page | None:
        """The page of an item as it was kept; None where none was, or no text of it."""
        address = clean_url(url)
        item = await self.store.items.find_by_key(url_key(address)) if address else None
        text = await self.store.items.get_text(item.id or 0) if item else None
        if address is None or item is None or not text:
            return None
        record = await self.store.evidence.get_record(next(reversed(item.evidence), ""))
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


class StoreNotebook:
    """Keeps a research in its rows: the plan, each paragraph by itself, what steps gave."""

    def __init__(self, store: Store, task_id: str) -> None:
        self._research = store.research
        self._task_id = task_id

    async def load_state(self) -> State | None:
        kept, paragraphs = await self._research.load_notebook(self._task_id)
        return None if kept is None else State.model_validate({**kept, "paragraphs": paragraphs})

    async def save_plan(self, state: State) -> None:
        kept, paragraphs = dump_state(state)
        await self._research.save_plan(self._task_id, kept, paragraphs)

    async def save_paragraph(self, paragraph: ParagraphState) -> None:
        data = paragraph.model_dump(mode="json")
        await self._research.save_paragraph(self._task_id, paragraph.order, data)

    async def load_output(self, step: StepType) -> dict[str, Any] | None:
        return await self._research.load_output(self._task_id, str(step))

    async def save_output(self, step: StepType, output: dict[str, Any]) -> None:
        await self._research.save_output(self._task_id, str(step), output)

    async def load_latest_remark(self) -> str:
        return await self._research.load_latest_remark(self._task_id)


async def load_report_context(store: Store, research: Research) -> ReportContext:
    """Return what a follow-up question is about: its report, and the questions that were answered before it."""
    about = await store.research.get(research.parent_id or "")
    earlier = [
        row
        for row in await store.research.list_follow_ups(research.parent_id or "")
        if row.created_at < research.created_at
    ]
    states: dict[str, State] = {}
    exchanges: list[Exchange] = []
    for row in filter(None, [about, *earlier]):
        state = await StoreNotebook(store, row.id).load_state()
        states |= {row.id: state} if state is not None else {}
        answer = row.outputs.get(StepType.REPORTING)
        if row.parent_id is not None and answer is not None:
            text = CITATION.sub("", ResearchReport.model_validate(answer["result"]).markdown)
            exchanges.append(Exchange(question=row.query, answer=" ".join(text.split())))
    return ReportContext(about.query if about else research.query, exchanges, states)


def dump_state(state: State) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    kept = state.model_dump(mode="json")
    return {name: value for name, value in kept.items() if name != "paragraphs"}, kept["paragraphs"]


_HAN_CHAR = re.compile(r"[\u3400-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")


ResearchModelFactory = Callable[[str, ResearchOptions], Awaitable[ChatModel | None]]


@dataclass(frozen=True, kw_only=True)
class ResearchDependencyFactory:
    store: Store
    settings: Settings
    clock: Clock
    records: EvidenceArchive
    documents: DocumentReader
    workers: WorkerPool
    bundles: BundleFolder
    snapshot_reader: SnapshotReader
    search_service: SearchService
    new_model: ResearchModelFactory
    new_loader: PageLoaderFactory
    new_scoring: Callable[[], ResultScorer]
    new_prompts: PromptsLoader

    @property
    def document_keeper(self) -> DocumentKeeper:
        return DocumentKeeper(
            store=self.store,
            records=self.records,
            documents=self.documents,
            workers=self.workers,
            clock=self.clock,
            limits=self.settings.research,
        )

    async def build(self, research: Research, cancel_event: asyncio.Event) -> ResearchDependencies:
        options, config = ResearchOptions.model_validate(research.options), SearchConfig.model_validate(research.config)
        gathering = self.search_service.build_research_search(config.engines)
        attempt = await self.store.evidence.get_next_research_attempt(research.id)
        recorder = self.records.create_recorder(research_id=research.id, attempt=attempt)
        shelf, warnings = await self.document_keeper.prepare(research, recorder)
        return ResearchDependencies(
            task_id=research.id,
            query=research.query,
            language=research.language,
            config=config,
            options=options,
            model=await self.new_model(research.id, options),
            search=gathering.search,
            search_warnings=(*gathering.warnings, *warnings),
            documents=shelf,
            pages=ResearchPageLoader(store=self.store, loader=self.new_loader(recorder), documents=self.documents),
            notebook=StoreNotebook(self.store, research.id),
            workers=self.workers,
            bundles=self.bundles,
            scoring=self.new_scoring(),
            clock=self.clock,
            limits=self.settings.research,
            prompts=await self.new_prompts(),
            cancel_event=cancel_event,
            kept_text=_cache_reads(self.snapshot_reader.load_text, shelf),
            is_plan_approved=research.is_plan_approved,
        )


def detect_language(query: str) -> str:
    return "zh" if len(_HAN_CHAR.findall(query)) > len(_LATIN_WORD.findall(query)) else "en"


def _cache_reads(
    read: Callable[[str], Awaitable[str | None]], shelf: DocumentShelf | None
) -> Callable[[str], Awaitable[str | None]]:
    """The same for one research, which holds its notes and then its report against the same pages and documents."""
    texts: dict[str, str | None] = {}

    async def load_text(record: str) -> str | None:
        if record not in texts:
            is_part = shelf is not None and is_part_reference(record)
            texts[record] = await (load_part_text(record, shelf.load_parts) if shelf and is_part else read(record))
        return texts[record]

    return load_text
