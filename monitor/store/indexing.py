"""The full-text index, kept in step with the items: every transaction that changes what is searched calls `index`.

The rows stand in a plain table, of which the database makes its own index; so a copy, a backup or a cascade brings
the index along by itself. Beside its terms, each item has marks of its day and its source there: they let the index
itself find the newest items of a word that a great many have, and those of one source.
"""

import datetime as dt
from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.domain.fulltext import ItemTerms
from monitor.domain.tables import Item, ItemText
from monitor.domain.terms import terms_of
from monitor.store.sessions import batches, insert_or, storable

INDEX = "item_terms_index"
"""What the index is called in either database; the tables that SQLite makes for it begin with this."""

IN_TITLE = "t:"
"""What the terms of a title begin with where they are told from those of the rest."""

INDEXED = frozenset({"title", "summary", "date"})
"""The fields of an item that the index is made from, beside the text of its page."""


def terms_line(title: str, summary: str, text: str) -> str:
    """All terms of an item in one line, parted by spaces, in an order that does not change from time to time."""
    in_title = terms_of(title)
    terms = in_title | terms_of(summary) | terms_of(text)
    return " ".join(sorted(terms | {IN_TITLE + term for term in in_title}))


def day_mark(day: dt.date) -> str:
    """What the items of a day have in the index, as if it were a term."""
    return f"d:{day:%Y%m%d}"


def source_mark(source_id: int) -> str:
    """What the items of a source have in the index, as if it were a term."""
    return f"s:{source_id}"


def marked(line: str, day: dt.date, source_id: int | None) -> str:
    """A line of terms with the marks of its item."""
    return " ".join([line, day_mark(day), *([] if source_id is None else [source_mark(source_id)])])


async def index(session: AsyncSession, item: Item, *, text: str | None = None) -> None:
    """Index an item as it stands in this transaction; `text` is that of its page where the caller has it at hand."""
    if text is None:
        text = await session.scalar(select(col(ItemText.text)).where(col(ItemText.item_id) == item.id))
    line = terms_line(item.title, item.summary, storable(text or ""))
    row = {"item_id": item.id, "terms": marked(line, item.day, item.source_id)}
    await insert_or(session, ItemTerms, [row], key=["item_id"], update=["terms"])


async def index_without_texts(session: AsyncSession, item_ids: Iterable[int]) -> None:
    """Index items anew whose texts are gone."""
    for some in batches(item_ids):
        items = await session.scalars(select(Item).where(col(Item.id).in_(some)))
        rows = [
            {"item_id": item.id, "terms": marked(terms_line(item.title, item.summary, ""), item.day, item.source_id)}
            for item in items
        ]
        await insert_or(session, ItemTerms, rows, key=["item_id"], update=["terms"])
