"""Evaluations over HTTP: compare models on recorded runs, read the report, choose between summaries."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, Field

from monitor.evaluation.document import EvaluationReport
from monitor.evaluation.pairs import Side
from monitor.services.cursors import cut_page, decode_cursor
from monitor.services.evaluation import EvaluationForm, EvaluationSchema, PairState
from monitor.web.api.cursors import Cursor, Limit
from monitor.web.auth import RUN_SCOPE, STOP_SCOPE, Admin, AppDep
from monitor.web.problems import PROBLEM_RESPONSES

EvaluationId = Annotated[str, Path(min_length=1, max_length=64, pattern="^[a-z0-9]+$", examples=["5f0c2a9be1d4"])]
PairName = Annotated[str, Path(min_length=1, max_length=32, pattern="^[a-f0-9]+$", examples=["9a3bd0c1e55f7a20"])]

router = APIRouter(prefix="/api/v1/evaluations", tags=["evaluations"], responses=PROBLEM_RESPONSES)


class EvaluationListSchema(BaseModel):
    """Evaluations, newest first, and the cursor with which the list goes on."""

    evaluations: list[EvaluationSchema]
    next: str | None


class ResumeEvaluationRequest(BaseModel, extra="forbid"):
    """The budget that holds from now on, with what is spent already in it; null is no limit."""

    budget: float | None = Field(default=None, gt=0, allow_inf_nan=False, examples=[2.5])


class PairChoiceRequest(BaseModel, extra="forbid"):
    """Which summary of a pair is better."""

    side: Side = Field(examples=["left"])


@router.get("", summary="List the evaluations")
async def list_evaluations(
    app: AppDep, principal: Admin, limit: Limit = 50, cursor: Cursor = None
) -> EvaluationListSchema:
    """Each with its contenders, how far it is and what it has cost."""
    after = decode_cursor(cursor, dt.datetime, str)
    rows = await app.evaluations.list(by=principal, limit=limit + 1, after=after)
    page, following = cut_page(rows, limit, lambda row: (row.created_at, row.id))
    return EvaluationListSchema(evaluations=page, next=following)


@router.post("", status_code=202, summary="Compare models", dependencies=[RUN_SCOPE])
async def start_evaluation(app: AppDep, principal: Admin, asked: EvaluationForm) -> EvaluationSchema:
    """In the queue of the service; an unfinished evaluation with the same parameters goes on."""
    evaluation_id = await app.evaluations.enqueue(asked, by=principal)
    return await app.evaluations.get(evaluation_id, by=principal)


@router.get("/{evaluation_id}", summary="How an evaluation stands")
async def get_evaluation(app: AppDep, principal: Admin, evaluation_id: EvaluationId) -> EvaluationSchema:
    """How far it is, what it has cost, and why it stopped where it did."""
    return await app.evaluations.get(evaluation_id, by=principal)


@router.delete("/{evaluation_id}", status_code=204, summary="Delete an evaluation")
async def delete_evaluation(app: AppDep, principal: Admin, evaluation_id: EvaluationId) -> None:
    """With its pieces and choices; what its calls cost stays in the costs."""
    await app.evaluations.delete(evaluation_id, by=principal)


@router.post("/{evaluation_id}/stop", status_code=202, summary="Stop an evaluation", dependencies=[STOP_SCOPE])
async def stop_evaluation(app: AppDep, principal: Admin, evaluation_id: EvaluationId) -> EvaluationSchema:
    """What is done stays done, and it can go on."""
    await app.evaluations.stop(evaluation_id, by=principal)
    return await app.evaluations.get(evaluation_id, by=principal)


@router.post("/{evaluation_id}/resume", status_code=202, summary="Go on with an evaluation", dependencies=[RUN_SCOPE])
async def resume_evaluation(
    app: AppDep, principal: Admin, evaluation_id: EvaluationId, asked: ResumeEvaluationRequest
) -> EvaluationSchema:
    """Nothing that was done is asked again."""
    await app.evaluations.resume(evaluation_id, budget=asked.budget, by=principal)
    return await app.evaluations.get(evaluation_id, by=principal)


@router.get("/{evaluation_id}/report", summary="The report of an evaluation")
async def get_evaluation_report(app: AppDep, principal: Admin, evaluation_id: EvaluationId) -> EvaluationReport:
    """The figures, and in `rows` all that they are computed from, as far as the evaluation is."""
    return await app.evaluations.build_report(evaluation_id, by=principal)


@router.get("/{evaluation_id}/report.html", summary="The report as a page", response_class=Response)
async def export_evaluation_report(app: AppDep, principal: Admin, evaluation_id: EvaluationId) -> Response:
    """A file of its own that needs nothing else, in the language of the request."""
    page = await app.evaluations.write_html(evaluation_id, principal.language, by=principal)
    headers = {"Content-Disposition": f'attachment; filename="evaluation-{evaluation_id}.html"'}
    return Response(page, media_type="text/html; charset=utf-8", headers=headers)


@router.get("/{evaluation_id}/pairs", summary="The next two summaries to choose from")
async def get_next_pair(app: AppDep, principal: Admin, evaluation_id: EvaluationId) -> PairState:
    """Two summaries of one item; nothing says which model wrote which."""
    return await app.evaluations.get_next_pair(evaluation_id, by=principal)


@router.post("/{evaluation_id}/pairs/{pair}", status_code=204, summary="Choose between two summaries")
async def choose_summary(
    app: AppDep, principal: Admin, evaluation_id: EvaluationId, pair: PairName, asked: PairChoiceRequest
) -> None:
    """A second choice of the same person replaces the first."""
    await app.evaluations.choose(evaluation_id, pair, asked.side, by=principal)
