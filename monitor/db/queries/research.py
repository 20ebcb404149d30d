"""Researches: what was asked, how far each one is, and what its steps gave."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.queries.runs import StatusSnapshot
from monitor.db.sessions import Queries, build_insert, get_dialect, sanitize_text, sanitize_value, upsert_rows
from monitor.db.tables.research import Research, ResearchEvent, ResearchParagraph, ResearchRemark, ResearchStatus
from monitor.i18n.message import Message

_ACTIVE_STATUSES = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
_OPEN_STATUSES = (*_ACTIVE_STATUSES, ResearchStatus.AWAITING_PLAN)
ResearchKey = tuple[dt.datetime, str]
"""Where the list goes on: when the last one that was shown was asked, and its id."""


class ResearchRow(NamedTuple):
    """A research as the history shows it; `score` is the report's, as it was kept with it."""

    id: str
    query: str
    status: ResearchStatus
    language: str
    asked_by: str
    created_at: dt.datetime
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    error: Message | None
    progress: float
    score: dict[str, Any] | None


class OpenResearch(NamedTuple):
    """A research that has not ended, as far as the queue is concerned."""

    id: str
    status: ResearchStatus
    attempt: int
    executor: str | None
    enqueued_at: dt.datetime | None

    @property
    def workflow_id(self) -> str:
        """The name under which the queue has it: another one each time that it is put there."""
        return f"{self.id}:{self.attempt}"


class ResearchStore(Queries):
    """The researches. What a killed one had kept stays, and it goes on from there."""

    async def create(self, research: Research) -> bool:
        """Put a research on record; False where its id is there already, which stays as it is."""
        values = {name: sanitize_value(value) for name, value in research.model_dump().items()}
        async with self._sessions.begin_write() as session:
            statement = build_insert(get_dialect(session), Research).values(values)
            new = await session.scalar(
                statement.on_conflict_do_nothing(index_elements=["id"]).returning(col(Research.id))
            )
            return new is not None

    async def get(self, task_id: str) -> Research | None:
        async with self._sessions.begin_read() as session:
            return await session.get(Research, task_id)

    async def list_rows(
        self, *, after: ResearchKey | None = None, text: str = "", limit: int = 50
    ) -> list[ResearchRow]:
        """The history, newest first, of those whose question holds the text; the reports are not loaded."""
        of_it = select(ResearchEvent.data["progress"].as_float()).where(col(ResearchEvent.task_id) == Research.id)
        progress = of_it.order_by(col(ResearchEvent.id).desc()).limit(1).scalar_subquery()
        names = [name for name in ResearchRow._fields if name not in ("progress", "score")]
        score = col(Research.outputs)[("reporting", "score")]
        key = (col(Research.created_at), col(Research.id))
        query = select(*(getattr(Research, name) for name in names), func.coalesce(progress, 0.0), score)
        if after is not None:
            query = query.where(tuple_(*key) < tuple_(*after))
        if text:
            query = query.where(col(Research.query).icontains(sanitize_text(text), autoescape=True))
        async with self._sessions.begin_read() as session:
            found = await session.execute(query.order_by(*(column.desc() for column in key)).limit(limit))
            return [ResearchRow(*row) for row in found]

    async def claim(self, task_id: str, *, executor: str, at: dt.datetime) -> Research | None:
        """Begin a research, or go on with it after its process died; None where it has ended or waits for its plan."""
        async with self._sessions.begin_write() as session:
            research = await _load_for_update(session, task_id)
            if research is None or research.status not in _ACTIVE_STATUSES:
                return None
            research.status = ResearchStatus.RUNNING
            research.started_at = research.started_at or at
            research.executor = executor
            return research

    async def mark_awaiting_plan(self, task_id: str, *, executor: str) -> None:
        """Write down that a running research waits for a person to look at its plan."""
        waiting = {"status": ResearchStatus.AWAITING_PLAN, "executor": None, "enqueued_at": None}
        await self._update_where(task_id, (ResearchStatus.RUNNING,), executor, **waiting)

    async def approve(
        self,
        task_id: str,
        *,
        state: Mapping[str, Any],
        paragraphs: Sequence[Mapping[str, Any]],
        plan: Mapping[str, Any],
        event: ResearchEvent,
    ) -> bool:
        """Let a research that waits go on by this plan; False where it does not wait. `plan` is its step's output."""
        async with self._sessions.begin_write() as session:
            research = await _load_for_update(session, task_id)
            if research is None or research.status is not ResearchStatus.AWAITING_PLAN:
                return False
            await _save_plan(session, task_id, state, paragraphs)
            research.outputs = {**research.outputs, "plan": sanitize_value(dict(plan))}
            research.is_plan_approved, research.status = True, ResearchStatus.QUEUED
            research.attempt, research.enqueued_at = research.attempt + 1, None
            await _add_events(session, [event])
            return True

    async def resume(self, task_id: str, *, executor: str | None) -> bool:
        """Have one that failed or was cancelled done again from where it was; False where it is neither.

        Without an executor it waits in the queue.
        """
        async with self._sessions.begin_write() as session:
            research = await _load_for_update(session, task_id)
            if research is None or research.status not in (ResearchStatus.FAILED, ResearchStatus.CANCELLED):
                return False
            research.status = ResearchStatus.RUNNING if executor else ResearchStatus.QUEUED
            research.executor, research.enqueued_at = executor, None
            research.attempt += 1
            research.ended_at, research.error, research.is_cancel_requested = None, None, False
            return True

    async def request_cancel(self, task_id: str, *, at: dt.datetime, event: ResearchEvent) -> ResearchStatus | None:
        """Ask a research to stop; None where there is none of that id, or it has ended. Answers how it stands then.

        One that nobody has begun, or that waits for its plan, is cancelled at once, and `told` is its last event.
        """
        async with self._sessions.begin_write() as session:
            research = await _load_for_update(session, task_id)
            if research is None or research.status.is_final:
                return None
            research.is_cancel_requested = True
            if research.status is not ResearchStatus.RUNNING:
                research.status, research.ended_at = ResearchStatus.CANCELLED, at
                await _add_events(session, [event])
            return research.status

    async def list_cancel_requested(self, task_ids: Collection[str]) -> set[str]:
        """Those of the researches that somebody asked to stop."""
        asked = select(col(Research.id)).where(col(Research.id).in_(task_ids), col(Research.is_cancel_requested))
        async with self._sessions.begin_read() as session:
            return set(await session.scalars(asked))

    async def end(
        self, task_id: str, *, executor: str, status: ResearchStatus, at: dt.datetime, error: Message | None = None
    ) -> bool:
        """Write down how a research ended, its last event being told; False where this executor does not have it."""
        values = {"status": status, "ended_at": at, "error": error}
        return await self._update_where(task_id, (ResearchStatus.RUNNING,), executor, **values)

    async def abandon(
        self,
        task_id: str,
        *,
        reason: Message,
        at: dt.datetime,
        executor: str | None,
        event: ResearchEvent,
        status: ResearchStatus = ResearchStatus.FAILED,
    ) -> bool:
        """End a research that nobody carries out any more; False where it ended or moved on meanwhile."""
        async with self._sessions.begin_write() as session:
            research = await _load_for_update(session, task_id)
            if research is None or research.status not in _ACTIVE_STATUSES or research.executor != executor:
                return False
            research.status, research.ended_at, research.error = status, at, reason
            await _add_events(session, [event])
            return True

    async def list_open(self) -> list[OpenResearch]:
        """The researches that have not ended, oldest first."""
        return await self._select_open(col(Research.status).in_(_OPEN_STATUSES))

    async def list_unqueued(self, limit: int = 200) -> list[OpenResearch]:
        """Queued researches that no worker has put into its queue yet, oldest first."""
        waiting = (col(Research.status) == ResearchStatus.QUEUED, col(Research.enqueued_at).is_(None))
        return await self._select_open(*waiting, limit=limit)

    async def mark_enqueued(self, task_id: str, *, at: dt.datetime) -> None:
        """Write down that a research stands in the queue."""
        await self._update_where(task_id, _ACTIVE_STATUSES, enqueued_at=at)

    async def requeue(self, task_id: str) -> None:
        """Have a research that has not ended put into the queue anew."""
        await self._update_where(task_id, _ACTIVE_STATUSES, status=ResearchStatus.QUEUED, enqueued_at=None)

    async def load_notebook(self, task_id: str) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """The plan with its title, None before there is one, and the paragraphs in their order."""
        mine = select(col(ResearchParagraph.data)).where(col(ResearchParagraph.task_id) == task_id)
        async with self._sessions.begin_read() as session:
            state = await session.scalar(select(col(Research.state)).where(col(Research.id) == task_id))
            return state, list(await session.scalars(mine.order_by(col(ResearchParagraph.ordinal))))

    async def save_plan(self, task_id: str, state: Mapping[str, Any], paragraphs: Sequence[Mapping[str, Any]]) -> None:
        """Keep a plan with its paragraphs in place of those that were there."""
        async with self._sessions.begin_write() as session:
            await _save_plan(session, task_id, state, paragraphs)

    async def save_paragraph(self, task_id: str, ordinal: int, data: Mapping[str, Any]) -> None:
        """Keep a paragraph as it stands."""
        row = {"task_id": task_id, "ordinal": ordinal, "data": sanitize_value(dict(data))}
        async with self._sessions.begin_write() as session:
            await upsert_rows(session, ResearchParagraph, [row], key=["task_id", "ordinal"], update=["data"])

    async def load_output(self, task_id: str, step: str) -> dict[str, Any] | None:
        return await self._fetch_first(select(col(Research.outputs)[step]).where(col(Research.id) == task_id))

    async def save_output(self, task_id: str, step: str, output: Mapping[str, Any]) -> None:
        async with self._sessions.begin_write() as session:
            research = await _load_for_update(session, task_id)
            if research is not None:
                research.outputs = {**research.outputs, step: sanitize_value(dict(output))}

    async def add_remark(self, remark: ResearchRemark) -> bool:
        """Keep what a person said; False where the research has ended."""
        values = remark.model_dump(exclude={"id"}) | {"text": sanitize_text(remark.text)}
        async with self._sessions.begin_write() as session:
            status = await session.scalar(select(col(Research.status)).where(col(Research.id) == remark.task_id))
            if status is None or status.is_final:
                return False
            await session.execute(insert(ResearchRemark), [values])
            return True

    async def list_remarks(self, task_id: str) -> list[ResearchRemark]:
        """What people said while a research ran, in that order."""
        mine = select(ResearchRemark).where(col(ResearchRemark.task_id) == task_id)
        return await self._fetch_all(mine.order_by(col(ResearchRemark.id)))

    async def load_latest_remark(self, task_id: str) -> str:
        """What was said last; empty where nothing was."""
        mine = select(col(ResearchRemark.text)).where(col(ResearchRemark.task_id) == task_id)
        async with self._sessions.begin_read() as session:
            return await session.scalar(mine.order_by(col(ResearchRemark.id).desc()).limit(1)) or ""

    async def _select_open(self, *which: Any, limit: int | None = None) -> list[OpenResearch]:
        columns = [getattr(Research, name) for name in OpenResearch._fields]
        query = select(*columns).where(*which).order_by(col(Research.created_at)).limit(limit)
        async with self._sessions.begin_read() as session:
            return [OpenResearch(*row) for row in await session.execute(query)]

    async def _update_where(
        self, task_id: str, while_it_is: Sequence[ResearchStatus], by: str | None = None, /, **values: Any
    ) -> bool:
        """Change the row, if its status is one of these and, where `by` is given, that executor has it."""
        mine = (col(Research.id) == task_id, col(Research.status).in_(while_it_is))
        statement = (
            update(Research).where(*mine) if by is None else update(Research).where(*mine, col(Research.executor) == by)
        )
        async with self._sessions.begin_write() as session:
            return await session.scalar(statement.values(values).returning(col(Research.id))) is not None


async def _load_for_update(session: AsyncSession, task_id: str) -> Research | None:
    """The row, which nobody else changes until the transaction ends."""
    return await session.get(Research, task_id, with_for_update=True)


async def _save_plan(
    session: AsyncSession, task_id: str, state: Mapping[str, Any], paragraphs: Sequence[Mapping[str, Any]]
) -> None:
    await session.execute(update(Research).where(col(Research.id) == task_id).values(state=sanitize_value(dict(state))))
    await session.execute(delete(ResearchParagraph).where(col(ResearchParagraph.task_id) == task_id))
    rows = [
        {"task_id": task_id, "ordinal": ordinal, "data": sanitize_value(dict(data))}
        for ordinal, data in enumerate(paragraphs)
    ]
    if rows:
        await session.execute(insert(ResearchParagraph), rows)


async def _add_events(session: AsyncSession, events: Sequence[ResearchEvent]) -> None:
    await session.execute(insert(ResearchEvent), [event.model_dump(exclude={"id"}) for event in events])


class ResearchEventStore(Queries):
    """The messages. Their numbers rise in the order in which a research told them."""

    async def add(self, events: Sequence[ResearchEvent], *, executor: str) -> list[int] | None:
        """Keep messages of one research, in one transaction; None where another executor has it, or it is gone.

        Answers their numbers. The research is locked meanwhile: two that write, for one of them was thought dead, do so
        one after another.
        """
        mine = select(col(Research.executor)).where(col(Research.id) == events[0].task_id).with_for_update()
        rows = [{**event.model_dump(exclude={"id"}), "data": sanitize_value(event.data)} for event in events]
        rows_of_task = select(col(ResearchEvent.id)).where(col(ResearchEvent.task_id) == events[0].task_id)
        async with self._sessions.begin_write() as session:
            if await session.scalar(mine) != executor:
                return None
            # All rows in one go, which no database answers with their numbers in order; locked, they are the last ones.
            await session.execute(insert(ResearchEvent), rows)
            latest = await session.scalars(rows_of_task.order_by(col(ResearchEvent.id).desc()).limit(len(rows)))
            return [number or 0 for number in reversed(latest.all())]

    async def after(self, task_id: str, number: int, *, limit: int = 500) -> list[ResearchEvent]:
        """The messages of a research that came after the one of that number, oldest first."""
        query = select(ResearchEvent).where(col(ResearchEvent.task_id) == task_id, col(ResearchEvent.id) > number)
        return await self._fetch_all(query.order_by(col(ResearchEvent.id)).limit(limit))

    async def latest(self, task_id: str) -> ResearchEvent | None:
        """The last message of a research."""
        query = select(ResearchEvent).where(col(ResearchEvent.task_id) == task_id)
        return await self._fetch_first(query.order_by(col(ResearchEvent.id).desc()).limit(1))

    async def list_ended_steps(self, task_id: str) -> set[str]:
        """The steps whose end was told after they began last."""
        status, step = (col(ResearchEvent.data)[name].as_string() for name in ("status", "stepType"))
        last = func.max(col(ResearchEvent.id))
        query: Any = (
            select(step, last.filter(status == "start"), last.filter(status == "complete"))
            .where(col(ResearchEvent.task_id) == task_id)
            .group_by(step)
        )
        async with self._sessions.begin_read() as session:
            rows = (await session.execute(query)).all()
        return {name for name, began, ended in rows if ended is not None and ended > (began or 0)}

    async def get_status(self, task_id: str) -> StatusSnapshot[ResearchStatus] | None:
        """How a research stands; None where there is none of that id."""
        query = select(col(Research.status), col(Research.ended_at)).where(col(Research.id) == task_id)
        async with self._sessions.begin_read() as session:
            row = (await session.execute(query)).one_or_none()
            return None if row is None else StatusSnapshot(*row)

    async def count(self, task_id: str) -> int:
        """How many messages of a research are kept."""
        query = select(func.count()).select_from(ResearchEvent).where(col(ResearchEvent.task_id) == task_id)
        async with self._sessions.begin_read() as session:
            return int(await session.scalar(query) or 0)
