"""When a model is given up, for which phase, and when it is asked again; what a run says of it and keeps."""

import datetime as dt
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from monitor.config.llm import LlmSettings
from monitor.db.tables.collection import ModelCall
from monitor.errors import ModelFailed, ModelUnavailable, SettingsError
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.llm.chat import ChatMessage, CompletionRequest
from monitor.llm.client import ModelClient
from monitor.llm.dialect import EndpointFacts
from monitor.llm.run_model import RunModel
from monitor.vocabulary import Phase
from tests.conftest import name_services


@dataclass
class Watch:
    at: dt.datetime = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)

    def now(self) -> dt.datetime:
        return self.at

    def advance(self, seconds: float) -> None:
        self.at += dt.timedelta(seconds=seconds)


@dataclass
class Script:
    """Answers by the phase that a question names."""

    site: Any
    reply: Any
    bad: set[str] = field(default_factory=set)
    status: int = 400
    usage: int | None = None
    asked: list[str] = field(default_factory=list)

    def answer(self, asked: Any) -> Any:
        phase = json.loads(asked.body)["messages"][0]["content"].partition(" ")[0]
        self.asked.append(phase)
        if phase in self.bad:
            return self.reply(json.dumps({"error": {"message": "no", "code": "odd"}}), status=self.status)
        usage = {"usage": {"prompt_tokens": self.usage, "completion_tokens": 1}} if self.usage else {}
        return self.reply(json.dumps({"choices": [{"message": {"content": "好"}}], **usage}))


@dataclass
class Bench:
    model: RunModel
    script: Script
    watch: Watch
    rows: list[ModelCall]
    notes: list[tuple[Phase, str, Message]]

    async def ask(self, phase: Phase, text: str = "") -> str:
        question = [ChatMessage(role="user", content=f"{phase} {text}")]
        try:
            return (await self.model.complete(CompletionRequest(question, phase=phase))).text
        except ModelUnavailable:
            return "not asked"
        except ModelFailed as error:
            return error.outcome


@asynccontextmanager
async def open_bench(site: Any, reply: Any, **llm: Any) -> AsyncIterator[Bench]:
    script, watch = Script(site, reply), Watch()
    site.on("/v1/chat/completions", script.answer)
    rows: list[ModelCall] = []
    notes: list[tuple[Phase, str, Message]] = []

    async def record(row: ModelCall) -> None:
        rows.append(row)

    async def note(phase: Phase, place: str, reason: Message) -> None:
        notes.append((phase, place, reason))

    settings = LlmSettings(base_url=site.url("/v1"), **{"max_retries": 0, "model": "m", **llm})
    client = ModelClient(settings, name_services(site.url("/v1")))
    try:
        model = client.for_run("run-1", record=record, clock=watch, note=note)
        yield Bench(model, script, watch, rows, notes)
    finally:
        await client.close()


async def test_refusals_in_one_phase_leave_the_others_to_the_model(site: Any, reply: Any) -> None:
    async with open_bench(site, reply) as bench:
        bench.script.bad = {"crawl"}
        assert [await bench.ask(Phase.CRAWL) for _ in range(7)] == ["http_400"] * 5 + ["not asked"] * 2
        assert await bench.ask(Phase.SUMMARISE) == "好"
        assert bench.model.is_available
        assert [row.outcome for row in bench.rows] == ["http_400"] * 5 + ["circuit", "ok"]


async def test_after_a_minute_one_call_is_let_through(site: Any, reply: Any) -> None:
    async with open_bench(site, reply) as bench:
        bench.script.bad, bench.script.status = {"rank", "crawl"}, 503
        for _ in range(5):
            await bench.ask(Phase.RANK)
        assert not bench.model.is_available
        assert await bench.ask(Phase.CRAWL) == "not asked", "a server that is not there is there for no phase"
        bench.watch.advance(61)
        assert [await bench.ask(Phase.RANK), await bench.ask(Phase.RANK)] == ["http_503", "not asked"]
        bench.watch.advance(61)
        bench.script.bad = set()
        assert [await bench.ask(Phase.RANK), await bench.ask(Phase.CRAWL)] == ["好", "好"]
        assert bench.model.is_available


async def test_thoughts_that_use_up_every_answer_are_paid_for_no_longer(site: Any, reply: Any) -> None:
    def answer(asked: Any) -> Any:
        choice = {"message": {"content": "", "reasoning_content": "想" * 900}, "finish_reason": "length"}
        return reply(json.dumps({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 900}}))

    async with open_bench(site, reply, max_tokens=900) as bench:
        site.on("/v1/chat/completions", answer)
        assert [await bench.ask(Phase.SUMMARISE) for _ in range(7)] == ["length"] * 5 + ["not asked"] * 2
        assert bench.model.is_available
    assert len(site.asked) == 5, "the administrator's limit is not exceeded"


async def test_a_prompt_that_was_cut_is_said_once_for_its_phase(site: Any, reply: Any) -> None:
    async with open_bench(site, reply) as bench:
        bench.script.usage = 2048
        for length in (9_000, 12_000, 2_000):
            await bench.ask(Phase.SUMMARISE, "字" * length)
    assert bench.rows[0].outcome == "prompt_cut"
    ((phase, _, reason),) = bench.notes
    assert phase is Phase.SUMMARISE
    for language in ("en", "zh"):
        assert "2048" in render(reason, language)
    assert bench.model.fit_chars(Phase.SUMMARISE, 6000) < 2048 * 1.5


@pytest.mark.parametrize(("tokens", "least"), [(None, 6000), (200_000, 6000), (4096, 1000)])
async def test_material_is_cut_to_the_context(site: Any, reply: Any, tokens: int | None, least: int) -> None:
    async with open_bench(site, reply, context_tokens=tokens) as bench:
        chars = bench.model.fit_chars(Phase.SUMMARISE, 6000)
        await bench.ask(Phase.SUMMARISE, "字" * 20_000)
    assert least <= chars <= 6000
    (asked,) = [json.loads(asked.body) for asked in site.asked if asked.path.endswith("completions")]
    length = len(asked["messages"][0]["content"])
    assert length < 4096 * 1.5 if tokens == 4096 else length > 20_000


async def test_what_was_learned_is_kept_with_the_endpoint(site: Any, reply: Any) -> None:
    saved: dict[str, EndpointFacts] = {}

    class Memory:
        async def load(self, endpoint: str) -> dict[str, EndpointFacts]:
            assert "secret" not in endpoint
            return dict(saved)

        async def save(self, endpoint: str, model: str, facts: EndpointFacts) -> None:
            assert endpoint.endswith("/v1/")
            saved[model] = EndpointFacts.model_validate_json(facts.model_dump_json())

    def answer(asked: Any) -> Any:
        if "temperature" in json.loads(asked.body):
            return reply(json.dumps({"error": {"message": "'temperature' is not supported"}}), status=400)
        return reply(json.dumps({"choices": [{"message": {"content": "好"}}]}))

    site.on("/v1/chat/completions", answer)
    for _ in range(2):
        client = ModelClient(
            LlmSettings(base_url=site.url("/v1"), model="m"), name_services(site.url("/v1")), memory=Memory()
        )
        await client.ask_once("m", CompletionRequest([ChatMessage(role="user", content="ready?")], phase=Phase.PLAN))
        await client.close()
    assert ["temperature" in json.loads(asked.body) for asked in site.asked] == [True, False, False]


async def test_headers_and_version_go_out_and_a_key_stands_where_its_provider_wants_it(
    site: Any, reply: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "hidden-key")
    given = {"provider": "azure", "api_version": "2025-04-01-preview", "extra_headers": {"X-Project": "press"}}
    async with open_bench(site, reply, **given) as bench:
        site.on("/v1/chat/completions?api-version=2025-04-01-preview", bench.script.answer)
        assert await bench.ask(Phase.SUMMARISE) == "好"
    (asked,) = site.asked
    assert asked.headers["api-key"] == "hidden-key"
    assert asked.headers["x-project"] == "press"
    assert "authorization" not in asked.headers


async def test_no_request_goes_out_before_some_are_left_again(site: Any, reply: Any) -> None:
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "300ms"}

    def answer(asked: Any) -> Any:
        return reply(json.dumps({"choices": [{"message": {"content": "好"}}]}), headers=headers)

    async with open_bench(site, reply, provider="openai", timeout_s=20) as bench:
        site.on("/v1/chat/completions", answer)
        await bench.ask(Phase.SUMMARISE)
        await bench.ask(Phase.SUMMARISE)
    assert site.at[1] - site.at[0] >= 0.29


def test_a_provider_without_its_address_is_refused_before_a_key_goes_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(SettingsError, match=r"api\.deepseek\.com"):
        ModelClient(LlmSettings(provider="deepseek"), name_services())


async def test_a_server_that_says_in_words_how_long_to_wait_is_waited_for(site: Any, reply: Any) -> None:
    refusal = reply(json.dumps({"error": {"message": "max RPM reached, please try again after 20 ms"}}), status=429)
    answers = [refusal, refusal, reply(json.dumps({"choices": [{"message": {"content": "好"}}]}))]
    async with open_bench(site, reply, max_retries=1) as bench:
        site.on("/v1/chat/completions", lambda _: answers.pop(0))
        assert await bench.ask(Phase.RANK) == "好"
    assert [row.outcome for row in bench.rows] == ["ok"]


async def test_an_empty_account_ends_the_asking_of_the_run(site: Any, reply: Any) -> None:
    async with open_bench(site, reply) as bench:
        site.on("/v1/chat/completions", reply(json.dumps({"error": {"message": "Insufficient Balance"}}), status=402))
        assert [await bench.ask(Phase.RANK), await bench.ask(Phase.CRAWL)] == ["not asked", "not asked"]
        assert not bench.model.is_available
    assert len(site.asked) == 1


async def test_the_context_of_ollama_is_that_of_the_loaded_model(site: Any, reply: Any) -> None:
    site.on("/api/show", json.dumps({"model_info": {"qwen3.context_length": 40_960}, "parameters": "top_k 20"}))
    site.on("/api/ps", json.dumps({"models": []}))
    async with open_bench(site, reply, provider="ollama", model="qwen3:8b") as bench:
        await bench.ask(Phase.RANK)
        unloaded = bench.model.fit_chars(Phase.RANK, 40_000)
        site.on("/api/ps", json.dumps({"models": [{"name": "qwen3:8b", "context_length": 32_768}]}))
        await bench.ask(Phase.RANK)
        await bench.ask(Phase.RANK)
        assert unloaded < 4096 * 1.5
        assert bench.model.fit_chars(Phase.RANK, 40_000) == 40_000
    assert site.paths().count("/api/ps") == 2, "what is certain is not asked again"


async def test_a_context_that_the_server_names_is_kept_to(site: Any, reply: Any) -> None:
    site.on(
        "/v1/models", json.dumps({"data": [{"id": "other", "max_model_len": 1024}, {"id": "m", "max_model_len": 8192}]})
    )
    async with open_bench(site, reply, provider="vllm") as bench:
        await bench.ask(Phase.RANK)
        assert 4096 < bench.model.fit_chars(Phase.RANK, 40_000) < 8192 * 1.5
