"""Scheduled exports of the archive over HTTP: what is exported when, and how that goes."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel

from monitor.services.archive_export import NAME_PATTERN, ExportDetail, ExportForm, ExportPatch, ExportSchema
from monitor.web.auth import Admin, AppDep
from monitor.web.problems import PROBLEM_RESPONSES

ExportName = Annotated[str, Path(pattern=NAME_PATTERN)]

router = APIRouter(prefix="/api/v1/exports", tags=["exports"], responses=PROBLEM_RESPONSES)


class ExportListSchema(BaseModel):
    """All exports by name, those that fail included."""

    exports: list[ExportSchema]
    next: None = None


@router.get("", summary="List the exports")
async def list_exports(app: AppDep, principal: Admin) -> ExportListSchema:
    """What is exported on a schedule, when it is due next, and since when it fails."""
    return ExportListSchema(exports=list(await app.archive_exports.list(by=principal)))


@router.post("", summary="Add an export", status_code=201)
async def create_export(app: AppDep, principal: Admin, wanted: ExportForm, response: Response) -> ExportSchema:
    """Its first run writes the whole archive, each later one what is new or changed. 400 for a place not configured."""
    export = await app.archive_exports.add(wanted, by=principal)
    response.headers["Location"] = f"/api/v1/exports/{export.name}"
    return export


@router.get("/{name}", summary="Read an export")
async def get_export(app: AppDep, principal: Admin, name: ExportName) -> ExportDetail:
    """How many items are out, and the latest batches."""
    return await app.archive_exports.get(name, by=principal)


@router.patch("/{name}", summary="Change an export")
async def update_export(app: AppDep, principal: Admin, name: ExportName, wanted: ExportPatch) -> ExportSchema:
    """What is out stays where and as it is; 409 for another place, format or team while a batch is being written."""
    return await app.archive_exports.edit(name, wanted, by=principal)


@router.delete("/{name}", summary="Remove an export", status_code=204)
async def delete_export(app: AppDep, principal: Admin, name: ExportName) -> None:
    """The files stay where they are."""
    await app.archive_exports.remove(name, by=principal)


@router.post("/{name}/run", summary="Run an export now", status_code=202)
async def run_export(app: AppDep, principal: Admin, name: ExportName) -> ExportSchema:
    """A worker writes what is new or changed as soon as it is free."""
    return await app.archive_exports.request_run(name, by=principal)
