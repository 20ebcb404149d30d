"""Teams on the desk: their section of the page about people, and what belongs to which."""

from typing import Annotated

from fastapi import APIRouter, Form, Response

from monitor.services.teams import TeamSubject
from monitor.web.auth import Admin, AppDep, Reader
from monitor.web.middleware import sanitize_redirect_path
from monitor.web.ui.rendering import FormText, Renderer

router = APIRouter()
_PEOPLE = "/settings/people#teams"
_EVERYBODY = "everybody"


@router.post("/settings/teams")
async def add(app: AppDep, renderer: Renderer, principal: Admin, name: FormText = "") -> Response:
    await app.teams.create(name, by=principal)
    return renderer.redirect(_PEOPLE, notice="team_added")


@router.post("/settings/teams/{team}/rename")
async def rename(app: AppDep, renderer: Renderer, principal: Admin, team: str, name: FormText = "") -> Response:
    await app.teams.rename(team, name, by=principal)
    return renderer.redirect(_PEOPLE, notice="saved")


@router.post("/settings/teams/{team}/members")
async def set_members(
    app: AppDep, renderer: Renderer, principal: Admin, team: str, members: Annotated[list[str] | None, Form()] = None
) -> Response:
    await app.teams.set_members(team, members or [], by=principal)
    return renderer.redirect(_PEOPLE, notice="saved")


@router.post("/settings/teams/{team}/remove")
async def remove(app: AppDep, renderer: Renderer, principal: Admin, team: str, heir: FormText = "") -> Response:
    """Remove a team; `heir` is the id of the team that gets what belongs to it, or says that all do."""
    names = await app.teams.list_choices(principal)
    chosen = names.get(int(heir)) if heir.isdecimal() else None
    await app.teams.remove(team, heir=chosen, is_for_all=heir == _EVERYBODY, by=principal)
    return renderer.redirect(_PEOPLE, notice="team_removed")


@router.post("/teams/assign")
async def assign(
    app: AppDep,
    renderer: Renderer,
    principal: Reader,
    subject: Annotated[TeamSubject, Form()],
    key: Annotated[str, Form(max_length=64)],
    team: FormText = "",
    back: FormText = "/",
) -> Response:
    """Give something to one of one's teams, or to everybody where no team is named."""
    await app.teams.assign(subject, key, team or None, by=principal)
    return renderer.redirect(sanitize_redirect_path(back), notice="saved")
