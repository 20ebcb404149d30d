"""Researches: a question, how far its answer is, and what it told on the way."""

import datetime as dt
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, ForeignKey, Index, String, Text
from sqlmodel import Field, SQLModel

from monitor.domain.columns import UtcDateTime, instant_field, word_field


class ResearchStatus(StrEnum):
    """The states of a research. `degraded`: it has a report, and something on the way fell back."""

    QUEUED = "queued"
    RUNNING = "running"
    AWAITING_PLAN = "awaiting_plan"
    SUCCEEDED = "succeeded"
    DEGRADED = "degraded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether a research in this state has ended."""
        return self not in (ResearchStatus.QUEUED, ResearchStatus.RUNNING, ResearchStatus.AWAITING_PLAN)


def _json(*, is_required: bool = False) -> Any:
    if is_required:
        return Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    return Field(default=None, sa_column=Column(JSON(none_as_null=True)))


def _task(*, is_key: bool = False, index: bool = False) -> Any:
    owner = ForeignKey("research.id", ondelete="CASCADE")
    return Field(sa_column=Column(String(64), owner, nullable=False, primary_key=is_key, index=index))


class Research(SQLModel, table=True):
    """One research. `config` and `options` are what was asked beside the question, in the seed's names.

    `attempt` counts how often it was put into the queue: once more each time it goes on after waiting for its plan.
    `outputs` holds what the finished steps gave, by the step's type; `state` the plan with its title; the paragraphs
    have rows of their own. `asked_by` is the person or program that asked.
    """

    id: str = Field(primary_key=True, max_length=64)
    query: str = Field(sa_column=Column(Text, nullable=False))
    language: str = Field(max_length=8)
    status: ResearchStatus = word_field(ResearchStatus, ResearchStatus.QUEUED, index=True)
    config: dict[str, Any] = _json(is_required=True)
    options: dict[str, Any] = _json(is_required=True)
    outputs: dict[str, Any] = _json(is_required=True)
    state: dict[str, Any] | None = _json()
    attempt: int = 1
    is_plan_approved: bool = False
    is_cancel_requested: bool = False
    asked_by: str = Field(default="", max_length=100)
    executor: str | None = None
    enqueued_at: dt.datetime | None = instant_field()
    created_at: dt.datetime = Field(sa_column=Column(UtcDateTime(), nullable=False, index=True))
    started_at: dt.datetime | None = instant_field()
    ended_at: dt.datetime | None = instant_field()
    error: str | None = Field(default=None, sa_column=Column(Text))


class ResearchParagraph(SQLModel, table=True):
    """A paragraph of a research as it stands, as `research.state.Paragraph` writes it."""

    __tablename__ = "research_paragraph"

    task_id: str = _task(is_key=True)
    ordinal: int = Field(primary_key=True)
    data: dict[str, Any] = _json(is_required=True)


class ResearchEvent(SQLModel, table=True):
    """A message of a research's stream; the numbers rise. `data` is the seed's object."""

    __tablename__ = "research_event"
    __table_args__ = (Index("ix_research_event_task_id", "task_id", "id"),)

    id: int | None = Field(default=None, primary_key=True)
    task_id: str = _task()
    at: dt.datetime = instant_field(is_required=True)
    data: dict[str, Any] = _json(is_required=True)


class ResearchRemark(SQLModel, table=True):
    """What a person said while a research ran; the latest is read by the nodes that summarise."""

    __tablename__ = "research_remark"

    id: int | None = Field(default=None, primary_key=True)
    task_id: str = _task(index=True)
    person: str = Field(default="", max_length=100)
    text: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = instant_field(is_required=True)
