"""The pages of one's own account, and for administrators those of all people, sessions and tokens."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from monitor.bootstrap import App
from monitor.db.tables.people import WebSession
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.services.audit import ROLE_ORDER
from monitor.services.people import MIN_PASSWORD_CHARS
from monitor.web.auth import Admin, Principal, Reader
from monitor.web.middleware import Problem
from monitor.web.ui.rendering import TemplateRenderer
from monitor.web.ui.sign_in import set_language_cookie

_BROWSERS = (
    ("MicroMessenger", "WeChat"),
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("QQBrowser", "QQ"),
    ("Firefox/", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)

_SYSTEMS = (
    ("HarmonyOS", "HarmonyOS"),
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def describe_browser(user_agent: str) -> str:
    """The browser and its system, as `Firefox · Windows`; the beginning of the header where neither is known."""
    known = [next((name for mark, name in marks if mark in user_agent), None) for marks in (_BROWSERS, _SYSTEMS)]
    return " · ".join(name for name in known if name) or user_agent[:40] or "?"


FormText = Annotated[str, Form()]
FormChoices = Annotated[list[str], Form(default_factory=list)]


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    """`/account` and what can be done there."""
    routes = APIRouter(prefix="/account")

    async def show(
        request: Request, principal: Principal, *, wrong: tuple[str, Message] | None = None, made: Any = None
    ) -> Response:
        context = {
            "sessions": await _list_sessions(app, principal.name),
            "tokens": await app.tokens.list_tokens(created_by=principal.name),
            "chosen": (await app.people.get(principal.name)).language,
            "roles": [role for role in ROLE_ORDER if principal.actor.has_role(role)],
            "min_chars": MIN_PASSWORD_CHARS,
            "wrong": wrong and wrong[0],
            "error": wrong and wrong[1],
            "made": made,
        }
        status = HTTPStatus.BAD_REQUEST if wrong else HTTPStatus.OK
        return renderer.render_page(request, principal, "people/account.html", status=status, **context)

    @routes.get("")
    async def account(request: Request, principal: Reader) -> Response:
        """All about oneself; who signed in with a one-time password has to choose one first."""
        _require_session(principal)
        return await show(request, principal)

    @routes.post("/password")
    async def change_password(
        request: Request, principal: Reader, new: FormText = "", again: FormText = "", old: FormText = ""
    ) -> Response:
        """Another password; all other sessions end."""
        session_id = _require_session(principal)
        if new != again:
            return await show(request, principal, wrong=("password", Message("password.not_repeated")))
        try:
            proof = None if principal.is_one_time else old
            await app.people.set_password(principal.name, new, old=proof, session_id=session_id, by=principal.actor)
        except UsageError as error:
            return await show(request, principal, wrong=("password", error.message))
        return renderer.redirect("/" if principal.is_one_time else "/account", notice="password_changed")

    @routes.post("/tokens")
    async def make_token(
        request: Request,
        principal: Reader,
        scope: FormChoices,
        name: FormText = "",
        role: FormText = "",
        days: FormText = "",
    ) -> Response:
        """A token of one's own, shown this once."""
        _require_session(principal)
        try:
            made = await create_token(app, principal, name=name, role=role, days=days, scopes=scope)
        except UsageError as error:
            return await show(request, principal, wrong=("token", error.message))
        return await show(request, principal, made=(name.strip(), made))

    _add_changes(routes, app, renderer)
    return routes


async def create_token(
    app: App, principal: Principal, *, name: str, role: str, days: str | int | None, scopes: list[str]
) -> str:
    try:
        lifetime = int(days) if days else None
    except ValueError:
        raise UsageError("token.wrong_days", days=days) from None
    return await app.tokens.create(name.strip(), role, scopes=scopes, days=lifetime, by=principal.actor)


def _add_changes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    """What is done and shows nothing but the account again."""

    @routes.post("/language")
    async def change_language(principal: Reader, language: FormText = "") -> Response:
        """The language of the pages; none is that of the browser."""
        _require_session(principal)
        await app.people.set_language(language or None, by=principal.actor)
        response = renderer.redirect("/account", notice="saved")
        set_language_cookie(response, renderer, language or None)
        return response

    @routes.post("/tokens/{name}/revoke")
    async def revoke_token(principal: Reader, name: str) -> Response:
        """The end of a token of one's own."""
        _require_session(principal)
        await app.tokens.revoke(name, created_by=principal.name, by=principal.actor)
        return renderer.redirect("/account", notice="token_revoked")

    @routes.post("/sessions/end-others")
    async def end_others(principal: Reader) -> Response:
        """The end of all sessions of one's own but this one."""
        await app.people.end_other_sessions(_require_session(principal), by=principal.actor)
        return renderer.redirect("/account", notice="sessions_ended")

    @routes.post("/sessions/{session_id}/end")
    async def end_session(principal: Reader, session_id: str) -> Response:
        """The end of a session of one's own."""
        _require_session(principal)
        await app.people.end_session(session_id, person=principal.name, by=principal.actor)
        return renderer.redirect("/account", notice="session_ended")


async def _list_sessions(app: App, person: str | None = None) -> list[tuple[WebSession, str]]:
    return [(session, describe_browser(session.browser)) for session in await app.people.list_sessions(person)]


def _require_session(principal: Principal) -> str:
    """The session in which a person asks; a program with a token has no account."""
    if principal.session_id is None:
        raise Problem(403, "token.no_account")
    return principal.session_id


def people_admin_router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter(prefix="/settings")

    async def everybody(
        request: Request,
        principal: Principal,
        *,
        made: tuple[str, str] | None = None,
        error: UsageError | None = None,
        name: str = "",
    ) -> Response:
        return renderer.render_page(
            request,
            principal,
            "people/list.html",
            section="settings",
            tab="people",
            people=await app.people.list_people(),
            sessions=await _list_sessions(app),
            made=made,
            error=error,
            name=name,
            roles=ROLE_ORDER,
            status=HTTPStatus.OK if error is None else HTTPStatus.BAD_REQUEST,
        )

    @routes.get("/people")
    async def people(request: Request, principal: Admin) -> Response:
        """Everybody, and where they are signed in."""
        return await everybody(request, principal)

    @routes.post("/people")
    async def add(request: Request, principal: Admin, name: FormText = "", role: FormText = "") -> Response:
        """Somebody new; the password for their first sign-in is shown this once."""
        try:
            password = await app.people.add(name, role, by=principal.actor)
        except UsageError as error:
            return await everybody(request, principal, error=error, name=name)
        return await everybody(request, principal, made=(name.strip(), password))

    @routes.post("/people/sessions/{session_id}/end")
    async def end_session(principal: Admin, session_id: str) -> Response:
        await app.people.end_session(session_id, by=principal.actor)
        return renderer.redirect("/settings/people", notice="session_ended")

    _add_person(routes, app, renderer)
    _add_tokens(routes, app, renderer)
    return routes


def _add_person(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    async def show(request: Request, principal: Principal, name: str, *, password: str | None = None) -> Response:
        return renderer.render_page(
            request,
            principal,
            "people/person.html",
            section="settings",
            tab="people",
            person=await app.people.get(name),
            roles=ROLE_ORDER,
            sessions=await _list_sessions(app, name),
            tokens=await app.tokens.list_tokens(created_by=name),
            password=password,
        )

    @routes.get("/people/{name}")
    async def person(request: Request, principal: Admin, name: str) -> Response:
        return await show(request, principal, name)

    @routes.post("/people/{name}/role")
    async def change_role(principal: Admin, name: str, role: FormText = "") -> Response:
        await app.people.set_role(name, role, by=principal.actor)
        return renderer.redirect(f"/settings/people/{name}", notice="saved")

    @routes.post("/people/{name}/reset")
    async def reset(request: Request, principal: Admin, name: str) -> Response:
        """A one-time password in place of theirs, shown this once."""
        password = await app.people.reset_password(name, by=principal.actor)
        return await show(request, principal, name, password=password)

    @routes.post("/people/{name}/shut-out")
    async def shut_out(principal: Admin, name: str) -> Response:
        """They may not sign in any more."""
        await app.people.block_sign_in(name, by=principal.actor)
        return renderer.redirect(f"/settings/people/{name}", notice="shut_out")

    @routes.post("/people/{name}/let-in")
    async def let_in(principal: Admin, name: str) -> Response:
        await app.people.allow_sign_in(name, by=principal.actor)
        return renderer.redirect(f"/settings/people/{name}", notice="let_in")


def _add_tokens(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    async def show(
        request: Request, principal: Principal, *, made: tuple[str, str] | None = None, error: UsageError | None = None
    ) -> Response:
        return renderer.render_page(
            request,
            principal,
            "people/tokens.html",
            section="settings",
            tab="tokens",
            tokens=await app.tokens.list_tokens(),
            made=made,
            error=error,
            roles=ROLE_ORDER,
            status=HTTPStatus.OK if error is None else HTTPStatus.BAD_REQUEST,
        )

    @routes.get("/tokens")
    async def tokens(request: Request, principal: Admin) -> Response:
        return await show(request, principal)

    @routes.post("/tokens")
    async def make(
        request: Request,
        principal: Admin,
        scope: FormChoices,
        name: FormText = "",
        role: FormText = "",
        days: FormText = "",
    ) -> Response:
        """A token for a program, shown this once."""
        try:
            made = await create_token(app, principal, name=name, role=role, days=days, scopes=scope)
        except UsageError as error:
            return await show(request, principal, error=error)
        return await show(request, principal, made=(name.strip(), made))

    @routes.post("/tokens/{name}/revoke")
    async def revoke(principal: Admin, name: str) -> Response:
        await app.tokens.revoke(name, by=principal.actor)
        return renderer.redirect("/settings/tokens", notice="token_revoked")
