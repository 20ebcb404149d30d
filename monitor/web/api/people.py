"""People over HTTP: oneself, and for administrators everybody."""

import datetime as dt
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.services.audit import MAX_TOKEN_DAYS, NAME_PATTERN, TokenScope
from monitor.vocabulary import Role
from monitor.web.auth import Admin, AppDep, Principal, Reader
from monitor.web.middleware import Problem
from monitor.web.problems import PROBLEM_RESPONSES

PersonName = Annotated[str, Path(min_length=1, max_length=60, description="Whose.", examples=["lilei"])]
SessionId = Annotated[str, Path(min_length=1, max_length=64, description="The number of a session.")]
TokenName = Annotated[str, Path(min_length=1, max_length=60, description="The name of a token.", examples=["grafana"])]

router = APIRouter(prefix="/api", tags=["people"], responses=PROBLEM_RESPONSES)


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
    language: str | None = Field(examples=["zh"])
    created_at: dt.datetime
    last_seen_at: dt.datetime | None


class PersonListSchema(BaseModel):
    """Everybody, by name; the list is whole, so `next` is null."""

    people: list[PersonSchema]
    next: None = None


class NewPersonSchema(BaseModel, extra="forbid"):
    name: str = Field(pattern=NAME_PATTERN, examples=["hanmeimei"])
    role: Role = Role.READER


class PersonChangeSchema(BaseModel, extra="forbid", json_schema_extra={"examples": [{"role": "editor"}]}):
    """What is to be changed; what is left out or null stays."""

    role: Role | None = None
    is_shut_out: bool | None = Field(default=None, strict=True)


class ErasedPersonSchema(BaseModel):
    """What names an erased person from now on."""

    name: str = Field(examples=["erased-3"])


class OneTimePasswordSchema(BaseModel):
    """The password for the next sign-in, told this once."""

    name: str = Field(examples=["hanmeimei"])
    password: str = Field(examples=["kx7mp-2ndqv-8hfjt-w3cza"])


@router.get("/me", summary="Who am I?")
async def me(principal: Reader) -> PrincipalSchema:
    """The person or the token that asks."""
    return PrincipalSchema(name=principal.name, role=principal.role)


@router.put("/me/language", summary="Choose the language of my pages", status_code=204)
async def language(app: AppDep, principal: Reader, wanted: LanguageSchema) -> None:
    """Only for people: a token has no pages."""
    require_session(principal)
    await app.people.set_language(wanted.language, by=principal)


@router.put("/me/password", summary="Change my password", status_code=204)
async def password(app: AppDep, principal: Reader, wanted: PasswordChangeSchema) -> None:
    """Ends all other sessions. Only for people: a token has no password."""
    session_id = require_session(principal)
    await app.people.set_password(principal.name, wanted.new, old=wanted.old, session_id=session_id, by=principal)


@router.get("/people", summary="List people")
async def people(app: AppDep, _: Admin) -> PersonListSchema:
    """Everybody who may sign in, and who was shut out."""
    return PersonListSchema(people=[PersonSchema.model_validate(person) for person in await app.people.list_people()])


@router.post("/people", summary="Add somebody", status_code=201)
async def add(app: AppDep, principal: Admin, wanted: NewPersonSchema) -> OneTimePasswordSchema:
    """Answers the password for their first sign-in."""
    password = await app.people.add(wanted.name, wanted.role, by=principal)
    return OneTimePasswordSchema(name=wanted.name, password=password)


def require_session(principal: Principal) -> str:
    """Return the session in which a person asks; 403 for a program, whose token has no account."""
    if principal.session_id is None:
        raise Problem(403, "token.no_account")
    return principal.session_id


@router.get("/people/{name}", summary="Show somebody")
async def person(app: AppDep, _: Admin, name: PersonName) -> PersonSchema:
    return PersonSchema.model_validate(await app.people.get(name))


@router.patch("/people/{name}", summary="Change a role, shut out, let in")
async def change(app: AppDep, principal: Admin, name: PersonName, wanted: PersonChangeSchema) -> PersonSchema:
    """Counts from their next request on; the last administrator stays one (409)."""
    if wanted.role is not None:
        await app.people.set_role(name, wanted.role, by=principal)
    if wanted.is_shut_out is not None:
        act = app.people.block_sign_in if wanted.is_shut_out else app.people.allow_sign_in
        await act(name, by=principal)
    return PersonSchema.model_validate(await app.people.get(name))


@router.delete("/people/{name}", summary="Erase somebody")
async def erase(app: AppDep, principal: Admin, name: PersonName) -> ErasedPersonSchema:
    """Account, sessions, tokens, stars, private notes and researches are deleted; all else names a number."""
    return ErasedPersonSchema(name=await app.erasure.erase(name, by=principal))


@router.post("/people/{name}/reset", summary="Give a new one-time password")
async def reset(app: AppDep, principal: Admin, name: PersonName) -> OneTimePasswordSchema:
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
    """Sessions, last used first; the list is whole, so `next` is null."""

    sessions: list[SessionSchema]
    next: None = None


class TokenSchema(BaseModel, from_attributes=True):
    name: str = Field(examples=["grafana"])
    role: Role
    scopes: list[TokenScope] = Field(description="None: all that the role may.", examples=[["read"]])
    created_by: str = Field(description="Empty: by command.", examples=["lilei"])
    created_at: dt.datetime
    expires_at: dt.datetime | None
    last_used_at: dt.datetime | None


class TokenListSchema(BaseModel):
    """Tokens, newest first; the list is whole, so `next` is null."""

    tokens: list[TokenSchema]
    next: None = None


class NewTokenSchema(BaseModel, extra="forbid"):
    """A token to be made; without scopes it may do all that its role may, without days it has no end."""

    name: str = Field(pattern=NAME_PATTERN, examples=["grafana"])
    role: Role = Role.READER
    scopes: list[TokenScope] = Field(default=[], max_length=10, examples=[["read"]])
    days: int | None = Field(default=None, ge=1, le=MAX_TOKEN_DAYS, examples=[90])


class TokenSecretSchema(BaseModel):
    """A new token, told this once."""

    name: str = Field(examples=["grafana"])
    token: str = Field(examples=["3Tt…Qw"])


@router.get("/me/sessions", summary="List my sessions")
async def my_sessions(app: AppDep, principal: Reader) -> SessionListSchema:
    """Where I am signed in; a token has no sessions."""
    return await _list_sessions(app, principal, principal.name)


@router.delete("/me/sessions/{session_id}", summary="End a session of mine", status_code=204)
async def end_mine(app: AppDep, principal: Reader, session_id: SessionId) -> None:
    """The browser has to sign in again."""
    await app.people.end_session(session_id, person=principal.name, by=principal)


@router.get("/sessions", summary="List all sessions")
async def sessions(
    app: AppDep, principal: Admin, person: Annotated[str | None, Query(max_length=60)] = None
) -> SessionListSchema:
    """Of everybody, or of one person."""
    return await _list_sessions(app, principal, person)


@router.delete("/sessions/{session_id}", summary="End anybody's session", status_code=204)
async def end(app: AppDep, principal: Admin, session_id: SessionId) -> None:
    """The browser has to sign in again."""
    await app.people.end_session(session_id, by=principal)


async def _list_sessions(app: App, principal: Principal, person: str | None) -> SessionListSchema:
    found = await app.people.list_sessions(person)
    return SessionListSchema(
        sessions=[
            SessionSchema(**session.model_dump(), is_this=session.id == principal.session_id) for session in found
        ]
    )


@router.get("/me/tokens", summary="List my tokens")
async def my_tokens(app: AppDep, principal: Reader) -> TokenListSchema:
    return TokenListSchema(
        tokens=[TokenSchema.model_validate(token) for token in await app.tokens.list_tokens(created_by=principal.name)]
    )


@router.post("/me/tokens", summary="Make a token of mine", status_code=201)
async def make_mine(app: AppDep, principal: Reader, wanted: NewTokenSchema) -> TokenSecretSchema:
    """It may never do more than I may."""
    return await _create_token(app, principal, wanted)


@router.delete("/me/tokens/{name}", summary="Revoke a token of mine", status_code=204)
async def revoke_mine(app: AppDep, principal: Reader, name: TokenName) -> None:
    """It is good for nothing any more."""
    await app.tokens.revoke(name, created_by=principal.name, by=principal)


@router.get("/tokens", summary="List all tokens")
async def tokens(app: AppDep, _: Admin) -> TokenListSchema:
    return TokenListSchema(tokens=[TokenSchema.model_validate(token) for token in await app.tokens.list_tokens()])


@router.post("/tokens", summary="Make a token", status_code=201)
async def make(app: AppDep, principal: Admin, wanted: NewTokenSchema) -> TokenSecretSchema:
    """It may never do more than who makes it."""
    return await _create_token(app, principal, wanted)


@router.delete("/tokens/{name}", summary="Revoke a token", status_code=204)
async def revoke(app: AppDep, principal: Admin, name: TokenName) -> None:
    """It is good for nothing any more."""
    await app.tokens.revoke(name, by=principal)


async def _create_token(app: App, principal: Principal, wanted: NewTokenSchema) -> TokenSecretSchema:
    token = await app.tokens.create(wanted.name, wanted.role, scopes=wanted.scopes, days=wanted.days, by=principal)
    return TokenSecretSchema(name=wanted.name, token=token)
