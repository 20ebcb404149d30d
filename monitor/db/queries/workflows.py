"""The workflows of the queues, and the results of their finished steps."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, func, literal, select, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.sessions import Queries, build_insert, get_dialect, lock_decisions
from monitor.db.tables.research import Workflow, WorkflowState, WorkflowStep

MAX_ATTEMPTS = 20  # a workflow that took its process down so often is given up


@dataclass(frozen=True)
class QueueLimits:
    """How many workflows of a queue a worker takes now, and how many may run in all processes together."""

    free: int
    max_running: int | None = None


class WorkflowStore(Queries):
    async def enqueue(self, workflow: Workflow) -> None:
        """Put a workflow into its queue; one that is there already stays as it is."""
        await self._upsert([workflow], key=["id"])

    async def has_waiting(self) -> bool:
        waiting = select(col(Workflow.id)).where(col(Workflow.state) == WorkflowState.WAITING)
        return await self._fetch_first(waiting.limit(1)) is not None

    async def claim(
        self, executor: str, limits: Mapping[str, QueueLimits], *, version: str, at: dt.datetime
    ) -> list[Workflow]:
        """Take what may run now, the oldest first: one of each partition where none runs, and of this version."""
        taken: list[Workflow] = []
        async with self._sessions.begin_write() as session:
            await lock_decisions(session)  # the partitions that run are asked before one is taken
            for queue, limit in limits.items():
                for workflow in await _list_next(session, queue, limit, version):
                    if workflow.attempts >= MAX_ATTEMPTS:
                        workflow.state, workflow.ended_at = WorkflowState.FAILED, at
                        continue
                    workflow.state, workflow.executor = WorkflowState.RUNNING, executor
                    workflow.attempts += 1
                    taken.append(workflow)
        return taken

    async def load_steps(self, workflow_id: str) -> dict[str, Any]:
        """The results of the finished steps by their names, in the order in which they ended."""
        query = select(col(WorkflowStep.name), col(WorkflowStep.result))
        rows = await self._fetch_rows(
            query.where(col(WorkflowStep.workflow_id) == workflow_id).order_by(col(WorkflowStep.number))
        )
        return dict(row.tuple() for row in rows)

    async def save_step(self, workflow: Workflow, step: WorkflowStep) -> bool:
        """Keep the result of a step; False where another process has the workflow by now."""
        values = [literal(getattr(step, name), column.type) for name, column in _STEP_COLUMNS.items()]
        mine = select(*values).where(*_is_held(workflow))
        async with self._sessions.begin_write() as session:
            statement = build_insert(get_dialect(session), WorkflowStep).from_select([*_STEP_COLUMNS], mine)
            return await session.scalar(statement.returning(col(WorkflowStep.name))) is not None

    async def fail(self, workflow: Workflow, *, at: dt.datetime) -> None:
        """Nobody goes on with a workflow: an error ended it."""
        ended = {"state": WorkflowState.FAILED, "ended_at": at}
        await self._execute(update(Workflow).where(*_is_held(workflow)).values(ended))

    async def end(self, workflow: Workflow, *, at: dt.datetime, is_kept: bool) -> None:
        """A workflow is done; its row and its steps go, unless they are to be kept for a while."""
        if is_kept:
            ended = {"state": WorkflowState.ENDED, "ended_at": at}
            await self._execute(update(Workflow).where(*_is_held(workflow)).values(ended))
        else:
            await self._execute(delete(Workflow).where(*_is_held(workflow)))

    async def release(self, executor: str) -> None:
        """Put back what an executor had in hand when it ended."""
        held = (col(Workflow.executor) == executor, col(Workflow.state) == WorkflowState.RUNNING)
        await self._execute(update(Workflow).where(*held).values(state=WorkflowState.WAITING))

    async def requeue(self, workflow: Workflow) -> None:
        """Put back what a dead executor had in hand; its finished steps stay."""
        await self._execute(update(Workflow).where(*_is_held(workflow)).values(state=WorkflowState.WAITING))

    async def rewind(self, workflow_id: str, steps: Collection[str], *, partition: str, version: str) -> None:
        """Queue an ended workflow again, to repeat these steps and what follows them."""
        again = {"state": WorkflowState.WAITING, "partition": partition, "version": version, "attempts": 1}
        of_steps = (col(WorkflowStep.workflow_id) == workflow_id, col(WorkflowStep.name).in_(steps))
        async with self._sessions.begin_write() as session:
            await session.execute(delete(WorkflowStep).where(*of_steps))
            await session.execute(
                update(Workflow).where(col(Workflow.id) == workflow_id).values(again | {"ended_at": None})
            )

    async def delete(self, workflow_id: str) -> None:
        await self._execute(delete(Workflow).where(col(Workflow.id) == workflow_id))

    async def delete_ended(self, before: dt.datetime, *, limit: int) -> None:
        """Remove workflows that ended before an instant, with their steps."""
        ended = select(col(Workflow.id)).where(col(Workflow.ended_at) < before).limit(limit)
        if found := await self._fetch_all(ended):
            await self._execute(delete(Workflow).where(col(Workflow.id).in_(found)))

    async def get_states(self, workflow_ids: Sequence[str]) -> dict[str, WorkflowState]:
        """The states of those that are there."""
        return {flow.id: flow.state for flow in await self._fetch_in(select(Workflow), col(Workflow.id), workflow_ids)}

    async def list_running(self) -> list[Workflow]:
        return await self._fetch_all(select(Workflow).where(col(Workflow.state) == WorkflowState.RUNNING))

    async def list_outdated(self, queue: str, *, version: str) -> list[str]:
        """The ids of what waits or runs and began with another version."""
        open_states = col(Workflow.state).in_([WorkflowState.WAITING, WorkflowState.RUNNING])
        other = (col(Workflow.queue) == queue, open_states, col(Workflow.version) != version)
        return await self._fetch_all(select(col(Workflow.id)).where(*other))


_STEP_COLUMNS = {name: WorkflowStep.__table__.c[name] for name in WorkflowStep.model_fields}  # type: ignore[attr-defined]


async def _list_next(session: AsyncSession, queue: str, limit: QueueLimits, version: str) -> Sequence[Workflow]:
    of_queue = col(Workflow.queue) == queue
    running = select(col(Workflow.partition)).where(of_queue, col(Workflow.state) == WorkflowState.RUNNING)
    count = limit.free
    if limit.max_running is not None:
        at_work = await session.scalar(running.with_only_columns(func.count())) or 0
        count = min(count, limit.max_running - at_work)
    if count <= 0:
        return []
    age = (col(Workflow.created_at), col(Workflow.id))
    place = func.row_number().over(partition_by=col(Workflow.partition), order_by=age).label("place")
    is_waiting = (of_queue, col(Workflow.state) == WorkflowState.WAITING, col(Workflow.version) == version)
    waiting = select(col(Workflow.id), place).where(*is_waiting, col(Workflow.partition).not_in(running)).subquery()
    query = select(Workflow).join(waiting, waiting.c.id == col(Workflow.id)).where(waiting.c.place == 1)
    return (await session.scalars(query.order_by(*age).limit(count))).all()


def _is_held(workflow: Workflow) -> tuple[Any, ...]:
    """The workflow is still in the hands, and at the attempt, that it is known to be in."""
    return (
        col(Workflow.id) == workflow.id,
        col(Workflow.state) == WorkflowState.RUNNING,
        col(Workflow.executor) == workflow.executor,
        col(Workflow.attempts) == workflow.attempts,
    )
