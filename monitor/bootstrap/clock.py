"""The clock of this machine."""

import datetime as dt


class SystemClock:
    """The machine's clock (`ports.Clock`)."""

    def now(self) -> dt.datetime:
        """The instant, in UTC."""
        return dt.datetime.now(dt.UTC)
