"""Subscriptions: a person has briefings sent to their own mail address, and ends that without an account.

A subscription is delivered as a target of its own: that of the settings which carries it, with the person's address,
schedule and conditions. Whatever holds for deliveries to targets holds for it.
"""

import builtins
import datetime as dt
import secrets
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import ConfigDict, Field

from monitor.briefing.deliver import create_delivery, format_planned_time
from monitor.config.model import Settings
from monitor.config.targets import TargetSettings, is_mail_address
from monitor.db.database import Store
from monitor.db.queries.subscriptions import SUBSCRIPTION_PREFIX
from monitor.db.tables.delivery import Delivery, DeliveryKind, DeliveryStatus, Subscription
from monitor.db.visibility import EVERYBODY, see_as
from monitor.errors import Conflict, NotFound, UsageError
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.briefings import BriefingConditions, check_sources
from monitor.services.schedules import (
    ScheduleKind,
    SchedulePattern,
    check_schedule,
    describe_schedule,
    find_next_fire_time,
    parse_written_schedule,
)
from monitor.vocabulary import Role

MAX_SUBSCRIPTIONS = 10
DEFAULT_SUBSCRIPTION_SCHEDULE = "30 7 * * 1-5"
SCHEDULE_KINDS = (ScheduleKind.WEEKDAYS, ScheduleKind.DAILY, ScheduleKind.WEEKLY)
MAX_MAIL_CHARS = 320
_MAX_NEW_SUBSCRIPTIONS = 20  # within a day: each sends a mail to an address that nobody has confirmed
_DAY = dt.timedelta(days=1)
_CONFIRMED_WITHIN = dt.timedelta(days=7)
_DAYS = {ScheduleKind.WEEKLY: 7}


class SubscriptionState(StrEnum):
    """How a subscription stands. `closed`: its target carries none any more; `lapsed`: it was not confirmed in time."""

    UNCONFIRMED = "unconfirmed"
    ACTIVE = "active"
    CLOSED = "closed"
    LAPSED = "lapsed"
    ENDED = "ended"


class SubscriptionOver(Conflict):
    """Whom a delivery is for does not want it any more, or may not have it."""


class SubscriptionForm(BriefingConditions):
    """What a person wants: without a `target` the first one that is open carries it; `schedule` is cron or words."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"address": "anna@example.org", "topic": "储能", "schedule": "weekdays 07:30", "format": "pdf"}
            ]
        },
    )

    address: str = Field(max_length=MAX_MAIL_CHARS)
    schedule: str = Field(default=DEFAULT_SUBSCRIPTION_SCHEDULE, max_length=200)
    format: Literal["mail", "pdf", "docx"] = "mail"
    target: str | None = Field(default=None, max_length=40)


class SubscriptionSchema(MessageModel):
    """A subscription without its token; `last` is how its newest delivery stands."""

    id: int
    person: str
    target: str
    address: str
    state: SubscriptionState
    conditions: BriefingConditions
    format: str
    schedule: str
    schedule_text: Message
    next_at: dt.datetime | None
    created_at: dt.datetime
    last_at: dt.datetime | None
    last_status: DeliveryStatus | None
    last_error: Message | None


@dataclass(frozen=True, kw_only=True)
class Subscriber:
    """Whom a delivery is for: the subscription, the target that it makes, and with whose eyes it is composed."""

    subscription: Subscription
    target: TargetSettings
    owner: Actor


def list_carriers(settings: Settings) -> builtins.list[str]:
    """The mail targets that are open for subscriptions."""
    return [target.name for target in settings.deliver.targets if target.subscriptions]


def build_target(subscription: Subscription, settings: Settings) -> TargetSettings:
    """Return the target that a subscription makes; `UsageError` where none carries it any more.

    It is sent what belongs to all, whatever team its carrier has.
    """
    carriers = [target for target in settings.deliver.targets if target.subscriptions]
    carrier = next((target for target in carriers if target.name == subscription.target), None)
    if carrier is None:
        raise UsageError("subscription.closed", target=subscription.target)
    conditions = BriefingConditions.model_validate(subscription.conditions)
    return carrier.model_copy(
        update=conditions.model_dump(mode="json")
        | {
            "name": f"{SUBSCRIPTION_PREFIX}{subscription.id}",
            "to": [subscription.address],
            "bcc": [],
            "schedule": subscription.schedule,
            "days": _DAYS.get(SchedulePattern.parse(subscription.schedule).kind, 1),
            "formats": subscription.formats,
            "quiet": "none",
            "alarms": False,
            "alerts": False,
            "team": None,
            "subscriptions": False,
        }
    )


def build_link(subscription: Subscription, settings: Settings) -> str:
    """Return the address at which a subscription is confirmed and ended; `UsageError` without a public address."""
    if settings.web.public_url is None:
        raise UsageError("subscription.no_public_url")
    return f"{settings.web.public_url.rstrip('/')}/subscriptions/{subscription.token}"


async def load_subscriber(delivery: Delivery, settings: Settings, store: Store) -> Subscriber | None:
    """Return whom a delivery is for; None for one to a target of the settings.

    `SubscriptionOver` where they are to get nothing, `UsageError` where nothing can be sent to them now.
    """
    if not delivery.target.startswith(SUBSCRIPTION_PREFIX):
        return None
    found = await store.subscriptions.get(int(delivery.target.removeprefix(SUBSCRIPTION_PREFIX)))
    if found is None or found[0].ended_at is not None:
        raise SubscriptionOver("subscription.over")
    subscription, person = found
    if person.is_shut_out:
        raise SubscriptionOver("subscription.shut_out", person=person.name)
    if subscription.confirmed_at is None and delivery.kind is not DeliveryKind.CONFIRMATION:
        raise SubscriptionOver("subscription.not_confirmed")
    build_link(subscription, settings)
    target = build_target(subscription, settings)
    return Subscriber(subscription=subscription, target=target, owner=Actor(person.name, person.role))


async def list_subscribed_targets(settings: Settings, store: Store) -> builtins.list[tuple[TargetSettings, str]]:
    """Return the targets of all subscriptions to which something is due from time to time, and whose they are."""
    open_names = list_carriers(settings) if settings.web.public_url is not None else []
    if not open_names:
        return []
    rows = await store.subscriptions.list_active()
    return [(build_target(row, settings), row.person) for row in rows if row.target in open_names]


@dataclass(kw_only=True)
class SubscriptionService(AuditedService):
    settings: Settings

    def find_obstacle(self) -> Message | None:
        """Why nobody can subscribe now: what is not set up."""
        if self.settings.web.public_url is None:
            return Message("subscription.no_public_url")
        return None if list_carriers(self.settings) else Message("subscription.no_target")

    async def list_admins(self) -> builtins.list[str]:
        """The people who can change that."""
        people = await self.store.people.list_all()
        return [person.name for person in people if person.role is Role.ADMIN and not person.is_shut_out]

    async def subscribe(self, form: SubscriptionForm, *, by: Actor) -> SubscriptionSchema:
        """Begin a subscription of whoever asks, and send the link that confirms it.

        `UsageError` for what cannot be subscribed to, `Conflict` where they have too many, or began too many today.
        """
        row = await self._build_row(form, by=by)
        async with self.store.transaction():
            if not await self.store.subscriptions.add(
                row, limit=MAX_SUBSCRIPTIONS, since=row.created_at - _DAY, new_limit=_MAX_NEW_SUBSCRIPTIONS
            ):
                raise Conflict("subscription.too_many", limit=MAX_SUBSCRIPTIONS, new=_MAX_NEW_SUBSCRIPTIONS)
            await self.store.deliveries.create(self._build_confirmation(row))
            await self._record(AuditAction.SUBSCRIPTION_ADD, row, by=by)
        return self._build_schema(row, None)

    async def list(self, *, by: Actor, everybody: bool = False) -> builtins.list[SubscriptionSchema]:
        """Return what whoever asks is subscribed to, or for administrators what everybody is, newest first."""
        if everybody:
            by.require(Role.ADMIN)
        rows = await self.store.subscriptions.list_present(None if everybody else by.owner)
        last = await self.store.subscriptions.load_last_deliveries([row.id or 0 for row in rows])
        return [self._build_schema(row, last.get(row.id or 0)) for row in rows]

    async def end(self, subscription_id: int, *, by: Actor) -> None:
        """End one's own subscription, or as an administrator anybody's; what is under way is not sent any more."""
        found = await self.store.subscriptions.get(subscription_id)
        if found is None or not (found[0].person == by.owner or by.has_role(Role.ADMIN)):
            raise NotFound("subscription.not_found", subscription=subscription_id)
        await self._end(found[0], by=by, ended_by=by.owner)

    async def open(self, token: str) -> SubscriptionSchema:
        """Return the subscription of a link; `NotFound` for a link that never was."""
        return self._build_schema(await self._find(token), None)

    async def confirm(self, token: str) -> None:
        """Confirm the address of a link; `Conflict` where that is too late."""
        row = await self._find(token)
        if self._get_state(row) in (SubscriptionState.LAPSED, SubscriptionState.ENDED):
            raise Conflict("subscription.over")
        async with self.store.transaction():
            if await self.store.subscriptions.confirm(row.id or 0, self.clock.now()):
                await self._record(AuditAction.SUBSCRIPTION_CONFIRM, row, by=Actor(row.person, Role.READER))

    async def end_by_link(self, token: str) -> None:
        """End the subscription of a link, whoever follows it; doing it again changes nothing."""
        row = await self._find(token)
        await self._end(row, by=Actor(row.person, Role.READER), ended_by=None)

    async def _find(self, token: str) -> Subscription:
        row = await self.store.subscriptions.find(token)
        if row is None:
            raise NotFound("subscription.unknown_link")
        return row

    async def _end(self, row: Subscription, *, by: Actor, ended_by: str | None) -> None:
        async with self.store.transaction():
            if await self.store.subscriptions.end(row.id or 0, self.clock.now(), by=ended_by):
                await self._record(AuditAction.SUBSCRIPTION_END, row, by=by, by_link=ended_by is None)

    async def _record(self, action: AuditAction, row: Subscription, *, by: Actor, **detail: bool) -> None:
        await self.record(by, action, f"{SUBSCRIPTION_PREFIX}{row.id}", person=row.person, target=row.target, **detail)

    async def _build_row(self, form: SubscriptionForm, *, by: Actor) -> Subscription:
        if (obstacle := self.find_obstacle()) is not None:
            raise UsageError(obstacle)
        carriers = list_carriers(self.settings)
        target = form.target or carriers[0]
        if target not in carriers:
            raise UsageError("subscription.closed", target=target)
        address, schedule = form.address.strip(), parse_written_schedule(form.schedule) or ""
        if not is_mail_address(address):
            raise UsageError("subscription.no_address", address=address)
        if SchedulePattern.parse(schedule).kind not in SCHEDULE_KINDS:
            raise UsageError("subscription.schedule")
        check_schedule(schedule, self.settings.timezone)
        await self._check_conditions(form)
        conditions = form.model_dump(mode="json", include=set(BriefingConditions.model_fields))
        return Subscription(
            person=by.owner,
            target=target,
            address=address,
            token=secrets.token_urlsafe(32),
            conditions=conditions,
            formats=[] if form.format == "mail" else [form.format],
            schedule=schedule,
            created_at=self.clock.now(),
        )

    async def _check_conditions(self, form: SubscriptionForm) -> None:
        """Refuse what no mail would ever have: it is composed of what belongs to all."""
        with see_as(EVERYBODY):
            await check_sources(form.sources, self.store)
            if form.topic is not None and form.topic not in (known := await self.store.briefing_facts.list_topics()):
                raise UsageError("briefing.unknown_topic", topic=form.topic, known=known or [Message("target.none")])

    def _build_confirmation(self, row: Subscription) -> Delivery:
        now = self.clock.now()
        name = f"confirmation-{format_planned_time(now)}"
        target = build_target(row, self.settings)
        delivery = create_delivery(target, DeliveryKind.CONFIRMATION, name=name, planned_at=now, now=now, team_id=None)
        delivery.person = row.person
        return delivery

    def _get_state(self, row: Subscription) -> SubscriptionState:
        if row.ended_at is not None:
            return SubscriptionState.ENDED
        if row.confirmed_at is None:
            is_late = self.clock.now() - row.created_at > _CONFIRMED_WITHIN
            return SubscriptionState.LAPSED if is_late else SubscriptionState.UNCONFIRMED
        is_open = self.find_obstacle() is None and row.target in list_carriers(self.settings)
        return SubscriptionState.ACTIVE if is_open else SubscriptionState.CLOSED

    def _build_schema(self, row: Subscription, last: Delivery | None) -> SubscriptionSchema:
        state, zone = self._get_state(row), self._get_timezone(row)
        is_active = state is SubscriptionState.ACTIVE
        return SubscriptionSchema(
            **row.model_dump(include={"id", "person", "target", "address", "schedule", "created_at"}),
            state=state,
            conditions=BriefingConditions.model_validate(row.conditions),
            format=next(iter(row.formats), "mail"),
            schedule_text=describe_schedule(row.schedule, zone),
            next_at=find_next_fire_time(row.schedule, zone, self.clock.now()) if is_active else None,
            last_at=last and (last.sent_at or last.planned_at),
            last_status=last and last.status,
            last_error=last and last.last_error,
        )

    def _get_timezone(self, row: Subscription) -> str:
        carrier = next((target for target in self.settings.deliver.targets if target.name == row.target), None)
        return (carrier and carrier.timezone) or self.settings.timezone
