"""The modeller: what drives the topic, how the drivers act on each other, what may come, and which figures tell."""

import asyncio
from typing import Any

from monitor.errors import RunCancelled
from monitor.research.events import StepType
from monitor.research.nodes.modeling import Grounds, ModelingNode, Modelled
from monitor.research.parts import ResearchParts, Told
from monitor.research.shapes import AgentOutput, Metadata, ModelBlueprint, OnToken, ResearchOptions, SearchAgentResult

NO_NOTES = "there are no notes to make a model of"


class ModelingAgent:
    """Makes the blueprint out of the notes of the deep search."""

    def __init__(self, parts: ResearchParts, tell: Told) -> None:
        self._parts = parts
        self._tell = tell

    async def run(
        self, query: str, context: dict[StepType, Any], options: ResearchOptions, on_token: OnToken | None = None
    ) -> AgentOutput[ModelBlueprint]:
        """The blueprint; an empty one where nothing was found. What it is made of is not told token by token."""
        del options, on_token
        if self._parts.cancel_event.is_set():
            raise RunCancelled("The research was cancelled.")
        loop = asyncio.get_running_loop()
        began = loop.time()
        found: SearchAgentResult = context[StepType.DEEP_SEARCH]
        if found.notes:
            state = await self._parts.notebook.state()
            history = [
                entry
                for paragraph in (state.paragraphs if state else [])
                for entry in paragraph.research.search_history
            ]
            grounds = Grounds(question=query, notes=found.notes, pages={entry.url: entry for entry in history})
            modelled = await ModelingNode(self._parts).run(grounds)
        else:
            modelled = Modelled(blueprint=ModelBlueprint())
        if modelled.fallback:
            await self._tell(0.9, metadata={"node": "fallback", "reason": modelled.fallback})
        metadata = Metadata(
            duration_ms=round((loop.time() - began) * 1000),
            tokens=modelled.tokens,
            is_fallback=bool(modelled.fallback),
            reason=modelled.fallback,
            warnings=[] if found.notes else [NO_NOTES],
            refused=modelled.refused,
        )
        blueprint = modelled.blueprint.model_copy(update={"metadata": metadata})
        return AgentOutput(content=blueprint, metadata=metadata)
