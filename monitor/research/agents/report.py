"""The reporting step: from the paragraphs, their notes and the model of the topic to the report."""

import time
from collections.abc import Sequence
from typing import Any

from monitor.research.events import StepType
from monitor.research.findings import Findings, NoteBasis, cited_as
from monitor.research.nodes.formatting import FormattedReport, ReportFormattingNode, ReportInput
from monitor.research.parts import ResearchParts, Told
from monitor.research.shapes import (
    AgentOutput,
    ModelBlueprint,
    OnToken,
    ReportMetadata,
    ResearchOptions,
    ResearchReport,
    SearchAgentResult,
)


class ReportAgent:
    """Writes the report. `bases` are what is known of the pages of the notes, in the notes' order."""

    def __init__(self, parts: ResearchParts, told: Told, bases: Sequence[NoteBasis]) -> None:
        self._parts = parts
        self._told = told
        self._bases = bases

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> AgentOutput[ResearchReport]:
        """The report; `on_token` is told its Markdown while it is written."""
        del options  # they chose the model before this agent was made
        began = time.perf_counter()
        found: SearchAgentResult = context[StepType.DEEP_SEARCH]
        model: ModelBlueprint = context.get(StepType.MODELING, ModelBlueprint())
        given = await self._input(query, found, model)
        report = await ReportFormattingNode(self._parts, self._told, on_token).run(given)
        content = ResearchReport(
            markdown=report.markdown,
            outline=report.outline,
            sources=report.sources,
            metadata=_metadata(report, round((time.perf_counter() - began) * 1000), is_streamed=on_token is not None),
        )
        return AgentOutput(content=content, metadata=content.metadata)

    async def _input(self, query: str, found: SearchAgentResult, model: ModelBlueprint) -> ReportInput:
        notebook = self._parts.notebook
        state = await notebook.state()
        findings = Findings(notes=found.notes, bases=list(self._bases))
        paragraphs = state.paragraphs if state is not None else []
        return ReportInput(
            title=(state.report_title if state is not None else "") or query,
            sections=[(paragraph.title, cited_as(paragraph, findings)) for paragraph in paragraphs],
            notes=found.notes,
            bases=self._bases,
            model=model,
            remark=await notebook.remark(),
        )


def _metadata(report: FormattedReport, duration_ms: int, *, is_streamed: bool) -> ReportMetadata:
    return ReportMetadata(
        duration_ms=duration_ms,
        tokens=report.tokens,
        is_fallback=bool(report.fallback),
        reason=report.fallback,
        warnings=[f"by rule: {title}" for title in report.by_rule],
        refused=report.refused,
        streamed=is_streamed,
    )
