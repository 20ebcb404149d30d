"""The pages of subscriptions: one's own, everybody's, and the one that a link in a mail opens without an account."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.db.visibility import EVERYBODY, see_as
from monitor.errors import Conflict, UsageError
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.subscriptions import DEFAULT_SUBSCRIPTION_SCHEDULE, SubscriptionForm, list_carriers
from monitor.web.api.briefings import parse_compose_form
from monitor.web.api.people import require_session
from monitor.web.api.subscriptions import SubscriptionId
from monitor.web.auth import Admin, AppDep, Principal, Reader
from monitor.web.ui.briefings import list_condition_options
from monitor.web.ui.rendering import PageRenderer, Renderer
from monitor.web.ui.schedules import parse_schedule_fields

_MAX_TOKEN_CHARS = 64
_CONDITION_FIELDS = ("topic", "sources", "tags", "types", "keywords", "language")
_PRIVATE_HEADERS = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow", "Cache-Control": "no-store"}
Token = Annotated[str, Path(max_length=_MAX_TOKEN_CHARS)]

router = APIRouter()


@router.get("/account/subscriptions")
async def subscriptions(app: AppDep, renderer: Renderer, request: Request, principal: Reader) -> Response:
    """Show one's subscriptions and the form of a new one; a link may say what is to stand in it."""
    require_session(principal)
    fields = parse_compose_form(request.query_params, renderer.language)
    return await _render(app, renderer, principal, fields | {"schedule": DEFAULT_SUBSCRIPTION_SCHEDULE})


@router.post("/account/subscriptions")
async def subscribe(app: AppDep, renderer: Renderer, request: Request, principal: Reader) -> Response:
    require_session(principal)
    form = await request.form()
    conditions = parse_compose_form(form, renderer.language)
    fields = {name: conditions[name] for name in _CONDITION_FIELDS if name in conditions}
    fields |= {name: str(form.get(name, "")).strip() for name in ("address", "format", "target") if form.get(name)}
    fields["schedule"] = parse_schedule_fields(form) or ""
    try:
        wanted = SubscriptionForm.model_validate({"address": "", **fields})
        await app.subscriptions.subscribe(wanted, by=principal)
    except ValidationError as error:
        messages = [describe_validation_error(detail) for detail in error.errors()]
        return await _render(app, renderer, principal, fields, messages[0])
    except UsageError as error:
        return await _render(app, renderer, principal, fields, error.message)
    return renderer.redirect("/account/subscriptions", notice="subscription_added")


@router.post("/account/subscriptions/{subscription_id}/end")
async def end_mine(app: AppDep, renderer: Renderer, principal: Reader, subscription_id: SubscriptionId) -> Response:
    require_session(principal)
    await app.subscriptions.end(subscription_id, by=principal)
    return renderer.redirect("/account/subscriptions", notice="subscription_ended")


@router.get("/settings/subscriptions")
async def everybody(app: AppDep, renderer: Renderer, principal: Admin) -> Response:
    rows = await app.subscriptions.list(by=principal, everybody=True)
    return renderer.render(
        "settings/subscriptions.html", rows=rows, obstacle=app.subscriptions.find_obstacle(), section="settings"
    )


@router.post("/settings/subscriptions/{subscription_id}/end")
async def end(app: AppDep, renderer: Renderer, principal: Admin, subscription_id: SubscriptionId) -> Response:
    await app.subscriptions.end(subscription_id, by=principal)
    return renderer.redirect("/settings/subscriptions", notice="subscription_ended")


@router.get("/subscriptions/{token}")
async def follow_link(app: AppDep, renderer: Renderer, token: Token) -> Response:
    """Show what the link of a mail is for; mail programs look at links by themselves, so that nothing happens yet."""
    return await _render_link(app, renderer, token)


@router.post("/subscriptions/{token}/confirm")
async def confirm(app: AppDep, renderer: Renderer, token: Token) -> Response:
    try:
        await app.subscriptions.confirm(token)
    except Conflict:
        return await _render_link(app, renderer, token, status=410)
    return await _render_link(app, renderer, token)


@router.post("/subscriptions/{token}")
async def end_by_link(app: AppDep, renderer: Renderer, token: Token) -> Response:
    """End the subscription at once, as RFC 8058 has it: a mail program posts here, without a page of ours."""
    await app.subscriptions.end_by_link(token)
    return await _render_link(app, renderer, token)


async def _render_link(app: App, renderer: PageRenderer, token: str, *, status: int = 200) -> Response:
    row = await app.subscriptions.open(token)
    page = renderer.render("people/subscription.html", section="", status=status, row=row, token=token)
    page.headers.update(_PRIVATE_HEADERS)
    return page


async def _render(
    app: App, renderer: PageRenderer, principal: Principal, fields: dict[str, Any], trouble: Message | None = None
) -> Response:
    obstacle = app.subscriptions.find_obstacle()
    with see_as(EVERYBODY):  # what belongs to a team is in no mail
        options = await list_condition_options(app, renderer)
    return renderer.render(
        "people/subscriptions.html",
        status=400 if trouble else 200,
        rows=await app.subscriptions.list(by=principal),
        fields=fields,
        trouble=trouble,
        obstacle=obstacle,
        admins=await app.subscriptions.list_admins() if obstacle else [],
        targets=[(name, name) for name in list_carriers(app.settings)],
        **options,
    )
