"""The times of targets: a delivery on record at each planned time."""

import datetime as dt
import logging
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from monitor.briefing.deliver import new_delivery, planned_name
from monitor.domain.deliveries import DeliveryKind, DeliveryPlan, DeliveryStatus
from monitor.ports import Clock
from monitor.settings import Settings
from monitor.settings.targets import TargetSettings
from monitor.store import Store
from monitor.work.agenda import Fires, Manner, due
from monitor.work.triggers import fires_of

_MANNER = Manner(dt.timedelta.max)
"""A briefing that is late is better than none."""

_log = logging.getLogger(__name__)


@dataclass
class _Entry:
    target: TargetSettings
    plan: DeliveryPlan
    fires: Fires
    next_start: dt.datetime | None


class DeliveryPlanner:
    """Puts deliveries on record when they are due; the scheduler that has the lease calls it."""

    def __init__(self, *, store: Store, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._timezone = settings.timezone
        self._settings = settings
        self._clock = clock
        self._entries: dict[str, _Entry] = {}

    async def refresh(self) -> None:
        """Take note of targets that are new, changed or gone; a new or changed schedule begins now."""
        stored, now = await self._store.deliveries.plans(), self._clock.now()
        begun: list[DeliveryPlan] = []
        entries: dict[str, _Entry] = {}
        for target in self._settings.deliver.targets:
            if target.schedule is None:
                continue
            cron, timezone = target.schedule, self._zone_of(target)
            plan = stored.get(target.name)
            if plan is None or (plan.cron, plan.timezone) != (cron, timezone):
                plan = DeliveryPlan(target=target.name, cron=cron, timezone=timezone, dealt_until=now)
                begun.append(plan)
            fires = fires_of(cron, timezone)
            entries[target.name] = _Entry(target, plan, fires, fires(plan.dealt_until))
        if begun:
            await self._store.deliveries.begin(begun)
        if gone := stored.keys() - entries.keys():
            await self._store.deliveries.drop(gone)
        self._entries = entries

    async def look(self) -> None:
        """Deal with every planned time that has come; of several, one briefing tells what all had to tell."""
        now = self._clock.now()
        for entry in self._entries.values():
            if entry.next_start is None or entry.next_start > now:
                continue
            what = due(entry.fires, _MANNER, 0, dealt_until=entry.plan.dealt_until, now=now)
            if what.until is not None:
                await self._plan(entry, what.until, now)
                entry.plan = entry.plan.model_copy(update={"dealt_until": what.until})
            entry.next_start = what.next_start

    async def _plan(self, entry: _Entry, planned_at: dt.datetime, now: dt.datetime) -> None:
        target = entry.target
        name = planned_name(planned_at)
        delivery = new_delivery(target, DeliveryKind.PLANNED, name=name, planned_at=planned_at, now=now)
        delivery.status, delivery.next_try_at = DeliveryStatus.WAITING, None
        delivery.day = planned_at.astimezone(ZoneInfo(self._zone_of(target))).date()
        delivery.deadline_at = now + dt.timedelta(minutes=target.deadline_minutes)
        if await self._store.deliveries.plan(target.name, until=planned_at, delivery=delivery):
            _log.info("The delivery %s is planned.", delivery.id)

    def _zone_of(self, target: TargetSettings) -> str:
        return target.timezone or self._timezone
