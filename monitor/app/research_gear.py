"""What one research is equipped with: its model, its searches, its pages, all within what was asked and is set."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from monitor.app.kept_pages import KeptPages
from monitor.app.recording import NewLoader, NewPrompts
from monitor.app.research_notebook import StoreNotebook
from monitor.app.research_pages import ResearchPages
from monitor.app.searching import SearchDesk
from monitor.domain.research import Research
from monitor.evidence.records import Records
from monitor.ports import ChatModel, Clock, DocumentReader
from monitor.research.parts import ResearchParts
from monitor.research.shapes import ResearchOptions, SearchConfig
from monitor.retrieval.folder import BundleFolder
from monitor.retrieval.scoring import Scoring
from monitor.settings import Settings
from monitor.store import Store

_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")


@dataclass(frozen=True, slots=True)
class ResearchModel:
    """A model whose calls are booked under a research, and what they took so far."""

    model: ChatModel
    tokens: Callable[[], int]


NewResearchModel = Callable[[str, ResearchOptions], Awaitable[ResearchModel | None]]


@dataclass(frozen=True, kw_only=True)
class ResearchGear:
    store: Store
    settings: Settings
    clock: Clock
    records: Records
    documents: DocumentReader
    bundles: BundleFolder
    kept_pages: KeptPages
    searching: SearchDesk
    new_model: NewResearchModel
    new_loader: NewLoader
    new_scoring: Callable[[], Scoring]
    new_prompts: NewPrompts

    async def parts(self, research: Research, cancel_event: asyncio.Event) -> ResearchParts:
        """What the research works with from now on, be it begun or gone on with."""
        options, config = ResearchOptions.model_validate(research.options), SearchConfig.model_validate(research.config)
        asked = await self.new_model(research.id, options)
        gathering = self.searching.for_research(config.engines)
        attempt = await self.store.evidence.next_attempt_of(research.id)
        recorder = self.records.recorder(research_id=research.id, attempt=attempt)
        return ResearchParts(
            task_id=research.id,
            query=research.query,
            language=research.language,
            config=config,
            options=options,
            model=asked.model if asked else None,
            tokens=asked.tokens if asked else _none,
            search=gathering.search,
            notes=tuple(gathering.notes),
            pages=ResearchPages(store=self.store, loader=self.new_loader(recorder), documents=self.documents),
            notebook=StoreNotebook(self.store, research.id),
            bundles=self.bundles,
            scoring=self.new_scoring(),
            clock=self.clock,
            limits=self.settings.research,
            prompts=await self.new_prompts(),
            cancel_event=cancel_event,
            kept_text=_read_once(self.kept_pages.text),
            is_plan_approved=research.is_plan_approved,
        )


def language_of(query: str) -> str:
    """The language in which a question is asked, and answered: zh or en."""
    return "zh" if len(_HAN.findall(query)) > len(_WORD.findall(query)) else "en"


def _read_once(read: Callable[[str], Awaitable[str | None]]) -> Callable[[str], Awaitable[str | None]]:
    """The same for one research, which holds its notes and then its report against the same kept pages."""
    texts: dict[str, str | None] = {}

    async def text(record: str) -> str | None:
        if record not in texts:
            texts[record] = await read(record)
        return texts[record]

    return text


def _none() -> int:
    return 0
