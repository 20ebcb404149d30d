"""The runs with their fallbacks, sections, candidates and events."""

import datetime as dt
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Select, delete, exists, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.daily_totals import Addition, add_to_totals
from monitor.db.queries import sections
from monitor.db.queries.evidence import save_claims
from monitor.db.queries.history import LedgerRow, RunFilter, select_latest, select_ledger
from monitor.db.queries.sources import is_unfinished, record_run
from monitor.db.queries.webhooks import EventFact, add_webhook_events
from monitor.db.reading import SectionPlan, SectionReading, UnseenPlace
from monitor.db.sessions import Queries, insert_if_new, sanitize_text, sanitize_value
from monitor.db.tables.collection import Fallback, Item, Run, RunSection, Source, TotalKind, Unseen
from monitor.db.tables.evidence import ClaimUpdate
from monitor.db.tables.research import Research, ResearchEvent, RunEvent
from monitor.db.tables.webhooks import WebhookEventType
from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.vocabulary import EventKind, Phase, RunStatus

_IS_OPEN = col(Run.status).in_([RunStatus.QUEUED, RunStatus.RUNNING])


class RunOutcome(NamedTuple):
    """What the status of a run depends on; `unseen` is the reason of its first unread place."""

    has_read: bool
    has_fallbacks: bool
    has_items: bool
    unseen: Message | None


class RunStore(Queries):
    """What a killed run had written stays, and can be written again without harm."""

    async def create(self, run: Run) -> bool:
        """Store a run; False where its id is taken."""
        async with self._sessions.begin_write() as session:
            return await insert_if_new(session, run)

    async def get(self, run_id: str) -> Run | None:
        return await self._get(Run, run_id)

    async def update(self, run_id: str, **changes: Any) -> None:
        """Change fields of a run; `UsageError` where there is none of that id."""
        unknown = [name for name in changes if name not in Run.model_fields or name == "id"]
        if unknown:
            raise TypeError(f"a run has no field {unknown[0]!r} that can be changed")
        async with self._sessions.begin_write() as session:
            run = await session.get(Run, run_id)
            if run is None:
                raise UsageError("run.unknown", run_id=run_id)
            was_final = run.status.is_final
            run.sqlmodel_update(sanitize_value(changes))
            if run.status.is_final and not was_final:
                await self._note_ended(session, run_id, run.status, run.ended_at or run.planned_at)

    async def request_cancel(self, run_id: str, *, at: dt.datetime | None = None) -> bool:
        """Ask a run to stop; False where there is none of that id, or it has ended.

        A queued run is cancelled at once, and ends `at`; a running one stops at its next step.
        """
        async with self._lock(Run, run_id) as (session, run):
            if run is None or run.status.is_final:
                return False
            run.is_cancel_requested = True
            if run.status is RunStatus.QUEUED:
                run.status = RunStatus.CANCELLED
                run.ended_at = at
                await self._note_ended(session, run_id, run.status, at or run.planned_at)
            return True

    async def list_cancel_requested(self, run_ids: Collection[str]) -> set[str]:
        asked = select(col(Run.id)).where(col(Run.id).in_(run_ids), col(Run.is_cancel_requested))
        return set(await self._fetch_all(asked))

    async def claim(self, run_id: str, *, executor: str, at: dt.datetime) -> Run | None:
        """Start a run, or resume it after its process died; None where it has ended or does not exist."""
        async with self._lock(Run, run_id) as (_, run):
            if run is None or run.status.is_final:
                return None
            run.status = RunStatus.RUNNING
            run.started_at = run.started_at or at
            run.executor = executor
            return run

    async def load_outcome(self, run_id: str) -> RunOutcome:
        mine = (RunSection, Fallback, Item)
        read, fell_back, saved = (exists().where(col(table.run_id) == run_id) for table in mine)
        reason = select(col(Unseen.reason)).where(col(Unseen.run_id) == run_id).order_by(col(Unseen.id)).limit(1)
        query = select(read.where(col(RunSection.pages) > 0), fell_back, saved, reason.scalar_subquery())
        return RunOutcome(*(await self._fetch_rows(query))[0])

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
        """Record how a run ended, also in the health of its source."""
        async with self._sessions.begin_write() as session:
            ended = update(Run).where(col(Run.id) == run_id).values(status=status, ended_at=at, error=error)
            if await session.scalar(ended.where(_IS_OPEN).returning(col(Run.id))) is None:
                await session.execute(ended)  # it had ended: what was counted then counts once
            else:
                await self._note_ended(session, run_id, status, at)
            if source_id is not None:
                await record_run(session, source_id, at=at, status=status, has_new=has_new, error=error)

    async def _note_ended(self, session: AsyncSession, run_id: str, status: RunStatus, at: dt.datetime) -> None:
        await add_to_totals(session, self._sessions.get_day(at), [Addition(TotalKind.RUN, status)])
        await add_webhook_events(session, [EventFact(WebhookEventType.RUN_ENDED, f"run:{run_id}", at)])

    async def list_open(self) -> list[Run]:
        """The runs that have not ended, oldest first."""
        return sorted(await self._fetch_all(select(Run).where(is_unfinished())), key=attrgetter("planned_at"))

    async def list_unqueued(self, limit: int = 200) -> list[Run]:
        """Queued runs that no worker has enqueued yet, oldest first."""
        query = select(Run).where(col(Run.status) == RunStatus.QUEUED, col(Run.enqueued_at).is_(None))
        return await self._fetch_all(query.order_by(col(Run.planned_at)).limit(limit))

    async def mark_enqueued(self, run_id: str, *, at: dt.datetime | None) -> None:
        """Record since when a run is in the queue; None takes it out."""
        await self._execute(update(Run).where(col(Run.id) == run_id).values(enqueued_at=at, retry_from=None))

    async def requeue(self, run_id: str) -> None:
        values = {"status": RunStatus.QUEUED, "enqueued_at": None}
        await self._execute(update(Run).where(col(Run.id) == run_id, _IS_OPEN).values(values))

    async def request_retry(self, run_id: str, phase: Phase) -> bool:
        """Queue an ended run again from a phase on and delete its fallbacks from there on; False where it is open."""
        again = list(Phase)[list(Phase).index(phase) :]
        async with self._lock(Run, run_id) as (session, run):
            if run is None or not run.status.is_final:
                return False
            run.status, run.retry_from, run.enqueued_at = RunStatus.QUEUED, phase, None
            run.ended_at, run.error, run.is_cancel_requested = None, None, False
            repeated = (col(Fallback.run_id) == run_id, col(Fallback.phase).in_(again))
            await session.execute(delete(Fallback).where(*repeated))
            return True

    async def abandon(self, run_id: str, *, reason: Message, at: dt.datetime, executor: str | None) -> bool:
        """Fail a run whose executor is gone; False where it ended or has another executor meanwhile."""
        async with self._lock(Run, run_id) as (session, run):
            if run is None or run.status.is_final or run.executor != executor:
                return False
            run.status, run.ended_at, run.error = RunStatus.FAILED, at, reason
            await self._note_ended(session, run_id, run.status, at)
            return True

    async def add_fallback(self, run_id: str, phase: Phase, where: str, reason: Message, at: dt.datetime) -> None:
        """Record a fallback; the same phase, place and reason count once."""
        fallback = Fallback(run_id=run_id, phase=phase, where=sanitize_text(where), reason=reason, at=at)
        same = select(col(Fallback.id)).where(
            col(Fallback.run_id) == run_id,
            col(Fallback.phase) == phase,
            col(Fallback.where) == fallback.where,
            col(Fallback.reason) == fallback.reason,
        )
        async with self._sessions.begin_write() as session:
            # The summaries of a run fall back at the same time: the lock on their run makes them take turns.
            await session.scalar(select(col(Run.id)).where(col(Run.id) == run_id).with_for_update())
            if await session.scalar(same.limit(1)) is None:
                session.add(fallback)

    async def list_fallbacks(self, run_id: str) -> list[Fallback]:
        query = select(Fallback).where(col(Fallback.run_id) == run_id).order_by(col(Fallback.id))
        return await self._fetch_all(query)

    async def save_plan(self, run_id: str, plans: Sequence[SectionPlan]) -> None:
        """Store the sections that a run is to read, in place of an earlier plan; sections of both keep their ledger."""
        async with self._sessions.begin_write() as session:
            await sections.save_plan(session, run_id, plans)

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
        """Store the reading of one section: its ledger, its claims and what later runs remember of it.

        `on` is the day of the run in the source's time zone. A second reading replaces the first. `WorkFailed` where
        the source or the run was removed meanwhile.
        """
        async with self._sessions.begin_write() as session:
            await sections.save_records(session, run_id, source_id, reading, at=at)
            await sections.save_memory(session, source_id, reading, on=on, at=at)
            if claims is not None:
                await save_claims(session, claims)

    async def list_sections(self, run_id: str) -> list[RunSection]:
        query = select(RunSection).where(col(RunSection.run_id) == run_id)
        return await self._fetch_all(query.order_by(col(RunSection.ordinal), col(RunSection.id)))

    async def load_ledger(self, run_id: str) -> list[LedgerRow]:
        """Every candidate of a run with what became of it, in the order of the pages."""
        return await self._fetch_as(LedgerRow, select_ledger(run_id))

    async def list_unseen(self, run_id: str) -> list[UnseenPlace]:
        query = select(col(Unseen.section), col(Unseen.url), col(Unseen.reason)).where(col(Unseen.run_id) == run_id)
        return await self._fetch_as(UnseenPlace, query.order_by(col(Unseen.id)))

    async def add_unseen(self, run_id: str, places: Sequence[UnseenPlace]) -> None:
        """Record places that a run did not read, each once."""
        async with self._sessions.begin_write() as session:
            await sections.add_unseen(session, run_id, places)

    async def list(
        self, *, source: str | None = None, status: RunStatus | None = None, limit: int | None = 50
    ) -> list[Run]:
        """The latest runs by planned time, newest first, of all sources or of the one of that name."""
        wanted = RunFilter(source=source, status=status)
        if source is not None:
            named = select(col(Source.id)).where(col(Source.name) == sanitize_text(source))
            wanted.source_id = await self._fetch_first(named)
        return await self._fetch_all(select_latest(select(Run), wanted, limit=limit))


S = TypeVar("S")
E = TypeVar("E", RunEvent, ResearchEvent)


class StatusSnapshot(NamedTuple, Generic[S]):
    status: S
    ended_at: dt.datetime | None


class EventStore(Queries, Generic[E, S]):
    """The events of runs, or of researches; their numbers rise in the order in which they were told."""

    _event: type[E]
    _work: type[Run | Research]
    _work_id: str
    """The column of an event that says to which run or research it belongs."""

    async def after(self, work_id: str, number: int, *, limit: int = 500) -> list[E]:
        """The events after the one of that number, oldest first."""
        query = self._select_events(work_id).where(col(self._event.id) > number)
        return await self._fetch_all(query.order_by(col(self._event.id)).limit(limit))

    async def latest(self, work_id: str, kind: EventKind | None = None) -> E | None:
        """The last event, or the last one of a kind, which only those of runs have."""
        query = self._select_events(work_id)
        if kind is not None:
            query = query.where(col(RunEvent.kind) == kind)
        return await self._fetch_first(query.order_by(col(self._event.id).desc()).limit(1))

    async def get_status(self, work_id: str) -> StatusSnapshot[S] | None:
        """How the run or research stands; None where there is none of that id."""
        query: Select[S, dt.datetime | None] = select(col(self._work.status), col(self._work.ended_at))
        rows = await self._fetch_rows(query.where(col(self._work.id) == work_id))
        return StatusSnapshot(*rows[0]) if rows else None

    async def count(self, work_id: str) -> int:
        return await self._fetch_first(self._select_events(work_id).with_only_columns(func.count())) or 0

    def _select_events(self, work_id: str) -> Select[E]:
        return select(self._event).where(getattr(self._event, self._work_id) == work_id)


class RunEventStore(EventStore[RunEvent, RunStatus]):
    _event = RunEvent
    _work = Run
    _work_id = "run_id"

    async def add(self, events: Sequence[RunEvent]) -> int:
        """Store events of any runs, in one transaction, but for those of runs that are gone; returns how many."""
        asked = select(col(Run.id)).where(col(Run.id).in_({event.run_id for event in events}))
        async with self._sessions.begin_write() as session:
            there = set(await session.scalars(asked))
            rows = [event.model_dump(exclude={"id"}) for event in events if event.run_id in there]
            if rows:
                await session.execute(insert(RunEvent), rows)
        return len(rows)
