"""The pages of the catalogue: search it, choose bodies, and see how adding them goes."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from monitor.errors import UsageError
from monitor.i18n.message import Message
from monitor.services.cursors import decode_id, encode_cursor
from monitor.services.schedules import DEFAULT_SCHEDULE
from monitor.services.sources.catalogue import MAX_ADDED_BODIES
from monitor.web.api.cursors import build_next_url
from monitor.web.auth import RUN_SCOPE, AppDep, Editor, Reader
from monitor.web.ui.rendering import FilterText, PageRenderer, Renderer
from monitor.web.ui.schedules import parse_schedule_fields

_PAGE_SIZE = 50
AdditionId = Annotated[str, Path(min_length=1, max_length=40)]

router = APIRouter(prefix="/sources/catalogue")


@router.get("")
async def search(
    app: AppDep,
    renderer: Renderer,
    _: Reader,
    q: FilterText = "",
    country: Annotated[str, Query(max_length=100)] = "",
    topic: Annotated[str, Query(max_length=100)] = "",
    cursor: str = "",
) -> Response:
    return await _render_catalogue(app, renderer, {"q": q, "country": country, "topic": topic}, cursor=cursor)


@router.post("/add", dependencies=[RUN_SCOPE])
async def add(app: AppDep, renderer: Renderer, request: Request, principal: Editor) -> Response:
    form = await request.form()
    ids, schedule = [str(value) for value in form.getlist("ids")], parse_schedule_fields(form)
    team = str(form.get("team") or "")
    try:
        team_id = await app.teams.resolve(team, principal)
        addition = app.catalogue.start_adding(ids, schedule=schedule, team_id=team_id, by=principal)
    except UsageError as error:
        asked = {name: str(form.get(name) or "")[:200] for name in ("q", "country", "topic")}
        return await _render_catalogue(
            app, renderer, asked, chosen=ids, schedule=schedule, team=team, error=error.message
        )
    return renderer.redirect(f"/sources/catalogue/additions/{addition.id}")


@router.get("/additions/{addition_id}")
async def show_addition(app: AppDep, renderer: Renderer, _: Editor, addition_id: AdditionId) -> Response:
    return renderer.render("sources/addition.html", addition=app.catalogue.get_addition(addition_id))


@router.get("/additions/{addition_id}/steps")
async def steps(app: AppDep, renderer: Renderer, _: Editor, addition_id: AdditionId) -> Response:
    """Render the part of the page that changes while bodies are added; a header says whether all are done."""
    addition = app.catalogue.get_addition(addition_id)
    part = renderer.render("sources/addition_steps.html", addition=addition)
    part.headers["X-Trial-State"] = addition.state
    return part


@router.post("/additions/{addition_id}/stop")
async def stop(app: AppDep, renderer: Renderer, _: Editor, addition_id: AdditionId) -> Response:
    await app.catalogue.cancel_addition(addition_id)
    return renderer.redirect(f"/sources/catalogue/additions/{addition_id}")


async def _render_catalogue(
    app: AppDep,
    renderer: PageRenderer,
    asked: dict[str, str],
    *,
    cursor: str = "",
    chosen: list[str] | None = None,
    schedule: str | None = DEFAULT_SCHEDULE,
    team: str = "",
    error: Message | None = None,
) -> Response:
    service, offset = app.catalogue, max(0, decode_id(cursor) or 0)
    found = await service.search(
        asked["q"], country=asked["country"], topic=asked["topic"], limit=_PAGE_SIZE, offset=offset
    )
    end = offset + len(found.bodies)
    following = encode_cursor(end) if end < found.total else None
    return renderer.render(
        "sources/catalogue.html",
        status=400 if error else 200,
        found=found,
        asked=asked,
        chosen=chosen or [],
        schedule=schedule,
        team=team,
        error=error,
        max_bodies=MAX_ADDED_BODIES,
        countries=service.list_countries(renderer.language),
        topics={topic.slug: topic.get_label(renderer.language) for topic in service.topics},
        next_url=build_next_url("/sources/catalogue", asked, following),
    )
