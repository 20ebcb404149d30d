"""A worker: takes runs, deliveries and researches out of their queues, and picks up what dead workers left."""

import asyncio
import datetime as dt
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from monitor.briefing.deliver import decide_retry
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.research import OpenResearch
from monitor.db.tables.collection import Run
from monitor.db.tables.delivery import Delivery
from monitor.db.tables.research import ResearchStatus
from monitor.errors import MonitorError, NotDelivered
from monitor.i18n.message import Message
from monitor.jobs.presence import HeartbeatRegistry, LeaseHolder
from monitor.jobs.queue import (
    DELIVERY_QUEUE,
    FAILED_STATES,
    RESEARCH_QUEUE,
    DeliveryWorkflow,
    DurableQueue,
    DurableSteps,
    ResearchWorkflow,
    StepTracker,
    SweepWorkflow,
)
from monitor.services.dispatch import DeliveryDispatcher
from monitor.services.events import RunEventLog
from monitor.services.research.service import ResearchService
from monitor.services.runtime import WORKER_KIND
from monitor.services.sweeps import SweepService
from monitor.urls import get_host

_RELEASE_INTERVAL_S = 5.0
_ENQUEUE_AGAIN_AFTER_S = 30.0
_SETTLED_AFTER = dt.timedelta(seconds=30)


class DeliveryReconciler:
    """Brings the log of deliveries and the queue together.

    Each try is a workflow of its own, named after the delivery and the number of the try: two workers that see it due
    make it once, and one whose worker died is made by another worker, with the same key and Message-ID.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        dispatch: DeliveryDispatcher,
        queue: DurableQueue,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._dispatch = dispatch
        self._queue = queue
        self._monotonic = monotonic
        self._enqueued_at_s: dict[str, float] = {}
        self._released_at_s = monotonic() - _RELEASE_INTERVAL_S

    async def enqueue_due(self) -> None:
        """Put what is due into the queue; done twice it does no harm."""
        now_s = self._monotonic()
        if now_s - self._released_at_s >= _RELEASE_INTERVAL_S:
            self._released_at_s = now_s
            await self._dispatch.release_due()
        self._enqueued_at_s = {
            name: at_s for name, at_s in self._enqueued_at_s.items() if now_s - at_s < _ENQUEUE_AGAIN_AFTER_S
        }
        for delivery in await self._store.deliveries.list_due(self._clock.now()):
            name = format_attempt_id(delivery)
            if name not in self._enqueued_at_s:
                await self._queue.enqueue_delivery(name, delivery.id, delivery.attempts, target=delivery.target)
                self._enqueued_at_s[name] = now_s

    async def repair(self) -> None:
        """Have tries made that the queue does not make any more: broken off, of another version, from a backup."""
        late = await self._store.deliveries.list_due(self._clock.now() - _SETTLED_AFTER)
        if not late:
            return
        stale = set(await self._queue.list_outdated(DELIVERY_QUEUE))
        states = await self._queue.get_states([format_attempt_id(delivery) for delivery in late])
        for delivery in late:
            name = format_attempt_id(delivery)
            if states.get(name) in FAILED_STATES:
                error = NotDelivered("delivery.interrupted", may_retry=True)
                outcome = decide_retry(delivery, error, self._clock.now())
                await self._store.deliveries.record_attempt(delivery.id, delivery.attempts, outcome)
            elif name in stale or states.get(name) == "SUCCESS":
                await self._queue.delete(name)


def format_attempt_id(delivery: Delivery) -> str:
    """The name of a delivery's next try."""
    return f"{delivery.id}.{delivery.attempts}"


_SETTLED_AFTER_S = 30.0


class ResearchReconciler:
    """Brings the researches on record and the queue together.

    Each time that a research goes on, at first, after its plan was looked at, after a failure, is a workflow of its
    own, named after the research and a number: it is carried out once, by whichever worker takes it.
    """

    def __init__(self, *, store: Store, clock: Clock, service: ResearchService, queue: DurableQueue) -> None:
        self._store = store
        self._clock = clock
        self._service = service
        self._queue = queue

    async def enqueue_waiting(self) -> None:
        """Put what waits into the queue; done twice it does no harm."""
        for research in await self._store.research.list_unqueued():
            await self._queue.enqueue_research(research.workflow_id, research.id)
            await self._store.research.mark_enqueued(research.id, at=self._clock.now())

    async def repair(self) -> None:
        """Have done what the queue does not do any more: broken off, of another version, or from a backup."""
        in_progress = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
        waiting = [
            research
            for research in await self._store.research.list_open()
            if research.status in in_progress and research.enqueued_at is not None
        ]
        if not waiting:
            return
        stale = set(await self._queue.list_outdated(RESEARCH_QUEUE))
        states = await self._queue.get_states([research.workflow_id for research in waiting])
        for research in waiting:
            is_lost = self._is_settled(research) and states.get(research.workflow_id, "SUCCESS") == "SUCCESS"
            if research.workflow_id in stale or is_lost:
                await self._queue.delete(research.workflow_id)
                await self._store.research.requeue(research.id)
            elif states.get(research.workflow_id) in FAILED_STATES:
                reason = Message.of("cause.research_given_up", task_id=research.id)
                await self._service.abandon(research.id, executor=research.executor, reason=reason)

    def _is_settled(self, research: OpenResearch) -> bool:
        # Between the row and the queue another worker may be at work this very moment.
        return (
            research.enqueued_at is not None
            and (self._clock.now() - research.enqueued_at).total_seconds() > _SETTLED_AFTER_S
        )


EXECUTOR_TIMEOUT_S = 30.0
"""An executor whose heartbeat stood still for so long is dead; what it had in hand goes back into the queue."""

_ENQUEUE_INTERVAL_S = 1.0
_REAP_INTERVAL_S = 5.0
_REPAIR_INTERVAL_S = 60.0
_RETENTION_DAYS = 14
_STOP_TIMEOUT_S = 30.0
_log = logging.getLogger(__name__)


class Worker:
    """One worker. `stop()` lets no further step begin and gives those under way 30 seconds."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        clock: Clock,
        sweeps: SweepService,
        dispatch: DeliveryDispatcher,
        research: ResearchService,
        presence: HeartbeatRegistry,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._sweeps = sweeps
        self._dispatch = dispatch
        self._research = research
        self._presence = presence
        self._events = RunEventLog(store=store, clock=clock)
        self._tracker = StepTracker()
        self._workflow_tasks: set[asyncio.Task[object]] = set()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[str]:
        """Work for as long as the block lasts; gives the executor's name."""
        async with self._presence.register(WORKER_KIND) as executor:
            queue = DurableQueue(
                database_url=self._settings.database_url,
                executor_id=executor,
                sweep=self._build_sweep_workflow(executor),
                deliver=self._build_delivery_workflow(),
                research=self._build_research_workflow(executor),
                concurrency=self._settings.work.concurrency,
                max_runs=self._settings.work.max_runs,
            )
            await queue.open()
            rounds = DeliveryReconciler(store=self._store, clock=self._clock, dispatch=self._dispatch, queue=queue)
            researches = ResearchReconciler(store=self._store, clock=self._clock, service=self._research, queue=queue)
            reaper = Reaper(
                store=self._store,
                clock=self._clock,
                queue=queue,
                executor=executor,
                deliveries=rounds,
                researches=researches,
            )
            loops = [
                asyncio.create_task(run_periodically(_ENQUEUE_INTERVAL_S, lambda: self._enqueue_runs(queue))),
                asyncio.create_task(run_periodically(_ENQUEUE_INTERVAL_S, rounds.enqueue_due)),
                asyncio.create_task(run_periodically(_ENQUEUE_INTERVAL_S, researches.enqueue_waiting)),
                asyncio.create_task(run_periodically(_REAP_INTERVAL_S, reaper.reap)),
            ]
            try:
                yield executor
            finally:
                for loop in loops:
                    loop.cancel()
                await asyncio.gather(*loops, return_exceptions=True)
                if not await self._tracker.drain(timeout_s=_STOP_TIMEOUT_S):
                    _log.warning("Steps that did not end within %g s are repeated after the start.", _STOP_TIMEOUT_S)
                for flow in self._workflow_tasks:
                    flow.cancel()
                await asyncio.gather(*self._workflow_tasks, return_exceptions=True)
                await self._events.close()
                await reaper.release_lease()
                await asyncio.to_thread(queue.close)

    def _build_sweep_workflow(self, executor: str) -> SweepWorkflow:
        async def sweep(run_id: str, since: str | None, until: str | None) -> str:
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 -- for the type checker
            self._workflow_tasks.add(task)
            try:
                status = await self._sweeps.execute(
                    run_id,
                    executor=executor,
                    steps=DurableSteps(self._tracker),
                    since=dt.date.fromisoformat(since) if since else None,
                    until=dt.date.fromisoformat(until) if until else None,
                    on_progress=self._events.get_progress_callback(run_id),
                )
            finally:
                self._workflow_tasks.discard(task)
            return str(status)

        return sweep

    def _build_delivery_workflow(self) -> DeliveryWorkflow:
        async def deliver(delivery_id: str, attempt: int) -> str | None:
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 -- for the type checker
            self._workflow_tasks.add(task)
            try:
                return await self._dispatch.attempt_delivery(delivery_id, attempt, DurableSteps(self._tracker))
            finally:
                self._workflow_tasks.discard(task)

        return deliver

    def _build_research_workflow(self, executor: str) -> ResearchWorkflow:
        async def research(task_id: str) -> str:
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 -- for the type checker
            self._workflow_tasks.add(task)
            try:
                steps = DurableSteps(self._tracker)
                return str(await self._research.execute(task_id, executor=executor, steps=steps))
            finally:
                self._workflow_tasks.discard(task)

        return research

    async def _enqueue_runs(self, queue: DurableQueue) -> None:
        """Put runs that somebody asked for into the queue; done twice it does no harm."""
        for run in await self._store.runs.list_unqueued():
            source = await self._store.sources.get_by_id(run.source_id or 0)
            # What is on no host, as a standing search, waits for nobody but itself.
            host = (get_host(source.url) or f"source {source.id}") if source else ""
            if run.retry_from is None or not await queue.rewind(run.id, run.retry_from, host=host):
                await queue.enqueue(run.id, host=host, since=_format_day(run.since), until=_format_day(run.until))
            await self._store.runs.mark_enqueued(run.id, at=self._clock.now())


class Reaper:
    """Looks after runs that nobody carries out any more; one of all workers has that duty at a time."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        queue: DurableQueue,
        deliveries: DeliveryReconciler,
        researches: ResearchReconciler,
        executor: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._queue = queue
        self._deliveries = deliveries
        self._researches = researches
        self._monotonic = monotonic
        self._lease = LeaseHolder("reaper", holder=executor, store=store, clock=clock)
        self._heartbeats: dict[str, tuple[dt.datetime, float]] = {}
        self._last_reap_s = monotonic()
        self._last_repair_s = monotonic() - _REPAIR_INTERVAL_S

    async def reap(self) -> None:
        """Put the runs of dead executors back, end those that cannot go on, forget what is long past."""
        alive = await self._list_alive()
        if alive is None or not await self._lease.acquire():
            return
        for workflow in await self._queue.list_pending():
            if workflow.executor_id not in alive:
                _log.warning("%s is gone; its %s goes back into the queue.", workflow.executor_id, workflow.workflow_id)
                await self._queue.requeue(workflow)
        if self._monotonic() - self._last_repair_s >= _REPAIR_INTERVAL_S:
            self._last_repair_s = self._monotonic()
            await self._repair()
            await self._deliveries.repair()
            await self._researches.repair()
            long_ago = self._clock.now() - dt.timedelta(days=_RETENTION_DAYS)
            await self._queue.delete_ended(long_ago)
            await self._store.executors.delete_stale(long_ago)

    async def release_lease(self) -> None:
        """Let another one have the duty."""
        await self._lease.release()

    async def _list_alive(self) -> set[str] | None:
        """The executors whose heartbeat moved lately by this process's own steady clock; None if it was asleep itself.

        A process that was stopped, or had no database, has seen nobody's heartbeat and judges nobody.
        """
        now_s = self._monotonic()
        if now_s - self._last_reap_s > EXECUTOR_TIMEOUT_S / 2:
            self._heartbeats.clear()
        self._last_reap_s = now_s
        for executor in await self._store.executors.list_all():
            if self._heartbeats.get(executor.id, (None, 0.0))[0] != executor.seen_at:
                self._heartbeats[executor.id] = (executor.seen_at, now_s)
        if not self._heartbeats:
            return None
        return {name for name, (_, moved_s) in self._heartbeats.items() if now_s - moved_s < EXECUTOR_TIMEOUT_S}

    async def _repair(self) -> None:
        """Bring runs and queue together where a crash, a new version or a restored backup parted them."""
        stale = set(await self._queue.list_outdated())
        runs = [run for run in await self._store.runs.list_open() if run.enqueued_at is not None]
        states = await self._queue.get_states([run.id for run in runs]) if runs else {}
        for run in runs:
            if run.id in stale or (self._is_settled(run) and states.get(run.id, "SUCCESS") == "SUCCESS"):
                await self._queue.delete(run.id)
                await self._store.runs.requeue(run.id)
            elif states.get(run.id) in FAILED_STATES:
                reason = Message("cause.given_up")
                now = self._clock.now()
                await self._store.runs.abandon(run.id, reason=reason, at=now, executor=run.executor)

    def _is_settled(self, run: Run) -> bool:
        # Between the row and the queue another worker may be at work this very moment.
        return (
            run.enqueued_at is not None and (self._clock.now() - run.enqueued_at).total_seconds() > EXECUTOR_TIMEOUT_S
        )


async def run_periodically(interval_s: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work again and again; what goes wrong is told and tried again, for nothing may end the service."""
    is_reported = ""
    while True:
        try:
            await work()
            is_reported = ""
        except MonitorError as error:
            if str(error) != is_reported:
                _log.warning("%s", error)
            is_reported = str(error)
        except Exception as error:  # noqa: BLE001 -- the loop must go on, whatever the library meets
            if repr(error) != is_reported:
                _log.exception("The service goes on after an unexpected error.")
            is_reported = repr(error)
        await asyncio.sleep(interval_s)


def _format_day(day: dt.date | None) -> str | None:
    return None if day is None else day.isoformat()
