"""The runs: what was planned, how far it came, what fell back, and the ledger of every candidate."""

import datetime as dt
from collections.abc import Collection, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import delete, exists, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.queries import ledger
from monitor.db.queries.evidence import save_claims
from monitor.db.queries.sources import record_run
from monitor.db.reading import Coverage, SectionPlan, SectionReading, UnseenPlace
from monitor.db.sessions import Queries, build_insert, get_dialect, sanitize_text
from monitor.db.tables.collection import CandidateRecord, Fallback, Item, Run, RunSection, Unseen
from monitor.db.tables.evidence import ClaimUpdate
from monitor.db.tables.research import RunEvent
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.vocabulary import Disposition, EventKind, Phase, RunStatus


class RunOutcome(NamedTuple):
    """What came of a run: whether any page was read, anything fell back, or an item was saved.

    `unseen` is why the first of the places that were not seen was not.
    """

    has_read: bool
    has_fallbacks: bool
    has_items: bool
    unseen: Message | None


class RunStore(Queries):
    """The run history. What a killed run had written stays, and can be written again without harm."""

    async def create(self, run: Run) -> bool:
        """Put a run on record; False where its id is there already, which stays as it is."""
        async with self._sessions.begin_write() as session:
            statement = build_insert(get_dialect(session), Run).values(run.model_dump())
            new = await session.scalar(statement.on_conflict_do_nothing(index_elements=["id"]).returning(col(Run.id)))
            return new is not None

    async def get(self, run_id: str) -> Run | None:
        async with self._sessions.begin_read() as session:
            return await session.get(Run, run_id)

    async def update(self, run_id: str, **changes: Any) -> None:
        """Change fields of a run; `UsageError` where there is none of that id."""
        unknown = [name for name in changes if name not in Run.model_fields or name == "id"]
        if unknown:
            raise TypeError(f"a run has no field {unknown[0]!r} that can be changed")
        async with self._sessions.begin_write() as session:
            run = await session.get(Run, run_id)
            if run is None:
                raise UsageError("run.unknown", run_id=run_id)
            for name, value in changes.items():
                setattr(run, name, sanitize_text(value) if type(value) is str else value)

    async def request_cancel(self, run_id: str, *, at: dt.datetime | None = None) -> bool:
        """Ask a run to stop; False where there is none of that id, or it has ended.

        One that is still queued is cancelled at once, and ended `at`; a running one stops at its next turn.
        """
        async with self._sessions.begin_write() as session:
            run = await session.get(Run, run_id, with_for_update=True)
            if run is None or run.status.is_final:
                return False
            run.is_cancel_requested = True
            if run.status is RunStatus.QUEUED:
                run.status = RunStatus.CANCELLED
                run.ended_at = at
            return True

    async def list_cancel_requested(self, run_ids: Collection[str]) -> set[str]:
        """Those of the runs that somebody asked to stop."""
        asked = select(col(Run.id)).where(col(Run.id).in_(run_ids), col(Run.is_cancel_requested))
        async with self._sessions.begin_read() as session:
            return set(await session.scalars(asked))

    async def claim(self, run_id: str, *, executor: str, at: dt.datetime) -> Run | None:
        """Begin a run, or go on with it after its process died; None where it has ended or was asked to stop.

        The first to take it sets when it started.
        """
        async with self._sessions.begin_write() as session:
            run = await session.get(Run, run_id, with_for_update=True)
            if run is None or run.status.is_final:
                return None
            run.status = RunStatus.RUNNING
            run.started_at = run.started_at or at
            run.executor = executor
            return run

    async def load_outcome(self, run_id: str) -> RunOutcome:
        """What came of a run, as far as its end depends on it."""
        mine = (RunSection, Fallback, Item)
        read, fell_back, saved = (exists().where(col(table.run_id) == run_id) for table in mine)
        reason = select(col(Unseen.reason)).where(col(Unseen.run_id) == run_id).order_by(col(Unseen.id)).limit(1)
        query = select(read.where(col(RunSection.pages) > 0), fell_back, saved, reason.scalar_subquery())
        async with self._sessions.begin_read() as session:
            return RunOutcome(*(await session.execute(query)).one())

    async def end(
        self,
        run_id: str,
        source_id: int | None,
        *,
        status: RunStatus,
        at: dt.datetime,
        has_new: bool = False,
        error: Message | None = None,
    ) -> None:
        """Write down how a run ended, with the health of its source; a source that is gone has none."""
        async with self._sessions.begin_write() as session:
            ended = {"status": status, "ended_at": at, "error": error}
            await session.execute(update(Run).where(col(Run.id) == run_id).values(ended))
            if source_id is not None:
                await record_run(session, source_id, at=at, status=status, has_new=has_new, error=error)

    async def list_open(self) -> list[Run]:
        """The runs that have not ended, oldest first."""
        unfinished = col(Run.status).in_([RunStatus.QUEUED, RunStatus.RUNNING])
        return await self._fetch_all(select(Run).where(unfinished).order_by(col(Run.planned_at)))

    async def list_unqueued(self, limit: int = 200) -> list[Run]:
        """Queued runs that no worker has put into its queue yet, oldest first."""
        query = select(Run).where(col(Run.status) == RunStatus.QUEUED, col(Run.enqueued_at).is_(None))
        return await self._fetch_all(query.order_by(col(Run.planned_at)).limit(limit))

    async def mark_enqueued(self, run_id: str, *, at: dt.datetime | None) -> None:
        """Write down that a run stands in the queue, or does not any more."""
        await self._execute(update(Run).where(col(Run.id) == run_id).values(enqueued_at=at, retry_from=None))

    async def requeue(self, run_id: str) -> None:
        """Have a run that has not ended put into the queue anew, over the same dates."""
        unfinished = col(Run.status).in_([RunStatus.QUEUED, RunStatus.RUNNING])
        values = {"status": RunStatus.QUEUED, "enqueued_at": None}
        await self._execute(update(Run).where(col(Run.id) == run_id, unfinished).values(values))

    async def request_retry(self, run_id: str, phase: Phase) -> bool:
        """Have an ended run done again from a phase on; what fell back from there on is taken back. False if open.

        What it kept stays kept: the phases that are done again find it.
        """
        again = list(Phase)[list(Phase).index(phase) :]
        async with self._sessions.begin_write() as session:
            run = await session.get(Run, run_id, with_for_update=True)
            if run is None or not run.status.is_final:
                return False
            run.status, run.retry_from, run.enqueued_at = RunStatus.QUEUED, phase, None
            run.ended_at, run.error, run.is_cancel_requested = None, None, False
            await session.execute(
                delete(Fallback).where(col(Fallback.run_id) == run_id, col(Fallback.phase).in_(again))
            )
            return True

    async def abandon(self, run_id: str, *, reason: Message, at: dt.datetime, executor: str | None) -> bool:
        """End a run that nobody carries out any more as failed; False where it ended or moved on meanwhile."""
        async with self._sessions.begin_write() as session:
            run = await session.get(Run, run_id, with_for_update=True)
            if run is None or run.status.is_final or run.executor != executor:
                return False
            run.status, run.ended_at, run.error = RunStatus.FAILED, at, reason
            return True

    async def add_fallback(self, run_id: str, phase: Phase, where: str, reason: Message, at: dt.datetime) -> None:
        """Write down that something fell back; the same phase, place and reason count once."""
        fallback = Fallback(run_id=run_id, phase=phase, where=sanitize_text(where), reason=reason, at=at)
        same = select(col(Fallback.id)).where(
            col(Fallback.run_id) == run_id,
            col(Fallback.phase) == phase,
            col(Fallback.where) == fallback.where,
            col(Fallback.reason) == fallback.reason,
        )
        async with self._sessions.begin_write() as session:
            # The summaries of a run fall back at the same time: on PostgreSQL the lock on their run lines them up.
            await session.scalar(select(col(Run.id)).where(col(Run.id) == run_id).with_for_update())
            if await session.scalar(same.limit(1)) is None:
                session.add(fallback)

    async def list_fallbacks(self, run_id: str) -> list[Fallback]:
        """What fell back, in the order in which it did."""
        query = select(Fallback).where(col(Fallback.run_id) == run_id).order_by(col(Fallback.id))
        return await self._fetch_all(query)

    async def save_plan(self, run_id: str, plans: Sequence[SectionPlan]) -> None:
        """Write down the sections that a run is to read, in place of an earlier plan.

        A section that stands in both at the same place keeps what was read of it: a run that goes on after a crash
        plans again. The ledger of a section that is gone goes with it.
        """
        async with self._sessions.begin_write() as session:
            await ledger.save_plan(session, run_id, plans)

    async def save_reading(
        self,
        run_id: str,
        source_id: int,
        reading: SectionReading,
        *,
        on: dt.date,
        at: dt.datetime,
        claims: ClaimUpdate | None = None,
    ) -> None:
        """Keep what the reading of one section brought: its ledger, its links and what is to be remembered of it.

        `on` is the day of the run in the source's time zone, `at` the instant. Doing it again replaces what this run
        had kept of the section. `WorkFailed` where the source or the run was removed meanwhile.
        """
        async with self._sessions.begin_write() as session:
            await ledger.save_records(session, run_id, reading)
            await ledger.save_memory(session, source_id, reading, on=on, at=at)
            if claims is not None:
                await save_claims(session, claims)

    async def list_sections(self, run_id: str) -> list[RunSection]:
        """The sections of a run in their order."""
        query = select(RunSection).where(col(RunSection.run_id) == run_id)
        return await self._fetch_all(query.order_by(col(RunSection.ordinal), col(RunSection.id)))

    async def load_ledger(self, run_id: str) -> list[CandidateRecord]:
        """Every candidate of a run with what became of it, section by section in the order of the pages."""
        order = (col(CandidateRecord.section), col(CandidateRecord.position), col(CandidateRecord.id))
        query = select(CandidateRecord).where(col(CandidateRecord.run_id) == run_id).order_by(*order)
        return await self._fetch_all(query)

    async def load_coverage(self, run_id: str) -> Coverage:
        """How many candidates of a run met which end, and what was not read at all."""
        query = (
            select(col(CandidateRecord.disposition), func.count())
            .where(col(CandidateRecord.run_id) == run_id)
            .group_by(col(CandidateRecord.disposition))
        )
        async with self._sessions.begin_read() as session:
            counts: dict[Disposition, int] = {row[0]: row[1] for row in await session.execute(query)}
            places = await _load_unseen(session, run_id)
        return Coverage.model_validate({**{str(word): count for word, count in counts.items()}, "unseen": places})

    async def list_unseen(self, run_id: str) -> list[UnseenPlace]:
        """The sections and list pages that a run did not read."""
        async with self._sessions.begin_read() as session:
            return await _load_unseen(session, run_id)

    async def add_unseen(self, run_id: str, places: Sequence[UnseenPlace]) -> None:
        """Write down places that a run did not read; one that is there already stays once."""
        async with self._sessions.begin_write() as session:
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
        return await self._fetch_all(query)


async def _load_unseen(session: AsyncSession, run_id: str) -> list[UnseenPlace]:
    rows = await session.scalars(select(Unseen).where(col(Unseen.run_id) == run_id).order_by(col(Unseen.id)))
    return [UnseenPlace(section=row.section, url=row.url, reason=row.reason) for row in rows]


S = TypeVar("S")


class StatusSnapshot(NamedTuple, Generic[S]):
    """How a run or a research stands."""

    status: S
    ended_at: dt.datetime | None


class RunEventStore(Queries):
    """The events of runs. Their numbers rise in the order in which a run told them."""

    async def add(self, events: Sequence[RunEvent]) -> int:
        """Keep events of any runs, in one transaction; those of runs that are gone are left out. Answers how many."""
        asked = select(col(Run.id)).where(col(Run.id).in_({event.run_id for event in events}))
        async with self._sessions.begin_write() as session:
            there = set(await session.scalars(asked))
            rows = [event.model_dump(exclude={"id"}) for event in events if event.run_id in there]
            if rows:
                await session.execute(insert(RunEvent), rows)
        return len(rows)

    async def after(self, run_id: str, number: int, *, limit: int = 500) -> list[RunEvent]:
        """The events of a run that came after the one of that number, oldest first."""
        query = select(RunEvent).where(col(RunEvent.run_id) == run_id, col(RunEvent.id) > number)
        return await self._fetch_all(query.order_by(col(RunEvent.id)).limit(limit))

    async def latest(self, run_id: str, kind: EventKind | None = None) -> RunEvent | None:
        """The last event of a run, or the last of its kind."""
        query = select(RunEvent).where(col(RunEvent.run_id) == run_id)
        if kind is not None:
            query = query.where(col(RunEvent.kind) == kind)
        return await self._fetch_first(query.order_by(col(RunEvent.id).desc()).limit(1))

    async def get_status(self, run_id: str) -> StatusSnapshot[RunStatus] | None:
        """How a run stands; None where there is none of that id."""
        query = select(col(Run.status), col(Run.ended_at)).where(col(Run.id) == run_id)
        async with self._sessions.begin_read() as session:
            row = (await session.execute(query)).one_or_none()
            return None if row is None else StatusSnapshot(*row)

    async def count(self, run_id: str) -> int:
        """How many events of a run are kept."""
        query = select(func.count()).select_from(RunEvent).where(col(RunEvent.run_id) == run_id)
        async with self._sessions.begin_read() as session:
            return int(await session.scalar(query) or 0)
