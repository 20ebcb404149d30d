"""Items from a real database."""

import datetime as dt
from collections.abc import AsyncIterator

import pytest

from monitor.app.archive import Archive, ItemQuery
from monitor.domain.tables import Item, Run, Source
from monitor.domain.words import RunStatus
from monitor.errors import UsageError
from monitor.search.archive_search import ArchiveSearch
from monitor.store import Store

NOW = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
TODAY = dt.date(2026, 11, 21)


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    async with Store.open(sqlite_url) as store:
        await store.check()
        yield store


@pytest.fixture
def archive(store: Store) -> Archive:
    return Archive(store=store, search=ArchiveSearch(fulltext=store.fulltext, weigh=lambda relevance, *_: relevance))


async def test_a_source_that_never_was_is_no_empty_answer(store: Store, archive: Archive) -> None:
    gone = await store.sources.add(Source(name="gone", url="https://gone.example/", created_at=NOW))
    run = Run(id="gone-1", source_id=gone.id, source="gone", status=RunStatus.SUCCEEDED, planned_at=NOW)
    await store.runs.create(run)
    await store.sources.remove("gone")
    assert await archive.items(ItemQuery(sources=["gone"])) == []
    with pytest.raises(UsageError, match="no source 'never'"):
        await archive.items(ItemQuery(sources=["never"]))


async def test_days_the_wrong_way_round_are_refused(archive: Archive) -> None:
    with pytest.raises(UsageError, match="wrong way round"):
        await archive.items(ItemQuery(since=TODAY, until=dt.date(2026, 11, 1)))


async def test_a_search_shows_the_best_first_with_the_place_that_was_found(store: Store, archive: Archive) -> None:
    for number, (title, summary) in enumerate([("其他", "谈到光伏"), ("光伏", "光伏发电"), ("储能", "")]):
        url = f"https://a.gov/{number}"
        item = Item(
            run_id="r", source="s", section="s", url=url, url_key="", title=title, summary=summary, first_seen=NOW
        )
        await store.items.save(item)
    found = await archive.search(ItemQuery(text="光伏"))
    assert [(one.title, one.snippet) for one in found] == [("光伏", "光伏发电"), ("其他", "谈到光伏")]
    assert found[0].score > found[1].score
    assert await archive.search(ItemQuery(text="光伏", until=dt.date(2026, 1, 1))) == []
    assert [one.title for one in await archive.items(ItemQuery(text="光伏"))] == ["光伏", "其他"]
    for empty in ("", "  ", '"', "。"):
        with pytest.raises(UsageError, match="nothing to search for"):
            await archive.search(ItemQuery(text=empty))
