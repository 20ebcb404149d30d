"""Transactions that write at the same time on SQLite: one commit, and each its own outcome."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, Engine, event

from monitor.db.database import Store
from monitor.db.tables.research import Lease

AT = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    async with Store.open(sqlite_url) as store:
        yield store


@contextmanager
def counted_commits() -> Iterator[list[str]]:
    commits: list[str] = []

    def on_commit(_: Connection) -> None:
        commits.append("COMMIT")

    event.listen(Engine, "commit", on_commit)
    yield commits
    event.remove(Engine, "commit", on_commit)


async def put(store: Store, name: str, *, fails: bool = False) -> None:
    async with store.transaction():
        await store.leases.acquire(name, "me", at=AT, expected=None)
        if fails:
            raise RuntimeError(name)


async def names(store: Store) -> set[str]:
    return {f"{number}" for number in range(10) if await store.leases.get(f"{number}") is not None}


async def test_those_that_write_at_the_same_time_share_commits(store: Store) -> None:
    with counted_commits() as commits:
        await asyncio.gather(*(put(store, f"{number}") for number in range(10)))
        shared = len(commits)
    assert shared < 10
    assert len(await names(store)) == 10


@pytest.mark.parametrize("failing", [0, 3, 9])
async def test_an_error_takes_back_what_its_own_transaction_wrote_alone(store: Store, failing: int) -> None:
    writers = (put(store, f"{number}", fails=number == failing) for number in range(10))
    outcomes = await asyncio.gather(*writers, return_exceptions=True)
    assert [number for number, outcome in enumerate(outcomes) if outcome is not None] == [failing]
    assert await names(store) == {f"{number}" for number in range(10)} - {f"{failing}"}


@pytest.mark.parametrize("cancelled", [0, 4, 9])
async def test_one_that_is_cancelled_costs_the_others_nothing(store: Store, cancelled: int) -> None:
    writers = [asyncio.create_task(put(store, f"{number}")) for number in range(10)]
    for _ in range(3 * cancelled):
        await asyncio.sleep(0)
    writers[cancelled].cancel()
    async with asyncio.timeout(20):
        outcomes = await asyncio.gather(*writers, return_exceptions=True)
    assert all(outcome is None for number, outcome in enumerate(outcomes) if number != cancelled)
    assert await names(store) >= {f"{number}" for number in range(10)} - {f"{cancelled}"}
    await put(store, "after")
    assert await store.leases.get("after") is not None


async def test_a_row_that_waits_is_written_with_the_next_transaction_and_again_where_that_fails(store: Store) -> None:
    store.sessions.add_with_next(Lease(name="1", holder="me", renewed_at=AT))
    with pytest.raises(RuntimeError):
        await put(store, "2", fails=True)
    assert await names(store) == set()
    await put(store, "3")
    assert await names(store) == {"1", "3"}
