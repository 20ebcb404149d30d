"""The endpoints of webhooks: added, changed, tried; the log of what they were sent, sent once more where asked."""

import asyncio
import datetime as dt
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, field_validator

from monitor.db.queries.webhooks import WebhookLogEntry
from monitor.db.tables.webhooks import (
    WebhookAttempt,
    WebhookDeliveryStatus,
    WebhookEndpoint,
    WebhookEvent,
    WebhookEventType,
    WebhookFormat,
)
from monitor.errors import Conflict, NotFound, UsageError
from monitor.exports.document import normalize_line
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.notify.standard_webhooks import create_secret
from monitor.services.audit import Actor, AuditAction, AuditedService
from monitor.services.settings import SettingsService
from monitor.services.webhooks.events import LANGUAGES, build_body, wants_event
from monitor.vocabulary import Role

MAX_ENDPOINTS = 50
MAX_URL_CHARS = 2000
MAX_LABEL_CHARS = 100
SECRET_OVERLAP = dt.timedelta(hours=24)
"""So long the secret that a new one replaces signs too."""

EVENT_TYPES = tuple(kind for kind in WebhookEventType if kind is not WebhookEventType.TEST)
_SCHEMES = ("http", "https")


class WebhookForm(BaseModel, extra="forbid"):
    """An endpoint as it is typed: no types or no topics are all of them. Topics narrow what is about an item alone."""

    url: str = Field(max_length=MAX_URL_CHARS, examples=["https://example.org/hooks/monitor"])
    label: str = Field(default="", max_length=MAX_LABEL_CHARS, examples=["CRM"])
    types: list[WebhookEventType] = Field(default_factory=list, max_length=20, examples=[["item.created"]])
    topics: list[int] = Field(default_factory=list, max_length=200, examples=[[3]])
    format: WebhookFormat = WebhookFormat.STANDARD
    language: Literal["en", "zh"] = "en"
    team: str | None = Field(default=None, max_length=60, description="A team of whose subjects it is told too.")

    @field_validator("types")
    @classmethod
    def _drop_repeated(cls, types: list[WebhookEventType]) -> list[WebhookEventType]:
        return [kind for kind in EVENT_TYPES if kind in types]


class WebhookSchema(MessageModel):
    """An endpoint as it stands; its secret is never returned.

    `failing_since` is when the first attempt failed after the last success. Nothing is sent before `paused_until`,
    which the receiver asked for, nor to an endpoint that was disabled.
    """

    id: int
    url: str
    label: str
    team_id: int | None = None
    types: list[WebhookEventType]
    topics: list[int]
    format: WebhookFormat
    language: str
    created_at: dt.datetime
    last_success_at: dt.datetime | None
    failing_since: dt.datetime | None
    paused_until: dt.datetime | None
    disabled_at: dt.datetime | None
    disabled_reason: Message | None
    previous_until: dt.datetime | None


class WebhookDeliverySchema(MessageModel):
    """An event on its way to an endpoint: `key` is its id there, the same however often it is sent."""

    id: int
    event_id: int
    key: str = Field(examples=["evt_6a31f0c2b7d94e5f8a0b1c2d3e4f5a6b"])
    type: WebhookEventType
    subject: str = Field(examples=["item:12"])
    occurred_at: dt.datetime
    status: WebhookDeliveryStatus
    attempts: int
    next_try_at: dt.datetime | None
    sent_at: dt.datetime | None
    last_error: Message | None


class WebhookAttemptSchema(MessageModel):
    at: dt.datetime
    status: int | None
    duration_ms: int
    error: Message | None


class WebhookDeliveryDetail(WebhookDeliverySchema):
    """A delivery with its requests, the newest first, and the body that is sent."""

    tries: list[WebhookAttemptSchema]
    body: str


@dataclass(kw_only=True)
class WebhookService(AuditedService):
    settings_service: SettingsService

    async def list(self, *, by: Actor) -> Sequence[WebhookSchema]:
        by.require(Role.ADMIN)
        return [_build_schema(row) for row in await self.store.webhooks.list_endpoints()]

    async def get(self, endpoint_id: int, *, by: Actor) -> WebhookSchema:
        by.require(Role.ADMIN)
        return _build_schema(await self._load(endpoint_id))

    async def add(self, form: WebhookForm, *, by: Actor) -> tuple[WebhookSchema, str]:
        """Add an endpoint; return it with its secret, which is shown this once."""
        by.require(Role.ADMIN)
        values = await self._check(form)
        secret = create_secret()
        wanted = WebhookEndpoint(**values, secret=await self._encrypt(secret), created_at=self.clock.now())
        async with self.store.transaction():
            endpoint = await self.store.webhooks.add_endpoint(wanted, limit=MAX_ENDPOINTS)
            if endpoint is None:
                raise Conflict("webhook.too_many", limit=MAX_ENDPOINTS)
            await self.record(by, AuditAction.WEBHOOK_ADD, _name(endpoint), after=_describe(endpoint))
        return _build_schema(endpoint), secret

    async def edit(self, endpoint_id: int, form: WebhookForm, *, by: Actor) -> WebhookSchema:
        """Change an endpoint as a whole, but for its secret; what waits for it is sent to the new address."""
        by.require(Role.ADMIN)
        values = await self._check(form)
        async with self.store.transaction():
            before = await self._load(endpoint_id)
            await self.store.webhooks.update_endpoint(endpoint_id, values)
            after = await self._load(endpoint_id)
            change = {"before": _describe(before), "after": _describe(after)}
            await self.record(by, AuditAction.WEBHOOK_EDIT, _name(after), **change)
        return _build_schema(after)

    async def remove(self, endpoint_id: int, *, by: Actor) -> None:
        """Forget an endpoint with its log."""
        by.require(Role.ADMIN)
        async with self.store.transaction():
            endpoint = await self._load(endpoint_id)
            await self.store.webhooks.remove_endpoint(endpoint_id)
            await self.record(by, AuditAction.WEBHOOK_REMOVE, _name(endpoint), before=_describe(endpoint))

    async def replace_secret(self, endpoint_id: int, *, by: Actor) -> str:
        """Return a new secret; for a day, requests are signed with the one before too."""
        by.require(Role.ADMIN)
        secret = create_secret()
        encrypted = await self._encrypt(secret)
        async with self.store.transaction():
            endpoint = await self._load(endpoint_id)
            changes = {
                "secret": encrypted,
                "previous_secret": endpoint.secret,
                "previous_until": self.clock.now() + SECRET_OVERLAP,
            }
            await self.store.webhooks.update_endpoint(endpoint_id, changes)
            await self.record(by, AuditAction.WEBHOOK_SECRET, _name(endpoint))
        return secret

    async def set_enabled(self, endpoint_id: int, *, is_enabled: bool, by: Actor) -> WebhookSchema:
        """Send to an endpoint again, or no more: what waits for it is kept, and what happens meanwhile is not sent."""
        by.require(Role.ADMIN)
        now = self.clock.now()
        async with self.store.transaction():
            endpoint = await self._load(endpoint_id)
            if is_enabled:
                await self.store.webhooks.enable_endpoint(endpoint_id, at=now)
            elif endpoint.disabled_at is None:
                changes = {"disabled_at": now, "disabled_reason": Message("webhook.disabled_by_hand")}
                await self.store.webhooks.update_endpoint(endpoint_id, changes)
            action = AuditAction.WEBHOOK_ENABLE if is_enabled else AuditAction.WEBHOOK_DISABLE
            await self.record(by, action, _name(endpoint))
            return _build_schema(await self._load(endpoint_id))

    async def send_test(self, endpoint_id: int, *, by: Actor) -> int:
        """Have an event `webhook.test` sent to an endpoint; return the id of its delivery in the log."""
        by.require(Role.ADMIN)
        now = self.clock.now()
        async with self.store.transaction():
            endpoint = await self._load(endpoint_id)
            if endpoint.disabled_at is not None:
                raise Conflict("webhook.is_disabled")
            key = f"evt_{secrets.token_hex(16)}"
            event = WebhookEvent(
                key=key,
                type=WebhookEventType.TEST,
                subject=f"test:{key}",
                occurred_at=now,
                prepared_at=now,
                data={language: {"by": by.name} for language in LANGUAGES},
            )
            delivery_id = await self.store.webhooks.add_test(event, endpoint_id, at=now)
            await self.record(by, AuditAction.WEBHOOK_TEST, _name(endpoint))
        return delivery_id

    async def list_log(
        self,
        endpoint_id: int,
        *,
        status: WebhookDeliveryStatus | None = None,
        before_id: int | None = None,
        limit: int = 50,
        by: Actor,
    ) -> Sequence[WebhookDeliverySchema]:
        """The deliveries of an endpoint, those of the newest events first, after the event `before_id`."""
        by.require(Role.ADMIN)
        await self._load(endpoint_id)
        rows = await self.store.webhooks.list_log(endpoint_id, status=status, before_id=before_id, limit=limit)
        return [_build_delivery(row) for row in rows]

    async def get_delivery(self, endpoint_id: int, delivery_id: int, *, by: Actor) -> WebhookDeliveryDetail:
        by.require(Role.ADMIN)
        endpoint = await self._load(endpoint_id)
        found = await self.store.webhooks.get_delivery(delivery_id)
        if found is None or found[0].endpoint_id != endpoint_id:
            raise NotFound("webhook.delivery_not_found", delivery=delivery_id)
        delivery, event = found
        source = self.settings_service.current.web.public_url or "urn:monitor"
        _, body = build_body(event, form=endpoint.format, language=endpoint.language, source=source)
        entry = WebhookLogEntry(
            **delivery.model_dump(include=set(WebhookLogEntry.model_fields)),
            **event.model_dump(include={"key", "type", "occurred_at"}),
        )
        tries = await self.store.webhooks.list_attempts(delivery_id)
        return WebhookDeliveryDetail(
            **dict(_build_delivery(entry)), tries=[_build_attempt(row) for row in tries], body=body.decode()
        )

    async def redeliver(self, endpoint_id: int, delivery_id: int, *, by: Actor) -> WebhookDeliveryDetail:
        """Send an event once more under its id, whatever became of it; later ones of its subject wait for it."""
        detail = await self.get_delivery(endpoint_id, delivery_id, by=by)
        async with self.store.transaction():
            await self.store.webhooks.redeliver(delivery_id, at=self.clock.now())
            name = _name(await self._load(endpoint_id))
            await self.record(by, AuditAction.WEBHOOK_REPLAY, name, event=detail.key)
        return await self.get_delivery(endpoint_id, delivery_id, by=by)

    async def replay(self, endpoint_id: int, since: dt.datetime, *, by: Actor) -> int:
        """Send an endpoint all that it wants of what happened from an instant on, once more; return how many events."""
        by.require(Role.ADMIN)
        if since.tzinfo is None:
            raise UsageError("webhook.since_without_zone")
        async with self.store.transaction():
            endpoint = await self._load(endpoint_id)
            known = await self.store.webhooks.list_prepared_since(since)
            events = [event for event in known if wants_event(event, endpoint)]
            await self.store.webhooks.replay(endpoint_id, events, at=self.clock.now())
            await self.record(by, AuditAction.WEBHOOK_REPLAY, _name(endpoint), since=since, events=len(events))
        return len(events)

    async def _load(self, endpoint_id: int) -> WebhookEndpoint:
        endpoint = await self.store.webhooks.get_endpoint(endpoint_id)
        if endpoint is None:
            raise NotFound("webhook.not_found", webhook=endpoint_id)
        return endpoint

    async def _check(self, form: WebhookForm) -> dict[str, Any]:
        """Return the fields of an endpoint; `UsageError` for a wrong address, and an unknown topic or team."""
        url = form.url.strip()
        if not _is_web_address(url):
            raise UsageError("webhook.bad_url")
        known = {topic.id for topic in await self.store.topics.list()} if form.topics else set()
        for topic in form.topics:
            if topic not in known:
                raise UsageError("webhook.unknown_topic", topic=topic)
        label = normalize_line(form.label)[:MAX_LABEL_CHARS].strip()
        types, topics = [str(kind) for kind in form.types], sorted(set(form.topics))
        teams = {name: number for number, name in (await self.store.teams.list_names()).items()}
        if form.team and form.team not in teams:
            raise UsageError("team.not_found", team=form.team)
        values = form.model_dump(exclude={"team"}) | {"team_id": teams.get(form.team or "")}
        return values | {"url": url, "label": label, "types": types, "topics": topics}

    async def _encrypt(self, secret: str) -> str:
        return await asyncio.to_thread(self.settings_service.secret_box.encrypt, secret)


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    has_space = any(char.isspace() or not char.isprintable() for char in url)
    return parts.scheme in _SCHEMES and bool(parts.hostname) and parts.username is None and not has_space


def _describe(endpoint: WebhookEndpoint) -> dict[str, Any]:
    """Return the endpoint as the audit keeps it: of its address the host, for the rest may be a secret."""
    described = endpoint.model_dump(mode="json", include={"label", "types", "topics", "format", "language"})
    return {"host": urlsplit(endpoint.url).netloc} | described


def _name(endpoint: WebhookEndpoint) -> str:
    return f"{endpoint.id} {endpoint.label or urlsplit(endpoint.url).netloc}"


def _build_schema(endpoint: WebhookEndpoint) -> WebhookSchema:
    return WebhookSchema.model_validate(endpoint, from_attributes=True)


def _build_delivery(entry: WebhookLogEntry) -> WebhookDeliverySchema:
    return WebhookDeliverySchema.model_validate(entry, from_attributes=True)


def _build_attempt(attempt: WebhookAttempt) -> WebhookAttemptSchema:
    return WebhookAttemptSchema.model_validate(attempt, from_attributes=True)
