"""What goes to a target and how it fared: the tables of delivery, and a letter as a channel carries it."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from sqlalchemy import JSON, Column, ForeignKey, String, Text
from sqlmodel import Field, SQLModel

from monitor.domain.columns import instant_field, list_field, word_field

ATTEMPTS = 10
"""So often a delivery is tried before it counts as failed."""


class DeliveryKind(StrEnum):
    """What is delivered, and on whose word: a planned briefing, one that a person asked for, an alarm, a test."""

    PLANNED = "planned"
    TYPED = "typed"
    ALARM = "alarm"
    TEST = "test"


class DeliveryStatus(StrEnum):
    """How a delivery stands. `waiting`: its sources' runs are not done; `quiet`: there was nothing to send."""

    WAITING = "waiting"
    QUEUED = "queued"
    SENT = "sent"
    QUIET = "quiet"
    FAILED = "failed"


class Delivery(SQLModel, table=True):
    """One thing for one target. Its id is made of the target and the planned time, so that it happens once.

    `key` and `message_id` are drawn when it is planned and go with every try. `accepted` are the mail addresses that
    have it already. `next_try_at` is when a worker takes it up; None for one that no worker is to take. `alarm_id` was
    set by versions that sent each alarm by itself; those of a delivery bear its `planned_at` now. `saved_id` is the
    saved briefing that was sent as it stood.
    """

    id: str = Field(primary_key=True, max_length=100)
    target: str = Field(max_length=40, index=True)
    kind: DeliveryKind = word_field(DeliveryKind, DeliveryKind.PLANNED)
    status: DeliveryStatus = word_field(DeliveryStatus, DeliveryStatus.QUEUED, index=True)
    planned_at: dt.datetime = instant_field(is_required=True)
    day: dt.date | None = None
    deadline_at: dt.datetime | None = instant_field()
    alarm_id: int | None = Field(default=None, foreign_key="alarm.id", ondelete="CASCADE")
    key: str = Field(unique=True, max_length=64)
    message_id: str = Field(max_length=300)
    accepted: list[str] = list_field()
    attempts: int = 0
    attempts_allowed: int = ATTEMPTS
    next_try_at: dt.datetime | None = instant_field()
    last_error: str | None = Field(default=None, sa_column=Column(Text))
    sent_at: dt.datetime | None = instant_field()
    saved_id: int | None = None


class BriefingRecord(SQLModel, table=True):
    """The briefing of a delivery as it was composed: what every try sends.

    `unfinished` are the sources that it waited for until its deadline in vain.
    """

    __tablename__ = "briefing_record"

    delivery_id: str = Field(
        sa_column=Column(String(100), ForeignKey("delivery.id", ondelete="CASCADE"), primary_key=True)
    )
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


class Outcome(BaseModel):
    status: DeliveryStatus
    last_error: str | None = None
    next_try_at: dt.datetime | None = None
    sent_at: dt.datetime | None = None
    accepted: list[str] = Field(default_factory=list)


@dataclass(frozen=True)
class Enclosure:
    name: str
    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Digest:
    """A letter's short form: as many points as there is room for stand between `head` and `tail`.

    `more` says, with the number put in, how many points there was no room for.
    """

    head: str
    points: Sequence[str]
    more: str
    tail: str = ""


@dataclass(frozen=True, kw_only=True)
class Letter:
    """What is sent, in the forms that channels carry: mail the texts, a webhook the payload, a chat the digest.

    `id`, `key` and `message_id` are the delivery's, the same at every try.
    """

    id: str
    key: str
    message_id: str
    target: str
    kind: DeliveryKind
    planned_at: dt.datetime
    subject: str
    text: str
    html: str
    digest: Digest
    payload: Mapping[str, Any]
    enclosures: Sequence[Enclosure] = ()
