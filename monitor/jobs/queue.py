"""The queues of runs, deliveries and researches: durable workflows, one run at a time on a host.

A workflow is a row, and the result of each finished step another one. A worker takes what waits, and its own steps find
what was finished before a crash. What a step stores and the step's own row are one transaction.
"""

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.queries.workflows import QueueLimits
from monitor.db.tables.research import Workflow, WorkflowState, WorkflowStep
from monitor.errors import DatabaseError
from monitor.jobs.presence import survive_errors
from monitor.logs import get_logger
from monitor.vocabulary import Phase, RunStatus

RUN_QUEUE = "sweeps"
DELIVERY_QUEUE = "deliveries"
RESEARCH_QUEUE = "research"

FLOWS_VERSION = "3"  # raised when the steps of a flow change, so that a run with other steps is begun anew

_POLL_INTERVAL_S = 1.0  # how soon work is noticed that another process put there
_SETTLE_INTERVAL_S = 5.0
_DELIVERY_CONCURRENCY = 4
_RESEARCH_CONCURRENCY = 2
_DELETE_BATCH_SIZE = 500

SweepWorkflow = Callable[[str, str | None, str | None], Coroutine[Any, Any, str]]
DeliveryWorkflow = Callable[[str, int], Coroutine[Any, Any, str | None]]
ResearchWorkflow = Callable[[str], Coroutine[Any, Any, str]]
_log = get_logger("queue")


@dataclass
class _Execution:
    """A workflow in this process's hands, with the results of its finished steps."""

    workflow: Workflow
    results: dict[str, Any]


_current: ContextVar[_Execution] = ContextVar("execution")


@dataclass(kw_only=True)
class DurableQueue:
    """The queues as a worker sees them."""

    store: Store
    clock: Clock
    executor_id: str
    sweep: SweepWorkflow
    deliver: DeliveryWorkflow
    research: ResearchWorkflow
    concurrency: int
    max_runs: int | None
    _in_hand: dict[asyncio.Task[None], str] = field(default_factory=dict, init=False)
    _has_news: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def open(self) -> None:
        """Begin to take workflows; those that this executor had in hand when it died come first."""
        await self.store.workflows.release(self.executor_id)
        self._taking = asyncio.create_task(self._take_repeatedly())

    async def close(self) -> None:
        """Take no more. What is in progress stays as it is, and goes on after the next start."""
        tasks = [self._taking, *self._in_hand]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def enqueue(self, run_id: str, *, host: str, since: str | None, until: str | None) -> None:
        """Put a run into the queue under its id; one that is already there stays as it is, here and below."""
        await self._enqueue(RUN_QUEUE, run_id, [run_id, since, until], partition=host)

    async def enqueue_delivery(self, name: str, delivery_id: str, attempt: int, *, target: str) -> None:
        await self._enqueue(DELIVERY_QUEUE, name, [delivery_id, attempt], partition=target)

    async def enqueue_research(self, name: str, task_id: str) -> None:
        await self._enqueue(RESEARCH_QUEUE, name, [task_id], partition=name)

    async def rewind(self, run_id: str, phase: Phase, *, host: str) -> bool:
        """Repeat an ended run from a phase on; False where the queue does not know it."""
        if await self.get_state(run_id) is None:
            return False
        names = list(await self.store.workflows.load_steps(run_id))
        again = names[_find_first_step(phase, names) :]
        await self.store.workflows.rewind(run_id, again, partition=host, version=FLOWS_VERSION)
        self._has_news.set()
        return True

    async def get_state(self, run_id: str) -> WorkflowState | None:
        """The state of a workflow; None where the queue does not know it, or it is done for good."""
        return (await self.get_states([run_id])).get(run_id)

    async def get_states(self, run_ids: Sequence[str]) -> dict[str, WorkflowState]:
        return await self.store.workflows.get_states(run_ids)

    async def delete(self, run_id: str) -> None:
        await self.store.workflows.delete(run_id)

    async def delete_ended(self, before: dt.datetime) -> None:
        """Remove what ended before an instant; the table of runs keeps its outcome."""
        await self.store.workflows.delete_ended(before, limit=_DELETE_BATCH_SIZE)

    async def list_running(self) -> list[Workflow]:
        return await self.store.workflows.list_running()

    async def requeue(self, workflow: Workflow) -> None:
        """Put what a dead executor had in hand back into its queue, whose limits still hold."""
        await self.store.workflows.requeue(workflow)
        self._has_news.set()

    async def list_outdated(self, queue: str = RUN_QUEUE) -> list[str]:
        """The ids of what began, or was queued, with the steps of another version."""
        return await self.store.workflows.list_outdated(queue, version=FLOWS_VERSION)

    async def _enqueue(self, queue: str, name: str, arguments: list[Any], *, partition: str) -> None:
        workflow = Workflow(
            id=name,
            queue=queue,
            partition=partition or "-",
            arguments=arguments,
            version=FLOWS_VERSION,
            created_at=self.clock.now(),
        )
        await self.store.workflows.enqueue(workflow)
        self.store.sessions.call_after_commit(self._has_news.set)

    async def _take_repeatedly(self) -> None:
        take = survive_errors(self._take)
        while True:
            self._has_news.clear()
            await take()
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_INTERVAL_S):
                    await self._has_news.wait()

    async def _take(self) -> None:
        """Begin what may run now."""
        limits = self._compute_limits()
        if not limits or not await self.store.workflows.has_waiting():
            return
        now = self.clock.now()
        for workflow in await self.store.workflows.claim(self.executor_id, limits, version=FLOWS_VERSION, at=now):
            task = asyncio.create_task(self._execute(workflow))
            self._in_hand[task] = workflow.queue
            task.add_done_callback(self._put_down)

    def _put_down(self, task: asyncio.Task[None]) -> None:
        del self._in_hand[task]
        self._has_news.set()

    def _compute_limits(self) -> Mapping[str, QueueLimits]:
        """What each queue has room for."""
        at_work = list(self._in_hand.values())
        most = {
            RUN_QUEUE: self.concurrency,
            DELIVERY_QUEUE: _DELIVERY_CONCURRENCY,
            RESEARCH_QUEUE: _RESEARCH_CONCURRENCY,
        }
        return {
            queue: QueueLimits(count - at_work.count(queue), self.max_runs if queue == RUN_QUEUE else None)
            for queue, count in most.items()
            if count > at_work.count(queue)
        }

    async def _execute(self, workflow: Workflow) -> None:
        """Carry out a workflow, or go on with it behind its finished steps."""
        flows: dict[str, Callable[..., Coroutine[Any, Any, str | None]]] = {
            RUN_QUEUE: self.sweep,
            DELIVERY_QUEUE: self.deliver,
            RESEARCH_QUEUE: self.research,
        }
        results = await self.store.workflows.load_steps(workflow.id) if workflow.attempts > 1 else {}
        _current.set(_Execution(workflow, results))
        try:
            result = await flows[workflow.queue](*workflow.arguments)
        except Exception as error:  # noqa: BLE001 -- the worker goes on, whatever became of one workflow
            _log.error("workflow failed", workflow=workflow.id, error=repr(error))
            await self._settle(workflow, is_failed=True)
        else:
            # A run that fell short may be repeated from a phase on; all others, of which there are most, go.
            await self._settle(workflow, is_kept=workflow.queue != RUN_QUEUE or result != RunStatus.SUCCEEDED)

    async def _settle(self, workflow: Workflow, *, is_failed: bool = False, is_kept: bool = True) -> None:
        """Record that a workflow has ended, however long the database is away."""
        while True:
            try:
                if is_failed:
                    await self.store.workflows.fail(workflow, at=self.clock.now())
                else:
                    await self.store.workflows.end(workflow, at=self.clock.now(), is_kept=is_kept)
            except DatabaseError as error:
                _log.error("workflow not settled", workflow=workflow.id, error=str(error))
                await asyncio.sleep(_SETTLE_INTERVAL_S)
            else:
                return


_STEPS_BY_PHASE = ("begin", "navigate", "crawl:", "summarise:", "rank", "revisit:", "end")


def _find_first_step(phase: Phase, steps: Sequence[str]) -> int:
    """The place of the first step of a phase, or of what comes after it; behind all where there is none."""
    first = {Phase.NAVIGATE: 1, Phase.CRAWL: 2, Phase.SUMMARISE: 3, Phase.RANK: 4}[phase]
    return next((place for place, name in enumerate(steps) if name.startswith(_STEPS_BY_PHASE[first:])), len(steps))


T = TypeVar("T")
V = TypeVar("V")


@cache
def _get_adapter(result: Any) -> TypeAdapter[Any]:
    return TypeAdapter(result)


class DurableSteps:
    """Runs steps and keeps their results: a run that goes on after a crash finds what was done.

    Once it drains, it holds back every step that would begin: the run stays as it is and goes on after the next start.
    A workflow that another process has taken over is broken off.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._accepting = asyncio.Event()
        self._accepting.set()
        self._in_progress = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        async def give(value: T) -> T:
            return value

        return await self.run_and_store(name, result, step, give)

    async def run_and_store(
        self, name: str, result: type[T], step: Callable[[], Awaitable[V]], store: Callable[[V], Awaitable[T]]
    ) -> T:
        execution, adapter = _current.get(), _get_adapter(cast("Any", result))
        if name in execution.results:
            found: T = adapter.validate_python(execution.results[name])
            return found
        await self._accepting.wait()
        self._in_progress += 1
        self._idle.clear()
        try:
            value = await step()

            async def store_all() -> T:
                answer = await store(value)
                execution.results[name] = adapter.dump_python(answer, mode="json")
                row = WorkflowStep(
                    workflow_id=execution.workflow.id,
                    name=name,
                    number=len(execution.results),
                    result=execution.results[name],
                )
                if not await self._store.workflows.save_step(execution.workflow, row):
                    raise asyncio.CancelledError(f"{execution.workflow.id} was taken over")
                return answer

            return await self._store.write_together(store_all)
        finally:
            self._in_progress -= 1
            if not self._in_progress:
                self._idle.set()

    async def drain(self, *, timeout_s: float) -> bool:
        """Let no further step begin and wait for those in progress; False where some did not end in time."""
        self._accepting.clear()
        try:
            async with asyncio.timeout(timeout_s):
                await self._idle.wait()
        except TimeoutError:
            return False
        return True
