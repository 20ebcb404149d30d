"""Who asks, and may they: sessions of browsers, tokens of programs, roles, scopes, and forged requests.

Every route but sign-in, health and assets takes one of `ExtractorResult`, `DraftEditor`, `Admin`; a test sees to it.
"""

import base64
import binascii
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPBearer

from monitor.bootstrap import App
from monitor.db.tables.people import Token
from monitor.vocabulary import Role
from monitor.web.middleware import get_app_path, is_page_request
from monitor.web.problems import PasswordChangeRequired, Problem
from monitor.web.ui.language import negotiate_language

SESSION_COOKIE = "monitor_session"

_ROLE_RANKS = {Role.READER: 0, Role.EDITOR: 1, Role.ADMIN: 2}

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

_ONE_TIME_PASSWORD_PATHS = ("/account", "/sign-out")

_BEARER = HTTPBearer(auto_error=False, description="A token: Settings › People, or `monitor users token`.")

_COOKIE = APIKeyCookie(name=SESSION_COOKIE, auto_error=False, description="The session of a browser.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks. `scopes` are None for a person, who may all that the role may; `csrf` is empty for a token."""

    name: str
    role: Role
    language: str = "zh"
    scopes: frozenset[str] | None = None
    csrf: str = ""
    session_id: str | None = None
    is_one_time: bool = False

    def is_at_least(self, role: Role) -> bool:
        """Whether the role is this one or a greater one."""
        return _ROLE_RANKS[self.role] >= _ROLE_RANKS[role]

    @property
    def is_editor(self) -> bool:
        """Whether sources, runs and briefings may be changed."""
        return self.is_at_least(Role.EDITOR)

    @property
    def is_admin(self) -> bool:
        """Whether people and settings may be changed."""
        return self.is_at_least(Role.ADMIN)


def require_role(role: Role) -> Callable[..., Awaitable[Principal]]:
    """A dependency: the visitor, who has at least this role; 401 or 403 else, and 403 for a forged request."""

    async def check(
        request: Request,
        bearer: Annotated[object, Depends(_BEARER)],  # they put the ways to sign in into the schema
        cookie: Annotated[object, Depends(_COOKIE)],
    ) -> Principal:
        del bearer, cookie
        visitor = await load_principal(request)
        if visitor is None:
            raise Problem(
                401, "Sign in, or send a token: Authorization: Bearer …", headers=_build_challenge_headers(request)
            )
        if visitor.is_one_time and not get_app_path(request).startswith(_ONE_TIME_PASSWORD_PATHS):
            raise PasswordChangeRequired
        if not visitor.is_at_least(role):
            raise Problem(403, f"This needs the role {role}; yours is {visitor.role}. Ask an administrator.")
        _check_scope(visitor, _get_required_scope(request, role))
        if visitor.csrf and request.method not in _SAFE_METHODS:
            await _check_csrf_token(request, visitor)
        return visitor

    return check


def require_scope(name: str) -> Callable[..., Awaitable[None]]:
    """A dependency for routes that ask a token for one scope more, such as `run`."""

    async def check(request: Request) -> None:
        visitor = await load_principal(request)
        if visitor is not None:
            _check_scope(visitor, name)

    return check


Reader = Annotated[Principal, Depends(require_role(Role.READER))]

Editor = Annotated[Principal, Depends(require_role(Role.EDITOR))]

Admin = Annotated[Principal, Depends(require_role(Role.ADMIN))]


async def load_principal(request: Request) -> Principal | None:
    """Who asks, by the token that was sent, else by the session; None for nobody. Found out once for a request."""
    if not hasattr(request.state, "visitor"):
        app: App = request.app.state.monitor
        given = _parse_token(request)
        request.state.visitor = (
            await _load_token_principal(app, request, given) if given else await _load_session_principal(app, request)
        )
        if request.state.visitor is not None and is_page_request(request):
            request.state.attention = await request.app.state.attention()
    visitor: Principal | None = request.state.visitor
    return visitor


async def _load_token_principal(app: App, request: Request, given: str) -> Principal | None:
    token: Token | None = await app.tokens.authenticate(given)
    if token is None:
        return None
    scopes = frozenset(token.scopes) if token.scopes else None
    return Principal(name=token.name, role=token.role, scopes=scopes, language=negotiate_language(request, None))


async def _load_session_principal(app: App, request: Request) -> Principal | None:
    cookie = request.cookies.get(SESSION_COOKIE)
    found = await app.people.authenticate(cookie) if cookie else None
    if cookie is None or found is None:
        return None
    person, session = found
    return Principal(
        name=person.name,
        role=person.role,
        language=negotiate_language(request, person.language),
        csrf=app.people.compute_csrf_token(cookie),
        session_id=session.id,
        is_one_time=person.is_one_time,
    )


def _parse_token(request: Request) -> str:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic" and get_app_path(request).startswith("/feeds/"):
        # Feed readers know no other way: the token is the password, under any name.
        try:
            return base64.b64decode(given.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return given.strip() if scheme.lower() == "bearer" else ""


def _build_challenge_headers(request: Request) -> dict[str, str]:
    is_feed = get_app_path(request).startswith("/feeds/")
    return {"WWW-Authenticate": 'Basic realm="Monitor", charset="UTF-8"' if is_feed else "Bearer"}


def _get_required_scope(request: Request, role: Role) -> str:
    if role is Role.ADMIN:
        return "admin"
    return "read" if request.method in _SAFE_METHODS else "write"


def _check_scope(visitor: Principal, name: str) -> None:
    if visitor.scopes is not None and name not in visitor.scopes:
        raise Problem(403, f"The token {visitor.name} has no scope {name}: make one that has.")


async def _check_csrf_token(request: Request, visitor: Principal) -> None:
    """That the request was made by our own page: only that knows the word."""
    given = request.headers.get("x-csrf-token", "")
    kind = request.headers.get("content-type", "")
    if not given and kind.startswith(("application/x-www-form-urlencoded", "multipart/form-data")):
        given = str((await request.form()).get("csrf", ""))
    if not hmac.compare_digest(given.encode(), visitor.csrf.encode()):
        raise Problem(403, "This form is not ours or too old: load the page again and send it once more.")
