"""The pages of briefings and deliveries: composing, editing, exporting and sending, the log, and the targets."""

import asyncio
import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, Query, Request, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from monitor.bootstrap import App
from monitor.briefing.compose import Briefing, BriefingItem
from monitor.briefing.editing import BriefingEdit, BriefingEditPatch, ItemMove, apply_edit, move_item, update_edit
from monitor.briefing.layout import build_document, group_items_by_heading
from monitor.config.targets import TargetSettings
from monitor.db.tables.delivery import DeliveryStatus
from monitor.errors import Conflict, UsageError
from monitor.exports.document import Document, find_numeric_columns
from monitor.exports.registry import BRIEFING_FORMATS
from monitor.i18n.catalogue import get_words, has_message
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.briefings import BriefingDraft
from monitor.services.deliveries import DeliverySchema, TargetForm
from monitor.services.settings import InvalidSettings
from monitor.vocabulary import ItemType
from monitor.web.api.briefings import (
    BriefingId,
    ComposeRequest,
    build_query_parameters,
    export_briefing,
    parse_compose_form,
)
from monitor.web.api.cursors import build_next_url, cut_page, decode_cursor, decode_id
from monitor.web.auth import Admin, AppDep, Editor, Principal, Reader
from monitor.web.problems import describe_invalid_fields
from monitor.web.ui.rendering import PageRenderer, Renderer

PAGE_SIZE = 50
_ORDER_PATTERN = re.compile(r"(top|more|out):([\d,]*)")
_MOVE_PATTERN = re.compile(r"(up|down|top|more|out)-(\d{1,10})")
_MAX_LISTED_ITEMS = 200
"""So many further items, and so many of those left out, have their buttons on the page."""

_LIST_FIELDS = ("to", "sources", "tags", "keywords")
_CHECKBOX_FIELDS = ("types", "formats")
_NUMBER_FIELDS = ("days", "top", "deadline_minutes")
_TEXT_FIELDS = ("url", "secret", "sender", "schedule", "timezone", "language", "quiet")

router = APIRouter()


def has_delivery_in_progress(deliveries: Sequence[DeliverySchema], now: dt.datetime) -> bool:
    return any(
        delivery.status is DeliveryStatus.QUEUED and delivery.next_try_at is not None and delivery.next_try_at <= now
        for delivery in deliveries
    )


@dataclass(frozen=True)
class BriefingView:
    """A briefing as a document, and its items by their numbers there."""

    briefing: Briefing
    document: Document
    items: dict[int, BriefingItem]

    numeric_columns = staticmethod(find_numeric_columns)


def build_briefing_view(briefing: Briefing) -> BriefingView:
    in_order = [item for part in group_items_by_heading(briefing).values() for item in part]
    return BriefingView(briefing, build_document(briefing), dict(enumerate(in_order, start=1)))


@router.get("/briefings")
async def briefings(app: AppDep, renderer: Renderer, _: Reader, state: str = "", cursor: str | None = None) -> Response:
    is_archived = state == "archived"
    found = await app.drafts.list(is_archived=is_archived, before_id=decode_id(cursor), limit=PAGE_SIZE + 1)
    rows, following = cut_page(found, PAGE_SIZE, lambda row: row.id)
    return renderer.render(
        "briefings/list.html",
        rows=rows,
        is_archived=is_archived,
        next_url=build_next_url("/briefings", {"state": state}, following),
    )


@router.get("/briefings/new")
async def new(app: AppDep, renderer: Renderer, request: Request, _: Reader) -> Response:
    return await _render_form(app, renderer, parse_compose_form(request.query_params, renderer.language))


@router.get("/briefings/now")
async def now(app: AppDep, renderer: Renderer, request: Request, _: Reader) -> Response:
    """Show what the form or a link asks for; it is not kept."""
    fields = parse_compose_form(request.query_params, renderer.language)
    try:
        wanted = ComposeRequest.model_validate(fields)
        preview = await app.drafts.compose_preview(wanted.to_query())
    except (ValidationError, UsageError) as error:
        return await _render_form(app, renderer, fields, error)
    parameters = build_query_parameters(wanted)
    return await asyncio.to_thread(
        lambda: renderer.render(
            "briefings/now.html",
            key=preview.key,
            parameters=parameters,
            change_url=f"/briefings/new?{urlencode(parameters)}",
            view=build_briefing_view(preview.briefing),
        )
    )


@router.post("/briefings/new")
async def save(
    app: AppDep, renderer: Renderer, request: Request, principal: Editor, key: Annotated[str, Form()]
) -> Response:
    fields = parse_compose_form(await request.form(), renderer.language)
    try:
        wanted = ComposeRequest.model_validate(fields)
        draft = await app.drafts.save(wanted.to_query(), by=principal, key=key)
    except (ValidationError, UsageError) as error:
        return await _render_form(app, renderer, fields, error)
    return renderer.redirect(f"/briefings/{draft.row.id}", notice="briefing_saved")


async def _render_form(
    app: App, renderer: PageRenderer, fields: dict[str, Any], error: ValidationError | UsageError | None = None
) -> Response:
    sources = await app.store.sources.list()
    return renderer.render(
        "briefings/new.html",
        status=400 if error else 200,
        fields=fields,
        errors=_list_errors(error) if isinstance(error, ValidationError) else {},
        trouble=error.message if isinstance(error, UsageError) else None,
        sources=_build_options(sorted(source.name for source in sources)),
        tags=_build_options(sorted({tag for source in sources for tag in source.tags})),
        types=list(get_words(renderer.language, "type").items()),
    )


@router.get("/briefings/{briefing_id}")
async def read(app: AppDep, renderer: Renderer, _: Reader, briefing_id: BriefingId) -> Response:
    draft = await app.drafts.get(briefing_id)
    sent = await _load_deliveries(app, briefing_id)
    return await asyncio.to_thread(
        lambda: renderer.render(
            "briefings/one.html",
            row=draft.row,
            view=build_briefing_view(draft.briefing),
            formats=BRIEFING_FORMATS,
            targets=_build_options(app.targets.list_names()),
            **sent,
        )
    )


@router.get("/briefings/{briefing_id}/export")
async def export(
    app: AppDep, principal: Reader, briefing_id: BriefingId, format_name: Annotated[str, Query(alias="format")]
) -> Response:
    return await export_briefing(app, briefing_id, format_name, by=principal)


@router.get("/briefings/{briefing_id}/deliveries")
async def sent(app: AppDep, renderer: Renderer, _: Reader, briefing_id: BriefingId) -> Response:
    """Render the part of the page that says what was sent; the page asks for it while a delivery is being made."""
    draft = await app.drafts.get(briefing_id)
    return renderer.render("deliveries/of_briefing.html", row=draft.row, **await _load_deliveries(app, briefing_id))


@router.post("/briefings/{briefing_id}/archive")
async def archive(app: AppDep, renderer: Renderer, principal: Editor, briefing_id: BriefingId) -> Response:
    await app.drafts.set_archived(briefing_id, by=principal)
    return renderer.redirect("/briefings", notice="briefing_archived")


@router.post("/briefings/{briefing_id}/unarchive")
async def unarchive(app: AppDep, renderer: Renderer, principal: Editor, briefing_id: BriefingId) -> Response:
    await app.drafts.set_archived(briefing_id, by=principal, is_archived=False)
    return renderer.redirect(f"/briefings/{briefing_id}", notice="briefing_unarchived")


async def _load_deliveries(app: App, briefing_id: int) -> dict[str, Any]:
    deliveries = await app.deliveries.list(saved_id=briefing_id, limit=20)
    return {"deliveries": deliveries, "is_under_way": has_delivery_in_progress(deliveries, app.clock.now())}


def _build_options(names: list[str]) -> list[tuple[str, str]]:
    return [(name, name) for name in names]


def _list_errors(error: ValidationError) -> dict[str, Message]:
    """Return what is wrong by field: what to write there, where the form knows it."""
    errors = {}
    for detail in error.errors():
        field = str(detail["loc"][0]) if detail["loc"] else ""
        code = f"briefing_form.{field}"
        errors[field] = Message(code) if has_message("en", code) else describe_validation_error(detail)
    return errors


@router.get("/briefings/{briefing_id}/edit")
async def edit(app: AppDep, renderer: Renderer, principal: Editor, briefing_id: BriefingId) -> Response:
    draft = await app.drafts.get(briefing_id)
    return await asyncio.to_thread(_render_editor, renderer, principal, draft, draft.edit)


@router.post("/briefings/{briefing_id}/edit")
async def put_in_order(
    app: AppDep, renderer: Renderer, request: Request, principal: Editor, briefing_id: BriefingId
) -> Response:
    """Save the form, or show it again with one item moved: what was typed stays."""
    draft, given = await app.drafts.get(briefing_id), await request.form()
    version = str(given.get("version", ""))
    base_version = int(version) if re.fullmatch(r"\d{1,9}", version) else 0
    try:
        changes = _parse_changes(given)
        wanted = update_edit(draft.composed, draft.edit, changes, by=principal.name)
    except ValidationError as error:
        return await asyncio.to_thread(
            _render_editor, renderer, principal, draft, draft.edit, trouble=describe_invalid_fields(error), status=400
        )
    except UsageError as error:
        return await asyncio.to_thread(
            _render_editor, renderer, principal, draft, draft.edit, trouble=error.message, status=400
        )
    pressed = str(given.get("do", ""))
    if move := _MOVE_PATTERN.fullmatch(pressed):
        wanted = move_item(draft.composed, wanted, int(move[2]), cast("ItemMove", move[1]))
    if move or pressed == "group":
        return await asyncio.to_thread(
            _render_editor, renderer, principal, draft, wanted, base_version=base_version, pressed=pressed
        )
    try:
        await app.drafts.update(briefing_id, changes, version=base_version, by=principal)
    except Conflict as error:
        theirs = await app.drafts.get(briefing_id)
        return await asyncio.to_thread(
            _render_editor, renderer, principal, theirs, wanted, trouble=error.message, status=409, is_overtaken=True
        )
    return renderer.redirect(f"/briefings/{briefing_id}", notice="briefing_edited")


@router.post("/briefings/{briefing_id}/send")
async def send(
    app: AppDep, renderer: Renderer, principal: Editor, briefing_id: BriefingId, target: Annotated[str, Form()]
) -> Response:
    draft = await app.drafts.get(briefing_id)
    delivery = await app.deliveries.send_saved(target, draft, by=principal)
    return renderer.redirect(f"/briefings/{briefing_id}", notice=get_delivery_notice(delivery.status))


def _render_editor(
    renderer: PageRenderer,
    principal: Principal,
    draft: BriefingDraft,
    edit: BriefingEdit,
    *,
    status: int = 200,
    base_version: int | None = None,
    pressed: str = "",
    trouble: Message | None = None,
    is_overtaken: bool = False,
) -> Response:
    """Render the form, filled with an edit that may not be saved yet."""
    return renderer.render(
        "briefings/edit.html",
        status=status,
        row=draft.row,
        edit=edit,
        theirs=draft.briefing,
        groups=group_items_by_heading(apply_edit(draft.composed, edit, by=principal.name)),
        items={item.id: item for item in draft.composed.items},
        is_changed=edit != draft.edit,
        overview=draft.composed.overview,
        by_standing={
            place: [item for item in edit.items if item.standing == place] for place in ("top", "more", "out")
        },
        most=_MAX_LISTED_ITEMS,
        base_version=draft.row.version if base_version is None else base_version,
        pressed=pressed,
        trouble=trouble,
        is_overtaken=is_overtaken,
    )


def _parse_changes(given: FormData) -> BriefingEditPatch:
    """Parse the form; the order is in one field, as `top:3,1;more:2;out:`."""
    items = [
        {"id": int(part), "standing": place, "note": _parse_text(given, f"note-{part}")}
        for place, ids in _ORDER_PATTERN.findall(str(given.get("order", "")))
        for part in ids.split(",")
        if part
    ]
    return BriefingEditPatch.model_validate(
        {
            "title": _parse_text(given, "title") or None,
            "note": _parse_text(given, "note"),
            "group": given.get("group", "theme"),
            "has_overview": "has_overview" in given,
            "items": items,
        }
    )


def _parse_text(given: FormData, name: str) -> str | None:
    """Return what was typed; browsers count a line's end as one character and send two."""
    typed = given.get(name)
    return None if typed is None else str(typed).replace("\r\n", "\n").strip()


@router.get("/deliveries")
async def deliveries(
    app: AppDep, renderer: Renderer, request: Request, _: Reader, target: str = "", cursor: str | None = None
) -> Response:
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
async def show_sent_briefing(app: AppDep, renderer: Renderer, _: Reader, delivery_id: str) -> Response:
    briefing = await app.deliveries.get_sent_briefing(delivery_id)
    return await asyncio.to_thread(
        lambda: renderer.render(
            "deliveries/briefing.html", section="briefings", view=build_briefing_view(briefing), delivery_id=delivery_id
        )
    )


@router.post("/deliveries/{delivery_id}/retry")
async def retry(app: AppDep, renderer: Renderer, principal: Editor, delivery_id: str) -> Response:
    delivery = await app.deliveries.retry(delivery_id, wait=False, by=principal)
    return renderer.redirect("/deliveries", notice=get_delivery_notice(delivery.status))


@router.get("/settings/targets")
async def targets(app: AppDep, renderer: Renderer, _: Admin) -> Response:
    return renderer.render("deliveries/targets.html", section="settings", rows=await app.targets.list())


@router.post("/settings/targets/{name}/test")
async def test_target(app: AppDep, renderer: Renderer, principal: Admin, name: str) -> Response:
    delivery = await app.deliveries.send_test(name, by=principal)
    is_sent = delivery.status is DeliveryStatus.SENT
    return renderer.redirect("/settings/targets", notice="test_sent" if is_sent else "test_failed")


def get_delivery_notice(status: DeliveryStatus) -> str:
    notices = {DeliveryStatus.SENT: "delivery_sent", DeliveryStatus.FAILED: "delivery_failed"}
    return notices.get(status, "delivery_queued")


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
    values |= {name: form.get(name) == "true" for name in ("alarms", "alerts")}
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
        sources=[source.name for source in await app.store.sources.list()],
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
