"""Keeping database and evidence at their size."""

import asyncio
import datetime as dt

from monitor.evidence.records import Records
from monitor.ports import Clock
from monitor.retrieval.folder import BundleFolder
from monitor.store import Store
from monitor.store.retention import Pruned


class Upkeep:
    """Forgets texts, records and bundles after their time: `work.retention_days`."""

    def __init__(
        self, *, store: Store, records: Records, bundles: BundleFolder, clock: Clock, retention_days: int
    ) -> None:
        self._store = store
        self._records = records
        self._bundles = bundles
        self._clock = clock
        self._retention_days = retention_days

    async def prune(self, days: int | None = None) -> Pruned:
        """Forget what is older than so many days, by default those of the configuration."""
        kept = dt.timedelta(days=days if days is not None else self._retention_days)
        before = self._clock.now() - kept
        pruned = await self._store.retention.prune(before)
        files = await self._records.remove_unused(before.date())
        files += await asyncio.to_thread(self._bundles.remove_before, before)
        return pruned.model_copy(update={"files": files})
