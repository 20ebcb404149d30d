"""The models of runs and researches: every call is booked under the one that made it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.services.usage import CostService

if TYPE_CHECKING:
    from monitor.llm.chat import ChatModel
    from monitor.llm.client import ModelClient
    from monitor.research.shapes import ResearchOptions


@dataclass(kw_only=True)
class ModelService:
    """Gives each run a model with the settings of the moment; a run under way keeps the one that it began with."""

    store: Store
    settings: Settings
    clock: Clock
    costs: CostService
    _clients: "list[ModelClient]" = field(default_factory=list, init=False)
    _current_settings: object = field(default=None, init=False)

    def get_client(self) -> "ModelClient | None":
        """Return the client, or None where the model is off; raise `SettingsError` for invalid settings."""
        llm, network = self.settings.llm, self.settings.network
        if not llm.is_on:
            return None
        from monitor.fetch.outbound import OutboundPolicy
        from monitor.llm.client import ModelClient  # its library takes a second to import

        if self._current_settings != (llm, network):
            self._clients.append(ModelClient(llm, OutboundPolicy(network)))
            self._current_settings = (llm, network)
        return self._clients[-1]

    async def close(self) -> None:
        for client in self._clients:
            await client.close()

    async def build_run_model(self, run_id: str, run_store: Store) -> "ChatModel | None":
        """Return a model whose calls are booked under a run, or None where the model is off."""
        client = self.get_client()
        if client is None:
            return None
        used = await run_store.usage.load_run_usage(run_id)
        return client.for_run(
            run_id,
            record=run_store.usage.add,
            clock=self.clock,
            tokens_today=self.costs.count_tokens_today,
            tokens_used=used.prompt_tokens + used.completion_tokens,
        )

    async def build_research_model(self, task_id: str, options: "ResearchOptions") -> "ChatModel | None":
        """Return the model of a research, with the models, sampling and budget that it was asked for."""
        from monitor.llm.run_model import Budget

        client = self.get_client() if options.enabled else None
        if client is None:
            return None
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
