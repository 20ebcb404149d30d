"""Who may sign in: people with their sessions, and the tokens of programs."""

import datetime as dt

from sqlalchemy import Column, ForeignKey, String, Text
from sqlmodel import Field, SQLModel

from monitor.domain.columns import instant_field, list_field, word_field
from monitor.domain.words import Role


class Person(SQLModel, table=True):
    """Somebody who may sign in. `password_hash` is argon2's; `is_one_time`: it has to be changed at the next sign-in.

    `language` is that of the pages, None for the browser's. Somebody who was shut out keeps the row, so that the audit
    and the notes still name them. `looked_at` is their last look at what is new, `looked_before_at` the last one of the
    sitting before that.
    """

    name: str = Field(primary_key=True, max_length=100)
    password_hash: str = Field(max_length=300)
    is_one_time: bool = False
    role: Role = word_field(Role, Role.READER)
    language: str | None = Field(default=None, max_length=8)
    is_shut_out: bool = False
    created_at: dt.datetime = instant_field(is_required=True)
    last_seen_at: dt.datetime | None = instant_field()
    looked_at: dt.datetime | None = instant_field()
    looked_before_at: dt.datetime | None = instant_field()


class Session(SQLModel, table=True):
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
    role: Role = word_field(Role, Role.READER)
    scopes: list[str] = list_field()
    created_at: dt.datetime = instant_field(is_required=True)
    created_by: str = Field(default="", max_length=100)
    expires_at: dt.datetime | None = instant_field()
    last_used_at: dt.datetime | None = instant_field()
