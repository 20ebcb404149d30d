"""Links to saved briefings for people without an account, over HTTP."""

import datetime as dt
from typing import Annotated

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from monitor.bootstrap import App
from monitor.db.tables.people import BriefingShare
from monitor.services.cursors import cut_page, decode_id
from monitor.services.shares import DEFAULT_SHARE_DAYS, MAX_SHARE_DAYS, MAX_SHARE_LABEL_CHARS
from monitor.web.api.briefings import BriefingId
from monitor.web.api.cursors import Cursor, Limit
from monitor.web.auth import AppDep, Editor
from monitor.web.problems import PROBLEM_RESPONSES

ShareId = Annotated[int, Path(ge=1, le=2**31 - 1)]

router = APIRouter(prefix="/api/v1/briefings", tags=["briefings"], responses=PROBLEM_RESPONSES)


class BriefingShareForm(BaseModel, extra="forbid", json_schema_extra={"examples": [{"days": 14, "label": "ACME"}]}):
    """For how many days a link is good, and for whom it is made."""

    days: int = Field(default=DEFAULT_SHARE_DAYS, ge=1, le=MAX_SHARE_DAYS, strict=True)
    label: str = Field(default="", max_length=MAX_SHARE_LABEL_CHARS)


class BriefingShareSchema(BaseModel):
    """A link; it is open until `expires_at`, or until it was revoked."""

    id: int
    label: str
    created_by: str
    created_at: dt.datetime
    expires_at: dt.datetime
    revoked_at: dt.datetime | None
    is_open: bool


class NewBriefingShareSchema(BriefingShareSchema):
    """A new link with its address, which is shown this once."""

    url: str


class BriefingShareListSchema(BaseModel):
    """Links to a briefing, newest first, and the cursor with which the list goes on."""

    shares: list[BriefingShareSchema]
    next: str | None


def build_share_schema(share: BriefingShare, now: dt.datetime) -> BriefingShareSchema:
    is_open = share.revoked_at is None and now < share.expires_at
    return BriefingShareSchema.model_validate({**share.model_dump(), "is_open": is_open})


def build_share_url(app: App, request: Request, token: str) -> str:
    """Return the whole address of a link: below the public address where one is set."""
    root = app.settings.web.public_url or f"{request.url.scheme}://{request.url.netloc}"
    return f"{root.rstrip('/')}/shared/{token}"


@router.get("/{briefing_id}/shares", summary="List the links to a briefing")
async def list_briefing_shares(
    app: AppDep, principal: Editor, briefing_id: BriefingId, limit: Limit = 50, cursor: Cursor = None
) -> BriefingShareListSchema:
    """Newest first, with those that have ended; their addresses are not on record."""
    now = app.clock.now()
    rows = await app.shares.list(briefing_id, before_id=decode_id(cursor), limit=limit + 1, by=principal)
    page, following = cut_page(rows, limit, lambda row: row.id)
    return BriefingShareListSchema(shares=[build_share_schema(row, now) for row in page], next=following)


@router.post("/{briefing_id}/shares", summary="Make a link to a briefing", status_code=201)
async def create_briefing_share(
    app: AppDep, principal: Editor, request: Request, briefing_id: BriefingId, wanted: BriefingShareForm
) -> NewBriefingShareSchema:
    """Whoever has it reads the briefing as it stands, without an account, until it expires or is revoked."""
    share, token = await app.shares.create(briefing_id, days=wanted.days, label=wanted.label, by=principal)
    schema = build_share_schema(share, app.clock.now())
    return NewBriefingShareSchema(**schema.model_dump(), url=build_share_url(app, request, token))


@router.delete("/{briefing_id}/shares/{share_id}", status_code=204, summary="Revoke a link to a briefing")
async def revoke_briefing_share(app: AppDep, principal: Editor, briefing_id: BriefingId, share_id: ShareId) -> None:
    """It shows nothing from then on."""
    await app.shares.revoke(briefing_id, share_id, by=principal)
