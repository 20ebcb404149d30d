"""Carrying out deliveries: wait for the sources, compose once, send until it arrives or is given up."""

import datetime as dt
import traceback
from collections.abc import Awaitable, Callable

from pydantic import ValidationError

from monitor.briefing.compose import Briefing
from monitor.briefing.deliver import (
    build_alarm_notification,
    build_attachment_name,
    build_briefing_notification,
    build_test_notification,
    decide_retry,
    is_quiet,
)
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings
from monitor.db.database import Store
from monitor.db.tables.collection import Source
from monitor.db.tables.delivery import BriefingRecord, Delivery, DeliveryKind, DeliveryOutcome, DeliveryStatus
from monitor.errors import DatabaseGone, MonitorError, NotDelivered, NotFound, UsageError
from monitor.exports.registry import get_format
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.notify.notification import Channel, Notification, NotificationAttachment
from monitor.services.briefings import BriefingQuery, BriefingService
from monitor.services.schedules import find_next_fire_time
from monitor.steps import StepRunner
from monitor.vocabulary import ItemType

BriefingWriter = Callable[[Briefing, str], Awaitable[bytes]]
"""Writes a briefing in a format."""

_log = get_logger("deliveries")


class DeliveryDispatcher:
    """Carries out deliveries over the channels that `new_channel` opens, with the documents that `write` makes."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        clock: Clock,
        briefings: BriefingService,
        write: BriefingWriter,
        new_channel: Callable[[TargetSettings], Channel],
    ) -> None:
        self._store = store
        self._clock = clock
        self._briefings = briefings
        self._write = write
        self._new_channel = new_channel
        self._settings = settings

    @property
    def _targets_by_name(self) -> dict[str, TargetSettings]:
        return {target.name: target for target in self._settings.deliver.targets}

    @property
    def targets(self) -> list[TargetSettings]:
        """All targets, in the order of the configuration."""
        return list(self._targets_by_name.values())

    def get_target(self, name: str) -> TargetSettings:
        targets = self._targets_by_name
        target = targets.get(name)
        if target is None:
            raise NotFound("target.not_found", target=name, known=list(targets) or [Message("target.none")])
        return target

    async def release_due(self) -> None:
        """Release the deliveries whose sources are done, or whose deadline is past."""
        now = self._clock.now()
        for delivery in await self._store.deliveries.list(status=[DeliveryStatus.WAITING], limit=None):
            is_late = delivery.deadline_at is None or delivery.deadline_at <= now
            if is_late or not await self._list_unfinished_sources(delivery):
                await self._store.deliveries.release(delivery.id, at=now)

    async def attempt_delivery(self, delivery_id: str, attempt: int, steps: StepRunner) -> DeliveryStatus | None:
        """Make the attempt that follows `attempt` others; one that is recorded already is not made again."""
        delivery = await self._store.deliveries.get(delivery_id)
        if delivery is None or delivery.status is not DeliveryStatus.QUEUED or delivery.attempts != attempt:
            return delivery.status if delivery else None
        outcome = await self._compose_and_send(delivery, steps)
        if await self._store.deliveries.record_attempt(delivery_id, attempt, outcome):
            _log.info(
                "delivery",
                id=delivery.id,
                target=delivery.target,
                status=str(outcome.status),
                attempt=attempt + 1,
                error=outcome.last_error and str(outcome.last_error),
            )
        return outcome.status

    async def _compose_and_send(self, delivery: Delivery, steps: StepRunner) -> DeliveryOutcome:
        """Compose, unless that is done, and send: two steps, so that nothing is sent twice."""
        try:
            target = self.get_target(delivery.target)
            is_for_sending = await steps.run("compose", bool, lambda: self._compose(delivery, target))
        except DatabaseGone:
            raise
        except MonitorError as error:
            return decide_retry(delivery, error, self._clock.now())
        if not is_for_sending:
            return DeliveryOutcome(status=DeliveryStatus.QUIET)
        return await steps.run("send", DeliveryOutcome, lambda: self._send(delivery, target))

    async def _compose(self, delivery: Delivery, target: TargetSettings) -> bool:
        """Compose and store the briefing; False where it is empty and the target wants no empty ones."""
        if delivery.kind not in (DeliveryKind.PLANNED, DeliveryKind.TYPED):
            return True
        record = await self._store.deliveries.get_briefing(delivery.id)
        if record is None:
            unfinished = await self._list_unfinished_sources(delivery)
            briefing = await self._briefings.compose(await self._build_query(delivery, target))
            record = BriefingRecord(
                delivery_id=delivery.id,
                composed_at=self._clock.now(),
                briefing=briefing.model_dump(mode="json"),
                unfinished=unfinished,
            )
            await self._store.deliveries.save_briefing(record)
        composed = parse_briefing_record(record)
        is_empty = composed is not None and is_quiet(composed, record.unfinished) and target.quiet == "none"
        return delivery.kind is DeliveryKind.TYPED or not is_empty

    async def _build_query(self, delivery: Delivery, target: TargetSettings) -> BriefingQuery:
        """Return the query of a delivery: a planned one begins where the last one that did not fail was composed.

        Where all failed, it reaches back to the first of them.
        """
        previous, days = None, target.days
        if delivery.kind is DeliveryKind.PLANNED:
            record = await self._store.deliveries.get_last_briefing(target.name)
            previous = parse_briefing_record(record)
            since = record.composed_at.date() if record else await self._store.deliveries.get_first_day(target.name)
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

    async def _send(self, delivery: Delivery, target: TargetSettings) -> DeliveryOutcome:
        try:
            notification = await self._build_notification(delivery, target)
            await self._new_channel(target).send(notification, accepted=delivery.accepted)
        except DatabaseGone:
            raise
        except MonitorError as error:
            return decide_retry(delivery, error, self._clock.now())
        except Exception as error:  # noqa: BLE001 -- a library's own error must not cost the other attempts
            frame = traceback.extract_tb(error.__traceback__)[-1]
            location = f"{frame.name}:{frame.lineno}"
            _log.error("unexpected error", id=delivery.id, error=type(error).__name__, at=location)
            return decide_retry(delivery, wrap_unexpected_error(error), self._clock.now())
        return DeliveryOutcome(status=DeliveryStatus.SENT, sent_at=self._clock.now())

    async def _build_notification(self, delivery: Delivery, target: TargetSettings) -> Notification:
        if delivery.kind is DeliveryKind.TEST:
            return build_test_notification(delivery, target.language, delivery.planned_at)
        if delivery.kind is DeliveryKind.ALARM:
            alarms = await self._store.alarms.list_notified_at(delivery.planned_at)
            if not alarms:
                raise UsageError("delivery.alarms_pruned")
            return build_alarm_notification(delivery, alarms, target.language)
        record = await self._store.deliveries.get_briefing(delivery.id)
        briefing = parse_briefing_record(record)
        if record is None or briefing is None:
            raise UsageError("delivery.briefing_unreadable")
        enclosures = [
            NotificationAttachment(
                build_attachment_name(briefing, name), get_format(name).media_type, await self._write(briefing, name)
            )
            for name in target.formats
        ]
        return build_briefing_notification(delivery, briefing, unfinished=record.unfinished, enclosures=enclosures)

    async def _list_unfinished_sources(self, delivery: Delivery) -> list[str]:
        """Return the sources that a planned briefing waits for: due by its time, and not done or not even begun."""
        if delivery.kind is not DeliveryKind.PLANNED:
            return []
        target, planned_at = self._targets_by_name.get(delivery.target), delivery.planned_at
        chosen = [
            source
            for source in await self._store.sources.list(only_enabled=True)
            if target and _is_target_source(source, target)
        ]
        open_runs = {run.source_id for run in await self._store.runs.list_open() if run.planned_at <= planned_at}
        not_begun = {
            source_id
            for source_id, schedule in (await self._store.schedules.load_all()).items()
            if _is_due_by(find_next_fire_time(schedule.cron, schedule.timezone, schedule.dealt_until), planned_at)
        }
        return [source.name for source in chosen if source.id in open_runs | not_begun]


def parse_briefing_record(record: BriefingRecord | None) -> Briefing | None:
    """Return the briefing of a record; None where there is none, or an older version wrote it in another shape."""
    try:
        return Briefing.model_validate(record.briefing) if record is not None else None
    except ValidationError:
        return None


def wrap_unexpected_error(error: Exception) -> MonitorError:
    """Wrap an unexpected error as one that may pass; its text may hold anything and stays in the log."""
    return NotDelivered("delivery.unexpected", may_retry=True, error=type(error).__name__)


def _is_target_source(source: Source, target: TargetSettings) -> bool:
    is_named = source.name in target.sources if target.sources else True
    return is_named and (not target.tags or bool(set(target.tags) & set(source.tags)))


def _is_due_by(instant: dt.datetime | None, end: dt.datetime) -> bool:
    return instant is not None and instant <= end
