"""One's own account: password, language, sessions, tokens."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from monitor.app.passwords import MIN_CHARS
from monitor.app.tokens import Maker
from monitor.bootstrap import App
from monitor.domain.words import Role
from monitor.errors import UsageError
from monitor.web.browsers import browser_of
from monitor.web.gate import Reader, Visitor
from monitor.web.pages.sign_in import keep_language
from monitor.web.problems import Problem
from monitor.web.rendering import Look

Text = Annotated[str, Form()]
Ticked = Annotated[list[str] | None, Form()]


def router(app: App, look: Look) -> APIRouter:
    """`/account` and what can be done there."""
    routes = APIRouter(prefix="/account")

    async def show(
        request: Request, visitor: Visitor, *, wrong: tuple[str, UsageError] | None = None, made: Any = None
    ) -> Response:
        context = {
            "sessions": [(session, browser_of(session.browser)) for session in await app.people.sessions(visitor.name)],
            "tokens": await app.tokens.all(of=visitor.name),
            "chosen": (await app.people.of(visitor.name)).language,
            "roles": [role for role in reversed(Role) if visitor.is_at_least(role)],
            "min_chars": MIN_CHARS,
            "wrong": wrong and wrong[0],
            "error": wrong and wrong[1],
            "made": made,
            "message": look.text(visitor, str(wrong[1])) if wrong else "",
        }
        status = HTTPStatus.BAD_REQUEST if wrong else HTTPStatus.OK
        return look.page(request, visitor, "people/account.html", status=status, **context)

    @routes.get("")
    async def account(request: Request, visitor: Reader) -> Response:
        """All about oneself; who signed in with a one-time password has to choose one first."""
        _check_person(visitor)
        return await show(request, visitor)

    @routes.post("/password")
    async def change_password(
        request: Request, visitor: Reader, new: Text = "", again: Text = "", old: Text = ""
    ) -> Response:
        """Another password; all other sessions end."""
        session_id = _check_person(visitor)
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
        return look.back("/" if visitor.is_one_time else "/account", notice="password_changed")

    @routes.post("/tokens")
    async def make_token(
        request: Request, visitor: Reader, name: Text = "", role: Text = "", days: Text = "", scope: Ticked = None
    ) -> Response:
        """A token of one's own, shown this once."""
        _check_person(visitor)
        try:
            made = await made_token(app, visitor, name=name, role=role, days=days, scopes=scope or [])
        except UsageError as error:
            return await show(request, visitor, wrong=("token", error))
        return await show(request, visitor, made=(name.strip(), made))

    _add_changes(routes, app, look)
    return routes


async def made_token(
    app: App, visitor: Visitor, *, name: str, role: str, days: str | int | None, scopes: list[str]
) -> str:
    """A token that the visitor makes, taken down in the audit; `UsageError` where it cannot be."""
    try:
        lifetime = int(days) if days else None
    except ValueError:
        raise UsageError(f"{days!r} is no number of days.") from None
    by = Maker(visitor.name, visitor.role, visitor.scopes)
    made = await app.tokens.make(name.strip(), role, scopes=scopes, days=lifetime, by=by)
    after = {"role": role, "scopes": scopes, "days": lifetime}
    await app.audit.record(visitor.name, "token.add", name.strip(), after=after)
    return made


def _add_changes(routes: APIRouter, app: App, look: Look) -> None:
    """What is done and shows nothing but the account again."""

    @routes.post("/language")
    async def change_language(visitor: Reader, language: Text = "") -> Response:
        """The language of the pages; none is that of the browser."""
        _check_person(visitor)
        await app.people.set_language(visitor.name, language or None)
        answer = look.back("/account", notice="saved")
        keep_language(answer, look, language or None)
        return answer

    @routes.post("/tokens/{name}/revoke")
    async def revoke_token(visitor: Reader, name: str) -> Response:
        """The end of a token of one's own."""
        _check_person(visitor)
        await app.tokens.revoke(name, of=visitor.name)
        await app.audit.record(visitor.name, "token.revoke", name)
        return look.back("/account", notice="token_revoked")

    @routes.post("/sessions/end-others")
    async def end_others(visitor: Reader) -> Response:
        """The end of all sessions of one's own but this one."""
        await app.people.end_others(visitor.name, _check_person(visitor))
        await app.audit.record(visitor.name, "session.end", visitor.name)
        return look.back("/account", notice="sessions_ended")

    @routes.post("/sessions/{session_id}/end")
    async def end_session(visitor: Reader, session_id: str) -> Response:
        """The end of a session of one's own."""
        _check_person(visitor)
        await app.people.end_session(visitor.name, session_id)
        await app.audit.record(visitor.name, "session.end", visitor.name)
        return look.back("/account", notice="session_ended")


def _check_person(visitor: Visitor) -> str:
    """The session in which a person asks; a program with a token has no account."""
    if visitor.session_id is None:
        raise Problem(403, "A token has no account: sign in as a person.")
    return visitor.session_id
