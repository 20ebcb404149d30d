"""The routes. `/healthz` and `/readyz` are open; the rest asks for a token, as `Authorization: Bearer …`."""

from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse

from monitor import __version__
from monitor.bootstrap import App
from monitor.domain.searching import ToolResult
from monitor.domain.people import Token
from monitor.errors import MonitorError
from monitor.web.metrics import exposition
from monitor.web.parameters import SearchParameters


def new_api(app: App) -> FastAPI:
    """The HTTP interface of the service."""
    api = FastAPI(title="Monitor", version=__version__, openapi_url="/api/openapi.json", docs_url=None, redoc_url=None)

    async def signed_in(request: Request) -> Token:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        token = await app.tokens.of(given.strip()) if scheme.lower() == "bearer" and given.strip() else None
        if token is None:
            raise HTTPException(401, "Sign in with a token: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"})
        return token

    @api.exception_handler(MonitorError)
    async def failed(request: Request, error: MonitorError) -> JSONResponse:
        del request
        return JSONResponse({"error": {"type": type(error).__name__, "message": str(error)}}, status_code=503)

    @api.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process is alive."""
        return {"status": "ok"}

    @api.get("/readyz")
    async def readyz() -> JSONResponse:
        """Work can be done: database, queue, browser."""
        readiness = await app.condition.readiness()
        return JSONResponse(readiness.model_dump(), status_code=200 if readiness.is_ready else 503)

    @api.get("/metrics")
    async def metrics(token: Annotated[Token, Depends(signed_in)]) -> Response:
        """Figures for Prometheus."""
        del token
        body, content_type = exposition(*await app.condition.figures())
        return Response(body, media_type=content_type)

    @api.get("/api/me")
    async def me(token: Annotated[Token, Depends(signed_in)]) -> dict[str, str]:
        """Who is signed in."""
        return {"name": token.name, "role": str(token.role)}

    @api.get("/api/search", responses={code: {"model": ToolResult} for code in (200, 400, 502)})
    async def search(
        asked: Annotated[SearchParameters, Depends()], token: Annotated[Token, Depends(signed_in)]
    ) -> JSONResponse:
        """web.search: 400 for a question that breaks its contract, 502 where no backend gave an answer."""
        del token
        found = await app.searching.search(asked.arguments(), backend=asked.backend)
        status = 200 if found.items or not found.errors else 400 if found.is_refused else 502
        return JSONResponse(found.wire(), status_code=status)

    return api
