"""One's own account: password, language, sessions, tokens."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from monitor.bootstrap import App
from monitor.errors import UsageError
from monitor.services.people import MIN_PASSWORD_CHARS, TokenCreator
from monitor.vocabulary import Role
from monitor.web.auth import Admin, Principal, Reader
from monitor.web.problems import Problem
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

FormChoices = Annotated[list[str] | None, Form()]


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    """`/account` and what can be done there."""
    routes = APIRouter(prefix="/account")

    async def show(
        request: Request, visitor: Principal, *, wrong: tuple[str, UsageError] | None = None, made: Any = None
    ) -> Response:
        context = {
            "sessions": [
                (session, describe_browser(session.browser)) for session in await app.people.list_sessions(visitor.name)
            ],
            "tokens": await app.tokens.list_tokens(created_by=visitor.name),
            "chosen": (await app.people.get(visitor.name)).language,
            "roles": [role for role in reversed(Role) if visitor.is_at_least(role)],
            "min_chars": MIN_PASSWORD_CHARS,
            "wrong": wrong and wrong[0],
            "error": wrong and wrong[1],
            "made": made,
            "message": renderer.translate(visitor, str(wrong[1])) if wrong else "",
        }
        status = HTTPStatus.BAD_REQUEST if wrong else HTTPStatus.OK
        return renderer.render_page(request, visitor, "people/account.html", status=status, **context)

    @routes.get("")
    async def account(request: Request, visitor: Reader) -> Response:
        """All about oneself; who signed in with a one-time password has to choose one first."""
        _require_session(visitor)
        return await show(request, visitor)

    @routes.post("/password")
    async def change_password(
        request: Request, visitor: Reader, new: FormText = "", again: FormText = "", old: FormText = ""
    ) -> Response:
        """Another password; all other sessions end."""
        session_id = _require_session(visitor)
        if new != again:
            return await show(
                request, visitor, wrong=("password", UsageError("The two new passwords are not the same."))
            )
        try:
            proof = None if visitor.is_one_time else old
            await app.people.set_password(visitor.name, new, old=proof, session_id=session_id)
        except UsageError as error:
            return await show(request, visitor, wrong=("password", error))
        await app.audit.record(visitor.name, "person.password", visitor.name)
        return renderer.redirect("/" if visitor.is_one_time else "/account", notice="password_changed")

    @routes.post("/tokens")
    async def make_token(
        request: Request,
        visitor: Reader,
        name: FormText = "",
        role: FormText = "",
        days: FormText = "",
        scope: FormChoices = None,
    ) -> Response:
        """A token of one's own, shown this once."""
        _require_session(visitor)
        try:
            made = await create_token(app, visitor, name=name, role=role, days=days, scopes=scope or [])
        except UsageError as error:
            return await show(request, visitor, wrong=("token", error))
        return await show(request, visitor, made=(name.strip(), made))

    _add_changes(routes, app, renderer)
    return routes


async def create_token(
    app: App, principal: Principal, *, name: str, role: str, days: str | int | None, scopes: list[str]
) -> str:
    """A token that the visitor makes, taken down in the audit; `UsageError` where it cannot be."""
    try:
        lifetime = int(days) if days else None
    except ValueError:
        raise UsageError(f"{days!r} is no number of days.") from None
    by = TokenCreator(principal.name, principal.role, principal.scopes)
    made = await app.tokens.create(name.strip(), role, scopes=scopes, days=lifetime, by=by)
    after = {"role": role, "scopes": scopes, "days": lifetime}
    await app.audit.record(principal.name, "token.add", name.strip(), after=after)
    return made


def _add_changes(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    """What is done and shows nothing but the account again."""

    @routes.post("/language")
    async def change_language(visitor: Reader, language: FormText = "") -> Response:
        """The language of the pages; none is that of the browser."""
        _require_session(visitor)
        await app.people.set_language(visitor.name, language or None)
        answer = look.redirect("/account", notice="saved")
        set_language_cookie(answer, look, language or None)
        return answer

    @routes.post("/tokens/{name}/revoke")
    async def revoke_token(visitor: Reader, name: str) -> Response:
        """The end of a token of one's own."""
        _require_session(visitor)
        await app.tokens.revoke(name, created_by=visitor.name)
        await app.audit.record(visitor.name, "token.revoke", name)
        return look.redirect("/account", notice="token_revoked")

    @routes.post("/sessions/end-others")
    async def end_others(visitor: Reader) -> Response:
        """The end of all sessions of one's own but this one."""
        await app.people.end_other_sessions(visitor.name, _require_session(visitor))
        await app.audit.record(visitor.name, "session.end", visitor.name)
        return look.redirect("/account", notice="sessions_ended")

    @routes.post("/sessions/{session_id}/end")
    async def end_session(visitor: Reader, session_id: str) -> Response:
        """The end of a session of one's own."""
        _require_session(visitor)
        await app.people.end_session(visitor.name, session_id)
        await app.audit.record(visitor.name, "session.end", visitor.name)
        return look.redirect("/account", notice="session_ended")


def _require_session(visitor: Principal) -> str:
    """The session in which a person asks; a program with a token has no account."""
    if visitor.session_id is None:
        raise Problem(403, "A token has no account: sign in as a person.")
    return visitor.session_id


PeopleFormText = Annotated[str, Form()]

PeopleFormChoices = Annotated[list[str] | None, Form()]

ROLES = (Role.READER, Role.EDITOR, Role.ADMIN)


def people_admin_router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter(prefix="/settings")

    async def everybody(
        request: Request,
        visitor: Principal,
        *,
        made: tuple[str, str] | None = None,
        error: UsageError | None = None,
        name: str = "",
    ) -> Response:
        sessions = await app.people.list_sessions()
        return renderer.render_page(
            request,
            visitor,
            "people/list.html",
            section="settings",
            tab="people",
            people=await app.people.list_people(),
            sessions=[(session, describe_browser(session.browser)) for session in sessions],
            made=made,
            error=error,
            name=name,
            roles=ROLES,
            status=HTTPStatus.OK if error is None else HTTPStatus.BAD_REQUEST,
        )

    @routes.get("/people")
    async def people(request: Request, visitor: Admin) -> Response:
        """Everybody, and where they are signed in."""
        return await everybody(request, visitor)

    @routes.post("/people")
    async def add(request: Request, visitor: Admin, name: PeopleFormText = "", role: PeopleFormText = "") -> Response:
        """Somebody new; the password for their first sign-in is shown this once."""
        try:
            password = await app.people.add(name, role)
        except UsageError as error:
            return await everybody(request, visitor, error=error, name=name)
        await app.audit.record(visitor.name, "person.add", name.strip(), after={"role": role})
        return await everybody(request, visitor, made=(name.strip(), password))

    @routes.post("/people/sessions/{session_id}/end")
    async def end_session(visitor: Admin, session_id: str) -> Response:
        ended = await app.people.end_session(None, session_id)
        await app.audit.record(visitor.name, "session.end", ended.person)
        return renderer.redirect("/settings/people", notice="session_ended")

    _add_person(routes, app, renderer)
    _add_tokens(routes, app, renderer)
    return routes


def _add_person(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    async def one(request: Request, visitor: Principal, name: str, *, password: str | None = None) -> Response:
        person = await app.people.get(name)
        sessions = await app.people.list_sessions(name)
        return look.render_page(
            request,
            visitor,
            "people/person.html",
            section="settings",
            tab="people",
            person=person,
            roles=ROLES,
            sessions=[(session, describe_browser(session.browser)) for session in sessions],
            tokens=await app.tokens.list_tokens(created_by=name),
            password=password,
        )

    @routes.get("/people/{name}")
    async def person(request: Request, visitor: Admin, name: str) -> Response:
        return await one(request, visitor, name)

    @routes.post("/people/{name}/role")
    async def change_role(visitor: Admin, name: str, role: PeopleFormText = "") -> Response:
        before = (await app.people.get(name)).role
        await app.people.set_role(name, role)
        await app.audit.record(visitor.name, "person.role", name, before={"role": before}, after={"role": role})
        return look.redirect(f"/settings/people/{name}", notice="saved")

    @routes.post("/people/{name}/reset")
    async def reset(request: Request, visitor: Admin, name: str) -> Response:
        """A one-time password in place of theirs, shown this once."""
        password = await app.people.reset_password(name)
        await app.audit.record(visitor.name, "person.reset", name)
        return await one(request, visitor, name, password=password)

    @routes.post("/people/{name}/shut-out")
    async def shut_out(visitor: Admin, name: str) -> Response:
        """They may not sign in any more."""
        await app.people.block_sign_in(name)
        await app.audit.record(visitor.name, "person.shut_out", name)
        return look.redirect(f"/settings/people/{name}", notice="shut_out")

    @routes.post("/people/{name}/let-in")
    async def let_in(visitor: Admin, name: str) -> Response:
        await app.people.allow_sign_in(name)
        await app.audit.record(visitor.name, "person.let_in", name)
        return look.redirect(f"/settings/people/{name}", notice="let_in")


def _add_tokens(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    async def every(
        request: Request, visitor: Principal, *, made: tuple[str, str] | None = None, error: UsageError | None = None
    ) -> Response:
        return look.render_page(
            request,
            visitor,
            "people/tokens.html",
            section="settings",
            tab="tokens",
            tokens=await app.tokens.list_tokens(),
            made=made,
            error=error,
            roles=ROLES,
            status=HTTPStatus.OK if error is None else HTTPStatus.BAD_REQUEST,
        )

    @routes.get("/tokens")
    async def tokens(request: Request, visitor: Admin) -> Response:
        return await every(request, visitor)

    @routes.post("/tokens")
    async def make(
        request: Request,
        visitor: Admin,
        name: PeopleFormText = "",
        role: PeopleFormText = "",
        days: PeopleFormText = "",
        scope: PeopleFormChoices = None,
    ) -> Response:
        """A token for a program, shown this once."""
        try:
            made = await create_token(app, visitor, name=name, role=role, days=days, scopes=scope or [])
        except UsageError as error:
            return await every(request, visitor, error=error)
        return await every(request, visitor, made=(name.strip(), made))

    @routes.post("/tokens/{name}/revoke")
    async def revoke(visitor: Admin, name: str) -> Response:
        await app.tokens.revoke(name)
        await app.audit.record(visitor.name, "token.revoke", name)
        return look.redirect("/settings/tokens", notice="token_revoked")
