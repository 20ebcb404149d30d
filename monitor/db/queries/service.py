"""Who is at work: the processes that carry out runs, and the duties that one of them has at a time."""

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.sessions import Queries, build_insert, get_dialect, upsert_rows
from monitor.db.tables.collection import Item, ModelCall, Run, Source
from monitor.db.tables.delivery import Alarm, Delivery
from monitor.db.tables.research import Executor, Lease, Research, ResearchStatus, Schedule
from monitor.vocabulary import RunStatus

_HEARTBEAT_COLUMNS = ("kind", "host", "pid", "token", "started_at", "seen_at")


class ExecutorStore(Queries, retries=False):
    """The processes that said that they are alive."""

    async def record_heartbeat(self, executor: Executor) -> None:
        """Say that a process is alive; a new one takes the place of a namesake."""
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, Executor, [executor.model_dump()], key=["id"], update=_HEARTBEAT_COLUMNS)

    async def remove(self, executor_id: str, *, token: str) -> None:
        """Strike a process out; one that has taken its name meanwhile stays."""
        mine = (col(Executor.id) == executor_id, col(Executor.token) == token)
        await self._execute(delete(Executor).where(*mine))

    async def delete_stale(self, before: dt.datetime) -> None:
        """Strike out those that were last seen before an instant."""
        await self._execute(delete(Executor).where(col(Executor.seen_at) < before))

    async def list_all(self) -> list[Executor]:
        """Every process that did not end in good order, alive or not."""
        return await self._fetch_all(select(Executor).order_by(col(Executor.id)))


class LeaseStore(Queries, retries=False):
    """Duties. No clock is compared: whoever waits watches whether the holder's mark still changes."""

    async def get(self, name: str) -> Lease | None:
        """Who has the duty, with the mark of the last renewal; None where nobody has."""
        async with self._sessions.begin_read() as session:
            return await session.get(Lease, name)

    async def renew(self, name: str, holder: str, *, at: dt.datetime) -> bool:
        """Keep a duty that one has; False where it is not one's own (any more)."""
        mine = (col(Lease.name) == name, col(Lease.holder) == holder)
        statement = update(Lease).where(*mine).values(renewed_at=at).returning(col(Lease.name))
        async with self._sessions.begin_write() as session:
            return await session.scalar(statement) is not None

    async def acquire(self, name: str, holder: str, *, at: dt.datetime, expected: Lease | None) -> bool:
        """Take a duty as it was last seen: free, or with a holder that has not renewed since. False if it moved."""
        async with self._sessions.begin_write() as session:
            if expected is None:
                row = {"name": name, "holder": holder, "renewed_at": at}
                statement = (
                    build_insert(get_dialect(session), Lease)
                    .values(row)
                    .on_conflict_do_nothing(index_elements=["name"])
                )
                return await session.scalar(statement.returning(col(Lease.name))) is not None
            same = (
                col(Lease.name) == name,
                col(Lease.holder) == expected.holder,
                col(Lease.renewed_at) == expected.renewed_at,
            )
            change = update(Lease).where(*same).values(holder=holder, renewed_at=at).returning(col(Lease.name))
            return await session.scalar(change) is not None

    async def release(self, name: str, holder: str) -> None:
        """Leave a duty, so that the next one need not wait."""
        await self._execute(delete(Lease).where(col(Lease.name) == name, col(Lease.holder) == holder))


class ScheduleStore(Queries, retries=False):
    """The memory of the scheduler: what it decides is written in one transaction with how far it came."""

    async def load_all(self) -> dict[int, Schedule]:
        """Every schedule, by the number of its source."""
        async with self._sessions.begin_read() as session:
            return {row.source_id: row for row in await session.scalars(select(Schedule))}

    async def save(self, schedules: Sequence[Schedule]) -> None:
        """Begin with new or changed schedules: what lies before their `dealt_until` is nobody's business."""
        rows = [schedule.model_dump() for schedule in schedules]
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, Schedule, rows, key=["source_id"], update=["cron", "timezone", "dealt_until"])

    async def delete(self, source_ids: Iterable[int]) -> None:
        """Forget schedules, of sources that are not run any more."""
        await self._execute(delete(Schedule).where(col(Schedule.source_id).in_(list(source_ids))))

    async def advance(self, source_id: int, *, until: dt.datetime, runs: Sequence[Run]) -> bool:
        """Put the runs on record and the planned times up to `until` behind us; False where another one did already.

        A run whose id is there stays as it is.
        """
        async with self._sessions.begin_write() as session:
            schedule = await session.get(Schedule, source_id, with_for_update=True)
            if schedule is None or schedule.dealt_until >= until:
                return False
            schedule.dealt_until = until
            for run in runs:
                statement = build_insert(get_dialect(session), Run).values(run.model_dump())
                await session.execute(statement.on_conflict_do_nothing(index_elements=["id"]))
            return True

    async def get_queued_run(self, source_id: int) -> Run | None:
        """The run of a source that was planned and has not begun; None where there is none."""
        mine = (col(Run.source_id) == source_id, col(Run.status) == RunStatus.QUEUED)
        return await self._fetch_first(select(Run).where(*mine).order_by(col(Run.planned_at)).limit(1))


_MAX_REPORTS = 100
_REPORT_STATUSES = (ResearchStatus.SUCCEEDED, ResearchStatus.DEGRADED)


class ReportMetrics(BaseModel):
    """How long a research took that has a report, and how its report scored, in the names of the protocol."""

    seconds: float
    score: dict[str, Any]


class ResearchMetrics(BaseModel):
    """How many researches there are by status, what their model calls took, and the latest 100 reports."""

    by_status: dict[str, int] = Field(default_factory=dict)
    tokens: int = 0
    cost: float = 0.0
    reports: list[ReportMetrics] = Field(default_factory=list)


class ServiceMetrics(BaseModel):
    """How much there is of everything; of alarms, those that are open.

    `oldest_queued_at`: since when the longest waiting run could have begun.
    """

    runs: dict[str, int] = Field(default_factory=dict)
    oldest_queued_at: dt.datetime | None = None
    sources: int = 0
    failing_sources: int = 0
    items: int = 0
    model_calls: dict[str, int] = Field(default_factory=dict)
    tokens: int = 0
    deliveries: dict[str, int] = Field(default_factory=dict)
    alarms: dict[str, int] = Field(default_factory=dict)
    research: ResearchMetrics = Field(default_factory=ResearchMetrics)


class MetricsQueries(Queries, retries=False):
    async def load_service_metrics(self) -> ServiceMetrics:
        spent = func.sum(col(ModelCall.prompt_tokens) + col(ModelCall.completion_tokens))
        failing = (col(Source.enabled), col(Source.consecutive_failures) > 0)
        waiting = select(func.min(Run.planned_at)).where(col(Run.status) == RunStatus.QUEUED)
        async with self._sessions.begin_read() as session:
            runs = await session.execute(select(col(Run.status), func.count()).group_by(col(Run.status)))
            calls = await session.execute(select(col(ModelCall.outcome), func.count()).group_by(col(ModelCall.outcome)))
            states = await session.execute(select(col(Delivery.status), func.count()).group_by(col(Delivery.status)))
            open_ones = select(col(Alarm.kind), func.count()).where(col(Alarm.cleared_at).is_(None))
            alarms = await session.execute(open_ones.group_by(col(Alarm.kind)))
            return ServiceMetrics(
                alarms={str(kind): count for kind, count in alarms},
                deliveries={str(status): count for status, count in states},
                runs={str(status): count for status, count in runs},
                oldest_queued_at=await session.scalar(waiting),
                sources=await session.scalar(select(func.count()).where(col(Source.enabled))) or 0,
                failing_sources=await session.scalar(select(func.count()).where(*failing)) or 0,
                items=await session.scalar(select(func.count()).select_from(Item)) or 0,
                model_calls={str(outcome): count for outcome, count in calls},
                tokens=await session.scalar(select(spent)) or 0,
                research=await _load_research_metrics(session),
            )


async def _load_research_metrics(session: AsyncSession) -> ResearchMetrics:
    standing = await session.execute(select(col(Research.status), func.count()).group_by(col(Research.status)))
    tokens = func.sum(col(ModelCall.prompt_tokens) + col(ModelCall.completion_tokens))
    spent = select(tokens, func.sum(col(ModelCall.cost))).join(Research, col(Research.id) == col(ModelCall.run_id))
    score = col(Research.outputs)[("reporting", "score")]
    latest = (
        select(col(Research.started_at), col(Research.ended_at), score)
        .where(col(Research.status).in_(_REPORT_STATUSES))
        .order_by(col(Research.created_at).desc())
        .limit(_MAX_REPORTS)
    )
    taken, cost = (await session.execute(spent)).one()
    return ResearchMetrics(
        by_status={str(status): count for status, count in standing},
        tokens=taken or 0,
        cost=cost or 0.0,
        reports=[
            ReportMetrics(seconds=(ended - started).total_seconds(), score=scored or {})
            for started, ended, scored in await session.execute(latest)
            if started is not None and ended is not None
        ],
    )
