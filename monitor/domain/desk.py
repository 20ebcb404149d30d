"""What the desk keeps for its people: briefings that were composed by hand, settings, prompts, who changed what."""

import datetime as dt
from typing import Any

from sqlalchemy import JSON, Column, Text
from sqlmodel import Field, SQLModel

from monitor.domain.columns import instant_field


class SavedBriefing(SQLModel, table=True):
    """A briefing that somebody composed and may have edited; `query` is what it was composed from.

    `briefing` stays as it was composed, with every item in full; `edit` is what was decided about it by hand, and
    `size` the number of items that it tells of since. `version` counts the edits: who edits an older one is told so
    instead of undoing another's work.
    """

    __tablename__ = "saved_briefing"

    id: int | None = Field(default=None, primary_key=True)
    title: str = Field(sa_column=Column(Text, nullable=False))
    briefing: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    edit: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    size: int = 0
    language: str = Field(max_length=8)
    since: dt.date
    until: dt.date
    query: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    version: int = 1
    created_by: str = Field(max_length=100)
    created_at: dt.datetime = instant_field(is_required=True)
    edited_by: str | None = Field(default=None, max_length=100)
    edited_at: dt.datetime | None = instant_field()
    archived_at: dt.datetime | None = instant_field()


class StoredSetting(SQLModel, table=True):
    """A setting of the Settings page, by its path as `llm.model`; a secret is encrypted and never shown again."""

    __tablename__ = "stored_setting"

    path: str = Field(primary_key=True, max_length=200)
    value: Any = Field(sa_column=Column(JSON, nullable=False))
    is_secret: bool = False
    by: str = Field(max_length=100)
    at: dt.datetime = instant_field(is_required=True)


class StoredPrompt(SQLModel, table=True):
    """The wording of a prompt that an administrator put in place of ours."""

    __tablename__ = "stored_prompt"

    name: str = Field(primary_key=True, max_length=60)
    text: str = Field(sa_column=Column(Text, nullable=False))
    by: str = Field(max_length=100)
    at: dt.datetime = instant_field(is_required=True)


class AuditEntry(SQLModel, table=True):
    """Who changed what: `action` as `source.edit`, `subject` what it was done to, `detail` what was before and after.

    No secret is ever in it. It is not pruned.
    """

    __tablename__ = "audit_entry"

    id: int | None = Field(default=None, primary_key=True)
    at: dt.datetime = instant_field(is_required=True)
    person: str = Field(max_length=100, index=True)
    action: str = Field(max_length=60, index=True)
    subject: str = Field(sa_column=Column(Text, nullable=False))
    detail: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
