"""Webhooks over HTTP: the endpoints, the log of what they were sent, and sending it once more."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field

from monitor.db.tables.webhooks import WebhookDeliveryStatus
from monitor.services.cursors import cut_page, decode_id
from monitor.services.webhooks.endpoints import WebhookDeliveryDetail, WebhookDeliverySchema, WebhookForm, WebhookSchema
from monitor.web.api.cursors import Cursor, Limit
from monitor.web.api.search import Instant
from monitor.web.auth import Admin, AppDep
from monitor.web.problems import PROBLEM_RESPONSES

MAX_ID = 2**31 - 1
WebhookId = Annotated[int, Path(ge=1, le=MAX_ID)]
DeliveryId = Annotated[int, Path(ge=1, le=MAX_ID)]

router = APIRouter(prefix="/api/v1/webhooks", tags=["webhooks"], responses=PROBLEM_RESPONSES)


class WebhookListSchema(BaseModel):
    """All endpoints, enabled or not, newest first; at most 50, so the list is whole."""

    webhooks: list[WebhookSchema]
    next: None = None


class NewWebhookSchema(BaseModel):
    """A new endpoint with the secret that signs, which is shown this once."""

    webhook: WebhookSchema
    secret: str = Field(examples=["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"])


class WebhookSecretSchema(BaseModel):
    """A new secret, which is shown this once; the one before signs too for a day."""

    secret: str = Field(examples=["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"])


class WebhookDeliveryListSchema(BaseModel):
    """A page of the log; `next` is the cursor with which it goes on."""

    deliveries: list[WebhookDeliverySchema]
    next: str | None


class WebhookTestSchema(BaseModel):
    """The number under which the log has the test."""

    delivery: int


class WebhookReplaySchema(BaseModel, extra="forbid"):
    """From when on what happened is to be sent again."""

    since: Instant = Field(examples=["2026-03-02T00:00:00Z"])


class WebhookReplayedSchema(BaseModel):
    """How many events are sent again."""

    events: int


@router.get("", summary="List the webhooks")
async def list_webhooks(app: AppDep, principal: Admin) -> WebhookListSchema:
    """Who is told of events, and how that goes; no secret."""
    return WebhookListSchema(webhooks=list(await app.webhooks.list(by=principal)))


@router.post("", summary="Add a webhook", status_code=201)
async def create_webhook(app: AppDep, principal: Admin, wanted: WebhookForm, response: Response) -> NewWebhookSchema:
    """The answer has the secret with which the receiver verifies the signatures; it is shown this once."""
    webhook, secret = await app.webhooks.add(wanted, by=principal)
    response.headers["Location"] = f"/api/v1/webhooks/{webhook.id}"
    return NewWebhookSchema(webhook=webhook, secret=secret)


@router.get("/{webhook_id}", summary="Read a webhook")
async def get_webhook(app: AppDep, principal: Admin, webhook_id: WebhookId) -> WebhookSchema:
    """Since when it fails, until when its receiver asked to be left alone, and why it was disabled."""
    return await app.webhooks.get(webhook_id, by=principal)


@router.put("/{webhook_id}", summary="Change a webhook")
async def update_webhook(app: AppDep, principal: Admin, webhook_id: WebhookId, wanted: WebhookForm) -> WebhookSchema:
    """As a whole, but for its secret. What waits for it is sent to the new address."""
    return await app.webhooks.edit(webhook_id, wanted, by=principal)


@router.delete("/{webhook_id}", summary="Remove a webhook", status_code=204)
async def delete_webhook(app: AppDep, principal: Admin, webhook_id: WebhookId) -> None:
    """Its log goes with it, and so does what still waits to be sent."""
    await app.webhooks.remove(webhook_id, by=principal)


@router.post("/{webhook_id}/secret", summary="Replace the secret of a webhook")
async def replace_webhook_secret(app: AppDep, principal: Admin, webhook_id: WebhookId) -> WebhookSecretSchema:
    """For a day, requests are signed with both."""
    return WebhookSecretSchema(secret=await app.webhooks.replace_secret(webhook_id, by=principal))


@router.post("/{webhook_id}/enable", summary="Enable a webhook")
async def enable_webhook(app: AppDep, principal: Admin, webhook_id: WebhookId) -> WebhookSchema:
    """What waited for it is sent; what happened while it was disabled only by `POST …/replay`."""
    return await app.webhooks.set_enabled(webhook_id, is_enabled=True, by=principal)


@router.post("/{webhook_id}/disable", summary="Disable a webhook")
async def disable_webhook(app: AppDep, principal: Admin, webhook_id: WebhookId) -> WebhookSchema:
    """Nothing is sent there any more; what waits for it is kept."""
    return await app.webhooks.set_enabled(webhook_id, is_enabled=False, by=principal)


@router.post("/{webhook_id}/test", summary="Send a test to a webhook", status_code=202)
async def send_test_to_webhook(app: AppDep, principal: Admin, webhook_id: WebhookId) -> WebhookTestSchema:
    """An event `webhook.test` to it alone; the log says what became of it. 409 for a disabled one."""
    return WebhookTestSchema(delivery=await app.webhooks.send_test(webhook_id, by=principal))


@router.post("/{webhook_id}/replay", summary="Send what happened again", status_code=202)
async def replay_webhook(
    app: AppDep, principal: Admin, webhook_id: WebhookId, wanted: WebhookReplaySchema
) -> WebhookReplayedSchema:
    """All that it wants since an instant, under the ids that it had; events are kept for 30 days."""
    since = wanted.since.astimezone(dt.UTC)
    return WebhookReplayedSchema(events=await app.webhooks.replay(webhook_id, since, by=principal))


@router.get("/{webhook_id}/deliveries", summary="List what a webhook was sent")
async def list_webhook_deliveries(
    app: AppDep,
    principal: Admin,
    webhook_id: WebhookId,
    *,
    status: Annotated[WebhookDeliveryStatus | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> WebhookDeliveryListSchema:
    """The newest events first; `failed` are those that were given up after three days."""
    rows = await app.webhooks.list_log(
        webhook_id, status=status, before_id=decode_id(cursor), limit=limit + 1, by=principal
    )
    page, following = cut_page(rows, limit, lambda row: row.event_id)
    return WebhookDeliveryListSchema(deliveries=page, next=following)


@router.get("/{webhook_id}/deliveries/{delivery_id}", summary="Read a delivery of a webhook")
async def get_webhook_delivery(
    app: AppDep, principal: Admin, webhook_id: WebhookId, delivery_id: DeliveryId
) -> WebhookDeliveryDetail:
    """Every request with what was answered, and the body that is sent."""
    return await app.webhooks.get_delivery(webhook_id, delivery_id, by=principal)


@router.post("/{webhook_id}/deliveries/{delivery_id}/redeliver", summary="Send an event again", status_code=202)
async def redeliver_webhook(
    app: AppDep, principal: Admin, webhook_id: WebhookId, delivery_id: DeliveryId
) -> WebhookDeliveryDetail:
    """Whatever became of it before, under its id; later events of its subject wait for it."""
    return await app.webhooks.redeliver(webhook_id, delivery_id, by=principal)
