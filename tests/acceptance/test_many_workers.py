"""Several schedulers and workers on PostgreSQL (issue 4, point 2): everything once, one at a time on a host."""

import asyncio
import datetime as dt
import signal
from collections import defaultdict
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

import pytest

from benchmarks.service import SiteFarm
from monitor.db.database import Store
from monitor.db.tables.collection import Source
from monitor.db.tables.research import Schedule

DONE_AFTER_DEATH_S = 60


async def all_due_at_once(database_url: str, sources: int, bases: list[str]) -> dt.datetime:
    """Add the sources; their one planned time of the day is this minute, and nobody has dealt with it yet."""
    now = dt.datetime.now(dt.UTC)
    planned = now.replace(second=0, microsecond=0)
    cron = f"{planned.minute} {planned.hour} * * *"
    async with Store.open(database_url) as store:
        for number in range(sources):
            source = await store.sources.add(
                Source(
                    name=f"site {number}",
                    url=f"{bases[number % len(bases)]}/{number}/",
                    schedule=cron,
                    timezone="UTC",
                    created_at=now,
                )
            )
            begun = planned - dt.timedelta(seconds=1)
            schedule = Schedule(source_id=source.id or 0, cron=cron, timezone="UTC", dealt_until=begun)
            await store.schedules.save([schedule])
    return planned


@pytest.mark.soak
@pytest.mark.timeout(400)
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("sources", "hosts", "workers"), [(24, 6, 2), (200, 20, 4)])
async def test_every_run_happens_once_and_alone_on_its_host_also_when_a_worker_dies(
    trial: Any, sources: int, hosts: int, workers: int
) -> None:
    farm = SiteFarm(today=dt.datetime.now(dt.UTC).date(), latency_s=0.3)
    async with farm.serve(hosts) as bases:
        trial.ministry.workplace.configure(
            sources=[],
            llm={"enabled": False},
            work={"concurrency": max(2, hosts // workers)},
            network={"allowed_private_hosts": [urlsplit(base).netloc for base in bases]},
        )
        await all_due_at_once(trial.database_url, sources, bases)
        victim = await trial.start("worker")
        await asyncio.gather(*(trial.start(word) for word in ["scheduler", "scheduler", *["worker"] * (workers - 1)]))
        query = "SELECT id FROM run WHERE status = 'running' AND executor LIKE '%-worker-1'"
        async with asyncio.timeout(120):
            while not (in_hand := trial.rows(query)):  # noqa: ASYNC110 -- the event is another process
                await asyncio.sleep(0.05)
        await victim.end(signal.SIGKILL)
        died = asyncio.get_running_loop().time()
        ids = ", ".join(f"'{run_id}'" for (run_id,) in in_hand)
        query = f"SELECT id FROM run WHERE id IN ({ids}) AND status NOT IN ('succeeded', 'degraded')"  # noqa: S608
        while trial.rows(query):
            assert asyncio.get_running_loop().time() - died < DONE_AFTER_DEATH_S
            await asyncio.sleep(0.5)
        async with asyncio.timeout(250):
            while trial.rows("SELECT id FROM run WHERE status IN ('queued', 'running')"):  # noqa: ASYNC110
                await asyncio.sleep(0.5)
    runs = trial.rows("SELECT source, status, started_at, ended_at FROM run")
    assert sorted(source for source, *_ in runs) == sorted(f"site {number}" for number in range(sources))
    assert {status for _, status, *_ in runs} == {"succeeded"}
    by_host = defaultdict(list)
    for source, _, started_at, ended_at in runs:
        by_host[int(source.split()[-1]) % hosts].append((started_at, ended_at))
    for spans in by_host.values():
        spans.sort()
        assert all(first[1] <= second[0] for first, second in pairwise(spans))
    ((items,),) = trial.rows("SELECT count(*) FROM item")
    assert items == sources * 6
