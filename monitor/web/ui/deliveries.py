"""The pages of deliveries: the log, what was sent, and the targets with a test."""

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
from monitor.i18n.model import describe_validation_error
from monitor.services.deliveries import DeliverySchema, TargetForm
from monitor.services.settings import InvalidSettings
from monitor.vocabulary import ItemType
from monitor.web.api.cursors import build_next_url, cut_page, decode_cursor
from monitor.web.auth import Admin, Editor, Principal, Reader
from monitor.web.ui.rendering import TemplateRenderer


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


PAGE_SIZE = 50


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter()

    @routes.get("/deliveries")
    async def deliveries(
        request: Request, principal: Reader, target: str = "", cursor: Annotated[str | None, Query()] = None
    ) -> HTMLResponse:
        before = decode_cursor(cursor, dt.datetime, str)
        found = await app.deliveries.list(target=target or None, before=before, limit=PAGE_SIZE + 1)
        rows, following = cut_page(found, PAGE_SIZE, lambda row: (row.planned_at, row.id))
        return renderer.render_page(
            request,
            principal,
            "deliveries/list.html",
            section="briefings",
            rows=rows,
            target=target,
            targets=[(name, name) for name in app.targets.list_names()],
            next_url=build_next_url("/deliveries", {"target": target}, following),
            follow_url=_build_follow_url(request) if has_delivery_in_progress(rows, app.clock.now()) else None,
        )

    @routes.get("/deliveries/{delivery_id}/briefing")
    async def sent(request: Request, principal: Reader, delivery_id: str) -> HTMLResponse:
        briefing = await app.deliveries.get_sent_briefing(delivery_id)
        return await asyncio.to_thread(
            lambda: renderer.render_page(
                request,
                principal,
                "deliveries/briefing.html",
                section="briefings",
                view=build_briefing_view(briefing),
                delivery_id=delivery_id,
            )
        )

    @routes.post("/deliveries/{delivery_id}/retry")
    async def retry(principal: Editor, delivery_id: str) -> Response:
        delivery = await app.deliveries.retry(delivery_id, wait=False, by=principal.actor)
        return renderer.redirect("/deliveries", notice=_get_notice(delivery.status))

    @routes.get("/settings/targets")
    async def targets(request: Request, principal: Admin) -> HTMLResponse:
        return renderer.render_page(
            request, principal, "deliveries/targets.html", section="settings", rows=await app.targets.list()
        )

    @routes.post("/settings/targets/{name}/test")
    async def test(principal: Admin, name: str) -> Response:
        delivery = await app.deliveries.send_test(name, by=principal.actor)
        is_sent = delivery.status is DeliveryStatus.SENT
        return renderer.redirect("/settings/targets", notice="test_sent" if is_sent else "test_failed")

    return routes


def _build_follow_url(request: Request) -> str:
    """The list itself, which a page asks for again while a delivery is being made."""
    return "/deliveries" + (f"?{request.url.query}" if request.url.query else "")


def _get_notice(status: DeliveryStatus) -> str:
    return {DeliveryStatus.SENT: "delivery_sent", DeliveryStatus.FAILED: "delivery_failed"}.get(
        status, "delivery_queued"
    )


_LIST_FIELDS = ("to", "sources", "tags", "keywords")
_CHECKBOX_FIELDS = ("types", "formats")
_NUMBER_FIELDS = ("days", "top", "deadline_minutes")
_TEXT_FIELDS = ("url", "secret", "sender", "schedule", "timezone", "language", "quiet")


def target_router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter(prefix="/settings/targets")

    async def show(
        request: Request,
        principal: Principal,
        target: TargetSettings | None,
        values: Mapping[str, Any],
        errors: Mapping[str, Message],
    ) -> Response:
        return renderer.render_page(
            request,
            principal,
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

    @routes.get("/new")
    async def new(request: Request, principal: Admin) -> Response:
        return await show(request, principal, None, {"name": "", **TargetForm().model_dump()}, {})

    @routes.post("")
    async def add(request: Request, principal: Admin) -> Response:
        values = await _parse_values(request)
        name = str(values["name"])
        try:
            await app.target_editing.add(name, _build_form(values), by=principal.actor)
        except (InvalidSettings, Conflict) as error:
            return await show(request, principal, None, values, _list_errors(error))
        return renderer.redirect("/settings/targets", notice="target_saved")

    @routes.get("/{name}/edit")
    async def edit(request: Request, principal: Admin, name: str) -> Response:
        """A target as it is, without its secrets."""
        target = app.target_editing.get(name)
        return await show(request, principal, target, target.model_dump() | {"url": "", "secret": ""}, {})

    @routes.post("/{name}/edit")
    async def store(request: Request, principal: Admin, name: str) -> Response:
        target, values = app.target_editing.get(name), await _parse_values(request)
        try:
            await app.target_editing.edit(name, _build_form(values), by=principal.actor)
        except InvalidSettings as refused:
            return await show(request, principal, target, values, _list_errors(refused))
        return renderer.redirect("/settings/targets", notice="target_saved")

    @routes.post("/{name}/remove")
    async def remove(principal: Admin, name: str) -> Response:
        """Remove a target; the page asks before."""
        await app.target_editing.remove(name, by=principal.actor)
        return renderer.redirect("/settings/targets", notice="target_removed")

    return routes


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
    try:
        return TargetForm.model_validate(
            {name: value for name, value in values.items() if name != "name" and value != ""}
        )
    except ValidationError as error:
        raise InvalidSettings(
            {str(detail["loc"][0]): describe_validation_error(detail) for detail in error.errors()}
        ) from None


def _list_errors(error: InvalidSettings | Conflict) -> dict[str, Message]:
    """Return what is wrong by field; what is about the whole stands under the empty name."""
    if isinstance(error, Conflict):
        return {"name": error.message}
    fields = {"name", *TargetForm.model_fields}
    return {field if field in fields else "": message for field, message in error.complaints.items()}
