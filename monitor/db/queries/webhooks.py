"""Webhooks: the endpoints, the events, and what became of each at each endpoint."""

import builtins
import datetime as dt
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Select, and_, delete, exists, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased
from sqlmodel import col

from monitor.db.sessions import Queries, build_insert, get_dialect, sanitize_value, split_batches
from monitor.db.tables.collection import Item, Run, Source
from monitor.db.tables.delivery import Alarm, Delivery
from monitor.db.tables.people import SavedBriefing
from monitor.db.tables.policies import Deadline
from monitor.db.tables.research import Research
from monitor.db.tables.webhooks import (
    WebhookAttempt,
    WebhookDelivery,
    WebhookDeliveryStatus,
    WebhookEndpoint,
    WebhookEvent,
    WebhookEventType,
)
from monitor.i18n.message import Message
from monitor.vocabulary import RunStatus

MAX_RETRY_PAUSE = dt.timedelta(days=1)
"""No attempt is put off for longer; one that seems to be was put off by a clock that was ahead."""

_OPEN_RUN_STATUSES = (RunStatus.QUEUED, RunStatus.RUNNING)
_PENDING = WebhookDeliveryStatus.PENDING


class EventFact(NamedTuple):
    """What happened to a subject, as `item:12`, and when; `ref` is the id of the revision that tells of it.

    What is found more than once has a `key`, which is the event's for ever.
    """

    type: WebhookEventType
    subject: str
    at: dt.datetime
    ref: int | None = None
    key: str | None = None


async def add_webhook_events(session: AsyncSession, facts: Sequence[EventFact]) -> None:
    """Store events in the transaction in which they happen; nothing where nobody ever asked for events."""
    if facts and await session.scalar(select(col(WebhookEndpoint.id)).limit(1)) is not None:
        await session.execute(insert(WebhookEvent), [_build_event_row(fact) for fact in facts])


def _build_event_row(fact: EventFact) -> dict[str, Any]:
    key = fact.key or f"evt_{secrets.token_hex(16)}"
    event = WebhookEvent(key=key, type=fact.type, subject=fact.subject, ref=fact.ref, occurred_at=fact.at)
    return event.model_dump(exclude={"id"})


_TEAM_QUERIES: dict[str, tuple[Select[Any], Any]] = {
    "item": (select(col(Item.team_id)), col(Item.id)),
    "deadline": (select(col(Item.team_id)).join(Deadline, col(Deadline.item_id) == col(Item.id)), col(Deadline.id)),
    "alarm": (select(col(Source.team_id)).join(Alarm, col(Alarm.source_id) == col(Source.id)), col(Alarm.id)),
    "run": (select(col(Run.team_id)), col(Run.id)),
    "briefing": (select(col(SavedBriefing.team_id)), col(SavedBriefing.id)),
    "delivery": (select(col(Delivery.team_id)), col(Delivery.id)),
    "research": (select(col(Research.team_id)), col(Research.id)),
}
"""The team of the subject of an event, and the column of the subject's key."""


class WebhookLogEntry(BaseModel):
    """A delivery with the event that it carries."""

    id: int
    event_id: int
    key: str
    type: WebhookEventType
    subject: str
    occurred_at: dt.datetime
    status: WebhookDeliveryStatus
    attempts: int
    next_try_at: dt.datetime | None
    sent_at: dt.datetime | None
    last_error: Message | None

    model_config = {"arbitrary_types_allowed": True}


class AttemptOutcome(NamedTuple):
    """What one request came to: the delivery's new state, and what it says of the endpoint."""

    attempt: WebhookAttempt
    status: WebhookDeliveryStatus
    next_try_at: dt.datetime | None = None
    paused_until: dt.datetime | None = None
    disabled_reason: Message | None = None


class WebhookStore(Queries):
    async def add_endpoint(self, endpoint: WebhookEndpoint, *, limit: int) -> WebhookEndpoint | None:
        """Store an endpoint; None where there are so many already."""
        kept = WebhookEndpoint(**sanitize_value(endpoint.model_dump(exclude={"id"})))
        async with self._sessions.begin_write() as session:
            if len((await session.scalars(select(col(WebhookEndpoint.id)))).all()) >= limit:
                return None
            session.add(kept)
            await session.flush()
        return kept

    async def get_endpoint(self, endpoint_id: int) -> WebhookEndpoint | None:
        return await self._get(WebhookEndpoint, endpoint_id)

    async def list_endpoints(self) -> list[WebhookEndpoint]:
        """All endpoints, enabled or not, newest first."""
        return await self._fetch_all(select(WebhookEndpoint).order_by(col(WebhookEndpoint.id).desc()))

    async def update_endpoint(self, endpoint_id: int, changes: Mapping[str, Any]) -> bool:
        """Change fields of an endpoint; False where it is gone."""
        async with self._lock(WebhookEndpoint, endpoint_id) as (_, endpoint):
            if endpoint is None:
                return False
            endpoint.sqlmodel_update(sanitize_value(dict(changes)))
            return True

    async def enable_endpoint(self, endpoint_id: int, *, at: dt.datetime) -> bool:
        """Send to an endpoint again; what waited for it gets as many attempts as something new."""
        async with self._lock(WebhookEndpoint, endpoint_id) as (session, endpoint):
            if endpoint is None:
                return False
            endpoint.disabled_at = endpoint.disabled_reason = endpoint.failing_since = endpoint.paused_until = None
            await _renew(session, at, col(WebhookDelivery.endpoint_id) == endpoint_id, _is_pending())
            return True

    async def remove_endpoint(self, endpoint_id: int) -> bool:
        async with self._lock(WebhookEndpoint, endpoint_id) as (session, endpoint):
            if endpoint is None:
                return False
            await session.delete(endpoint)
            return True

    async def get_team(self, kind: str, subject_id: str) -> int | None:
        """The team to which the subject of an event belongs; None for all, and for what is gone."""
        query, key = _TEAM_QUERIES[kind]
        return await self._fetch_first(query.where(key == (int(subject_id) if subject_id.isdecimal() else subject_id)))

    async def add_events_once(self, facts: Sequence[EventFact]) -> None:
        """Store the events whose keys are not there yet."""
        found = select(col(WebhookEvent.key)).where(col(WebhookEvent.key).in_([fact.key for fact in facts]))
        known = {*await self._fetch_all(found)}
        if rows := [_build_event_row(fact) for fact in facts if fact.key not in known]:
            async with self._sessions.begin_write() as session:
                statement = build_insert(get_dialect(session), WebhookEvent)
                await session.execute(statement.on_conflict_do_nothing(index_elements=["key"]), rows)

    async def list_unprepared(self, *, after_id: int = 0, limit: int) -> list[WebhookEvent]:
        """The events that nobody was made ready to be told of, oldest first.

        A new item is told of when its run has ended: only then it has its summary, its rank and its topics. What comes
        later of a subject waits for what came before.
        """
        earlier = aliased(WebhookEvent)
        is_unfinished = (
            select(col(Item.id))
            .join(Run, col(Run.id) == col(Item.run_id))
            .where(
                col(WebhookEvent.type) == WebhookEventType.ITEM_CREATED,
                col(Item.id) == col(WebhookEvent.ref),
                col(Run.status).in_(_OPEN_RUN_STATUSES),
            )
        )
        has_earlier = exists().where(
            col(earlier.subject) == col(WebhookEvent.subject),
            col(earlier.id) < col(WebhookEvent.id),
            col(earlier.prepared_at).is_(None),
        )
        query = select(WebhookEvent).where(
            col(WebhookEvent.prepared_at).is_(None),
            col(WebhookEvent.id) > after_id,
            ~is_unfinished.exists(),
            ~has_earlier,
        )
        return await self._fetch_all(query.order_by(col(WebhookEvent.id)).limit(limit))

    async def save_prepared(self, event: WebhookEvent, *, endpoint_ids: Sequence[int], at: dt.datetime) -> None:
        """Store what is sent of an event, and for whom; once."""
        async with self._lock(WebhookEvent, event.id) as (session, stored):
            if stored is None or stored.prepared_at is not None:
                return
            stored.sqlmodel_update(
                {"prepared_at": at, "topics": event.topics, "data": event.data, "team_id": event.team_id}
            )
            await _add_deliveries(session, [stored], endpoint_ids, at)

    async def add_test(self, event: WebhookEvent, endpoint_id: int, *, at: dt.datetime) -> int:
        """Store a prepared event for one endpoint; returns the id of its delivery."""
        async with self._sessions.begin_write() as session:
            session.add(event)
            await session.flush()
            await _add_deliveries(session, [event], [endpoint_id], at)
            query = select(col(WebhookDelivery.id)).where(col(WebhookDelivery.event_id) == event.id)
            return await session.scalar(query) or 0

    async def list_waiting_endpoints(self, at: dt.datetime) -> list[int]:
        """The endpoints to which something can be sent now."""
        paused_until = col(WebhookEndpoint.paused_until)
        has_due = exists().where(col(WebhookDelivery.endpoint_id) == col(WebhookEndpoint.id), *_is_due(at))
        query = select(col(WebhookEndpoint.id)).where(
            col(WebhookEndpoint.disabled_at).is_(None),
            or_(paused_until.is_(None), paused_until <= at, paused_until > at + MAX_RETRY_PAUSE),
            has_due,
        )
        return [endpoint_id for endpoint_id in await self._fetch_all(query) if endpoint_id is not None]

    async def list_due(
        self, endpoint_id: int, at: dt.datetime, *, limit: int
    ) -> list[tuple[WebhookDelivery, WebhookEvent]]:
        """What is to be sent to an endpoint now, oldest first; of each subject the first that was not dealt with."""
        earlier = aliased(WebhookDelivery)
        has_earlier = exists().where(
            col(earlier.endpoint_id) == endpoint_id,
            col(earlier.status) == _PENDING,
            col(earlier.subject) == col(WebhookDelivery.subject),
            col(earlier.event_id) < col(WebhookDelivery.event_id),
        )
        query = (
            select(WebhookDelivery, WebhookEvent)
            .join(WebhookEvent, col(WebhookEvent.id) == col(WebhookDelivery.event_id))
            .where(col(WebhookDelivery.endpoint_id) == endpoint_id, *_is_due(at), ~has_earlier)
            .order_by(col(WebhookDelivery.event_id))
            .limit(limit)
        )
        return [(delivery, event) for delivery, event in await self._fetch_rows(query)]

    async def record_attempt(self, delivery_id: int, attempts: int, outcome: AttemptOutcome) -> bool:
        """Record the request after `attempts` others; False where that is recorded, or its delivery was renewed."""
        at = outcome.attempt.at
        async with self._lock(WebhookDelivery, delivery_id) as (session, delivery):
            if delivery is None or delivery.status is not _PENDING or delivery.attempts != attempts:
                return False
            delivery.attempts = attempts + 1
            delivery.tried_since = delivery.tried_since or at
            delivery.status, delivery.next_try_at = outcome.status, outcome.next_try_at
            delivery.last_error = outcome.attempt.error
            delivery.sent_at = at if outcome.status is WebhookDeliveryStatus.SENT else None
            session.add(WebhookAttempt(**outcome.attempt.model_dump(exclude={"id"})))
            endpoint = await session.get(WebhookEndpoint, delivery.endpoint_id, with_for_update=True)
            if endpoint is not None:
                await _note_outcome(session, endpoint, outcome)
            return True

    async def list_log(
        self,
        endpoint_id: int,
        *,
        status: WebhookDeliveryStatus | None = None,
        before_id: int | None = None,
        limit: int = 50,
    ) -> builtins.list[WebhookLogEntry]:
        """The deliveries to an endpoint, those of the newest events first, after the event `before_id`."""
        query = _SELECT_LOG.where(col(WebhookDelivery.endpoint_id) == endpoint_id)
        if status is not None:
            query = query.where(col(WebhookDelivery.status) == status)
        if before_id is not None:
            query = query.where(col(WebhookDelivery.event_id) < before_id)
        return await self._fetch_as(WebhookLogEntry, query.order_by(col(WebhookDelivery.event_id).desc()).limit(limit))

    async def get_delivery(self, delivery_id: int) -> tuple[WebhookDelivery, WebhookEvent] | None:
        query = select(WebhookDelivery, WebhookEvent).join(
            WebhookEvent, col(WebhookEvent.id) == col(WebhookDelivery.event_id)
        )
        rows = await self._fetch_rows(query.where(col(WebhookDelivery.id) == delivery_id))
        return (rows[0][0], rows[0][1]) if rows else None

    async def list_attempts(self, delivery_id: int) -> builtins.list[WebhookAttempt]:
        """The requests of a delivery, newest first."""
        query = select(WebhookAttempt).where(col(WebhookAttempt.delivery_id) == delivery_id)
        return await self._fetch_all(query.order_by(col(WebhookAttempt.id).desc()))

    async def redeliver(self, delivery_id: int, *, at: dt.datetime) -> bool:
        """Send a delivery once more, whatever became of it; False where there is none of that id."""
        async with self._sessions.begin_write() as session:
            return await _renew(session, at, col(WebhookDelivery.id) == delivery_id) > 0

    async def replay(self, endpoint_id: int, events: Sequence[WebhookEvent], *, at: dt.datetime) -> None:
        """Send prepared events to an endpoint, those that it was sent before once more."""
        async with self._sessions.begin_write() as session:
            for batch in split_batches(events):
                await _add_deliveries(session, batch, [endpoint_id], at)
                of_batch = col(WebhookDelivery.event_id).in_([event.id for event in batch])
                await _renew(session, at, col(WebhookDelivery.endpoint_id) == endpoint_id, of_batch)

    async def list_prepared_since(self, since: dt.datetime) -> builtins.list[WebhookEvent]:
        """The events that happened from an instant on and can be sent, oldest first, without what is in them."""
        query = select(WebhookEvent).where(
            col(WebhookEvent.occurred_at) >= since,
            col(WebhookEvent.data).is_not(None),
            col(WebhookEvent.type) != WebhookEventType.TEST,
        )
        return await self._fetch_all(query.order_by(col(WebhookEvent.id)))

    async def prune(self, before: dt.datetime) -> None:
        """Forget the events that happened before an instant, with their deliveries."""
        old = select(col(WebhookEvent.id)).where(col(WebhookEvent.occurred_at) < before).order_by(col(WebhookEvent.id))
        while ids := await self._fetch_all(old.limit(500)):
            await self._execute(delete(WebhookEvent).where(col(WebhookEvent.id).in_(ids)))


_LOG_COLUMNS = [
    col(WebhookEvent.key),
    col(WebhookEvent.type),
    col(WebhookEvent.occurred_at),
    *(
        getattr(WebhookDelivery, name)
        for name in ("id", "event_id", "subject", "status", "attempts", "next_try_at", "sent_at", "last_error")
    ),
]
_SELECT_LOG: Select[*tuple[Any, ...]] = select(*_LOG_COLUMNS).join(
    WebhookEvent, col(WebhookEvent.id) == col(WebhookDelivery.event_id)
)


def _is_pending() -> ColumnElement[bool]:
    return col(WebhookDelivery.status) == _PENDING


def _is_due(at: dt.datetime) -> tuple[ColumnElement[bool], ...]:
    next_try_at = col(WebhookDelivery.next_try_at)
    return _is_pending(), or_(next_try_at <= at, next_try_at > at + MAX_RETRY_PAUSE)


async def _add_deliveries(
    session: AsyncSession, events: Sequence[WebhookEvent], endpoint_ids: Sequence[int], at: dt.datetime
) -> None:
    rows = [
        WebhookDelivery(
            endpoint_id=endpoint_id, event_id=event.id or 0, subject=event.subject, next_try_at=at
        ).model_dump(exclude={"id"})
        for event in events
        for endpoint_id in endpoint_ids
    ]
    if rows:
        statement = build_insert(get_dialect(session), WebhookDelivery)
        await session.execute(statement.on_conflict_do_nothing(), rows)


async def _renew(session: AsyncSession, at: dt.datetime, *which: ColumnElement[bool]) -> int:
    """Make deliveries due as if they were new; returns how many."""
    values = {"status": _PENDING, "attempts": 0, "tried_since": None, "next_try_at": at}
    renewed = update(WebhookDelivery).where(and_(*which)).values(values).returning(col(WebhookDelivery.id))
    return len((await session.scalars(renewed)).all())


_OUTAGE = dt.timedelta(minutes=5)


async def _note_outcome(session: AsyncSession, endpoint: WebhookEndpoint, outcome: AttemptOutcome) -> None:
    """Note what an attempt says of its endpoint; what waited out an outage that is over now is due at once."""
    at, failing_since = outcome.attempt.at, endpoint.failing_since
    if outcome.status is not WebhookDeliveryStatus.SENT:
        endpoint.failing_since = failing_since or at
        endpoint.paused_until = outcome.paused_until
        if outcome.disabled_reason is not None:
            endpoint.disabled_at, endpoint.disabled_reason = at, outcome.disabled_reason
        return
    endpoint.last_success_at, endpoint.failing_since, endpoint.paused_until = at, None, None
    if failing_since is not None and at - failing_since > _OUTAGE:
        waiting = (col(WebhookDelivery.endpoint_id) == endpoint.id, _is_pending())
        later = col(WebhookDelivery.next_try_at) > at
        await session.execute(update(WebhookDelivery).where(*waiting, later).values(next_try_at=at))
