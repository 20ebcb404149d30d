"""What is known of a source's sections and urls from earlier runs."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, exists, func, or_, select
from sqlmodel import SQLModel, col

from monitor.db.reading import KnownCandidate, SectionPlan
from monitor.db.sessions import Queries, SessionFactory, sanitize_text, split_batches, upsert_rows
from monitor.db.tables.collection import Item, KnownUrl, OverLimit, Run, RunSection, Source, SourceSection
from monitor.db.tables.delivery import Alarm
from monitor.db.tables.evidence import EvidenceRecord
from monitor.errors import RecordLost
from monitor.page import Candidate
from monitor.urls import url_key


class SectionStore(Queries):
    """The memory of a source between its runs. Urls are compared by their keys, so that spellings do not matter."""

    async def load_section(self, source_id: int, url: str) -> tuple[SourceSection | None, list[Candidate]]:
        """What is remembered of the section at `url`, None where it was never read, and what there was no room for.

        That stands in the order of the page, without what is an item by now.
        """
        memory = select(SourceSection).where(
            col(SourceSection.source_id) == source_id, col(SourceSection.url_key) == url_key(url)
        )
        is_item = exists().where(col(Item.source_id) == OverLimit.source_id, col(Item.url_key) == OverLimit.url_key)
        carried = (
            select(OverLimit)
            .where(col(OverLimit.source_id) == source_id, col(OverLimit.section_key) == url_key(url), ~is_item)
            .order_by(col(OverLimit.position), col(OverLimit.url_key))
        )
        async with self._sessions.begin_read() as session:
            section, rows = await session.scalar(memory), (await session.scalars(carried)).all()
        return section, [Candidate.model_validate(row.candidate) for row in rows]

    async def mark_started(self, source_id: int, plan: SectionPlan) -> None:
        """Remember that the section's reading has begun: until it is kept, what is known of it need not be all.

        Without this, a run that was killed between two list pages would leave items behind that make the first page
        look known to the end, and what stands on the second would never be read.
        """
        begun = {
            "source_id": source_id,
            "name": sanitize_text(plan.name),
            "url": plan.url,
            "url_key": url_key(plan.url),
            "is_unfinished": True,
            "head": [],
            "arrivals": [],
        }
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, SourceSection, [begun], key=["source_id", "url_key"], update=["is_unfinished"])

    async def list_for_source(self, source_id: int) -> list[SourceSection]:
        """All sections of a source that were ever read, in the order in which they were first read."""
        query = select(SourceSection).where(col(SourceSection.source_id) == source_id).order_by(col(SourceSection.id))
        return await self._fetch_all(query)

    async def load_for_sources(self, source_ids: Sequence[int]) -> dict[int, list[SourceSection]]:
        """The sections of many sources, each in the order in which they were first read."""
        found: dict[int, list[SourceSection]] = {}
        async with self._sessions.begin_read() as session:
            for some in split_batches(source_ids):
                mine = (
                    select(SourceSection).where(col(SourceSection.source_id).in_(some)).order_by(col(SourceSection.id))
                )
                for section in await session.scalars(mine):
                    found.setdefault(section.source_id, []).append(section)
        return found

    async def load_earlier_readings(self, source_id: int, run_id: str, *, limit: int) -> dict[str, list[RunSection]]:
        """How earlier runs of the source read its sections, by the sections' urls, newest first, `limit` of each."""
        of_run = select(col(Run.planned_at)).where(col(Run.id) == run_id).scalar_subquery()
        urls = select(col(RunSection.url)).where(col(RunSection.run_id) == run_id)
        age = func.row_number().over(partition_by=col(RunSection.url), order_by=col(Run.planned_at).desc())
        earlier = (
            select(col(RunSection.id), age.label("age"))
            .join(Run, col(Run.id) == col(RunSection.run_id))
            .where(
                col(Run.source_id) == source_id,
                col(Run.planned_at) < of_run,
                col(RunSection.url).in_(urls),
                col(RunSection.ended).is_not(None),
            )
            .subquery()
        )
        query = select(RunSection).join(earlier, earlier.c.id == col(RunSection.id)).where(earlier.c.age <= limit)
        readings: dict[str, list[RunSection]] = {}
        async with self._sessions.begin_read() as session:
            for row in await session.scalars(query.order_by(earlier.c.age)):
                readings.setdefault(row.url, []).append(row)
        return readings

    async def find_known(self, source_id: int, urls: Iterable[str]) -> dict[str, KnownCandidate]:
        """Those of the urls that were seen before on the source, under their keys, with the item that one became."""
        found: dict[str, KnownCandidate] = {}
        of_this_source = (col(Item.source_id) == KnownUrl.source_id) & (col(Item.url_key) == KnownUrl.url_key)
        async with self._sessions.begin_read() as session:
            for batch in split_batches(dict.fromkeys(url_key(url) for url in urls)):
                query = (
                    select(
                        col(KnownUrl.url_key),
                        col(Item.run_id),
                        col(Item.section),
                        col(Item.id),
                        col(KnownUrl.date),
                        col(KnownUrl.date_source),
                    )
                    .outerjoin(Item, of_this_source)
                    .where(col(KnownUrl.source_id) == source_id, col(KnownUrl.url_key).in_(batch))
                )
                for key, run_id, section, item_id, date, date_source in await session.execute(query):
                    found[key] = KnownCandidate(
                        run_id=run_id, section=section, item_id=item_id, date=date, date_source=date_source
                    )
        return found

    async def list_recent_item_urls(self, source_id: int, limit: int) -> list[str]:
        """The urls of the source's latest items, those saved last first."""
        query = (
            select(col(Item.url))
            .where(col(Item.source_id) == source_id)
            .order_by(col(Item.first_seen).desc(), col(Item.id).desc())
            .limit(limit)
        )
        return await self._fetch_all(query)


_MEMORY_TABLES: tuple[tuple[type[SQLModel], tuple[str, ...]], ...] = (
    (SourceSection, ("source_id", "url_key")),
    (KnownUrl, ("source_id", "url_key")),
    (OverLimit, ("source_id", "url_key")),
    (Item, ("source_id", "url_key")),
)


class SourceMemory(BaseModel):
    """What is remembered of a source at one moment.

    Sections and what was over the limit change from run to run and are here as rows; urls and items are only ever
    added, so their numbers are enough to tell whether those of that moment are still there.
    """

    sections: list[dict[str, Any]]
    over_limit: list[dict[str, Any]]
    known_urls: int
    items: int


async def export_source_memory(source_id: int, origin: SessionFactory) -> SourceMemory:
    """What is remembered of a source now."""
    async with origin.begin_read() as session:
        rows: dict[type[SQLModel], list[dict[str, Any]]] = {}
        for table in (SourceSection, OverLimit):
            found = (await session.scalars(select(table).where(col(table.source_id) == source_id))).all()
            rows[table] = [row.model_dump(mode="json") for row in found]
        counts = [
            await session.scalar(select(func.count()).select_from(table).where(col(table.source_id) == source_id))
            for table in (KnownUrl, Item)
        ]
    return SourceMemory(
        sections=rows[SourceSection], over_limit=rows[OverLimit], known_urls=counts[0] or 0, items=counts[1] or 0
    )


async def import_source_memory(
    source: Source, memory: SourceMemory, run: Run, *, at: dt.datetime, origin: SessionFactory, target: SessionFactory
) -> None:
    """Put another database into the state in which a run found a source at `at`, with the run and its records.

    Alarms, which are judged after a run and over many, are taken over as they stand.
    `RecordLost` where what was known then can no longer be told from what came later.
    """
    await _write_rows(target, Source, [source.model_dump()], ("name",))
    await _write_rows(
        target, SourceSection, [SourceSection.model_validate(row).model_dump() for row in memory.sections], ("id",)
    )
    over_limit = [OverLimit.model_validate(row).model_dump() for row in memory.over_limit]
    await _write_rows(target, OverLimit, over_limit, ("source_id", "url_key"))
    known = await _load_older_rows(KnownUrl, source, origin, col(KnownUrl.first_seen) < at)
    items = await _load_older_rows(Item, source, origin, col(Item.first_seen) < at, col(Item.run_id) != run.id)
    if (len(known), len(items)) != (memory.known_urls, memory.items):
        raise RecordLost(
            "replay.memory_changed",
            source=source.name,
            run_id=run.id,
            urls=memory.known_urls,
            items=memory.items,
            found_urls=len(known),
            found_items=len(items),
        )
    await _write_rows(target, KnownUrl, known, ("source_id", "url_key"))
    await _write_rows(target, Item, items, ("source_id", "url_key"))
    carried = {row["candidate"].get("record") for row in memory.over_limit}
    async with origin.begin_read() as session:
        wanted = select(EvidenceRecord).where(
            or_(col(EvidenceRecord.run_id) == run.id, col(EvidenceRecord.id).in_(carried))
        )
        records = (await session.scalars(wanted)).all()
        others = {record.run_id for record in records} - {run.id}
        earlier = (await session.scalars(select(Run).where(col(Run.id).in_(others)))).all()
        alarms = (await session.scalars(select(Alarm).where(col(Alarm.source_id) == source.id))).all()
    await _write_rows(target, Run, [row.model_dump() for row in (run, *earlier)], ("id",))
    await _write_rows(target, EvidenceRecord, [record.model_dump() for record in records], ("id",))
    await _write_rows(target, Alarm, [alarm.model_dump() for alarm in alarms], ("id",))


async def _load_older_rows(
    table: type[SQLModel], source: Source, origin: SessionFactory, *which: ColumnElement[bool]
) -> Sequence[dict[str, Any]]:
    of_source = col(table.source_id) == source.id  # type: ignore[attr-defined]
    async with origin.begin_read() as session:
        return [row.model_dump() for row in await session.scalars(select(table).where(of_source, *which))]


async def copy_source(source: Source, origin: SessionFactory, target: SessionFactory) -> Source:
    """Copy a source with its sections, known urls and items; answers the copy, under the same number.

    A source that is not stored yet has nothing to remember, and is number 1 of the other database.
    """
    values = source.model_dump() | {"id": source.id or 1}
    await _write_rows(target, Source, [values], ("name",))
    if source.id is not None:
        for table, key in _MEMORY_TABLES:
            async with origin.begin_read() as session:
                column = col(table.source_id)  # type: ignore[attr-defined]
                rows = (await session.scalars(select(table).where(column == source.id))).all()
            await _write_rows(target, table, [row.model_dump() for row in rows], key)
    return Source.model_validate(values)


async def _write_rows(
    target: SessionFactory, table: type[SQLModel], rows: Iterable[Mapping[str, Any]], key: tuple[str, ...]
) -> None:
    async with target.begin_write() as session:
        await upsert_rows(session, table, rows, key=key)
