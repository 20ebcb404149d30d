"""The pages of the delivery targets: listed, added, changed, tested and removed."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from monitor.bootstrap import App
from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import DeliveryStatus
from monitor.errors import Conflict
from monitor.exports.registry import BRIEFING_FORMATS
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.channel_setup import ChannelSetup, SetupChannel, build_target_form
from monitor.services.deliveries import TargetForm
from monitor.services.schedules import DEFAULT_SCHEDULE
from monitor.services.settings import InvalidSettings
from monitor.vocabulary import ItemType
from monitor.web.auth import Admin, AppDep
from monitor.web.ui.rendering import PageRenderer, Renderer
from monitor.web.ui.schedules import parse_schedule_fields

_LIST_FIELDS = ("to", "bcc", "sources", "tags", "keywords")
_CHECKBOX_FIELDS = ("types", "formats")
_NUMBER_FIELDS = ("days", "top", "deadline_minutes")
_SETUP_FIELDS = ("address", "secret", "server", "port", "user", "password", "sender")
_TEXT_FIELDS = ("url", "secret", "sender", "timezone", "language", "topic", "team", "quiet")

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
        values[name] = _split_list(typed[name])
    for name in _CHECKBOX_FIELDS:
        values[name] = [str(value) for value in form.getlist(name)]
    for name in _NUMBER_FIELDS:
        values[name] = int(typed[name]) if typed[name].isdecimal() else typed[name]
    for name in ("alarms", "alerts", "include_gaps", "subscriptions"):
        values[name] = form.get(name) == "true"
    values["schedule"] = parse_schedule_fields(form) or ""
    return values


def _split_list(text: str) -> list[str]:
    entries = text.replace("，", ",").replace("、", ",").replace("\r", "").replace("\n", ",").split(",")
    return [part.strip() for part in entries if part.strip()]


TargetValues = Annotated[dict[str, Any], Depends(_parse_target_values)]


@router.get("/settings/targets/new")
async def choose_channel(renderer: Renderer, principal: Admin, channel: str = "") -> Response:
    """Show the channels, or the form of one of them in its own words."""
    if channel not in set(SetupChannel):
        return renderer.render("settings/channels.html", channels=list(SetupChannel))
    language: Literal["zh", "en"] = "zh" if principal.language == "zh" else "en"
    setup = ChannelSetup(channel=SetupChannel(channel), schedule=DEFAULT_SCHEDULE, language=language)
    return renderer.render("settings/channel.html", setup=setup, name="", errors={}, outcome=None)


@router.post("/settings/targets/new")
async def set_up_channel(app: AppDep, renderer: Renderer, request: Request, principal: Admin) -> Response:
    """Store the target, or with `test` only try it and show the form again with what came of it."""
    form = await request.form()
    name, setup = str(form.get("name", "")).strip(), _parse_setup(form)
    errors: dict[str, Message] = {}
    outcome = None
    try:
        values = build_target_form(setup)
        target = app.target_editing.build(name, values)
        if "test" in form:
            outcome = await app.deliveries.try_target(target, by=principal) or Message("channel.test_sent")
        else:
            await app.target_editing.add(name, values, by=principal)
            return renderer.redirect("/settings/targets", notice="target_saved")
    except (ValidationError, InvalidSettings, Conflict) as error:
        errors = _list_errors(error, {"name", *ChannelSetup.model_fields})
    return renderer.render(
        "settings/channel.html", setup=setup, name=name, errors=errors, outcome=outcome, status=400 if errors else 200
    )


def _parse_setup(form: FormData) -> ChannelSetup:
    """Return what was typed; a channel that there is not is mail, which asks for the most."""
    typed = {field: str(form.get(field, "")).strip() for field in _SETUP_FIELDS}
    channel = str(form.get("channel", ""))
    return ChannelSetup.model_construct(
        None,
        **{field: text[:2000] for field, text in typed.items()},
        channel=SetupChannel(channel) if channel in set(SetupChannel) else SetupChannel.MAIL,
        security="starttls" if form.get("security") == "starttls" else "tls",
        to=_split_list(str(form.get("to", "")))[:200],
        schedule=parse_schedule_fields(form) or None,
        language="zh" if form.get("language") == "zh" else "en",
        alarms=form.get("alarms") == "true",
    )


@router.get("/settings/targets/full")
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
    return _list_errors(error, {"name", *TargetForm.model_fields})


def _list_errors(error: ValidationError | InvalidSettings | Conflict, fields: Collection[str]) -> dict[str, Message]:
    """Return what is wrong by field; what is about the whole stands under the empty name."""
    if isinstance(error, Conflict):
        return {"name": error.message}
    complaints = (
        error.complaints
        if isinstance(error, InvalidSettings)
        else {str(detail["loc"][0]): describe_validation_error(detail) for detail in error.errors()}
    )
    return {field if field in fields else "": message for field, message in complaints.items()}
