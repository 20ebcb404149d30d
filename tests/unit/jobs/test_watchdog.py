import asyncio
import logging
import time

import pytest

from monitor.jobs.watchdog import LoopWatchdog
from monitor.metrics import process_registry


def hold_up(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def read_counts() -> tuple[float, float]:
    names = ("monitor_loop_blocked_total", "monitor_loop_blocked_seconds_total")
    count, seconds = (process_registry.get_sample_value(name) or 0.0 for name in names)
    return count, seconds


async def wait_for_count(before: float) -> None:
    async with asyncio.timeout(10):
        while read_counts()[0] == before:  # noqa: ASYNC110 -- it counts in a thread
            await asyncio.sleep(0.01)


async def test_a_blocked_loop_is_counted_and_its_stack_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="monitor")
    count, seconds = read_counts()
    with LoopWatchdog(blocked_after_s=0.1).watch():
        await asyncio.sleep(0)
        hold_up(1.0)
        await wait_for_count(count)
    assert read_counts()[0] == count + 1
    assert read_counts()[1] > seconds + 0.1
    assert any("hold_up" in str(record.msg) for record in caplog.records)


async def test_a_loop_that_answers_is_not_counted() -> None:
    before = read_counts()
    with LoopWatchdog(blocked_after_s=30).watch():
        await asyncio.sleep(0.5)
    assert read_counts() == before
