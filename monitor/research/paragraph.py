"""One paragraph on its way: rounds of search and summary, each node's result kept before the next one begins."""

from collections.abc import Mapping, Sequence
from typing import Any

from monitor.errors import RunCancelled
from monitor.evidence.citing import cited_sentences
from monitor.research.gathering import Gathering
from monitor.research.nodes.node import StateMutationNode
from monitor.research.nodes.searching import FirstSearchNode, Gap, ReflectionNode
from monitor.research.nodes.summarising import Draft, FirstSummaryNode, ReflectionSummaryNode
from monitor.research.parts import ResearchParts, Told
from monitor.research.state import Paragraph, Round, State
from monitor.research.tools import NewsTool, NewsTools

_MOST_IDLE = 2
_NODES_A_ROUND = 3
_COVERED_CHARS = 1_500


class ParagraphWork:
    """The work on one paragraph of a state, begun or not."""

    def __init__(
        self, parts: ResearchParts, tell: Told, state: State, order: int, *, tools: Mapping[str, NewsTool]
    ) -> None:
        self.paragraph = state.paragraphs[order]
        self._research = self.paragraph.research
        self._parts = parts
        self._tell = tell
        self._state = state
        self._order = order
        self._tools = tools
        news = NewsTools(parts.search, limits=parts.limits, config=parts.config, tools=tools)
        self._gathering = Gathering(parts, news, self._say)
        self._done = 0

    async def finish(self, further: Sequence[type[StateMutationNode[Paragraph, Any]]]) -> None:
        """Do what is left to do. It ends early when two rounds in a row brought nothing that can be read."""
        if self._research.is_completed:
            return
        for number in range(1 + self._parts.limits.max_reflections):
            if number >= _MOST_IDLE and not any(map(self._readable, self._research.rounds[number - _MOST_IDLE :])):
                break
            self._done = number * _NODES_A_ROUND
            one = await self._chosen(number)
            await self._gathered(one)
            await self._summarised(one)
        await self._late()
        for node_type in further:
            self._look_whether_to_stop()
            node = node_type(self._parts)
            node.mutate_state(await node.run(self.paragraph), self._state, self._order)
        self._research.is_completed = True
        await self._keep()

    async def _chosen(self, number: int) -> Round:
        """The search of a round: chosen before, or now."""
        research = self._research
        if number < len(research.rounds):
            return research.rounds[number]
        self._look_whether_to_stop()
        node = (ReflectionNode if number else FirstSearchNode)(self._parts, self._tools)
        gap = Gap(
            question=self._parts.query,
            title=self.paragraph.title,
            content=self.paragraph.content or self.paragraph.title,
            order=self._order,
            latest_summary=research.latest_summary if number else None,
            rounds=research.rounds,
            found=[f"{one.title}\n{one.content[:_COVERED_CHARS]}" for one in research.search_history],
        )
        choice = await node.run(gap)
        node.mutate_state(choice, self._state, self._order)
        one = research.rounds[-1]
        await self._keep()
        await self._ended(node.name, one, one.fallbacks, reason=choice.reasoning)
        return one

    async def _gathered(self, one: Round) -> None:
        if one.is_searched:
            return
        self._look_whether_to_stop()
        troubles = await self._gathering.search(self.paragraph, one)
        gathered = await self._gathering.read(self.paragraph)
        await self._ended("reading", one, [*troubles, *gathered.troubles], results=gathered.results)

    async def _summarised(self, one: Round) -> None:
        """The paragraph's text with what a round found."""
        if one.is_summarised:
            return
        self._look_whether_to_stop()
        if not self._readable(one):
            one.is_summarised = True
            await self._keep()
            return
        node = (ReflectionSummaryNode if self._research.latest_summary else FirstSummaryNode)(self._parts)
        draft = Draft(
            question=self._parts.query,
            paragraph=self.paragraph,
            query=one.search_query,
            shown=sorted({*self._readable(one), *self._cited()}),
            remark=await self._parts.notebook.remark(),
            plan=self._state.paragraphs,
        )
        summary = await node.run(draft)
        node.mutate_state(summary, self._state, self._order)
        await self._keep()
        await self._ended(node.name, one, [summary.fallback] if summary.fallback else [])

    async def _late(self) -> None:
        """Results that arrived when their round was over: read in a final pass, and summed up with the last round's."""
        if not self._research.rounds:
            return
        last = self._research.rounds[-1]
        known = len(self._readable(last))
        await self._gathering.read(self.paragraph)
        if len(self._readable(last)) > known:
            last.is_summarised = False
            await self._summarised(last)

    def _readable(self, one: Round) -> list[int]:
        """The places of the results with a text that a round brought."""
        history = enumerate(self._research.search_history)
        return [place for place, entry in history if entry.query_id == one.query_id and entry.content]

    def _cited(self) -> list[int]:
        """The places of the results that the paragraph's text cites."""
        history = self._research.search_history
        sentences = cited_sentences(self._research.latest_summary, len(history))
        cited = {number - 1 for sentence in sentences for number in sentence.numbers}
        return [place for place in cited if history[place].content]

    async def _keep(self) -> None:
        await self._parts.notebook.keep_paragraph(self.paragraph)

    async def _ended(self, node: str, one: Round, troubles: Sequence[str], **facts: Any) -> None:
        """Tell that a node is done, and what did not go as it should."""
        self._done += 1
        await self._say(node, query=one.search_query, tool=one.search_tool, **facts)
        for trouble in troubles:
            await self._say("fallback", reason=trouble)

    async def _say(self, node: str, **facts: Any) -> None:
        share = self._done / (_NODES_A_ROUND * (1 + self._parts.limits.max_reflections) + 1)
        about = {"paragraph": self._order, "title": self.paragraph.title, "node": node, **facts}
        await self._tell(min(share, 1.0), metadata={name: fact for name, fact in about.items() if fact != ""})

    def _look_whether_to_stop(self) -> None:
        if self._parts.cancel_event.is_set():
            raise RunCancelled("The research was cancelled.")
