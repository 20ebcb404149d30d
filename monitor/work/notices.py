"""Telling people what they should know of without asking."""

from monitor.briefing.deliver import new_delivery
from monitor.domain.alarms import AlarmNote
from monitor.domain.deliveries import DeliveryKind
from monitor.logs import logger_of
from monitor.ports import Clock
from monitor.settings import Settings
from monitor.store import Store


class Notices:
    """Writes each alarm to the log and puts a delivery on record for each target with `alarms` (`ports.Notifier`).

    A worker sends what is on record. The id is made of the target and the alarm, so that each is told once.
    """

    def __init__(self, *, store: Store, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._targets = [target for target in settings.deliver.targets if target.alarms]
        self._clock = clock

    async def notify(self, alarm: AlarmNote) -> None:
        """One line of the log, one delivery for each target."""
        logger_of("health").warning(
            "alarm", kind=str(alarm.kind), source=alarm.source, section=alarm.section, message=alarm.message,
            run=alarm.run_id,
        )  # fmt: skip
        now = self._clock.now()
        for target in self._targets:
            name = f"alarm-{alarm.id}"
            delivery = new_delivery(target, DeliveryKind.ALARM, name=name, planned_at=alarm.raised_at, now=now)
            delivery.alarm_id = alarm.id
            await self._store.deliveries.create(delivery)
