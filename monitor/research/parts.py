"""What a research is put together from: the seams to the world, and what its agents and nodes share."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from monitor.domain.prompts import OURS, Prompts
from monitor.ports import ChatModel, Clock, PageLoader, WebSearch
from monitor.research.events import StepEvent, StepType
from monitor.research.shapes import OnToken, ResearchOptions, SearchConfig
from monitor.research.state import Paragraph, State
from monitor.retrieval.folder import BundleFolder
from monitor.retrieval.scoring import Scoring
from monitor.settings.model import ResearchSettings


class Notebook(Protocol):
    """Where a research keeps what it has, so that it goes on where it stopped."""

    async def state(self) -> State | None:
        """What was kept, its paragraphs as they stand; None before there is a plan."""
        ...

    async def keep_plan(self, state: State) -> None:
        """Keep title and paragraphs, in place of those that were there."""
        ...

    async def keep_paragraph(self, paragraph: Paragraph) -> None:
        """Keep one paragraph as it stands now."""
        ...

    async def output(self, step: StepType) -> dict[str, Any] | None:
        """What a finished step gave, as JSON; None where it is not finished."""
        ...

    async def keep_output(self, step: StepType, output: dict[str, Any]) -> None:
        """Keep what a step gave: from now on it is finished."""
        ...

    async def remark(self) -> str:
        """The latest remark of a person; empty where there is none."""
        ...


class Told(Protocol):
    """Takes what a step tells while it goes."""

    async def __call__(self, share: float, **payload: Any) -> None:
        """The share of the step that is done, 0 to 1, and what the message's payload holds."""
        ...


class Audience(Protocol):
    """Those who watch a research. They see what is kept, in the order in which it was told."""

    async def tell(self, event: StepEvent) -> None:
        """Take down a message; its progress is lifted to the highest that was told before."""
        ...

    async def flush(self) -> None:
        """Come back when all that was told is kept."""
        ...

    async def has_ended(self, step: StepType) -> bool:
        """Whether the end of a step was told since it began last, before a restart too."""
        ...


async def untold(share: float, **payload: Any) -> None:
    del share, payload


@dataclass(frozen=True, kw_only=True)
class ResearchParts:
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
    scoring: Scoring
    clock: Clock
    limits: ResearchSettings
    config: SearchConfig = field(default_factory=SearchConfig)
    options: ResearchOptions = field(default_factory=ResearchOptions)
    prompts: Prompts = OURS
    notes: tuple[str, ...] = ()
    cancel_event: asyncio.Event = field(default_factory=asyncio.Event)
    tokens: Callable[[], int] = lambda: 0
    kept_text: Callable[[str], Awaitable[str | None]]
    is_plan_approved: bool = False


class Agent(Protocol):
    """A step of a research. `context` is what the steps before it gave, by the step's type."""

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> Any:
        """Its `AgentOutput`. It always gives one: what cannot be had of the model is made by rule, and says so."""
        ...
