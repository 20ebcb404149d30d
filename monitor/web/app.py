"""The web application: pages, HTTP API, feeds, and the middleware that they share."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.staticfiles import StaticFiles
from starlette.responses import Response
from starlette.types import Scope

from monitor import __version__
from monitor.bootstrap import App
from monitor.web import metrics
from monitor.web.api import briefings as briefings_api
from monitor.web.api import deliveries as deliveries_api
from monitor.web.api import events as events_api
from monitor.web.api import health as health_api
from monitor.web.api import items as items_api
from monitor.web.api import people as people_api
from monitor.web.api import research as research_api
from monitor.web.api import runs as runs_api
from monitor.web.api import search as search_api
from monitor.web.api import settings as settings_api
from monitor.web.api import sources as sources_api
from monitor.web.middleware import (
    BodyLimitMiddleware,
    LanguageMiddleware,
    PrefixMiddleware,
    Problem,
    ResponseHeadersMiddleware,
    negotiate_language,
)
from monitor.web.problems import ProblemSchema, add_problem_handlers, build_problem_answer
from monitor.web.ui import (
    account,
    audit,
    briefings,
    deliveries,
    health,
    items,
    prompts,
    research,
    runs,
    settings,
    sign_in,
    sources,
    today,
)
from monitor.web.ui.rendering import CONTENT_SECURITY_POLICY, TemplateRenderer

_API_ROUTERS = (
    metrics.router,
    search_api.router,
    runs_api.router,
    events_api.router,
    research_api.router,
    events_api.research_events_router,
    settings_api.router,
    deliveries_api.target_router,
    health_api.router,
    people_api.router,
    people_api.access_router,
    health_api.audit_router,
    items_api.router,
    sources_api.router,
    items_api.feed_router,
    briefings_api.router,
    deliveries_api.router,
)

_PAGE_ROUTERS = (
    runs.router,
    sign_in.router,
    today.router,
    health.router,
    account.router,
    account.people_admin_router,
    settings.router,
    prompts.router,
    deliveries.target_router,
    audit.router,
    items.router,
    sources.router,
    briefings.router,
    briefings.editor_router,
    deliveries.router,
    research.router,
)

_DESCRIPTION = """\
Everything that the pages do. Sign in with `Authorization: Bearer TOKEN`, or with the session cookie of a browser and,
for what changes anything, its `X-CSRF-Token`. Errors are `application/problem+json`; lists carry `next`, the cursor
with which they go on, or null."""

_SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


def create_web_app(app: App) -> FastAPI:
    renderer = TemplateRenderer(app.settings, app.clock)
    web = FastAPI(
        title="Monitor",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        servers=[{"url": renderer.prefix}] if renderer.prefix else None,
    )
    web.state.monitor = app
    add_problem_handlers(web, renderer)
    for build_api_router in _API_ROUTERS:
        web.include_router(build_api_router(app))
    for build_page_router in _PAGE_ROUTERS:
        web.include_router(build_page_router(app, renderer), include_in_schema=False)
    web.mount("/static", _StaticAssets(directory=Path(__file__).parent / "ui" / "static"), name="static")
    _publish_schema(web)
    web.add_middleware(BodyLimitMiddleware, refuse=_refuse_large_body)
    web.add_middleware(ResponseHeadersMiddleware, headers=_SECURITY_HEADERS)
    web.add_middleware(LanguageMiddleware)
    web.add_middleware(PrefixMiddleware, prefix=renderer.prefix)
    return web


def _refuse_large_body(request: Request) -> Response:
    return build_problem_answer(Problem(413, "request.too_large"), negotiate_language(request))


class _StaticAssets(StaticFiles):
    """Our own files; their addresses carry a hash of their content, so that browsers may cache them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        if scope.get("query_string") and answer.status_code == 200:
            answer.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return answer


def _publish_schema(web: FastAPI) -> None:
    """Serve the schema of the API with the one shape of its errors; programs may read it before they sign in."""
    built: dict[str, Any] = {}

    def schema() -> dict[str, Any]:
        if not built:
            built.update(FastAPI.openapi(web))
            schemas = built.setdefault("components", {}).setdefault("schemas", {})
            schemas["ProblemSchema"] = ProblemSchema.model_json_schema()
        return built

    web.openapi = schema  # type: ignore[method-assign]

    @web.get("/api/openapi.json", include_in_schema=False)
    async def openapi() -> dict[str, Any]:
        return schema()
