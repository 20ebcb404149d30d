"""The tables: sources, what is known of their sections and urls, runs with their ledger, items, and model calls.

Instants are UTC with their zone, publication dates plain dates. Lists are JSON columns; closed vocabularies are stored
as their words.
"""

import datetime as dt
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, Column, DateTime, Dialect, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field, SQLModel

from monitor.domain.words import (
    DateSource,
    Disposition,
    ItemType,
    Phase,
    Render,
    RunStatus,
    SavedBy,
    SectionEnd,
    SourceKind,
    SummaryBy,
)


class UtcDateTime(TypeDecorator[dt.datetime]):
    """An instant: SQLite forgets the zone, so it is stored as UTC and handed back as UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """To UTC; a naive instant is a mistake of ours."""
        del dialect
        if value is not None and value.tzinfo is None:
            raise ValueError(f"an instant without a time zone: {value}")
        return None if value is None else value.astimezone(dt.UTC)

    def process_result_value(self, value: dt.datetime | None, dialect: Dialect) -> dt.datetime | None:
        """With its zone again."""
        del dialect
        if value is None:
            return None
        return value.replace(tzinfo=dt.UTC) if value.tzinfo is None else value.astimezone(dt.UTC)


class Word(TypeDecorator[StrEnum]):
    """A member of a closed vocabulary, stored as its word."""

    impl = String(32)
    cache_ok = True

    def __init__(self, vocabulary: type[StrEnum]) -> None:
        super().__init__()
        self.vocabulary = vocabulary

    def process_bind_param(self, value: StrEnum | str | None, dialect: Dialect) -> str | None:
        """To its word."""
        del dialect
        return None if value is None else str(self.vocabulary(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> StrEnum | None:
        """Back to the member."""
        del dialect
        return None if value is None else self.vocabulary(value)


def _word(vocabulary: type[StrEnum], default: StrEnum | None = None, *, index: bool = False) -> Any:
    column: Column[Any] = Column(Word(vocabulary), nullable=default is None, index=index)
    return Field(default=default, sa_column=column)


def _list() -> Any:
    return Field(default_factory=list, sa_column=Column(JSON, nullable=False))


def _instant(*, is_required: bool = False) -> Any:
    column: Column[Any] = Column(UtcDateTime(), nullable=not is_required)
    return Field(sa_column=column) if is_required else Field(default=None, sa_column=column)


def _run_id(*, index: bool = True) -> Any:
    return Field(sa_column=Column(String(64), ForeignKey("run.id", ondelete="CASCADE"), nullable=False, index=index))


class Source(SQLModel, table=True):
    """What is watched, the administrator's wishes for it, and its health. None = the setting of the service."""

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True, max_length=200)
    url: str = Field(sa_column=Column(Text, nullable=False))
    kind: SourceKind = _word(SourceKind, SourceKind.SITE)
    focus_areas: list[str] = _list()
    rules: str = Field(default="", sa_column=Column(Text, nullable=False))
    sections: list[dict[str, str]] = _list()
    schedule: str | None = None
    timezone: str | None = None
    window_days: int | None = None
    max_items: int | None = None
    render: Render | None = _word(Render)
    keywords_include: list[str] = _list()
    keywords_exclude: list[str] = _list()
    allow_other_hosts: bool = True
    tags: list[str] = _list()
    language: str | None = None
    summary_language: str = "zh"
    enabled: bool = True
    created_at: dt.datetime = _instant(is_required=True)
    last_run_at: dt.datetime | None = _instant()
    last_success_at: dt.datetime | None = _instant()
    last_new_item_at: dt.datetime | None = _instant()
    consecutive_failures: int = 0
    last_error: str | None = Field(default=None, sa_column=Column(Text))


class SeededSource(SQLModel, table=True):
    """The name of a source of config.yaml that was created once; deleted, it does not come back."""

    __tablename__ = "seeded_source"

    name: str = Field(primary_key=True, max_length=200)


class Section(SQLModel, table=True):
    """What is remembered of a section from run to run.

    `last_complete_on` is the day of the last run that reached everything in range; `is_unfinished` that the latest run
    did not; `tail_date` the date at the end of what was ever read, so that an older url that turns up above it is late.
    """

    __table_args__ = (UniqueConstraint("source_id", "url_key"),)

    id: int | None = Field(default=None, primary_key=True)
    source_id: int = Field(foreign_key="source.id", ondelete="CASCADE", index=True)
    name: str = Field(sa_column=Column(Text, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    url_key: str = Field(sa_column=Column(Text, nullable=False))
    last_complete_on: dt.date | None = None
    is_unfinished: bool = False
    tail_date: dt.date | None = None
    last_read_at: dt.datetime | None = _instant()


class KnownUrl(SQLModel, table=True):
    """A url that was ever seen on a list page of the source, with the date that it had then. Never pruned."""

    __tablename__ = "known_url"

    source_id: int = Field(primary_key=True, foreign_key="source.id", ondelete="CASCADE")
    url_key: str = Field(sa_column=Column(Text, primary_key=True))
    first_seen: dt.datetime = _instant(is_required=True)
    is_item: bool = False
    date: dt.date | None = None
    date_source: DateSource = _word(DateSource, DateSource.UNKNOWN)


class OverLimit(SQLModel, table=True):
    """A candidate in range that a run had no room for: it comes first in the section's next run, then the row goes."""

    __tablename__ = "over_limit"

    source_id: int = Field(primary_key=True, foreign_key="source.id", ondelete="CASCADE")
    url_key: str = Field(sa_column=Column(Text, primary_key=True))
    section_key: str = Field(sa_column=Column(Text, nullable=False))
    position: int = 0
    candidate: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class Run(SQLModel, table=True):
    """One execution of a source. The id is made of the source and the planned time, so that it happens once."""

    id: str = Field(primary_key=True, max_length=64)
    source_id: int | None = Field(default=None, foreign_key="source.id", ondelete="SET NULL", index=True)
    source: str = Field(sa_column=Column(Text, nullable=False))
    status: RunStatus = _word(RunStatus, RunStatus.QUEUED, index=True)
    planned_at: dt.datetime = _instant(is_required=True)
    started_at: dt.datetime | None = _instant()
    ended_at: dt.datetime | None = _instant()
    since: dt.date | None = None
    until: dt.date | None = None
    is_baseline: bool = False
    is_cancel_requested: bool = False
    error: str | None = Field(default=None, sa_column=Column(Text))


class Fallback(SQLModel, table=True):
    """Something in a run that fell back, was cut short or failed: phase, place and reason."""

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = _run_id()
    phase: Phase = _word(Phase, Phase.CRAWL)
    where: str = Field(sa_column=Column("place", Text, nullable=False))
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = _instant(is_required=True)


class RunSection(SQLModel, table=True):
    """A section as one run read it, and how often the agent's saves were refused or its dates corrected."""

    __tablename__ = "run_section"

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = _run_id()
    ordinal: int
    name: str = Field(sa_column=Column(Text, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    found_by: SavedBy = _word(SavedBy, SavedBy.RULE)
    ended: SectionEnd | None = _word(SectionEnd)
    pages: int = 0
    candidates: int = 0
    refused_saves: int = 0
    corrected_dates: int = 0


class CandidateRecord(SQLModel, table=True):
    """One row of a run's ledger: a candidate on a list page and what became of it."""

    __tablename__ = "candidate"
    __table_args__ = (Index("ix_candidate_run_section", "run_id", "section"),)

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = _run_id(index=False)
    section: int = Field(description="the run section's ordinal")
    position: int
    page_url: str = Field(sa_column=Column(Text, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    url_key: str = Field(sa_column=Column(Text, nullable=False))
    title: str = Field(sa_column=Column(Text, nullable=False))
    date: dt.date | None = None
    date_source: DateSource = _word(DateSource, DateSource.UNKNOWN)
    disposition: Disposition = _word(Disposition, Disposition.LEFT)
    reason: str = Field(default="", sa_column=Column(Text, nullable=False))
    item_id: int | None = Field(default=None, foreign_key="item.id", ondelete="SET NULL")


class Unseen(SQLModel, table=True):
    """A section or list page that a run did not read, and why."""

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = _run_id()
    section: str = Field(sa_column=Column(Text, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    reason: str = Field(sa_column=Column(Text, nullable=False))


class Item(SQLModel, table=True):
    """A candidate that was saved. `rank` is its place within the run that saved it, 1 the most important.

    `date` is the list's where the list has one; `page_date` is what the article itself states, which may differ.
    """

    __table_args__ = (UniqueConstraint("source_id", "url_key"),)

    id: int | None = Field(default=None, primary_key=True)
    source_id: int | None = Field(default=None, foreign_key="source.id", ondelete="SET NULL", index=True)
    run_id: str = Field(max_length=64, index=True)
    source: str = Field(sa_column=Column(Text, nullable=False))
    section: str = Field(sa_column=Column(Text, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    url_key: str = Field(sa_column=Column(Text, nullable=False))
    title: str = Field(sa_column=Column(Text, nullable=False))
    date: dt.date | None = Field(default=None, index=True)
    date_source: DateSource = _word(DateSource, DateSource.UNKNOWN)
    page_date: dt.date | None = None
    type: ItemType = _word(ItemType, ItemType.OTHER)
    summary: str = Field(default="", sa_column=Column(Text, nullable=False))
    summary_by: SummaryBy = _word(SummaryBy, SummaryBy.NONE)
    rank: int | None = None
    tier: int | None = None
    by: SavedBy = _word(SavedBy, SavedBy.RULE)
    late: bool = False
    is_repost: bool = False
    document_number: str | None = None
    issuer: str | None = None
    language: str | None = None
    first_seen: dt.datetime = _instant(is_required=True)
    attachments: list[dict[str, str]] = _list()

    @property
    def date_conflict(self) -> dt.date | None:
        """The article's date where it is another one than the list's; None where they agree or one is missing."""
        return self.page_date if self.date is not None and self.page_date != self.date else None


class ItemText(SQLModel, table=True):
    """The text of an item's page, apart from the item so that lists do not load it."""

    __tablename__ = "item_text"

    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE")
    text: str = Field(sa_column=Column(Text, nullable=False))


class ModelCall(SQLModel, table=True):
    """One row of the usage ledger."""

    __tablename__ = "model_call"

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(max_length=64, index=True)
    phase: Phase = _word(Phase, Phase.CRAWL)
    place: str = Field(default="", sa_column=Column(Text, nullable=False))
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    context_chars: int = 0
    latency_ms: int = 0
    outcome: str = "ok"
    at: dt.datetime = _instant(is_required=True)
