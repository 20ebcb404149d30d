"""What is written down of a section that was read: for the run, its ledger; for the runs to come, its memory.

The functions work inside a transaction of their caller, so that both are kept or neither.
"""

import datetime as dt
import json
from collections.abc import Sequence

from sqlalchemy import delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import SQLModel, col

from monitor.db.reading import LedgerEntry, SectionPlan, SectionReading, UnseenPlace
from monitor.db.sessions import sanitize_text, split_batches, upsert_rows
from monitor.db.tables.collection import CandidateRecord, Item, KnownUrl, OverLimit, RunSection, SourceSection, Unseen
from monitor.i18n.message import Message
from monitor.urls import url_key
from monitor.vocabulary import Disposition, SectionEnd

SECTION_ERROR = Message("candidate.section_error")
"""The reason of a candidate that was left because its section broke off: it counts as never seen."""

_INSERT_CANDIDATE = insert(SQLModel.metadata.tables["candidate"])
MAX_ARRIVAL_DAYS = 60
"""So many of the latest days on which something new came are remembered of a section."""


async def save_plan(session: AsyncSession, run_id: str, plans: Sequence[SectionPlan]) -> None:
    """Replace the run's sections by `plans`; one that stands at the same place with the same url keeps its reading."""
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
        await _delete_records(session, run_id, row.ordinal)


async def save_records(session: AsyncSession, run_id: str, reading: SectionReading) -> None:
    """Write the section's row of the run, its candidates and what was not seen of it, in place of older ones."""
    row = await session.scalar(
        select(RunSection).where(col(RunSection.run_id) == run_id, col(RunSection.ordinal) == reading.plan.ordinal)
    )
    if row is None:
        row = _build_run_section(run_id, reading.plan)
        session.add(row)
    was_kept = row.ended is not None
    row.ended = reading.ended
    row.pages = reading.pages
    row.candidates = len(reading.entries)
    row.refused_saves = reading.refused_saves
    row.corrected_dates = reading.corrected_dates
    row.listed = reading.listed
    row.listed_dated = reading.listed_dated
    row.is_gap = reading.is_gap
    row.error = reading.error
    if was_kept:
        await _delete_records(session, run_id, reading.plan.ordinal)
        await _delete_unseen(session, run_id, reading)
    for batch in split_batches(reading.entries):
        await session.execute(_INSERT_CANDIDATE, [_build_candidate_row(run_id, reading.plan, entry) for entry in batch])
    await add_unseen(session, run_id, reading.unseen)


async def add_unseen(session: AsyncSession, run_id: str, places: Sequence[UnseenPlace]) -> None:
    """Write down places that were not read, each once."""
    rows = await session.scalars(select(Unseen).where(col(Unseen.run_id) == run_id))
    there = [(row.section, row.url, row.reason) for row in rows]
    for place in places:
        what = (sanitize_text(place.section), sanitize_text(place.url), place.reason)
        if what not in there:
            there.append(what)
            session.add(Unseen(run_id=run_id, section=what[0], url=what[1], reason=what[2]))


async def save_memory(
    session: AsyncSession, source_id: int, reading: SectionReading, *, on: dt.date, at: dt.datetime
) -> None:
    """Remember the section and its urls for the runs to come.

    A url counts as known from its first sight on, unless its section broke off before anything was decided about it.
    """
    seen = {url_key(entry.candidate.url): entry for entry in reading.entries if not _is_section_error(entry)}
    rows = [
        {
            "source_id": source_id,
            "url_key": key,
            "first_seen": at,
            "is_item": False,
            "date": entry.candidate.date,
            "date_source": entry.candidate.date_source,
        }
        for key, entry in seen.items()
    ]
    await upsert_rows(session, KnownUrl, rows, key=["source_id", "url_key"])
    await _save_over_limit(session, source_id, reading, set(seen))
    await _save_section(session, source_id, reading, on=on, at=at)


async def _save_over_limit(session: AsyncSession, source_id: int, reading: SectionReading, seen: set[str]) -> None:
    section_key = url_key(reading.plan.url)
    of_section = (col(OverLimit.source_id) == source_id, col(OverLimit.section_key) == section_key)
    of_item = (col(Item.source_id) == OverLimit.source_id) & (col(Item.url_key) == OverLimit.url_key)
    old = await session.execute(
        select(col(OverLimit.url_key), col(Item.id)).outerjoin(Item, of_item).where(*of_section)
    )
    settled = [key for key, item_id in old if key in seen or item_id is not None]
    for batch in split_batches(settled):
        await session.execute(delete(OverLimit).where(*of_section, col(OverLimit.url_key).in_(batch)))
    rows = {
        url_key(entry.candidate.url): {
            "source_id": source_id,
            "url_key": url_key(entry.candidate.url),
            "section_key": section_key,
            "position": entry.position,
            "candidate": json.loads(sanitize_text(entry.candidate.model_dump_json())),
        }
        for entry in reading.entries
        if entry.disposition is Disposition.OVER_LIMIT
    }
    changing = ["section_key", "position", "candidate"]
    await upsert_rows(session, OverLimit, rows.values(), key=["source_id", "url_key"], update=changing)


async def _save_section(
    session: AsyncSession, source_id: int, reading: SectionReading, *, on: dt.date, at: dt.datetime
) -> None:
    name, url = sanitize_text(reading.plan.name), reading.plan.url
    new = {"source_id": source_id, "name": name, "url": url, "url_key": url_key(url), "is_unfinished": False}
    await upsert_rows(session, SourceSection, [new], key=["source_id", "url_key"])
    mine = (col(SourceSection.source_id) == source_id, col(SourceSection.url_key) == new["url_key"])
    section = (await session.scalars(select(SourceSection).where(*mine))).one()
    section.last_read_at = at
    section.is_unfinished = not reading.ended.is_complete
    if reading.ended is SectionEnd.ERROR:
        return
    section.name, section.url = name, url
    if reading.ended.is_complete:
        section.last_complete_on = on
    section.tail_date = min(filter(None, (section.tail_date, reading.tail_date)), default=None)
    if reading.listed is not None:
        section.head = reading.head
        section.arrivals = sorted({*section.arrivals, *_list_arrival_days(reading, on)})[-MAX_ARRIVAL_DAYS:]


def _list_arrival_days(reading: SectionReading, on: dt.date) -> set[str]:
    """The days on which something came: of publication, or of first sight for an item whose date is unknown."""
    dated = {entry.candidate.date for entry in reading.entries if entry.candidate.date and entry.candidate.date <= on}
    is_undated_new = any(e.candidate.date is None and e.disposition is Disposition.SAVED for e in reading.entries)
    return {day.isoformat() for day in [*dated, *([on] if is_undated_new else [])]}


async def _delete_records(session: AsyncSession, run_id: str, ordinal: int) -> None:
    await session.execute(
        delete(CandidateRecord).where(col(CandidateRecord.run_id) == run_id, col(CandidateRecord.section) == ordinal)
    )


async def _delete_unseen(session: AsyncSession, run_id: str, reading: SectionReading) -> None:
    mine = [col(Unseen.run_id) == run_id, col(Unseen.section) == sanitize_text(reading.plan.name)]
    namesakes = select(func.count()).where(
        col(RunSection.run_id) == run_id,
        col(RunSection.name) == sanitize_text(reading.plan.name),
        col(RunSection.ordinal) != reading.plan.ordinal,
    )
    if await session.scalar(namesakes):
        # Places bear the section's name alone: where two sections share it, only the section's own page is surely its.
        mine.append(col(Unseen.url) == reading.plan.url)
    await session.execute(delete(Unseen).where(*mine))


def _build_run_section(run_id: str, wanted: SectionPlan) -> RunSection:
    return RunSection(
        run_id=run_id, ordinal=wanted.ordinal, name=sanitize_text(wanted.name), url=wanted.url, found_by=wanted.found_by
    )


def _build_candidate_row(run_id: str, read: SectionPlan, entry: LedgerEntry) -> dict[str, object]:
    return {
        "run_id": run_id,
        "section": read.ordinal,
        "position": entry.position,
        "page_url": sanitize_text(entry.page_url),
        "url": sanitize_text(entry.candidate.url),
        "url_key": url_key(entry.candidate.url),
        "title": sanitize_text(entry.candidate.title),
        "date": entry.candidate.date,
        "date_source": entry.candidate.date_source,
        "disposition": entry.disposition,
        "reason": entry.reason,
        "item_id": entry.item_id,
    }


def _is_section_error(entry: LedgerEntry) -> bool:
    return entry.disposition is Disposition.LEFT and entry.reason == SECTION_ERROR
