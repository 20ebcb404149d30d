"""Settings: a delivery target is added, changed or removed."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from monitor.app.configuring import Refused
from monitor.app.target_editing import TargetForm
from monitor.bootstrap import App
from monitor.domain.words import ItemType
from monitor.errors import Conflict
from monitor.formats.render import FORMATS
from monitor.settings.complaints import reason_of
from monitor.settings.targets import TargetSettings
from monitor.web.gate import Admin, Visitor
from monitor.web.rendering import Look

_LISTS = ("to", "sources", "tags", "keywords")
_TICKED = ("types", "formats")
_NUMBERS = ("days", "top", "deadline_minutes")
_TEXTS = ("url", "secret", "sender", "schedule", "timezone", "language", "quiet")


def router(app: App, look: Look) -> APIRouter:
    routes = APIRouter(prefix="/settings/targets")

    async def show(
        request: Request,
        visitor: Visitor,
        target: TargetSettings | None,
        values: Mapping[str, Any],
        errors: Mapping[str, str],
    ) -> Response:
        return look.page(
            request,
            visitor,
            "settings/target.html",
            section="settings",
            target=target,
            values=values,
            errors=errors,
            types=list(ItemType),
            formats=list(FORMATS),
            sources=[source.name for source in await app.store.sources.list()],
            status=HTTPStatus.BAD_REQUEST if errors else HTTPStatus.OK,
        )

    @routes.get("/new")
    async def new(request: Request, visitor: Admin) -> Response:
        return await show(request, visitor, None, {"name": "", **TargetForm().model_dump()}, {})

    @routes.post("")
    async def add(request: Request, visitor: Admin) -> Response:
        values = await _values(request)
        name = str(values["name"])
        try:
            change = await app.target_editing.add(name, _form(values), by=visitor.name)
        except (Refused, Conflict) as error:
            return await show(request, visitor, None, values, _complaints(error))
        await app.audit.record(visitor.name, "target.add", name, after=change.after)
        return look.back("/settings/targets", notice="target_saved")

    @routes.get("/{name}/edit")
    async def edit(request: Request, visitor: Admin, name: str) -> Response:
        """A target as it is, without its secrets."""
        target = app.target_editing.get(name)
        return await show(request, visitor, target, target.model_dump() | {"url": "", "secret": ""}, {})

    @routes.post("/{name}/edit")
    async def store(request: Request, visitor: Admin, name: str) -> Response:
        target, values = app.target_editing.get(name), await _values(request)
        try:
            change = await app.target_editing.edit(name, _form(values), by=visitor.name)
        except Refused as refused:
            return await show(request, visitor, target, values, _complaints(refused))
        await app.audit.record(visitor.name, "target.edit", name, before=change.before, after=change.after)
        return look.back("/settings/targets", notice="target_saved")

    @routes.post("/{name}/remove")
    async def remove(visitor: Admin, name: str) -> Response:
        """Remove a target; the page asks before."""
        change = await app.target_editing.remove(name, by=visitor.name)
        await app.audit.record(visitor.name, "target.remove", name, before=change.before)
        return look.back("/settings/targets", notice="target_removed")

    return routes


async def _values(request: Request) -> dict[str, Any]:
    """What was typed, in the shapes of the form; what is no number stays as it is, to be refused with its reason."""
    form = await request.form()
    typed = {name: str(form.get(name, "")).strip() for name in ("name", *_TEXTS, *_LISTS, *_NUMBERS)}
    values: dict[str, Any] = {name: typed[name] for name in ("name", *_TEXTS)}
    for name in _LISTS:
        parts = typed[name].replace("，", ",").replace("、", ",").replace("\r", "").replace("\n", ",").split(",")
        values[name] = [part.strip() for part in parts if part.strip()]
    for name in _TICKED:
        values[name] = [str(one) for one in form.getlist(name)]
    for name in _NUMBERS:
        values[name] = int(typed[name]) if typed[name].isdecimal() else typed[name]
    values["alarms"] = form.get("alarms") == "true"
    return values


def _form(values: Mapping[str, Any]) -> TargetForm:
    """The form; what was left empty has its default."""
    try:
        return TargetForm.model_validate(
            {name: value for name, value in values.items() if name != "name" and value != ""}
        )
    except ValidationError as error:
        raise Refused({str(one["loc"][0]): reason_of(one, has_place=False) for one in error.errors()}) from None


def _complaints(error: Exception) -> dict[str, str]:
    """The sentences by field; what is about the whole stands beside none of them."""
    if not isinstance(error, Refused):
        return {"name": str(error)}
    fields = {"name", *TargetForm.model_fields}
    return {field if field in fields else "": sentence for field, sentence in error.complaints.items()}
