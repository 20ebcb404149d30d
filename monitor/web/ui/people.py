"""One's own account, and for administrators all people, sessions and tokens, and the audit."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form, Response
from pydantic import BaseModel

from monitor.bootstrap import App
from monitor.db.tables.people import WebSession
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.services.audit import ROLE_ORDER
from monitor.services.cursors import cut_page, decode_id
from monitor.services.passwords import MIN_PASSWORD_CHARS
from monitor.services.tokens import MAX_DAILY_LIMIT, TokenLimits
from monitor.web.api.cursors import build_next_url
from monitor.web.api.people import require_session
from monitor.web.auth import Admin, AppDep, Principal, Reader
from monitor.web.ui.rendering import FilterText, FormText, PageRenderer, Renderer, set_language

_AUDIT_PAGE_SIZE = 50

router = APIRouter()


# One's own account. Who signed in with a one-time password has to choose one here before anything else.


class TokenForm(BaseModel):
    name: str = ""
    role: str = ""
    days: str = ""
    scope: list[str] = []
    networks: str = ""
    daily_limit: str = ""
    team: list[str] = []


TokenFields = Annotated[TokenForm, Form()]


@router.get("/account")
async def account(app: AppDep, renderer: Renderer, principal: Reader) -> Response:
    require_session(principal)
    return await _render_account(app, renderer, principal)


@router.post("/account/password")
async def change_password(
    app: AppDep, renderer: Renderer, principal: Reader, new: FormText = "", again: FormText = "", old: FormText = ""
) -> Response:
    """Change the password; all other sessions end."""
    session_id = require_session(principal)
    if new != again:
        return await _render_account(app, renderer, principal, wrong="password", error=Message("password.not_repeated"))
    try:
        proof = None if principal.is_one_time else old
        await app.people.set_password(principal.name, new, old=proof, session_id=session_id, by=principal)
    except UsageError as error:
        return await _render_account(app, renderer, principal, wrong="password", error=error.message)
    return renderer.redirect("/" if principal.is_one_time else "/account", notice="password_changed")


@router.post("/account/language")
async def change_language(app: AppDep, renderer: Renderer, principal: Reader, language: FormText = "") -> Response:
    """Set the language of the pages; an empty one is that of the browser."""
    require_session(principal)
    await app.people.set_language(language or None, by=principal)
    response = renderer.redirect("/account", notice="saved")
    set_language(response, renderer, language or None)
    return response


@router.post("/account/tokens")
async def create_own_token(app: AppDep, renderer: Renderer, principal: Reader, form: TokenFields) -> Response:
    """Create a token and show it this once."""
    require_session(principal)
    try:
        made = await _create_token(app, principal, form)
    except UsageError as error:
        return await _render_account(app, renderer, principal, wrong="token", error=error.message)
    return await _render_account(app, renderer, principal, made=made)


@router.post("/account/tokens/{name}/revoke")
async def revoke_own_token(app: AppDep, renderer: Renderer, principal: Reader, name: str) -> Response:
    require_session(principal)
    await app.tokens.revoke(name, created_by=principal.name, by=principal)
    return renderer.redirect("/account", notice="token_revoked")


@router.post("/account/sessions/end-others")
async def end_other_sessions(app: AppDep, renderer: Renderer, principal: Reader) -> Response:
    await app.people.end_other_sessions(require_session(principal), by=principal)
    return renderer.redirect("/account", notice="sessions_ended")


@router.post("/account/sessions/{session_id}/end")
async def end_own_session(app: AppDep, renderer: Renderer, principal: Reader, session_id: str) -> Response:
    require_session(principal)
    await app.people.end_session(session_id, person=principal.name, by=principal)
    return renderer.redirect("/account", notice="session_ended")


async def _render_account(
    app: App,
    renderer: PageRenderer,
    principal: Principal,
    *,
    wrong: str | None = None,
    error: Message | None = None,
    made: tuple[str, str] | None = None,
) -> Response:
    """Render the account; `wrong` names the form that was refused, `made` is a new token under its name."""
    return renderer.render(
        "people/account.html",
        status=400 if error else 200,
        sessions=await _list_sessions(app, principal.name),
        tokens=await app.tokens.list_tokens(created_by=principal.name),
        person=await app.people.get(principal.name),
        roles=[role for role in ROLE_ORDER if principal.has_role(role)],
        min_chars=MIN_PASSWORD_CHARS,
        wrong=wrong,
        error=error,
        made=made,
    )


async def _create_token(app: App, principal: Principal, form: TokenForm) -> tuple[str, str]:
    try:
        days = int(form.days) if form.days else None
    except ValueError:
        raise UsageError("token.wrong_days", days=form.days) from None
    try:
        daily_limit = int(form.daily_limit) if form.daily_limit.strip() else None
    except ValueError:
        raise UsageError("token.bad_daily_limit", limit=MAX_DAILY_LIMIT) from None
    networks = [text for text in re.split(r"[\s,;]+", form.networks) if text]
    name, limits = form.name.strip(), TokenLimits(networks, form.team, daily_limit)
    return name, await app.tokens.create(name, form.role, scopes=form.scope, days=days, limits=limits, by=principal)


async def _list_sessions(app: App, person: str | None = None) -> list[tuple[WebSession, str]]:
    return [(session, describe_browser(session.browser)) for session in await app.people.list_sessions(person)]


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
    """Return browser and system, as `Firefox · Windows`; the beginning of the header where neither is known."""
    known = [next((name for mark, name in marks if mark in user_agent), None) for marks in (_BROWSERS, _SYSTEMS)]
    return " · ".join(name for name in known if name) or user_agent[:40] or "?"


# All people, sessions and tokens.


@router.get("/settings/people")
async def people(app: AppDep, renderer: Renderer, principal: Admin) -> Response:
    return await _render_people(app, renderer, principal)


@router.post("/settings/people")
async def add_person(
    app: AppDep, renderer: Renderer, principal: Admin, name: FormText = "", role: FormText = ""
) -> Response:
    """Add somebody; the password for their first sign-in is shown this once."""
    try:
        password = await app.people.add(name, role, by=principal)
    except UsageError as error:
        return await _render_people(app, renderer, principal, error=error, name=name)
    return await _render_people(app, renderer, principal, made=(name.strip(), password))


@router.post("/settings/people/sessions/{session_id}/end")
async def end_session(app: AppDep, renderer: Renderer, principal: Admin, session_id: str) -> Response:
    await app.people.end_session(session_id, by=principal)
    return renderer.redirect("/settings/people", notice="session_ended")


@router.get("/settings/people/{name}")
async def person(app: AppDep, renderer: Renderer, _: Admin, name: str) -> Response:
    return await _render_person(app, renderer, name)


@router.post("/settings/people/{name}/role")
async def change_role(app: AppDep, renderer: Renderer, principal: Admin, name: str, role: FormText = "") -> Response:
    await app.people.set_role(name, role, by=principal)
    return renderer.redirect(f"/settings/people/{name}", notice="saved")


@router.post("/settings/people/{name}/reset")
async def reset_password(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    """Replace the password with a one-time password, which is shown this once."""
    password = await app.people.reset_password(name, by=principal)
    return await _render_person(app, renderer, name, password=password)


@router.post("/settings/people/{name}/shut-out")
async def shut_out(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    await app.people.block_sign_in(name, by=principal)
    return renderer.redirect(f"/settings/people/{name}", notice="shut_out")


@router.post("/settings/people/{name}/let-in")
async def let_in(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    await app.people.allow_sign_in(name, by=principal)
    return renderer.redirect(f"/settings/people/{name}", notice="let_in")


@router.post("/settings/people/{name}/erase")
async def erase(app: AppDep, renderer: Renderer, principal: Admin, name: str, repeated: FormText = "") -> Response:
    """Erase somebody, whose name has to be typed once more: this cannot be undone."""
    if repeated.strip() != name:
        return await _render_person(app, renderer, name, error=Message("person.erase_unconfirmed", {"name": name}))
    await app.erasure.erase(name, by=principal)
    return renderer.redirect("/settings/people", notice="erased")


@router.get("/settings/tokens")
async def tokens(app: AppDep, renderer: Renderer, _: Admin) -> Response:
    return await _render_tokens(app, renderer)


@router.post("/settings/tokens")
async def create_token(app: AppDep, renderer: Renderer, principal: Admin, form: TokenFields) -> Response:
    """Create a token for a program and show it this once."""
    try:
        made = await _create_token(app, principal, form)
    except UsageError as error:
        return await _render_tokens(app, renderer, error=error)
    return await _render_tokens(app, renderer, made=made)


@router.post("/settings/tokens/{name}/revoke")
async def revoke_token(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    await app.tokens.revoke(name, by=principal)
    return renderer.redirect("/settings/tokens", notice="token_revoked")


async def _render_people(
    app: App,
    renderer: PageRenderer,
    principal: Principal,
    *,
    made: tuple[str, str] | None = None,
    error: UsageError | None = None,
    name: str = "",
) -> Response:
    return renderer.render(
        "people/list.html",
        section="settings",
        status=400 if error else 200,
        tab="people",
        people=await app.people.list_people(),
        protected=await app.second_factor.list_people(),
        teams=await app.teams.list_teams(by=principal),
        sessions=await _list_sessions(app),
        made=made,
        error=error,
        name=name,
        roles=ROLE_ORDER,
    )


async def _render_person(
    app: App, renderer: PageRenderer, name: str, *, password: str | None = None, error: Message | None = None
) -> Response:
    return renderer.render(
        "people/person.html",
        section="settings",
        status=400 if error else 200,
        error=error,
        tab="people",
        person=await app.people.get(name),
        roles=ROLE_ORDER,
        sessions=await _list_sessions(app, name),
        tokens=await app.tokens.list_tokens(created_by=name),
        password=password,
        provider=app.oidc.provider_name,
        accounts=await app.oidc.list_accounts(name),
        passkeys=await app.passkeys.list(name),
        second_factor=await app.second_factor.find(name),
    )


async def _render_tokens(
    app: App, renderer: PageRenderer, *, made: tuple[str, str] | None = None, error: UsageError | None = None
) -> Response:
    return renderer.render(
        "people/tokens.html",
        section="settings",
        status=400 if error else 200,
        tab="tokens",
        tokens=await app.tokens.list_tokens(),
        made=made,
        error=error,
        roles=ROLE_ORDER,
    )


@dataclass(frozen=True, slots=True)
class AuditChange:
    """One thing that was changed: None where it was not there before, or is not any more.

    `is_fact`: nothing was changed, `after` is what else is known of the act.
    """

    name: str
    before: str | None
    after: str | None
    is_fact: bool = False


@router.get("/audit")
async def audit(
    app: AppDep,
    renderer: Renderer,
    _: Admin,
    person: FilterText = "",
    action: FilterText = "",
    subject: FilterText = "",
    address: FilterText = "",
    cursor: str | None = None,
) -> Response:
    asked = {"person": person, "action": action, "subject": subject.strip(), "address": address.strip()}
    found = await app.audit.list_entries(**asked, before_id=decode_id(cursor), limit=_AUDIT_PAGE_SIZE + 1)
    entries, following = cut_page(found, _AUDIT_PAGE_SIZE, lambda entry: entry.id)
    return renderer.render(
        "audit/list.html",
        asked=asked,
        following=build_next_url("/audit", asked, following),
        entries=[(entry, list_changes(entry.detail)) for entry in entries],
        people=await app.audit.list_people(),
        actions=await app.audit.list_actions(),
        retention_days=app.settings.work.audit_retention_days,
    )


def list_changes(detail: Mapping[str, Any]) -> list[AuditChange]:
    """Return what differs between `before` and `after`, and whatever else is known of a change."""
    before, after = (_convert_to_fields(detail.get(side)) for side in ("before", "after"))
    names = [name for name in before | after if name not in before or name not in after or before[name] != after[name]]
    others = [name for name in detail if name not in ("before", "after")]
    return [
        *(AuditChange(name, _format_field(before, name), _format_field(after, name)) for name in names),
        *(AuditChange(name, None, _format_field(detail, name), is_fact=True) for name in others),
    ]


def _convert_to_fields(side: Any) -> dict[str, Any]:
    if isinstance(side, Mapping):
        return dict(side)
    return {} if side is None else {"": side}


def _format_field(side: Mapping[str, Any], name: str) -> str | None:
    if name not in side:
        return None
    return side[name] if isinstance(side[name], str) else json.dumps(side[name], ensure_ascii=False)
