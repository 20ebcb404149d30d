"""What a research is put together from: the seams to the world, and what its agents and nodes share."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

from monitor.clock import Clock
from monitor.config.model import ResearchSettings
from monitor.errors import RunCancelled
from monitor.i18n.message import Message
from monitor.isolation.pool import WorkerLimits, WorkerPool
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.pages.loader import PageLoader
from monitor.research.prompt_builder import PromptBuilder
from monitor.research.shapes import ResearchOptions, SearchConfig, StepEvent, StepType
from monitor.research.state import ParagraphState, SearchEntry, State
from monitor.search.bundles.bundle import BundleFolder
from monitor.search.bundles.scoring import ResultScorer
from monitor.search.contract import WebSearch

LONG_WORK = WorkerLimits(timeout_s=120.0, cpu_s=60.0)
"""What one piece of work over all pages of a research may take."""


class Notebook(Protocol):
    """Stores what a research has so far, so that it can resume after a crash."""

    async def load_state(self) -> State | None:
        """Return the plan with its paragraphs as they stand; None before there is a plan."""

    async def save_plan(self, state: State) -> None:
        """Store title and paragraphs, in place of those that were there."""

    async def save_paragraph(self, paragraph: ParagraphState) -> None: ...

    async def load_output(self, step: StepType) -> dict[str, Any] | None:
        """Return the JSON output of a step; None where it is not finished."""

    async def save_output(self, step: StepType, output: dict[str, Any]) -> None:
        """Store the output of a step, which from now on counts as finished."""

    async def load_latest_remark(self) -> str:
        """Return the latest remark of a person; empty where there is none."""


class DocumentSearch(Protocol):
    """Finds what of the reader's own documents is near to a search."""

    async def search(
        self, wanted: str, *, query: str, query_id: str, known: Collection[str] = ()
    ) -> tuple[list[SearchEntry], list[Message]]:
        """Return the parts nearest to what is wanted, without those of `known` addresses; and what cannot be read."""


class ProgressReporter(Protocol):
    async def __call__(self, share: float, **payload: Any) -> None:
        """Take the share of the step that is done, 0 to 1, and the payload of the event."""


class EventSink(Protocol):
    """Stores the events of a research in order, for everyone who follows it."""

    async def publish(self, event: StepEvent) -> None:
        """Take an event; its progress is raised to the highest that was published before."""

    async def flush(self) -> None:
        """Return when all published events are stored."""

    async def has_ended(self, step: StepType) -> bool:
        """Return whether the end of a step was published since it last began, before a restart too."""


async def ignore_progress(share: float, **payload: Any) -> None:
    del share, payload


@dataclass(frozen=True, kw_only=True)
class ResearchDependencies:
    """What the agents of one research work with. `model` None means by rule.

    `pages` loads a page from the archive where it was saved, else from its site, and records it; `kept_text` returns
    the text of a record; `workers` read both. `documents` are the reader's own. `language` is the question's: zh or en.
    """

    task_id: str
    query: str
    language: str
    model: ChatModel | None
    search: WebSearch
    pages: PageLoader
    notebook: Notebook
    workers: WorkerPool
    bundles: BundleFolder
    scoring: ResultScorer
    clock: Clock
    limits: ResearchSettings
    config: SearchConfig = field(default_factory=SearchConfig)
    options: ResearchOptions = field(default_factory=ResearchOptions)
    prompts: PromptSet = DEFAULT_PROMPTS
    search_warnings: tuple[Message, ...] = ()
    cancel_event: asyncio.Event = field(default_factory=asyncio.Event)
    kept_text: Callable[[str], Awaitable[str | None]]
    documents: DocumentSearch | None = None
    is_plan_approved: bool = False

    @property
    def prompt_builder(self) -> PromptBuilder:
        return PromptBuilder(self.language, self.prompts, self.clock.now().date())

    def raise_if_cancelled(self) -> None:
        if self.cancel_event.is_set():
            raise RunCancelled("research.cancelled")
