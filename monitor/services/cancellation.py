"""Cancellation: work goes on until somebody, in whatever process, asks for its end."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from monitor.errors import DatabaseError

T = TypeVar("T")
POLL_INTERVAL_S = 1.0
CANCEL_GRACE_S = 2.5
"""A step that has not stopped by itself by then is cancelled, so that a run ends within 5 seconds."""


class CancellationWatcher:
    """Watches for cancel requests: one query for all work of this process, while there is any.

    `load_cancelled` returns those of some ids whose rows ask for the end.
    """

    def __init__(self, load_cancelled: Callable[[Collection[str]], Awaitable[set[str]]]) -> None:
        self._load_cancelled = load_cancelled
        self._events: dict[str, asyncio.Event] = {}
        self._poll_task: asyncio.Task[None] | None = None

    async def run_until_cancelled(self, work: Coroutine[Any, Any, T], event: asyncio.Event, *, run_id: str) -> T | None:
        """Return the work's result; None where it was cancelled after the event, which the run's row may set too."""
        working = asyncio.create_task(work)
        stopping = asyncio.create_task(event.wait())
        self._register(run_id, event)
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                await asyncio.wait({working}, timeout=CANCEL_GRACE_S)
            if not working.done():
                working.cancel()
                await asyncio.wait({working})
                if working.cancelled():
                    return None
            return working.result()
        finally:
            working.cancel()
            stopping.cancel()
            self._unregister(run_id)

    def _register(self, run_id: str, event: asyncio.Event) -> None:
        self._events[run_id] = event
        if self._poll_task is None or self._poll_task.done():
            self._poll_task = asyncio.create_task(self._poll())

    def _unregister(self, run_id: str) -> None:
        del self._events[run_id]
        if not self._events and self._poll_task is not None:
            self._poll_task.cancel()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_INTERVAL_S)
            # The work itself notices that the database is gone; here it is only asked again.
            with suppress(DatabaseError):
                for run_id in await self._load_cancelled(list(self._events)):
                    if run_id in self._events:
                        self._events[run_id].set()


SERVICE_TIMEOUT_S = 60.0
"""How long a service may be gone before whoever waits for its work gives up."""
