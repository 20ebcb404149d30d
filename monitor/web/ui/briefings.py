"""The pages of briefings: the list, composing with a preview, reading, exporting, putting away."""

import asyncio
import re
from collections.abc import Callable
from functools import partial
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
from monitor.services.drafts import BriefingDraft
from monitor.vocabulary import ItemType
from monitor.web.api import cursors
from monitor.web.api.briefings import ComposeRequest, build_query_parameters, export_briefing, parse_compose_form
from monitor.web.auth import Editor, Principal, Reader
from monitor.web.ui.deliveries import build_briefing_view, has_delivery_in_progress, translate_delivery_error
from monitor.web.ui.language import get_label
from monitor.web.ui.rendering import TemplateRenderer

if TYPE_CHECKING:
    from monitor.briefing.editing import ItemMove

PAGE_SIZE = 50

_ERROR_MESSAGES = {
    "day": "Write a day as 2026-02-03.",
    "days": "Write a whole number from 1 to 366.",
    "top": "Write a whole number from 1 to 200.",
    "keywords": "Write up to 50 words of up to 200 characters.",
}

BriefingId = Annotated[int, Path(ge=1, le=2**31 - 1)]


def router(app: App, renderer: TemplateRenderer) -> APIRouter:
    """`/briefings` and what lies under it, but for editing and sending (`briefing_edit.py`)."""
    routes = APIRouter()
    _add_list(routes, app, renderer)
    _add_compose_routes(routes, app, renderer)
    _add_one(routes, app, renderer)
    return routes


def _add_list(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    @routes.get("/briefings")
    async def briefings(
        request: Request, visitor: Reader, state: str = "", cursor: Annotated[str | None, Query()] = None
    ) -> HTMLResponse:
        is_archived = state == "archived"
        key = cursors.decode_cursor(cursor, int)
        rows = await app.drafts.list(is_archived=is_archived, before_id=key[0] if key else None, limit=PAGE_SIZE + 1)
        following = (
            {"state": state, "cursor": cursors.encode_cursor(rows[PAGE_SIZE - 1].id)} if len(rows) > PAGE_SIZE else None
        )
        return look.render_page(
            request,
            visitor,
            "briefings/list.html",
            section="briefings",
            rows=rows[:PAGE_SIZE],
            is_archived=is_archived,
            next_url=f"/briefings?{urlencode(following)}" if following else None,
        )


def _add_compose_routes(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    async def form(
        request: Request, visitor: Principal, fields: dict[str, Any], *, errors: dict[str, str], trouble: str = ""
    ) -> HTMLResponse:
        sources = await app.store.sources.list()
        return look.render_page(
            request,
            visitor,
            "briefings/new.html",
            section="briefings",
            status=400 if errors or trouble else 200,
            fields=fields,
            errors=errors,
            trouble=trouble,
            sources=_build_options(sorted(source.name for source in sources)),
            tags=_build_options(sorted({tag for one in sources for tag in one.tags})),
            types=[(str(one), get_label(visitor.language, "type", one)) for one in ItemType],
        )

    @routes.get("/briefings/new")
    async def new(request: Request, visitor: Reader) -> HTMLResponse:
        return await form(request, visitor, parse_compose_form(request.query_params, visitor.language), errors={})

    @routes.get("/briefings/now")
    async def now(request: Request, visitor: Reader) -> HTMLResponse:
        """What the form asks for, or a link: composed and shown, and not kept."""
        fields = parse_compose_form(request.query_params, visitor.language)
        try:
            wanted = ComposeRequest.model_validate(fields)
            preview = await app.drafts.compose_preview(wanted.to_query())
        except ValidationError as error:
            return await form(request, visitor, fields, errors=_format_errors(error, partial(look.translate, visitor)))
        except UsageError as error:
            return await form(request, visitor, fields, errors={}, trouble=str(error))
        parameters = build_query_parameters(wanted)
        return await asyncio.to_thread(
            lambda: look.render_page(
                request,
                visitor,
                "briefings/now.html",
                section="briefings",
                key=preview.key,
                parameters=parameters,
                change_url=f"/briefings/new?{urlencode(parameters)}",
                view=build_briefing_view(preview.briefing),
            )
        )

    @routes.post("/briefings/new")
    async def save(request: Request, visitor: Editor, key: Annotated[str, Form()]) -> Response:
        given = await request.form()
        fields = parse_compose_form(given, visitor.language)
        try:
            wanted = ComposeRequest.model_validate(fields)
            draft = await app.drafts.save(wanted.to_query(), by=visitor.name, key=key)
        except ValidationError as error:
            return await form(request, visitor, fields, errors=_format_errors(error, partial(look.translate, visitor)))
        except UsageError as error:
            return await form(request, visitor, fields, errors={}, trouble=str(error))
        return look.redirect(f"/briefings/{draft.row.id}", notice="briefing_saved")


def _add_one(routes: APIRouter, app: App, look: TemplateRenderer) -> None:
    @routes.get("/briefings/{briefing_id}")
    async def read(request: Request, visitor: Reader, briefing_id: BriefingId) -> HTMLResponse:
        draft = await app.drafts.get(briefing_id)
        sent = await _load_deliveries(app, briefing_id, visitor)
        return await asyncio.to_thread(
            lambda: look.render_page(
                request,
                visitor,
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
        visitor: Reader, briefing_id: BriefingId, format_name: Annotated[str, Query(alias="format")]
    ) -> Response:
        del visitor
        return await export_briefing((await app.drafts.get(briefing_id)).briefing, format_name, app.exports)

    @routes.get("/briefings/{briefing_id}/deliveries")
    async def sent(request: Request, visitor: Reader, briefing_id: BriefingId) -> HTMLResponse:
        """The part of the page that says what was sent, for a page that follows a delivery."""
        draft = await app.drafts.get(briefing_id)
        told = await _load_deliveries(app, briefing_id, visitor)
        return look.render_page(request, visitor, "deliveries/of_briefing.html", row=draft.row, **told)

    @routes.post("/briefings/{briefing_id}/archive")
    async def archive(visitor: Editor, briefing_id: BriefingId) -> Response:
        await app.drafts.set_archived(briefing_id, by=visitor.name)
        return look.redirect("/briefings", notice="briefing_archived")

    @routes.post("/briefings/{briefing_id}/unarchive")
    async def unarchive(visitor: Editor, briefing_id: BriefingId) -> Response:
        await app.drafts.set_archived(briefing_id, by=visitor.name, is_archived=False)
        return look.redirect(f"/briefings/{briefing_id}", notice="briefing_unarchived")


async def _load_deliveries(app: App, briefing_id: int, visitor: Principal) -> dict[str, Any]:
    """The deliveries of a briefing, and whether one of them is being made at this moment."""
    deliveries = await app.deliveries.list(saved_id=briefing_id, limit=20)
    return {
        "deliveries": deliveries,
        "is_under_way": has_delivery_in_progress(deliveries, app.clock.now()),
        "said": lambda told: translate_delivery_error(told, visitor.language),
    }


def _build_options(names: list[str]) -> list[tuple[str, str]]:
    """Names as the options of a form."""
    return [(name, name) for name in names]


def _format_errors(error: ValidationError, said: Callable[[str], str]) -> dict[str, str]:
    fields = [str(one["loc"][0]) for one in error.errors() if one["loc"]]
    return {field: said(_ERROR_MESSAGES.get(field, "There is no such choice.")) for field in fields}


_ORDER_PATTERN = re.compile(r"(top|more|out):([\d,]*)")

_MOVE_PATTERN = re.compile(r"(up|down|top|more|out)-(\d{1,10})")

_MAX_LISTED_ITEMS = 200
"""So many further items, and so many of those left out, have their buttons on the page."""

_NOTICES = {DeliveryStatus.SENT: "delivery_sent", DeliveryStatus.FAILED: "delivery_failed"}


def editor_router(app: App, renderer: TemplateRenderer) -> APIRouter:
    routes = APIRouter()

    @routes.get("/briefings/{briefing_id}/edit")
    async def edit(request: Request, visitor: Editor, briefing_id: BriefingId) -> HTMLResponse:
        draft = await app.drafts.get(briefing_id)
        return await asyncio.to_thread(_render_edit_page, request, visitor, renderer, draft, draft.edit)

    @routes.post("/briefings/{briefing_id}/edit")
    async def put_in_order(request: Request, visitor: Editor, briefing_id: BriefingId) -> Response:
        """Save the form, or show it again with one item moved: what was typed stays."""
        draft, given = await app.drafts.get(briefing_id), await request.form()
        try:
            changes = _parse_changes(given)
            wanted = update_edit(draft.composed, draft.edit, changes, by=visitor.name)
        except (ValidationError, UsageError) as error:
            return await asyncio.to_thread(
                _render_edit_page,
                request,
                visitor,
                renderer,
                draft,
                draft.edit,
                trouble=_format_error(error),
                status=400,
            )
        move = _MOVE_PATTERN.fullmatch(str(given.get("do", "")))
        if move is not None:
            wanted = move_item(draft.composed, wanted, int(move[2]), cast("ItemMove", move[1]))
            return await asyncio.to_thread(
                _render_edit_page,
                request,
                visitor,
                renderer,
                draft,
                wanted,
                base_version=_parse_version(given),
                pressed=move[0],
            )
        if given.get("do") == "group":
            return await asyncio.to_thread(
                _render_edit_page,
                request,
                visitor,
                renderer,
                draft,
                wanted,
                base_version=_parse_version(given),
                pressed="group",
            )
        try:
            await app.drafts.update(briefing_id, changes, version=_parse_version(given), by=visitor.name)
        except Conflict as error:
            theirs = await app.drafts.get(briefing_id)
            return await asyncio.to_thread(
                _render_edit_page,
                request,
                visitor,
                renderer,
                theirs,
                wanted,
                trouble=str(error),
                status=409,
                is_overtaken=True,
            )
        return renderer.redirect(f"/briefings/{briefing_id}", notice="briefing_edited")

    @routes.post("/briefings/{briefing_id}/send")
    async def send(visitor: Editor, briefing_id: BriefingId, target: Annotated[str, Form()]) -> Response:
        draft = await app.drafts.get(briefing_id)
        delivery = await app.deliveries.send_saved(target, draft.briefing, briefing_id)
        await app.audit.record(visitor.name, "briefing.send", f"{briefing_id} {draft.row.title}", target=target)
        return renderer.redirect(f"/briefings/{briefing_id}", notice=_NOTICES.get(delivery.status, "delivery_queued"))

    return routes


def _render_edit_page(
    request: Request,
    visitor: Principal,
    look: TemplateRenderer,
    draft: BriefingDraft,
    edit: BriefingEdit,
    *,
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    """The form, filled with an edit that may not be saved yet."""
    shown = apply_edit(draft.composed, edit, by=visitor.name)
    items = {item.id: item for item in draft.composed.items}
    context: dict[str, Any] = {"base_version": draft.row.version, "pressed": "", "trouble": "", "is_overtaken": False}
    return look.render_page(
        request,
        visitor,
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
            standing: [one for one in edit.items if one.standing == standing] for standing in ("top", "more", "out")
        },
        most=_MAX_LISTED_ITEMS,
        **{**context, **more},
    )


def _parse_changes(given: FormData) -> BriefingEditPatch:
    """What the form says; the order is in one field, as `top:3,1;more:2;out:`."""
    items = [
        {"id": int(part), "standing": standing, "note": _parse_text(given, f"note-{part}")}
        for standing, ids in _ORDER_PATTERN.findall(str(given.get("order", "")))
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
    told = given.get(name)
    return None if told is None else str(told).replace("\r\n", "\n").strip()


def _parse_version(given: FormData) -> int:
    told = str(given.get("version", ""))
    return int(told) if re.fullmatch(r"\d{1,9}", told) else 0


def _format_error(error: ValidationError | UsageError) -> str:
    if isinstance(error, UsageError):
        return str(error)
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}."
