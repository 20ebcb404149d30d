"""The clock of this machine."""

import datetime as dt
from typing import Protocol


class SystemClock:
    def now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC)


class Clock(Protocol):
    """Tells the time; nothing in the core asks the system for it."""

    def now(self) -> dt.datetime:
        """The instant, in UTC, with its zone."""
        ...
