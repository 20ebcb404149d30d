"""A worker: takes runs, deliveries and researches out of their queues, and picks up what dead workers left."""

import asyncio
import datetime as dt
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from monitor.app.dispatch import Dispatch
from monitor.app.eventlog import EventLog
from monitor.app.research import ResearchDesk
from monitor.app.sweeps import WORKER, SweepDesk
from monitor.domain.tables import Run
from monitor.domain.urls import host_of
from monitor.errors import MonitorError
from monitor.ports import Clock
from monitor.settings import Settings
from monitor.store import Store
from monitor.work.deliveries import DeliveryRounds
from monitor.work.durable import DurableSteps, StepGate
from monitor.work.lease import Duty
from monitor.work.presence import HeartbeatPresence
from monitor.work.queue import BROKEN, DeliveryFlow, DurableQueue, Flow, ResearchFlow
from monitor.work.research import ResearchRounds

DEAD_AFTER_S = 30.0
"""An executor whose heartbeat stood still for so long is dead; what it had in hand goes back into the queue."""

_NOTICE_EVERY_S = 1.0
_REAP_EVERY_S = 5.0
_MEND_EVERY_S = 60.0
_KEPT_DAYS = 14
_STOP_PATIENCE_S = 30.0
_log = logging.getLogger(__name__)


class Worker:
    """One worker. `stop()` lets no further step begin and gives those under way 30 seconds."""

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        clock: Clock,
        sweeps: SweepDesk,
        dispatch: Dispatch,
        research: ResearchDesk,
        presence: HeartbeatPresence,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._sweeps = sweeps
        self._dispatch = dispatch
        self._research = research
        self._presence = presence
        self._events = EventLog(store=store, clock=clock)
        self._gate = StepGate()
        self._flows: set[asyncio.Task[object]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        """Work for as long as the block lasts; gives the executor's name."""
        async with self._presence.attending(WORKER) as executor:
            queue = DurableQueue(
                database_url=self._settings.database_url,
                executor_id=executor,
                flow=self._flow(executor),
                deliver=self._delivery_flow(),
                research=self._research_flow(executor),
                concurrency=self._settings.work.concurrency,
                most_runs=self._settings.work.max_runs,
            )
            await queue.open()
            rounds = DeliveryRounds(store=self._store, clock=self._clock, dispatch=self._dispatch, queue=queue)
            researches = ResearchRounds(store=self._store, clock=self._clock, desk=self._research, queue=queue)
            reaper = Reaper(
                store=self._store,
                clock=self._clock,
                queue=queue,
                executor=executor,
                deliveries=rounds,
                researches=researches,
            )
            loops = [
                asyncio.create_task(every(_NOTICE_EVERY_S, lambda: self._notice(queue))),
                asyncio.create_task(every(_NOTICE_EVERY_S, rounds.look)),
                asyncio.create_task(every(_NOTICE_EVERY_S, researches.look)),
                asyncio.create_task(every(_REAP_EVERY_S, reaper.look)),
            ]
            try:
                yield executor
            finally:
                for loop in loops:
                    loop.cancel()
                await asyncio.gather(*loops, return_exceptions=True)
                if not await self._gate.close(patience_s=_STOP_PATIENCE_S):
                    _log.warning("Steps that did not end within %g s are repeated after the start.", _STOP_PATIENCE_S)
                for flow in self._flows:
                    flow.cancel()
                await asyncio.gather(*self._flows, return_exceptions=True)
                await self._events.close()
                await reaper.leave()
                await asyncio.to_thread(queue.close)

    def _flow(self, executor: str) -> Flow:
        async def sweep(run_id: str, since: str | None, until: str | None) -> str:
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 -- for the type checker
            self._flows.add(task)
            try:
                status = await self._sweeps.carry_out(
                    run_id,
                    executor=executor,
                    steps=DurableSteps(self._gate),
                    since=dt.date.fromisoformat(since) if since else None,
                    until=dt.date.fromisoformat(until) if until else None,
                    on_progress=self._events.of(run_id),
                )
            finally:
                self._flows.discard(task)
            return str(status)

        return sweep

    def _delivery_flow(self) -> DeliveryFlow:
        async def deliver(delivery_id: str, attempt: int) -> str | None:
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 -- for the type checker
            self._flows.add(task)
            try:
                return await self._dispatch.carry_out(delivery_id, attempt, DurableSteps(self._gate))
            finally:
                self._flows.discard(task)

        return deliver

    def _research_flow(self, executor: str) -> ResearchFlow:
        async def research(task_id: str) -> str:
            task = asyncio.current_task()
            assert task is not None  # noqa: S101 -- for the type checker
            self._flows.add(task)
            try:
                steps = DurableSteps(self._gate)
                return str(await self._research.carry_out(task_id, executor=executor, steps=steps))
            finally:
                self._flows.discard(task)

        return research

    async def _notice(self, queue: DurableQueue) -> None:
        """Put runs that somebody asked for into the queue; done twice it does no harm."""
        for run in await self._store.runs.unnoticed():
            source = await self._store.sources.by_id(run.source_id or 0)
            # What is on no host, as a standing search, waits for nobody but itself.
            host = (host_of(source.url) or f"source {source.id}") if source else ""
            if run.retry_from is None or not await queue.repeat(run.id, run.retry_from, host=host):
                await queue.enqueue(run.id, host=host, since=_day(run.since), until=_day(run.until))
            await self._store.runs.mark_enqueued(run.id, at=self._clock.now())


class Reaper:
    """Looks after runs that nobody carries out any more; one of all workers has that duty at a time."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        queue: DurableQueue,
        deliveries: DeliveryRounds,
        researches: ResearchRounds,
        executor: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._queue = queue
        self._deliveries = deliveries
        self._researches = researches
        self._monotonic = monotonic
        self._duty = Duty("reaper", holder=executor, store=store, clock=clock)
        self._marks: dict[str, tuple[dt.datetime, float]] = {}
        self._looked_at_s = monotonic()
        self._mended_at_s = monotonic() - _MEND_EVERY_S

    async def look(self) -> None:
        """Put the runs of dead executors back, end those that cannot go on, forget what is long past."""
        alive = await self._alive()
        if alive is None or not await self._duty.has_it():
            return
        for one in await self._queue.under_way():
            if one.executor_id not in alive:
                _log.warning("%s is gone; its %s goes back into the queue.", one.executor_id, one.workflow_id)
                await self._queue.take_over(one)
        if self._monotonic() - self._mended_at_s >= _MEND_EVERY_S:
            self._mended_at_s = self._monotonic()
            await self._mend()
            await self._deliveries.mend()
            await self._researches.mend()
            long_ago = self._clock.now() - dt.timedelta(days=_KEPT_DAYS)
            await self._queue.forget_ended(long_ago)
            await self._store.executors.forget(long_ago)

    async def leave(self) -> None:
        """Let another one have the duty."""
        await self._duty.give_up()

    async def _alive(self) -> set[str] | None:
        """The executors whose heartbeat moved lately by this process's own steady clock; None if it was asleep itself.

        A process that was stopped, or had no database, has seen nobody's heartbeat and judges nobody.
        """
        now_s = self._monotonic()
        if now_s - self._looked_at_s > DEAD_AFTER_S / 2:
            self._marks.clear()
        self._looked_at_s = now_s
        for executor in await self._store.executors.all():
            if self._marks.get(executor.id, (None, 0.0))[0] != executor.seen_at:
                self._marks[executor.id] = (executor.seen_at, now_s)
        if not self._marks:
            return None
        return {name for name, (_, moved_s) in self._marks.items() if now_s - moved_s < DEAD_AFTER_S}

    async def _mend(self) -> None:
        """Bring runs and queue together where a crash, a new version or a restored backup parted them."""
        stale = set(await self._queue.stale())
        runs = [run for run in await self._store.runs.open() if run.enqueued_at is not None]
        states = await self._queue.states([run.id for run in runs]) if runs else {}
        for run in runs:
            if run.id in stale or (self._is_settled(run) and states.get(run.id, "SUCCESS") == "SUCCESS"):
                await self._queue.forget(run.id)
                await self._store.runs.requeue(run.id)
            elif states.get(run.id) in BROKEN:
                reason = "The run broke off again and again and was given up; the log says why."
                now = self._clock.now()
                await self._store.runs.give_up(run.id, reason=reason, at=now, executor=run.executor)

    def _is_settled(self, run: Run) -> bool:
        # Between the row and the queue another worker may be at work this very moment.
        return run.enqueued_at is not None and (self._clock.now() - run.enqueued_at).total_seconds() > DEAD_AFTER_S


async def every(pause_s: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work again and again; what goes wrong is told and tried again, for nothing may end the service."""
    told = ""
    while True:
        try:
            await work()
            told = ""
        except MonitorError as error:
            if str(error) != told:
                _log.warning("%s", error)
            told = str(error)
        except Exception as error:  # noqa: BLE001 -- the loop must go on, whatever the library meets
            if repr(error) != told:
                _log.exception("The service goes on after an unexpected error.")
            told = repr(error)
        await asyncio.sleep(pause_s)


def _day(day: dt.date | None) -> str | None:
    return None if day is None else day.isoformat()
