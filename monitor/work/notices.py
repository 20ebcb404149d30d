"""Telling people what they should know of without asking."""

import datetime as dt
from collections.abc import Sequence

from monitor.briefing.deliver import new_delivery, planned_name
from monitor.domain.alarms import AlarmNote
from monitor.domain.deliveries import Delivery, DeliveryKind
from monitor.logs import logger_of
from monitor.ports import Clock
from monitor.settings import Settings
from monitor.settings.targets import TargetSettings
from monitor.store import Store

_GATHERED = dt.timedelta(seconds=70)
"""A message leaves a little after its minute: whoever saw the minute has written down by then."""


class Notices:
    """Writes each alarm to the log and puts deliveries on record for the targets with `alarms` (`ports.Notifier`).

    The alarms of a minute go to a target as one message, which a worker sends when the minute is over. An alarm and
    its delivery are written down at once, so that each is told once.
    """

    def __init__(self, *, store: Store, settings: Settings, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock

    async def notify(self, alarms: Sequence[AlarmNote]) -> None:
        """One line of the log for each alarm, one delivery for each target."""
        for alarm in alarms:
            logger_of("health").warning(
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
        if not await self._store.alarms.hand_on(ids, _deliveries(targets, minute), now=now):
            # The message of this minute has left: these go by themselves.
            await self._store.alarms.hand_on(ids, _deliveries(targets, now), now=now)


def _deliveries(targets: Sequence[TargetSettings], at: dt.datetime) -> list[Delivery]:
    name = f"alarms-{planned_name(at)}"
    return [
        new_delivery(target, DeliveryKind.ALARM, name=name, planned_at=at, now=at + _GATHERED) for target in targets
    ]
