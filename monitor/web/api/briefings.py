"""Briefings over HTTP: composed, kept, put in order, exported, sent."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from monitor.app.deliveries import DeliveryWire
from monitor.app.drafts import Draft
from monitor.bootstrap import App
from monitor.briefing.compose import Briefing
from monitor.briefing.editing import Changes
from monitor.briefing.letter import MEDIA_TYPES
from monitor.store.briefings import BriefingRow
from monitor.web import cursors
from monitor.web.composing import Compose
from monitor.web.exporting import export_of
from monitor.web.gate import Editor, Reader
from monitor.web.problems import PROBLEMS

Format = Literal["md", "html", "docx", "pdf", "xlsx", "json", "csv", "atom"]
BriefingId = Annotated[int, Path(ge=1, le=2**31 - 1)]

_ITEMS: list[JsonValue] = [{"id": 12, "standing": "top", "note": "与我方项目有关"}, {"id": 7, "standing": "out"}]


class BriefingRows(BaseModel):
    """A page of the list; `next` is the cursor with which it goes on."""

    briefings: list[BriefingRow]
    next: str | None


class SavedWire(BriefingRow):
    """A saved briefing as it stands after its edits; `left_out` are the items that were taken out by hand."""

    query: Compose
    left_out: list[int]
    briefing: Briefing


class EditWire(Changes):
    """What is wanted of a saved briefing, and the `version` that was seen: another one is a 409.

    What is not named stays. `items` stand in the order that is wanted, each with where it stands (`top`: in full,
    `more`: named, `out`: left out) and its note; those that are not named follow. No text of an item can be changed.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"version": 1, "title": "本周政策要点", "group": "none", "items": _ITEMS}]},
    )

    version: int = Field(ge=1, le=2**31 - 1, strict=True)


class SendWire(BaseModel):
    """Where a briefing is to be sent: the name of a target."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"target": "weekly"}]})

    target: str = Field(min_length=1, max_length=40)


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api/briefings", tags=["briefings"], responses=PROBLEMS)
    _add_all(routes, app)
    _add_one(routes, app)
    return routes


def _add_all(routes: APIRouter, app: App) -> None:
    @routes.get("", summary="List the saved briefings")
    async def briefings(
        visitor: Reader,
        *,
        archived: bool = False,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Query()] = None,
    ) -> BriefingRows:
        """Newest first, without what stands in them; `archived` lists those that were put away instead."""
        del visitor
        key = cursors.decode(cursor, int)
        rows = await app.drafts.list(is_archived=archived, before_id=key[0] if key else None, limit=limit + 1)
        following = cursors.encode(rows[limit - 1].id) if len(rows) > limit else None
        return BriefingRows(briefings=rows[:limit], next=following)

    @routes.post("", summary="Compose a briefing and keep it", status_code=201)
    async def compose(visitor: Editor, wanted: Compose, response: Response) -> SavedWire:
        """It can be put in order, exported and sent from then on."""
        draft = await app.drafts.save(wanted.query(), by=visitor.name)
        response.headers["Location"] = f"/api/briefings/{draft.row.id}"
        return _wire(draft)

    @routes.post("/preview", summary="Compose a briefing without keeping it")
    async def preview(visitor: Reader, wanted: Compose) -> Briefing:
        """What a briefing would say now."""
        del visitor
        return (await app.drafts.preview(wanted.query())).briefing


def _add_one(routes: APIRouter, app: App) -> None:
    @routes.get("/{briefing_id:int}", summary="Read a saved briefing")
    async def read(visitor: Reader, briefing_id: BriefingId) -> SavedWire:
        """As it stands after its edits."""
        del visitor
        return _wire(await app.drafts.draft(briefing_id))

    @routes.patch("/{briefing_id:int}", summary="Put a briefing in order")
    async def edit(visitor: Editor, briefing_id: BriefingId, wanted: EditWire) -> SavedWire:
        """409 where somebody else edited it since that version, or where it is archived."""
        changes = Changes.model_validate(wanted.model_dump(exclude={"version"}))
        return _wire(await app.drafts.change(briefing_id, changes, version=wanted.version, by=visitor.name))

    @routes.delete("/{briefing_id:int}", summary="Archive a briefing")
    async def archive(visitor: Editor, briefing_id: BriefingId) -> BriefingRow:
        """Put it out of the way; nothing is deleted."""
        return await app.drafts.archive(briefing_id, by=visitor.name)

    @routes.post("/{briefing_id}/unarchive", summary="Take a briefing out of the archive")
    async def unarchive(visitor: Editor, briefing_id: BriefingId) -> BriefingRow:
        """It stands in the list again."""
        return await app.drafts.archive(briefing_id, by=visitor.name, is_archived=False)

    file, document = {"type": "string", "format": "binary"}, {"type": "object"}
    contents = {kind: {"schema": document if name == "json" else file} for name, kind in MEDIA_TYPES.items()}

    @routes.get(
        "/{briefing_id}/export",
        summary="Export a briefing",
        response_class=Response,
        responses={200: {"description": "The document.", "content": contents}},
    )
    async def export(
        visitor: Reader, briefing_id: BriefingId, form: Annotated[Format, Query(alias="format")]
    ) -> Response:
        """The document, to be saved; a pdf takes a browser on the server, and is a 503 without one."""
        del visitor
        return await export_of((await app.drafts.draft(briefing_id)).briefing, form, app.writing)

    @routes.post("/{briefing_id}/send", summary="Send a briefing to a target", status_code=202)
    async def send(visitor: Editor, briefing_id: BriefingId, wanted: SendWire) -> DeliveryWire:
        """As it stands now: later edits do not reach it. `GET /api/deliveries` says when it has arrived."""
        draft = await app.drafts.draft(briefing_id)
        delivery = await app.deliveries.send(wanted.target, draft.briefing, briefing_id)
        subject = f"{briefing_id} {draft.row.title}"
        await app.audit.record(visitor.name, "briefing.send", subject, target=wanted.target)
        return delivery


def _wire(draft: Draft) -> SavedWire:
    asked = draft.wanted.model_dump(exclude={"previous"})
    return SavedWire(
        **draft.row.model_dump(),
        query=Compose.model_validate(asked),
        briefing=draft.briefing,
        left_out=[item.id for item in draft.edit.items if item.standing == "out"],
    )
