"""What was learned of models is kept in the database, for a day where it came from refusals."""

import asyncio
import datetime as dt
import json
from typing import Any

import pytest

from monitor.config.llm import LlmSettings
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.fetch.outbound import OutboundPolicy
from monitor.llm.chat import ChatMessage, CompletionRequest
from monitor.llm.client import ModelClient
from monitor.llm.dialect import EndpointFacts
from monitor.llm.refusals import Feature, Need
from monitor.services.models import ModelService, StoredEndpoints
from monitor.services.usage import CostService
from monitor.vocabulary import Phase
from tests.conftest import name_services

ENDPOINT = "http://127.0.0.1:8000/v1/"


class Watch:
    def __init__(self) -> None:
        self.at = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)

    def now(self) -> dt.datetime:
        return self.at


async def test_lessons_last_a_day_and_lengths_longer(sqlite_url: str) -> None:
    facts = EndpointFacts(refused={Feature.TOOLS}, needs={Need.STREAM}, context_tokens=8192)
    watch = Watch()
    async with Store.open(sqlite_url) as store:
        await StoredEndpoints(store, watch).save(ENDPOINT, "m", facts)
        known = (await StoredEndpoints(store, watch).load(ENDPOINT))["m"]
        assert (known.refused, known.needs, known.context_tokens) == (facts.refused, facts.needs, 8192)
        assert known.learned_at == watch.at
        assert await StoredEndpoints(store, watch).load("http://127.0.0.1:9000/v1/") == {}

        watch.at += dt.timedelta(hours=20)
        later = StoredEndpoints(store, watch)
        known = (await later.load(ENDPOINT))["m"]
        await later.save(ENDPOINT, "m", known.model_copy(update={"context_tokens": 4096}))
        watch.at += dt.timedelta(hours=5)
        known = (await StoredEndpoints(store, watch).load(ENDPOINT))["m"]
        assert (known.refused, known.needs, known.context_tokens) == (set(), set(), 4096)


async def test_facts_of_another_version_and_a_database_that_is_away_are_nothing(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Store.open(sqlite_url) as store:
        await store.model_endpoints.save(ENDPOINT, "m", {"refused": ["telepathy"]}, at=Watch().at)
        assert await StoredEndpoints(store, Watch()).load(ENDPOINT) == {}
    async with Store.open("sqlite:////nowhere/monitor.db") as away:
        memory = StoredEndpoints(away, Watch())
        assert await memory.load(ENDPOINT) == {}
        await memory.save(ENDPOINT, "m", EndpointFacts())


async def test_the_next_process_asks_as_the_last_one_learned(sqlite_url: str, site: Any, reply: Any) -> None:
    def answer(asked: Any) -> Any:
        if "temperature" in json.loads(asked.body):
            return reply(json.dumps({"error": {"message": "'temperature' is not supported"}}), status=400)
        return reply(json.dumps({"choices": [{"message": {"content": "好"}}]}))

    site.on("/v1/chat/completions", answer)
    llm = LlmSettings(base_url=site.url("/v1"), model="m", max_retries=0)
    settings = Settings(llm=llm, network=name_services(site.url("/v1")).network)
    watch = Watch()
    question = [ChatMessage(role="user", content="问")]
    async with Store.open(sqlite_url) as store:
        for run_id in ("one", "two"):
            costs = CostService(store=store, clock=watch, timezone="Asia/Shanghai")
            service = ModelService(store=store, settings=settings, clock=watch, costs=costs)
            model = await service.build_run_model(run_id, store)
            assert model is not None
            assert (await model.complete(CompletionRequest(question, phase=Phase.RANK))).text == "好"
            await service.close()
    assert ["temperature" in json.loads(asked.body) for asked in site.asked] == [True, False, False]


async def test_the_models_of_an_endpoint_are_asked_for_behind_the_reader_s_back_once_an_hour(
    sqlite_url: str, site: Any, reply: Any
) -> None:
    listed = {"object": "list", "data": [{"id": "small"}, {"id": "large"}, {"id": "large"}, {"id": None}, "?"]}
    site.on("/v1/models", reply(json.dumps(listed)))
    llm = LlmSettings(base_url=site.url("/v1"), model="m", max_retries=0)
    settings, watch = Settings(llm=llm, network=name_services(site.url("/v1")).network), Watch()

    async with Store.open(sqlite_url) as store:
        costs = CostService(store=store, clock=watch, timezone="Asia/Shanghai")
        service = ModelService(store=store, settings=settings, clock=watch, costs=costs)
        assert service.list_offered_models() == [], "nobody waits for the first answer"
        async with asyncio.timeout(30):
            while not service.list_offered_models():  # noqa: ASYNC110 -- it tells nobody when it is done
                await asyncio.sleep(0.01)
        assert service.list_offered_models() == ["large", "small"]
        assert len(site.asked) == 1
        watch.at += dt.timedelta(hours=2)
        assert service.list_offered_models() == ["large", "small"], "the last answer holds while it is asked again"
        async with asyncio.timeout(30):
            while len(site.asked) < 2:  # noqa: ASYNC110 -- as above
                await asyncio.sleep(0.01)
        settings.llm = LlmSettings(enabled=False)
        assert service.list_offered_models() == []
        await service.close()


async def test_an_endpoint_that_lists_no_models_leaves_a_field_to_type_in(
    sqlite_url: str, site: Any, reply: Any
) -> None:
    site.on("/v1/models", reply("<html>no such page</html>", status=404))
    llm = LlmSettings(base_url=site.url("/v1"), model="m", max_retries=0)
    client = ModelClient(llm, OutboundPolicy(name_services(site.url("/v1")).network))
    assert await client.fetch_offered_models() == []
    await client.close()
