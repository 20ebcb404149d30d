"""Events of runs: kept in the order in which they were told, forgotten after a while."""

from datetime import UTC, datetime, timedelta

from monitor.db.database import Store
from monitor.db.tables.collection import Run, Source
from monitor.db.tables.research import RunEvent
from monitor.vocabulary import EventKind, RunStatus

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)


def event(run_id: str, number: int, *, kind: EventKind = EventKind.PAGE, days: int = 0) -> RunEvent:
    return RunEvent(run_id=run_id, at=NOON + timedelta(days=days), kind=kind, data={"url": f"https://o.gov/{number}"})


async def test_events_come_in_their_order_and_go_on_after_any_of_them(store: Store, source: Source, run: Run) -> None:
    other = Run(id="other", source_id=source.id, source=source.name, planned_at=NOON)
    await store.runs.create(other)
    assert await store.run_events.add([event(text, n) for n in range(4) for text in (run.id, "other")]) == 8
    mine = await store.run_events.after(run.id, 0)
    assert [entry.data["url"][-1] for entry in mine] == list("0123")
    assert [event.id for event in await store.run_events.after(run.id, mine[1].id or 0)] == [mine[2].id, mine[3].id]
    assert [event.id for event in await store.run_events.after(run.id, 0, limit=2)] == [mine[0].id, mine[1].id]
    latest = await store.run_events.latest(run.id)
    assert latest is not None
    assert latest.model_dump() == mine[3].model_dump()


async def test_what_a_run_told_that_is_gone_is_left_out_and_harms_nobody(store: Store, run: Run) -> None:
    assert await store.run_events.add([event("gone", 1), event(run.id, 2)]) == 1
    assert len(await store.run_events.after(run.id, 0)) == 1
    assert await store.run_events.add([event("gone", 1)]) == 0


async def test_the_latest_of_a_kind_is_found_among_others(store: Store, run: Run) -> None:
    await store.run_events.add([event(run.id, 1, kind=EventKind.PHASE), event(run.id, 2)])
    latest = await store.run_events.latest(run.id, EventKind.PHASE)
    assert latest is not None
    assert latest.kind == "phase"
    assert await store.run_events.latest(run.id, EventKind.FALLBACK) is None


async def test_how_a_run_stands_is_told_without_the_run(store: Store, run: Run) -> None:
    assert await store.run_events.get_status(run.id) == (RunStatus.QUEUED, None)
    await store.runs.end(run.id, None, status=RunStatus.DEGRADED, at=NOON)
    assert await store.run_events.get_status(run.id) == (RunStatus.DEGRADED, NOON)
    assert await store.run_events.get_status("nobody") is None


async def test_old_events_are_forgotten_and_those_of_a_removed_run_with_it(store: Store, run: Run) -> None:
    await store.run_events.add([event(run.id, n, days=n) for n in range(3)])
    assert await store.retention.prune_events(NOON + timedelta(days=2), quiet_before=NOON + timedelta(days=9)) == 2
    assert await store.run_events.count(run.id) == 1
    await store.runs.end(run.id, None, status=RunStatus.FAILED, at=NOON)
    await store.retention.prune(NOON + timedelta(days=9))
    assert await store.run_events.count(run.id) == 0
