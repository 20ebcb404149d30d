"""Runs: made once, cancelled, and honest about what fell back."""

import asyncio
from datetime import UTC, date, datetime, timedelta

import pytest

from monitor.db.database import Store
from monitor.db.reading import UnseenPlace
from monitor.db.tables.collection import Run, Source
from monitor.errors import UsageError, WorkFailed
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.vocabulary import Phase, RunStatus

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)


def a_run(source: Source, run_id: str, *, days: int = 0, status: RunStatus = RunStatus.QUEUED) -> Run:
    planned_at = NOON + timedelta(days=days)
    return Run(id=run_id, source_id=source.id, source=source.name, planned_at=planned_at, status=status)


async def test_a_run_is_created_once_for_its_id(store: Store, source: Source) -> None:
    wanted = a_run(source, "r")
    wanted.since, wanted.until, wanted.is_baseline = date(2026, 1, 28), date(2026, 2, 3), True
    assert await store.runs.create(wanted)
    assert not await store.runs.create(a_run(source, "r", days=9))
    found = await store.runs.get("r")
    assert found is not None
    assert found.model_dump() == wanted.model_dump()
    assert await store.runs.get("nobody") is None


async def test_of_many_that_create_the_same_run_one_succeeds(store: Store, source: Source) -> None:
    created = await asyncio.gather(*(store.runs.create(a_run(source, "r")) for _ in range(5)))
    assert sorted(created) == [False, False, False, False, True]


async def test_runs_are_listed_newest_first_by_source_and_status(store: Store, source: Source) -> None:
    other = await store.sources.add(Source(name="other", url="https://o.gov/", created_at=NOON))
    await store.runs.create(a_run(source, "a", days=1, status=RunStatus.FAILED))
    await store.runs.create(a_run(other, "b", days=3))
    await store.runs.create(a_run(source, "c", days=2))
    assert [run.id for run in await store.runs.list()] == ["b", "c", "a"]
    assert [run.id for run in await store.runs.list(source=source.name)] == ["c", "a"]
    assert [run.id for run in await store.runs.list(status=RunStatus.FAILED)] == ["a"]
    assert [run.id for run in await store.runs.list(limit=2)] == ["b", "c"]


async def test_a_run_is_changed_field_by_field(store: Store, run: Run) -> None:
    await store.runs.update(run.id, status=RunStatus.RUNNING, started_at=NOON)
    found = await store.runs.get(run.id)
    assert found is not None
    assert (found.status, found.started_at) == (RunStatus.RUNNING, NOON)
    with pytest.raises(UsageError, match="no run nobody"):
        await store.runs.update("nobody", status=RunStatus.RUNNING)
    with pytest.raises(TypeError, match="no field 'colour'"):
        await store.runs.update(run.id, colour="red")


async def test_a_queued_run_is_cancelled_at_once(store: Store, run: Run) -> None:
    assert await store.runs.list_cancel_requested([run.id]) == set()
    assert await store.runs.request_cancel(run.id, at=NOON)
    found = await store.runs.get(run.id)
    assert found is not None
    assert (found.status, found.ended_at) == (RunStatus.CANCELLED, NOON)
    assert await store.runs.list_cancel_requested([run.id, "nobody"]) == {run.id}


async def test_a_running_run_is_asked_to_stop(store: Store, run: Run) -> None:
    await store.runs.update(run.id, status=RunStatus.RUNNING)
    assert await store.runs.request_cancel(run.id)
    found = await store.runs.get(run.id)
    assert found is not None
    assert found.status is RunStatus.RUNNING
    assert await store.runs.list_cancel_requested([run.id, "nobody"]) == {run.id}


async def test_a_run_that_ended_or_never_was_cannot_be_cancelled(store: Store, run: Run) -> None:
    await store.runs.update(run.id, status=RunStatus.DEGRADED)
    assert not await store.runs.request_cancel(run.id)
    assert not await store.runs.request_cancel("nobody")


async def test_the_same_fallback_counts_once_also_when_it_comes_many_times_at_once(store: Store, run: Run) -> None:
    await store.runs.add_fallback(run.id, Phase.NAVIGATE, "home", Message.other("no usable answer"), NOON)
    await asyncio.gather(
        *(
            store.runs.add_fallback(run.id, Phase.SUMMARISE, "url", Message.other("circuit\x00 open"), NOON)
            for _ in range(5)
        )
    )
    await store.runs.add_fallback(run.id, Phase.SUMMARISE, "url", Message.other("empty answer"), NOON)
    fallbacks = await store.runs.list_fallbacks(run.id)
    assert [(fallback.phase, fallback.where, render(fallback.reason, "en")) for fallback in fallbacks] == [
        (Phase.NAVIGATE, "home", "no usable answer"),
        (Phase.SUMMARISE, "url", "circuit open"),
        (Phase.SUMMARISE, "url", "empty answer"),
    ]
    with pytest.raises(WorkFailed, match="removed while"):
        await store.runs.add_fallback("nobody", Phase.RANK, "", Message("cause.empty"), NOON)


async def test_places_that_were_not_read_are_kept_once(store: Store, run: Run) -> None:
    place = UnseenPlace(section="通知", url="https://example.gov/tz/", reason=Message.other("cancelled"))
    await store.runs.add_unseen(run.id, [place, place])
    await store.runs.add_unseen(run.id, [place])
    assert await store.runs.list_unseen(run.id) == [place]
    assert (await store.history.load_details([run.id]))[run.id].coverage.unseen == [place]
