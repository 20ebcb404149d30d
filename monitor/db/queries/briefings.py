"""The briefings that people composed and keep."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import and_, delete, func, or_, select
from sqlmodel import col

from monitor.db.sessions import Queries, build_insert, get_dialect, sanitize_text, upsert_rows
from monitor.db.tables.delivery import (
    MAX_ATTEMPTS,
    BriefingRecord,
    Delivery,
    DeliveryKind,
    DeliveryOutcome,
    DeliveryPlan,
    DeliveryStatus,
)
from monitor.db.tables.people import SavedBriefing


class BriefingRow(BaseModel):
    """A saved briefing as a list shows it, without what stands in it."""

    id: int
    title: str
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


class BriefingStore(Queries):
    """Saved briefings; those that are archived stay, out of the way."""

    async def add(self, saved: SavedBriefing) -> SavedBriefing:
        """Keep a new one; answers it with its number."""
        kept = SavedBriefing(
            **{name: _sanitize_value(value) for name, value in saved.model_dump(exclude={"id"}).items()}
        )
        async with self._sessions.begin_write() as session:
            session.add(kept)
            await session.flush()
        return kept

    async def get(self, briefing_id: int) -> SavedBriefing | None:
        async with self._sessions.begin_read() as session:
            return await session.get(SavedBriefing, briefing_id)

    async def list_rows(
        self, *, is_archived: bool = False, before_id: int | None = None, limit: int = 50
    ) -> list[BriefingRow]:
        """A page of the list, newest first, from behind the number `before_id` on."""
        columns = [getattr(SavedBriefing, name) for name in BriefingRow.model_fields]
        archived_at = col(SavedBriefing.archived_at)
        query = select(*columns).where(archived_at.is_not(None) if is_archived else archived_at.is_(None))
        if before_id is not None:
            query = query.where(col(SavedBriefing.id) < before_id)
        async with self._sessions.begin_read() as session:
            rows = await session.execute(query.order_by(col(SavedBriefing.id).desc()).limit(limit))
            return [BriefingRow.model_validate(dict(row)) for row in rows.mappings()]

    async def edit(self, briefing_id: int, *, version: int, changes: Mapping[str, Any]) -> bool:
        """Put an edit of that version on record; False where another one came first, or the briefing is gone."""
        async with self._sessions.begin_write() as session:
            saved = await session.get(SavedBriefing, briefing_id, with_for_update=True)
            if saved is None or saved.version != version:
                return False
            saved.version = version + 1
            for name, value in changes.items():
                setattr(saved, name, _sanitize_value(value))
            return True

    async def set_archived(self, briefing_id: int, at: dt.datetime | None) -> bool:
        """Put a briefing out of the way, or back with None; False where it is there already."""
        async with self._sessions.begin_write() as session:
            saved = await session.get(SavedBriefing, briefing_id, with_for_update=True)
            if saved is None or (saved.archived_at is None) == (at is None):
                return False
            saved.archived_at = at
            return True


def _sanitize_value(value: Any) -> Any:
    """The value without what a database refuses, however deep that stands in it."""
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, dict):
        return {key: _sanitize_value(inner) for key, inner in value.items()}
    return [_sanitize_value(inner) for inner in value] if isinstance(value, list) else value


_MAX_DUE = 200


class DeliveryStore(Queries):
    """The log of deliveries, which is their order book too: workers take up what is due."""

    async def create(self, delivery: Delivery, briefing: BriefingRecord | None = None) -> bool:
        """Put a delivery on record, with the briefing that it is to send where that is there already.

        False where its id is there, which stays as it is.
        """
        async with self._sessions.begin_write() as session:
            statement = build_insert(get_dialect(session), Delivery).values(delivery.model_dump())
            unique = statement.on_conflict_do_nothing(index_elements=["id"]).returning(col(Delivery.id))
            is_new = await session.scalar(unique) is not None
            if is_new and briefing is not None:
                await upsert_rows(session, BriefingRecord, [briefing.model_dump()], key=["delivery_id"])
            return is_new

    async def get(self, delivery_id: str) -> Delivery | None:
        async with self._sessions.begin_read() as session:
            return await session.get(Delivery, delivery_id)

    async def release(self, delivery_id: str, *, at: dt.datetime) -> None:
        """Let a delivery go that waited for its sources."""
        async with self._sessions.begin_write() as session:
            delivery = await session.get(Delivery, delivery_id, with_for_update=True)
            if delivery is not None and delivery.status is DeliveryStatus.WAITING:
                delivery.status, delivery.next_try_at = DeliveryStatus.QUEUED, at

    async def list_due(self, at: dt.datetime) -> list[Delivery]:
        """What is to be tried at an instant, the longest due first."""
        query = select(Delivery).where(col(Delivery.status) == DeliveryStatus.QUEUED, col(Delivery.next_try_at) <= at)
        return await self._fetch_all(query.order_by(col(Delivery.next_try_at)).limit(_MAX_DUE))

    async def record_attempt(self, delivery_id: str, attempt: int, outcome: DeliveryOutcome) -> bool:
        """Write down what became of a try, the one after `attempt` others; False where that is on record already."""
        async with self._sessions.begin_write() as session:
            delivery = await session.get(Delivery, delivery_id, with_for_update=True)
            if delivery is None or delivery.status is not DeliveryStatus.QUEUED or delivery.attempts != attempt:
                return False
            delivery.attempts = attempt + 1
            delivery.status, delivery.next_try_at = outcome.status, outcome.next_try_at
            delivery.last_error = outcome.last_error
            delivery.sent_at = outcome.sent_at
            delivery.accepted = [*delivery.accepted, *outcome.accepted]
            return True

    async def retry(self, delivery_id: str, *, at: dt.datetime) -> bool:
        """Have a failed delivery tried again, as often as a new one; False where it has not failed."""
        async with self._sessions.begin_write() as session:
            delivery = await session.get(Delivery, delivery_id, with_for_update=True)
            if delivery is None or delivery.status is not DeliveryStatus.FAILED:
                return False
            delivery.status, delivery.next_try_at = DeliveryStatus.QUEUED, at
            delivery.attempts_allowed = delivery.attempts + MAX_ATTEMPTS
            return True

    async def save_briefing(self, record: BriefingRecord) -> None:
        """Keep the briefing of a delivery; the first one that was composed stays."""
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, BriefingRecord, [record.model_dump()], key=["delivery_id"])

    async def get_briefing(self, delivery_id: str) -> BriefingRecord | None:
        """The briefing of a delivery; None where it is not composed yet."""
        async with self._sessions.begin_read() as session:
            return await session.get(BriefingRecord, delivery_id)

    async def get_last_briefing(self, target: str) -> BriefingRecord | None:
        """The planned briefing of a target that was composed last, unless it failed; the quiet ones count."""
        query = (
            select(BriefingRecord)
            .join(Delivery, col(Delivery.id) == col(BriefingRecord.delivery_id))
            .where(
                col(Delivery.target) == target,
                col(Delivery.kind) == DeliveryKind.PLANNED,
                col(Delivery.status) != DeliveryStatus.FAILED,
            )
            .order_by(col(BriefingRecord.composed_at).desc())
            .limit(1)
        )
        return await self._fetch_first(query)

    async def get_first_day(self, target: str) -> dt.date | None:
        """The day of the first planned briefing of a target, whatever became of it."""
        planned = col(Delivery.target) == target, col(Delivery.kind) == DeliveryKind.PLANNED
        return await self._fetch_first(select(func.min(Delivery.day)).where(*planned))

    async def load_plans(self) -> dict[str, DeliveryPlan]:
        """How far the planned times of each target were dealt with."""
        async with self._sessions.begin_read() as session:
            return {row.target: row for row in await session.scalars(select(DeliveryPlan))}

    async def save_plans(self, plans: Sequence[DeliveryPlan]) -> None:
        """Begin with new or changed plans: what lies before their `dealt_until` is nobody's business."""
        rows = [plan.model_dump() for plan in plans]
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, DeliveryPlan, rows, key=["target"], update=["cron", "timezone", "dealt_until"])

    async def delete_plans(self, targets: Iterable[str]) -> None:
        """Forget the plans of targets that are gone."""
        await self._execute(delete(DeliveryPlan).where(col(DeliveryPlan.target).in_(list(targets))))

    async def advance_plan(self, target: str, *, until: dt.datetime, delivery: Delivery) -> bool:
        """Put a delivery on record and the planned times up to `until` behind us; False where another one did already.

        Both happen in one transaction: a planned time is dealt with once, however many schedulers there are.
        """
        async with self._sessions.begin_write() as session:
            plan = await session.get(DeliveryPlan, target, with_for_update=True)
            if plan is None or plan.dealt_until >= until:
                return False
            plan.dealt_until = until
            statement = build_insert(get_dialect(session), Delivery).values(delivery.model_dump())
            await session.execute(statement.on_conflict_do_nothing(index_elements=["id"]))
            return True

    async def list(
        self,
        *,
        target: str | None = None,
        status: Sequence[DeliveryStatus] = (),
        saved_id: int | None = None,
        before: tuple[dt.datetime, str] | None = None,
        limit: int | None = 50,
    ) -> list[Delivery]:
        """The deliveries, newest first: those of one target, that stand like this, or of one saved briefing.

        `before` is the planned time and the id of the last one that was seen.
        """
        query = select(Delivery).order_by(col(Delivery.planned_at).desc(), col(Delivery.id).desc()).limit(limit)
        if target is not None:
            query = query.where(col(Delivery.target) == target)
        if status:
            query = query.where(col(Delivery.status).in_(status))
        if saved_id is not None:
            query = query.where(col(Delivery.saved_id) == saved_id)
        if before is not None:
            at, last = before
            is_older = and_(col(Delivery.planned_at) == at, col(Delivery.id) < last)
            query = query.where(or_(col(Delivery.planned_at) < at, is_older))
        return await self._fetch_all(query)
