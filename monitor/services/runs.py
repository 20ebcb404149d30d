"""The use cases of the run history: look through it, look at one run, have one stopped or done again."""

import datetime as dt
from typing import NamedTuple
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from monitor.db.database import Store
from monitor.db.queries.history import CandidateFilter, CandidateKey, LedgerRow, RunFilter, RunKey, RunRow
from monitor.db.reading import RunUsage, UnseenPlace
from monitor.db.sessions import sanitize_text
from monitor.db.tables.collection import CandidateRecord, Fallback, Item, ModelCall, Run, RunSection
from monitor.db.tables.delivery import AlarmView
from monitor.db.tables.research import RunEvent
from monitor.errors import NotFound
from monitor.services.run_report import RunReport, RunSummary, load_run_report, load_run_summaries
from monitor.services.sweeps import SweepService
from monitor.vocabulary import EventKind, RunStatus

MAX_SHOWN_CALLS = 300
"""So many of a run's latest model calls its page shows; the API hands out all of them."""


class RunQuery(BaseModel):
    """Which runs somebody wants to see: of the source of that name, of a status, planned on a day."""

    source: str | None = None
    status: RunStatus | None = None
    day: dt.date | None = None


class RunDetail(NamedTuple):
    """One run as its page shows it. `told` is the number of the last event that is in the picture already."""

    run: Run
    last_event_id: int
    phase: RunEvent | None
    sections: list[RunSection]
    ledger: list[LedgerRow]
    unseen: list[UnseenPlace]
    fallbacks: list[Fallback]
    items: list[Item]
    usage: RunUsage
    calls: list[ModelCall]
    alarms: list[AlarmView]


class RunService:
    """The runs, as people look at them."""

    def __init__(self, *, store: Store, sweeps: SweepService, timezone: str) -> None:
        self._store = store
        self._sweeps = sweeps
        self._zone = ZoneInfo(timezone)

    async def list_rows(self, query: RunQuery, *, after: RunKey | None = None, limit: int = 50) -> list[RunRow]:
        """The runs that are wanted, latest first, with what a row of the history shows."""
        await self._sweeps.fail_orphaned()
        return await self._store.history.list_rows(await self._build_filter(query), after=after, limit=limit)

    async def list_summaries(
        self, query: RunQuery, *, after: RunKey | None = None, limit: int | None = 50
    ) -> list[RunSummary]:
        """The same with fallbacks, coverage and usage of each, as programs are told of them."""
        await self._sweeps.fail_orphaned()
        runs = await self._store.history.list_runs(await self._build_filter(query), after=after, limit=limit)
        return await load_run_summaries(runs, self._store)

    async def get_report(self, run_id: str) -> RunReport:
        """One run with its sections and items."""
        await self._sweeps.fail_orphaned()
        return await load_run_report(await self.get(run_id), self._store)

    async def list_sources(self) -> list[str]:
        """The names of the sources that the history tells of."""
        return await self._store.history.list_sources()

    async def get(self, run_id: str) -> Run:
        """The run of that id; `NotFound` where there is none."""
        run = await self._store.runs.get(run_id)
        if run is None:
            raise NotFound("run.not_found", run=run_id)
        return run

    async def get_detail(self, run_id: str) -> RunDetail:
        """All that the page of a run shows. What comes after it was asked for comes as an event."""
        await self._sweeps.fail_orphaned()
        store = self._store
        latest = await store.run_events.latest(run_id)
        run = await self.get(run_id)
        return RunDetail(
            run=run,
            last_event_id=(latest and latest.id) or 0,
            phase=await store.run_events.latest(run_id, EventKind.PHASE),
            sections=await store.runs.list_sections(run_id),
            ledger=await store.history.load_ledger(run_id),
            unseen=await store.runs.list_unseen(run_id),
            fallbacks=await store.runs.list_fallbacks(run_id),
            items=await store.items.list_for_run(run_id),
            usage=await store.usage.load_run_usage(run_id),
            calls=await store.history.list_latest_calls(run_id, limit=MAX_SHOWN_CALLS),
            alarms=await store.alarms.list(run_ids=[run_id]),
        )

    async def list_candidates(
        self, run_id: str, candidate_filter: CandidateFilter, *, after: CandidateKey | None = None, limit: int = 50
    ) -> list[CandidateRecord]:
        """Candidates of a run in the order of its pages."""
        await self.get(run_id)
        return await self._store.history.list_candidates(run_id, candidate_filter, after=after, limit=limit)

    async def list_calls(self, run_id: str, *, after: int = 0, limit: int = 50) -> list[ModelCall]:
        """Model calls of a run in their order."""
        await self.get(run_id)
        return await self._store.history.list_calls(run_id, after=after, limit=limit)

    async def _build_filter(self, query: RunQuery) -> RunFilter:
        wanted = RunFilter(source=query.source or None, status=query.status)
        if wanted.source is not None:
            source = await self._store.sources.get(sanitize_text(wanted.source))
            wanted.source_id = source.id if source is not None else None
        if query.day is not None:
            wanted.planned_from = _get_midnight(query.day, self._zone)
            wanted.planned_before = _get_midnight(query.day, self._zone, later_days=1)
        return wanted


def _get_midnight(day: dt.date, zone: ZoneInfo, *, later_days: int = 0) -> dt.datetime | None:
    """The beginning of a day, or of a later one, in UTC; None where the calendar ends before it."""
    try:
        begin = dt.datetime.combine(day + dt.timedelta(days=later_days), dt.time.min, zone)
        return begin.astimezone(dt.UTC)
    except OverflowError:
        return None
