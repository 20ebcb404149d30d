"""The pages of webhooks: the endpoints, and the log of what they were sent."""

import datetime as dt
import json
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Form, Query, Request, Response
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.db.tables.webhooks import WebhookDeliveryStatus, WebhookFormat
from monitor.errors import Conflict, UsageError
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.cursors import cut_page, decode_id
from monitor.services.webhooks.endpoints import EVENT_TYPES, WebhookForm, WebhookSchema
from monitor.web.api.cursors import build_next_url
from monitor.web.api.webhooks import DeliveryId, WebhookId
from monitor.web.auth import Admin, AppDep, Principal
from monitor.web.ui.rendering import PageRenderer, Renderer

_PAGE_SIZE = 50
_DEFAULT_REPLAY = dt.timedelta(days=1)

router = APIRouter()


@router.get("/settings/webhooks")
async def webhooks(app: AppDep, renderer: Renderer, principal: Admin) -> Response:
    return renderer.render("webhooks/list.html", rows=await app.webhooks.list(by=principal))


@router.get("/settings/webhooks/new")
async def new_webhook(app: AppDep, renderer: Renderer, principal: Admin) -> Response:
    values = WebhookForm(url="").model_dump() | {"language": principal.language}
    return await _render_form(app, renderer, None, values)


@router.post("/settings/webhooks")
async def add_webhook(app: AppDep, renderer: Renderer, principal: Admin, request: Request) -> Response:
    """Add an endpoint, and show its secret this once."""
    values = await _parse_values(request)
    try:
        webhook, secret = await app.webhooks.add(WebhookForm.model_validate(values), by=principal)
    except (ValidationError, UsageError, Conflict) as error:
        return await _render_form(app, renderer, None, values, error=_describe_error(error))
    return await _render_webhook(app, renderer, principal, webhook.id, secret=secret)


@router.get("/settings/webhooks/{webhook_id}")
async def show_webhook(
    app: AppDep,
    renderer: Renderer,
    principal: Admin,
    webhook_id: WebhookId,
    status: Annotated[str, Query(max_length=20)] = "",
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> Response:
    return await _render_webhook(app, renderer, principal, webhook_id, status=status, cursor=cursor)


@router.get("/settings/webhooks/{webhook_id}/edit")
async def edit_webhook(app: AppDep, renderer: Renderer, principal: Admin, webhook_id: WebhookId) -> Response:
    webhook = await app.webhooks.get(webhook_id, by=principal)
    team = (await app.teams.list_choices(principal)).get(webhook.team_id or 0, "")
    return await _render_form(app, renderer, webhook, webhook.model_dump() | {"team": team})


@router.post("/settings/webhooks/{webhook_id}/edit")
async def save_webhook(
    app: AppDep, renderer: Renderer, principal: Admin, webhook_id: WebhookId, request: Request
) -> Response:
    webhook, values = await app.webhooks.get(webhook_id, by=principal), await _parse_values(request)
    try:
        await app.webhooks.edit(webhook_id, WebhookForm.model_validate(values), by=principal)
    except (ValidationError, UsageError) as error:
        return await _render_form(app, renderer, webhook, values, error=_describe_error(error))
    return renderer.redirect(f"/settings/webhooks/{webhook_id}", notice="webhook_saved")


@router.post("/settings/webhooks/{webhook_id}/remove")
async def remove_webhook(app: AppDep, renderer: Renderer, principal: Admin, webhook_id: WebhookId) -> Response:
    await app.webhooks.remove(webhook_id, by=principal)
    return renderer.redirect("/settings/webhooks", notice="webhook_removed")


@router.post("/settings/webhooks/{webhook_id}/secret")
async def replace_secret(app: AppDep, renderer: Renderer, principal: Admin, webhook_id: WebhookId) -> Response:
    secret = await app.webhooks.replace_secret(webhook_id, by=principal)
    return await _render_webhook(app, renderer, principal, webhook_id, secret=secret)


@router.post("/settings/webhooks/{webhook_id}/enable")
async def enable_webhook(app: AppDep, renderer: Renderer, principal: Admin, webhook_id: WebhookId) -> Response:
    await app.webhooks.set_enabled(webhook_id, is_enabled=True, by=principal)
    return renderer.redirect(f"/settings/webhooks/{webhook_id}", notice="webhook_enabled")


@router.post("/settings/webhooks/{webhook_id}/disable")
async def disable_webhook(app: AppDep, renderer: Renderer, principal: Admin, webhook_id: WebhookId) -> Response:
    await app.webhooks.set_enabled(webhook_id, is_enabled=False, by=principal)
    return renderer.redirect(f"/settings/webhooks/{webhook_id}", notice="webhook_disabled")


@router.post("/settings/webhooks/{webhook_id}/test")
async def test_webhook(app: AppDep, renderer: Renderer, principal: Admin, webhook_id: WebhookId) -> Response:
    delivery_id = await app.webhooks.send_test(webhook_id, by=principal)
    return renderer.redirect(f"/settings/webhooks/{webhook_id}/deliveries/{delivery_id}", notice="webhook_test")


@router.post("/settings/webhooks/{webhook_id}/replay")
async def replay_webhook(
    app: AppDep,
    renderer: Renderer,
    principal: Admin,
    webhook_id: WebhookId,
    since: Annotated[str, Form(max_length=40)] = "",
) -> Response:
    """Send again what happened since an instant, which is typed in the time of the service."""
    try:
        instant = dt.datetime.fromisoformat(since).replace(tzinfo=ZoneInfo(app.settings.timezone)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        error = Message("webhook.bad_since")
        return await _render_webhook(app, renderer, principal, webhook_id, error=error)
    await app.webhooks.replay(webhook_id, instant, by=principal)
    return renderer.redirect(f"/settings/webhooks/{webhook_id}#log", notice="webhook_replayed")


@router.get("/settings/webhooks/{webhook_id}/deliveries/{delivery_id}")
async def show_delivery(
    app: AppDep, renderer: Renderer, principal: Admin, webhook_id: WebhookId, delivery_id: DeliveryId
) -> Response:
    webhook = await app.webhooks.get(webhook_id, by=principal)
    detail = await app.webhooks.get_delivery(webhook_id, delivery_id, by=principal)
    body = json.dumps(json.loads(detail.body), ensure_ascii=False, indent=2)
    return renderer.render("webhooks/delivery.html", webhook=webhook, delivery=detail, body=body)


@router.post("/settings/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver")
async def redeliver(
    app: AppDep, renderer: Renderer, principal: Admin, webhook_id: WebhookId, delivery_id: DeliveryId
) -> Response:
    await app.webhooks.redeliver(webhook_id, delivery_id, by=principal)
    return renderer.redirect(f"/settings/webhooks/{webhook_id}/deliveries/{delivery_id}", notice="webhook_redelivered")


async def _parse_values(request: Request) -> dict[str, Any]:
    form = await request.form()
    fields = ("url", "label", "format", "language", "team")
    values: dict[str, Any] = {name: str(form.get(name, "")).strip() for name in fields}
    values["types"] = [str(value) for value in form.getlist("types")]
    values["topics"] = [str(value) for value in form.getlist("topics")]
    return values


def _describe_error(error: ValidationError | UsageError | Conflict) -> Message:
    if isinstance(error, ValidationError):
        return describe_validation_error(error.errors()[0])
    return error.message


async def _render_form(
    app: App,
    renderer: PageRenderer,
    webhook: WebhookSchema | None,
    values: dict[str, Any],
    *,
    error: Message | None = None,
) -> Response:
    return renderer.render(
        "webhooks/form.html",
        webhook=webhook,
        values=values | {"topics": [str(topic) for topic in values["topics"]]},
        types=EVENT_TYPES,
        formats=list(WebhookFormat),
        topics=await app.store.topics.list(),
        error=error,
        status=400 if error else 200,
    )


async def _render_webhook(
    app: App,
    renderer: PageRenderer,
    principal: Principal,
    webhook_id: int,
    *,
    status: str = "",
    cursor: str | None = None,
    secret: str | None = None,
    error: Message | None = None,
) -> Response:
    webhook = await app.webhooks.get(webhook_id, by=principal)
    wanted = WebhookDeliveryStatus(status) if status in set(WebhookDeliveryStatus) else None
    rows = await app.webhooks.list_log(
        webhook_id, status=wanted, before_id=decode_id(cursor), limit=_PAGE_SIZE + 1, by=principal
    )
    page, following = cut_page(rows, _PAGE_SIZE, lambda row: row.event_id)
    since = webhook.disabled_at or webhook.failing_since or app.clock.now() - _DEFAULT_REPLAY
    return renderer.render(
        "webhooks/show.html",
        status=400 if error else 200,
        webhook=webhook,
        topics={topic.id: topic.name for topic in await app.store.topics.list()},
        secret=secret,
        error=error,
        rows=page,
        shown_status=wanted or "",
        statuses=list(WebhookDeliveryStatus),
        since=f"{since.astimezone(ZoneInfo(app.settings.timezone)):%Y-%m-%dT%H:%M}",
        next_url=build_next_url(f"/settings/webhooks/{webhook_id}", {"status": wanted}, following),
    )
