"""People over HTTP: oneself, and for administrators everybody."""

import datetime as dt
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from monitor.bootstrap import App
from monitor.db.tables.people import Person, Token, WebSession
from monitor.services.audit import MAX_TOKEN_DAYS, NAME_PATTERN, TokenScope
from monitor.vocabulary import Role
from monitor.web.auth import Admin, Principal, Reader
from monitor.web.middleware import Problem
from monitor.web.problems import PROBLEM_RESPONSES

PersonName = Annotated[str, Path(min_length=1, max_length=60, description="Whose.", examples=["lilei"])]


class PrincipalSchema(BaseModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "lilei", "role": "editor"}]})

    name: str
    role: Role


class LanguageSchema(BaseModel):
    """The language of one's pages; null is that of the browser."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"language": "zh"}]})

    language: Literal["zh", "en"] | None


class PasswordChangeSchema(BaseModel):
    model_config = ConfigDict(extra="forbid")

    old: str = Field(max_length=1000, examples=["kx7mp-…"])
    new: str = Field(max_length=1000, examples=["a sentence that only I know"])


class PersonSchema(BaseModel):
    """Somebody who may sign in, or was shut out."""

    name: str = Field(examples=["lilei"])
    role: Role
    is_one_time: bool = Field(description="The password serves once and has to be changed.")
    is_shut_out: bool
    language: str | None = Field(examples=["zh"])
    created_at: dt.datetime
    last_seen_at: dt.datetime | None


class PersonListSchema(BaseModel):
    """Everybody, by name; the list is whole, so `next` is null."""

    people: list[PersonSchema]
    next: None = None


class NewPersonSchema(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=NAME_PATTERN, examples=["hanmeimei"])
    role: Role = Role.READER


class PersonChangeSchema(BaseModel):
    """What is to be changed; what is left out or null stays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"role": "editor"}]})

    role: Role | None = None
    is_shut_out: bool | None = Field(default=None, strict=True)


class OneTimePasswordSchema(BaseModel):
    """The password for the next sign-in, told this once."""

    name: str = Field(examples=["hanmeimei"])
    password: str = Field(examples=["kx7mp-2ndqv-8hfjt-w3cza"])


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api", tags=["people"], responses=PROBLEM_RESPONSES)

    @routes.get("/me", summary="Who am I?")
    async def me(principal: Reader) -> PrincipalSchema:
        """The person or the token that asks."""
        return PrincipalSchema(name=principal.name, role=principal.role)

    @routes.put("/me/language", summary="Choose the language of my pages", status_code=204)
    async def language(principal: Reader, wanted: LanguageSchema) -> None:
        """Only for people: a token has no pages."""
        require_person(principal)
        await app.people.set_language(wanted.language, by=principal.actor)

    @routes.put("/me/password", summary="Change my password", status_code=204)
    async def password(principal: Reader, wanted: PasswordChangeSchema) -> None:
        """Ends all other sessions. Only for people: a token has no password."""
        name = require_person(principal)
        await app.people.set_password(
            name, wanted.new, old=wanted.old, session_id=principal.session_id, by=principal.actor
        )

    @routes.get("/people", summary="List people")
    async def people(_: Admin) -> PersonListSchema:
        """Everybody who may sign in, and who was shut out."""
        return PersonListSchema(people=[_build_person(person) for person in await app.people.list_people()])

    @routes.post("/people", summary="Add somebody", status_code=201)
    async def add(principal: Admin, wanted: NewPersonSchema) -> OneTimePasswordSchema:
        """Answers the password for their first sign-in."""
        password = await app.people.add(wanted.name, wanted.role, by=principal.actor)
        return OneTimePasswordSchema(name=wanted.name, password=password)

    _add_person(routes, app)
    return routes


def require_person(principal: Principal) -> str:
    """The name of a person who signed in; 403 for a program."""
    if principal.session_id is None:
        raise Problem(403, "token.no_account")
    return principal.name


def _add_person(routes: APIRouter, app: App) -> None:
    @routes.get("/people/{name}", summary="Show somebody")
    async def person(_: Admin, name: PersonName) -> PersonSchema:
        return _build_person(await app.people.get(name))

    @routes.patch("/people/{name}", summary="Change a role, shut out, let in")
    async def change(principal: Admin, name: PersonName, wanted: PersonChangeSchema) -> PersonSchema:
        """Counts from their next request on; the last administrator stays one (409)."""
        if wanted.role is not None:
            await app.people.set_role(name, wanted.role, by=principal.actor)
        if wanted.is_shut_out is not None:
            act = app.people.block_sign_in if wanted.is_shut_out else app.people.allow_sign_in
            await act(name, by=principal.actor)
        return _build_person(await app.people.get(name))

    @routes.post("/people/{name}/reset", summary="Give a new one-time password")
    async def reset(principal: Admin, name: PersonName) -> OneTimePasswordSchema:
        return OneTimePasswordSchema(name=name, password=await app.people.reset_password(name, by=principal.actor))


def _build_person(person: Person) -> PersonSchema:
    return PersonSchema.model_validate(person, from_attributes=True)


SessionId = Annotated[str, Path(min_length=1, max_length=64, description="The number of a session.")]
TokenName = Annotated[str, Path(min_length=1, max_length=60, description="The name of a token.", examples=["grafana"])]


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


class TokenSchema(BaseModel):
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


class NewTokenSchema(BaseModel):
    """A token to be made; without scopes it may do all that its role may, without days it has no end."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=NAME_PATTERN, examples=["grafana"])
    role: Role = Role.READER
    scopes: list[TokenScope] = Field(default=[], max_length=10, examples=[["read"]])
    days: int | None = Field(default=None, ge=1, le=MAX_TOKEN_DAYS, examples=[90])


class TokenSecretSchema(BaseModel):
    """A new token, told this once."""

    name: str = Field(examples=["grafana"])
    token: str = Field(examples=["3Tt…Qw"])


def access_router(app: App) -> APIRouter:
    """`/api/sessions`, `/api/tokens`, and those of one's own under `/api/me`."""
    routes = APIRouter(prefix="/api", tags=["people"], responses=PROBLEM_RESPONSES)

    @routes.get("/me/sessions", summary="List my sessions")
    async def my_sessions(principal: Reader) -> SessionListSchema:
        """Where I am signed in; a token has no sessions."""
        return await _list_sessions(app, principal, principal.name)

    @routes.delete("/me/sessions/{session_id}", summary="End a session of mine", status_code=204)
    async def end_mine(principal: Reader, session_id: SessionId) -> None:
        """The browser has to sign in again."""
        await app.people.end_session(session_id, person=principal.name, by=principal.actor)

    @routes.get("/sessions", summary="List all sessions")
    async def sessions(
        principal: Admin, person: Annotated[str | None, Query(max_length=60)] = None
    ) -> SessionListSchema:
        """Of everybody, or of one person."""
        return await _list_sessions(app, principal, person)

    @routes.delete("/sessions/{session_id}", summary="End anybody's session", status_code=204)
    async def end(principal: Admin, session_id: SessionId) -> None:
        """The browser has to sign in again."""
        await app.people.end_session(session_id, by=principal.actor)

    _add_tokens(routes, app)
    return routes


async def _list_sessions(app: App, principal: Principal, person: str | None) -> SessionListSchema:
    found = await app.people.list_sessions(person)
    return SessionListSchema(sessions=[_build_session(session, principal) for session in found])


def _add_tokens(routes: APIRouter, app: App) -> None:
    @routes.get("/me/tokens", summary="List my tokens")
    async def my_tokens(principal: Reader) -> TokenListSchema:
        return TokenListSchema(
            tokens=[_build_token(token) for token in await app.tokens.list_tokens(created_by=principal.name)]
        )

    @routes.post("/me/tokens", summary="Make a token of mine", status_code=201)
    async def make_mine(principal: Reader, wanted: NewTokenSchema) -> TokenSecretSchema:
        """It may never do more than I may."""
        return await _create_token(app, principal, wanted)

    @routes.delete("/me/tokens/{name}", summary="Revoke a token of mine", status_code=204)
    async def revoke_mine(principal: Reader, name: TokenName) -> None:
        """It is good for nothing any more."""
        await app.tokens.revoke(name, created_by=principal.name, by=principal.actor)

    @routes.get("/tokens", summary="List all tokens")
    async def tokens(_: Admin) -> TokenListSchema:
        return TokenListSchema(tokens=[_build_token(token) for token in await app.tokens.list_tokens()])

    @routes.post("/tokens", summary="Make a token", status_code=201)
    async def make(principal: Admin, wanted: NewTokenSchema) -> TokenSecretSchema:
        """It may never do more than who makes it."""
        return await _create_token(app, principal, wanted)

    @routes.delete("/tokens/{name}", summary="Revoke a token", status_code=204)
    async def revoke(principal: Admin, name: TokenName) -> None:
        """It is good for nothing any more."""
        await app.tokens.revoke(name, by=principal.actor)


async def _create_token(app: App, principal: Principal, wanted: NewTokenSchema) -> TokenSecretSchema:
    token = await app.tokens.create(
        wanted.name, wanted.role, scopes=wanted.scopes, days=wanted.days, by=principal.actor
    )
    return TokenSecretSchema(name=wanted.name, token=token)


def _build_session(session: WebSession, principal: Principal) -> SessionSchema:
    return SessionSchema(**session.model_dump(), is_this=session.id == principal.session_id)


def _build_token(token: Token) -> TokenSchema:
    return TokenSchema(**token.model_dump(exclude={"hash"}))
