"""Doing again what another database holds: the numbers and instants that were given there are given again."""

from collections.abc import Iterable, Sequence

from sqlalchemy import delete, insert, select
from sqlmodel import SQLModel, col

from monitor.domain.tables import Fallback, Item, Unseen
from monitor.domain.urls import url_key
from monitor.store.items import Items
from monitor.store.sessions import Sessions

_UNHEARD_OF = 1_000_000_000
"""From here on count the items that the other database does not have: no number of its own is so high."""


class RepeatedItems(Items):
    """Items that get the number and the instant of first sight that they have in another database."""

    def __init__(self, sessions: Sessions, like: Iterable[Item]) -> None:
        super().__init__(sessions)
        self._like = {item.url_key: item for item in like}
        self._unheard_of = _UNHEARD_OF

    async def save_all(self, items: Sequence[Item]) -> list[tuple[Item, bool]]:
        """Keep items under their old numbers."""
        return await super().save_all([self._as_before(item) for item in items])

    def _as_before(self, item: Item) -> Item:
        known = self._like.get(item.url_key or url_key(item.url))
        if known is None:
            self._unheard_of += 1
        given = {"id": self._unheard_of} if known is None else {"id": known.id, "first_seen": known.first_seen}
        return Item(**item.model_dump() | given)


async def put_in_order(run_id: str, *, like: Sessions, target: Sessions) -> None:
    """Bring what a run wrote down from several tasks at once into the order that it has in another database.

    Those of its fallbacks and unseen places that the other one does not have come last.
    """
    for table in (Fallback, Unseen):
        query = select(table).where(col(table.run_id) == run_id).order_by(col(table.id))
        async with like.reading() as session:
            wanted = {_content(row): row for row in await session.scalars(query)}
        places = {content: place for place, content in enumerate(wanted)}
        async with target.writing() as session:
            rows = sorted(await session.scalars(query), key=lambda row: places.get(_content(row), len(places)))
            await session.execute(delete(table).where(col(table.run_id) == run_id))
            for row in rows:
                values = wanted.get(_content(row), row).model_dump(exclude={"id"})
                await session.execute(insert(table), [values])


def _content(row: SQLModel) -> str:
    return row.model_dump_json(exclude={"id", "at"})
