"""What became of items' pages: the latest look at each, and the changes that were seen."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlmodel import col

from monitor.domain.evidence import Links
from monitor.domain.revisions import ItemSight, Revision
from monitor.domain.tables import Item, ItemText
from monitor.store.claims import link
from monitor.store.indexing import INDEXED, index
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, insert_or, storable, storable_value

# An item whose last look is in doubt is looked at again for so long after its last planned look.
_AFTERWARDS = dt.timedelta(days=30)


@patient
class Revisions:
    """The looks at items' pages and their revisions."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def due(self, source_id: int, *, at: dt.datetime, days: Sequence[int], limit: int) -> list[int]:
        """The items of a source whose pages are to be looked at again, the doubtful first, then the longest unseen.

        Each is due once when so many calendar days have passed since it was first seen, for each number of `days`.
        Those of which no look is on record, saved by a version that kept none, come last.
        """
        if not days:
            return []
        oldest = at - dt.timedelta(days=max(days)) - _AFTERWARDS
        query = (
            select(col(Item.id), col(Item.first_seen), col(ItemSight.looked_at), col(ItemSight.doubt))
            .join(ItemSight, col(ItemSight.item_id) == col(Item.id), isouter=True)
            .where(col(Item.source_id) == source_id, col(Item.first_seen) >= oldest)
        )
        async with self._sessions.reading() as session:
            rows = (await session.execute(query)).all()
        due = [
            (doubt is None, looked_at is None, looked_at or first_seen, item_id or 0)
            for item_id, first_seen, looked_at, doubt in rows
            if doubt is not None or _is_due(first_seen, looked_at or first_seen, at, days)
        ]
        return [item_id for *_, item_id in sorted(due)[:limit]]

    async def sight(self, item_id: int) -> ItemSight | None:
        """The latest look at an item's page."""
        async with self._sessions.reading() as session:
            return await session.get(ItemSight, item_id)

    async def keep(
        self,
        sight: ItemSight,
        *,
        revision: Revision | None = None,
        text: str | None = None,
        changes: Mapping[str, Any] | None = None,
        links: Links | None = None,
    ) -> None:
        """Keep a look, and with it at once what it brought: the revision, the new text, the item's facts and links."""
        row = {name: storable_value(value) for name, value in sight.model_dump().items()}
        async with self._sessions.writing() as session:
            await insert_or(session, ItemSight, [row], key=["item_id"], update=[*row.keys() - {"item_id"}])
            if revision is not None:
                session.add(Revision(**{name: storable_value(value) for name, value in revision.model_dump().items()}))
            if text is not None:
                kept = {"item_id": sight.item_id, "text": storable(text)}
                await insert_or(session, ItemText, [kept], key=["item_id"], update=["text"])
            is_searched = text is not None or bool(INDEXED & (changes or {}).keys())
            if (changes or is_searched) and (item := await session.get(Item, sight.item_id)) is not None:
                for name, value in (changes or {}).items():
                    setattr(item, name, storable_value(value))
                if is_searched:
                    await index(session, item, text=text)
            if links is not None:
                await link(session, links)

    async def of_item(self, item_id: int) -> list[Revision]:
        """The revisions of an item, newest first."""
        mine = select(Revision).where(col(Revision.item_id) == item_id).order_by(col(Revision.id).desc())
        async with self._sessions.reading() as session:
            return list((await session.scalars(mine)).all())

    async def between(
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
        async with self._sessions.reading() as session:
            return [(item, revision) for item, revision in await session.execute(query)]


def _is_due(first_seen: dt.datetime, looked_at: dt.datetime, at: dt.datetime, days: Sequence[int]) -> bool:
    planned = (first_seen.date() + dt.timedelta(days=number) for number in days)
    return any(looked_at.date() < day <= at.date() for day in planned)
