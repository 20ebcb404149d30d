"""The API of the catalogue: search it, read one body, and add bodies as sources."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from pydantic.config import JsonDict

from monitor.services.sources.catalogue import MAX_ADDED_BODIES, AdditionReport, BodySchema
from monitor.web.api.cursors import Limit, decode_id, encode_cursor
from monitor.web.auth import RUN_SCOPE, AppDep, Editor, Reader
from monitor.web.problems import PROBLEM_RESPONSES

BodyId = Annotated[str, Path(max_length=61, pattern="^[a-z0-9][a-z0-9-]*$", description="As cn-nea")]
AdditionId = Annotated[str, Path(min_length=1, max_length=40, pattern="^[A-Za-z0-9_-]+$")]
_EXAMPLE_ADD: JsonDict = {"ids": ["cn-nea", "us-sec"], "schedule": "0 7 * * 1-5"}

router = APIRouter(prefix="/api/catalogue", tags=["catalogue"], responses=PROBLEM_RESPONSES)


class CatalogueListSchema(BaseModel):
    """Bodies, the best first; `total` counts all that fit, `next` is the cursor with which the list goes on."""

    bodies: list[BodySchema]
    total: int
    next: str | None


class AddBodiesRequest(BaseModel, extra="forbid", json_schema_extra={"examples": [_EXAMPLE_ADD]}):
    """Which bodies to watch, and when: in words or cron, daily at 06:30 without a schedule, `off` for by hand."""

    ids: list[Annotated[str, Field(max_length=61)]] = Field(min_length=1, max_length=MAX_ADDED_BODIES)
    schedule: str | None = Field(default=None, max_length=200)


@router.get("", summary="Search the catalogue of public bodies")
async def search(
    app: AppDep,
    _: Reader,
    q: Annotated[str, Query(max_length=200, description="A name, an abbreviation, a host, a place, a topic.")] = "",
    country: Annotated[str, Query(max_length=100, description="As CN, or a name.")] = "",
    topic: Annotated[str, Query(max_length=100, description="As energy, or a label.")] = "",
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=400)] = None,
) -> CatalogueListSchema:
    """In Chinese or English; every word has to fit. `source_id` is the source that watches a body already."""
    offset = max(0, decode_id(cursor) or 0)
    found = await app.catalogue.search(q, country=country, topic=topic, limit=limit, offset=offset)
    end = offset + len(found.bodies)
    following = encode_cursor(end) if end < found.total else None
    return CatalogueListSchema(bodies=found.bodies, total=found.total, next=following)


@router.post("/add", status_code=202, summary="Watch bodies of the catalogue", dependencies=[RUN_SCOPE])
async def add(app: AppDep, principal: Editor, asked: AddBodiesRequest) -> AdditionReport:
    """In the background of this process: each section is loaded, and those that work are pinned.

    Ask for the addition to see how far it is, and which sections do not work and why.
    """
    return app.catalogue.start_adding(asked.ids, schedule=asked.schedule, by=principal)


@router.get("/additions/{addition_id}", summary="How adding bodies stands")
async def addition(app: AppDep, _: Editor, addition_id: AdditionId) -> AdditionReport:
    """Each body with its state, its source and its sections: so many entries, or why one is not read."""
    return app.catalogue.get_addition(addition_id)


@router.delete("/additions/{addition_id}", summary="Stop adding bodies")
async def stop(app: AppDep, _: Editor, addition_id: AdditionId) -> AdditionReport:
    """The sources that were added before stay."""
    return await app.catalogue.cancel_addition(addition_id)


@router.get("/{body_id}", summary="One body of the catalogue")
async def body(app: AppDep, _: Reader, body_id: BodyId) -> BodySchema:
    """Its home page, sections and feeds, topics, and where these facts were seen."""
    return await app.catalogue.get(body_id)
