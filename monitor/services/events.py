"""The events of runs and researches: written as the work reports them, read by all who watch."""

import asyncio
import datetime as dt
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.queries.runs import StatusSnapshot
from monitor.db.sessions import sanitize_text
from monitor.db.tables.research import ResearchEvent, ResearchStatus, RunEvent
from monitor.errors import MonitorError, NotFound, RunCancelled
from monitor.i18n.message import Message
from monitor.logs import get_logger
from monitor.research.shapes import StepEvent, StepType, build_error_payload, build_step_event
from monitor.sweep.progress import Progress, ProgressCallback
from monitor.vocabulary import EventKind, RunStatus

POLL_INTERVAL_S = 0.25
RUN_SETTLE_DELAY_S = 1.2  # how long after its end a run's last events may be written
_MAX_BUFFERED_EVENTS = 1000


class StreamEvent(Protocol):
    id: int | None


class LifecycleStatus(Protocol):
    @property
    def is_final(self) -> bool: ...


E = TypeVar("E", bound=StreamEvent)
S = TypeVar("S", bound=LifecycleStatus)


class EventSource(Protocol[E, S]):
    async def get_status(self, work_id: str, /) -> StatusSnapshot[S] | None: ...

    async def latest(self, work_id: str, /) -> E | None: ...

    async def after(self, work_id: str, number: int, /) -> list[E]:
        """Return events after the one of that number, oldest first; not necessarily all of them at once."""
        ...


@dataclass(frozen=True, slots=True)
class EventBatch(Generic[E, S]):
    """News for a watcher: events that came, the status, and whether that was all."""

    events: Sequence[E]
    status: S
    is_last: bool = False


@dataclass
class _EventChannel(Generic[E, S]):
    """A run or research and its readers; `events` holds every event after number `base`."""

    status_snapshot: StatusSnapshot[S]
    base: int
    events: deque[E] = field(default_factory=lambda: deque(maxlen=_MAX_BUFFERED_EVENTS))
    is_settled: bool = False
    readers: int = 0
    poll_task: asyncio.Task[None] | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def publish(self, events: Sequence[E], status_snapshot: StatusSnapshot[S], *, is_settled: bool) -> None:
        is_other = status_snapshot.status is not self.status_snapshot.status or is_settled != self.is_settled
        for event in events:
            if len(self.events) == _MAX_BUFFERED_EVENTS:
                self.base = self.events[0].id or 0
            self.events.append(event)
        self.status_snapshot, self.is_settled = status_snapshot, is_settled
        if events or is_other:
            self.notify_readers()

    def notify_readers(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    @property
    def last_id(self) -> int:
        return (self.events[-1].id or 0) if self.events else self.base


@dataclass(kw_only=True)
class EventStreamService(Generic[E, S]):
    """Streams the events of runs or researches: each reader gets each once, the database is asked once for all."""

    source: EventSource[E, S]
    clock: Clock
    not_found_code: str
    removed_status: S
    settle_delay_s: float = 0.0

    def __post_init__(self) -> None:
        self._channels: dict[str, _EventChannel[E, S]] = {}
        self._is_stopped = False

    @asynccontextmanager
    async def subscribe(
        self, work_id: str, *, after: int, heartbeat_s: float
    ) -> AsyncIterator[AsyncIterator[EventBatch[E, S]]]:
        """Yield the news after that event until the work has ended; a batch without events after each `heartbeat_s`."""
        channel = self._channels.get(work_id) or await self._open_channel(work_id)
        channel.readers += 1
        try:
            yield self._iterate_batches(channel, work_id, after, heartbeat_s)
        finally:
            channel.readers -= 1
            if not channel.readers:
                self._channels.pop(work_id, None)
                if channel.poll_task is not None:
                    channel.poll_task.cancel()

    async def has_more(self, work_id: str, *, after: int) -> bool:
        snapshot = await self._load_status(work_id)
        return not self._has_settled(snapshot) or bool(await self.source.after(work_id, after))

    def stop(self) -> None:
        self._is_stopped = True
        for channel in self._channels.values():
            channel.notify_readers()

    async def _load_status(self, work_id: str) -> StatusSnapshot[S]:
        snapshot = await self.source.get_status(work_id)
        if snapshot is None:
            raise NotFound(self.not_found_code, **{self.not_found_code.partition(".")[0]: work_id})
        return snapshot

    async def _open_channel(self, work_id: str) -> _EventChannel[E, S]:
        snapshot = await self._load_status(work_id)
        latest = await self.source.latest(work_id)
        # Somebody else may have opened it meanwhile.
        channel = self._channels.setdefault(work_id, _EventChannel(snapshot, base=(latest and latest.id) or 0))
        if channel.poll_task is None:
            channel.is_settled = self._has_settled(snapshot)
            channel.poll_task = asyncio.create_task(self._poll(work_id, channel))
        return channel

    async def _iterate_batches(
        self, channel: _EventChannel[E, S], work_id: str, after: int, heartbeat_s: float
    ) -> AsyncIterator[EventBatch[E, S]]:
        status: S | None = None
        while not self._is_stopped:
            changed, snapshot, is_settled = channel.changed, channel.status_snapshot, channel.is_settled
            if after >= channel.base:
                events = [event for event in channel.events if (event.id or 0) > after]
            else:
                events = await self.source.after(work_id, after)
                # There may be more than one query returns; what the channel holds follows when it is reached.
                is_settled = is_settled and not events
            if events or snapshot.status is not status or is_settled:
                after = (events[-1].id or 0) if events else max(after, 0)
                status = snapshot.status
                yield EventBatch(events, status, is_last=is_settled)
                if is_settled:
                    return
                continue
            if after < channel.base:
                after = channel.base
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(heartbeat_s):
                    await changed.wait()
                    continue
            yield EventBatch((), snapshot.status)

    async def _poll(self, work_id: str, channel: _EventChannel[E, S]) -> None:
        loop = asyncio.get_running_loop()
        ended_s: float | None = None
        while True:
            await asyncio.sleep(POLL_INTERVAL_S)
            try:
                # The status comes first: when it says that the work has ended, all events are there.
                snapshot = await self.source.get_status(work_id)
                events = await self.source.after(work_id, channel.last_id)
            except MonitorError:
                continue  # the database is away for a while: the watchers wait
            if snapshot is None:
                snapshot = StatusSnapshot(self.removed_status, self.clock.now())  # removed while it was watched
            if not snapshot.status.is_final:
                ended_s = None
            elif ended_s is None:
                ended_s = loop.time()
            has_waited = ended_s is not None and loop.time() - ended_s >= self.settle_delay_s
            is_settled = has_waited or self._has_settled(snapshot)
            channel.publish(events, snapshot, is_settled=is_settled and not events)

    def _has_settled(self, snapshot: StatusSnapshot[S]) -> bool:
        if not snapshot.status.is_final or snapshot.ended_at is None:
            return False
        return (self.clock.now() - snapshot.ended_at).total_seconds() >= 10 * self.settle_delay_s


WRITE_INTERVAL_S = 0.4
MAX_PENDING_EVENTS = 5000  # more pending events than that push out the oldest ones
_CLOSE_TIMEOUT_S = 2.0
_MAX_TEXT_CHARS = 500
_log = get_logger("events")


@dataclass(kw_only=True)
class RunEventLog:
    """Writes the events of all runs every 0.4 s; never waits or fails: events that cannot be written are dropped."""

    store: Store
    clock: Clock

    def __post_init__(self) -> None:
        self._pending: deque[RunEvent] = deque(maxlen=MAX_PENDING_EVENTS)
        self._write_task: asyncio.Task[None] | None = None
        self._flush_requested = asyncio.Event()

    def get_progress_callback(self, run_id: str) -> ProgressCallback:
        def report_progress(progress: Progress) -> None:
            if progress.kind is EventKind.STEP:
                return
            data = progress.model_dump(mode="json", exclude_defaults=True, exclude={"kind", "message"})
            for name, value in data.items():
                if isinstance(value, str):
                    data[name] = sanitize_text(value[:_MAX_TEXT_CHARS])
            self._pending.append(RunEvent(run_id=run_id, at=self.clock.now(), kind=progress.kind, data=data))
            if self._write_task is None or self._write_task.done():
                self._write_task = asyncio.create_task(self._write_loop())

        return report_progress

    async def close(self) -> None:
        self._flush_requested.set()
        if self._write_task is not None:
            await asyncio.wait({self._write_task}, timeout=_CLOSE_TIMEOUT_S)
            self._write_task.cancel()
        self._flush_requested.clear()

    async def _write_loop(self) -> None:
        while self._pending:
            with suppress(TimeoutError):
                async with asyncio.timeout(WRITE_INTERVAL_S):
                    await self._flush_requested.wait()
            await self._write_pending()

    async def _write_pending(self) -> None:
        events = list(self._pending)
        self._pending.clear()
        try:
            if events:
                await self.store.run_events.add(events)
        except Exception as error:  # noqa: BLE001 -- the runs go on whatever happens to the database
            _log.warning("events lost", count=len(events), reason=str(error))


_RESEARCH_WRITE_INTERVAL_S = 0.25


@dataclass(kw_only=True)
class ResearchEventLog:
    """The messages of one research on their way into the database.

    They are written together, four times a second and where somebody waits for it; chunks of a text that wait beside
    each other are written as one. Progress never falls, over restarts too. `RunCancelled` where another process has
    the research by now: this one must not go on. `on_kept` hears each message when it is kept, with its number.
    """

    store: Store
    clock: Clock
    task_id: str
    executor: str
    on_stored: Callable[[ResearchEvent], None] | None = None

    def __post_init__(self) -> None:
        self._events = self.store.research_events
        self._progress = 0.0
        self._ended: set[str] = set()
        self._pending: list[ResearchEvent] = []
        self._write_task: asyncio.Task[None] | None = None
        self._write_lock = asyncio.Lock()
        self._failure: Exception | None = None

    async def open(self) -> None:
        latest = await self._events.latest(self.task_id)
        self._progress = float(latest.data["progress"]) if latest else 0.0
        self._ended = await self._events.list_ended_steps(self.task_id)

    async def publish(self, event: StepEvent) -> None:
        """Take down a message; it is kept within a quarter of a second."""
        self._progress = max(self._progress, event.progress)
        if event.status == "start":
            self._ended.discard(event.step_type)
        elif event.status == "complete":
            self._ended.add(event.step_type)
        data = event.model_copy(update={"progress": self._progress}).to_json()
        if not (self._pending and _merge_chunk(self._pending[-1].data, data)):
            self._pending.append(ResearchEvent(task_id=self.task_id, at=self.clock.now(), data=data))
        self._raise_failure()
        if self._write_task is None or self._write_task.done():
            self._write_task = asyncio.create_task(self._write_pending(after_s=_RESEARCH_WRITE_INTERVAL_S))

    async def flush(self) -> None:
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

    async def _write_pending(self, *, after_s: float = 0.0) -> None:
        await asyncio.sleep(after_s)
        async with self._write_lock:
            events, self._pending = self._pending, []
            if not events or self._failure is not None:
                return
            try:
                numbers = await self._events.add(events, executor=self.executor)
                if numbers is None:
                    self._failure = RunCancelled("research.taken_over", research=self.task_id)
                    return
                for number, event in zip(numbers, events, strict=True):
                    event.id = number
                    if self.on_stored is not None:
                        self.on_stored(event)
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
            await asyncio.sleep(POLL_INTERVAL_S)


def _merge_chunk(last: dict[str, Any], new: dict[str, Any]) -> bool:
    """Join a further chunk of the same text to the message that waits; False where they do not belong together."""
    is_more = all(event["status"] == "progress" and event["payload"].keys() == {"chunk"} for event in (last, new))
    if not is_more or last["stepType"] != new["stepType"]:
        return False
    last["payload"]["chunk"] += new["payload"]["chunk"]
    last["progress"] = new["progress"]
    return True


def build_run_event_stream(store: Store, clock: Clock) -> EventStreamService[RunEvent, RunStatus]:
    return EventStreamService(
        source=store.run_events,
        clock=clock,
        removed_status=RunStatus.CANCELLED,
        settle_delay_s=RUN_SETTLE_DELAY_S,
        not_found_code="run.not_found",
    )


def build_research_event_stream(store: Store, clock: Clock) -> EventStreamService[ResearchEvent, ResearchStatus]:
    return EventStreamService(
        source=store.research_events,
        clock=clock,
        removed_status=ResearchStatus.CANCELLED,
        not_found_code="research.not_found",
    )
