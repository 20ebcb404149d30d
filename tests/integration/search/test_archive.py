"""The archive as a search service, over real databases: the same results in the same order on both."""

import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.fulltext import FullTextScope
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.collection import Item, Source
from monitor.db.tables.evidence import ItemSnapshot
from monitor.page import ChangeKind
from monitor.search.backends.archive import ArchiveBackend, ArchiveSearch
from monitor.search.contract import DateRange, Recency, SearchErrorCode, SearchFailed, SearchQuery

TODAY = dt.date(2026, 11, 21)
FIRST_SEEN = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)
TITLES = ["光伏发电", "储能与光伏", "电力市场", "碳市场交易", "Carbon market rules", "光伏补贴政策"]
TEXTS = ["光伏" * 3, "电力市场中的储能", "carbon market", "", "政策补贴", "分布式光\n伏"]


def score_item(relevance: float, day: dt.date, url: str) -> float:
    freshness = 0.5 ** ((TODAY - day).days / 30)
    return round(0.6 * relevance + 0.2 * freshness + 0.2 * (1.0 if ".gov/" in url else 0.4), 4)


@pytest.fixture(params=["sqlite", "postgres"], ids=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    async with Store.open(request.getfixturevalue(f"{request.param}_url")) as store:
        await store.check()
        await store.sources.add(Source(name="s", url="https://s.gov/", created_at=FIRST_SEEN))
        yield store


@pytest.fixture
def backend(store: Store, clock: Clock) -> ArchiveBackend:
    return ArchiveBackend(archive=ArchiveSearch(fulltext=store.fulltext, score_item=score_item), clock=clock)


async def keep(store: Store, title: str, text: str, *, path: str, date: dt.date | None, host: str = "a.gov") -> int:
    item = Item(
        source_id=1,
        source="s",
        run_id="r",
        section="s",
        url=f"https://{host}/{path}",
        url_key="",
        title=title,
        date=date,
        first_seen=FIRST_SEEN,
    )
    saved, _ = await store.items.save(item)
    await store.items.update(saved.id or 0, text=text)
    return saved.id or 0


async def found(backend: ArchiveBackend, text: str, limit: int = 20, **options: object) -> list[str]:
    findings = await backend.search(SearchQuery.model_validate({"text": text, **options}), limit)
    return [hit.title for hit in findings.hits]


async def test_both_databases_give_the_same_results_in_the_same_order(
    store: Store, backend: ArchiveBackend, tmp_path: Path, clock: Clock
) -> None:
    async with Store.open(f"sqlite:///{tmp_path / 'twin.db'}") as twin:
        await twin.check()
        await twin.sources.add(Source(name="s", url="https://s.gov/", created_at=FIRST_SEEN))
        other = ArchiveBackend(archive=ArchiveSearch(fulltext=twin.fulltext, score_item=score_item), clock=clock)
        for number in range(60):
            title, text = TITLES[number * 7 % 6] + str(number), TEXTS[number * 5 % 6] * (number % 3)
            date = TODAY - dt.timedelta(days=number * 13 % 90) if number % 4 else None
            host = "a.gov" if number % 2 else "news.example"
            for entry in (store, twin):
                await keep(entry, title, text, path=str(number), date=date, host=host)
        for query in ("光伏", "市场", "carbon market", '"电力市场" 储能', "光伏补贴政策有什么变化", "场", "nothing"):
            asked = SearchQuery(text=query)
            hits = (await backend.search(asked, 20)).hits
            assert hits == (await other.search(asked, 20)).hits
            assert hits or query == "nothing"


async def test_a_title_an_authority_and_a_late_day_each_raise_a_result(store: Store, backend: ArchiveBackend) -> None:
    old = TODAY - dt.timedelta(days=300)
    await keep(store, "其他", "光伏", path="1", date=TODAY, host="news.example")
    await keep(store, "光伏 标题", "", path="2", date=TODAY, host="news.example")
    await keep(store, "光伏 旧", "", path="3", date=old, host="news.example")
    await keep(store, "光伏 政府", "", path="4", date=TODAY)
    assert await found(backend, "光伏") == ["光伏 政府", "光伏 标题", "其他", "光伏 旧"]
    assert await found(backend, "光伏", limit=1) == ["光伏 政府"]


async def test_a_result_is_an_item_with_its_day_and_the_place_that_was_found(
    store: Store, backend: ArchiveBackend
) -> None:
    await keep(store, "通知", "前文。" * 50 + "关于<b>光伏</b>的规定", path="1", date=TODAY)
    (hit,) = (await backend.search(SearchQuery(text="光伏"), 5)).hits
    assert (hit.url, hit.published_at) == ("https://a.gov/1", TODAY)
    assert "光伏" in hit.snippet


async def test_days_and_sites_that_are_asked_for_hold(store: Store, backend: ArchiveBackend) -> None:
    await keep(store, "光伏 今天", "", path="1", date=TODAY)
    await keep(store, "光伏 上月", "", path="2", date=TODAY - dt.timedelta(days=20), host="b.gov")
    await keep(store, "光伏 旧", "", path="3", date=TODAY - dt.timedelta(days=400))
    assert await found(backend, "光伏", time_range=Recency.WEEK) == ["光伏 今天"]
    assert await found(backend, "光伏", time_range=Recency.MONTH) == ["光伏 今天", "光伏 上月"]
    assert await found(backend, "光伏", time_range=DateRange(end=dt.date(2026, 1, 1))) == ["光伏 旧"]
    assert await found(backend, "光伏", site_filter="b.gov") == ["光伏 上月"]


async def test_a_question_finds_what_has_a_third_of_its_words_after_what_has_all(
    store: Store, backend: ArchiveBackend
) -> None:
    await keep(store, "光伏新闻", "光伏，补贴", path="1", date=TODAY)
    await keep(store, "补贴新政", "谈光伏补贴", path="2", date=TODAY - dt.timedelta(days=300), host="news.example")
    assert await found(backend, "光伏补贴") == ["补贴新政", "光伏新闻"]
    assert set(await found(backend, "光伏补贴有什么最新消息？")) == {"补贴新政", "光伏新闻"}


async def test_what_was_withdrawn_is_a_find_for_people_but_no_source(store: Store, backend: ArchiveBackend) -> None:
    number = await keep(store, "光伏", "", path="1", date=TODAY)
    await store.revisions.save(
        ItemSnapshot(item_id=number, run_id="r", looked_at=FIRST_SEEN, page={}, standing=ChangeKind.WITHDRAWN)
    )
    assert await found(backend, "光伏") == []
    archive = ArchiveSearch(fulltext=store.fulltext, score_item=score_item)
    assert len((await archive.search("光伏", FullTextScope(items=ItemFilter()), limit=5)).items) == 1


@pytest.mark.parametrize("text", ['"', "NEAR(a b)", "*", "\x00", "a" * 1000, "光伏 OR 1=1; --"])
async def test_no_query_is_an_error(backend: ArchiveBackend, text: str) -> None:
    assert await found(backend, text) == []


async def test_a_query_that_is_too_long_is_wrong_input(backend: ArchiveBackend) -> None:
    with pytest.raises(SearchFailed, match="at most 1000") as failed:
        await found(backend, "光" * 10_000)
    assert failed.value.error.type is SearchErrorCode.INVALID_INPUT
    assert not failed.value.error.retryable
