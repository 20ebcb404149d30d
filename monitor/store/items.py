"""The archive: what was saved."""

import datetime as dt
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Date, Select, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.sql.dml import ReturningInsert
from sqlmodel import SQLModel, col

from monitor.domain.tables import Item, ItemText, KnownUrl, Source
from monitor.domain.urls import url_key
from monitor.domain.words import ItemType, SummaryBy
from monitor.errors import UsageError
from monitor.store.indexing import SEARCHED, index
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, batches, dialect_of, insert_for, insert_or, storable


class ItemFilter(BaseModel):
    """Which items are meant; what is empty or None does not narrow.

    `sources` are names, `tags` those of the sources, of which one is enough. Of the `keywords` one has to stand in the
    title, the summary or the text. `since` and `until` are days, both
    included, of publication, or of first sight for an item whose date is unknown; `first_seen_since` (included) and
    `first_seen_until` (not included) are instants.
    """

    sources: Sequence[str] = ()
    tags: Sequence[str] = ()
    types: Sequence[ItemType] = ()
    keywords: Sequence[str] = ()
    ids: Sequence[int] | None = None
    since: dt.date | None = None
    until: dt.date | None = None
    first_seen_since: dt.datetime | None = None
    first_seen_until: dt.datetime | None = None
    run_id: str | None = None


@patient
class Items:
    """The items, each once for its source."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def save(self, item: Item) -> tuple[Item, bool]:
        """Keep an item; the item as it is stored, and whether it is new."""
        return (await self.save_all([item]))[0]

    async def save_all(self, items: Sequence[Item]) -> list[tuple[Item, bool]]:
        """Keep items, all or none, and mark their urls as such; each as it is stored, and whether it is new.

        Where the source has an item of the same url already, that one stays as it is and is handed back. One that
        brings a number keeps it.
        """
        if not items:
            return []
        async with self._sessions.writing() as session:
            return [await _save(session, item) for item in items]

    async def text(self, item_id: int) -> str | None:
        """The text of an item's page; None where it was not kept."""
        async with self._sessions.reading() as session:
            return await session.scalar(select(col(ItemText.text)).where(col(ItemText.item_id) == item_id))

    async def texts(self, item_ids: Sequence[int]) -> dict[int, str]:
        """The texts of items' pages by their numbers, as far as they are kept."""
        texts: dict[int, str] = {}
        async with self._sessions.reading() as session:
            for some in batches(item_ids):
                rows = await session.scalars(select(ItemText).where(col(ItemText.item_id).in_(some)))
                texts.update({row.item_id: row.text for row in rows})
        return texts

    async def update(self, item_id: int, *, text: str | None = None, **changes: Any) -> None:
        """Change fields of an item, and with them the text of its page that is kept; `UsageError` where it is gone."""
        async with self._sessions.writing() as session:
            item = await session.get(Item, item_id)
            if item is None:
                raise UsageError(f"There is no item {item_id}: `monitor items list` shows the latest.")
            unknown = [name for name in changes if name not in Item.model_fields or name == "id"]
            if unknown:
                raise TypeError(f"an item has no field {unknown[0]!r} that can be changed")
            for name, value in changes.items():
                setattr(item, name, _storable(value))
            if text is not None:
                row = {"item_id": item_id, "text": storable(text)}
                await insert_or(session, ItemText, [row], key=["item_id"], update=["text"])
            if text is not None or SEARCHED & changes.keys():
                await index(session, item, text=text)

    async def get(self, item_id: int) -> Item | None:
        """The item of that number."""
        async with self._sessions.reading() as session:
            return await session.get(Item, item_id)

    async def for_run(self, run_id: str) -> list[Item]:
        """The items that a run saved, in order of rank; those without one last, newest publication first."""
        order = (col(Item.rank).asc().nulls_last(), col(Item.date).desc().nulls_last(), col(Item.id))
        return await self._all(select(Item).where(col(Item.run_id) == run_id).order_by(*order))

    async def unsummarised(self, run_id: str) -> list[Item]:
        """The items of a run that no model has summarised yet, in the order in which they were saved."""
        mine = (col(Item.run_id) == run_id, col(Item.summary_by) != SummaryBy.MODEL)
        return await self._all(select(Item).where(*mine).order_by(col(Item.id)))

    async def set_ranks(self, ranks: Mapping[int, tuple[int, int]]) -> None:
        """Give items their rank and tier, all at once; the keys are the items' numbers."""
        async with self._sessions.writing() as session:
            for item_id, (rank, tier) in sorted(ranks.items()):
                await session.execute(update(Item).where(col(Item.id) == item_id).values(rank=rank, tier=tier))

    async def _all(self, query: Select[Item]) -> list[Item]:
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def list(self, wanted: ItemFilter, limit: int | None = 50) -> list[Item]:
        """The items that are meant, newest first: by publication, or by first sight where that is unknown."""
        async with self._sessions.reading() as session:
            query = select(Item).where(*await conditions_of(session, wanted))
            return list((await session.scalars(query.order_by(*newest_first()).limit(limit))).all())


async def _save(session: AsyncSession, item: Item) -> tuple[Item, bool]:
    numberless = {"id"} if item.id is None else set()
    values = {name: _storable(value) for name, value in item.model_dump(exclude=numberless).items()}
    values["url_key"] = item.url_key or url_key(item.url)
    new_id = await session.scalar(_new_item(dialect_of(session)), values)
    if new_id is None:
        same = (col(Item.source_id) == item.source_id, col(Item.url_key) == values["url_key"])
        return (await session.scalars(select(Item).where(*same))).one(), False
    if item.source_id is not None:
        known = {
            "source_id": item.source_id,
            "url_key": values["url_key"],
            "first_seen": item.first_seen,
            "is_item": True,
            "date": item.date,
            "date_source": item.date_source,
        }
        await insert_or(session, KnownUrl, [known], key=["source_id", "url_key"], update=["is_item"])
    kept = Item(**values | {"id": new_id})
    await index(session, kept, text="")
    return kept, True


@cache
def _new_item(dialect: str) -> ReturningInsert[tuple[int]]:
    table = SQLModel.metadata.tables["item"]
    new = insert_for(dialect, table).on_conflict_do_nothing(index_elements=["source_id", "url_key"])
    return new.returning(table.c.id)


def _holds(word: str) -> ColumnElement[bool]:
    """Whether the word stands in an item's title, summary or text, in either case of its letters."""
    texts = select(col(ItemText.item_id)).where(col(ItemText.text).icontains(word, autoescape=True))
    places = (col(Item.title), col(Item.summary))
    return or_(*(place.icontains(word, autoescape=True) for place in places), col(Item.id).in_(texts))


def _day() -> ColumnElement[dt.date]:
    return func.coalesce(col(Item.date), func.date(col(Item.first_seen)), type_=Date())


def newest_first() -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """The order of items by publication, or by first sight where that is unknown."""
    return _day().desc(), col(Item.id).desc()


async def conditions_of(session: AsyncSession, wanted: ItemFilter) -> list[ColumnElement[bool]]:
    """The filter as conditions of a query over items."""
    conditions: list[ColumnElement[bool]] = []
    if wanted.sources:
        conditions.append(col(Item.source).in_(wanted.sources))
    if wanted.tags:
        sources = await session.execute(select(col(Source.id), col(Source.tags)))
        tagged = [source_id for source_id, tags in sources if set(tags) & set(wanted.tags)]
        conditions.append(col(Item.source_id).in_(tagged))
    if wanted.types:
        conditions.append(col(Item.type).in_(wanted.types))
    if keywords := [word for given in wanted.keywords if (word := storable(given).strip())]:
        conditions.append(or_(*map(_holds, keywords)))
    if wanted.ids is not None:
        conditions.append(col(Item.id).in_(wanted.ids))
    if wanted.since is not None:
        conditions.append(_day() >= wanted.since)
    if wanted.until is not None:
        conditions.append(_day() <= wanted.until)
    if wanted.first_seen_since is not None:
        conditions.append(col(Item.first_seen) >= wanted.first_seen_since)
    if wanted.first_seen_until is not None:
        conditions.append(col(Item.first_seen) < wanted.first_seen_until)
    if wanted.run_id is not None:
        conditions.append(col(Item.run_id) == wanted.run_id)
    return conditions


def _storable(value: Any) -> Any:
    # Words of a vocabulary are strings too, but must stay members: their column knows how to write them.
    return storable(value) if type(value) is str else value
