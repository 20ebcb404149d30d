"""One research, from the question to its report: plan, deep search, modelling, reporting.

Each step is durable: what it gave is kept before it counts as finished, and a paragraph is a step of its own. So a
research that was killed goes on at the last finished paragraph, and within one at the last finished node.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from monitor.domain.research import ResearchStatus
from monitor.errors import MonitorError, RunCancelled
from monitor.ports import Steps
from monitor.research.agents.modeling import ModelingAgent
from monitor.research.agents.plan import PlanAgent
from monitor.research.agents.report import ReportAgent
from monitor.research.agents.search import SearchAgent, paragraph_step
from monitor.research.events import LABELS, STEP_IDS, Status, StepEvent, StepType, progress_at
from monitor.research.findings import NoteBasis
from monitor.research.parts import Audience, ResearchParts, Told
from monitor.research.score import score_of
from monitor.research.shapes import Metadata, ModelBlueprint, Plan, ResearchReport, SearchAgentResult, Wire
from monitor.research.state import State


@dataclass(frozen=True)
class Outcome:
    """How a research ended, or that it waits for its plan to be looked at; `error` is a sentence."""

    status: ResearchStatus
    error: str | None = None


@dataclass(frozen=True)
class Kept:
    """What a step gave: its document, what its last message says beside it, and what is kept beside it."""

    result: Wire
    told: dict[str, Any] = field(default_factory=dict)
    also: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        metadata: Metadata = getattr(self.result, "metadata", Metadata())
        told: dict[str, Any] = {
            "tokens": metadata.tokens,
            "durationMs": metadata.duration_ms,
            "isFallback": metadata.is_fallback,
        }
        told |= {"reason": metadata.reason} if metadata.reason else {}
        told |= {"refused": metadata.refused} if metadata.refused else {}
        return {"result": self.result.wire(), "told": told | self.told, **self.also}


class ResearchTaskProcessor:
    """Drives the steps of one research and tells its audience of them."""

    def __init__(self, parts: ResearchParts, *, steps: Steps, audience: Audience) -> None:
        self._parts = parts
        self._steps = steps
        self._audience = audience
        self._now = StepType.PLAN
        self._progress = 0.0

    async def run(self) -> Outcome:
        """Do what is left to do. What goes wrong is told, and is the outcome; only a broken-off task raises."""
        try:
            plan = await self._plan()
            if self._parts.options.review_plan and not self._parts.is_plan_approved:
                return Outcome(ResearchStatus.AWAITING_PLAN)
            found, bases = await self._deep_search(plan)
            blueprint = await self._modeling(plan, found)
            report = await self._reporting(plan, found, bases, blueprint)
        except RunCancelled as stop:
            return await self.end("cancelled", str(stop) or "The research was cancelled.")
        except MonitorError as error:
            return await self.end("failed", str(error))
        steps = (plan.metadata, found.metadata, blueprint.metadata, report.metadata)
        is_degraded = self._parts.model is not None and any(step.is_fallback for step in steps)
        return Outcome(ResearchStatus.DEGRADED if is_degraded or not found.notes else ResearchStatus.SUCCEEDED)

    async def end(self, code: str, message: str) -> Outcome:
        """Tell that the research ends here, in the step where it is, without a result."""
        await self._tell("error", self._progress, error={"code": code, "message": message}, result=None)
        await self._audience.flush()
        if code == "cancelled":
            return Outcome(ResearchStatus.CANCELLED)
        return Outcome(ResearchStatus.FAILED, message)

    async def _plan(self) -> Plan:
        parts = self._parts

        async def make(told: Told) -> Kept:
            plan = (await PlanAgent(parts, told).run(parts.query, {}, parts.options)).content
            state = State.begun(parts.query, at=parts.clock.now())
            state.plan(plan.metadata.report_title or parts.query, plan.metadata.paragraphs)
            await parts.notebook.keep_plan(state)
            is_waiting = parts.options.review_plan and not parts.is_plan_approved
            return Kept(plan, told={"awaitsApproval": True} if is_waiting else {})

        return Plan.model_validate((await self._once(StepType.PLAN, make))["result"])

    async def _deep_search(self, plan: Plan) -> tuple[SearchAgentResult, list[NoteBasis]]:
        """Each paragraph is a step of its own, which a step around them could not hold."""
        parts = self._parts

        async def keep(name: str, work: Callable[[], Awaitable[bool]]) -> bool:
            async def kept() -> bool:
                done = await work()
                await self._audience.flush()
                return done

            return await self._steps.run(name, bool, kept)

        async def make(told: Told) -> Kept:
            agent = SearchAgent(parts, told, keep=keep)
            found = await agent.run(parts.query, {StepType.PLAN: plan}, parts.options)
            return Kept(found.content, also={"bases": [base.model_dump(mode="json") for base in found.bases]})

        state = await parts.notebook.state()
        if state is not None and await parts.notebook.output(StepType.DEEP_SEARCH) is not None:
            for paragraph in state.paragraphs:  # a flow that is gone through again has to meet the same steps
                await keep(paragraph_step(paragraph.order), _nothing_left)
        kept = await self._once(StepType.DEEP_SEARCH, make, is_step=False)
        bases = [NoteBasis.model_validate(one) for one in kept["bases"]]
        return SearchAgentResult.model_validate(kept["result"]), bases

    async def _modeling(self, plan: Plan, found: SearchAgentResult) -> ModelBlueprint:
        parts, context = self._parts, {StepType.PLAN: plan, StepType.DEEP_SEARCH: found}

        async def make(told: Told) -> Kept:
            return Kept((await ModelingAgent(parts, told).run(parts.query, context, parts.options)).content)

        return ModelBlueprint.model_validate((await self._once(StepType.MODELING, make))["result"])

    async def _reporting(
        self, plan: Plan, found: SearchAgentResult, bases: Sequence[NoteBasis], blueprint: ModelBlueprint
    ) -> ResearchReport:
        """The report, told piece by piece as it is written, and how it scores."""
        parts = self._parts
        context = {StepType.PLAN: plan, StepType.DEEP_SEARCH: found, StepType.MODELING: blueprint}

        async def on_token(piece: str) -> None:
            await self._tell("progress", self._progress, chunk=piece)

        async def make(told: Told) -> Kept:
            agent = ReportAgent(parts, told, bases)
            report = (await agent.run(parts.query, context, parts.options, on_token)).content
            refused = [one.metadata.refused for one in (found, blueprint, report)]
            score = await score_of(report, found.notes, bases, parts.kept_text, query=parts.query, refused=refused)
            return Kept(report, told={"score": score.wire()}, also={"score": score.wire()})

        return ResearchReport.model_validate((await self._once(StepType.REPORTING, make))["result"])

    async def _once(
        self, step: StepType, make: Callable[[Told], Awaitable[Kept]], *, is_step: bool = True
    ) -> dict[str, Any]:
        """What a step gave, from now or from before a crash, as the notebook has it.

        It is kept before its end is told; where a crash came between the two, the end is told now.
        """
        if self._parts.cancel_event.is_set():
            raise RunCancelled("The research was cancelled.")
        notebook = self._parts.notebook

        async def body() -> bool:
            self._now = step
            kept = await notebook.output(step)
            if kept is None:
                await self._tell("start", progress_at(step, 0))
                kept = (await make(self._telling(step))).document()
                await notebook.keep_output(step, kept)
            if not await self._audience.has_ended(step):
                await self._tell("complete", progress_at(step, 1), result=kept["result"], metadata=kept["told"])
                await self._audience.flush()
            return True

        await (self._steps.run(str(step), bool, body) if is_step else body())
        kept = await notebook.output(step)
        if kept is None:
            raise RuntimeError(f"what the step {step} gave was not kept")
        return kept

    def _telling(self, step: StepType) -> Told:
        async def told(share: float, **payload: Any) -> None:
            # A step's last message is its end.
            await self._tell("progress", progress_at(step, min(share, 0.98)), **payload)

        return told

    async def _tell(self, status: Status, progress: float, **payload: Any) -> None:
        self._progress = max(self._progress, progress)
        step = self._now
        event = StepEvent(
            step_id=STEP_IDS[step],
            step_type=step,
            status=status,
            progress=self._progress,
            label=LABELS[step][self._parts.language],
            payload=payload,
        )
        await self._audience.tell(event)


async def _nothing_left() -> bool:
    return True
