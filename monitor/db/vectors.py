"""The vectors of items: which items lack one, all of their signs, and the items behind some of them."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import and_, exists, func, or_, select
from sqlmodel import col

from monitor.db.fulltext import FullTextScope, resolve_scope
from monitor.db.sessions import Queries, split_batches
from monitor.db.tables.collection import Item, ItemPageText, ItemVector, Run
from monitor.db.tables.evidence import ItemSnapshot
from monitor.page import ChangeKind


@dataclass(frozen=True, slots=True)
class ItemText:
    """What an item's vector is made from; `text` is the beginning of its page's text."""

    item_id: int
    title: str
    summary: str
    text: str


class NearVector(NamedTuple):
    item_id: int
    day: dt.date
    vector: bytes


class ItemBody(NamedTuple):
    """An item with its summary and the text of its page."""

    item: Item
    body: str


class VectorStore(Queries):
    async def list_pending(self, model: str, *, limit: int, max_chars: int) -> list[ItemText]:
        """Return items without a vector of this model, the newest first; those of runs under way wait for a summary."""
        has_vector = exists().where(col(ItemVector.item_id) == col(Item.id), col(ItemVector.model) == model)
        is_running = exists().where(col(Run.id) == col(Item.run_id), col(Run.ended_at).is_(None))
        text = func.coalesce(func.substr(col(ItemPageText.text), 1, max_chars), "")
        query = (
            select(col(Item.id), col(Item.title), col(Item.summary), text)
            .outerjoin(ItemPageText, col(ItemPageText.item_id) == col(Item.id))
            .where(~has_vector, ~is_running)
            .order_by(col(Item.id).desc())
            .limit(limit)
        )
        return [ItemText(number or 0, *rest) for number, *rest in await self._fetch_rows(query)]

    async def save(self, rows: Sequence[ItemVector]) -> None:
        """Keep vectors of one model; those of other models of the same items go, and an item that is gone gets none."""
        if not rows:
            return
        numbers = [row.item_id for row in rows]
        async with self._sessions.begin_write() as session:
            known = set(await session.scalars(select(col(Item.id)).where(col(Item.id).in_(numbers))))
            earlier = select(ItemVector).where(col(ItemVector.item_id).in_(numbers))
            for vector in await session.scalars(earlier):
                await session.delete(vector)
            await session.flush()
            session.add_all([row for row in rows if row.item_id in known])

    async def count(self, model: str) -> tuple[int, int]:
        """Return how many vectors of a model there are, and the highest of their ids."""
        counted = select(func.count(), func.max(col(ItemVector.id))).where(col(ItemVector.model) == model)
        count, last = (await self._fetch_rows(counted))[0]
        return count, last or 0

    async def load_signs(self, model: str, *, after: int, limit: int) -> Sequence[tuple[int, int, bytes]]:
        """Return id, item and signs of the vectors after an id, in their order."""
        query = (
            select(col(ItemVector.id), col(ItemVector.item_id), col(ItemVector.signs))
            .where(col(ItemVector.model) == model, col(ItemVector.id) > after)
            .order_by(col(ItemVector.id))
            .limit(limit)
        )
        return [(number or 0, item, signs) for number, item, signs in await self._fetch_rows(query)]

    async def load_vectors(
        self, model: str, numbers: Sequence[int], scope: FullTextScope, *, limit: int, excludes_withdrawn: bool
    ) -> list[NearVector]:
        """Return the first `limit` of these items that are in the scope, in no order."""
        withdrawn = [or_(col(ItemSnapshot.standing).is_(None), col(ItemSnapshot.standing) != ChangeKind.WITHDRAWN)]
        async with self._sessions.begin_read() as session:
            among = await resolve_scope(session, scope)
            chosen: list[int] = []
            for some in split_batches(numbers):
                # Else SQLite reads an index of the scope's days, of which there may be years.
                near = select(col(Item.id)).where(col(Item.id).in_(some)).cte("near").prefix_with("MATERIALIZED")
                in_scope = (
                    select(col(Item.id))
                    .join(near, near.c.id == col(Item.id))
                    .outerjoin(ItemSnapshot, col(ItemSnapshot.item_id) == col(Item.id))
                    .where(*among.conditions, *(withdrawn if excludes_withdrawn else []))
                )
                meant = set(await session.scalars(in_scope))
                chosen += [number for number in some if number in meant]
                if len(chosen) >= limit:
                    break
            query = (
                select(col(Item.id), col(Item.day), col(ItemVector.vector))
                .join(ItemVector, and_(col(ItemVector.item_id) == col(Item.id), col(ItemVector.model) == model))
                .where(col(Item.id).in_(chosen[:limit]))
            )
            return [NearVector(number or 0, day, vector) for number, day, vector in await session.execute(query)]

    async def load_bodies(self, numbers: Sequence[int]) -> dict[int, ItemBody]:
        """Return those of these items that are there still, by id."""
        query = (
            select(Item, col(ItemPageText.text))
            .outerjoin(ItemPageText, col(ItemPageText.item_id) == col(Item.id))
            .where(col(Item.id).in_(numbers))
        )
        rows = await self._fetch_rows(query)
        return {item.id or 0: ItemBody(item, f"{item.summary}\n{text or ''}".strip()) for item, text in rows}
