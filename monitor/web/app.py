"""The web part as a whole: its pages, its API, its feeds, and what all of them share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.staticfiles import StaticFiles
from starlette.responses import Response
from starlette.types import Scope

from monitor import __version__
from monitor.bootstrap import App
from monitor.web import metrics as condition
from monitor.web.api import briefings as briefing_api
from monitor.web.api import deliveries as delivery_api
from monitor.web.api import deliveries as target_api
from monitor.web.api import events as events_api
from monitor.web.api import events as research_events_api
from monitor.web.api import health as audit_api
from monitor.web.api import health as health_api
from monitor.web.api import items as feeds
from monitor.web.api import items as item_api
from monitor.web.api import people as access_api
from monitor.web.api import people as people_api
from monitor.web.api import research as research_api
from monitor.web.api import runs as runs_api
from monitor.web.api import search as search_api
from monitor.web.api import settings as settings_api
from monitor.web.api import sources as source_api
from monitor.web.middleware import BodyLimitMiddleware, PrefixMiddleware, ResponseHeadersMiddleware
from monitor.web.problems import ProblemSchema, add_problem_handlers
from monitor.web.ui import account as account_pages
from monitor.web.ui import account as people_pages
from monitor.web.ui import audit as audit_pages
from monitor.web.ui import briefings as briefing_edit_pages
from monitor.web.ui import briefings as briefing_pages
from monitor.web.ui import deliveries as delivery_pages
from monitor.web.ui import deliveries as target_pages
from monitor.web.ui import health as health_pages
from monitor.web.ui import items as item_pages
from monitor.web.ui import prompts as prompt_pages
from monitor.web.ui import research as research_pages
from monitor.web.ui import runs as runs_pages
from monitor.web.ui import settings as settings_pages
from monitor.web.ui import sign_in as sign_in_pages
from monitor.web.ui import sources as source_pages
from monitor.web.ui import today as today_pages
from monitor.web.ui.rendering import CONTENT_SECURITY_POLICY, TemplateRenderer

_API_ROUTERS: tuple[Callable[[App], APIRouter], ...] = (
    condition.router,
    search_api.router,
    runs_api.router,
    events_api.router,
    research_api.router,
    research_events_api.research_events_router,
    settings_api.router,
    target_api.target_router,
    health_api.router,
    people_api.router,
    access_api.access_router,
    audit_api.audit_router,
    item_api.router,
    source_api.router,
    feeds.feed_router,
    briefing_api.router,
    delivery_api.router,
)

_PAGE_ROUTERS: tuple[Callable[[App, TemplateRenderer], APIRouter], ...] = (
    runs_pages.router,
    sign_in_pages.router,
    today_pages.router,
    health_pages.router,
    account_pages.router,
    people_pages.people_admin_router,
    settings_pages.router,
    prompt_pages.router,
    target_pages.target_router,
    audit_pages.router,
    item_pages.router,
    source_pages.router,
    briefing_pages.router,
    briefing_edit_pages.editor_router,
    delivery_pages.router,
    research_pages.router,
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
    """The pages and the HTTP API of the service."""
    look = TemplateRenderer(app.settings, app.clock)
    web = FastAPI(
        title="Monitor",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        servers=[{"url": look.prefix}] if look.prefix else None,
    )
    web.state.monitor = app
    web.state.attention = app.alarms.count_open_alarms
    add_problem_handlers(web, look)
    for api in _API_ROUTERS:
        web.include_router(api(app))
    for pages in _PAGE_ROUTERS:
        web.include_router(pages(app, look), include_in_schema=False)
    web.mount("/static", _StaticAssets(directory=Path(__file__).parent / "ui" / "static"), name="static")
    _publish_schema(web)
    web.add_middleware(BodyLimitMiddleware)
    web.add_middleware(ResponseHeadersMiddleware, headers=_SECURITY_HEADERS)
    web.add_middleware(PrefixMiddleware, prefix=look.prefix)
    return web


class _StaticAssets(StaticFiles):
    """Our own files; their addresses carry the mark of their content, so that browsers may keep them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, to be kept for a year where its mark was asked for."""
        answer = await super().get_response(path, scope)
        if scope.get("query_string") and answer.status_code == 200:
            answer.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return answer


def _publish_schema(web: FastAPI) -> None:
    """The schema of the API, with the one shape of all its errors."""
    made: dict[str, Any] = {}

    def schema() -> dict[str, Any]:
        if not made:
            made.update(FastAPI.openapi(web))
            shapes = made.setdefault("components", {}).setdefault("schemas", {})
            shapes["ProblemWire"] = ProblemSchema.model_json_schema()
        return made

    web.openapi = schema  # type: ignore[method-assign]

    @web.get("/api/openapi.json", include_in_schema=False)
    async def openapi() -> dict[str, Any]:
        """The schema; it holds nothing of anybody, so that programs may read it before they sign in."""
        return schema()
