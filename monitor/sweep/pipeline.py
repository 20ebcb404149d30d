"""One source, once: navigate, crawl, summarise, rank; then visit the pages of earlier items again."""

import asyncio
import datetime as dt
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from monitor.db.reading import SectionPlan, SectionReading, UnseenPlace
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.evidence import ClaimUpdate
from monitor.db.tables.people import RankFeedbackEntry, RankPlacement
from monitor.errors import ModelFailed, RunCancelled
from monitor.i18n.message import Message
from monitor.llm.answers import parse_array
from monitor.llm.chat import ChatModel, Completion, CompletionRequest
from monitor.ranking.feedback import apply_feedback, compute_lifts
from monitor.ranking.prompt import build_ranking_messages, repair_order
from monitor.ranking.rule import classify_tier, rank_by_rule, sort_newest_first
from monitor.sweep.context import RunContext, SweepDependencies
from monitor.sweep.crawl import crawl_section
from monitor.sweep.ledger import DateWindow
from monitor.sweep.navigate import navigate
from monitor.sweep.progress import Progress, ProgressCallback, describe_end
from monitor.sweep.query import QueryLoader, build_query_plans
from monitor.sweep.revisit import MAX_REVISITS_PER_RUN, ItemRevisitor
from monitor.sweep.summarise import Summariser
from monitor.vocabulary import EventKind, Phase, RunStatus, SourceKind, SummaryBy


@dataclass(frozen=True)
class ReportingModel:
    """A `ChatModel` that reports its calls; the time of a call includes the wait for its turn."""

    model: ChatModel
    report_progress: ProgressCallback

    async def complete(self, request: CompletionRequest) -> Completion:
        asked = Progress(phase=request.phase, place=request.place, kind=EventKind.ASKED)
        self.report_progress(asked)
        began = time.perf_counter()
        tokens, outcome = 0, "cancelled"
        try:
            completion = await self.model.complete(request)
            tokens, outcome = completion.prompt_tokens + completion.completion_tokens, "ok"
        except ModelFailed as error:
            outcome = error.outcome
            raise
        finally:
            facts = {"ms": round((time.perf_counter() - began) * 1000), "tokens": tokens, "outcome": outcome}
            self.report_progress(asked.model_copy(update={"kind": EventKind.ANSWERED, **facts}))
        return completion


async def run_sweep(
    run: Run, source: Source, *, window: DateWindow, today: dt.date, deps: SweepDependencies
) -> RunStatus:
    """Run the four phases of a source, visit earlier items again, store everything; return how the run ended."""
    if source.kind is SourceKind.QUERY and deps.query_runner is not None:
        loader = QueryLoader(
            deps.loader, source=source, query_runner=deps.query_runner, window=window, clock=deps.clock
        )
        deps = replace(deps, loader=loader)
    if deps.model is not None and deps.on_progress is not None:
        deps = replace(deps, model=ReportingModel(deps.model, deps.on_progress))
    return await _SweepPipeline(RunContext(run_id=run.id, source=source, window=window, deps=deps), today).run()


class _SweepPipeline:
    def __init__(self, run: RunContext, today: dt.date) -> None:
        self._run = run
        self._source = run.source
        self._deps = run.deps
        self._store = run.deps.store
        self._run_step = run.deps.steps.run
        self._run_and_store = run.deps.steps.run_and_store
        self._today = today
        self._summariser = Summariser(run)

    async def run(self) -> RunStatus:
        try:
            plans = await self._run_and_store("navigate", list[SectionPlan], self._navigate, self._save_plans)
            for done, plan in enumerate(plans):
                self._report_phase(Phase.CRAWL, plan.name, done, len(plans))
                await self._run_and_store(f"crawl:{plan.ordinal}", str, partial(self._crawl, plan), self._save_reading)
            if not self._deps.is_trial:
                await self._summarise_and_rank()
                await self._revisit()
        except RunCancelled:
            return await self._end(RunStatus.CANCELLED)
        return await self._end()

    async def _navigate(self) -> list[SectionPlan]:
        self._report_phase(Phase.NAVIGATE, self._source.url or self._source.name)
        plans = await self._build_plans()
        self._report_phase(Phase.NAVIGATE, "", len(plans), len(plans))
        return plans

    async def _save_plans(self, plans: list[SectionPlan]) -> list[SectionPlan]:
        await self._store.runs.save_plan(self._run.run_id, plans)
        return plans

    async def _build_plans(self) -> list[SectionPlan]:
        source = self._source
        if source.kind is SourceKind.QUERY:
            return build_query_plans(source)
        if source.sections:
            return [SectionPlan(ordinal=i, name=s["name"], url=s["url"]) for i, s in enumerate(source.sections)]
        if source.kind is SourceKind.FEED:
            return [SectionPlan(ordinal=0, name=source.name, url=source.url, is_feed=True)]
        home = await self._deps.loader.load(source.url, render=self._run.render)
        if home.error is not None:
            await self._run.record_fallback(Phase.NAVIGATE, source.url, home.error.reason)
            place = UnseenPlace(section=source.name, url=source.url, reason=home.error.reason)
            await self._store.runs.add_unseen(self._run.run_id, [place])
            return []
        return await navigate(self._run, home)

    async def _crawl(self, plan: SectionPlan) -> tuple[SectionReading, ClaimUpdate | None]:
        self._run.check_cancelled()
        self._run.report_progress(_describe_section(plan))
        reading = await crawl_section(self._run, plan)
        linker = self._deps.linker
        claims = await linker.link_list(reading.entries) if linker is not None else None
        for url, problem in linker.pop_problems().items() if linker is not None else ():
            await self._run.record_fallback(Phase.CRAWL, url, problem)
        await self._record_loader_notes()
        return reading, claims

    async def _save_reading(self, read: tuple[SectionReading, ClaimUpdate | None]) -> str:
        reading, claims = read
        await self._store.runs.save_reading(
            self._run.run_id, self._source.id or 0, reading, on=self._today, at=self._deps.clock.now(), claims=claims
        )
        is_read = _describe_section(reading.plan).model_copy(update=_summarise_reading(reading))
        self._store.sessions.call_after_commit(partial(self._run.report_progress, is_read))
        return str(reading.ended)

    async def _summarise_and_rank(self) -> None:
        saved = await self._store.items.list_for_run(self._run.run_id)
        unsummarised = [item for item in saved if item.summary_by is not SummaryBy.MODEL]
        await self._summarise({item.id or 0: item for item in sorted(unsummarised, key=lambda item: item.id or 0)})
        if saved:
            await self._run_step("rank", int, self._rank)
        else:
            self._report_phase(Phase.RANK, "", 0, 0)

    async def _summarise(self, items: dict[int, Item]) -> None:
        slots = asyncio.Semaphore(self._deps.limits.summary_concurrency)
        done = 0
        titles: dict[int, str] = {}
        self._report_phase(Phase.SUMMARISE, "", done, len(items))

        async def write(item_id: int) -> int:
            self._run.check_cancelled()
            item = items[item_id]
            titles[item_id] = item.title
            await self._summariser.summarise(item)
            return item_id

        async def summarise_one(item_id: int) -> None:
            nonlocal done
            async with slots:
                await self._run_step(f"summarise:{item_id}", int, partial(write, item_id))
            done += 1
            self._report_phase(Phase.SUMMARISE, titles.get(item_id, ""), done, len(items))

        try:
            async with asyncio.TaskGroup() as group:
                for item_id in items:
                    group.create_task(summarise_one(item_id))
        except ExceptionGroup as several:
            raise several.exceptions[0] from several

    async def _rank(self) -> int:
        self._run.check_cancelled()
        items = await self._store.items.list_for_run(self._run.run_id)
        self._report_phase(Phase.RANK, "", 0, len(items))
        ranks = await _rank_items(self._run, items, await self._load_feedback(items))
        await self._store.items.set_ranks(ranks)
        self._report_phase(Phase.RANK, "", len(items), len(items))
        return len(items)

    async def _load_feedback(self, items: Sequence[Item]) -> Sequence[RankFeedbackEntry]:
        """The feedback of people on ranks, stored with the run, for it decides the order."""
        if self._deps.feedback is not None:
            return self._deps.feedback
        feedback = await self._store.marks.list_feedback(items)
        await self._store.evidence.save_feedback(self._run.run_id, feedback)
        return feedback

    async def _revisit(self) -> None:
        revisitor, days = ItemRevisitor(self._run), self._deps.limits.revisit_days

        async def revisit(item_id: int) -> str:
            self._run.check_cancelled()
            return str(await revisitor.revisit(item_id))

        now = self._deps.clock.now()
        items = await self._store.revisions.list_due(
            self._source.id or 0, at=now, days=days, limit=MAX_REVISITS_PER_RUN
        )
        for done, item_id in enumerate(items, start=1):
            kind = await self._run_step(f"revisit:{item_id}", str, partial(revisit, item_id))
            self._report_phase("revisit", f"{item_id}: {kind}", done, len(items))

    async def _record_loader_notes(self) -> None:
        for url, note in self._deps.loader.notes().items():
            await self._run.record_fallback(Phase.CRAWL, url, note)

    async def _end(self, status: RunStatus | None = None) -> RunStatus:
        """End the run, with what its end says about the source's health."""
        return await self._run_and_store("end", RunStatus, self._record_loader_notes, lambda _: self._store_end(status))

    async def _store_end(self, status: RunStatus | None) -> RunStatus:
        error = None
        outcome = await self._store.runs.load_outcome(self._run.run_id)
        if status is None:
            status = RunStatus.DEGRADED if outcome.has_fallbacks else RunStatus.SUCCEEDED
            if not outcome.has_read:
                status = RunStatus.FAILED
                reason = outcome.unseen
                error = Message.of("cause.nothing_read", reason=reason) if reason else Message("cause.nothing_there")
        await self._store.runs.end(
            self._run.run_id,
            self._source.id,
            status=status,
            at=self._deps.clock.now(),
            has_new=outcome.has_items,
            error=error,
        )
        if self._deps.judge_run is not None:
            await self._deps.judge_run(self._run.run_id)
        return status

    def _report_phase(
        self, phase: Phase | Literal["revisit"], place: str, done: int = 0, total: int | None = None
    ) -> None:
        self._run.report_progress(Progress(phase=phase, place=place, done=done, total=total, kind=EventKind.PHASE))


def _describe_section(plan: SectionPlan) -> Progress:
    return Progress(phase=Phase.CRAWL, place=plan.name, kind=EventKind.SECTION, ordinal=plan.ordinal, url=plan.url)


def _summarise_reading(reading: SectionReading) -> dict[str, Any]:
    saved, candidates = sum(entry.disposition == "saved" for entry in reading.entries), len(reading.entries)
    counts = {"saved": saved, "candidates": candidates, "pages": reading.pages}
    return {
        **counts,
        "message": Message.of("progress.section_read", **counts, ended=describe_end(reading.ended)),
        "ended": reading.ended,
        "reason": reading.error,
    }


async def _rank_items(
    run: RunContext, items: Sequence[Item], feedback: Sequence[RankFeedbackEntry]
) -> dict[int, RankPlacement]:
    model = run.deps.model
    order = rank_by_rule(items) if model is None or len(items) < 2 else await _rank_by_model(run, model, items)
    tiers = [classify_tier(item) for item in items]
    after = apply_feedback(order, tiers=tiers, lifts=compute_lifts(items, feedback))
    return {
        items[index].id or 0: RankPlacement(rank, tiers[index], after.moved.get(index))
        for rank, index in enumerate(after.order, start=1)
    }


async def _rank_by_model(run: RunContext, model: ChatModel, items: Sequence[Item]) -> list[int]:
    place = run.source.name
    messages = build_ranking_messages(
        items, run.source.summary_language, rules=run.source.rules, prompts=run.deps.prompts
    )
    try:
        completion = await model.complete(CompletionRequest(messages, phase=Phase.RANK, place=place))
    except ModelFailed as error:
        await run.record_fallback(Phase.RANK, place, error.reason)
        return sort_newest_first(items)
    order = repair_order(parse_array(completion.text), len(items), fallback_order=rank_by_rule(items))
    if order is None:
        await run.record_fallback(Phase.RANK, place, Message("cause.newest_first"))
        return sort_newest_first(items)
    return order
