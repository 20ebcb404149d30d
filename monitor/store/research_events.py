"""What researches tell while they go: the messages of their streams, in their order."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, insert, select
from sqlmodel import col

from monitor.domain.research import Research, ResearchEvent, ResearchStatus
from monitor.store.live import Standing
from monitor.store.patience import patient
from monitor.store.sessions import Sessions, storable_value


@patient
class ResearchEvents:
    """The messages. Their numbers rise in the order in which a research told them."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def add(self, events: Sequence[ResearchEvent], *, executor: str) -> list[int] | None:
        """Keep messages of one research, in one transaction; None where another executor has it, or it is gone.

        Answers their numbers. The research is locked meanwhile: two that write, for one of them was thought dead, do so
        one after another.
        """
        mine = select(col(Research.executor)).where(col(Research.id) == events[0].task_id).with_for_update()
        rows = [{**event.model_dump(exclude={"id"}), "data": storable_value(event.data)} for event in events]
        told = select(col(ResearchEvent.id)).where(col(ResearchEvent.task_id) == events[0].task_id)
        async with self._sessions.writing() as session:
            if await session.scalar(mine) != executor:
                return None
            # All rows in one go, which no database answers with their numbers in order; locked, they are the last ones.
            await session.execute(insert(ResearchEvent), rows)
            latest = await session.scalars(told.order_by(col(ResearchEvent.id).desc()).limit(len(rows)))
            return [number or 0 for number in reversed(latest.all())]

    async def after(self, task_id: str, number: int, *, limit: int = 500) -> list[ResearchEvent]:
        """The messages of a research that came after the one of that number, oldest first."""
        query = select(ResearchEvent).where(col(ResearchEvent.task_id) == task_id, col(ResearchEvent.id) > number)
        async with self._sessions.reading() as session:
            return list((await session.scalars(query.order_by(col(ResearchEvent.id)).limit(limit))).all())

    async def latest(self, task_id: str) -> ResearchEvent | None:
        """The last message of a research."""
        query = select(ResearchEvent).where(col(ResearchEvent.task_id) == task_id)
        async with self._sessions.reading() as session:
            return await session.scalar(query.order_by(col(ResearchEvent.id).desc()).limit(1))

    async def ended_steps(self, task_id: str) -> set[str]:
        """The steps whose end was told after they began last."""
        status, step = (col(ResearchEvent.data)[name].as_string() for name in ("status", "stepType"))
        last = func.max(col(ResearchEvent.id))
        query: Any = (
            select(step, last.filter(status == "start"), last.filter(status == "complete"))
            .where(col(ResearchEvent.task_id) == task_id)
            .group_by(step)
        )
        async with self._sessions.reading() as session:
            rows = (await session.execute(query)).all()
        return {name for name, began, ended in rows if ended is not None and ended > (began or 0)}

    async def standing(self, task_id: str) -> Standing[ResearchStatus] | None:
        """How a research stands; None where there is none of that id."""
        query = select(col(Research.status), col(Research.ended_at)).where(col(Research.id) == task_id)
        async with self._sessions.reading() as session:
            row = (await session.execute(query)).one_or_none()
            return None if row is None else Standing(*row)

    async def count(self, task_id: str) -> int:
        """How many messages of a research are kept."""
        query = select(func.count()).select_from(ResearchEvent).where(col(ResearchEvent.task_id) == task_id)
        async with self._sessions.reading() as session:
            return int(await session.scalar(query) or 0)
