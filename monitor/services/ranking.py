"""An order of importance for titles and documents that somebody hands in: as our own items are ranked."""

import asyncio
import datetime as dt
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.tables.collection import Item
from monitor.db.tables.policies import Topic
from monitor.document import DocumentFacts
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.isolation.pool import IsolatedWorkFailed, WorkerPool
from monitor.llm.chat import ChatModel
from monitor.llm.prompts import DEFAULT_PROMPTS
from monitor.logs import get_logger
from monitor.policies.facts import read_facts
from monitor.ranking.kinds import classify_item_type
from monitor.ranking.model import RankingContext, rank_items
from monitor.ranking.topics import score_topic
from monitor.services.audit import Actor
from monitor.services.models import ModelService
from monitor.services.prompts import PromptService
from monitor.services.statements import MAX_STATEMENT_CHARS, LineId, PublicationDay
from monitor.services.topic_form import load_topic
from monitor.verify.prose import is_chinese
from monitor.vocabulary import ItemType, Role

MAX_RANK_INPUTS = 10_000
_SUMMARY_CHARS = 400
_NO_PLACE: dict[str, Any] = {"run_id": "", "section": "", "url": "", "url_key": ""}


class RankInput(BaseModel):
    """A title, with what else is known of its document."""

    id: LineId = None
    title: str = Field(max_length=MAX_STATEMENT_CHARS, examples=["关于完善绿色电价的通知"])
    date: PublicationDay = Field(None, examples=["2026-06-20"])
    type: ItemType | None = None
    text: str | None = None
    source: str | None = Field(None, max_length=MAX_STATEMENT_CHARS, examples=["国家发展改革委"])

    def to_item(self) -> Item:
        """Return the item that it would be, with the beginning of its text as summary."""
        return Item(
            first_seen=dt.datetime.min.replace(tzinfo=dt.UTC),
            title=self.title,
            date=self.date,
            type=self.type or classify_item_type(self.title),
            source=self.source or "",
            summary=(self.text or "")[:_SUMMARY_CHARS],
            **_NO_PLACE,
        )


@dataclass(frozen=True)
class RankedInput:
    """A place in the order, 1 the most important."""

    id: LineId
    rank: int
    tier: int
    type: ItemType
    reason: Message


@dataclass(kw_only=True)
class RankService:
    """Ranks what is handed in, texts by their facts, which `workers` read; without a store by rule alone."""

    workers: WorkerPool
    clock: Clock
    store: Store | None
    models: ModelService | None
    prompts: PromptService | None

    async def build_model(self, *, by: Actor) -> ChatModel | None:
        """Return the model for `rank`, with a budget of its own, or None where none is set; for editors."""
        by.require(Role.EDITOR)
        if self.models is None or self.store is None:
            return None
        return await self.models.build_run_model(f"rank-{secrets.token_hex(8)}", self.store)

    async def load_topic(self, name: str) -> Topic:
        """Return the topic of that name or number; `UsageError` where there is no database to have it."""
        if self.store is None:
            raise UsageError("rank.no_topics", topic=name)
        return await load_topic(name, self.store)

    async def rank(
        self,
        inputs: Sequence[RankInput],
        *,
        model: ChatModel | None = None,
        today: dt.date | None = None,
        topic: Topic | None = None,
    ) -> tuple[list[RankedInput], list[Message]]:
        """Return the inputs, the most important first, and why a model that was asked gave no answer.

        A deadline is near or over as seen from `today`: by default the day of the newest input. What fits the topic
        comes higher.
        """
        items = [each.to_item() for each in inputs]
        facts = await self._read_all(inputs)
        newest = max((each.date for each in inputs if each.date is not None), default=None)
        fits = {
            n: score_topic(topic, item, facts.get(n), each.text or "")
            for n, (item, each) in enumerate(zip(items, inputs, strict=True))
            if topic is not None
        }
        titles = " ".join(each.title for each in inputs[:100])
        context = RankingContext(
            today=today or newest or self.clock.now().date(),
            facts=facts,
            fits=fits,
            place="rank",
            language="zh" if is_chinese(titles) else "en",
            prompts=await self.prompts.load_active() if self.prompts is not None else DEFAULT_PROMPTS,
        )
        ranked = await rank_items(items, context, model)
        found = []
        for rank, n in enumerate(ranked.order, start=1):
            importance = ranked.importances[n]
            item_type = inputs[n].type or importance.type
            found.append(RankedInput(inputs[n].id, rank, importance.tier, item_type, importance.reason))
        return found, ranked.faults

    async def _read_all(self, inputs: Sequence[RankInput]) -> dict[int, DocumentFacts]:
        found = await asyncio.gather(*map(self._read, inputs))
        return {n: facts for n, facts in enumerate(found) if facts is not None}

    async def _read(self, given: RankInput) -> DocumentFacts | None:
        if not given.text:
            return None
        facts: dict[str, Any] = {"published_on": given.date, "issuer": given.source}
        try:
            return await self.workers.run(read_facts, given.title, given.text, **facts)
        except IsolatedWorkFailed as error:
            get_logger("ranking").warning("a text could not be read", reason=str(error.message))
            return None
