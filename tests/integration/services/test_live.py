"""Watching runs: what they tell is written together, and every watcher gets all of it once, in order, to the end."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import event as sql_event
from sqlalchemy import text

from monitor.db.database import Store
from monitor.db.tables.collection import Run
from monitor.db.tables.research import RunEvent
from monitor.errors import NotFound
from monitor.i18n.message import Message
from monitor.services.events import MAX_PENDING_EVENTS, RUN_SETTLE_DELAY_S, EventBatch, EventStreamService, RunEventLog
from monitor.sweep.progress import Progress
from monitor.vocabulary import EventKind, Phase, RunStatus

NOON = dt.datetime(2026, 2, 3, 12, tzinfo=dt.UTC)
TIMEOUT_S = 30.0
RunsLive = EventStreamService[RunEvent, RunStatus]


class NoonClock:
    def now(self) -> dt.datetime:
        return NOON


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[Store]:
    async with Store.open(sqlite_url) as store:
        for run_id in ("a", "b"):
            await store.runs.create(Run(id=run_id, source="部门", planned_at=NOON, status=RunStatus.RUNNING))
        yield store


@pytest.fixture
async def log(store: Store) -> AsyncIterator[RunEventLog]:
    log = RunEventLog(store=store, clock=NoonClock())
    yield log
    await log.close()


def watching_runs(store: Store) -> RunsLive:
    return EventStreamService(
        source=store.run_events,
        clock=NoonClock(),
        removed_status=RunStatus.CANCELLED,
        not_found_code="run.not_found",
        settle_delay_s=RUN_SETTLE_DELAY_S,
    )


@pytest.fixture
def live(store: Store) -> RunsLive:
    return watching_runs(store)


def page(number: int) -> Progress:
    return Progress(phase=Phase.CRAWL, place="通知", kind=EventKind.PAGE, url=f"https://o.gov/{number}")


async def read(live: RunsLive, run_id: str, *, after: int = 0, until: int | None = None) -> list[int]:
    """The numbers of the pages that a watcher is told of, to the end or until there are so many."""
    seen: list[int] = []
    async with asyncio.timeout(TIMEOUT_S), live.subscribe(run_id, after=after, heartbeat_s=5) as news:
        async for reported in news:
            seen += [int(event.data["url"].rpartition("/")[2]) for event in reported.events]
            if until is not None and len(seen) >= until:
                break
    return seen


async def first(live: RunsLive, run_id: str) -> EventBatch[RunEvent, RunStatus]:
    async with asyncio.timeout(TIMEOUT_S), live.subscribe(run_id, after=0, heartbeat_s=5) as news:
        return await anext(news)


async def test_what_several_runs_tell_is_written_in_one_transaction(store: Store, log: RunEventLog) -> None:
    commits: list[int] = []
    sql_event.listen(store._engine.sync_engine, "commit", lambda _: commits.append(1))
    tellers = [log.get_progress_callback("a"), log.get_progress_callback("b")]
    for number in range(100):
        tellers[number % 2](page(number))
    await log.close()
    assert len(commits) == 1
    assert [event.data["url"][-2:] for event in await store.run_events.after("a", 0)][:3] == ["/0", "/2", "/4"]
    assert await store.run_events.count("b") == 50


async def test_a_watcher_is_told_without_anybody_closing_the_log(log: RunEventLog, live: RunsLive) -> None:
    log.get_progress_callback("a")(page(7))
    assert await read(live, "a", until=1) == [7]


async def test_only_what_concerns_an_event_is_kept_and_signs_of_life_are_not(store: Store, log: RunEventLog) -> None:
    report_progress = log.get_progress_callback("a")
    report_progress(Progress(phase=Phase.CRAWL, place="通知"))
    report_progress(
        Progress(phase=Phase.RANK, kind=EventKind.FALLBACK, place="部\x00门", reason=Message.other("x" * 2000))
    )
    await log.close()
    (kept,) = await store.run_events.after("a", 0)
    assert (kept.kind, kept.data["phase"], kept.data["place"]) == ("fallback", "rank", "部门")
    assert kept.data["reason"] == "x" * 500
    assert kept.data["reason_code"] == "other"


async def test_a_log_that_cannot_be_written_harms_no_run(store: Store, log: RunEventLog) -> None:
    async with store.sessions.begin_write() as session:
        await session.execute(text("ALTER TABLE run_event RENAME TO elsewhere"))
    report_progress = log.get_progress_callback("a")
    for number in range(MAX_PENDING_EVENTS + 10):
        report_progress(page(number))
    await log.close()
    async with store.sessions.begin_write() as session:
        await session.execute(text("ALTER TABLE elsewhere RENAME TO run_event"))
    report_progress(page(1))
    await log.close()
    assert await store.run_events.count("a") == 1


async def test_readers_who_come_at_any_time_and_come_back_get_every_event_once(
    store: Store, log: RunEventLog, live: RunsLive
) -> None:
    report_progress = log.get_progress_callback("a")

    async def run() -> None:
        for number in range(60):
            report_progress(page(number))
            await asyncio.sleep(0.02)
        await log.close()
        await store.runs.end("a", None, status=RunStatus.SUCCEEDED, at=NOON)

    async def come_back() -> list[int]:
        numbers: list[int] = []
        after = 0
        while len(numbers) < 40:
            numbers += await read(live, "a", after=after, until=5)
            after = (await store.run_events.after("a", 0))[len(numbers) - 1].id or 0
        return numbers + await read(live, "a", after=after)

    async def come_late() -> list[int]:
        await read(live, "a", until=20)
        return await read(live, "a")

    running = asyncio.create_task(run())
    whole, returned, late = await asyncio.gather(read(live, "a"), come_back(), come_late())
    await running
    assert whole == returned == late == list(range(60))
    assert not live._channels, "nobody watches any more, so nobody asks"


async def test_a_run_that_ended_long_ago_is_told_whole_and_at_once(store: Store, log: RunEventLog) -> None:
    report_progress = log.get_progress_callback("a")
    for number in range(1200):
        report_progress(page(number))
    await log.close()
    await store.runs.end("a", None, status=RunStatus.FAILED, at=NOON - dt.timedelta(hours=1))
    live = watching_runs(store)
    assert await read(live, "a") == list(range(1200))
    assert await read(live, "a", after=2**31 - 1) == []


async def test_the_status_is_told_first_and_when_it_changes(store: Store, live: RunsLive) -> None:
    await store.runs.requeue("a")
    reported: list[tuple[RunStatus, bool]] = []
    async with asyncio.timeout(TIMEOUT_S), live.subscribe("a", after=0, heartbeat_s=5) as news:
        async for batch in news:
            reported.append((batch.status, batch.is_last))
            if batch.status is RunStatus.QUEUED:
                await store.runs.claim("a", executor="x", at=NOON)
            elif batch.status is RunStatus.RUNNING:
                await store.runs.end("a", None, status=RunStatus.DEGRADED, at=NOON)
    assert reported == [
        (RunStatus.QUEUED, False),
        (RunStatus.RUNNING, False),
        (RunStatus.DEGRADED, False),
        (RunStatus.DEGRADED, True),
    ]


async def test_where_nothing_happens_a_sign_of_life_comes(live: RunsLive) -> None:
    async with asyncio.timeout(TIMEOUT_S), live.subscribe("a", after=0, heartbeat_s=0.01) as news:
        await anext(news)
        assert await anext(news) == EventBatch((), RunStatus.RUNNING)


async def test_watching_ends_when_the_service_stops_and_leaves_nothing_behind(live: RunsLive) -> None:
    before = asyncio.all_tasks()
    async with asyncio.timeout(TIMEOUT_S), live.subscribe("a", after=0, heartbeat_s=5) as news:
        assert await anext(news) == EventBatch([], RunStatus.RUNNING)
        asyncio.get_running_loop().call_soon(live.stop)
        assert [batch async for batch in news] == []
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert await read(live, "a") == [], "nor does anybody watch from then on"


async def test_a_run_that_is_not_there_cannot_be_watched(live: RunsLive) -> None:
    with pytest.raises(NotFound, match="no run"):
        await first(live, "nobody")
