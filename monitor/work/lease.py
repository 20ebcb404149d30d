"""A duty that one process at a time has, with others standing by."""

import time
from collections.abc import Callable

from monitor.domain.service import Lease
from monitor.ports import Clock
from monitor.store import Store

TAKEN_AFTER_S = 15.0
"""A holder that has not renewed for so long has lost its duty; it renews several times within."""


class Duty:
    """One process's claim on a duty.

    `has_it()` is asked every few seconds: it renews, or takes over where the duty is free or its holder silent. Silence
    is measured with this process's own steady clock, so that clocks that differ or jump do no harm.
    """

    def __init__(
        self,
        name: str,
        *,
        holder: str,
        store: Store,
        clock: Clock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._holder = holder
        self._store = store
        self._clock = clock
        self._monotonic = monotonic
        self._seen: Lease | None = None
        self._seen_at_s = 0.0

    async def has_it(self) -> bool:
        """Whether the duty is this process's for now."""
        leases = self._store.leases
        if await leases.renew(self._name, self._holder, at=self._clock.now()):
            return True
        lease = await leases.get(self._name)
        if lease is not None and not self._is_silent(lease):
            return False
        return await leases.take(self._name, self._holder, at=self._clock.now(), seen=lease)

    async def give_up(self) -> None:
        """Leave the duty to whoever stands by."""
        await self._store.leases.give_up(self._name, self._holder)

    def _is_silent(self, lease: Lease) -> bool:
        now_s = self._monotonic()
        if lease != self._seen:
            self._seen, self._seen_at_s = lease, now_s
        return now_s - self._seen_at_s >= TAKEN_AFTER_S
