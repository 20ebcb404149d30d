"""The use cases around runs: sweep sources now, try one without keeping anything, look at what ran."""

import asyncio
import datetime as dt
import secrets
import tempfile
from pathlib import Path
from zoneinfo import ZoneInfo

from monitor.app.handover import end_of
from monitor.app.health import HealthDesk
from monitor.app.obeying import StopWatch
from monitor.app.recording import Gear, Recording, Start
from monitor.app.report import RunReport, WholeRun, report_of, whole_run
from monitor.app.sources import timezone_of
from monitor.app.standing import StandingSearch
from monitor.app.trials import Trial, looks_like_feed, trial_of
from monitor.domain.tables import Run, Source
from monitor.domain.words import Render, RunStatus, SourceKind
from monitor.errors import NotFound, UsageError
from monitor.logs import belonging_to, logger_of
from monitor.ports import Clock, DocumentReader, Presence, ProgressCallback, Steps
from monitor.settings import Settings
from monitor.store import Store
from monitor.sweep.pipeline import Parts, sweep
from monitor.sweep.window import window_of

WORKER = "worker"
"""The kind of process that takes runs out of the queue."""

_log = logger_of("sweeps")


class SweepDesk:
    """Runs sources.

    `recording` equips each run with its page loader and model, `standing` with its searches; `steps` are those of a run
    that is carried out here and now.
    """

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        clock: Clock,
        documents: DocumentReader,
        steps: Steps,
        presence: Presence,
        health: HealthDesk,
        recording: Recording,
        standing: StandingSearch,
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._documents = documents
        self._steps = steps
        self._presence = presence
        self._health = health
        self._recording = recording
        self._standing = standing
        self._stops = StopWatch(store.runs.to_be_cancelled)

    async def sweep(
        self,
        source: Source,
        *,
        since: dt.date | None = None,
        until: dt.date | None = None,
        on_progress: ProgressCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> RunReport:
        """Run a source now and wait for its end; where a service runs, it is handed the work."""
        window_of(today=self._clock.now().date(), days=1, since=since, until=until)  # refuses what is no range
        await self.tidy()
        if await self.is_served():
            run = await self._typed(self._store, source, since, until)
            return await self._handed_over(run.id, on_progress, cancel_event)
        async with self._presence.attending("sweep") as executor:
            run = await self._typed(self._store, source, since, until, executor=executor)
            return await self._here(self._store, run, on_progress, cancel_event)

    async def retry(
        self, run_id: str, *, on_progress: ProgressCallback | None = None, cancel_event: asyncio.Event | None = None
    ) -> RunReport:
        """Do an ended run again, from the phase in which it failed, fell back or was cancelled.

        Where no service runs, or nothing failed, its source is run anew over the same dates.
        """
        report, source = await self._to_repeat(run_id)
        if source is None:
            return await self._handed_over(run_id, on_progress, cancel_event)
        return await self.sweep(
            source, since=report.since, until=report.until, on_progress=on_progress, cancel_event=cancel_event
        )

    async def ask_again(self, run_id: str) -> str:
        """As `retry`, but have the service do it and wait for nothing; answers the id of the run that does it."""
        report, source = await self._to_repeat(run_id)
        return run_id if source is None else await self.enqueue(source, since=report.since, until=report.until)

    async def _to_repeat(self, run_id: str) -> tuple[RunReport, Source | None]:
        """An ended run, which the service now does again; or its source, which is to be run anew."""
        run = await self._found(run_id)
        report = await report_of(run, self._store)
        if not report.status.is_final:
            raise UsageError(f"The run {run_id} has not ended: it is {report.status}.")
        phase = report.phase_to_repeat
        if phase is not None and await self.is_served() and await self._store.runs.ask_again(run_id, phase):
            return report, None
        source = await self._store.sources.get(report.source)
        if source is None:
            raise UsageError(f"The source {report.source!r} of this run was removed.")
        return report, source

    async def carry_out(
        self,
        run_id: str,
        *,
        executor: str,
        steps: Steps,
        since: dt.date | None = None,
        until: dt.date | None = None,
        on_progress: ProgressCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> RunStatus:
        """Carry out a run on record, or go on with it where the steps say that it was; answers how it ended.

        `since` and `until` are the days that a person asked for. A run that has ended already is left alone.
        """
        run = await self._store.runs.take(run_id, executor=executor, at=self._clock.now())
        if run is None:
            ended = await self._store.runs.get(run_id)
            return ended.status if ended else RunStatus.CANCELLED
        source = await self._store.sources.by_id(run.source_id or 0)
        if source is None:
            reason = "The source was removed before its run began."
            await self._store.runs.give_up(run_id, reason=reason, at=self._clock.now(), executor=executor)
            return RunStatus.FAILED
        return await self._carry_out(self._store, run, source, since, until, steps, on_progress, cancel_event)

    async def enqueue(self, source: Source, *, since: dt.date | None = None, until: dt.date | None = None) -> str:
        """Put a run of a source into the queue; answers its id, or that of one that waits or is under way already.

        `UsageError` where no worker is at work.
        """
        window_of(today=self._clock.now().date(), days=1, since=since, until=until)  # refuses what is no range
        if not await self.is_served():
            raise UsageError("No worker is at work: start `monitor serve`, or `monitor worker` beside this process.")
        for run in await self._store.runs.open():
            if run.source_id == source.id:
                return run.id
        return (await self._typed(self._store, source, since, until)).id

    async def try_out(
        self, source: Source, *, on_progress: ProgressCallback | None = None, finds_kind: bool = False
    ) -> Trial:
        """A dry run in a database of its own that is thrown away; a stored source takes what it remembers with it.

        `finds_kind`: a site whose address turns out to be a feed is tried as one.
        """
        with tempfile.TemporaryDirectory(prefix="monitor-try-") as folder:
            async with Store.open(f"sqlite:///{Path(folder) / 'try.db'}") as store:
                await store.check()
                copy = await self._store.lend(source, store)
                run = await self._typed(store, copy, None, None, executor="try")
                gear = await self._recording.gear(run, store, is_trial=True)
                home = None
                if source.kind is not SourceKind.QUERY and not source.sections:
                    # The run finds the page remembered: it is asked for once.
                    home = await gear.loader.load(source.url, render=source.render or Render.AUTO)
                if finds_kind and home is not None and looks_like_feed(home):
                    copy = await store.sources.update(copy.name, kind=SourceKind.FEED)
                report = await self._here(store, run, on_progress, None, trial=gear)
                return await trial_of(report, store, source=copy, home=home)

    async def latest_of(self, source: str) -> RunReport | None:
        """The latest run of the source of that name."""
        runs = await self._store.runs.list(source=source, limit=1)
        return await report_of(runs[0], self._store) if runs else None

    async def report(self, run_id: str) -> WholeRun:
        """One run told whole, with its ledger."""
        await self.tidy()
        return await whole_run(await self._found(run_id), self._store)

    async def cancel(self, run_id: str) -> RunStatus:
        """Ask a run to stop; a queued one is cancelled at once. `UsageError` where there is none, or it has ended."""
        run = await self._found(run_id)
        if not await self._store.runs.request_cancel(run_id, at=self._clock.now()):
            raise UsageError(f"The run {run_id} has ended already: {run.status}.")
        after = await self._store.runs.get(run_id)
        return (after or run).status

    async def is_served(self) -> bool:
        """Whether a service is there that takes runs out of the queue."""
        return WORKER in (await self._presence.alive()).values()

    async def tidy(self) -> None:
        """End as failed what a process began outside of the queue and did not live to end."""
        lost = [one for one in await self._store.runs.open() if one.executor and one.enqueued_at is None]
        lost = [one for one in lost if one.status is RunStatus.RUNNING]
        alive = await self._presence.alive() if lost else {}
        for run in lost:
            if run.executor not in alive:
                reason = f"The process that ran it ended without a word; `monitor runs retry {run.id}` does it again."
                await self._store.runs.give_up(run.id, reason=reason, at=self._clock.now(), executor=run.executor)

    async def _found(self, run_id: str) -> Run:
        run = await self._store.runs.get(run_id)
        if run is None:
            raise NotFound(f"There is no run {run_id!r}; `monitor runs list` names them.")
        return run

    async def _typed(
        self, store: Store, source: Source, since: dt.date | None, until: dt.date | None, *, executor: str | None = None
    ) -> Run:
        """A run on record that a person asked for: queued, or in the hands of this process."""
        now = self._clock.now()
        run = Run(
            id=f"s{source.id}-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}",
            source_id=source.id,
            source=source.name,
            planned_at=now,
            since=since,
            until=until,
            executor=executor,
            started_at=now if executor else None,
            status=RunStatus.RUNNING if executor else RunStatus.QUEUED,
        )
        await store.runs.create(run)
        return run

    async def _here(
        self,
        store: Store,
        run: Run,
        on_progress: ProgressCallback | None,
        cancel_event: asyncio.Event | None,
        *,
        trial: Gear | None = None,
    ) -> RunReport:
        source = await store.sources.by_id(run.source_id or 0)
        if source is not None:
            try:
                await self._carry_out(
                    store,
                    run,
                    source,
                    run.since,
                    run.until,
                    self._steps,
                    on_progress,
                    cancel_event,
                    trial=trial,
                )
            except asyncio.CancelledError:
                await store.runs.update(run.id, status=RunStatus.CANCELLED, ended_at=self._clock.now())
                raise
        return await report_of(await store.runs.get(run.id) or run, store)

    async def _carry_out(
        self,
        store: Store,
        run: Run,
        source: Source,
        since: dt.date | None,
        until: dt.date | None,
        steps: Steps,
        on_progress: ProgressCallback | None,
        cancel_event: asyncio.Event | None,
        *,
        trial: Gear | None = None,
    ) -> RunStatus:
        is_trial = trial is not None
        gear = trial or await self._recording.gear(run, store, is_trial=False)

        async def begin() -> Start:
            started_at = run.started_at or self._clock.now()
            today = started_at.astimezone(ZoneInfo(timezone_of(source, self._settings.timezone))).date()
            days = source.window_days or self._settings.sweep.window_days
            window = window_of(today=today, days=days, since=since, until=until)
            is_baseline = source.last_success_at is None
            await store.runs.update(run.id, since=window.since, until=window.until, is_baseline=is_baseline)
            start = Start(today=today, window=window)
            if not is_trial:
                await self._recording.set_out(run, source, store, gear, start)
            return start

        event = cancel_event or asyncio.Event()
        _log.info("run begins", run=run.id, source=source.name)
        with belonging_to(run=run.id, source=source.name), tempfile.TemporaryDirectory(prefix="monitor-run-") as folder:
            parts = Parts(
                store=store,
                loader=gear.loader,
                documents=self._documents,
                steps=steps,
                clock=self._clock,
                model=gear.model,
                linker=gear.linker,
                limits=self._settings.sweep,
                folder=Path(folder),
                prompts=gear.prompts,
                results=self._standing.of_run(run.id, is_trial=is_trial),
                on_progress=on_progress,
                cancel_event=event,
                is_trial=is_trial,
            )
            try:
                start = await steps.run("begin", Start, begin)
                work = sweep(run, source, window=start.window, today=start.today, parts=parts)
                status = await self._stops.obey(work, event, run_id=run.id)
            except Exception as error:
                # Whatever ended it, the run does not stay `running`; what it kept stays kept.
                now, reason = self._clock.now(), str(error) or None
                await store.runs.end(run.id, source.id, status=RunStatus.FAILED, at=now, error=reason)
                if not is_trial:
                    await self._health.examine(run.id)
                raise
        if status is None:
            status = RunStatus.CANCELLED
            await store.runs.end(run.id, source.id, status=status, at=self._clock.now())
        if not is_trial:
            await self._health.examine(run.id)
        _log.info("run ended", run=run.id, source=source.name, status=str(status))
        return status

    async def _handed_over(
        self, run_id: str, on_progress: ProgressCallback | None, cancel_event: asyncio.Event | None
    ) -> RunReport:
        await end_of(
            run_id,
            store=self._store,
            clock=self._clock,
            is_served=self.is_served,
            on_progress=on_progress,
            cancel_event=cancel_event,
        )
        return await self.report(run_id)
