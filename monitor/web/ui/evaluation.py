"""The pages of evaluations: compare models on recorded runs, read the report, choose between summaries blindly."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Path, Request, Response
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.errors import UsageError
from monitor.evaluation.document import (
    EvaluationReport,
    FiguresTable,
    build_tables,
    build_work_tables,
    list_gaps,
    name_contender,
)
from monitor.evaluation.pieces import PROMPT_SETS
from monitor.evaluation.report import format_p
from monitor.i18n.catalogue import render
from monitor.i18n.message import Message
from monitor.services.evaluation import DEFAULT_ITEMS, EvaluationForm
from monitor.web.api.evaluation import EvaluationId
from monitor.web.auth import RUN_SCOPE, STOP_SCOPE, Admin, AppDep, Principal
from monitor.web.problems import describe_invalid_fields
from monitor.web.ui.rendering import FormText, PageRenderer, Renderer

_BASE = "/settings/evaluations"
_MAX_REFUSED = 60
ReportForm = Annotated[Literal["html", "json"], Path()]

router = APIRouter(prefix=_BASE)


@router.get("")
async def evaluations(app: AppDep, renderer: Renderer, principal: Admin) -> Response:
    models = "\n".join(app.evaluations.list_models())
    return await _render_list(app, renderer, principal, {"models": models, "items": str(DEFAULT_ITEMS), "budget": ""})


@router.post("", dependencies=[RUN_SCOPE])
async def start(app: AppDep, renderer: Renderer, request: Request, principal: Admin) -> Response:
    given = await request.form()
    asked = {name: str(given.get(name) or "").strip()[:2000] for name in ("models", "items", "budget")}
    chosen = [str(name) for name in given.getlist("prompts")]
    try:
        form = _parse_form(asked, chosen)
        evaluation_id = await app.evaluations.enqueue(form, by=principal)
    except UsageError as error:
        return await _render_list(app, renderer, principal, asked, chosen=chosen, trouble=error.message)
    return renderer.redirect(f"{_BASE}/{evaluation_id}")


def _parse_form(asked: dict[str, str], prompts: list[str]) -> EvaluationForm:
    models = [name.strip() for name in asked["models"].replace(",", "\n").splitlines() if name.strip()]
    values: dict[str, Any] = {"models": models, "items": asked["items"], "budget": asked["budget"] or None}
    try:
        return EvaluationForm.model_validate(values | ({"prompts": prompts} if prompts else {}))
    except ValidationError as error:
        raise UsageError("evaluation.bad_form", reason=describe_invalid_fields(error)) from error


async def _render_list(
    app: App,
    renderer: PageRenderer,
    principal: Principal,
    asked: dict[str, str],
    *,
    chosen: list[str] | None = None,
    trouble: Message | None = None,
) -> Response:
    rows = await app.evaluations.list(by=principal)
    return renderer.render(
        "evaluation/list.html",
        section="settings",
        status=400 if trouble else 200,
        rows=rows,
        asked=asked,
        chosen=chosen or [PROMPT_SETS[0]],
        prompt_sets=PROMPT_SETS,
        trouble=trouble,
        is_on=app.settings.llm.is_on,
        is_served=await app.evaluations.has_worker(),
        is_moving=any(row.status.is_active for row in rows),
    )


@router.get("/{evaluation_id}")
async def show(app: AppDep, renderer: Renderer, principal: Admin, evaluation_id: EvaluationId) -> Response:
    return await _render_report(app, renderer, principal, evaluation_id)


async def _render_report(
    app: App, renderer: PageRenderer, principal: Principal, evaluation_id: str, trouble: Message | None = None
) -> Response:
    state = await app.evaluations.get(evaluation_id, by=principal)
    report = await app.evaluations.build_report(evaluation_id, by=principal)
    pairs = await app.evaluations.get_next_pair(evaluation_id, by=principal)
    return renderer.render(
        "evaluation/show.html",
        section="settings",
        status=400 if trouble else 200,
        state=state,
        report=report,
        pairs=pairs,
        trouble=trouble,
        max_refused=_MAX_REFUSED,
        name=lambda number: name_contender(number, report),
        format_p=format_p,
        quality_note=Message("evaluation.quality_note"),
        groups=_build_groups(report),
        gaps=list_gaps(report, lambda message: render(message, renderer.language)),
    )


def _build_groups(report: EvaluationReport) -> list[tuple[str, list[FiguresTable]]]:
    return [("quality", build_tables(report)), ("work", build_work_tables(report))]


@router.get("/{evaluation_id}/report.{form}")
async def download(
    app: AppDep, renderer: Renderer, principal: Admin, evaluation_id: EvaluationId, form: ReportForm
) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="evaluation-{evaluation_id}.{form}"'}
    if form == "json":
        report = await app.evaluations.build_report(evaluation_id, by=principal)
        return Response(report.model_dump_json(indent=2), media_type="application/json", headers=headers)
    page = await app.evaluations.write_html(evaluation_id, renderer.language, by=principal)
    return Response(page, media_type="text/html; charset=utf-8", headers=headers)


@router.post("/{evaluation_id}/stop", dependencies=[STOP_SCOPE])
async def stop(app: AppDep, renderer: Renderer, principal: Admin, evaluation_id: EvaluationId) -> Response:
    await app.evaluations.stop(evaluation_id, by=principal)
    return renderer.redirect(f"{_BASE}/{evaluation_id}")


@router.post("/{evaluation_id}/resume", dependencies=[RUN_SCOPE])
async def resume(
    app: AppDep, renderer: Renderer, principal: Admin, evaluation_id: EvaluationId, budget: FormText = ""
) -> Response:
    try:
        limit = _parse_form({"models": "", "items": str(DEFAULT_ITEMS), "budget": budget.strip()}, []).budget
        await app.evaluations.resume(evaluation_id, budget=limit, by=principal)
    except UsageError as error:
        return await _render_report(app, renderer, principal, evaluation_id, error.message)
    return renderer.redirect(f"{_BASE}/{evaluation_id}")


@router.post("/{evaluation_id}/delete")
async def delete(app: AppDep, renderer: Renderer, principal: Admin, evaluation_id: EvaluationId) -> Response:
    await app.evaluations.delete(evaluation_id, by=principal)
    return renderer.redirect(_BASE)


@router.get("/{evaluation_id}/pairs")
async def pairs(app: AppDep, renderer: Renderer, principal: Admin, evaluation_id: EvaluationId) -> Response:
    state = await app.evaluations.get_next_pair(evaluation_id, by=principal)
    return renderer.render("evaluation/pairs.html", section="settings", evaluation_id=evaluation_id, state=state)


@router.post("/{evaluation_id}/pairs")
async def choose(
    app: AppDep,
    renderer: Renderer,
    principal: Admin,
    evaluation_id: EvaluationId,
    pair: Annotated[str, Form(max_length=32)] = "",
    side: Annotated[Literal["left", "right", "neither"], Form()] = "neither",
) -> Response:
    await app.evaluations.choose(evaluation_id, pair, side, by=principal)
    return renderer.redirect(f"{_BASE}/{evaluation_id}/pairs")
