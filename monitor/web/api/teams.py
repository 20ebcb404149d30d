"""Teams over HTTP: one's own, for administrators all, and what belongs to which."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from monitor.services.cursors import cut_list
from monitor.services.teams import MAX_TEAM_NAME_CHARS, TeamSchema, TeamSubject
from monitor.web.api.cursors import DEFAULT_LONG_LIMIT, Cursor, Limit
from monitor.web.auth import Admin, AppDep, Reader
from monitor.web.problems import PROBLEM_RESPONSES

TeamName = Annotated[
    str, Path(min_length=1, max_length=MAX_TEAM_NAME_CHARS, description="The name of a team.", examples=["Energy"])
]
_Name = Annotated[str, Field(min_length=1, max_length=MAX_TEAM_NAME_CHARS, examples=["Energy"])]

router = APIRouter(prefix="/api/v1", tags=["people"], responses=PROBLEM_RESPONSES)


class TeamChoiceSchema(BaseModel):
    id: int
    name: str = Field(examples=["Energy"])


class TeamChoiceListSchema(BaseModel):
    """The teams to which you may give something, by name, and the cursor with which the list goes on."""

    teams: list[TeamChoiceSchema]
    next: str | None


class TeamListSchema(BaseModel):
    """All teams by name, and the cursor with which the list goes on."""

    teams: list[TeamSchema]
    next: str | None


class NewTeamSchema(BaseModel, extra="forbid"):
    name: _Name
    members: list[str] = Field(default_factory=list, max_length=1000, examples=[["hanmeimei"]])


class TeamChangeSchema(BaseModel, extra="forbid", json_schema_extra={"examples": [{"members": ["hanmeimei"]}]}):
    """What is to be changed; what is left out or null stays, and `members` are replaced as a whole."""

    name: _Name | None = None
    members: list[str] | None = Field(default=None, max_length=1000)


class TeamAssignmentSchema(BaseModel, extra="forbid", json_schema_extra={"examples": [{"team": "Energy"}]}):
    """To which of your teams something is to belong; null is everybody."""

    team: _Name | None


@router.get("/me/teams", summary="List my teams")
async def list_my_teams(
    app: AppDep, principal: Reader, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> TeamChoiceListSchema:
    """An administrator may give something to any team."""
    choices = [
        TeamChoiceSchema(id=number, name=name) for number, name in (await app.teams.list_choices(principal)).items()
    ]
    page, following = cut_list(choices, limit, cursor, lambda team: (team.name,), str)
    return TeamChoiceListSchema(teams=page, next=following)


@router.get("/teams", summary="List teams")
async def list_teams(
    app: AppDep, principal: Admin, limit: Limit = DEFAULT_LONG_LIMIT, cursor: Cursor = None
) -> TeamListSchema:
    """With their members, and how much belongs to each."""
    found = await app.teams.list_teams(by=principal)
    page, following = cut_list(found, limit, cursor, lambda team: (team.name,), str)
    return TeamListSchema(teams=page, next=following)


@router.post("/teams", summary="Add a team", status_code=201)
async def create_team(app: AppDep, principal: Admin, wanted: NewTeamSchema) -> TeamSchema:
    """409 where there is one of that name."""
    async with app.store.transaction():
        team = await app.teams.create(wanted.name, by=principal)
        return await app.teams.set_members(team.name, wanted.members, by=principal) if wanted.members else team


@router.get("/teams/{team}", summary="Look at a team")
async def get_team(app: AppDep, principal: Admin, team: TeamName) -> TeamSchema:
    """With its members, and how much belongs to it."""
    return await app.teams.get(team, by=principal)


@router.patch("/teams/{team}", summary="Rename a team, or set its members")
async def update_team(app: AppDep, principal: Admin, team: TeamName, wanted: TeamChangeSchema) -> TeamSchema:
    """A team that a delivery target names keeps its name: 409."""
    async with app.store.transaction():
        if wanted.name is not None and wanted.name != team:
            team = (await app.teams.rename(team, wanted.name, by=principal)).name
        if wanted.members is not None:
            await app.teams.set_members(team, wanted.members, by=principal)
        return await app.teams.get(team, by=principal)


@router.delete("/teams/{team}", summary="Remove a team", status_code=204)
async def delete_team(
    app: AppDep,
    principal: Admin,
    team: TeamName,
    *,
    heir: Annotated[
        str | None,
        Query(max_length=MAX_TEAM_NAME_CHARS, description="The team to which goes what belongs to this one."),
    ] = None,
    everybody: Annotated[bool, Query(description="What belongs to this team is for everybody from now on.")] = False,
) -> None:
    """409 where something belongs to it, unless the request says who gets that."""
    await app.teams.remove(team, heir=heir, is_for_all=everybody, by=principal)


@router.put("/teams/assignments/{subject}/{key}", summary="Give something to a team", status_code=204)
async def assign_to_team(
    app: AppDep,
    principal: Reader,
    subject: TeamSubject,
    key: Annotated[str, Path(max_length=64, description="Its id.", examples=["12"])],
    wanted: TeamAssignmentSchema,
) -> None:
    """Sources, topics and briefings take an editor, a research or a note whoever wrote it, or an administrator.

    From then on it is there for the members of that team and administrators alone; the items and runs of a source go
    with it.
    """
    await app.teams.assign(subject, key, wanted.team, by=principal)
