"""What a research tells, kept in its order: those who watch it, from whatever process, see what is kept."""

import asyncio
import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from monitor.domain.research import ResearchEvent, ResearchStatus
from monitor.errors import NotFound, RunCancelled
from monitor.ports import Clock
from monitor.research.events import LABELS, STEP_IDS, StepEvent, StepType
from monitor.store import Store

WRITE_EVERY_S = 0.25
FOLLOW_EVERY_S = 0.25

_CLOSING_S = 2.0


class ResearchLog:
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
        on_kept: Callable[[ResearchEvent], None] | None = None,
    ) -> None:
        self._events = store.research_events
        self._clock = clock
        self._task_id = task_id
        self._executor = executor
        self._on_kept = on_kept
        self._progress = 0.0
        self._ended: set[str] = set()
        self._waiting: list[ResearchEvent] = []
        self._writing: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._failure: Exception | None = None

    async def open(self) -> None:
        """Go on after what was told before."""
        latest = await self._events.latest(self._task_id)
        self._progress = float(latest.data["progress"]) if latest else 0.0
        self._ended = await self._events.ended_steps(self._task_id)

    async def tell(self, event: StepEvent) -> None:
        """Take down a message; it is kept within a quarter of a second."""
        self._progress = max(self._progress, event.progress)
        if event.status == "start":
            self._ended.discard(event.step_type)
        elif event.status == "complete":
            self._ended.add(event.step_type)
        data = event.model_copy(update={"progress": self._progress}).wire()
        if not (self._waiting and _is_joined(self._waiting[-1].data, data)):
            self._waiting.append(ResearchEvent(task_id=self._task_id, at=self._clock.now(), data=data))
        self._raise_failure()
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_soon())

    async def flush(self) -> None:
        """Come back when all that was told is kept."""
        await self._write()
        self._raise_failure()

    async def has_ended(self, step: StepType) -> bool:
        """Whether the end of a step was told since it began last."""
        return step in self._ended

    async def close(self) -> None:
        """Write what waits, as far as that takes no longer than two seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_S):
                await self._write()
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait({self._writing})

    async def _write_soon(self) -> None:
        await asyncio.sleep(WRITE_EVERY_S)
        await self._write()

    async def _write(self) -> None:
        async with self._turn:
            events, self._waiting = self._waiting, []
            if not events or self._failure is not None:
                return
            try:
                numbers = await self._events.add(events, executor=self._executor)
                if numbers is None:
                    self._failure = RunCancelled(f"Another process goes on with the research {self._task_id}.")
                    return
                for number, event in zip(numbers, events, strict=True):
                    event.id = number
                    if self._on_kept is not None:
                        self._on_kept(event)
            except asyncio.CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 -- raised where the research hears it
                self._failure = error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def last_word(
    task_id: str, latest: ResearchEvent | None, *, language: str, code: str, message: str, at: dt.datetime
) -> ResearchEvent:
    """The message with which a research ends that nobody carries out: in the step where it was, without a result."""
    step = StepType(latest.data["stepType"]) if latest else StepType.PLAN
    event = StepEvent(
        step_id=STEP_IDS[step],
        step_type=step,
        status="error",
        progress=latest.data["progress"] if latest else 0.0,
        label=LABELS[step][language],
        payload={"error": {"code": code, "message": message}, "result": None},
    )
    return ResearchEvent(task_id=task_id, at=at, data=event.wire())


async def follow(
    task_id: str, *, store: Store, on_event: Callable[[ResearchEvent], None], after: int = 0
) -> ResearchStatus:
    """Hand on the messages of a research, each once, until it has ended; answers how. `NotFound` where it is gone."""
    while True:
        # How it stands is asked first: what has ended had told everything by then.
        standing = await store.research_events.standing(task_id)
        if standing is None:
            raise NotFound(f"There is no research {task_id!r} any more.")
        events = await store.research_events.after(task_id, after)
        for event in events:
            after = event.id or after
            on_event(event)
        if standing.status.is_final and not events:
            return standing.status
        if not events:
            await asyncio.sleep(FOLLOW_EVERY_S)


def _is_joined(last: dict[str, Any], new: dict[str, Any]) -> bool:
    """Join a further chunk of the same text to the message that waits; False where they do not belong together."""
    is_more = all(one["status"] == "progress" and one["payload"].keys() == {"chunk"} for one in (last, new))
    if not is_more or last["stepType"] != new["stepType"]:
        return False
    last["payload"]["chunk"] += new["payload"]["chunk"]
    last["progress"] = new["progress"]
    return True
