"""The pages of deliveries: the log, what was sent, and the targets with their forms and a test."""

import asyncio
import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import ValidationError

from monitor.bootstrap import App
from monitor.briefing.compose import Briefing, BriefingItem
from monitor.briefing.layout import build_document, group_items_by_heading
from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import DeliveryStatus
from monitor.errors import Conflict
from monitor.exports.document import Document, find_numeric_columns
from monitor.exports.registry import BRIEFING_FORMATS
from monitor.i18n.message import Message
from monitor.i18n.validation import describe_validation_error
from monitor.services.deliveries import DeliverySchema, TargetForm
from monitor.services.settings import InvalidSettings
from monitor.vocabulary import ItemType
from monitor.web.api.cursors import build_next_url, cut_page, decode_cursor
from monitor.web.auth import Admin, AppDep, Editor, Reader
from monitor.web.ui.rendering import PageRenderer, Renderer

PAGE_SIZE = 50
_LIST_FIELDS = ("to", "sources", "tags", "keywords")
_CHECKBOX_FIELDS = ("types", "formats")
_NUMBER_FIELDS = ("days", "top", "deadline_minutes")
_TEXT_FIELDS = ("url", "secret", "sender", "schedule", "timezone", "language", "quiet")

router = APIRouter()


def has_delivery_in_progress(deliveries: Sequence[DeliverySchema], now: dt.datetime) -> bool:
    """Whether one of them is being made at this moment, so that it is worth to look again."""
    return any(
        delivery.status is DeliveryStatus.QUEUED and delivery.next_try_at is not None and delivery.next_try_at <= now
        for delivery in deliveries
    )


@dataclass(frozen=True)
class BriefingView:
    """The document, and the items of it by the numbers under which they stand there."""

    briefing: Briefing
    document: Document
    items: dict[int, BriefingItem]

    numeric_columns = staticmethod(find_numeric_columns)


def build_briefing_view(briefing: Briefing) -> BriefingView:
    in_order = [item for part in group_items_by_heading(briefing).values() for item in part]
    return BriefingView(briefing, build_document(briefing), dict(enumerate(in_order, start=1)))


@router.get("/deliveries")
async def deliveries(
    app: AppDep,
    renderer: Renderer,
    request: Request,
    _: Reader,
    target: str = "",
    cursor: Annotated[str | None, Query()] = None,
) -> HTMLResponse:
    before = decode_cursor(cursor, dt.datetime, str)
    found = await app.deliveries.list(target=target or None, before=before, limit=PAGE_SIZE + 1)
    rows, following = cut_page(found, PAGE_SIZE, lambda row: (row.planned_at, row.id))
    query = f"?{request.url.query}" if request.url.query else ""
    return renderer.render(
        "deliveries/list.html",
        section="briefings",
        rows=rows,
        target=target,
        targets=[(name, name) for name in app.targets.list_names()],
        next_url=build_next_url("/deliveries", {"target": target}, following),
        # The page asks for itself again while a delivery is being made.
        follow_url=f"/deliveries{query}" if has_delivery_in_progress(rows, app.clock.now()) else None,
    )


@router.get("/deliveries/{delivery_id}/briefing")
async def sent(app: AppDep, renderer: Renderer, _: Reader, delivery_id: str) -> HTMLResponse:
    briefing = await app.deliveries.get_sent_briefing(delivery_id)
    return await asyncio.to_thread(
        lambda: renderer.render(
            "deliveries/briefing.html", section="briefings", view=build_briefing_view(briefing), delivery_id=delivery_id
        )
    )


@router.post("/deliveries/{delivery_id}/retry")
async def retry(app: AppDep, renderer: Renderer, principal: Editor, delivery_id: str) -> Response:
    delivery = await app.deliveries.retry(delivery_id, wait=False, by=principal.actor)
    return renderer.redirect("/deliveries", notice=get_delivery_notice(delivery.status))


@router.get("/settings/targets")
async def targets(app: AppDep, renderer: Renderer, _: Admin) -> HTMLResponse:
    return renderer.render("deliveries/targets.html", section="settings", rows=await app.targets.list())


@router.post("/settings/targets/{name}/test")
async def test(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    delivery = await app.deliveries.send_test(name, by=principal.actor)
    is_sent = delivery.status is DeliveryStatus.SENT
    return renderer.redirect("/settings/targets", notice="test_sent" if is_sent else "test_failed")


def get_delivery_notice(status: DeliveryStatus) -> str:
    notices = {DeliveryStatus.SENT: "delivery_sent", DeliveryStatus.FAILED: "delivery_failed"}
    return notices.get(status, "delivery_queued")


@router.get("/settings/targets/new")
async def new(app: AppDep, renderer: Renderer, _: Admin) -> Response:
    return await _render_target(app, renderer, None, {"name": "", **TargetForm().model_dump()}, {})


@router.post("/settings/targets")
async def add(app: AppDep, renderer: Renderer, request: Request, principal: Admin) -> Response:
    values = await _parse_values(request)
    name = str(values["name"])
    try:
        await app.target_editing.add(name, _build_form(values), by=principal.actor)
    except (InvalidSettings, Conflict) as error:
        return await _render_target(app, renderer, None, values, _list_errors(error))
    return renderer.redirect("/settings/targets", notice="target_saved")


@router.get("/settings/targets/{name}/edit")
async def edit(app: AppDep, renderer: Renderer, _: Admin, name: str) -> Response:
    target = app.target_editing.get(name)
    without_secrets = target.model_dump() | {"url": "", "secret": ""}
    return await _render_target(app, renderer, target, without_secrets, {})


@router.post("/settings/targets/{name}/edit")
async def store(app: AppDep, renderer: Renderer, request: Request, principal: Admin, name: str) -> Response:
    target, values = app.target_editing.get(name), await _parse_values(request)
    try:
        await app.target_editing.edit(name, _build_form(values), by=principal.actor)
    except InvalidSettings as refused:
        return await _render_target(app, renderer, target, values, _list_errors(refused))
    return renderer.redirect("/settings/targets", notice="target_saved")


@router.post("/settings/targets/{name}/remove")
async def remove(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    await app.target_editing.remove(name, by=principal.actor)
    return renderer.redirect("/settings/targets", notice="target_removed")


async def _render_target(
    app: App,
    renderer: PageRenderer,
    target: TargetSettings | None,
    values: Mapping[str, Any],
    errors: Mapping[str, Message],
) -> Response:
    return renderer.render(
        "settings/target.html",
        section="settings",
        target=target,
        values=values,
        errors=errors,
        types=list(ItemType),
        formats=list(BRIEFING_FORMATS),
        sources=[source.name for source in await app.store.sources.list()],
        status=HTTPStatus.BAD_REQUEST if errors else HTTPStatus.OK,
    )


async def _parse_values(request: Request) -> dict[str, Any]:
    """What was typed, in the shapes of the form; what is no number stays as it is, to be refused with its reason."""
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
    values["alarms"] = form.get("alarms") == "true"
    return values


def _build_form(values: Mapping[str, Any]) -> TargetForm:
    """The form; what was left empty has its default."""
    given = {name: value for name, value in values.items() if name != "name" and value != ""}
    try:
        return TargetForm.model_validate(given)
    except ValidationError as error:
        complaints = {str(detail["loc"][0]): describe_validation_error(detail) for detail in error.errors()}
        raise InvalidSettings(complaints) from None


def _list_errors(error: InvalidSettings | Conflict) -> dict[str, Message]:
    """Return what is wrong by field; what is about the whole stands under the empty name."""
    if isinstance(error, Conflict):
        return {"name": error.message}
    fields = {"name", *TargetForm.model_fields}
    return {field if field in fields else "": message for field, message in error.complaints.items()}
