"""Phase 1b: one section, read to where nothing new in range can come (contracts, section 4).

Code looks first; an agent works where there is something new; code then saves what the agent left without a reason
and reads on to the end. So a section gives the same items with a good model, a lazy one, and none.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.clock import Clock
from monitor.config.model import SweepSettings
from monitor.db.database import Store
from monitor.db.reading import LedgerEntry, SectionPlan, SectionReading, UnseenPlace
from monitor.db.tables.collection import Source, SourceSection
from monitor.errors import ModelFailed, RunCancelled
from monitor.extract.documents import DocumentReader
from monitor.i18n.message import Message
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS, PromptSet
from monitor.page import Candidate
from monitor.pages.loader import PageLoader
from monitor.sweep.agent import AgentResult, CrawlAgent
from monitor.sweep.ledger import CoverageLedger, DateWindow, extend_window
from monitor.sweep.progress import FallbackRecorder, ProgressCallback, describe_end, discard_progress
from monitor.sweep.prompts import build_section_prompt
from monitor.sweep.reader import SectionReader
from monitor.sweep.saving import ItemSaver
from monitor.sweep.summarise import Summariser
from monitor.sweep.tools import CRAWLER_TOOLS, Toolbox
from monitor.vocabulary import Phase, Render, SectionEnd


@dataclass(frozen=True, kw_only=True)
class CrawlDependencies:
    """What reading sections needs; `model` None means by rule."""

    store: Store
    loader: PageLoader
    documents: DocumentReader
    model: ChatModel | None
    clock: Clock
    limits: SweepSettings
    folder: Path
    fallbacks: FallbackRecorder
    summariser: Summariser
    prompts: PromptSet = DEFAULT_PROMPTS
    on_progress: ProgressCallback = discard_progress
    cancel_event: asyncio.Event | None = None


def build_toolbox(
    plan: SectionPlan,
    *,
    source: Source,
    run_id: str,
    window: DateWindow,
    memory: SourceSection | None,
    deps: CrawlDependencies,
    max_items: int | None = None,
) -> Toolbox:
    """The tools for one section, with the reader, the desk and the ledger behind them.

    `memory` is what is remembered of the section. `max_items` in place of the source's own limit is for an agent that
    reads a whole site as one section.
    """
    ledger = CoverageLedger(
        run_id=run_id,
        section=plan.name,
        source=source,
        memory=memory,
        window=extend_window(window, memory),
        max_items=max_items or source.max_items or deps.limits.max_items,
    )
    reader = SectionReader(
        plan=plan,
        source_id=source.id or 0,
        loader=deps.loader,
        render=source.render or Render.AUTO,
        store=deps.store,
        ledger=ledger,
        memory=memory,
        max_pages=deps.limits.max_pages_per_section,
        report_progress=deps.on_progress,
    )
    saver = ItemSaver(
        source=source,
        ledger=ledger,
        store=deps.store,
        clock=deps.clock,
        date_candidate=reader.date_candidate,
        adopt_summary=deps.summariser.adopt,
        report_progress=deps.on_progress,
    )
    return Toolbox(reader=reader, saver=saver, loader=deps.loader, documents=deps.documents, folder=deps.folder)


NO_LIST_REASON = Message("cause.no_list")
_MAX_KNOWN_URLS_IN_PROMPT = 50


async def crawl_section(
    plan: SectionPlan, *, source: Source, run_id: str, window: DateWindow, deps: CrawlDependencies
) -> SectionReading:
    """Read one section: its candidates with their dispositions, and why the reading ended."""
    memory, carried = await deps.store.sections.load_section(source.id or 0, plan.url)
    toolbox = build_toolbox(plan, source=source, run_id=run_id, window=window, memory=memory, deps=deps)
    return await _SectionCrawler(plan, source, toolbox, deps).read(carried)


class _SectionCrawler:
    def __init__(self, plan: SectionPlan, source: Source, toolbox: Toolbox, deps: CrawlDependencies) -> None:
        self._plan = plan
        self._source = source
        self._deps = deps
        self._toolbox = toolbox
        self._reader = toolbox.reader
        self._saver = toolbox.saver
        self._ledger = toolbox.saver.ledger
        # What a home page or a search shows is no complete list: nothing is concluded from what it does not show.
        self._is_no_list = plan.is_home or plan.is_query
        is_by_rule = plan.is_home or plan.is_feed or plan.is_query or deps.limits.crawl == "rule"
        self._model = None if is_by_rule else deps.model

    async def read(self, carried: Sequence[Candidate]) -> SectionReading:
        await self._save_carried_over(carried)
        first = await self._reader.open(self._plan.url)
        if first.error is not None:
            await self._record_fallback(self._reader.unseen[0].reason)
            return self._build_reading(SectionEnd.ERROR)
        if not first.candidates and not self._is_no_list:
            self._reader.unseen.append(UnseenPlace(section=self._plan.name, url=self._plan.url, reason=NO_LIST_REASON))
            await self._record_fallback(NO_LIST_REASON)
            return self._build_reading(SectionEnd.ERROR).model_copy(update={"pages": 0})
        ended = await self._crawl()
        for place in self._reader.unread_articles:
            await self._deps.fallbacks.record(
                Phase.CRAWL, place.url, Message.of("cause.no_article_date", reason=place.reason)
            )
        return self._build_reading(ended)

    async def _crawl(self) -> SectionEnd:
        if not self._ledger.list_open_entries() and not self._reader.is_unfinished and not self._reader.is_seeking:
            return SectionEnd.KNOWN
        if self._reader.next_url is not None:
            await self._deps.store.sections.mark_started(self._source.id or 0, self._plan)
        agent_saved = None
        if self._model is not None and self._ledger.list_open_entries():
            agent_saved = await self._run_agent(self._model)
        before = len(self._saver.items)
        ended = await self._read_by_rule()
        if agent_saved is not None and len(self._saver.items) > before:
            await self._record_fallback(Message.of("cause.left_by_agent", count=len(self._saver.items) - before))
        if ended is SectionEnd.ERROR:
            await self._record_fallback(self._reader.unseen[-1].reason)
        elif ended in (SectionEnd.MAX_PAGES, SectionEnd.MAX_ITEMS):
            await self._record_fallback(Message.of("cause.cut_short", limit=describe_end(ended)))
        return ended

    async def _save_carried_over(self, carried: Sequence[Candidate]) -> None:
        """What the last run had no room for comes first."""
        for candidate in carried[: self._ledger.room]:
            self._ledger.add_extra(candidate, page_url=self._plan.url)
        await self._saver.save_open()

    async def _run_agent(self, model: ChatModel) -> AgentResult | None:
        parts = self._deps
        agent = CrawlAgent(
            model=model, toolbox=self._toolbox, limits=parts.limits, place=self._plan.name, prompts=parts.prompts
        )
        known = await parts.store.sections.list_recent_item_urls(self._source.id or 0, _MAX_KNOWN_URLS_IN_PROMPT)
        system, user = build_section_prompt(
            section=self._plan.name,
            url=self._plan.url,
            since=self._ledger.window.since,
            known=known,
            until=self._ledger.window.until,
            max_items=self._ledger.max_items - self._ledger.saved_count,
            rules=self._source.rules,
            language=self._source.summary_language,
            prompts=parts.prompts,
        )
        try:
            result = await agent.run_agent(
                self._source,
                known,
                parts.on_progress,
                parts.cancel_event,
                system_prompt=system,
                user_message=user,
                tools=CRAWLER_TOOLS,
                enable_pruning=True,
            )
        except ModelFailed as error:
            await self._record_fallback(error.reason)
            return None
        if not result.finished:
            await self._record_fallback(Message.of("cause.agent_cut_short", reason=result.reason))
        return result

    async def _read_by_rule(self) -> SectionEnd:
        """Save what is open, and read on until the list ends, is known, or a limit is reached."""
        while True:
            self._check_cancelled()
            await self._saver.save_open()
            ended = self._reader.get_end()
            if ended is not None:
                return ended
            page = await self._reader.open(self._reader.next_url or "")
            if page.error is not None:
                return SectionEnd.ERROR

    def _check_cancelled(self) -> None:
        if self._deps.cancel_event is not None and self._deps.cancel_event.is_set():
            raise RunCancelled("sweep.cancelled_in", place=self._plan.name)

    async def _record_fallback(self, reason: Message) -> None:
        await self._deps.fallbacks.record(Phase.CRAWL, self._plan.name, reason)

    def _build_reading(self, ended: SectionEnd) -> SectionReading:
        entries: list[LedgerEntry] = self._ledger.close()
        unseen = [*self._reader.unseen, *self._reader.unread_articles]
        rest = self._reader.next_url or self._reader.cut_short_at
        if ended in (SectionEnd.MAX_PAGES, SectionEnd.MAX_ITEMS) and rest:
            unseen.append(UnseenPlace(section=self._plan.name, url=rest, reason=describe_end(ended)))
        return SectionReading(
            plan=self._plan,
            ended=ended,
            pages=self._reader.list_pages,
            entries=entries,
            unseen=unseen,
            tail_date=self._ledger.get_tail_date(),
            refused_saves=self._saver.refused_saves,
            corrected_dates=self._saver.corrected_dates,
            **self._build_health_fields(ended),
        )

    def _build_health_fields(self, ended: SectionEnd) -> dict[str, Any]:
        reader = self._reader
        error = reader.unseen[-1].reason if ended is SectionEnd.ERROR and reader.unseen else None
        if self._is_no_list:
            return {"error": error}
        return {
            "listed": reader.listed,
            "listed_dated": reader.listed_dated,
            "head": reader.list_newest_keys(),
            "error": error,
            "is_gap": reader.is_gap and ended is not SectionEnd.ERROR,
        }
