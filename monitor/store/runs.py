"""The runs: what was planned, how far it came, what fell back, and the ledger of every candidate."""

import datetime as dt
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.domain.evidence import Links
from monitor.domain.reading import Coverage, SectionPlan, SectionReading, UnseenPlace
from monitor.domain.tables import CandidateRecord, Fallback, Item, Run, RunSection, Unseen
from monitor.domain.words import Disposition, Phase, RunStatus
from monitor.errors import UsageError
from monitor.store import ledger
from monitor.store.claims import link
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, dialect_of, insert_for, storable
from monitor.store.sources import record_run


class Outcome(NamedTuple):
    """What came of a run: whether any page was read, anything fell back, or an item was saved.

    `unseen` is why the first of the places that were not seen was not.
    """

    has_read: bool
    has_fallbacks: bool
    has_items: bool
    unseen: str | None


@patient
class Runs:
    """The run history. What a killed run had written stays, and can be written again without harm."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def create(self, run: Run) -> bool:
        """Put a run on record; False where its id is there already, which stays as it is."""
        async with self._sessions.writing() as session:
            statement = insert_for(dialect_of(session), Run).values(run.model_dump())
            new = await session.scalar(statement.on_conflict_do_nothing(index_elements=["id"]).returning(col(Run.id)))
            return new is not None

    async def get(self, run_id: str) -> Run | None:
        async with self._sessions.reading() as session:
            return await session.get(Run, run_id)

    async def update(self, run_id: str, **changes: Any) -> None:
        """Change fields of a run; `UsageError` where there is none of that id."""
        unknown = [name for name in changes if name not in Run.model_fields or name == "id"]
        if unknown:
            raise TypeError(f"a run has no field {unknown[0]!r} that can be changed")
        async with self._sessions.writing() as session:
            run = await session.get(Run, run_id)
            if run is None:
                raise UsageError(f"There is no run {run_id}: `monitor runs list` shows the latest.")
            for name, value in changes.items():
                setattr(run, name, storable(value) if type(value) is str else value)

    async def request_cancel(self, run_id: str, *, at: dt.datetime | None = None) -> bool:
        """Ask a run to stop; False where there is none of that id, or it has ended.

        One that is still queued is cancelled at once, and ended `at`; a running one stops at its next turn.
        """
        async with self._sessions.writing() as session:
            run = await session.get(Run, run_id, with_for_update=True)
            if run is None or run.status.is_final:
                return False
            run.is_cancel_requested = True
            if run.status is RunStatus.QUEUED:
                run.status = RunStatus.CANCELLED
                run.ended_at = at
            return True

    async def to_be_cancelled(self, run_ids: Collection[str]) -> set[str]:
        """Those of the runs that somebody asked to stop."""
        asked = select(col(Run.id)).where(col(Run.id).in_(run_ids), col(Run.is_cancel_requested))
        async with self._sessions.reading() as session:
            return set(await session.scalars(asked))

    async def take(self, run_id: str, *, executor: str, at: dt.datetime) -> Run | None:
        """Begin a run, or go on with it after its process died; None where it has ended or was asked to stop.

        The first to take it sets when it started.
        """
        async with self._sessions.writing() as session:
            run = await session.get(Run, run_id, with_for_update=True)
            if run is None or run.status.is_final:
                return None
            run.status = RunStatus.RUNNING
            run.started_at = run.started_at or at
            run.executor = executor
            return run

    async def outcome(self, run_id: str) -> Outcome:
        """What came of a run, as far as its end depends on it."""
        mine = (RunSection, Fallback, Item)
        read, fell_back, saved = (exists().where(col(table.run_id) == run_id) for table in mine)
        reason = select(col(Unseen.reason)).where(col(Unseen.run_id) == run_id).order_by(col(Unseen.id)).limit(1)
        query = select(read.where(col(RunSection.pages) > 0), fell_back, saved, reason.scalar_subquery())
        async with self._sessions.reading() as session:
            return Outcome(*(await session.execute(query)).one())

    async def end(
        self,
        run_id: str,
        source_id: int | None,
        *,
        status: RunStatus,
        at: dt.datetime,
        has_new: bool = False,
        error: str | None = None,
    ) -> None:
        """Write down how a run ended, with the health of its source; a source that is gone has none."""
        error = None if error is None else storable(error)
        async with self._sessions.writing() as session:
            ended = {"status": status, "ended_at": at, "error": error}
            await session.execute(update(Run).where(col(Run.id) == run_id).values(ended))
            if source_id is not None:
                await record_run(session, source_id, at=at, status=status, has_new=has_new, error=error)

    async def open(self) -> list[Run]:
        """The runs that have not ended, oldest first."""
        unfinished = col(Run.status).in_([RunStatus.QUEUED, RunStatus.RUNNING])
        async with self._sessions.reading() as session:
            return list((await session.scalars(select(Run).where(unfinished).order_by(col(Run.planned_at)))).all())

    async def unnoticed(self, limit: int = 200) -> list[Run]:
        """Queued runs that no worker has put into its queue yet, oldest first."""
        query = select(Run).where(col(Run.status) == RunStatus.QUEUED, col(Run.enqueued_at).is_(None))
        async with self._sessions.reading() as session:
            return list((await session.scalars(query.order_by(col(Run.planned_at)).limit(limit))).all())

    async def mark_enqueued(self, run_id: str, *, at: dt.datetime | None) -> None:
        """Write down that a run stands in the queue, or does not any more."""
        async with self._sessions.writing() as session:
            await session.execute(update(Run).where(col(Run.id) == run_id).values(enqueued_at=at, retry_from=None))

    async def requeue(self, run_id: str) -> None:
        """Have a run that has not ended put into the queue anew, over the same dates."""
        unfinished = col(Run.status).in_([RunStatus.QUEUED, RunStatus.RUNNING])
        values = {"status": RunStatus.QUEUED, "enqueued_at": None}
        async with self._sessions.writing() as session:
            await session.execute(update(Run).where(col(Run.id) == run_id, unfinished).values(values))

    async def ask_again(self, run_id: str, phase: Phase) -> bool:
        """Have an ended run done again from a phase on; what fell back from there on is taken back. False if open.

        What it kept stays kept: the phases that are done again find it.
        """
        again = list(Phase)[list(Phase).index(phase) :]
        async with self._sessions.writing() as session:
            run = await session.get(Run, run_id, with_for_update=True)
            if run is None or not run.status.is_final:
                return False
            run.status, run.retry_from, run.enqueued_at = RunStatus.QUEUED, phase, None
            run.ended_at, run.error, run.is_cancel_requested = None, None, False
            await session.execute(
                delete(Fallback).where(col(Fallback.run_id) == run_id, col(Fallback.phase).in_(again))
            )
            return True

    async def give_up(self, run_id: str, *, reason: str, at: dt.datetime, executor: str | None) -> bool:
        """End a run that nobody carries out any more as failed; False where it ended or moved on meanwhile."""
        async with self._sessions.writing() as session:
            run = await session.get(Run, run_id, with_for_update=True)
            if run is None or run.status.is_final or run.executor != executor:
                return False
            run.status, run.ended_at, run.error = RunStatus.FAILED, at, reason
            return True

    async def add_fallback(self, run_id: str, phase: Phase, where: str, reason: str, at: dt.datetime) -> None:
        """Write down that something fell back; the same phase, place and reason count once."""
        fallback = Fallback(run_id=run_id, phase=phase, where=storable(where), reason=storable(reason), at=at)
        same = select(col(Fallback.id)).where(
            col(Fallback.run_id) == run_id,
            col(Fallback.phase) == phase,
            col(Fallback.where) == fallback.where,
            col(Fallback.reason) == fallback.reason,
        )
        async with self._sessions.writing() as session:
            # The summaries of a run fall back at the same time: on PostgreSQL the lock on their run lines them up.
            await session.scalar(select(col(Run.id)).where(col(Run.id) == run_id).with_for_update())
            if await session.scalar(same.limit(1)) is None:
                session.add(fallback)

    async def fallbacks(self, run_id: str) -> list[Fallback]:
        """What fell back, in the order in which it did."""
        query = select(Fallback).where(col(Fallback.run_id) == run_id).order_by(col(Fallback.id))
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def plan(self, run_id: str, plans: Sequence[SectionPlan]) -> None:
        """Write down the sections that a run is to read, in place of an earlier plan.

        A section that stands in both at the same place keeps what was read of it: a run that goes on after a crash
        plans again. The ledger of a section that is gone goes with it.
        """
        async with self._sessions.writing() as session:
            await ledger.plan(session, run_id, plans)

    async def keep_reading(
        self,
        run_id: str,
        source_id: int,
        reading: SectionReading,
        *,
        on: dt.date,
        at: dt.datetime,
        links: Links | None = None,
    ) -> None:
        """Keep what the reading of one section brought: its ledger, its links and what is to be remembered of it.

        `on` is the day of the run in the source's time zone, `at` the instant. Doing it again replaces what this run
        had kept of the section. `WorkFailed` where the source or the run was removed meanwhile.
        """
        async with self._sessions.writing() as session:
            await ledger.keep_records(session, run_id, reading)
            await ledger.keep_memory(session, source_id, reading, on=on, at=at)
            if links is not None:
                await link(session, links)

    async def sections(self, run_id: str) -> list[RunSection]:
        """The sections of a run in their order."""
        query = select(RunSection).where(col(RunSection.run_id) == run_id)
        async with self._sessions.reading() as session:
            return list((await session.scalars(query.order_by(col(RunSection.ordinal), col(RunSection.id)))).all())

    async def ledger(self, run_id: str) -> list[CandidateRecord]:
        """Every candidate of a run with what became of it, section by section in the order of the pages."""
        order = (col(CandidateRecord.section), col(CandidateRecord.position), col(CandidateRecord.id))
        query = select(CandidateRecord).where(col(CandidateRecord.run_id) == run_id).order_by(*order)
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())

    async def coverage(self, run_id: str) -> Coverage:
        """How many candidates of a run met which end, and what was not read at all."""
        query = (
            select(col(CandidateRecord.disposition), func.count())
            .where(col(CandidateRecord.run_id) == run_id)
            .group_by(col(CandidateRecord.disposition))
        )
        async with self._sessions.reading() as session:
            counts: dict[Disposition, int] = {row[0]: row[1] for row in await session.execute(query)}
            places = await _unseen(session, run_id)
        return Coverage.model_validate({**{str(word): count for word, count in counts.items()}, "unseen": places})

    async def unseen(self, run_id: str) -> list[UnseenPlace]:
        """The sections and list pages that a run did not read."""
        async with self._sessions.reading() as session:
            return await _unseen(session, run_id)

    async def add_unseen(self, run_id: str, places: Sequence[UnseenPlace]) -> None:
        """Write down places that a run did not read; one that is there already stays once."""
        async with self._sessions.writing() as session:
            await ledger.add_unseen(session, run_id, places)

    async def list(
        self, *, source: str | None = None, status: RunStatus | None = None, limit: int | None = 50
    ) -> list[Run]:
        """The latest runs by planned time, newest first, of all sources or of the one of that name."""
        query = select(Run).order_by(col(Run.planned_at).desc(), col(Run.id).desc()).limit(limit)
        if source is not None:
            query = query.where(col(Run.source) == source)
        if status is not None:
            query = query.where(col(Run.status) == status)
        async with self._sessions.reading() as session:
            return list((await session.scalars(query)).all())


async def _unseen(session: AsyncSession, run_id: str) -> list[UnseenPlace]:
    rows = await session.scalars(select(Unseen).where(col(Unseen.run_id) == run_id).order_by(col(Unseen.id)))
    return [UnseenPlace(section=row.section, url=row.url, reason=row.reason) for row in rows]
