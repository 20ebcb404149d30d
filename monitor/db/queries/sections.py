"""What a run writes down of the sections that it reads, and what later runs remember of them."""

import datetime as dt
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Select, delete, exists, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from monitor.db.reading import KnownCandidate, LedgerEntry, SectionPlan, SectionReading, UnseenPlace
from monitor.db.sessions import (
    USE_MARK_INTERVAL,
    Queries,
    SessionFactory,
    build_insert,
    get_dialect,
    sanitize_text,
    sanitize_value,
    split_batches,
    upsert_rows,
)
from monitor.db.tables.collection import (
    CandidateRecord,
    Item,
    KnownUrl,
    OverLimit,
    Reading,
    Run,
    RunSection,
    SiteMemoryRecord,
    Source,
    SourceSection,
    Unseen,
)
from monitor.db.tables.delivery import Alarm
from monitor.db.tables.evidence import EvidenceRecord
from monitor.errors import RecordLost
from monitor.i18n.message import Message
from monitor.page import Candidate
from monitor.recipe import MAX_RECIPES, SectionRecipe
from monitor.site_memory import SeenPage, SiteMemory, SiteRepeats, remember_pages
from monitor.urls import url_key
from monitor.vocabulary import Disposition, SectionEnd

SECTION_ERROR = Message("candidate.section_error")
"""The reason of a candidate that was left because its section broke off: it counts as never seen."""

MAX_ARRIVAL_DAYS = 60
"""How many of the latest days on which something new came are remembered of a section."""

_RUNS_PER_READING = 2
"""So many of the last runs are looked through for each reading that is wanted."""

_INSERT_CANDIDATE = insert(SQLModel.metadata.tables["candidate"])
_CANDIDATE_FIELDS = {"url", "title", "date", "date_source"}
_READING_FIELDS = RunSection.model_fields.keys() & SectionReading.model_fields.keys()
_URL_KEY = ("source_id", "url_key")


class SectionStore(Queries):
    """The memory of a source between its runs. Urls are compared by their keys."""

    async def load_section(self, source_id: int, url: str) -> tuple[SourceSection | None, list[Candidate]]:
        """The section at `url`, None where it was never read, and its candidates over the limit that are no items."""
        mine = (col(SourceSection.source_id) == source_id, col(SourceSection.url_key) == url_key(url))
        is_item = exists().where(col(Item.source_id) == OverLimit.source_id, col(Item.url_key) == OverLimit.url_key)
        carried = (
            select(OverLimit)
            .where(col(OverLimit.source_id) == source_id, col(OverLimit.section_key) == url_key(url), ~is_item)
            .order_by(col(OverLimit.position), col(OverLimit.url_key))
        )
        async with self._sessions.begin_read() as session:
            section = await session.scalar(select(SourceSection).where(*mine))
            rows = (await session.scalars(carried)).all()
        return section, [Candidate.model_validate(row.candidate) for row in rows]

    async def mark_started(self, source_id: int, plan: SectionPlan) -> None:
        """Mark a section as unfinished while it is read.

        Otherwise, after a kill between two list pages, the first would look known and the second never be read.
        """
        row = _build_section_row(source_id, plan, is_unfinished=True) | {"head": [], "arrivals": []}
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, SourceSection, [row], key=_URL_KEY, update=["is_unfinished"])

    async def forget_list(self, source_id: int, url: str) -> None:
        """Forget what was seen of a section's list, for another one is its list from now on."""
        mine = (col(SourceSection.source_id) == source_id, col(SourceSection.url_key) == url_key(url))
        await self._execute(update(SourceSection).where(*mine).values(drifted_on=None, head=[], arrivals=[]))

    async def load_repeats(self, source_id: int) -> dict[str, SiteRepeats]:
        """What repeats on the pages of a source's hosts, without the hosts of which nothing is known to."""
        query = select(col(SiteMemoryRecord.host), col(SiteMemoryRecord.repeats))
        rows = await self._fetch_rows(query.where(col(SiteMemoryRecord.source_id) == source_id))
        found = {host: SiteRepeats.model_validate(repeats) for host, repeats in rows}
        return {host: repeats for host, repeats in sorted(found.items()) if repeats.shares}

    async def remember_pages(self, source_id: int, pages: Sequence[tuple[str, SeenPage]], day: dt.date) -> None:
        """Add pages, each with its host, to what is remembered of a source's hosts."""
        query = select(SiteMemoryRecord).where(col(SiteMemoryRecord.source_id) == source_id)
        async with self._sessions.begin_write() as session:
            known = (await session.scalars(query)).all()
            memories = {row.host: SiteMemory.model_validate(row.pages) for row in known}
            rows = [
                {
                    "source_id": source_id,
                    "host": host,
                    "pages": memories[host].model_dump(mode="json"),
                    "repeats": memories[host].find_repeats().model_dump(mode="json"),
                }
                for host in sorted(remember_pages(memories, pages, day))
            ]
            await upsert_rows(session, SiteMemoryRecord, rows, key=("source_id", "host"), update=["pages", "repeats"])

    async def list_for_source(self, source_id: int) -> list[SourceSection]:
        """All sections of a source, in the order in which they were first read."""
        query = select(SourceSection).where(col(SourceSection.source_id) == source_id).order_by(col(SourceSection.id))
        return await self._fetch_all(query)

    async def load_for_sources(self, source_ids: Sequence[int]) -> dict[int, list[SourceSection]]:
        """The sections of many sources, each in the order in which they were first read."""
        query = select(SourceSection).order_by(col(SourceSection.id))
        found: dict[int, list[SourceSection]] = {}
        for section in await self._fetch_in(query, col(SourceSection.source_id), source_ids):
            found.setdefault(section.source_id, []).append(section)
        return found

    async def load_earlier_readings(
        self, source_id: int, run_id: str, *, limit: int, begins: Mapping[str, dt.datetime]
    ) -> dict[str, list[RunSection]]:
        """How earlier runs of the source read its sections, by the sections' urls, newest first, `limit` of each.

        A section that was read by few of the last runs has fewer. Of one whose key is in `begins`, what was planned
        before that does not count.
        """
        of_run = select(col(Run.planned_at)).where(col(Run.id) == run_id).scalar_subquery()
        recent = (
            select(col(Run.id), col(Run.planned_at))
            .where(col(Run.source_id) == source_id, col(Run.planned_at) < of_run)
            .order_by(col(Run.planned_at).desc(), col(Run.id).desc())
            .limit(_RUNS_PER_READING * limit)
            .subquery()
        )
        urls = select(col(RunSection.url)).where(col(RunSection.run_id) == run_id)
        age = func.row_number().over(partition_by=col(RunSection.url), order_by=recent.c.planned_at.desc())
        earlier = (
            select(col(RunSection.id), age.label("age"))
            .join(recent, recent.c.id == col(RunSection.run_id))
            .where(col(RunSection.url).in_(urls), col(RunSection.ended).is_not(None))
            .subquery()
        )
        query = (
            select(RunSection, col(Run.planned_at))
            .join(earlier, earlier.c.id == col(RunSection.id))
            .join(Run, col(Run.id) == col(RunSection.run_id))
            .where(earlier.c.age <= limit)
        )
        readings: dict[str, list[RunSection]] = {}
        async with self._sessions.begin_read() as session:
            for row, planned_at in await session.execute(query.order_by(earlier.c.age)):
                begin = begins.get(url_key(row.url))
                if begin is None or planned_at >= begin:
                    readings.setdefault(row.url, []).append(row)
        return readings

    async def find_known(self, source_id: int, urls: Iterable[str]) -> dict[str, KnownCandidate]:
        """Those of the urls that were seen before on the source, by their keys."""
        found: dict[str, KnownCandidate] = {}
        columns: list[Any] = [col(KnownUrl.url_key), col(KnownUrl.date), col(KnownUrl.date_source)]
        columns += [col(Item.run_id), col(Item.section), col(Item.id).label("item_id")]
        of_this_source = (col(Item.source_id) == KnownUrl.source_id) & (col(Item.url_key) == KnownUrl.url_key)
        async with self._sessions.begin_read() as session:
            for batch in split_batches(dict.fromkeys(url_key(url) for url in urls)):
                query = (
                    select(*columns)
                    .outerjoin_from(KnownUrl, Item, of_this_source)
                    .where(col(KnownUrl.source_id) == source_id, col(KnownUrl.url_key).in_(batch))
                )
                for row in (await session.execute(query)).mappings():
                    found[row["url_key"]] = KnownCandidate.model_validate(dict(row))
        return found

    async def list_recent_item_urls(self, source_id: int, limit: int) -> list[str]:
        query = (
            select(col(Item.url))
            .where(col(Item.source_id) == source_id)
            .order_by(col(Item.first_seen).desc(), col(Item.id).desc())
            .limit(limit)
        )
        return await self._fetch_all(query)


async def save_plan(session: AsyncSession, run_id: str, plans: Sequence[SectionPlan]) -> None:
    """Replace the run's sections by `plans`; one with the same ordinal and url keeps its reading."""
    rows = (await session.scalars(select(RunSection).where(col(RunSection.run_id) == run_id))).all()
    old = {(row.ordinal, row.url): row for row in rows}
    for wanted in plans:
        row = old.pop((wanted.ordinal, wanted.url), None)
        if row is None:
            session.add(_build_run_section(run_id, wanted))
        else:
            row.name, row.found_by = sanitize_text(wanted.name), wanted.found_by
    for row in old.values():
        await session.delete(row)


async def save_records(
    session: AsyncSession, run_id: str, source_id: int, reading: SectionReading, *, at: dt.datetime
) -> None:
    """Write the section's row of the run, its candidates and its unread places, in place of older ones."""
    mine = (col(RunSection.run_id) == run_id, col(RunSection.ordinal) == reading.plan.ordinal)
    row = await session.scalar(select(RunSection).where(*mine))
    if row is None:
        row = _build_run_section(run_id, reading.plan)
        session.add(row)
    was_kept = row.ended is not None
    row.candidates = len(reading.entries)
    for name in _READING_FIELDS:
        setattr(row, name, getattr(reading, name))
    if was_kept:
        await _delete_unseen(session, run_id, reading)
    row.reading_id = await _save_ledger(session, source_id, reading.entries, at=at)
    await add_unseen(session, run_id, reading.unseen)


async def _save_ledger(
    session: AsyncSession, source_id: int, entries: Sequence[LedgerEntry], *, at: dt.datetime
) -> int | None:
    """Store candidates unless a reading of the source holds the same; return its id, None where there are none."""
    if not entries:
        return None
    rows = [_build_candidate_row(entry) for entry in entries]
    values = {"source_id": source_id, "hash": _hash_rows(rows), "rows": len(rows), "last_used_at": at}
    mine = (col(Reading.source_id) == source_id, col(Reading.hash) == values["hash"])
    known = await session.scalar(select(Reading).where(*mine))
    if known is not None and at - known.last_used_at < USE_MARK_INTERVAL:
        return known.id
    counts = Counter(str(entry.disposition) for entry in entries)
    upsert = build_insert(get_dialect(session), Reading).values(values | {"counts": counts})
    # Also where it is known: a pruning that means to delete it waits for this row, and then finds it in use.
    marked = upsert.on_conflict_do_update(index_elements=["source_id", "hash"], set_={"last_used_at": at})
    reading_id = (await session.scalars(marked.returning(col(Reading.id)))).one()
    is_stored = select(exists().where(col(CandidateRecord.reading_id) == reading_id))
    if not await session.scalar(is_stored):
        for batch in split_batches(rows):
            await session.execute(_INSERT_CANDIDATE, [row | {"reading_id": reading_id} for row in batch])
    return reading_id


def _hash_rows(rows: Sequence[Mapping[str, Any]]) -> str:
    """The hash of candidates in their order. Migration 0020 computes the same."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True, default=_dump_value).encode()).hexdigest()


def _dump_value(value: Message | dt.date) -> Any:
    return value.to_json() if isinstance(value, Message) else value.isoformat()


async def add_unseen(session: AsyncSession, run_id: str, places: Sequence[UnseenPlace]) -> None:
    rows = await session.scalars(select(Unseen).where(col(Unseen.run_id) == run_id))
    there = [(row.section, row.url, row.reason) for row in rows]
    for place in places:
        section, url = sanitize_text(place.section), sanitize_text(place.url)
        if (section, url, place.reason) not in there:
            there.append((section, url, place.reason))
            session.add(Unseen(run_id=run_id, section=section, url=url, reason=place.reason))


async def save_memory(
    session: AsyncSession, source_id: int, reading: SectionReading, *, on: dt.date, at: dt.datetime
) -> None:
    """Remember the section and its urls for later runs.

    A url is known from then on, unless its section broke off before anything was decided about it.
    """
    seen = {
        url_key(entry.candidate.url): entry
        for entry in reading.entries
        if not (entry.disposition is Disposition.LEFT and entry.reason == SECTION_ERROR)
    }
    new = {"source_id": source_id, "first_seen": at, "is_item": False}
    rows = [
        new | {"url_key": key} | entry.candidate.model_dump(include={"date", "date_source"})
        for key, entry in seen.items()
    ]
    await upsert_rows(session, KnownUrl, rows, key=_URL_KEY)
    await _save_over_limit(session, source_id, reading, set(seen))
    await _save_section(session, source_id, reading, on=on, at=at)


async def _save_over_limit(session: AsyncSession, source_id: int, reading: SectionReading, seen: set[str]) -> None:
    section_key = url_key(reading.plan.url)
    of_section = (col(OverLimit.source_id) == source_id, col(OverLimit.section_key) == section_key)
    of_item = (col(Item.source_id) == OverLimit.source_id) & (col(Item.url_key) == OverLimit.url_key)
    old = select(col(OverLimit.url_key), col(Item.id)).outerjoin(Item, of_item).where(*of_section)
    settled = [key for key, item_id in await session.execute(old) if key in seen or item_id is not None]
    for batch in split_batches(settled):
        await session.execute(delete(OverLimit).where(*of_section, col(OverLimit.url_key).in_(batch)))
    rows = {
        url_key(entry.candidate.url): {
            "source_id": source_id,
            "url_key": url_key(entry.candidate.url),
            "section_key": section_key,
            "position": entry.position,
            "candidate": sanitize_value(entry.candidate.model_dump(mode="json")),
        }
        for entry in reading.entries
        if entry.disposition is Disposition.OVER_LIMIT
    }
    await upsert_rows(session, OverLimit, rows.values(), key=_URL_KEY, update=["section_key", "position", "candidate"])


async def _save_section(
    session: AsyncSession, source_id: int, reading: SectionReading, *, on: dt.date, at: dt.datetime
) -> None:
    row = _build_section_row(source_id, reading.plan, is_unfinished=False)
    await upsert_rows(session, SourceSection, [row], key=_URL_KEY)
    mine = (col(SourceSection.source_id) == source_id, col(SourceSection.url_key) == row["url_key"])
    section = (await session.scalars(select(SourceSection).where(*mine))).one()
    section.last_read_at = at
    section.is_unfinished = not reading.ended.is_complete
    if reading.is_drifted:
        section.drifted_on = section.drifted_on or on
    elif reading.ended is not SectionEnd.ERROR:  # a page that was not seen says nothing of its recipe
        section.drifted_on = None
    if reading.recipe is not None:
        await _save_recipe(session, source_id, reading.recipe)
    if reading.ended is SectionEnd.ERROR:
        return
    section.name, section.url = row["name"], row["url"]
    if reading.ended.is_complete:
        section.last_complete_on = on
    section.tail_date = min(filter(None, (section.tail_date, reading.tail_date)), default=None)
    if reading.listed is not None:
        section.head = reading.head
        section.arrivals = sorted({*section.arrivals, *_list_arrival_days(reading, on)})[-MAX_ARRIVAL_DAYS:]


async def _save_recipe(session: AsyncSession, source_id: int, recipe: SectionRecipe) -> None:
    source = await session.get(Source, source_id)
    if source is not None:
        others = [known for known in source.recipes if url_key(known["url"]) != url_key(recipe.url)]
        source.recipes = [*others, recipe.model_dump(mode="json")][-MAX_RECIPES:]


def _build_section_row(source_id: int, plan: SectionPlan, *, is_unfinished: bool) -> dict[str, Any]:
    return {
        "source_id": source_id,
        "name": sanitize_text(plan.name),
        "url": plan.url,
        "url_key": url_key(plan.url),
        "is_unfinished": is_unfinished,
    }


def _list_arrival_days(reading: SectionReading, on: dt.date) -> set[str]:
    """The days on which something came: of publication, or of first sight for an item whose date is unknown."""
    dated = {entry.candidate.date for entry in reading.entries if entry.candidate.date and entry.candidate.date <= on}
    is_undated_new = any(e.candidate.date is None and e.disposition is Disposition.SAVED for e in reading.entries)
    return {day.isoformat() for day in [*dated, *([on] if is_undated_new else [])]}


async def _delete_unseen(session: AsyncSession, run_id: str, reading: SectionReading) -> None:
    mine = [col(Unseen.run_id) == run_id, col(Unseen.section) == sanitize_text(reading.plan.name)]
    namesakes = select(func.count()).where(
        col(RunSection.run_id) == run_id,
        col(RunSection.name) == sanitize_text(reading.plan.name),
        col(RunSection.ordinal) != reading.plan.ordinal,
    )
    if await session.scalar(namesakes):
        # Unread places have the section's name only: where two sections share it, the section's own page alone is safe.
        mine.append(col(Unseen.url) == reading.plan.url)
    await session.execute(delete(Unseen).where(*mine))


def _build_run_section(run_id: str, wanted: SectionPlan) -> RunSection:
    return RunSection(
        run_id=run_id, ordinal=wanted.ordinal, name=sanitize_text(wanted.name), url=wanted.url, found_by=wanted.found_by
    )


def _build_candidate_row(entry: LedgerEntry) -> dict[str, Any]:
    values = entry.model_dump(exclude={"candidate"}) | entry.candidate.model_dump(include=_CANDIDATE_FIELDS)
    return sanitize_value(values)  # type: ignore[no-any-return]


class SourceMemory(BaseModel):
    """What is remembered of a source at one moment.

    Sections and candidates over the limit change from run to run and are here as rows; urls and items are only ever
    added, so their numbers tell whether those of that moment are still there.
    """

    sections: list[dict[str, Any]]
    over_limit: list[dict[str, Any]]
    known_urls: int
    items: int


async def export_source_memory(source_id: int, origin: SessionFactory) -> SourceMemory:
    async with origin.begin_read() as session:
        sections, over_limit = [
            [row.model_dump(mode="json") for row in await session.scalars(_select_of_source(table, source_id))]
            for table in (SourceSection, OverLimit)
        ]
        known_urls, items = [
            await session.scalar(_select_of_source(table, source_id).with_only_columns(func.count())) or 0
            for table in (KnownUrl, Item)
        ]
    return SourceMemory(sections=sections, over_limit=over_limit, known_urls=known_urls, items=items)


async def import_source_memory(
    source: Source, memory: SourceMemory, run: Run, *, at: dt.datetime, origin: SessionFactory, target: SessionFactory
) -> None:
    """Put another database into the state in which a run found a source at `at`, with the run and its records.

    Alarms, which are judged after a run and over many, are copied as they are now. `RecordLost` where what was known
    then can no longer be told from what came later.
    """
    await _write_rows(target, Source, [source.model_dump()], ["name"])
    sections = [SourceSection.model_validate(row).model_dump() for row in memory.sections]
    await _write_rows(target, SourceSection, sections, ["id"])
    over_limit = [OverLimit.model_validate(row).model_dump() for row in memory.over_limit]
    await _write_rows(target, OverLimit, over_limit)
    known = await _load_rows(KnownUrl, source, origin, col(KnownUrl.first_seen) < at)
    items = await _load_rows(Item, source, origin, col(Item.first_seen) < at, col(Item.run_id) != run.id)
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
    await _write_rows(target, KnownUrl, known)
    await _write_rows(target, Item, items)
    carried = {row["candidate"].get("record") for row in memory.over_limit}
    async with origin.begin_read() as session:
        is_needed = or_(col(EvidenceRecord.run_id) == run.id, col(EvidenceRecord.id).in_(carried))
        records = (await session.scalars(select(EvidenceRecord).where(is_needed))).all()
        others = {record.run_id for record in records} - {run.id}
        earlier = (await session.scalars(select(Run).where(col(Run.id).in_(others)))).all()
    await _write_rows(target, Run, [row.model_dump() for row in (run, *earlier)], ["id"])
    await _write_rows(target, EvidenceRecord, [record.model_dump() for record in records], ["id"])
    await _write_rows(target, Alarm, await _load_rows(Alarm, source, origin), ["id"])


async def copy_source(source: Source, *, origin: SessionFactory, target: SessionFactory) -> Source:
    """Copy a source with its sections, known urls and items, for a trial; returns the copy, under the same id.

    A source that is not stored yet gets the id 1.
    """
    values = source.model_dump() | {"id": source.id or 1}
    await _write_rows(target, Source, [values], ["name"])
    if source.id is not None:
        for table in (SourceSection, KnownUrl, OverLimit, Item):
            await _write_rows(target, table, await _load_rows(table, source, origin))
    return Source.model_validate(values)


async def _load_rows(
    table: type[SQLModel], source: Source, origin: SessionFactory, *conditions: ColumnElement[bool]
) -> list[dict[str, Any]]:
    query = _select_of_source(table, source.id).where(*conditions)
    async with origin.begin_read() as session:
        return [row.model_dump() for row in await session.scalars(query)]


def _select_of_source(table: type[SQLModel], source_id: int | None) -> Select[SQLModel]:
    return select(table).where(SQLModel.metadata.tables[str(table.__tablename__)].c.source_id == source_id)


async def _write_rows(
    target: SessionFactory, table: type[SQLModel], rows: Iterable[Mapping[str, Any]], key: Sequence[str] = _URL_KEY
) -> None:
    async with target.begin_write() as session:
        await upsert_rows(session, table, rows, key=key)
