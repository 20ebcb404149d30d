"""What `doctor` and `/readyz` find on a machine that lacks something: a browser that starts, a folder, room."""

import asyncio
import errno
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from monitor.bootstrap import App, build_doctor, open_app
from monitor.config.loading import load_settings
from monitor.config.model import BrowserSettings
from monitor.db.migrate import upgrade
from monitor.errors import BrowserMissing, WorkFailed
from monitor.fetch.browser.launch import find_browser
from monitor.fetch.browser.renderer import try_browser
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.services.health import ReadinessSchema
from monitor.services.probes import CachedProbe

NO_SANDBOX = "echo '[1:1:FATAL:zygote_host_impl_linux.cc:128] No usable sandbox! If you are running' >&2; exit 1"


@pytest.fixture(autouse=True)
def _browser() -> None:
    try:
        find_browser(BrowserSettings())
    except BrowserMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of eight megabytes for the data."""
    folder = tmp_path / "data"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small disk can only be mounted by root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def install(folder: Path, **pages: object) -> Path:
    """Set up the program in this folder; return its configuration."""
    config = folder / "config.yaml"
    lines = [f"pages: {{{', '.join(f'{name}: {value}' for name, value in pages.items())}}}"] if pages else []
    config.write_text("\n".join(["timezone: Asia/Shanghai", *lines]))
    upgrade(load_settings(config).database_url)
    return config


def write_program(folder: Path, script: str) -> Path:
    program = folder / "browser"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


async def examine(config: Path) -> dict[str, tuple[str, str]]:
    findings = await build_doctor(config).run_checks()
    return {finding.check: (finding.level, render(finding.message, "en")) for finding in findings}


async def ask_readiness(config: Path) -> ReadinessSchema:
    async with open_app(load_settings(config)) as app:
        return await wait_for_readiness(app)


async def wait_for_readiness(app: App) -> ReadinessSchema:
    """Ask as a load balancer does: again, where the first answer came too early."""
    async with asyncio.timeout(60):
        while "still being checked" in str(ready := await app.readiness.check()):
            pass  # it waits by itself
    return ready


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 -- another program's file and process
            await asyncio.sleep(0.05)


async def test_a_whole_installation_draws_a_page_prints_it_and_keeps_data(tmp_path: Path) -> None:
    config = install(tmp_path)
    found = await examine(config)
    assert found["browser"][0] == found["database"][0] == found["storage"][0] == "ok"
    assert found["browser"][1].endswith("drew a page and printed a PDF")
    ready = await ask_readiness(config)
    assert (ready.browser, ready.storage, ready.database) == ("ok", "ok", "ok")
    assert ready.queue != "ok"  # no worker
    assert sorted(path.name for path in (tmp_path / "data").glob("check*")) == []


async def test_a_browser_without_its_sandbox_is_told_with_what_mends_it(tmp_path: Path) -> None:
    program = write_program(tmp_path, NO_SANDBOX)
    config = install(tmp_path, browser=f"{{path: {program}}}")
    level, words = (await examine(config))["browser"]
    assert level == "fail"
    assert "seccomp profile deploy/seccomp.json" in words
    ready = await ask_readiness(config)
    assert (ready.is_ready, ready.browser) == (False, words)


async def test_a_browser_that_ends_at_once_fails_both(tmp_path: Path) -> None:
    config = install(tmp_path, browser=f"{{path: {write_program(tmp_path, 'exit 3')}}}")
    level, words = (await examine(config))["browser"]
    assert (level, "could not be started" in words, "pages.browser.path" in words) == ("fail", True, True)
    assert not (await ask_readiness(config)).is_ready


async def test_a_browser_that_hangs_is_given_up_and_stopped(tmp_path: Path) -> None:
    program = write_program(tmp_path, f'echo $$ > "{tmp_path}/pid"\nexec sleep 600')
    with pytest.raises(WorkFailed, match=r"within 0\.1 s"):
        await try_browser(BrowserSettings(path=program), timeout_s=0.1)
    trying = asyncio.create_task(try_browser(BrowserSettings(path=program), timeout_s=120))
    pid_file = tmp_path / "pid"
    await wait_until(lambda: pid_file.exists() and bool(pid_file.read_text().strip()))
    trying.cancel()
    await wait_until(lambda: not is_alive(int(pid_file.read_text())))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ESRCH):
            raise
        return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Playwright leaves its process open
async def test_a_driver_that_does_not_start_is_a_finding_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(write_program(tmp_path, "exit 127")))
    level, words = (await examine(install(tmp_path)))["browser"]
    assert (level, "python -m playwright --version" in words) == ("fail", True)


async def test_a_remote_browser_that_does_not_answer_fails_too(tmp_path: Path) -> None:
    config = install(tmp_path, browser='{endpoint: "ws://127.0.0.1:9"}')
    level, words = (await examine(config))["browser"]
    assert (level, "start it or correct the url" in words) == ("fail", True)
    assert not (await ask_readiness(config)).is_ready


async def test_who_never_draws_pages_needs_no_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    config = install(tmp_path, render="never")
    assert (await examine(config))["browser"][0] == "ok"
    assert (await ask_readiness(config)).browser == "ok"
    config = install(tmp_path, render="auto")
    level, words = (await examine(config))["browser"]
    assert (level, "install" in words) == ("fail", True)
    assert not (await ask_readiness(config)).is_ready


async def test_a_data_folder_that_is_read_only_fails_both(tmp_path: Path, disk: Path) -> None:
    config = install(tmp_path)
    make_read_only(disk)
    found = await examine(config)
    assert found["database"][0] == found["storage"][0] == "fail"
    assert found["storage"][1].startswith(f"The data folder {disk} cannot be used (Read-only file system): make it wr")
    config.write_text(f"database_url: sqlite:///{tmp_path / 'elsewhere.db'}")
    ready = await ask_readiness(config)
    assert (ready.is_ready, ready.database, ready.storage) == (False, "ok", found["storage"][1])


async def test_a_full_disk_fails_both(tmp_path: Path, disk: Path) -> None:
    config = install(tmp_path)
    async with open_app(load_settings(config)) as app:
        fill(disk)
        ready = await wait_for_readiness(app)
        assert not ready.is_ready
        assert "make room" in str(ready.storage)
        assert "disk is full" in str(ready.database)
    fill(disk)  # what closing the database has freed
    found = await examine(config)
    assert found["storage"] == ("fail", ready.storage)
    assert found["database"][0] == found["disk"][0] == "fail"


def make_read_only(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


def fill(folder: Path) -> None:
    with (folder / "filler").open("ab", buffering=0) as filler, suppress(OSError):
        while filler.write(bytes(4096)):
            pass
    assert shutil.disk_usage(folder).free == 0


class TestCachedProbe:
    def setup_method(self) -> None:
        self.runs = 0
        self.error: WorkFailed | None = None
        self.is_open = asyncio.Event()
        self.is_open.set()

    async def work(self) -> None:
        self.runs += 1
        await self.is_open.wait()
        if self.error is not None:
            raise self.error

    async def test_many_questions_cost_one_run(self) -> None:
        probe = CachedProbe(self.work)
        assert await asyncio.gather(*(probe.find_problem() for _ in range(50))) == [None] * 50
        assert self.runs == 1

    async def test_a_failure_is_tried_again_sooner_and_ends(self) -> None:
        self.error = WorkFailed("no browser")
        probe = CachedProbe(self.work, retry_s=0)
        assert await probe.find_problem() == Message.other("no browser")
        self.error = None
        async with asyncio.timeout(5):
            while await probe.find_problem() is not None:  # noqa: ASYNC110 -- it is asked as a poller asks
                await asyncio.sleep(0)

    async def test_the_last_result_stands_while_it_runs_again(self) -> None:
        probe = CachedProbe(self.work, fresh_s=0)
        assert await probe.find_problem() is None
        self.is_open.clear()
        async with asyncio.timeout(1):
            assert await probe.find_problem() is None
            assert await probe.find_problem() is None
        assert self.runs <= 2
        await probe.close()

    async def test_one_that_hangs_is_never_waited_for_long_and_counts_as_failed(self) -> None:
        self.is_open.clear()
        probe = CachedProbe(self.work, max_wait_s=0.05, timeout_s=0.1)
        async with asyncio.timeout(2):
            assert await probe.find_problem() == Message("health.probe_runs")
            while (problem := await probe.find_problem()) == Message("health.probe_runs"):
                pass
        assert problem is not None
        assert (problem.code, self.runs) == ("health.probe_hangs", 1)
        await probe.close()

    async def test_one_that_crashes_is_not_taken_for_a_success(self) -> None:
        async def crash() -> None:
            raise ZeroDivisionError("oh")

        problem = await CachedProbe(crash).find_problem()
        assert problem is not None
        assert problem.code == "health.probe_crashed"
