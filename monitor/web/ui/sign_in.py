"""The sign-in page, signing out, and the cookies of session and language."""

from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request, Response

from monitor.bootstrap import App
from monitor.i18n.catalogue import LANGUAGES
from monitor.services.people import MAX_SESSION_AGE, SignInError
from monitor.web.auth import SESSION_COOKIE, Reader, load_principal
from monitor.web.middleware import LANGUAGE_COOKIE, Problem, sanitize_redirect_path
from monitor.web.ui.rendering import TemplateRenderer

_YEAR_S = 365 * 86_400
FormText = Annotated[str, Form()]
NextPath = Annotated[str, Query(alias="next", description="A path of ours to go on to.")]


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter()

    @routes.get("/sign-in")
    async def form(request: Request, wanted: NextPath = "/", language: str | None = None) -> Response:
        """The form; who has signed in is sent on. A `language` is kept for the next time."""
        address = sanitize_redirect_path(wanted)
        if language in LANGUAGES:
            answer = renderer.redirect(f"/sign-in?next={quote(address, safe='')}")
            set_language_cookie(answer, renderer, language)
            return answer
        return (
            renderer.redirect(address)
            if await load_principal(request) is not None
            else await _render_form(app, renderer, request, address)
        )

    @routes.post("/sign-in")
    async def sign_in(
        request: Request, name: FormText = "", password: FormText = "", wanted: Annotated[str, Form(alias="next")] = "/"
    ) -> Response:
        """A new session, in place of the one that the browser had; the form again where that was refused."""
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Problem(403, "sign_in.foreign_page")
        address = sanitize_redirect_path(wanted)
        begun_at = request.client.host if request.client else ""
        browser = request.headers.get("user-agent", "")
        try:
            signed_in = await app.people.sign_in(name.strip(), password, address=begun_at, browser=browser)
        except SignInError as refused:
            return await _render_form(app, renderer, request, address, name=name, refused=refused)
        before = await app.people.authenticate(request.cookies.get(SESSION_COOKIE, ""))
        if before is not None:
            await app.people.sign_out(before[1].id)
        answer = renderer.redirect("/account" if signed_in.person.is_one_time else address)
        _set_cookie(answer, renderer, SESSION_COOKIE, signed_in.cookie, max_age=int(MAX_SESSION_AGE.total_seconds()))
        return answer

    @routes.post("/sign-out")
    async def sign_out(principal: Reader) -> Response:
        if principal.session_id is not None:
            await app.people.sign_out(principal.session_id)
        answer = renderer.redirect("/sign-in", notice="signed_out")
        answer.delete_cookie(SESSION_COOKIE, path=renderer.prefix or "/", secure=renderer.is_secure, httponly=True)
        return answer

    return routes


def set_language_cookie(response: Response, renderer: TemplateRenderer, language: str | None) -> None:
    """Have the browser remember a language for the pages before sign-in, or forget it."""
    if language is None:
        response.delete_cookie(LANGUAGE_COOKIE, path=renderer.prefix or "/")
    else:
        _set_cookie(response, renderer, LANGUAGE_COOKIE, language, max_age=_YEAR_S)


def _set_cookie(response: Response, renderer: TemplateRenderer, cookie: str, value: str, *, max_age: int) -> None:
    response.set_cookie(
        cookie,
        value,
        max_age=max_age,
        path=renderer.prefix or "/",
        secure=renderer.is_secure,
        httponly=True,
        samesite="lax",
    )


async def _render_form(
    app: App,
    renderer: TemplateRenderer,
    request: Request,
    wanted: str,
    *,
    name: str = "",
    refused: SignInError | None = None,
) -> Response:
    status = HTTPStatus.OK
    if refused is not None:
        status = HTTPStatus.TOO_MANY_REQUESTS if refused.wait_minutes else HTTPStatus.FORBIDDEN
    page = renderer.render_page(
        request,
        None,
        "people/sign_in.html",
        status=status,
        wanted=wanted,
        name=name,
        refused=refused,
        is_new=not await app.people.has_secured_admin(),
    )
    if refused is not None and refused.wait_minutes:
        page.headers["Retry-After"] = str(refused.wait_minutes * 60)
    return page
