"""What a process does again and again survives errors and stops with its block."""

import asyncio
import logging
from typing import Any

import pytest

from monitor.errors import DatabaseError
from monitor.jobs.presence import repeat, run_housekeeping, survive_errors


class StoredSettings:
    """Stands for the settings service: counts how often it is asked, and does what the test says."""

    def __init__(self, error: Exception | None = None, *, is_slow: bool = False) -> None:
        self.asked = asyncio.Event()
        self.was_cancelled = False
        self._error = error
        self._is_slow = is_slow

    async def reload_if_changed(self) -> None:
        self.asked.set()
        if self._error is not None:
            raise self._error
        if self._is_slow:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.was_cancelled = True
                raise


async def do_nothing() -> None:
    pass


async def test_an_error_is_logged_once_until_another_one_comes(caplog: pytest.LogCaptureFixture) -> None:
    errors: list[Exception | None] = [
        *[DatabaseError("database.busy", reason="locked")] * 2,
        None,
        DatabaseError("database.busy", reason="locked"),
        *[ValueError("unexpected")] * 3,
    ]

    async def work() -> None:
        if error := errors.pop(0):
            raise error

    run = survive_errors(work)
    while errors:
        await run()
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.WARNING, logging.ERROR]


async def test_a_duty_is_repeated_past_its_errors_until_the_block_ends() -> None:
    count, done = 0, asyncio.Event()

    async def work() -> None:
        nonlocal count
        count += 1
        if count == 3:
            done.set()
        raise ValueError("always")

    async with asyncio.timeout(20), repeat((0.001, work)):
        await done.wait()
    assert count >= 3
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_housekeeping_begins_at_once_and_survives_an_error(caplog: pytest.LogCaptureFixture) -> None:
    settings: Any = StoredSettings(ValueError("unexpected"))
    async with asyncio.timeout(20), run_housekeeping(settings, close_unused=do_nothing, retention=None):
        await settings.asked.wait()
        await asyncio.sleep(0)
    assert [record.name for record in caplog.records if record.levelno >= logging.WARNING] == ["monitor.jobs.presence"]


async def test_the_end_of_housekeeping_cancels_what_is_running_and_waits_for_it() -> None:
    settings: Any = StoredSettings(is_slow=True)
    async with asyncio.timeout(20), run_housekeeping(settings, close_unused=do_nothing, retention=None):
        await settings.asked.wait()
    assert settings.was_cancelled


async def test_a_service_that_ends_at_once_leaves_no_error(caplog: pytest.LogCaptureFixture) -> None:
    settings: Any = StoredSettings(is_slow=True)
    async with run_housekeeping(settings, close_unused=do_nothing, retention=None):
        pass
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
