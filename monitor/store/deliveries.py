"""The deliveries: what is due for whom, how often it was tried, and what was sent."""

import datetime as dt
from collections.abc import Iterable, Sequence

from sqlalchemy import and_, delete, func, or_, select
from sqlmodel import col

from monitor.domain.deliveries import (
    ATTEMPTS,
    BriefingRecord,
    Delivery,
    DeliveryKind,
    DeliveryPlan,
    DeliveryStatus,
    Outcome,
)
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, dialect_of, insert_for, insert_or, storable

_MOST_DUE = 200


@patient
class Deliveries:
    """The log of deliveries, which is their order book too: workers take up what is due."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def create(self, delivery: Delivery, briefing: BriefingRecord | None = None) -> bool:
        """Put a delivery on record, with the briefing that it is to send where that is there already.

        False where its id is there, which stays as it is.
        """
        async with self._sessions.writing() as session:
            statement = insert_for(dialect_of(session), Delivery).values(delivery.model_dump())
            unique = statement.on_conflict_do_nothing(index_elements=["id"]).returning(col(Delivery.id))
            is_new = await session.scalar(unique) is not None
            if is_new and briefing is not None:
                await insert_or(session, BriefingRecord, [briefing.model_dump()], key=["delivery_id"])
            return is_new

    async def get(self, delivery_id: str) -> Delivery | None:
        async with self._sessions.reading() as session:
            return await session.get(Delivery, delivery_id)

    async def release(self, delivery_id: str, *, at: dt.datetime) -> None:
        """Let a delivery go that waited for its sources."""
        async with self._sessions.writing() as session:
            delivery = await session.get(Delivery, delivery_id, with_for_update=True)
            if delivery is not None and delivery.status is DeliveryStatus.WAITING:
                delivery.status, delivery.next_try_at = DeliveryStatus.QUEUED, at

    async def due(self, at: dt.datetime) -> list[Delivery]:
        """What is to be tried at an instant, the longest due first."""
        query = select(Delivery).where(col(Delivery.status) == DeliveryStatus.QUEUED, col(Delivery.next_try_at) <= at)
        async with self._sessions.reading() as session:
            return list((await session.scalars(query.order_by(col(Delivery.next_try_at)).limit(_MOST_DUE))).all())

    async def settle(self, delivery_id: str, attempt: int, outcome: Outcome) -> bool:
        """Write down what became of a try, the one after `attempt` others; False where that is on record already."""
        async with self._sessions.writing() as session:
            delivery = await session.get(Delivery, delivery_id, with_for_update=True)
            if delivery is None or delivery.status is not DeliveryStatus.QUEUED or delivery.attempts != attempt:
                return False
            delivery.attempts = attempt + 1
            delivery.status, delivery.next_try_at = outcome.status, outcome.next_try_at
            delivery.last_error = storable(outcome.last_error) if outcome.last_error else None
            delivery.sent_at = outcome.sent_at
            delivery.accepted = [*delivery.accepted, *outcome.accepted]
            return True

    async def ask_again(self, delivery_id: str, *, at: dt.datetime) -> bool:
        """Have a failed delivery tried again, as often as a new one; False where it has not failed."""
        async with self._sessions.writing() as session:
            delivery = await session.get(Delivery, delivery_id, with_for_update=True)
            if delivery is None or delivery.status is not DeliveryStatus.FAILED:
                return False
            delivery.status, delivery.next_try_at = DeliveryStatus.QUEUED, at
            delivery.attempts_allowed = delivery.attempts + ATTEMPTS
            return True

    async def keep_briefing(self, record: BriefingRecord) -> None:
        """Keep the briefing of a delivery; the first one that was composed stays."""
        async with self._sessions.writing() as session:
            await insert_or(session, BriefingRecord, [record.model_dump()], key=["delivery_id"])

    async def briefing(self, delivery_id: str) -> BriefingRecord | None:
        """The briefing of a delivery; None where it is not composed yet."""
        async with self._sessions.reading() as session:
            return await session.get(BriefingRecord, delivery_id)

    async def last_briefing(self, target: str) -> BriefingRecord | None:
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
        async with self._sessions.reading() as session:
            return await session.scalar(query)

    async def first_day(self, target: str) -> dt.date | None:
        """The day of the first planned briefing of a target, whatever became of it."""
        planned = col(Delivery.target) == target, col(Delivery.kind) == DeliveryKind.PLANNED
        async with self._sessions.reading() as session:
            return await session.scalar(select(func.min(Delivery.day)).where(*planned))

    async def plans(self) -> dict[str, DeliveryPlan]:
        """How far the planned times of each target were dealt with."""
        async with self._sessions.reading() as session:
            return {row.target: row for row in await session.scalars(select(DeliveryPlan))}

    async def begin(self, plans: Sequence[DeliveryPlan]) -> None:
        """Begin with new or changed plans: what lies before their `dealt_until` is nobody's business."""
        rows = [plan.model_dump() for plan in plans]
        async with self._sessions.writing() as session:
            await insert_or(session, DeliveryPlan, rows, key=["target"], update=["cron", "timezone", "dealt_until"])

    async def drop(self, targets: Iterable[str]) -> None:
        """Forget the plans of targets that are gone."""
        async with self._sessions.writing() as session:
            await session.execute(delete(DeliveryPlan).where(col(DeliveryPlan.target).in_(list(targets))))

    async def plan(self, target: str, *, until: dt.datetime, delivery: Delivery) -> bool:
        """Put a delivery on record and the planned times up to `until` behind us; False where another one did already.

        Both happen in one transaction: a planned time is dealt with once, however many schedulers there are.
        """
        async with self._sessions.writing() as session:
            plan = await session.get(DeliveryPlan, target, with_for_update=True)
            if plan is None or plan.dealt_until >= until:
                return False
            plan.dealt_until = until
            statement = insert_for(dialect_of(session), Delivery).values(delivery.model_dump())
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
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())
