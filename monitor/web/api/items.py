"""The items: the list, one item with what it rests on, and what people say of it."""

import asyncio
import datetime as dt
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from monitor.app.items import ItemDetail, ListedItem
from monitor.app.marks import MOST_NOTE_CHARS, MOST_REASON_CHARS, HiddenWire, NoteWire
from monitor.app.proof import Proof
from monitor.app.saved import SavedPage
from monitor.bootstrap import App
from monitor.briefing.render import render_items
from monitor.domain.words import RankWish
from monitor.web.cursors import decode, encode
from monitor.web.gate import Editor, Reader
from monitor.web.item_query import ItemParameters
from monitor.web.problems import PROBLEMS, Problem

MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "atom": "application/atom+xml",
}
MOST_EXPORTED = 10_000
ItemId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of an item", examples=[7])]
NoteId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of a note", examples=[1])]
_FILES: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}, "description": "The file"}
}
_EXAMPLE: dict[str, Any] = {
    "id": 7,
    "source": "示例部",
    "section": "通知公告",
    "title": "关于开展光伏发电专项检查的通知",
    "url": "https://example.gov/tz/7.html",
    "date": "2026-02-03",
    "date_source": "listed",
    "type": "通知",
    "summary": "部署光伏发电专项检查。",
    "summary_by": "extract",
    "rank": 1,
    "tier": 4,
    "by": "rule",
    "late": False,
    "document_number": "示发〔2026〕7号",
    "issuer": "示例部",
    "language": "zh",
    "first_seen": "2026-02-03T08:00:00Z",
    "attachments": [],
    "evidence": ["0f1e2d3c4b5a6978"],
    "date_conflict": None,
    "snippet": "部署光伏发电专项检查。",
    "moved": None,
    "starred": False,
    "hidden": False,
    "notes": 0,
}


class ItemList(BaseModel):
    """Items, newest first. `total` is counted up to 1,000 and told with the first piece of a list only."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [_EXAMPLE], "next": None, "total": 1}]})

    items: list[ListedItem]
    next: str | None
    total: int | None


class ListParameters(ItemParameters):
    limit: int = Field(50, ge=1, le=200)
    cursor: str | None = Field(None, max_length=400, description="`next` of the piece before")


class ExportParameters(ItemParameters):
    format: Literal["csv", "xlsx", "json", "jsonl", "atom"] = "csv"
    lang: Literal["zh", "en"] | None = Field(None, description="The language of the words in xlsx and atom")
    limit: int = Field(MOST_EXPORTED, ge=1, le=MOST_EXPORTED)


class NoteText(BaseModel):
    text: str = Field(min_length=1, max_length=MOST_NOTE_CHARS, examples=["第三条与去年的不同，请复核。"])


class Reason(BaseModel):
    reason: str = Field(min_length=1, max_length=MOST_REASON_CHARS, examples=["与业务无关"])


class Feedback(BaseModel):
    """Where the item should have stood."""

    wish: RankWish = Field(examples=["higher"])


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api/items", tags=["items"], responses=PROBLEMS)

    @routes.get("", summary="List or search items")
    async def items(visitor: Reader, asked: Annotated[ListParameters, Query()]) -> ItemList:
        """The items that are meant, newest first; with `q` those in which all its words stand."""
        after = position_of(asked.cursor)
        page = await app.items.page(asked.query(visitor.name), visitor.name, limit=asked.limit, after=after)
        return ItemList(items=page.items, next=cursor_of(page.after), total=page.total)

    @routes.get("/export", summary="Export items", response_class=Response, responses=_FILES)
    async def export(visitor: Reader, asked: Annotated[ExportParameters, Query()]) -> Response:
        """The newest 10,000 of the items that are meant, as a file."""
        found = await app.archive.items(asked.query(visitor.name), asked.limit)
        now = app.clock.now().astimezone(ZoneInfo(app.settings.timezone))
        language = asked.lang or visitor.language
        body = await asyncio.to_thread(render_items, found, asked.format, language=language, now=now)
        named = f'attachment; filename="items.{asked.format}"'
        return Response(body, media_type=MEDIA_TYPES[asked.format], headers={"Content-Disposition": named})

    @routes.get("/{item_id}", summary="Read an item")
    async def item(visitor: Reader, item_id: ItemId) -> ItemDetail:
        """One item with its text, its changes, its kin, and what people say of it."""
        return await app.items.item(item_id, visitor.name)

    @routes.get("/{item_id}/evidence", summary="Read what an item rests on")
    async def evidence(visitor: Reader, item_id: ItemId) -> Proof:
        """Its claims, and the records that bear them, each read again; only administrators see where these lie."""
        proof = await app.proofs.of_item(item_id)
        if not visitor.is_admin:
            proof.records = [record.model_copy(update={"file": None}) for record in proof.records]
        return proof

    @routes.get("/{item_id}/saved", summary="Read the saved page behind a claim")
    async def saved(
        visitor: Reader,
        item_id: ItemId,
        claim: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Counted from 1 in the evidence")] = None,
    ) -> SavedPage:
        """The saved page as text, and where in it the passage stands; without a claim the item's own page."""
        del visitor
        return await app.saved_pages.page(item_id, claim)

    _mark_routes(routes, app)
    _hide_routes(routes, app)
    return routes


def _mark_routes(routes: APIRouter, app: App) -> None:
    @routes.put("/{item_id}/star", status_code=204, summary="Star an item")
    async def star(visitor: Reader, item_id: ItemId) -> None:
        await app.marks.star(visitor.name, item_id)

    @routes.delete("/{item_id}/star", status_code=204, summary="Take your star away")
    async def unstar(visitor: Reader, item_id: ItemId) -> None:
        await app.marks.unstar(visitor.name, item_id)

    @routes.post("/{item_id}/notes", status_code=201, summary="Write a note")
    async def note(visitor: Reader, item_id: ItemId, given: NoteText) -> NoteWire:
        """A note on the item, for everybody to read."""
        return await app.marks.note(visitor.name, item_id, given.text)

    @routes.delete("/{item_id}/notes/{note_id}", status_code=204, summary="Remove your note")
    async def remove_note(visitor: Reader, item_id: ItemId, note_id: NoteId) -> None:
        await app.marks.remove_note(visitor.name, item_id, note_id)

    @routes.put("/{item_id}/feedback", status_code=204, summary="Say where an item should have stood")
    async def feedback(visitor: Reader, item_id: ItemId, given: Feedback) -> None:
        """The next ranking honours it, for this item and, more weakly, for those that are like it."""
        await app.marks.say(visitor.name, item_id, given.wish)

    @routes.delete("/{item_id}/feedback", status_code=204, summary="Take back your feedback")
    async def no_feedback(visitor: Reader, item_id: ItemId) -> None:
        await app.marks.unsay(visitor.name, item_id)


def _hide_routes(routes: APIRouter, app: App) -> None:
    @routes.put("/{item_id}/hidden", summary="Hide an item")
    async def hide_item(visitor: Editor, item_id: ItemId, given: Reason) -> HiddenWire:
        """Lists, briefings and feeds leave it out from now on; it is not forgotten."""
        return await app.marks.hide(visitor.name, item_id, given.reason)

    @routes.delete("/{item_id}/hidden", status_code=204, summary="Hide an item no longer")
    async def show_item(visitor: Editor, item_id: ItemId) -> None:
        """It may not have been hidden."""
        await app.marks.show(visitor.name, item_id)


def position_of(cursor: str | None) -> tuple[dt.date, int] | None:
    """Where a cursor says that the list goes on."""
    found = decode(cursor, str, int)
    if found is None:
        return None
    try:
        return dt.date.fromisoformat(found[0]), found[1]
    except ValueError:
        raise Problem(400, "The cursor is none of ours: begin the list without one.") from None


def cursor_of(position: tuple[dt.date, int] | None) -> str | None:
    """The cursor for the piece after this one."""
    return None if position is None else encode(position[0].isoformat(), position[1])
