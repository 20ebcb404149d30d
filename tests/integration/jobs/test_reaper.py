import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.collection import Run, Source
from monitor.db.tables.research import Executor
from monitor.jobs import queue as queue_module
from monitor.jobs.queue import DurableQueue
from monitor.jobs.worker import EXECUTOR_TIMEOUT_S, DeliveryReconciler, EvaluationReconciler, Reaper, ResearchReconciler
from monitor.services.research.service import ResearchService
from monitor.vocabulary import RunStatus

RUN = "s1-20260302T010000Z"
Open = Callable[..., AbstractAsyncContextManager[DurableQueue]]


class Done:
    """A flow that notes which executor did which run; it hangs where it is told to."""

    def __init__(self) -> None:
        self.by: list[tuple[str, str]] = []
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()
        self.hanging: list[asyncio.Task[Any]] = []

    def flow(self, executor: str, *, hangs: bool) -> Any:
        async def sweep(run_id: str, since: str | None, until: str | None) -> str:
            self.begun.set()
            if hangs:
                task = asyncio.current_task()
                assert task is not None
                self.hanging.append(task)
                await asyncio.Event().wait()
            self.by.append((executor, run_id))
            self.ended.set()
            return "succeeded"

        return sweep


async def no_evaluation(evaluation_id: str) -> str:
    raise AssertionError("no evaluation is due here")


async def no_research(task_id: str) -> str:
    raise AssertionError("no research is due here")


async def no_delivery(delivery_id: str, attempt: int) -> str | None:
    raise AssertionError("no delivery is due here")


@pytest.fixture
def done() -> Done:
    return Done()


@pytest.fixture
def opened(settings: Settings, done: Done) -> Open:
    """The queue as an executor has it; at the end of the block it is gone, as after a crash."""

    @asynccontextmanager
    async def open_queue(executor: str, *, hangs: bool = False) -> AsyncIterator[DurableQueue]:
        queue = DurableQueue(
            database_url=settings.database_url,
            executor_id=executor,
            sweep=done.flow(executor, hangs=hangs),
            deliver=no_delivery,
            research=no_research,
            evaluate=no_evaluation,
            concurrency=2,
            max_runs=None,
        )
        await queue.open()
        try:
            yield queue
        finally:
            for task in done.hanging:
                task.cancel()
            await asyncio.gather(*done.hanging, return_exceptions=True)
            await queue.close()

    return open_queue


@pytest.fixture
async def run(store: Store, source: Source, clock: Any) -> Run:
    run = Run(
        id=RUN,
        source_id=source.id,
        source=source.name,
        planned_at=clock.now(),
        status=RunStatus.RUNNING,
        enqueued_at=clock.now() - dt.timedelta(hours=1),
        executor="first",
    )
    await store.runs.create(run)
    return run


NewReaper = Callable[[DurableQueue, dict[str, float]], Reaper]


@pytest.fixture
def new_reaper(
    store: Store, settings: Settings, clock: Any, new_dispatch: Any, research_service: ResearchService
) -> NewReaper:
    def build(queue: DurableQueue, steady: dict[str, float]) -> Reaper:
        rounds = DeliveryReconciler(store=store, clock=clock, dispatch=new_dispatch(settings), queue=queue)
        researches = ResearchReconciler(store=store, clock=clock, service=research_service, queue=queue)
        return Reaper(
            store=store,
            clock=clock,
            queue=queue,
            deliveries=rounds,
            researches=researches,
            evaluations=EvaluationReconciler(store=store, clock=clock, queue=queue),
            executor="second",
            monotonic=lambda: steady["s"],
        )

    return build


async def seen(store: Store, clock: Any, name: str) -> None:
    now = clock.now()
    await store.executors.record_heartbeat(
        Executor(id=name, kind="worker", host="elsewhere", pid=1, token=name, started_at=now, seen_at=now)
    )


async def left_behind(opened: Open, done: Done) -> None:
    """The first executor takes the run and dies in the middle of it."""
    async with opened("first", hangs=True) as queue:
        await queue.enqueue(RUN, host="bureau.example", since=None, until=None)
        await asyncio.wait_for(done.begun.wait(), 30)


async def looked_until(reaper: Reaper, what: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await what():
            await reaper.reap()
            await asyncio.sleep(0.05)


async def test_the_run_of_a_dead_executor_is_done_by_another_one_and_that_of_a_silent_one_not_yet(
    store: Store, run: Run, clock: Any, opened: Open, done: Done, new_reaper: NewReaper
) -> None:
    await left_behind(opened, done)
    steady = {"s": 0.0}
    async with opened("second") as queue:
        for name in ("first", "second"):
            await seen(store, clock, name)
        reaper = new_reaper(queue, steady)
        for _ in range(3):  # silent, but not for long enough
            await reaper.reap()
            steady["s"] += EXECUTOR_TIMEOUT_S / 4
        assert await queue.get_state(RUN) == "PENDING"
        while not done.ended.is_set():
            steady["s"] += EXECUTOR_TIMEOUT_S / 4
            clock.turn(seconds=5)
            await seen(store, clock, "second")
            await reaper.reap()
            await asyncio.sleep(0.05)
    assert done.by == [("second", RUN)]


async def test_a_reaper_that_was_asleep_itself_judges_nobody(
    store: Store, run: Run, clock: Any, opened: Open, done: Done, new_reaper: NewReaper
) -> None:
    await left_behind(opened, done)
    steady = {"s": 0.0}
    async with opened("second") as queue:
        for name in ("first", "second"):
            await seen(store, clock, name)
        reaper = new_reaper(queue, steady)
        await reaper.reap()
        steady["s"] += 10 * EXECUTOR_TIMEOUT_S
        await reaper.reap()
        assert await queue.get_state(RUN) == "PENDING"


async def test_a_run_that_the_queue_does_not_know_as_after_a_restored_backup_is_put_back(
    store: Store, run: Run, clock: Any, opened: Open, new_reaper: NewReaper
) -> None:
    async with opened("second") as queue:
        await seen(store, clock, "second")
        await new_reaper(queue, {"s": 0.0}).reap()
    found = await store.runs.get(RUN)
    assert found is not None
    assert (found.status, found.enqueued_at) == (RunStatus.QUEUED, None)


async def test_a_run_that_began_with_the_steps_of_another_version_begins_anew(
    store: Store, run: Run, clock: Any, opened: Open, done: Done, monkeypatch: pytest.MonkeyPatch, new_reaper: NewReaper
) -> None:
    with monkeypatch.context() as older:
        older.setattr(queue_module, "FLOWS_VERSION", "0")
        await left_behind(opened, done)
    async with opened("second") as queue:
        for name in ("first", "second"):
            await seen(store, clock, name)
        await new_reaper(queue, {"s": 0.0}).reap()
        assert await queue.get_state(RUN) is None
    assert [entry.id for entry in await store.runs.list_unqueued()] == [RUN]
