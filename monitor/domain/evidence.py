"""What was seen and kept, what rests on it, and what a run needs to be done again from that alone."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, ForeignKey, Index, String, Text
from sqlmodel import Field, SQLModel

from monitor.domain.columns import UtcDateTime, Word, list_field
from monitor.domain.sighting import Way
from monitor.domain.words import Phase


def _of_run(*, is_key: bool = False) -> Any:
    run = ForeignKey("run.id", ondelete="CASCADE")
    return Field(sa_column=Column(String(64), run, nullable=False, primary_key=is_key))


def _at() -> Any:
    return Field(sa_column=Column(UtcDateTime(), nullable=False))


class Record(SQLModel, table=True):
    """A sighting of a run or of a research: what was asked, how and when, and what came.

    `stored_at` is the place of its WARC file in the storage; sightings of the same body share one. It is None where
    nothing came. `attempt` counts how often the run was begun or gone on with, `number` the sightings of an attempt.
    """

    __table_args__ = (
        Index("ix_record_run_id", "run_id"),
        Index("ix_record_research_id", "research_id"),
        Index("ix_record_sha256", "sha256"),
    )

    id: str = Field(primary_key=True, max_length=16)
    run_id: str | None = Field(
        default=None, sa_column=Column(String(64), ForeignKey("run.id", ondelete="CASCADE"), nullable=True)
    )
    research_id: str | None = Field(
        default=None,
        sa_column=Column(
            String(64), ForeignKey("research.id", name="fk_record_research", ondelete="CASCADE"), nullable=True
        ),
    )
    attempt: int
    number: int
    url: str = Field(sa_column=Column(Text, nullable=False))
    way: Way = Field(sa_column=Column(Word(Way), nullable=False))
    final_url: str = Field(sa_column=Column(Text, nullable=False))
    status: int | None = None
    headers: dict[str, str] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    hops: list[str] = list_field()
    is_cut_short: bool = False
    error: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    notes: dict[str, str] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    fetched_at: dt.datetime = _at()
    sha256: str | None = Field(default=None, max_length=64)
    size: int = 0
    stored_at: str | None = Field(default=None, sa_column=Column(Text))


class ClaimKind(StrEnum):
    """What of an item rests on a record: its place on a list, its page, a document, its date, its summary, a figure."""

    LIST = "list"
    PAGE = "page"
    ATTACHMENT = "attachment"
    DATE = "date"
    SUMMARY = "summary"
    FIGURE = "figure"


class Claim(SQLModel, table=True):
    """Something that an item says, and the passage of a record that bears it.

    The passage stands in the record as it is quoted, white space aside; it is empty where the whole page is meant, or
    where no passage could be told.
    """

    __table_args__ = (Index("ix_claim_item_id", "item_id"), Index("ix_claim_record_id", "record_id"))

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(sa_column=Column(ForeignKey("item.id", ondelete="CASCADE"), nullable=False))
    kind: ClaimKind = Field(sa_column=Column(Word(ClaimKind), nullable=False))
    claim: str = Field(default="", sa_column=Column(Text, nullable=False))
    record_id: str = Field(sa_column=Column(String(16), ForeignKey("record.id", ondelete="CASCADE"), nullable=False))
    passage: str = Field(default="", sa_column=Column(Text, nullable=False))


@dataclass(frozen=True)
class Links:
    """Claims to be added to items, by the items' numbers, in place of what these have of the kinds `instead_of`."""

    claims: Mapping[int, Sequence[Claim]]
    instead_of: frozenset[ClaimKind]


class Answer(SQLModel, table=True):
    """What the model said to one request of a run: a completion, or how it failed. `request` is the request's hash."""

    __table_args__ = (Index("ix_answer_run_id", "run_id"),)

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = _of_run()
    attempt: int
    request: str = Field(max_length=64)
    phase: Phase = Field(sa_column=Column(Word(Phase), nullable=False))
    place: str = Field(default="", sa_column=Column(Text, nullable=False))
    completion: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    failure: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    at: dt.datetime = _at()


class Outset(SQLModel, table=True):
    """What a run set out with, as one document: its source, what was remembered of it, and the settings that matter."""

    run_id: str = _of_run(is_key=True)
    facts: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
