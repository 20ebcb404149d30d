"""Briefings over HTTP: composed, kept, put in order, exported, sent; deliveries and their targets."""

import asyncio
import datetime as dt
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, Field, JsonValue, StringConstraints
from pydantic.config import JsonDict
from starlette.datastructures import FormData, QueryParams

from monitor.bootstrap import App
from monitor.briefing.compose import Briefing, GroupBy, drop_gaps
from monitor.briefing.deliver import build_attachment_name
from monitor.briefing.editing import BriefingEditPatch
from monitor.db.queries.delivery import BriefingRow
from monitor.db.sessions import sanitize_text
from monitor.db.tables.people import ComposeStage
from monitor.errors import NotFound
from monitor.exports.registry import BRIEFING_FORMATS, BriefingFormat, get_format
from monitor.i18n.message import Message
from monitor.i18n.model import MessageModel
from monitor.services.audit import Actor, AuditAction
from monitor.services.briefings import BriefingQuery
from monitor.services.cursors import cut_page, decode_cursor, decode_id
from monitor.services.deliveries import DeliverySchema, TargetChange, TargetForm, TargetSchema
from monitor.services.drafts import BriefingDraft, show_initially
from monitor.vocabulary import ItemType
from monitor.web.api.cursors import Limit
from monitor.web.api.search import Day
from monitor.web.auth import SPENDING, Admin, AppDep, Editor, Principal, Reader
from monitor.web.problems import PROBLEM_RESPONSES

_SEPARATORS = re.compile(r"[,，、;；\n]+")
_PLAIN_FIELDS = ("day", "days", "top", "language", "group", "topic", "team")
_LIST_FIELDS = {"source": "sources", "tag": "tags", "type": "types"}
Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]
BriefingId = Annotated[int, Path(ge=1, le=2**31 - 1)]
TargetName = Annotated[str, Path(max_length=40, description="Letters, digits, `-`, `_` and `.`.")]
Cursor = Annotated[str | None, Query()]

_EXAMPLE_ITEMS: list[JsonValue] = [
    {"id": 12, "standing": "top", "note": "与我方项目有关"},
    {"id": 7, "standing": "out"},
]
_EXAMPLE_COMPOSE: JsonDict = {"days": 7, "top": 20, "sources": [], "language": "zh"}
_EXAMPLE_BRIEFING_EDIT: JsonDict = {"version": 1, "title": "本周政策要点", "group": "none", "items": _EXAMPLE_ITEMS}

router = APIRouter(prefix="/api/v1/briefings", tags=["briefings"], responses=PROBLEM_RESPONSES)
delivery_router = APIRouter(prefix="/api/v1", tags=["deliveries"], responses=PROBLEM_RESPONSES)


class ComposeRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [_EXAMPLE_COMPOSE]}):
    """A briefing to be composed: what was first seen in the `days` that end with `day`, by default today.

    `top` items are shown in full, the others named. Of `tags` and `keywords` one has to fit. With a `topic` it is for
    those who care about that. It has what belongs to all, and with a `team` of yours what belongs to that.
    """

    day: Day | None = None
    days: int = Field(default=1, ge=1, le=366, strict=True)
    top: int = Field(default=20, ge=1, le=200, strict=True)
    sources: list[Word] = Field(default_factory=list, max_length=200)
    tags: list[Word] = Field(default_factory=list, max_length=50)
    types: list[ItemType] = Field(default_factory=list, max_length=len(ItemType))
    keywords: list[Word] = Field(default_factory=list, max_length=50)
    language: Literal["zh", "en"] = "zh"
    group: GroupBy = "theme"
    topic: Word | None = None
    team: Word | None = None


async def build_briefing_query(app: App, wanted: ComposeRequest, by: Actor) -> BriefingQuery:
    """Return what is asked for; `NotFound` for a team that whoever asks is not in."""
    fields = wanted.model_dump(exclude={"team"})
    for name in ("sources", "tags", "keywords"):
        fields[name] = [word for field in fields[name] if (word := sanitize_text(field).strip())]
    return BriefingQuery(**fields, team_id=await app.teams.resolve(wanted.team, by))


def parse_compose_form(form: QueryParams | FormData, language: str) -> dict[str, Any]:
    """Return the fields of a form as `ComposeRequest` takes them; what is empty is left out."""
    fields: dict[str, Any] = {"language": language}
    for name in _PLAIN_FIELDS:
        if text := str(form.get(name) or "").strip():
            fields[name] = int(text) if name in ("days", "top") and re.fullmatch(r"\d{1,9}", text) else text
    for name, field in _LIST_FIELDS.items():
        fields[field] = [text for value in form.getlist(name) if (text := str(value).strip())]
    words = [_SEPARATORS.split(str(value)) for value in form.getlist("keyword")]
    fields["keywords"] = [word.strip() for some in words for word in some if word.strip()]
    return fields


def build_query_parameters(request: ComposeRequest) -> list[tuple[str, str]]:
    """Return the form's fields for a url that asks for the same."""
    fields = request.model_dump(mode="json", exclude_none=True)
    pairs = [(name, str(fields[name])) for name in _PLAIN_FIELDS if name in fields]
    pairs += [(name, str(value)) for name, field in _LIST_FIELDS.items() for value in fields[field]]
    return pairs + ([("keyword", "、".join(request.keywords))] if request.keywords else [])


async def build_briefing_export(
    app: App, briefing_id: int, format_name: str, *, by: Principal, include_gaps: bool = True
) -> Response:
    """Return a file to be saved, never shown as a page of ours; `UsageError` for an unknown format."""
    briefing = (await app.drafts.get(briefing_id)).briefing
    if not include_gaps:
        briefing = drop_gaps(briefing)
    content = await app.exports.export_briefing(briefing, format_name)
    await app.audit.record(by, AuditAction.BRIEFING_EXPORT, str(briefing_id), format=format_name)
    filename = build_attachment_name(briefing, format_name)
    plain = f"briefing-{briefing.period.until}.{format_name}"
    return build_download_response(content, format_name, filename=filename, ascii_filename=plain)


def build_download_response(content: bytes, format_name: str, *, filename: str, ascii_filename: str) -> Response:
    """Return a file under its name; `ascii_filename` is for browsers that read nothing but ASCII."""
    encoded = quote(filename, safe="", errors="replace")
    headers = {"Content-Disposition": f"attachment; filename=\"{ascii_filename}\"; filename*=UTF-8''{encoded}"}
    return Response(content, media_type=get_format(format_name).content_type, headers=headers)


def describe_files(formats: Iterable[str]) -> dict[str, Any]:
    """Return the OpenAPI `content` of a response that is a file in one of these formats."""
    binary = {"type": "string", "format": "binary"}
    return {
        get_format(name).media_type: {"schema": {"type": "object"} if name == "json" else binary} for name in formats
    }


class BriefingListSchema(BaseModel):
    """A page of the list; `next` is the cursor with which it goes on."""

    briefings: list[BriefingRow]
    next: str | None


class SavedBriefingSchema(BriefingRow):
    """A saved briefing as it stands after its edits; `left_out` are the items that were taken out by hand."""

    query: ComposeRequest
    left_out: list[int]
    briefing: Briefing


class BriefingEditSchema(BriefingEditPatch, extra="forbid", json_schema_extra={"examples": [_EXAMPLE_BRIEFING_EDIT]}):
    """What is wanted of a saved briefing, and the `version` that was seen: another one is a 409.

    What is not named stays. `items` stand in the order that is wanted, each with where it stands (`top`: in full,
    `more`: named, `out`: left out) and its note; those that are not named follow. No text of an item can be changed.
    """

    version: int = Field(ge=1, le=2**31 - 1, strict=True)


class BriefingStartSchema(BaseModel, extra="forbid", json_schema_extra={"examples": [{"language": "zh"}]}):
    """A briefing without items, to collect some in."""

    language: Literal["zh", "en"] = "zh"


class BriefingItemsSchema(BaseModel, extra="forbid", json_schema_extra={"examples": [{"items": [7, 12]}]}):
    """The items that are put into a briefing, or taken out of it."""

    items: list[Annotated[int, Field(ge=1, le=2**31 - 1)]] = Field(min_length=1, max_length=200)


class BriefingAdditionSchema(BaseModel):
    """The items that the briefing did not show before, and its title."""

    added: list[int]
    title: str


class BriefingSendSchema(BaseModel, extra="forbid", json_schema_extra={"examples": [{"target": "weekly"}]}):
    """Where a briefing is to be sent: the name of a target.

    Without `include_gaps` it is the copy for a client, null is as the target wants it. With `test_to` it goes to that
    mail address alone.
    """

    target: str = Field(min_length=1, max_length=40)
    include_gaps: bool | None = Field(default=None, strict=True)
    test_to: str | None = Field(default=None, min_length=3, max_length=320)


class BriefingSendAllSchema(BaseModel, extra="forbid", json_schema_extra={"examples": [{"targets": ["weekly"]}]}):
    """Where a briefing is to be sent: the names of targets, each of which gets a delivery of its own.

    Without `include_gaps` it is the copy for a client, null is as each target wants it.
    """

    targets: list[Annotated[str, StringConstraints(min_length=1, max_length=40)]] = Field(min_length=1, max_length=50)
    include_gaps: bool | None = Field(default=None, strict=True)


class BriefingSentSchema(BaseModel):
    """One delivery for each target, in the order in which they were named."""

    deliveries: list[DeliverySchema]


class KeptBriefingSchema(MessageModel):
    """The briefing that is kept of a scope: null before it was composed for the first time.

    `new_items` were first seen in its period since then.
    """

    stage: ComposeStage
    is_composing: bool
    error: Message | None = None
    composed_at: dt.datetime | None = None
    new_items: int = 0
    briefing: Briefing | None = None


async def _build_kept(app: App, query: BriefingQuery) -> KeptBriefingSchema:
    kept = await app.kept_briefings.get(query)
    if kept is None:
        raise NotFound("briefing.not_kept")
    shown = await asyncio.to_thread(show_initially, kept.briefing, query) if kept.briefing is not None else None
    return KeptBriefingSchema(
        stage=kept.stage,
        is_composing=kept.is_composing,
        error=kept.error,
        composed_at=kept.composed_at,
        new_items=kept.new_items,
        briefing=shown,
    )


@router.get("", summary="List the saved briefings")
async def list_briefings(
    app: AppDep, _: Reader, *, archived: bool = False, limit: Limit = 50, cursor: Cursor = None
) -> BriefingListSchema:
    """Newest first, without what stands in them; `archived` lists those that were put away instead."""
    rows = await app.drafts.list(is_archived=archived, before_id=decode_id(cursor), limit=limit + 1)
    page, following = cut_page(rows, limit, lambda row: row.id)
    return BriefingListSchema(briefings=page, next=following)


@router.post("", summary="Compose a briefing and keep it", status_code=201, dependencies=[SPENDING])
async def create_briefing(
    app: AppDep, principal: Editor, wanted: ComposeRequest, response: Response
) -> SavedBriefingSchema:
    """It can be put in order, exported and sent from then on."""
    draft = await app.drafts.save(await build_briefing_query(app, wanted, principal), by=principal)
    response.headers["Location"] = f"/api/v1/briefings/{draft.row.id}"
    return _build_saved_briefing(draft)


@router.post("/blank", summary="Start a briefing without items", status_code=201)
async def create_blank_briefing(
    app: AppDep, principal: Editor, wanted: BriefingStartSchema, response: Response
) -> SavedBriefingSchema:
    """Items are added to it by `POST /api/v1/briefings/{briefing_id}/items`."""
    draft = await app.drafts.start(language=wanted.language, by=principal)
    response.headers["Location"] = f"/api/v1/briefings/{draft.row.id}"
    return _build_saved_briefing(draft)


@router.post("/{briefing_id}/items", summary="Add items to a briefing")
async def add_briefing_items(
    app: AppDep, principal: Editor, briefing_id: BriefingId, wanted: BriefingItemsSchema
) -> BriefingAdditionSchema:
    """Each before the first item of a lower tier. 409 where the briefing is archived, or edited at the same moment."""
    added = await app.drafts.add_items(briefing_id, wanted.items, by=principal)
    return BriefingAdditionSchema(added=added, title=(await app.drafts.get_row(briefing_id)).title)


@router.post("/{briefing_id}/items/remove", status_code=204, summary="Take items out of a briefing")
async def remove_briefing_items(
    app: AppDep, principal: Editor, briefing_id: BriefingId, wanted: BriefingItemsSchema
) -> None:
    """Those that are not in it are passed over."""
    await app.drafts.remove_items(briefing_id, wanted.items, by=principal)


@router.post("/preview", summary="Compose a briefing without keeping it", dependencies=[SPENDING])
async def preview_briefing(app: AppDep, principal: Reader, wanted: ComposeRequest) -> Briefing:
    """What a briefing would say now; the pages show it until it is composed anew."""
    query = await build_briefing_query(app, wanted, principal)
    composed = await app.kept_briefings.compose(query)
    return await asyncio.to_thread(show_initially, composed, query)


@router.post("/kept", summary="Compose a briefing in the background", status_code=202, dependencies=[SPENDING])
async def start_kept_briefing(app: AppDep, principal: Reader, wanted: ComposeRequest) -> KeptBriefingSchema:
    """Each scope is composed once and kept; ask again with `POST /api/v1/briefings/kept/state` to see how far it is."""
    query = await build_briefing_query(app, wanted, principal)
    await app.kept_briefings.start(query)
    return await _build_kept(app, query)


@router.post("/kept/state", summary="Look at a briefing that is kept")
async def get_kept_briefing(app: AppDep, principal: Reader, wanted: ComposeRequest) -> KeptBriefingSchema:
    """How far it is, and the briefing that was composed last; nothing is composed for it. 404 where nobody asked."""
    return await _build_kept(app, await build_briefing_query(app, wanted, principal))


@router.get("/{briefing_id:int}", summary="Read a saved briefing")
async def get_briefing(app: AppDep, _: Reader, briefing_id: BriefingId) -> SavedBriefingSchema:
    """As it stands after its edits."""
    return _build_saved_briefing(await app.drafts.get(briefing_id))


@router.patch("/{briefing_id:int}", summary="Put a briefing in order")
async def update_briefing(
    app: AppDep, principal: Editor, briefing_id: BriefingId, wanted: BriefingEditSchema
) -> SavedBriefingSchema:
    """409 where somebody else edited it since that version, or where it is archived."""
    changes = BriefingEditPatch.model_validate(wanted.model_dump(exclude={"version"}))
    draft = await app.drafts.update(briefing_id, changes, version=wanted.version, by=principal)
    return _build_saved_briefing(draft)


@router.delete("/{briefing_id:int}", summary="Archive a briefing")
async def archive_briefing(app: AppDep, principal: Editor, briefing_id: BriefingId) -> BriefingRow:
    """Put it out of the way; nothing is deleted."""
    return await app.drafts.set_archived(briefing_id, by=principal)


@router.post("/{briefing_id}/unarchive", summary="Take a briefing out of the archive")
async def unarchive_briefing(app: AppDep, principal: Editor, briefing_id: BriefingId) -> BriefingRow:
    """It stands in the list again."""
    return await app.drafts.set_archived(briefing_id, by=principal, is_archived=False)


@router.get(
    "/{briefing_id}/export",
    summary="Export a briefing",
    response_class=Response,
    responses={200: {"description": "The document.", "content": describe_files(BRIEFING_FORMATS)}},
)
async def export_briefing(
    app: AppDep,
    principal: Reader,
    briefing_id: BriefingId,
    form: Annotated[BriefingFormat, Query(alias="format")],
    *,
    gaps: bool = True,
) -> Response:
    """The document, to be saved; a pdf takes a browser on the server, and is a 503 without one.

    Without `gaps` it is the copy for a client, which does not say what could not be seen.
    """
    return await build_briefing_export(app, briefing_id, form, by=principal, include_gaps=gaps)


@router.post("/{briefing_id}/send", summary="Send a briefing to a target", status_code=202)
async def send_briefing(
    app: AppDep, principal: Editor, briefing_id: BriefingId, wanted: BriefingSendSchema
) -> DeliverySchema:
    """As it stands now: later edits do not reach it. `GET /api/v1/deliveries` says when it has arrived."""
    draft = await app.drafts.get(briefing_id)
    return await app.deliveries.send_saved(
        wanted.target, draft, by=principal, include_gaps=wanted.include_gaps, test_to=wanted.test_to
    )


@router.post("/{briefing_id}/deliveries", summary="Send a briefing to several targets", status_code=202)
async def send_briefing_to_all(
    app: AppDep, principal: Editor, briefing_id: BriefingId, wanted: BriefingSendAllSchema
) -> BriefingSentSchema:
    """The same edition to each. The answer says how each delivery stands; 404 for an unknown target sends nothing."""
    draft = await app.drafts.get(briefing_id)
    sent = await app.deliveries.send_saved_to_all(wanted.targets, draft, by=principal, include_gaps=wanted.include_gaps)
    return BriefingSentSchema(deliveries=list(sent))


def _build_saved_briefing(draft: BriefingDraft) -> SavedBriefingSchema:
    asked = draft.query.model_dump(include=set(ComposeRequest.model_fields), exclude_none=True)
    return SavedBriefingSchema(
        **draft.row.model_dump(),
        query=ComposeRequest.model_validate(asked),
        briefing=draft.briefing,
        left_out=[item.id for item in draft.edit.items if item.standing == "out"],
    )


class DeliveryListSchema(BaseModel):
    """A page of the log; `next` is the cursor with which it goes on."""

    deliveries: list[DeliverySchema]
    next: str | None


class TargetTrialSchema(MessageModel):
    """Whether a test was accepted; `problem` says why not."""

    is_sent: bool
    problem: Message | None = None


class TargetListSchema(BaseModel):
    """All targets, in the order of the settings."""

    targets: list[TargetSchema]
    next: None = None


@delivery_router.get("/deliveries", summary="List the deliveries")
async def list_deliveries(
    app: AppDep,
    principal: Reader,
    target: Annotated[str | None, Query(max_length=40)] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> DeliveryListSchema:
    """Newest first, what was planned, asked for, raised and tried out; of one target where it is named."""
    before = decode_cursor(cursor, dt.datetime, str)
    rows = await app.deliveries.list(by=principal, target=target, before=before, limit=limit + 1)
    page, following = cut_page(rows, limit, lambda row: (row.planned_at, row.id))
    return DeliveryListSchema(deliveries=page, next=following)


@delivery_router.post("/deliveries/{delivery_id}/retry", summary="Try a failed delivery again", status_code=202)
async def retry_delivery(
    app: AppDep, principal: Editor, delivery_id: Annotated[str, Path(max_length=100)]
) -> DeliverySchema:
    """The same briefing under the same key; 409 for one that has not failed."""
    return await app.deliveries.retry(delivery_id, wait=False, by=principal)


@delivery_router.get("/targets", summary="List the delivery targets")
async def list_targets(app: AppDep, _: Admin) -> TargetListSchema:
    """What goes where, when next, and how the last delivery fared; no secret of an address."""
    return TargetListSchema(targets=await app.targets.list())


@delivery_router.post("/targets/{name}/test", summary="Send a test to a target")
async def send_test_to_target(
    app: AppDep, principal: Admin, name: Annotated[str, Path(max_length=40)]
) -> DeliverySchema:
    """Sent at once and once; the answer says what became of it."""
    return await app.deliveries.send_test(name, by=principal)


@delivery_router.post("/targets/try", summary="Send a test to a target that is not stored")
async def try_target(app: AppDep, principal: Admin, target: TargetForm) -> TargetTrialSchema:
    """Nothing is kept but the audit entry. `url` may be the webhook address that a chat service shows."""
    problem = await app.deliveries.try_target(app.target_editing.build("test", target), by=principal)
    return TargetTrialSchema(is_sent=problem is None, problem=problem)


@delivery_router.put("/targets/{name}", summary="Add or change a delivery target")
async def put_target(app: AppDep, principal: Admin, name: TargetName, target: TargetForm) -> TargetChange:
    """As a whole, but for `url` and `secret`: where they are null, those that it has stay."""
    return await app.target_editing.put(name, target, by=principal)


@delivery_router.delete("/targets/{name}", status_code=204, summary="Remove a delivery target")
async def delete_target(app: AppDep, principal: Admin, name: TargetName) -> Response:
    """Nothing goes there any more; the log keeps what did."""
    await app.target_editing.remove(name, by=principal)
    return Response(status_code=204)
