"""A database that goes away is waited for, and what was asked of it is then done once."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.tables.collection import Run, Source
from monitor.errors import DatabaseError, DatabaseGone
from monitor.i18n.message import Message
from monitor.vocabulary import Phase

AT = datetime(2026, 2, 3, 8, tzinfo=UTC)


def a_run(source: Source, number: int) -> Run:
    at = AT + timedelta(minutes=number)
    return Run(id=f"r{number}", source_id=source.id, source=source.name, planned_at=at)


@pytest.fixture
def kind() -> str:
    return "postgresql"


@pytest.fixture
def stopped(postgres: Any) -> Iterator[Any]:
    """The server, which runs again after the test whatever became of it."""
    is_up = [True]

    class Switch:
        def off(self) -> None:
            is_up[0] = False
            postgres.stop()

        def on(self) -> None:
            postgres.start()
            is_up[0] = True

    yield Switch()
    if not is_up[0]:
        postgres.start()


async def test_what_is_asked_while_the_server_is_down_is_done_when_it_is_back(
    store: Store, source: Source, stopped: Any
) -> None:
    await store.check()
    await store.runs.create(a_run(source, 0))
    await asyncio.to_thread(stopped.off)
    asked = [
        asyncio.create_task(store.runs.create(a_run(source, 1))),
        asyncio.create_task(store.runs.add_fallback("r0", Phase.CRAWL, "here", Message.other("why"), AT)),
        asyncio.create_task(store.sources.get_by_id(source.id or 0)),
    ]
    done, _ = await asyncio.wait(asked, timeout=0.5)
    assert not done
    await asyncio.to_thread(stopped.on)
    is_new, _, found = await asyncio.gather(*asked)
    assert (is_new, found) == (True, source)
    assert [run.id for run in await store.runs.list()] == ["r1", "r0"]
    assert len(await store.runs.list_fallbacks("r0")) == 1


async def test_patience_ends(url: str, stopped: Any) -> None:
    async with Store.open(url, max_retry_s=0.3) as store:
        await store.check()
        await asyncio.to_thread(stopped.off)
        with pytest.raises(DatabaseGone, match="cannot be used"):
            await store.sources.list()


async def test_a_database_that_was_never_there_is_not_waited_for(tmp_path: Path) -> None:
    async with Store.open(f"postgresql://nobody@/none?host={tmp_path}") as store, asyncio.timeout(5):
        with pytest.raises(DatabaseError, match="cannot be used"):
            await store.sources.list()
