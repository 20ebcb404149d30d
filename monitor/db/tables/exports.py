"""The tables of scheduled exports: what is exported when, what was written, and which version of an item is out."""

import datetime as dt
from enum import StrEnum

from sqlalchemy import BigInteger, Column, Index, Integer, UniqueConstraint
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import enum_field, instant_field, list_field, message_field, owner_field
from monitor.db.tables.teams import team_field
from monitor.i18n.message import Message


class ExportFormat(StrEnum):
    """A Markdown file for each item, or a file of JSON lines or Parquet for each day of a batch."""

    MARKDOWN = "md"
    JSON_LINES = "jsonl"
    PARQUET = "parquet"


class ScheduledExport(SQLModel, table=True):
    """An export of the archive. Its name is the folder that it is written to, below the configured place.

    `bucket` names a configured bucket, None the configured folder. `next_at` is when it is due, None where it only
    runs when asked. `failing_since` is when the first attempt failed after the last success.
    """

    __tablename__ = "scheduled_export"
    __table_args__ = (UniqueConstraint("name", name="uq_scheduled_export_name"),)

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(max_length=40)
    team_id: int | None = team_field("scheduled_export")
    bucket: str | None = Field(default=None, max_length=40)
    format: ExportFormat = enum_field(ExportFormat, ExportFormat.JSON_LINES)
    schedule: str | None = Field(default=None, max_length=100)
    created_at: dt.datetime = instant_field(is_required=True)
    next_at: dt.datetime | None = instant_field()
    last_success_at: dt.datetime | None = instant_field()
    failing_since: dt.datetime | None = instant_field()
    failures: int = 0
    last_error: Message | None = message_field()


class ExportBatch(SQLModel, table=True):
    """Items that are written together. `item_ids` are those of a batch that is not recorded as written yet.

    Its files are named after `started_at` and the id, so that a batch that is written once more replaces them.
    """

    __tablename__ = "export_batch"
    __table_args__ = (
        Index("ix_export_batch_export", "export_id", "id"),
        # Ids are never given twice, so that no batch replaces the files of another.
        {"sqlite_autoincrement": True},
    )

    id: int | None = Field(default=None, primary_key=True)
    export_id: int = owner_field("scheduled_export.id", Integer(), name="fk_export_batch_export")
    started_at: dt.datetime = instant_field(is_required=True)
    ended_at: dt.datetime | None = instant_field()
    items: int = 0
    files: int = 0
    size_bytes: int = Field(default=0, sa_column=Column(BigInteger, nullable=False))
    item_ids: list[int] = list_field()


class ExportedVersion(SQLModel, table=True):
    """The version of an item that was written last, and the day of the partition that it stays in."""

    __tablename__ = "exported_version"

    export_id: int = owner_field("scheduled_export.id", Integer(), is_key=True, name="fk_exported_version_export")
    item_id: int = owner_field("item.id", Integer(), is_key=True, index=True, name="fk_exported_version_item")
    version: int
    digest: str = Field(max_length=32)
    day: dt.date
