"""The use cases of the run history: look through it, look at one run, have one stopped or done again."""

import datetime as dt
from typing import NamedTuple
from zoneinfo import ZoneInfo

from pydantic import BaseModel

from monitor.app.report import RunReport, RunSummary, report_of, summaries_of
from monitor.app.sweeps import SweepDesk
from monitor.domain.alarms import AlarmNote
from monitor.domain.live import RunEvent
from monitor.domain.reading import UnseenPlace, Usage
from monitor.domain.tables import CandidateRecord, Fallback, Item, ModelCall, Run, RunSection
from monitor.domain.words import EventKind, RunStatus
from monitor.errors import Conflict, NotFound
from monitor.store import Store
from monitor.store.history import CandidateFilter, CandidateKey, LedgerRow, RunFilter, RunKey, RunRow
from monitor.store.sessions import storable

MOST_CALLS = 300
"""So many of a run's latest model calls its page shows; the API hands out all of them."""


class RunWish(BaseModel):
    """Which runs somebody wants to see: of the source of that name, of a status, planned on a day."""

    source: str | None = None
    status: RunStatus | None = None
    day: dt.date | None = None


class RunPicture(NamedTuple):
    """One run as its page shows it. `told` is the number of the last event that is in the picture already."""

    run: Run
    told: int
    phase: RunEvent | None
    sections: list[RunSection]
    ledger: list[LedgerRow]
    unseen: list[UnseenPlace]
    fallbacks: list[Fallback]
    items: list[Item]
    usage: Usage
    calls: list[ModelCall]
    alarms: list[AlarmNote]


class RunDesk:
    """The runs, as people look at them."""

    def __init__(self, *, store: Store, sweeps: SweepDesk, timezone: str) -> None:
        self._store = store
        self._sweeps = sweeps
        self._zone = ZoneInfo(timezone)

    async def rows(self, wish: RunWish, *, after: RunKey | None = None, limit: int = 50) -> list[RunRow]:
        """The runs that are wanted, latest first, with what a row of the history shows."""
        await self._sweeps.tidy()
        return await self._store.history.rows(await self._filter(wish), after=after, limit=limit)

    async def listed(self, wish: RunWish, *, after: RunKey | None = None, limit: int | None = 50) -> list[RunSummary]:
        """The same with fallbacks, coverage and usage of each, as programs are told of them."""
        await self._sweeps.tidy()
        runs = await self._store.history.runs(await self._filter(wish), after=after, limit=limit)
        return await summaries_of(runs, self._store)

    async def report(self, run_id: str) -> RunReport:
        """One run with its sections and items."""
        await self._sweeps.tidy()
        return await report_of(await self.get(run_id), self._store)

    async def sources(self) -> list[str]:
        """The names of the sources that the history tells of."""
        return await self._store.history.sources()

    async def get(self, run_id: str) -> Run:
        """The run of that id; `NotFound` where there is none."""
        run = await self._store.runs.get(run_id)
        if run is None:
            raise NotFound(f"There is no run {run_id!r}; `monitor runs list` names them.")
        return run

    async def picture(self, run_id: str) -> RunPicture:
        """All that the page of a run shows. What comes after it was asked for comes as an event."""
        await self._sweeps.tidy()
        store = self._store
        latest = await store.live.latest(run_id)
        run = await self.get(run_id)
        return RunPicture(
            run=run,
            told=(latest and latest.id) or 0,
            phase=await store.live.latest(run_id, EventKind.PHASE),
            sections=await store.runs.sections(run_id),
            ledger=await store.history.ledger(run_id),
            unseen=await store.runs.unseen(run_id),
            fallbacks=await store.runs.fallbacks(run_id),
            items=await store.items.for_run(run_id),
            usage=await store.usage.for_run(run_id),
            calls=await store.history.latest_calls(run_id, limit=MOST_CALLS),
            alarms=await store.alarms.list(run_id=run_id),
        )

    async def candidates(
        self, run_id: str, wanted: CandidateFilter, *, after: CandidateKey | None = None, limit: int = 50
    ) -> list[CandidateRecord]:
        """Candidates of a run in the order of its pages."""
        await self.get(run_id)
        return await self._store.history.candidates(run_id, wanted, after=after, limit=limit)

    async def calls(self, run_id: str, *, after: int = 0, limit: int = 50) -> list[ModelCall]:
        """Model calls of a run in their order."""
        await self.get(run_id)
        return await self._store.history.calls(run_id, after=after, limit=limit)

    async def cancel(self, run_id: str) -> RunStatus:
        """Ask a run to stop; `Conflict` where it has ended."""
        run = await self.get(run_id)
        if run.status.is_final:
            raise Conflict(f"The run {run_id} has ended already: {run.status}.")
        return await self._sweeps.cancel(run_id)

    async def retry(self, run_id: str) -> str:
        """Have an ended run done again by the service, without waiting; answers the id of the run that does it."""
        run = await self.get(run_id)
        if not run.status.is_final:
            raise Conflict(f"The run {run_id} has not ended: it is {run.status}.")
        return await self._sweeps.ask_again(run_id)

    async def _filter(self, wish: RunWish) -> RunFilter:
        wanted = RunFilter(source=wish.source or None, status=wish.status)
        if wanted.source is not None:
            source = await self._store.sources.get(storable(wanted.source))
            wanted.source_id = source.id if source is not None else None
        if wish.day is not None:
            wanted.planned_from = _midnight(wish.day, self._zone)
            wanted.planned_before = _midnight(wish.day, self._zone, later_days=1)
        return wanted


def _midnight(day: dt.date, zone: ZoneInfo, *, later_days: int = 0) -> dt.datetime | None:
    """The beginning of a day, or of a later one, in UTC; None where the calendar ends before it."""
    try:
        begin = dt.datetime.combine(day + dt.timedelta(days=later_days), dt.time.min, zone)
        return begin.astimezone(dt.UTC)
    except OverflowError:
        return None
