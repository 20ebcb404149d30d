"""Who may sign in: people with their sessions, and the tokens of programs."""

import datetime as dt
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import JSON, Column, ForeignKey, Integer, String, Text
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import enum_field, instant_field, list_field
from monitor.vocabulary import ItemType, RankDirection, Role


class Person(SQLModel, table=True):
    """Somebody who may sign in. `password_hash` is argon2's; `is_one_time`: it has to be changed at the next sign-in.

    `language` is that of the pages, None for the browser's. Somebody who was shut out keeps the row, so that the audit
    and the notes still name them. `looked_at` is their last look at what is new, `looked_before_at` the last one of the
    sitting before that.
    """

    name: str = Field(primary_key=True, max_length=100)
    password_hash: str = Field(max_length=300)
    is_one_time: bool = False
    role: Role = enum_field(Role, Role.READER)
    language: str | None = Field(default=None, max_length=8)
    is_shut_out: bool = False
    created_at: dt.datetime = instant_field(is_required=True)
    last_seen_at: dt.datetime | None = instant_field()
    looked_at: dt.datetime | None = instant_field()
    looked_before_at: dt.datetime | None = instant_field()


class WebSession(SQLModel, table=True):
    """A browser in which somebody signed in; `id` is the hash of what its cookie holds."""

    __tablename__ = "web_session"

    id: str = Field(primary_key=True, max_length=64)
    person: str = Field(
        sa_column=Column(String(100), ForeignKey("person.name", ondelete="CASCADE"), nullable=False, index=True)
    )
    address: str = Field(default="", max_length=64)
    browser: str = Field(default="", sa_column=Column(Text, nullable=False))
    created_at: dt.datetime = instant_field(is_required=True)
    seen_at: dt.datetime = instant_field(is_required=True)
    expires_at: dt.datetime = instant_field(is_required=True)


class SignInTry(SQLModel, table=True):
    """A sign-in that failed, kept for as long as it slows down further ones; `key` is the name or the address."""

    __tablename__ = "sign_in_try"

    id: int | None = Field(default=None, primary_key=True)
    key: str = Field(max_length=120, index=True)
    at: dt.datetime = instant_field(is_required=True)


class Token(SQLModel, table=True):
    """What a program signs in with; only its hash is kept.

    It may do what its role may, where `scopes` are given only those; after `expires_at` it is nobody's.
    """

    name: str = Field(primary_key=True, max_length=100)
    hash: str = Field(max_length=64, index=True)
    role: Role = enum_field(Role, Role.READER)
    scopes: list[str] = list_field()
    created_at: dt.datetime = instant_field(is_required=True)
    created_by: str = Field(default="", max_length=100)
    expires_at: dt.datetime | None = instant_field()
    last_used_at: dt.datetime | None = instant_field()


class RankFeedbackEntry(BaseModel):
    """What a person said of the rank of an item, with what tells which other items are like it."""

    item_id: int
    source_id: int | None
    section: str
    type: ItemType
    person: str
    wish: RankDirection
    at: dt.datetime


class RankPlacement(NamedTuple):
    """Where a ranking put an item: its rank (1 = most important), its tier (1-5), and how feedback moved it."""

    rank: int
    tier: int
    moved: RankDirection | None = None


class ItemStar(SQLModel, table=True):
    """A person's own star on an item."""

    __tablename__ = "item_star"

    person: str = Field(primary_key=True, max_length=100)
    item_id: int = Field(
        sa_column=Column(Integer, ForeignKey("item.id", ondelete="CASCADE"), primary_key=True, index=True)
    )
    at: dt.datetime = instant_field(is_required=True)


class ItemNote(SQLModel, table=True):
    """A note on an item, for everybody to read."""

    __tablename__ = "item_note"

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE", index=True)
    person: str = Field(max_length=100)
    text: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = instant_field(is_required=True)


class HiddenItem(SQLModel, table=True):
    """An item that lists and briefings leave out, and why; it is never forgotten."""

    __tablename__ = "item_hidden"

    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE")
    person: str = Field(max_length=100)
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = instant_field(is_required=True)


class RankFeedback(SQLModel, table=True):
    """A person's word that an item was placed too low or too high; the next ranking honours it."""

    __tablename__ = "rank_feedback"

    person: str = Field(primary_key=True, max_length=100)
    item_id: int = Field(
        sa_column=Column(Integer, ForeignKey("item.id", ondelete="CASCADE"), primary_key=True, index=True)
    )
    wish: RankDirection = enum_field(RankDirection, RankDirection.HIGHER)
    at: dt.datetime = instant_field(is_required=True)


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
