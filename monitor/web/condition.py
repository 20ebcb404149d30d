"""What those ask who watch the service: is it alive, is it ready, how does it fare."""

from fastapi import APIRouter, Response

from monitor.app.condition import Readiness
from monitor.bootstrap import App
from monitor.web.gate import Reader
from monitor.web.metrics import exposition
from monitor.web.problems import problem_responses


def router(app: App) -> APIRouter:
    """`/healthz` and `/readyz`, open to all, and `/metrics`."""
    routes = APIRouter(tags=["service"])

    @routes.get("/healthz", summary="Is the process alive?")
    async def healthz() -> dict[str, str]:
        """Answers as long as the process does."""
        return {"status": "ok"}

    @routes.get("/readyz", summary="Can work be done?", responses={503: {"model": Readiness}})
    async def readyz(response: Response) -> Readiness:
        """Database, queue, browser; 503 where work cannot be done."""
        readiness = await app.condition.readiness()
        response.status_code = 200 if readiness.is_ready else 503
        return readiness

    told = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problem_responses(401, 403, 503)}

    @routes.get("/metrics", summary="Figures for Prometheus", response_class=Response, responses=told)
    async def metrics(visitor: Reader) -> Response:
        """Figures in the form that Prometheus reads."""
        del visitor
        body, content_type = exposition(*await app.condition.figures())
        return Response(body, media_type=content_type)

    return routes
