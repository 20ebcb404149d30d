"""Tries of deliveries in the queue: once however many workers see them due, and counted when they break off."""

import asyncio
import datetime as dt
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.delivery import Delivery, DeliveryStatus
from monitor.jobs.queue import DurableQueue
from monitor.jobs.worker import DeliveryReconciler, format_attempt_id


async def no_evaluation(evaluation_id: str) -> str:
    raise AssertionError("no evaluation is due here")


async def no_sweep(run_id: str, since: str | None, until: str | None) -> str:
    raise AssertionError("no run is due here")


async def no_research(task_id: str) -> str:
    raise AssertionError("no research is due here")


@asynccontextmanager
async def opened(settings: Settings, deliver: Any) -> AsyncIterator[DurableQueue]:
    queue = DurableQueue(
        database_url=settings.database_url,
        executor_id="worker",
        sweep=no_sweep,
        deliver=deliver,
        research=no_research,
        evaluate=no_evaluation,
        concurrency=2,
        max_runs=None,
    )
    await queue.open()
    try:
        yield queue
    finally:
        await queue.close()


@pytest.fixture
async def deliveries(store: Store, clock: Any) -> list[Delivery]:
    now = clock.now()
    rows = [
        Delivery(
            id=f"{target}-{time}",
            target=target,
            planned_at=now,
            next_try_at=now,
            key=f"{target}{time}",
            message_id="<x>",
        )
        for target in ("partners", "press", "staff")
        for time in range(2)
    ]
    for row in rows:
        await store.deliveries.create(row)
    return rows


async def test_what_two_workers_see_due_is_tried_once_and_one_at_a_time_to_a_target(
    store: Store, settings: Settings, clock: Any, new_dispatch: Any, deliveries: list[Delivery]
) -> None:
    tried: Counter[str] = Counter()
    in_progress: Counter[str] = Counter()
    overlaps: list[str] = []
    done = asyncio.Event()

    async def deliver(delivery_id: str, attempt: int) -> str:
        target = delivery_id.rsplit("-", 1)[0]
        in_progress[target] += 1
        if in_progress[target] > 1:
            overlaps.append(delivery_id)
        await asyncio.sleep(0)
        tried[delivery_id] += 1
        in_progress[target] -= 1
        if len(tried) == len(deliveries):
            done.set()
        return "sent"

    async with opened(settings, deliver) as queue:
        rounds = [
            DeliveryReconciler(store=store, clock=clock, dispatch=new_dispatch(settings), queue=queue) for _ in range(2)
        ]
        for _ in range(3):
            for entry in rounds:
                await entry.enqueue_due()
        await asyncio.wait_for(done.wait(), 30)
        for reconciler in rounds:
            await reconciler.enqueue_due()
    assert tried == {delivery.id: 1 for delivery in deliveries}
    assert overlaps == []


async def test_a_try_that_broke_off_is_counted_and_made_again_later_and_a_lost_one_at_once(
    store: Store, settings: Settings, clock: Any, new_dispatch: Any, deliveries: list[Delivery]
) -> None:
    broken, lost = deliveries[0], deliveries[1]

    async def deliver(delivery_id: str, attempt: int) -> str:
        if delivery_id == broken.id:
            raise RuntimeError("the machine caught fire")
        return "sent"  # though no row says so, as after a restored backup

    async with opened(settings, deliver) as queue:
        rounds = DeliveryReconciler(store=store, clock=clock, dispatch=new_dispatch(settings), queue=queue)
        await rounds.enqueue_due()
        names = [format_attempt_id(delivery) for delivery in deliveries]
        async with asyncio.timeout(30):
            while set((await queue.get_states(names)).values()) != {"ERROR", "SUCCESS"}:  # noqa: ASYNC110 -- the library's
                await asyncio.sleep(0.05)
        clock.turn(seconds=31)
        await rounds.repair()
        assert await queue.get_state(format_attempt_id(lost)) is None
    found = await store.deliveries.get(broken.id)
    assert found is not None
    assert (found.status, found.attempts, found.key) == (DeliveryStatus.QUEUED, 1, broken.key)
    assert found.next_try_at == clock.now() + dt.timedelta(seconds=5)
    assert format_attempt_id(found) != format_attempt_id(broken)
