"""Deliveries in a worker: what is due goes into its queue, and what broke off is counted as a try."""

import datetime as dt
import time
from collections.abc import Callable

from monitor.app.dispatch import Dispatch
from monitor.briefing.deliver import after_failure
from monitor.domain.deliveries import Delivery
from monitor.errors import NotDelivered
from monitor.ports import Clock
from monitor.store import Store
from monitor.work.queue import BROKEN, DELIVERIES, DurableQueue

_RELEASE_EVERY_S = 5.0
_AGAIN_AFTER_S = 30.0
_SETTLED_AFTER = dt.timedelta(seconds=30)


class DeliveryRounds:
    """Brings the log of deliveries and the queue together.

    Each try is a workflow of its own, named after the delivery and the number of the try: two workers that see it due
    make it once, and one whose worker died is made by another worker, with the same key and Message-ID.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        dispatch: Dispatch,
        queue: DurableQueue,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._dispatch = dispatch
        self._queue = queue
        self._monotonic = monotonic
        self._handed_on: dict[str, float] = {}
        self._released_at_s = monotonic() - _RELEASE_EVERY_S

    async def look(self) -> None:
        """Put what is due into the queue; done twice it does no harm."""
        now_s = self._monotonic()
        if now_s - self._released_at_s >= _RELEASE_EVERY_S:
            self._released_at_s = now_s
            await self._dispatch.release()
        self._handed_on = {name: at_s for name, at_s in self._handed_on.items() if now_s - at_s < _AGAIN_AFTER_S}
        for delivery in await self._store.deliveries.due(self._clock.now()):
            name = try_of(delivery)
            if name not in self._handed_on:
                await self._queue.enqueue_delivery(name, delivery.id, delivery.attempts, target=delivery.target)
                self._handed_on[name] = now_s

    async def mend(self) -> None:
        """Have tries made that the queue does not make any more: broken off, of another version, from a backup."""
        late = await self._store.deliveries.due(self._clock.now() - _SETTLED_AFTER)
        if not late:
            return
        stale = set(await self._queue.stale(DELIVERIES))
        states = await self._queue.states([try_of(one) for one in late])
        for delivery in late:
            name = try_of(delivery)
            if states.get(name) in BROKEN:
                error = NotDelivered("The try broke off; the log says why.", may_retry=True)
                outcome = after_failure(delivery, error, self._clock.now())
                await self._store.deliveries.settle(delivery.id, delivery.attempts, outcome)
            elif name in stale or states.get(name) == "SUCCESS":
                await self._queue.forget(name)


def try_of(delivery: Delivery) -> str:
    """The name of a delivery's next try."""
    return f"{delivery.id}.{delivery.attempts}"
