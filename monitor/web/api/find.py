"""The API of the search box: everything that the reader may see, found by its words, and their recent queries."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from monitor.db.tables.questions import MAX_RECENT_QUERY_CHARS
from monitor.services.global_search import DEFAULT_FOUND, MAX_FOUND, FoundGroup, FoundType, RecentQuerySchema
from monitor.web.auth import AppDep, Reader
from monitor.web.problems import PROBLEM_RESPONSES

QueryText = Annotated[str, Query(max_length=MAX_RECENT_QUERY_CHARS, description="Words", examples=["储能"])]

router = APIRouter(prefix="/api/v1/find", tags=["find"], responses=PROBLEM_RESPONSES)


class FoundSchema(BaseModel):
    """What was found, by type; a type without a match is not there. `path` is that of a page, below `/`."""

    query: str
    groups: list[FoundGroup]


class RecentQueryListSchema(BaseModel):
    """Your recent queries, the newest first; at most 20, so the list is whole."""

    queries: list[RecentQuerySchema]
    next: None = None


@router.get("", summary="Find anything by its words")
async def find_anything(
    app: AppDep,
    principal: Reader,
    q: QueryText,
    type: Annotated[list[FoundType], Query(description="Only these types")] = [],  # noqa: A002, B006  FastAPI copies it
    limit: Annotated[int, Query(ge=1, le=MAX_FOUND, description="At most so many of each type")] = DEFAULT_FOUND,
) -> FoundSchema:
    """All words have to occur; what is in quotes is found word for word. Each type comes with how many there are.

    Private notes and researches of others are not found.
    """
    return FoundSchema(query=q, groups=await app.global_search.find(q, by=principal, types=type, limit=limit))


@router.get("/suggestions", summary="Suggest while somebody types")
async def suggest_matches(app: AppDep, principal: Reader, q: QueryText) -> FoundSchema:
    """The first three of each type, without counting, for words that may not be finished."""
    return FoundSchema(query=q, groups=await app.global_search.suggest(q, by=principal))


@router.get("/recent", summary="List your recent queries")
async def list_recent_queries(app: AppDep, principal: Reader) -> RecentQueryListSchema:
    """The newest first, each once however often you searched for it."""
    return RecentQueryListSchema(queries=await app.global_search.list_recent(by=principal))


@router.delete("/recent", status_code=204, summary="Forget recent queries")
async def delete_recent_queries(app: AppDep, principal: Reader, q: QueryText | None = None) -> None:
    """One of yours, or without `q` all of them."""
    await app.global_search.forget(q, by=principal)
