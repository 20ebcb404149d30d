"""What services ask of the processes around them: who is at work, who is notified, and whether work is to stop."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from monitor.db.database import Store
from monitor.db.tables.delivery import AlarmView
from monitor.errors import DatabaseError
from monitor.llm.chat import ChatModel

WORKER_KIND = "worker"  # the kind of process that takes work out of the queue


class WorkerRegistry(Protocol):
    def register(self, kind: str) -> AbstractAsyncContextManager[str]:
        """Register this process for as long as the block lasts; gives its name."""
        ...

    async def list_alive(self) -> dict[str, str]: ...


class Notifier(Protocol):
    async def notify(self, alarms: Sequence[AlarmView]) -> None:
        """Send these alarms; `WorkFailed` where they did not arrive, so that they are sent again later."""
        ...


SERVICE_TIMEOUT_S = 60.0


class ServiceWatch:
    """Notices, for whoever waits for the work of a service, that none has been there for a minute."""

    def __init__(self, registry: WorkerRegistry) -> None:
        self._registry = registry
        self._last_seen_s = asyncio.get_running_loop().time()

    async def is_gone(self) -> bool:
        now_s = asyncio.get_running_loop().time()
        if await has_worker(self._registry):
            self._last_seen_s = now_s
        return now_s - self._last_seen_s > SERVICE_TIMEOUT_S


async def has_worker(registry: WorkerRegistry) -> bool:
    return WORKER_KIND in (await registry.list_alive()).values()


T = TypeVar("T")
ChatModelFactory = Callable[[str, Store], Awaitable[ChatModel | None]]
POLL_INTERVAL_S = 1.0
CANCEL_GRACE_S = 2.5
"""A step that has not stopped by itself by then is cancelled, so that a run ends within 5 seconds."""


@dataclass
class CancellationWatcher:
    """Watches for cancel requests in the rows of all work of this process, with one query."""

    load_cancelled: Callable[[Collection[str]], Awaitable[set[str]]]

    def __post_init__(self) -> None:
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
                for run_id in await self.load_cancelled(list(self._events)):
                    if run_id in self._events:
                        self._events[run_id].set()
