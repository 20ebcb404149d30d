"""Subscriptions of people to briefings by mail."""

import datetime as dt

from sqlalchemy import func, select
from sqlmodel import col

from monitor.db.sessions import Queries, lock_decisions, sanitize_text, sanitize_value
from monitor.db.tables.delivery import Delivery, Subscription
from monitor.db.tables.people import Person

SUBSCRIPTION_PREFIX = "subscription:"
"""What the target of its deliveries is called, with the number behind it; no target of the settings has a colon."""


class SubscriptionStore(Queries):
    async def add(self, subscription: Subscription, *, limit: int, since: dt.datetime, new_limit: int) -> bool:
        """Store a subscription and give it its id.

        False where its person has `limit` that have not ended, or began `new_limit` after `since`, ended or not.
        """
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)
            mine = select(func.count()).where(col(Subscription.person) == subscription.person)
            present = await session.scalar(mine.where(col(Subscription.ended_at).is_(None))) or 0
            begun = await session.scalar(mine.where(col(Subscription.created_at) > since)) or 0
            if present >= limit or begun >= new_limit:
                return False
            kept = Subscription(**sanitize_value(subscription.model_dump(exclude={"id"})))
            session.add(kept)
            await session.flush()
            subscription.id = kept.id
            return True

    async def list_present(self, person: str | None = None) -> list[Subscription]:
        """Those that have not ended, newest first: of everybody, or of one person."""
        query = select(Subscription).where(col(Subscription.ended_at).is_(None)).order_by(col(Subscription.id).desc())
        return await self._fetch_all(query if person is None else query.where(col(Subscription.person) == person))

    async def list_active(self) -> list[Subscription]:
        """Those that are confirmed and have not ended, of people who may sign in."""
        query = (
            select(Subscription)
            .join(Person, col(Person.name) == col(Subscription.person))
            .where(col(Subscription.ended_at).is_(None), col(Subscription.confirmed_at).is_not(None))
        )
        return await self._fetch_all(query.where(col(Person.is_shut_out).is_(False)).order_by(col(Subscription.id)))

    async def get(self, subscription_id: int) -> tuple[Subscription, Person] | None:
        """A subscription and whose it is."""
        query = select(Subscription, Person).join(Person, col(Person.name) == col(Subscription.person))
        rows = await self._fetch_rows(query.where(col(Subscription.id) == subscription_id))
        return (rows[0][0], rows[0][1]) if rows else None

    async def find(self, token: str) -> Subscription | None:
        return await self._fetch_first(select(Subscription).where(col(Subscription.token) == sanitize_text(token)))

    async def load_last_deliveries(self, subscription_ids: list[int]) -> dict[int, Delivery]:
        """The newest delivery of each subscription that has any."""
        names = [f"{SUBSCRIPTION_PREFIX}{number}" for number in subscription_ids]
        newest = select(func.max(Delivery.planned_at)).group_by(col(Delivery.target))
        latest = newest.add_columns(col(Delivery.target)).where(col(Delivery.target).in_(names)).subquery()
        planned_at, target = latest.c
        query = select(Delivery).join(latest, (target == Delivery.target) & (planned_at == Delivery.planned_at))
        rows = await self._fetch_all(query)
        return {int(row.target.removeprefix(SUBSCRIPTION_PREFIX)): row for row in rows}

    async def confirm(self, subscription_id: int, at: dt.datetime) -> Subscription | None:
        """Confirm a subscription that has not ended, and return it; None where that changes nothing."""
        async with self._lock(Subscription, subscription_id) as (_, subscription):
            if subscription is None or subscription.ended_at is not None or subscription.confirmed_at is not None:
                return None
            subscription.confirmed_at = at
            return subscription

    async def end(self, subscription_id: int, at: dt.datetime, *, by: str | None) -> Subscription | None:
        """End a subscription for good, and return it; None where that changes nothing."""
        async with self._lock(Subscription, subscription_id) as (_, subscription):
            if subscription is None or subscription.ended_at is not None:
                return None
            subscription.ended_at, subscription.ended_by = at, by
            return subscription
