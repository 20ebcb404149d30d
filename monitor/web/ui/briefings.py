"""The pages of briefings: the list, composing with a preview, reading, exporting, putting away."""

import asyncio
import re
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Path, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import ValidationError
from starlette.datastructures import FormData

from monitor.bootstrap import App
from monitor.briefing.editing import BriefingEdit, BriefingEditPatch, apply_edit, move_item, update_edit
from monitor.briefing.layout import group_items_by_heading
from monitor.db.tables.delivery import DeliveryStatus
from monitor.errors import Conflict, UsageError
from monitor.exports.registry import BRIEFING_FORMATS
from monitor.i18n.catalogue import get_words, has_message
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.services.drafts import BriefingDraft
from monitor.web.api.briefings import ComposeRequest, build_query_parameters, export_briefing, parse_compose_form
from monitor.web.api.cursors import build_next_url, cut_page, decode_id
from monitor.web.auth import Editor, Principal, Reader
from monitor.web.problems import describe_invalid_fields
from monitor.web.ui.deliveries import build_briefing_view, has_delivery_in_progress
from monitor.web.ui.rendering import TemplateRenderer

if TYPE_CHECKING:
    from monitor.briefing.editing import ItemMove

PAGE_SIZE = 50
BriefingId = Annotated[int, Path(ge=1, le=2**31 - 1)]


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    """`/briefings` and what lies under it, but for editing and sending (`briefing_edit.py`)."""
    routes = APIRouter()
    _add_list(routes, app, renderer)
    _add_compose_routes(routes, app, renderer)
    _add_one(routes, app, renderer)
    return routes


def _add_list(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("/briefings")
    async def briefings(
        request: Request, principal: Reader, state: str = "", cursor: Annotated[str | None, Query()] = None
    ) -> HTMLResponse:
        is_archived = state == "archived"
        found = await app.drafts.list(is_archived=is_archived, before_id=decode_id(cursor), limit=PAGE_SIZE + 1)
        rows, following = cut_page(found, PAGE_SIZE, lambda row: row.id)
        return renderer.render_page(
            request,
            principal,
            "briefings/list.html",
            section="briefings",
            rows=rows,
            is_archived=is_archived,
            next_url=build_next_url("/briefings", {"state": state}, following),
        )


def _add_compose_routes(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    async def form(
        request: Request,
        principal: Principal,
        fields: dict[str, Any],
        *,
        errors: dict[str, Message],
        trouble: Message | None = None,
    ) -> HTMLResponse:
        sources = await app.store.sources.list()
        return renderer.render_page(
            request,
            principal,
            "briefings/new.html",
            section="briefings",
            status=400 if errors or trouble else 200,
            fields=fields,
            errors=errors,
            trouble=trouble,
            sources=_build_options(sorted(source.name for source in sources)),
            tags=_build_options(sorted({tag for source in sources for tag in source.tags})),
            types=list(get_words(principal.language, "type").items()),
        )

    @routes.get("/briefings/new")
    async def new(request: Request, principal: Reader) -> HTMLResponse:
        return await form(request, principal, parse_compose_form(request.query_params, principal.language), errors={})

    @routes.get("/briefings/now")
    async def now(request: Request, principal: Reader) -> HTMLResponse:
        """What the form asks for, or a link: composed and shown, and not kept."""
        fields = parse_compose_form(request.query_params, principal.language)
        try:
            wanted = ComposeRequest.model_validate(fields)
            preview = await app.drafts.compose_preview(wanted.to_query())
        except ValidationError as error:
            return await form(request, principal, fields, errors=_list_errors(error))
        except UsageError as error:
            return await form(request, principal, fields, errors={}, trouble=error.message)
        parameters = build_query_parameters(wanted)
        return await asyncio.to_thread(
            lambda: renderer.render_page(
                request,
                principal,
                "briefings/now.html",
                section="briefings",
                key=preview.key,
                parameters=parameters,
                change_url=f"/briefings/new?{urlencode(parameters)}",
                view=build_briefing_view(preview.briefing),
            )
        )

    @routes.post("/briefings/new")
    async def save(request: Request, principal: Editor, key: Annotated[str, Form()]) -> Response:
        given = await request.form()
        fields = parse_compose_form(given, principal.language)
        try:
            wanted = ComposeRequest.model_validate(fields)
            draft = await app.drafts.save(wanted.to_query(), by=principal.actor, key=key)
        except ValidationError as error:
            return await form(request, principal, fields, errors=_list_errors(error))
        except UsageError as error:
            return await form(request, principal, fields, errors={}, trouble=error.message)
        return renderer.redirect(f"/briefings/{draft.row.id}", notice="briefing_saved")


def _add_one(routes: APIRouter, app: App, renderer: TemplateRenderer) -> None:
    @routes.get("/briefings/{briefing_id}")
    async def read(request: Request, principal: Reader, briefing_id: BriefingId) -> HTMLResponse:
        draft = await app.drafts.get(briefing_id)
        sent = await _load_deliveries(app, briefing_id)
        return await asyncio.to_thread(
            lambda: renderer.render_page(
                request,
                principal,
                "briefings/one.html",
                section="briefings",
                row=draft.row,
                view=build_briefing_view(draft.briefing),
                formats=BRIEFING_FORMATS,
                targets=_build_options(app.targets.list_names()),
                **sent,
            )
        )

    @routes.get("/briefings/{briefing_id}/export")
    async def export(
        _: Reader, briefing_id: BriefingId, format_name: Annotated[str, Query(alias="format")]
    ) -> Response:
        return await export_briefing((await app.drafts.get(briefing_id)).briefing, format_name, app.exports)

    @routes.get("/briefings/{briefing_id}/deliveries")
    async def sent(request: Request, principal: Reader, briefing_id: BriefingId) -> HTMLResponse:
        """The part of the page that says what was sent, for a page that follows a delivery."""
        draft = await app.drafts.get(briefing_id)
        return renderer.render_page(
            request, principal, "deliveries/of_briefing.html", row=draft.row, **await _load_deliveries(app, briefing_id)
        )

    @routes.post("/briefings/{briefing_id}/archive")
    async def archive(principal: Editor, briefing_id: BriefingId) -> Response:
        await app.drafts.set_archived(briefing_id, by=principal.actor)
        return renderer.redirect("/briefings", notice="briefing_archived")

    @routes.post("/briefings/{briefing_id}/unarchive")
    async def unarchive(principal: Editor, briefing_id: BriefingId) -> Response:
        await app.drafts.set_archived(briefing_id, by=principal.actor, is_archived=False)
        return renderer.redirect(f"/briefings/{briefing_id}", notice="briefing_unarchived")


async def _load_deliveries(app: App, briefing_id: int) -> dict[str, Any]:
    """The deliveries of a briefing, and whether one of them is being made at this moment."""
    deliveries = await app.deliveries.list(saved_id=briefing_id, limit=20)
    return {"deliveries": deliveries, "is_under_way": has_delivery_in_progress(deliveries, app.clock.now())}


def _build_options(names: list[str]) -> list[tuple[str, str]]:
    """Names as the options of a form."""
    return [(name, name) for name in names]


def _list_errors(error: ValidationError) -> dict[str, Message]:
    """Return what is wrong by field: what to write there, where the form knows it."""
    errors = {}
    for detail in error.errors():
        field = str(detail["loc"][0]) if detail["loc"] else ""
        code = f"briefing_form.{field}"
        errors[field] = Message(code) if has_message("en", code) else describe_validation_error(detail)
    return errors


_ORDER_PATTERN = re.compile(r"(top|more|out):([\d,]*)")
_MOVE_PATTERN = re.compile(r"(up|down|top|more|out)-(\d{1,10})")
_MAX_LISTED_ITEMS = 200
"""So many further items, and so many of those left out, have their buttons on the page."""

_NOTICES = {DeliveryStatus.SENT: "delivery_sent", DeliveryStatus.FAILED: "delivery_failed"}


def editor_router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter()

    @routes.get("/briefings/{briefing_id}/edit")
    async def edit(request: Request, principal: Editor, briefing_id: BriefingId) -> HTMLResponse:
        draft = await app.drafts.get(briefing_id)
        return await asyncio.to_thread(_render_edit_page, request, principal, renderer, draft, draft.edit)

    @routes.post("/briefings/{briefing_id}/edit")
    async def put_in_order(request: Request, principal: Editor, briefing_id: BriefingId) -> Response:
        """Save the form, or show it again with one item moved: what was typed stays."""
        draft, given = await app.drafts.get(briefing_id), await request.form()
        try:
            changes = _parse_changes(given)
            wanted = update_edit(draft.composed, draft.edit, changes, by=principal.name)
        except (ValidationError, UsageError) as error:
            return await asyncio.to_thread(
                _render_edit_page,
                request,
                principal,
                renderer,
                draft,
                draft.edit,
                trouble=describe_invalid_fields(error) if isinstance(error, ValidationError) else error.message,
                status=400,
            )
        pressed = str(given.get("do", ""))
        if move := _MOVE_PATTERN.fullmatch(pressed):
            wanted = move_item(draft.composed, wanted, int(move[2]), cast("ItemMove", move[1]))
        if move or pressed == "group":
            return await asyncio.to_thread(
                _render_edit_page,
                request,
                principal,
                renderer,
                draft,
                wanted,
                base_version=_parse_version(given),
                pressed=pressed,
            )
        try:
            await app.drafts.update(briefing_id, changes, version=_parse_version(given), by=principal.actor)
        except Conflict as error:
            theirs = await app.drafts.get(briefing_id)
            return await asyncio.to_thread(
                _render_edit_page,
                request,
                principal,
                renderer,
                theirs,
                wanted,
                trouble=error.message,
                status=409,
                is_overtaken=True,
            )
        return renderer.redirect(f"/briefings/{briefing_id}", notice="briefing_edited")

    @routes.post("/briefings/{briefing_id}/send")
    async def send(principal: Editor, briefing_id: BriefingId, target: Annotated[str, Form()]) -> Response:
        draft = await app.drafts.get(briefing_id)
        delivery = await app.deliveries.send_saved(target, draft, by=principal.actor)
        return renderer.redirect(f"/briefings/{briefing_id}", notice=_NOTICES.get(delivery.status, "delivery_queued"))

    return routes


def _render_edit_page(
    request: Request,
    principal: Principal,
    renderer: TemplateRenderer,
    draft: BriefingDraft,
    edit: BriefingEdit,
    *,
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    """The form, filled with an edit that may not be saved yet."""
    shown = apply_edit(draft.composed, edit, by=principal.name)
    items = {item.id: item for item in draft.composed.items}
    context: dict[str, Any] = {"base_version": draft.row.version, "pressed": "", "trouble": None, "is_overtaken": False}
    return renderer.render_page(
        request,
        principal,
        "briefings/edit.html",
        section="briefings",
        status=status,
        row=draft.row,
        edit=edit,
        theirs=draft.briefing,
        groups=group_items_by_heading(shown),
        items=items,
        is_changed=edit != draft.edit,
        overview=draft.composed.overview,
        by_standing={
            place: [item for item in edit.items if item.standing == place] for place in ("top", "more", "out")
        },
        most=_MAX_LISTED_ITEMS,
        **{**context, **more},
    )


def _parse_changes(given: FormData) -> BriefingEditPatch:
    """What the form says; the order is in one field, as `top:3,1;more:2;out:`."""
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
    """What was typed; browsers count a line's end as one character and send two."""
    typed = given.get(name)
    return None if typed is None else str(typed).replace("\r\n", "\n").strip()


def _parse_version(given: FormData) -> int:
    version = str(given.get("version", ""))
    return int(version) if re.fullmatch(r"\d{1,9}", version) else 0
