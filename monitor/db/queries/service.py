"""The processes of the service: who is alive, who has which duty, what was scheduled, and the metrics."""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped
from sqlmodel import col

from monitor.db.daily_totals import Addition, add_to_totals, load_sums
from monitor.db.queries.sources import is_unfinished
from monitor.db.sessions import Queries, insert_if_new
from monitor.db.tables.collection import Run, Source, TotalKind
from monitor.db.tables.delivery import Alarm, Delivery, DeliveryStatus
from monitor.db.tables.idempotency import IdempotentRequest
from monitor.db.tables.research import Executor, Lease, Research, ResearchStatus, Schedule
from monitor.vocabulary import RunStatus

MISSED_CODES = ("cause.missed", "cause.missed_times")
"""Why there was no run at a planned time."""


class ExecutorStore(Queries, retries=False):
    async def record_heartbeat(self, executor: Executor) -> None:
        """Record that a process is alive; a new one replaces one of the same id."""
        await self._upsert([executor], key=["id"], update=["kind", "host", "pid", "token", "started_at", "seen_at"])

    async def remove(self, executor_id: str, *, token: str) -> None:
        """Remove a process, unless another one has taken its id."""
        mine = (col(Executor.id) == executor_id, col(Executor.token) == token)
        await self._execute(delete(Executor).where(*mine))

    async def delete_stale(self, before: dt.datetime) -> None:
        await self._execute(delete(Executor).where(col(Executor.seen_at) < before))

    async def list_all(self) -> list[Executor]:
        """Every process that did not shut down properly, alive or not."""
        return await self._fetch_all(select(Executor).order_by(col(Executor.id)))


class LeaseStore(Queries, retries=False):
    """Duties. Clocks are not compared: whoever waits watches whether the holder still renews."""

    async def get(self, name: str) -> Lease | None:
        return await self._get(Lease, name)

    async def renew(self, name: str, holder: str, *, at: dt.datetime) -> bool:
        """False where the holder does not have the duty (any more)."""
        mine = (col(Lease.name) == name, col(Lease.holder) == holder)
        statement = update(Lease).where(*mine).values(renewed_at=at).returning(col(Lease.name))
        async with self._sessions.begin_write() as session:
            return await session.scalar(statement) is not None

    async def acquire(self, name: str, holder: str, *, at: dt.datetime, expected: Lease | None) -> bool:
        """Take a duty that is as it was last seen: free, or not renewed since; False where that has changed."""
        async with self._sessions.begin_write() as session:
            if expected is None:
                return await insert_if_new(session, Lease(name=name, holder=holder, renewed_at=at), key="name")
            same = (
                col(Lease.name) == name,
                col(Lease.holder) == expected.holder,
                col(Lease.renewed_at) == expected.renewed_at,
            )
            change = update(Lease).where(*same).values(holder=holder, renewed_at=at).returning(col(Lease.name))
            return await session.scalar(change) is not None

    async def release(self, name: str, holder: str) -> None:
        await self._execute(delete(Lease).where(col(Lease.name) == name, col(Lease.holder) == holder))


class IdempotencyStore(Queries, retries=False):
    """Requests that are carried out once, whichever process gets them."""

    async def claim(self, wanted: IdempotentRequest, *, expired_before: dt.datetime) -> IdempotentRequest | None:
        """Store a request that is about to be carried out; return the earlier one with its id where there is one."""
        mine = col(IdempotentRequest.id) == wanted.id
        async with self._sessions.begin_write() as session:
            await session.execute(
                delete(IdempotentRequest).where(mine, col(IdempotentRequest.created_at) < expired_before)
            )
            if await insert_if_new(session, wanted):
                return None
            earlier = (await session.scalars(select(IdempotentRequest).where(mine))).one_or_none()
            return earlier or wanted  # which was given up in this very moment: it counts as under way

    async def renew(self, request_id: str, *, at: dt.datetime) -> None:
        await self._execute(update(IdempotentRequest).where(col(IdempotentRequest.id) == request_id).values(seen_at=at))

    async def keep_answer(self, request_id: str, answer: str) -> None:
        await self._execute(
            update(IdempotentRequest).where(col(IdempotentRequest.id) == request_id).values(answer=answer)
        )

    async def release(self, request_id: str) -> None:
        """Forget a request that did nothing."""
        await self._execute(delete(IdempotentRequest).where(col(IdempotentRequest.id) == request_id))

    async def delete_before(self, before: dt.datetime) -> None:
        await self._execute(delete(IdempotentRequest).where(col(IdempotentRequest.created_at) < before))


class ScheduleStore(Queries, retries=False):
    """How far the scheduler came, stored in one transaction with the runs that it planned."""

    async def load_all(self) -> dict[int, Schedule]:
        return {schedule.source_id: schedule for schedule in await self._fetch_all(select(Schedule))}

    async def save(self, schedules: Sequence[Schedule]) -> None:
        """Store new or changed schedules; planned times before their `dealt_until` are never run."""
        await self._upsert(schedules, key=["source_id"], update=["cron", "timezone", "dealt_until"])

    async def delete(self, source_ids: Iterable[int]) -> None:
        await self._execute(delete(Schedule).where(col(Schedule.source_id).in_(list(source_ids))))

    async def advance(self, source_id: int, *, until: dt.datetime, runs: Sequence[Run]) -> bool:
        """Store new runs and that the planned times up to `until` are dealt with; False where another process did."""
        async with self._lock(Schedule, source_id) as (session, schedule):
            if schedule is None or schedule.dealt_until >= until:
                return False
            schedule.dealt_until = until
            for run in runs:
                if await insert_if_new(session, run) and run.status.is_final:
                    day = self._sessions.get_day(run.ended_at or run.planned_at)
                    await add_to_totals(session, day, [Addition(TotalKind.RUN, run.status)])
            return True

    async def rewind(self, schedule: Schedule, *, to: dt.datetime) -> Schedule:
        """Forget what was dealt with after an instant, because the clock was ahead; return the schedule as it is then.

        Rows of times that were only missed then go, so that these times come again. A run that was made stays: its
        planned time has had it.
        """
        async with self._lock(Schedule, schedule.source_id) as (session, stored):
            if stored is None or stored.dealt_until <= to:
                return stored or schedule
            stored.dealt_until = to
            ahead = (col(Run.source_id) == schedule.source_id, col(Run.planned_at) > to)
            never_begun = (col(Run.status) == RunStatus.CANCELLED, col(Run.started_at).is_(None))
            for run in await session.scalars(select(Run).where(*ahead, *never_begun)):
                if run.error is not None and run.error.code in MISSED_CODES:
                    await session.delete(run)
            return Schedule(**stored.model_dump())

    async def get_queued_run(self, source_id: int) -> Run | None:
        # The `+ 0` leaves only the index of the status: of the source there are runs of years, queued are few.
        mine = (col(Run.source_id) + 0 == source_id, col(Run.status) == RunStatus.QUEUED)
        return await self._fetch_first(select(Run).where(*mine).order_by(col(Run.planned_at)).limit(1))


_MAX_REPORTS = 100
_MAX_LAST_SUCCESSES = 1000
_STATEMENT_COUNTS = ("supported_by_code", "supported_by_model", "unchecked", "contradicted", "unsupported")
_METRIC_KINDS = (
    TotalKind.RUN,
    TotalKind.DELIVERY,
    TotalKind.ITEM,
    TotalKind.STATEMENT,
    TotalKind.CALL,
    TotalKind.RESEARCH,
    TotalKind.RESEARCH_COST,
)
_REPORT_STATUSES = (ResearchStatus.SUCCEEDED, ResearchStatus.DEGRADED)


class ReportMetrics(BaseModel):
    """How long a research with a report took, and its score in the names of the protocol."""

    seconds: float
    score: dict[str, Any]


class ResearchMetrics(BaseModel):
    """The researches by status, their model calls, and the latest 100 reports."""

    by_status: dict[str, int] = Field(default_factory=dict)
    tokens: int = 0
    cost: float = 0.0
    reports: list[ReportMetrics] = Field(default_factory=list)


class ServiceMetrics(BaseModel):
    """Counts of everything, of alarms the open ones; `oldest_queued_at` is when the oldest queued run was planned.

    What ended, was booked or was first seen counts even where pruning has deleted it since.

    `last_successes` are those of the enabled sources by name, the oldest thousand.
    `statements` are the sentences of summaries under the names that `Item.statements` has for their verdicts.
    """

    runs: dict[str, int] = Field(default_factory=dict)
    oldest_queued_at: dt.datetime | None = None
    sources: int = 0
    failing_sources: int = 0
    last_successes: dict[str, dt.datetime] = Field(default_factory=dict)
    items: int = 0
    model_calls: dict[str, int] = Field(default_factory=dict)
    tokens: int = 0
    deliveries: dict[str, int] = Field(default_factory=dict)
    alarms: dict[str, int] = Field(default_factory=dict)
    research: ResearchMetrics = Field(default_factory=ResearchMetrics)
    statements: dict[str, int] = Field(default_factory=dict)


class MetricsQueries(Queries, retries=False):
    async def load_service_metrics(self) -> ServiceMetrics:
        failing = (col(Source.enabled), col(Source.consecutive_failures) > 0)
        waiting = select(func.min(Run.planned_at)).where(col(Run.status) == RunStatus.QUEUED)
        open_alarms = col(Alarm.cleared_at).is_(None)
        successful = (
            select(col(Source.name), col(Source.last_success_at))
            .where(col(Source.enabled), col(Source.last_success_at).is_not(None))
            .order_by(col(Source.last_success_at))
            .limit(_MAX_LAST_SUCCESSES)
        )
        async with self._sessions.begin_read() as session:
            sums = await load_sums(session, _METRIC_KINDS)
            counts = {
                kind: {name: total.count for name, total in of_kind.items()}  # of all time
                for kind, of_kind in sums.items()
            }
            is_due = col(Delivery.status).in_((DeliveryStatus.WAITING, DeliveryStatus.QUEUED))
            return ServiceMetrics(
                alarms=await _count_by(session, col(Alarm.kind), open_alarms),
                deliveries=counts[TotalKind.DELIVERY] | await _count_by(session, col(Delivery.status), is_due),
                runs=counts[TotalKind.RUN] | await _count_by(session, col(Run.status), is_unfinished()),
                oldest_queued_at=await session.scalar(waiting),
                sources=await session.scalar(select(func.count()).where(col(Source.enabled))) or 0,
                failing_sources=await session.scalar(select(func.count()).where(*failing)) or 0,
                last_successes={row.name: row.last_success_at for row in await session.execute(successful)},
                items=counts[TotalKind.ITEM].get("", 0),
                model_calls=counts[TotalKind.CALL],
                tokens=round(sum(total.amount for total in sums[TotalKind.CALL].values())),
                research=await _load_research_metrics(
                    session, tokens=sums[TotalKind.RESEARCH][""].amount, cost=sums[TotalKind.RESEARCH_COST][""].amount
                ),
                statements={name: counts[TotalKind.STATEMENT].get(name, 0) for name in _STATEMENT_COUNTS},
            )

    async def count_statements(self, since: dt.date) -> dict[str, int]:
        """Return the sentences of the summaries of items that were first seen from that day on, by verdict."""
        async with self._sessions.begin_read() as session:
            counted = (await load_sums(session, [TotalKind.STATEMENT], since))[TotalKind.STATEMENT]
        return {name: counted[name].count for name in _STATEMENT_COUNTS}


async def _count_by(session: AsyncSession, column: Mapped[Any], *conditions: ColumnElement[bool]) -> dict[str, int]:
    rows = await session.execute(select(column, func.count()).where(*conditions).group_by(column))
    return {str(value): count for value, count in rows}


async def _load_research_metrics(session: AsyncSession, *, tokens: float, cost: float) -> ResearchMetrics:
    score = col(Research.outputs)[("reporting", "score")]
    latest = (
        select(col(Research.started_at), col(Research.ended_at), score)
        .where(col(Research.status).in_(_REPORT_STATUSES), col(Research.parent_id).is_(None))
        .order_by(col(Research.created_at).desc())
        .limit(_MAX_REPORTS)
    )
    return ResearchMetrics(
        by_status=await _count_by(session, col(Research.status)),
        tokens=round(tokens),
        cost=cost,
        reports=[
            ReportMetrics(seconds=(ended - started).total_seconds(), score=scored or {})
            for started, ended, scored in await session.execute(latest)
            if started is not None and ended is not None
        ],
    )
