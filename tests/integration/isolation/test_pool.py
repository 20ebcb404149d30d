"""Work that takes too much, crashes, is cancelled or reaches out is ended; other work goes on."""

import asyncio
import math
import os
import random
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from monitor.clock import SystemClock
from monitor.fetch.result import FetchResult
from monitor.isolation.pool import IsolatedWorkFailed, WorkerLimits, WorkerPool
from monitor.pages.parsing import parse_body
from monitor.vocabulary import FetchMode


@asynccontextmanager
async def open_pool(
    *, size: int = 1, preload: tuple[str, ...] = (), rest_after_s: float = 60.0, **limits: Any
) -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(WorkerLimits(**limits), size, preload=preload, rest_after_s=rest_after_s)
    try:
        yield pool
    finally:
        await pool.close()


async def fail(pool: WorkerPool, function: Callable[..., Any], *args: Any) -> str:
    """The code with which this work is ended; the pool does other work after it."""
    with pytest.raises(IsolatedWorkFailed) as failure:
        await pool.run(function, *args)
    assert await pool.run(math.factorial, 5) == 120
    return failure.value.message.code


async def wait_until_ended(watched: int) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(watched, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(watched)
        os.close(watched)


async def test_a_value_comes_back_and_an_error_passes_through(workers: WorkerPool) -> None:
    assert await workers.run(sorted, [3, 1, 2], reverse=True) == [3, 2, 1]
    with pytest.raises(ValueError, match="invalid literal"):
        await workers.run(int, "x")
    assert await workers.run(os.getpid) != os.getpid()


async def test_no_process_is_started_before_there_is_work() -> None:
    async with open_pool(size=4) as pool:
        assert pool.list_processes() == []
        for _ in range(3):
            await pool.run(math.factorial, 5)
        assert len(pool.list_processes()) == 1


async def test_work_ends_at_each_of_its_limits() -> None:
    async with open_pool(timeout_s=1) as pool:
        assert await fail(pool, time.sleep, 600) == "isolation.timeout"
    async with open_pool(timeout_s=120, cpu_s=0.3, memory_bytes=2**28, max_input_bytes=10_000) as pool:
        assert await fail(pool, math.factorial, 10_000_000) == "isolation.timeout"
        assert await fail(pool, bytes, 2**29) == "isolation.memory"
        assert await fail(pool, len, b"x" * 10_001) == "isolation.too_large"


async def test_work_that_crashes_twice_is_set_aside() -> None:
    async with open_pool() as pool:
        assert await fail(pool, os.abort) == "isolation.crashed"
        assert await fail(pool, os._exit, 0) == "isolation.crashed"


async def test_cancelling_ends_the_work_itself() -> None:
    async with open_pool() as pool:
        process = await pool.run(os.getpid)
        watched = os.pidfd_open(process)
        work = asyncio.create_task(pool.run(time.sleep, 600))
        for _ in range(10):  # turns of the loop, in which the idle worker is handed its task
            await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await wait_until_ended(watched)
        assert await pool.run(os.getpid) != process


async def test_processes_end_when_there_is_no_work_for_a_while_and_new_work_starts_others() -> None:
    async with open_pool(rest_after_s=2.0) as pool:
        process = await pool.run(os.getpid)
        await wait_until_ended(os.pidfd_open(process))
        assert await pool.run(os.getpid) != process


async def test_closing_ends_all_processes_and_the_work_in_them() -> None:
    async with open_pool(size=2) as pool:
        watched = os.pidfd_open(await pool.run(os.getpid))
        work = asyncio.create_task(pool.run(time.sleep, 600))
        await asyncio.sleep(0)
        await pool.close()
        await wait_until_ended(watched)
        with pytest.raises(IsolatedWorkFailed):
            await work
        with pytest.raises(IsolatedWorkFailed):
            await pool.run(math.factorial, 5)


async def test_a_pool_outlives_the_process_that_starts_its_workers() -> None:
    async with open_pool() as pool:
        parent = await pool.run(os.getppid)
        watched = os.pidfd_open(await pool.run(os.getpid))
        os.kill(parent, signal.SIGKILL)
        await wait_until_ended(watched)  # workers die with it
        assert await pool.run(os.getppid) != parent


REACHES: dict[str, tuple[Any, ...]] = {
    "the network": (socket.socket,),
    "another program": (subprocess.run, ["true"]),
    "another process": (os.fork,),
    "signals": (os.kill, os.getpid(), 0),
    "writing a file": (os.open, "/tmp/monitor-written", os.O_WRONLY | os.O_CREAT),  # noqa: S108
    "removing a file": (os.unlink, "/tmp/monitor-written"),  # noqa: S108
    "making a folder": (os.mkdir, "/tmp/monitor-made"),  # noqa: S108
    "more memory": (eval, "__import__('resource').setrlimit(__import__('resource').RLIMIT_AS, (-1, -1))"),
}


@pytest.mark.parametrize("reach", REACHES)
async def test_a_worker_reaches_nothing(workers: WorkerPool, reach: str) -> None:
    await workers.run(math.factorial, 5)
    if workers.walls is None or not workers.walls.calls:
        pytest.skip("this kernel has no seccomp, or this is no x86-64 or arm64")
    with pytest.raises((PermissionError, ValueError), match=r"not permitted|not allowed"):
        await workers.run(*REACHES[reach])


async def test_a_worker_reads_only_the_programs_own_files(workers: WorkerPool, tmp_path: Path) -> None:
    await workers.run(math.factorial, 5)
    if workers.walls is None or not workers.walls.files:
        pytest.skip("this kernel has no Landlock")
    key = tmp_path / "secret.key"
    key.write_text("the key")
    for path in (key, Path(f"/proc/{os.getpid()}/environ"), Path("/etc/passwd")):
        with pytest.raises(PermissionError):
            await workers.run(path.read_bytes)


async def test_a_worker_has_no_secret_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "MONITOR_SECRET_KEY", "MONITOR_LLM__API_KEY"):
        monkeypatch.setenv(name, "a secret")
    async with open_pool() as pool:
        assert "a secret" not in await pool.run(eval, "str(dict(__import__('os').environ))")


@pytest.mark.parametrize("answer", ["__import__('os').system", "__import__('subprocess').Popen", "open", "eval"])
async def test_an_answer_brings_no_code_with_it(workers: WorkerPool, answer: str) -> None:
    with pytest.raises(IsolatedWorkFailed, match="is no value"):
        await workers.run(eval, answer)


def numbered_page(number: int) -> FetchResult:
    rows = "".join(f"<li><a href='/{number}/{n}'>关于第{n}批试点工作的通知</a> 2026-11-0{n}</li>" for n in range(1, 9))
    body = f"<html><head><title>page {number}</title></head><body><ul>{rows}</ul></body></html>"
    url = f"https://a.example/{number}"
    return FetchResult(
        url=url, mode=FetchMode.HTTP, at=SystemClock().now(), final_url=url, status=200, body=body.encode()
    )


@pytest.mark.parametrize("most_kills", [15, pytest.param(100, marks=pytest.mark.soak)])
async def test_killed_workers_lose_no_page_and_give_none_twice(most_kills: int) -> None:
    chance = random.Random(15)  # noqa: S311
    seen: Counter[int] = Counter()
    numbers = iter(range(1_000_000))
    until_next_kill = kills = 0

    async with open_pool(size=2, timeout_s=120, cpu_s=120, preload=("monitor.extract.parse",)) as pool:

        async def read_pages() -> None:
            nonlocal until_next_kill, kills
            while kills < most_kills:
                number = next(numbers)
                page = (await pool.run(parse_body, numbered_page(number))).page
                assert page.title == f"page {number}"
                assert len(page.candidates) == 8
                seen[number] += 1
                until_next_kill -= 1
                if until_next_kill <= 0:
                    until_next_kill = chance.randrange(3, 9)
                    await asyncio.sleep(chance.random() / 200)
                    if processes := pool.list_processes():
                        os.kill(chance.choice(processes), signal.SIGKILL)
                        kills += 1

        await asyncio.gather(*(read_pages() for _ in range(4)))
        assert kills >= most_kills
    assert seen == Counter(range(max(seen) + 1))
