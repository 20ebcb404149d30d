"""The feeds of a person: their addresses, and the keys under which they are read without signing in."""

from typing import Annotated

from fastapi import APIRouter, Form, Path, Request, Response

from monitor.bootstrap import App
from monitor.errors import Conflict, UsageError
from monitor.i18n.message import Message
from monitor.services.feed_keys import MAX_FEED_KEY_LABEL_CHARS
from monitor.web.api.feeds import NewFeedKeySchema, list_feeds, make_feed_key
from monitor.web.api.people import require_session
from monitor.web.auth import AppDep, Principal, Reader
from monitor.web.ui.rendering import PageRenderer, Renderer

router = APIRouter()


@router.get("/account/feeds")
async def feeds(app: AppDep, renderer: Renderer, principal: Reader) -> Response:
    require_session(principal)
    return await _render_feeds(app, renderer, principal)


@router.post("/account/feeds")
async def create_key(
    app: AppDep,
    renderer: Renderer,
    request: Request,
    principal: Reader,
    label: Annotated[str, Form(max_length=MAX_FEED_KEY_LABEL_CHARS)] = "",
) -> Response:
    """Make private addresses, and show them this once."""
    require_session(principal)
    try:
        made = await make_feed_key(app, request, principal, label)
    except (Conflict, UsageError) as error:
        return await _render_feeds(app, renderer, principal, error=error.message)
    return await _render_feeds(app, renderer, principal, made=made)


@router.post("/account/feeds/{key_id}/revoke")
async def revoke_key(
    app: AppDep, renderer: Renderer, principal: Reader, key_id: Annotated[int, Path(ge=1, le=2**31 - 1)]
) -> Response:
    require_session(principal)
    await app.feed_keys.revoke(key_id, by=principal)
    return renderer.redirect("/account/feeds#keys", notice="feed_key_revoked")


async def _render_feeds(
    app: App,
    renderer: PageRenderer,
    principal: Principal,
    *,
    made: NewFeedKeySchema | None = None,
    error: Message | None = None,
) -> Response:
    return renderer.render(
        "people/feeds.html",
        status=400 if error else 200,
        feeds=[
            (feed, renderer.build_url(f"/feeds/{feed.path}"))
            for feed in await list_feeds(app, principal, renderer.language)
        ],
        keys=await app.feed_keys.list(by=principal),
        made=made,
        error=error,
    )
