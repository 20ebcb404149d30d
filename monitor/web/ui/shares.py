"""The page of a briefing that is shared by a link, which needs no account, and the forms that make and revoke links."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Form, Path, Request, Response

from monitor.briefing.compose import Briefing
from monitor.briefing.item import get_briefing_messages
from monitor.briefing.layout import build_document
from monitor.db.tables.people import BriefingShare
from monitor.exports.document import Span
from monitor.exports.html import render_html
from monitor.services.shares import DEFAULT_SHARE_DAYS, MAX_SHARE_LABEL_CHARS
from monitor.web.api.briefings import BriefingId
from monitor.web.api.shares import ShareId, build_share_url
from monitor.web.auth import AppDep, Editor
from monitor.web.middleware import Problem, get_client_address
from monitor.web.ui.briefings import render_saved_briefing
from monitor.web.ui.rendering import Renderer

_MAX_TOKEN_CHARS = 64
_SHARED_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}
_NOT_INDEXED = {name: value for name, value in _SHARED_HEADERS.items() if name != "Content-Security-Policy"}

router = APIRouter()


@router.get("/shared/{token}")
async def read_shared(
    app: AppDep, renderer: Renderer, request: Request, token: Annotated[str, Path(max_length=_MAX_TOKEN_CHARS)]
) -> Response:
    if app.shares.is_held_off(get_client_address(request)):
        raise Problem(429, "briefing.share_too_often", headers={"Retry-After": "60", **_NOT_INDEXED})
    found = await app.shares.open(token)
    if found.briefing is None:
        page = renderer.render("briefings/share_ended.html", section="", status=410, share=found.share)
        page.headers.update(_NOT_INDEXED)
        return page
    content = await asyncio.to_thread(_render_shared, found.briefing, found.share)
    return Response(content, media_type="text/html; charset=utf-8", headers=_SHARED_HEADERS)


def _render_shared(briefing: Briefing, share: BriefingShare) -> bytes:
    """Return the briefing as a page of its own, which says until when the link is good."""
    document = build_document(briefing)
    until = share.expires_at.astimezone(briefing.generated_at.tzinfo)
    note = get_briefing_messages(briefing.language)("shared_until", until=f"{until:%Y-%m-%d %H:%M}")
    return render_html(document.model_copy(update={"colophon": [*document.colophon, Span(text=note)]}))


@router.post("/briefings/{briefing_id}/shares")
async def share(
    app: AppDep,
    renderer: Renderer,
    request: Request,
    principal: Editor,
    briefing_id: BriefingId,
    days: Annotated[int, Form()] = DEFAULT_SHARE_DAYS,
    label: Annotated[str, Form(max_length=MAX_SHARE_LABEL_CHARS)] = "",
) -> Response:
    """Make a link, and show it this once."""
    _, token = await app.shares.create(briefing_id, days=days, label=label, by=principal)
    url = build_share_url(app, request, token)
    return await render_saved_briefing(app, renderer, briefing_id, by=principal, share_url=url)


@router.post("/briefings/{briefing_id}/shares/{share_id}/revoke")
async def revoke(
    app: AppDep, renderer: Renderer, principal: Editor, briefing_id: BriefingId, share_id: ShareId
) -> Response:
    await app.shares.revoke(briefing_id, share_id, by=principal)
    return renderer.redirect(f"/briefings/{briefing_id}#shares", notice="briefing_unshared")
