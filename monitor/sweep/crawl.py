"""Phase 1b: reads a section by code, agent and code again, so that a lazy model or none costs no item."""

from collections.abc import Sequence
from typing import Any

from monitor.db.reading import SectionPlan, SectionReading, UnseenPlace
from monitor.db.tables.collection import SourceSection
from monitor.errors import ModelFailed
from monitor.i18n.message import Message
from monitor.llm.chat import ChatModel
from monitor.page import SURE_LIST_SCORE, Candidate, is_feed_page
from monitor.sweep.agent import AgentResult, CrawlAgent
from monitor.sweep.context import RunContext
from monitor.sweep.ledger import CoverageLedger, extend_window
from monitor.sweep.list_choice import ask_for_examples
from monitor.sweep.progress import describe_end
from monitor.sweep.prompts import build_agent_prompt
from monitor.sweep.reader import SectionReader
from monitor.sweep.summarise import Summariser
from monitor.sweep.tools import CRAWLER_TOOLS, ItemSaver, Toolbox
from monitor.vocabulary import Phase, SectionEnd

NO_LIST_REASON = Message("cause.no_list")
_MAX_KNOWN_URLS_IN_PROMPT = 50


def build_toolbox(
    run: RunContext, plan: SectionPlan, *, memory: SourceSection | None, max_items: int | None = None
) -> Toolbox:
    """Build the tools for one section; `max_items` is for an agent that reads a whole site as one section."""
    ledger = CoverageLedger(
        run_id=run.run_id,
        section=plan.name,
        source=run.source,
        memory=memory,
        window=extend_window(run.window, memory),
        max_items=max_items or run.source.max_items or run.deps.limits.max_items,
    )
    reader = SectionReader(plan=plan, run=run, ledger=ledger, memory=memory)
    saver = ItemSaver(run=run, reader=reader, adopt_summary=Summariser(run).adopt)
    return Toolbox(run=run, reader=reader, saver=saver)


async def crawl_section(run: RunContext, plan: SectionPlan) -> SectionReading:
    """Read one section: its candidates with their dispositions, and why the reading ended."""
    memory, carried = await run.deps.store.sections.load_section(run.source.id or 0, plan.url)
    return await _SectionCrawler(run, plan, build_toolbox(run, plan, memory=memory), memory).read(carried)


class _SectionCrawler:
    def __init__(self, run: RunContext, plan: SectionPlan, toolbox: Toolbox, memory: SourceSection | None) -> None:
        self._run = run
        self._memory = memory
        self._plan = plan
        self._toolbox = toolbox
        self._reader = toolbox.reader
        self._saver = toolbox.saver
        self._ledger = toolbox.saver.ledger
        # A home page or a search result is no complete list: nothing is concluded from what it does not show.
        self._is_no_list = plan.is_home or plan.is_query
        is_by_rule = plan.is_home or plan.is_feed or plan.is_query or run.deps.limits.crawl == "rule"
        self._model = None if is_by_rule else run.deps.model
        self._is_chosen_anew = False

    async def read(self, carried: Sequence[Candidate]) -> SectionReading:
        for candidate in carried[: self._ledger.room]:  # first what the last run had no room for
            self._ledger.add_extra(candidate, page_url=self._plan.url)
        await self._saver.save_open()
        if not self._is_no_list:
            await self._choose_list()
        first = await self._reader.open(self._plan.url)
        if first.error is not None:
            await self._record_fallback(self._reader.unseen[0].reason)
            return self._build_reading(SectionEnd.ERROR)
        if not first.candidates and not self._is_no_list:
            self._reader.unseen.append(UnseenPlace(section=self._plan.name, url=self._plan.url, reason=NO_LIST_REASON))
            await self._record_fallback(NO_LIST_REASON)
            return self._build_reading(SectionEnd.ERROR).model_copy(update={"pages": 0})
        if self._reader.is_drifted:
            await self._record_fallback(Message("cause.recipe_drifted"))
        elif self._reader.learned is not None and self._reader.has_recipe:
            code = "cause.recipe_chosen_anew" if self._is_chosen_anew else "cause.recipe_relearned"
            await self._record_fallback(Message(code))
        if is_feed_page(first):
            self._model = None
        ended = await self._crawl()
        for place in self._reader.unread_articles:
            reason = Message.of("cause.no_article_date", reason=place.reason)
            await self._run.record_fallback(Phase.CRAWL, place.url, reason)
        return self._build_reading(ended)

    async def _choose_list(self) -> None:
        """Ask which of the page's lists is the section's, once, where the page does not make it sure.

        Once more where a list that the model named has drifted: then a page that makes it sure is not asked about.
        """
        reader, memory = self._reader, self._memory
        if reader.is_model_recipe and (memory is None or memory.drifted_on is None):
            await reader.look()
            if not reader.is_drifted:
                return
            page = await reader.look_anew()
            self._is_chosen_anew = True
        elif reader.has_recipe or self._model is None:
            return
        else:
            page = await reader.look()
            if page.candidates and memory is not None:
                return
        is_unsure = not page.candidates or (bool(page.lists) and page.lists[0].score < SURE_LIST_SCORE)
        if self._is_chosen_anew and not is_unsure and page.recipe is not None:
            reader.learn(page.recipe)
        elif is_unsure and self._model is not None and page.error is None and page.links:
            try:
                reader.follow(await ask_for_examples(self._run, self._model, self._plan, page))
            except ModelFailed as error:
                await self._record_fallback(error.reason)

    async def _crawl(self) -> SectionEnd:
        if not self._ledger.list_open_entries() and not self._reader.is_unfinished and not self._reader.is_seeking:
            return SectionEnd.KNOWN
        if self._reader.next_url is not None:
            await self._run.deps.store.sections.mark_started(self._run.source.id or 0, self._plan)
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

    async def _run_agent(self, model: ChatModel) -> AgentResult | None:
        source, deps = self._run.source, self._run.deps
        known = await deps.store.sections.list_recent_item_urls(source.id or 0, _MAX_KNOWN_URLS_IN_PROMPT)
        system, user = build_agent_prompt(
            source,
            self._plan,
            window=self._ledger.window,
            max_items=self._ledger.max_items - self._ledger.saved_count,
            known=known,
            prompts=deps.prompts,
        )
        try:
            result = await CrawlAgent(model=model, toolbox=self._toolbox).run_agent(
                source,
                known,
                self._run.report_progress,
                deps.cancel_event,
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
        while True:
            self._run.check_cancelled(self._plan.name)
            await self._saver.save_open()
            ended = self._reader.get_end()
            if ended is not None:
                return ended
            page = await self._reader.open(self._reader.next_url or "")
            if page.error is not None:
                return SectionEnd.ERROR

    async def _record_fallback(self, reason: Message) -> None:
        await self._run.record_fallback(Phase.CRAWL, self._plan.name, reason)

    def _build_reading(self, ended: SectionEnd) -> SectionReading:
        reader = self._reader
        unseen = [*reader.unseen, *reader.unread_articles]
        rest = reader.next_url or reader.cut_short_at
        if ended in (SectionEnd.MAX_PAGES, SectionEnd.MAX_ITEMS) and rest:
            unseen.append(UnseenPlace(section=self._plan.name, url=rest, reason=describe_end(ended)))
        health: dict[str, Any] = {}
        if not self._is_no_list:
            health = {
                "listed": reader.listed,
                "listed_dated": reader.listed_dated,
                "head": reader.list_newest_keys(),
                "is_gap": reader.is_gap and ended is not SectionEnd.ERROR,
            }
        return SectionReading(
            plan=self._plan,
            ended=ended,
            pages=reader.list_pages,
            entries=self._ledger.close(),
            unseen=unseen,
            tail_date=self._ledger.get_tail_date(),
            recipe=reader.learned,
            is_drifted=reader.is_drifted,
            refused_saves=self._saver.refused_saves,
            corrected_dates=self._saver.corrected_dates,
            error=reader.unseen[-1].reason if ended is SectionEnd.ERROR and reader.unseen else None,
            **health,
        )
