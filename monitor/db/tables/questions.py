"""The tables of what people look for: their recent queries, and the questions that they asked the archive."""

import datetime as dt
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, Index, Text
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import enum_field, instant_field, message_field
from monitor.i18n.message import Message

MAX_RECENT_QUERY_CHARS = 200


class RecentQuery(SQLModel, table=True):
    """What a person entered in the search box, and when they last did."""

    __tablename__ = "recent_query"

    person: str = Field(primary_key=True, max_length=100)
    text: str = Field(primary_key=True, max_length=MAX_RECENT_QUERY_CHARS)
    at: dt.datetime = instant_field(is_required=True)


class QuestionStatus(StrEnum):
    """The states of a question. `refused`: nothing in the archive supports an answer."""

    RUNNING = "running"
    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"


class ArchiveQuestion(SQLModel, table=True):
    """A question that a person asked the archive, with its filters, and its answer once there is one.

    `updated_at` is the last sign of life of the process that answers.
    """

    __tablename__ = "archive_question"
    __table_args__ = (Index("ix_archive_question_person", "person", "asked_at"),)

    id: str = Field(primary_key=True, max_length=64)
    person: str = Field(max_length=100)
    text: str = Field(sa_column=Column(Text, nullable=False))
    language: str = Field(max_length=8)
    filters: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    status: QuestionStatus = enum_field(QuestionStatus, QuestionStatus.RUNNING)
    asked_at: dt.datetime = instant_field(is_required=True)
    updated_at: dt.datetime = instant_field(is_required=True)
    error: Message | None = message_field()
    answer: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True), nullable=True))
