"""The models of runs and researches: every call is booked under the one that made it."""

import asyncio
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.errors import DatabaseError, MonitorError
from monitor.extras import needs_extra
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.services.usage import CostService
from monitor.vocabulary import Phase

if TYPE_CHECKING:
    from monitor.llm.chat import ChatModel
    from monitor.llm.client import ModelClient
    from monitor.llm.dialect import EndpointFacts
    from monitor.research.shapes import ResearchOptions

_LESSONS_LAST = dt.timedelta(days=1)
"""After this time a refusal is tried again: servers are set up anew."""
_OFFER_LASTS, _SILENCE_LASTS = dt.timedelta(hours=1), dt.timedelta(minutes=1)


@dataclass
class StoredEndpoints:
    """Keeps in the database what was learned of models; a database that is away costs the next process a refusal."""

    store: Store
    clock: Clock
    _known: "dict[tuple[str, str], EndpointFacts]" = field(default_factory=dict, init=False)

    async def load(self, endpoint: str) -> "Mapping[str, EndpointFacts]":
        """Return what is known of the models of an endpoint; lessons of refusals count for a day."""
        from pydantic import ValidationError

        from monitor.llm.dialect import EndpointFacts

        found: dict[str, EndpointFacts] = {}
        try:
            rows = await self.store.model_endpoints.load(endpoint)
        except DatabaseError as error:
            get_logger("models").warning("what was learned of the models cannot be read", reason=str(error))
            return found
        for model, row in rows.items():
            try:
                facts = EndpointFacts.model_validate(row)
            except ValidationError:  # of another version
                continue
            if facts.learned_at is None or self.clock.now() - facts.learned_at > _LESSONS_LAST:
                facts = EndpointFacts(context_tokens=facts.context_tokens, calibration=facts.calibration)
            found[model] = facts
            self._known[endpoint, model] = facts.model_copy(deep=True)
        return found

    async def save(self, endpoint: str, model: str, facts: "EndpointFacts") -> None:
        known, now = self._known.get((endpoint, model)), self.clock.now()
        is_same = known is not None and (known.refused, known.needs) == (facts.refused, facts.needs)
        stamped = facts.model_copy(update={"learned_at": known.learned_at if known and is_same else now})
        self._known[endpoint, model] = stamped
        try:
            await self.store.model_endpoints.save(endpoint, model, stamped.model_dump(mode="json"), at=now)
        except DatabaseError as error:
            get_logger("models").warning("what was learned of a model cannot be kept", reason=str(error))


@dataclass(frozen=True)
class _Offer:
    """The models that an endpoint offered to these settings."""

    settings: object
    at: dt.datetime
    names: list[str]

    def holds(self, settings: object, now: dt.datetime) -> bool:
        return self.settings == settings and now - self.at < (_OFFER_LASTS if self.names else _SILENCE_LASTS)


@dataclass(kw_only=True)
class ModelService:
    """Gives each run a model with the settings of the moment; a run under way keeps the one that it began with."""

    store: Store
    settings: Settings
    clock: Clock
    costs: CostService
    _clients: "list[ModelClient]" = field(default_factory=list, init=False)
    _current_settings: object = field(default=None, init=False)
    _offer: _Offer | None = field(default=None, init=False)
    _asking: asyncio.Task[None] | None = field(default=None, init=False)

    def get_client(self) -> "ModelClient | None":
        """Return the client, or None where the model is off.

        `SettingsError` for invalid settings, `ExtraMissing` without the library that asks models.
        """
        llm, network = self.settings.llm, self.settings.network
        if not llm.is_on:
            return None
        from monitor.fetch.outbound import OutboundPolicy

        with needs_extra("models"):
            from monitor.llm.client import ModelClient  # its library takes a second to import

        if self._current_settings != (llm, network):
            memory = StoredEndpoints(self.store, self.clock)
            self._clients.append(ModelClient(llm, OutboundPolicy(network), memory=memory))
            self._current_settings = (llm, network)
        return self._clients[-1]

    def list_offered_models(self) -> list[str]:
        """Return the names of the models that the endpoint offers, as far as they are known.

        The endpoint is asked in the background, once an hour: nobody who reads a page waits for it. There are none
        before its first answer, and where it lists none or the model is off.
        """
        if not self.settings.llm.is_on:
            return []
        settings, now = (self.settings.llm, self.settings.network), self.clock.now()
        is_fresh = self._offer is not None and self._offer.holds(settings, now)
        if not is_fresh and (self._asking is None or self._asking.done()):
            self._asking = asyncio.create_task(self._ask_for_models(settings))
        return self._offer.names if self._offer is not None and self._offer.settings == settings else []

    async def _ask_for_models(self, settings: object) -> None:
        names: list[str] = []
        try:
            with needs_extra("models"):
                await asyncio.to_thread(import_module, "monitor.llm.client")
            client = self.get_client()
            names = await client.fetch_offered_models() if client is not None else []
        except MonitorError as error:
            get_logger("models").warning("the models of the endpoint are not known", reason=str(error))
        self._offer = _Offer(settings, self.clock.now(), names)

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait({self._asking})
        for client in self._clients:
            await client.close()

    async def build_run_model(self, run_id: str, run_store: Store) -> "ChatModel | None":
        """Return a model whose calls are booked under a run, or None where the model is off."""
        client = self.get_client()
        if client is None:
            return None
        await client.prepare()
        used = await run_store.usage.load_run_usage(run_id)
        is_run = await run_store.runs.get(run_id) is not None

        async def note(phase: Phase, place: str, reason: Message) -> None:
            await run_store.runs.add_fallback(run_id, phase, place, reason, self.clock.now())

        return client.for_run(
            run_id,
            record=run_store.usage.add,
            clock=self.clock,
            tokens_today=self.costs.count_tokens_today,
            tokens_used=used.prompt_tokens + used.completion_tokens,
            note=note if is_run else None,
        )

    async def build_research_model(self, task_id: str, options: "ResearchOptions") -> "ChatModel | None":
        """Return the model of a research, with the models, sampling and budget that it was asked for."""
        from monitor.llm.run_model import Budget

        client = self.get_client() if options.enabled else None
        if client is None:
            return None
        await client.prepare()
        llm, limits = self.settings.llm, self.settings.research
        models = {phase: name.strip() for phase, name in options.models.items() if name.strip()}
        sampling = options.sampling.model_dump(exclude_none=True)
        used = await self.store.usage.load_run_usage(task_id)
        tokens, name = limits.token_budget, "research.token_budget"
        if tokens is None:
            tokens, name = llm.run_token_budget, "llm.run_token_budget"
        return client.for_run(
            task_id,
            record=self.store.usage.add,
            clock=self.clock,
            tokens_today=self.costs.count_tokens_today,
            settings=llm.model_copy(update={"models": {**llm.models, **models}, **sampling}),
            budget=Budget(tokens, limits.cost_budget, tokens_name=name, cost_name="research.cost_budget"),
            tokens_used=used.prompt_tokens + used.completion_tokens,
            cost_used=used.cost or 0.0,
        )
