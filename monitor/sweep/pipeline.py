"""One source, once: navigate, crawl, summarise, rank; then visit the pages of earlier items again."""

import asyncio
import datetime as dt
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel

from monitor.db.reading import SectionPlan, SectionReading, UnseenPlace
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.evidence import ClaimUpdate
from monitor.db.tables.people import RankFeedbackEntry, RankPlacement
from monitor.errors import ModelFailed, RunCancelled
from monitor.i18n.message import Message
from monitor.llm.chat import ChatModel, Completion, CompletionRequest, fit_chars
from monitor.page import ChangeKind
from monitor.ranking.feedback import apply_feedback, compute_lifts
from monitor.sweep.context import RunContext, SweepDependencies
from monitor.sweep.crawl import crawl_section
from monitor.sweep.json_lists import JsonListLoader, find_json_recipes
from monitor.sweep.ledger import DateWindow
from monitor.sweep.memory import RememberingLoader
from monitor.sweep.navigate import navigate
from monitor.sweep.progress import Progress, ProgressCallback, describe_end
from monitor.sweep.query import QueryLoader, build_query_plans
from monitor.sweep.revisit import MAX_DEADLINE_REVISITS_PER_RUN, MAX_REVISITS_PER_RUN, ItemRevisitor
from monitor.sweep.summarise import Summariser
from monitor.vocabulary import Disposition, EventKind, Phase, RunStatus, SourceKind


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

    def fit_chars(self, phase: Phase, limit: int, place: str = "") -> int:
        return fit_chars(self.model, phase, limit, place)


async def run_sweep(
    run: Run, source: Source, *, window: DateWindow, today: dt.date, deps: SweepDependencies
) -> RunStatus:
    """Run the four phases of a source, visit earlier items again, store everything; return how the run ended."""
    sites = [source.url, *(section["url"] for section in source.sections)]
    remembering = RememberingLoader(deps.loader, deps.repeats, sites)
    if source.kind is not SourceKind.QUERY and not deps.is_trial:
        deps = replace(deps, loader=remembering)
    if source.kind is SourceKind.QUERY and deps.query_runner is not None:
        loader = QueryLoader(
            deps.loader, source=source, query_runner=deps.query_runner, window=window, clock=deps.clock
        )
        deps = replace(deps, loader=loader)
    if recipes := find_json_recipes(source):
        json_loader = JsonListLoader(deps.loader, recipes, workers=deps.workers, timezone=source.timezone)
        deps = replace(deps, loader=json_loader)
    if deps.model is not None and deps.on_progress is not None:
        deps = replace(deps, model=ReportingModel(deps.model, deps.on_progress))
    context = RunContext(run_id=run.id, source=source, window=window, deps=deps)
    return await _SweepPipeline(context, today, remembering, is_baseline=run.is_baseline).run()


class _FirstLook(BaseModel):
    """The outcome of a run's first step: so many of the sections are read, and `status` where the run ended with it.

    `has_stale`: nothing is new, but summaries of earlier items are to be made again.
    """

    plans: list[SectionPlan]
    read: int = 0
    has_new: bool = False
    has_stale: bool = False
    status: RunStatus | None = None


class _RunItems(BaseModel):
    """The items of a run that no model has summarised, and whether it has any at all."""

    unsummarised: list[int]
    has_items: bool


@dataclass(frozen=True)
class _ReadSection:
    reading: SectionReading
    claims: ClaimUpdate | None

    @property
    def has_new(self) -> bool:
        return any(entry.disposition is Disposition.SAVED for entry in self.reading.entries)


class _SweepPipeline:
    def __init__(self, run: RunContext, today: dt.date, site: RememberingLoader, *, is_baseline: bool) -> None:
        self._run = run
        self._site = site
        self._is_baseline = is_baseline
        self._source = run.source
        self._deps = run.deps
        self._store = run.deps.store
        self._run_step = run.deps.steps.run
        self._today = today
        self._cached_items: dict[int, Item] = {}
        self._summariser = Summariser(run)

    async def run(self) -> RunStatus:
        try:
            look = await self._run_step("look", _FirstLook, self._look)
            if look.status is not None:
                return look.status
            left = look.plans[look.read :]
            for plan in left:
                self._report_section(plan, look.plans)
                await self._run_step(f"crawl:{plan.ordinal}", str, partial(self._crawl, plan))
            if not self._deps.is_trial:
                if left or look.has_new:
                    if await self._summarise():
                        await self._file_documents("file")
                    await self._run_step("rank", int, self._rank)
                elif look.has_stale:
                    await self._summarise()
                if await self._revisit():
                    await self._file_documents("file:changed")
        except RunCancelled:
            return await self._run_step("end", RunStatus, partial(self._finish, RunStatus.CANCELLED))
        return await self._run_step("end", RunStatus, self._finish)

    async def _look(self) -> _FirstLook:
        """Navigate, then read one section after another until one has something new; with none the run is over.

        A step that would be costly to do again ends earlier: a first run has much to read, and a model costs money.
        """
        source = self._source
        is_listed = bool(source.sections) or source.kind in (SourceKind.QUERY, SourceKind.FEED)
        plans = await self._navigate()
        if self._is_baseline or (self._deps.model is not None and not is_listed):
            return _FirstLook(plans=plans)
        last = None
        for read, plan in enumerate(plans, start=1):
            self._report_section(plan, plans)
            last = await self._read_section(plan)
            if last.has_new or read < len(plans):
                await self._save_section(last)
            if last.has_new:
                return _FirstLook(plans=plans, read=read, has_new=True)
        return await self._store.write_together(partial(self._end_look, plans, last))

    async def _end_look(self, plans: list[SectionPlan], last: _ReadSection | None) -> _FirstLook:
        """Store the last section and the end of a run that has nothing to do any more, in one transaction."""
        if last is not None:
            await self._save_section(last)
        look = _FirstLook(plans=plans, read=len(plans))
        if not self._deps.is_trial:
            # What an attempt at this step saved that broke off is there as well.
            look.has_new = bool(await self._store.items.list_for_run(self._run.run_id))
            look.has_stale = not look.has_new and bool(await self._list_stale())
            if look.has_new or look.has_stale or await self._list_due():
                return look
        look.status = await self._store_end()
        return look

    async def _navigate(self) -> list[SectionPlan]:
        self._report_phase(Phase.NAVIGATE, self._source.url or self._source.name)
        plans = await self._build_plans()
        await self._store.runs.save_plan(self._run.run_id, plans)
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
        home = await self._deps.loader.load(source.url, render=self._run.render)
        if home.error is not None:
            await self._run.record_fallback(Phase.NAVIGATE, source.url, home.error.reason)
            place = UnseenPlace(section=source.name, url=source.url, reason=home.error.reason)
            await self._store.runs.add_unseen(self._run.run_id, [place])
            return []
        return await navigate(self._run, home)

    async def _crawl(self, plan: SectionPlan) -> str:
        section = await self._read_section(plan)
        await self._save_section(section)
        return str(section.reading.ended)

    async def _read_section(self, plan: SectionPlan) -> _ReadSection:
        self._run.check_cancelled()
        self._run.report_progress(_describe_section(plan))
        reading = await crawl_section(self._run, plan)
        linker = self._deps.linker
        claims = await linker.link_list(reading.entries) if linker is not None else None
        for url, problem in linker.pop_problems().items() if linker is not None else ():
            await self._run.record_fallback(Phase.CRAWL, url, problem)
        await self._record_loader_notes()
        return _ReadSection(reading, claims)

    async def _save_section(self, section: _ReadSection) -> None:
        reading, now = section.reading, self._deps.clock.now()
        await self._store.runs.save_reading(
            self._run.run_id, self._source.id or 0, reading, on=self._today, at=now, claims=section.claims
        )
        is_read = _describe_section(reading.plan).model_copy(update=_summarise_reading(reading))
        self._store.sessions.call_after_commit(partial(self._run.report_progress, is_read))

    async def _summarise(self) -> bool:
        """Summarise what no model has summarised yet; whether the run has any items."""
        found = await self._run_step("unsummarised", _RunItems, self._list_unsummarised)
        items = found.unsummarised
        slots = asyncio.Semaphore(self._deps.limits.summary_concurrency)
        done = 0
        titles: dict[int, str] = {}
        self._report_phase(Phase.SUMMARISE, "", done, len(items))

        async def write(item_id: int) -> int:
            self._run.check_cancelled()
            item = self._cached_items.pop(item_id, None) or await self._store.items.get(item_id)
            if item is not None:
                titles[item_id] = item.title
                is_again = item.is_summary_stale
                await (self._summariser.summarise_again(item) if is_again else self._summariser.summarise(item))
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
        return found.has_items

    async def _list_unsummarised(self) -> _RunItems:
        items = await self._store.items.list_unsummarised(self._run.run_id)
        self._cached_items = {item.id or 0: item for item in items}
        has_items = bool(items) or bool(await self._store.items.list_for_run(self._run.run_id))
        due = dict.fromkeys([*self._cached_items, *await self._list_stale()])
        return _RunItems(unsummarised=list(due), has_items=has_items)

    async def _list_stale(self) -> list[int]:
        return await self._store.items.list_stale(self._source.id or 0)

    async def _file_documents(self, step: str) -> None:
        """Read what documents say of themselves, and join them to their policies."""
        file_documents = self._deps.file_documents
        if file_documents is None:
            return

        async def file() -> str:
            self._run.check_cancelled()
            await file_documents(self._run.run_id)
            return step

        await self._run_step(step, str, file)

    async def _rank(self) -> int:
        self._run.check_cancelled()
        items = await self._store.items.list_for_run(self._run.run_id)
        self._report_phase(Phase.RANK, "", 0, len(items))
        ranks = await _rank_items(self._run, items, await self._load_feedback(items), self._today)
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

    async def _revisit(self) -> bool:
        """Visit the pages of earlier items again; whether one of them was found changed."""
        revisitor = ItemRevisitor(self._run)

        async def revisit(item_id: int) -> str:
            self._run.check_cancelled()
            return str(await revisitor.revisit(item_id))

        items = await self._run_step("due", list[int], self._list_due)
        kinds = set()
        for done, item_id in enumerate(items, start=1):
            kind = await self._run_step(f"revisit:{item_id}", str, partial(revisit, item_id))
            kinds.add(kind)
            self._report_phase("revisit", f"{item_id}: {kind}", done, len(items))
        return not kinds <= {str(ChangeKind.NONE), str(ChangeKind.UNREACHABLE)}

    async def _list_due(self) -> list[int]:
        days, now = self._deps.limits.revisit_days, self._deps.clock.now()
        return await self._store.revisions.list_due(
            self._source.id or 0,
            at=now,
            days=days,
            limit=MAX_REVISITS_PER_RUN,
            deadline_limit=MAX_DEADLINE_REVISITS_PER_RUN,
        )

    async def _record_loader_notes(self) -> None:
        for url, note in self._deps.loader.notes().items():
            await self._run.record_fallback(Phase.CRAWL, url, note)

    async def _finish(self, status: RunStatus | None = None) -> RunStatus:
        await self._record_loader_notes()
        return await self._store.write_together(partial(self._store_end, status))

    async def _store_end(self, status: RunStatus | None = None) -> RunStatus:
        """End the run, with what its end says about the source's health; only reads and writes the database."""
        error = None
        outcome = await self._store.runs.load_outcome(self._run.run_id)
        if status is None:
            status = RunStatus.DEGRADED if outcome.has_fallbacks else RunStatus.SUCCEEDED
            if not outcome.has_read:
                status = RunStatus.FAILED
                reason = outcome.unseen
                error = Message.of("cause.nothing_read", reason=reason) if reason else Message("cause.nothing_there")
        if outcome.has_items and not self._deps.is_trial:  # where nothing is new, the pages are known
            await self._store.sections.remember_pages(self._source.id or 0, self._site.list_seen(), self._today)
        if self._deps.before_end is not None:
            self._deps.before_end()
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

    def _report_section(self, plan: SectionPlan, plans: Sequence[SectionPlan]) -> None:
        self._report_phase(Phase.CRAWL, plan.name, plans.index(plan), len(plans))

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
    run: RunContext, items: Sequence[Item], feedback: Sequence[RankFeedbackEntry], today: dt.date
) -> dict[int, RankPlacement]:
    from monitor.ranking.model import RankingContext, rank_items  # a run without new items needs no rules
    from monitor.ranking.rule import sort_newest_first

    facts = await run.deps.store.items.load_facts([item.id or 0 for item in items])
    context = RankingContext(
        today=today,
        facts={n: facts[item.id or 0] for n, item in enumerate(items) if item.id in facts},
        place=run.source.name,
        language=run.source.summary_language,
        rules=run.source.rules,
        prompts=run.deps.prompts,
    )
    ranked = await rank_items(items, context, run.deps.model)
    for fault in ranked.faults:
        await run.record_fallback(Phase.RANK, run.source.name, fault)
    has_failed = bool(ranked.faults) and not ranked.is_answered
    order = sort_newest_first(items) if has_failed else ranked.order
    newest_first = Message("rank.newest_first")
    after = apply_feedback(
        order, tiers=[each.tier for each in ranked.importances], lifts=compute_lifts(items, feedback)
    )
    return {
        items[n].id or 0: RankPlacement(
            rank,
            ranked.importances[n].tier,
            after.moved.get(n),
            rank_reason=newest_first if has_failed else ranked.importances[n].reason,
            importance=ranked.labels.get(n),
        )
        for rank, n in enumerate(after.order, start=1)
    }
