"""One source, once: navigate, crawl, summarise, rank, keep; then a look back at what was saved earlier.

Each step keeps what it found in the store before it ends, and hands on only what the next one needs; so a run that is
killed has lost at most the step in hand.
"""

import asyncio
import datetime as dt
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from monitor.clock import Clock
from monitor.config.model import SweepSettings
from monitor.db.database import Store
from monitor.db.reading import SectionPlan, SectionReading, UnseenPlace
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.people import RankFeedbackEntry
from monitor.errors import ModelFailed, RunCancelled
from monitor.extract.documents import DocumentReader
from monitor.i18n.message import Message
from monitor.llm.chat import ChatModel, Completion, CompletionRequest
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.pages.loader import PageLoader
from monitor.steps import StepRunner
from monitor.sweep.crawl import CrawlDependencies, crawl_section
from monitor.sweep.ledger import DateWindow
from monitor.sweep.navigate import navigate
from monitor.sweep.progress import FallbackRecorder, Progress, ProgressCallback, describe_end, discard_progress
from monitor.sweep.query import QueryLoader, QueryRunner, build_query_plans
from monitor.sweep.rank import rank_items
from monitor.sweep.revisit import MAX_REVISITS_PER_RUN, ItemRevisitor
from monitor.sweep.summarise import Summariser
from monitor.verify.grounding import EvidenceLinker
from monitor.vocabulary import EventKind, Phase, Render, RunStatus, SourceKind


class ReportingModel:
    """A `ChatModel` whose calls are told of; the time of a call includes that in which it waited for its turn."""

    def __init__(self, model: ChatModel, report_progress: ProgressCallback) -> None:
        self._model = model
        self._report_progress = report_progress

    async def complete(self, request: CompletionRequest) -> Completion:
        asked = Progress(phase=request.phase, place=request.place, kind=EventKind.ASKED)
        self._report_progress(asked)
        began = time.perf_counter()
        tokens, outcome = 0, "cancelled"
        try:
            completion = await self._model.complete(request)
            tokens, outcome = completion.prompt_tokens + completion.completion_tokens, "ok"
        except ModelFailed as error:
            outcome = error.outcome
            raise
        finally:
            facts = {"ms": round((time.perf_counter() - began) * 1000), "tokens": tokens, "outcome": outcome}
            self._report_progress(asked.model_copy(update={"kind": EventKind.ANSWERED, **facts}))
        return completion


@dataclass(frozen=True, kw_only=True)
class SweepDependencies:
    """What a sweep is given by the composition root.

    `model` None: every phase goes straight to its rule. `linker` None: nothing is recorded, so that nothing can be
    linked to its evidence. `results` answers the queries of a `query` source. `is_trial`: only what would be saved is
    asked for, so that nothing is summarised or ranked. `wishes` are those that a run honoured which is done again;
    None: those of the store.
    """

    store: Store
    loader: PageLoader
    documents: DocumentReader
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
    feedback: Sequence[RankFeedbackEntry] | None = None


async def run_sweep(
    run: Run, source: Source, *, window: DateWindow, today: dt.date, deps: SweepDependencies
) -> RunStatus:
    """Run the four phases of a source, look again at earlier items, keep everything; answers how the run ended."""
    if source.kind is SourceKind.QUERY and deps.query_runner is not None:
        loader = QueryLoader(
            deps.loader, source=source, query_runner=deps.query_runner, window=window, clock=deps.clock
        )
        deps = replace(deps, loader=loader)
    if deps.model is not None and deps.on_progress is not None:
        deps = replace(deps, model=ReportingModel(deps.model, deps.on_progress))
    return await _SweepPipeline(run, source, window, today, deps).run()


class _SweepPipeline:
    def __init__(self, run: Run, source: Source, window: DateWindow, today: dt.date, deps: SweepDependencies) -> None:
        self._run = run
        self._source = source
        self._window = window
        self._today = today
        self._deps = deps
        self._cached_items: dict[int, Item] = {}
        self._report_progress = deps.on_progress or discard_progress
        self._fallbacks = FallbackRecorder(
            run_id=run.id, store=deps.store, clock=deps.clock, report_progress=self._report_progress
        )
        self._summariser = Summariser(
            source=source,
            store=deps.store,
            loader=deps.loader,
            documents=deps.documents,
            model=deps.model,
            limits=deps.limits,
            folder=deps.folder,
            fallbacks=self._fallbacks,
            linker=deps.linker,
            prompts=deps.prompts,
        )

    async def run(self) -> RunStatus:
        try:
            plans = await self._deps.steps.run("navigate", list[SectionPlan], self._navigate)
            for done, plan in enumerate(plans):
                self._report_phase(Phase.CRAWL, plan.name, done, len(plans))
                await self._deps.steps.run(f"crawl:{plan.ordinal}", str, partial(self._crawl, plan))
            if not self._deps.is_trial:
                await self._summarise()
                await self._deps.steps.run("rank", int, self._rank)
                await self._revisit()
        except RunCancelled:
            return await self._deps.steps.run("end", RunStatus, partial(self._finish, RunStatus.CANCELLED))
        return await self._deps.steps.run("end", RunStatus, self._finish)

    async def _navigate(self) -> list[SectionPlan]:
        self._report_phase(Phase.NAVIGATE, self._source.url or self._source.name)
        plans = await self._build_plans()
        await self._deps.store.runs.save_plan(self._run.id, plans)
        self._report_phase(Phase.NAVIGATE, "", len(plans), len(plans))
        return plans

    async def _build_plans(self) -> list[SectionPlan]:
        source = self._source
        if source.kind is SourceKind.QUERY:
            return build_query_plans(source)
        if source.sections:
            return [SectionPlan(ordinal=i, name=s["name"], url=s["url"]) for i, s in enumerate(source.sections)]
        if source.kind is SourceKind.FEED:
            return [SectionPlan(ordinal=0, name=source.name, url=source.url, is_feed=True)]
        home = await self._deps.loader.load(source.url, render=source.render or Render.AUTO)
        if home.error is not None:
            await self._fallbacks.record(Phase.NAVIGATE, source.url, home.error.reason)
            place = UnseenPlace(section=source.name, url=source.url, reason=home.error.reason)
            await self._deps.store.runs.add_unseen(self._run.id, [place])
            return []
        return await navigate(
            source,
            home,
            model=self._deps.model,
            fallbacks=self._fallbacks,
            page_max_chars=self._deps.limits.page_max_chars,
            prompts=self._deps.prompts,
        )

    async def _crawl(self, plan: SectionPlan) -> str:
        self._check_cancelled()
        section = Progress(
            phase=Phase.CRAWL, place=plan.name, kind=EventKind.SECTION, ordinal=plan.ordinal, url=plan.url
        )
        self._report_progress(section)
        parts = self._deps
        crawl_parts = CrawlDependencies(
            store=parts.store,
            loader=parts.loader,
            documents=parts.documents,
            model=parts.model,
            clock=parts.clock,
            limits=parts.limits,
            folder=parts.folder,
            fallbacks=self._fallbacks,
            summariser=self._summariser,
            prompts=parts.prompts,
            on_progress=self._report_progress,
            cancel_event=parts.cancel_event,
        )
        reading = await crawl_section(
            plan, source=self._source, run_id=self._run.id, window=self._window, deps=crawl_parts
        )
        await parts.store.runs.save_reading(
            self._run.id,
            self._source.id or 0,
            reading,
            on=self._today,
            at=parts.clock.now(),
            claims=await parts.linker.link_list(reading.entries) if parts.linker is not None else None,
        )
        await self._record_loader_notes()
        self._report_progress(section.model_copy(update=_summarise_reading(reading)))
        return str(reading.ended)

    async def _summarise(self) -> None:
        items = await self._deps.steps.run("unsummarised", list[int], self._list_unsummarised)
        slots = asyncio.Semaphore(self._deps.limits.summary_concurrency)
        done = 0
        titles: dict[int, str] = {}
        self._report_phase(Phase.SUMMARISE, "", done, len(items))

        async def write(item_id: int) -> int:
            self._check_cancelled()
            item = self._cached_items.pop(item_id, None) or await self._deps.store.items.get(item_id)
            if item is not None:
                titles[item_id] = item.title
                await self._summariser.summarise(item)
            return item_id

        async def summarise_one(item_id: int) -> None:
            nonlocal done
            async with slots:
                await self._deps.steps.run(f"summarise:{item_id}", int, partial(write, item_id))
            done += 1
            self._report_phase(Phase.SUMMARISE, titles.get(item_id, ""), done, len(items))

        try:
            async with asyncio.TaskGroup() as group:
                for item_id in items:
                    group.create_task(summarise_one(item_id))
        except ExceptionGroup as several:
            raise several.exceptions[0] from several

    async def _list_unsummarised(self) -> list[int]:
        self._cached_items = {
            item.id or 0: item for item in await self._deps.store.items.list_unsummarised(self._run.id)
        }
        return list(self._cached_items)

    async def _rank(self) -> int:
        self._check_cancelled()
        items = await self._deps.store.items.list_for_run(self._run.id)
        self._report_phase(Phase.RANK, "", 0, len(items))
        ranks = await rank_items(
            items,
            model=self._deps.model,
            fallbacks=self._fallbacks,
            place=self._source.name,
            language=self._source.summary_language,
            feedback=await self._load_feedback(items),
            prompts=self._deps.prompts,
        )
        await self._deps.store.items.set_ranks(ranks)
        self._report_phase(Phase.RANK, "", len(items), len(items))
        return len(items)

    async def _load_feedback(self, items: Sequence[Item]) -> Sequence[RankFeedbackEntry]:
        """What people said of ranks; kept with the run, for it decides the order."""
        if self._deps.feedback is not None:
            return self._deps.feedback
        wishes = await self._deps.store.marks.list_feedback(items)
        await self._deps.store.evidence.save_feedback(self._run.id, wishes)
        return wishes

    async def _revisit(self) -> None:
        parts = self._deps
        revisits = ItemRevisitor(
            run_id=self._run.id,
            source=self._source,
            store=parts.store,
            loader=parts.loader,
            documents=parts.documents,
            folder=parts.folder,
        )

        async def due() -> list[int]:
            days = parts.limits.revisit_days
            return await parts.store.revisions.list_due(
                self._source.id or 0, at=parts.clock.now(), days=days, limit=MAX_REVISITS_PER_RUN
            )

        async def look(item_id: int) -> str:
            self._check_cancelled()
            return str(await revisits.revisit(item_id))

        items = await parts.steps.run("due", list[int], due)
        for done, item_id in enumerate(items, start=1):
            kind = await parts.steps.run(f"revisit:{item_id}", str, partial(look, item_id))
            self._report_phase("revisit", f"{item_id}: {kind}", done, len(items))

    async def _record_loader_notes(self) -> None:
        for url, note in self._deps.loader.notes().items():
            await self._fallbacks.record(Phase.CRAWL, url, note)

    async def _finish(self, status: RunStatus | None = None) -> RunStatus:
        await self._record_loader_notes()
        runs, error = self._deps.store.runs, None
        outcome = await runs.load_outcome(self._run.id)
        if status is None:
            status = RunStatus.DEGRADED if outcome.has_fallbacks else RunStatus.SUCCEEDED
            if not outcome.has_read:
                status = RunStatus.FAILED
                error = Message("cause.nothing_there")
                if outcome.unseen is not None:
                    error = Message.of("cause.nothing_read", reason=outcome.unseen)
        await runs.end(
            self._run.id,
            self._source.id,
            status=status,
            at=self._deps.clock.now(),
            has_new=outcome.has_items,
            error=error,
        )
        return status

    def _check_cancelled(self) -> None:
        if self._deps.cancel_event is not None and self._deps.cancel_event.is_set():
            raise RunCancelled("sweep.cancelled")

    def _report_phase(
        self, phase: Phase | Literal["revisit"], place: str, done: int = 0, total: int | None = None
    ) -> None:
        self._report_progress(Progress(phase=phase, place=place, done=done, total=total, kind=EventKind.PHASE))


def _summarise_reading(reading: SectionReading) -> dict[str, Any]:
    saved, candidates = sum(entry.disposition == "saved" for entry in reading.entries), len(reading.entries)
    return {
        "message": Message.of(
            "progress.section_read",
            saved=saved,
            candidates=candidates,
            pages=reading.pages,
            ended=describe_end(reading.ended),
        ),
        "ended": reading.ended,
        "pages": reading.pages,
        "candidates": candidates,
        "saved": saved,
        "reason": reading.error,
    }
