"""Runs over HTTP: the history, one run with its ledger and its model calls, starting, stopping, doing again."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from monitor.db.queries.history import CandidateFilter
from monitor.services.cursors import cut_page, decode_cursor, decode_id
from monitor.services.runs import RunLedgerEntrySchema, RunQuery, RunReport, RunSummary
from monitor.vocabulary import Disposition, Phase, RunStatus
from monitor.web.api.cursors import Cursor, Limit
from monitor.web.api.search import Day
from monitor.web.auth import RUN_SCOPE, STOP_SCOPE, AppDep, Editor, Reader
from monitor.web.problems import build_problem_responses

RunId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:-]{1,64}$", examples=["s1-20260203T010000Z-5f3a"])]
SourceName = Annotated[str | None, Query(max_length=200, description="The name of a source.", examples=["示例部"])]
PlannedDay = Annotated[Day | None, Query(description="The day for which they were planned.", examples=["2026-02-03"])]

_PAGE_PROBLEMS = build_problem_responses(400, 404)
router = APIRouter(prefix="/api/v1/runs", tags=["runs"], responses=build_problem_responses(401, 403, 422, 503))


class RunListSchema(BaseModel):
    """A page of the history, latest first."""

    runs: list[RunSummary]
    next: str | None


_EXAMPLE_RUN_CANDIDATE: JsonDict = {
    "id": 7,
    "section": "通知公告",
    "title": "关于印发实施方案的通知",
    "url": "https://example.gov/n/7.html",
    "date": "2026-02-03",
    "date_source": "listed",
    "disposition": "saved",
    "reason": "rule",
    "page_url": "https://example.gov/n/",
}


class RunCandidateSchema(RunLedgerEntrySchema, json_schema_extra={"examples": [_EXAMPLE_RUN_CANDIDATE]}):
    id: int


class CandidateListSchema(BaseModel):
    """A page of a run's ledger, in the order of its list pages."""

    candidates: list[RunCandidateSchema]
    next: str | None


_EXAMPLE_MODEL_CALL: JsonDict = {
    "id": 3,
    "phase": "summarise",
    "place": "https://example.gov/n/7.html",
    "model": "gpt-5",
    "prompt_tokens": 2100,
    "completion_tokens": 120,
    "context_chars": 3300,
    "latency_ms": 1840,
    "outcome": "ok",
    "at": "2026-02-03T01:02:03Z",
    "cost": None,
}


class ModelCallSchema(BaseModel, from_attributes=True, json_schema_extra={"examples": [_EXAMPLE_MODEL_CALL]}):
    """A model call; `cost` is null where the model had no price."""

    id: int
    phase: Phase
    place: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    context_chars: int
    latency_ms: int
    outcome: str
    at: dt.datetime
    cost: float | None


class ModelCallListSchema(BaseModel):
    """A page of a run's model calls, in their order."""

    calls: list[ModelCallSchema]
    next: str | None


class RunStartRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [{"sources": ["示例部"]}]}):
    """Which sources to run now, by their names."""

    sources: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(min_length=1, max_length=200)


class QueuedRunSchema(BaseModel):
    """A run that was put into the queue, or stands there already."""

    source: str
    run_id: str


class QueuedRunListSchema(BaseModel):
    """What was put into the queue."""

    runs: list[QueuedRunSchema]


class RunState(BaseModel, json_schema_extra={"examples": [{"run_id": "s1-20260203T010000Z-5f3a", "status": "queued"}]}):
    """How a run stands after what was asked; `run_id` is another one where the source is run anew."""

    run_id: str
    status: RunStatus


@router.get("", summary="List runs", responses=build_problem_responses(400))
async def list_runs(
    app: AppDep,
    _: Reader,
    source: SourceName = None,
    status: RunStatus | None = None,
    day: PlannedDay = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> RunListSchema:
    """The history, latest first; nothing of a run's ledger is loaded but its sums."""
    query = RunQuery(source=source, status=status, day=day)
    found = await app.runs.list_summaries(query, after=decode_cursor(cursor, dt.datetime, str), limit=limit + 1)
    page, following = cut_page(found, limit, lambda run: (run.planned_at, run.run_id))
    return RunListSchema(runs=page, next=following)


@router.get("/{run_id}", summary="Show a run", responses=build_problem_responses(404))
async def get_run(app: AppDep, _: Reader, run_id: RunId) -> RunReport:
    """One run: sections, fallbacks, coverage, items in their order of rank, usage, alarms."""
    return await app.runs.get_report(run_id)


@router.get("/{run_id}/candidates", summary="List the candidates of a run", responses=_PAGE_PROBLEMS)
async def list_run_candidates(
    app: AppDep,
    _: Reader,
    run_id: RunId,
    disposition: Disposition | None = None,
    section: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Its place in the run, from 0.")] = None,
    q: Annotated[str, Query(max_length=200, description="Stands in the title or the url.")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> CandidateListSchema:
    """What became of every candidate of the list pages, in their order."""
    after = decode_cursor(cursor, int, int, int)
    wanted = CandidateFilter(disposition=disposition, section=section, text=q)
    found = await app.runs.list_candidates(run_id, wanted, after=after, limit=limit + 1)
    page, following = cut_page(found, limit, lambda row: (row.section, row.position, row.id))
    names = {section.ordinal: section.name for section in await app.store.runs.list_sections(run_id)}
    candidates = [RunCandidateSchema(**row._asdict() | {"section": names.get(row.section, "")}) for row in page]
    return CandidateListSchema(candidates=candidates, next=following)


@router.get("/{run_id}/calls", summary="List the model calls of a run", responses=_PAGE_PROBLEMS)
async def list_run_model_calls(
    app: AppDep, _: Reader, run_id: RunId, limit: Limit = 50, cursor: Cursor = None
) -> ModelCallListSchema:
    """Each call of the model with its tokens, its time and what came of it."""
    found = await app.runs.list_calls(run_id, after=decode_id(cursor) or 0, limit=limit + 1)
    page, following = cut_page(found, limit, lambda call: call.id)
    return ModelCallListSchema(calls=[ModelCallSchema.model_validate(call) for call in page], next=following)


@router.post(
    "",
    summary="Run sources now",
    status_code=202,
    dependencies=[RUN_SCOPE],
    responses=build_problem_responses(400, 404, 413),
)
async def start_runs(app: AppDep, principal: Editor, asked: RunStartRequest) -> QueuedRunListSchema:
    """Put a run of each source into the queue; a source that waits or is at work already keeps its run."""
    sources = [await app.sources.get(name) for name in dict.fromkeys(asked.sources)]
    return QueuedRunListSchema(
        runs=[
            QueuedRunSchema(source=source.name, run_id=await app.sweeps.enqueue(source, by=principal))
            for source in sources
        ]
    )


@router.post(
    "/{run_id}/cancel",
    summary="Cancel a run",
    status_code=202,
    dependencies=[STOP_SCOPE],
    responses=build_problem_responses(404, 409),
)
async def cancel_run(app: AppDep, principal: Editor, run_id: RunId) -> RunState:
    """Ask a run to stop: a queued one is cancelled at once, a running one within five seconds."""
    return RunState(run_id=run_id, status=await app.sweeps.cancel(run_id, by=principal))


@router.post(
    "/{run_id}/retry",
    summary="Do a run again",
    status_code=202,
    dependencies=[RUN_SCOPE],
    responses=build_problem_responses(400, 404, 409),
)
async def retry_run(app: AppDep, principal: Editor, run_id: RunId) -> RunState:
    """Do an ended run again from the phase that went wrong; where nothing did, run its source anew."""
    again = await app.sweeps.enqueue_retry(run_id, by=principal)
    return RunState(run_id=again, status=(await app.runs.get(again)).status)
