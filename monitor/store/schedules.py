"""How far the planned times of each source were dealt with."""

import datetime as dt
from collections.abc import Iterable, Sequence

from sqlalchemy import delete, select
from sqlmodel import col

from monitor.domain.service import Schedule
from monitor.domain.tables import Run
from monitor.domain.words import RunStatus
from monitor.store.sessions import Sessions, dialect_of, insert_for, insert_or


class Schedules:
    """The memory of the scheduler: what it decides is written in one transaction with how far it came."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def all(self) -> dict[int, Schedule]:
        """Every schedule, by the number of its source."""
        async with self._sessions.reading() as session:
            return {row.source_id: row for row in await session.scalars(select(Schedule))}

    async def begin(self, schedules: Sequence[Schedule]) -> None:
        """Begin with new or changed schedules: what lies before their `dealt_until` is nobody's business."""
        rows = [schedule.model_dump() for schedule in schedules]
        async with self._sessions.writing() as session:
            await insert_or(session, Schedule, rows, key=["source_id"], update=["cron", "timezone", "dealt_until"])

    async def drop(self, source_ids: Iterable[int]) -> None:
        """Forget schedules, of sources that are not run any more."""
        async with self._sessions.writing() as session:
            await session.execute(delete(Schedule).where(col(Schedule.source_id).in_(list(source_ids))))

    async def settle(self, source_id: int, *, until: dt.datetime, runs: Sequence[Run]) -> bool:
        """Put the runs on record and the planned times up to `until` behind us; False where another one did already.

        A run whose id is there stays as it is.
        """
        async with self._sessions.writing() as session:
            schedule = await session.get(Schedule, source_id, with_for_update=True)
            if schedule is None or schedule.dealt_until >= until:
                return False
            schedule.dealt_until = until
            for run in runs:
                statement = insert_for(dialect_of(session), Run).values(run.model_dump())
                await session.execute(statement.on_conflict_do_nothing(index_elements=["id"]))
            return True

    async def waiting(self, source_id: int) -> Run | None:
        """The run of a source that was planned and has not begun; None where there is none."""
        mine = (col(Run.source_id) == source_id, col(Run.status) == RunStatus.QUEUED)
        async with self._sessions.reading() as session:
            return await session.scalar(select(Run).where(*mine).order_by(col(Run.planned_at)).limit(1))
