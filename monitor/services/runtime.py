"""The seams: what the core asks of the world, so that a test or another machine can answer instead."""

import datetime as dt
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from monitor.db.tables.delivery import AlarmView


class CronParser(Protocol):
    def check(self, cron: str, timezone: str) -> None:
        """`UsageError` where the five fields or the time zone are wrong."""
        ...

    def next_after(self, cron: str, timezone: str, after: dt.datetime) -> dt.datetime | None:
        """The first planned instant later than `after`, in UTC."""
        ...


class WorkerRegistry(Protocol):
    """Who is at work: the processes that carry out runs."""

    def register(self, kind: str) -> AbstractAsyncContextManager[str]:
        """Be known to be at work for as long as the block lasts; gives the name that one is known by."""
        ...

    async def list_alive(self) -> dict[str, str]:
        """The processes that are at work, each with its kind."""
        ...


class Notifier(Protocol):
    """Tells people what they should know of without asking."""

    async def notify(self, alarms: "Sequence[AlarmView]") -> None:
        """Hand on these alarms; `WorkFailed` where they did not arrive, so that it is tried again later."""
        ...
