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


def format_with_offset(instant: dt.datetime) -> str:
    """Return an aware instant for a document, as `2026-02-03 09:30 UTC+08:00`: who reads it may live elsewhere."""
    return f"{instant:%Y-%m-%d %H:%M} UTC{instant.isoformat()[-6:].replace('+00:00', '')}"
