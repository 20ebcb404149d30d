"""The later looks at items' pages, what they found changed, and which pages are to be looked at again."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlmodel import col

from monitor.db.fulltext_index import update_item
from monitor.db.queries.evidence import save_claims
from monitor.db.queries.webhooks import EventFact, add_webhook_events
from monitor.db.sessions import Queries, sanitize_value, split_batches, upsert_rows
from monitor.db.tables.collection import Item
from monitor.db.tables.evidence import ClaimUpdate, ItemSnapshot, Revision
from monitor.db.tables.policies import Deadline
from monitor.db.tables.webhooks import WebhookEventType

_DOUBT_PERIOD = dt.timedelta(days=30)  # so long after its last planned look an item in doubt is looked at again
_DEADLINE_PERIOD = dt.timedelta(days=100)  # so long before a deadline its page is looked at each day
_DEADLINE_GRACE = dt.timedelta(days=7)  # so long after it: offices extend what has just ended


class RevisionStore(Queries):
    async def list_due(
        self, source_id: int, *, at: dt.datetime, days: Sequence[int], limit: int, deadline_limit: int = 0
    ) -> list[int]:
        """The items of a source whose pages are to be looked at again, those in doubt first, then the longest unseen.

        An item is due once for each of `days`: so many calendar days after it was first seen. One with a deadline that
        is near is due each day, and `deadline_limit` such items come on top of the `limit` others. Items without a
        look on record, saved by a version that kept none, come last.
        """
        if not days:
            return []
        near = await self._list_near_deadlines(source_id, at.date()) if deadline_limit else set()
        oldest = at - dt.timedelta(days=max(days)) - _DOUBT_PERIOD
        query = (
            select(col(Item.id), col(Item.first_seen), col(ItemSnapshot.looked_at), col(ItemSnapshot.doubt))
            .join(ItemSnapshot, col(ItemSnapshot.item_id) == col(Item.id), isouter=True)
            .where(col(Item.source_id) == source_id)
        )
        rows = await self._fetch_rows(query.where(col(Item.first_seen) >= oldest))
        older = near - {item_id for item_id, *_ in rows}
        for batch in split_batches(sorted(older)):
            rows = [*rows, *await self._fetch_rows(query.where(col(Item.id).in_(batch)))]
        due = sorted(
            (doubt is None, looked_at is None, looked_at or first_seen, item_id or 0)
            for item_id, first_seen, looked_at, doubt in rows
            if doubt is not None
            or _is_due(first_seen, looked_at or first_seen, at, days)
            or (item_id in near and (looked_at or first_seen).date() < at.date())
        )
        ids = [item_id for *_, item_id in due]
        chosen = {
            *[item_id for item_id in ids if item_id not in near][:limit],
            *[item_id for item_id in ids if item_id in near][:deadline_limit],
        }
        return [item_id for item_id in ids if item_id in chosen]

    async def _list_near_deadlines(self, source_id: int, today: dt.date) -> set[int]:
        """The items of a source that state a day which is near."""
        query = (
            select(col(Deadline.item_id))
            .join(Item, col(Item.id) == col(Deadline.item_id))
            .where(
                col(Item.source_id) == source_id,
                col(Deadline.dropped_at).is_(None),
                col(Deadline.day).between(today - _DEADLINE_GRACE, today + _DEADLINE_PERIOD),
            )
        )
        return {item_id for (item_id,) in await self._fetch_rows(query.distinct())}

    async def get(self, revision_id: int) -> Revision | None:
        return await self._get(Revision, revision_id)

    async def get_snapshot(self, item_id: int) -> ItemSnapshot | None:
        return await self._get(ItemSnapshot, item_id)

    async def save(
        self,
        snapshot: ItemSnapshot,
        *,
        revision: Revision | None = None,
        text: str | None = None,
        changes: Mapping[str, Any] | None = None,
        claims: ClaimUpdate | None = None,
    ) -> None:
        """Store a look, and in the same transaction its revision, new text, changes of the item, and claims."""
        row = sanitize_value(snapshot.model_dump())
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, ItemSnapshot, [row], key=["item_id"], update=[*row.keys() - {"item_id"}])
            if revision is not None:
                kept = Revision(**sanitize_value(revision.model_dump()))
                session.add(kept)
                await session.flush()
                subject = f"item:{snapshot.item_id}"
                changed = EventFact(WebhookEventType.ITEM_CHANGED, subject, revision.seen_at, kept.id)
                await add_webhook_events(session, [changed])
            item = await session.get(Item, snapshot.item_id) if changes or text is not None else None
            if item is not None:
                await update_item(session, item, changes or {}, text)
            if claims is not None:
                await save_claims(session, claims)

    async def list_for_item(self, item_id: int) -> list[Revision]:
        query = select(Revision).where(col(Revision.item_id) == item_id)
        return await self._fetch_all(query.order_by(col(Revision.id).desc()))

    async def list_between(
        self, begin: dt.datetime, end: dt.datetime, *, sources: Sequence[str] = ()
    ) -> list[tuple[Item, Revision]]:
        """The revisions seen from `begin` on and before `end`, oldest first, each with its item; `sources` by name."""
        query = (
            select(Item, Revision)
            .join(Revision, col(Revision.item_id) == col(Item.id))
            .where(col(Revision.seen_at) >= begin, col(Revision.seen_at) < end)
            .order_by(col(Revision.seen_at), col(Revision.id))
        )
        if sources:
            query = query.where(col(Item.source).in_(sources))
        return [(item, revision) for item, revision in await self._fetch_rows(query)]


def _is_due(first_seen: dt.datetime, looked_at: dt.datetime, at: dt.datetime, days: Sequence[int]) -> bool:
    planned = (first_seen.date() + dt.timedelta(days=number) for number in days)
    return any(looked_at.date() < day <= at.date() for day in planned)
