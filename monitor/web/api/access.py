"""Sessions and tokens over HTTP: one's own, and for administrators all."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from monitor.app.people import NAME_PATTERN
from monitor.app.tokens import MAX_DAYS, Maker, Scope
from monitor.bootstrap import App
from monitor.domain.people import Session, Token
from monitor.domain.words import Role
from monitor.web.gate import Admin, Reader, Visitor
from monitor.web.problems import PROBLEMS

SessionId = Annotated[str, Path(min_length=1, max_length=64, description="The number of a session.")]
TokenName = Annotated[str, Path(min_length=1, max_length=60, description="The name of a token.", examples=["grafana"])]


class SessionWire(BaseModel):
    """A browser in which somebody signed in."""

    id: str
    person: str = Field(examples=["lilei"])
    address: str = Field(examples=["192.0.2.7"])
    browser: str = Field(examples=["Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"])
    created_at: dt.datetime
    seen_at: dt.datetime
    expires_at: dt.datetime
    is_this: bool = Field(description="The request was made in it.")


class SessionsWire(BaseModel):
    """Sessions, last used first; the list is whole, so `next` is null."""

    sessions: list[SessionWire]
    next: None = None


class TokenWire(BaseModel):
    name: str = Field(examples=["grafana"])
    role: Role
    scopes: list[Scope] = Field(description="None: all that the role may.", examples=[["read"]])
    created_by: str = Field(description="Empty: by command.", examples=["lilei"])
    created_at: dt.datetime
    expires_at: dt.datetime | None
    last_used_at: dt.datetime | None


class TokensWire(BaseModel):
    """Tokens, newest first; the list is whole, so `next` is null."""

    tokens: list[TokenWire]
    next: None = None


class NewTokenWire(BaseModel):
    """A token to be made; without scopes it may do all that its role may, without days it has no end."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=NAME_PATTERN, examples=["grafana"])
    role: Role = Role.READER
    scopes: list[Scope] = Field(default=[], max_length=10, examples=[["read"]])
    days: int | None = Field(default=None, ge=1, le=MAX_DAYS, examples=[90])


class SecretWire(BaseModel):
    """A new token, told this once."""

    name: str = Field(examples=["grafana"])
    token: str = Field(examples=["3Tt…Qw"])


def router(app: App) -> APIRouter:
    """`/api/sessions`, `/api/tokens`, and those of one's own under `/api/me`."""
    routes = APIRouter(prefix="/api", tags=["people"], responses=PROBLEMS)

    @routes.get("/me/sessions", summary="List my sessions")
    async def my_sessions(visitor: Reader) -> SessionsWire:
        """Where I am signed in; a token has no sessions."""
        return await _sessions(app, visitor, visitor.name)

    @routes.delete("/me/sessions/{session_id}", summary="End a session of mine", status_code=204)
    async def end_mine(visitor: Reader, session_id: SessionId) -> None:
        """The browser has to sign in again."""
        await app.people.end_session(visitor.name, session_id)
        await app.audit.record(visitor.name, "session.end", visitor.name)

    @routes.get("/sessions", summary="List all sessions")
    async def sessions(visitor: Admin, person: Annotated[str | None, Query(max_length=60)] = None) -> SessionsWire:
        """Of everybody, or of one person."""
        return await _sessions(app, visitor, person)

    @routes.delete("/sessions/{session_id}", summary="End anybody's session", status_code=204)
    async def end(visitor: Admin, session_id: SessionId) -> None:
        """The browser has to sign in again."""
        ended = await app.people.end_session(None, session_id)
        await app.audit.record(visitor.name, "session.end", ended.person)

    _add_tokens(routes, app)
    return routes


async def _sessions(app: App, visitor: Visitor, person: str | None) -> SessionsWire:
    found = await app.people.sessions(person)
    return SessionsWire(sessions=[_session(one, visitor) for one in found])


def _add_tokens(routes: APIRouter, app: App) -> None:
    @routes.get("/me/tokens", summary="List my tokens")
    async def my_tokens(visitor: Reader) -> TokensWire:
        return TokensWire(tokens=[_token(token) for token in await app.tokens.all(of=visitor.name)])

    @routes.post("/me/tokens", summary="Make a token of mine", status_code=201)
    async def make_mine(visitor: Reader, wanted: NewTokenWire) -> SecretWire:
        """It may never do more than I may."""
        return await _made(app, visitor, wanted)

    @routes.delete("/me/tokens/{name}", summary="Revoke a token of mine", status_code=204)
    async def revoke_mine(visitor: Reader, name: TokenName) -> None:
        """It is good for nothing any more."""
        await app.tokens.revoke(name, of=visitor.name)
        await app.audit.record(visitor.name, "token.revoke", name)

    @routes.get("/tokens", summary="List all tokens")
    async def tokens(visitor: Admin) -> TokensWire:
        del visitor
        return TokensWire(tokens=[_token(token) for token in await app.tokens.all()])

    @routes.post("/tokens", summary="Make a token", status_code=201)
    async def make(visitor: Admin, wanted: NewTokenWire) -> SecretWire:
        """It may never do more than who makes it."""
        return await _made(app, visitor, wanted)

    @routes.delete("/tokens/{name}", summary="Revoke a token", status_code=204)
    async def revoke(visitor: Admin, name: TokenName) -> None:
        """It is good for nothing any more."""
        await app.tokens.revoke(name)
        await app.audit.record(visitor.name, "token.revoke", name)


async def _made(app: App, visitor: Visitor, wanted: NewTokenWire) -> SecretWire:
    by = Maker(visitor.name, visitor.role, visitor.scopes)
    made = await app.tokens.make(wanted.name, wanted.role, scopes=wanted.scopes, days=wanted.days, by=by)
    after = wanted.model_dump(mode="json", exclude={"name"})
    await app.audit.record(visitor.name, "token.add", wanted.name, after=after)
    return SecretWire(name=wanted.name, token=made)


def _session(session: Session, visitor: Visitor) -> SessionWire:
    return SessionWire(**session.model_dump(), is_this=session.id == visitor.session_id)


def _token(token: Token) -> TokenWire:
    return TokenWire(**token.model_dump(exclude={"hash"}))
