"""Lending what is known of a source to another database, for a trial that must leave no trace."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import select
from sqlmodel import SQLModel, col

from monitor.domain.tables import Item, KnownUrl, OverLimit, Section, Source
from monitor.store.sessions import Sessions, insert_or

_MEMORY: tuple[tuple[type[SQLModel], tuple[str, ...]], ...] = (
    (Section, ("source_id", "url_key")),
    (KnownUrl, ("source_id", "url_key")),
    (OverLimit, ("source_id", "url_key")),
    (Item, ("source_id", "url_key")),
)


async def lend(source: Source, origin: Sessions, target: Sessions) -> Source:
    """Copy a source with its sections, known urls and items; answers the copy, under the same number.

    A source that is not stored yet has nothing to remember, and is number 1 of the other database.
    """
    values = source.model_dump() | {"id": source.id or 1}
    await _write(target, Source, [values], ("name",))
    if source.id is not None:
        for table, key in _MEMORY:
            async with origin.reading() as session:
                column = col(table.source_id)  # type: ignore[attr-defined]
                rows = (await session.scalars(select(table).where(column == source.id))).all()
            await _write(target, table, [row.model_dump() for row in rows], key)
    return Source.model_validate(values)


async def _write(
    target: Sessions, table: type[SQLModel], rows: Iterable[Mapping[str, Any]], key: tuple[str, ...]
) -> None:
    async with target.writing() as session:
        await insert_or(session, table, rows, key=key)
