"""Keeping database and evidence at their size."""

import datetime as dt

from monitor.evidence.records import Records
from monitor.ports import Clock
from monitor.store import Store
from monitor.store.retention import Pruned


class Upkeep:
    """Forgets texts and records after their time: `work.retention_days`."""

    def __init__(self, *, store: Store, records: Records, clock: Clock, retention_days: int) -> None:
        self._store = store
        self._records = records
        self._clock = clock
        self._retention_days = retention_days

    async def prune(self, days: int | None = None) -> Pruned:
        """Forget what is older than so many days, by default those of the configuration."""
        kept = dt.timedelta(days=days if days is not None else self._retention_days)
        before = self._clock.now() - kept
        pruned = await self._store.retention.prune(before)
        return pruned.model_copy(update={"files": await self._records.remove_unused(before.date())})
