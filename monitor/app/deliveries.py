"""The use cases around deliveries: look at the log, try a target out, send now, try again."""

import asyncio
import datetime as dt
import secrets
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from monitor.app.dispatch import Dispatch, read
from monitor.app.sweeps import WORKER
from monitor.briefing.compose import Briefing
from monitor.briefing.deliver import new_delivery, planned_name
from monitor.domain.deliveries import BriefingRecord, Delivery, DeliveryKind, DeliveryStatus
from monitor.domain.words import ItemType
from monitor.errors import Conflict, NotFound, UsageError, WorkFailed
from monitor.formats.render import check_format
from monitor.ports import Clock, Presence, Schedules, Steps
from monitor.settings import Settings
from monitor.store import Store
from monitor.store.sessions import storable

_LOOK_EVERY_S = 0.5
_PATIENCE_S = 60.0
_LEFT_ALONE = dt.timedelta(minutes=10)
"""So long a delivery that a command has in hand is left to it; after that, whoever works takes it up."""

_TOLD = dt.timedelta(days=30)
_MANY_TRIES = 3


class DeliveryWire(BaseModel):
    """A delivery as people and their programs see it; nothing of its address but the target's name."""

    id: str
    target: str
    kind: DeliveryKind
    status: DeliveryStatus
    planned_at: dt.datetime
    day: dt.date | None
    attempts: int
    next_try_at: dt.datetime | None
    sent_at: dt.datetime | None
    last_error: str | None
    message_id: str
    key: str
    saved_id: int | None = None


class DeliveryDesk:
    """Shows deliveries and makes those that a person asks for, by the service where one is at work."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        clock: Clock,
        presence: Presence,
        dispatch: Dispatch,
        steps: Steps,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._presence = presence
        self._dispatch = dispatch
        self._steps = steps

    async def test(self, name: str) -> DeliveryWire:
        """Send a letter that says that it is a test, at once and once."""
        target, now = self._dispatch.target(name), self._clock.now()
        name = f"test-{planned_name(now)}-{secrets.token_hex(2)}"
        delivery = new_delivery(target, DeliveryKind.TEST, name=name, planned_at=now, now=now)
        delivery.next_try_at, delivery.attempts_allowed = None, 1
        await self._store.deliveries.create(delivery)
        await self._dispatch.carry_out(delivery.id, 0, self._steps)
        return await self._one(delivery.id)

    async def now(self, name: str, day: dt.date | None = None) -> DeliveryWire:
        """Send the briefing of a day, by default today, without waiting for sources; what is planned stays planned."""
        target, now = self._dispatch.target(name), self._clock.now()
        served = await self._is_served()
        typed = f"{planned_name(now)}-{secrets.token_hex(2)}"
        delivery = new_delivery(target, DeliveryKind.TYPED, name=typed, planned_at=now, now=now)
        delivery.day = day or now.astimezone(ZoneInfo(target.timezone or self._settings.timezone)).date()
        delivery.next_try_at = now if served else now + _LEFT_ALONE
        await self._store.deliveries.create(delivery)
        return await self._tried(delivery, is_served=served)

    async def send(self, name: str, briefing: Briefing, saved_id: int) -> DeliveryWire:
        """Send a saved briefing as it stands; where a service is at work, that does it, and this does not wait."""
        target, now = self._dispatch.target(name), self._clock.now()
        served = await self._is_served()
        typed = f"{planned_name(now)}-{secrets.token_hex(2)}"
        delivery = new_delivery(target, DeliveryKind.TYPED, name=typed, planned_at=now, now=now)
        delivery.day, delivery.saved_id = briefing.period.until, saved_id
        delivery.next_try_at = now if served else now + _LEFT_ALONE
        record = BriefingRecord(
            delivery_id=delivery.id, composed_at=briefing.generated_at, briefing=briefing.model_dump(mode="json")
        )
        await self._store.deliveries.create(delivery, record)
        return await self._tried(delivery, is_served=served, is_waiting=False)

    async def retry(self, delivery_id: str, *, is_waiting: bool = True) -> DeliveryWire:
        """Try a failed delivery again, with the briefing, the key and the Message-ID that it had."""
        delivery = await self._found(delivery_id)
        self._dispatch.target(delivery.target)
        served, now = await self._is_served(), self._clock.now()
        if not await self._store.deliveries.ask_again(delivery_id, at=now if served else now + _LEFT_ALONE):
            raise Conflict(f"The delivery {delivery_id} has not failed: it is {delivery.status}.")
        return await self._tried(delivery, is_served=served, is_waiting=is_waiting)

    async def sent(self, delivery_id: str) -> Briefing:
        """The briefing of a delivery as it was composed for it; `NotFound` where it has none."""
        await self._found(delivery_id)
        briefing = read(await self._store.deliveries.briefing(delivery_id))
        if briefing is None:
            raise NotFound(f"The delivery {delivery_id} has no briefing: it is none of one, or it is not composed yet.")
        return briefing

    async def troubles(self) -> list[DeliveryWire]:
        """The deliveries of the last 30 days that failed, and those that were tried several times in vain."""
        rows = await self._store.deliveries.list(status=[DeliveryStatus.FAILED, DeliveryStatus.QUEUED], limit=1000)
        since = self._clock.now() - _TOLD
        return [
            _wire(row)
            for row in rows
            if row.planned_at >= since and (row.status is DeliveryStatus.FAILED or row.attempts >= _MANY_TRIES)
        ]

    async def list(
        self,
        *,
        target: str | None = None,
        saved_id: int | None = None,
        before: tuple[dt.datetime, str] | None = None,
        limit: int = 50,
    ) -> list[DeliveryWire]:
        """The log, newest first; `UsageError` for a target that neither the configuration nor the log knows.

        It goes on behind `before`, the planned time and the id of the last one that was seen.
        """
        name = None if target is None else storable(target)
        rows = await self._store.deliveries.list(target=name, saved_id=saved_id, before=before, limit=limit)
        if target is not None and not rows and before is None:
            self._dispatch.target(target)
        return [_wire(row) for row in rows]

    async def _tried(self, delivery: Delivery, *, is_served: bool, is_waiting: bool = True) -> DeliveryWire:
        if not is_served:
            await self._dispatch.carry_out(delivery.id, delivery.attempts, self._steps)
        if not is_served or not is_waiting:
            return await self._one(delivery.id)
        seen = asyncio.get_running_loop().time()
        while True:
            found = await self._one(delivery.id)
            if found.attempts > delivery.attempts:
                return found
            now = asyncio.get_running_loop().time()
            if await self._is_served():
                seen = now
            elif now - seen > _PATIENCE_S:
                raise WorkFailed(f"The service that took {delivery.id} is gone; it goes on when the service does.")
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _one(self, delivery_id: str) -> DeliveryWire:
        return _wire(await self._found(delivery_id))

    async def _found(self, delivery_id: str) -> Delivery:
        delivery = await self._store.deliveries.get(storable(delivery_id))
        if delivery is None:
            raise NotFound(f"There is no delivery {delivery_id!r}; `monitor deliver list` names them.")
        return delivery

    async def _is_served(self) -> bool:
        return WORKER in (await self._presence.alive()).values()


def check_targets(settings: Settings, schedules: Schedules) -> None:
    """`UsageError` for the first target whose schedule, formats or types cannot be meant."""
    words = [str(word) for word in ItemType]
    for target in settings.deliver.targets:
        try:
            if target.schedule is not None:
                schedules.check(target.schedule, target.timezone or settings.timezone)
            for name in target.formats:
                check_format(name)
        except UsageError as error:
            raise UsageError(f"The target {target.name} in deliver.targets: {error}") from None
        unknown = [word for word in target.types if word not in words]
        if unknown:
            mend = f"there is no type {unknown[0]!r}; choose of {' '.join(words)}"
            raise UsageError(f"The target {target.name} in deliver.targets: {mend}.")


def examine_targets(settings: Settings, schedules: Schedules) -> str:
    """The same, and whether every variable that a target needs is set; says what there is."""
    check_targets(settings, schedules)
    targets = settings.deliver.targets
    for target in targets:
        target.whole_url()
        if target.secret_env:
            target.secret()
    return ", ".join(f"{target.name} ({target.shown})" for target in targets) or "no target: briefings go nowhere"


def _wire(delivery: Delivery) -> DeliveryWire:
    return DeliveryWire.model_validate(delivery, from_attributes=True)
