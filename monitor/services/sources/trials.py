"""Trials that people watch: sources tried out in the background of the process that answers them."""

import asyncio
import datetime as dt
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import Field

from monitor.clock import Clock
from monitor.db.tables.collection import Source
from monitor.errors import Conflict, MonitorError, NotFound
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.logs import get_logger
from monitor.services.sources.service import SourceService
from monitor.services.sweeps import SweepService, TrialResult
from monitor.sweep.progress import Progress
from monitor.vocabulary import EventKind, SectionEnd

MAX_CONCURRENT_TRIALS = 2

MAX_UNFINISHED_TRIALS = 20

MAX_TRIAL_S = 300.0

TRIAL_RETENTION = dt.timedelta(minutes=30)

_MAX_STEPS = 500

_REPORTED_KINDS = (EventKind.PHASE, EventKind.SECTION, EventKind.PAGE, EventKind.FALLBACK)

_log = get_logger("trials")


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


class TrialStep(MessageModel):
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
    reason: Message | None = None


class TrialReport(MessageModel):
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
    result: TrialResult | None = None
    error: Message | None = None


@dataclass(kw_only=True)
class _TrialJob:
    report: TrialReport
    ended_at: dt.datetime | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class TrialService:
    """Tries sources out: two at once, five minutes each at most; what came of it is forgotten after half an hour.

    Nothing is stored: a trial lives in this process alone, and ends with it.
    """

    def __init__(
        self, *, sources: SourceService, sweeps: SweepService, clock: Clock, max_trial_s: float = MAX_TRIAL_S
    ) -> None:
        self._sources = sources
        self._sweeps = sweeps
        self._clock = clock
        self._max_trial_s = max_trial_s
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_TRIALS)
        self._jobs: dict[str, _TrialJob] = {}

    async def start(
        self, values: Mapping[str, Any], person: str, *, source_id: int | None = None, detect_kind: bool = False
    ) -> TrialReport:
        """Begin to try a source as it is written down, or a stored one with these fields changed.

        `UsageError` for what is no source, `Conflict` where many wait already.
        """
        self._forget_expired()
        if sum(not work.report.state.is_final for work in self._jobs.values()) >= MAX_UNFINISHED_TRIALS:
            raise Conflict("Many trials are waiting already: let one of them end first.")
        stored = await self._sources.get_by_id(source_id) if source_id is not None else None
        source = self._sources.build_draft(values, stored=stored)
        report = TrialReport(
            id=secrets.token_urlsafe(12),
            state=TrialState.WAITING,
            by=person,
            started_at=self._clock.now(),
            values=self._sources.dump_values(source),
            source_id=source_id,
        )
        work = self._jobs[report.id] = _TrialJob(report=report)
        work.task = asyncio.create_task(self._execute(work, source, detect_kind=detect_kind))
        return report

    def get(self, trial_id: str) -> TrialReport:
        """A trial as it stands now; `NotFound` where it was forgotten, or belongs to another process."""
        return self._get_job(trial_id).report

    async def cancel(self, trial_id: str) -> TrialReport:
        """Stop a trial; one that has ended stays as it is."""
        work = self._get_job(trial_id)
        await _stop_job(work)
        return work.report

    async def close(self) -> None:
        """Stop all trials: the service ends."""
        for work in list(self._jobs.values()):
            await _stop_job(work)

    async def _execute(self, job: _TrialJob, source: Source, *, detect_kind: bool) -> None:
        report = job.report

        def told(progress: Progress) -> None:
            if progress.kind in _REPORTED_KINDS and len(report.steps) < _MAX_STEPS:
                report.steps.append(TrialStep.model_validate(progress, from_attributes=True))

        try:
            async with self._slots, asyncio.timeout(self._max_trial_s):
                report.state = TrialState.RUNNING
                report.result = await self._sweeps.run_trial(source, on_progress=told, detect_kind=detect_kind)
                report.state = TrialState.DONE
        except asyncio.CancelledError:
            report.state = TrialState.CANCELLED
            raise
        except TimeoutError:
            report.error = Message.of("cause.trial_timeout", minutes=f"{self._max_trial_s / 60:.0f}")
        except MonitorError as error:
            report.error = error.message
        except Exception as error:  # noqa: BLE001 -- whoever waits is told; a trial ends nothing but itself
            _log.error("unforeseen error", trial=report.id, error=type(error).__name__, exc_info=error)
            report.error = Message.of("cause.unforeseen", error=type(error).__name__)
        finally:
            job.ended_at = self._clock.now()
            if report.error is not None:
                report.state = TrialState.FAILED

    def _get_job(self, trial_id: str) -> _TrialJob:
        self._forget_expired()
        work = self._jobs.get(trial_id)
        if work is None:
            raise NotFound("There is no such trial any more: try the address again.")
        return work

    def _forget_expired(self) -> None:
        oldest = self._clock.now() - TRIAL_RETENTION
        gone = [key for key, work in self._jobs.items() if work.ended_at is not None and work.ended_at < oldest]
        for key in gone:
            del self._jobs[key]


async def _stop_job(job: _TrialJob) -> None:
    if job.task is not None and not job.task.done():
        job.task.cancel()
        await asyncio.wait({job.task})
    if not job.report.state.is_final:  # it was stopped before it had begun
        job.report.state = TrialState.CANCELLED
