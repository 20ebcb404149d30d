"""Items from a real database."""

import datetime as dt
from collections.abc import AsyncIterator

import pytest

from monitor.db.database import Store
from monitor.db.tables.collection import Item, Run, Source
from monitor.errors import UsageError
from monitor.search.backends.archive import ArchiveSearch
from monitor.services.items import ArchiveService, ItemMatchesSchema, ItemQuery
from monitor.vocabulary import RunStatus

NOW = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
TODAY = dt.date(2026, 11, 21)


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    async with Store.open(sqlite_url) as store:
        await store.check()
        yield store


@pytest.fixture
def archive(store: Store) -> ArchiveService:
    return ArchiveService(
        store=store, search=ArchiveSearch(fulltext=store.fulltext, score_item=lambda relevance, *_: relevance)
    )


async def test_a_source_that_never_was_is_no_empty_answer(store: Store, archive: ArchiveService) -> None:
    gone = await store.sources.add(Source(name="gone", url="https://gone.example/", created_at=NOW))
    run = Run(id="gone-1", source_id=gone.id, source="gone", status=RunStatus.SUCCEEDED, planned_at=NOW)
    await store.runs.create(run)
    await store.sources.remove("gone")
    assert await archive.list_items(ItemQuery(sources=["gone"])) == []
    with pytest.raises(UsageError, match="no source 'never'"):
        await archive.list_items(ItemQuery(sources=["never"]))


async def test_days_the_wrong_way_round_are_refused(archive: ArchiveService) -> None:
    with pytest.raises(UsageError, match="date range is reversed"):
        await archive.list_items(ItemQuery(since=TODAY, until=dt.date(2026, 11, 1)))


async def test_a_search_shows_the_best_first_with_the_place_that_was_found(
    store: Store, archive: ArchiveService
) -> None:
    for number, (title, summary) in enumerate([("其他", "谈到光伏"), ("光伏", "光伏发电"), ("储能", "")]):
        url = f"https://a.gov/{number}"
        item = Item(
            run_id="r", source="s", section="s", url=url, url_key="", title=title, summary=summary, first_seen=NOW
        )
        await store.items.save(item)
    found = (await archive.search(ItemQuery(text="光伏"))).items
    assert [(match.title, match.snippet) for match in found] == [("光伏", "光伏发电"), ("其他", "谈到光伏")]
    assert found[0].score > found[1].score
    assert await archive.search(ItemQuery(text="光伏", until=dt.date(2026, 1, 1))) == ItemMatchesSchema(items=[])
    assert [entry.title for entry in await archive.list_items(ItemQuery(text="光伏"))] == ["光伏", "其他"]
    for empty in ("", "  ", '"', "。"):
        with pytest.raises(UsageError, match="nothing to search for"):
            await archive.search(ItemQuery(text=empty))
