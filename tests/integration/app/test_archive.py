"""Items from a real database."""

import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from monitor.app.archive import Archive, ItemQuery
from monitor.domain.tables import Run, Source
from monitor.domain.words import RunStatus
from monitor.errors import UsageError
from monitor.store import Store

NOW = dt.datetime(2026, 11, 21, 8, tzinfo=dt.UTC)
TODAY = dt.date(2026, 11, 21)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store.open(f"sqlite:///{tmp_path / 'monitor.db'}") as store:
        await store.check()
        yield store


@pytest.fixture
def archive(store: Store) -> Archive:
    return Archive(store=store)


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
