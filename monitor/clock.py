"""The clock: time is handed in, so that tests and replays can set it."""

import datetime as dt
from functools import partial
from typing import Protocol


class SystemClock:
    now = staticmethod(partial(dt.datetime.now, dt.UTC))


class Clock(Protocol):
    def now(self) -> dt.datetime:
        """Return the current instant in UTC, with its time zone."""
        ...
