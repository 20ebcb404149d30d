"""Keeping database and evidence at their size."""

import asyncio
import datetime as dt

from monitor.evidence.records import Records
from monitor.ports import Clock
from monitor.retrieval.folder import BundleFolder
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.retention import Pruned

EVENTS_KEPT_DAYS = 14
"""So long is kept what runs told while they were watched; what they brought, and why, is kept with the run."""


class Upkeep:
    """Forgets texts, records and bundles after their time: `work.retention_days`; events of runs after 14 days."""

    def __init__(
        self, *, store: Store, records: Records, bundles: BundleFolder, clock: Clock, settings: Settings
    ) -> None:
        self._store = store
        self._records = records
        self._bundles = bundles
        self._clock = clock
        self._settings = settings

    async def prune(self, days: int | None = None) -> Pruned:
        """Forget what is older than so many days, by default those of the configuration."""
        kept = dt.timedelta(days=days if days is not None else self._settings.work.retention_days)
        before = self._clock.now() - kept
        await self._store.retention.forget_events(self._clock.now() - dt.timedelta(days=EVENTS_KEPT_DAYS))
        pruned = await self._store.retention.prune(before)
        files = await self._records.remove_unused(before.date())
        files += await asyncio.to_thread(self._bundles.remove_before, before)
        return pruned.model_copy(update={"files": files})
