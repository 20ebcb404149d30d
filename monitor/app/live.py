"""Watching runs and researches: their events as they come, from wherever the work is carried out."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from monitor.errors import MonitorError, NotFound
from monitor.ports import Clock
from monitor.store.live import Standing

POLL_EVERY_S = 0.25
RUNS_SETTLE_AFTER_S = 1.2
"""A run's last events are written a little after its end: so long one waits for them."""

_MOST_KEPT = 1000


class Event(Protocol):
    """What is told of a piece of work; the numbers rise."""

    id: int | None


class Status(Protocol):
    """How a piece of work stands."""

    @property
    def is_final(self) -> bool: ...


E = TypeVar("E", bound=Event)
S = TypeVar("S", bound=Status)


class Watched(Protocol[E, S]):
    """Where the events of the work of one kind are kept, under its id."""

    async def standing(self, work_id: str, /) -> Standing[S] | None:
        """How it stands; None where there is none of that id."""
        ...

    async def latest(self, work_id: str, /) -> E | None: ...

    async def after(self, work_id: str, number: int, /) -> list[E]:
        """Its events after the one of that number, oldest first; not necessarily all of them at once."""
        ...


@dataclass(frozen=True, slots=True)
class News(Generic[E, S]):
    """What there is to tell a watcher: events that came, the status, whether that was all."""

    events: Sequence[E]
    status: S
    is_over: bool = False


@dataclass
class _Channel(Generic[E, S]):
    """One run or research and its readers; `base` is the number after which `events` holds all that came."""

    standing: Standing[S]
    base: int
    events: deque[E] = field(default_factory=lambda: deque(maxlen=_MOST_KEPT))
    is_settled: bool = False
    readers: int = 0
    polling: asyncio.Task[None] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, events: Sequence[E], standing: Standing[S], *, is_settled: bool) -> None:
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


class LiveDesk(Generic[E, S]):
    """Hands the events of runs, or of researches, to those who watch, each reader all of them once, in order.

    The database is asked for news four times a second while somebody watches, however many they are. `unknown` is the
    sentence for an id that is not there, `gone` the status of what is removed while it is watched, `settles_after_s`
    how long after the end the last events may be written.
    """

    def __init__(
        self, *, watched: Watched[E, S], clock: Clock, unknown: str, gone: S, settles_after_s: float = 0.0
    ) -> None:
        self._watched = watched
        self._settles_after_s = settles_after_s
        self._clock = clock
        self._unknown = unknown
        self._gone = gone
        self._channels: dict[str, _Channel[E, S]] = {}
        self._is_closed = False

    @asynccontextmanager
    async def watching(
        self, work_id: str, *, after: int, patience_s: float
    ) -> AsyncIterator[AsyncIterator[News[E, S]]]:
        """The news after the event of that number; `NotFound` where there is nothing of that id.

        They end with the work. Where nothing comes for `patience_s`, news without events say that all is as it was.
        """
        channel = self._channels.get(work_id) or await self._opened(work_id)
        channel.readers += 1
        try:
            yield self._news(channel, work_id, after, patience_s)
        finally:
            channel.readers -= 1
            if not channel.readers:
                self._channels.pop(work_id, None)
                if channel.polling is not None:
                    channel.polling.cancel()

    async def has_news(self, work_id: str, *, after: int) -> bool:
        """Whether a watcher would be told anything after that event, now or later; `NotFound` as above."""
        standing = await self._standing(work_id)
        return not self._is_long_over(standing) or bool(await self._watched.after(work_id, after))

    def close(self) -> None:
        """End all watching, now and from now on: the service stops."""
        self._is_closed = True
        for channel in self._channels.values():
            channel.wake()

    async def _standing(self, work_id: str) -> Standing[S]:
        standing = await self._watched.standing(work_id)
        if standing is None:
            raise NotFound(self._unknown.format(work_id))
        return standing

    async def _opened(self, work_id: str) -> _Channel[E, S]:
        standing = await self._standing(work_id)
        latest = await self._watched.latest(work_id)
        # Somebody else may have opened it meanwhile.
        channel = self._channels.setdefault(work_id, _Channel(standing, base=(latest and latest.id) or 0))
        if channel.polling is None:
            channel.is_settled = self._is_long_over(standing)
            channel.polling = asyncio.create_task(self._poll(work_id, channel))
        return channel

    async def _news(
        self, channel: _Channel[E, S], work_id: str, after: int, patience_s: float
    ) -> AsyncIterator[News[E, S]]:
        status: S | None = None
        while not self._is_closed:
            changed, standing, is_settled = channel.changed, channel.standing, channel.is_settled
            if after >= channel.base:
                events = [event for event in channel.events if (event.id or 0) > after]
            else:
                events = await self._watched.after(work_id, after)
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
            yield News((), standing.status)

    async def _poll(self, work_id: str, channel: _Channel[E, S]) -> None:
        """Ask for news for as long as somebody watches."""
        loop = asyncio.get_running_loop()
        ended_s: float | None = None
        while True:
            await asyncio.sleep(POLL_EVERY_S)
            try:
                # The standing comes first: the events of what has ended were all told before it.
                standing = await self._watched.standing(work_id)
                events = await self._watched.after(work_id, channel.last)
            except MonitorError:
                continue  # the database is gone for a while: the watchers wait
            if standing is None:
                standing = Standing(self._gone, self._clock.now())  # removed while it was watched
            if not standing.status.is_final:
                ended_s = None
            elif ended_s is None:
                ended_s = loop.time()
            has_waited = ended_s is not None and loop.time() - ended_s >= self._settles_after_s
            is_settled = has_waited or self._is_long_over(standing)
            channel.take(events, standing, is_settled=is_settled and not events)

    def _is_long_over(self, standing: Standing[S]) -> bool:
        if not standing.status.is_final or standing.ended_at is None:
            return False
        return (self._clock.now() - standing.ended_at).total_seconds() >= 10 * self._settles_after_s
