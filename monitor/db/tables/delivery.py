"""The tables of deliveries with their briefings, and of alarms."""

import datetime as dt
from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from pydantic import Field as PlainField
from sqlalchemy import JSON, Column, Index, String, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import StrEnumType, enum_field, instant_field, list_field, message_field, owner_field
from monitor.db.tables.teams import team_field
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel

MAX_ATTEMPTS = 10
MAX_RETRY_DELAY = dt.timedelta(days=1)
"""How often a delivery is tried before it counts as failed."""


class DeliveryKind(StrEnum):
    """What is delivered; `typed` is a briefing that a person asked for, `confirmation` the link of a subscription."""

    PLANNED = "planned"
    TYPED = "typed"
    ALARM = "alarm"
    ALERT = "alert"
    TEST = "test"
    CONFIRMATION = "confirmation"


class DeliveryStatus(StrEnum):
    """How a delivery stands. `waiting`: its sources' runs are not done; `quiet`: there was nothing to send."""

    WAITING = "waiting"
    QUEUED = "queued"
    SENT = "sent"
    QUIET = "quiet"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        return self not in (DeliveryStatus.WAITING, DeliveryStatus.QUEUED)


class Delivery(SQLModel, table=True):
    """A message for one target. Its id is made of the target and the planned time, so that it happens once.

    `key` and `message_id` are drawn when it is planned and sent with every try. `accepted` are the mail addresses that
    have it already. `next_try_at` is None where no worker is to take it. `alarm_id` was set by versions that sent each
    alarm by itself; now the alarms of a delivery have its `planned_at`. `saved_id` is the saved briefing that was sent,
    `test_to` the one address that gets it as a test in place of the target's. `person` is whose subscription it is of:
    nobody else reads it.
    """

    # As lists are read: the latest first, all or those of one target or status.
    __table_args__ = (
        Index("ix_delivery_planned_at", "planned_at", "id"),
        Index("ix_delivery_target", "target", "planned_at", "id"),
        Index("ix_delivery_status", "status", "planned_at", "id"),
    )

    id: str = Field(primary_key=True, max_length=100)
    target: str = Field(max_length=40)
    team_id: int | None = team_field("delivery")
    kind: DeliveryKind = enum_field(DeliveryKind, DeliveryKind.PLANNED)
    status: DeliveryStatus = enum_field(DeliveryStatus, DeliveryStatus.QUEUED)
    planned_at: dt.datetime = instant_field(is_required=True)
    day: dt.date | None = None
    deadline_at: dt.datetime | None = instant_field()
    alarm_id: int | None = Field(default=None, foreign_key="alarm.id", ondelete="CASCADE", index=True)
    key: str = Field(unique=True, max_length=64)
    message_id: str = Field(max_length=300)
    accepted: list[str] = list_field()
    attempts: int = 0
    attempts_allowed: int = MAX_ATTEMPTS
    next_try_at: dt.datetime | None = instant_field(index=True)
    last_error: Message | None = message_field()
    sent_at: dt.datetime | None = instant_field()
    saved_id: int | None = None
    test_to: str | None = Field(default=None, max_length=320)
    person: str | None = Field(default=None, max_length=100)


class BriefingRecord(SQLModel, table=True):
    """The briefing of a delivery, composed once; `unfinished` are the sources whose runs missed its deadline."""

    __tablename__ = "briefing_record"

    delivery_id: str = owner_field("delivery.id", String(100), is_key=True)
    composed_at: dt.datetime = instant_field(is_required=True)
    briefing: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    unfinished: list[str] = list_field()


class DeliveryPlan(SQLModel, table=True):
    """Up to which instant the planned times of a target were dealt with, under the cron that it had then."""

    __tablename__ = "delivery_plan"

    target: str = Field(primary_key=True, max_length=40)
    cron: str = Field(max_length=200)
    timezone: str = Field(max_length=64)
    dealt_until: dt.datetime = instant_field(is_required=True)


class Subscription(SQLModel, table=True):
    """A briefing that a person gets at their own mail address, through a target that is open for it.

    Nothing but the link that confirms goes to `address` before `confirmed_at`. `token` is the secret part of that link
    and of the one that ends the subscription; every mail carries it, so that it is kept as it is. `conditions` say what
    the briefing is of. `ended_by` is None where the link ended it.
    """

    __table_args__ = (UniqueConstraint("token", name="uq_subscription_token"),)

    id: int | None = Field(default=None, primary_key=True)
    person: str = owner_field("person.name", String(100), index=True)
    target: str = Field(max_length=40)
    address: str = Field(max_length=320)
    token: str = Field(max_length=64)
    conditions: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    formats: list[str] = list_field()
    schedule: str = Field(max_length=200)
    created_at: dt.datetime = instant_field(is_required=True)
    confirmed_at: dt.datetime | None = instant_field()
    ended_at: dt.datetime | None = instant_field(index=True)
    ended_by: str | None = Field(default=None, max_length=100)


class DeliveryOutcome(BaseModel):
    status: DeliveryStatus
    last_error: Message | None = None
    next_try_at: dt.datetime | None = None
    sent_at: dt.datetime | None = None
    accepted: list[str] = Field(default_factory=list)


class AlarmKind(StrEnum):
    SILENCE = "silence"
    STRUCTURE = "structure"
    DATES_LOST = "dates_lost"
    BLOCKED = "blocked"
    FAILING = "failing"
    GAP = "gap"
    DRIFT = "drift"


class Alarm(SQLModel, table=True):
    """A state, raised when it begins and cleared when it is over; without a section it means the whole source."""

    id: int | None = Field(default=None, primary_key=True)
    source_id: int = Field(foreign_key="source.id", ondelete="CASCADE", index=True)
    section: str = Field(default="", sa_column=Column(Text, nullable=False))
    section_key: str = Field(default="", sa_column=Column(Text, nullable=False))
    kind: AlarmKind = Field(sa_column=Column(StrEnumType(AlarmKind), nullable=False))
    message: Message = message_field(is_nullable=False, is_required=True)
    run_id: str = Field(sa_column=Column(String(64), nullable=False, index=True))
    raised_at: dt.datetime = instant_field(is_required=True)
    cleared_at: dt.datetime | None = instant_field(index=True)
    notified_at: dt.datetime | None = instant_field(index=True)


class AlarmFinding(BaseModel):
    """An alarm that is due now; an empty `section_key` means the whole source."""

    kind: AlarmKind
    message: Message
    section: str = ""
    section_key: str = ""


class AlarmView(MessageModel):
    """An alarm with the name of its source, as the API returns it."""

    id: int = PlainField(examples=[7])
    source: str = PlainField(examples=["国家能源局"])
    section: str = PlainField(examples=["通知公告"])
    kind: AlarmKind = PlainField(examples=["silence"])
    message: Message = PlainField(examples=["nothing new since 2026-10-01; something new usually comes every 2 days"])
    run_id: str = PlainField(examples=["s1-20261122T040000Z-ed81"])
    raised_at: dt.datetime
    cleared_at: dt.datetime | None = None
