"""The tables of people with their sessions and marks, of tokens, saved briefings, settings, and the audit log."""

import datetime as dt
import hashlib
import json
import secrets
from enum import StrEnum
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import JSON, Column, Index, Integer, String, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import enum_field, instant_field, list_field, message_field, owner_field
from monitor.db.tables.teams import team_field
from monitor.i18n.message import Message
from monitor.vocabulary import ItemType, RankDirection, Role, Visibility


class Person(SQLModel, table=True):
    """Somebody who may sign in, unless shut out. `is_one_time`: the password has to be changed at the next sign-in.

    A one-time password serves for one sign-in, until `password_expires_at`; None is no end.
    `language` is that of the pages, None for the browser's. `looked_at` is the last look at what is new,
    `looked_before_at` the last one of the visit before that. Items first seen up to `read_until` count as read.
    """

    name: str = Field(primary_key=True, max_length=100)
    password_hash: str = Field(max_length=300)
    is_one_time: bool = False
    password_expires_at: dt.datetime | None = instant_field()
    role: Role = enum_field(Role, Role.READER)
    language: str | None = Field(default=None, max_length=8)
    is_shut_out: bool = False
    created_at: dt.datetime = instant_field(is_required=True)
    last_seen_at: dt.datetime | None = instant_field()
    looked_at: dt.datetime | None = instant_field()
    looked_before_at: dt.datetime | None = instant_field()
    read_until: dt.datetime | None = instant_field()


class WebSession(SQLModel, table=True):
    """A browser in which somebody signed in; `id` is the hash of its cookie.

    `expires_at` moves on with each use, to `ends_at` at the latest; None is the limit of all sessions.
    """

    __tablename__ = "web_session"

    id: str = Field(primary_key=True, max_length=64)
    person: str = owner_field("person.name", String(100), index=True)
    address: str = Field(default="", max_length=64)
    browser: str = Field(default="", sa_column=Column(Text, nullable=False))
    created_at: dt.datetime = instant_field(is_required=True)
    seen_at: dt.datetime = instant_field(is_required=True)
    expires_at: dt.datetime = instant_field(is_required=True)
    ends_at: dt.datetime | None = instant_field()


class KnownDevice(SQLModel, table=True):
    """A browser in which a person has signed in before; `id` is the hash of its device cookie."""

    __tablename__ = "known_device"

    id: str = Field(primary_key=True, max_length=64)
    person: str = owner_field("person.name", String(100), is_key=True)
    seen_at: dt.datetime = instant_field(is_required=True)


class SignInTry(SQLModel, table=True):
    """A recent failed sign-in, which slows down further ones; `key` names what they are counted under."""

    __tablename__ = "sign_in_try"

    id: int | None = Field(default=None, primary_key=True)
    key: str = Field(max_length=120, index=True)
    at: dt.datetime = instant_field(is_required=True)


class Token(SQLModel, table=True):
    """The hash of what a program signs in with; `scopes`, where given, limit what its role may do.

    `networks`, where given, are those that it may be used from. `used` counts its requests on the day `used_on` that
    could cost money, of which `daily_limit` are allowed; None is no limit.
    """

    name: str = Field(primary_key=True, max_length=100)
    hash: str = Field(max_length=64, index=True)
    role: Role = enum_field(Role, Role.READER)
    scopes: list[str] = list_field()
    networks: list[str] = list_field()
    daily_limit: int | None = None
    used_on: dt.date | None = None
    used: int = 0
    created_at: dt.datetime = instant_field(is_required=True)
    created_by: str = Field(default="", max_length=100)
    expires_at: dt.datetime | None = instant_field()
    last_used_at: dt.datetime | None = instant_field()


class FeedKey(SQLModel, table=True):
    """The secret part of the addresses at which a feed reader reads a person's feeds; `token_hash` is its hash.

    `label` says which reader has it.
    """

    __tablename__ = "feed_key"
    __table_args__ = (UniqueConstraint("token_hash", name="uq_feed_key_token_hash"),)

    id: int | None = Field(default=None, primary_key=True)
    person: str = owner_field("person.name", String(100), index=True)
    token_hash: str = Field(max_length=64)
    label: str = Field(max_length=100)
    created_at: dt.datetime = instant_field(is_required=True)
    last_used_at: dt.datetime | None = instant_field()


class RankFeedbackEntry(BaseModel):
    """A person's feedback on the rank of an item, with what identifies similar items."""

    item_id: int
    source_id: int | None
    section: str
    type: ItemType
    person: str
    wish: RankDirection
    at: dt.datetime


class RankPlacement(NamedTuple):
    """Where a ranking put an item: its rank (1 = most important), its tier (1-5), how feedback moved it, and why.

    `importance` is the label of a model, where one gave it.
    """

    rank: int
    tier: int
    moved: RankDirection | None = None
    rank_reason: Message | None = None
    importance: int | None = None


class ItemStar(SQLModel, table=True):
    __tablename__ = "item_star"

    person: str = Field(primary_key=True, max_length=100)
    item_id: int = owner_field("item.id", Integer(), is_key=True, index=True)
    at: dt.datetime = instant_field(is_required=True)


class ItemRead(SQLModel, table=True):
    """Whether a person has read an item; it outweighs `Person.read_until`."""

    __tablename__ = "item_read"

    person: str = Field(primary_key=True, max_length=100)
    item_id: int = owner_field("item.id", Integer(), is_key=True, index=True)
    is_read: bool = True
    at: dt.datetime = instant_field(is_required=True)


class ItemLater(SQLModel, table=True):
    """An item that a person keeps to read later."""

    __tablename__ = "item_later"

    person: str = Field(primary_key=True, max_length=100)
    item_id: int = owner_field("item.id", Integer(), is_key=True, index=True)
    at: dt.datetime = instant_field(is_required=True)


class SavedView(SQLModel, table=True):
    """Filters of the list of items that a person keeps under a name."""

    __tablename__ = "saved_view"

    person: str = Field(primary_key=True, max_length=100)
    name: str = Field(primary_key=True, max_length=60)
    filters: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    at: dt.datetime = instant_field(is_required=True)


class ItemNote(SQLModel, table=True):
    __tablename__ = "item_note"

    id: int | None = Field(default=None, primary_key=True)
    item_id: int = Field(foreign_key="item.id", ondelete="CASCADE", index=True)
    person: str = Field(max_length=100)
    text: str = Field(sa_column=Column(Text, nullable=False))
    team_id: int | None = team_field("item_note")
    visibility: Visibility = enum_field(Visibility, Visibility.OPEN)
    at: dt.datetime = instant_field(is_required=True)


class HiddenItem(SQLModel, table=True):
    """An item that lists and briefings leave out."""

    __tablename__ = "item_hidden"

    item_id: int = Field(primary_key=True, foreign_key="item.id", ondelete="CASCADE")
    person: str = Field(max_length=100)
    reason: str = Field(sa_column=Column(Text, nullable=False))
    at: dt.datetime = instant_field(is_required=True)


class RankFeedback(SQLModel, table=True):
    """A person's wish to rank an item higher or lower; the next ranking applies it."""

    __tablename__ = "rank_feedback"

    person: str = Field(primary_key=True, max_length=100)
    item_id: int = owner_field("item.id", Integer(), is_key=True, index=True)
    wish: RankDirection = enum_field(RankDirection, RankDirection.HIGHER)
    at: dt.datetime = instant_field(is_required=True)


class SavedBriefing(SQLModel, table=True):
    """A briefing that somebody composed from `query` and may have edited.

    `briefing` stays as it was composed, with every item in full; `edit` holds the changes by hand, and `size` is the
    number of items after them. `version` counts the edits, so that nobody overwrites an edit that they have not seen.
    """

    __tablename__ = "saved_briefing"

    id: int | None = Field(default=None, primary_key=True)
    title: str = Field(sa_column=Column(Text, nullable=False))
    team_id: int | None = team_field("saved_briefing")
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


class ClientProfile(SQLModel, table=True):
    """What the briefings of a client are of, under a name, and to which targets they usually go.

    `conditions` say what and in which language; the other fields are those of a briefing that is composed.
    """

    __tablename__ = "client_profile"

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(max_length=100)
    team_id: int | None = team_field("client_profile")
    conditions: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    days: int = 1
    top: int = 20
    group: str = Field(default="theme", max_length=16)
    targets: list[str] = list_field()
    created_by: str = Field(max_length=100)
    created_at: dt.datetime = instant_field(is_required=True)


class BriefingShare(SQLModel, table=True):
    """A link by which a saved briefing is read without an account, until `expires_at` or until it is revoked.

    `token_hash` is that of the secret part of the link; `label` says for whom it was made.
    """

    __tablename__ = "briefing_share"
    __table_args__ = (UniqueConstraint("token_hash", name="uq_briefing_share_token_hash"),)

    id: int | None = Field(default=None, primary_key=True)
    briefing_id: int = owner_field("saved_briefing.id", Integer(), index=True)
    token_hash: str = Field(max_length=64)
    label: str = Field(default="", max_length=100)
    created_by: str = Field(max_length=100)
    created_at: dt.datetime = instant_field(is_required=True)
    expires_at: dt.datetime = instant_field(is_required=True)
    revoked_at: dt.datetime | None = instant_field()


class ComposeStage(StrEnum):
    """How far a briefing is that is being composed."""

    COLLECT = "collect"
    GROUP = "group"
    RANK = "rank"
    WRITE = "write"
    DONE = "done"


class KeptBriefing(SQLModel, table=True):
    """The briefing of a scope, composed once for all who look at it; `key` is made of its query.

    `stage` is that of the composing which began last, `error` why it failed; `briefing` is the last one that was
    composed, None before there is any.
    """

    __tablename__ = "kept_briefing"

    key: str = Field(primary_key=True, max_length=64)
    query: dict[str, Any] = Field(sa_column=Column(JSON, nullable=False))
    stage: ComposeStage = enum_field(ComposeStage, ComposeStage.COLLECT)
    updated_at: dt.datetime = instant_field(is_required=True, index=True)
    error: Message | None = message_field()
    briefing: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True), nullable=True))
    composed_at: dt.datetime | None = instant_field()


class StoredSetting(SQLModel, table=True):
    """A setting of the Settings page, by its path as `llm.model`; a secret is stored encrypted.

    `hosts` are those that a secret was entered for; None until it is bound, which only secrets of version 0.1.0 are
    not. `is_host_assumed` marks those that were bound at the upgrade.
    """

    __tablename__ = "stored_setting"

    path: str = Field(primary_key=True, max_length=200)
    value: Any = Field(sa_column=Column(JSON, nullable=False))
    is_secret: bool = False
    hosts: list[str] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True), nullable=True))
    is_host_assumed: bool = False
    by: str = Field(max_length=100)
    at: dt.datetime = instant_field(is_required=True)


class StoredPrompt(SQLModel, table=True):
    __tablename__ = "stored_prompt"

    name: str = Field(primary_key=True, max_length=60)
    text: str = Field(sa_column=Column(Text, nullable=False))
    by: str = Field(max_length=100)
    at: dt.datetime = instant_field(is_required=True)


_ERASABLE_FIELDS = ("person", "address", "subject", "detail")


def _make_salts() -> dict[str, str]:
    return {name: secrets.token_hex(16) for name in _ERASABLE_FIELDS}


def _hash_salted(salt: str, value: Any) -> str:
    return hashlib.sha256(f"{salt}{json.dumps(value, sort_keys=True)}".encode()).hexdigest()


class AuditEntry(SQLModel, table=True):
    """Who did what: `action` as `source.edit`, with what was before and after in `detail`, without secrets.

    `address` is where it was asked for from, empty for a command and for what the service does by itself. `hash` is
    that of the row's content when it was written; rows of 0.1.0 have none. It is made of salted hashes of what may have
    to be erased one day: without its `salts`, `erased` fields can neither be guessed nor be put back.
    """

    __tablename__ = "audit_entry"
    __table_args__ = (
        Index("ix_audit_entry_person", "person", "id"),
        Index("ix_audit_entry_action", "action", "id"),
        Index("ix_audit_entry_address", "address", "id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    at: dt.datetime = instant_field(is_required=True, index=True)
    person: str = Field(max_length=100)
    address: str = Field(default="", max_length=64)
    action: str = Field(max_length=60)
    subject: str = Field(sa_column=Column(Text, nullable=False))
    detail: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    salts: dict[str, str] = Field(default_factory=_make_salts, sa_column=Column(JSON, nullable=False))
    erased: dict[str, str] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    hash: str | None = Field(default=None, max_length=64)

    def to_json(self) -> str:
        """Return the entry as one line of JSON, as it is exported."""
        return self.model_dump_json(exclude={"salts", "erased"})

    def compute_commitments(self) -> dict[str, str]:
        """Return what stands for the erasable fields in the hash: their salted hashes, kept where they were erased."""
        return self.erased | {name: _hash_salted(salt, getattr(self, name)) for name, salt in self.salts.items()}

    def erase(self, **values: Any) -> None:
        """Put other values in place of these fields for good; the hash of the entry stays what it was."""
        commitments = self.compute_commitments()
        self.erased = self.erased | {name: commitments[name] for name in values}
        self.salts = {name: salt for name, salt in self.salts.items() if name not in values}
        for name, value in values.items():
            setattr(self, name, value)
