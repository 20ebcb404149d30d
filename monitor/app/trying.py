"""Trials that people watch: sources tried out in the background of the process that answers them."""

import asyncio
import datetime as dt
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field

from monitor.app.sources import SourceDesk
from monitor.app.sweeps import SweepDesk
from monitor.app.trials import Trial
from monitor.domain.tables import Source
from monitor.domain.words import EventKind, SectionEnd
from monitor.errors import Conflict, MonitorError, NotFound
from monitor.logs import logger_of
from monitor.ports import Clock, Progress

AT_ONCE = 2
MOST_WAITING = 20
LONGEST_S = 300.0
KEPT = dt.timedelta(minutes=30)
_MOST_STEPS = 500
_TOLD = (EventKind.PHASE, EventKind.SECTION, EventKind.PAGE, EventKind.FALLBACK)
_log = logger_of("trials")


class TrialState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        """Whether a trial in this state has ended."""
        return self not in (TrialState.WAITING, TrialState.RUNNING)


class TrialStep(BaseModel):
    """A sign of life of a trial: a phase, how far it came; a section, begun or `ended`; a page that was read."""

    kind: EventKind
    phase: str
    place: str = ""
    url: str = ""
    done: int = 0
    total: int | None = None
    ended: SectionEnd | None = None
    candidates: int | None = None
    saved: int | None = None
    reason: str = ""


class TrialReport(BaseModel):
    """A trial as it stands: what it has told so far and, once it is done, what a sweep would find and save.

    `values` are the source as it was written down, `source_id` the stored one whose changes are tried.
    """

    id: str
    state: TrialState
    by: str
    started_at: dt.datetime
    values: dict[str, Any]
    source_id: int | None = None
    steps: list[TrialStep] = Field(default_factory=list)
    result: Trial | None = None
    error: str | None = None


@dataclass(kw_only=True)
class _Work:
    report: TrialReport
    ended_at: dt.datetime | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class TrialDesk:
    """Tries sources out: two at once, five minutes each at most; what came of it is forgotten after half an hour.

    Nothing is stored: a trial lives in this process alone, and ends with it.
    """

    def __init__(self, *, sources: SourceDesk, sweeps: SweepDesk, clock: Clock, longest_s: float = LONGEST_S) -> None:
        self._sources = sources
        self._sweeps = sweeps
        self._clock = clock
        self._longest_s = longest_s
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._works: dict[str, _Work] = {}

    async def start(
        self, values: Mapping[str, Any], person: str, *, source_id: int | None = None, finds_kind: bool = False
    ) -> TrialReport:
        """Begin to try a source as it is written down, or a stored one with these fields changed.

        `UsageError` for what is no source, `Conflict` where many wait already.
        """
        self._forget()
        if sum(not work.report.state.is_final for work in self._works.values()) >= MOST_WAITING:
            raise Conflict("Many trials are waiting already: let one of them end first.")
        stored = await self._sources.by_id(source_id) if source_id is not None else None
        source = self._sources.drafted(values, of=stored)
        report = TrialReport(
            id=secrets.token_urlsafe(12),
            state=TrialState.WAITING,
            by=person,
            started_at=self._clock.now(),
            values=self._sources.values_of(source),
            source_id=source_id,
        )
        work = self._works[report.id] = _Work(report=report)
        work.task = asyncio.create_task(self._carry_out(work, source, finds_kind=finds_kind))
        return report

    def get(self, trial_id: str) -> TrialReport:
        """A trial as it stands now; `NotFound` where it was forgotten, or belongs to another process."""
        return self._work(trial_id).report

    async def cancel(self, trial_id: str) -> TrialReport:
        """Stop a trial; one that has ended stays as it is."""
        work = self._work(trial_id)
        await _ended(work)
        return work.report

    async def close(self) -> None:
        """Stop all trials: the service ends."""
        for work in list(self._works.values()):
            await _ended(work)

    async def _carry_out(self, work: _Work, source: Source, *, finds_kind: bool) -> None:
        report = work.report

        def told(progress: Progress) -> None:
            if progress.kind in _TOLD and len(report.steps) < _MOST_STEPS:
                report.steps.append(TrialStep.model_validate(progress, from_attributes=True))

        try:
            async with self._gate, asyncio.timeout(self._longest_s):
                report.state = TrialState.RUNNING
                report.result = await self._sweeps.try_out(source, on_progress=told, finds_kind=finds_kind)
                report.state = TrialState.DONE
        except asyncio.CancelledError:
            report.state = TrialState.CANCELLED
            raise
        except TimeoutError:
            report.error = f"The trial did not end within {self._longest_s / 60:.0f} minutes."
        except MonitorError as error:
            report.error = str(error)
        except Exception as error:  # noqa: BLE001 -- whoever waits is told; a trial ends nothing but itself
            _log.error("unforeseen error", trial=report.id, error=type(error).__name__, exc_info=error)
            report.error = f"Something went wrong that nobody foresaw ({type(error).__name__}); the log tells more."
        finally:
            work.ended_at = self._clock.now()
            if report.error is not None:
                report.state = TrialState.FAILED

    def _work(self, trial_id: str) -> _Work:
        self._forget()
        work = self._works.get(trial_id)
        if work is None:
            raise NotFound("There is no such trial any more: try the address again.")
        return work

    def _forget(self) -> None:
        oldest = self._clock.now() - KEPT
        gone = [key for key, work in self._works.items() if work.ended_at is not None and work.ended_at < oldest]
        for key in gone:
            del self._works[key]


async def _ended(work: _Work) -> None:
    if work.task is not None and not work.task.done():
        work.task.cancel()
        await asyncio.wait({work.task})
    if not work.report.state.is_final:  # it was stopped before it had begun
        work.report.state = TrialState.CANCELLED
