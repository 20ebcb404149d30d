"""The use cases around runs: sweep sources now, try one without keeping anything, look at what ran."""

import asyncio
import datetime as dt
import secrets
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.app.report import RunReport, WholeRun, report_of, whole_run
from monitor.app.sources import timezone_of
from monitor.domain.page import Candidate
from monitor.domain.tables import Run, Source
from monitor.domain.words import Disposition, RunStatus
from monitor.errors import DatabaseError, UsageError
from monitor.ports import ChatModel, Clock, DocumentReader, PageLoader, ProgressCallback, Steps
from monitor.settings import Settings
from monitor.store import Store
from monitor.sweep.pipeline import Parts, sweep
from monitor.sweep.window import window_of

_LOOK_EVERY_S = 1.0


class TriedCandidate(BaseModel):
    """A candidate of a dry run and what would become of it."""

    candidate: Candidate
    disposition: Disposition
    reason: str = ""


class TriedSection(BaseModel):
    """A section of a dry run."""

    name: str
    url: str
    ended: str | None
    candidates: list[TriedCandidate] = Field(default_factory=list)


class Trial(BaseModel):
    """What a sweep would find and save."""

    source: str
    status: RunStatus
    error: str | None = None
    would_save: int = 0
    sections: list[TriedSection] = Field(default_factory=list)
    fallbacks: list[dict[str, str]] = Field(default_factory=list)


class SweepDesk:
    """Runs sources.

    `new_loader` gives a page loader that remembers the pages of one run; `new_model` a model bound to a run, or None
    where no model is to be asked.
    """

    def __init__(
        self,
        *,
        store: Store,
        settings: Settings,
        clock: Clock,
        documents: DocumentReader,
        steps: Steps,
        new_loader: Callable[[], PageLoader],
        new_model: Callable[[str, Store], Awaitable[ChatModel | None]],
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._documents = documents
        self._steps = steps
        self._new_loader = new_loader
        self._new_model = new_model

    async def sweep(
        self,
        source: Source,
        *,
        since: dt.date | None = None,
        until: dt.date | None = None,
        on_progress: ProgressCallback | None = None,
        cancel_event: asyncio.Event | None = None,
    ) -> RunReport:
        """Run a source now and wait for its end."""
        return await self._run(self._store, source, since, until, on_progress, cancel_event)

    async def try_out(self, source: Source, *, on_progress: ProgressCallback | None = None) -> Trial:
        """A dry run in a database of its own that is thrown away; a stored source takes what it remembers with it."""
        with tempfile.TemporaryDirectory(prefix="monitor-try-") as folder:
            async with Store.open(f"sqlite:///{Path(folder) / 'try.db'}") as store:
                await store.check()
                copy = await self._store.lend(source, store)
                report = await self._run(store, copy, None, None, on_progress, None, is_trial=True)
                return await _trial_of(report, store)

    async def runs(self, *, source: str | None = None, limit: int = 50) -> list[RunReport]:
        """The newest runs, without their items."""
        runs = await self._store.runs.list(source=source, limit=limit)
        return [await report_of(run, self._store) for run in runs]

    async def report(self, run_id: str) -> WholeRun:
        """One run told whole, with its ledger."""
        run = await self._store.runs.get(run_id)
        if run is None:
            raise UsageError(f"There is no run {run_id!r}; `monitor runs list` names them.")
        return await whole_run(run, self._store)

    async def cancel(self, run_id: str) -> RunStatus:
        """Ask a run to stop; a queued one is cancelled at once. `UsageError` where there is none, or it has ended."""
        run = await self._store.runs.get(run_id)
        if run is None:
            raise UsageError(f"There is no run {run_id!r}; `monitor runs list` names them.")
        if not await self._store.runs.request_cancel(run_id, at=self._clock.now()):
            raise UsageError(f"The run {run_id} has ended already: {run.status}.")
        after = await self._store.runs.get(run_id)
        return (after or run).status

    async def _run(
        self,
        store: Store,
        source: Source,
        since: dt.date | None,
        until: dt.date | None,
        on_progress: ProgressCallback | None,
        cancel_event: asyncio.Event | None,
        *,
        is_trial: bool = False,
    ) -> RunReport:
        now = self._clock.now()
        today = now.astimezone(ZoneInfo(timezone_of(source, self._settings.timezone))).date()
        days = source.window_days or self._settings.sweep.window_days
        window = window_of(today=today, days=days, since=since, until=until)
        run = Run(
            id=f"s{source.id}-{now:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}", source_id=source.id, source=source.name,
            status=RunStatus.RUNNING, planned_at=now, started_at=now, since=window.since, until=window.until,
            is_baseline=source.last_success_at is None,
        )  # fmt: skip
        await store.runs.create(run)
        event = cancel_event or asyncio.Event()
        with tempfile.TemporaryDirectory(prefix="monitor-run-") as folder:
            parts = Parts(
                store=store, loader=self._new_loader(), documents=self._documents, steps=self._steps, clock=self._clock,
                model=await self._new_model(run.id, store), limits=self._settings.sweep, folder=Path(folder),
                on_progress=on_progress, cancel_event=event, is_trial=is_trial,
            )  # fmt: skip
            try:
                async with _obeying(store, run.id, event):
                    await sweep(run, source, window=window, today=today, parts=parts)
            except BaseException as error:
                # Whatever ended it, the run does not stay `running`; what it kept stays kept.
                status = RunStatus.CANCELLED if isinstance(error, asyncio.CancelledError) else RunStatus.FAILED
                await store.runs.update(run.id, status=status, ended_at=self._clock.now(), error=str(error) or None)
                raise
        return await report_of(await store.runs.get(run.id) or run, store)


@asynccontextmanager
async def _obeying(store: Store, run_id: str, event: asyncio.Event) -> AsyncIterator[None]:
    """Sets the event once somebody asks for the end of the run, from whatever process."""

    async def look() -> None:
        while not event.is_set():
            await asyncio.sleep(_LOOK_EVERY_S)
            if await store.runs.is_cancel_requested(run_id):
                event.set()

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        # A database that fails here fails the run as well, which then says so.
        with suppress(asyncio.CancelledError, DatabaseError):
            await looking


async def _trial_of(report: RunReport, store: Store) -> Trial:
    rows: dict[int, list[TriedCandidate]] = {}
    for row in await store.runs.ledger(report.run_id):
        candidate = Candidate(title=row.title, url=row.url, date=row.date, date_source=row.date_source)
        tried = TriedCandidate(candidate=candidate, disposition=row.disposition, reason=row.reason)
        rows.setdefault(row.section, []).append(tried)
    return Trial(
        source=report.source, status=report.status, error=report.error, would_save=report.coverage.saved,
        sections=[
            TriedSection(name=one.name, url=one.url, ended=one.ended, candidates=rows.get(ordinal, []))
            for ordinal, one in enumerate(report.sections)
        ],
        fallbacks=[one.model_dump(mode="json") for one in report.fallbacks],
    )  # fmt: skip
