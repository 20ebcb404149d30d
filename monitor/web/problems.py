"""What went wrong, told to programs as problem+json (RFC 9457) and to people as a page."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from monitor.errors import Conflict, DatabaseError, MonitorError, NotFound, UsageError, WorkFailed
from monitor.logs import get_logger
from monitor.web.middleware import build_sign_in_path, get_app_path, is_page_request
from monitor.web.ui.rendering import TemplateRenderer

PROBLEM_MEDIA_TYPE = "application/problem+json"

_STATUSES: tuple[tuple[type[MonitorError], int], ...] = (
    (NotFound, 404),
    (Conflict, 409),
    (DatabaseError, 503),
    (UsageError, 400),
    (WorkFailed, 503),
)

_UNEXPECTED_ERROR = "Something went wrong that nobody foresaw; the log of the service tells more."

_log = get_logger("web")


class ProblemSchema(BaseModel):
    """A problem as programs read it; `detail` is one sentence that says what is wrong and how to mend it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"title": "Not Found", "status": 404, "detail": "There is no item 7."}]}
    )

    title: str
    status: int
    detail: str


class Problem(Exception):
    """An answer that is a problem; `headers` go along."""

    def __init__(self, status: int, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


class PasswordChangeRequired(Problem):
    """The visitor has to choose a password first."""

    def __init__(self) -> None:
        super().__init__(403, "Choose a password of your own first: the one you signed in with serves once.")


def build_problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The statuses as routes declare them in the schema."""
    schema = {"$ref": "#/components/schemas/ProblemWire"}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {PROBLEM_MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


PROBLEM_RESPONSES = build_problem_responses(400, 401, 403, 404, 409, 413, 422, 429, 503)
"""What any route of the API may answer beside what it promises."""


def add_problem_handlers(web: FastAPI, renderer: TemplateRenderer) -> None:
    """Make every error of the web part an answer: a sentence, never a trace."""

    def told(request: Request, problem: Problem) -> Response:
        if not is_page_request(request):
            return _render_problem_json(problem)
        if problem.status == HTTPStatus.UNAUTHORIZED and request.method in ("GET", "HEAD"):
            return RedirectResponse(build_sign_in_path(request), status_code=303)
        if isinstance(problem, PasswordChangeRequired):
            return renderer.redirect("/account")
        page = renderer.render_page(
            request, getattr(request.state, "visitor", None), "problem.html", status=problem.status, problem=problem
        )
        page.headers.update(problem.headers)
        return page

    async def on_problem(request: Request, error: Exception) -> Response:
        problem = _convert_error(error)
        if problem.status == HTTPStatus.METHOD_NOT_ALLOWED:
            problem.headers["Allow"] = ", ".join(sorted(_list_allowed_methods(request)))
        return told(request, problem)

    for kind in (Problem, MonitorError, HTTPException, RequestValidationError):
        web.add_exception_handler(kind, on_problem)

    async def unforeseen(request: Request, error: Exception) -> Response:
        _log.error("unforeseen error", path=get_app_path(request), error=type(error).__name__, exc_info=error)
        return told(request, Problem(500, _UNEXPECTED_ERROR))

    web.add_exception_handler(Exception, unforeseen)


def _render_problem_json(problem: Problem) -> JSONResponse:
    told = ProblemSchema(title=HTTPStatus(problem.status).phrase, status=problem.status, detail=problem.detail)
    return JSONResponse(told.model_dump(), problem.status, headers=problem.headers, media_type=PROBLEM_MEDIA_TYPE)


def _list_allowed_methods(request: Request) -> set[str]:
    """What the address does take: its methods are several routes, of which Starlette names the first."""
    path = get_app_path(request)
    return {
        method
        for route in iter_route_contexts(request.app.routes)
        if route.methods and route.path and compile_path(route.path)[0].match(path)
        for method in route.methods
    }


def _convert_error(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return Problem(error.status_code, _format_http_error(error), headers=error.headers)
    if isinstance(error, RequestValidationError):
        return Problem(422, _format_validation_error(error))
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 503)
    return Problem(status, str(error), headers={"Retry-After": "10"} if status == 503 else None)


def _format_http_error(error: HTTPException) -> str:
    match error.status_code:
        case 404:
            return "There is nothing at this address."
        case 405:
            return "This address does not take that method."
    return str(error.detail)


def _format_validation_error(error: RequestValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    message = str(first["msg"]).removeprefix("Value error, ")
    return f"{place}: {message[:1].lower()}{message[1:]}."
