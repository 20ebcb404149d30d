"""The different words that stand in a column, of which there are few, however many rows there are."""

from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncSession


async def values_of(session: AsyncSession, column: ColumnElement[Any]) -> list[Any]:
    """The words of a column that an index begins with, in their order: one look into the index for each."""
    first = select(func.min(column).label("word")).cte("words", recursive=True)
    following = select(func.min(column)).where(column > first.c.word).scalar_subquery()
    words = first.union_all(select(following).where(first.c.word.is_not(None)))
    return list((await session.scalars(select(words.c.word).where(words.c.word.is_not(None)))).all())
