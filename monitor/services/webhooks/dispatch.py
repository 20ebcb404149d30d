"""Sending events: made ready once, then sent to each endpoint in the order of their subjects until it is answered."""

import asyncio
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.webhooks import MAX_RETRY_PAUSE, AttemptOutcome
from monitor.db.tables.webhooks import (
    WebhookAttempt,
    WebhookDelivery,
    WebhookDeliveryStatus,
    WebhookEndpoint,
    WebhookEvent,
)
from monitor.errors import DatabaseError, MonitorError, UsageError
from monitor.fetch.client import HttpClient
from monitor.fetch.outbound import OutboundPolicy
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.notify.standard_webhooks import WebhookAnswer, build_signature_headers, post_event
from monitor.services.settings import SettingsService
from monitor.services.webhooks.events import WebhookDataLoader, build_body, wants_event

RETRY_PAUSES = tuple(
    dt.timedelta(seconds=seconds)
    for seconds in (5, 300, 1800, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
)
"""The schedule of Standard Webhooks: ten attempts in a little more than three days."""

DISABLE_AFTER = dt.timedelta(days=5)
"""An endpoint at which every attempt has failed for so long is disabled."""

_RETRY_SPAN = sum(RETRY_PAUSES, dt.timedelta()) + dt.timedelta(hours=1)
_GONE = 410
_PREPARE_BATCH = 200
_MAX_CONCURRENT = 4
_log = get_logger("webhooks")


@dataclass(kw_only=True)
class WebhookDispatcher:
    """Sends what is due; one process at a time has that duty, and to send an event twice does no harm."""

    store: Store
    settings: Settings
    settings_service: SettingsService
    clock: Clock
    data_loader: WebhookDataLoader
    _tasks: dict[int, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _unreadable: set[int | None] = field(default_factory=set, init=False)

    async def has_work(self) -> bool:
        return bool(await self.store.webhooks.list_unprepared(limit=1)) or bool(await self._list_waiting())

    async def start_due(self) -> None:
        """Make events ready, and begin to send to each endpoint that has something due and is not being sent to."""
        await self.prepare()
        for endpoint_id in await self._list_waiting():
            if endpoint_id not in self._tasks:
                self._tasks[endpoint_id] = asyncio.create_task(self._send_or_log(endpoint_id))

    async def send_due(self) -> None:
        """Make events ready and send all that is due now."""
        await self.prepare()
        await asyncio.gather(*(self.send_to(endpoint_id) for endpoint_id in await self._list_waiting()))

    async def close(self) -> None:
        """Break off what is being sent: it is sent again after the start."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def prepare(self) -> None:
        """Fix what is sent of each new event, and for whom."""
        endpoints = [row for row in await self.store.webhooks.list_endpoints() if row.disabled_at is None]
        last_id = 0
        while events := await self.store.webhooks.list_unprepared(after_id=last_id, limit=_PREPARE_BATCH):
            last_id = events[-1].id or 0
            for event in events:
                if event.id not in self._unreadable:
                    await self._prepare_event(event, endpoints)

    async def _prepare_event(self, event: WebhookEvent, endpoints: Sequence[WebhookEndpoint]) -> None:
        try:
            event.data, event.topics = await self.data_loader.load(event)
        except DatabaseError:
            raise
        except Exception:  # noqa: BLE001 -- the others go on; this one is tried again after a start
            self._unreadable.add(event.id)
            _log.exception("event cannot be read", key=event.key, type=str(event.type), subject=event.subject)
            return
        chosen = [endpoint.id or 0 for endpoint in endpoints if event.data is not None and wants_event(event, endpoint)]
        await self.store.webhooks.save_prepared(event, endpoint_ids=chosen, at=self.clock.now())

    async def send_to(self, endpoint_id: int) -> None:
        """Send what is due to an endpoint; one at a time while it fails."""
        async with OutboundPolicy(self.settings.network).open_client() as client:
            while True:
                endpoint = await self.store.webhooks.get_endpoint(endpoint_id)
                if endpoint is None or endpoint_id not in await self._list_waiting():
                    return
                limit = 1 if endpoint.failing_since is not None else _MAX_CONCURRENT
                due = await self.store.webhooks.list_due(endpoint_id, self.clock.now(), limit=limit)
                if not due:
                    return
                await asyncio.gather(*(self._attempt(client, endpoint, delivery, event) for delivery, event in due))

    async def _list_waiting(self) -> list[int]:
        return await self.store.webhooks.list_waiting_endpoints(self.clock.now())

    async def _send_or_log(self, endpoint_id: int) -> None:
        try:
            await self.send_to(endpoint_id)
        except MonitorError as error:
            _log.warning("sending stopped", endpoint=endpoint_id, error=str(error))
        except Exception:  # noqa: BLE001 -- nobody awaits this task
            _log.exception("unexpected error", endpoint=endpoint_id)
        finally:
            del self._tasks[endpoint_id]

    async def _attempt(
        self, client: HttpClient, endpoint: WebhookEndpoint, delivery: WebhookDelivery, event: WebhookEvent
    ) -> None:
        now = self.clock.now()
        try:
            secrets = await self._load_secrets(endpoint, now)
        except UsageError as error:
            answer = WebhookAnswer(None, 0, error.message)
        else:
            source = self.settings.web.public_url or "urn:monitor"
            media_type, body = build_body(event, form=endpoint.format, language=endpoint.language, source=source)
            headers = {"Content-Type": media_type, "Accept": "*/*"}
            headers |= build_signature_headers(event.key, body, signing_secrets=secrets, at=now)
            answer = await post_event(client, endpoint.url, body, headers=headers, now=now)
        outcome = decide_outcome(endpoint, delivery, answer, self.clock.now())
        if await self.store.webhooks.record_attempt(delivery.id or 0, delivery.attempts, outcome):
            facts = {"endpoint": endpoint.id, "key": event.key, "type": str(event.type)}
            _log.info("webhook", **facts, status=answer.status, attempt=delivery.attempts + 1)

    async def _load_secrets(self, endpoint: WebhookEndpoint, now: dt.datetime) -> list[str]:
        """The secrets that sign now, the newest first; `UsageError` where they cannot be decrypted."""
        encrypted = [endpoint.secret]
        if endpoint.previous_secret and endpoint.previous_until and now < endpoint.previous_until:
            encrypted.append(endpoint.previous_secret)
        decrypt = self.settings_service.secret_box.decrypt
        return await asyncio.to_thread(lambda: [decrypt(secret) for secret in encrypted])


def decide_outcome(
    endpoint: WebhookEndpoint, delivery: WebhookDelivery, answer: WebhookAnswer, now: dt.datetime
) -> AttemptOutcome:
    """Return what follows an answer: it is sent, tried again after a growing pause, or given up.

    A receiver's Retry-After, of a day at most, holds for all that goes to it. 410 disables the endpoint, and so do days
    without a success.
    """
    attempt = WebhookAttempt(
        delivery_id=delivery.id or 0, at=now, status=answer.status, duration_ms=answer.duration_ms, error=answer.error
    )
    if answer.error is None:
        return AttemptOutcome(attempt, WebhookDeliveryStatus.SENT)
    next_try_at = now + RETRY_PAUSES[min(delivery.attempts, len(RETRY_PAUSES) - 1)]
    is_over = next_try_at - (delivery.tried_since or now) > _RETRY_SPAN  # attempts after an outage come early
    is_last = is_over and delivery.attempts >= len(RETRY_PAUSES)
    paused_until = None
    if answer.retry_after_s:
        paused_until = now + dt.timedelta(seconds=min(answer.retry_after_s, MAX_RETRY_PAUSE.total_seconds()))
    return AttemptOutcome(
        attempt,
        WebhookDeliveryStatus.FAILED if is_last else WebhookDeliveryStatus.PENDING,
        next_try_at=None if is_last else next_try_at,
        paused_until=paused_until,
        disabled_reason=_find_reason_to_disable(endpoint, answer, now),
    )


def _find_reason_to_disable(endpoint: WebhookEndpoint, answer: WebhookAnswer, now: dt.datetime) -> Message | None:
    if answer.status == _GONE:
        return Message("webhook.gone")
    if endpoint.failing_since is not None and now - endpoint.failing_since >= DISABLE_AFTER:
        return Message.of("webhook.failing_for_days", days=DISABLE_AFTER.days)
    return None
