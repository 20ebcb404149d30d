import asyncio
import logging
import time

import pytest

from monitor.jobs.watchdog import LoopWatchdog


def hold_up(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


async def wait_for_count(watchdog: LoopWatchdog) -> None:
    async with asyncio.timeout(10):
        while not watchdog.blocked_total:  # noqa: ASYNC110 -- it counts in a thread
            await asyncio.sleep(0.01)


async def test_a_blocked_loop_is_counted_and_its_stack_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="monitor")
    watchdog = LoopWatchdog(blocked_after_s=0.1)
    with watchdog.watch():
        await asyncio.sleep(0)
        hold_up(1.0)
        await wait_for_count(watchdog)
    assert watchdog.blocked_total == 1
    assert watchdog.blocked_seconds > 0.1
    assert any("hold_up" in str(record.msg) for record in caplog.records)


async def test_a_loop_that_answers_is_not_counted() -> None:
    watchdog = LoopWatchdog(blocked_after_s=30)
    with watchdog.watch():
        await asyncio.sleep(0.5)
    assert (watchdog.blocked_total, watchdog.blocked_seconds) == (0, 0.0)
