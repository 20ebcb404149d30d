"""Phase 1b: one section, read to where nothing new in range can come (contracts, section 4).

Code looks first; an agent works where there is something new; code then saves what the agent left without a reason
and reads on to the end. So a section gives the same items with a good model, a lazy one, and none.
"""

from collections.abc import Sequence
from typing import Any

from monitor.domain.causes import Cause
from monitor.domain.page import Candidate
from monitor.domain.reading import LedgerEntry, SectionPlan, SectionReading, UnseenPlace
from monitor.domain.tables import Source
from monitor.domain.words import Phase, SectionEnd
from monitor.errors import ModelFailed, RunCancelled
from monitor.ports import ChatModel
from monitor.sweep.agent import Agent, AgentResult
from monitor.sweep.parts import CrawlParts, toolbox_for
from monitor.sweep.prompts import section_messages
from monitor.sweep.tools import CRAWLER_TOOLS, Toolbox
from monitor.sweep.window import Window

NO_LIST = Cause.NO_LIST.told()
_KNOWN_URLS_IN_PROMPT = 50


async def crawl(plan: SectionPlan, *, source: Source, run_id: str, window: Window, parts: CrawlParts) -> SectionReading:
    """Read one section: its candidates with their dispositions, and why the reading ended."""
    memory, carried = await parts.store.sections.remembered(source.id or 0, plan.url)
    toolbox = toolbox_for(plan, source=source, run_id=run_id, window=window, memory=memory, parts=parts)
    return await _Section(plan, source, toolbox, parts).read(carried)


class _Section:
    def __init__(self, plan: SectionPlan, source: Source, toolbox: Toolbox, parts: CrawlParts) -> None:
        self._plan = plan
        self._source = source
        self._parts = parts
        self._toolbox = toolbox
        self._reader = toolbox.reader
        self._desk = toolbox.desk
        self._ledger = toolbox.desk.ledger
        # What a home page or a search shows is no complete list: nothing is concluded from what it does not show.
        self._is_no_list = plan.is_home or plan.is_query
        is_by_rule = plan.is_home or plan.is_feed or plan.is_query or parts.limits.crawl == "rule"
        self._model = None if is_by_rule else parts.model

    async def read(self, carried: Sequence[Candidate]) -> SectionReading:
        await self._take(carried)
        first = await self._reader.open(self._plan.url)
        if first.error is not None:
            await self._note(self._reader.unseen[0].reason)
            return self._reading(SectionEnd.ERROR)
        if not first.candidates and not self._is_no_list:
            self._reader.unseen.append(UnseenPlace(section=self._plan.name, url=self._plan.url, reason=NO_LIST))
            await self._note(NO_LIST)
            return self._reading(SectionEnd.ERROR).model_copy(update={"pages": 0})
        ended = await self._work()
        for place in self._reader.unread_articles:
            await self._parts.fallbacks.note(Phase.CRAWL, place.url, Cause.NO_ARTICLE_DATE.told(place.reason))
        return self._reading(ended)

    async def _work(self) -> SectionEnd:
        if not self._ledger.open_entries() and not self._reader.is_unfinished and not self._reader.is_seeking:
            return SectionEnd.KNOWN
        if self._reader.next_url is not None:
            await self._parts.store.sections.begin(self._source.id or 0, self._plan)
        agent_saved = None
        if self._model is not None and self._ledger.open_entries():
            agent_saved = await self._with_agent(self._model)
        before = len(self._desk.items)
        ended = await self._by_rule()
        if agent_saved is not None and len(self._desk.items) > before:
            await self._note(Cause.LEFT_BY_AGENT.told(len(self._desk.items) - before))
        if ended is SectionEnd.ERROR:
            await self._note(self._reader.unseen[-1].reason)
        elif ended in (SectionEnd.MAX_PAGES, SectionEnd.MAX_ITEMS):
            await self._note(Cause.CUT_SHORT.told(ended))
        return ended

    async def _take(self, carried: Sequence[Candidate]) -> None:
        """What the last run had no room for comes first."""
        for candidate in carried[: self._ledger.room]:
            self._ledger.add_extra(candidate, page_url=self._plan.url)
        await self._desk.save_open()

    async def _with_agent(self, model: ChatModel) -> AgentResult | None:
        parts = self._parts
        agent = Agent(
            model=model, toolbox=self._toolbox, limits=parts.limits, place=self._plan.name, prompts=parts.prompts
        )
        known = await parts.store.sections.recent_item_urls(self._source.id or 0, _KNOWN_URLS_IN_PROMPT)
        system, user = section_messages(
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
            await self._note(f"{error.outcome}: {error}")
            return None
        if not result.finished:
            await self._note(Cause.AGENT_CUT_SHORT.told(result.reason))
        return result

    async def _by_rule(self) -> SectionEnd:
        """Save what is open, and read on until the list ends, is known, or a limit is reached."""
        while True:
            self._check_cancelled()
            await self._desk.save_open()
            ended = self._reader.ended()
            if ended is not None:
                return ended
            page = await self._reader.open(self._reader.next_url or "")
            if page.error is not None:
                return SectionEnd.ERROR

    def _check_cancelled(self) -> None:
        if self._parts.cancel_event is not None and self._parts.cancel_event.is_set():
            raise RunCancelled(f"The run was cancelled while reading {self._plan.name}.")

    async def _note(self, reason: str) -> None:
        await self._parts.fallbacks.note(Phase.CRAWL, self._plan.name, reason)

    def _reading(self, ended: SectionEnd) -> SectionReading:
        entries: list[LedgerEntry] = self._ledger.close()
        unseen = [*self._reader.unseen, *self._reader.unread_articles]
        rest = self._reader.next_url or self._reader.cut_short_at
        if ended in (SectionEnd.MAX_PAGES, SectionEnd.MAX_ITEMS) and rest:
            unseen.append(UnseenPlace(section=self._plan.name, url=rest, reason=str(ended)))
        return SectionReading(
            plan=self._plan,
            ended=ended,
            pages=self._reader.list_pages,
            entries=entries,
            unseen=unseen,
            tail_date=self._ledger.tail_date(),
            refused_saves=self._desk.refused_saves,
            corrected_dates=self._desk.corrected_dates,
            **self._health(ended),
        )

    def _health(self, ended: SectionEnd) -> dict[str, Any]:
        reader = self._reader
        error = reader.unseen[-1].reason if ended is SectionEnd.ERROR and reader.unseen else ""
        if self._is_no_list:
            return {"error": error}
        return {
            "listed": reader.listed,
            "listed_dated": reader.listed_dated,
            "head": reader.head(),
            "error": error,
            "is_gap": reader.is_gap and ended is not SectionEnd.ERROR,
        }
