"""The service as a whole: which processes are at work, who has which duty, how far the schedules were dealt with."""

import datetime as dt

from sqlmodel import Field, SQLModel

from monitor.domain.columns import instant_field


class Executor(SQLModel, table=True):
    """A process that carries out runs, and when it was last seen alive; gone when it ended in good order.

    `token` is new with every start, so that two processes of one name are told apart.
    """

    id: str = Field(primary_key=True, max_length=200)
    kind: str = Field(max_length=20)
    host: str = Field(max_length=200)
    pid: int
    token: str = Field(max_length=32)
    started_at: dt.datetime = instant_field(is_required=True)
    seen_at: dt.datetime = instant_field(is_required=True)


class Lease(SQLModel, table=True):
    """A duty that one process at a time has; whoever has it renews it for as long as it lives."""

    name: str = Field(primary_key=True, max_length=40)
    holder: str = Field(max_length=240)
    renewed_at: dt.datetime = instant_field(is_required=True)


class Schedule(SQLModel, table=True):
    """Up to which instant the planned times of a source were dealt with, under the cron that it had then."""

    source_id: int = Field(primary_key=True, foreign_key="source.id", ondelete="CASCADE")
    cron: str = Field(max_length=200)
    timezone: str = Field(max_length=64)
    dealt_until: dt.datetime = instant_field(is_required=True)
