"""How long a source that keeps failing is left alone; it comes back by itself."""

import datetime as dt

from monitor.domain.tables import Source

LONGEST_REST = dt.timedelta(hours=20)
"""Shorter than a day, so that a source that is planned daily is tried every day."""

_FIRST_REST = dt.timedelta(hours=1)


def resting_until(source: Source) -> dt.datetime | None:
    """Until when planned runs of a source are passed over; None for one that is not failing.

    One failure may be chance. From the second one on the rest doubles from an hour to twenty; the first run that
    succeeds ends it, and a person may run the source at any time.
    """
    if source.consecutive_failures < 2 or source.last_run_at is None:
        return None
    rest = _FIRST_REST * int(2 ** min(source.consecutive_failures - 2, 10))
    return source.last_run_at + min(rest, LONGEST_REST)
