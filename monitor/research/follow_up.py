"""A follow-up question about a finished report: answered from the pages that were read for it, else searched for.

It is a research of one paragraph. Its first round has no search: the pages of the report take the place of results.
Only where they bear no answer does it search. What it says is judged, quoted and kept as a report is; where no page
bears an answer, it says that and nothing else.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, Field

from monitor.db.tables.research import ResearchStatus
from monitor.isolation.pool import IsolatedWorkFailed
from monitor.llm.answer_schemas import ANY_OBJECT
from monitor.llm.answers import parse_object
from monitor.llm.chat import CompletionRequest, fit_chars
from monitor.research.dependencies import LONG_WORK, ProgressReporter
from monitor.research.findings import NoteBasis, ResearchFindings
from monitor.research.formatting import FormattedReport, ReportFormattingNode, ReportNodeInput
from monitor.research.gathering import MAX_CONTENT_CHARS
from monitor.research.judging import review_verdicts
from monitor.research.quotes import get_quotable_text
from monitor.research.search_agent import ParagraphResearcher, RunOnce, SearchAgent
from monitor.research.searching import KEPT_EVIDENCE, extract_subjects
from monitor.research.shapes import ModelBlueprint, Plan, PlanParagraph, SearchAgentResult, StepType
from monitor.research.state import ParagraphState, SearchEntry, SearchRound, State
from monitor.research.summarising import (
    GAP_MARK,
    MAX_RESULTS_CHARS,
    ParagraphSummary,
    SummaryNode,
    SummaryNodeInput,
    build_extractive_summary,
    format_results,
    select_passages,
)
from monitor.research.workflow import ReportAgent, ResearchOutcome, ResearchTaskProcessor
from monitor.search.bundles.bundle import BundleDamaged, BundleFolder
from monitor.verify.instructions import list_safe_lines
from monitor.verify.prose import compute_overlap, extract_words, iter_whole_sentences
from monitor.vocabulary import Phase

_MAX_SEARCHES = 2
_MAX_PAGES = 12
_MAX_EXCHANGES = 4
_MAX_EXTRACT_WEIGHT = 160
_MIN_ASKED_SHARE = 0.5


class Exchange(BaseModel):
    """A question that was asked about the report earlier, and its answer without citations."""

    question: str
    answer: str


@dataclass(frozen=True)
class ReportContext:
    """The report that a question is about: what it answers, what was asked since, and what was read, by research."""

    question: str
    exchanges: Sequence[Exchange] = ()
    states: Mapping[str, State] = field(default_factory=dict)

    def list_entries(self) -> list[SearchEntry]:
        return [entry for state in self.states.values() for entry in state.list_results()]

    def read_texts(self, bundles: BundleFolder) -> dict[str, str]:
        """Return the texts of the pages by source id, as the searches kept them: longer than what a paragraph took."""
        texts: dict[str, str] = {}
        for task_id, state in self.states.items():
            rounds = (made for paragraph in state.paragraphs for made in paragraph.research.rounds)
            for made in rounds:
                try:
                    bundle = bundles.read(task_id, made.query_id)
                except BundleDamaged:
                    continue
                texts |= {item.source_id: item.content_text for item in bundle.results if item.content_text}
        return texts


def choose_evidence(entries: Sequence[SearchEntry], texts: Mapping[str, str], question: str) -> list[SearchEntry]:
    """Return the pages nearest to a question, each once, with those passages that have most of its words."""
    wanted = extract_words(question)
    pages: dict[str, tuple[float, SearchEntry]] = {}
    for entry in entries:
        if not entry.content or entry.url in pages:
            continue
        text = "\n".join(list_safe_lines(texts.get(entry.source_id, "")))
        content = select_passages(text, question, MAX_CONTENT_CHARS) or entry.content
        nearness = compute_overlap(wanted, extract_words(f"{entry.title}\n{content}"))
        pages[entry.url] = nearness, entry.model_copy(update={"content": content, "quotes": []})
    ranked = sorted(pages.values(), key=lambda page: -page[0])
    return [entry for _, entry in ranked[:_MAX_PAGES]]


def choose_first(entries: Sequence[SearchEntry]) -> list[SearchEntry]:
    return list({entry.url: entry for entry in entries if entry.content}.values())[:_MAX_PAGES]


def extract_answer(paragraph: ParagraphState, entries: Sequence[SearchEntry], about: str) -> str:
    """Return sentences of pages that have at least half of what a question asks beyond the report's own question."""
    question = paragraph.title
    asked = extract_words(" ".join(extract_subjects(question)))
    wanted = asked - extract_words(about) or asked

    def is_answer(sentence: str, title: str) -> bool:
        words = extract_words(sentence)
        return bool(words & wanted) and compute_overlap(wanted, words | extract_words(title)) >= _MIN_ASKED_SHARE

    found = []
    for entry in entries:
        sentences = iter_whole_sentences(get_quotable_text(entry).text, _MAX_EXTRACT_WEIGHT)
        kept = [sentence for sentence in sentences if is_answer(sentence, entry.title)]
        found.append(entry.model_copy(update={"content": f"\n{GAP_MARK}\n".join(kept)}))
    return build_extractive_summary(paragraph.model_copy(update={"content": ""}), found, question)


class FollowUpInput(SummaryNodeInput):
    """`about` is the report's question; the paragraph's title is the one that is asked now."""

    about: str
    exchanges: list[Exchange] = Field(default_factory=list)


class FollowUpAnswer(ParagraphSummary):
    """An answer; `is_declined` where the model says that the results bear none."""

    is_declined: bool = False

    @property
    def is_usable(self) -> bool:
        return self.is_declined or bool(self.text)


class FollowUpNode(SummaryNode):
    """Answers a question from results; by rule, with sentences of theirs that have what it asks for."""

    name = "follow_up"

    async def run(self, given: SummaryNodeInput) -> ParagraphSummary:
        """Return the answer, an empty one where the results bear none: no extracts take its place."""
        out = await super().run(given)
        return (
            out.model_copy(update={"text": "", "fallback": None}) if out.fallback == self.unsupported_failure else out
        )

    def build_request(self, given: SummaryNodeInput) -> CompletionRequest:
        asked = FollowUpInput.model_validate(given)
        chars = fit_chars(self.deps.model, Phase.SEARCH, MAX_RESULTS_CHARS, self.name)
        messages = self.deps.prompt_builder.build_follow_up_messages(
            asked.question,
            asked.about,
            [(exchange.question, exchange.answer) for exchange in asked.exchanges],
            format_results(asked, chars),
        )
        return CompletionRequest(messages, Phase.SEARCH, self.name, schema=ANY_OBJECT)

    async def read_answer(self, answer: str, given: SummaryNodeInput) -> ParagraphSummary | None:
        written = (parse_object(answer) or {}).get("answer")
        if isinstance(written, str) and not written.strip():
            return FollowUpAnswer(text="", is_declined=True)
        return await super().read_answer(answer, given)

    async def run_by_rule(self, given: SummaryNodeInput) -> ParagraphSummary:
        about = FollowUpInput.model_validate(given).about
        try:
            text = await self.deps.workers.run(extract_answer, given.paragraph, given.entries, about)
        except IsolatedWorkFailed as error:
            return ParagraphSummary(text="", fallback=error.message)
        return ParagraphSummary(text=text)


class FollowUpResearcher(ParagraphResearcher):
    """Answers from what the report rests on, and searches while no answer stands."""

    def __init__(self, *, agent: "FollowUpAgent", state: State) -> None:
        super().__init__(agent.deps, agent.report_progress, state, 0, agent.tools)
        self._about = agent.about

    async def answer(self) -> None:
        """Do what is left to do: each node's result is stored before the next begins."""
        research = self._research
        for number in range(1 + _MAX_SEARCHES):
            if research.is_completed or research.latest_summary:
                break
            search_round = research.rounds[0] if number == 0 else await self._choose_search(number)
            await self._gather_results(search_round)
            await self._summarise(search_round)
        research.is_completed = True
        await self._save()

    async def _summarise(self, search_round: SearchRound) -> None:
        if search_round.is_summarised:
            return
        self.deps.raise_if_cancelled()
        if not (shown := self._list_readable_places(search_round)):
            search_round.is_summarised = True
            await self._save()
            return
        node = FollowUpNode(self.deps)
        given = FollowUpInput(
            question=self.deps.query,
            paragraph=self.paragraph,
            query=search_round.search_query or self.deps.query,
            shown=shown,
            about=self._about.question,
            exchanges=list(self._about.exchanges[-_MAX_EXCHANGES:]),
        )
        answer = await node.run(given)
        node.mutate_state(answer, self.state, self.order)
        await self._save()
        await self._report_node_end(node.name, search_round, [answer.fallback] if answer.fallback else [])


@dataclass(kw_only=True)
class FollowUpAgent(SearchAgent):
    """The deep search of a follow-up question; what the report rests on is its first round."""

    about: ReportContext

    async def run_paragraph(self, state: State, order: int) -> ParagraphState:
        del order  # there is one
        mine = await self.deps.notebook.load_state() or state.model_copy(deep=True)
        researcher = FollowUpResearcher(agent=self, state=mine)
        await researcher.answer()
        return researcher.paragraph

    def build_result(self, paragraphs: Sequence[ParagraphState], findings: ResearchFindings) -> SearchAgentResult:
        """Return the notes; the strategy has the searches alone."""
        result = super().build_result(paragraphs, findings)
        queries = [query for query in result.strategy.queries if query]
        strategy = result.strategy.model_copy(
            update={"queries": queries, "primary_query": queries[0] if queries else self.deps.query}
        )
        return result.model_copy(update={"strategy": strategy})

    async def _load_or_create_state(self, query: str, context: dict[StepType, Plan]) -> State:
        del context
        state = await self.deps.notebook.load_state()
        if state is not None:
            return state
        state = State.create(query, at=self.deps.clock.now())
        state.apply_plan(query, [PlanParagraph(title=query, content=self.about.question)])
        research = state.paragraphs[0].research
        kept = SearchRound(number=0, query_id="p1-q1", search_query="", search_tool=KEPT_EVIDENCE, is_searched=True)
        research.rounds = [kept]
        texts = await asyncio.to_thread(self.about.read_texts, self.deps.bundles)
        wanted = "\n".join([query, *(exchange.question for exchange in self.about.exchanges[-1:])])
        known = self.about.list_entries()
        try:
            entries = await self.deps.workers.run_limited(LONG_WORK, choose_evidence, known, texts, wanted)
        except IsolatedWorkFailed as error:
            kept.fallbacks = [error.message]
            entries = choose_first(known)
        if self.deps.documents is not None:
            read = {entry.url for entry in entries}
            found, problems = await self.deps.documents.search(wanted, query=query, query_id=kept.query_id, known=read)
            entries, kept.fallbacks = [*entries, *found], [*kept.fallbacks, *problems]
        research.search_history = [entry.model_copy(update={"query_id": kept.query_id}) for entry in entries]
        await self.deps.notebook.save_plan(state)
        return state


class AnswerNode(ReportFormattingNode):
    """Writes the answer: its sentences as they stand before the kept pages, and nothing else."""

    unanswered_words = "answer_unanswered"

    async def run(self, given: ReportNodeInput) -> FormattedReport:
        self.validate_input(given)
        report = FormattedReport()
        editor = self.create_editor(given, report)
        (section,) = given.sections
        verdicts = await review_verdicts(self.deps, await editor.judge_sentences(section.text), place="follow_up")
        await editor.add_section("", verdicts, fallback_heading="")
        if not editor.writer.cited_notes:
            await editor.writer.write_blockquote(await self.describe_unanswered(section, editor, report))
        return await self.finish(given, editor, report)


@dataclass
class AnswerAgent(ReportAgent):
    node = AnswerNode


@dataclass(kw_only=True)
class FollowUpProcessor(ResearchTaskProcessor):
    """Carries out a follow-up question: a deep search and its answer, without plan and model of the topic."""

    about: ReportContext

    async def run_steps(self) -> ResearchOutcome:
        plan = Plan(content=self.deps.query)
        found, bases = await self._run_deep_search(plan)
        report = await self._run_reporting(plan, found, bases, ModelBlueprint())
        is_degraded = self.deps.model is not None and (found.metadata.is_fallback or report.metadata.is_fallback)
        return ResearchOutcome(ResearchStatus.DEGRADED if is_degraded else ResearchStatus.SUCCEEDED)

    def create_search_agent(self, report_progress: ProgressReporter, run_once: RunOnce) -> SearchAgent:
        return FollowUpAgent(self.deps, report_progress, run_once=run_once, about=self.about)

    def create_report_agent(self, report_progress: ProgressReporter, bases: Sequence[NoteBasis]) -> ReportAgent:
        return AnswerAgent(self.deps, report_progress, bases)
