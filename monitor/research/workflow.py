"""One research, from the question to its report: plan, deep search, modelling, reporting.

Each step is durable: what it gave is kept before it counts as finished, and a paragraph is a step of its own. So a
research that was killed goes on at the last finished paragraph, and within one at the last finished node.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from monitor.db.tables.research import ResearchStatus
from monitor.errors import MonitorError, RunCancelled
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed
from monitor.llm.chat import OnToken
from monitor.research.dependencies import LONG_WORK, EventSink, ProgressReporter, ResearchDependencies
from monitor.research.document import SECTION_BY_RULE
from monitor.research.findings import NoteBasis, ResearchFindings, load_record_texts, renumber_all_citations
from monitor.research.formatting import PlannedSection, ReportFormattingNode, ReportNodeInput
from monitor.research.modeling import ModelingNode, ModelingNodeInput, ModelingResult
from monitor.research.node import NodeResult
from monitor.research.scoring import score_report
from monitor.research.search_agent import RunOnce, SearchAgent, build_paragraph_step_name
from monitor.research.shapes import (
    AgentOutput,
    BlueprintMetadata,
    CamelCaseSchema,
    ModelBlueprint,
    Plan,
    PlanMetadata,
    ReportMetadata,
    ResearchOptions,
    ResearchReport,
    SearchAgentResult,
    StepMetadata,
    StepStatus,
    StepType,
    build_error_payload,
    build_step_event,
    compute_progress,
    describe_fallback,
)
from monitor.research.state import ParagraphState, State
from monitor.research.structure import StructureNode
from monitor.steps import StepRunner

MetadataT = TypeVar("MetadataT", bound=StepMetadata)


def build_step_metadata(kind: type[MetadataT], result: NodeResult, began_s: float, **fields: Any) -> MetadataT:
    """Return how a step went that began at `began_s` of `time.perf_counter()`."""
    return kind(
        duration_ms=round((time.perf_counter() - began_s) * 1000),
        tokens=result.tokens,
        is_fallback=bool(result.fallback),
        reason=result.fallback,
        refused=result.refused,
        **fields,
    )


@dataclass
class PlanAgent:
    deps: ResearchDependencies
    report_progress: ProgressReporter

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> AgentOutput[Plan]:
        del context, options
        began_s = time.perf_counter()
        structure = await StructureNode(self.deps).run(query)
        if structure.fallback:
            await self.report_progress(0.9, metadata=describe_fallback(structure.fallback))
        lines = [f"{number}. {entry.title}: {entry.content}" for number, entry in enumerate(structure.paragraphs, 1)]
        if on_token is not None:
            for line in lines:
                await on_token(f"{line}\n")
        plan = Plan(
            content="\n".join(lines),
            metadata=build_step_metadata(
                PlanMetadata, structure, began_s, report_title=structure.title, paragraphs=structure.paragraphs
            ),
        )
        return AgentOutput(content=plan, metadata=plan.metadata)


NO_NOTES_WARNING = Message.of("research.no_notes")


@dataclass
class ModelingAgent:
    deps: ResearchDependencies
    report_progress: ProgressReporter

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> AgentOutput[ModelBlueprint]:
        """Return the blueprint, an empty one where nothing was found; nothing is streamed."""
        del options, on_token
        self.deps.raise_if_cancelled()
        began_s = time.perf_counter()
        found: SearchAgentResult = context[StepType.DEEP_SEARCH]
        modelled = ModelingResult(blueprint=ModelBlueprint())
        if found.notes:
            state = await self.deps.notebook.load_state()
            pages = {entry.url: entry for entry in state.list_results()} if state else {}
            modelled = await ModelingNode(self.deps).run(
                ModelingNodeInput(question=query, notes=found.notes, pages=pages)
            )
        if modelled.fallback:
            await self.report_progress(0.9, metadata=describe_fallback(modelled.fallback))
        warnings = [] if found.notes else [NO_NOTES_WARNING]
        metadata = build_step_metadata(
            BlueprintMetadata, modelled, began_s, warnings=warnings, statements=modelled.statements
        )
        return AgentOutput(content=modelled.blueprint.model_copy(update={"metadata": metadata}), metadata=metadata)


@dataclass
class ReportAgent:
    """Writes the report; `bases` stand in the notes' order."""

    node: ClassVar[type[ReportFormattingNode]] = ReportFormattingNode
    deps: ResearchDependencies
    report_progress: ProgressReporter
    bases: Sequence[NoteBasis]

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> AgentOutput[ResearchReport]:
        """Return the report; `on_token` gets its Markdown while it is written."""
        del options  # they chose the model before this agent was made
        began_s = time.perf_counter()
        given = await self._build_input(query, context)
        report = await self.node(self.deps, self.report_progress, on_token).run(given)
        metadata = build_step_metadata(
            ReportMetadata,
            report,
            began_s,
            warnings=[Message.of(SECTION_BY_RULE, title=title) for title in report.by_rule],
            streamed=on_token is not None,
            planned=len(given.sections),
            statements=report.statements,
            unanswered=report.unanswered,
            disagreements=report.disagreements,
        )
        content = ResearchReport(
            markdown=report.markdown, outline=report.outline, sources=report.sources, metadata=metadata
        )
        return AgentOutput(content=content, metadata=metadata)

    async def _build_input(self, query: str, context: dict[StepType, Any]) -> ReportNodeInput:
        found: SearchAgentResult = context[StepType.DEEP_SEARCH]
        state = await self.deps.notebook.load_state()
        findings = ResearchFindings(notes=found.notes, bases=list(self.bases))
        paragraphs = state.paragraphs if state is not None else []
        texts = await load_record_texts(self.bases, self.deps.kept_text)
        return ReportNodeInput(
            title=(state.report_title if state is not None else "") or query,
            sections=await self._build_sections(paragraphs, findings),
            notes=found.notes,
            bases=self.bases,
            pages={basis.url: texts[basis.record] for basis in self.bases if basis.record in texts},
            settled={text: verdict for paragraph in paragraphs for text, verdict in paragraph.research.settled.items()},
            model=context.get(StepType.MODELING, ModelBlueprint()),
            remark=await self.deps.notebook.load_latest_remark(),
        )

    async def _build_sections(
        self, paragraphs: Sequence[ParagraphState], findings: ResearchFindings
    ) -> list[PlannedSection]:
        """Return the sections with their summaries; without these where what they cite cannot be told in time."""
        try:
            texts = await self.deps.workers.run_limited(LONG_WORK, renumber_all_citations, paragraphs, findings)
        except IsolatedWorkFailed as error:
            await self.report_progress(0.02, metadata=describe_fallback(error.message))
            texts = [""] * len(paragraphs)
        return [_build_section(paragraph, text) for paragraph, text in zip(paragraphs, texts, strict=True)]


def _build_section(paragraph: ParagraphState, text: str) -> PlannedSection:
    research = paragraph.research
    is_readable = any(entry.content for entry in research.search_history)
    reason = "no_statements" if is_readable else "no_pages" if research.search_history else "no_results"
    queries = dict.fromkeys(search_round.search_query for search_round in research.rounds)
    return PlannedSection(paragraph.title, text, tuple(filter(None, queries)), reason)


@dataclass(frozen=True)
class ResearchOutcome:
    status: ResearchStatus
    error: Message | None = None


@dataclass(frozen=True)
class StepOutput:
    """What a step gave: its document, what its last event says beside it, and what else is stored."""

    result: CamelCaseSchema
    event_metadata: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        metadata: StepMetadata = getattr(self.result, "metadata", StepMetadata())
        event_metadata: dict[str, Any] = {
            "tokens": metadata.tokens,
            "durationMs": metadata.duration_ms,
            "isFallback": metadata.is_fallback,
        }
        if metadata.reason is not None:
            event_metadata |= {"reason": render(metadata.reason, "en"), "reasonMessage": metadata.reason.to_json()}
        event_metadata |= {"refused": metadata.refused} if metadata.refused else {}
        return {"result": self.result.to_json(), "told": event_metadata | self.event_metadata, **self.extra}


@dataclass
class ResearchTaskProcessor:
    deps: ResearchDependencies
    steps: StepRunner
    event_sink: EventSink
    _current_step: StepType = field(default=StepType.PLAN, init=False)
    _progress: float = field(default=0.0, init=False)

    async def run(self) -> ResearchOutcome:
        """Do what is left to do. A failure is published, and is the outcome; only a broken-off task raises."""
        try:
            return await self.run_steps()
        except RunCancelled as stop:
            return await self.abort("cancelled", stop.message)
        except MonitorError as error:
            return await self.abort("failed", error.message)

    async def run_steps(self) -> ResearchOutcome:
        plan = await self._run_plan()
        if self.deps.options.review_plan and not self.deps.is_plan_approved:
            return ResearchOutcome(ResearchStatus.AWAITING_PLAN)
        found, bases = await self._run_deep_search(plan)
        blueprint = await self._run_modeling(plan, found)
        report = await self._run_reporting(plan, found, bases, blueprint)
        steps = (plan.metadata, found.metadata, blueprint.metadata, report.metadata)
        is_degraded = self.deps.model is not None and any(step.is_fallback for step in steps)
        return ResearchOutcome(ResearchStatus.DEGRADED if is_degraded or not found.notes else ResearchStatus.SUCCEEDED)

    def create_search_agent(self, report_progress: ProgressReporter, run_once: RunOnce) -> SearchAgent:
        return SearchAgent(self.deps, report_progress, run_once=run_once)

    def create_report_agent(self, report_progress: ProgressReporter, bases: Sequence[NoteBasis]) -> ReportAgent:
        return ReportAgent(self.deps, report_progress, bases)

    async def abort(self, code: str, reason: Message) -> ResearchOutcome:
        """Publish that the research ends here, in its current step, without a result."""
        await self._publish("error", self._progress, **build_error_payload(code, reason))
        await self.event_sink.flush()
        if code == "cancelled":
            return ResearchOutcome(ResearchStatus.CANCELLED)
        return ResearchOutcome(ResearchStatus.FAILED, reason)

    async def _run_plan(self) -> Plan:
        deps = self.deps

        async def make(report_progress: ProgressReporter) -> StepOutput:
            plan = (await PlanAgent(deps, report_progress).run(deps.query, {}, deps.options)).content
            state = State.create(deps.query, at=deps.clock.now())
            state.apply_plan(plan.metadata.report_title or deps.query, plan.metadata.paragraphs)
            await deps.notebook.save_plan(state)
            is_waiting = deps.options.review_plan and not deps.is_plan_approved
            return StepOutput(plan, event_metadata={"awaitsApproval": True} if is_waiting else {})

        return Plan.model_validate((await self._run_step_once(StepType.PLAN, make))["result"])

    async def _run_deep_search(self, plan: Plan) -> tuple[SearchAgentResult, list[NoteBasis]]:
        """Run each paragraph as a step of its own, which a step around them could not hold."""
        deps = self.deps

        async def keep(name: str, work: Callable[[], Awaitable[bool]]) -> bool:
            async def kept() -> bool:
                done = await work()
                await self.event_sink.flush()
                return done

            return await self.steps.run(name, bool, kept)

        async def make(report_progress: ProgressReporter) -> StepOutput:
            agent = self.create_search_agent(report_progress, keep)
            found = await agent.run(deps.query, {StepType.PLAN: plan}, deps.options)
            return StepOutput(found.content, extra={"bases": [base.model_dump(mode="json") for base in found.bases]})

        state = await deps.notebook.load_state()
        if state is not None and await deps.notebook.load_output(StepType.DEEP_SEARCH) is not None:
            for paragraph in state.paragraphs:  # a flow that is gone through again has to meet the same steps
                await keep(build_paragraph_step_name(paragraph.order), _skip_finished)
        kept = await self._run_step_once(StepType.DEEP_SEARCH, make, is_step=False)
        bases = [NoteBasis.model_validate(base) for base in kept["bases"]]
        return SearchAgentResult.model_validate(kept["result"]), bases

    async def _run_modeling(self, plan: Plan, found: SearchAgentResult) -> ModelBlueprint:
        deps, context = self.deps, {StepType.PLAN: plan, StepType.DEEP_SEARCH: found}

        async def make(report_progress: ProgressReporter) -> StepOutput:
            output = await ModelingAgent(deps, report_progress).run(deps.query, context, deps.options)
            return StepOutput(output.content)

        return ModelBlueprint.model_validate((await self._run_step_once(StepType.MODELING, make))["result"])

    async def _run_reporting(
        self, plan: Plan, found: SearchAgentResult, bases: Sequence[NoteBasis], blueprint: ModelBlueprint
    ) -> ResearchReport:
        deps = self.deps
        context = {StepType.PLAN: plan, StepType.DEEP_SEARCH: found, StepType.MODELING: blueprint}

        async def on_token(piece: str) -> None:
            await self._publish("progress", self._progress, chunk=piece)

        async def make(report_progress: ProgressReporter) -> StepOutput:
            agent = self.create_report_agent(report_progress, bases)
            report = (await agent.run(deps.query, context, deps.options, on_token)).content
            refused = [document.metadata.refused for document in (found, blueprint, report)]
            score = await score_report(
                report, found.notes, bases, deps.kept_text, deps.workers, query=deps.query, refused=refused
            )
            return StepOutput(report, event_metadata={"score": score.to_json()}, extra={"score": score.to_json()})

        return ResearchReport.model_validate((await self._run_step_once(StepType.REPORTING, make))["result"])

    async def _run_step_once(
        self, step: StepType, run_step: Callable[[ProgressReporter], Awaitable[StepOutput]], *, is_step: bool = True
    ) -> dict[str, Any]:
        """Return the stored output of a step, from now or from before a crash.

        It is stored before its end is published; where a crash came between the two, the end is published now.
        """
        self.deps.raise_if_cancelled()
        notebook = self.deps.notebook

        async def report_progress(share: float, **payload: Any) -> None:
            # A step's last message is its end.
            await self._publish("progress", compute_progress(step, min(share, 0.98)), **payload)

        async def body() -> bool:
            self._current_step = step
            output = await notebook.load_output(step)
            if output is None:
                await self._publish("start", compute_progress(step, 0))
                output = (await run_step(report_progress)).to_json()
                await notebook.save_output(step, output)
            if not await self.event_sink.has_ended(step):
                result, metadata = output["result"], output["told"]
                await self._publish("complete", compute_progress(step, 1), result=result, metadata=metadata)
                await self.event_sink.flush()
            return True

        await (self.steps.run(str(step), bool, body) if is_step else body())
        output = await notebook.load_output(step)
        if output is None:
            raise RuntimeError(f"the output of the step {step} was not stored")
        return output

    async def _publish(self, status: StepStatus, progress: float, **payload: Any) -> None:
        self._progress = max(self._progress, progress)
        event = build_step_event(
            self._current_step, status, self._progress, language=self.deps.language, payload=payload
        )
        await self.event_sink.publish(event)


async def _skip_finished() -> bool:
    return True
