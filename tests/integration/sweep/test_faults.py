"""What goes wrong around a run: the state that it ends with, and that nothing is lost."""

import asyncio
import datetime as dt
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from monitor.config.llm import LlmSettings
from monitor.db.queries.filters import ItemFilter
from monitor.db.tables.delivery import AlarmKind
from monitor.errors import BrowserMissing, DatabaseGone
from monitor.i18n.catalogue import render
from monitor.llm.client import ModelClient
from monitor.vocabulary import Phase, Render, RunStatus, SectionEnd, SummaryBy
from tests.conftest import name_services

OLD = (400, 410, 420, 430, 440, 450)


def saved(run: Any) -> set[str]:
    return {item.url.rpartition("/")[2] for item in run.items}


def when_asked(bureau: Any, path: str, act: Callable[[], None]) -> None:
    """Do something the first time that the site is asked for a path, before it answers."""
    whole, done = bureau.site._replies[path], []

    def answer(asked: Any) -> Any:
        if not done:
            done.append(path)
            act()
        return whole

    bureau.site.on(path, answer)


async def test_a_model_that_is_down_costs_no_item_and_is_asked_again_by_the_next_run(
    bureau: Any, models: list[Any], model: Any
) -> None:
    well = models.pop()
    down = ModelClient(
        LlmSettings(enabled=True, base_url="http://127.0.0.1:9/v1", max_retries=0),
        name_services("http://127.0.0.1:9/v1"),
    )
    models.append(lambda run_id, store: down.for_run(run_id, record=store.usage.add, clock=bureau.clock))
    rows = bureau.rows(0, 1, 2, 3, 4, 5, *OLD)
    bureau.show(rows)
    run = await bureau.sweep()
    assert (run.status, len(run.items)) == (RunStatus.DEGRADED, 6)
    assert {item.summary_by for item in run.items} == {SummaryBy.EXTRACT}
    assert Phase.RANK not in run.usage.by_phase, "the circuit was open by then"
    assert any("network" in render(fallback.reason, "en") for fallback in run.fallbacks)
    models[:] = [well]
    bureau.clock.today += dt.timedelta(days=1)
    bureau.show([*bureau.rows(0, first=500), *rows])
    again = await bureau.sweep()
    assert (saved(again), len(model.requests) > 0) == ({"500.html"}, True)
    await down.close()


@pytest.fixture
def restarting(postgres: Any) -> Iterator[Any]:
    """Stops the database server at once, and starts it again a little later; it runs again after the test."""
    starting: list[asyncio.Task[None]] = []

    async def start() -> None:
        await asyncio.sleep(0.5)  # what is asked meanwhile finds nobody
        await asyncio.to_thread(postgres.start)

    def restart() -> None:
        postgres.stop()
        starting.append(asyncio.get_running_loop().create_task(start()))

    yield restart
    assert starting, "the server was never restarted"


class TestOnPostgres:
    @pytest.fixture
    def database_url(self, postgres_url: str) -> str:
        return postgres_url

    async def test_a_database_that_is_restarted_in_mid_run_is_waited_for(self, bureau: Any, restarting: Any) -> None:
        rows = bureau.rows(0, 1, 2, 3, *OLD)
        bureau.show(rows)
        when_asked(bureau, rows[1].path, restarting)
        run = await bureau.sweep()
        assert (run.status, saved(run)) == (RunStatus.SUCCEEDED, {f"{number}.html" for number in range(100, 104)})
        assert all(item.summary_by is SummaryBy.EXTRACT for item in run.items)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk can only be mounted by root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all room that is left."""
    file = folder / "filler"
    with file.open("wb", buffering=0) as filler:
        try:
            while filler.write(b"\0" * 4096):
                pass
        except OSError:
            pass
    return file


class TestOnASmallDisk:
    @pytest.fixture
    def database_url(self, disk: Path) -> str:
        return f"sqlite:///{disk / 'monitor.db'}"

    async def test_a_disk_that_is_full_is_waited_for(self, bureau: Any, disk: Path) -> None:
        rows = bureau.rows(*[0] * 12, *OLD)
        bureau.show(rows)
        making_room: list[asyncio.Task[None]] = []

        async def make_room() -> None:
            await asyncio.sleep(0.5)
            (disk / "filler").unlink()

        def full() -> None:
            fill(disk)
            making_room.append(asyncio.get_running_loop().create_task(make_room()))

        when_asked(bureau, rows[1].path, full)
        run = await bureau.sweep()
        assert making_room
        assert (run.status, len(run.items)) == (RunStatus.SUCCEEDED, 12)

    async def test_a_run_that_found_no_room_for_too_long_has_lost_nothing(self, bureau: Any, disk: Path) -> None:
        rows = bureau.rows(*[0] * 12, *OLD)
        bureau.show(rows)
        bureau.store.sessions.max_retry_s = 0.2
        when_asked(bureau, rows[1].path, lambda: fill(disk) and None)
        with pytest.raises(DatabaseGone, match=r"disk is full|database is locked"):
            await bureau.sweep()
        (disk / "filler").unlink()
        run = await bureau.sweep()
        assert run.status is RunStatus.SUCCEEDED
        items = await bureau.store.items.list(ItemFilter(), limit=None)
        assert {item.url for item in items} == {bureau.site.url(row.path) for row in rows[:12]}


async def test_a_name_that_nobody_knows_any_more_fails_its_section_alone(bureau: Any) -> None:
    bureau.show(bureau.rows(0, 1, *OLD))
    bureau.options = {
        "sections": [
            {"name": "gone", "url": "http://no-such-host.invalid/news/"},
            {"name": "通知公告", "url": bureau.site.url("/news/")},
        ]
    }
    run = await bureau.sweep()
    assert (run.status, [section.ended for section in run.sections]) == (
        RunStatus.DEGRADED,
        [SectionEnd.ERROR, SectionEnd.END],
    )
    assert len(run.items) == 2
    assert [render(place.reason, "en").partition(":")[0] for place in run.coverage.unseen] == ["NetworkError"]


class TestWithLittleTime:
    @pytest.fixture
    def page_limits(self) -> dict[str, Any]:
        return {"timeout_s": 1.5}

    async def test_a_site_that_answers_one_byte_a_second_does_not_hold_up_the_others(self, bureau: Any) -> None:
        async def drip(writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n")
            for letter in b"<html><body>" * 100:
                writer.write(bytes([letter]))
                await writer.drain()
                await asyncio.sleep(1)

        bureau.show(bureau.rows(0, 1, *OLD))
        bureau.site.on("/slow/", lambda _: drip)
        bureau.options = {
            "sections": [
                {"name": "slow", "url": bureau.site.url("/slow/")},
                {"name": "通知公告", "url": bureau.site.url("/news/")},
            ]
        }
        async with asyncio.timeout(60):
            run = await bureau.sweep()
        assert (run.status, len(run.items)) == (RunStatus.DEGRADED, 2)
        assert [render(place.reason, "en").partition(":")[0] for place in run.coverage.unseen] == ["Timeout"]


class TestWithoutABrowser:
    @pytest.fixture
    def page_limits(self, tmp_path: Path) -> dict[str, Any]:
        return {"render": "always", "browser": {"path": str(tmp_path / "none")}}

    async def test_runs_that_break_off_count_as_failures_and_raise_their_alarm(self, bureau: Any) -> None:
        bureau.show(bureau.rows(0, 1, *OLD))
        bureau.options = {"render": Render.ALWAYS}
        for _ in range(3):
            with pytest.raises(BrowserMissing):
                await bureau.sweep()
        health = await bureau.health.get_report()
        assert [alarm.kind for alarm in health.alarms] == [AlarmKind.FAILING]
        assert health.sources[0].consecutive_failures == 3
        assert {run.status for run in await bureau.store.runs.list()} == {RunStatus.FAILED}


class TestInTheBrowser:
    @pytest.fixture
    def page_limits(self) -> dict[str, Any]:
        return {"timeout_s": 20, "render": "auto"}

    async def test_a_browser_that_is_killed_in_mid_page_costs_that_page_at_most(self, bureau: Any) -> None:
        rows = bureau.rows(0, 1, 2, *OLD)
        bureau.show(rows)
        bureau.options = {"render": Render.ALWAYS}
        killed: list[int] = []
        when_asked(bureau, rows[1].path, lambda: killed.extend(_kill_browsers()))
        run = await bureau.sweep()
        assert killed
        assert (run.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED), len(run.items)) == (True, 3)
        assert [item.summary_by for item in run.items].count(SummaryBy.EXTRACT) >= 2
        bureau.show([*bureau.rows(0, first=500), *rows])
        again = await bureau.sweep()
        assert (again.status, saved(again)) == (RunStatus.SUCCEEDED, {"500.html"})


def _kill_browsers() -> list[int]:
    """Kill, at once, every Chromium that this process has started; answers their numbers."""
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(folder.name)] = (folder / "comm").read_text()
            children.setdefault(parent, []).append(int(folder.name))
    waiting, found = [os.getpid()], []
    while waiting:  # from parent to child: a child's number is the lower one once the numbers begin again
        for number in children.get(waiting.pop(), []):
            waiting.append(number)
            if "chrom" in names[number] or "headless" in names[number]:
                found.append(number)
    for number in found:
        os.kill(number, 9)
    return found


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_that_is_moved_by_an_hour_loses_nothing_and_saves_nothing_twice(bureau: Any, hours: int) -> None:
    rows = bureau.rows(0, 1, *OLD)
    bureau.show(rows)
    first = await bureau.sweep()
    real = bureau.clock.now
    bureau.clock.now = lambda: real() + dt.timedelta(hours=hours)
    bureau.show([*bureau.rows(0, first=500), *rows])
    second = await bureau.sweep()
    third = await bureau.sweep()
    assert [saved(run) for run in (first, second, third)] == [{"100.html", "101.html"}, {"500.html"}, set()]
    assert {run.status for run in (second, third)} == {RunStatus.SUCCEEDED}
