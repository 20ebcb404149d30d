"""A run told whole: what `monitor sweep --json` and `monitor runs show` say (contracts, section 2)."""

import datetime as dt
from collections.abc import Sequence

from pydantic import BaseModel, Field

from monitor.briefing.wire import FallbackWire, ItemWire, item_wire
from monitor.domain.alarms import AlarmNote
from monitor.domain.reading import Coverage, Usage
from monitor.domain.tables import Run
from monitor.domain.words import DateSource, Disposition, Phase, RunStatus, SavedBy, SectionEnd
from monitor.store import Store
from monitor.store.sessions import batches


class SectionWire(BaseModel):
    """A section as a run read it."""

    name: str
    url: str
    found_by: SavedBy
    ended: SectionEnd | None
    pages: int
    candidates: int
    refused_saves: int
    corrected_dates: int


class CandidateWire(BaseModel):
    """One row of a run's ledger: a candidate of a list page and what became of it."""

    section: str
    title: str
    url: str
    date: dt.date | None
    date_source: DateSource
    disposition: Disposition
    reason: str
    page_url: str


class RunSummary(BaseModel):
    """A run in a list: how it ended, what fell back, what became of the candidates, what was spent."""

    run_id: str
    source: str
    status: RunStatus
    error: str | None = None
    is_baseline: bool
    since: dt.date | None
    until: dt.date | None
    planned_at: dt.datetime
    started_at: dt.datetime | None
    ended_at: dt.datetime | None
    fallbacks: list[FallbackWire] = Field(default_factory=list)
    coverage: Coverage
    usage: Usage
    alarms: list[AlarmNote] = Field(default_factory=list)

    @property
    def state(self) -> str:
        """The status as people read it: `degraded: budget` where a spent budget left the rest to the rules."""
        is_budget = any(fallback.reason.startswith("budget: ") for fallback in self.fallbacks)
        return f"{self.status}: budget" if is_budget and self.status is RunStatus.DEGRADED else str(self.status)


class RunReport(RunSummary):
    """One run with what was read and kept."""

    sections: list[SectionWire] = Field(default_factory=list)
    items: list[ItemWire] = Field(default_factory=list)

    @property
    def phase_to_repeat(self) -> Phase | None:
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


class WholeRun(RunReport):
    """A run with its ledger, in which every candidate of its list pages can be found."""

    candidates: list[CandidateWire] = Field(default_factory=list)


async def whole_run(run: Run, store: Store) -> WholeRun:
    """A run's report with its ledger."""
    report = await report_of(run, store)
    names = {section.ordinal: section.name for section in await store.runs.sections(run.id)}
    candidates = [
        CandidateWire(
            section=names.get(row.section, ""), **row.model_dump(include=set(CandidateWire.model_fields) - {"section"})
        )
        for row in await store.runs.ledger(run.id)
    ]
    return WholeRun(**dict(report), candidates=candidates)


async def report_of(run: Run, store: Store) -> RunReport:
    """Gather a run's report from the store."""
    (summary,) = await _summaries_of([run], store)
    return RunReport(
        **dict(summary),
        sections=[SectionWire.model_validate(row, from_attributes=True) for row in await store.runs.sections(run.id)],
        items=[item_wire(item) for item in await store.items.for_run(run.id)],
    )


async def summaries_of(runs: Sequence[Run], store: Store) -> list[RunSummary]:
    """What lists tell of these runs, in their order; the questions are as many for one as for hundreds of them."""
    return [one for batch in batches(runs) for one in await _summaries_of(batch, store)]


async def _summaries_of(runs: Sequence[Run], store: Store) -> list[RunSummary]:
    details = await store.history.details([run.id for run in runs])
    alarms = await store.alarms.of_runs([run.id for run in runs])
    return [
        RunSummary(
            run_id=run.id,
            **run.model_dump(include=set(RunSummary.model_fields)),
            fallbacks=[
                FallbackWire(phase=row.phase, where=row.where, reason=row.reason) for row in details[run.id].fallbacks
            ],
            coverage=details[run.id].coverage,
            usage=details[run.id].usage,
            alarms=[alarm for alarm in alarms if alarm.run_id == run.id],
        )
        for run in runs
    ]
