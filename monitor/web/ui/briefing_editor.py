"""The editor of a briefing: the lead, the words of its items, their order, what is added, and how it will look."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError
from starlette.datastructures import FormData

from monitor.bootstrap import App
from monitor.briefing.compose import Briefing
from monitor.briefing.editing import (
    MAX_ITEM_TITLE_CHARS,
    MAX_SUMMARY_CHARS,
    BriefingEdit,
    BriefingEditPatch,
    ItemMove,
    apply_edit,
    move_item,
    update_edit,
)
from monitor.briefing.item import ItemSchema
from monitor.briefing.layout import build_document
from monitor.briefing.render import render_briefing
from monitor.errors import Conflict, UsageError
from monitor.exports.docx_view import render_docx_view
from monitor.exports.html import render_mail
from monitor.i18n.message import Message
from monitor.services.drafts import BriefingDraft
from monitor.services.items import ItemQuery
from monitor.web.api.briefings import BriefingId
from monitor.web.auth import AppDep, Editor, Principal
from monitor.web.problems import describe_invalid_fields
from monitor.web.ui.rendering import PageRenderer, Renderer

_ORDER_PATTERN = re.compile(r"(top|more|out):([\d,]*)")
_PRESSED_PATTERN = re.compile(r"(up|down|top|more|out|cut|restore)-(\d{1,10})")
_UNSAVED_ACTIONS = ("group", "arrange", "find")
_TOPIC_PLACE = re.compile(r"topic-(\d{1,9})")
_MAX_LISTED_ITEMS = 200
"""So many further items, and so many of those left out, have their buttons on the page."""

_MAX_FOUND_ITEMS = 20

PreviewKind = Literal["page", "phone", "mail", "word"]
PREVIEW_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; base-uri 'none'; sandbox"
"""A preview is a document of its own, with the styles that it brings, and runs nothing."""

_EDITOR_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)

router = APIRouter()


@dataclass(frozen=True, kw_only=True)
class ItemFinder:
    """A search for items to add: in the archive, among one's stars, or in a topic; `items` is None before it ran."""

    text: str = ""
    place: str = ""
    places: Sequence[tuple[str, str]] = ()
    items: Sequence[ItemSchema] | None = None
    trouble: Message | None = None


@dataclass(frozen=True, kw_only=True)
class EditorState:
    """What the form shows: an edit that may not be saved yet, made of `base_version`, and what is wrong with it."""

    draft: BriefingDraft
    edit: BriefingEdit
    writer: str
    base_version: int
    finder: ItemFinder = field(default_factory=ItemFinder)
    pressed: str = ""
    trouble: Message | None = None
    is_overtaken: bool = False

    @property
    def theirs(self) -> Briefing:
        return self.draft.briefing

    @property
    def is_changed(self) -> bool:
        return self.edit != self.draft.edit


@router.get("/briefings/{briefing_id}/edit")
async def edit(app: AppDep, renderer: Renderer, principal: Editor, briefing_id: BriefingId) -> Response:
    draft = await app.drafts.get(briefing_id)
    finder = ItemFinder(places=await _list_places(app, renderer))
    return await _render(
        renderer,
        EditorState(draft=draft, edit=draft.edit, writer=principal.name, base_version=draft.row.version, finder=finder),
    )


@router.post("/briefings/{briefing_id}/edit")
async def put_in_order(
    app: AppDep, renderer: Renderer, request: Request, principal: Editor, briefing_id: BriefingId
) -> Response:
    """Save the form, or show it again with what was pressed done to it: what was typed stays."""
    draft, given = await app.drafts.get(briefing_id), await request.form()
    version = str(given.get("version", ""))
    state = EditorState(
        draft=draft,
        edit=draft.edit,
        writer=principal.name,
        base_version=int(version) if re.fullmatch(r"\d{1,9}", version) else 0,
        finder=await _find_items(app, renderer, principal, given),
        pressed=str(given.get("do", "")),
    )
    try:
        changes = _parse_changes(given)
        wanted = await asyncio.to_thread(update_edit, draft.composed, draft.edit, changes, by=principal.name)
    except ValidationError as error:
        return await _render(renderer, state, status=400, trouble=describe_invalid_fields(error))
    except UsageError as error:
        return await _render(renderer, state, status=400, trouble=error.message)
    move = _PRESSED_PATTERN.fullmatch(state.pressed)
    if move and move[1] != "restore":
        wanted = move_item(draft.composed, wanted, int(move[2]), cast("ItemMove", move[1]))
    added = [int(text) for text in map(str, given.getlist("add")) if re.fullmatch(r"\d{1,9}", text)]
    if move or state.pressed in _UNSAVED_ACTIONS or (state.pressed == "add" and not added):
        return await _render(renderer, state, edit=wanted)
    try:
        await app.drafts.update(briefing_id, changes, version=state.base_version, by=principal)
    except Conflict as error:
        theirs = await app.drafts.get(briefing_id)
        return await _render(
            renderer, state, status=409, draft=theirs, edit=wanted, trouble=error.message, is_overtaken=True
        )
    if state.pressed == "add":
        await app.drafts.add_items(briefing_id, added, by=principal)
        return renderer.redirect(f"/briefings/{briefing_id}/edit", notice="briefing_items_added")
    return renderer.redirect(f"/briefings/{briefing_id}", notice="briefing_edited")


@router.get("/briefings/{briefing_id}/preview")
async def preview_saved(
    app: AppDep, _: Editor, briefing_id: BriefingId, kind: Annotated[PreviewKind, Query(alias="as")] = "page"
) -> Response:
    """Show how the briefing looks as it is saved."""
    return await _render_preview(app, (await app.drafts.get(briefing_id)).briefing, kind)


@router.post("/briefings/{briefing_id}/preview")
async def preview(app: AppDep, request: Request, principal: Editor, briefing_id: BriefingId) -> Response:
    """Show how the briefing would look with what stands in the form; nothing is saved."""
    draft, given = await app.drafts.get(briefing_id), await request.form()
    try:
        changes = _parse_changes(given)
    except ValidationError as error:
        raise UsageError(describe_invalid_fields(error)) from None
    wanted = await asyncio.to_thread(update_edit, draft.composed, draft.edit, changes, by=principal.name)
    shown = await asyncio.to_thread(apply_edit, draft.composed, wanted, by=principal.name)
    kind = str(given.get("as", "page"))
    return await _render_preview(app, shown, cast("PreviewKind", kind) if kind in ("mail", "word") else "page")


async def _render_preview(app: App, briefing: Briefing, kind: PreviewKind) -> Response:
    if kind == "word":
        file = await app.exports.export_briefing(briefing, "docx")
        content = await asyncio.to_thread(render_docx_view, file)
    elif kind == "mail":
        content = await asyncio.to_thread(lambda: render_mail(build_document(briefing)))
    else:
        content = await asyncio.to_thread(render_briefing, briefing, "html")
    return Response(content, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": PREVIEW_POLICY})


async def _list_places(app: App, renderer: PageRenderer) -> list[tuple[str, str]]:
    topics = await app.store.topics.list()
    places = [("", renderer.gettext("the whole archive")), ("stars", renderer.gettext("my stars"))]
    return places + [(f"topic-{topic.id}", topic.name) for topic in topics]


async def _find_items(app: App, renderer: PageRenderer, principal: Principal, given: FormData) -> ItemFinder:
    """Look for what the form asks for, where it does."""
    text, place = str(given.get("find_text", ""))[:200].strip(), str(given.get("find_in", ""))
    finder = ItemFinder(text=text, place=place, places=await _list_places(app, renderer))
    if given.get("do") != "find":
        return finder
    topic = _TOPIC_PLACE.fullmatch(place)
    query = ItemQuery(
        text=text, starred_by=principal.name if place == "stars" else None, topic=topic[1] if topic else None
    )
    try:
        return replace(finder, items=await app.archive.list_items(query, limit=_MAX_FOUND_ITEMS))
    except UsageError as error:
        return replace(finder, trouble=error.message)


async def _render(renderer: PageRenderer, state: EditorState, *, status: int = 200, **changes: Any) -> Response:
    response = await asyncio.to_thread(_render_editor, renderer, replace(state, **changes), status)
    response.headers["Content-Security-Policy"] = _EDITOR_POLICY
    return response


def _render_editor(renderer: PageRenderer, state: EditorState, status: int) -> Response:
    edit, draft = state.edit, state.draft
    return renderer.render(
        "briefings/edit.html",
        status=status,
        state=state,
        row=draft.row,
        edit=edit,
        items={item.id: item for item in draft.whole.items},
        shown={item.id for item in edit.items if item.standing != "out"},
        by_standing={
            place: [item for item in edit.items if item.standing == place] for place in ("top", "more", "out")
        },
        most=_MAX_LISTED_ITEMS,
        max_title=MAX_ITEM_TITLE_CHARS,
        max_summary=MAX_SUMMARY_CHARS,
    )


def _parse_changes(given: FormData) -> BriefingEditPatch:
    """Parse the form; the order is in one field, as `top:3,1;more:2;out:`."""
    pressed = _PRESSED_PATTERN.fullmatch(str(given.get("do", "")))
    restored = pressed[2] if pressed and pressed[1] == "restore" else ""
    items = [
        {
            "id": int(part),
            "standing": place,
            "note": _parse_text(given, f"note-{part}"),
            "title": "" if part == restored else _parse_text(given, f"title-{part}"),
            "summary": "" if part == restored else _parse_text(given, f"summary-{part}"),
        }
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
            "include_gaps": "include_gaps" in given,
            "items": items,
        }
    )


def _parse_text(given: FormData, name: str) -> str | None:
    """Return what was typed; browsers count a line's end as one character and send two."""
    typed = given.get(name)
    return None if typed is None else str(typed).replace("\r\n", "\n").strip()
