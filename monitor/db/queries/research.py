"""Researches: what was asked, how far each one is, and what its steps gave."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlmodel import col

from monitor.db.queries.filters import match_words
from monitor.db.queries.runs import EventStore
from monitor.db.queries.webhooks import EventFact, add_webhook_events
from monitor.db.sessions import Queries, insert_if_new, sanitize_text, sanitize_value
from monitor.db.tables.research import (
    ReportEdit,
    Research,
    ResearchDocument,
    ResearchEvent,
    ResearchParagraph,
    ResearchRemark,
    ResearchSchedule,
    ResearchStatus,
)
from monitor.db.tables.webhooks import WebhookEventType
from monitor.i18n.message import Message
from monitor.vocabulary import Visibility

_ACTIVE_STATUSES = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
_OPEN_STATUSES = (*_ACTIVE_STATUSES, ResearchStatus.AWAITING_PLAN)
ResearchKey = tuple[dt.datetime, str]  # when a research was asked, and its id


class ResearchRow(NamedTuple):
    id: str
    query: str
    status: ResearchStatus
    language: str
    asked_by: str
    team_id: int | None
    visibility: Visibility
    created_at: dt.datetime
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    error: Message | None
    progress: float
    score: dict[str, Any] | None


class EditionRow(NamedTuple):
    """One of the researches that a schedule began, or the first of them."""

    id: str
    status: ResearchStatus
    asked_by: str
    visibility: Visibility
    created_at: dt.datetime
    ended_at: dt.datetime | None


class DocumentRow(NamedTuple):
    """A document of a research without its bytes."""

    number: int
    name: str
    kind: str
    size: int
    sha256: str
    pages: int
    pages_without_text: int
    is_cut: bool
    uploaded_by: str
    uploaded_at: dt.datetime
    record: str | None


class ReportEditRow(NamedTuple):
    """Who made a version of a report's text, and when; `is_verified`: it is the verified text again."""

    version: int
    edited_by: str
    edited_at: dt.datetime
    is_verified: bool


class OpenResearch(NamedTuple):
    """A research that has not ended, as far as the queue needs it."""

    id: str
    status: ResearchStatus
    attempt: int
    executor: str | None
    enqueued_at: dt.datetime | None

    @property
    def workflow_id(self) -> str:
        """Its id in the queue, another one for each attempt."""
        return f"{self.id}:{self.attempt}"


_SELECT_OPEN = select(*(getattr(Research, name) for name in OpenResearch._fields)).order_by(col(Research.created_at))


class ResearchStore(Queries):
    """What a killed research had stored stays, and it resumes from there."""

    async def create(self, research: Research) -> bool:
        """Store a research; False where its id is taken."""
        async with self._sessions.begin_write() as session:
            return await insert_if_new(session, research)

    async def get(self, task_id: str) -> Research | None:
        return await self._get(Research, task_id)

    async def list_rows(
        self, *, reader: str | None, after: ResearchKey | None = None, text: str = "", limit: int = 50
    ) -> list[ResearchRow]:
        """The researches whose question has all words of the text, newest first, without follow-ups or reports.

        Of those that are private only the ones of `reader`; None reads all.
        """
        of_it = select(ResearchEvent.data["progress"].as_float()).where(col(ResearchEvent.task_id) == Research.id)
        progress = func.coalesce(of_it.order_by(col(ResearchEvent.id).desc()).limit(1).scalar_subquery(), 0.0)
        score = col(Research.outputs)[("reporting", "score")]
        key = (col(Research.created_at), col(Research.id))
        columns = [getattr(Research, name) for name in ResearchRow._fields if name not in ("progress", "score")]
        query = select(*columns, progress.label("progress"), score.label("score")).where(
            col(Research.parent_id).is_(None)
        )
        if reader is not None:
            is_open = col(Research.visibility) == Visibility.OPEN
            query = query.where(is_open | (col(Research.asked_by) == sanitize_text(reader)))
        if after is not None:
            query = query.where(tuple_(*key) < tuple_(*after))
        if text:
            query = query.where(match_words(text, col(Research.query)))
        return await self._fetch_as(ResearchRow, query.order_by(*(column.desc() for column in key)).limit(limit))

    async def add_documents(self, documents: Sequence[ResearchDocument]) -> None:
        async with self._sessions.begin_write() as session:
            session.add_all(documents)

    async def list_documents(self, task_id: str) -> list[DocumentRow]:
        columns = [getattr(ResearchDocument, name) for name in DocumentRow._fields]
        mine = select(*columns).where(col(ResearchDocument.task_id) == task_id)
        return await self._fetch_as(DocumentRow, mine.order_by(col(ResearchDocument.number)))

    async def load_document_body(self, task_id: str, number: int) -> bytes | None:
        """Return the bytes of a document that is not kept as evidence yet."""
        mine = (col(ResearchDocument.task_id) == task_id, col(ResearchDocument.number) == number)
        return await self._fetch_first(select(col(ResearchDocument.body)).where(*mine))

    async def set_document_record(self, task_id: str, number: int, record: str) -> None:
        """Note that a document is kept as evidence now: its bytes are in that record alone."""
        mine = (col(ResearchDocument.task_id) == task_id, col(ResearchDocument.number) == number)
        await self._execute(update(ResearchDocument).where(*mine).values(record=record, body=None))

    async def list_report_edits(self, task_id: str) -> list[ReportEditRow]:
        """The versions of a report's text, oldest first."""
        kept = (col(ReportEdit.version), col(ReportEdit.edited_by), col(ReportEdit.edited_at))
        mine = select(*kept, col(ReportEdit.text).is_(None).label("is_verified")).where(
            col(ReportEdit.task_id) == task_id
        )
        return await self._fetch_as(ReportEditRow, mine.order_by(col(ReportEdit.version)))

    async def get_report_edit(self, task_id: str, version: int) -> ReportEdit | None:
        return await self._get(ReportEdit, (task_id, version))

    async def add_report_edit(self, edit: ReportEdit) -> bool:
        """Store the version that follows the last one; False where another one of that number came first."""
        last = select(func.max(col(ReportEdit.version))).where(col(ReportEdit.task_id) == edit.task_id)
        async with self._lock(Research, edit.task_id) as (session, _):
            if (await session.scalar(last) or 0) != edit.version - 1:
                return False
            await session.execute(insert(ReportEdit), [sanitize_value(edit.model_dump())])
            return True

    async def list_follow_ups(self, task_id: str) -> list[Research]:
        """The follow-up questions about a research, in the order in which they were asked."""
        mine = select(Research).where(col(Research.parent_id) == task_id)
        return await self._fetch_all(mine.order_by(col(Research.created_at), col(Research.id)))

    async def list_editions(self, first: str) -> list[EditionRow]:
        """The first research and those that its schedule began, newest first."""
        columns = [getattr(Research, name) for name in EditionRow._fields]
        mine = (col(Research.id) == first) | (col(Research.edition_of) == first)
        order = (col(Research.created_at).desc(), col(Research.id).desc())
        return await self._fetch_as(EditionRow, select(*columns).where(mine).order_by(*order))

    async def list_schedules(self) -> list[ResearchSchedule]:
        return await self._fetch_all(select(ResearchSchedule))

    async def get_schedule(self, task_id: str) -> ResearchSchedule | None:
        return await self._get(ResearchSchedule, task_id)

    async def save_schedule(self, schedule: ResearchSchedule) -> None:
        """Store a schedule; planned times before its `dealt_until` begin no edition."""
        await self._upsert([schedule], key=["task_id"], update=["cron", "timezone", "dealt_until"])

    async def delete_schedule(self, task_id: str) -> None:
        await self._execute(delete(ResearchSchedule).where(col(ResearchSchedule.task_id) == task_id))

    async def advance_schedule(
        self, schedule: ResearchSchedule, *, until: dt.datetime, edition: Research, paragraphs: Sequence[Any]
    ) -> bool:
        """Store an edition and that the times up to `until` are dealt with; False where that is so, or it changed."""
        async with self._lock(ResearchSchedule, schedule.task_id) as (session, stored):
            if stored is None or stored.cron != schedule.cron or stored.dealt_until >= until:
                return False
            stored.dealt_until = until
            if await insert_if_new(session, edition):
                await _save_plan(session, edition.id, edition.state or {}, paragraphs)
            return True

    async def rewind_schedule(self, schedule: ResearchSchedule, *, to: dt.datetime) -> None:
        """Let times after an instant come again, because the clock was ahead; an edition that was begun stays."""
        mine = (col(ResearchSchedule.task_id) == schedule.task_id, col(ResearchSchedule.dealt_until) > to)
        await self._execute(update(ResearchSchedule).where(*mine).values(dealt_until=to))

    async def claim(self, task_id: str, *, executor: str, at: dt.datetime) -> Research | None:
        """Start a research, or resume it after its process died; None where it has ended or waits for its plan."""
        async with self._lock(Research, task_id) as (_, research):
            if research is None or research.status not in _ACTIVE_STATUSES:
                return None
            research.status = ResearchStatus.RUNNING
            research.started_at = research.started_at or at
            research.executor = executor
            return research

    async def mark_awaiting_plan(self, task_id: str, *, executor: str) -> None:
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
        """Queue a waiting research with this plan; False where it does not wait. `plan` is its step's output."""
        async with self._lock(Research, task_id) as (session, research):
            if research is None or research.status is not ResearchStatus.AWAITING_PLAN:
                return False
            await _save_plan(session, task_id, state, paragraphs)
            research.outputs = {**research.outputs, "plan": sanitize_value(dict(plan))}
            research.is_plan_approved, research.status = True, ResearchStatus.QUEUED
            research.attempt, research.enqueued_at = research.attempt + 1, None
            await _add_events(session, [event])
            return True

    async def resume(self, task_id: str, *, executor: str | None) -> bool:
        """Resume a failed or cancelled research; False where it is neither. Without an executor it is queued."""
        async with self._lock(Research, task_id) as (_, research):
            if research is None or research.status not in (ResearchStatus.FAILED, ResearchStatus.CANCELLED):
                return False
            research.status = ResearchStatus.RUNNING if executor else ResearchStatus.QUEUED
            research.executor, research.enqueued_at = executor, None
            research.attempt += 1
            research.ended_at, research.error, research.is_cancel_requested = None, None, False
            return True

    async def request_cancel(self, task_id: str, *, at: dt.datetime, event: ResearchEvent) -> ResearchStatus | None:
        """Ask a research to stop; returns its status then, None where there is none of that id, or it has ended.

        One that has not started, or that waits for its plan, is cancelled at once, and `event` is its last one.
        """
        async with self._lock(Research, task_id) as (session, research):
            if research is None or research.status.is_final:
                return None
            research.is_cancel_requested = True
            if research.status is not ResearchStatus.RUNNING:
                research.status, research.ended_at = ResearchStatus.CANCELLED, at
                await _add_events(session, [event])
                await _note_ended(session, task_id, at)
            return research.status

    async def list_cancel_requested(self, task_ids: Collection[str]) -> set[str]:
        asked = select(col(Research.id)).where(col(Research.id).in_(task_ids), col(Research.is_cancel_requested))
        return set(await self._fetch_all(asked))

    async def end(
        self, task_id: str, *, executor: str, status: ResearchStatus, at: dt.datetime, error: Message | None = None
    ) -> bool:
        """Record how a research ended; False where this executor does not have it."""
        values = {"status": status, "ended_at": at, "error": error}
        async with self._sessions.begin_write() as session:
            if not await _update_where(session, task_id, (ResearchStatus.RUNNING,), executor, **values):
                return False
            await _note_ended(session, task_id, at)
            return True

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
        """End a research whose executor is gone; False where it ended or has another executor meanwhile."""
        async with self._lock(Research, task_id) as (session, research):
            if research is None or research.status not in _ACTIVE_STATUSES or research.executor != executor:
                return False
            research.status, research.ended_at, research.error = status, at, reason
            await _add_events(session, [event])
            await _note_ended(session, task_id, at)
            return True

    async def set_visibility(self, task_id: str, visibility: Visibility) -> None:
        await self._execute(update(Research).where(col(Research.id) == task_id).values(visibility=visibility))

    async def delete(self, task_id: str) -> bool:
        """Delete a research that has ended, with all that belongs to it; False where it has not, or is not there."""
        async with self._lock(Research, task_id) as (session, research):
            if research is None or not research.status.is_final:
                return False
            await session.delete(research)
            return True

    async def list_open(self) -> list[OpenResearch]:
        """The researches that have not ended, oldest first."""
        return await self._fetch_as(OpenResearch, _SELECT_OPEN.where(col(Research.status).in_(_OPEN_STATUSES)))

    async def list_unqueued(self, limit: int = 200) -> list[OpenResearch]:
        """Queued researches that no worker has enqueued yet, oldest first."""
        waiting = (col(Research.status) == ResearchStatus.QUEUED, col(Research.enqueued_at).is_(None))
        return await self._fetch_as(OpenResearch, _SELECT_OPEN.where(*waiting).limit(limit))

    async def mark_enqueued(self, task_id: str, *, at: dt.datetime) -> None:
        await self._update_where(task_id, _ACTIVE_STATUSES, enqueued_at=at)

    async def requeue(self, task_id: str) -> None:
        await self._update_where(task_id, _ACTIVE_STATUSES, status=ResearchStatus.QUEUED, enqueued_at=None)

    async def load_notebook(self, task_id: str) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """The plan with its title, None before there is one, and the paragraphs in their order."""
        mine = select(col(ResearchParagraph.data)).where(col(ResearchParagraph.task_id) == task_id)
        async with self._sessions.begin_read() as session:
            state = await session.scalar(select(col(Research.state)).where(col(Research.id) == task_id))
            return state, list(await session.scalars(mine.order_by(col(ResearchParagraph.ordinal))))

    async def save_plan(self, task_id: str, state: Mapping[str, Any], paragraphs: Sequence[Mapping[str, Any]]) -> None:
        async with self._sessions.begin_write() as session:
            await _save_plan(session, task_id, state, paragraphs)

    async def save_paragraph(self, task_id: str, ordinal: int, data: Mapping[str, Any]) -> None:
        row = ResearchParagraph(task_id=task_id, ordinal=ordinal, data=sanitize_value(dict(data)))
        await self._upsert([row], key=["task_id", "ordinal"], update=["data"])

    async def load_output(self, task_id: str, step: str) -> dict[str, Any] | None:
        return await self._fetch_first(select(col(Research.outputs)[step]).where(col(Research.id) == task_id))

    async def save_output(self, task_id: str, step: str, output: Mapping[str, Any]) -> None:
        async with self._lock(Research, task_id) as (_, research):
            if research is not None:
                research.outputs = {**research.outputs, step: sanitize_value(dict(output))}

    async def add_remark(self, remark: ResearchRemark) -> bool:
        """Store what a person said; False where the research has ended."""
        values = remark.model_dump(exclude={"id"}) | {"text": sanitize_text(remark.text)}
        async with self._sessions.begin_write() as session:
            status = await session.scalar(select(col(Research.status)).where(col(Research.id) == remark.task_id))
            if status is None or status.is_final:
                return False
            await session.execute(insert(ResearchRemark), [values])
            return True

    async def list_remarks(self, task_id: str) -> list[ResearchRemark]:
        mine = select(ResearchRemark).where(col(ResearchRemark.task_id) == task_id)
        return await self._fetch_all(mine.order_by(col(ResearchRemark.id)))

    async def load_latest_remark(self, task_id: str) -> str:
        """The last remark; empty where there is none."""
        mine = select(col(ResearchRemark.text)).where(col(ResearchRemark.task_id) == task_id)
        return await self._fetch_first(mine.order_by(col(ResearchRemark.id).desc()).limit(1)) or ""

    async def _update_where(
        self, task_id: str, statuses: Sequence[ResearchStatus], executor: str | None = None, /, **values: Any
    ) -> bool:
        async with self._sessions.begin_write() as session:
            return await _update_where(session, task_id, statuses, executor, **values)


async def _update_where(
    session: AsyncSession,
    task_id: str,
    statuses: Sequence[ResearchStatus],
    executor: str | None = None,
    /,
    **values: Any,
) -> bool:
    """Change the row, if its status is one of these and, where an executor is given, that one has it."""
    statement = update(Research).where(col(Research.id) == task_id, col(Research.status).in_(statuses))
    if executor is not None:
        statement = statement.where(col(Research.executor) == executor)
    return await session.scalar(statement.values(values).returning(col(Research.id))) is not None


async def _note_ended(session: AsyncSession, task_id: str, at: dt.datetime) -> None:
    await add_webhook_events(session, [EventFact(WebhookEventType.RESEARCH_ENDED, f"research:{task_id}", at)])


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


class ResearchEventStore(EventStore[ResearchEvent, ResearchStatus]):
    _event = ResearchEvent
    _work = Research
    _work_id = "task_id"

    async def add(self, events: Sequence[ResearchEvent], *, executor: str) -> list[int] | None:
        """Store events of one research, in one transaction; None where another executor has it, or it is gone.

        Returns their numbers. The research is locked meanwhile: where two processes write, because one was thought
        dead, they take turns.
        """
        mine = select(col(Research.executor)).where(col(Research.id) == events[0].task_id).with_for_update()
        rows = [{**event.model_dump(exclude={"id"}), "data": sanitize_value(event.data)} for event in events]
        rows_of_task = select(col(ResearchEvent.id)).where(col(ResearchEvent.task_id) == events[0].task_id)
        async with self._sessions.begin_write() as session:
            if await session.scalar(mine) != executor:
                return None
            # An INSERT of many rows does not return their numbers in order; under the lock they are the last ones.
            await session.execute(insert(ResearchEvent), rows)
            latest = await session.scalars(rows_of_task.order_by(col(ResearchEvent.id).desc()).limit(len(rows)))
            return [number or 0 for number in reversed(latest.all())]

    async def list_ended_steps(self, task_id: str) -> set[str]:
        """The steps that ended after they last started."""
        status, step = (col(ResearchEvent.data)[name].as_string() for name in ("status", "stepType"))
        last = func.max(col(ResearchEvent.id))
        query: Any = (
            select(step, last.filter(status == "start"), last.filter(status == "complete"))
            .where(col(ResearchEvent.task_id) == task_id)
            .group_by(step)
        )
        rows = await self._fetch_rows(query)
        return {name for name, began, ended in rows if ended is not None and ended > (began or 0)}
