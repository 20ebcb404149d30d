"""The API of the catalogue: search it, read one body, and add bodies as sources."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from monitor.services.cursors import decode_id, encode_cursor
from monitor.services.sources.catalogue import MAX_ADDED_BODIES, AdditionReport, BodySchema
from monitor.services.teams import MAX_TEAM_NAME_CHARS
from monitor.web.api.cursors import Cursor, Limit
from monitor.web.auth import RUN_SCOPE, AppDep, Editor, Reader
from monitor.web.problems import PROBLEM_RESPONSES

BodyId = Annotated[str, Path(max_length=61, pattern="^[a-z0-9][a-z0-9-]*$", description="As cn-nea")]
AdditionId = Annotated[str, Path(min_length=1, max_length=40, pattern="^[A-Za-z0-9_-]+$")]
_EXAMPLE_ADD: JsonDict = {"ids": ["cn-nea", "us-sec"], "schedule": "0 7 * * 1-5"}

router = APIRouter(prefix="/api/v1/catalogue", tags=["catalogue"], responses=PROBLEM_RESPONSES)


class CatalogueListSchema(BaseModel):
    """Bodies, the best first; `total` counts all that fit, `next` is the cursor with which the list goes on."""

    bodies: list[BodySchema]
    total: int
    next: str | None


class AddBodiesRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [_EXAMPLE_ADD]}):
    """Which bodies to watch, and when: in words or cron, daily at 06:30 without a schedule, `off` for by hand.

    They are for the team, or for all without one.
    """

    ids: list[Annotated[str, Field(max_length=61)]] = Field(min_length=1, max_length=MAX_ADDED_BODIES)
    schedule: str | None = Field(default=None, max_length=200)
    team: str | None = Field(default=None, max_length=MAX_TEAM_NAME_CHARS)


@router.get("", summary="Search the catalogue of public bodies")
async def search_catalogue(
    app: AppDep,
    _: Reader,
    q: Annotated[str, Query(max_length=200, description="A name, an abbreviation, a host, a place, a topic.")] = "",
    country: Annotated[str, Query(max_length=100, description="As CN, or a name.")] = "",
    topic: Annotated[str, Query(max_length=100, description="As energy, or a label.")] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> CatalogueListSchema:
    """In Chinese or English; every word has to fit. `source_id` is the source that watches a body already."""
    offset = max(0, decode_id(cursor) or 0)
    found = await app.catalogue.search(q, country=country, topic=topic, limit=limit, offset=offset)
    end = offset + len(found.bodies)
    following = encode_cursor(end) if end < found.total else None
    return CatalogueListSchema(bodies=found.bodies, total=found.total, next=following)


@router.post("/add", status_code=202, summary="Watch bodies of the catalogue", dependencies=[RUN_SCOPE])
async def add_bodies(app: AppDep, principal: Editor, asked: AddBodiesRequest) -> AdditionReport:
    """In the background of this process: each section is loaded, and those that work are pinned.

    Ask for the addition to see how far it is, and which sections do not work and why.
    """
    team_id = await app.teams.resolve(asked.team, principal)
    return app.catalogue.start_adding(asked.ids, schedule=asked.schedule, team_id=team_id, by=principal)


@router.get("/additions/{addition_id}", summary="How adding bodies stands")
async def get_addition(app: AppDep, _: Editor, addition_id: AdditionId) -> AdditionReport:
    """Each body with its state, its source and its sections: so many entries, or why one is not read."""
    return app.catalogue.get_addition(addition_id)


@router.delete("/additions/{addition_id}", summary="Stop adding bodies")
async def stop_addition(app: AppDep, _: Editor, addition_id: AdditionId) -> AdditionReport:
    """The sources that were added before stay."""
    return await app.catalogue.cancel_addition(addition_id)


@router.get("/{body_id}", summary="One body of the catalogue")
async def get_body(app: AppDep, _: Reader, body_id: BodyId) -> BodySchema:
    """Its home page, sections and feeds, topics, and where these facts were seen."""
    return await app.catalogue.get(body_id)
