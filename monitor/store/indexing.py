"""The full-text index, kept in step with the items: every transaction that changes what is searched calls `index`.

The rows stand in a plain table, of which the database makes its own index; so a copy, a backup or a cascade brings
the index along by itself.
"""

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

SEARCHED = frozenset({"title", "summary"})
"""The fields of an item that are searched, beside the text of its page."""


def terms_line(title: str, summary: str, text: str) -> str:
    """All terms of an item in one line, parted by spaces, in an order that does not change from time to time."""
    in_title = terms_of(title)
    terms = in_title | terms_of(summary) | terms_of(text)
    return " ".join(sorted(terms | {IN_TITLE + term for term in in_title}))


async def index(session: AsyncSession, item: Item, *, text: str | None = None) -> None:
    """Index an item as it stands in this transaction; `text` is that of its page where the caller has it at hand."""
    if text is None:
        text = await session.scalar(select(col(ItemText.text)).where(col(ItemText.item_id) == item.id))
    row = {"item_id": item.id, "terms": terms_line(item.title, item.summary, storable(text or ""))}
    await insert_or(session, ItemTerms, [row], key=["item_id"], update=["terms"])


async def index_without_texts(session: AsyncSession, item_ids: Iterable[int]) -> None:
    """Index items anew whose texts are gone."""
    for some in batches(item_ids):
        items = await session.execute(
            select(col(Item.id), col(Item.title), col(Item.summary)).where(col(Item.id).in_(some))
        )
        rows = [{"item_id": number, "terms": terms_line(title, summary, "")} for number, title, summary in items]
        await insert_or(session, ItemTerms, rows, key=["item_id"], update=["terms"])
