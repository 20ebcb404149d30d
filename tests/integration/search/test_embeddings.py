"""The archive searched by meaning, over real databases and a server that speaks the protocol of vectors."""

import datetime as dt
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.config.stored import apply_stored_settings
from monitor.db.database import Store
from monitor.db.fulltext import FullTextScope
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item, Run, Source
from monitor.errors import ModelFailed, SettingsError
from monitor.search.backends.archive import ArchiveBackend, ArchiveSearch
from monitor.search.contract import SearchQuery
from monitor.search.meaning import MeaningSearch
from monitor.services.embeddings import EmbeddingService
from monitor.services.usage import CostService
from monitor.vocabulary import RunStatus
from tests.integration.search.embedding_server import EmbeddingServer

FIRST_SEEN = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
PARAPHRASE = "solar power support"  # shares no word with the item that it means
MEANT = "关于光伏发电补贴的通知"
OTHERS = ("关于碳市场配额的公告", "人事任免信息", "河湖水资源管理办法", "粮食收购工作安排")


@dataclass
class Archive:
    store: Store
    server: EmbeddingServer
    url: str
    settings: Settings
    service: EmbeddingService
    search: ArchiveSearch

    async def add(self, title: str) -> None:
        number = len(await self.store.items.list(ItemFilter(), limit=None))
        item = Item(
            source_id=1,
            source="s",
            run_id="r",
            section="s",
            url=f"https://s.gov/{number}",
            url_key=str(number),
            title=title,
            date=FIRST_SEEN.date(),
            first_seen=FIRST_SEEN,
        )
        await self.store.items.save(item)

    async def embed_all(self) -> None:
        while await self.service.embed_portion():
            pass

    async def find(self, text: str, **scope: Any) -> list[str]:
        found = await self.search.search(text, FullTextScope(items=ItemFilter(**scope)), limit=20)
        return [hit.item.title for hit in found.items]


@pytest.fixture(params=["sqlite", "postgres"], ids=["sqlite", "postgresql"])
async def archive(
    request: pytest.FixtureRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Archive]:
    url = request.getfixturevalue(f"{request.param}_url")
    server = EmbeddingServer()
    monkeypatch.setenv("VECTOR_KEY", server.api_key)
    async with server.serve() as base_url, Store.open(url) as store:
        await store.check()
        await store.sources.add(Source(name="s", url="https://s.gov/", created_at=FIRST_SEEN))
        base = Settings(
            llm={
                "base_url": "http://127.0.0.1:1/v1",
                "max_retries": 0,
                "embeddings": {"model": "vectors", "base_url": base_url, "api_key_env": "VECTOR_KEY", "batch_size": 10},
            }
        )
        settings = apply_stored_settings(base, {}, {}).settings
        costs = CostService(store=store, clock=clock, timezone="UTC")
        service = EmbeddingService(store=store, settings=settings, clock=clock, costs=costs)
        meaning = MeaningSearch(vectors=store.vectors, embed_query=service.embed_query)
        search = ArchiveSearch(fulltext=store.fulltext, score_item=lambda relevance, *_: relevance, meaning=meaning)
        archive = Archive(store, server, base_url, settings, service, search)
        for title in (MEANT, *OTHERS, *(f"第{number}号会议纪要" for number in range(30))):
            await archive.add(title)
        yield archive
        await service.close()


async def test_a_paraphrase_without_shared_words_is_found_only_by_meaning(archive: Archive) -> None:
    await archive.embed_all()
    by_words = ArchiveSearch(fulltext=archive.store.fulltext, score_item=lambda relevance, *_: relevance)
    assert (await by_words.search(PARAPHRASE, FullTextScope(items=ItemFilter()), limit=20)).items == []
    assert await archive.find(PARAPHRASE) == [MEANT]


async def test_an_item_that_both_orders_have_comes_first(archive: Archive) -> None:
    await archive.add("太阳能电站管理办法")
    await archive.embed_all()
    found = await archive.find("光伏")
    assert found[0] == MEANT
    assert "太阳能电站管理办法" in found


async def test_new_items_are_found_as_soon_as_they_have_a_vector_and_only_these_are_asked_for(archive: Archive) -> None:
    await archive.embed_all()
    assert await archive.find(PARAPHRASE) == [MEANT]
    asked = len(archive.server.requests)
    await archive.add("屋顶太阳能项目备案指南")
    await archive.embed_all()
    assert [body["input"] for body in archive.server.requests[asked:]] == [["屋顶太阳能项目备案指南\n\n"]]
    assert set(await archive.find(PARAPHRASE)) == {MEANT, "屋顶太阳能项目备案指南"}


async def test_what_was_done_before_a_failure_is_not_asked_for_again(archive: Archive) -> None:
    assert await archive.service.embed_portion()
    archive.server.failing = 503
    with pytest.raises(ModelFailed):
        await archive.service.embed_portion()
    assert not await archive.service.embed_portion(), "a server that failed is left alone for a while"
    archive.server.failing = None
    done = {text for body in archive.server.requests[:1] for text in body["input"]}
    asked = len(archive.server.requests)
    again = EmbeddingService(
        store=archive.store, settings=archive.settings, clock=archive.service.clock, costs=archive.service.costs
    )
    while await again.embed_portion():
        pass
    await again.close()
    later = [text for body in archive.server.requests[asked:] for text in body["input"]]
    assert not done & set(later)
    assert len(done) + len(later) == 35
    assert all(len(body["input"]) <= 10 for body in archive.server.requests)


async def test_a_search_falls_back_to_words_and_says_so_while_the_server_fails(archive: Archive, clock: Clock) -> None:
    await archive.embed_all()
    archive.server.failing = 500
    asked = len(archive.server.requests)
    backend = ArchiveBackend(archive=archive.search, clock=clock)
    for _ in range(3):
        results = await backend.search(SearchQuery(text="光伏"), 10)
        assert [hit.title for hit in results.hits] == [MEANT]
        assert results.cut_short is not None
        assert results.cut_short.message.code == "search.embeddings_failed"
    assert len(archive.server.requests) == asked + 1, "the next searches do not wait for it"


async def test_a_scope_holds_for_what_is_found_by_meaning(archive: Archive) -> None:
    await archive.embed_all()
    assert await archive.find(PARAPHRASE, until=FIRST_SEEN.date() - dt.timedelta(days=1)) == []


async def test_vectors_of_another_length_are_made_anew(archive: Archive) -> None:
    await archive.embed_all()
    llm = archive.settings.llm
    longer = llm.model_copy(update={"embeddings": llm.embeddings.model_copy(update={"dimensions": 512})})
    archive.settings.llm = longer
    assert await archive.find(PARAPHRASE) == [], "the stored ones cannot be compared"
    await archive.embed_all()
    assert await archive.find(PARAPHRASE) == [MEANT]
    assert archive.server.requests[-1]["dimensions"] == 512
    assert await archive.store.vectors.count("vectors") == (0, 0)


async def test_calls_are_booked_and_the_budget_of_the_day_holds(archive: Archive) -> None:
    await archive.service.embed_portion()
    used = await archive.store.usage.load_run_usage("embeddings")
    assert used.calls == 1
    assert used.prompt_tokens == sum(map(len, archive.server.requests[0]["input"]))
    archive.settings.llm = archive.settings.llm.model_copy(update={"daily_token_budget": used.prompt_tokens})
    with pytest.raises(ModelFailed) as spent:
        await archive.service.embed_portion()
    assert spent.value.message.code == "llm.token_budget_spent"
    assert len(archive.server.requests) == 1


async def test_the_key_goes_to_the_host_of_the_vectors_alone(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-for-the-model")
    await archive.service.embed_portion()
    assert archive.server.headers[-1]["authorization"] == f"Bearer {archive.server.api_key}"
    other = EmbeddingServer()
    async with other.serve() as url:
        overlay = apply_stored_settings(archive.settings, {"llm.embeddings.base_url": url}, {})
        service = EmbeddingService(
            store=archive.store, settings=overlay.settings, clock=archive.service.clock, costs=archive.service.costs
        )
        with pytest.raises((ModelFailed, SettingsError)):
            await service.embed_portion()
        await service.close()
    assert not [headers for headers in other.headers if archive.server.api_key in str(headers)]


async def test_a_portion_that_the_server_refuses_is_halved(archive: Archive) -> None:
    archive.server.max_batch = 3
    await archive.embed_all()
    assert (await archive.store.vectors.count("vectors"))[0] == 35


async def test_an_item_of_a_run_under_way_waits_for_its_summary(archive: Archive) -> None:
    run = Run(id="r", source_id=1, source="s", status=RunStatus.RUNNING, planned_at=FIRST_SEEN)
    await archive.store.runs.create(run)
    assert await archive.store.vectors.list_pending("vectors", limit=100, max_chars=100) == []
