"""Doing what a run does until somebody asks it to stop, from whatever process."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from monitor.errors import DatabaseError
from monitor.store import Store

T = TypeVar("T")

LOOK_EVERY_S = 1.0
GRACE_S = 2.5
"""A step that has not come to a good place for stopping by then is broken off, so that a run ends within 5 seconds."""


async def until_cancelled(work: Coroutine[Any, Any, T], event: asyncio.Event, *, store: Store, run_id: str) -> T | None:
    """The work's answer, or None where it had to be broken off after the event; the run's row may set the event too."""
    working = asyncio.create_task(work)
    looking = asyncio.create_task(_look(event, store, run_id))
    stopping = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await asyncio.wait({working}, timeout=GRACE_S)
        if not working.done():
            working.cancel()
            await asyncio.wait({working})
            if working.cancelled():
                return None
        return working.result()
    finally:
        for task in (working, looking, stopping):
            task.cancel()


async def _look(event: asyncio.Event, store: Store, run_id: str) -> None:
    while not event.is_set():
        await asyncio.sleep(LOOK_EVERY_S)
        # A database that is gone is noticed by the work itself; here the question is put again.
        with suppress(DatabaseError):
            if await store.runs.is_cancel_requested(run_id):
                event.set()
