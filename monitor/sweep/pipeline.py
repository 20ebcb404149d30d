"""One source, once: navigate, crawl, summarise, rank, keep; then a look back at what was saved earlier.

Each step keeps what it found in the store before it ends, and hands on only what the next one needs; so a run that is
killed has lost at most the step in hand.
"""

import asyncio
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from monitor.domain.causes import Cause
from monitor.domain.marks import Wish
from monitor.domain.prompts import OURS, Prompts
from monitor.domain.reading import SectionPlan, SectionReading, UnseenPlace
from monitor.domain.tables import Item, Run, Source
from monitor.domain.words import EventKind, Phase, Render, RunStatus, SourceKind
from monitor.errors import RunCancelled
from monitor.evidence.linking import Linker
from monitor.ports import ChatModel, Clock, DocumentReader, PageLoader, Progress, ProgressCallback, Steps, untold
from monitor.settings import SweepSettings
from monitor.store import Store
from monitor.sweep.crawl import crawl
from monitor.sweep.fallbacks import Fallbacks
from monitor.sweep.navigate import navigate
from monitor.sweep.order import rank_items
from monitor.sweep.parts import CrawlParts
from monitor.sweep.query import QueryLoader, QueryResults, query_plans
from monitor.sweep.reader import reason_of
from monitor.sweep.revisit import MOST_LOOKS, Revisits
from monitor.sweep.summarise import Summaries
from monitor.sweep.told import ToldModel
from monitor.sweep.window import Window


@dataclass(frozen=True, kw_only=True)
class Parts:
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
    steps: Steps
    clock: Clock
    limits: SweepSettings
    folder: Path
    linker: Linker | None = None
    prompts: Prompts = OURS
    results: QueryResults | None = None
    on_progress: ProgressCallback | None = None
    cancel_event: asyncio.Event | None = None
    is_trial: bool = False
    wishes: Sequence[Wish] | None = None


async def sweep(run: Run, source: Source, *, window: Window, today: dt.date, parts: Parts) -> RunStatus:
    """Run the four phases of a source, look again at earlier items, keep everything; answers how the run ended."""
    if source.kind is SourceKind.QUERY and parts.results is not None:
        loader = QueryLoader(parts.loader, source=source, results=parts.results, window=window, clock=parts.clock)
        parts = replace(parts, loader=loader)
    if parts.model is not None and parts.on_progress is not None:
        parts = replace(parts, model=ToldModel(parts.model, parts.on_progress))
    return await _Sweep(run, source, window, today, parts).run()


class _Sweep:
    def __init__(self, run: Run, source: Source, window: Window, today: dt.date, parts: Parts) -> None:
        self._run = run
        self._source = source
        self._window = window
        self._today = today
        self._parts = parts
        self._at_hand: dict[int, Item] = {}
        self._tell = parts.on_progress or untold
        self._fallbacks = Fallbacks(run_id=run.id, store=parts.store, clock=parts.clock, tell=self._tell)
        self._summaries = Summaries(
            source=source,
            store=parts.store,
            loader=parts.loader,
            documents=parts.documents,
            model=parts.model,
            limits=parts.limits,
            folder=parts.folder,
            fallbacks=self._fallbacks,
            linker=parts.linker,
            prompts=parts.prompts,
        )

    async def run(self) -> RunStatus:
        try:
            plans = await self._parts.steps.run("navigate", list[SectionPlan], self._navigate)
            for done, plan in enumerate(plans):
                self._tell_phase(Phase.CRAWL, plan.name, done, len(plans))
                await self._parts.steps.run(f"crawl:{plan.ordinal}", str, partial(self._crawl, plan))
            if not self._parts.is_trial:
                await self._summarise()
                await self._parts.steps.run("rank", int, self._rank)
                await self._revisit()
        except RunCancelled:
            return await self._parts.steps.run("end", RunStatus, partial(self._end, RunStatus.CANCELLED))
        return await self._parts.steps.run("end", RunStatus, self._end)

    async def _navigate(self) -> list[SectionPlan]:
        self._tell_phase(Phase.NAVIGATE, self._source.url or self._source.name)
        plans = await self._plans()
        await self._parts.store.runs.plan(self._run.id, plans)
        self._tell_phase(Phase.NAVIGATE, "", len(plans), len(plans))
        return plans

    async def _plans(self) -> list[SectionPlan]:
        source = self._source
        if source.kind is SourceKind.QUERY:
            return query_plans(source)
        if source.sections:
            return [SectionPlan(ordinal=i, name=s["name"], url=s["url"]) for i, s in enumerate(source.sections)]
        if source.kind is SourceKind.FEED:
            return [SectionPlan(ordinal=0, name=source.name, url=source.url, is_feed=True)]
        home = await self._parts.loader.load(source.url, render=source.render or Render.AUTO)
        if home.error is not None:
            await self._fallbacks.note(Phase.NAVIGATE, source.url, reason_of(home))
            place = UnseenPlace(section=source.name, url=source.url, reason=reason_of(home))
            await self._parts.store.runs.add_unseen(self._run.id, [place])
            return []
        return await navigate(
            source,
            home,
            model=self._parts.model,
            fallbacks=self._fallbacks,
            page_max_chars=self._parts.limits.page_max_chars,
            prompts=self._parts.prompts,
        )

    async def _crawl(self, plan: SectionPlan) -> str:
        self._check_cancelled()
        section = Progress(
            phase=Phase.CRAWL, place=plan.name, kind=EventKind.SECTION, ordinal=plan.ordinal, url=plan.url
        )
        self._tell(section)
        parts = self._parts
        crawl_parts = CrawlParts(
            store=parts.store,
            loader=parts.loader,
            documents=parts.documents,
            model=parts.model,
            clock=parts.clock,
            limits=parts.limits,
            folder=parts.folder,
            fallbacks=self._fallbacks,
            summaries=self._summaries,
            prompts=parts.prompts,
            on_progress=self._tell,
            cancel_event=parts.cancel_event,
        )
        reading = await crawl(plan, source=self._source, run_id=self._run.id, window=self._window, parts=crawl_parts)
        await parts.store.runs.keep_reading(
            self._run.id,
            self._source.id or 0,
            reading,
            on=self._today,
            at=parts.clock.now(),
            links=await parts.linker.listed(reading.entries) if parts.linker is not None else None,
        )
        await self._keep_notes()
        self._tell(section.model_copy(update=_told(reading)))
        return str(reading.ended)

    async def _summarise(self) -> None:
        items = await self._parts.steps.run("unsummarised", list[int], self._unsummarised)
        gate = asyncio.Semaphore(self._parts.limits.summary_concurrency)
        done = 0
        titles: dict[int, str] = {}
        self._tell_phase(Phase.SUMMARISE, "", done, len(items))

        async def write(item_id: int) -> int:
            self._check_cancelled()
            item = self._at_hand.pop(item_id, None) or await self._parts.store.items.get(item_id)
            if item is not None:
                titles[item_id] = item.title
                await self._summaries.write(item)
            return item_id

        async def one(item_id: int) -> None:
            nonlocal done
            async with gate:
                await self._parts.steps.run(f"summarise:{item_id}", int, partial(write, item_id))
            done += 1
            self._tell_phase(Phase.SUMMARISE, titles.get(item_id, ""), done, len(items))

        try:
            async with asyncio.TaskGroup() as group:
                for item_id in items:
                    group.create_task(one(item_id))
        except ExceptionGroup as several:
            raise several.exceptions[0] from several

    async def _unsummarised(self) -> list[int]:
        self._at_hand = {item.id or 0: item for item in await self._parts.store.items.unsummarised(self._run.id)}
        return list(self._at_hand)

    async def _rank(self) -> int:
        self._check_cancelled()
        items = await self._parts.store.items.for_run(self._run.id)
        self._tell_phase(Phase.RANK, "", 0, len(items))
        ranks = await rank_items(
            items,
            model=self._parts.model,
            fallbacks=self._fallbacks,
            place=self._source.name,
            language=self._source.summary_language,
            wishes=await self._wishes(items),
            prompts=self._parts.prompts,
        )
        await self._parts.store.items.set_ranks(ranks)
        self._tell_phase(Phase.RANK, "", len(items), len(items))
        return len(items)

    async def _wishes(self, items: Sequence[Item]) -> Sequence[Wish]:
        """What people said of ranks; kept with the run, for it decides the order."""
        if self._parts.wishes is not None:
            return self._parts.wishes
        wishes = await self._parts.store.marks.wishes(items)
        await self._parts.store.evidence.note_wishes(self._run.id, wishes)
        return wishes

    async def _revisit(self) -> None:
        parts = self._parts
        revisits = Revisits(
            run_id=self._run.id,
            source=self._source,
            store=parts.store,
            loader=parts.loader,
            documents=parts.documents,
            folder=parts.folder,
        )

        async def due() -> list[int]:
            days = parts.limits.revisit_days
            return await parts.store.revisions.due(
                self._source.id or 0, at=parts.clock.now(), days=days, limit=MOST_LOOKS
            )

        async def look(item_id: int) -> str:
            self._check_cancelled()
            return str(await revisits.look(item_id))

        items = await parts.steps.run("due", list[int], due)
        for done, item_id in enumerate(items, start=1):
            kind = await parts.steps.run(f"revisit:{item_id}", str, partial(look, item_id))
            self._tell_phase("revisit", f"{item_id}: {kind}", done, len(items))

    async def _keep_notes(self) -> None:
        for url, note in self._parts.loader.notes().items():
            await self._fallbacks.note(Phase.CRAWL, url, note)

    async def _end(self, status: RunStatus | None = None) -> RunStatus:
        await self._keep_notes()
        runs, error = self._parts.store.runs, None
        outcome = await runs.outcome(self._run.id)
        if status is None:
            status = RunStatus.DEGRADED if outcome.has_fallbacks else RunStatus.SUCCEEDED
            if not outcome.has_read:
                status = RunStatus.FAILED
                error = Cause.NOTHING_READ.told(outcome.unseen) if outcome.unseen else Cause.NOTHING_THERE.told()
        await runs.end(
            self._run.id,
            self._source.id,
            status=status,
            at=self._parts.clock.now(),
            has_new=outcome.has_items,
            error=error,
        )
        return status

    def _check_cancelled(self) -> None:
        if self._parts.cancel_event is not None and self._parts.cancel_event.is_set():
            raise RunCancelled("The run was cancelled.")

    def _tell_phase(
        self, phase: Phase | Literal["revisit"], place: str, done: int = 0, total: int | None = None
    ) -> None:
        self._tell(Progress(phase=phase, place=place, done=done, total=total, kind=EventKind.PHASE))


def _told(reading: SectionReading) -> dict[str, Any]:
    saved, candidates = sum(entry.disposition == "saved" for entry in reading.entries), len(reading.entries)
    return {
        "message": f"{saved} saved of {candidates} candidates on {reading.pages} pages, ended {reading.ended}",
        "ended": reading.ended,
        "pages": reading.pages,
        "candidates": candidates,
        "saved": saved,
        "reason": reading.error,
    }
