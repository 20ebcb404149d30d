"""Writing down what runs tell while they are carried out, for whoever watches them from another process."""

import asyncio
from collections import deque
from contextlib import suppress

from monitor.domain.live import RunEvent
from monitor.domain.words import EventKind
from monitor.logs import logger_of
from monitor.ports import Clock, Progress, ProgressCallback
from monitor.store import Store
from monitor.store.sessions import storable

WRITE_EVERY_S = 0.4
MOST_WAITING = 5000
"""So many events wait to be written at most; where the database is gone for long, the oldest are let go."""

_CLOSING_S = 2.0
_MOST_CHARS = 500
_log = logger_of("events")


class EventLog:
    """Gathers the events of all runs of this process and writes them together: one transaction every 0.4 seconds.

    Telling never waits and never fails. What cannot be written is let go, for a run is worth more than its log; a
    process that is killed takes the events of the last half second with it.
    """

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._waiting: deque[RunEvent] = deque(maxlen=MOST_WAITING)
        self._writing: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    def of(self, run_id: str) -> ProgressCallback:
        """What a run is to tell its progress to."""

        def tell(progress: Progress) -> None:
            if progress.kind is EventKind.STEP:
                return
            data = progress.model_dump(mode="json", exclude_defaults=True, exclude={"kind", "message"})
            short = {name: _short(told) if isinstance(told, str) else told for name, told in data.items()}
            self._waiting.append(RunEvent(run_id=run_id, at=self._clock.now(), kind=progress.kind, data=short))
            if self._writing is None or self._writing.done():
                self._writing = asyncio.create_task(self._write())

        return tell

    async def close(self) -> None:
        """Write what waits, as far as that takes no longer than two seconds."""
        self._hurry.set()
        if self._writing is not None:
            await asyncio.wait({self._writing}, timeout=_CLOSING_S)
            self._writing.cancel()
        self._hurry.clear()

    async def _write(self) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(WRITE_EVERY_S):
                    await self._hurry.wait()
            await self._write_waiting()

    async def _write_waiting(self) -> None:
        events = list(self._waiting)
        self._waiting.clear()
        try:
            if events:
                await self._store.live.add(events)
        except Exception as error:  # noqa: BLE001 -- whatever the database meets, the runs go on
            _log.warning("events lost", count=len(events), reason=str(error))


def _short(text: str) -> str:
    return storable(text[:_MOST_CHARS])
