"""Deliveries on their way: waiting for sources, composed once, sent until they arrive or are given up."""

import datetime as dt
import traceback
from collections.abc import Awaitable, Callable

from pydantic import ValidationError

from monitor.app.briefings import BriefingDesk, BriefingQuery
from monitor.briefing.compose import Briefing
from monitor.briefing.deliver import after_failure, is_quiet
from monitor.briefing.letter import MEDIA_TYPES, alarm_letter, briefing_letter, enclosure_name, trial_letter
from monitor.domain.deliveries import (
    BriefingRecord,
    Delivery,
    DeliveryKind,
    DeliveryStatus,
    Enclosure,
    Letter,
    Outcome,
)
from monitor.domain.tables import Source
from monitor.domain.words import ItemType
from monitor.errors import DatabaseGone, MonitorError, NotDelivered, NotFound, UsageError
from monitor.logs import logger_of
from monitor.ports import Channel, Clock, Schedules, Steps
from monitor.settings import Settings
from monitor.settings.targets import TargetSettings
from monitor.store import Store

Write = Callable[[Briefing, str], Awaitable[bytes]]
"""A briefing in a format."""

_log = logger_of("deliveries")


class Dispatch:
    """Carries out deliveries. `new_channel` gives the way to a target, `write` a briefing's documents."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        clock: Clock,
        schedules: Schedules,
        briefings: BriefingDesk,
        write: Write,
        new_channel: Callable[[TargetSettings], Channel],
    ) -> None:
        self._store = store
        self._clock = clock
        self._schedules = schedules
        self._briefings = briefings
        self._write = write
        self._new_channel = new_channel
        self._settings = settings

    @property
    def _targets(self) -> dict[str, TargetSettings]:
        return {target.name: target for target in self._settings.deliver.targets}

    @property
    def targets(self) -> list[TargetSettings]:
        """All targets, in the order of the configuration."""
        return list(self._targets.values())

    def target(self, name: str) -> TargetSettings:
        """The target of that name; `UsageError` where the configuration has none."""
        targets = self._targets
        target = targets.get(name)
        if target is None:
            known = ", ".join(targets) or "none"
            raise NotFound(f"There is no target {name!r} in deliver.targets; there are {known}.")
        return target

    async def release(self) -> None:
        """Let those deliveries go that wait no longer: their sources are done, or their deadline is past."""
        now = self._clock.now()
        for delivery in await self._store.deliveries.list(status=[DeliveryStatus.WAITING], limit=None):
            is_late = delivery.deadline_at is None or delivery.deadline_at <= now
            if is_late or not await self._unfinished(delivery):
                await self._store.deliveries.release(delivery.id, at=now)

    async def carry_out(self, delivery_id: str, attempt: int, steps: Steps) -> DeliveryStatus | None:
        """Make the try that follows `attempt` others; one that is on record already is not made again."""
        delivery = await self._store.deliveries.get(delivery_id)
        if delivery is None or delivery.status is not DeliveryStatus.QUEUED or delivery.attempts != attempt:
            return delivery.status if delivery else None
        outcome = await self._tried(delivery, steps)
        if await self._store.deliveries.settle(delivery_id, attempt, outcome):
            _log.info(
                "delivery",
                id=delivery.id,
                target=delivery.target,
                status=str(outcome.status),
                attempt=attempt + 1,
                error=outcome.last_error,
            )
        return outcome.status

    async def _tried(self, delivery: Delivery, steps: Steps) -> Outcome:
        """Compose it where that is not done, and send it: two steps, so that what was sent is not sent again."""
        try:
            target = self.target(delivery.target)
            is_for_sending = await steps.run("compose", bool, lambda: self._compose(delivery, target))
        except DatabaseGone:
            raise
        except MonitorError as error:
            return after_failure(delivery, error, self._clock.now())
        if not is_for_sending:
            return Outcome(status=DeliveryStatus.QUIET)
        return await steps.run("send", Outcome, lambda: self._send(delivery, target))

    async def _compose(self, delivery: Delivery, target: TargetSettings) -> bool:
        """Have the briefing on record; False where there is nothing to tell and the target wants nothing then."""
        if delivery.kind not in (DeliveryKind.PLANNED, DeliveryKind.TYPED):
            return True
        record = await self._store.deliveries.briefing(delivery.id)
        if record is None:
            unfinished = await self._unfinished(delivery)
            briefing = await self._briefings.write(await self._query(delivery, target))
            record = BriefingRecord(
                delivery_id=delivery.id,
                composed_at=self._clock.now(),
                briefing=briefing.model_dump(mode="json"),
                unfinished=unfinished,
            )
            await self._store.deliveries.keep_briefing(record)
        kept = read(record)
        is_nothing = kept is not None and is_quiet(kept, record.unfinished) and target.quiet == "none"
        return delivery.kind is DeliveryKind.TYPED or not is_nothing

    async def _query(self, delivery: Delivery, target: TargetSettings) -> BriefingQuery:
        """Which briefing is wanted: a planned one begins where the last one that did not fail was composed.

        Where all failed, it reaches back to the first of them.
        """
        previous, days = None, target.days
        if delivery.kind is DeliveryKind.PLANNED:
            record = await self._store.deliveries.last_briefing(target.name)
            previous = read(record)
            since = record.composed_at.date() if record else await self._store.deliveries.first_day(target.name)
            days += (delivery.day - since).days if delivery.day and since else 0
        return BriefingQuery(
            day=delivery.day,
            days=days,
            previous=previous,
            top=target.top,
            sources=target.sources,
            tags=target.tags,
            types=[ItemType(word) for word in target.types],
            keywords=target.keywords,
            language=target.language,
        )

    async def _send(self, delivery: Delivery, target: TargetSettings) -> Outcome:
        try:
            letter = await self._letter(delivery, target)
            await self._new_channel(target).send(letter, accepted=delivery.accepted)
        except DatabaseGone:
            raise
        except MonitorError as error:
            return after_failure(delivery, error, self._clock.now())
        except Exception as error:  # noqa: BLE001 -- a library's own complaint must not cost the other tries
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.name}:{where.lineno}"
            _log.error("unexpected error", id=delivery.id, error=type(error).__name__, at=place)
            return after_failure(delivery, unexpected(error), self._clock.now())
        return Outcome(status=DeliveryStatus.SENT, sent_at=self._clock.now())

    async def _letter(self, delivery: Delivery, target: TargetSettings) -> Letter:
        if delivery.kind is DeliveryKind.TEST:
            return trial_letter(delivery, target.language, delivery.planned_at)
        if delivery.kind is DeliveryKind.ALARM:
            notes = await self._store.alarms.told_at(delivery.planned_at)
            if not notes:
                raise UsageError("The alarms were forgotten before they could be told.")
            return alarm_letter(delivery, notes, target.language)
        record = await self._store.deliveries.briefing(delivery.id)
        briefing = read(record)
        if record is None or briefing is None:
            raise UsageError("The briefing of this delivery is gone, or was written by another version.")
        enclosures = [
            Enclosure(enclosure_name(briefing, name), MEDIA_TYPES[name], await self._write(briefing, name))
            for name in target.formats
        ]
        return briefing_letter(delivery, briefing, unfinished=record.unfinished, enclosures=enclosures)

    async def _unfinished(self, delivery: Delivery) -> list[str]:
        """The sources that a planned briefing waits for: planned by its time, and not done or not even begun."""
        if delivery.kind is not DeliveryKind.PLANNED:
            return []
        target, planned_at = self._targets.get(delivery.target), delivery.planned_at
        meant = [
            source
            for source in await self._store.sources.list(only_enabled=True)
            if target and _is_meant(source, target)
        ]
        open_runs = {run.source_id for run in await self._store.runs.open() if run.planned_at <= planned_at}
        not_begun = {
            source_id
            for source_id, schedule in (await self._store.schedules.all()).items()
            if _is_by(self._schedules.next_after(schedule.cron, schedule.timezone, schedule.dealt_until), planned_at)
        }
        return [one.name for one in meant if one.id in open_runs | not_begun]


def read(record: BriefingRecord | None) -> Briefing | None:
    """The briefing of a record; None where there is none, or where an older version wrote it in another shape."""
    try:
        return Briefing.model_validate(record.briefing) if record is not None else None
    except ValidationError:
        return None


def unexpected(error: Exception) -> MonitorError:
    """An error that nobody foresaw, as one that may pass; its words may hold anything and stay in the log."""
    return NotDelivered(f"An unexpected {type(error).__name__}; the log tells more.", may_retry=True)


def _is_meant(source: Source, target: TargetSettings) -> bool:
    is_named = source.name in target.sources if target.sources else True
    return is_named and (not target.tags or bool(set(target.tags) & set(source.tags)))


def _is_by(instant: dt.datetime | None, end: dt.datetime) -> bool:
    return instant is not None and instant <= end
