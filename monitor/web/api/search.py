"""web.search over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse

from monitor.bootstrap import App
from monitor.domain.searching import ToolResult
from monitor.web.gate import Reader
from monitor.web.parameters import SearchParameters
from monitor.web.problems import problem_responses


def router(app: App) -> APIRouter:
    """`/api/search`, in the one shape of web.search, also where it fails."""
    routes = APIRouter(prefix="/api", tags=["search"], responses=problem_responses(401, 403, 422, 503))

    @routes.get(
        "/search",
        summary="Search the web",
        response_model=ToolResult,
        responses={code: {"model": ToolResult} for code in (400, 502)},
    )
    async def search(asked: Annotated[SearchParameters, Depends()], visitor: Reader) -> JSONResponse:
        """web.search: 400 for a question that breaks its contract, 502 where no backend gave an answer."""
        del visitor
        found = await app.searching.search(asked.arguments(), backend=asked.backend)
        status = 200 if found.items or not found.errors else 400 if found.is_refused else 502
        return JSONResponse(found.wire(), status_code=status)

    return routes
