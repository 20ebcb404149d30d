"""Doing what runs and researches do until somebody asks one to stop, from whatever process."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.errors import DatabaseError, WorkFailed
from monitor.sweep.progress import Progress, ProgressCallback
from monitor.vocabulary import Phase

T = TypeVar("T")

POLL_INTERVAL_S = 1.0

CANCEL_GRACE_S = 2.5
"""A step that has not come to a good place for stopping by then is broken off, so that a run ends within 5 seconds."""


class CancellationWatcher:
    """Sees who is asked to stop: one question to the database for all work of this process, while there is any.

    `asked` gives those of some ids whose rows say so.
    """

    def __init__(self, load_cancelled: Callable[[Collection[str]], Awaitable[set[str]]]) -> None:
        self._load_cancelled = load_cancelled
        self._events: dict[str, asyncio.Event] = {}
        self._poll_task: asyncio.Task[None] | None = None

    async def run_until_cancelled(self, work: Coroutine[Any, Any, T], event: asyncio.Event, *, run_id: str) -> T | None:
        """The work's answer, or None where it had to be broken off after the event, which the run's row may set too."""
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
            # A database that is gone is noticed by the work itself; here the question is put again.
            with suppress(DatabaseError):
                for run_id in await self._load_cancelled(list(self._events)):
                    if run_id in self._events:
                        self._events[run_id].set()


_POLL_INTERVAL_S = 0.5

SERVICE_TIMEOUT_S = 60.0
"""So long a service may be gone before whoever waits for it is told."""


async def wait_for_run(
    run_id: str,
    *,
    store: Store,
    clock: Clock,
    has_worker: Callable[[], Awaitable[bool]],
    on_progress: ProgressCallback | None,
    cancel_event: asyncio.Event | None,
) -> None:
    """Wait for the end of a run, tell how far it is, and pass on the wish to stop it.

    `WorkFailed` where no service has been there for a minute: the run goes on when one is.
    """
    loop = asyncio.get_running_loop()
    seen = loop.time()
    while (run := await store.runs.get(run_id)) is not None and not run.status.is_final:
        if cancel_event is not None and cancel_event.is_set() and not run.is_cancel_requested:
            await store.runs.request_cancel(run_id, at=clock.now())
        if on_progress is not None:
            sections = await store.runs.list_sections(run_id)
            read = sum(section.ended is not None for section in sections)
            on_progress(Progress(phase=Phase.CRAWL, place=run.source, done=read, total=len(sections) or None))
        if await has_worker():
            seen = loop.time()
        elif loop.time() - seen > SERVICE_TIMEOUT_S:
            raise WorkFailed(f"The service that took the run {run_id} is gone; it goes on when the service does.")
        await asyncio.sleep(_POLL_INTERVAL_S)
