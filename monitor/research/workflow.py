"""One research, from the question to its report: plan, deep search, modelling, reporting.

Each step is durable: what it gave is kept before it counts as finished, and a paragraph is a step of its own. So a
research that was killed goes on at the last finished paragraph, and within one at the last finished node.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from monitor.db.tables.research import ResearchStatus
from monitor.errors import MonitorError, RunCancelled
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.llm.chat import OnToken
from monitor.research.dependencies import EventSink, ProgressMessage, ResearchDependencies
from monitor.research.findings import NoteBasis, ResearchFindings, renumber_citations
from monitor.research.formatting import FormattedReport, ReportFormattingNode, ReportNodeInput
from monitor.research.modeling import ModelingNode, ModelingNodeInput, ModelingResult
from monitor.research.score import score_report
from monitor.research.search_agent import SearchAgent, build_paragraph_step_name
from monitor.research.shapes import (
    STEP_IDS,
    STEP_LABELS,
    AgentOutput,
    CamelCaseSchema,
    ModelBlueprint,
    Plan,
    PlanMetadata,
    ReportMetadata,
    ResearchOptions,
    ResearchReport,
    SearchAgentResult,
    StepEvent,
    StepMetadata,
    StepStatus,
    StepType,
    compute_progress,
    describe_fallback,
)
from monitor.research.state import State
from monitor.research.structure import StructureNode
from monitor.steps import StepRunner


class PlanAgent:
    """Makes the plan of a research: the brief for people, and the structure that the next steps work by."""

    def __init__(self, deps: ResearchDependencies, report_progress: ProgressMessage) -> None:
        self._deps = deps
        self._report_progress = report_progress

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> AgentOutput[Plan]:
        del context, options
        loop = asyncio.get_running_loop()
        began = loop.time()
        structure = await StructureNode(self._deps).run(query)
        if structure.fallback:
            await self._report_progress(0.9, metadata=describe_fallback(structure.fallback))
        lines = [
            f"{number}. {paragraph.title}: {paragraph.content}"
            for number, paragraph in enumerate(structure.paragraphs, start=1)
        ]
        if on_token is not None:
            for line in lines:
                await on_token(f"{line}\n")
        metadata = PlanMetadata(
            duration_ms=round((loop.time() - began) * 1000),
            tokens=structure.tokens,
            is_fallback=bool(structure.fallback),
            reason=structure.fallback,
            refused=structure.refused,
            report_title=structure.title,
            paragraphs=structure.paragraphs,
        )
        plan = Plan(content="\n".join(lines), metadata=metadata)
        return AgentOutput(content=plan, metadata=metadata)


NO_NOTES_WARNING = Message.of("research.no_notes")


class ModelingAgent:
    """Makes the blueprint out of the notes of the deep search."""

    def __init__(self, deps: ResearchDependencies, report_progress: ProgressMessage) -> None:
        self._deps = deps
        self._report_progress = report_progress

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> AgentOutput[ModelBlueprint]:
        """The blueprint; an empty one where nothing was found. What it is made of is not told token by token."""
        del options, on_token
        if self._deps.cancel_event.is_set():
            raise RunCancelled("research.cancelled")
        loop = asyncio.get_running_loop()
        began = loop.time()
        found: SearchAgentResult = context[StepType.DEEP_SEARCH]
        if found.notes:
            state = await self._deps.notebook.load_state()
            history = [
                entry
                for paragraph in (state.paragraphs if state else [])
                for entry in paragraph.research.search_history
            ]
            grounds = ModelingNodeInput(
                question=query, notes=found.notes, pages={entry.url: entry for entry in history}
            )
            modelled = await ModelingNode(self._deps).run(grounds)
        else:
            modelled = ModelingResult(blueprint=ModelBlueprint())
        if modelled.fallback:
            await self._report_progress(0.9, metadata=describe_fallback(modelled.fallback))
        metadata = StepMetadata(
            duration_ms=round((loop.time() - began) * 1000),
            tokens=modelled.tokens,
            is_fallback=bool(modelled.fallback),
            reason=modelled.fallback,
            warnings=[] if found.notes else [NO_NOTES_WARNING],
            refused=modelled.refused,
        )
        blueprint = modelled.blueprint.model_copy(update={"metadata": metadata})
        return AgentOutput(content=blueprint, metadata=metadata)


class ReportAgent:
    """Writes the report. `bases` are what is known of the pages of the notes, in the notes' order."""

    def __init__(
        self, deps: ResearchDependencies, report_progress: ProgressMessage, bases: Sequence[NoteBasis]
    ) -> None:
        self._deps = deps
        self._report_progress = report_progress
        self._bases = bases

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> AgentOutput[ResearchReport]:
        """The report; `on_token` is told its Markdown while it is written."""
        del options  # they chose the model before this agent was made
        began = time.perf_counter()
        found: SearchAgentResult = context[StepType.DEEP_SEARCH]
        model: ModelBlueprint = context.get(StepType.MODELING, ModelBlueprint())
        given = await self._build_input(query, found, model)
        report = await ReportFormattingNode(self._deps, self._report_progress, on_token).run(given)
        content = ResearchReport(
            markdown=report.markdown,
            outline=report.outline,
            sources=report.sources,
            metadata=_build_metadata(
                report, round((time.perf_counter() - began) * 1000), is_streamed=on_token is not None
            ),
        )
        return AgentOutput(content=content, metadata=content.metadata)

    async def _build_input(self, query: str, found: SearchAgentResult, model: ModelBlueprint) -> ReportNodeInput:
        notebook = self._deps.notebook
        state = await notebook.load_state()
        findings = ResearchFindings(notes=found.notes, bases=list(self._bases))
        paragraphs = state.paragraphs if state is not None else []
        return ReportNodeInput(
            title=(state.report_title if state is not None else "") or query,
            sections=[(paragraph.title, renumber_citations(paragraph, findings)) for paragraph in paragraphs],
            notes=found.notes,
            bases=self._bases,
            model=model,
            remark=await notebook.load_latest_remark(),
        )


def _build_metadata(report: FormattedReport, duration_ms: int, *, is_streamed: bool) -> ReportMetadata:
    return ReportMetadata(
        duration_ms=duration_ms,
        tokens=report.tokens,
        is_fallback=bool(report.fallback),
        reason=report.fallback,
        warnings=[Message.of("research.section_by_rule", title=title) for title in report.by_rule],
        refused=report.refused,
        streamed=is_streamed,
    )


@dataclass(frozen=True)
class ResearchOutcome:
    """How a research ended, or that its plan awaits approval."""

    status: ResearchStatus
    error: Message | None = None


@dataclass(frozen=True)
class StepOutput:
    """What a step gave: its document, what its last message says beside it, and what is kept beside it."""

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


class ResearchTaskProcessor:
    """Drives the steps of one research and tells its audience of them."""

    def __init__(self, deps: ResearchDependencies, *, steps: StepRunner, event_sink: EventSink) -> None:
        self._deps = deps
        self._steps = steps
        self._event_sink = event_sink
        self._current_step = StepType.PLAN
        self._progress = 0.0

    async def run(self) -> ResearchOutcome:
        """Do what is left to do. What goes wrong is told, and is the outcome; only a broken-off task raises."""
        try:
            plan = await self._run_plan()
            if self._deps.options.review_plan and not self._deps.is_plan_approved:
                return ResearchOutcome(ResearchStatus.AWAITING_PLAN)
            found, bases = await self._run_deep_search(plan)
            blueprint = await self._run_modeling(plan, found)
            report = await self._run_reporting(plan, found, bases, blueprint)
        except RunCancelled as stop:
            return await self.abort("cancelled", stop.message)
        except MonitorError as error:
            return await self.abort("failed", error.message)
        steps = (plan.metadata, found.metadata, blueprint.metadata, report.metadata)
        is_degraded = self._deps.model is not None and any(step.is_fallback for step in steps)
        return ResearchOutcome(ResearchStatus.DEGRADED if is_degraded or not found.notes else ResearchStatus.SUCCEEDED)

    async def abort(self, code: str, reason: Message) -> ResearchOutcome:
        """Tell that the research ends here, in the step where it is, without a result."""
        error = {"code": code, "message": render(reason, "en")}
        await self._publish("error", self._progress, error=error, result=None)
        await self._event_sink.flush()
        if code == "cancelled":
            return ResearchOutcome(ResearchStatus.CANCELLED)
        return ResearchOutcome(ResearchStatus.FAILED, reason)

    async def _run_plan(self) -> Plan:
        deps = self._deps

        async def make(report_progress: ProgressMessage) -> StepOutput:
            plan = (await PlanAgent(deps, report_progress).run(deps.query, {}, deps.options)).content
            state = State.create(deps.query, at=deps.clock.now())
            state.apply_plan(plan.metadata.report_title or deps.query, plan.metadata.paragraphs)
            await deps.notebook.save_plan(state)
            is_waiting = deps.options.review_plan and not deps.is_plan_approved
            return StepOutput(plan, event_metadata={"awaitsApproval": True} if is_waiting else {})

        return Plan.model_validate((await self._run_step_once(StepType.PLAN, make))["result"])

    async def _run_deep_search(self, plan: Plan) -> tuple[SearchAgentResult, list[NoteBasis]]:
        """Each paragraph is a step of its own, which a step around them could not hold."""
        deps = self._deps

        async def keep(name: str, work: Callable[[], Awaitable[bool]]) -> bool:
            async def kept() -> bool:
                done = await work()
                await self._event_sink.flush()
                return done

            return await self._steps.run(name, bool, kept)

        async def make(report_progress: ProgressMessage) -> StepOutput:
            agent = SearchAgent(deps, report_progress, run_once=keep)
            found = await agent.run(deps.query, {StepType.PLAN: plan}, deps.options)
            return StepOutput(found.content, extra={"bases": [base.model_dump(mode="json") for base in found.bases]})

        state = await deps.notebook.load_state()
        if state is not None and await deps.notebook.load_output(StepType.DEEP_SEARCH) is not None:
            for paragraph in state.paragraphs:  # a flow that is gone through again has to meet the same steps
                await keep(build_paragraph_step_name(paragraph.order), _skip_finished)
        kept = await self._run_step_once(StepType.DEEP_SEARCH, make, is_step=False)
        bases = [NoteBasis.model_validate(kept_item) for kept_item in kept["bases"]]
        return SearchAgentResult.model_validate(kept["result"]), bases

    async def _run_modeling(self, plan: Plan, found: SearchAgentResult) -> ModelBlueprint:
        deps, context = self._deps, {StepType.PLAN: plan, StepType.DEEP_SEARCH: found}

        async def make(report_progress: ProgressMessage) -> StepOutput:
            return StepOutput(
                (await ModelingAgent(deps, report_progress).run(deps.query, context, deps.options)).content
            )

        return ModelBlueprint.model_validate((await self._run_step_once(StepType.MODELING, make))["result"])

    async def _run_reporting(
        self, plan: Plan, found: SearchAgentResult, bases: Sequence[NoteBasis], blueprint: ModelBlueprint
    ) -> ResearchReport:
        deps = self._deps
        context = {StepType.PLAN: plan, StepType.DEEP_SEARCH: found, StepType.MODELING: blueprint}

        async def on_token(piece: str) -> None:
            await self._publish("progress", self._progress, chunk=piece)

        async def make(report_progress: ProgressMessage) -> StepOutput:
            agent = ReportAgent(deps, report_progress, bases)
            report = (await agent.run(deps.query, context, deps.options, on_token)).content
            refused = [found_item.metadata.refused for found_item in (found, blueprint, report)]
            score = await score_report(report, found.notes, bases, deps.kept_text, query=deps.query, refused=refused)
            return StepOutput(report, event_metadata={"score": score.to_json()}, extra={"score": score.to_json()})

        return ResearchReport.model_validate((await self._run_step_once(StepType.REPORTING, make))["result"])

    async def _run_step_once(
        self, step: StepType, run_step: Callable[[ProgressMessage], Awaitable[StepOutput]], *, is_step: bool = True
    ) -> dict[str, Any]:
        """What a step gave, from now or from before a crash, as the notebook has it.

        It is kept before its end is told; where a crash came between the two, the end is told now.
        """
        if self._deps.cancel_event.is_set():
            raise RunCancelled("research.cancelled")
        notebook = self._deps.notebook

        async def body() -> bool:
            self._current_step = step
            kept = await notebook.load_output(step)
            if kept is None:
                await self._publish("start", compute_progress(step, 0))
                kept = (await run_step(self._make_progress_reporter(step))).to_json()
                await notebook.save_output(step, kept)
            if not await self._event_sink.has_ended(step):
                await self._publish("complete", compute_progress(step, 1), result=kept["result"], metadata=kept["told"])
                await self._event_sink.flush()
            return True

        await (self._steps.run(str(step), bool, body) if is_step else body())
        kept = await notebook.load_output(step)
        if kept is None:
            raise RuntimeError(f"what the step {step} gave was not kept")
        return kept

    def _make_progress_reporter(self, step: StepType) -> ProgressMessage:
        async def report_progress(share: float, **payload: Any) -> None:
            # A step's last message is its end.
            await self._publish("progress", compute_progress(step, min(share, 0.98)), **payload)

        return report_progress

    async def _publish(self, status: StepStatus, progress: float, **payload: Any) -> None:
        self._progress = max(self._progress, progress)
        step = self._current_step
        event = StepEvent(
            step_id=STEP_IDS[step],
            step_type=step,
            status=status,
            progress=self._progress,
            label=STEP_LABELS[step][self._deps.language],
            payload=payload,
        )
        await self._event_sink.publish(event)


async def _skip_finished() -> bool:
    return True
