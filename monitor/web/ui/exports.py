"""The pages of scheduled exports: what is exported when, and how that goes."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.db.tables.exports import ExportFormat
from monitor.errors import Conflict, UsageError
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.archive_export import ExportForm, ExportPatch
from monitor.web.api.exports import ExportName
from monitor.web.auth import Admin, AppDep, Principal
from monitor.web.ui.rendering import PageRenderer, Renderer

_CHANGEABLE = ("format", "schedule", "bucket", "team")
_FIELDS = ("name", *_CHANGEABLE)

router = APIRouter()


@router.get("/settings/exports")
async def exports(app: AppDep, renderer: Renderer, principal: Admin) -> Response:
    return renderer.render(
        "exports/list.html",
        rows=await app.archive_exports.list(by=principal),
        has_place=app.settings.export.folder is not None or bool(app.settings.export.buckets),
    )


@router.get("/settings/new-export")
async def new_export(app: AppDep, renderer: Renderer, _: Admin) -> Response:
    return _render_form(app, renderer, {"format": ExportFormat.JSON_LINES, "schedule": "0 5 * * *"})


@router.post("/settings/exports")
async def add_export(app: AppDep, renderer: Renderer, principal: Admin, request: Request) -> Response:
    form = await request.form()
    values = {name: str(form[name]) for name in _FIELDS if name in form}
    try:
        export = await app.archive_exports.add(ExportForm.model_validate(values), by=principal)
    except ValidationError as error:
        return _render_form(app, renderer, values, error=describe_validation_error(error.errors()[0]))
    except (UsageError, Conflict) as error:
        return _render_form(app, renderer, values, error=error.message)
    return renderer.redirect(f"/settings/exports/{export.name}", notice="export_saved")


@router.get("/settings/exports/{name}")
async def show_export(app: AppDep, renderer: Renderer, principal: Admin, name: ExportName) -> Response:
    return await _render_export(app, renderer, principal, name)


@router.post("/settings/exports/{name}/edit")
async def edit_export(
    app: AppDep, renderer: Renderer, principal: Admin, name: ExportName, request: Request
) -> Response:
    form = await request.form()
    values = {field: str(form[field]) for field in _CHANGEABLE if field in form}
    try:
        await app.archive_exports.edit(name, ExportPatch.model_validate(values), by=principal)
    except ValidationError as error:
        trouble = describe_validation_error(error.errors()[0])
        return await _render_export(app, renderer, principal, name, values=values, error=trouble)
    except (UsageError, Conflict) as error:
        return await _render_export(app, renderer, principal, name, values=values, error=error.message)
    return renderer.redirect(f"/settings/exports/{name}", notice="export_saved")


@router.post("/settings/exports/{name}/run")
async def run_export(app: AppDep, renderer: Renderer, principal: Admin, name: ExportName) -> Response:
    await app.archive_exports.request_run(name, by=principal)
    return renderer.redirect(f"/settings/exports/{name}", notice="export_asked")


@router.post("/settings/exports/{name}/remove")
async def remove_export(app: AppDep, renderer: Renderer, principal: Admin, name: ExportName) -> Response:
    await app.archive_exports.remove(name, by=principal)
    return renderer.redirect("/settings/exports", notice="export_removed")


def _render_form(app: App, renderer: PageRenderer, values: dict[str, Any], *, error: Message | None = None) -> Response:
    return renderer.render(
        "exports/form.html",
        values=dict.fromkeys(_FIELDS, "") | values,
        **_build_choices(app),
        error=error,
        status=400 if error else 200,
    )


def _build_choices(app: App) -> dict[str, Any]:
    """Return the places and formats that a form offers."""
    buckets = [bucket.name for bucket in app.settings.export.buckets]
    return {"folder": app.settings.export.folder, "buckets": buckets, "formats": list(ExportFormat)}


async def _render_export(
    app: App,
    renderer: PageRenderer,
    principal: Principal,
    name: str,
    *,
    values: Mapping[str, str] | None = None,
    error: Message | None = None,
) -> Response:
    export = await app.archive_exports.get(name, by=principal)
    team = await app.teams.get_name(export.team_id)
    stored = {"format": export.format, "schedule": export.schedule, "bucket": export.bucket, "team": team}
    return renderer.render(
        "exports/show.html",
        export=export,
        team=team,
        values={field: str(value or "") for field, value in stored.items()} | dict(values or {}),
        **_build_choices(app),
        error=error,
        status=400 if error else 200,
    )
