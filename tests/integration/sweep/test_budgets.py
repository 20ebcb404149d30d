"""What the model costs, and what happens when that is too much."""

import datetime as dt
from typing import Any

import pytest

from monitor.config.llm import LlmSettings
from monitor.errors import ModelUnavailable
from monitor.i18n.catalogue import render
from monitor.llm.chat import ChatMessage, CompletionRequest
from monitor.llm.client import ModelClient
from monitor.services.usage import CostService
from monitor.vocabulary import Phase, RunStatus, SummaryBy
from tests.conftest import name_services

OLD = (400, 410, 420, 430, 440, 450)
# Ten tokens as we estimate, ten as the server counts, five answered.
ASKED = [ChatMessage(role="user", content="x" * 40)]


@pytest.fixture
def costs(bureau: Any) -> CostService:
    return CostService(store=bureau.store, clock=bureau.clock, timezone=bureau.settings.timezone)


@pytest.fixture
async def new_model(bureau: Any, model: Any, models: list[Any], costs: CostService) -> Any:
    """Makes models with these settings as the composition root does; the next runs are given one, too."""
    model.otherwise = {"role": "assistant", "content": "ready"}
    servers: list[ModelClient] = []

    def make(run_id: str = "r", *, used: int = 0, **settings: Any) -> Any:
        url = bureau.site.url("/v1")
        llm = LlmSettings(enabled=True, base_url=url, max_retries=0, model="m", **settings)
        server = ModelClient(llm, name_services(url))
        servers.append(server)
        models[:] = [
            lambda run_id, store: server.for_run(
                run_id,
                record=store.usage.add,
                clock=bureau.clock,
                tokens_today=costs.count_tokens_today,
                tokens_used=used,
            )
        ]
        return models[0](run_id, bureau.store)

    yield make
    for server in servers:
        await server.close()


async def test_a_run_whose_budget_is_spent_goes_on_by_rule_and_says_so(bureau: Any, new_model: Any, model: Any) -> None:
    bureau.show(bureau.rows(0, 1, 2, *OLD))
    new_model(run_token_budget=1)
    run = await bureau.sweep()
    assert (run.status, run.state, len(run.items)) == (RunStatus.DEGRADED, "degraded: budget", 3)
    assert {item.summary_by for item in run.items} == {SummaryBy.EXTRACT}
    assert model.requests == []
    assert any("llm.run_token_budget" in render(fallback.reason, "en") for fallback in run.fallbacks)


async def test_a_run_without_anything_new_needs_no_budget(bureau: Any, new_model: Any) -> None:
    bureau.show(bureau.rows(0, 1, 2, *OLD))
    await bureau.sweep()
    new_model(daily_token_budget=0)
    run = await bureau.sweep()
    assert (run.status, run.state, run.usage.calls) == (RunStatus.SUCCEEDED, "succeeded", 0)


async def test_the_daily_budget_is_one_for_all_runs_at_once_and_new_at_midnight(bureau: Any, new_model: Any) -> None:
    first, second = new_model("one", daily_token_budget=39), new_model("two", daily_token_budget=40)
    await first.complete(CompletionRequest(ASKED, phase=Phase.RANK))
    await second.complete(CompletionRequest(ASKED, phase=Phase.RANK))
    with pytest.raises(ModelUnavailable, match="daily_token_budget"):
        await first.complete(CompletionRequest(ASKED, phase=Phase.RANK))
    bureau.clock.today += dt.timedelta(days=1)
    await new_model("three", daily_token_budget=39).complete(CompletionRequest(ASKED, phase=Phase.RANK))


async def test_a_run_that_is_gone_on_with_does_not_begin_its_budget_anew(new_model: Any) -> None:
    await new_model(run_token_budget=40, used=15).complete(CompletionRequest(ASKED, phase=Phase.RANK))
    with pytest.raises(ModelUnavailable, match="run_token_budget"):
        await new_model(run_token_budget=40, used=35).complete(CompletionRequest(ASKED, phase=Phase.RANK))


async def test_tokens_and_money_are_told_by_day_source_and_phase(
    bureau: Any, new_model: Any, costs: CostService
) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    new_model(prices={"m": {"input": 2_000_000, "output": 1_000_000}})
    run = await bureau.sweep()
    assert run.usage.cost == run.usage.prompt_tokens * 2 + run.usage.completion_tokens
    bureau.clock.today += dt.timedelta(days=1)
    await new_model("unpriced").complete(CompletionRequest(ASKED, phase=Phase.RANK))
    ledger = await costs.get_ledger(2)
    assert (ledger.until, ledger.since) == (bureau.clock.today, bureau.clock.today - dt.timedelta(days=1))
    today, *yesterday = ledger.costs
    assert (today.day, today.source, today.cost, today.unpriced_calls) == (bureau.clock.today, None, None, 1)
    assert {(spending.source, spending.phase) for spending in yesterday} == {
        ("bureau", phase) for phase in (Phase.CRAWL, Phase.SUMMARISE, Phase.RANK)
    }
    assert (ledger.cost, ledger.calls) == (run.usage.cost, run.usage.calls + 1)
    assert sum(entry.cost or 0 for entry in yesterday) == run.usage.cost
    assert [cost.day for cost in (await costs.get_ledger(1)).costs] == [bureau.clock.today]
