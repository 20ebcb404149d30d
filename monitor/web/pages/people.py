"""Settings › People: who may sign in, and programs by their tokens."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response

from monitor.bootstrap import App
from monitor.domain.words import Role
from monitor.errors import UsageError
from monitor.web.browsers import browser_of
from monitor.web.gate import Admin, Visitor
from monitor.web.pages.account import made_token
from monitor.web.rendering import Look

Text = Annotated[str, Form()]
Ticked = Annotated[list[str] | None, Form()]
ROLES = (Role.READER, Role.EDITOR, Role.ADMIN)


def router(app: App, look: Look) -> APIRouter:
    routes = APIRouter(prefix="/settings")

    async def everybody(
        request: Request,
        visitor: Visitor,
        *,
        made: tuple[str, str] | None = None,
        error: UsageError | None = None,
        name: str = "",
    ) -> Response:
        sessions = await app.people.sessions()
        return look.page(
            request,
            visitor,
            "people/list.html",
            section="settings",
            tab="people",
            people=await app.people.all(),
            sessions=[(session, browser_of(session.browser)) for session in sessions],
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
    async def add(request: Request, visitor: Admin, name: Text = "", role: Text = "") -> Response:
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
        return look.back("/settings/people", notice="session_ended")

    _add_person(routes, app, look)
    _add_tokens(routes, app, look)
    return routes


def _add_person(routes: APIRouter, app: App, look: Look) -> None:
    async def one(request: Request, visitor: Visitor, name: str, *, password: str | None = None) -> Response:
        person = await app.people.of(name)
        sessions = await app.people.sessions(name)
        return look.page(
            request,
            visitor,
            "people/person.html",
            section="settings",
            tab="people",
            person=person,
            roles=ROLES,
            sessions=[(session, browser_of(session.browser)) for session in sessions],
            tokens=await app.tokens.all(of=name),
            password=password,
        )

    @routes.get("/people/{name}")
    async def person(request: Request, visitor: Admin, name: str) -> Response:
        return await one(request, visitor, name)

    @routes.post("/people/{name}/role")
    async def change_role(visitor: Admin, name: str, role: Text = "") -> Response:
        before = (await app.people.of(name)).role
        await app.people.set_role(name, role)
        await app.audit.record(visitor.name, "person.role", name, before={"role": before}, after={"role": role})
        return look.back(f"/settings/people/{name}", notice="saved")

    @routes.post("/people/{name}/reset")
    async def reset(request: Request, visitor: Admin, name: str) -> Response:
        """A one-time password in place of theirs, shown this once."""
        password = await app.people.reset(name)
        await app.audit.record(visitor.name, "person.reset", name)
        return await one(request, visitor, name, password=password)

    @routes.post("/people/{name}/shut-out")
    async def shut_out(visitor: Admin, name: str) -> Response:
        """They may not sign in any more."""
        await app.people.shut_out(name)
        await app.audit.record(visitor.name, "person.shut_out", name)
        return look.back(f"/settings/people/{name}", notice="shut_out")

    @routes.post("/people/{name}/let-in")
    async def let_in(visitor: Admin, name: str) -> Response:
        await app.people.let_in(name)
        await app.audit.record(visitor.name, "person.let_in", name)
        return look.back(f"/settings/people/{name}", notice="let_in")


def _add_tokens(routes: APIRouter, app: App, look: Look) -> None:
    async def every(
        request: Request, visitor: Visitor, *, made: tuple[str, str] | None = None, error: UsageError | None = None
    ) -> Response:
        return look.page(
            request,
            visitor,
            "people/tokens.html",
            section="settings",
            tab="tokens",
            tokens=await app.tokens.all(),
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
        request: Request, visitor: Admin, name: Text = "", role: Text = "", days: Text = "", scope: Ticked = None
    ) -> Response:
        """A token for a program, shown this once."""
        try:
            made = await made_token(app, visitor, name=name, role=role, days=days, scopes=scope or [])
        except UsageError as error:
            return await every(request, visitor, error=error)
        return await every(request, visitor, made=(name.strip(), made))

    @routes.post("/tokens/{name}/revoke")
    async def revoke(visitor: Admin, name: str) -> Response:
        await app.tokens.revoke(name)
        await app.audit.record(visitor.name, "token.revoke", name)
        return look.back("/settings/tokens", notice="token_revoked")
