"""The SearchAgent: searches for each paragraph, summarises, searches again, and collects what was found.

A paragraph is an agent of its own with a context of its own: no call knows of another one, but through the state. The
state is stored after each node, so that a research which was killed goes on with the node that it was in.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed
from monitor.llm.chat import OnToken
from monitor.research.dependencies import LONG_WORK, ProgressReporter, ResearchDependencies
from monitor.research.findings import NoteBasis, ResearchFindings, build_notes, drop_unverified_quotes, verify_quotes
from monitor.research.gathering import ResultGatherer, merge_messages
from monitor.research.node import StateMutationNode
from monitor.research.searching import TOOLS, FirstSearchNode, NewsTool, NewsTools, ReflectionNode, SearchNodeInput
from monitor.research.shapes import (
    AgentOutput,
    Plan,
    RawResult,
    ResearchOptions,
    SearchAgentResult,
    SearchStrategy,
    StepMetadata,
    StepType,
    describe_fallback,
)
from monitor.research.state import ParagraphState, SearchRound, State
from monitor.research.summarising import FirstSummaryNode, ReflectionSummaryNode, SummaryNodeInput
from monitor.verify.citations import append_citations, parse_cited_sentences

_MAX_IDLE_ROUNDS = 2
_NODES_PER_ROUND = 3
_MAX_COVERED_CHARS = 1_500


@dataclass
class ParagraphResearcher:
    deps: ResearchDependencies
    report_progress: ProgressReporter
    state: State
    order: int
    tools: Mapping[str, NewsTool]

    def __post_init__(self) -> None:
        self.paragraph = self.state.paragraphs[self.order]
        self._research = self.paragraph.research
        news = NewsTools(self.deps.search, self.deps.limits, self.deps.config, self.tools)
        self._gatherer = ResultGatherer(self.deps, news, self._report_node)
        self._finished_nodes = 0

    async def run(self, extra_nodes: Sequence[type[StateMutationNode[ParagraphState, Any]]]) -> None:
        """Do what is left to do. It ends early when two rounds in a row brought nothing that can be read."""
        if self._research.is_completed:
            return
        for number in range(1 + self.deps.limits.max_reflections):
            latest = self._research.rounds[number - _MAX_IDLE_ROUNDS :] if number >= _MAX_IDLE_ROUNDS else None
            if latest is not None and not any(map(self._list_readable_places, latest)):
                break
            self._finished_nodes = number * _NODES_PER_ROUND
            search_round = await self._choose_search(number)
            await self._gather_results(search_round)
            await self._summarise(search_round)
        await self._read_late_results()
        for node_type in extra_nodes:
            self.deps.raise_if_cancelled()
            node = node_type(self.deps)
            node.mutate_state(await node.run(self.paragraph), self.state, self.order)
        self._research.is_completed = True
        await self._save()

    async def _choose_search(self, number: int) -> SearchRound:
        research = self._research
        if number < len(research.rounds):
            return research.rounds[number]
        self.deps.raise_if_cancelled()
        node = (ReflectionNode if number else FirstSearchNode)(self.deps, self.tools)
        pages = [entry for entry in research.search_history if entry.document is None]
        gap = SearchNodeInput(
            question=self.deps.query,
            title=self.paragraph.title,
            content=self.paragraph.content or self.paragraph.title,
            order=self.order,
            latest_summary=self._summarise_pages() if number else None,
            rounds=research.rounds,
            found=[f"{entry.title}\n{entry.content[:_MAX_COVERED_CHARS]}" for entry in pages],
        )
        choice = await node.run(gap)
        node.mutate_state(choice, self.state, self.order)
        await self._save()
        search_round = research.rounds[-1]
        await self._report_node_end(node.name, search_round, search_round.fallbacks, reason=choice.reasoning)
        return search_round

    def _summarise_pages(self) -> str:
        """Return the summary without what the reader's own documents say: queries go to search services."""
        history = self._research.search_history
        own = {number for number, entry in enumerate(history, 1) if entry.document is not None}
        if not own:
            return self._research.latest_summary
        sentences = parse_cited_sentences(self._research.latest_summary, len(history))
        return "\n".join(
            append_citations(sentence.text, sentence.numbers)
            for sentence in sentences
            if not own & set(sentence.numbers)
        )

    async def _gather_results(self, search_round: SearchRound) -> None:
        if search_round.is_searched:
            return
        self.deps.raise_if_cancelled()
        troubles = await self._gatherer.search(self.paragraph, search_round)
        gathered = await self._gatherer.read(self.paragraph)
        await self._report_node_end("reading", search_round, [*troubles, *gathered.warnings], results=gathered.results)

    async def _summarise(self, search_round: SearchRound) -> None:
        if search_round.is_summarised:
            return
        self.deps.raise_if_cancelled()
        if not self._list_readable_places(search_round):
            search_round.is_summarised = True
            await self._save()
            return
        node = (ReflectionSummaryNode if self._research.latest_summary else FirstSummaryNode)(self.deps)
        draft = SummaryNodeInput(
            question=self.deps.query,
            paragraph=self.paragraph,
            query=search_round.search_query,
            shown=sorted({*self._list_readable_places(search_round), *self._list_cited_places()}),
            remark=await self.deps.notebook.load_latest_remark(),
            plan=self.state.paragraphs,
        )
        summary = await node.run(draft)
        node.mutate_state(summary, self.state, self.order)
        await self._save()
        await self._report_node_end(node.name, search_round, [summary.fallback] if summary.fallback else [])

    async def _read_late_results(self) -> None:
        """Read what arrived when its round was over, and summarise it with the last round's results."""
        if not self._research.rounds:
            return
        last = self._research.rounds[-1]
        known = len(self._list_readable_places(last))
        await self._gatherer.read(self.paragraph)
        if len(self._list_readable_places(last)) > known:
            last.is_summarised = False
            await self._summarise(last)

    def _list_readable_places(self, search_round: SearchRound) -> list[int]:
        history = enumerate(self._research.search_history)
        return [place for place, entry in history if entry.query_id == search_round.query_id and entry.content]

    def _list_cited_places(self) -> list[int]:
        history = self._research.search_history
        sentences = parse_cited_sentences(self._research.latest_summary, len(history))
        cited = {number - 1 for sentence in sentences for number in sentence.numbers}
        return [place for place in cited if history[place].content]

    async def _save(self) -> None:
        await self.deps.notebook.save_paragraph(self.paragraph)

    async def _report_node_end(
        self, node: str, search_round: SearchRound, warnings: Sequence[Message], **facts: Any
    ) -> None:
        self._finished_nodes += 1
        await self._report_node(node, query=search_round.search_query, tool=search_round.search_tool, **facts)
        for trouble in warnings:
            await self._report_node(**describe_fallback(trouble))

    async def _report_node(self, node: str, **facts: Any) -> None:
        share = self._finished_nodes / (_NODES_PER_ROUND * (1 + self.deps.limits.max_reflections) + 1)
        about = {"paragraph": self.order, "title": self.paragraph.title, "node": node, **facts}
        await self.report_progress(min(share, 1.0), metadata={name: fact for name, fact in about.items() if fact != ""})


ExtraNode = type[StateMutationNode[ParagraphState, Any]]
EXTRA_NODES: tuple[ExtraNode, ...] = ()
"""Nodes that run on each paragraph when its rounds are done, in this order, each given the paragraph as it stands."""

RunOnce = Callable[[str, Callable[[], Awaitable[bool]]], Awaitable[bool]]
"""Does a piece of work under a name once, also where a crash came after it."""


def build_paragraph_step_name(order: int) -> str:
    return f"paragraph:{order}"


async def run_directly(name: str, work: Callable[[], Awaitable[bool]]) -> bool:
    del name
    return await work()


class SearchAgentOutput(AgentOutput[SearchAgentResult]):
    """The deep search's result; `bases` say where its notes are from, one for each."""

    bases: list[NoteBasis]


@dataclass
class SearchAgent:
    """Makes the deep search of a research; `run_once` makes each paragraph durable."""

    deps: ResearchDependencies
    report_progress: ProgressReporter
    run_once: RunOnce = run_directly
    tools: Mapping[str, NewsTool] = field(default_factory=lambda: TOOLS)
    extra_nodes: Sequence[ExtraNode] = EXTRA_NODES

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> SearchAgentOutput:
        """Search for all paragraphs, some at once; then make the notes, each quote checked against its kept page."""
        del options, on_token
        began_s = time.perf_counter()
        await self._run_paragraphs(await self._load_or_create_state(query, context))
        state = await self.deps.notebook.load_state()
        if state is None:
            raise RuntimeError("the plan of the research was not stored")
        paragraphs = state.paragraphs
        findings, problems = await self._build_findings(paragraphs)
        result = self.build_result(paragraphs, findings)
        result.metadata.warnings += problems
        result.metadata.is_fallback = result.metadata.is_fallback or bool(problems)
        result.metadata.duration_ms = round((time.perf_counter() - began_s) * 1000)
        return SearchAgentOutput(content=result, metadata=result.metadata, bases=findings.bases)

    async def _build_findings(self, paragraphs: Sequence[ParagraphState]) -> tuple[ResearchFindings, list[Message]]:
        """Return the notes whose quotes stand in their pages, and why a paragraph has none, where that went wrong."""
        workers, problems = self.deps.workers, []
        try:
            findings = await workers.run_limited(LONG_WORK, build_notes, paragraphs)
        except IsolatedWorkFailed:  # one of them may keep the rest from their notes
            findings = ResearchFindings([], [])
            for paragraph in paragraphs:
                try:
                    findings += await workers.run(build_notes, [paragraph])
                except IsolatedWorkFailed as error:
                    problem = Message.of("research.paragraph_problem", title=paragraph.title, problem=error.message)
                    problems.append(problem)
        verified = await verify_quotes(findings.notes, findings.bases, self.deps.kept_text, workers)
        return drop_unverified_quotes(findings, verified), problems

    async def _run_paragraphs(self, state: State) -> None:
        """Run the paragraphs, first come, first served, so that they begin in the same order each time."""
        slots = asyncio.Semaphore(self.deps.limits.concurrency)
        shares = [float(paragraph.is_complete) for paragraph in state.paragraphs]

        async def run_one(order: int) -> None:
            title = state.paragraphs[order].title

            async def report_share(share: float, **payload: Any) -> None:
                shares[order] = max(share, shares[order])
                await self.report_progress(sum(shares) / len(shares), **payload)

            async def search() -> bool:
                if not state.paragraphs[order].research.is_completed:
                    await replace(self, report_progress=report_share).run_paragraph(state, order)
                    await report_share(1.0, metadata={"paragraph": order, "title": title, "node": "done"})
                return True

            async with slots:
                self.deps.raise_if_cancelled()
                await self.run_once(build_paragraph_step_name(order), search)

        await _run_all_or_cancel([run_one(order) for order in range(len(state.paragraphs))])

    async def run_paragraph(self, state: State, order: int) -> ParagraphState:
        """Finish one paragraph, from where the notebook has it; `state` is of all of them and stays as it is."""
        mine = await self.deps.notebook.load_state() or state.model_copy(deep=True)
        researcher = ParagraphResearcher(self.deps, self.report_progress, mine, order, self.tools)
        await researcher.run(self.extra_nodes)
        return researcher.paragraph

    def build_result(self, paragraphs: Sequence[ParagraphState], findings: ResearchFindings) -> SearchAgentResult:
        rounds = [(paragraph, search_round) for paragraph in paragraphs for search_round in paragraph.research.rounds]
        entries = [entry for paragraph in paragraphs for entry in paragraph.research.search_history]
        problems = [(paragraph.title, problem) for paragraph, made in rounds for problem in made.fallbacks]
        fallbacks = merge_messages(problem for _, problem in problems if problem.code == "research.fallback")
        warnings = [
            *self.deps.search_warnings,
            *(Message.of("research.paragraph_problem", title=title, problem=problem) for title, problem in problems),
        ]
        empty = (paragraph.title for paragraph in paragraphs if not paragraph.research.latest_summary)
        warnings += [Message.of("research.nothing_found", title=title) for title in empty]
        refused = sum((Counter(paragraph.research.refused) for paragraph in paragraphs), Counter(findings.refused))
        lines = [_format_strategy(*planned) for planned in rounds]
        lines += [render(warning, self.deps.language) for warning in self.deps.search_warnings]
        strategy = SearchStrategy(
            primary_query=rounds[0][1].search_query if rounds else self.deps.query,
            queries=list(dict.fromkeys(search_round.search_query for _, search_round in rounds)),
            engines=list(dict.fromkeys(entry.engine for entry in entries if entry.engine)),
            notes="\n".join(lines),
        )
        raw = {entry.url: RawResult.model_validate(entry, from_attributes=True) for entry in entries}
        metadata = StepMetadata(
            tokens=sum(paragraph.research.tokens for paragraph in paragraphs),
            is_fallback=bool(fallbacks),
            reason=Message.of("research.reasons", reasons=fallbacks) if fallbacks else None,
            warnings=merge_messages(warnings),
            refused=dict(refused),
        )
        results = list(raw.values())
        return SearchAgentResult(strategy=strategy, notes=findings.notes, raw_results=results, metadata=metadata)

    async def _load_or_create_state(self, query: str, context: dict[StepType, Any]) -> State:
        state = await self.deps.notebook.load_state()
        if state is None:
            plan: Plan = context[StepType.PLAN]
            state = State.create(query, at=self.deps.clock.now())
            state.apply_plan(plan.metadata.report_title or query, plan.metadata.paragraphs)
            await self.deps.notebook.save_plan(state)
        return state


def _format_strategy(paragraph: ParagraphState, search_round: SearchRound) -> str:
    days = f", {search_round.start_date} – {search_round.end_date}" if search_round.start_date else ""
    reasoning = f": {search_round.reasoning}" if search_round.reasoning else ""
    return f"{paragraph.title} | {search_round.search_query} ({search_round.search_tool}{days}){reasoning}"


async def _run_all_or_cancel(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Do all of it at once; the first that fails stops the others, and its error is raised."""
    tasks = [asyncio.create_task(job) for job in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
