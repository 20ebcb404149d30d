"""Researches in a worker: taken out of the queue, carried out by durable steps, mended where nobody does them."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from benchmarks.research_world import KEY_VARIABLE, ResearchWorld
from monitor.bootstrap import App, open_service
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.tables.research import Research, ResearchEvent, ResearchStatus
from monitor.i18n.catalogue import render
from monitor.jobs import queue as queue_module
from monitor.jobs.queue import RESEARCH_QUEUE, DurableQueue
from monitor.jobs.worker import ResearchReconciler
from monitor.research.shapes import PlanParagraph, ResearchOptions, SearchConfig
from monitor.services.audit import COMMAND_LINE, Actor
from monitor.services.research.service import ResearchService
from monitor.vocabulary import Role

QUESTION = "2026年新型储能的发展现状与政策走向如何？"


@pytest.fixture
async def app(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[App]:
    """A worker at work, by rule, on a small web."""
    monkeypatch.setenv(KEY_VARIABLE, "a-key-for-the-test")
    async with ResearchWorld().serve() as values:
        about = {"llm": {"enabled": False}, "research": {"max_paragraphs": 2, "max_reflections": 0}, **values}
        served = Settings(database_url=settings.database_url, data_dir=settings.data_dir, **about)
        async with open_service(served, worker=True, scheduler=False) as app:
            yield app


async def until(app: App, task_id: str, status: ResearchStatus) -> None:
    async with asyncio.timeout(60):
        while (await app.research.load_research(task_id)).status is not status:  # noqa: ASYNC110 -- no event of ours
            await asyncio.sleep(0.05)


async def test_what_is_asked_is_carried_out_by_the_worker_and_waits_for_its_plan_where_asked_to(app: App) -> None:
    config, reviewed = SearchConfig(), ResearchOptions(review_plan=True)
    task_id = await app.research.enqueue(
        QUESTION, config=config, options=ResearchOptions(), by=Actor("anna", Role.ADMIN)
    )
    waiting = await app.research.enqueue(QUESTION, config=config, options=reviewed, by=Actor("anna", Role.ADMIN))
    seen: list[ResearchEvent] = []
    assert await app.research.wait_for(task_id, on_event=seen.append, by=COMMAND_LINE) is ResearchStatus.SUCCEEDED
    assert seen[-1].data["progress"] == 1.0
    assert (await app.research.load_research(task_id)).executor is not None

    await until(app, waiting, ResearchStatus.AWAITING_PLAN)
    await app.research.approve(
        waiting, "", [PlanParagraph(title="新型储能装机规模", content="规模")], by=Actor("anna", Role.EDITOR)
    )
    await until(app, waiting, ResearchStatus.SUCCEEDED)
    assert {note.topic for note in (await app.research.get(waiting, by=COMMAND_LINE)).notes} == {"新型储能装机规模"}


async def no_evaluation(evaluation_id: str) -> str:
    raise AssertionError("no evaluation is due here")


async def no_run(run_id: str, since: str | None, until: str | None) -> str:
    raise AssertionError("no run is due here")


async def no_delivery(delivery_id: str, attempt: int) -> str | None:
    raise AssertionError("no delivery is due here")


@asynccontextmanager
async def opened(settings: Settings, research: Any) -> AsyncIterator[DurableQueue]:
    queue = DurableQueue(
        database_url=settings.database_url,
        executor_id="worker",
        sweep=no_run,
        deliver=no_delivery,
        research=research,
        evaluate=no_evaluation,
        concurrency=1,
        max_runs=None,
    )
    await queue.open()
    try:
        yield queue
    finally:
        await queue.close()


async def on_record(store: Store, clock: Any, **more: Any) -> Research:
    research = Research(
        id="r-1", query="?", language="zh", created_at=clock.now(), **{"status": ResearchStatus.RUNNING, **more}
    )
    await store.research.create(research)
    return research


async def state_of(queue: DurableQueue, name: str, wanted: set[str | None]) -> str | None:
    async with asyncio.timeout(30):
        while (state := await queue.get_state(name)) not in wanted:  # noqa: ASYNC110 -- as above
            await asyncio.sleep(0.05)
    return state


async def test_one_that_the_queue_lost_is_put_there_again(
    store: Store, settings: Settings, clock: Any, research_service: ResearchService
) -> None:
    done = asyncio.Event()

    async def research(task_id: str) -> str:
        done.set()
        return "succeeded"

    await on_record(store, clock, enqueued_at=clock.now() - dt.timedelta(hours=1), executor="gone")
    async with opened(settings, research) as queue:
        rounds = ResearchReconciler(store=store, clock=clock, service=research_service, queue=queue)
        await rounds.repair()
        assert [pair.workflow_id for pair in await store.research.list_unqueued()] == ["r-1:1"]
        await rounds.enqueue_waiting()
        await rounds.enqueue_waiting()
        assert await store.research.list_unqueued() == []
        async with asyncio.timeout(30):
            await done.wait()
        await state_of(queue, "r-1:1", {"SUCCESS"})


async def test_one_that_breaks_off_again_and_again_is_given_up(
    store: Store, settings: Settings, clock: Any, research_service: ResearchService
) -> None:
    async def research(task_id: str) -> str:
        raise RuntimeError("broken")

    await on_record(store, clock, status=ResearchStatus.QUEUED)
    async with opened(settings, research) as queue:
        rounds = ResearchReconciler(store=store, clock=clock, service=research_service, queue=queue)
        await rounds.enqueue_waiting()
        await state_of(queue, "r-1:1", queue_module.FAILED_STATES)
        await rounds.repair()
    view = await research_service.get("r-1", by=COMMAND_LINE)
    assert view.status is ResearchStatus.FAILED
    assert "monitor research --resume r-1" in (render(view.error, "en") if view.error else "")
    assert (await store.research_events.after("r-1", 0))[-1].data["status"] == "error"


async def test_one_that_began_with_the_steps_of_another_version_is_begun_anew(
    store: Store, settings: Settings, clock: Any, research_service: ResearchService, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging: list[asyncio.Task[Any]] = []

    async def research(task_id: str) -> str:
        task = asyncio.current_task()
        assert task is not None
        hanging.append(task)
        await asyncio.Event().wait()
        return ""

    await on_record(store, clock, status=ResearchStatus.QUEUED)
    async with opened(settings, research) as queue:
        await ResearchReconciler(store=store, clock=clock, service=research_service, queue=queue).enqueue_waiting()
        await state_of(queue, "r-1:1", {"PENDING"})
        monkeypatch.setattr(queue_module, "FLOWS_VERSION", "another")
        assert await queue.list_outdated(RESEARCH_QUEUE) == ["r-1:1"]
        await ResearchReconciler(store=store, clock=clock, service=research_service, queue=queue).repair()
        assert await queue.get_state("r-1:1") is None
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
    assert [pair.workflow_id for pair in await store.research.list_unqueued()] == ["r-1:1"]
