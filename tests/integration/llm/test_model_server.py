import asyncio
import datetime as dt
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from benchmarks.scripted_model.server import ScriptedModel
from monitor.config.llm import LlmSettings
from monitor.db.tables.collection import ModelCall
from monitor.errors import ModelFailed, ModelUnavailable, SettingsError
from monitor.i18n.catalogue import render
from monitor.llm.chat import ChatMessage, CompletionRequest, Tool
from monitor.llm.client import ModelClient
from monitor.llm.examination import examine_models
from monitor.llm.run_model import RunModel
from monitor.vocabulary import Phase
from tests.conftest import name_services

QUESTION = [
    ChatMessage(role="system", content="你写摘要。"),
    ChatMessage(role="user", content="正文：\n全国新增装机1200万千瓦，同比增长8.5%。"),
]
NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)


class FixedClock:
    def now(self) -> dt.datetime:
        return NOON


@asynccontextmanager
async def run_model(
    base_url: str, *, tokens_today: int = 0, **settings: Any
) -> AsyncIterator[tuple[RunModel, list[ModelCall]]]:
    rows: list[ModelCall] = []

    async def record(row: ModelCall) -> None:
        rows.append(row)

    server = ModelClient(LlmSettings(base_url=base_url, **settings), name_services(base_url))
    try:

        async def spent_today() -> int:
            return tokens_today + sum(row.prompt_tokens + row.completion_tokens for row in rows)

        yield server.for_run("run-1", record=record, clock=FixedClock(), tokens_today=spent_today), rows
    finally:
        await server.close()


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def fail(model: RunModel, outcome: str) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE, place="x"))
    assert failed.value.outcome == outcome
    return failed.value


async def test_an_answer_comes_with_its_row_in_the_ledger() -> None:
    scripted = ScriptedModel()
    async with scripted.serve() as url, run_model(url, model="m", models={"rank": "other"}) as (model, rows):
        answer = await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE, place="item 4"))
        await model.complete(CompletionRequest(QUESTION, phase=Phase.RANK))
    assert "1200万千瓦" in answer.text
    row = rows[0]
    assert (row.run_id, row.phase, row.place, row.model, row.outcome, row.at) == (
        "run-1",
        Phase.SUMMARISE,
        "item 4",
        "m",
        "ok",
        NOON,
    )
    assert row.context_chars == sum(len(message.content) for message in QUESTION)
    assert row.prompt_tokens > 0
    assert row.latency_ms >= 0
    assert model.tokens_used == sum(row.prompt_tokens + row.completion_tokens for row in rows)
    assert [request["model"] for request in scripted.requests] == ["m", "other"]
    assert scripted.requests[0]["temperature"] == 0.3


async def test_tokens_are_estimated_where_the_server_counts_none() -> None:
    async with ScriptedModel(counts_tokens=False).serve() as url, run_model(url) as (model, rows):
        await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE))
    assert rows[0].prompt_tokens > 5
    assert rows[0].completion_tokens > 5


async def test_tools_go_out_and_tool_calls_come_back() -> None:
    content = "- 列表页：http://a.gov.cn/zcfg/\n- 日期范围：2026-11-15 至 2026-11-21"
    question = [ChatMessage(role="user", content=content)]
    tool = Tool(name="browse_page", description="opens a page", parameters={"type": "object", "properties": {}})
    async with ScriptedModel().serve() as url, run_model(url) as (model, _):
        answer = await model.complete(CompletionRequest(question, phase=Phase.CRAWL, tools=[tool]))
    assert [(call.name, call.arguments) for call in answer.tool_calls] == [
        ("browse_page", '{"url": "http://a.gov.cn/zcfg/"}')
    ]


async def test_a_busy_server_is_asked_again_after_the_pause_it_names() -> None:
    scripted = ScriptedModel("http_429", retry_after_s=0.2)
    async with scripted.serve() as url, run_model(url) as (model, rows):
        began = time.perf_counter()
        await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE))
    assert time.perf_counter() - began >= 0.4
    assert [row.outcome for row in rows] == ["ok"]
    assert len(scripted.requests) == 3


async def test_a_pause_of_hours_is_not_waited_for() -> None:
    async with (
        ScriptedModel("http_429", refusals=None, retry_after_s=7200).serve() as url,
        run_model(url) as (model, _),
    ):
        async with asyncio.timeout(5):
            await fail(model, "http_429")


async def test_a_pause_longer_than_the_timeout_ends_with_the_timeout() -> None:
    scripted = ScriptedModel("http_429", refusals=None, retry_after_s=60)
    async with scripted.serve() as url, run_model(url, timeout_s=0.5) as (model, rows):
        async with asyncio.timeout(5):
            await fail(model, "timeout")
    assert rows[0].outcome == "timeout"


async def test_a_server_that_is_too_slow_times_out() -> None:
    async with ScriptedModel(latency_s=30).serve() as url, run_model(url, timeout_s=0.3) as (model, rows):
        failure = await fail(model, "timeout")
    assert "0.3 s" in str(failure)
    assert 250 <= rows[0].latency_ms < 5000


async def test_five_failed_calls_in_a_row_open_the_circuit() -> None:
    scripted = ScriptedModel("http_500")
    async with scripted.serve() as url, run_model(url, max_retries=0) as (model, rows):
        for _ in range(4):
            await fail(model, "http_500")
        scripted.mode = type(scripted.mode).GOOD
        await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE))
        scripted.mode = type(scripted.mode).HTTP_500
        for _ in range(5):
            assert model.is_available
            await fail(model, "http_500")
        assert not model.is_available
        assert "5 model calls in a row failed" in model.reason
        for _ in range(3):
            assert isinstance(await fail(model, "circuit"), ModelUnavailable)
    assert len(scripted.requests) == 10
    assert [row.outcome for row in rows] == [*["http_500"] * 4, "ok", *["http_500"] * 5, "circuit"]


async def test_an_answer_that_the_server_cut_is_a_failure_that_is_paid_for() -> None:
    scripted = ScriptedModel("truncated")
    async with scripted.serve() as url, run_model(url, model="m") as (model, rows):
        for _ in range(7):
            failure = await fail(model, "length")
        assert model.is_available, "a server that answers works"
    assert "llm.models" in str(failure)
    assert {row.outcome for row in rows} == {"length"}
    assert all(row.completion_tokens > 0 for row in rows)
    assert model.tokens_used == sum(row.prompt_tokens + row.completion_tokens for row in rows)


async def test_an_agent_goes_on_with_the_tool_calls_that_a_cut_answer_has() -> None:
    question = [
        ChatMessage(role="user", content="- 列表页：http://a.gov.cn/zcfg/\n- 日期范围：2026-11-15 至 2026-11-21")
    ]
    tool = Tool(name="browse_page", description="opens a page", parameters={"type": "object", "properties": {}})
    async with ScriptedModel("truncated").serve() as url, run_model(url) as (model, rows):
        answer = await model.complete(CompletionRequest(question, phase=Phase.CRAWL, tools=[tool]))
    assert [call.name for call in answer.tool_calls] == ["browse_page"]
    assert (answer.is_cut, rows[0].outcome) == (True, "cut")


async def test_calls_that_wait_for_a_slot_are_not_made_once_the_circuit_is_open() -> None:
    scripted = ScriptedModel("http_500")
    async with scripted.serve() as url, run_model(url, max_retries=0, max_concurrency=1) as (model, _):
        await asyncio.gather(*(fail_somehow(model) for _ in range(20)))
    assert len(scripted.requests) == 5


async def fail_somehow(model: RunModel) -> None:
    with pytest.raises(ModelFailed):
        await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE))


async def test_a_refused_key_ends_the_asking_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "wrong")
    scripted = ScriptedModel(api_key="right")
    async with scripted.serve() as url, run_model(url, api_key_env="SCRIPTED_KEY") as (model, rows):
        failure = await fail(model, "auth")
        assert isinstance(failure, ModelUnavailable)
        assert "SCRIPTED_KEY" in model.reason
        await fail(model, "auth")
    assert [row.outcome for row in rows] == ["auth", "circuit"]


async def test_a_right_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", " right\n")
    async with (
        ScriptedModel(api_key="right").serve() as url,
        run_model(url, api_key_env="SCRIPTED_KEY") as (model, rows),
    ):
        await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE))
    assert rows[0].outcome == "ok"


async def test_an_unknown_model_is_a_failed_call_that_names_it() -> None:
    async with ScriptedModel(models=["m"]).serve() as url, run_model(url, model="gpt-99") as (model, _):
        assert "gpt-99" in str(await fail(model, "http_404"))


async def test_a_refused_connection_is_a_network_failure() -> None:
    async with run_model(f"http://127.0.0.1:{closed_port()}/v1", max_retries=0) as (model, rows):
        assert "cannot be reached" in str(await fail(model, "network"))
    assert rows[0].outcome == "network"


async def test_an_empty_answer_is_handed_on_and_does_not_count_as_failed() -> None:
    async with ScriptedModel("empty").serve() as url, run_model(url) as (model, rows):
        for _ in range(6):
            assert (await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE))).text == ""
        assert model.is_available
    assert {row.outcome for row in rows} == {"empty"}


@pytest.mark.parametrize(
    ("settings", "tokens_today"),
    [({"run_token_budget": 150}, 0), ({"daily_token_budget": 10_150}, 10_000), ({"run_token_budget": 0}, 0)],
)
async def test_a_budget_is_not_overdrawn(settings: dict[str, int], tokens_today: int) -> None:
    limit = settings.get("run_token_budget", 150)
    async with ScriptedModel().serve() as url, run_model(url, tokens_today=tokens_today, **settings) as (model, rows):
        while model.is_available and len(rows) < 50:
            await asyncio.gather(
                model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE)), return_exceptions=True
            )
        await fail(model, "budget")
        assert not model.is_available
        assert next(iter(settings)) in model.reason
        one_call = rows[0].prompt_tokens + rows[0].completion_tokens
        assert model.tokens_used <= limit + one_call
    assert rows[-1].outcome == "budget"


async def test_no_more_calls_are_under_way_than_the_limit_over_all_runs() -> None:
    scripted = ScriptedModel(latency_s=0.05)
    server_rows: list[ModelCall] = []

    async def record(row: ModelCall) -> None:
        server_rows.append(row)

    async with scripted.serve() as url:
        server = ModelClient(LlmSettings(base_url=url, max_concurrency=2), name_services(url))
        runs = [server.for_run(f"run-{i}", record=record, clock=FixedClock()) for i in range(3)]
        await asyncio.gather(
            *(run.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE)) for run in runs for _ in range(4))
        )
        await server.close()
    assert scripted.max_concurrent_calls == 2
    assert len(server_rows) == 12


async def test_a_cancelled_call_leaves_its_row() -> None:
    scripted = ScriptedModel(latency_s=30)
    async with scripted.serve() as url, run_model(url) as (model, rows):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE))
    assert [row.outcome for row in rows] == ["cancelled"]


async def test_a_model_that_allows_no_sampling_parameters_is_asked_without_them() -> None:
    scripted = ScriptedModel(refuses_sampling=True)
    async with scripted.serve() as url, run_model(url) as (model, rows):
        await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE))
        await model.complete(CompletionRequest(QUESTION, phase=Phase.SUMMARISE))
    assert [row.outcome for row in rows] == ["ok", "ok"]
    assert ["temperature" in request for request in scripted.requests] == [True, False, False]


async def check(settings: LlmSettings) -> list[str | None]:
    server = ModelClient(settings, name_services(settings.base_url))
    try:
        return [trial.complaint and render(trial.complaint, "en") for trial in await examine_models(server)]
    finally:
        await server.close()


async def test_the_check_says_what_answered_or_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "wrong")
    async with ScriptedModel(models=["m", "n"]).serve() as url:
        assert await check(LlmSettings(base_url=url, model="m", models={"rank": "n"})) == [None, None]
        assert "no model 'gone'" in str(await check(LlmSettings(base_url=url, model="gone")))
    async with ScriptedModel(api_key="right").serve() as url:
        assert "SCRIPTED_KEY" in str(await check(LlmSettings(base_url=url, api_key_env="SCRIPTED_KEY")))
    unreached = await check(LlmSettings(base_url=f"http://127.0.0.1:{closed_port()}/v1"))
    assert "cannot be reached" in str(unreached)
    async with ScriptedModel(latency_s=30).serve() as url:
        assert "did not answer" in str(await check(LlmSettings(base_url=url, timeout_s=0.2)))


def test_settings_that_cannot_work_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="http://"):
        ModelClient(LlmSettings(base_url="localhost:8000/v1"), name_services())
    monkeypatch.setenv("SCRIPTED_KEY", "密钥")
    with pytest.raises(SettingsError, match="SCRIPTED_KEY"):
        ModelClient(LlmSettings(base_url="http://127.0.0.1:1/v1", api_key_env="SCRIPTED_KEY"), name_services())
