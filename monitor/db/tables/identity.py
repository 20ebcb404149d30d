"""The tables of how people sign in: accounts at a provider, passkeys, second factors, sign-ins under way."""

import datetime as dt
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, String, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from monitor.db.tables.columns import enum_field, instant_field, list_field, owner_field


class ExternalAccount(SQLModel, table=True):
    """A person's account at a provider: its `issuer` and what it calls them, which never changes."""

    __tablename__ = "external_account"
    __table_args__ = (UniqueConstraint("issuer", "subject", name="uq_external_account_subject"),)

    id: int | None = Field(default=None, primary_key=True)
    person: str = owner_field("person.name", String(100), index=True)
    issuer: str = Field(max_length=300)
    subject: str = Field(max_length=255)
    created_at: dt.datetime = instant_field(is_required=True)
    last_used_at: dt.datetime | None = instant_field()


class Passkey(SQLModel, table=True):
    """The public half of a key on a person's device; `sign_count` is how often the device says that it was used."""

    __table_args__ = (UniqueConstraint("credential_id", name="uq_passkey_credential_id"),)

    id: int | None = Field(default=None, primary_key=True)
    person: str = owner_field("person.name", String(100), index=True)
    credential_id: str = Field(max_length=1400)
    public_key: str = Field(sa_column=Column(Text, nullable=False))
    sign_count: int = Field(default=0, sa_column=Column(BigInteger, nullable=False))
    label: str = Field(max_length=100)
    created_at: dt.datetime = instant_field(is_required=True)
    last_used_at: dt.datetime | None = instant_field()


class SecondFactor(SQLModel, table=True):
    """What a person's authenticator app makes its codes of, encrypted; `last_step` is the time step used last.

    `recovery_codes` are the hashes of those that were not used yet.
    """

    __tablename__ = "second_factor"

    person: str = owner_field("person.name", String(100), is_key=True)
    secret: str = Field(sa_column=Column(Text, nullable=False))
    last_step: int = Field(sa_column=Column(BigInteger, nullable=False))
    recovery_codes: list[str] = list_field()
    created_at: dt.datetime = instant_field(is_required=True)


class SignInStep(StrEnum):
    """What the browser of a sign-in has to come back with."""

    PROVIDER = "provider"
    PASSKEY = "passkey"
    PASSKEY_ADD = "passkey_add"
    SECOND_FACTOR = "second_factor"
    SECOND_FACTOR_ADD = "second_factor_add"


class SignInFlow(SQLModel, table=True):
    """A sign-in that is under way in one browser, once; `id` is the hash of its cookie.

    `person` is who it is for where that is known, `data` what its answer is checked against.
    """

    __tablename__ = "sign_in_flow"

    id: str = Field(primary_key=True, max_length=64)
    step: SignInStep = enum_field(SignInStep, SignInStep.PROVIDER)
    person: str | None = owner_field("person.name", String(100), index=True, is_required=False)
    data: dict[str, Any] = Field(default_factory=dict, sa_column=Column(JSON, nullable=False))
    expires_at: dt.datetime = instant_field(is_required=True, index=True)
