"""The queues of runs, of deliveries and of researches: durable workflows, one run at a time on a host.

Our own tables say what is to be done; the queues' tables, in the same database, say how far it came.
"""

import datetime as dt
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from dbos import DBOS, DBOSConfig, SetEnqueueOptions, SetWorkflowID, WorkflowStatus
from dbos import error as dbos_error

from monitor.domain.words import Phase
from monitor.store.address import DatabaseAddress
from monitor.store.engines import open_queue_engine

QUEUE = "sweeps"
DELIVERIES = "deliveries"
RESEARCH = "research"
_ALL = [QUEUE, DELIVERIES, RESEARCH]
BROKEN = {"ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"}
"""How a workflow stands that nobody carries out any more."""

FLOWS_VERSION = "2"
"""Raised when the steps of a flow change, so that a run which began with other steps is begun anew."""

_NAME = "monitor"
_POLL_S = 0.5
_DELIVERIES_AT_ONCE = 4
_RESEARCHES_AT_ONCE = 2
_FORGOTTEN_AT_ONCE = 500
_MOST_STARTS = 20
"""A run that took its process down so often is given up."""

Flow = Callable[[str, str | None, str | None], Coroutine[Any, Any, str]]
DeliveryFlow = Callable[[str, int], Coroutine[Any, Any, str | None]]
ResearchFlow = Callable[[str], Coroutine[Any, Any, str]]


class DurableQueue:
    """The queues as a worker sees them. There is one such object in a process: the library knows no more."""

    def __init__(
        self,
        *,
        database_url: str,
        executor_id: str,
        flow: Flow,
        deliver: DeliveryFlow,
        research: ResearchFlow,
        concurrency: int,
        most_runs: int | None,
    ) -> None:
        self._address = DatabaseAddress.parse(database_url)
        self._executor_id = executor_id
        self._flow = flow
        self._deliver = deliver
        self._research = research
        self._concurrency = concurrency
        self._most_runs = most_runs

    async def open(self) -> None:
        """Begin to take runs; those that this executor had in hand when it died come first."""
        logging.getLogger("dbos").setLevel(logging.WARNING)
        config: DBOSConfig = {
            "name": _NAME,
            "executor_id": self._executor_id,
            "application_version": FLOWS_VERSION,
            "log_level": "WARNING",
            "system_database_url": _queue_url(self._address),
            "system_database_engine": open_queue_engine(self._address),
            "max_executor_threads": 16,
        }
        DBOS(config=config)
        self._flow = DBOS.workflow(name="sweep", max_recovery_attempts=_MOST_STARTS)(self._flow)
        self._deliver = DBOS.workflow(name="deliver", max_recovery_attempts=_MOST_STARTS)(self._deliver)
        self._research = DBOS.workflow(name="research", max_recovery_attempts=_MOST_STARTS)(self._research)
        DBOS.launch()
        self._queue = await DBOS.register_queue_async(
            QUEUE,
            partition_concurrency=1,
            worker_concurrency=self._concurrency,
            global_concurrency=self._most_runs,
            polling_interval_sec=_POLL_S,
            on_conflict="always_update",
        )
        self._deliveries = await DBOS.register_queue_async(
            DELIVERIES,
            partition_concurrency=1,
            worker_concurrency=_DELIVERIES_AT_ONCE,
            polling_interval_sec=_POLL_S,
            on_conflict="always_update",
        )
        self._researches = await DBOS.register_queue_async(
            RESEARCH, worker_concurrency=_RESEARCHES_AT_ONCE, polling_interval_sec=_POLL_S, on_conflict="always_update"
        )

    def close(self) -> None:
        """Take no more runs. What is under way is left as it stands, to be gone on with."""
        DBOS.destroy(destroy_registry=True)

    async def enqueue(self, run_id: str, *, host: str, since: str | None, until: str | None) -> None:
        """Put a run into the queue under its id; one that is there already stays as it is."""
        with SetWorkflowID(run_id), SetEnqueueOptions(queue_partition_key=host or "-"):
            await self._queue.enqueue_async(self._flow, run_id, since, until)

    async def enqueue_delivery(self, name: str, delivery_id: str, attempt: int, *, target: str) -> None:
        """Put a try of a delivery into the queue under its name; one that is there already stays as it is."""
        with SetWorkflowID(name), SetEnqueueOptions(queue_partition_key=target):
            await self._deliveries.enqueue_async(self._deliver, delivery_id, attempt)

    async def enqueue_research(self, name: str, task_id: str) -> None:
        """Put a research into the queue under that name; one that is there already stays as it is."""
        with SetWorkflowID(name):
            await self._researches.enqueue_async(self._research, task_id)

    async def repeat(self, run_id: str, phase: Phase, *, host: str) -> bool:
        """Have an ended run done again from a phase on; False where the queue does not know it."""
        steps = await DBOS.list_workflow_steps_async(run_id)
        if not steps and await self.state(run_id) is None:
            return False
        first = _first_step_of(phase, [(step["function_id"], step["function_name"], step["error"]) for step in steps])
        await DBOS.rewind_workflow_async(
            run_id,
            start_step=first,
            application_version=FLOWS_VERSION,
            queue_name=QUEUE,
            queue_partition_key=host or "-",
        )
        return True

    async def state(self, run_id: str) -> str | None:
        """The queue's own word for how a run stands; None where it does not know it."""
        return (await self.states([run_id])).get(run_id)

    async def states(self, run_ids: Sequence[str]) -> dict[str, str]:
        found = await DBOS.list_workflows_async(workflow_ids=list(run_ids), load_input=False, load_output=False)
        return {one.workflow_id: one.status for one in found}

    async def forget(self, run_id: str) -> None:
        """Remove a run from the queue, whatever its state."""
        with suppress(dbos_error.DBOSNonExistentWorkflowError):
            await DBOS.delete_workflow_async(run_id)

    async def forget_ended(self, before: dt.datetime) -> None:
        """Remove what ended before an instant; the runs table keeps what people want to know of it."""
        found = await DBOS.list_workflows_async(
            completed_before=before.isoformat(),
            queue_name=_ALL,
            limit=_FORGOTTEN_AT_ONCE,
            load_input=False,
            load_output=False,
        )
        await DBOS.delete_workflows_async([one.workflow_id for one in found])

    async def under_way(self) -> list[WorkflowStatus]:
        """What is under way anywhere, with the executor that has it."""
        return await DBOS.list_workflows_async(status="PENDING", queue_name=_ALL, load_input=False, load_output=False)

    async def take_over(self, one: WorkflowStatus) -> None:
        """Put what a dead executor had in hand back into its queue, whose limits go on to hold."""
        await DBOS.resume_workflow_async(one.workflow_id, queue_name=one.queue_name)

    async def stale(self, queue: str = QUEUE) -> list[str]:
        """What began, or was queued, with the steps of another version."""
        found = await DBOS.list_workflows_async(
            status=["PENDING", "ENQUEUED"], queue_name=queue, load_input=False, load_output=False
        )
        return [one.workflow_id for one in found if one.app_version not in (FLOWS_VERSION, None)]


def _queue_url(address: DatabaseAddress) -> str:
    if address.file is not None:
        return f"sqlite:///{address.file}"
    return address.url.set(drivername="postgresql").render_as_string(hide_password=False)


def _first_step_of(phase: Phase, steps: Sequence[tuple[int, str, BaseException | None]]) -> int:
    """The number of the step with which a phase begins; where it never began, of the one that failed or comes next."""
    names = {Phase.NAVIGATE: "navigate", Phase.CRAWL: "crawl:", Phase.SUMMARISE: "unsummarised", Phase.RANK: "rank"}
    last = max((number for number, _, _ in steps), default=0)
    stops = [
        number for number, name, error in steps if name.startswith(names[phase]) or error is not None or name == "end"
    ]
    return min(stops, default=last + 1)
