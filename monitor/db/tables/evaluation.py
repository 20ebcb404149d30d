"""The tables of evaluations: what was compared, what each model did, and which summaries people preferred."""

import datetime as dt
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, String, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import StrEnumType, enum_field, instant_field, list_field, message_field, owner_field
from monitor.i18n.message import Message
from monitor.vocabulary import Phase


class EvaluationStatus(StrEnum):
    """The states of an evaluation. `stopped`: its budget is spent or somebody stopped it; it can go on."""

    QUEUED = "queued"
    RUNNING = "running"
    STOPPED = "stopped"
    FAILED = "failed"
    DONE = "done"

    @property
    def is_active(self) -> bool:
        return self in (EvaluationStatus.QUEUED, EvaluationStatus.RUNNING)


class Evaluation(SQLModel, table=True):
    """A comparison of models, and of prompts, on recorded runs.

    `contenders` are objects with `model` and `prompts`; `prompts` holds the replaced wordings by the name of each set,
    as they were at the start. `samples` are the recorded runs with the ids of their items, chosen at the start; `gaps`
    say what could not be measured in them.
    `fingerprint` is the hash of the parameters: the same ones go on with what was not finished. `seed` decides on which
    side a summary of a blind pair stands. `lost_cost` is what calls may have cost whose answers were never received.
    """

    id: str = Field(primary_key=True, max_length=64)
    status: EvaluationStatus = enum_field(EvaluationStatus, EvaluationStatus.QUEUED, index=True)
    fingerprint: str = Field(max_length=64, index=True)
    contenders: list[dict[str, str]] = list_field()
    prompts: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    samples: list[dict[str, Any]] = list_field()
    max_items: int
    budget: float | None = None
    lost_cost: float = 0.0
    seed: str = Field(max_length=64)
    gaps: list[dict[str, Any]] = list_field()
    total: int = 0
    attempt: int = 1
    is_stop_requested: bool = False
    asked_by: str = Field(default="", max_length=100)
    executor: str | None = Field(default=None, max_length=200)
    enqueued_at: dt.datetime | None = instant_field()
    created_at: dt.datetime = instant_field(is_required=True, index=True)
    started_at: dt.datetime | None = instant_field()
    ended_at: dt.datetime | None = instant_field()
    reason: Message | None = message_field()

    @property
    def workflow_id(self) -> str:
        """Its id in the queue, another one for each attempt."""
        return f"{self.id}:{self.attempt}"


class EvaluationPiece(SQLModel, table=True):
    """What one contender did with one thing: a home page, a section, an item or the items of a run.

    `run_id` is the recorded run, which may be gone since. `measured` is None while the piece is not finished; until
    then `reserved_cost` is what the call under way may cost at most.
    """

    __tablename__ = "evaluation_piece"
    __table_args__ = (
        UniqueConstraint("evaluation_id", "contender", "run_id", "phase", "place", name="uq_evaluation_piece"),
    )

    id: int | None = Field(default=None, primary_key=True)
    evaluation_id: str = owner_field("evaluation.id", String(64), index=True)
    contender: int
    run_id: str = Field(max_length=64)
    phase: Phase = Field(sa_column=Column(StrEnumType(Phase), nullable=False))
    place: str = Field(sa_column=Column(Text, nullable=False))
    measured: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    reserved_cost: float = 0.0
    at: dt.datetime = instant_field(is_required=True)


class PairChoice(SQLModel, table=True):
    """Which of two summaries of an item a person preferred, without knowing whose they were; None: neither."""

    __tablename__ = "pair_choice"
    __table_args__ = (UniqueConstraint("evaluation_id", "pair", "person", name="uq_pair_choice"),)

    id: int | None = Field(default=None, primary_key=True)
    evaluation_id: str = owner_field("evaluation.id", String(64), index=True)
    pair: str = Field(max_length=32)
    item_id: int
    first: int
    second: int
    preferred: int | None = None
    person: str = Field(default="", max_length=100)
    at: dt.datetime = instant_field(is_required=True)
