"""Carrying out deliveries: wait for the sources, compose once, send until it arrives or is given up."""

import datetime as dt
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from monitor.briefing.compose import Briefing, drop_gaps
from monitor.briefing.deliver import (
    build_alarm_notification,
    build_alert_notification,
    build_attachment_name,
    build_briefing_notification,
    build_confirmation_notification,
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
from monitor.db.visibility import see_as
from monitor.errors import DatabaseGone, MonitorError, NotDelivered, NotFound, UsageError
from monitor.exports.registry import get_format
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.notify.notification import Channel, Notification, NotificationAttachment
from monitor.services.briefings import BriefingQuery, BriefingService
from monitor.services.schedules import find_next_fire_time
from monitor.services.subscriptions import Subscriber, SubscriptionOver, build_link, load_subscriber
from monitor.services.teams import get_team_eyes
from monitor.steps import StepRunner
from monitor.vocabulary import ItemType

BriefingWriter = Callable[[Briefing, str], Awaitable[bytes]]  # in the format of that name
_log = get_logger("deliveries")


@dataclass(frozen=True)
class Recipient:
    """Whom a delivery is for: a target, and the subscriber where it is that of a subscription."""

    target: TargetSettings
    subscriber: Subscriber | None = None


@dataclass(kw_only=True)
class DeliveryDispatcher:
    store: Store
    settings: Settings
    clock: Clock
    briefings: BriefingService
    write: BriefingWriter
    new_channel: Callable[[TargetSettings], Channel]

    async def release_due(self) -> None:
        now = self.clock.now()
        for delivery in await self.store.deliveries.list(status=[DeliveryStatus.WAITING], limit=None):
            # What was planned for later than now was planned by a clock that was ahead.
            is_late = delivery.deadline_at is None or delivery.deadline_at <= now or delivery.planned_at > now
            if is_late or not await self._is_awaited(delivery):
                await self.store.deliveries.release(delivery.id, at=now)

    async def load_recipient(self, delivery: Delivery) -> Recipient:
        """Return whom a delivery is for; `UsageError` where the target is gone, `SubscriptionOver` for nobody."""
        subscriber = await load_subscriber(delivery, self.settings, self.store)
        if subscriber is not None:
            return Recipient(subscriber.target, subscriber)
        return Recipient(find_target(self.settings.deliver.targets, delivery.target))

    async def attempt_delivery(self, delivery_id: str, attempt: int, steps: StepRunner) -> DeliveryStatus | None:
        """Make the attempt that follows `attempt` others; one that is recorded already is not made again."""
        delivery = await self.store.deliveries.get(delivery_id)
        if delivery is None or delivery.status is not DeliveryStatus.QUEUED or delivery.attempts != attempt:
            return delivery.status if delivery else None
        with see_as(get_team_eyes(delivery.team_id)):
            outcome = await self._compose_and_send(delivery, steps)
        if await self.store.deliveries.record_attempt(delivery_id, attempt, outcome):
            facts = {"id": delivery.id, "target": delivery.target, "status": str(outcome.status)}
            _log.info("delivery", **facts, attempt=attempt + 1, error=outcome.last_error and str(outcome.last_error))
        return outcome.status

    async def _compose_and_send(self, delivery: Delivery, steps: StepRunner) -> DeliveryOutcome:
        try:
            recipient = await self.load_recipient(delivery)
            is_for_sending = await steps.run("compose", bool, lambda: self._compose(delivery, recipient.target))
        except DatabaseGone:
            raise
        except SubscriptionOver as over:
            return DeliveryOutcome(status=DeliveryStatus.QUIET, last_error=over.message)
        except MonitorError as error:
            return decide_retry(delivery, error, self.clock.now())
        if not is_for_sending:
            return DeliveryOutcome(status=DeliveryStatus.QUIET)
        return await steps.run("send", DeliveryOutcome, lambda: self._send_if_wanted(delivery))

    async def _send_if_wanted(self, delivery: Delivery) -> DeliveryOutcome:
        """Send what is composed; composing takes its time, and the recipient may have gone meanwhile."""
        try:
            recipient = await self.load_recipient(delivery)
        except SubscriptionOver as over:
            return DeliveryOutcome(status=DeliveryStatus.QUIET, last_error=over.message)
        except UsageError as error:
            return decide_retry(delivery, error, self.clock.now())
        return await self._send(delivery, recipient)

    async def _compose(self, delivery: Delivery, target: TargetSettings) -> bool:
        """Compose and store the briefing; False where it is empty and the target wants no empty ones."""
        if delivery.kind not in (DeliveryKind.PLANNED, DeliveryKind.TYPED):
            return True
        record = await self.store.deliveries.get_briefing(delivery.id)
        if record is None:
            unfinished = await self._list_unfinished_sources(delivery, target)
            briefing = await self.briefings.compose(await self._build_query(delivery, target))
            record = BriefingRecord(
                delivery_id=delivery.id,
                composed_at=self.clock.now(),
                briefing=briefing.model_dump(mode="json"),
                unfinished=unfinished,
            )
            await self.store.deliveries.save_briefing(record)
        composed = parse_briefing_record(record)
        is_empty = composed is not None and is_quiet(composed, record.unfinished) and target.quiet == "none"
        return delivery.kind is DeliveryKind.TYPED or not is_empty

    async def _build_query(self, delivery: Delivery, target: TargetSettings) -> BriefingQuery:
        """Begin a planned briefing where the last one was composed, or with the first of those that all failed."""
        previous, days = None, target.days
        if delivery.kind is DeliveryKind.PLANNED:
            record = await self.store.deliveries.get_last_briefing(target.name)
            previous = parse_briefing_record(record)
            zone = ZoneInfo(target.timezone or self.settings.timezone)
            since = await self.store.deliveries.get_first_day(target.name)
            if record is not None:
                since = record.composed_at.astimezone(zone).date()
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
            timezone=target.timezone,
            topic=target.topic,
            team_id=delivery.team_id,
        )

    async def _send(self, delivery: Delivery, recipient: Recipient) -> DeliveryOutcome:
        try:
            notification = await self._build_notification(delivery, recipient.target, recipient.subscriber)
            await self.new_channel(recipient.target).send(notification, accepted=delivery.accepted)
        except DatabaseGone:
            raise
        except MonitorError as error:
            return decide_retry(delivery, error, self.clock.now())
        except Exception as error:  # noqa: BLE001 -- a library's own error must not cost the other attempts
            frame = traceback.extract_tb(error.__traceback__)[-1]
            location = f"{frame.name}:{frame.lineno}"
            _log.error("unexpected error", id=delivery.id, error=type(error).__name__, at=location)
            return decide_retry(delivery, wrap_unexpected_error(error), self.clock.now())
        return DeliveryOutcome(status=DeliveryStatus.SENT, sent_at=self.clock.now())

    async def send_once(self, delivery: Delivery, target: TargetSettings) -> Message | None:
        """Send what is in no log; return why it did not arrive."""
        return (await self._send(delivery, Recipient(target))).last_error

    async def _build_notification(
        self, delivery: Delivery, target: TargetSettings, subscriber: Subscriber | None
    ) -> Notification:
        link = build_link(subscriber.subscription, self.settings) if subscriber is not None else None
        if subscriber is not None and link and delivery.kind is DeliveryKind.CONFIRMATION:
            return build_confirmation_notification(delivery, target.language, link, person=subscriber.owner.name)
        if delivery.kind is DeliveryKind.TEST:
            return build_test_notification(delivery, target.language, delivery.planned_at)
        if delivery.kind is DeliveryKind.ALARM:
            alarms = await self.store.alarms.list_notified_at(delivery.planned_at)
            if not alarms:
                raise UsageError("delivery.alarms_pruned")
            return build_alarm_notification(delivery, alarms, target.language)
        if delivery.kind is DeliveryKind.ALERT:
            alerts = await self.store.alerts.list_for_delivery(delivery.id)
            if not alerts:
                raise UsageError("delivery.alerts_gone")
            return build_alert_notification(delivery, alerts, target.language)
        record = await self.store.deliveries.get_briefing(delivery.id)
        briefing = parse_briefing_record(record)
        if record is None or briefing is None:
            raise UsageError("delivery.briefing_unreadable")
        if not target.include_gaps and delivery.saved_id is None:
            briefing = drop_gaps(briefing)
        enclosures = [
            NotificationAttachment(
                build_attachment_name(briefing, name), get_format(name).media_type, await self.write(briefing, name)
            )
            for name in target.formats
        ]
        return build_briefing_notification(
            delivery, briefing, unfinished=record.unfinished, enclosures=enclosures, unsubscribe_url=link
        )

    async def _is_awaited(self, delivery: Delivery) -> bool:
        try:
            target = (await self.load_recipient(delivery)).target
        except UsageError:
            return False
        return bool(await self._list_unfinished_sources(delivery, target))

    async def _list_unfinished_sources(self, delivery: Delivery, target: TargetSettings) -> list[str]:
        """Return the sources that a planned briefing waits for: due by its time, and not done or not even begun."""
        if delivery.kind is not DeliveryKind.PLANNED:
            return []
        chosen = [
            source
            for source in await self.store.sources.list(only_enabled=True)
            if source.team_id in (None, delivery.team_id) and _is_target_source(source, target)
        ]
        planned_at = delivery.planned_at
        open_runs = {run.source_id for run in await self.store.runs.list_open() if run.planned_at <= planned_at}
        not_begun = {
            source_id
            for source_id, schedule in (await self.store.schedules.load_all()).items()
            if _is_due_by(find_next_fire_time(schedule.cron, schedule.timezone, schedule.dealt_until), planned_at)
        }
        return [source.name for source in chosen if source.id in open_runs | not_begun]


def find_target(among: Sequence[TargetSettings], name: str) -> TargetSettings:
    """Return the delivery target; `NotFound` names those that there are."""
    targets = {target.name: target for target in among}
    if name not in targets:
        raise NotFound("target.not_found", target=name, known=list(targets) or [Message("target.none")])
    return targets[name]


def parse_briefing_record(record: BriefingRecord | None) -> Briefing | None:
    try:
        return Briefing.model_validate(record.briefing) if record is not None else None
    except ValidationError:
        return None


def wrap_unexpected_error(error: Exception) -> MonitorError:
    """Wrap an unexpected error as one that may pass; its text may hold anything and stays in the log."""
    return NotDelivered("delivery.unexpected", may_retry=True, error=type(error).__name__)


def _is_target_source(source: Source, target: TargetSettings) -> bool:
    is_named = not target.sources or source.name in target.sources
    return is_named and (not target.tags or bool(set(target.tags) & set(source.tags)))


def _is_due_by(instant: dt.datetime | None, end: dt.datetime) -> bool:
    return instant is not None and instant <= end
