"""The queues of runs, deliveries, researches and evaluations: durable workflows, one run at a time on a host."""

import asyncio
import datetime as dt
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar, cast

from dbos import DBOS, DBOSConfig, SetEnqueueOptions, SetWorkflowID, WorkflowStatus
from dbos import error as dbos_error
from pydantic import TypeAdapter

from monitor.db.engines import DatabaseAddress, open_queue_engine
from monitor.vocabulary import Phase

RUN_QUEUE = "sweeps"
DELIVERY_QUEUE = "deliveries"
RESEARCH_QUEUE = "research"
EVALUATION_QUEUE = "evaluations"
_ALL_QUEUES = [RUN_QUEUE, DELIVERY_QUEUE, RESEARCH_QUEUE, EVALUATION_QUEUE]
FAILED_STATES = {"ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"}
"""The states of a workflow that nobody carries out any more."""

FLOWS_VERSION = "3"  # raised when the steps of a flow change, so that a run with other steps is begun anew

_FIRST_STEP, _FIRST_STEP_NUMBER = "look", 1
_APP_NAME = "monitor"
_RUN_POLL_INTERVAL_S = 0.5
_POLL_INTERVAL_S = 2.0  # a delivery or a research may wait that long; each look costs two transactions
_DELIVERY_CONCURRENCY = 4
_RESEARCH_CONCURRENCY = 2
_DELETE_BATCH_SIZE = 500
_MAX_RECOVERY_ATTEMPTS = 20  # a run that took its process down so often is given up

SweepWorkflow = Callable[[str, str | None, str | None], Coroutine[Any, Any, str]]
DeliveryWorkflow = Callable[[str, int], Coroutine[Any, Any, str | None]]
ResearchWorkflow = Callable[[str], Coroutine[Any, Any, str]]
EvaluationWorkflow = Callable[[str], Coroutine[Any, Any, str]]


@dataclass(kw_only=True)
class DurableQueue:
    """The queues as a worker sees them. DBOS allows one such object in a process."""

    database_url: str
    executor_id: str
    sweep: SweepWorkflow
    deliver: DeliveryWorkflow
    research: ResearchWorkflow
    evaluate: EvaluationWorkflow
    concurrency: int
    max_runs: int | None

    async def open(self) -> None:
        """Begin to take runs; those that this executor had in hand when it died come first."""
        logging.getLogger("dbos").setLevel(logging.WARNING)
        address = DatabaseAddress.parse(self.database_url)
        config: DBOSConfig = {
            "name": _APP_NAME,
            "executor_id": self.executor_id,
            "application_version": FLOWS_VERSION,
            "log_level": "WARNING",
            "system_database_url": _build_queue_url(address),
            "system_database_engine": open_queue_engine(address),
            "max_executor_threads": 16,
        }
        DBOS(config=config)
        self.sweep = DBOS.workflow(name="sweep", max_recovery_attempts=_MAX_RECOVERY_ATTEMPTS)(self.sweep)
        self.deliver = DBOS.workflow(name="deliver", max_recovery_attempts=_MAX_RECOVERY_ATTEMPTS)(self.deliver)
        self.research = DBOS.workflow(name="research", max_recovery_attempts=_MAX_RECOVERY_ATTEMPTS)(self.research)
        self.evaluate = DBOS.workflow(name="evaluate", max_recovery_attempts=_MAX_RECOVERY_ATTEMPTS)(self.evaluate)
        DBOS.launch()
        register = partial(DBOS.register_queue_async, on_conflict="always_update")
        self._runs = await register(
            RUN_QUEUE,
            partition_concurrency=1,
            worker_concurrency=self.concurrency,
            global_concurrency=self.max_runs,
            polling_interval_sec=_RUN_POLL_INTERVAL_S,
        )
        register = partial(register, polling_interval_sec=_POLL_INTERVAL_S)
        self._deliveries = await register(
            DELIVERY_QUEUE, partition_concurrency=1, worker_concurrency=_DELIVERY_CONCURRENCY
        )
        self._researches = await register(RESEARCH_QUEUE, worker_concurrency=_RESEARCH_CONCURRENCY)
        self._evaluations = await register(EVALUATION_QUEUE, worker_concurrency=1)

    async def close(self) -> None:
        """Take no more runs. What is in progress goes on after the next start."""
        await asyncio.to_thread(DBOS.destroy, destroy_registry=True)
        # DBOS put its own executor in place of the loop's, and has shut it down.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())

    async def enqueue(self, run_id: str, *, host: str, since: str | None, until: str | None) -> None:
        """Put a run into the queue under its id; one that is already there stays as it is, here and below."""
        with SetWorkflowID(run_id), SetEnqueueOptions(queue_partition_key=host or "-"):
            await self._runs.enqueue_async(self.sweep, run_id, since, until)

    async def enqueue_delivery(self, name: str, delivery_id: str, attempt: int, *, target: str) -> None:
        with SetWorkflowID(name), SetEnqueueOptions(queue_partition_key=target):
            await self._deliveries.enqueue_async(self.deliver, delivery_id, attempt)

    async def enqueue_research(self, name: str, task_id: str) -> None:
        with SetWorkflowID(name):
            await self._researches.enqueue_async(self.research, task_id)

    async def enqueue_evaluation(self, name: str, evaluation_id: str) -> None:
        with SetWorkflowID(name):
            await self._evaluations.enqueue_async(self.evaluate, evaluation_id)

    async def rewind(self, run_id: str, phase: Phase, *, host: str) -> bool:
        """Repeat an ended run from a phase on; False where the queue does not know it."""
        steps = await DBOS.list_workflow_steps_async(run_id)
        if not steps and await self.get_state(run_id) is None:
            return False
        first = _find_first_step(phase, [(step["function_id"], step["function_name"], step["error"]) for step in steps])
        await DBOS.rewind_workflow_async(
            run_id,
            start_step=first,
            application_version=FLOWS_VERSION,
            queue_name=RUN_QUEUE,
            queue_partition_key=host or "-",
        )
        return True

    async def get_state(self, run_id: str) -> str | None:
        """The queue's own word for the state of a run; None where it does not know it."""
        return (await self.get_states([run_id])).get(run_id)

    async def get_states(self, run_ids: Sequence[str]) -> dict[str, str]:
        found = await DBOS.list_workflows_async(workflow_ids=list(run_ids), load_input=False, load_output=False)
        return {workflow.workflow_id: workflow.status for workflow in found}

    async def delete(self, run_id: str) -> None:
        with suppress(dbos_error.DBOSNonExistentWorkflowError):
            await DBOS.delete_workflow_async(run_id)

    async def delete_ended(self, before: dt.datetime) -> None:
        """Remove what ended before an instant; the table of runs keeps its outcome."""
        found = await DBOS.list_workflows_async(
            completed_before=before.isoformat(),
            queue_name=_ALL_QUEUES,
            limit=_DELETE_BATCH_SIZE,
            load_input=False,
            load_output=False,
        )
        await DBOS.delete_workflows_async([workflow.workflow_id for workflow in found])

    async def list_pending(self) -> list[WorkflowStatus]:
        return await DBOS.list_workflows_async(
            status="PENDING", queue_name=_ALL_QUEUES, load_input=False, load_output=False
        )

    async def requeue(self, workflow: WorkflowStatus) -> None:
        """Put what a dead executor had in hand back into its queue, whose limits still hold."""
        await DBOS.resume_workflow_async(workflow.workflow_id, queue_name=workflow.queue_name)

    async def list_outdated(self, queue: str = RUN_QUEUE) -> list[str]:
        """The ids of what began, or was queued, with the steps of another version."""
        found = await DBOS.list_workflows_async(
            status=["PENDING", "ENQUEUED"], queue_name=queue, load_input=False, load_output=False
        )
        return [workflow.workflow_id for workflow in found if workflow.app_version not in (FLOWS_VERSION, None)]


def _build_queue_url(address: DatabaseAddress) -> str:
    if address.file is not None:
        return f"sqlite:///{address.file}"
    return address.url.set(drivername="postgresql").render_as_string(hide_password=False)


def _find_first_step(phase: Phase, steps: Sequence[tuple[int, str, BaseException | None]]) -> int:
    """The number of a phase's first step; where the phase never began, of the step that failed or comes next.

    What another version began is done from the start, and so is a run that was over with its first look.
    """
    numbers = {name: number for number, name, _ in steps}
    if list(numbers) in ([], [_FIRST_STEP]) or _FIRST_STEP not in numbers:
        return _FIRST_STEP_NUMBER
    # The first look reads sections too, unless the first of them has a step of its own.
    crawl = "crawl:0" if "crawl:0" in numbers else _FIRST_STEP
    names = {Phase.NAVIGATE: _FIRST_STEP, Phase.CRAWL: crawl, Phase.SUMMARISE: "unsummarised", Phase.RANK: "rank"}
    stops = [number for number, name, error in steps if name in (names[phase], "end") or error is not None]
    return min(stops, default=max(numbers.values()) + 1)


T = TypeVar("T")


@cache
def _get_adapter(result: Any) -> TypeAdapter[Any]:
    return TypeAdapter(result)


class DurableSteps:
    """Runs steps and keeps their results: a run that goes on after a crash finds what was done.

    Once it drains, it holds back every step that would begin: the run stays as it is and goes on after the next start.
    """

    def __init__(self) -> None:
        self._accepting = asyncio.Event()
        self._accepting.set()
        self._in_progress = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self, name: str, result: type[T], step: Callable[[], Awaitable[T]]) -> T:
        adapter = _get_adapter(cast("Any", result))

        async def run_step() -> object:
            return adapter.dump_python(await step(), mode="json")

        await self._accepting.wait()
        self._in_progress += 1
        self._idle.clear()
        try:
            answer: T = adapter.validate_python(await DBOS.run_step_async({"name": name}, run_step))
            return answer
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
