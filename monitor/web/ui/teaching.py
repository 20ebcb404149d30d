"""The pages on which people show the list of a section: lists and links of its page as data, then what is read."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Response

from monitor.bootstrap import App
from monitor.errors import UsageError, WorkFailed
from monitor.i18n.message import Message
from monitor.services.audit import Actor
from monitor.web.api.sources import SourceId
from monitor.web.auth import RUN_SCOPE, AppDep, Editor
from monitor.web.ui.rendering import PageRenderer, Renderer

_MAX_PREVIEW_ROWS = 100
SectionUrl = Annotated[str, Query(min_length=1, max_length=2000)]
FormUrl = Annotated[str, Form(max_length=2000)]
FormUrls = Annotated[list[FormUrl], Form()]

router = APIRouter(prefix="/sources/{source_id}/teach")


@router.get("", dependencies=[RUN_SCOPE])
async def choose(app: AppDep, renderer: Renderer, principal: Editor, source_id: SourceId, url: SectionUrl) -> Response:
    """Show the lists and links of a section's page."""
    return await _render_choice(app, renderer, source_id, url, by=principal)


@router.post("", dependencies=[RUN_SCOPE])
async def teach(
    app: AppDep,
    renderer: Renderer,
    principal: Editor,
    source_id: SourceId,
    url: FormUrl = "",
    example: FormUrls = [],  # noqa: B006 -- read into the schema, never changed
    save: Annotated[str, Form(max_length=10)] = "",
) -> Response:
    """Show what would be read; once that was seen (`save`), keep it."""
    try:
        taught = await app.teaching.teach(source_id, url, example, by=principal, save=bool(save))
    except UsageError as error:
        return await _render_choice(app, renderer, source_id, url, by=principal, error=error.message, picked=example)
    if taught.is_saved:
        return renderer.redirect(f"/sources/{source_id}", notice="section_taught")
    return renderer.render(
        "sources/taught.html",
        source=await app.sources.get_by_id(source_id),
        taught=taught,
        rows=taught.rows[:_MAX_PREVIEW_ROWS],
    )


@router.post("/forget")
async def forget(
    app: AppDep, renderer: Renderer, principal: Editor, source_id: SourceId, url: FormUrl = ""
) -> Response:
    await app.teaching.forget(source_id, url, by=principal)
    return renderer.redirect(f"/sources/{source_id}", notice="section_forgotten")


async def _render_choice(
    app: App,
    renderer: PageRenderer,
    source_id: int,
    url: str,
    *,
    by: Actor,
    error: Message | None = None,
    picked: list[str] | None = None,
) -> Response:
    look, unseen = None, None
    try:
        look = await app.teaching.look(source_id, url, by=by)
    except WorkFailed as failure:
        unseen = failure.message
    return renderer.render(
        "sources/teach.html",
        status=200 if error is None else 400,
        source=await app.sources.get_by_id(source_id),
        url=url,
        look=look,
        error=error or unseen,
        picked=picked or [],
    )
