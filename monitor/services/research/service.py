"""Researches: asking, carrying out, approving a plan, remarks, cancelling and resuming."""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from monitor.db.queries.research import ResearchKey
from monitor.db.tables.research import (
    Research,
    ResearchDocument,
    ResearchEvent,
    ResearchRemark,
    ResearchSchedule,
    ResearchStatus,
)
from monitor.db.visibility import see_as
from monitor.errors import Conflict, Forbidden, RunCancelled, UsageError, WorkFailed, to_message
from monitor.i18n.message import Message
from monitor.logs import bind_log_context, get_logger
from monitor.research.follow_up import FollowUpProcessor
from monitor.research.shapes import Plan, PlanParagraph, ResearchOptions, SearchConfig, StepType, build_step_event
from monitor.research.state import State
from monitor.research.workflow import ResearchTaskProcessor
from monitor.services.audit import COMMAND_LINE, RESERVED_NAMES, Actor, AuditAction
from monitor.services.events import ResearchEventLog, build_final_event, follow_events
from monitor.services.research.dependencies import detect_language, dump_state, load_report_context
from monitor.services.research.documents import UploadedFile
from monitor.services.research.editions import build_follow_up
from monitor.services.research.report_edits import ReportEditor
from monitor.services.research.views import ResearchSummary, ResearchView
from monitor.services.runtime import CancellationWatcher, ServiceWatch, WorkerRegistry, has_worker
from monitor.services.schedules import check_schedule, parse_written_schedule
from monitor.services.teams import choose_eyes, get_team_eyes
from monitor.steps import StepRunner
from monitor.tracing import TracedSteps, trace
from monitor.vocabulary import Role, Visibility

_MAX_TITLE_CHARS, _MAX_CONTENT_CHARS = 200, 2000


def replace_plan(state: State, title: str, paragraphs: Sequence[PlanParagraph], *, max_paragraphs: int) -> None:
    """Put a person's plan into the state; `UsageError` for no paragraph, too many, or one without a title."""
    kept = [
        PlanParagraph(
            title=paragraph.title.strip()[:_MAX_TITLE_CHARS], content=paragraph.content.strip()[:_MAX_CONTENT_CHARS]
        )
        for paragraph in paragraphs
    ]
    if not 0 < len(kept) <= max_paragraphs or not all(paragraph.title for paragraph in kept):
        raise UsageError("research.bad_plan", limit=max_paragraphs)
    state.apply_plan(title.strip()[:_MAX_TITLE_CHARS] or state.report_title, kept)


def build_plan_output(state: State, output: dict[str, Any]) -> dict[str, Any]:
    plan = Plan.model_validate(output["result"])
    paragraphs = [PlanParagraph(title=paragraph.title, content=paragraph.content) for paragraph in state.paragraphs]
    if (plan.metadata.report_title, plan.metadata.paragraphs) != (state.report_title, paragraphs):
        plan.content = "\n".join(
            f"{number}. {entry.title}: {entry.content}" for number, entry in enumerate(paragraphs, 1)
        )
        plan.metadata.report_title, plan.metadata.paragraphs = state.report_title, paragraphs
    published = {name: value for name, value in output["told"].items() if name != "awaitsApproval"}
    return output | {"result": plan.to_json(), "told": published}


MAX_QUESTION_CHARS = 2000
MAX_FOLLOW_UPS = 50
_EXECUTOR = "research"
_POLL_INTERVAL_S = 0.5
_CANCELLED = Message("cause.research_cancelled")
_log = get_logger("research")
ResearchEventCallback = Callable[[ResearchEvent], None]


@dataclass(kw_only=True)
class ResearchService(ReportEditor):
    """Has researches done; `steps` are those of one that is carried out here and now."""

    steps: StepRunner
    presence: WorkerRegistry

    def __post_init__(self) -> None:
        self._cancellation = CancellationWatcher(self.store.research.list_cancel_requested)

    async def list(
        self, *, by: Actor, limit: int = 50, after: ResearchKey | None = None, text: str = ""
    ) -> list[ResearchSummary]:
        await self.fail_orphaned()
        return await super().list(by=by, limit=limit, after=after, text=text)

    async def get(self, task_id: str, *, by: Actor) -> ResearchView:
        await self.fail_orphaned()
        return await super().get(task_id, by=by)

    async def has_worker(self) -> bool:
        return await has_worker(self.presence)

    def list_search_warnings(self, config: SearchConfig) -> Sequence[Message]:
        gathering = self.dependency_factory.search_service.build_research_search(config.engines)
        return gathering.warnings

    async def enqueue(
        self,
        query: str,
        *,
        config: SearchConfig,
        options: ResearchOptions,
        by: Actor,
        visibility: Visibility | None = None,
        team_id: int | None = None,
        files: Sequence[UploadedFile] = (),
    ) -> str:
        """Queue a research; return its id. Without a visibility a person's is private, and a command's open.

        It rests on what belongs to all, and with a team on what belongs to that; its report belongs to the same team.
        The files are documents of the asker's; `UsageError` for one that cannot be used.
        """
        research = self._build_research(query, config, options, by, visibility)
        choose_eyes(team_id)
        research.team_id = team_id
        return await self._enqueue(research, by, await self.dependency_factory.document_keeper.examine(files, research))

    async def ask(self, task_id: str, question: str, *, by: Actor) -> str:
        """Queue a follow-up question about a finished report; return its id, under which it is followed and cancelled.

        `Conflict` where there is no report, `UsageError` where too many questions were asked about it.
        """
        return await self._enqueue(await self._build_follow_up(task_id, question, by), by)

    async def ask_in_process(
        self,
        task_id: str,
        question: str,
        *,
        by: Actor,
        on_event: ResearchEventCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> str:
        """Answer a follow-up question in this process; answers its id."""
        return await self._run(await self._build_follow_up(task_id, question, by), by, on_event, cancel_event)

    async def run_in_process(
        self,
        query: str,
        *,
        config: SearchConfig,
        options: ResearchOptions,
        by: Actor,
        files: Sequence[UploadedFile] = (),
        on_event: ResearchEventCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> str:
        """Carry out a research in this process, to its end; answers its id. A plan is not waited for."""
        options = options.model_copy(update={"review_plan": False})
        research = self._build_research(query, config, options, by)
        documents = await self.dependency_factory.document_keeper.examine(files, research)
        return await self._run(research, by, on_event, cancel_event, documents)

    async def resume_in_process(
        self,
        task_id: str,
        *,
        by: Actor,
        on_event: ResearchEventCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> None:
        """Go on, in this process, with a research that failed or was cancelled; `Conflict` where it did not."""
        async with self.presence.register(_EXECUTOR) as executor:
            await self._resume(task_id, executor, by)
            await self._execute_in_process(task_id, executor, on_event, cancel_event)

    async def resume(self, task_id: str, *, by: Actor) -> int:
        """Let the service go on with a research, without waiting; return the number of its last event before that."""
        latest = await self.store.research_events.latest((await self.load_readable(task_id, by=by)).id)
        await self._resume(task_id, None, by)
        return (latest.id or 0) if latest else 0

    async def wait_for(
        self,
        task_id: str,
        *,
        by: Actor,
        on_event: ResearchEventCallback,
        cancel_event: asyncio.Event | None = None,
        after: int = 0,
    ) -> ResearchStatus:
        """Follow a research to its end and pass on a cancel request; `WorkFailed` where the service is gone."""
        following = asyncio.create_task(follow_events(task_id, store=self.store, on_event=on_event, after=after))
        service, is_asked = ServiceWatch(self.presence), False
        try:
            while not following.done():
                await asyncio.wait({following}, timeout=_POLL_INTERVAL_S)
                if cancel_event is not None and cancel_event.is_set() and not is_asked:
                    is_asked = True
                    with suppress(Conflict):
                        await self.cancel(task_id, by=by)
                if await service.is_gone():
                    raise WorkFailed("research.service_gone", research=task_id)
            return following.result()
        finally:
            following.cancel()

    async def execute(
        self,
        task_id: str,
        *,
        executor: str,
        steps: StepRunner,
        cancel_event: asyncio.Event | None = None,
        on_event: ResearchEventCallback | None = None,
    ) -> ResearchStatus:
        """Carry out a research, or go on with it; `on_event` hears each message as soon as it is kept."""
        research = await self.store.research.claim(task_id, executor=executor, at=self.clock.now())
        if research is None:
            standing = await self.store.research_events.get_status(task_id)
            return standing.status if standing else ResearchStatus.CANCELLED
        log = ResearchEventLog(
            store=self.store, clock=self.clock, task_id=task_id, executor=executor, on_stored=on_event
        )
        await log.open()
        _log.info("research begins", task=task_id)
        try:
            context = bind_log_context(run=task_id, source="")
            # Whoever reads the report may see what it rests on.
            with context, see_as(get_team_eyes(research.team_id)), trace("research", run_id=task_id) as note:
                event = cancel_event or asyncio.Event()
                status = await self._execute_workflow(research, TracedSteps(steps), log, event)
                note({"status": status})
        except Exception as error:
            # Whatever ended it, the research does not stay `running`; what it kept stays kept.
            with suppress(Exception):
                await log.flush()
            await self.abandon(
                task_id, executor=executor, reason=to_message(error) or Message.other(type(error).__name__)
            )
            raise
        finally:
            await log.close()
        _log.info("research ended", task=task_id, status=str(status))
        return status

    async def approve(self, task_id: str, title: str, paragraphs: Sequence[PlanParagraph], *, by: Actor) -> None:
        """Let a research that waits go on by this plan; `Conflict` where it does not wait."""
        by.require(Role.EDITOR)
        research, state = await self.load_readable(task_id, by=by), await self.load_state(task_id, by=by)
        if research.status is not ResearchStatus.AWAITING_PLAN or state is None:
            raise Conflict("research.not_waiting", research=task_id, status=research.status)
        replace_plan(state, title, paragraphs, max_paragraphs=self.dependency_factory.settings.research.max_paragraphs)
        plan = build_plan_output(state, research.outputs["plan"])
        state_row, rows = dump_state(state)
        latest = await self.store.research_events.latest(task_id)
        progress = latest.data["progress"] if latest else 0.0
        payload = {"result": plan["result"], "metadata": plan["told"]}
        approval = build_step_event(StepType.PLAN, "complete", progress, language=research.language, payload=payload)
        event = ResearchEvent(task_id=research.id, at=self.clock.now(), data=approval.to_json())
        async with self.store.transaction():
            if not await self.store.research.approve(task_id, state=state_row, paragraphs=rows, plan=plan, event=event):
                raise Conflict("research.not_waiting_any_more", research=task_id)
            await self.record(by, AuditAction.RESEARCH_PLAN, task_id, paragraphs=len(state.paragraphs))

    async def add_remark(self, task_id: str, text: str, *, by: Actor) -> None:
        """Add a remark for the nodes that summarise, which read the latest; `Conflict` where the research has ended."""
        by.require(Role.EDITOR)
        research = await self.load_readable(task_id, by=by)
        if not text.strip() or len(text) > MAX_QUESTION_CHARS:
            raise UsageError("research.bad_remark", limit=MAX_QUESTION_CHARS)
        remark = ResearchRemark(task_id=research.id, person=by.name, text=text.strip(), at=self.clock.now())
        async with self.store.transaction():
            if not await self.store.research.add_remark(remark):
                raise Conflict("research.remark_too_late", research=task_id)
            await self.record(by, AuditAction.RESEARCH_REMARK, research.id)

    async def cancel(self, task_id: str, *, by: Actor) -> ResearchStatus:
        """Ask a research to stop: one's own or an open one; an administrator any, without reading it."""
        by.require(Role.EDITOR)
        await self.fail_orphaned()
        research = await (
            self.load_research(task_id) if by.has_role(Role.ADMIN) else self.load_readable(task_id, by=by)
        )
        event = await self._build_final_event(research, "cancelled", _CANCELLED)
        async with self.store.transaction():
            status = await self.store.research.request_cancel(research.id, at=self.clock.now(), event=event)
            if status is None:
                raise Conflict("research.ended", research=task_id, status=research.status)
            await self.record(by, AuditAction.RESEARCH_CANCEL, research.id)
        return status

    async def share(self, task_id: str, visibility: Visibility, *, by: Actor) -> None:
        """Open one's own research to everybody, or close it again."""
        research = await self._load_own(task_id, by)
        if research.visibility is visibility:
            return
        async with self.store.transaction():
            await self.store.research.set_visibility(research.id, visibility)
            change = {"before": research.visibility, "after": visibility}
            await self.record(by, AuditAction.RESEARCH_SHARE, research.id, **change)

    async def schedule(self, task_id: str, schedule: str, *, by: Actor) -> None:
        """Have one's own research done again by a schedule, in words or cron; an empty one or `off` stops that.

        The first of the series has the schedule, whichever edition is named. An administrator may stop anybody's that
        is open. `Conflict` before there is a plan, `UsageError` for a schedule that cannot be read.
        """
        cron, timezone = parse_written_schedule(schedule), self.dependency_factory.settings.timezone
        may_stop = cron is None and by.has_role(Role.ADMIN)
        research = await (self.load_readable(task_id, by=by) if may_stop else self._load_own(task_id, by))
        if research.parent_id is not None:
            raise Conflict("research.is_follow_up", research=task_id)
        if research.edition_of is not None:
            await self.schedule(research.edition_of, schedule, by=by)
            return
        async with self.store.transaction():
            if cron is None:
                await self.store.research.delete_schedule(research.id)
            else:
                check_schedule(cron, timezone)
                if str(StepType.PLAN) not in research.outputs or research.status is ResearchStatus.AWAITING_PLAN:
                    raise Conflict("research.no_plan", research=research.id)
                await self.store.research.save_schedule(
                    ResearchSchedule(task_id=research.id, cron=cron, timezone=timezone, dealt_until=self.clock.now())
                )
            await self.record(by, AuditAction.RESEARCH_SCHEDULE, research.id, schedule=cron or "")

    async def delete(self, task_id: str, *, by: Actor) -> ResearchStatus:
        """Delete one's own research that has ended, with its report, events, records and bundles; `Conflict` before.

        An administrator may delete anybody's. The costs of its model calls stay, and so do files that others cite.
        """
        research = await (self.load_research(task_id) if by.has_role(Role.ADMIN) else self._load_own(task_id, by))
        follow_ups = await self.store.research.list_follow_ups(research.id)
        async with self.store.transaction():
            if not await self.store.research.delete(research.id):
                raise Conflict("research.not_ended", research=task_id)
            await self.record(by, AuditAction.RESEARCH_DELETE, research.id)
        for deleted in (research.id, *(row.id for row in follow_ups)):
            await asyncio.to_thread(self.dependency_factory.bundles.remove, deleted)
        return research.status

    async def _load_own(self, task_id: str, by: Actor) -> Research:
        by.require(Role.EDITOR)
        research = await self.load_readable(task_id, by=by)
        if research.asked_by != by.owner and by.name != COMMAND_LINE.name:
            raise Forbidden("research.of_another", person=research.asked_by)
        return research

    async def fail_orphaned(self, *, own_executor: str | None = None) -> None:
        """End as failed what died with its process; what `own_executor` seems to have is of one with the same name."""
        lost = [research for research in await self.store.research.list_open() if research.enqueued_at is None]
        lost = [research for research in lost if research.status is ResearchStatus.RUNNING]
        alive = await self.presence.list_alive() if lost else {}
        for research in lost:
            if research.executor not in alive or research.executor == own_executor:
                reason = Message.of("cause.research_process_ended", task_id=research.id)
                await self.abandon(research.id, executor=research.executor, reason=reason)

    async def abandon(
        self, task_id: str, *, executor: str | None, reason: Message, status: ResearchStatus = ResearchStatus.FAILED
    ) -> None:
        """End a research that this executor had and nobody carries out any more."""
        code = "cancelled" if status is ResearchStatus.CANCELLED else "failed"
        event = await self._build_final_event(await self.load_research(task_id), code, reason)
        await self.store.research.abandon(
            task_id, status=status, reason=reason, at=self.clock.now(), executor=executor, event=event
        )

    async def _execute_workflow(
        self, research: Research, steps: StepRunner, log: ResearchEventLog, event: asyncio.Event
    ) -> ResearchStatus:
        executor = research.executor or ""
        processor = await self._create_processor(research, steps, log, event)
        try:
            outcome = await self._cancellation.run_until_cancelled(processor.run(), event, run_id=research.id)
            if outcome is None:
                outcome = await processor.abort("cancelled", Message.of("research.cancelled"))
        except RunCancelled as moved:
            # Another process has it by now: its row is that one's.
            _log.warning("research moved on", task=research.id, reason=str(moved))
            return ResearchStatus.RUNNING
        if outcome.status is ResearchStatus.AWAITING_PLAN:
            await self.store.research.mark_awaiting_plan(research.id, executor=executor)
        else:
            now = self.clock.now()
            await self.store.research.end(
                research.id, executor=executor, status=outcome.status, at=now, error=outcome.error
            )
        return outcome.status

    async def _create_processor(
        self, research: Research, steps: StepRunner, log: ResearchEventLog, event: asyncio.Event
    ) -> ResearchTaskProcessor:
        deps = await self.dependency_factory.build(research, event)
        if research.parent_id is None:
            return ResearchTaskProcessor(deps, steps=steps, event_sink=log)
        about = await load_report_context(self.store, research)
        return FollowUpProcessor(deps, steps=steps, event_sink=log, about=about)

    async def _enqueue(self, research: Research, by: Actor, documents: Sequence[ResearchDocument] = ()) -> str:
        if not await self.has_worker():
            raise UsageError("run.no_worker")
        await self._create(research, by, documents)
        return research.id

    async def _run(
        self,
        research: Research,
        by: Actor,
        on_event: ResearchEventCallback | None,
        cancel_event: asyncio.Event | None,
        documents: Sequence[ResearchDocument] = (),
    ) -> str:
        async with self.presence.register(_EXECUTOR) as executor:
            await self.fail_orphaned(own_executor=executor)
            research.status, research.executor = ResearchStatus.RUNNING, executor
            await self._create(research, by, documents)
            await self._execute_in_process(research.id, executor, on_event, cancel_event)
        return research.id

    async def _execute_in_process(
        self, task_id: str, executor: str, on_event: ResearchEventCallback | None, cancel_event: asyncio.Event | None
    ) -> None:
        try:
            await self.execute(
                task_id, executor=executor, steps=self.steps, cancel_event=cancel_event, on_event=on_event
            )
        except asyncio.CancelledError:
            await self.abandon(task_id, executor=executor, reason=_CANCELLED, status=ResearchStatus.CANCELLED)
            raise

    async def _create(self, research: Research, by: Actor, documents: Sequence[ResearchDocument] = ()) -> None:
        async with self.store.transaction():
            await self.store.research.create(research)
            await self.store.research.add_documents(documents)
            # The audit is read by all administrators and kept for years: the question itself does not belong in it.
            if research.parent_id is None:
                about = {"documents": [document.sha256 for document in documents]} if documents else {}
                await self.record(by, AuditAction.RESEARCH_START, research.id, visibility=research.visibility, **about)
            else:
                await self.record(by, AuditAction.RESEARCH_ASK, research.parent_id, question=research.id)

    async def _resume(self, task_id: str, executor: str | None, by: Actor) -> None:
        by.require(Role.EDITOR)
        await self.load_readable(task_id, by=by)
        await self.fail_orphaned(own_executor=executor)
        async with self.store.transaction():
            if not await self.store.research.resume(task_id, executor=executor):
                status = (await self.load_research(task_id)).status
                raise Conflict("research.not_resumable", research=task_id, status=status)
            await self.record(by, AuditAction.RESEARCH_RESUME, task_id)

    async def _build_final_event(self, research: Research, code: str, reason: Message) -> ResearchEvent:
        latest = await self.store.research_events.latest(research.id)
        return build_final_event(
            research.id, latest, language=research.language, code=code, reason=reason, at=self.clock.now()
        )

    def _build_research(
        self,
        query: str,
        config: SearchConfig,
        options: ResearchOptions,
        by: Actor,
        visibility: Visibility | None = None,
    ) -> Research:
        by.require(Role.EDITOR)
        if visibility is None:
            visibility = Visibility.OPEN if by.owner in RESERVED_NAMES else Visibility.PRIVATE
        query, now = _check_question(query), self.clock.now()
        return Research(
            id=f"r-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
            query=query,
            language=detect_language(query),
            config=config.to_json(),
            options=options.to_json(),
            asked_by=by.owner,
            visibility=visibility,
            created_at=now,
        )

    async def _build_follow_up(self, task_id: str, question: str, by: Actor) -> Research:
        by.require(Role.EDITOR)
        question = _check_question(question)
        about = await self.load_readable(task_id, by=by)
        if about.parent_id is not None:
            raise Conflict("research.is_follow_up", research=task_id)
        if str(StepType.REPORTING) not in about.outputs:
            raise Conflict("research.no_report", research=task_id, status=about.status)
        asked = await self.store.research.list_follow_ups(about.id)
        if len(asked) >= MAX_FOLLOW_UPS:
            raise UsageError("research.too_many_follow_ups", limit=MAX_FOLLOW_UPS)
        return build_follow_up(about, question, asked_by=by.owner, now=self.clock.now())


def _check_question(text: str) -> str:
    text = text.strip()
    if not text or len(text) > MAX_QUESTION_CHARS:
        raise UsageError("research.bad_question", limit=MAX_QUESTION_CHARS)
    return text
