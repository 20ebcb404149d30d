"""The second factor of passwords: the code that a sign-in asks for, and how one sets up one's own."""

from urllib.parse import quote

from fastapi import APIRouter, Request, Response

from monitor.bootstrap import App
from monitor.errors import MonitorError
from monitor.i18n.message import Message
from monitor.web.api.people import require_session
from monitor.web.auth import DEVICE_COOKIE, Admin, AppDep, Principal, Reader
from monitor.web.middleware import get_client_address, sanitize_redirect_path
from monitor.web.ui.rendering import FormText, PageRenderer, Renderer
from monitor.web.ui.sign_in import (
    CODE_PATH,
    FLOW_COOKIE,
    OWN_PAGE,
    NextField,
    NextPath,
    find_status,
    open_session,
    refuse_foreign_page,
    render_own_page,
    render_sign_in,
    set_flow_cookie,
    set_retry_header,
)

_ENROLMENT_PAGE = f"{OWN_PAGE}/second-factor"

router = APIRouter()


@router.get(CODE_PATH)
async def show_code_form(app: AppDep, renderer: Renderer, request: Request, wanted: NextPath = "/") -> Response:
    """Show the form for the code that follows the password."""
    address = sanitize_redirect_path(wanted)
    if not await app.second_factor.is_waiting(request.cookies.get(FLOW_COOKIE, "")):
        return renderer.redirect(f"/sign-in?next={quote(address, safe='')}")
    return _render_code_form(renderer, address)


@router.post(CODE_PATH)
async def sign_in_with_code(
    app: AppDep, renderer: Renderer, request: Request, code: FormText = "", wanted: NextField = "/"
) -> Response:
    """Begin a session with the code; after too many wrong ones, and after ten minutes, the password comes first."""
    refuse_foreign_page(request)
    address, cookie = sanitize_redirect_path(wanted), request.cookies.get(FLOW_COOKIE, "")
    host, browser = get_client_address(request), request.headers.get("user-agent", "")
    device = request.cookies.get(DEVICE_COOKIE)
    try:
        signed_in = await app.second_factor.sign_in(cookie, code, address=host, browser=browser, device=device)
    except MonitorError as refused:
        if await app.second_factor.is_waiting(cookie):
            return _render_code_form(renderer, address, refused=refused)
        return await render_sign_in(app, renderer, address, refused=refused)
    answer = await open_session(app, renderer, request, signed_in, address)
    renderer.delete_cookie(answer, FLOW_COOKIE)
    return answer


def _render_code_form(renderer: PageRenderer, wanted: str, *, refused: MonitorError | None = None) -> Response:
    page = renderer.render(
        "people/sign_in_code.html", status=find_status(refused), wanted=wanted, error=refused and refused.message
    )
    set_retry_header(page, refused)
    return page


# One's own.


@router.get(_ENROLMENT_PAGE)
async def show_enrolment(app: AppDep, renderer: Renderer, request: Request, principal: Reader) -> Response:
    """Show what an authenticator app is set up with; nothing is kept before a code has confirmed it."""
    require_session(principal)
    return await _render_enrolment(app, renderer, request, principal)


@router.post(_ENROLMENT_PAGE)
async def add_second_factor(
    app: AppDep, renderer: Renderer, request: Request, principal: Reader, code: FormText = ""
) -> Response:
    """Switch the second factor on, and show the recovery codes this once."""
    require_session(principal)
    try:
        codes = await app.second_factor.add(request.cookies.get(FLOW_COOKIE, ""), code, by=principal)
    except MonitorError as refused:
        return await _render_enrolment(app, renderer, request, principal, error=refused.message)
    answer = await render_own_page(app, renderer, principal, recovery_codes=codes)
    renderer.delete_cookie(answer, FLOW_COOKIE)
    return answer


@router.post(f"{_ENROLMENT_PAGE}/recovery-codes")
async def replace_recovery_codes(app: AppDep, renderer: Renderer, principal: Reader, code: FormText = "") -> Response:
    """Show new recovery codes this once; those before are over."""
    session_id = require_session(principal)
    try:
        codes = await app.second_factor.replace_recovery_codes(code, session_id=session_id, by=principal)
    except MonitorError as refused:
        return await render_own_page(app, renderer, principal, error=refused.message)
    return await render_own_page(app, renderer, principal, recovery_codes=codes)


@router.post(f"{_ENROLMENT_PAGE}/remove")
async def remove_second_factor(app: AppDep, renderer: Renderer, principal: Reader, code: FormText = "") -> Response:
    session_id = require_session(principal)
    try:
        await app.second_factor.remove(code, session_id=session_id, by=principal)
    except MonitorError as refused:
        return await render_own_page(app, renderer, principal, error=refused.message)
    return renderer.redirect(OWN_PAGE, notice="second_factor_removed")


async def _render_enrolment(
    app: App, renderer: PageRenderer, request: Request, principal: Principal, *, error: Message | None = None
) -> Response:
    try:
        enrolment = await app.second_factor.begin_adding(request.cookies.get(FLOW_COOKIE, ""), by=principal)
    except MonitorError as refused:
        return await render_own_page(app, renderer, principal, error=refused.message)
    status = 400 if error else 200
    page = renderer.render("people/second_factor.html", status=status, enrolment=enrolment, error=error)
    set_flow_cookie(page, renderer, enrolment.cookie)
    return page


@router.post("/settings/people/{name}/second-factor/remove")
async def reset_second_factor(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    """Remove that of somebody who lost phone and recovery codes."""
    await app.second_factor.reset(name, by=principal)
    return renderer.redirect(f"/settings/people/{quote(name)}", notice="second_factor_removed")
