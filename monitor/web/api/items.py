"""The items: the list, one item with what it rests on, and what people say of it."""

import asyncio
import datetime as dt
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, BeforeValidator, Field, JsonValue, ValidationError
from pydantic_core import PydanticCustomError
from starlette.datastructures import QueryParams

from monitor.briefing.render import STREAMED_FORMATS, render_items, stream_items
from monitor.db.sessions import sanitize_text
from monitor.evidence.wacz import WACZ_MEDIA_TYPE
from monitor.exports.registry import ITEM_FORMATS, ItemFormat, get_format
from monitor.services.audit import AuditAction
from monitor.services.cursors import MAX_CURSOR_CHARS, decode_cursor, encode_cursor
from monitor.services.evidence import ItemProof, ItemSnapshotView
from monitor.services.items import ItemDetail, ItemQuery, ListedItem
from monitor.services.marks import (
    MAX_MARKED_ITEMS,
    MAX_NOTE_CHARS,
    MAX_REASON_CHARS,
    HiddenItemSchema,
    ItemNoteSchema,
    MarkResult,
    ViewSchema,
)
from monitor.vocabulary import ItemOrder, ItemType, MarkAction, PolicyStage, RankDirection, Visibility
from monitor.web.api.search import Day, Instant
from monitor.web.auth import AppDep, Editor, Reader, record_token_read
from monitor.web.middleware import Problem
from monitor.web.problems import PROBLEM_RESPONSES, describe_invalid_fields

_Name = Annotated[str, Field(max_length=200)]


def _refuse_number(given: Any) -> Any:
    if isinstance(given, int | float) and not isinstance(given, bool):
        raise PydanticCustomError("validation.bool_parsing", "")
    return given


Flag = Annotated[bool, BeforeValidator(_refuse_number)]
"""A word of a url, or true and false in JSON, where a number is neither."""

_LIST_FIELDS = ("source", "tag", "type", "tier")


class ItemParameters(BaseModel):
    """Which items are meant; what is not given does not narrow."""

    q: str = Field("", max_length=1000, description="Words that all stand in title, summary or text; “…” word for word")
    source: list[_Name] = Field(default_factory=list, max_length=50, description="Names of sources")
    tag: list[_Name] = Field(default_factory=list, max_length=50, description="Tags of sources, of which one is enough")
    type: list[ItemType] = Field(default_factory=list, max_length=20)
    since: Day | None = Field(None, description="The first day of publication")
    until: Day | None = Field(None, description="The last day of publication")
    section: str = Field("", max_length=200, description="Stands in the name of the section")
    document_number: str = Field("", max_length=200)
    language: str = Field("", max_length=35, description="As `zh`, which is every Chinese")
    topic: str = Field("", max_length=100, description="The name or number of a topic that they fit")
    late: Flag | None = Field(None, description="Only those that were listed long after their date, or only the others")
    tier: list[Annotated[int, Field(ge=1, le=5)]] = Field(default_factory=list, max_length=5, description="1 to 5")
    stage: PolicyStage | None = Field(None, description="The stage that the document has in a policy")
    changed: Flag | None = Field(None, description="Only those whose page has changed since, or only the others")
    unread: Flag = Field(False, description="Only those that you have not read")
    later: Flag = Field(False, description="Only those that you keep for later")
    starred: Flag = Field(False, description="Only those with your own star")
    hidden: Literal["out", "only", "both"] = "out"
    seen_since: Instant | None = Field(None, description="First seen at that instant or later")
    sort: ItemOrder = Field(ItemOrder.NEWEST, description="A search for words is always sorted by publication")

    def to_query(self, person: str) -> ItemQuery:
        return ItemQuery(
            sources=[sanitize_text(name) for name in self.source],
            tags=[sanitize_text(tag) for tag in self.tag],
            types=self.type,
            since=self.since,
            until=self.until,
            text=sanitize_text(self.q),
            section=sanitize_text(self.section) or None,
            document_number=sanitize_text(self.document_number) or None,
            language=sanitize_text(self.language) or None,
            topic=sanitize_text(self.topic) or None,
            late=self.late,
            tiers=self.tier,
            stage=self.stage,
            is_changed=self.changed,
            unread_by=person if self.unread else None,
            later_by=person if self.later else None,
            starred_by=person if self.starred else None,
            first_seen_since=self.seen_since,
            is_hidden={"out": False, "only": True, "both": None}[self.hidden],
            order=self.sort,
        )

    def decode_cursor(self, cursor: str | None) -> Any:
        """Return the key of the item before the first, as the sorting of these parameters has it."""
        is_by_tier = self.sort is ItemOrder.IMPORTANCE and not self.q.strip()
        return decode_cursor(cursor, *((int, dt.date, int) if is_by_tier else (dt.date, int)))

    def list_active(self) -> dict[str, object]:
        """Return the parameters that narrow, as they stand in an address."""
        given = self.model_dump(mode="json", exclude_defaults=True)
        return {name: str(value).lower() if isinstance(value, bool) else value for name, value in given.items()}

    @property
    def is_narrow(self) -> bool:
        """Whether anything narrows, so that an empty list is no empty archive."""
        return self != ItemParameters(sort=self.sort)

    @property
    def is_filtered(self) -> bool:
        """Whether anything narrows beside words and the views of unread, later and starred items."""
        beside = {"sort": self.sort, "q": self.q, "unread": self.unread, "later": self.later, "starred": self.starred}
        return self != ItemParameters.model_validate(beside)


def parse_item_parameters(parameters: QueryParams) -> ItemParameters:
    """Read the parameters of a page, whose form sends empty fields too."""
    given: dict[str, Any] = {}
    for name, value in parameters.multi_items():
        if value.strip() and name in ItemParameters.model_fields:
            given[name] = [*given.get(name, []), value] if name in _LIST_FIELDS else value
    try:
        return ItemParameters.model_validate(given)
    except ValidationError as error:
        raise Problem(400, describe_invalid_fields(error)) from None


def parse_view(filters: dict[str, JsonValue]) -> ItemParameters | None:
    """Return the filters of a saved view; None for one that this version does not understand."""
    try:
        return ItemParameters.model_validate(filters)
    except ValidationError:
        return None


MAX_EXPORTED_ITEMS = 10_000
ItemId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of an item", examples=[7])]
ClaimNumber = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Counted from 1 in the evidence")]
NoteId = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of a note", examples=[1])]
_EXPORT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {get_format(name).media_type: {} for name in ITEM_FORMATS}, "description": "The file"}
}
_WACZ_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {WACZ_MEDIA_TYPE: {}}, "description": "A web archive with its proof"}
}

router = APIRouter(prefix="/api/v1/items", tags=["items"], responses=PROBLEM_RESPONSES)

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
    "topics": [],
    "unread": True,
    "later": False,
    "starred": False,
    "hidden": False,
    "notes": 0,
}


class ItemListSchema(
    BaseModel, json_schema_extra={"examples": [{"items": [_EXAMPLE], "next": None, "total": 1, "searched_since": None}]}
):
    """Items, newest first. `total` is counted up to 1,000 and told with the first piece of a list only.

    A search for a phrase may have to read texts; where it ends before the piece is full, `searched_since` is the day
    up to which it has read, and `next` goes on from there.
    """

    items: list[ListedItem]
    next: str | None
    total: int | None
    searched_since: dt.date | None = None


class ItemListParameters(ItemParameters):
    limit: int = Field(50, ge=1, le=200)
    cursor: str | None = Field(None, max_length=MAX_CURSOR_CHARS, description="`next` of the piece before")


class ItemExportParameters(ItemParameters):
    format: ItemFormat = "csv"
    lang: Literal["zh", "en"] | None = Field(None, description="The language of the words in xlsx and atom")
    limit: int = Field(MAX_EXPORTED_ITEMS, ge=1, le=MAX_EXPORTED_ITEMS)


class NoteRequest(BaseModel):
    text: str = Field(min_length=1, max_length=MAX_NOTE_CHARS, examples=["第三条与去年的不同，请复核。"])
    visibility: Visibility = Visibility.OPEN
    team: str | None = Field(default=None, max_length=60, description="One of your teams, which alone reads it.")


class HideRequest(BaseModel):
    reason: str = Field("", max_length=MAX_REASON_CHARS, examples=["与业务无关"])


class MarkRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [{"action": "later", "items": [7, 12]}]}):
    """What is done with which items; `reason` may say why they are hidden."""

    action: MarkAction
    items: list[Annotated[int, Field(ge=1, le=2**31 - 1)]] = Field(min_length=1, max_length=MAX_MARKED_ITEMS)
    reason: str = Field("", max_length=MAX_REASON_CHARS)


class ReadRequest(BaseModel, extra="forbid"):
    """All items that were first seen up to an instant count as read."""

    until: Instant


class ViewRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [{"filters": {"tier": [1, 2]}}]}):
    """The parameters of the list of items that a view keeps."""

    filters: ItemParameters


class ViewListSchema(BaseModel):
    """Your saved views, the first saved one first; at most 20, so the list is whole."""

    views: list[ViewSchema]
    next: None = None


ViewName = Annotated[str, Path(min_length=1, max_length=60, examples=["本周要点"])]


class FeedbackRequest(BaseModel):
    """Where the item should have stood."""

    wish: RankDirection = Field(examples=["higher"])


@router.get("", summary="List or search items")
async def list_items(app: AppDep, principal: Reader, asked: Annotated[ItemListParameters, Query()]) -> ItemListSchema:
    """The items that are meant, newest first; with `q` those in which all its words stand."""
    after = asked.decode_cursor(asked.cursor)
    page = await app.items.list_page(asked.to_query(principal.owner), principal.owner, limit=asked.limit, after=after)
    following = encode_cursor(*page.after) if page.after else None
    return ItemListSchema(items=page.items, next=following, total=page.total, searched_since=page.searched_since)


@router.get("/export", summary="Export items", response_class=Response, responses=_EXPORT_RESPONSES)
async def export_items(app: AppDep, principal: Reader, asked: Annotated[ItemExportParameters, Query()]) -> Response:
    """The newest 10,000 of the items that are meant, as a file."""
    headers = {"Content-Disposition": f'attachment; filename="items.{asked.format}"'}
    batches = await app.archive.stream_items(asked.to_query(principal.owner), asked.limit)
    filters = asked.model_dump(mode="json", exclude_defaults=True)
    await app.audit.record(principal, AuditAction.ITEM_EXPORT, "items", **filters)
    media_type = get_format(asked.format).content_type
    if asked.format in STREAMED_FORMATS:
        return StreamingResponse(stream_items(batches, asked.format), media_type=media_type, headers=headers)
    items = [item async for batch in batches for item in batch]
    now = app.clock.now().astimezone(ZoneInfo(app.settings.timezone))
    language = asked.lang or principal.language
    body = await asyncio.to_thread(render_items, items, asked.format, language=language, now=now)
    return Response(body, media_type=media_type, headers=headers)


@router.post("/marks", summary="Mark many items at once")
async def mark_items(app: AppDep, principal: Reader, given: MarkRequest) -> MarkResult:
    """Mark items as read, kept for later, starred or hidden, or take that back.

    `changed` names the items that were not so before: the opposite action on these undoes exactly this one. Items that
    are gone are passed over. Hiding is for all and takes an editor; the other marks are your own.
    """
    return await app.marks.mark(given.action, given.items, by=principal, reason=given.reason)


@router.put("/read-until", status_code=204, summary="Mark all items as read")
async def mark_items_read_until(app: AppDep, principal: Reader, given: ReadRequest) -> None:
    """All that were first seen up to that instant, which is cut to now."""
    await app.marks.mark_all_read(given.until, by=principal)


@router.get("/views", summary="List your saved views")
async def list_views(app: AppDep, principal: Reader) -> ViewListSchema:
    """Filters of the list that you keep under a name."""
    return ViewListSchema(views=await app.marks.list_views(by=principal))


@router.put("/views/{name}", summary="Save a view")
async def save_view(app: AppDep, principal: Reader, name: ViewName, given: ViewRequest) -> ViewSchema:
    """In place of your view of that name, where there is one."""
    filters = given.filters.model_dump(mode="json", exclude_defaults=True)
    return await app.marks.save_view(name, filters, by=principal)


@router.delete("/views/{name}", status_code=204, summary="Remove a view")
async def delete_view(app: AppDep, principal: Reader, name: ViewName) -> None:
    """It may not have been there."""
    await app.marks.remove_view(name, by=principal)


@router.get("/{item_id:int}", summary="Read an item")
async def get_item(app: AppDep, principal: Reader, item_id: ItemId) -> ItemDetail:
    """One item with its text, its changes, its kin, and what people say of it."""
    return await app.items.get_item(item_id, principal.owner)


@router.get("/{item_id}/evidence", summary="Read what an item rests on")
async def get_item_evidence(app: AppDep, principal: Reader, item_id: ItemId) -> ItemProof:
    """Its claims, and the records that bear them, each read again; only administrators see where these lie."""
    proof = await app.proofs.get_proof(item_id)
    await record_token_read(app, principal, AuditAction.EVIDENCE_READ, str(item_id))
    if not principal.is_admin:
        proof.records = [record.model_copy(update={"file": None}) for record in proof.records]
    return proof


@router.get(
    "/{item_id}/evidence/export",
    summary="Export what an item rests on",
    response_class=Response,
    responses=_WACZ_RESPONSES,
)
async def export_item_evidence(app: AppDep, principal: Reader, item_id: ItemId) -> Response:
    """The item's kept pages as a WACZ file, with the proof that they are what was signed and a script to check it."""
    content = await app.evidence_exporter.export_item(item_id, by=principal)
    headers = {"Content-Disposition": f'attachment; filename="item-{item_id}.wacz"'}
    return Response(content, media_type=WACZ_MEDIA_TYPE, headers=headers)


@router.get("/{item_id}/saved", summary="Read the saved page behind a claim")
async def get_item_snapshot(
    app: AppDep, principal: Reader, item_id: ItemId, claim: ClaimNumber = None
) -> ItemSnapshotView:
    """The saved page as text, and where in it the passage stands; without a claim the item's own page."""
    page = await app.snapshots.get_item_snapshot(item_id, claim)
    await record_token_read(app, principal, AuditAction.EVIDENCE_READ, str(item_id))
    return page


@router.put("/{item_id}/star", status_code=204, summary="Star an item")
async def star_item(app: AppDep, principal: Reader, item_id: ItemId) -> None:
    """Your own star, which nobody else sees."""
    await app.marks.mark_one(MarkAction.STAR, item_id, by=principal)


@router.delete("/{item_id}/star", status_code=204, summary="Take your star away")
async def unstar_item(app: AppDep, principal: Reader, item_id: ItemId) -> None:
    """It may not have been there."""
    await app.marks.mark_one(MarkAction.UNSTAR, item_id, by=principal)


@router.post("/{item_id}/notes", status_code=201, summary="Write a note")
async def add_item_note(app: AppDep, principal: Reader, item_id: ItemId, given: NoteRequest) -> ItemNoteSchema:
    """A note on the item, for everybody to read, for a team or for you alone."""
    team_id = await app.teams.resolve(given.team, principal)
    return await app.marks.add_note(item_id, given.text, visibility=given.visibility, team_id=team_id, by=principal)


@router.delete("/{item_id}/notes/{note_id}", status_code=204, summary="Remove your note")
async def delete_item_note(app: AppDep, principal: Reader, item_id: ItemId, note_id: NoteId) -> None:
    """Only your own notes can be removed."""
    await app.marks.remove_note(item_id, note_id, by=principal)


@router.put("/{item_id}/feedback", status_code=204, summary="Say where an item should have stood")
async def set_item_feedback(app: AppDep, principal: Reader, item_id: ItemId, given: FeedbackRequest) -> None:
    """The next ranking honours it, for this item and, more weakly, for those that are like it."""
    await app.marks.set_feedback(item_id, given.wish, by=principal)


@router.delete("/{item_id}/feedback", status_code=204, summary="Take back your feedback")
async def delete_item_feedback(app: AppDep, principal: Reader, item_id: ItemId) -> None:
    """The next ranking no longer honours it."""
    await app.marks.remove_feedback(item_id, by=principal)


@router.put("/{item_id}/hidden", summary="Hide an item")
async def hide_item(app: AppDep, principal: Editor, item_id: ItemId, given: HideRequest) -> HiddenItemSchema:
    """Lists, briefings and feeds leave it out from now on; it is not forgotten."""
    return await app.marks.hide(item_id, given.reason, by=principal)


@router.delete("/{item_id}/hidden", status_code=204, summary="Hide an item no longer")
async def unhide_item(app: AppDep, principal: Editor, item_id: ItemId) -> None:
    """It may not have been hidden."""
    await app.marks.mark_one(MarkAction.UNHIDE, item_id, by=principal)
