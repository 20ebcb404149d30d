"""What a run is given so that it can be proved and replayed, and what it sets out with."""

import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from monitor.domain.marks import Wish
from monitor.domain.prompts import Prompts
from monitor.domain.tables import Run, Source
from monitor.evidence.answers import RecordedModel
from monitor.evidence.linking import Linker
from monitor.evidence.records import Records
from monitor.ports import ChatModel, Clock, PageLoader, Recorder
from monitor.settings import Settings, SweepSettings
from monitor.store import Store
from monitor.store.lending import Memory
from monitor.sweep.window import Window

NewLoader = Callable[[Recorder | None], PageLoader]
NewPrompts = Callable[[], Awaitable[Prompts]]
NewModel = Callable[[str, Store], Awaitable[ChatModel | None]]


class Start(BaseModel):
    """What holds for a run from its first moment on, however often it is interrupted."""

    today: dt.date
    window: Window


class OutsetFacts(Start):
    """All that decides what a run does beside what it sees and what the model says.

    `memory` is what was known of the source, `can_draw` whether there was a browser,
    `prompts` the wordings in place of ours. `wishes` is what
    people had said of ranks when it made its own; that comes later than the rest.
    """

    at: dt.datetime
    is_baseline: bool
    source: dict[str, Any]
    memory: Memory
    limits: SweepSettings
    render: Literal["auto", "always", "never"]
    max_bytes: int
    timezone: str
    has_model: bool
    can_draw: bool
    prompts: dict[str, str] = Field(default_factory=dict)
    wishes: list[Wish] = Field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Gear:
    """What one run works with; `linker` is None for a trial, which records nothing."""

    loader: PageLoader
    model: ChatModel | None
    linker: Linker | None
    prompts: Prompts


class Recording:
    """Equips runs: what they see and what the model says is kept before they act on it."""

    def __init__(
        self,
        *,
        records: Records,
        settings: Settings,
        clock: Clock,
        new_loader: NewLoader,
        new_model: NewModel,
        new_prompts: NewPrompts,
    ) -> None:
        self._records = records
        self._settings = settings
        self._clock = clock
        self._new_loader = new_loader
        self._new_model = new_model
        self._new_prompts = new_prompts

    async def gear(self, run: Run, store: Store, *, is_trial: bool) -> Gear:
        """What the run works with from now on, be it begun or gone on with."""
        model, prompts = await self._new_model(run.id, store), await self._new_prompts()
        if is_trial:
            return Gear(loader=self._new_loader(None), model=model, linker=None, prompts=prompts)
        attempt = await store.evidence.next_attempt(run.id)
        recorder = self._records.recorder(run.id, attempt=attempt)
        if model is not None:
            model = RecordedModel(
                model, run_id=run.id, attempt=attempt, keep=store.evidence.add_answer, clock=self._clock
            )
        linker = Linker(recorder.sighting_of)
        return Gear(loader=self._new_loader(recorder), model=model, linker=linker, prompts=prompts)

    async def set_out(self, run: Run, source: Source, store: Store, gear: Gear, start: Start) -> None:
        """Keep what the run sets out with, before it has changed anything of it."""
        settings = self._settings
        outset = OutsetFacts(
            today=start.today,
            window=start.window,
            at=self._clock.now(),
            is_baseline=source.last_success_at is None,
            source=source.model_dump(mode="json"),
            memory=await store.memory(source.id or 0),
            limits=settings.sweep,
            render=settings.pages.render,
            max_bytes=settings.pages.max_bytes,
            timezone=settings.timezone,
            has_model=gear.model is not None,
            can_draw=gear.loader.can_draw(),
            prompts=dict(gear.prompts.adjusted),
        )
        await store.evidence.set_out(run.id, outset.model_dump(mode="json"))
