"""The planner: what the report is to consist of."""

import asyncio
from typing import Any

from monitor.research.events import StepType
from monitor.research.nodes.structure import StructureNode
from monitor.research.parts import ResearchParts, Told
from monitor.research.shapes import AgentOutput, OnToken, Plan, PlanMetadata, ResearchOptions


class PlanAgent:
    """Makes the plan of a research: the brief for people, and the structure that the next steps work by."""

    def __init__(self, parts: ResearchParts, tell: Told) -> None:
        self._parts = parts
        self._tell = tell

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> AgentOutput[Plan]:
        del context, options
        loop = asyncio.get_running_loop()
        began = loop.time()
        structure = await StructureNode(self._parts).run(query)
        if structure.fallback:
            await self._tell(0.9, metadata={"node": "fallback", "reason": structure.fallback})
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
