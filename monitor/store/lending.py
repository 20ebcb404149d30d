"""Lending what is known of a source to another database: for a trial that must leave no trace, and for a replay."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, func, or_, select
from sqlmodel import SQLModel, col

from monitor.domain.alarms import Alarm
from monitor.domain.evidence import Record
from monitor.domain.tables import Item, KnownUrl, OverLimit, Run, Section, Source
from monitor.errors import RecordLost
from monitor.store.sessions import Sessions, insert_or

_MEMORY: tuple[tuple[type[SQLModel], tuple[str, ...]], ...] = (
    (Section, ("source_id", "url_key")),
    (KnownUrl, ("source_id", "url_key")),
    (OverLimit, ("source_id", "url_key")),
    (Item, ("source_id", "url_key")),
)


class Memory(BaseModel):
    """What is remembered of a source at one moment.

    Sections and what was over the limit change from run to run and are here as rows; urls and items are only ever
    added, so their numbers are enough to tell whether those of that moment are still there.
    """

    sections: list[dict[str, Any]]
    over_limit: list[dict[str, Any]]
    known_urls: int
    items: int


async def memory_of(source_id: int, origin: Sessions) -> Memory:
    """What is remembered of a source now."""
    async with origin.reading() as session:
        rows: dict[type[SQLModel], list[dict[str, Any]]] = {}
        for table in (Section, OverLimit):
            found = (await session.scalars(select(table).where(col(table.source_id) == source_id))).all()
            rows[table] = [row.model_dump(mode="json") for row in found]
        counts = [
            await session.scalar(select(func.count()).select_from(table).where(col(table.source_id) == source_id))
            for table in (KnownUrl, Item)
        ]
    return Memory(sections=rows[Section], over_limit=rows[OverLimit], known_urls=counts[0] or 0, items=counts[1] or 0)


async def lend_again(
    source: Source, memory: Memory, run: Run, *, at: dt.datetime, origin: Sessions, target: Sessions
) -> None:
    """Put another database into the state in which a run found a source at `at`, with the run and its records.

    Alarms, which are judged after a run and over many, are taken over as they stand.
    `RecordLost` where what was known then can no longer be told from what came later.
    """
    await _write(target, Source, [source.model_dump()], ("name",))
    await _write(target, Section, [Section.model_validate(row).model_dump() for row in memory.sections], ("id",))
    over_limit = [OverLimit.model_validate(row).model_dump() for row in memory.over_limit]
    await _write(target, OverLimit, over_limit, ("source_id", "url_key"))
    known = await _older(KnownUrl, source, origin, col(KnownUrl.first_seen) < at)
    items = await _older(Item, source, origin, col(Item.first_seen) < at, col(Item.run_id) != run.id)
    if (len(known), len(items)) != (memory.known_urls, memory.items):
        raise RecordLost(
            f"What was known of {source.name} when the run {run.id} began can no longer be told: {memory.known_urls} "
            f"urls and {memory.items} items then, of which {len(known)} and {len(items)} are found."
        )
    await _write(target, KnownUrl, known, ("source_id", "url_key"))
    await _write(target, Item, items, ("source_id", "url_key"))
    carried = {row["candidate"].get("record") for row in memory.over_limit}
    async with origin.reading() as session:
        wanted = select(Record).where(or_(col(Record.run_id) == run.id, col(Record.id).in_(carried)))
        records = (await session.scalars(wanted)).all()
        others = {record.run_id for record in records} - {run.id}
        earlier = (await session.scalars(select(Run).where(col(Run.id).in_(others)))).all()
        alarms = (await session.scalars(select(Alarm).where(col(Alarm.source_id) == source.id))).all()
    await _write(target, Run, [one.model_dump() for one in (run, *earlier)], ("id",))
    await _write(target, Record, [record.model_dump() for record in records], ("id",))
    await _write(target, Alarm, [alarm.model_dump() for alarm in alarms], ("id",))


async def _older(
    table: type[SQLModel], source: Source, origin: Sessions, *which: ColumnElement[bool]
) -> Sequence[dict[str, Any]]:
    of_source = col(table.source_id) == source.id  # type: ignore[attr-defined]
    async with origin.reading() as session:
        return [row.model_dump() for row in await session.scalars(select(table).where(of_source, *which))]


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
