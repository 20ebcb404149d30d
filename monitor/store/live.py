"""What runs tell of themselves while they are watched: events, in their order."""

import datetime as dt
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from sqlalchemy import func, insert, select
from sqlmodel import col

from monitor.domain.live import RunEvent
from monitor.domain.tables import Run
from monitor.domain.words import EventKind, RunStatus
from monitor.store.patience import patient
from monitor.store.sessions import Sessions

S = TypeVar("S")


class Standing(NamedTuple, Generic[S]):
    """How a run or a research stands."""

    status: S
    ended_at: dt.datetime | None


@patient
class Live:
    """The events of runs. Their numbers rise in the order in which a run told them."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def add(self, events: Sequence[RunEvent]) -> int:
        """Keep events of any runs, in one transaction; those of runs that are gone are left out. Answers how many."""
        asked = select(col(Run.id)).where(col(Run.id).in_({event.run_id for event in events}))
        async with self._sessions.writing() as session:
            there = set(await session.scalars(asked))
            rows = [event.model_dump(exclude={"id"}) for event in events if event.run_id in there]
            if rows:
                await session.execute(insert(RunEvent), rows)
        return len(rows)

    async def after(self, run_id: str, number: int, *, limit: int = 500) -> list[RunEvent]:
        """The events of a run that came after the one of that number, oldest first."""
        query = select(RunEvent).where(col(RunEvent.run_id) == run_id, col(RunEvent.id) > number)
        async with self._sessions.reading() as session:
            return list((await session.scalars(query.order_by(col(RunEvent.id)).limit(limit))).all())

    async def latest(self, run_id: str, kind: EventKind | None = None) -> RunEvent | None:
        """The last event of a run, or the last of its kind."""
        query = select(RunEvent).where(col(RunEvent.run_id) == run_id)
        if kind is not None:
            query = query.where(col(RunEvent.kind) == kind)
        async with self._sessions.reading() as session:
            return await session.scalar(query.order_by(col(RunEvent.id).desc()).limit(1))

    async def standing(self, run_id: str) -> Standing[RunStatus] | None:
        """How a run stands; None where there is none of that id."""
        query = select(col(Run.status), col(Run.ended_at)).where(col(Run.id) == run_id)
        async with self._sessions.reading() as session:
            row = (await session.execute(query)).one_or_none()
            return None if row is None else Standing(*row)

    async def count(self, run_id: str) -> int:
        """How many events of a run are kept."""
        query = select(func.count()).select_from(RunEvent).where(col(RunEvent.run_id) == run_id)
        async with self._sessions.reading() as session:
            return int(await session.scalar(query) or 0)
