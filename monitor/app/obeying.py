"""Doing what runs and researches do until somebody asks one to stop, from whatever process."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from monitor.errors import DatabaseError

T = TypeVar("T")

LOOK_EVERY_S = 1.0
GRACE_S = 2.5
"""A step that has not come to a good place for stopping by then is broken off, so that a run ends within 5 seconds."""


class StopWatch:
    """Sees who is asked to stop: one question to the database for all work of this process, while there is any.

    `asked` gives those of some ids whose rows say so.
    """

    def __init__(self, asked: Callable[[Collection[str]], Awaitable[set[str]]]) -> None:
        self._asked = asked
        self._events: dict[str, asyncio.Event] = {}
        self._looking: asyncio.Task[None] | None = None

    async def obey(self, work: Coroutine[Any, Any, T], event: asyncio.Event, *, run_id: str) -> T | None:
        """The work's answer, or None where it had to be broken off after the event, which the run's row may set too."""
        working = asyncio.create_task(work)
        stopping = asyncio.create_task(event.wait())
        self._watch(run_id, event)
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
            working.cancel()
            stopping.cancel()
            self._leave(run_id)

    def _watch(self, run_id: str, event: asyncio.Event) -> None:
        self._events[run_id] = event
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())

    def _leave(self, run_id: str) -> None:
        del self._events[run_id]
        if not self._events and self._looking is not None:
            self._looking.cancel()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            # A database that is gone is noticed by the work itself; here the question is put again.
            with suppress(DatabaseError):
                for run_id in await self._asked(list(self._events)):
                    if run_id in self._events:
                        self._events[run_id].set()
