"""The pages of the delivery targets: listed, added, changed, tested and removed."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import DeliveryStatus
from monitor.errors import Conflict
from monitor.exports.registry import BRIEFING_FORMATS
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.deliveries import TargetForm
from monitor.services.settings import InvalidSettings
from monitor.vocabulary import ItemType
from monitor.web.auth import Admin, AppDep
from monitor.web.ui.rendering import PageRenderer, Renderer
from monitor.web.ui.schedules import parse_schedule_fields

_LIST_FIELDS = ("to", "bcc", "sources", "tags", "keywords")
_CHECKBOX_FIELDS = ("types", "formats")
_NUMBER_FIELDS = ("days", "top", "deadline_minutes")
_TEXT_FIELDS = ("url", "secret", "sender", "timezone", "language", "topic", "quiet")

router = APIRouter()


@router.get("/settings/targets")
async def targets(app: AppDep, renderer: Renderer, _: Admin) -> Response:
    return renderer.render("deliveries/targets.html", section="settings", rows=await app.targets.list())


@router.post("/settings/targets/{name}/test")
async def test_target(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    delivery = await app.deliveries.send_test(name, by=principal)
    is_sent = delivery.status is DeliveryStatus.SENT
    return renderer.redirect("/settings/targets", notice="test_sent" if is_sent else "test_failed")


async def _parse_target_values(request: Request) -> dict[str, Any]:
    """Return what was typed; what is not a number where one belongs stays as it is, to be refused with its reason."""
    form = await request.form()
    typed = {name: str(form.get(name, "")).strip() for name in ("name", *_TEXT_FIELDS, *_LIST_FIELDS, *_NUMBER_FIELDS)}
    values: dict[str, Any] = {name: typed[name] for name in ("name", *_TEXT_FIELDS)}
    for name in _LIST_FIELDS:
        entries = typed[name].replace("，", ",").replace("、", ",").replace("\r", "").replace("\n", ",").split(",")
        values[name] = [part.strip() for part in entries if part.strip()]
    for name in _CHECKBOX_FIELDS:
        values[name] = [str(value) for value in form.getlist(name)]
    for name in _NUMBER_FIELDS:
        values[name] = int(typed[name]) if typed[name].isdecimal() else typed[name]
    for name in ("alarms", "alerts", "include_gaps"):
        values[name] = form.get(name) == "true"
    values["schedule"] = parse_schedule_fields(form) or ""
    return values


TargetValues = Annotated[dict[str, Any], Depends(_parse_target_values)]


@router.get("/settings/targets/new")
async def new_target(app: AppDep, renderer: Renderer, _: Admin) -> Response:
    return await _render_target(app, renderer, None, {"name": "", **TargetForm().model_dump()}, {})


@router.post("/settings/targets")
async def add_target(app: AppDep, renderer: Renderer, principal: Admin, values: TargetValues) -> Response:
    try:
        await app.target_editing.add(str(values["name"]), _build_target_form(values), by=principal)
    except (ValidationError, InvalidSettings, Conflict) as error:
        return await _render_target(app, renderer, None, values, _list_target_errors(error))
    return renderer.redirect("/settings/targets", notice="target_saved")


@router.get("/settings/targets/{name}/edit")
async def edit_target(app: AppDep, renderer: Renderer, _: Admin, name: str) -> Response:
    target = app.target_editing.get(name)
    return await _render_target(app, renderer, target, target.model_dump() | {"url": "", "secret": ""}, {})


@router.post("/settings/targets/{name}/edit")
async def save_target(app: AppDep, renderer: Renderer, principal: Admin, name: str, values: TargetValues) -> Response:
    target = app.target_editing.get(name)
    try:
        await app.target_editing.edit(name, _build_target_form(values), by=principal)
    except (ValidationError, InvalidSettings) as refused:
        return await _render_target(app, renderer, target, values, _list_target_errors(refused))
    return renderer.redirect("/settings/targets", notice="target_saved")


@router.post("/settings/targets/{name}/remove")
async def remove_target(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    await app.target_editing.remove(name, by=principal)
    return renderer.redirect("/settings/targets", notice="target_removed")


async def _render_target(
    app: App, renderer: PageRenderer, target: TargetSettings | None, values: dict[str, Any], errors: dict[str, Message]
) -> Response:
    return renderer.render(
        "settings/target.html",
        target=target,
        values=values,
        errors=errors,
        types=list(ItemType),
        formats=list(BRIEFING_FORMATS),
        sources=[source.name for source in await app.store.sources.list_heads()],
        status=400 if errors else 200,
    )


def _build_target_form(values: Mapping[str, Any]) -> TargetForm:
    """Build the form; a field that was left empty has its default."""
    return TargetForm.model_validate({name: value for name, value in values.items() if name != "name" and value != ""})


def _list_target_errors(error: ValidationError | InvalidSettings | Conflict) -> dict[str, Message]:
    """Return what is wrong by field; what is about the whole stands under the empty name."""
    if isinstance(error, Conflict):
        return {"name": error.message}
    complaints = (
        error.complaints
        if isinstance(error, InvalidSettings)
        else {str(detail["loc"][0]): describe_validation_error(detail) for detail in error.errors()}
    )
    fields = {"name", *TargetForm.model_fields}
    return {field if field in fields else "": message for field, message in complaints.items()}
