"""The whole program on a machine whose clock was moved, between two runs or while the service works."""

import asyncio
import datetime as dt
import glob
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

SERVE_WITH_CLOCK = """
import datetime as dt, sys
from pathlib import Path
from monitor.cli.main import main
from monitor.clock import SystemClock
seconds = Path("ahead")
SystemClock.now = staticmethod(lambda: dt.datetime.now(dt.UTC) + dt.timedelta(seconds=float(seconds.read_text())))
main(["serve"])
"""


@pytest.mark.timeout(300)
async def test_a_clock_that_is_moved_back_and_forth_loses_nothing_and_saves_nothing_twice(
    monitor: Any, site: Any, here: Any, today: Any
) -> None:
    found = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")  # noqa: PTH207 -- an absolute pattern
    if not found:
        pytest.skip("libfaketime is not installed: apt-get install libfaketime")
    monitor.environment["MONITOR_PAGES__RENDER"] = "never"
    monitor.allow(site.url(""))
    _show(site, today(), 4)
    assert (await here("init")).code == 0
    assert (
        await here("sources", "add", site.url("/"), "--name", "局", f"--section=通知={site.url('/news/')}")
    ).code == 0
    runs = []
    for moved, number in (("+0", 4), ("-1h", 5), ("+1h", 6)):
        _show(site, today(), number)
        faked = {"LD_PRELOAD": found[0], "FAKETIME": moved}
        swept = await monitor("sweep", "--json", **faked)
        assert swept.code == 0, swept.err
        runs += swept.document["runs"]
    first, back, forth = runs
    assert back["planned_at"] < first["planned_at"] < forth["planned_at"]
    assert [len(run["items"]) for run in runs] == [4, 1, 1]
    assert [run["coverage"]["known"] for run in runs] == [0, 4, 5]


def _show(site: Any, day: Any, number: int) -> None:
    """A list of so many notices of a day, the latest first."""
    titles = {f"/news/{entry}.html": f"关于做好有关工作的第{entry}号通知" for entry in range(number, 0, -1)}
    rows = "".join(f'<li><a href="{path}">{title}</a><span>{day}</span></li>' for path, title in titles.items())
    site.on("/news/", f"<html><body><ul>{rows}</ul></body></html>")
    for path, title in titles.items():
        body = "现将有关事项通知如下，请认真贯彻执行，并于月底前报送工作总结材料。" * 4
        site.on(path, f"<html><body><h1>{title}</h1><p>发布时间：{day}</p><p>{body}</p></body></html>")


class MovedClock:
    """The clock of a service, which the test moves while the service works."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.move(dt.timedelta(0))

    def move(self, ahead: dt.timedelta) -> None:
        part = self._folder / "ahead.part"
        part.write_text(str(ahead.total_seconds()))
        part.replace(self._folder / "ahead")

    async def wait_for(self, query: str, is_met: Callable[[list[Any]], bool]) -> list[Any]:
        """Ask the service's database until the rows are as wanted."""
        async with asyncio.timeout(60):
            while True:
                with closing(sqlite3.connect(self._folder / "data" / "monitor.db", timeout=30)) as connection:
                    rows = connection.execute(query).fetchall()
                if is_met(rows):
                    return rows
                await asyncio.sleep(0.2)


@asynccontextmanager
async def serve_with_clock(monitor: Any) -> AsyncIterator[MovedClock]:
    clock = MovedClock(monitor.folder)
    service = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SERVE_WITH_CLOCK,
        cwd=monitor.folder,
        env=monitor.environment,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert service.stderr is not None
    try:
        while b"At work" not in (line := await service.stderr.readline()):
            assert line, "the service did not start"
        log = asyncio.create_task(service.stderr.read())
        yield clock
    finally:
        service.terminate()
        await service.wait()
        if sys.exc_info()[0] is not None:
            os.write(2, await log)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("days", [pytest.param(1, marks=pytest.mark.soak), 366])
async def test_a_service_whose_clock_leaps_ahead_and_back_runs_its_schedule_in_the_next_hour(
    monitor: Any, site: Any, here: Any, today: Any, free_port: int, days: int
) -> None:
    monitor.environment |= {"MONITOR_PAGES__RENDER": "never", "MONITOR_WEB__PORT": str(free_port)}
    monitor.allow(site.url(""))
    _show(site, today(), 2)
    assert (await here("init")).code == 0
    added = ["--name", "局", f"--section=通知={site.url('/news/')}", "--schedule", "0 * * * *"]
    assert (await here("sources", "add", site.url("/"), *added)).code == 0
    token = (await here("users", "token", "watch")).out.strip()
    runs = "SELECT planned_at FROM run WHERE status = 'succeeded' ORDER BY planned_at"
    dealt = "SELECT dealt_until FROM schedule"
    async with serve_with_clock(monitor) as clock:
        await clock.wait_for(dealt, bool)
        begun = dt.datetime.now(dt.UTC)
        clock.move(dt.timedelta(days=days))
        ahead = await clock.wait_for(runs, bool)
        assert dt.datetime.fromisoformat(ahead[0][0]).replace(tzinfo=dt.UTC) > begun
        clock.move(dt.timedelta(0))
        now = dt.datetime.now(dt.UTC)
        await clock.wait_for(dealt, lambda rows: dt.datetime.fromisoformat(rows[0][0]).date() <= now.date())
        next_hour = (now + dt.timedelta(hours=1)).replace(minute=0, second=1)
        clock.move(next_hour - now)
        done = await clock.wait_for(runs, lambda rows: len(rows) == 2)
        assert done[0][0].startswith(f"{next_hour:%Y-%m-%d %H}")
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{free_port}", timeout=60) as client:
            known = {"Authorization": f"Bearer {token}"}
            assert (await client.get("/readyz", headers=known)).json()["database"] == "ok"
