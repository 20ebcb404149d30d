"""Facts of documents that somebody hands in: each is read as our own items are."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from monitor.document import DocumentFacts
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.policies.facts import read_facts
from monitor.services.statements import MAX_STATEMENT_CHARS, LineId, PublicationDay


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
    """Reads facts by rule in `workers`."""

    workers: WorkerPool

    async def read(self, documents: Sequence[FactsInput]) -> list[DocumentFacts | IsolatedWorkFailed]:
        """Return the facts in the order of the documents; of one that cannot be read in time, why not."""
        return list(await asyncio.gather(*map(self._read, documents)))

    async def _read(self, document: FactsInput) -> DocumentFacts | IsolatedWorkFailed:
        try:
            return await self.workers.run(
                read_facts, document.title, document.text, published_on=document.published, issuer=document.issuer
            )
        except IsolatedWorkFailed as error:
            return error
