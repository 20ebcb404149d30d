"""What all phases of one run work with: its parts, its window, how it reports, and what fell back."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from monitor.clock import Clock
from monitor.config.model import SweepSettings
from monitor.db.database import Store
from monitor.db.tables.collection import Source
from monitor.db.tables.people import RankFeedbackEntry
from monitor.errors import RunCancelled
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerPool
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.logs import get_logger
from monitor.pages.documents import DocumentReader
from monitor.pages.loader import PageLoader
from monitor.site_memory import SiteRepeats
from monitor.steps import StepRunner
from monitor.sweep.ledger import DateWindow
from monitor.sweep.progress import Progress, ProgressCallback
from monitor.sweep.query import QueryRunner
from monitor.verify.linking import EvidenceLinker
from monitor.vocabulary import EventKind, Phase, Render


@dataclass(frozen=True, kw_only=True)
class SweepDependencies:
    """What the composition root gives a sweep.

    `workers` read what comes from outside. `model` None: every phase works by rule. `linker` None: nothing is recorded,
    so nothing is linked to evidence. `query_runner` answers the queries of a `query` source. `is_trial`: nothing is
    summarised or ranked. `file_documents` reads the documents of the run with this id and joins them to their policies;
    what it has done it does not do again. `feedback` is what a run that is replayed honoured; None: what the store has.
    `repeats` is what was known to repeat on the pages of hosts when the run began.
    `before_end` is called before the end of a run is stored, `judge_run` in the transaction that stores it, where it
    only reads and writes the database.
    """

    store: Store
    loader: PageLoader
    documents: DocumentReader
    workers: WorkerPool
    model: ChatModel | None
    steps: StepRunner
    clock: Clock
    limits: SweepSettings
    folder: Path
    linker: EvidenceLinker | None = None
    prompts: PromptSet = DEFAULT_PROMPTS
    query_runner: QueryRunner | None = None
    on_progress: ProgressCallback | None = None
    cancel_event: asyncio.Event | None = None
    is_trial: bool = False
    file_documents: Callable[[str], Awaitable[None]] | None = None
    feedback: Sequence[RankFeedbackEntry] | None = None
    repeats: Mapping[str, SiteRepeats] = field(default_factory=dict)
    before_end: Callable[[], None] | None = None
    judge_run: Callable[[str], Awaitable[None]] | None = None


@dataclass(frozen=True, kw_only=True)
class RunContext:
    run_id: str
    source: Source
    window: DateWindow
    deps: SweepDependencies

    @property
    def render(self) -> Render:
        return self.source.render or Render.AUTO

    def report_progress(self, progress: Progress) -> None:
        if self.deps.on_progress is not None:
            self.deps.on_progress(progress)

    async def record_fallback(self, phase: Phase, where: str, reason: Message) -> None:
        get_logger("sweep").warning("fell back", phase=str(phase), where=where, reason=str(reason))
        await self.deps.store.runs.add_fallback(self.run_id, phase, where, reason, self.deps.clock.now())
        self.report_progress(Progress(phase=phase, place=where, reason=reason, kind=EventKind.FALLBACK))

    def check_cancelled(self, section: str | None = None) -> None:
        """Raise `RunCancelled`, which names the section if there is one, once the run is to end."""
        if self.deps.cancel_event is not None and self.deps.cancel_event.is_set():
            raise RunCancelled("sweep.cancelled_in", place=section) if section else RunCancelled("sweep.cancelled")
