"""For how long the outside was at work: what a benchmark takes from the whole to find what is our own."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Busy:
    """Counts the time in which at least one of several requests was under way; `most` is how many were at once."""

    def __init__(self) -> None:
        self.most = 0
        self._under_way = 0
        self._since = 0.0
        self._whole_s = 0.0

    @contextmanager
    def working(self) -> Iterator[None]:
        """A request, from its arrival to its answer."""
        if not self._under_way:
            self._since = time.monotonic()
        self._under_way += 1
        self.most = max(self.most, self._under_way)
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._whole_s += time.monotonic() - self._since

    @property
    def seconds(self) -> float:
        return self._whole_s + (time.monotonic() - self._since if self._under_way else 0.0)
