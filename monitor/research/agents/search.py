"""The SearchAgent: each paragraph searched for, summed up and searched for again, and what came of all of them.

A paragraph is an agent of its own with a context of its own: no call knows of another one, but through the state. The
state is kept after each node, so that a research which was killed goes on with the node that it was in.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from monitor.errors import RunCancelled
from monitor.research.events import StepType
from monitor.research.findings import Findings, NoteBasis, notes_of, verified
from monitor.research.nodes.node import StateMutationNode
from monitor.research.nodes.searching import FirstSearchNode, ReflectionNode
from monitor.research.nodes.summarising import FirstSummaryNode, ReflectionSummaryNode
from monitor.research.paragraph import ParagraphWork
from monitor.research.parts import ResearchParts, Told
from monitor.research.shapes import (
    AgentOutput,
    Metadata,
    OnToken,
    Plan,
    RawResult,
    ResearchOptions,
    SearchAgentResult,
    Strategy,
)
from monitor.research.state import Paragraph, Round, State
from monitor.research.tools import TOOLS, NewsTool

FurtherNode = type[StateMutationNode[Paragraph, Any]]

FURTHER_NODES: tuple[FurtherNode, ...] = ()
"""Nodes that run on each paragraph when its rounds are done, in this order, each given the paragraph as it stands."""

_BY_RULE = tuple(
    f"{node.name}: " for node in (FirstSearchNode, ReflectionNode, FirstSummaryNode, ReflectionSummaryNode)
)


Keep = Callable[[str, Callable[[], Awaitable[bool]]], Awaitable[bool]]
"""Does a piece of work under a name, once, also where a crash came after it."""


def paragraph_step(order: int) -> str:
    """The name under which a paragraph is done."""
    return f"paragraph:{order}"


async def plainly(name: str, work: Callable[[], Awaitable[bool]]) -> bool:
    del name
    return await work()


class Searched(AgentOutput[SearchAgentResult]):
    """What the deep search gives; `bases` are what is known of the pages of its notes, one beside each."""

    bases: list[NoteBasis]


class SearchAgent:
    """Makes the deep search of a research: `keep` makes each paragraph last, `tools` are what a model chooses among."""

    def __init__(
        self,
        parts: ResearchParts,
        tell: Told,
        *,
        keep: Keep = plainly,
        tools: Mapping[str, NewsTool] = TOOLS,
        further: Sequence[FurtherNode] = FURTHER_NODES,
    ) -> None:
        self._parts = parts
        self._tell = tell
        self._keep = keep
        self._tools = tools
        self._further = further

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> Searched:
        """The deep search of all paragraphs, so many at once; then the notes, each quote held against its kept page."""
        del options, on_token
        loop = asyncio.get_running_loop()
        began = loop.time()
        await self._all(await self._begun(query, context))
        paragraphs = (await self._kept()).paragraphs
        findings = await verified(await asyncio.to_thread(notes_of, paragraphs), self._parts.kept_text)
        result = self.result(paragraphs, findings)
        result.metadata.duration_ms = round((loop.time() - began) * 1000)
        return Searched(content=result, metadata=result.metadata, bases=findings.bases)

    async def _all(self, state: State) -> None:
        """Each paragraph, in its own time; first come, first served, so that they begin in the same order each time."""
        slots = asyncio.Semaphore(self._parts.limits.concurrency)
        shares = [float(paragraph.is_complete) for paragraph in state.paragraphs]

        async def one(order: int) -> None:
            title = state.paragraphs[order].title

            async def tell(share: float, **payload: Any) -> None:
                shares[order] = max(share, shares[order])
                await self._tell(sum(shares) / len(shares), **payload)

            async def search() -> bool:
                if not state.paragraphs[order].research.is_completed:
                    agent = SearchAgent(self._parts, tell, tools=self._tools, further=self._further)
                    await agent.paragraph(state, order)
                    await tell(1.0, metadata={"paragraph": order, "title": title, "node": "done"})
                return True

            async with slots:
                if self._parts.cancel_event.is_set():
                    raise RunCancelled("The research was cancelled.")
                await self._keep(paragraph_step(order), search)

        await _all_of([one(order) for order in range(len(state.paragraphs))])

    async def _kept(self) -> State:
        state = await self._parts.notebook.state()
        if state is None:
            raise RuntimeError("the plan of the research was not kept")
        return state

    async def paragraph(self, state: State, order: int) -> Paragraph:
        """One paragraph to its end, from where the notebook has it; `state` is of all of them and stays as it is."""
        mine = await self._parts.notebook.state() or state.model_copy(deep=True)
        work = ParagraphWork(self._parts, self._tell, mine, order, tools=self._tools)
        await work.finish(self._further)
        return work.paragraph

    def result(self, paragraphs: Sequence[Paragraph], findings: Findings) -> SearchAgentResult:
        """The document of the step, made of the finished paragraphs and the notes that were made of them."""
        rounds = [(paragraph, round_) for paragraph in paragraphs for round_ in paragraph.research.rounds]
        entries = [entry for one in paragraphs for entry in one.research.search_history]
        told = [f"{one.title}: {trouble}" for one, round_ in rounds for trouble in round_.fallbacks]
        fallbacks = [trouble for _, round_ in rounds for trouble in round_.fallbacks if trouble.startswith(_BY_RULE)]
        told += [f"{one.title}: nothing was found" for one in paragraphs if not one.research.latest_summary]
        refused = sum((Counter(one.research.refused) for one in paragraphs), Counter(findings.refused))
        strategy = Strategy(
            primary_query=rounds[0][1].search_query if rounds else self._parts.query,
            queries=list(dict.fromkeys(round_.search_query for _, round_ in rounds)),
            engines=list(dict.fromkeys(entry.engine for entry in entries if entry.engine)),
            notes="\n".join([*(_strategy_of(one, round_) for one, round_ in rounds), *self._parts.notes]),
        )
        raw = {
            entry.url: RawResult(title=entry.title, url=entry.url, snippet=entry.snippet, engine=entry.engine)
            for entry in entries
        }
        metadata = Metadata(
            tokens=sum(one.research.tokens for one in paragraphs),
            is_fallback=bool(fallbacks),
            reason="; ".join(dict.fromkeys(fallbacks)),
            warnings=[*self._parts.notes, *dict.fromkeys(told)],
            refused=dict(refused),
        )
        return SearchAgentResult(
            strategy=strategy, notes=findings.notes, raw_results=list(raw.values()), metadata=metadata
        )

    async def _begun(self, query: str, context: dict[StepType, Any]) -> State:
        """The state as it is kept; of a research that has none, the one that its plan makes."""
        state = await self._parts.notebook.state()
        if state is None:
            plan: Plan = context[StepType.PLAN]
            state = State.begun(query, at=self._parts.clock.now())
            state.plan(plan.metadata.report_title or query, plan.metadata.paragraphs)
            await self._parts.notebook.keep_plan(state)
        return state


def _strategy_of(paragraph: Paragraph, one: Round) -> str:
    days = f", {one.start_date} – {one.end_date}" if one.start_date else ""
    reasoning = f": {one.reasoning}" if one.reasoning else ""
    return f"{paragraph.title} | {one.search_query} ({one.search_tool}{days}){reasoning}"


async def _all_of(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Do all of it at once; the first that fails stops the others, and is what is raised."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
