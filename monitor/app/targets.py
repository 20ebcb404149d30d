"""The use case of looking at the targets: what goes where, and when next."""

import datetime as dt

from pydantic import BaseModel

from monitor.app.deliveries import DeliveryDesk, DeliveryWire
from monitor.app.dispatch import Dispatch
from monitor.ports import Clock, Schedules
from monitor.settings import Settings
from monitor.settings.targets import CHAT_SCHEMES, MAIL_SCHEMES, TargetSettings


class TargetWire(BaseModel):
    """A target as people and their programs see it: nothing of its url but what may be shown to anyone.

    `channel` is mail, chat or webhook; `last` the newest delivery to it.
    """

    name: str
    channel: str
    address: str
    to: list[str]
    schedule: str | None
    timezone: str
    next_at: dt.datetime | None
    days: int
    language: str
    formats: list[str]
    sources: list[str]
    tags: list[str]
    types: list[str]
    keywords: list[str]
    top: int | None
    alarms: bool
    last: DeliveryWire | None = None


class TargetDesk:
    """Shows the targets of the settings."""

    def __init__(
        self, *, settings: Settings, dispatch: Dispatch, deliveries: DeliveryDesk, schedules: Schedules, clock: Clock
    ) -> None:
        self._settings = settings
        self._dispatch = dispatch
        self._deliveries = deliveries
        self._schedules = schedules
        self._clock = clock

    def names(self) -> list[str]:
        return [target.name for target in self._dispatch.targets]

    async def list(self) -> list[TargetWire]:
        """All targets, in the order of the settings."""
        return [await self._wire(target) for target in self._dispatch.targets]

    async def _wire(self, target: TargetSettings) -> TargetWire:
        zone = target.timezone or self._settings.timezone
        next_at = self._schedules.next_after(target.schedule, zone, self._clock.now()) if target.schedule else None
        last = await self._deliveries.list(target=target.name, limit=1)
        fields = target.model_dump(include=set(TargetWire.model_fields) - {"timezone"})
        return TargetWire(
            **fields,
            channel=_channel(target),
            address=target.shown,
            timezone=zone,
            next_at=next_at,
            last=next(iter(last), None),
        )


def _channel(target: TargetSettings) -> str:
    if target.scheme in MAIL_SCHEMES:
        return "mail"
    return "chat" if target.scheme in CHAT_SCHEMES else "webhook"
