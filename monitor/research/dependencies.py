"""What a research is put together from: the seams to the world, and what its agents and nodes share."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from monitor.clock import Clock
from monitor.config.model import ResearchSettings
from monitor.i18n.message import Message
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.pages.loader import PageLoader
from monitor.research.shapes import ResearchOptions, SearchConfig, StepEvent, StepType
from monitor.research.state import ParagraphState, State
from monitor.search.bundles.bundle import BundleFolder
from monitor.search.bundles.scoring import ResultScorer
from monitor.search.contract import WebSearch


class Notebook(Protocol):
    """Where a research keeps what it has, so that it goes on where it stopped."""

    async def load_state(self) -> State | None:
        """What was kept, its paragraphs as they stand; None before there is a plan."""
        ...

    async def save_plan(self, state: State) -> None:
        """Keep title and paragraphs, in place of those that were there."""
        ...

    async def save_paragraph(self, paragraph: ParagraphState) -> None:
        """Keep one paragraph as it stands now."""
        ...

    async def load_output(self, step: StepType) -> dict[str, Any] | None:
        """What a finished step gave, as JSON; None where it is not finished."""
        ...

    async def save_output(self, step: StepType, output: dict[str, Any]) -> None:
        """Keep what a step gave: from now on it is finished."""
        ...

    async def load_latest_remark(self) -> str:
        """The latest remark of a person; empty where there is none."""
        ...


class ProgressMessage(Protocol):
    """Takes what a step tells while it goes."""

    async def __call__(self, share: float, **payload: Any) -> None:
        """The share of the step that is done, 0 to 1, and what the message's payload holds."""
        ...


class EventSink(Protocol):
    """Those who watch a research. They see what is kept, in the order in which it was told."""

    async def publish(self, event: StepEvent) -> None:
        """Take down a message; its progress is lifted to the highest that was told before."""
        ...

    async def flush(self) -> None:
        """Come back when all that was told is kept."""
        ...

    async def has_ended(self, step: StepType) -> bool:
        """Whether the end of a step was told since it began last, before a restart too."""
        ...


async def ignore_progress(share: float, **payload: Any) -> None:
    del share, payload


@dataclass(frozen=True, kw_only=True)
class ResearchDependencies:
    """What the agents of one research work with. `model` None means by rule; `notes` is what to say of the search.

    `pages` gives a page by its url, from the archive where it was saved, else from its site; what it gives is on
    record, and `kept_text` gives the text of a record again. `language` is the question's: zh or en. `tokens` says what
    the model calls took so far.
    """

    task_id: str
    query: str
    language: str
    model: ChatModel | None
    search: WebSearch
    pages: PageLoader
    notebook: Notebook
    bundles: BundleFolder
    scoring: ResultScorer
    clock: Clock
    limits: ResearchSettings
    config: SearchConfig = field(default_factory=SearchConfig)
    options: ResearchOptions = field(default_factory=ResearchOptions)
    prompts: PromptSet = DEFAULT_PROMPTS
    search_warnings: tuple[Message, ...] = ()
    cancel_event: asyncio.Event = field(default_factory=asyncio.Event)
    count_tokens: Callable[[], int] = lambda: 0
    kept_text: Callable[[str], Awaitable[str | None]]
    is_plan_approved: bool = False
