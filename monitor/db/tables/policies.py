"""The tables of facts, policies with their documents and notes, deadlines with their moves, topics, and alerts."""

import datetime as dt
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, Index, Integer, String, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import StrEnumType, enum_field, instant_field, list_field, message_field, owner_field
from monitor.db.tables.teams import team_field
from monitor.document import DocumentFacts
from monitor.i18n.message import Message
from monitor.vocabulary import DeadlineKind, JoinedBy, JudgedBy, KeyRole, PolicyStage, RankDirection, Verdict


class ItemFacts(SQLModel, table=True):
    """The `DocumentFacts` of an item, read from the text with this hash; `by` says who read what code left open."""

    __tablename__ = "item_facts"

    item_id: int = owner_field("item.id", Integer(), is_key=True)
    facts: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    text_sha256: str = Field(max_length=64)
    by: JudgedBy = enum_field(JudgedBy, JudgedBy.CODE)
    read_at: dt.datetime = instant_field(is_required=True)

    @property
    def document(self) -> DocumentFacts:
        return DocumentFacts.model_validate(self.facts)


class DocumentKey(SQLModel, table=True):
    """A name or number by which documents of one policy find each other; `written` is how the document writes it."""

    __tablename__ = "document_key"

    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE")
    key: str = Field(primary_key=True, max_length=200, index=True)
    role: KeyRole = Field(sa_column=Column(StrEnumType(KeyRole), nullable=False))
    written: str = Field(default="", sa_column=Column(Text, nullable=False))


class Policy(SQLModel, table=True):
    """Documents that belong to one policy. `stage` is the furthest one reached, on the day `stage_on`.

    `key` is the name as titles are compared; `is_renamed`: a person named it.
    """

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(sa_column=Column(Text, nullable=False))
    key: str = Field(sa_column=Column(Text, nullable=False, index=True))
    is_renamed: bool = False
    stage: PolicyStage | None = enum_field(PolicyStage)
    stage_on: dt.date | None = None
    created_at: dt.datetime = instant_field(is_required=True)
    updated_at: dt.datetime = instant_field(is_required=True, index=True)


class PolicyDocument(SQLModel, table=True):
    """An item in a policy, and why. A join that was undone keeps its row, so that it is not made again by rule."""

    __tablename__ = "policy_document"

    policy_id: int = Field(primary_key=True, foreign_key="policy.id", ondelete="CASCADE")
    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE", index=True)
    stage: PolicyStage | None = enum_field(PolicyStage)
    joined_by: JoinedBy = Field(sa_column=Column(StrEnumType(JoinedBy), nullable=False))
    reason: Message = message_field(is_nullable=False, is_required=True)
    joined_at: dt.datetime = instant_field(is_required=True)
    person: str = Field(default="", max_length=100)
    removed_at: dt.datetime | None = instant_field()


class PolicyNote(SQLModel, table=True):
    __tablename__ = "policy_note"

    id: int | None = Field(default=None, primary_key=True)
    policy_id: int = owner_field("policy.id", Integer(), index=True)
    text: str = Field(sa_column=Column(Text, nullable=False))
    person: str = Field(max_length=100)
    at: dt.datetime = instant_field(is_required=True)


class Deadline(SQLModel, table=True):
    """A day that an item states. `dropped_at`: a later revision states it no more."""

    __table_args__ = (Index("ix_deadline_day", "day", "id"),)

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = owner_field("item.id", Integer(), index=True)
    kind: DeadlineKind = Field(sa_column=Column(StrEnumType(DeadlineKind), nullable=False))
    subject: str = Field(default="", max_length=300)
    day: dt.date
    passage: str = Field(default="", sa_column=Column(Text, nullable=False))
    verdict: Verdict = enum_field(Verdict, Verdict.SUPPORTED)
    seen_at: dt.datetime = instant_field(is_required=True)
    dropped_at: dt.datetime | None = instant_field()


class DeadlineMove(SQLModel, table=True):
    """A deadline that a revision moved; `before` is None where it was added, `after` where it was dropped."""

    __tablename__ = "deadline_move"

    id: int | None = Field(default=None, primary_key=True)
    deadline_id: int = owner_field("deadline.id", Integer(), index=True)
    before: dt.date | None = None
    after: dt.date | None = None
    passage: str = Field(default="", sa_column=Column(Text, nullable=False))
    run_id: str = Field(sa_column=Column(String(64), nullable=False))
    seen_at: dt.datetime = instant_field(is_required=True, index=True)


class TopicAlerts(StrEnum):
    """When followers of a topic hear of it: at once, with the next briefing alone, or never."""

    AT_ONCE = "at_once"
    BRIEFING = "briefing"
    NONE = "none"


class Topic(SQLModel, table=True):
    """What a client or team cares about. `weights` are those that feedback moved, by word; `targets` get its alerts."""

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True, max_length=200)
    team_id: int | None = team_field("topic")
    sentence: str = Field(default="", sa_column=Column(Text, nullable=False))
    words: list[str] = list_field()
    exclusions: list[str] = list_field()
    sources: list[str] = list_field()
    weights: dict[str, float] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    alerts: TopicAlerts = enum_field(TopicAlerts, TopicAlerts.BRIEFING)
    targets: list[str] = list_field()
    created_by: str = Field(default="", max_length=100)
    created_at: dt.datetime = instant_field(is_required=True)


class TopicFollower(SQLModel, table=True):
    """Somebody who follows a topic; whoever has the `calendar_key` may read the topic's deadlines as a calendar."""

    __tablename__ = "topic_follower"

    topic_id: int = Field(primary_key=True, foreign_key="topic.id", ondelete="CASCADE")
    person: str = Field(primary_key=True, foreign_key="person.name", ondelete="CASCADE", max_length=100, index=True)
    calendar_key: str = Field(unique=True, max_length=64)
    since: dt.datetime = instant_field(is_required=True)


class TopicFit(SQLModel, table=True):
    """How well an item fits a topic, 0 to 1, why, and the passage; `wish` is what people said of it."""

    __tablename__ = "topic_fit"
    __table_args__ = (Index("ix_topic_fit_match", "topic_id", "is_match", "item_id"),)

    topic_id: int = Field(primary_key=True, foreign_key="topic.id", ondelete="CASCADE")
    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE", index=True)
    score: float
    is_match: bool
    reason: Message = message_field(is_nullable=False, is_required=True)
    passage: str = Field(default="", sa_column=Column(Text, nullable=False))
    by: JudgedBy = enum_field(JudgedBy, JudgedBy.CODE)
    wish: RankDirection | None = enum_field(RankDirection)
    judged_at: dt.datetime = instant_field(is_required=True)


class TopicJudgement(SQLModel, table=True):
    """That an item was judged for the topics of that moment, from the title and text with this hash."""

    __tablename__ = "topic_judgement"

    item_id: int = owner_field("item.id", Integer(), is_key=True)
    sha256: str = Field(max_length=64)
    judged_at: dt.datetime = instant_field(is_required=True)


class AlertKind(StrEnum):
    """What people are told at once: a move, a repeal, a deadline that is near, an item that fits a topic."""

    DEADLINE_MOVED = "deadline_moved"
    DEADLINE_NEAR = "deadline_near"
    REPEALED = "repealed"
    TOPIC_MATCH = "topic_match"


class Alert(SQLModel, table=True):
    """Something to tell a target once. `key` says what it is of, so that it is raised once however often it is seen."""

    __table_args__ = (UniqueConstraint("target", "key", name="uq_alert_key"),)

    id: int | None = Field(default=None, primary_key=True)
    target: str = Field(max_length=40)
    kind: AlertKind = Field(sa_column=Column(StrEnumType(AlertKind), nullable=False))
    key: str = Field(max_length=200)
    item_id: int = owner_field("item.id", Integer(), index=True)
    topic_id: int | None = owner_field("topic.id", Integer(), is_required=False, index=True)
    message: Message = message_field(is_nullable=False, is_required=True)
    raised_at: dt.datetime = instant_field(is_required=True)
    delivery_id: str | None = Field(default=None, max_length=100, index=True)
