"""The run history: lists of runs, one run with all that came of it, and the phases that it went through."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field

from monitor.briefing.item import FallbackSchema, ItemSchema, build_item_schema
from monitor.clock import Clock
from monitor.db.database import Store
from monitor.db.queries.history import CandidateFilter, CandidateKey, LedgerRow, RunFilter, RunKey, RunRow
from monitor.db.reading import Coverage, RunUsage, UnseenPlace
from monitor.db.sessions import sanitize_text, split_batches
from monitor.db.tables.collection import Fallback, Item, ModelCall, Run, RunSection
from monitor.db.tables.delivery import AlarmView
from monitor.db.tables.research import RunEvent
from monitor.errors import NotFound
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.services.runtime import WorkerRegistry
from monitor.services.schedules import get_midnight
from monitor.vocabulary import SWEEP_PHASES, DateSource, Disposition, EventKind, Phase, RunStatus, SavedBy, SectionEnd


class RunSectionSchema(BaseModel):
    name: str
    url: str
    found_by: SavedBy
    ended: SectionEnd | None
    pages: int
    candidates: int
    refused_saves: int
    corrected_dates: int


class RunLedgerEntrySchema(MessageModel):
    """One row of a run's ledger: a candidate of a list page and what became of it."""

    section: str
    title: str
    url: str
    date: dt.date | None
    date_source: DateSource
    disposition: Disposition
    reason: Message | None
    page_url: str


class RunSummary(MessageModel):
    """A run in a list: how it ended, what fell back, what became of the candidates, what was spent."""

    run_id: str
    source: str
    status: RunStatus
    error: Message | None = None
    is_baseline: bool
    since: dt.date | None
    until: dt.date | None
    planned_at: dt.datetime
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    fallbacks: list[FallbackSchema] = Field(default_factory=list)
    coverage: Coverage
    usage: RunUsage
    alarms: list[AlarmView] = Field(default_factory=list)

    @property
    def state(self) -> str:
        """The status as people read it: `degraded: budget` where a spent budget left the rest to the rules."""
        is_budget = any(fallback.reason.code == "cause.model_budget" for fallback in self.fallbacks)
        return f"{self.status}: budget" if is_budget and self.status is RunStatus.DEGRADED else str(self.status)


class RunReport(RunSummary):
    sections: list[RunSectionSchema] = Field(default_factory=list)
    items: list[ItemSchema] = Field(default_factory=list)

    @property
    def retry_phase(self) -> Phase | None:
        """The phase with which a retry begins; None where nothing went wrong."""
        if self.status is RunStatus.SUCCEEDED:
            return None
        if self.status is RunStatus.DEGRADED:
            return min((fallback.phase for fallback in self.fallbacks), key=list(Phase).index, default=None)
        if not self.sections:
            return Phase.NAVIGATE
        if any(section.ended in (None, SectionEnd.ERROR) for section in self.sections):
            return Phase.CRAWL
        return Phase.SUMMARISE


class FullRunReport(RunReport):
    """A run with its ledger, in which every candidate of its list pages can be found."""

    candidates: list[RunLedgerEntrySchema] = Field(default_factory=list)


async def load_full_run_report(run: Run, store: Store) -> FullRunReport:
    """The report with the ledger, by which its coverage is counted anew."""
    report = await load_run_report(run, store)
    names = {section.ordinal: section.name for section in await store.runs.list_sections(run.id)}
    candidates = [
        RunLedgerEntrySchema(**row._asdict() | {"section": names.get(row.section, "")})
        for row in await store.runs.load_ledger(run.id)
    ]
    coverage = Coverage(unseen=report.coverage.unseen)
    coverage.add(Counter(row.disposition for row in candidates))
    return FullRunReport(**dict(report) | {"coverage": coverage}, candidates=candidates)


async def load_run_report(run: Run, store: Store) -> RunReport:
    (summary,) = await _load_batch_summaries([run], store)
    return RunReport(
        **dict(summary),
        sections=[
            RunSectionSchema.model_validate(row, from_attributes=True) for row in await store.runs.list_sections(run.id)
        ],
        items=[build_item_schema(item) for item in await store.items.list_for_run(run.id)],
    )


async def load_run_summaries(runs: Sequence[Run], store: Store) -> list[RunSummary]:
    """What lists tell of these runs, in their order; the questions are as many for one as for hundreds of them."""
    return [summary for batch in split_batches(runs) for summary in await _load_batch_summaries(batch, store)]


async def _load_batch_summaries(runs: Sequence[Run], store: Store) -> list[RunSummary]:
    details = await store.history.load_details([run.id for run in runs])
    alarms = await store.alarms.list(run_ids=[run.id for run in runs], limit=None)
    return [
        RunSummary(
            run_id=run.id,
            **run.model_dump(include=set(RunSummary.model_fields)),
            fallbacks=[FallbackSchema.model_validate(row, from_attributes=True) for row in details[run.id].fallbacks],
            coverage=details[run.id].coverage,
            usage=details[run.id].usage,
            alarms=[alarm for alarm in alarms if alarm.run_id == run.id],
        )
        for run in runs
    ]


REVISIT_PHASE = "revisit"
_PHASE_ORDER = [*map(str, SWEEP_PHASES), REVISIT_PHASE]
_FINAL_PHASES = {str(Phase.RANK), REVISIT_PHASE}
"""A run that came so far went through all of its phases: often nothing is due to be looked at again."""


class PhaseState(StrEnum):
    WAITING = "waiting"
    NOW = "now"
    DONE = "done"
    STOPPED = "stopped"
    NOT_REACHED = "not_reached"


_UNSTARTED_STATES = (PhaseState.WAITING, PhaseState.NOT_REACHED)


class PhaseView(NamedTuple):
    """A phase of a run; `done` of `total` sections or items, where that is known."""

    phase: str
    state: PhaseState
    done: int | None = None
    total: int | None = None


def build_phase_views(
    run: Run, *, last: RunEvent | None, sections: Sequence[RunSection], items: Sequence[Item]
) -> list[PhaseView]:
    at = _PHASE_ORDER.index(_detect_phase(run, last, sections))
    views = [
        PhaseView(phase, _get_phase_state(run, place, at), *_count_progress(phase, sections, items))
        for place, phase in enumerate(_PHASE_ORDER)
    ]
    views = [view._replace(done=None, total=None) if view.state in _UNSTARTED_STATES else view for view in views]
    if run.status is RunStatus.RUNNING and last is not None:
        views[at] = views[at]._replace(done=last.data.get("done", 0), total=last.data.get("total"))
    return views


def _detect_phase(run: Run, last: RunEvent | None, sections: Sequence[RunSection]) -> str:
    if last is not None and last.data.get("phase") in _PHASE_ORDER:
        return str(last.data["phase"])
    if not sections:
        return Phase.NAVIGATE
    if any(section.ended is None for section in sections):
        return Phase.CRAWL
    return Phase.SUMMARISE if run.status is RunStatus.RUNNING else REVISIT_PHASE


def _get_phase_state(run: Run, place: int, at: int) -> PhaseState:
    if run.status is RunStatus.QUEUED:
        return PhaseState.WAITING
    if place < at:
        return PhaseState.DONE
    if run.status is RunStatus.RUNNING:
        return PhaseState.NOW if place == at else PhaseState.WAITING
    if run.status in (RunStatus.SUCCEEDED, RunStatus.DEGRADED) or _PHASE_ORDER[at] in _FINAL_PHASES:
        return PhaseState.DONE
    return PhaseState.STOPPED if place == at else PhaseState.NOT_REACHED


def _count_progress(phase: str, sections: Sequence[RunSection], items: Sequence[Item]) -> tuple[int | None, int | None]:
    match phase:
        case Phase.NAVIGATE:
            return len(sections), len(sections)
        case Phase.CRAWL:
            return sum(section.ended is not None for section in sections), len(sections)
        case Phase.SUMMARISE:
            return sum(bool(item.summary) for item in items), len(items)
        case Phase.RANK:
            return sum(item.rank is not None for item in items), len(items)
    return None, None


MAX_SHOWN_CALLS = 300  # on a run's page; the API hands out all of them


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


@dataclass(kw_only=True)
class RunService:
    store: Store
    clock: Clock
    presence: WorkerRegistry
    timezone: str

    async def list_rows(self, query: RunQuery, *, after: RunKey | None = None, limit: int = 50) -> list[RunRow]:
        """The runs that are wanted, latest first, with what a row of the history shows."""
        await self.fail_orphaned()
        return await self.store.history.list_rows(await self._build_filter(query), after=after, limit=limit)

    async def list_summaries(
        self, query: RunQuery, *, after: RunKey | None = None, limit: int | None = 50
    ) -> list[RunSummary]:
        """The same with fallbacks, coverage and usage of each, as programs are told of them."""
        await self.fail_orphaned()
        runs = await self.store.history.list_runs(await self._build_filter(query), after=after, limit=limit)
        return await load_run_summaries(runs, self.store)

    async def get_report(self, run_id: str) -> RunReport:
        await self.fail_orphaned()
        return await load_run_report(await self.get(run_id), self.store)

    async def get_full_report(self, run_id: str) -> FullRunReport:
        await self.fail_orphaned()
        return await load_full_run_report(await self.get(run_id), self.store)

    async def get_latest_report(self, source: str) -> RunReport | None:
        runs = await self.store.runs.list(source=source, limit=1)
        return await load_run_report(runs[0], self.store) if runs else None

    async def fail_orphaned(self) -> None:
        """End as failed the runs that a process began outside of the queue and died over."""
        lost = [run for run in await self.store.runs.list_open() if run.executor and run.enqueued_at is None]
        lost = [run for run in lost if run.status is RunStatus.RUNNING]
        alive = await self.presence.list_alive() if lost else {}
        for run in lost:
            if run.executor not in alive:
                reason = Message.of("cause.process_ended", run_id=run.id)
                await self.store.runs.abandon(run.id, reason=reason, at=self.clock.now(), executor=run.executor)

    async def list_sources(self) -> list[str]:
        return await self.store.history.list_sources()

    async def get(self, run_id: str) -> Run:
        run = await self.store.runs.get(run_id)
        if run is None:
            raise NotFound("run.not_found", run=run_id)
        return run

    async def get_detail(self, run_id: str) -> RunDetail:
        """All that the page of a run shows. What comes after it was asked for comes as an event."""
        await self.fail_orphaned()
        store = self.store
        latest = await store.run_events.latest(run_id)
        run = await self.get(run_id)
        return RunDetail(
            run=run,
            last_event_id=(latest and latest.id) or 0,
            phase=await store.run_events.latest(run_id, EventKind.PHASE),
            sections=await store.runs.list_sections(run_id),
            ledger=await store.runs.load_ledger(run_id),
            unseen=await store.runs.list_unseen(run_id),
            fallbacks=await store.runs.list_fallbacks(run_id),
            items=await store.items.list_for_run(run_id),
            usage=await store.usage.load_run_usage(run_id),
            calls=await store.history.list_latest_calls(run_id, limit=MAX_SHOWN_CALLS),
            alarms=await store.alarms.list(run_ids=[run_id]),
        )

    async def list_candidates(
        self, run_id: str, candidate_filter: CandidateFilter, *, after: CandidateKey | None = None, limit: int = 50
    ) -> list[LedgerRow]:
        await self.get(run_id)
        return await self.store.history.list_candidates(run_id, candidate_filter, after=after, limit=limit)

    async def list_calls(self, run_id: str, *, after: int = 0, limit: int = 50) -> list[ModelCall]:
        await self.get(run_id)
        return await self.store.history.list_calls(run_id, after=after, limit=limit)

    async def _build_filter(self, query: RunQuery) -> RunFilter:
        wanted = RunFilter(source=query.source or None, status=query.status)
        if wanted.source is not None:
            source = await self.store.sources.get(sanitize_text(wanted.source))
            wanted.source_id = source.id if source is not None else None
        if query.day is not None:
            zone = ZoneInfo(self.timezone)
            wanted.planned_from = _get_midnight(query.day, zone)
            wanted.planned_before = _get_midnight(query.day, zone, later_days=1)
        return wanted


def _get_midnight(day: dt.date, zone: ZoneInfo, *, later_days: int = 0) -> dt.datetime | None:
    try:
        return get_midnight(day + dt.timedelta(days=later_days), zone)
    except OverflowError:
        return None
