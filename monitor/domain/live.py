"""A run as it is watched: its events in their order."""

import datetime as dt
from typing import Any

from sqlalchemy import JSON, Column, ForeignKey, Index, String
from sqlmodel import Field, SQLModel

from monitor.domain.columns import instant_field


class RunEvent(SQLModel, table=True):
    """A sign of life of a run; the numbers rise, so that whoever comes back asks for what came after the last one."""

    __tablename__ = "run_event"
    __table_args__ = (Index("ix_run_event_run_id", "run_id", "id"),)

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(sa_column=Column(String(64), ForeignKey("run.id", ondelete="CASCADE"), nullable=False))
    at: dt.datetime = instant_field(is_required=True)
    kind: str = Field(max_length=20)
    data: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
