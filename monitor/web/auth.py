"""Authentication: browser sessions, API tokens, roles, scopes, CSRF.

Every route but sign-in, health and assets takes a `Reader`, `Editor` or `Admin`; a test checks that.
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
from monitor.db.visibility import set_eyes
from monitor.i18n.model import reader_language
from monitor.services.audit import Actor, AuditAction
from monitor.services.tokens import DailyLimitReached, may_be_used_from
from monitor.vocabulary import Role
from monitor.web.middleware import (
    PasswordChangeRequired,
    Problem,
    get_app_path,
    get_client_address,
    get_proxied_name,
    is_page_request,
    negotiate_language,
)

SESSION_COOKIE = "monitor_session"
DEVICE_COOKIE = "monitor_device"
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_ONE_TIME_PASSWORD_PATHS = ("/account", "/sign-out")
_BEARER = HTTPBearer(auto_error=False, description="A token: Settings › Tokens, or `monitor users token`.")
_COOKIE = APIKeyCookie(name=SESSION_COOKIE, auto_error=False, description="The session of a browser.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal(Actor):
    """Who asks: a person with a session, or a token, which has no session and an empty `csrf`."""

    language: str = "zh"
    csrf: str = ""
    session_id: str | None = None
    is_one_time: bool = False

    @property
    def is_editor(self) -> bool:
        return self.has_role(Role.EDITOR)

    @property
    def is_admin(self) -> bool:
        return self.has_role(Role.ADMIN)


def require_role(role: Role) -> Callable[..., Awaitable[Principal]]:
    """Return a dependency that gives the principal; 401 for nobody, 403 for a lesser role or a forged request."""

    async def check(
        request: Request,
        bearer: Annotated[object, Depends(_BEARER)],  # both declare themselves in the schema
        cookie: Annotated[object, Depends(_COOKIE)],
    ) -> Principal:
        del bearer, cookie
        principal = await load_principal(request)
        if principal is None:
            is_feed = get_app_path(request).startswith("/feeds/")
            challenge = 'Basic realm="Monitor", charset="UTF-8"' if is_feed else "Bearer"
            raise Problem(401, "sign_in.required", headers={"WWW-Authenticate": challenge})
        if principal.is_one_time and not get_app_path(request).startswith(_ONE_TIME_PASSWORD_PATHS):
            raise PasswordChangeRequired
        principal.require(role)
        _check_scope(principal, _get_required_scope(request, role))
        if principal.csrf and request.method not in _SAFE_METHODS:
            await _check_csrf_token(request, principal)
        return principal

    return check


async def _require_stop_scope(request: Request) -> None:
    principal = await load_principal(request)
    if principal is not None:
        _check_scope(principal, "run")


async def _require_run_scope(request: Request) -> None:
    await _require_stop_scope(request)
    await _count_spending(request)


async def _count_spending(request: Request) -> None:
    principal = await load_principal(request)
    if principal is None or principal.session_id is not None:
        return
    try:
        await (await get_app(request)).tokens.count_spending(principal)
    except DailyLimitReached as reached:
        raise Problem(429, reached.message, headers={"Retry-After": str(reached.retry_after_s)}) from None


async def get_app(request: Request) -> App:
    app: App = request.app.state.monitor
    return app


AppDep = Annotated[App, Depends(get_app)]
Reader = Annotated[Principal, Depends(require_role(Role.READER))]
Editor = Annotated[Principal, Depends(require_role(Role.EDITOR))]
Admin = Annotated[Principal, Depends(require_role(Role.ADMIN))]
RUN_SCOPE = Depends(_require_run_scope)
"""For routes that start or repeat work: they need the scope `run` of a token, and count against its daily limit."""
STOP_SCOPE = Depends(_require_stop_scope)
"""For routes that stop work: they need the scope `run` of a token, whatever it has spent."""
SPENDING = Depends(_count_spending)
"""For other routes that may cost money: they count against the daily limit of a token."""


async def record_token_read(app: App, principal: Principal, action: AuditAction, subject: str) -> None:
    """Record what a program reads with its token; people are on record by their sign-in."""
    if principal.session_id is None:
        await app.audit.record_read(principal, action, subject)


async def load_principal(request: Request) -> Principal | None:
    """Return who asks, by token or by session, None for nobody; the answer is kept for the request."""
    if not hasattr(request.state, "principal"):
        app = await get_app(request)
        given = _parse_token(request)
        found = await (_load_token_principal(app, request, given) if given else _load_session_principal(app, request))
        request.state.principal = found
        if found is not None:
            set_eyes(found.teams)
            reader_language.set(found.language)
            if is_page_request(request):
                request.state.attention = await app.alarms.count_open_alarms()
                request.state.team_names = await app.teams.list_choices(found)
    principal: Principal | None = request.state.principal
    return principal


async def _load_token_principal(app: App, request: Request, given: str) -> Principal | None:
    token: Token | None = await app.tokens.authenticate(given)
    if token is None:
        return None
    address = get_client_address(request)
    if not may_be_used_from(token, address):
        by = Actor(token.name, token.role, address=address, on_behalf_of=token.created_by)
        await app.audit.record_read(by, AuditAction.TOKEN_REFUSED, token.name)
        raise Problem(403, "token.other_address", name=token.name, address=address)
    if token.daily_limit is not None and is_page_request(request):
        raise Problem(403, "token.not_for_pages", name=token.name)
    scopes = frozenset(token.scopes) if token.scopes else None
    return Principal(
        token.name,
        token.role,
        scopes,
        address=address,
        on_behalf_of=token.created_by,
        teams=await app.teams.find_token_eyes(token),
        language=negotiate_language(request),
    )


async def _load_session_principal(app: App, request: Request) -> Principal | None:
    cookie = request.cookies.get(SESSION_COOKIE)
    found = await app.people.authenticate(cookie) if cookie else None
    if cookie is None or found is None:
        return None
    person, session = found
    proxied_name = get_proxied_name(request)
    if proxied_name not in (None, person.name):  # somebody else has signed in at the proxy
        return None
    return Principal(
        person.name,
        person.role,
        address=get_client_address(request),
        teams=await app.teams.find_eyes(person),
        language=negotiate_language(request, person.language),
        csrf=app.people.compute_csrf_token(cookie),
        session_id=session.id,
        is_one_time=person.is_one_time and proxied_name is None,
    )


def _parse_token(request: Request) -> str:
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic" and get_app_path(request).startswith("/feeds/"):
        # Feed readers know Basic alone: the token is the password, under any name.
        try:
            return base64.b64decode(given.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return given.strip() if scheme.lower() == "bearer" else ""


def _get_required_scope(request: Request, role: Role) -> str:
    if role is Role.ADMIN:
        return "admin"
    return "read" if request.method in _SAFE_METHODS else "write"


def _check_scope(principal: Principal, name: str) -> None:
    if principal.scopes is not None and name not in principal.scopes:
        raise Problem(403, "token.scope_missing", name=principal.name, scope=name)


async def _check_csrf_token(request: Request, principal: Principal) -> None:
    """Refuse a request that was not made by a page of ours."""
    given = request.headers.get("x-csrf-token", "")
    kind = request.headers.get("content-type", "")
    if not given and kind.startswith(("application/x-www-form-urlencoded", "multipart/form-data")):
        given = str((await request.form()).get("csrf", ""))
    if not hmac.compare_digest(given.encode(), principal.csrf.encode()):
        raise Problem(403, "request.form_expired")
