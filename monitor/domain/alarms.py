"""What an administrator should know of without asking: something about a source is out of the ordinary."""

import datetime as dt
from enum import StrEnum

from pydantic import BaseModel
from pydantic import Field as PlainField
from sqlalchemy import Column, String, Text
from sqlmodel import Field, SQLModel

from monitor.domain.columns import UtcDateTime, Word


class AlarmKind(StrEnum):
    """What is out of the ordinary."""

    SILENCE = "silence"
    STRUCTURE = "structure"
    DATES_LOST = "dates_lost"
    BLOCKED = "blocked"
    FAILING = "failing"
    GAP = "gap"


class Alarm(SQLModel, table=True):
    """A state, not an event: raised once when it begins, cleared when it is over.

    `section` and `section_key` are empty where the whole source is meant; `run_id` is the run that showed it first.
    """

    id: int | None = Field(default=None, primary_key=True)
    source_id: int = Field(foreign_key="source.id", ondelete="CASCADE", index=True)
    section: str = Field(default="", sa_column=Column(Text, nullable=False))
    section_key: str = Field(default="", sa_column=Column(Text, nullable=False))
    kind: AlarmKind = Field(sa_column=Column(Word(AlarmKind), nullable=False))
    message: str = Field(sa_column=Column(Text, nullable=False))
    run_id: str = Field(sa_column=Column(String(64), nullable=False, index=True))
    raised_at: dt.datetime = Field(sa_column=Column(UtcDateTime(), nullable=False))
    cleared_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime(), nullable=True))
    notified_at: dt.datetime | None = Field(default=None, sa_column=Column(UtcDateTime(), nullable=True))


class AlarmFinding(BaseModel):
    """An alarm that is due now; `section_key` empty means the whole source."""

    kind: AlarmKind
    message: str
    section: str = ""
    section_key: str = ""


class AlarmNote(BaseModel):
    """An alarm as people and their programs are told of it."""

    id: int = PlainField(examples=[7])
    source: str = PlainField(examples=["国家能源局"])
    section: str = PlainField(examples=["通知公告"])
    kind: AlarmKind = PlainField(examples=["silence"])
    message: str = PlainField(examples=["nothing new since 2026-10-01; something new usually comes every 2 days"])
    run_id: str = PlainField(examples=["s1-20261122T040000Z-ed81"])
    raised_at: dt.datetime
    cleared_at: dt.datetime | None = None
