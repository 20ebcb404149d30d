"""What the services ask of the processes around them: who is at work, and who is notified."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from monitor.db.tables.delivery import AlarmView

WORKER_KIND = "worker"
"""The kind of process that takes work out of the queue."""


class WorkerRegistry(Protocol):
    """The processes that carry out runs."""

    def register(self, kind: str) -> AbstractAsyncContextManager[str]:
        """Register this process for as long as the block lasts; gives its name."""
        ...

    async def list_alive(self) -> dict[str, str]:
        """Return the kind of every process at work, by its name."""
        ...


class Notifier(Protocol):
    async def notify(self, alarms: "Sequence[AlarmView]") -> None:
        """Send these alarms; `WorkFailed` where they did not arrive, so that they are sent again later."""
        ...


async def has_worker(registry: WorkerRegistry) -> bool:
    """Whether a service is there that takes work out of the queue."""
    return WORKER_KIND in (await registry.list_alive()).values()
