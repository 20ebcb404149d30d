"""What a research tells: kept in order, chunks together, progress that never falls, one writer at a time."""

import asyncio
import datetime as dt
from typing import Any

import pytest

from monitor.db.database import Store
from monitor.db.tables.research import Research, ResearchEvent, ResearchStatus
from monitor.errors import NotFound, RunCancelled
from monitor.i18n.message import Message
from monitor.research.shapes import StepEvent, StepType
from monitor.services.events import ResearchEventLog, build_final_event, follow_events

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
TASK = "r-1"


@pytest.fixture
async def store(either_store: Store) -> Store:
    await either_store.research.create(Research(id=TASK, query="?", language="zh", created_at=NOON))
    await either_store.research.claim(TASK, executor="a", at=NOON)
    return either_store


async def log_of(store: Store, clock: Any, executor: str = "a") -> ResearchEventLog:
    log = ResearchEventLog(store=store, clock=clock, task_id=TASK, executor=executor)
    await log.open()
    return log


def event(status: Any, progress: float, *, step: StepType = StepType.REPORTING, **payload: Any) -> StepEvent:
    return StepEvent(step_id="report", step_type=step, status=status, progress=progress, label="写", payload=payload)


async def list_events(store: Store) -> list[dict[str, Any]]:
    return [entry.data for entry in await store.research_events.after(TASK, 0)]


async def test_chunks_that_wait_together_are_one_message_and_nothing_else_is_joined(
    store: Store, turned_clock: Any
) -> None:
    log = await log_of(store, turned_clock)
    for entry in (
        event("start", 0.75),
        event("progress", 0.8, chunk="一"),
        event("progress", 0.81, chunk="二"),
        event("progress", 0.82, metadata={"sources": []}),
        event("progress", 0.83, chunk="三"),
    ):
        await log.publish(entry)
    assert await list_events(store) == [], "nobody waited yet"
    await log.flush()
    await log.publish(event("progress", 0.84, chunk="四"))
    await log.flush()
    kept = await list_events(store)
    assert [entry["payload"] for entry in kept] == [
        {},
        {"chunk": "一二"},
        {"metadata": {"sources": []}},
        {"chunk": "三"},
        {"chunk": "四"},
    ]
    assert [entry["progress"] for entry in kept] == [0.75, 0.81, 0.82, 0.83, 0.84]


async def test_what_is_told_is_kept_soon_though_nobody_waits(store: Store, turned_clock: Any) -> None:
    log = await log_of(store, turned_clock)
    await log.publish(event("start", 0.75))
    seen: list[ResearchEvent] = []
    await log.publish(event("error", 0.75, error={}, result=None))
    async with asyncio.timeout(30):
        while not seen:
            seen = await store.research_events.after(TASK, 0)
    assert [entry.data["status"] for entry in seen] == ["start", "error"]


async def test_progress_never_falls_over_restarts_either(store: Store, turned_clock: Any) -> None:
    log = await log_of(store, turned_clock)
    await log.publish(event("start", 0.75))
    await log.publish(event("progress", 0.9, chunk="一"))
    await log.flush()
    again = await log_of(store, turned_clock)
    await again.publish(event("start", 0.75))
    await again.flush()
    assert [entry["progress"] for entry in await list_events(store)] == [0.75, 0.9, 0.9]


async def test_the_end_of_a_step_is_remembered_until_it_begins_anew(store: Store, turned_clock: Any) -> None:
    log = await log_of(store, turned_clock)
    await log.publish(event("start", 0, step=StepType.PLAN))
    assert not await log.has_ended(StepType.PLAN)
    await log.publish(event("complete", 0.05, step=StepType.PLAN))
    assert await log.has_ended(StepType.PLAN)
    await log.flush()
    again = await log_of(store, turned_clock)
    assert await again.has_ended(StepType.PLAN)
    await again.publish(event("start", 0, step=StepType.PLAN))
    assert not await again.has_ended(StepType.PLAN)


async def test_one_that_another_process_goes_on_with_is_let_go(store: Store, turned_clock: Any) -> None:
    log = await log_of(store, turned_clock)
    await store.research.claim(TASK, executor="b", at=NOON)
    await log.publish(event("start", 0.75))
    with pytest.raises(RunCancelled):
        await log.flush()
    with pytest.raises(RunCancelled):
        await log.publish(event("progress", 0.8))
    assert await list_events(store) == []


async def test_whoever_follows_is_told_all_of_it_once_until_its_end(store: Store, turned_clock: Any) -> None:
    log = await log_of(store, turned_clock)
    seen: list[ResearchEvent] = []
    for number in range(700):
        await log.publish(event("progress", 0.7, metadata={"n": number}))
    await log.flush()
    latest = await store.research_events.latest(TASK)
    word = build_final_event(TASK, latest, language="zh", code="cancelled", reason=Message.other("x"), at=NOON)
    await store.research.abandon(
        TASK, status=ResearchStatus.CANCELLED, reason=Message.other("x"), at=NOON, executor="a", event=word
    )
    assert await follow_events(TASK, store=store, on_event=seen.append) is ResearchStatus.CANCELLED
    assert [entry.data["payload"]["metadata"]["n"] for entry in seen[:-1]] == list(range(700))
    assert seen[-1].data == {
        "stepId": "report",
        "stepType": "reporting",
        "status": "error",
        "progress": 0.7,
        "label": "撰写报告",
        "payload": {
            "error": {"code": "cancelled", "message": "x", "messageCode": "other", "messageArgs": {"text": "x"}},
            "result": None,
        },
    }
    assert len({event.id for event in seen}) == 701
    with pytest.raises(NotFound):
        await follow_events("nobody", store=store, on_event=seen.append)
