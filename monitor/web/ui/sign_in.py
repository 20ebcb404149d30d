"""Signing in and out: by password and code, passkey, or the provider of OpenID Connect; what people sign in with."""

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from monitor.bootstrap import App
from monitor.errors import MonitorError, UsageError, WorkFailed
from monitor.i18n.catalogue import LANGUAGES
from monitor.i18n.message import Message
from monitor.services.audit import Actor
from monitor.services.identity.flows import FLOW_LIFETIME
from monitor.services.identity.oidc import SignInStart
from monitor.services.identity.passkeys import PasskeyRequest, RelyingParty
from monitor.services.people import (
    FIRST_PASSWORD_FILE,
    MAX_DEVICE_AGE,
    MAX_SESSION_AGE,
    SecondFactorRequired,
    SignInError,
    SignInResult,
)
from monitor.web.api.people import require_session
from monitor.web.auth import DEVICE_COOKIE, SESSION_COOKIE, Admin, AppDep, Principal, Reader, load_principal
from monitor.web.middleware import Problem, get_client_address, get_proxied_name, sanitize_redirect_path
from monitor.web.problems import build_problem_answer
from monitor.web.ui.rendering import FormText, PageRenderer, Renderer, set_language

FLOW_COOKIE = "monitor_sign_in"
CODE_PATH = "/sign-in/code"
_CALLBACK_PATH = "/sign-in/oidc/callback"
OWN_PAGE = "/account/sign-in"
NextField = Annotated[str, Form(alias="next")]
NextPath = Annotated[str, Query(alias="next", description="A path of ours to go on to.")]

router = APIRouter()


@router.get("/sign-in")
async def show_sign_in(
    app: AppDep,
    renderer: Renderer,
    request: Request,
    wanted: NextPath = "/",
    language: str | None = None,
    signed_out: bool = False,
) -> Response:
    """Show the form, or send on who has signed in, here or at a proxy. A `language` is kept for the next time.

    Who has just signed out here is not signed in again by the proxy before they ask for it.
    """
    address = sanitize_redirect_path(wanted)
    if language in LANGUAGES:
        answer = renderer.redirect(f"/sign-in?next={quote(address, safe='')}")
        set_language(answer, renderer, language)
        return answer
    if await load_principal(request) is not None:
        return renderer.redirect(address)
    proxied_name = get_proxied_name(request)
    if proxied_name is None or signed_out:
        return await render_sign_in(app, renderer, address, proxied_name=proxied_name)
    host, browser = get_client_address(request), request.headers.get("user-agent", "")
    device = request.cookies.get(DEVICE_COOKIE)
    try:
        signed_in = await app.proxy_sign_in.sign_in(proxied_name, address=host, browser=browser, device=device)
    except SignInError as refused:
        return await render_sign_in(app, renderer, address, refused=refused)
    return await open_session(app, renderer, request, signed_in, address)


@router.post("/sign-in")
async def sign_in(
    app: AppDep,
    renderer: Renderer,
    request: Request,
    name: FormText = "",
    password: FormText = "",
    wanted: NextField = "/",
) -> Response:
    """Begin a session in place of the one that the browser had, or ask for a code; a refusal shows the form again."""
    refuse_foreign_page(request)
    address = sanitize_redirect_path(wanted)
    host, browser = get_client_address(request), request.headers.get("user-agent", "")
    device = request.cookies.get(DEVICE_COOKIE)
    try:
        try:
            signed_in = await app.people.sign_in(name.strip(), password, address=host, browser=browser, device=device)
        except SecondFactorRequired as required:
            return _ask_for_code(renderer, await app.second_factor.begin_sign_in(required), address)
    except SignInError as refused:
        return await render_sign_in(app, renderer, address, name=name, refused=refused)
    return await open_session(app, renderer, request, signed_in, address)


def _ask_for_code(renderer: PageRenderer, cookie: str, wanted: str) -> Response:
    answer = renderer.redirect(f"{CODE_PATH}?next={quote(wanted, safe='')}")
    set_flow_cookie(answer, renderer, cookie)
    return answer


@router.post("/sign-out")
async def sign_out(app: AppDep, renderer: Renderer, request: Request, principal: Reader) -> Response:
    if principal.session_id is not None:
        await app.people.sign_out(principal.session_id, by=principal)
    address = "/sign-in" if get_proxied_name(request) is None else "/sign-in?signed_out=true"
    answer = renderer.redirect(address, notice="signed_out")
    renderer.delete_cookie(answer, SESSION_COOKIE)
    return answer


def refuse_foreign_page(request: Request) -> None:
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem(403, "sign_in.foreign_page")


async def open_session(
    app: App, renderer: PageRenderer, request: Request, signed_in: SignInResult, wanted: str
) -> Response:
    """Hand the browser its session, in place of the one that it had, and send it on."""
    await _end_session_before(app, request)
    has_to_choose = signed_in.person.is_one_time and get_proxied_name(request) is None
    answer = renderer.redirect("/account" if has_to_choose else wanted)
    _set_session_cookies(answer, renderer, signed_in)
    return answer


async def _end_session_before(app: App, request: Request) -> None:
    before = await app.people.authenticate(request.cookies.get(SESSION_COOKIE, ""))
    if before is not None:
        by = Actor(before[0].name, before[0].role, address=get_client_address(request))
        await app.people.sign_out(before[1].id, by=by)


def _set_session_cookies(answer: Response, renderer: PageRenderer, signed_in: SignInResult) -> None:
    renderer.set_cookie(answer, SESSION_COOKIE, signed_in.cookie, max_age_s=int(MAX_SESSION_AGE.total_seconds()))
    renderer.set_cookie(answer, DEVICE_COOKIE, signed_in.device, max_age_s=int(MAX_DEVICE_AGE.total_seconds()))


async def render_sign_in(
    app: App,
    renderer: PageRenderer,
    wanted: str,
    *,
    name: str = "",
    proxied_name: str | None = None,
    refused: MonitorError | None = None,
) -> Response:
    page = renderer.render(
        "people/sign_in.html",
        status=find_status(refused),
        wanted=wanted,
        name=name,
        refused=refused,
        is_new=not await app.people.has_secured_admin(),
        first_password_file=FIRST_PASSWORD_FILE,
        provider=app.oidc.provider_name,
        proxied_name=proxied_name,
        proxy_sign_out_url=app.settings.auth.proxy.sign_out_url,
        has_passkeys=app.passkeys.is_available and _find_party(renderer) is not None,
    )
    set_retry_header(page, refused)
    return page


def find_status(refused: MonitorError | None) -> int:
    if refused is None:
        return 200
    if isinstance(refused, SignInError) and refused.wait_minutes:
        return 429
    return 503 if isinstance(refused, WorkFailed) else 403


def set_retry_header(page: Response, refused: MonitorError | None) -> None:
    if isinstance(refused, SignInError) and refused.wait_minutes:
        page.headers["Retry-After"] = str(refused.wait_minutes * 60)


# By the provider. A link, not a form: browsers follow no redirect to another site from a form of ours (CSP).


@router.get("/sign-in/oidc")
async def begin_oidc(app: AppDep, renderer: Renderer, wanted: NextPath = "/") -> Response:
    """Send the browser to the provider."""
    address = sanitize_redirect_path(wanted)
    try:
        started = await app.oidc.begin(redirect_url=renderer.build_url(_CALLBACK_PATH), wanted=address)
    except MonitorError as refused:
        return await render_sign_in(app, renderer, address, refused=refused)
    return _leave_for(renderer, started)


@router.get(_CALLBACK_PATH)
async def end_oidc(app: AppDep, renderer: Renderer, request: Request) -> Response:
    """Take what the provider sent the browser back with: begin a session, or link an account to who has one."""
    principal = await load_principal(request)
    try:
        ended = await app.oidc.finish(
            request.cookies.get(FLOW_COOKIE, ""),
            request.query_params,
            address=get_client_address(request),
            browser=request.headers.get("user-agent", ""),
            device=request.cookies.get(DEVICE_COOKIE),
            by=principal,
        )
    except MonitorError as refused:
        if principal is not None and principal.session_id is not None:
            answer = await render_own_page(app, renderer, principal, error=refused.message)
        else:
            answer = await render_sign_in(app, renderer, "/", refused=refused)
    else:
        if ended.signed_in is None:
            answer = renderer.redirect(ended.wanted, notice="account_linked")
        else:
            answer = await open_session(app, renderer, request, ended.signed_in, ended.wanted)
    renderer.delete_cookie(answer, FLOW_COOKIE)
    return answer


def _leave_for(renderer: PageRenderer, started: SignInStart) -> Response:
    answer = Response(status_code=303, headers={"Location": started.url})
    set_flow_cookie(answer, renderer, started.cookie)
    return answer


def set_flow_cookie(answer: Response, renderer: PageRenderer, cookie: str) -> None:
    renderer.set_cookie(answer, FLOW_COOKIE, cookie, max_age_s=int(FLOW_LIFETIME.total_seconds()))


# By a passkey: the script asks for what the device has to sign, and hands in what it signed.


class PasskeyAnswer(BaseModel):
    """What a device signed, as the script of the page hands it in."""

    credential: dict[str, Any]
    next: str = "/"
    label: str = ""


@router.post("/sign-in/passkey/options")
async def begin_passkey(app: AppDep, renderer: Renderer, request: Request) -> Response:
    refuse_foreign_page(request)
    try:
        return _answer_options(renderer, await app.passkeys.begin_sign_in(_require_party(renderer)))
    except MonitorError as refused:
        return _answer_refusal(renderer, refused)


@router.post("/sign-in/passkey")
async def sign_in_with_passkey(app: AppDep, renderer: Renderer, request: Request, given: PasskeyAnswer) -> Response:
    """Begin a session of whose key it is; the script goes on to `location`."""
    refuse_foreign_page(request)
    try:
        signed_in = await app.passkeys.sign_in(
            request.cookies.get(FLOW_COOKIE, ""),
            given.credential,
            _require_party(renderer),
            address=get_client_address(request),
            browser=request.headers.get("user-agent", ""),
            device=request.cookies.get(DEVICE_COOKIE),
        )
    except MonitorError as refused:
        return _answer_refusal(renderer, refused)
    await _end_session_before(app, request)
    answer = JSONResponse({"location": renderer.href(sanitize_redirect_path(given.next))})
    _set_session_cookies(answer, renderer, signed_in)
    renderer.delete_cookie(answer, FLOW_COOKIE)
    return answer


def _answer_refusal(renderer: PageRenderer, refused: MonitorError) -> Response:
    status = 403 if isinstance(refused, SignInError) else 400
    return build_problem_answer(Problem(status, refused.message), renderer.language)


def _answer_options(renderer: PageRenderer, asked: PasskeyRequest) -> Response:
    answer = JSONResponse(asked.options)
    set_flow_cookie(answer, renderer, asked.cookie)
    return answer


def _find_party(renderer: PageRenderer) -> RelyingParty | None:
    return RelyingParty.from_url(renderer.build_url("/"))


def _require_party(renderer: PageRenderer) -> RelyingParty:
    party = _find_party(renderer)
    if party is None:
        raise UsageError("passkey.no_place")
    return party


# How one signs in oneself.


@router.get(OWN_PAGE)
async def show_own_page(app: AppDep, renderer: Renderer, principal: Reader) -> Response:
    require_session(principal)
    return await render_own_page(app, renderer, principal)


@router.get(f"{OWN_PAGE}/link")
async def begin_linking(app: AppDep, renderer: Renderer, request: Request, principal: Reader) -> Response:
    """Send the browser to the provider; the account that signs in there is linked to whoever asks."""
    require_session(principal)
    refuse_foreign_page(request)
    try:
        started = await app.oidc.begin(
            redirect_url=renderer.build_url(_CALLBACK_PATH), wanted=OWN_PAGE, person=principal.name
        )
    except MonitorError as refused:
        return await render_own_page(app, renderer, principal, error=refused.message)
    return _leave_for(renderer, started)


@router.post(f"{OWN_PAGE}/accounts/{{account_id}}/unlink")
async def unlink_own_account(app: AppDep, renderer: Renderer, principal: Reader, account_id: int) -> Response:
    require_session(principal)
    try:
        await app.oidc.unlink(principal.name, account_id, by=principal)
    except MonitorError as refused:
        return await render_own_page(app, renderer, principal, error=refused.message)
    return renderer.redirect(OWN_PAGE, notice="account_unlinked")


@router.post(f"{OWN_PAGE}/passkeys/options")
async def begin_adding_passkey(app: AppDep, renderer: Renderer, principal: Reader) -> Response:
    require_session(principal)
    try:
        return _answer_options(renderer, await app.passkeys.begin_adding(_require_party(renderer), by=principal))
    except MonitorError as refused:
        return _answer_refusal(renderer, refused)


@router.post(f"{OWN_PAGE}/passkeys")
async def add_passkey(
    app: AppDep, renderer: Renderer, request: Request, principal: Reader, given: PasskeyAnswer
) -> Response:
    """Keep the key that a device made; the script goes on to `location`."""
    require_session(principal)
    cookie = request.cookies.get(FLOW_COOKIE, "")
    try:
        await app.passkeys.add(cookie, given.credential, given.label, _require_party(renderer), by=principal)
    except MonitorError as refused:
        return _answer_refusal(renderer, refused)
    answer = JSONResponse({"location": renderer.href(OWN_PAGE)})
    renderer.delete_cookie(answer, FLOW_COOKIE)
    return answer


@router.post(f"{OWN_PAGE}/passkeys/{{key_id}}/remove")
async def remove_own_passkey(app: AppDep, renderer: Renderer, principal: Reader, key_id: int) -> Response:
    require_session(principal)
    await app.passkeys.remove(principal.name, key_id, by=principal)
    return renderer.redirect(OWN_PAGE, notice="passkey_removed")


async def render_own_page(
    app: App,
    renderer: PageRenderer,
    principal: Principal,
    *,
    error: Message | None = None,
    recovery_codes: Sequence[str] = (),
) -> Response:
    return renderer.render(
        "people/own_sign_in.html",
        section="account",
        status=400 if error else 200,
        person=await app.people.get(principal.name),
        provider=app.oidc.provider_name,
        accounts=await app.oidc.list_accounts(principal.name),
        passkeys=await app.passkeys.list(principal.name),
        has_passkeys=app.passkeys.is_available and _find_party(renderer) is not None,
        second_factor=await app.second_factor.find(principal.name),
        recovery_codes=recovery_codes,
        error=error,
    )


# How others sign in.


@router.post("/settings/people/{name}/accounts")
async def link_account(
    app: AppDep, renderer: Renderer, principal: Admin, name: str, subject: FormText = ""
) -> Response:
    await app.oidc.link(name, subject, by=principal)
    return renderer.redirect(f"/settings/people/{quote(name)}", notice="account_linked")


@router.post("/settings/people/{name}/passkeys/{key_id}/remove")
async def remove_passkey(app: AppDep, renderer: Renderer, principal: Admin, name: str, key_id: int) -> Response:
    await app.passkeys.remove(name, key_id, by=principal)
    return renderer.redirect(f"/settings/people/{quote(name)}", notice="passkey_removed")


@router.post("/settings/people/{name}/accounts/{account_id}/unlink")
async def unlink_account(app: AppDep, renderer: Renderer, principal: Admin, name: str, account_id: int) -> Response:
    await app.oidc.unlink(name, account_id, by=principal)
    return renderer.redirect(f"/settings/people/{quote(name)}", notice="account_unlinked")
