"""Researches: asking, carrying out, approving a plan, remarks, cancelling and resuming."""

import asyncio
import datetime as dt
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.queries.research import ResearchKey
from monitor.db.tables.research import Research, ResearchEvent, ResearchRemark, ResearchStatus
from monitor.errors import Conflict, NotFound, RunCancelled, UsageError, WorkFailed, to_message
from monitor.i18n.message import Message
from monitor.logs import bind_log_context, get_logger
from monitor.research.shapes import (
    Plan,
    PlanParagraph,
    ResearchOptions,
    SearchConfig,
    StepEvent,
    StepType,
    build_error_payload,
    build_step_event,
)
from monitor.research.state import State
from monitor.research.workflow import ResearchTaskProcessor
from monitor.services.audit import Actor, AuditAction, AuditService
from monitor.services.cancellation import SERVICE_TIMEOUT_S, CancellationWatcher
from monitor.services.research.dependencies import ResearchDependencyFactory, detect_language, dump_state
from monitor.services.research.views import ResearchReader, ResearchSummary, ResearchView
from monitor.services.runtime import WorkerRegistry, has_worker
from monitor.steps import StepRunner
from monitor.vocabulary import Role

_MAX_TITLE_CHARS, _MAX_CONTENT_CHARS = 200, 2000


def replace_plan(state: State, title: str, paragraphs: Sequence[PlanParagraph], *, max_paragraphs: int) -> None:
    """Put a person's plan into the state; without a title the present one stays.

    `UsageError` where it has no paragraph, more than `max_paragraphs`, or one without a title.
    """
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
    """What the plan's step gave, as a person left it."""
    plan = Plan.model_validate(output["result"])
    paragraphs = [PlanParagraph(title=paragraph.title, content=paragraph.content) for paragraph in state.paragraphs]
    if (plan.metadata.report_title, plan.metadata.paragraphs) != (state.report_title, paragraphs):
        plan.content = "\n".join(
            f"{number}. {entry.title}: {entry.content}" for number, entry in enumerate(paragraphs, 1)
        )
        plan.metadata.report_title, plan.metadata.paragraphs = state.report_title, paragraphs
    published = {name: value for name, value in output["told"].items() if name != "awaitsApproval"}
    return output | {"result": plan.to_json(), "told": published}


def build_approval_event(
    research: Research, output: dict[str, Any], *, progress: float, at: dt.datetime
) -> ResearchEvent:
    """The message that tells the plan by which it goes on."""
    payload = {"result": output["result"], "metadata": output["told"]}
    event = build_step_event(StepType.PLAN, "complete", progress, language=research.language, payload=payload)
    return ResearchEvent(task_id=research.id, at=at, data=event.to_json())


WRITE_INTERVAL_S = 0.25
FOLLOW_INTERVAL_S = 0.25
_CLOSE_TIMEOUT_S = 2.0


class ResearchEventLog:
    """The messages of one research on their way into the database (`research.parts.Audience`).

    They are written together, four times a second and where somebody waits for it; chunks of a text that wait beside
    each other are written as one. Progress never falls, over restarts too. `RunCancelled` where another process has
    the research by now: this one must not go on. `on_kept` hears each message when it is kept, with its number.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        task_id: str,
        executor: str,
        on_stored: Callable[[ResearchEvent], None] | None = None,
    ) -> None:
        self._events = store.research_events
        self._clock = clock
        self._task_id = task_id
        self._executor = executor
        self._on_stored = on_stored
        self._progress = 0.0
        self._ended: set[str] = set()
        self._pending: list[ResearchEvent] = []
        self._write_task: asyncio.Task[None] | None = None
        self._write_lock = asyncio.Lock()
        self._failure: Exception | None = None

    async def open(self) -> None:
        """Go on after what was told before."""
        latest = await self._events.latest(self._task_id)
        self._progress = float(latest.data["progress"]) if latest else 0.0
        self._ended = await self._events.list_ended_steps(self._task_id)

    async def publish(self, event: StepEvent) -> None:
        """Take down a message; it is kept within a quarter of a second."""
        self._progress = max(self._progress, event.progress)
        if event.status == "start":
            self._ended.discard(event.step_type)
        elif event.status == "complete":
            self._ended.add(event.step_type)
        data = event.model_copy(update={"progress": self._progress}).to_json()
        if not (self._pending and _merge_chunk(self._pending[-1].data, data)):
            self._pending.append(ResearchEvent(task_id=self._task_id, at=self._clock.now(), data=data))
        self._raise_failure()
        if self._write_task is None or self._write_task.done():
            self._write_task = asyncio.create_task(self._write_soon())

    async def flush(self) -> None:
        """Come back when all that was told is kept."""
        await self._write_pending()
        self._raise_failure()

    async def has_ended(self, step: StepType) -> bool:
        """Whether the end of a step was told since it began last."""
        return step in self._ended

    async def close(self) -> None:
        """Write what waits, as far as that takes no longer than two seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await self._write_pending()
        if self._write_task is not None:
            self._write_task.cancel()
            await asyncio.wait({self._write_task})

    async def _write_soon(self) -> None:
        await asyncio.sleep(WRITE_INTERVAL_S)
        await self._write_pending()

    async def _write_pending(self) -> None:
        async with self._write_lock:
            events, self._pending = self._pending, []
            if not events or self._failure is not None:
                return
            try:
                numbers = await self._events.add(events, executor=self._executor)
                if numbers is None:
                    self._failure = RunCancelled("research.taken_over", research=self._task_id)
                    return
                for number, event in zip(numbers, events, strict=True):
                    event.id = number
                    if self._on_stored is not None:
                        self._on_stored(event)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 -- raised where the research hears it
                self._failure = error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def build_final_event(
    task_id: str, latest: ResearchEvent | None, *, language: str, code: str, reason: Message, at: dt.datetime
) -> ResearchEvent:
    """The message with which a research ends that nobody carries out: in the step where it was, without a result."""
    step = StepType(latest.data["stepType"]) if latest else StepType.PLAN
    progress = latest.data["progress"] if latest else 0.0
    event = build_step_event(step, "error", progress, language=language, payload=build_error_payload(code, reason))
    return ResearchEvent(task_id=task_id, at=at, data=event.to_json())


async def follow_events(
    task_id: str, *, store: Store, on_event: Callable[[ResearchEvent], None], after: int = 0
) -> ResearchStatus:
    """Hand on the messages of a research, each once, until it has ended; answers how. `NotFound` where it is gone."""
    while True:
        # How it stands is asked first: what has ended had told everything by then.
        standing = await store.research_events.get_status(task_id)
        if standing is None:
            raise NotFound("research.not_found", research=task_id)
        events = await store.research_events.after(task_id, after)
        for event in events:
            after = event.id or after
            on_event(event)
        if standing.status.is_final and not events:
            return standing.status
        if not events:
            await asyncio.sleep(FOLLOW_INTERVAL_S)


def _merge_chunk(last: dict[str, Any], new: dict[str, Any]) -> bool:
    """Join a further chunk of the same text to the message that waits; False where they do not belong together."""
    is_more = all(event["status"] == "progress" and event["payload"].keys() == {"chunk"} for event in (last, new))
    if not is_more or last["stepType"] != new["stepType"]:
        return False
    last["payload"]["chunk"] += new["payload"]["chunk"]
    last["progress"] = new["progress"]
    return True


MAX_QUESTION_CHARS = 2000
"""The longest question."""

_EXECUTOR = "research"
_POLL_INTERVAL_S = 0.5
_CANCELLED = Message("cause.research_cancelled")
_log = get_logger("research")
ResearchEventCallback = Callable[[ResearchEvent], None]


class ResearchService(ResearchReader):
    """Has researches done; `gear` equips each, `steps` are those of one that is carried out here and now."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        dependency_factory: ResearchDependencyFactory,
        steps: StepRunner,
        presence: WorkerRegistry,
    ) -> None:
        super().__init__(store=store, pages=dependency_factory.snapshot_reader, settings=dependency_factory.settings)
        self._clock = clock
        self._dependency_factory = dependency_factory
        self._steps = steps
        self._presence = presence
        self._cancellation = CancellationWatcher(store.research.list_cancel_requested)
        self._audit = AuditService(store=store, clock=clock)

    async def list(self, *, limit: int = 50, after: ResearchKey | None = None, text: str = "") -> list[ResearchSummary]:
        """The history as it is by now."""
        await self.fail_orphaned()
        return await super().list(limit=limit, after=after, text=text)

    async def get(self, task_id: str) -> ResearchView:
        """A research as it is by now."""
        await self.fail_orphaned()
        return await super().get(task_id)

    async def has_worker(self) -> bool:
        return await has_worker(self._presence)

    def list_search_warnings(self, config: SearchConfig) -> Sequence[Message]:
        """What is to be said of the backends that would be asked."""
        gathering = self._dependency_factory.search_service.build_research_search(config.engines)
        return gathering.warnings

    async def enqueue(self, query: str, *, config: SearchConfig, options: ResearchOptions, by: Actor) -> str:
        """Queue a research; return its id. `UsageError` where no worker is at work."""
        research = self._build_research(query, config, options, by)
        if not await self.has_worker():
            raise UsageError("run.no_worker")
        await self._create(research, by)
        return research.id

    async def run_in_process(
        self,
        query: str,
        *,
        config: SearchConfig,
        options: ResearchOptions,
        by: Actor,
        on_event: ResearchEventCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> str:
        """Carry out a research in this process, to its end; answers its id. A plan is not waited for."""
        options = options.model_copy(update={"review_plan": False})
        research = self._build_research(query, config, options, by)
        async with self._presence.register(_EXECUTOR) as executor:
            await self.fail_orphaned(own_executor=executor)
            research.status, research.executor = ResearchStatus.RUNNING, executor
            await self._create(research, by)
            await self._execute_in_process(research.id, executor, on_event, cancel_event)
        return research.id

    async def resume_in_process(
        self,
        task_id: str,
        *,
        by: Actor,
        on_event: ResearchEventCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> None:
        """Go on, in this process, with a research that failed or was cancelled; `Conflict` where it did not."""
        async with self._presence.register(_EXECUTOR) as executor:
            await self._resume(task_id, executor, by)
            await self._execute_in_process(task_id, executor, on_event, cancel_event)

    async def resume(self, task_id: str, *, by: Actor) -> int:
        """Let the service go on with a research, without waiting; return the number of its last event before that."""
        latest = await self._store.research_events.latest((await self.load_research(task_id)).id)
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
        """Follow a research that a service carries out to its end, and pass on the wish to stop it.

        `WorkFailed` where no service has been there for a minute: the research goes on when one is.
        """
        following = asyncio.create_task(follow_events(task_id, store=self._store, on_event=on_event, after=after))
        loop, is_asked = asyncio.get_running_loop(), False
        last_seen_s = loop.time()
        try:
            while not following.done():
                await asyncio.wait({following}, timeout=_POLL_INTERVAL_S)
                if cancel_event is not None and cancel_event.is_set() and not is_asked:
                    is_asked = True
                    with suppress(Conflict):
                        await self.cancel(task_id, by=by)
                if await self.has_worker():
                    last_seen_s = loop.time()
                elif loop.time() - last_seen_s > SERVICE_TIMEOUT_S:
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
        """Carry out a research on record, or go on with it where it was left; answers how it stands then.

        `on_event` hears each message as soon as it is kept.
        """
        research = await self._store.research.claim(task_id, executor=executor, at=self._clock.now())
        if research is None:
            standing = await self._store.research_events.get_status(task_id)
            return standing.status if standing else ResearchStatus.CANCELLED
        log = ResearchEventLog(
            store=self._store, clock=self._clock, task_id=task_id, executor=executor, on_stored=on_event
        )
        await log.open()
        _log.info("research begins", task=task_id)
        try:
            with bind_log_context(run=task_id, source=""):
                status = await self._execute_workflow(research, steps, log, cancel_event or asyncio.Event())
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
        research, state = await self.load_research(task_id), await self.load_state(task_id)
        if research.status is not ResearchStatus.AWAITING_PLAN or state is None:
            raise Conflict("research.not_waiting", research=task_id, status=research.status)
        replace_plan(state, title, paragraphs, max_paragraphs=self._dependency_factory.settings.research.max_paragraphs)
        plan = build_plan_output(state, research.outputs["plan"])
        state_row, rows = dump_state(state)
        latest = await self._store.research_events.latest(task_id)
        progress = latest.data["progress"] if latest else 0.0
        event = build_approval_event(research, plan, progress=progress, at=self._clock.now())
        titles = [paragraph.title for paragraph in state.paragraphs]
        async with self._store.transaction():
            if not await self._store.research.approve(
                task_id, state=state_row, paragraphs=rows, plan=plan, event=event
            ):
                raise Conflict("research.not_waiting_any_more", research=task_id)
            detail = {"title": state.report_title, "paragraphs": titles}
            await self._audit.record(by, AuditAction.RESEARCH_PLAN, task_id, **detail)

    async def add_remark(self, task_id: str, text: str, *, by: Actor) -> None:
        """Add a remark for the nodes that summarise, which read the latest; `Conflict` where the research has ended."""
        by.require(Role.EDITOR)
        research = await self.load_research(task_id)
        if not text.strip() or len(text) > MAX_QUESTION_CHARS:
            raise UsageError("research.bad_remark", limit=MAX_QUESTION_CHARS)
        remark = ResearchRemark(task_id=research.id, person=by.name, text=text.strip(), at=self._clock.now())
        async with self._store.transaction():
            if not await self._store.research.add_remark(remark):
                raise Conflict("research.remark_too_late", research=task_id)
            await self._audit.record(by, AuditAction.RESEARCH_REMARK, research.id, text=text)

    async def cancel(self, task_id: str, *, by: Actor) -> ResearchStatus:
        """Ask a research to stop and return its status; `Conflict` where it has ended."""
        by.require(Role.EDITOR)
        await self.fail_orphaned()
        research = await self.load_research(task_id)
        event = await self._build_final_event(research, "cancelled", _CANCELLED)
        async with self._store.transaction():
            status = await self._store.research.request_cancel(research.id, at=self._clock.now(), event=event)
            if status is None:
                raise Conflict("research.ended", research=task_id, status=research.status)
            await self._audit.record(by, AuditAction.RESEARCH_CANCEL, research.id)
        return status

    async def fail_orphaned(self, *, own_executor: str | None = None) -> None:
        """End as failed what a process began outside of the queue and did not live to end; it can be gone on with.

        What is in the hands of `mine`, which has begun nothing yet, is of another process that had the same name.
        """
        running = [
            research for research in await self._store.research.list_open() if research.status is ResearchStatus.RUNNING
        ]
        lost = [research for research in running if research.enqueued_at is None]
        alive = await self._presence.list_alive() if lost else {}
        for research in lost:
            if research.executor not in alive or research.executor == own_executor:
                reason = Message.of("cause.research_process_ended", task_id=research.id)
                await self.abandon(research.id, executor=research.executor, reason=reason)

    async def abandon(
        self, task_id: str, *, executor: str | None, reason: Message, status: ResearchStatus = ResearchStatus.FAILED
    ) -> None:
        """End a research that this executor had and nobody carries out any more."""
        code = "cancelled" if status is ResearchStatus.CANCELLED else "failed"
        published = await self._build_final_event(await self.load_research(task_id), code, reason)
        now = self._clock.now()
        await self._store.research.abandon(
            task_id, status=status, reason=reason, at=now, executor=executor, event=published
        )

    async def _execute_workflow(
        self, research: Research, steps: StepRunner, log: ResearchEventLog, event: asyncio.Event
    ) -> ResearchStatus:
        """Do the work and write down how it ended."""
        executor = research.executor or ""
        processor = ResearchTaskProcessor(
            await self._dependency_factory.build(research, event), steps=steps, event_sink=log
        )
        try:
            outcome = await self._cancellation.run_until_cancelled(processor.run(), event, run_id=research.id)
            if outcome is None:
                outcome = await processor.abort("cancelled", Message.of("research.cancelled"))
        except RunCancelled as moved:
            # Another process has it by now: its row is that one's.
            _log.warning("research moved on", task=research.id, reason=str(moved))
            return ResearchStatus.RUNNING
        if outcome.status is ResearchStatus.AWAITING_PLAN:
            await self._store.research.mark_awaiting_plan(research.id, executor=executor)
        else:
            now = self._clock.now()
            await self._store.research.end(
                research.id, executor=executor, status=outcome.status, at=now, error=outcome.error
            )
        return outcome.status

    async def _execute_in_process(
        self, task_id: str, executor: str, on_event: ResearchEventCallback | None, cancel_event: asyncio.Event | None
    ) -> None:
        try:
            await self.execute(
                task_id, executor=executor, steps=self._steps, cancel_event=cancel_event, on_event=on_event
            )
        except asyncio.CancelledError:
            await self.abandon(task_id, executor=executor, reason=_CANCELLED, status=ResearchStatus.CANCELLED)
            raise

    async def _create(self, research: Research, by: Actor) -> None:
        async with self._store.transaction():
            await self._store.research.create(research)
            await self._audit.record(by, AuditAction.RESEARCH_START, research.id, query=research.query)

    async def _resume(self, task_id: str, executor: str | None, by: Actor) -> None:
        by.require(Role.EDITOR)
        await self.fail_orphaned(own_executor=executor)
        async with self._store.transaction():
            if not await self._store.research.resume(task_id, executor=executor):
                status = (await self.load_research(task_id)).status
                raise Conflict("research.not_resumable", research=task_id, status=status)
            await self._audit.record(by, AuditAction.RESEARCH_RESUME, task_id)

    async def _build_final_event(self, research: Research, code: str, reason: Message) -> ResearchEvent:
        latest = await self._store.research_events.latest(research.id)
        return build_final_event(
            research.id, latest, language=research.language, code=code, reason=reason, at=self._clock.now()
        )

    def _build_research(self, query: str, config: SearchConfig, options: ResearchOptions, by: Actor) -> Research:
        by.require(Role.EDITOR)
        query = query.strip()
        if not query or len(query) > MAX_QUESTION_CHARS:
            raise UsageError("research.bad_question", limit=MAX_QUESTION_CHARS)
        now = self._clock.now()
        return Research(
            id=f"r-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}",
            query=query,
            language=detect_language(query),
            config=config.to_json(),
            options=options.to_json(),
            asked_by=by.name,
            created_at=now,
        )
