import asyncio
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.collection import Run, Source
from monitor.i18n.catalogue import render
from monitor.jobs.presence import LEASE_TIMEOUT_S, HeartbeatRegistry, LeaseHolder
from monitor.jobs.scheduler import Scheduler
from monitor.vocabulary import RunStatus


@pytest.fixture
def new_scheduler(store: Store, settings: Settings, clock: Any) -> Any:
    presence = HeartbeatRegistry(store=store, clock=clock, folder=settings.data_dir)
    return lambda: Scheduler(store=store, settings=settings, clock=clock, presence=presence)


async def looked(scheduler: Scheduler) -> None:
    await scheduler.refresh()
    await scheduler.create_due_runs()


async def runs_of(store: Store) -> list[Run]:
    return list(reversed(await store.runs.list()))


async def test_each_planned_time_puts_one_run_on_record_under_the_id_of_source_and_time(
    store: Store, source: Source, clock: Any, new_scheduler: Any
) -> None:
    scheduler = new_scheduler()
    await looked(scheduler)
    assert await runs_of(store) == []
    clock.turn(hours=1, seconds=2)
    await looked(scheduler)
    await looked(scheduler)
    (run,) = await runs_of(store)
    assert (run.id, run.status) == (f"s{source.id}-20260302T010000Z", RunStatus.QUEUED)


async def test_two_schedulers_at_once_and_one_after_a_restart_still_make_one_run(
    store: Store, source: Source, clock: Any, new_scheduler: Any
) -> None:
    first, second = new_scheduler(), new_scheduler()
    for scheduler in (first, second):
        await scheduler.refresh()
    clock.turn(hours=1, seconds=2)
    await asyncio.gather(first.create_due_runs(), second.create_due_runs())
    await looked(new_scheduler())
    assert [run.status for run in await runs_of(store)] == [RunStatus.QUEUED]


async def test_after_an_outage_the_last_time_runs_and_one_row_tells_of_the_others(
    store: Store, source: Source, clock: Any, new_scheduler: Any
) -> None:
    await looked(new_scheduler())
    clock.turn(hours=30, minutes=20)
    await looked(new_scheduler())
    missed, run = await runs_of(store)
    assert run.status is RunStatus.QUEUED
    assert run.planned_at == clock.now().replace(minute=0)
    assert missed.status is RunStatus.CANCELLED
    assert missed.error is not None
    assert "29 planned times" in render(missed.error, "en")


async def test_a_time_that_was_missed_by_more_than_the_grace_is_a_row_and_no_run(
    store: Store, source: Source, clock: Any, new_scheduler: Any
) -> None:
    await store.sources.update(source.name, schedule="0 9 * * *")  # 01:00 UTC
    await looked(new_scheduler())
    clock.turn(hours=4)
    await looked(new_scheduler())
    (row,) = await runs_of(store)
    assert (row.status, row.planned_at.hour) == (RunStatus.CANCELLED, 1)
    assert row.error is not None
    assert render(row.error, "en").startswith("Missed: no scheduler was running")


async def test_a_run_that_still_waits_is_not_joined_by_a_second_one(
    store: Store, source: Source, clock: Any, new_scheduler: Any
) -> None:
    scheduler = new_scheduler()
    await scheduler.refresh()
    for _ in range(2):
        clock.turn(hours=1, seconds=2)
        await looked(scheduler)
    first, second = await runs_of(store)
    assert (first.status, second.status) == (RunStatus.QUEUED, RunStatus.CANCELLED)
    assert second.error is not None
    assert render(second.error, "en") == "Missed: the run planned for 2026-03-02 01:00Z is still waiting."


async def test_a_changed_or_newly_enabled_schedule_does_not_look_back(
    store: Store, source: Source, clock: Any, new_scheduler: Any
) -> None:
    scheduler = new_scheduler()
    await scheduler.refresh()
    await store.sources.update(source.name, enabled=False)
    await scheduler.refresh()
    clock.turn(hours=5)
    await looked(scheduler)
    await store.sources.update(source.name, enabled=True)
    await looked(scheduler)
    await store.sources.update(source.name, schedule="30 * * * *")
    await looked(scheduler)
    assert await runs_of(store) == []
    clock.turn(minutes=30, seconds=1)
    await looked(scheduler)
    assert [run.planned_at.minute for run in await runs_of(store)] == [30]


async def test_a_clock_that_jumps_an_hour_each_way_runs_nothing_twice(
    store: Store, source: Source, clock: Any, new_scheduler: Any
) -> None:
    scheduler = new_scheduler()
    await scheduler.refresh()
    for hours in (1.1, 1, -1, 0.5, 0.6, 1):
        clock.turn(hours=hours)
        await looked(scheduler)
        for run in await store.runs.list_open():
            await store.runs.update(run.id, status=RunStatus.SUCCEEDED)
    planned = [run.planned_at.hour for run in await runs_of(store) if run.status is RunStatus.SUCCEEDED]
    assert planned == sorted(set(planned)) == [1, 2, 3]


async def test_a_standby_takes_over_from_a_holder_that_fell_silent_and_not_before(store: Store, clock: Any) -> None:
    steady = {"s": 0.0}

    def duty(holder: str) -> LeaseHolder:
        return LeaseHolder("scheduler", holder=holder, store=store, clock=clock, monotonic=lambda: steady["s"])

    first, second = duty("first"), duty("second")
    assert await first.acquire()
    for _ in range(10):
        assert not await second.acquire()
        steady["s"] += LEASE_TIMEOUT_S / 2
        clock.turn(seconds=5)
        assert await first.acquire()
    assert not await second.acquire()
    steady["s"] += LEASE_TIMEOUT_S
    clock.turn(hours=-3)  # whatever the wall clock says
    assert await second.acquire()
    assert not await first.acquire()
    await second.release()
    assert await first.acquire()
