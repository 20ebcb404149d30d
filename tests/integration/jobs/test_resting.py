"""A source that keeps failing is passed over for a while, with a row that says so, and is then tried again."""

from typing import Any

from monitor.db.database import Store
from monitor.db.tables.collection import Source
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.jobs.presence import HeartbeatRegistry
from monitor.jobs.scheduler import Scheduler
from monitor.vocabulary import RunStatus


async def test_planned_times_pass_over_a_source_that_rests_until_its_rest_is_over(
    store: Store, source: Source, settings: Any, clock: Any
) -> None:
    presence = HeartbeatRegistry(store=store, clock=clock, folder=settings.data_dir)
    scheduler = Scheduler(store=store, settings=settings, clock=clock, presence=presence)
    await scheduler.refresh()
    for _ in range(3):  # rests for two hours from now on
        await store.runs.end(
            "no run",
            source.id,
            at=clock.now(),
            status=RunStatus.FAILED,
            has_new=False,
            error=Message.other("no answer"),
        )
    found = []
    for _ in range(3):
        clock.turn(hours=1, seconds=1)
        await scheduler.refresh()
        await scheduler.create_due_runs()
        newest = (await store.runs.list())[0]
        found.append((newest.status, newest.error and render(newest.error, "en")))
    passed_over, tried, waits = found
    assert passed_over == (
        RunStatus.CANCELLED,
        "Missed: 3 runs in a row failed, and the source is paused until 2026-03-02 02:00Z.",
    )
    assert tried == (RunStatus.QUEUED, None)
    assert waits[0] is RunStatus.CANCELLED


async def test_a_source_that_recovered_is_run_at_its_next_time(
    store: Store, source: Source, settings: Any, clock: Any
) -> None:
    presence = HeartbeatRegistry(store=store, clock=clock, folder=settings.data_dir)
    scheduler = Scheduler(store=store, settings=settings, clock=clock, presence=presence)
    await scheduler.refresh()
    for status in (*[RunStatus.FAILED] * 6, RunStatus.DEGRADED):
        await store.runs.end("no run", source.id, at=clock.now(), status=status, has_new=False, error=None)
    clock.turn(hours=1, seconds=1)
    await scheduler.refresh()
    await scheduler.create_due_runs()
    assert [run.status for run in await store.runs.list()] == [RunStatus.QUEUED]


async def test_a_clock_that_is_turned_back_and_forth_runs_each_planned_time_once(
    store: Store, source: Source, settings: Any, clock: Any
) -> None:
    presence = HeartbeatRegistry(store=store, clock=clock, folder=settings.data_dir)
    scheduler = Scheduler(store=store, settings=settings, clock=clock, presence=presence)
    await scheduler.refresh()
    seen = []
    for hours in (1, -1, 1, 1, 1):
        clock.turn(hours=hours, seconds=1)
        await scheduler.refresh()
        await scheduler.create_due_runs()
        for run in await store.runs.list():
            await store.runs.update(run.id, status=RunStatus.SUCCEEDED)
        seen.append(len(await store.runs.list()))
    assert seen == [1, 1, 1, 2, 3]
    assert len({run.planned_at for run in await store.runs.list()}) == 3
