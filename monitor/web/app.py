"""The web application: pages, HTTP API, feeds, their middleware, and the server that runs them."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import APIRouter, FastAPI, Request
from fastapi.staticfiles import StaticFiles
from starlette.responses import Response
from starlette.types import Scope

from monitor import __version__
from monitor.bootstrap import App
from monitor.config.networks import parse_network
from monitor.errors import UsageError
from monitor.web.api import ask as ask_api
from monitor.web.api import briefings as briefings_api
from monitor.web.api import catalogue as catalogue_api
from monitor.web.api import client_profiles as client_profiles_api
from monitor.web.api import deadlines as deadlines_api
from monitor.web.api import evaluation as evaluation_api
from monitor.web.api import events as events_api
from monitor.web.api import exports as exports_api
from monitor.web.api import feeds as feeds_api
from monitor.web.api import find as find_api
from monitor.web.api import health as health_api
from monitor.web.api import items as items_api
from monitor.web.api import metrics as metrics_api
from monitor.web.api import people as people_api
from monitor.web.api import policies as policies_api
from monitor.web.api import report_text as report_text_api
from monitor.web.api import research as research_api
from monitor.web.api import runs as runs_api
from monitor.web.api import search as search_api
from monitor.web.api import settings as settings_api
from monitor.web.api import shares as shares_api
from monitor.web.api import sources as sources_api
from monitor.web.api import statements as statements_api
from monitor.web.api import subscriptions as subscriptions_api
from monitor.web.api import teaching as teaching_api
from monitor.web.api import teams as teams_api
from monitor.web.api import topics as topics_api
from monitor.web.api import webhooks as webhooks_api
from monitor.web.assistants import Assistants
from monitor.web.assistants import router as assistants_router
from monitor.web.auth import load_principal
from monitor.web.idempotency import IdempotencyMiddleware
from monitor.web.middleware import (
    API_PREFIX,
    MAX_BODY_BYTES,
    BodyLimitMiddleware,
    ClientAddressMiddleware,
    EntityTagMiddleware,
    MetricsMiddleware,
    PrefixMiddleware,
    Problem,
    ProxiedNameMiddleware,
    ReaderMiddleware,
    ResponseHeadersMiddleware,
    UnversionedPathMiddleware,
    get_app_path,
    negotiate_language,
)
from monitor.web.openapi import complete_document
from monitor.web.problems import add_problem_handlers, build_problem_answer
from monitor.web.rate_limits import RateLimitMiddleware
from monitor.web.ui import (
    api_docs,
    ask,
    briefing_editor,
    briefings,
    catalogue,
    client_profiles,
    deadlines,
    evaluation,
    exports,
    feeds,
    health,
    items,
    people,
    policies,
    report_editor,
    research,
    runs,
    search,
    second_factor,
    settings,
    shares,
    sign_in,
    source_lists,
    sources,
    subscriptions,
    targets,
    teaching,
    teams,
    topics,
    webapp,
    webhooks,
)
from monitor.web.ui.rendering import Templates

LOOPBACK_HOSTS = ("127.0.0.1", "::1", "localhost")
_SHUTDOWN_TIMEOUT_S = 5
_UPLOAD_PATHS = ("/research", "/api/research/documents", f"{API_PREFIX}/research/documents")

_API_ROUTERS = (
    health_api.service_router,
    metrics_api.router,
    search_api.router,
    find_api.router,
    ask_api.router,
    statements_api.router,
    runs_api.router,
    events_api.router,
    research_api.router,
    report_text_api.router,
    events_api.research_router,
    evaluation_api.router,
    settings_api.router,
    health_api.router,
    people_api.router,
    teams_api.router,
    health_api.audit_router,
    items_api.router,
    policies_api.router,
    sources_api.router,
    teaching_api.router,
    catalogue_api.router,
    topics_api.router,
    deadlines_api.router,
    feeds_api.router,
    feeds_api.private_router,
    feeds_api.calendar_router,
    feeds_api.key_router,
    client_profiles_api.router,
    briefings_api.router,
    briefings_api.delivery_router,
    subscriptions_api.router,
    webhooks_api.router,
    exports_api.router,
    shares_api.router,
)

_PAGE_MODULES = (
    api_docs,
    ask,
    briefing_editor,
    client_profiles,  # its paths come before that of a briefing
    briefings,
    catalogue,
    deadlines,
    evaluation,
    exports,
    feeds,
    health,
    items,
    people,
    policies,
    report_editor,
    research,
    runs,
    search,
    second_factor,
    settings,
    shares,
    sign_in,
    source_lists,  # its paths come before those with a number
    sources,
    subscriptions,
    targets,
    teaching,
    teams,
    topics,
    webapp,
    webhooks,
)

_DESCRIPTION = """\
Everything that the pages do. Sign in with `Authorization: Bearer TOKEN`, or with the session cookie of a browser and,
for what changes anything, its `X-CSRF-Token`. Errors are `application/problem+json`; lists carry `next`, the cursor
with which they go on, or null. A POST that is sent again with the same `Idempotency-Key` is not carried out again, and
its answer has `Idempotent-Replayed: true`. `RateLimit` says how many requests are left; beyond is a 429 with
`Retry-After`."""

_SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


def create_web_app(app: App, assistants: Assistants | None = None) -> FastAPI:
    templates = Templates(app.settings, app.clock)
    web = _WebApplication(
        title="Monitor",
        version=__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        servers=[{"url": templates.prefix or "/"}],
        contact={"name": "The administrators of this service"},
    )
    web.state.monitor = app
    web.state.assistants = assistants
    web.state.templates = templates
    add_problem_handlers(web)
    web.router.routes.extend(_build_router().routes)
    web.mount("/static", _StaticAssets(directory=Path(__file__).parent / "ui" / "static"), name="static")
    web.add_api_route("/api/openapi.json", _get_schema, include_in_schema=False)
    web.add_middleware(MetricsMiddleware)  # the innermost: it sees the route that was found
    web.add_middleware(EntityTagMiddleware)
    web.add_middleware(IdempotencyMiddleware, refuse=_refuse)
    web.add_middleware(RateLimitMiddleware, refuse=_refuse)
    web.add_middleware(UnversionedPathMiddleware)
    web.add_middleware(BodyLimitMiddleware, refuse=_refuse_large_body, find_upload_limit=_find_upload_limit)
    web.add_middleware(ResponseHeadersMiddleware, headers=_SECURITY_HEADERS)
    web.add_middleware(ReaderMiddleware)
    web.add_middleware(PrefixMiddleware, prefix=templates.prefix)
    trusted = [parse_network(text) for text in app.settings.web.trusted_proxies]
    web.add_middleware(ClientAddressMiddleware, trusted=trusted)
    proxy = app.settings.auth.proxy
    if proxy.header is not None:  # the outermost: it sees who connected
        proxies = [parse_network(text) for text in proxy.networks]
        web.add_middleware(ProxiedNameMiddleware, header=proxy.header, trusted=proxies)
    return web


@cache
def _build_router() -> APIRouter:
    """Return every route that needs no application: what FastAPI analyses on the first request is kept for the next."""
    router = APIRouter(generate_unique_id_function=lambda route: route.name)  # the operationIds of the schema
    for api in _API_ROUTERS:
        router.include_router(api)
    router.include_router(assistants_router)
    for pages in _PAGE_MODULES:
        router.include_router(pages.router, include_in_schema=False)
    return router


async def _find_upload_limit(request: Request) -> int:
    """Return how long a question with its documents may be; from somebody who may not ask one it is not even read."""
    if request.method != "POST" or get_app_path(request) not in _UPLOAD_PATHS:
        return 0
    try:
        principal = await load_principal(request)
    except Problem:  # a token that may not be used so; the route says why
        return 0
    if principal is None or not principal.is_editor:
        return 0
    limits = request.app.state.monitor.settings.research
    return int(limits.max_documents * limits.max_document_bytes + MAX_BODY_BYTES)


def _refuse_large_body(request: Request) -> Response:
    return _refuse(request, Problem(413, "request.too_large"))


def _refuse(request: Request, problem: Problem) -> Response:
    prefix = str(request.scope.get("root_path", ""))
    return build_problem_answer(problem, negotiate_language(request), prefix=prefix)


class _StaticAssets(StaticFiles):
    """Our own files; their addresses carry a hash of their content, so that browsers may cache them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        if scope.get("query_string") and answer.status_code == 200:
            answer.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return answer


class _WebApplication(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Return the schema of the API with its words, its examples and the one shape of its errors."""
        if self.openapi_schema is None:
            self.openapi_schema = complete_document(super().openapi())
        return self.openapi_schema

    @cached_property
    def document(self) -> bytes:
        return json.dumps(self.openapi(), ensure_ascii=False).encode()


async def _get_schema(request: Request) -> Response:
    """Return the schema; programs may read it before they sign in. Deriving it takes seconds, once a process."""
    web: _WebApplication = request.app
    return Response(await asyncio.to_thread(lambda: web.document), media_type="application/json")


class _EmbeddedServer(uvicorn.Server):
    """uvicorn without signal handlers: its caller decides when it stops."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve_web(app: App, assistants: Assistants | None = None) -> AsyncIterator[str]:
    """Serve HTTP while the block runs, and give the address.

    Raises `UsageError` where the port is taken, or where it would listen beyond loopback before an administrator has
    chosen a password.
    """
    web = app.settings.web
    if web.host not in LOOPBACK_HOSTS and not await app.people.has_secured_admin():
        raise UsageError("web.password_required", host=web.host)
    pages = create_web_app(app, assistants)
    await app.sample.resume()
    config = uvicorn.Config(
        pages,
        host=web.host,
        port=web.port,
        http="h11",  # whatever else is installed beside it
        log_config=None,
        access_log=False,
        lifespan="off",
        proxy_headers=False,  # `ClientAddressMiddleware` decides whose count
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
    )
    server = _EmbeddedServer(config)
    listening = _create_listening_socket(web.host, web.port)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        port = listening.getsockname()[1]
        yield f"http://{web.host}:{port}/"
    finally:
        app.run_events.stop()
        app.research_events.stop()
        server.should_exit = True
        await running


def _create_listening_socket(host: str, port: int) -> socket.socket:
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError("web.address_unusable", host=host, port=port, reason=reason) from None
    # Connections inherit this. asyncio does not set it on this socket, and without it the end of each answer waits
    # 40 ms for the browser's acknowledgement of its beginning.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
