"""The tables of webhooks: who is told, the events, and what became of each at each endpoint."""

import datetime as dt
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, Index, Integer, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import enum_field, instant_field, list_field, message_field, owner_field
from monitor.db.tables.teams import team_field
from monitor.i18n.message import Message


class WebhookEventType(StrEnum):
    ITEM_CREATED = "item.created"
    ITEM_CHANGED = "item.changed"
    DEADLINE_CREATED = "deadline.created"
    DEADLINE_MOVED = "deadline.moved"
    DEADLINE_DROPPED = "deadline.dropped"
    DEADLINE_NEAR = "deadline.near"
    ALARM_RAISED = "alarm.raised"
    ALARM_CLEARED = "alarm.cleared"
    RUN_ENDED = "run.ended"
    BRIEFING_CREATED = "briefing.created"
    RESEARCH_ENDED = "research.ended"
    TEST = "webhook.test"


class WebhookFormat(StrEnum):
    """The body of an event: that of Standard Webhooks, or a CloudEvent in structured JSON."""

    STANDARD = "standard"
    CLOUDEVENTS = "cloudevents"


class WebhookDeliveryStatus(StrEnum):
    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"


class WebhookEndpoint(SQLModel, table=True):
    """An address that is told of events, of all types and topics where none is named.

    `previous_secret` signs beside `secret` until `previous_until`; both are encrypted. `failing_since` is when the
    first attempt failed after the last success. Nothing is sent before `paused_until`, which the receiver asked for,
    nor to an endpoint with `disabled_at`.
    """

    __tablename__ = "webhook_endpoint"

    id: int | None = Field(default=None, primary_key=True)
    url: str = Field(sa_column=Column(Text, nullable=False))
    label: str = Field(default="", max_length=100)
    team_id: int | None = team_field("webhook_endpoint")
    types: list[str] = list_field()
    topics: list[int] = list_field()
    format: WebhookFormat = enum_field(WebhookFormat, WebhookFormat.STANDARD)
    language: str = Field(default="en", max_length=2)
    secret: str = Field(sa_column=Column(Text, nullable=False))
    previous_secret: str | None = Field(default=None, sa_column=Column(Text, nullable=True))
    previous_until: dt.datetime | None = instant_field()
    created_at: dt.datetime = instant_field(is_required=True)
    last_success_at: dt.datetime | None = instant_field()
    failing_since: dt.datetime | None = instant_field()
    paused_until: dt.datetime | None = instant_field()
    disabled_at: dt.datetime | None = instant_field()
    disabled_reason: Message | None = message_field()


class WebhookEvent(SQLModel, table=True):
    """Something that happened, stored in the transaction in which it did.

    `subject` is what it happened to, as `item:12`; the events of one subject are sent in the order of their ids. `ref`
    is the id of the item of `item.created`, of the revision of `item.changed`. From `prepared_at` on, `data` is what is
    sent, by language; None where it is nobody's business.
    """

    __tablename__ = "webhook_event"
    __table_args__ = (
        UniqueConstraint("key", name="uq_webhook_event_key"),
        Index("ix_webhook_event_subject", "subject", "id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    key: str = Field(max_length=40)
    type: WebhookEventType = enum_field(WebhookEventType, WebhookEventType.TEST)
    subject: str = Field(max_length=120)
    ref: int | None = None
    team_id: int | None = team_field("webhook_event")
    occurred_at: dt.datetime = instant_field(is_required=True, index=True)
    prepared_at: dt.datetime | None = instant_field(index=True)
    topics: list[int] = list_field()
    data: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))


class WebhookDelivery(SQLModel, table=True):
    """An event for an endpoint. `tried_since` is its first attempt; it is given up so long after that."""

    __tablename__ = "webhook_delivery"
    __table_args__ = (
        UniqueConstraint("endpoint_id", "event_id", name="uq_webhook_delivery_event"),
        Index("ix_webhook_delivery_pending", "endpoint_id", "status", "subject", "event_id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    endpoint_id: int = owner_field("webhook_endpoint.id", Integer(), name="fk_webhook_delivery_endpoint")
    event_id: int = owner_field("webhook_event.id", Integer(), index=True, name="fk_webhook_delivery_event")
    subject: str = Field(max_length=120)
    status: WebhookDeliveryStatus = enum_field(WebhookDeliveryStatus, WebhookDeliveryStatus.PENDING)
    attempts: int = 0
    tried_since: dt.datetime | None = instant_field()
    next_try_at: dt.datetime | None = instant_field()
    sent_at: dt.datetime | None = instant_field()
    last_error: Message | None = message_field()


class WebhookAttempt(SQLModel, table=True):
    """One request: the receiver's `status`, or None and why no answer came."""

    __tablename__ = "webhook_attempt"

    id: int | None = Field(default=None, primary_key=True)
    delivery_id: int = owner_field("webhook_delivery.id", Integer(), index=True, name="fk_webhook_attempt_delivery")
    at: dt.datetime = instant_field(is_required=True)
    status: int | None = None
    duration_ms: int
    error: Message | None = message_field()
