"""The tables of sources with their sections and urls, of runs with their ledger, of items, and of model calls."""

import datetime as dt
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Date, Index, Integer, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.orm import validates
from sqlmodel import Field, SQLModel, col

from monitor.db.tables.columns import (
    StrEnumType,
    derived_field,
    enum_field,
    instant_field,
    list_field,
    message_field,
    owner_field,
)
from monitor.db.tables.teams import team_field
from monitor.i18n.message import Message
from monitor.vocabulary import (
    DateSource,
    Disposition,
    ItemType,
    Phase,
    RankDirection,
    Render,
    RunStatus,
    SavedBy,
    SectionEnd,
    SourceKind,
    SummaryBy,
)

_NO_SOURCE = text("source_id IS NULL")
_IS_STALE = text("is_summary_stale")
_HAS_TEAM = text("team_id IS NOT NULL")


class Source(SQLModel, table=True):
    """A source, its settings, and its health. A setting that is None has the default of the service.

    `recipes` are `SectionRecipe`s of its sections, `steps` what the browser does to log in.
    """

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(unique=True, max_length=200)
    team_id: int | None = team_field("source")
    url: str = Field(sa_column=Column(Text, nullable=False))
    kind: SourceKind = enum_field(SourceKind, SourceKind.SITE)
    focus_areas: list[str] = list_field()
    rules: str = Field(default="", sa_column=Column(Text, nullable=False))
    sections: list[dict[str, str]] = list_field()
    recipes: list[dict[str, Any]] = list_field()
    steps: list[dict[str, Any]] = list_field()
    schedule: str | None = None
    timezone: str | None = None
    window_days: int | None = None
    max_items: int | None = None
    render: Render | None = enum_field(Render)
    keywords_include: list[str] = list_field()
    keywords_exclude: list[str] = list_field()
    allow_other_hosts: bool = True
    tags: list[str] = list_field()
    language: str | None = None
    summary_language: str = "zh"
    enabled: bool = True
    created_at: dt.datetime = instant_field(is_required=True)
    last_run_at: dt.datetime | None = instant_field()
    last_success_at: dt.datetime | None = instant_field()
    last_new_item_at: dt.datetime | None = instant_field()
    consecutive_failures: int = 0
    last_error: Message | None = message_field()


class SeededSource(SQLModel, table=True):
    """The name of a source of config.yaml that was created once, so that it does not come back once deleted."""

    __tablename__ = "seeded_source"

    name: str = Field(primary_key=True, max_length=200)


class SourceSection(SQLModel, table=True):
    """What is remembered of a section from run to run.

    `last_complete_on` is the day of the last run that reached everything in range; `is_unfinished`: the latest one did
    not. `tail_date` is the oldest date that was ever read: an older url that appears above it is late. `head` are the
    keys of the newest urls when the list was last read, `arrivals` the latest days on which something new came, oldest
    first. `drifted_on` is the day since which the section's recipe has not fitted its page.
    """

    __tablename__ = "section"

    __table_args__ = (UniqueConstraint("source_id", "url_key"),)

    id: int | None = Field(default=None, primary_key=True)
    source_id: int = Field(foreign_key="source.id", ondelete="CASCADE", index=True)
    name: str = Field(sa_column=Column(Text, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    url_key: str = Field(sa_column=Column(Text, nullable=False))
    last_complete_on: dt.date | None = None
    is_unfinished: bool = False
    tail_date: dt.date | None = None
    last_read_at: dt.datetime | None = instant_field()
    drifted_on: dt.date | None = None
    head: list[str] = list_field()
    arrivals: list[str] = list_field()


class SiteMemoryRecord(SQLModel, table=True):
    """What is remembered of a host's pages, a `SiteMemory`, and the `SiteRepeats` that follow from it."""

    __tablename__ = "site_memory"

    source_id: int = Field(primary_key=True, foreign_key="source.id", ondelete="CASCADE")
    host: str = Field(sa_column=Column(Text, primary_key=True))
    pages: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    repeats: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class KnownUrl(SQLModel, table=True):
    """A url that was seen on a list page of the source, with the date that it had then. Never pruned."""

    __tablename__ = "known_url"

    source_id: int = Field(primary_key=True, foreign_key="source.id", ondelete="CASCADE")
    url_key: str = Field(sa_column=Column(Text, primary_key=True))
    first_seen: dt.datetime = instant_field(is_required=True)
    is_item: bool = False
    date: dt.date | None = None
    date_source: DateSource = enum_field(DateSource, DateSource.UNKNOWN)


class OverLimit(SQLModel, table=True):
    """A candidate in range that a run had no room for; it comes first in the section's next run."""

    __tablename__ = "over_limit"

    source_id: int = Field(primary_key=True, foreign_key="source.id", ondelete="CASCADE")
    url_key: str = Field(sa_column=Column(Text, primary_key=True))
    section_key: str = Field(sa_column=Column(Text, nullable=False))
    position: int = 0
    candidate: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))


class Run(SQLModel, table=True):
    """One execution of a source. The id is made of the source and the planned time, so that it happens once.

    `executor` is the process that took it last. `enqueued_at` is None for a queued run that no worker has noticed yet.
    `retry_from` is the phase from which it is to be repeated.
    """

    __table_args__ = (
        # As lists are read: the latest first, all or those of one source or status.
        Index("ix_run_planned_at", "planned_at", "id"),
        Index("ix_run_source_id", "source_id", "planned_at", "id"),
        Index("ix_run_status", "status", "planned_at", "id"),
        Index(
            "ix_run_of_no_source", "source", "planned_at", "id", sqlite_where=_NO_SOURCE, postgresql_where=_NO_SOURCE
        ),
    )

    id: str = Field(primary_key=True, max_length=64)
    source_id: int | None = Field(default=None, foreign_key="source.id", ondelete="SET NULL")
    source: str = Field(sa_column=Column(Text, nullable=False))
    team_id: int | None = team_field("run")
    status: RunStatus = enum_field(RunStatus, RunStatus.QUEUED)
    planned_at: dt.datetime = instant_field(is_required=True)
    started_at: dt.datetime | None = instant_field()
    ended_at: dt.datetime | None = instant_field()
    since: dt.date | None = None
    until: dt.date | None = None
    is_baseline: bool = False
    is_cancel_requested: bool = False
    executor: str | None = None
    enqueued_at: dt.datetime | None = instant_field()
    retry_from: Phase | None = enum_field(Phase)
    error: Message | None = message_field()


class Fallback(SQLModel, table=True):
    """Something in a run that fell back, was cut short or failed."""

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = owner_field("run.id", String(64), index=True)
    phase: Phase = enum_field(Phase, Phase.CRAWL)
    where: str = Field(sa_column=Column("place", Text, nullable=False))
    reason: Message = message_field(is_nullable=False, is_required=True)
    at: dt.datetime = instant_field(is_required=True)


class Reading(SQLModel, table=True):
    """The ledger of a section, which every run that read the same shares.

    `hash` is that of its candidates, `rows` their number, `counts` how many have which disposition. `last_used_at` is
    a day behind at most.
    """

    __table_args__ = (UniqueConstraint("source_id", "hash", name="uq_reading_hash"),)

    id: int | None = Field(default=None, primary_key=True)
    source_id: int | None = Field(default=None, foreign_key="source.id", ondelete="SET NULL")
    hash: str = Field(max_length=64)
    rows: int
    counts: dict[str, int] = Field(sa_column=Column(JSON, nullable=False))
    last_used_at: dt.datetime = instant_field(is_required=True, index=True)


class RunSection(SQLModel, table=True):
    """A section as one run read it, and how often the agent's saves were refused or its dates corrected.

    `reading_id` names its ledger, None where no candidate was read. `listed` counts the candidates on its first page,
    None where that was not seen, `listed_dated` those with a date. `is_gap`: none of the newest urls of last time was
    on the first pages. `error` says why the reading ended `error`.
    """

    __tablename__ = "run_section"

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = owner_field("run.id", String(64), index=True)
    ordinal: int
    name: str = Field(sa_column=Column(Text, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    found_by: SavedBy = enum_field(SavedBy, SavedBy.RULE)
    ended: SectionEnd | None = enum_field(SectionEnd)
    pages: int = 0
    candidates: int = 0
    refused_saves: int = 0
    corrected_dates: int = 0
    listed: int | None = None
    listed_dated: int = 0
    is_gap: bool = False
    error: Message | None = message_field(is_nullable=False)
    reading_id: int | None = Field(default=None, foreign_key="reading.id", index=True)


class CandidateRecord(SQLModel, table=True):
    """One row of a reading: a candidate on a list page and what became of it."""

    __tablename__ = "candidate"

    id: int | None = Field(default=None, primary_key=True)
    reading_id: int = owner_field("reading.id", Integer(), index=True)
    position: int
    page_url: str = Field(sa_column=Column(Text, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    title: str = Field(sa_column=Column(Text, nullable=False))
    date: dt.date | None = None
    date_source: DateSource = enum_field(DateSource, DateSource.UNKNOWN)
    disposition: Disposition = enum_field(Disposition, Disposition.LEFT)
    reason: Message | None = message_field(is_nullable=False)
    item_id: int | None = Field(default=None, foreign_key="item.id", ondelete="SET NULL")


class Unseen(SQLModel, table=True):
    """A section or list page that a run did not read, and why."""

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = owner_field("run.id", String(64), index=True)
    section: str = Field(sa_column=Column(Text, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    reason: Message = message_field(is_nullable=False, is_required=True)


class Item(SQLModel, table=True):
    """A candidate that was saved. `rank` is its place within the run that saved it, 1 the most important.

    `evidence` are the ids of the records that it rests on, that of its list page first; `moved` says how feedback moved
    it when its run was ranked, `rank_reason` why it stands there; `importance` is the label of a model, 0 to 100, which
    holds for rankings to come. `date` is the list's where the list has one; `page_date` is what the article states.
    `day`, by which lists are ordered, is the date, or the day of first sight where that is unknown; it is derived.
    `statements` are the `StatementCounts` of its summary; None where nothing judged that. `is_summary_stale`: since it
    was written, a deadline or a figure of the page has changed; the source's next run writes it again.
    """

    __table_args__ = (
        UniqueConstraint("source_id", "url_key"),
        # As lists are read: the newest first, all or those with one value of a column.
        Index("ix_item_day", "day", "id"),
        Index("ix_item_source_day", "source", "day", "id"),
        Index("ix_item_section_day", "section", "day", "id"),
        Index("ix_item_type_day", "type", "day", "id"),
        Index("ix_item_language_day", "language", "day", "id"),
        Index("ix_item_late_day", "late", "day", "id"),
        Index("ix_item_of_no_source", "source", sqlite_where=_NO_SOURCE, postgresql_where=_NO_SOURCE),
        Index("ix_item_stale", "source_id", sqlite_where=_IS_STALE, postgresql_where=_IS_STALE),
        Index("ix_item_of_team", "team_id", sqlite_where=_HAS_TEAM, postgresql_where=_HAS_TEAM),
    )

    id: int | None = Field(default=None, primary_key=True)
    source_id: int | None = Field(default=None, foreign_key="source.id", ondelete="SET NULL", index=True)
    run_id: str = Field(max_length=64, index=True)
    source: str = Field(sa_column=Column(Text, nullable=False))
    team_id: int | None = team_field("item")
    section: str = Field(sa_column=Column(Text, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    url_key: str = Field(sa_column=Column(Text, nullable=False))
    title: str = Field(sa_column=Column(Text, nullable=False))
    day: dt.date = derived_field(Date())
    date: dt.date | None = None
    date_source: DateSource = enum_field(DateSource, DateSource.UNKNOWN)
    page_date: dt.date | None = None
    type: ItemType = enum_field(ItemType, ItemType.OTHER)
    summary: str = Field(default="", sa_column=Column(Text, nullable=False))
    summary_by: SummaryBy = enum_field(SummaryBy, SummaryBy.NONE)
    statements: dict[str, int] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    is_summary_stale: bool = False
    rank: int | None = None
    tier: int | None = None
    moved: RankDirection | None = enum_field(RankDirection)
    rank_reason: Message | None = message_field()
    importance: int | None = None
    by: SavedBy = enum_field(SavedBy, SavedBy.RULE)
    late: bool = False
    is_repost: bool = False
    document_number: str | None = Field(default=None, index=True)
    issuer: str | None = None
    language: str | None = None
    first_seen: dt.datetime = instant_field(is_required=True, index=True)
    attachments: list[dict[str, str]] = list_field()
    evidence: list[str] = list_field()

    @validates("date", "first_seen")
    def _update_day(self, name: str, value: Any) -> Any:
        known = {**self.__dict__, name: value}
        seen: dt.datetime | None = known.get("first_seen")
        day = known.get("date") or (seen and seen.astimezone(dt.UTC).date())
        if day is not None:
            self.day = day
        return value

    @property
    def date_conflict(self) -> dt.date | None:
        """The article's date where the list has another one."""
        return self.page_date if self.date is not None and self.page_date != self.date else None


Index("ix_item_importance", col(Item.tier), col(Item.day).desc(), col(Item.id).desc())


class ItemPageText(SQLModel, table=True):
    """The text of an item's page; lists of items do not load it."""

    __tablename__ = "item_text"

    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE")
    text: str = Field(sa_column=Column(Text, nullable=False))


class ItemVector(SQLModel, table=True):
    """What an item means to an embedding model: a vector of length 1, and the signs of its numbers.

    `model` is the model's name with the length that was asked for. `vector` are floats of four bytes, the lowest first.
    """

    __tablename__ = "item_vector"
    __table_args__ = (
        Index("ix_item_vector_item", "item_id", "model", unique=True),
        Index("ix_item_vector_model", "model", "id"),
        # Ids are never given twice, so that a reader knows by them what is new.
        {"sqlite_autoincrement": True},
    )

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE")
    model: str = Field(sa_column=Column(Text, nullable=False))
    signs: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    vector: bytes = Field(sa_column=Column(LargeBinary, nullable=False))


class ModelCall(SQLModel, table=True):
    """One row of the usage ledger; `cost` is None where the model had no price."""

    __tablename__ = "model_call"

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(max_length=64, index=True)
    phase: Phase = enum_field(Phase, Phase.CRAWL)
    place: str = Field(default="", sa_column=Column(Text, nullable=False))
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    context_chars: int = 0
    latency_ms: int = 0
    outcome: str = "ok"
    at: dt.datetime = instant_field(is_required=True, index=True)
    cost: float | None = None


class ModelEndpoint(SQLModel, table=True):
    """What was learned of a model at an endpoint, whose address has neither user nor password."""

    __tablename__ = "model_endpoint"

    endpoint: str = Field(sa_column=Column(Text, primary_key=True))
    model: str = Field(sa_column=Column(Text, primary_key=True))
    facts: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    updated_at: dt.datetime = instant_field(is_required=True)


class TotalKind(StrEnum):
    """What a daily total counts, and what its name is.

    `run` and `delivery`: those that ended, by status; `item`: those first seen; `statement`: sentences of the summaries
    of these, by verdict. The amount of `call` (by outcome), `phase`, `model`, `source` and `research` is tokens; that
    of their `…_cost`, and of `search_cost`, money, and there only what has a price counts.
    """

    RUN = "run"
    DELIVERY = "delivery"
    ITEM = "item"
    STATEMENT = "statement"
    CALL = "call"
    PHASE = "phase"
    PHASE_COST = "phase_cost"
    MODEL = "model"
    MODEL_COST = "model_cost"
    SOURCE = "source"
    SOURCE_COST = "source_cost"
    RESEARCH = "research"
    RESEARCH_COST = "research_cost"
    SEARCH = "search"
    SEARCH_FAILED = "search_failed"
    SEARCH_COST = "search_cost"


class DailyTotal(SQLModel, table=True):
    """What a day of the service's time zone came to; the transaction that stores what it counts adds to it.

    It stays when that is pruned: a total never falls.
    """

    __tablename__ = "daily_total"

    kind: TotalKind = Field(sa_column=Column(StrEnumType(TotalKind), primary_key=True))
    day: dt.date = Field(primary_key=True)
    name: str = Field(default="", sa_column=Column(Text, primary_key=True))
    count: int = Field(default=0, sa_column=Column(BigInteger, nullable=False))
    amount: float = 0.0
