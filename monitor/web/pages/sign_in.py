"""Signing in and out."""

from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request, Response

from monitor.app.people import LANGUAGES, LONGEST, SignInRefused
from monitor.bootstrap import App
from monitor.web.gate import SESSION_COOKIE, Reader, visitor_of
from monitor.web.language import LANGUAGE_COOKIE
from monitor.web.problems import Problem
from monitor.web.rendering import Look
from monitor.web.whereabouts import own_address

_YEAR_S = 365 * 86_400
Text = Annotated[str, Form()]
Wanted = Annotated[str, Query(alias="next", description="A path of ours to go on to.")]


def router(app: App, look: Look) -> APIRouter:
    routes = APIRouter()

    @routes.get("/sign-in")
    async def form(request: Request, wanted: Wanted = "/", language: str | None = None) -> Response:
        """The form; who has signed in is sent on. A `language` is kept for the next time."""
        address = own_address(wanted)
        if language in LANGUAGES:
            answer = look.back(f"/sign-in?next={quote(address, safe='')}")
            keep_language(answer, look, language)
            return answer
        return look.back(address) if await visitor_of(request) is not None else await _form(app, look, request, address)

    @routes.post("/sign-in")
    async def sign_in(
        request: Request, name: Text = "", password: Text = "", wanted: Annotated[str, Form(alias="next")] = "/"
    ) -> Response:
        """A new session, in place of the one that the browser had; the form again where that was refused."""
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Problem(403, "Sign in on the page of this service, not from another one.")
        address = own_address(wanted)
        begun_at = request.client.host if request.client else ""
        browser = request.headers.get("user-agent", "")
        try:
            signed_in = await app.people.sign_in(name.strip(), password, address=begun_at, browser=browser)
        except SignInRefused as refused:
            return await _form(app, look, request, address, name=name, refused=refused)
        before = await app.people.visitor_of(request.cookies.get(SESSION_COOKIE, ""))
        if before is not None:
            await app.people.sign_out(before[1].id)
        answer = look.back("/account" if signed_in.person.is_one_time else address)
        _keep(answer, look, SESSION_COOKIE, signed_in.cookie, max_age=int(LONGEST.total_seconds()))
        return answer

    @routes.post("/sign-out")
    async def sign_out(visitor: Reader) -> Response:
        if visitor.session_id is not None:
            await app.people.sign_out(visitor.session_id)
        answer = look.back("/sign-in", notice="signed_out")
        answer.delete_cookie(SESSION_COOKIE, path=look.prefix or "/", secure=look.is_secure, httponly=True)
        return answer

    return routes


def keep_language(answer: Response, look: Look, language: str | None) -> None:
    """Have the browser remember a language for the pages before sign-in, or forget it."""
    if language is None:
        answer.delete_cookie(LANGUAGE_COOKIE, path=look.prefix or "/")
    else:
        _keep(answer, look, LANGUAGE_COOKIE, language, max_age=_YEAR_S)


def _keep(answer: Response, look: Look, cookie: str, value: str, *, max_age: int) -> None:
    answer.set_cookie(
        cookie, value, max_age=max_age, path=look.prefix or "/", secure=look.is_secure, httponly=True, samesite="lax"
    )


async def _form(
    app: App, look: Look, request: Request, wanted: str, *, name: str = "", refused: SignInRefused | None = None
) -> Response:
    status = HTTPStatus.OK
    if refused is not None:
        status = HTTPStatus.TOO_MANY_REQUESTS if refused.wait_minutes else HTTPStatus.FORBIDDEN
    page = look.page(
        request,
        None,
        "people/sign_in.html",
        status=status,
        wanted=wanted,
        name=name,
        refused=refused,
        is_new=not await app.people.is_guarded(),
    )
    if refused is not None and refused.wait_minutes:
        page.headers["Retry-After"] = str(refused.wait_minutes * 60)
    return page
