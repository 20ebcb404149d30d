"""Trials that people watch: dry runs of sources in the background of the process that answers them."""

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
from monitor.evidence.cassette import Cassette
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.logs import get_logger
from monitor.services.audit import Actor
from monitor.services.sources.discovery import list_addresses
from monitor.services.sources.form import dump_form_values
from monitor.services.sources.service import SourceService
from monitor.services.sweeps import SweepService, TrialResult
from monitor.sweep.progress import Progress
from monitor.vocabulary import EventKind, Role, RunStatus, SectionEnd

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
        return self not in (TrialState.WAITING, TrialState.RUNNING)


class TrialStep(MessageModel):
    """A step of a trial: a phase and how far it came, a section begun or `ended`, a page that was read."""

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
    """A trial with its steps so far; `values` are the source as written, `source_id` the stored one that is changed."""

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
    cassette: Cassette = field(default_factory=Cassette, repr=False)
    ended_at: dt.datetime | None = None
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class TrialService:
    """Tries sources out, two at once, for five minutes at most; a trial lives in this process, for half an hour."""

    def __init__(
        self, *, sources: SourceService, sweeps: SweepService, clock: Clock, max_trial_s: float = MAX_TRIAL_S
    ) -> None:
        self._sources = sources
        self._sweeps = sweeps
        self._clock = clock
        self._max_trial_s = max_trial_s
        self._slots = asyncio.Semaphore(MAX_CONCURRENT_TRIALS)
        self._jobs: dict[str, _TrialJob] = {}
        self._first_runs: set[asyncio.Task[None]] = set()

    async def start(
        self, values: Mapping[str, Any], *, by: Actor, source_id: int | None = None, discovers: bool = False
    ) -> TrialReport:
        """Begin to try a source as written, or a stored one with changes; `Conflict` where many wait already.

        With `discovers`, the address decides how it is read; it needs no scheme then.
        """
        by.require(Role.EDITOR)
        self._forget_expired()
        if sum(not job.report.state.is_final for job in self._jobs.values()) >= MAX_UNFINISHED_TRIALS:
            raise Conflict("trial.too_many")
        address = str(values.get("url") or "") if discovers else None
        if address is not None:
            values = {**values, "url": list_addresses(address)[0]}
        stored = await self._sources.get_by_id(source_id) if source_id is not None else None
        source = self._sources.build_draft(values, stored=stored)
        report = TrialReport(
            id=secrets.token_urlsafe(12),
            state=TrialState.WAITING,
            by=by.name,
            started_at=self._clock.now(),
            values=dump_form_values(source),
            source_id=source_id,
        )
        job = self._jobs[report.id] = _TrialJob(report=report)
        job.task = asyncio.create_task(self._execute(job, source, discover_at=address))
        return report

    def get(self, trial_id: str) -> TrialReport:
        """Return a trial; `NotFound` where it was forgotten, or belongs to another process."""
        return self._get_job(trial_id).report

    async def keep(
        self, trial_id: str, values: Mapping[str, Any], *, by: Actor, team_id: int | None = None
    ) -> tuple[Source, str | None]:
        """Add the source that was tried, and make the trial its first run; return both.

        There is no run, and the source waits for its schedule, where the trial read nothing, is forgotten, or was of
        another address or a stored source, and where the source is added disabled.
        """
        source = await self._sources.add(values, by=by, team_id=team_id)
        job = self._jobs.get(trial_id)
        result = job.report.result if job is not None else None
        if job is None or result is None or job.report.source_id is not None or not source.enabled:
            return source, None
        tried_url = result.discovery.values.get("url") if result.discovery else job.report.values["url"]
        if result.status is RunStatus.FAILED or tried_url != source.url:
            return source, None
        del self._jobs[trial_id]
        return source, await self._start_first_run(source, job.cassette, by)

    async def _start_first_run(self, source: Source, cassette: Cassette, by: Actor) -> str | None:
        started: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            try:
                await self._sweeps.sweep_tried(source, cassette, by=by, on_start=started.set_result)
            except Exception as error:  # noqa: BLE001 -- the source is kept, and its schedule runs it again
                _log.error("first run failed", source=source.name, error=type(error).__name__, exc_info=error)

        task = asyncio.create_task(run())
        self._first_runs.add(task)
        task.add_done_callback(self._first_runs.discard)
        waiting: set[asyncio.Future[Any]] = {task, started}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        return started.result() if started.done() else None

    async def cancel(self, trial_id: str) -> TrialReport:
        job = self._get_job(trial_id)
        await _stop_job(job)
        return job.report

    async def close(self) -> None:
        for job in list(self._jobs.values()):
            await _stop_job(job)
        for task in self._first_runs:
            task.cancel()
        if self._first_runs:
            await asyncio.wait(self._first_runs)

    async def _execute(self, job: _TrialJob, source: Source, *, discover_at: str | None) -> None:
        report = job.report

        def report_progress(progress: Progress) -> None:
            if progress.kind in _REPORTED_KINDS and len(report.steps) < _MAX_STEPS:
                report.steps.append(TrialStep.model_validate(progress, from_attributes=True))

        try:
            async with self._slots, asyncio.timeout(self._max_trial_s):
                report.state = TrialState.RUNNING
                report.result = await self._sweeps.run_trial(
                    source, on_progress=report_progress, discover_at=discover_at, cassette=job.cassette
                )
                report.state = TrialState.DONE
        except TimeoutError:
            report.error = Message.of("cause.trial_timeout", minutes=f"{self._max_trial_s / 60:.0f}")
        except MonitorError as error:
            report.error = error.message
        except Exception as error:  # noqa: BLE001 -- a trial that breaks must not take the process with it
            _log.error("unexpected error", trial=report.id, error=type(error).__name__, exc_info=error)
            report.error = Message.of("cause.unforeseen", error=type(error).__name__)
        finally:
            job.ended_at = self._clock.now()
            if job.task is not None and job.task.cancelling():
                report.state, report.error = TrialState.CANCELLED, None  # what broke while it was stopped is no failure
            elif report.error is not None:
                report.state = TrialState.FAILED

    def _get_job(self, trial_id: str) -> _TrialJob:
        self._forget_expired()
        job = self._jobs.get(trial_id)
        if job is None:
            raise NotFound("trial.not_found")
        return job

    def _forget_expired(self) -> None:
        oldest = self._clock.now() - TRIAL_RETENTION
        gone = [key for key, job in self._jobs.items() if job.ended_at is not None and job.ended_at < oldest]
        for key in gone:
            del self._jobs[key]


async def _stop_job(job: _TrialJob) -> None:
    if job.task is not None and not job.task.done():
        job.task.cancel()
        await asyncio.wait({job.task})
    if not job.report.state.is_final:  # it was stopped before it had begun
        job.report.state = TrialState.CANCELLED
