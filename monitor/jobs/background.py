"""Taking note, every few seconds, of settings that another process stored."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from monitor.briefing.deliver import create_delivery, format_planned_time
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.db.tables.delivery import AlarmView, Delivery, DeliveryKind
from monitor.jobs.worker import run_periodically
from monitor.logs import get_logger
from monitor.services.settings import SettingsService
from monitor.services.usage import RetentionService

_POLL_INTERVAL_S = 2.0


@asynccontextmanager
async def follow_settings(
    service: SettingsService, *, close_unused: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Follow for as long as the block lasts; `tidy` closes what only earlier settings needed."""

    async def look() -> None:
        await service.reload_if_changed()
        await close_unused()

    task = asyncio.create_task(run_periodically(_POLL_INTERVAL_S, look))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


_PRUNE_INTERVAL_S = 86_400.0


@asynccontextmanager
async def prune_daily(retention: RetentionService) -> AsyncIterator[None]:
    """Prune at once and then daily, for as long as the block lasts; done twice it does no harm."""

    async def prune() -> None:
        pruned = await retention.prune_expired()
        get_logger("upkeep").info("pruned", **pruned.model_dump())

    task = asyncio.create_task(run_periodically(_PRUNE_INTERVAL_S, prune))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


_BATCH_DELAY = dt.timedelta(seconds=70)
"""A message leaves a little after its minute: whoever saw the minute has written down by then."""


class AlarmNotifier:
    """Writes each alarm to the log and puts deliveries on record for the targets with `alarms` (`ports.Notifier`).

    The alarms of a minute go to a target as one message, which a worker sends when the minute is over. An alarm and
    its delivery are written down at once, so that each is told once.
    """

    def __init__(self, *, store: Store, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock

    async def notify(self, alarms: Sequence[AlarmView]) -> None:
        """One line of the log for each alarm, one delivery for each target."""
        for alarm in alarms:
            get_logger("health").warning(
                "alarm",
                kind=str(alarm.kind),
                source=alarm.source,
                section=alarm.section,
                message=alarm.message,
                run=alarm.run_id,
            )
        targets = [target for target in self._settings.deliver.targets if target.alarms]
        if not targets:
            return
        now, ids = self._clock.now(), [alarm.id for alarm in alarms]
        minute = now.replace(second=0, microsecond=0)
        if not await self._store.alarms.attach_to_deliveries(ids, _build_deliveries(targets, minute), now=now):
            # The message of this minute has left: these go by themselves.
            await self._store.alarms.attach_to_deliveries(ids, _build_deliveries(targets, now), now=now)


def _build_deliveries(targets: Sequence[TargetSettings], at: dt.datetime) -> list[Delivery]:
    name = f"alarms-{format_planned_time(at)}"
    return [
        create_delivery(target, DeliveryKind.ALARM, name=name, planned_at=at, now=at + _BATCH_DELAY)
        for target in targets
    ]
