"""A worker: takes runs, deliveries, researches and evaluations from their queues, and what dead workers left."""

import asyncio
import datetime as dt
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial

from monitor.briefing.deliver import decide_retry
from monitor.clock import Clock
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.sessions import split_batches
from monitor.db.tables.collection import Run
from monitor.db.tables.delivery import Delivery
from monitor.db.tables.evaluation import EvaluationStatus
from monitor.db.tables.research import ResearchStatus
from monitor.errors import NotDelivered
from monitor.i18n.message import Message
from monitor.jobs.presence import HeartbeatRegistry, LeaseHolder, repeat
from monitor.jobs.queue import (
    DELIVERY_QUEUE,
    EVALUATION_QUEUE,
    FAILED_STATES,
    RESEARCH_QUEUE,
    RUN_QUEUE,
    DurableQueue,
    DurableSteps,
)
from monitor.services.archive_export import ArchiveExporter
from monitor.services.dispatch import DeliveryDispatcher
from monitor.services.evaluation import EvaluationService
from monitor.services.events import RunEventLog
from monitor.services.research.service import ResearchService
from monitor.services.runtime import WORKER_KIND
from monitor.services.sweeps import SweepService
from monitor.services.webhooks.dispatch import WebhookDispatcher
from monitor.urls import get_host

_RELEASE_INTERVAL_S = 5.0
_ENQUEUE_AGAIN_AFTER_S = 30.0
_SETTLED_AFTER = dt.timedelta(seconds=30)


@dataclass(kw_only=True)
class DeliveryReconciler:
    """Brings the log of deliveries and the queue together.

    Each try is a workflow of its own, named after the delivery and the number of the try: two workers that see it due
    make it once, and one whose worker died is made by another worker, with the same key and Message-ID.
    """

    store: Store
    clock: Clock
    dispatch: DeliveryDispatcher
    queue: DurableQueue
    monotonic: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._enqueued_at_s: dict[str, float] = {}
        self._released_at_s = self.monotonic() - _RELEASE_INTERVAL_S

    async def enqueue_due(self) -> None:
        """Put what is due into the queue; to do it twice does no harm."""
        now_s = self.monotonic()
        if now_s - self._released_at_s >= _RELEASE_INTERVAL_S:
            self._released_at_s = now_s
            await self.dispatch.release_due()
        self._enqueued_at_s = {
            name: at_s for name, at_s in self._enqueued_at_s.items() if now_s - at_s < _ENQUEUE_AGAIN_AFTER_S
        }
        for delivery in await self.store.deliveries.list_due(self.clock.now()):
            name = format_attempt_id(delivery)
            if name not in self._enqueued_at_s:
                await self.queue.enqueue_delivery(name, delivery.id, delivery.attempts, target=delivery.target)
                self._enqueued_at_s[name] = now_s

    async def repair(self) -> None:
        """Have tries made again that the queue lost: broken off, of another version, or from a backup."""
        late = await self.store.deliveries.list_due(self.clock.now() - _SETTLED_AFTER)
        if not late:
            return
        stale = set(await self.queue.list_outdated(DELIVERY_QUEUE))
        states = await self.queue.get_states([format_attempt_id(delivery) for delivery in late])
        for delivery in late:
            name = format_attempt_id(delivery)
            if states.get(name) in FAILED_STATES:
                error = NotDelivered("delivery.interrupted", may_retry=True)
                outcome = decide_retry(delivery, error, self.clock.now())
                await self.store.deliveries.record_attempt(delivery.id, delivery.attempts, outcome)
            elif name in stale or states.get(name) == "SUCCESS":
                await self.queue.delete(name)


def format_attempt_id(delivery: Delivery) -> str:
    return f"{delivery.id}.{delivery.attempts}"


@dataclass(kw_only=True)
class ResearchReconciler:
    """Brings the researches on record and the queue together; each time that one goes on is a workflow of its own."""

    store: Store
    clock: Clock
    service: ResearchService
    queue: DurableQueue

    async def enqueue_waiting(self) -> None:
        """Put what waits into the queue; to do it twice does no harm."""
        for research in await self.store.research.list_unqueued():
            await self.queue.enqueue_research(research.workflow_id, research.id)
            await self.store.research.mark_enqueued(research.id, at=self.clock.now())

    async def repair(self) -> None:
        """Queue again what the queue lost: broken off, of another version, or from a backup."""
        in_progress = (ResearchStatus.QUEUED, ResearchStatus.RUNNING)
        waiting = [
            research
            for research in await self.store.research.list_open()
            if research.status in in_progress and research.enqueued_at is not None
        ]
        enqueued_at = {research.workflow_id: research.enqueued_at for research in waiting}
        lost, failed = await _find_broken(self.queue, RESEARCH_QUEUE, enqueued_at, now=self.clock.now())
        for research in waiting:
            if research.workflow_id in lost:
                await self.queue.delete(research.workflow_id)
                await self.store.research.requeue(research.id)
            elif research.workflow_id in failed:
                reason = Message.of("cause.research_given_up", task_id=research.id)
                await self.service.abandon(research.id, executor=research.executor, reason=reason)


@dataclass(kw_only=True)
class EvaluationReconciler:
    """Brings the evaluations on record and the queue together; each time that one goes on is a workflow of its own."""

    store: Store
    clock: Clock
    queue: DurableQueue

    async def enqueue_waiting(self) -> None:
        """Put what waits into the queue; to do it twice does no harm."""
        for evaluation in await self.store.evaluations.list_open():
            if evaluation.status is EvaluationStatus.QUEUED and evaluation.enqueued_at is None:
                await self.queue.enqueue_evaluation(evaluation.workflow_id, evaluation.id)
                await self.store.evaluations.mark_enqueued(evaluation.id, at=self.clock.now())

    async def repair(self) -> None:
        """Queue again what the queue lost; an evaluation that failed for good is stopped and can go on."""
        waiting = [each for each in await self.store.evaluations.list_open() if each.enqueued_at is not None]
        enqueued_at = {each.workflow_id: each.enqueued_at for each in waiting}
        lost, failed = await _find_broken(self.queue, EVALUATION_QUEUE, enqueued_at, now=self.clock.now())
        for evaluation in waiting:
            if evaluation.workflow_id in lost:
                await self.queue.delete(evaluation.workflow_id)
                await self.store.evaluations.requeue(evaluation.id)
            elif evaluation.workflow_id in failed:
                await self.store.evaluations.end(
                    evaluation.id,
                    executor=evaluation.executor,
                    status=EvaluationStatus.STOPPED,
                    at=self.clock.now(),
                    reason=Message("evaluation.process_ended"),
                )


async def _find_broken(
    queue: DurableQueue, name: str, enqueued_at: Mapping[str, dt.datetime | None], *, now: dt.datetime
) -> tuple[set[str], set[str]]:
    """Return which of these workflows are to be queued again, and which failed for good.

    Again are queued those of another version and those that the queue has lost or finished without their row. One that
    was queued a moment ago may still be on its way.
    """
    if not enqueued_at:
        return set(), set()
    lost = set(await queue.list_outdated(name))
    states = await queue.get_states(list(enqueued_at))
    for workflow, at in enqueued_at.items():
        if at is not None and abs(now - at) > _SETTLED_AFTER and states.get(workflow, "SUCCESS") == "SUCCESS":
            lost.add(workflow)
    return lost, {workflow for workflow, state in states.items() if state in FAILED_STATES}


EXECUTOR_TIMEOUT_S = 30.0
"""An executor whose heartbeat stood still for this long is dead; its work goes back into the queue."""

EXPORT_LEASE = "exports"
"""The duty to write exports; whoever runs one by hand takes it for so long."""

_ENQUEUE_INTERVAL_S = 1.0
_EVALUATION_INTERVAL_S = 3.0
_WEBHOOK_INTERVAL_S = 1.0
_EXPORT_INTERVAL_S = 5.0
_ENQUEUE_BATCH_SIZE = 20
_REAP_INTERVAL_S = 5.0
_REPAIR_INTERVAL_S = 60.0
_RETENTION_DAYS = 14
_STOP_TIMEOUT_S = 30.0
_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Worker:
    """One worker. At its end it lets no further step begin and gives those in progress 30 seconds."""

    store: Store
    settings: Settings
    clock: Clock
    sweeps: SweepService
    dispatch: DeliveryDispatcher
    research: ResearchService
    evaluations: EvaluationService
    webhooks: WebhookDispatcher
    exports: ArchiveExporter
    presence: HeartbeatRegistry

    def __post_init__(self) -> None:
        self._events = RunEventLog(store=self.store, clock=self.clock)
        self._steps = DurableSteps()
        self._workflow_tasks: set[asyncio.Task[object]] = set()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[str]:
        """Work for as long as the block lasts; gives the executor's name."""
        async with self.presence.register(WORKER_KIND) as executor:
            queue = self._build_queue(executor)
            await queue.open()
            deliveries = DeliveryReconciler(store=self.store, clock=self.clock, dispatch=self.dispatch, queue=queue)
            researches = ResearchReconciler(store=self.store, clock=self.clock, service=self.research, queue=queue)
            evaluations = EvaluationReconciler(store=self.store, clock=self.clock, queue=queue)
            reaper = Reaper(
                store=self.store,
                clock=self.clock,
                queue=queue,
                executor=executor,
                deliveries=deliveries,
                researches=researches,
                evaluations=evaluations,
            )
            lease = LeaseHolder("webhooks", holder=executor, store=self.store, clock=self.clock)
            export_lease = LeaseHolder(EXPORT_LEASE, holder=executor, store=self.store, clock=self.clock)
            try:
                async with repeat(
                    (_ENQUEUE_INTERVAL_S, partial(self._enqueue_runs, queue)),
                    (_ENQUEUE_INTERVAL_S, deliveries.enqueue_due),
                    (_ENQUEUE_INTERVAL_S, researches.enqueue_waiting),
                    (_EVALUATION_INTERVAL_S, evaluations.enqueue_waiting),
                    (_REAP_INTERVAL_S, reaper.reap),
                    (_WEBHOOK_INTERVAL_S, partial(self._send_webhooks, lease)),
                    (_EXPORT_INTERVAL_S, partial(self._write_exports, export_lease)),
                ):
                    yield executor
            finally:
                if not await self._steps.drain(timeout_s=_STOP_TIMEOUT_S):
                    _log.warning("Steps that did not end within %g s are repeated after the start.", _STOP_TIMEOUT_S)
                for flow in self._workflow_tasks:
                    flow.cancel()
                await asyncio.gather(*self._workflow_tasks, return_exceptions=True)
                await self._events.close()
                await self.webhooks.close()
                await lease.release()
                await reaper.lease.release()
                await queue.close()

    async def _send_webhooks(self, lease: LeaseHolder) -> None:
        """Send the events that are due; one worker at a time, so that those of a subject keep their order."""
        if await self.webhooks.has_work() and await lease.acquire():
            await self.webhooks.start_due()

    async def _write_exports(self, lease: LeaseHolder) -> None:
        """Write the exports that are due; one process at a time, so that each version is written once."""
        if await self.exports.has_due() and await lease.acquire():
            try:
                await self.exports.run_due(lease.acquire)
            finally:
                await lease.release()  # so that whoever exports by hand need not wait until it expires

    @contextmanager
    def _track_workflow(self) -> Iterator[None]:
        """Keep the task of a workflow, so that the worker's end can cancel it."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- for the type checker
        self._workflow_tasks.add(task)
        try:
            yield
        finally:
            self._workflow_tasks.discard(task)

    def _build_queue(self, executor: str) -> DurableQueue:
        async def sweep(run_id: str, since: str | None, until: str | None) -> str:
            with self._track_workflow():
                status = await self.sweeps.execute(
                    run_id,
                    executor=executor,
                    steps=self._steps,
                    since=dt.date.fromisoformat(since) if since else None,
                    until=dt.date.fromisoformat(until) if until else None,
                    on_progress=self._events.get_progress_callback(run_id),
                )
            return str(status)

        async def deliver(delivery_id: str, attempt: int) -> str | None:
            with self._track_workflow():
                return await self.dispatch.attempt_delivery(delivery_id, attempt, self._steps)

        async def research(task_id: str) -> str:
            with self._track_workflow():
                return str(await self.research.execute(task_id, executor=executor, steps=self._steps))

        async def evaluate(evaluation_id: str) -> str:
            with self._track_workflow():
                return str(await self.evaluations.execute(evaluation_id, executor=executor))

        return DurableQueue(
            database_url=self.settings.database_url,
            executor_id=executor,
            sweep=sweep,
            deliver=deliver,
            research=research,
            evaluate=evaluate,
            concurrency=self.settings.work.concurrency,
            max_runs=self.settings.work.max_runs,
        )

    async def _enqueue_runs(self, queue: DurableQueue) -> None:
        """Put runs that somebody asked for into the queue; to do it twice does no harm."""
        for runs in split_batches(await self.store.runs.list_unqueued(), _ENQUEUE_BATCH_SIZE):
            for run in runs:
                await self._enqueue_run(queue, run)
            await self.store.write_together(partial(self._mark_enqueued, runs))

    async def _mark_enqueued(self, runs: Sequence[Run]) -> None:
        for run in runs:
            await self.store.runs.mark_enqueued(run.id, at=self.clock.now())

    async def _enqueue_run(self, queue: DurableQueue, run: Run) -> None:
        source = await self.store.sources.get_by_id(run.source_id or 0)
        # What is on no host, as a standing search, waits for nobody but itself.
        host = (get_host(source.url) or f"source {source.id}") if source else ""
        if run.retry_from is None or not await queue.rewind(run.id, run.retry_from, host=host):
            since, until = (day.isoformat() if day else None for day in (run.since, run.until))
            await queue.enqueue(run.id, host=host, since=since, until=until)


@dataclass(kw_only=True)
class Reaper:
    """Looks after runs that nobody carries out any more; one of all workers has that duty at a time."""

    store: Store
    clock: Clock
    queue: DurableQueue
    deliveries: DeliveryReconciler
    researches: ResearchReconciler
    evaluations: EvaluationReconciler
    executor: str
    monotonic: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.lease = LeaseHolder("reaper", holder=self.executor, store=self.store, clock=self.clock)
        self._heartbeats: dict[str, tuple[dt.datetime, float]] = {}
        self._last_reap_s = self.monotonic()
        self._last_repair_s = self.monotonic() - _REPAIR_INTERVAL_S

    async def reap(self) -> None:
        """Put the runs of dead executors back, end those that cannot go on, forget what is long past."""
        alive = await self._list_alive()
        if alive is None or not await self.lease.acquire():
            return
        for workflow in await self.queue.list_pending():
            if workflow.executor_id not in alive:
                _log.warning("%s is gone; its %s goes back into the queue.", workflow.executor_id, workflow.workflow_id)
                await self.queue.requeue(workflow)
        if self.monotonic() - self._last_repair_s >= _REPAIR_INTERVAL_S:
            self._last_repair_s = self.monotonic()
            await self._repair()
            await self.deliveries.repair()
            await self.researches.repair()
            await self.evaluations.repair()
            long_ago = self.clock.now() - dt.timedelta(days=_RETENTION_DAYS)
            await self.queue.delete_ended(long_ago)
            await self.store.executors.delete_stale(long_ago)

    async def _list_alive(self) -> set[str] | None:
        """The executors whose heartbeat moved lately by this process's own steady clock; None if it saw none at all."""
        now_s = self.monotonic()
        if now_s - self._last_reap_s > EXECUTOR_TIMEOUT_S / 2:
            self._heartbeats.clear()
        self._last_reap_s = now_s
        for executor in await self.store.executors.list_all():
            if self._heartbeats.get(executor.id, (None, 0.0))[0] != executor.seen_at:
                self._heartbeats[executor.id] = (executor.seen_at, now_s)
        if not self._heartbeats:
            return None
        return {name for name, (_, moved_s) in self._heartbeats.items() if now_s - moved_s < EXECUTOR_TIMEOUT_S}

    async def _repair(self) -> None:
        """Bring runs and queue together again after a crash, a new version or a restored backup."""
        runs = [run for run in await self.store.runs.list_open() if run.enqueued_at is not None]
        enqueued_at = {run.id: run.enqueued_at for run in runs}
        lost, failed = await _find_broken(self.queue, RUN_QUEUE, enqueued_at, now=self.clock.now())
        for run in runs:
            if run.id in lost:
                await self.queue.delete(run.id)
                await self.store.runs.requeue(run.id)
            elif run.id in failed:
                now, reason = self.clock.now(), Message("cause.given_up")
                await self.store.runs.abandon(run.id, reason=reason, at=now, executor=run.executor)
