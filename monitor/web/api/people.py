"""People over HTTP: oneself, and for administrators everybody."""

import datetime as dt
from collections.abc import Container, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.db.tables.people import Person
from monitor.services.audit import NAME_PATTERN
from monitor.services.cursors import cut_list
from monitor.services.identity.passkeys import MAX_PASSKEY_LABEL_CHARS
from monitor.services.tokens import (
    MAX_DAILY_LIMIT,
    MAX_TOKEN_DAYS,
    MAX_TOKEN_NETWORKS,
    MAX_TOKEN_TEAMS,
    TokenLimits,
    TokenSchema,
    TokenScope,
)
from monitor.vocabulary import Role
from monitor.web.api.cursors import DEFAULT_LONG_LIMIT, Cursor, Limit
from monitor.web.auth import Admin, AppDep, Principal, Reader
from monitor.web.middleware import Problem
from monitor.web.problems import PROBLEM_RESPONSES

PersonName = Annotated[str, Path(min_length=1, max_length=60, description="Whose.", examples=["lilei"])]
SessionId = Annotated[str, Path(min_length=1, max_length=64, description="The number of a session.")]
TokenName = Annotated[str, Path(min_length=1, max_length=60, description="The name of a token.", examples=["grafana"])]

PasskeyId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of a passkey.")]
AccountId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of a linked account.")]

router = APIRouter(prefix="/api/v1", tags=["people"], responses=PROBLEM_RESPONSES)


class PrincipalSchema(BaseModel, json_schema_extra={"examples": [{"name": "lilei", "role": "editor"}]}):
    name: str
    role: Role


class LanguageSchema(BaseModel, extra="forbid", json_schema_extra={"examples": [{"language": "zh"}]}):
    """The language of one's pages; null is that of the browser."""

    language: Literal["zh", "en"] | None


class PasswordChangeSchema(BaseModel, extra="forbid"):
    old: str = Field(max_length=1000, examples=["kx7mp-…"])
    new: str = Field(max_length=1000, examples=["a sentence that only I know"])


class PersonSchema(BaseModel, from_attributes=True):
    """Somebody who may sign in, or was shut out."""

    name: str = Field(examples=["lilei"])
    role: Role
    is_one_time: bool = Field(description="The password serves once and has to be changed.")
    password_expires_at: dt.datetime | None = Field(description="When a one-time password ends; past once it was used.")
    is_shut_out: bool
    has_second_factor: bool = Field(default=False, description="The password alone does not sign in.")
    language: str | None = Field(examples=["zh"])
    created_at: dt.datetime
    last_seen_at: dt.datetime | None


class PersonListSchema(BaseModel):
    """Everybody, by name, and the cursor with which the list goes on."""

    people: list[PersonSchema]
    next: str | None


class NewPersonSchema(BaseModel, extra="forbid"):
    name: str = Field(pattern=NAME_PATTERN, examples=["hanmeimei"])
    role: Role = Role.READER


class PersonChangeSchema(BaseModel, extra="forbid", json_schema_extra={"examples": [{"role": "editor"}]}):
    """What is to be changed; what is left out or null stays."""

    role: Role | None = None
    is_shut_out: bool | None = Field(default=None, strict=True)


class AccountSchema(BaseModel, from_attributes=True):
    """An account at the provider of OpenID Connect by which somebody signs in."""

    id: int
    issuer: str = Field(examples=["https://login.example.org"])
    subject: str = Field(description="What the provider calls them.", examples=["248289761001"])
    created_at: dt.datetime
    last_used_at: dt.datetime | None


class AccountListSchema(BaseModel):
    """The accounts of somebody, oldest first; there are few, and the list is whole."""

    accounts: list[AccountSchema]
    next: None = None


class NewAccountSchema(BaseModel, extra="forbid"):
    subject: str = Field(min_length=1, max_length=255, examples=["248289761001"])


class PasskeySchema(BaseModel, from_attributes=True):
    """A key on a device that signs somebody in."""

    id: int
    label: str = Field(description="Which device it is.", examples=["phone"])
    created_at: dt.datetime
    last_used_at: dt.datetime | None


class PasskeyListSchema(BaseModel):
    """Passkeys, oldest first; the list is whole, so `next` is null."""

    passkeys: list[PasskeySchema]
    next: None = None


class PasskeyChangeSchema(BaseModel, extra="forbid"):
    label: str = Field(
        min_length=1, max_length=MAX_PASSKEY_LABEL_CHARS, description="Which device it is.", examples=["office laptop"]
    )


class ErasedPersonSchema(BaseModel):
    """What names an erased person from now on."""

    name: str = Field(examples=["erased-3"])


class OneTimePasswordSchema(BaseModel):
    """The password for the next sign-in, told this once."""

    name: str = Field(examples=["hanmeimei"])
    password: str = Field(examples=["kx7mp-2ndqv-8hfjt-w3cza"])


@router.get("/me", summary="Who am I?")
async def get_me(principal: Reader) -> PrincipalSchema:
    """The person or the token that asks."""
    return PrincipalSchema(name=principal.name, role=principal.role)


@router.put("/me/language", summary="Choose the language of my pages", status_code=204)
async def set_my_language(app: AppDep, principal: Reader, wanted: LanguageSchema) -> None:
    """Only for people: a token has no pages."""
    require_session(principal)
    await app.people.set_language(wanted.language, by=principal)


@router.put("/me/password", summary="Change my password", status_code=204)
async def change_my_password(app: AppDep, principal: Reader, wanted: PasswordChangeSchema) -> None:
    """Ends all other sessions. Only for people: a token has no password."""
    session_id = require_session(principal)
    await app.people.set_password(principal.name, wanted.new, old=wanted.old, session_id=session_id, by=principal)


@router.get("/me/passkeys", summary="List my passkeys")
async def list_my_passkeys(app: AppDep, principal: Reader) -> PasskeyListSchema:
    """Only for people, as all about passkeys; a browser adds them, for the device has to be there."""
    require_session(principal)
    found = await app.passkeys.list(principal.name)
    return PasskeyListSchema(passkeys=[PasskeySchema.model_validate(key) for key in found])


@router.patch("/me/passkeys/{key_id}", summary="Rename a passkey of mine", status_code=204)
async def rename_my_passkey(app: AppDep, principal: Reader, key_id: PasskeyId, wanted: PasskeyChangeSchema) -> None:
    """The label says which device it is; the key itself stays."""
    require_session(principal)
    await app.passkeys.rename(key_id, wanted.label, by=principal)


@router.delete("/me/passkeys/{key_id}", summary="Remove a passkey of mine", status_code=204)
async def remove_my_passkey(app: AppDep, principal: Reader, key_id: PasskeyId) -> None:
    """It signs nobody in any more; sessions that it began go on."""
    require_session(principal)
    await app.passkeys.remove(principal.name, key_id, by=principal)


@router.get("/people", summary="List people")
async def list_people(
    app: AppDep, _: Admin, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> PersonListSchema:
    """Everybody who may sign in, and who was shut out."""
    page, following = cut_list(await app.people.list_people(), limit, cursor, lambda person: (person.name,), str)
    protected = await app.second_factor.list_people()
    return PersonListSchema(people=[_describe_person(person, protected) for person in page], next=following)


def _describe_person(person: Person, protected: Container[str]) -> PersonSchema:
    shown = PersonSchema.model_validate(person)
    return shown.model_copy(update={"has_second_factor": person.name in protected})


@router.post("/people", summary="Add somebody", status_code=201)
async def create_person(app: AppDep, principal: Admin, wanted: NewPersonSchema) -> OneTimePasswordSchema:
    """Answers the password for their first sign-in."""
    password = await app.people.add(wanted.name, wanted.role, by=principal)
    return OneTimePasswordSchema(name=wanted.name, password=password)


def require_session(principal: Principal) -> str:
    """Return the session in which a person asks; 403 for a program, whose token has no account."""
    if principal.session_id is None:
        raise Problem(403, "token.no_account")
    return principal.session_id


@router.get("/people/{name}", summary="Show somebody")
async def get_person(app: AppDep, _: Admin, name: PersonName) -> PersonSchema:
    """Role, language, and when they were last seen."""
    return _describe_person(await app.people.get(name), await app.second_factor.list_people())


@router.patch("/people/{name}", summary="Change a role, shut out, let in")
async def update_person(app: AppDep, principal: Admin, name: PersonName, wanted: PersonChangeSchema) -> PersonSchema:
    """Counts from their next request on; the last administrator stays one (409)."""
    if wanted.role is not None:
        await app.people.set_role(name, wanted.role, by=principal)
    if wanted.is_shut_out is not None:
        act = app.people.block_sign_in if wanted.is_shut_out else app.people.allow_sign_in
        await act(name, by=principal)
    return _describe_person(await app.people.get(name), await app.second_factor.list_people())


@router.delete("/people/{name}/second-factor", summary="Reset somebody's second factor", status_code=204)
async def reset_person_second_factor(app: AppDep, principal: Admin, name: PersonName) -> None:
    """For who lost phone and recovery codes: until they set it up again, the password alone signs them in."""
    await app.second_factor.reset(name, by=principal)


@router.get("/people/{name}/accounts", summary="List the accounts by which somebody signs in")
async def list_person_accounts(app: AppDep, _: Admin, name: PersonName) -> AccountListSchema:
    """Those of the provider that `auth.oidc` names, and of one that it named before."""
    return await _list_accounts(app, name)


@router.post("/people/{name}/accounts", summary="Link an account of the provider to somebody", status_code=201)
async def link_person_account(
    app: AppDep, principal: Admin, name: PersonName, wanted: NewAccountSchema
) -> AccountListSchema:
    """An account belongs to one person (409)."""
    await app.oidc.link(name, wanted.subject, by=principal)
    return await _list_accounts(app, name)


@router.delete("/people/{name}/accounts/{account_id}", summary="Unlink an account from somebody", status_code=204)
async def unlink_person_account(app: AppDep, principal: Admin, name: PersonName, account_id: AccountId) -> None:
    """Their sessions go on; shutting somebody out ends them."""
    await app.oidc.unlink(name, account_id, by=principal)


async def _list_accounts(app: App, name: str) -> AccountListSchema:
    name = (await app.people.get(name)).name
    found = await app.oidc.list_accounts(name)
    return AccountListSchema(accounts=[AccountSchema.model_validate(account) for account in found])


@router.delete("/people/{name}", summary="Erase somebody")
async def erase_person(app: AppDep, principal: Admin, name: PersonName) -> ErasedPersonSchema:
    """Account, sessions, tokens, stars, private notes and researches are deleted; all else names a number."""
    return ErasedPersonSchema(name=await app.erasure.erase(name, by=principal))


@router.post("/people/{name}/reset", summary="Give a new one-time password")
async def reset_person_password(app: AppDep, principal: Admin, name: PersonName) -> OneTimePasswordSchema:
    """It holds for one sign-in; all sessions of the person end."""
    return OneTimePasswordSchema(name=name, password=await app.people.reset_password(name, by=principal))


class SessionSchema(BaseModel):
    """A browser in which somebody signed in."""

    id: str
    person: str = Field(examples=["lilei"])
    address: str = Field(examples=["192.0.2.7"])
    browser: str = Field(examples=["Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"])
    created_at: dt.datetime
    seen_at: dt.datetime
    expires_at: dt.datetime
    is_this: bool = Field(description="The request was made in it.")


class SessionListSchema(BaseModel):
    """Sessions, the newest first, and the cursor with which the list goes on."""

    sessions: list[SessionSchema]
    next: str | None


class TokenListSchema(BaseModel):
    """Tokens, newest first, and the cursor with which the list goes on."""

    tokens: list[TokenSchema]
    next: str | None


class NewTokenSchema(BaseModel, extra="forbid"):
    """A token to be made; without scopes it may do all that its role may, without days it has no end."""

    name: str = Field(pattern=NAME_PATTERN, examples=["grafana"])
    role: Role = Role.READER
    scopes: list[TokenScope] = Field(default=[], max_length=10, examples=[["read"]])
    days: int | None = Field(default=None, ge=1, le=MAX_TOKEN_DAYS, examples=[90])
    networks: list[str] = Field(
        default=[],
        max_length=MAX_TOKEN_NETWORKS,
        description="Addresses and networks that it may be used from; none: anywhere.",
        examples=[["192.0.2.0/24"]],
    )
    teams: list[str] = Field(
        default=[], max_length=MAX_TOKEN_TEAMS, description="Teams whose subjects it sees; none: what you see."
    )
    daily_limit: int | None = Field(
        default=None,
        ge=1,
        le=MAX_DAILY_LIMIT,
        description="How many requests a day it may make that can cost money; null: as many as it likes.",
        examples=[100],
    )


class TokenSecretSchema(BaseModel):
    """A new token, told this once."""

    name: str = Field(examples=["grafana"])
    token: str = Field(examples=["3Tt…Qw"])


@router.get("/me/sessions", summary="List my sessions")
async def list_my_sessions(
    app: AppDep, principal: Reader, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> SessionListSchema:
    """Where I am signed in; a token has no sessions."""
    return await _list_sessions(app, principal, principal.name, limit, cursor)


@router.delete("/me/sessions/{session_id}", summary="End a session of mine", status_code=204)
async def end_my_session(app: AppDep, principal: Reader, session_id: SessionId) -> None:
    """The browser has to sign in again."""
    await app.people.end_session(session_id, person=principal.name, by=principal)


@router.get("/sessions", summary="List all sessions")
async def list_sessions(
    app: AppDep,
    principal: Admin,
    person: Annotated[str | None, Query(max_length=60)] = None,
    limit: Limit = DEFAULT_LONG_LIMIT,
    cursor: Cursor = None,
) -> SessionListSchema:
    """Of everybody, or of one person."""
    return await _list_sessions(app, principal, person, limit, cursor)


@router.delete("/sessions/{session_id}", summary="End anybody's session", status_code=204)
async def end_session(app: AppDep, principal: Admin, session_id: SessionId) -> None:
    """The browser has to sign in again."""
    await app.people.end_session(session_id, by=principal)


async def _list_sessions(
    app: App, principal: Principal, person: str | None, limit: int, cursor: str | None
) -> SessionListSchema:
    found = await app.people.list_sessions(person)
    # Not by their last use, which moves while somebody reads the list.
    page, following = cut_list(
        found, limit, cursor, lambda row: (row.created_at, row.id), dt.datetime, str, newest_first=True
    )
    return SessionListSchema(
        sessions=[
            SessionSchema(**session.model_dump(), is_this=session.id == principal.session_id) for session in page
        ],
        next=following,
    )


@router.get("/me/tokens", summary="List my tokens")
async def list_my_tokens(
    app: AppDep, principal: Reader, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> TokenListSchema:
    """Newest first, with scopes, end and last use; no secret."""
    return _cut_tokens(await app.tokens.list_tokens(created_by=principal.name), limit, cursor)


@router.post("/me/tokens", summary="Make a token of mine", status_code=201)
async def create_my_token(app: AppDep, principal: Reader, wanted: NewTokenSchema) -> TokenSecretSchema:
    """It may never do more than I may."""
    return await _create_token(app, principal, wanted)


@router.delete("/me/tokens/{name}", summary="Revoke a token of mine", status_code=204)
async def revoke_my_token(app: AppDep, principal: Reader, name: TokenName) -> None:
    """It is good for nothing any more."""
    await app.tokens.revoke(name, created_by=principal.name, by=principal)


@router.get("/tokens", summary="List all tokens")
async def list_tokens(
    app: AppDep, _: Admin, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> TokenListSchema:
    """Those of everybody, newest first; no secret."""
    return _cut_tokens(await app.tokens.list_tokens(), limit, cursor)


@router.post("/tokens", summary="Make a token", status_code=201)
async def create_token(app: AppDep, principal: Admin, wanted: NewTokenSchema) -> TokenSecretSchema:
    """It may never do more than who makes it."""
    return await _create_token(app, principal, wanted)


@router.delete("/tokens/{name}", summary="Revoke a token", status_code=204)
async def revoke_token(app: AppDep, principal: Admin, name: TokenName) -> None:
    """It is good for nothing any more."""
    await app.tokens.revoke(name, by=principal)


def _cut_tokens(tokens: Sequence[TokenSchema], limit: int, cursor: str | None) -> TokenListSchema:
    page, following = cut_list(
        tokens, limit, cursor, lambda row: (row.created_at, row.name), dt.datetime, str, newest_first=True
    )
    return TokenListSchema(tokens=page, next=following)


async def _create_token(app: App, principal: Principal, wanted: NewTokenSchema) -> TokenSecretSchema:
    limits = TokenLimits(wanted.networks, wanted.teams, wanted.daily_limit)
    token = await app.tokens.create(
        wanted.name, wanted.role, scopes=wanted.scopes, days=wanted.days, limits=limits, by=principal
    )
    return TokenSecretSchema(name=wanted.name, token=token)
