"""The tables of researches, of searches, of the service's processes, and of events."""

import datetime as dt
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, ForeignKey, Index, LargeBinary, String, Text
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import enum_field, instant_field, message_field, owner_field
from monitor.db.tables.teams import team_field
from monitor.i18n.message import Message
from monitor.vocabulary import Visibility


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
        return self not in (ResearchStatus.QUEUED, ResearchStatus.RUNNING, ResearchStatus.AWAITING_PLAN)


def _json_field(*, is_required: bool = False) -> Any:
    if is_required:
        return Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    return Field(default=None, sa_column=Column(JSON(none_as_null=True)))


class Research(SQLModel, table=True):
    """One research. `config` and `options` are what was asked beside the question, in the seed's names.

    `attempt` counts how often it was queued. `outputs` holds the results of the finished steps by their type, `state`
    the plan with its title. `asked_by` is the person who asked, or the program where no person did. A
    follow-up question is a research too: `parent_id` is the one whose report it is about, which says who may read both.
    `edition_of` is the first research of those that a schedule began.
    """

    # What lists are filtered and sorted by: SQLite would read all outputs on the way to the columns behind them.
    __table_args__ = (Index("ix_research_listed", "parent_id", "created_at", "id", "visibility", "asked_by"),)

    id: str = Field(primary_key=True, max_length=64)
    parent_id: str | None = owner_field(
        "research.id", String(64), is_required=False, index=True, name="fk_research_parent"
    )
    edition_of: str | None = Field(
        default=None,
        sa_column=Column(
            String(64), ForeignKey("research.id", ondelete="SET NULL", name="fk_research_edition"), index=True
        ),
    )
    team_id: int | None = team_field("research")
    query: str = Field(sa_column=Column(Text, nullable=False))
    language: str = Field(max_length=8)
    status: ResearchStatus = enum_field(ResearchStatus, ResearchStatus.QUEUED, index=True)
    config: dict[str, Any] = _json_field(is_required=True)
    options: dict[str, Any] = _json_field(is_required=True)
    outputs: dict[str, Any] = _json_field(is_required=True)
    state: dict[str, Any] | None = _json_field()
    attempt: int = 1
    is_plan_approved: bool = False
    is_cancel_requested: bool = False
    asked_by: str = Field(default="", max_length=100)
    visibility: Visibility = enum_field(Visibility, Visibility.PRIVATE)
    executor: str | None = None
    enqueued_at: dt.datetime | None = instant_field()
    created_at: dt.datetime = instant_field(is_required=True, index=True)
    started_at: dt.datetime | None = instant_field()
    ended_at: dt.datetime | None = instant_field()
    error: Message | None = message_field()


class ResearchSchedule(SQLModel, table=True):
    """When a research is done again, and up to which instant its planned times were dealt with."""

    __tablename__ = "research_schedule"

    task_id: str = owner_field("research.id", String(64), is_key=True)
    cron: str = Field(max_length=200)
    timezone: str = Field(max_length=64)
    dealt_until: dt.datetime = instant_field(is_required=True)


class ResearchDocument(SQLModel, table=True):
    """A document that a reader gave with a question; `number` counts from 1.

    Its bytes are in `body` from the question on until the research begins: then they are kept as evidence, and `record`
    is the id of that. A PDF has `pages`, of which some may have no text; `is_cut`: there is more than is read.
    """

    __tablename__ = "research_document"

    task_id: str = owner_field("research.id", String(64), is_key=True)
    number: int = Field(primary_key=True)
    name: str = Field(max_length=200)
    kind: str = Field(max_length=8)
    size: int
    sha256: str = Field(max_length=64)
    pages: int = 0
    pages_without_text: int = 0
    is_cut: bool = False
    uploaded_by: str = Field(max_length=100)
    uploaded_at: dt.datetime = instant_field(is_required=True)
    record: str | None = Field(default=None, max_length=16)
    body: bytes | None = Field(default=None, sa_column=Column(LargeBinary))


class ReportEdit(SQLModel, table=True):
    """A version of a report's text by an editor's hand; versions count from 1, and none is altered.

    A `text` of None is the verified one again. `own` maps each passage that the verified text does not have to the
    version that first had it.
    """

    __tablename__ = "report_edit"

    task_id: str = owner_field("research.id", String(64), is_key=True)
    version: int = Field(primary_key=True)
    text: str | None = Field(default=None, sa_column=Column(Text))
    own: dict[str, Any] = _json_field(is_required=True)
    edited_by: str = Field(max_length=100)
    edited_at: dt.datetime = instant_field(is_required=True)


class ResearchParagraph(SQLModel, table=True):
    """A paragraph of a research, as `research.state.Paragraph` writes it."""

    __tablename__ = "research_paragraph"

    task_id: str = owner_field("research.id", String(64), is_key=True)
    ordinal: int = Field(primary_key=True)
    data: dict[str, Any] = _json_field(is_required=True)


class ResearchEvent(SQLModel, table=True):
    """An event of a research's stream; the ids rise. `data` is the seed's object."""

    __tablename__ = "research_event"
    __table_args__ = (Index("ix_research_event_task_id", "task_id", "id"),)

    id: int | None = Field(default=None, primary_key=True)
    task_id: str = owner_field("research.id", String(64))
    at: dt.datetime = instant_field(is_required=True)
    data: dict[str, Any] = _json_field(is_required=True)


class ResearchRemark(SQLModel, table=True):
    """What a person said while a research ran; the latest is read by the nodes that summarise."""

    __tablename__ = "research_remark"

    id: int | None = Field(default=None, primary_key=True)
    task_id: str = owner_field("research.id", String(64), index=True)
    person: str = Field(default="", max_length=100)
    text: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = instant_field(is_required=True)


class SearchCall(SQLModel, table=True):
    """One row of the usage ledger: a request to a search service.

    `outcome` is `ok` or the error's type; `route` names the proxy and user agent, because a captcha is meant for them.
    `cost` is None where the backend has no price.
    """

    __tablename__ = "search_call"
    __table_args__ = (Index("ix_search_call_backend_at", "backend", "at"),)

    id: int | None = Field(default=None, primary_key=True)
    backend: str = Field(max_length=20)
    route: str = Field(max_length=16)
    at: dt.datetime = instant_field(is_required=True)
    outcome: str = Field(default="ok", max_length=32)
    detail_code: str | None = Field(default=None, max_length=32)
    results: int = 0
    latency_ms: int = 0
    cost: float | None = None


class SearchAnswer(SQLModel, table=True):
    """What a backend found for a query; `key` is made of all that changes the answer."""

    __tablename__ = "search_answer"

    key: str = Field(primary_key=True, max_length=64)
    at: dt.datetime = instant_field(is_required=True, index=True)
    findings: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class HostTraffic(SQLModel, table=True):
    """The requests to a host on a day, and those that were not made because the day's were used up."""

    __tablename__ = "host_traffic"

    day: dt.date = Field(primary_key=True)
    host: str = Field(primary_key=True, max_length=300)
    requests: int
    refused: int


class Executor(SQLModel, table=True):
    """A process that executes runs, until it shuts down; `token`, new with every start, tells namesakes apart."""

    id: str = Field(primary_key=True, max_length=200)
    kind: str = Field(max_length=20)
    host: str = Field(max_length=200)
    pid: int
    token: str = Field(max_length=32)
    started_at: dt.datetime = instant_field(is_required=True)
    seen_at: dt.datetime = instant_field(is_required=True)


class Lease(SQLModel, table=True):
    """A duty that one process at a time has, and renews."""

    name: str = Field(primary_key=True, max_length=40)
    holder: str = Field(max_length=240)
    renewed_at: dt.datetime = instant_field(is_required=True)


class Schedule(SQLModel, table=True):
    """Up to which instant the planned times of a source were dealt with, under the cron that it had then."""

    source_id: int = Field(primary_key=True, foreign_key="source.id", ondelete="CASCADE")
    cron: str = Field(max_length=200)
    timezone: str = Field(max_length=64)
    dealt_until: dt.datetime = instant_field(is_required=True)


class RunEvent(SQLModel, table=True):
    """An event of a run; the ids rise, so that a client resumes after the last one that it saw."""

    __tablename__ = "run_event"
    __table_args__ = (Index("ix_run_event_run_id", "run_id", "id"),)

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = owner_field("run.id", String(64))
    at: dt.datetime = instant_field(is_required=True)
    kind: str = Field(max_length=20)
    data: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class ItemTerms(SQLModel, table=True):
    """The terms of an item's title, summary and text in one line; the database indexes the column (migration 0008)."""

    __tablename__ = "item_terms"

    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE")
    terms: str = Field(sa_column=Column(Text, nullable=False))
