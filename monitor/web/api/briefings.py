"""Briefings over HTTP: composed, kept, put in order, exported, sent."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints
from starlette.datastructures import FormData, QueryParams

from monitor.bootstrap import App
from monitor.briefing.compose import Briefing, GroupBy
from monitor.briefing.deliver import build_attachment_name
from monitor.briefing.editing import BriefingEditPatch
from monitor.db.queries.briefings import BriefingRow
from monitor.db.sessions import sanitize_text
from monitor.exports.registry import BRIEFING_FORMATS, BriefingFormat, get_format
from monitor.services.briefings import BriefingQuery, ExportService
from monitor.services.deliveries import DeliverySchema
from monitor.services.drafts import BriefingDraft
from monitor.vocabulary import ItemType
from monitor.web.api.cursors import cut_page, decode_id
from monitor.web.api.search import Day
from monitor.web.auth import Editor, Reader
from monitor.web.problems import PROBLEM_RESPONSES

_SEPARATORS = re.compile(r"[,，、;；\n]+")
_LIST_FIELDS = {"source": "sources", "tag": "tags", "type": "types"}
Word = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class ComposeRequest(BaseModel):
    """A briefing to be composed: what was first seen in the `days` that end with `day`, by default today.

    `top` items are shown in full, the others named. Of `tags` and `keywords` one has to fit.
    """

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"days": 7, "top": 20, "sources": [], "language": "zh"}]}
    )

    day: Day | None = None
    days: int = Field(default=1, ge=1, le=366, strict=True)
    top: int = Field(default=20, ge=1, le=200, strict=True)
    sources: list[Word] = Field(default_factory=list, max_length=200)
    tags: list[Word] = Field(default_factory=list, max_length=50)
    types: list[ItemType] = Field(default_factory=list, max_length=len(ItemType))
    keywords: list[Word] = Field(default_factory=list, max_length=50)
    language: Literal["zh", "en"] = "zh"
    group: GroupBy = "theme"

    def to_query(self) -> BriefingQuery:
        """As the use cases take it."""
        fields = self.model_dump()
        for name in ("sources", "tags", "keywords"):
            fields[name] = [word for field in fields[name] if (word := sanitize_text(field).strip())]
        return BriefingQuery(**fields)


def parse_compose_form(form: QueryParams | FormData, language: str) -> dict[str, Any]:
    """The fields of a form as `ComposeRequest` takes them; what is empty is left out."""
    fields: dict[str, Any] = {"language": language}
    for name in ("day", "days", "top", "language", "group"):
        if text := str(form.get(name) or "").strip():
            fields[name] = int(text) if name in ("days", "top") and re.fullmatch(r"\d{1,9}", text) else text
    for name, field in _LIST_FIELDS.items():
        fields[field] = [text for value in form.getlist(name) if (text := str(value).strip())]
    words = [_SEPARATORS.split(str(value)) for value in form.getlist("keyword")]
    fields["keywords"] = [word.strip() for some in words for word in some if word.strip()]
    return fields


def build_query_parameters(request: ComposeRequest) -> list[tuple[str, str]]:
    """The form's fields again, for a url that asks for the same."""
    fields = request.model_dump(mode="json", exclude_none=True)
    names: tuple[str, ...] = ("day", "days", "top", "language", "group")
    pairs = [(name, str(fields[name])) for name in names if name in fields]
    pairs += [(name, str(value)) for name, field in _LIST_FIELDS.items() for value in fields[field]]
    return pairs + ([("keyword", "、".join(request.keywords))] if request.keywords else [])


async def export_briefing(briefing: Briefing, format_name: str, export_service: ExportService) -> Response:
    """The file, to be saved and never to be shown as a page of ours; `UsageError` for a format that is not known."""
    content = await export_service.export_briefing(briefing, format_name)
    plain = f"briefing-{briefing.period.until}.{format_name}"
    return build_download_response(
        content, format_name, filename=build_attachment_name(briefing, format_name), ascii_filename=plain
    )


def build_download_response(content: bytes, format_name: str, *, filename: str, ascii_filename: str) -> Response:
    """The file under its name; `plain` is the name for browsers that read nothing but ASCII."""
    disposition = (
        f"attachment; filename=\"{ascii_filename}\"; filename*=UTF-8''{quote(filename, safe='', errors='replace')}"
    )
    content_type = get_format(format_name).content_type
    return Response(content, media_type=content_type, headers={"Content-Disposition": disposition})


def describe_files(formats: Iterable[str]) -> dict[str, Any]:
    """The OpenAPI `content` of a response that is a file in one of these formats."""
    return {
        get_format(name).media_type: {
            "schema": {"type": "object"} if name == "json" else {"type": "string", "format": "binary"}
        }
        for name in formats
    }


BriefingId = Annotated[int, Path(ge=1, le=2**31 - 1)]
_EXAMPLE_ITEMS: list[JsonValue] = [
    {"id": 12, "standing": "top", "note": "与我方项目有关"},
    {"id": 7, "standing": "out"},
]


class BriefingListSchema(BaseModel):
    """A page of the list; `next` is the cursor with which it goes on."""

    briefings: list[BriefingRow]
    next: str | None


class SavedBriefingSchema(BriefingRow):
    """A saved briefing as it stands after its edits; `left_out` are the items that were taken out by hand."""

    query: ComposeRequest
    left_out: list[int]
    briefing: Briefing


class BriefingEditSchema(BriefingEditPatch):
    """What is wanted of a saved briefing, and the `version` that was seen: another one is a 409.

    What is not named stays. `items` stand in the order that is wanted, each with where it stands (`top`: in full,
    `more`: named, `out`: left out) and its note; those that are not named follow. No text of an item can be changed.
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"version": 1, "title": "本周政策要点", "group": "none", "items": _EXAMPLE_ITEMS}]
        },
    )

    version: int = Field(ge=1, le=2**31 - 1, strict=True)


class BriefingSendSchema(BaseModel):
    """Where a briefing is to be sent: the name of a target."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"target": "weekly"}]})

    target: str = Field(min_length=1, max_length=40)


def router(app: App) -> APIRouter:
    routes = APIRouter(prefix="/api/briefings", tags=["briefings"], responses=PROBLEM_RESPONSES)
    _add_all(routes, app)
    _add_one(routes, app)
    return routes


def _add_all(routes: APIRouter, app: App) -> None:
    @routes.get("", summary="List the saved briefings")
    async def briefings(
        _: Reader,
        *,
        archived: bool = False,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
        cursor: Annotated[str | None, Query()] = None,
    ) -> BriefingListSchema:
        """Newest first, without what stands in them; `archived` lists those that were put away instead."""
        rows = await app.drafts.list(is_archived=archived, before_id=decode_id(cursor), limit=limit + 1)
        page, following = cut_page(rows, limit, lambda row: row.id)
        return BriefingListSchema(briefings=page, next=following)

    @routes.post("", summary="Compose a briefing and keep it", status_code=201)
    async def compose(principal: Editor, wanted: ComposeRequest, response: Response) -> SavedBriefingSchema:
        """It can be put in order, exported and sent from then on."""
        draft = await app.drafts.save(wanted.to_query(), by=principal.actor)
        response.headers["Location"] = f"/api/briefings/{draft.row.id}"
        return _build_saved_briefing(draft)

    @routes.post("/preview", summary="Compose a briefing without keeping it")
    async def preview(_: Reader, wanted: ComposeRequest) -> Briefing:
        """What a briefing would say now."""
        return (await app.drafts.compose_preview(wanted.to_query())).briefing


def _add_one(routes: APIRouter, app: App) -> None:
    @routes.get("/{briefing_id:int}", summary="Read a saved briefing")
    async def read(_: Reader, briefing_id: BriefingId) -> SavedBriefingSchema:
        """As it stands after its edits."""
        return _build_saved_briefing(await app.drafts.get(briefing_id))

    @routes.patch("/{briefing_id:int}", summary="Put a briefing in order")
    async def edit(principal: Editor, briefing_id: BriefingId, wanted: BriefingEditSchema) -> SavedBriefingSchema:
        """409 where somebody else edited it since that version, or where it is archived."""
        changes = BriefingEditPatch.model_validate(wanted.model_dump(exclude={"version"}))
        draft = await app.drafts.update(briefing_id, changes, version=wanted.version, by=principal.actor)
        return _build_saved_briefing(draft)

    @routes.delete("/{briefing_id:int}", summary="Archive a briefing")
    async def archive(principal: Editor, briefing_id: BriefingId) -> BriefingRow:
        """Put it out of the way; nothing is deleted."""
        return await app.drafts.set_archived(briefing_id, by=principal.actor)

    @routes.post("/{briefing_id}/unarchive", summary="Take a briefing out of the archive")
    async def unarchive(principal: Editor, briefing_id: BriefingId) -> BriefingRow:
        """It stands in the list again."""
        return await app.drafts.set_archived(briefing_id, by=principal.actor, is_archived=False)

    @routes.get(
        "/{briefing_id}/export",
        summary="Export a briefing",
        response_class=Response,
        responses={200: {"description": "The document.", "content": describe_files(BRIEFING_FORMATS)}},
    )
    async def export(
        _: Reader, briefing_id: BriefingId, form: Annotated[BriefingFormat, Query(alias="format")]
    ) -> Response:
        """The document, to be saved; a pdf takes a browser on the server, and is a 503 without one."""
        return await export_briefing((await app.drafts.get(briefing_id)).briefing, form, app.exports)

    @routes.post("/{briefing_id}/send", summary="Send a briefing to a target", status_code=202)
    async def send(principal: Editor, briefing_id: BriefingId, wanted: BriefingSendSchema) -> DeliverySchema:
        """As it stands now: later edits do not reach it. `GET /api/deliveries` says when it has arrived."""
        draft = await app.drafts.get(briefing_id)
        return await app.deliveries.send_saved(wanted.target, draft, by=principal.actor)


def _build_saved_briefing(draft: BriefingDraft) -> SavedBriefingSchema:
    asked = draft.query.model_dump(exclude={"previous"})
    return SavedBriefingSchema(
        **draft.row.model_dump(),
        query=ComposeRequest.model_validate(asked),
        briefing=draft.briefing,
        left_out=[item.id for item in draft.edit.items if item.standing == "out"],
    )
