"""The vectors of the archive: new items get theirs in the background, and a query its own when it is asked."""

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from monitor.clock import Clock
from monitor.config.llm import LlmSettings
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.collection import ItemVector, ModelCall
from monitor.errors import ModelFailed, ModelUnavailable
from monitor.logs import get_logger
from monitor.services.usage import CostService
from monitor.vocabulary import Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.llm.client import ModelClient
    from monitor.llm.embeddings import Vector

_log = get_logger("embeddings")
_BOOKED_UNDER = "embeddings"
_MAX_TEXT_CHARS = 480
"""What 512 tokens, all that many of these models read, surely hold in Chinese."""
_MAX_BATCH = 2048
_TOO_MANY = ("http_400", "http_413", "http_422")
"""How servers refuse a request with too many texts, among other things: the next one has half of them."""
_QUERY_TIMEOUT_S = 10.0
_BACKFILL_PAUSE, _QUERY_PAUSE = dt.timedelta(minutes=5), dt.timedelta(minutes=1)
"""How long a server that failed is left alone."""


@dataclass(kw_only=True)
class EmbeddingService:
    store: Store
    settings: Settings
    clock: Clock
    costs: CostService
    _clients: "list[ModelClient]" = field(default_factory=list, init=False)
    _current_settings: object = field(default=None, init=False)
    _max_batch: int = field(default=_MAX_BATCH, init=False)
    _failures: dict[str, tuple[dt.datetime, ModelFailed]] = field(default_factory=dict, init=False)

    async def close(self) -> None:
        for client in self._clients:
            await client.close()

    async def embed_query(self, text: str) -> "tuple[str, Vector] | None":
        """Return the vector of a query and the name of its model; None where no model is set.

        Raises `ModelFailed`. After a failure the server is not asked for a minute: a search does not wait for it.
        """
        client = self._get_client()
        if client is None:
            return None
        self._check_pause("query")
        try:
            (vector,) = await self._embed(client, [text], place="query", max_retries=0)
        except ModelFailed as error:
            self._failures["query"] = (self.clock.now() + _QUERY_PAUSE, error)
            raise
        return self._get_stored_name(), vector

    async def embed_portion(self) -> bool:
        """Give one portion of the items without a vector theirs; return whether there may be more.

        What is done is kept at once, so that it goes on from there after a stop. A portion that the server refuses is
        halved. A server that fails is left alone for five minutes, and the log says so.
        """
        client = self._get_client()
        if client is None:
            return False
        try:
            self._check_pause("items")
        except ModelFailed:
            return False
        size = min(self.settings.llm.embeddings.batch_size or client.embedding_batch, self._max_batch)
        name = self._get_stored_name()
        pending = await self.store.vectors.list_pending(name, limit=size, max_chars=_MAX_TEXT_CHARS)
        texts = ["\n".join([item.title, item.summary, item.text])[:_MAX_TEXT_CHARS] for item in pending]
        if not texts:
            return False
        try:
            vectors = await self._embed(client, texts, place="items")
        except ModelFailed as error:
            if error.outcome in _TOO_MANY and size > 1:
                self._max_batch = size // 2
                return True
            self._failures["items"] = (self.clock.now() + _BACKFILL_PAUSE, error)
            raise
        rows = [
            ItemVector(
                item_id=item.item_id,
                model=name,
                signs=vector.signs.to_bytes(-(-len(vector.values) // 8)),
                vector=vector.to_bytes(),
            )
            for item, vector in zip(pending, vectors, strict=True)
        ]
        await self.store.vectors.save(rows)
        _log.info("items embedded", count=len(rows), model=name)
        return len(pending) == size

    def _check_pause(self, what: str) -> None:
        until, error = self._failures.get(what, (None, None))
        if until is not None and error is not None and self.clock.now() < until:
            raise error

    def _get_stored_name(self) -> str:
        """The name under which vectors are kept: those of another length cannot be compared."""
        own = self.settings.llm.embeddings
        return f"{own.model}@{own.dimensions}" if own.dimensions else str(own.model)

    def _get_client(self) -> "ModelClient | None":
        llm, network = self.settings.llm, self.settings.network
        if llm.embeddings.model is None:
            return None
        from monitor.fetch.outbound import OutboundPolicy
        from monitor.llm.client import ModelClient  # its library takes a second to import

        if self._current_settings != (llm, network):
            self._clients.append(ModelClient(llm.for_embeddings(), OutboundPolicy(network)))
            self._current_settings = (llm, network)
            self._failures.clear()
            self._max_batch = _MAX_BATCH
        return self._clients[-1]

    async def _embed(
        self, client: "ModelClient", texts: "Sequence[str]", *, place: str, max_retries: int | None = None
    ) -> "list[Vector]":
        """Return the vectors of some texts; the call is booked, and counts for the day's budget."""
        from monitor.llm.context import estimate_tokens

        llm, estimated = self.settings.llm, sum(map(estimate_tokens, texts))
        await self._check_budget(llm, estimated)
        began, tokens, outcome = self.clock.now(), 0, "ok"
        timeout_s = _QUERY_TIMEOUT_S if place == "query" else None
        try:
            answer = await client.embed(
                llm.embeddings.model or "",
                texts,
                dimensions=llm.embeddings.dimensions,
                max_retries=max_retries,
                timeout_s=timeout_s,
            )
            tokens = answer.prompt_tokens or estimated
        except ModelFailed as error:
            outcome = error.outcome
            raise
        finally:
            await self._book(texts, began, tokens=tokens, outcome=outcome, place=place)
        return answer.vectors

    async def _check_budget(self, llm: LlmSettings, tokens: int) -> None:
        limit = llm.daily_token_budget
        if limit is not None and await self.costs.count_tokens_today() + tokens > limit:
            raise ModelUnavailable(
                "llm.token_budget_spent", name="llm.daily_token_budget", limit=str(limit), outcome="budget"
            )

    async def _book(self, texts: "Sequence[str]", began: dt.datetime, *, tokens: int, outcome: str, place: str) -> None:
        llm = self.settings.llm
        model = llm.embeddings.model or ""
        price = llm.prices.get(model)
        row = ModelCall(
            run_id=_BOOKED_UNDER,
            phase=Phase.EMBED,
            place=place,
            model=model,
            prompt_tokens=tokens,
            context_chars=sum(map(len, texts)),
            latency_ms=round((self.clock.now() - began).total_seconds() * 1000),
            outcome=outcome,
            at=began,
            cost=None if price is None else tokens * price.input / 1_000_000,
        )
        await self.store.usage.add(row)
