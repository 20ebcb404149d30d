"""The pages on which a briefing is put in order by hand, and sent."""

import asyncio
import re
from typing import Annotated, Any, cast

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import ValidationError
from starlette.datastructures import FormData

from monitor.app.drafts import Draft
from monitor.bootstrap import App
from monitor.briefing.editing import Changes, Edit, Move, changed, edited, moved
from monitor.briefing.layout import parts_of
from monitor.domain.deliveries import DeliveryStatus
from monitor.errors import Conflict, UsageError
from monitor.web.gate import Editor, Visitor
from monitor.web.pages.briefings import BriefingId
from monitor.web.rendering import Look

_STANDING = re.compile(r"(top|more|out):([\d,]*)")
_MOVE = re.compile(r"(up|down|top|more|out)-(\d{1,10})")
_MOST_LISTED = 200
"""So many further items, and so many of those left out, have their buttons on the page."""
_NOTICES = {DeliveryStatus.SENT: "delivery_sent", DeliveryStatus.FAILED: "delivery_failed"}


def router(app: App, look: Look) -> APIRouter:
    routes = APIRouter()

    @routes.get("/briefings/{briefing_id}/edit")
    async def edit(request: Request, visitor: Editor, briefing_id: BriefingId) -> HTMLResponse:
        draft = await app.drafts.draft(briefing_id)
        return await asyncio.to_thread(_page, request, visitor, look, draft, draft.edit)

    @routes.post("/briefings/{briefing_id}/edit")
    async def put_in_order(request: Request, visitor: Editor, briefing_id: BriefingId) -> Response:
        """Save the form, or show it again with one item moved: what was typed stays."""
        draft, given = await app.drafts.draft(briefing_id), await request.form()
        try:
            changes = _changes_in(given)
            wanted = changed(draft.composed, draft.edit, changes, by=visitor.name)
        except (ValidationError, UsageError) as error:
            return await asyncio.to_thread(
                _page, request, visitor, look, draft, draft.edit, trouble=_sentence(error), status=400
            )
        move = _MOVE.fullmatch(str(given.get("do", "")))
        if move is not None:
            wanted = moved(draft.composed, wanted, int(move[2]), cast("Move", move[1]))
            return await asyncio.to_thread(
                _page, request, visitor, look, draft, wanted, base_version=_version_in(given), pressed=move[0]
            )
        if given.get("do") == "group":
            return await asyncio.to_thread(
                _page, request, visitor, look, draft, wanted, base_version=_version_in(given), pressed="group"
            )
        try:
            await app.drafts.change(briefing_id, changes, version=_version_in(given), by=visitor.name)
        except Conflict as error:
            theirs = await app.drafts.draft(briefing_id)
            return await asyncio.to_thread(
                _page, request, visitor, look, theirs, wanted, trouble=str(error), status=409, is_overtaken=True
            )
        return look.back(f"/briefings/{briefing_id}", notice="briefing_edited")

    @routes.post("/briefings/{briefing_id}/send")
    async def send(visitor: Editor, briefing_id: BriefingId, target: Annotated[str, Form()]) -> Response:
        draft = await app.drafts.draft(briefing_id)
        delivery = await app.deliveries.send(target, draft.briefing, briefing_id)
        await app.audit.record(visitor.name, "briefing.send", f"{briefing_id} {draft.row.title}", target=target)
        return look.back(f"/briefings/{briefing_id}", notice=_NOTICES.get(delivery.status, "delivery_queued"))

    return routes


def _page(
    request: Request, visitor: Visitor, look: Look, draft: Draft, edit: Edit, *, status: int = 200, **more: Any
) -> HTMLResponse:
    """The form, filled with an edit that may not be saved yet."""
    shown = edited(draft.composed, edit, by=visitor.name)
    items = {item.id: item for item in draft.composed.items}
    context: dict[str, Any] = {"base_version": draft.row.version, "pressed": "", "trouble": "", "is_overtaken": False}
    return look.page(
        request,
        visitor,
        "briefings/edit.html",
        section="briefings",
        status=status,
        row=draft.row,
        edit=edit,
        theirs=draft.briefing,
        groups=parts_of(shown),
        items=items,
        is_changed=edit != draft.edit,
        overview=draft.composed.overview,
        by_standing={
            standing: [one for one in edit.items if one.standing == standing] for standing in ("top", "more", "out")
        },
        most=_MOST_LISTED,
        **{**context, **more},
    )


def _changes_in(given: FormData) -> Changes:
    """What the form says; the order is in one field, as `top:3,1;more:2;out:`."""
    items = [
        {"id": int(part), "standing": standing, "note": _text_in(given, f"note-{part}")}
        for standing, ids in _STANDING.findall(str(given.get("order", "")))
        for part in ids.split(",")
        if part
    ]
    return Changes.model_validate(
        {
            "title": _text_in(given, "title") or None,
            "note": _text_in(given, "note"),
            "group": given.get("group", "theme"),
            "has_overview": "has_overview" in given,
            "items": items,
        }
    )


def _text_in(given: FormData, name: str) -> str | None:
    """What was typed; browsers count a line's end as one character and send two."""
    told = given.get(name)
    return None if told is None else str(told).replace("\r\n", "\n").strip()


def _version_in(given: FormData) -> int:
    told = str(given.get("version", ""))
    return int(told) if re.fullmatch(r"\d{1,9}", told) else 0


def _sentence(error: ValidationError | UsageError) -> str:
    if isinstance(error, UsageError):
        return str(error)
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}."
