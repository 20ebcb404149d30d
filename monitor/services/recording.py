"""What a run is given so that it can be proved and replayed, and what it sets out with."""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from monitor.clock import Clock
from monitor.config.model import Settings, SweepSettings
from monitor.db.database import Store
from monitor.db.queries.sections import SourceMemory, export_source_memory
from monitor.db.tables.collection import Run, Source
from monitor.db.tables.people import RankFeedbackEntry
from monitor.evidence.cassette import Cassette, CassetteModel, CassetteTransport
from monitor.evidence.records import EvidenceArchive
from monitor.evidence.replay import RecordingModel
from monitor.fetch.log_in import LogIn
from monitor.fetch.result import Recorder
from monitor.fetch.session import LogInSession
from monitor.isolation.pool import WorkerPool
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import PromptSet
from monitor.pages.loader import Loader, PageLoader
from monitor.services.prompts import PromptsLoader
from monitor.services.runtime import ChatModelFactory
from monitor.site_memory import SiteRepeats
from monitor.sweep.ledger import DateWindow
from monitor.verify.linking import EvidenceLinker

PageLoaderFactory = Callable[[Recorder | None], PageLoader]
RunLoaderFactory = Callable[[Recorder | None, LogIn | None], Loader]
LogInBuilder = Callable[[Source], LogIn | None]


class RunStart(BaseModel):
    """What holds for a run from its first moment on, however often it is interrupted.

    `repeats` is what was known of the pages of the source's hosts.
    """

    today: dt.date
    window: DateWindow
    repeats: dict[str, SiteRepeats] = Field(default_factory=dict)


class RunManifest(RunStart):
    """All that decides what a run does beside what it sees and what the model says; `wishes` come last."""

    at: dt.datetime
    is_baseline: bool
    source: dict[str, Any]
    memory: SourceMemory
    limits: SweepSettings
    render: Literal["auto", "always", "never"]
    max_bytes: int
    timezone: str
    has_model: bool
    can_draw: bool
    prompts: dict[str, str] = Field(default_factory=dict)
    wishes: list[RankFeedbackEntry] = Field(default_factory=list)

    def split(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return what is this run's alone, and the parts that it shares with the runs before until something changes.

        When the source last ran and its sections were last read is left out: no run depends on it.
        """
        facts = self.model_dump(mode="json", exclude={"memory", "source", "wishes"})
        source = self.source.copy()
        del source["last_run_at"]
        sections = [{**row, "last_read_at": None} for row in self.memory.sections]
        completed_on = [row.pop("last_complete_on") for row in sections]
        repeats = facts.pop("repeats")
        facts |= {
            "last_success_at": source.pop("last_success_at"),
            "completed_on": completed_on if len({*completed_on}) > 1 else completed_on[:1],
            "known_urls": self.memory.known_urls,
            "items": self.memory.items,
        }
        settings = {name: facts.pop(name) for name in _MANIFEST_SETTINGS}
        parts: list[dict[str, Any]] = [
            {"source": source},
            {"sections": sections, "over_limit": self.memory.over_limit},
            settings,
        ]
        if repeats:
            parts.append({"repeats": repeats})
        return facts, parts

    @classmethod
    def merge(cls, facts: Mapping[str, Any]) -> Self:
        """Build a manifest from what `split` returned, facts and parts in one."""
        days = facts["completed_on"]
        days = days if len(days) > 1 else days * len(facts["sections"])
        sections = [{**row, "last_complete_on": day} for row, day in zip(facts["sections"], days, strict=True)]
        memory = {name: facts[name] for name in ("over_limit", "known_urls", "items")} | {"sections": sections}
        source = facts["source"] | {"last_success_at": facts["last_success_at"], "last_run_at": None}
        return cls.model_validate({**facts, "source": source, "memory": memory})


_MANIFEST_SETTINGS = ("limits", "render", "max_bytes", "timezone", "has_model", "can_draw", "prompts")


@dataclass(frozen=True, kw_only=True)
class RunDependencies:
    """What one run works with; `linker` is None for a trial, which records nothing.

    `session` is that of a source with a log-in, to be opened before anything is loaded and closed in the end.
    """

    loader: PageLoader
    session: LogInSession | None
    model: ChatModel | None
    linker: EvidenceLinker | None
    prompts: PromptSet


@dataclass(kw_only=True)
class RunDependencyFactory:
    """Equips runs: what they see and what the model says is kept before they act on it."""

    records: EvidenceArchive
    workers: WorkerPool
    settings: Settings
    clock: Clock
    new_loader: RunLoaderFactory
    new_model: ChatModelFactory
    new_prompts: PromptsLoader
    build_log_in: LogInBuilder

    async def build(
        self, run: Run, source: Source, store: Store, *, is_trial: bool, cassette: Cassette | None = None
    ) -> RunDependencies:
        """Equip a run; a trial is recorded on the `cassette`, and any other run plays what is on it."""
        model, prompts = await self.new_model(run.id, store), await self.new_prompts()
        log_in = self.build_log_in(source)
        if is_trial:
            loader = self.new_loader(cassette, log_in)
            if cassette is not None and model is not None:
                model = RecordingModel(
                    model, run_id=run.id, attempt=1, save_answer=cassette.save_answer, clock=self.clock
                )
            return RunDependencies(loader=loader, session=loader.session, model=model, linker=None, prompts=prompts)
        attempt = await store.evidence.get_next_attempt(run.id)
        recorder = self.records.create_recorder(run.id, attempt=attempt)
        if model is not None:
            if cassette is not None:
                model = CassetteModel(cassette, model)
            model = RecordingModel(
                model, run_id=run.id, attempt=attempt, save_answer=store.evidence.add_answer, clock=self.clock
            )
        linker = EvidenceLinker(recorder.load_by_id, self.workers)
        loader = self.new_loader(recorder, log_in)
        if cassette is not None:
            loader.play(CassetteTransport(cassette, loader.transport, recorder))
        return RunDependencies(loader=loader, session=loader.session, model=model, linker=linker, prompts=prompts)

    async def save_manifest(
        self, run: Run, source: Source, store: Store, deps: RunDependencies, start: RunStart
    ) -> None:
        settings = self.settings
        manifest = RunManifest(
            **dict(start),
            at=self.clock.now(),
            is_baseline=source.last_success_at is None,
            source=source.model_dump(mode="json"),
            memory=await export_source_memory(source.id or 0, store.sessions),
            limits=settings.sweep,
            render=settings.pages.render,
            max_bytes=settings.pages.max_bytes,
            timezone=settings.timezone,
            has_model=deps.model is not None,
            can_draw=deps.loader.can_render(),
            prompts=dict(deps.prompts.overrides),
        )
        await store.evidence.save_manifest(run.id, *manifest.split(), at=manifest.at)
