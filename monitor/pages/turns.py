"""Who may be asked next, for one run: manners towards a host, and what it thought of being asked."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from monitor.net.failure import FetchFailed
from monitor.net.politeness import Politeness
from monitor.pages.cooldown import CoolDown

_REST_FACTOR = 10  # a host that turned us away is given so many times the usual pause
_LONGEST_REST_S = 30.0


class Turns:
    """The turns that one run takes; those of all runs wait for each other."""

    def __init__(self, *, politeness: Politeness, delay_s: float) -> None:
        self._politeness = politeness
        self._rest_s = min(_REST_FACTOR * delay_s, _LONGEST_REST_S)
        self._cool_down = CoolDown()

    @asynccontextmanager
    async def turn(self, url: str) -> AsyncIterator[None]:
        """The host's turn, if it may be asked at all: `FetchFailed` where robots.txt or its blocks say no."""
        if verdict := self._cool_down.verdict(url):
            raise FetchFailed(verdict)
        try:
            async with self._politeness.turn(url):
                yield
        except FetchFailed as failure:
            if self._cool_down.record(url, failure.error):
                self._politeness.rest(url, self._rest_s)
            raise
        else:
            self._cool_down.record(url, None)
