"""The briefings that people keep, the deliveries, and the alarms that they tell of."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Select, Update, and_, delete, exists, func, or_, select, tuple_, union_all, update
from sqlalchemy.orm import aliased
from sqlmodel import col

from monitor.db.daily_totals import Addition, add_to_totals
from monitor.db.queries.webhooks import EventFact, add_webhook_events
from monitor.db.sessions import (
    Queries,
    build_insert,
    get_dialect,
    insert_if_new,
    sanitize_text,
    sanitize_value,
    upsert_rows,
)
from monitor.db.tables.collection import Source, TotalKind
from monitor.db.tables.delivery import (
    MAX_ATTEMPTS,
    MAX_RETRY_DELAY,
    Alarm,
    AlarmFinding,
    AlarmKind,
    AlarmView,
    BriefingRecord,
    Delivery,
    DeliveryKind,
    DeliveryOutcome,
    DeliveryPlan,
    DeliveryStatus,
)
from monitor.db.tables.people import BriefingShare, SavedBriefing
from monitor.db.tables.webhooks import WebhookEventType


class BriefingRow(BaseModel):
    """A saved briefing as a list shows it, without what stands in it."""

    id: int
    title: str
    team_id: int | None = None
    size: int
    language: str
    since: dt.date
    until: dt.date
    version: int
    created_by: str
    created_at: dt.datetime
    edited_by: str | None
    edited_at: dt.datetime | None
    archived_at: dt.datetime | None


def _select_briefing_rows() -> Select[*tuple[Any, ...]]:
    return select(*(getattr(SavedBriefing, name) for name in BriefingRow.model_fields))


class BriefingStore(Queries):
    async def add(self, saved: SavedBriefing) -> SavedBriefing:
        kept = SavedBriefing(**sanitize_value(saved.model_dump(exclude={"id"})))
        async with self._sessions.begin_write() as session:
            session.add(kept)
            await session.flush()
            created = EventFact(WebhookEventType.BRIEFING_CREATED, f"briefing:{kept.id}", kept.created_at)
            await add_webhook_events(session, [created])
        return kept

    async def get(self, briefing_id: int) -> SavedBriefing | None:
        return await self._get(SavedBriefing, briefing_id)

    async def get_row(self, briefing_id: int) -> BriefingRow | None:
        """A briefing as lists show it, without its text."""
        rows = await self._fetch_as(BriefingRow, _select_briefing_rows().where(col(SavedBriefing.id) == briefing_id))
        return rows[0] if rows else None

    async def list_rows(
        self, *, is_archived: bool = False, before_id: int | None = None, limit: int = 50
    ) -> list[BriefingRow]:
        """A page of the list, newest first, after the briefing `before_id`."""
        archived_at = col(SavedBriefing.archived_at)
        query = _select_briefing_rows().where(archived_at.is_not(None) if is_archived else archived_at.is_(None))
        if before_id is not None:
            query = query.where(col(SavedBriefing.id) < before_id)
        return await self._fetch_as(BriefingRow, query.order_by(col(SavedBriefing.id).desc()).limit(limit))

    async def edit(self, briefing_id: int, *, version: int, changes: Mapping[str, Any]) -> bool:
        """Store an edit of that version; False where another one came first, or the briefing is gone."""
        async with self._lock(SavedBriefing, briefing_id) as (_, saved):
            if saved is None or saved.version != version:
                return False
            saved.version = version + 1
            saved.sqlmodel_update(sanitize_value(dict(changes)))
            return True

    async def set_archived(self, briefing_id: int, at: dt.datetime | None) -> bool:
        """Archive a briefing, or with None bring it back; False where that changes nothing."""
        async with self._lock(SavedBriefing, briefing_id) as (_, saved):
            if saved is None or (saved.archived_at is None) == (at is None):
                return False
            saved.archived_at = at
            return True


class BriefingShareStore(Queries):
    async def add(self, share: BriefingShare) -> BriefingShare:
        kept = BriefingShare(**sanitize_value(share.model_dump(exclude={"id"})))
        async with self._sessions.begin_write() as session:
            session.add(kept)
            await session.flush()
        return kept

    async def list_for(self, briefing_id: int, *, limit: int, before_id: int | None = None) -> list[BriefingShare]:
        """The links of a briefing, newest first, those made before the link of an id."""
        query = select(BriefingShare).where(col(BriefingShare.briefing_id) == briefing_id)
        if before_id is not None:
            query = query.where(col(BriefingShare.id) < before_id)
        return await self._fetch_all(query.order_by(col(BriefingShare.id).desc()).limit(limit))

    async def find(self, token_hash: str) -> BriefingShare | None:
        return await self._fetch_first(select(BriefingShare).where(col(BriefingShare.token_hash) == token_hash))

    async def revoke(self, briefing_id: int, share_id: int, at: dt.datetime) -> BriefingShare | None:
        """Revoke a link of a briefing; None where it has no such link. One that was revoked before stays as it is."""
        async with self._lock(BriefingShare, share_id) as (_, share):
            if share is None or share.briefing_id != briefing_id:
                return None
            share.revoked_at = share.revoked_at or at
            return share


_MAX_DUE = 200


class DeliveryStore(Queries):
    """The log of deliveries, from which workers also take what is due."""

    async def create(self, delivery: Delivery, briefing: BriefingRecord | None = None) -> bool:
        """Store a delivery, with its briefing where that is composed already; False where its id is taken."""
        async with self._sessions.begin_write() as session:
            is_new = await insert_if_new(session, delivery)
            if is_new and briefing is not None:
                await upsert_rows(session, BriefingRecord, [briefing.model_dump()], key=["delivery_id"])
            return is_new

    async def get(self, delivery_id: str) -> Delivery | None:
        return await self._get(Delivery, delivery_id)

    async def release(self, delivery_id: str, *, at: dt.datetime) -> None:
        """Queue a delivery that waited for its sources."""
        async with self._lock(Delivery, delivery_id) as (_, delivery):
            if delivery is not None and delivery.status is DeliveryStatus.WAITING:
                delivery.status, delivery.next_try_at = DeliveryStatus.QUEUED, at

    async def list_due(self, at: dt.datetime) -> list[Delivery]:
        """The deliveries to be tried at an instant, the longest due first.

        No try is put off for more than a day: one that seems to be was put off by a clock that was ahead.
        """
        tried_at = col(Delivery.next_try_at)
        each = (tried_at <= at, tried_at > at + MAX_RETRY_DELAY)
        due = union_all(*(select(col(Delivery.id)).where(is_due) for is_due in each))
        query = select(Delivery).where(col(Delivery.id).in_(due), col(Delivery.status) == DeliveryStatus.QUEUED)
        return await self._fetch_all(query.order_by(col(Delivery.next_try_at)).limit(_MAX_DUE))

    async def record_attempt(self, delivery_id: str, attempt: int, outcome: DeliveryOutcome) -> bool:
        """Record the outcome of the try after `attempt` others; False where that is recorded already."""
        async with self._lock(Delivery, delivery_id) as (session, delivery):
            if delivery is None or delivery.status is not DeliveryStatus.QUEUED or delivery.attempts != attempt:
                return False
            delivery.attempts = attempt + 1
            accepted = [*delivery.accepted, *outcome.accepted]
            delivery.sqlmodel_update(outcome, update={"accepted": accepted})
            if delivery.status.is_final:
                day = self._sessions.get_day(delivery.sent_at or delivery.planned_at)
                await add_to_totals(session, day, [Addition(TotalKind.DELIVERY, delivery.status)])
            return True

    async def retry(self, delivery_id: str, *, at: dt.datetime) -> bool:
        """Try a failed delivery again, as often as a new one; False where it has not failed."""
        async with self._lock(Delivery, delivery_id) as (_, delivery):
            if delivery is None or delivery.status is not DeliveryStatus.FAILED:
                return False
            delivery.status, delivery.next_try_at = DeliveryStatus.QUEUED, at
            delivery.attempts_allowed = delivery.attempts + MAX_ATTEMPTS
            return True

    async def save_briefing(self, record: BriefingRecord) -> None:
        """Store the briefing of a delivery; the first one that was composed stays.

        No webhook is told of what goes to a subscriber.
        """
        async with self._sessions.begin_write() as session:
            is_new = await insert_if_new(session, record, key="delivery_id")
            of_person = select(col(Delivery.person)).where(col(Delivery.id) == record.delivery_id)
            if is_new and await session.scalar(of_person) is None:
                subject = f"delivery:{record.delivery_id}"
                created = EventFact(WebhookEventType.BRIEFING_CREATED, subject, record.composed_at)
                await add_webhook_events(session, [created])

    async def get_briefing(self, delivery_id: str) -> BriefingRecord | None:
        return await self._get(BriefingRecord, delivery_id)

    async def get_last_briefing(self, target: str) -> BriefingRecord | None:
        """The planned briefing of a target that was composed last, unless it failed; the quiet ones count."""
        latest = (
            select(col(BriefingRecord.delivery_id))
            .join(Delivery, col(Delivery.id) == col(BriefingRecord.delivery_id))
            .where(
                col(Delivery.target) == target,
                col(Delivery.kind) == DeliveryKind.PLANNED,
                col(Delivery.status) != DeliveryStatus.FAILED,
            )
            .order_by(col(BriefingRecord.composed_at).desc())
            .limit(1)
        )
        of_latest = col(BriefingRecord.delivery_id) == latest.scalar_subquery()
        return await self._fetch_first(select(BriefingRecord).where(of_latest))

    async def get_first_day(self, target: str) -> dt.date | None:
        """The day of the first planned briefing of a target, whatever became of it."""
        planned = col(Delivery.target) == target, col(Delivery.kind) == DeliveryKind.PLANNED
        return await self._fetch_first(select(func.min(Delivery.day)).where(*planned))

    async def load_plans(self) -> dict[str, DeliveryPlan]:
        return {plan.target: plan for plan in await self._fetch_all(select(DeliveryPlan))}

    async def save_plans(self, plans: Sequence[DeliveryPlan]) -> None:
        """Store new or changed plans; planned times before their `dealt_until` are never delivered."""
        await self._upsert(plans, key=["target"], update=["cron", "timezone", "dealt_until"])

    async def delete_plans(self, targets: Iterable[str]) -> None:
        await self._execute(delete(DeliveryPlan).where(col(DeliveryPlan.target).in_(list(targets))))

    async def advance_plan(self, target: str, *, until: dt.datetime, delivery: Delivery) -> bool:
        """Store a delivery and that the planned times up to `until` are dealt with; False where another process did."""
        async with self._lock(DeliveryPlan, target) as (session, plan):
            if plan is None or plan.dealt_until >= until:
                return False
            plan.dealt_until = until
            await insert_if_new(session, delivery)
            return True

    async def rewind_plan(self, plan: DeliveryPlan, *, to: dt.datetime) -> DeliveryPlan:
        """Forget what was dealt with after an instant, because the clock was ahead; return the plan as it is then.

        Briefings that bear a later instant were composed before it: the next one begins with them.
        """
        async with self._lock(DeliveryPlan, plan.target) as (session, stored):
            if stored is None or stored.dealt_until <= to:
                return stored or plan
            stored.dealt_until = to
            of_target = select(col(Delivery.id)).where(col(Delivery.target) == plan.target)
            ahead = (col(BriefingRecord.delivery_id).in_(of_target), col(BriefingRecord.composed_at) > to)
            await session.execute(update(BriefingRecord).where(*ahead).values(composed_at=to))
            return DeliveryPlan(**stored.model_dump())

    async def list_open_failures(
        self, status: Sequence[DeliveryStatus] = (DeliveryStatus.FAILED,), *, limit: int
    ) -> list[Delivery]:
        """Those that failed, newest first; a failed test is over once anything later reached its target."""
        later = aliased(Delivery)
        is_over = exists().where(
            col(later.target) == col(Delivery.target),
            col(later.status) == DeliveryStatus.SENT,
            col(later.planned_at) > col(Delivery.planned_at),
        )
        query = select(Delivery).where(
            col(Delivery.status).in_(status), or_(col(Delivery.kind) != DeliveryKind.TEST, ~is_over)
        )
        return await self._fetch_all(
            query.order_by(col(Delivery.planned_at).desc(), col(Delivery.id).desc()).limit(limit)
        )

    async def list(
        self,
        *,
        target: str | None = None,
        status: Sequence[DeliveryStatus] = (),
        saved_id: int | None = None,
        before: tuple[dt.datetime, str] | None = None,
        seen_by: str | None = None,
        limit: int | None = 50,
    ) -> list[Delivery]:
        """The deliveries, newest first, after the one whose planned time and id are `before`.

        With `seen_by`, without those of other people's subscriptions.
        """
        query = select(Delivery).order_by(col(Delivery.planned_at).desc(), col(Delivery.id).desc()).limit(limit)
        if target is not None:
            query = query.where(col(Delivery.target) == target)
        if status:
            query = query.where(col(Delivery.status).in_(status))
        if saved_id is not None:
            query = query.where(col(Delivery.saved_id) == saved_id)
        if seen_by is not None:
            query = query.where(or_(col(Delivery.person).is_(None), col(Delivery.person) == seen_by))
        if before is not None:
            query = query.where(tuple_(col(Delivery.planned_at), col(Delivery.id)) < before)
        return await self._fetch_all(query)


class AlarmStore(Queries):
    async def reconcile(
        self,
        source_id: int,
        *,
        run_id: str,
        findings: Sequence[AlarmFinding],
        judged_kinds: Mapping[str, frozenset[AlarmKind]],
        at: dt.datetime,
    ) -> None:
        """Raise the findings of a source that have no open alarm, and clear the open alarms that are over.

        `judged_kinds` says by scope (a section's key, or the empty string for the source) which kinds could be judged;
        open alarms of other kinds stay. One of a section that is not among the scopes is cleared, unless there is no
        section at all.
        """
        async with self._sessions.begin_write() as session:
            # Two runs of one source that end at the same time take turns.
            await session.scalar(select(col(Source.id)).where(col(Source.id) == source_id).with_for_update())
            mine = (col(Alarm.source_id) == source_id, col(Alarm.cleared_at).is_(None))
            still_open = {
                (alarm.section_key, alarm.kind): alarm for alarm in await session.scalars(select(Alarm).where(*mine))
            }
            due_now = {(finding.section_key, finding.kind): finding for finding in findings}
            facts: list[EventFact] = []
            for (scope, kind), alarm in still_open.items():
                is_over = kind in judged_kinds[scope] if scope in judged_kinds else len(judged_kinds) > 1
                if (scope, kind) not in due_now and is_over:
                    alarm.cleared_at = at
                    facts.append(EventFact(WebhookEventType.ALARM_CLEARED, f"alarm:{alarm.id}", at))
            for key, finding in due_now.items():
                if key not in still_open:
                    values = finding.model_dump() | {"section": sanitize_text(finding.section)}
                    alarm = Alarm(source_id=source_id, run_id=run_id, raised_at=at, **values)
                    session.add(alarm)
                    await session.flush()
                    facts.append(EventFact(WebhookEventType.ALARM_RAISED, f"alarm:{alarm.id}", at))
            await add_webhook_events(session, facts)

    async def count_open(self) -> int:
        return await self._fetch_first(select(func.count()).where(col(Alarm.cleared_at).is_(None))) or 0

    async def get_view(self, alarm_id: int) -> AlarmView | None:
        found = await self._fetch_as(AlarmView, _select_views().where(col(Alarm.id) == alarm_id))
        return found[0] if found else None

    async def list_open_at(self, at: dt.datetime) -> list[AlarmView]:
        """The alarms that were open at an instant, newest first."""
        each = (col(Alarm.cleared_at).is_(None), col(Alarm.cleared_at) >= at)
        open_then = union_all(*(select(col(Alarm.id)).where(is_open, col(Alarm.raised_at) < at) for is_open in each))
        query = _select_views().where(col(Alarm.id).in_(open_then))
        return await self._fetch_as(AlarmView, query.order_by(col(Alarm.raised_at).desc(), col(Alarm.id).desc()))

    async def list_unnotified(self) -> list[AlarmView]:
        """The alarms that nobody was told of yet, oldest first."""
        query = _select_views().where(col(Alarm.notified_at).is_(None)).order_by(col(Alarm.id))
        return await self._fetch_as(AlarmView, query)

    async def list_notified_at(self, at: dt.datetime) -> list[AlarmView]:
        """The alarms that were handed on under an instant, oldest first."""
        query = _select_views().where(col(Alarm.notified_at) == at).order_by(col(Alarm.id))
        return await self._fetch_as(AlarmView, query)

    async def mark_notified(self, alarm_ids: Sequence[int], at: dt.datetime) -> None:
        await self._execute(_update_unnotified(alarm_ids).values(notified_at=at))

    async def attach_to_deliveries(
        self, alarm_ids: Sequence[int], deliveries: Sequence[Delivery], *, now: dt.datetime
    ) -> bool:
        """Mark those of the alarms that nobody was told of as told at the instant of these deliveries, and store these.

        A stored delivery that has not left carries them too. False, and nothing is done, where one has left.
        """
        at, ids = deliveries[0].planned_at, [delivery.id for delivery in deliveries]
        async with self._sessions.begin_write() as session:
            waits = (col(Delivery.attempts) == 0, col(Delivery.next_try_at) > now)
            gone = select(col(Delivery.id)).where(col(Delivery.id).in_(ids), ~and_(*waits))
            if await session.scalar(gone) is not None:
                return False
            fresh = await session.scalars(_update_unnotified(alarm_ids).values(notified_at=at).returning(col(Alarm.id)))
            if fresh.all():
                rows = [delivery.model_dump() for delivery in deliveries]
                insert = build_insert(get_dialect(session), Delivery).values(rows)
                await session.execute(insert.on_conflict_do_nothing())
        return True

    async def list_page(
        self,
        *,
        is_open: bool | None = None,
        source_id: int | None = None,
        before_id: int | None = None,
        limit: int = 50,
    ) -> list[AlarmView]:
        """The alarms raised before another one, newest first: those that are open, those that are over, or both."""
        query = _select_views().order_by(col(Alarm.id).desc()).limit(limit)
        if is_open is not None:
            query = query.where(col(Alarm.cleared_at).is_(None) if is_open else col(Alarm.cleared_at).is_not(None))
        if source_id is not None:
            query = query.where(col(Alarm.source_id) == source_id)
        if before_id is not None:
            query = query.where(col(Alarm.id) < before_id)
        return await self._fetch_as(AlarmView, query)

    async def list(
        self, *, run_ids: Sequence[str] | None = None, only_open: bool = False, limit: int | None = 200
    ) -> list[AlarmView]:
        """The alarms by the instant at which they were raised, newest first: all, or those that some runs raised."""
        query = _select_views().order_by(col(Alarm.raised_at).desc(), col(Alarm.id).desc()).limit(limit)
        if run_ids is not None:
            query = query.where(col(Alarm.run_id).in_(run_ids))
        if only_open:
            query = query.where(col(Alarm.cleared_at).is_(None))
        return await self._fetch_as(AlarmView, query)


def _update_unnotified(alarm_ids: Sequence[int]) -> Update:
    return update(Alarm).where(col(Alarm.id).in_(alarm_ids), col(Alarm.notified_at).is_(None))


def _select_views() -> Select[*tuple[Any, ...]]:
    columns = [getattr(Alarm, name) for name in AlarmView.model_fields if name != "source"]
    return select(*columns, col(Source.name).label("source")).join(Source, col(Source.id) == col(Alarm.source_id))
