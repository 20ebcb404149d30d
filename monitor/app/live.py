"""Watching runs: their events as they come, from wherever the run is carried out."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from monitor.domain.live import RunEvent
from monitor.domain.words import RunStatus
from monitor.errors import MonitorError, NotFound
from monitor.ports import Clock
from monitor.store import Store
from monitor.store.live import Standing

POLL_EVERY_S = 0.25
SETTLES_AFTER_S = 1.2
"""A run's last events are written a little after its end: so long one waits for them."""

_MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class News:
    """What there is to tell a watcher: events that came, the run's status, whether that was all."""

    events: Sequence[RunEvent]
    status: RunStatus
    is_over: bool = False


@dataclass
class _Channel:
    """One run, watched by any number of readers; `base` is the number after which `events` holds all that came."""

    standing: Standing
    base: int
    events: deque[RunEvent] = field(default_factory=lambda: deque(maxlen=_MOST_KEPT))
    is_settled: bool = False
    readers: int = 0
    polling: asyncio.Task[None] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, events: Sequence[RunEvent], standing: Standing, *, is_settled: bool) -> None:
        has_news = bool(events) or standing.status is not self.standing.status or is_settled != self.is_settled
        for event in events:
            if len(self.events) == _MOST_KEPT:
                self.base = self.events[0].id or 0
            self.events.append(event)
        self.standing, self.is_settled = standing, is_settled
        if has_news:
            self.wake()

    def wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    @property
    def last(self) -> int:
        return (self.events[-1].id or 0) if self.events else self.base


class LiveDesk:
    """Hands the events of runs to those who watch, each reader all of them once, in order.

    The database is asked for news of a run four times a second while somebody watches it, however many they are.
    """

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._channels: dict[str, _Channel] = {}
        self._is_closed = False

    @asynccontextmanager
    async def watching(self, run_id: str, *, after: int, patience_s: float) -> AsyncIterator[AsyncIterator[News]]:
        """The news of a run after the event of that number; `NotFound` where there is no such run.

        They end with the run. Where nothing comes for `patience_s`, news without events say that all is as it was.
        """
        channel = self._channels.get(run_id) or await self._opened(run_id)
        channel.readers += 1
        try:
            yield self._news(channel, run_id, after, patience_s)
        finally:
            channel.readers -= 1
            if not channel.readers:
                self._channels.pop(run_id, None)
                if channel.polling is not None:
                    channel.polling.cancel()

    def close(self) -> None:
        """End all watching, now and from now on: the service stops."""
        self._is_closed = True
        for channel in self._channels.values():
            channel.wake()

    async def _opened(self, run_id: str) -> _Channel:
        standing = await self._store.live.standing(run_id)
        if standing is None:
            raise NotFound(f"There is no run {run_id!r}; `monitor runs list` names them.")
        latest = await self._store.live.latest(run_id)
        # Somebody else may have opened it meanwhile.
        channel = self._channels.setdefault(run_id, _Channel(standing, base=(latest and latest.id) or 0))
        if channel.polling is None:
            channel.is_settled = self._is_long_over(standing)
            channel.polling = asyncio.create_task(self._poll(run_id, channel))
        return channel

    async def _news(self, channel: _Channel, run_id: str, after: int, patience_s: float) -> AsyncIterator[News]:
        status: RunStatus | None = None
        while not self._is_closed:
            changed, standing, is_settled = channel.changed, channel.standing, channel.is_settled
            if after >= channel.base:
                events = [event for event in channel.events if (event.id or 0) > after]
            else:
                events = await self._store.live.after(run_id, after)
                # More may be there than one question brings; what the channel holds is told when it is reached.
                is_settled = is_settled and not events
            if events or standing.status is not status or is_settled:
                after = (events[-1].id or 0) if events else max(after, 0)
                status = standing.status
                yield News(events, status, is_over=is_settled)
                if is_settled:
                    return
                continue
            if after < channel.base:
                after = channel.base
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(patience_s):
                    await changed.wait()
                    continue
            yield News((), status)

    async def _poll(self, run_id: str, channel: _Channel) -> None:
        """Ask for news for as long as somebody watches."""
        loop = asyncio.get_running_loop()
        ended_s: float | None = None
        while True:
            await asyncio.sleep(POLL_EVERY_S)
            try:
                standing, events = await self._store.live.news(run_id, channel.last)
            except MonitorError:
                continue  # the database is gone for a while: the watchers wait
            if standing is None:
                standing = Standing(RunStatus.CANCELLED, self._clock.now())  # removed while it was watched
            if not standing.status.is_final:
                ended_s = None
            elif ended_s is None:
                ended_s = loop.time()
            has_waited = ended_s is not None and loop.time() - ended_s >= SETTLES_AFTER_S
            is_settled = has_waited or self._is_long_over(standing)
            channel.take(events, standing, is_settled=is_settled and not events)

    def _is_long_over(self, standing: Standing) -> bool:
        if not standing.status.is_final or standing.ended_at is None:
            return False
        return (self._clock.now() - standing.ended_at).total_seconds() > 10 * SETTLES_AFTER_S
