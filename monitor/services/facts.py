"""Facts of documents that somebody hands in: each is read as our own items are."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from monitor.document import DocumentFacts
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS
from monitor.policies.facts import read_facts
from monitor.policies.schemas import read_facts_with_model
from monitor.services.audit import Actor
from monitor.services.prompts import PromptsLoader
from monitor.services.statements import MAX_STATEMENT_CHARS, LineId, PublicationDay
from monitor.vocabulary import Role


class FactsInput(BaseModel):
    """A document with what its page states of it."""

    id: LineId = None
    title: str = Field(max_length=MAX_STATEMENT_CHARS, examples=["关于完善绿色电价的通知"])
    text: str = Field(examples=["本通知自2026年7月1日起施行。"])
    published: PublicationDay = Field(None, examples=["2026-06-20"])
    issuer: str | None = Field(None, max_length=MAX_STATEMENT_CHARS, examples=["国家发展改革委"])


def to_answer(facts: DocumentFacts, document_id: LineId) -> dict[str, Any]:
    """Return the facts in the names of `monitor facts`; each relation with type, number and title."""
    shown = facts.model_dump(mode="json", exclude={"published_on"})
    for deadline in shown["deadlines"]:
        del deadline["verdict"]
    return {"id": document_id, **shown}


@dataclass(kw_only=True)
class FactsService:
    """Reads facts by rule in `workers`; `new_model` gives the model that is asked for what they leave open."""

    workers: WorkerPool
    new_model: Callable[[], Awaitable[ChatModel | None]] | None = None
    new_prompts: PromptsLoader | None = None

    async def build_model(self, *, by: Actor) -> ChatModel | None:
        """Return the model for `read`, with a budget of its own, or None where none is set; for editors."""
        by.require(Role.EDITOR)
        return await self.new_model() if self.new_model is not None else None

    async def read(
        self, documents: Sequence[FactsInput], *, model: ChatModel | None = None
    ) -> list[DocumentFacts | IsolatedWorkFailed]:
        """Return the facts in the order of the documents; of one that cannot be read in time, why not."""
        return list(await asyncio.gather(*(self._read(document, model) for document in documents)))

    async def _read(self, document: FactsInput, model: ChatModel | None) -> DocumentFacts | IsolatedWorkFailed:
        try:
            facts = await self.workers.run(
                read_facts, document.title, document.text, published_on=document.published, issuer=document.issuer
            )
        except IsolatedWorkFailed as error:
            return error
        if model is None:
            return facts
        prompts = await self.new_prompts() if self.new_prompts is not None else DEFAULT_PROMPTS
        return await read_facts_with_model(document.title, document.text, facts, model, prompts=prompts)
