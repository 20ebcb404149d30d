"""Runs of sources: start, wait for, cancel, retry and carry out; and dry runs that store nothing."""

import asyncio
import datetime as dt
import secrets
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.briefing.item import FallbackSchema
from monitor.config.model import Settings
from monitor.db.database import Store
from monitor.db.queries.sections import copy_source
from monitor.db.tables.collection import Run, Source
from monitor.db.visibility import see_as
from monitor.errors import Conflict, UsageError, WorkFailed, to_message
from monitor.evidence.cassette import Cassette
from monitor.fetch.log_in import LogInFailed
from monitor.fetch.session import open_session
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.logs import bind_log_context, get_logger
from monitor.metrics import RUN_SECONDS, RUN_WAIT_SECONDS
from monitor.page import Candidate
from monitor.pages.documents import DocumentReader
from monitor.services.alarms import AlarmService
from monitor.services.audit import Actor, AuditAction, AuditedService, AuditRecord
from monitor.services.events import RunEventLog
from monitor.services.policies import PolicyService
from monitor.services.recording import RunDependencies, RunDependencyFactory, RunStart
from monitor.services.runs import RunReport, RunService, load_run_report
from monitor.services.runtime import CancellationWatcher, ServiceWatch, WorkerRegistry, has_worker
from monitor.services.schedules import get_timezone
from monitor.services.search import SavedSearch
from monitor.services.sources.discovery import Discovery, DiscoveryService
from monitor.services.sources.names import extract_site_name
from monitor.steps import StepRunner
from monitor.sweep.context import SweepDependencies
from monitor.sweep.ledger import build_window
from monitor.sweep.pipeline import run_sweep
from monitor.sweep.progress import Progress, ProgressCallback
from monitor.tracing import TracedSteps, trace
from monitor.vocabulary import Disposition, Phase, Render, Role, RunStatus, SourceKind

_POLL_INTERVAL_S = 0.5


class TrialCandidate(MessageModel):
    candidate: Candidate
    disposition: Disposition
    reason: Message | None = None


class TrialSection(BaseModel):
    name: str
    url: str
    ended: str | None
    candidates: list[TrialCandidate] = Field(default_factory=list)


class TrialResult(MessageModel):
    """What a sweep would find and save; `kind` is what the source was tried as, `title` what the site calls itself.

    `discovery` is what was found at its address, where that was left to discovery.
    """

    source: str
    kind: SourceKind
    title: str = ""
    status: RunStatus
    error: Message | None = None
    would_save: int = 0
    discovery: Discovery | None = None
    sections: list[TrialSection] = Field(default_factory=list)
    fallbacks: list[FallbackSchema] = Field(default_factory=list)


async def load_trial_result(
    report: RunReport, store: Store, *, source: Source, title: str, discovery: Discovery | None
) -> TrialResult:
    found: dict[int, list[TrialCandidate]] = defaultdict(list)
    for row in await store.runs.load_ledger(report.run_id):
        candidate = Candidate(title=row.title, url=row.url, date=row.date, date_source=row.date_source)
        found[row.section].append(TrialCandidate(candidate=candidate, disposition=row.disposition, reason=row.reason))
    return TrialResult(
        source=report.source,
        kind=source.kind,
        title=title,
        discovery=discovery,
        status=report.status,
        error=report.error,
        would_save=report.coverage.saved,
        sections=[
            TrialSection(name=section.name, url=section.url, ended=section.ended, candidates=found[ordinal])
            for ordinal, section in enumerate(report.sections)
        ],
        fallbacks=report.fallbacks,
    )


_log = get_logger("sweeps")


@dataclass(frozen=True, kw_only=True)
class _TakenRun:
    """A run that has begun, with what it works with and what holds for it."""

    run: Run
    source: Source
    deps: RunDependencies
    start: RunStart


@dataclass(kw_only=True)
class SweepService(AuditedService):
    settings: Settings
    documents: DocumentReader
    steps: StepRunner
    presence: WorkerRegistry
    runs: RunService
    alarm_service: AlarmService
    policies: PolicyService
    dependency_factory: RunDependencyFactory
    saved_search: SavedSearch
    discovery: DiscoveryService

    def __post_init__(self) -> None:
        self._cancellation = CancellationWatcher(self.store.runs.list_cancel_requested)

    async def sweep(
        self,
        source: Source,
        *,
        by: Actor,
        since: dt.date | None = None,
        until: dt.date | None = None,
        record: AuditRecord | None = None,
        on_progress: ProgressCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> RunReport:
        """Run a source now, through the service where one is at work, and wait; `record` is what the audit keeps."""
        self._check_start(by, since, until)
        await self.runs.fail_orphaned()
        if await self.has_worker():
            async with self.store.transaction():
                run = await self._create_run(self.store, source, since, until)
                await self._record_start(by, record, run)
            return await self._wait_for_service(run.id, by, on_progress, cancel_event)
        async with self.presence.register("sweep") as executor:
            async with self.store.transaction():
                run = await self._create_run(self.store, source, since, until, executor=executor)
                await self._record_start(by, record, run)
            return await self._execute_in_process(self.store, run, on_progress, cancel_event)

    async def sweep_tried(
        self, source: Source, cassette: Cassette, *, by: Actor, on_start: Callable[[str], None]
    ) -> RunReport:
        """Run a source in this process with what its trial has read already; `on_start` is told its number."""
        by.require(Role.EDITOR)
        events = RunEventLog(store=self.store, clock=self.clock)
        async with self.presence.register("sweep") as executor:
            async with self.store.transaction():
                run = await self._create_run(self.store, source, None, None, executor=executor)
                await self._record_start(by, None, run)
            on_start(run.id)
            resolved = self._resolve_addresses(source)
            deps = await self.dependency_factory.build(run, resolved, self.store, is_trial=False, cassette=cassette)
            try:
                return await self._execute_in_process(
                    self.store, run, events.get_progress_callback(run.id), None, deps=deps
                )
            finally:
                await events.close()

    async def enqueue(
        self,
        source: Source,
        *,
        by: Actor,
        since: dt.date | None = None,
        until: dt.date | None = None,
        record: AuditRecord | None = None,
    ) -> str:
        """Queue a run, or name the one that waits or runs already; `UsageError` where no worker is at work."""
        self._check_start(by, since, until)
        if not await self.has_worker():
            raise UsageError("run.no_worker")
        async with self.store.transaction():
            unfinished = (run for run in await self.store.runs.list_open() if run.source_id == source.id)
            run = next(unfinished, None) or await self._create_run(self.store, source, since, until)
            await self._record_start(by, record, run)
        return run.id

    def _check_start(self, by: Actor, since: dt.date | None, until: dt.date | None) -> None:
        by.require(Role.EDITOR)
        build_window(today=self.clock.now().date(), days=1, since=since, until=until)  # raises for what is no range

    async def _record_start(self, by: Actor, record: AuditRecord | None, run: Run) -> None:
        record = record or AuditRecord(AuditAction.SOURCE_RUN, run.source)
        await self.record(by, record.action, record.subject, run=run.id)

    async def retry(
        self,
        run_id: str,
        *,
        by: Actor,
        on_progress: ProgressCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> RunReport:
        """Retry an ended run from the phase that failed, or run its source anew over the same dates, and wait."""
        report, source = await self._request_retry(run_id, by)
        if source is None:
            return await self._wait_for_service(run_id, by, on_progress, cancel_event)
        return await self.sweep(
            source,
            by=by,
            since=report.since,
            until=report.until,
            record=AuditRecord(AuditAction.RUN_RETRY, run_id),
            on_progress=on_progress,
            cancel_event=cancel_event,
        )

    async def enqueue_retry(self, run_id: str, *, by: Actor) -> str:
        report, source = await self._request_retry(run_id, by)
        if source is None:
            return run_id
        record = AuditRecord(AuditAction.RUN_RETRY, run_id)
        return await self.enqueue(source, by=by, since=report.since, until=report.until, record=record)

    async def _request_retry(self, run_id: str, by: Actor) -> tuple[RunReport, Source | None]:
        """Return an ended run that the service now does again; or also its source, which is to be run anew."""
        by.require(Role.EDITOR)
        report = await load_run_report(await self.runs.get(run_id), self.store)
        if not report.status.is_final:
            raise Conflict("run.not_ended", run=run_id, status=report.status)
        phase = report.retry_phase
        if phase is not None and await self.has_worker():
            async with self.store.transaction():
                if await self.store.runs.request_retry(run_id, phase):
                    await self.record(by, AuditAction.RUN_RETRY, run_id, run=run_id)
                    return report, None
        source = await self.store.sources.get(report.source)
        if source is None:
            raise UsageError("run.source_removed", source=report.source)
        return report, source

    async def execute(
        self,
        run_id: str,
        *,
        executor: str,
        steps: StepRunner,
        since: dt.date | None = None,
        until: dt.date | None = None,
        on_progress: ProgressCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> RunStatus:
        """Carry out a run, or go on behind its finished steps; `since` and `until` are days that a person asked for."""
        taken = await self.store.write_together(partial(self._take, run_id, executor, since, until))
        if isinstance(taken, RunStatus):
            return taken
        return await self._execute_run(self.store, taken, steps, on_progress, cancel_event)

    async def _take(
        self, run_id: str, executor: str, since: dt.date | None, until: dt.date | None
    ) -> _TakenRun | RunStatus:
        """Start a run, or resume it, and load what it works with; its status where there is nothing to do."""
        run = await self.store.runs.claim(run_id, executor=executor, at=self.clock.now())
        if run is None:
            ended = await self.store.runs.get(run_id)
            return ended.status if ended else RunStatus.CANCELLED
        source = await self.store.sources.get_by_id(run.source_id or 0)
        if source is None:
            reason = Message("cause.source_removed")
            await self.store.runs.abandon(run_id, reason=reason, at=self.clock.now(), executor=executor)
            return RunStatus.FAILED
        source = self._resolve_addresses(source)
        deps = await self.dependency_factory.build(run, source, self.store, is_trial=False)
        return await self._begin(self.store, run, source, deps, since, until)

    async def _begin(
        self,
        store: Store,
        run: Run,
        source: Source,
        deps: RunDependencies,
        since: dt.date | None,
        until: dt.date | None,
    ) -> _TakenRun:
        """Fix what holds for the run however often it is interrupted; one that goes on has it from its first go."""
        is_trial = deps.linker is None
        if not is_trial and (facts := await store.evidence.get_manifest(run.id)) is not None:
            return _TakenRun(run=run, source=source, deps=deps, start=RunStart.model_validate(facts))
        started_at = run.started_at or self.clock.now()
        today = started_at.astimezone(ZoneInfo(get_timezone(source, self.settings.timezone))).date()
        days = source.window_days or self.settings.sweep.window_days
        window = build_window(today=today, days=days, since=since, until=until)
        repeats = {} if is_trial else await store.sections.load_repeats(source.id or 0)
        start = RunStart(today=today, window=window, repeats=repeats)
        begun = {"since": window.since, "until": window.until, "is_baseline": source.last_success_at is None}
        await store.runs.update(run.id, **begun)
        if not is_trial:
            RUN_WAIT_SECONDS.observe(max(0.0, (started_at - run.planned_at).total_seconds()))
            await self.dependency_factory.save_manifest(run, source, store, deps, start)
        return _TakenRun(run=run.model_copy(update=begun), source=source, deps=deps, start=start)

    async def run_trial(
        self,
        source: Source,
        *,
        on_progress: ProgressCallback | None = None,
        discover_at: str | None = None,
        cassette: Cassette | None = None,
    ) -> TrialResult:
        """Run a source in a temporary database, in the way that discovery finds at the address `discover_at`, if given.

        What is read goes on the `cassette`. `UsageError` where robots.txt asks us to keep away from that address.
        """
        source = self._resolve_addresses(source)
        with tempfile.TemporaryDirectory(prefix="monitor-try-") as folder:
            async with Store.open(f"sqlite:///{Path(folder) / 'try.db'}") as store:
                await store.check()
                copy = await copy_source(source, origin=self.store.sessions, target=store.sessions)
                run = await self._create_run(store, copy, None, None, executor="try")
                deps = await self.dependency_factory.build(run, copy, store, is_trial=True, cassette=cassette)
                async with open_session(deps.session):
                    title, discovery = "", None
                    # The run finds the page remembered: it is asked for once.
                    if discover_at is not None:
                        discovery = await self.discovery.discover_source(source, at=discover_at, loader=deps.loader)
                        title = discovery.title
                        copy = await store.sources.update(copy.name, **discovery.values)
                    elif source.kind is not SourceKind.QUERY and not source.sections:
                        home = await deps.loader.load(source.url, render=source.render or Render.AUTO)
                        title = extract_site_name(home.site or home.title)
                    deps = replace(deps, session=None)  # it is open
                    report = await self._execute_in_process(store, run, on_progress, None, deps=deps)
                    return await load_trial_result(report, store, source=copy, title=title, discovery=discovery)

    def _resolve_addresses(self, source: Source) -> Source:
        """Return the source as a run reads it: with the instance of RSSHub in its addresses."""
        if self.settings.rsshub.base_url is None:
            return source
        resolve = self.settings.rsshub.resolve
        sections = [{**section, "url": resolve(section["url"])} for section in source.sections]
        return source.model_copy(update={"url": resolve(source.url), "sections": sections})

    async def cancel(self, run_id: str, *, by: Actor) -> RunStatus:
        by.require(Role.EDITOR)
        async with self.store.transaction():
            run = await self.runs.get(run_id)
            if not await self.store.runs.request_cancel(run_id, at=self.clock.now()):
                raise Conflict("run.ended", run=run_id, status=run.status)
            await self.record(by, AuditAction.RUN_CANCEL, run_id)
            return (await self.runs.get(run_id)).status

    async def has_worker(self) -> bool:
        return await has_worker(self.presence)

    async def _create_run(
        self, store: Store, source: Source, since: dt.date | None, until: dt.date | None, *, executor: str | None = None
    ) -> Run:
        now = self.clock.now()
        run = Run(
            id=f"s{source.id}-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}",
            source_id=source.id,
            source=source.name,
            team_id=source.team_id,
            planned_at=now,
            since=since,
            until=until,
            executor=executor,
            started_at=now if executor else None,
            status=RunStatus.RUNNING if executor else RunStatus.QUEUED,
        )
        await store.runs.create(run)
        return run

    async def _execute_in_process(
        self,
        store: Store,
        run: Run,
        on_progress: ProgressCallback | None,
        cancel_event: asyncio.Event | None,
        *,
        deps: RunDependencies | None = None,
    ) -> RunReport:
        with see_as(None):  # what a run derives is for everybody, whoever began it
            if (source := await store.sources.get_by_id(run.source_id or 0)) is not None:
                source = self._resolve_addresses(source)
                deps = deps or await self.dependency_factory.build(run, source, store, is_trial=False)
                begin = partial(self._begin, store, run, source, deps, run.since, run.until)
                try:
                    taken = await store.write_together(begin)
                    await self._execute_run(store, taken, self.steps, on_progress, cancel_event)
                except asyncio.CancelledError:
                    await store.runs.update(run.id, status=RunStatus.CANCELLED, ended_at=self.clock.now())
                    raise
            return await load_run_report(await store.runs.get(run.id) or run, store)

    async def _execute_run(
        self,
        store: Store,
        taken: _TakenRun,
        steps: StepRunner,
        on_progress: ProgressCallback | None,
        cancel_event: asyncio.Event | None,
    ) -> RunStatus:
        run, source, deps, start = taken.run, taken.source, taken.deps, taken.start
        is_trial = deps.linker is None
        event = cancel_event or asyncio.Event()
        _log.info("run begins", run=run.id, source=source.name)
        log_context = bind_log_context(run=run.id, source=source.name)
        span = trace("run", run_id=run.id, source_id=source.id or 0, trial=is_trial)
        with log_context, span as note, tempfile.TemporaryDirectory(prefix="monitor-run-") as folder:
            sweep_deps = SweepDependencies(
                store=store,
                loader=deps.loader,
                documents=self.documents,
                workers=self.dependency_factory.workers,
                steps=TracedSteps(steps),
                clock=self.clock,
                model=deps.model,
                linker=deps.linker,
                repeats=start.repeats,
                limits=self.settings.sweep,
                folder=Path(folder),
                prompts=deps.prompts,
                query_runner=self.saved_search.for_run(run.id, is_trial=is_trial),
                on_progress=on_progress,
                cancel_event=event,
                is_trial=is_trial,
                file_documents=None if is_trial else self.policies.file_documents,
                judge_run=None if is_trial else self.alarm_service.judge_run,
            )
            try:
                async with open_session(deps.session):
                    work = run_sweep(run, source, window=start.window, today=start.today, deps=sweep_deps)
                    status = await self._cancellation.run_until_cancelled(work, event, run_id=run.id)
            except Exception as error:
                # Whatever went wrong, the run must not stay `running`; what it stored stays stored.
                now, reason = self.clock.now(), to_message(error)
                await store.runs.end(run.id, source.id, status=RunStatus.FAILED, at=now, error=reason)
                if not is_trial:
                    await self.alarm_service.update_alarms(run.id)
                if not isinstance(error, LogInFailed):
                    raise
                status = RunStatus.FAILED
            note({"status": status or RunStatus.CANCELLED})
        if status is None:
            status = RunStatus.CANCELLED
            await store.runs.end(run.id, source.id, status=status, at=self.clock.now())
        if not is_trial:
            await self.alarm_service.notify_new_alarms()
            if run.started_at is not None:
                RUN_SECONDS.labels(status).observe((self.clock.now() - run.started_at).total_seconds())
        _log.info("run ended", run=run.id, source=source.name, status=str(status))
        return status

    async def _wait_for_service(
        self, run_id: str, by: Actor, on_progress: ProgressCallback | None, cancel_event: asyncio.Event | None
    ) -> RunReport:
        """Wait for the end of a run and pass on a cancel request; `WorkFailed` where the service is gone."""
        service = ServiceWatch(self.presence)
        while not (run := await self.runs.get(run_id)).status.is_final:
            if cancel_event is not None and cancel_event.is_set() and not run.is_cancel_requested:
                with suppress(Conflict):
                    await self.cancel(run_id, by=by)
            if on_progress is not None:
                sections = await self.store.runs.list_sections(run_id)
                read = sum(section.ended is not None for section in sections)
                on_progress(Progress(phase=Phase.CRAWL, place=run.source, done=read, total=len(sections) or None))
            if await service.is_gone():
                raise WorkFailed("run.service_gone", run=run_id)
            await asyncio.sleep(_POLL_INTERVAL_S)
        return await self.runs.get_full_report(run_id)
