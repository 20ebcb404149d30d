"""The range of publication dates that a run looks at (contracts, section 4: range)."""

import datetime as dt

from pydantic import BaseModel

from monitor.domain.tables import Section
from monitor.errors import UsageError

LATE_DAYS = 90


class Window(BaseModel, frozen=True):
    """`since` to `until`, both included. `is_fixed`: given by a person, so that it does not reach back by itself."""

    since: dt.date
    until: dt.date
    is_fixed: bool = False

    def __contains__(self, day: dt.date) -> bool:
        return self.since <= day <= self.until


def window_of(*, today: dt.date, days: int, since: dt.date | None = None, until: dt.date | None = None) -> Window:
    """The window of a run: `days` calendar days including today, unless dates are given.

    `UsageError` where they are the wrong way round. `today` is the day in the source's time zone.
    """
    first, last = since or (until or today) - dt.timedelta(days=days - 1), until or today
    if first > last:
        raise UsageError(
            f"The range of dates is the wrong way round: {first} is after {last}; give the earlier one as --since."
        )
    return Window(since=first, until=last, is_fixed=since is not None or until is not None)


def reaching_back(window: Window, memory: Section | None) -> Window:
    """The window stretched to the section's last complete run, so that an outage leaves no gap."""
    if window.is_fixed or memory is None or memory.last_complete_on is None:
        return window
    return window.model_copy(update={"since": min(window.since, memory.last_complete_on)})
