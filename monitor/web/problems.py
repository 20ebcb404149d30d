"""Errors as answers: problem+json (RFC 9457) for programs, a page for people, both in the reader's language."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field, ValidationError
from pydantic.config import JsonDict
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from monitor.errors import (
    Conflict,
    DatabaseError,
    Forbidden,
    MonitorError,
    NotFound,
    PageUnavailable,
    UsageError,
    WorkFailed,
)
from monitor.i18n.catalogue import get_word, render
from monitor.i18n.message import Message
from monitor.i18n.model import describe_validation_error
from monitor.logs import get_logger
from monitor.web.middleware import (
    API_DOCS_PATH,
    PasswordChangeRequired,
    Problem,
    build_sign_in_path,
    get_app_path,
    is_page_request,
)
from monitor.web.ui.rendering import PageRenderer

PROBLEM_MEDIA_TYPE = "application/problem+json"

_STATUSES: tuple[tuple[type[MonitorError], int], ...] = (
    (Forbidden, 403),
    (NotFound, 404),
    (Conflict, 409),
    (DatabaseError, 503),
    (UsageError, 400),
    (PageUnavailable, 502),
    (WorkFailed, 503),
)

_log = get_logger("web")


_EXAMPLE_PROBLEM: JsonDict = {
    "type": "/api/docs/problems/item.not_found",
    "title": "Not Found",
    "status": 404,
    "detail": "There is no item 7.",
    "code": "item.not_found",
    "args": {"item": 7},
    "errors": [],
}


class FieldErrorSchema(BaseModel):
    """A field of the request that was refused."""

    field: str = Field(description="Where it stands, with dots between the steps.", examples=["sources.0.name"])
    code: str = Field(description="Why it was refused.", examples=["validation.missing"])
    args: dict[str, Any] = Field(description="The arguments of the code.")
    detail: str = Field(description="Why it was refused, in the language of the request.")


class ProblemSchema(BaseModel, json_schema_extra={"examples": [_EXAMPLE_PROBLEM]}):
    """A problem (RFC 9457): words in the language of the request, and codes for programs."""

    type: str = Field(description="The page that explains the code, a path of this service.")
    title: str
    status: int
    detail: str
    code: str
    args: dict[str, Any]
    errors: list[FieldErrorSchema]


def build_problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The statuses as routes declare them in the schema."""
    schema = {"$ref": "#/components/schemas/ProblemSchema"}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {PROBLEM_MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


PROBLEM_RESPONSES = build_problem_responses(400, 401, 403, 404, 409, 413, 422, 429, 503)
"""What any route of the API may answer beside what it promises."""


def find_status(kind: type[MonitorError]) -> int:
    """Return the HTTP status that an error of this class becomes."""
    return next((status for known, status in _STATUSES if issubclass(kind, known)), 503)


def add_problem_handlers(web: FastAPI) -> None:
    """Answer every error with a problem, never with a trace."""
    for kind in (Problem, MonitorError, HTTPException, RequestValidationError):
        web.add_exception_handler(kind, _on_problem)
    web.add_exception_handler(Exception, _on_unexpected_error)


async def _on_problem(request: Request, error: Exception) -> Response:
    problem = _convert_error(error)
    if problem.status == HTTPStatus.METHOD_NOT_ALLOWED:
        problem.headers["Allow"] = ", ".join(sorted(_list_allowed_methods(request)))
    return _answer(request, problem)


async def _on_unexpected_error(request: Request, error: Exception) -> Response:
    _log.error("unexpected error", path=get_app_path(request), error=type(error).__name__, exc_info=error)
    answer = _answer(request, Problem(500, "request.failed"))
    answer.headers["Connection"] = "close"  # uvicorn closes it after such an answer; nobody is to send more by it
    return answer


def _answer(request: Request, problem: Problem) -> Response:
    renderer = PageRenderer(request)
    if not is_page_request(request):
        return build_problem_answer(problem, renderer.language, prefix=str(request.scope.get("root_path", "")))
    if problem.status == HTTPStatus.UNAUTHORIZED and request.method in ("GET", "HEAD"):
        return RedirectResponse(build_sign_in_path(request), status_code=303)
    if isinstance(problem, PasswordChangeRequired):
        return renderer.redirect("/account")
    page = renderer.render("problem.html", section="", status=problem.status, problem=problem)
    page.headers.update(problem.headers)
    return page


def build_problem_answer(problem: Problem, language: str, *, prefix: str = "") -> JSONResponse:
    """Return the problem as JSON; `prefix` is the path under which a proxy shows the service."""
    body = ProblemSchema(
        type=f"{prefix}{API_DOCS_PATH}/problems/{problem.message.code}",
        title=get_word(language, "http_status", problem.status),
        status=problem.status,
        detail=render(problem.message, language),
        **problem.message.to_json(),
        errors=[
            FieldErrorSchema(field=field, detail=render(message, language), **message.to_json())
            for field, message in problem.errors
        ],
    )
    headers = {**problem.headers, "Content-Language": language}
    return JSONResponse(body.model_dump(), problem.status, headers=headers, media_type=PROBLEM_MEDIA_TYPE)


def _list_allowed_methods(request: Request) -> set[str]:
    """Return the methods of all routes of the address; Starlette names those of the first alone.

    Of `/items/marks` and `/items/{item_id}` the one with fewer parameters is meant.
    """
    path = get_app_path(request)
    found: dict[int, set[str]] = {}
    for route in iter_route_contexts(request.app.routes):
        if route.methods and route.path and compile_path(route.path)[0].match(path):
            found.setdefault(route.path.count("{"), set()).update(route.methods)
    return found[min(found)] if found else set()


def _convert_error(error: Exception) -> Problem:
    match error:
        case Problem():
            return error
        case HTTPException(status_code=404):
            return Problem(404, "request.no_such_address")
        case HTTPException(status_code=405):
            return Problem(405, "request.method_not_allowed", headers=error.headers)
        case HTTPException():
            return Problem(error.status_code, "request.refused", headers=error.headers)
        case RequestValidationError():
            return Problem(422, describe_invalid_fields(error), errors=list_invalid_fields(error))
        case MonitorError():
            status = find_status(type(error))
            return Problem(status, error.message, headers={"Retry-After": "10"} if status == 503 else None)
    raise error


def describe_invalid_fields(error: RequestValidationError | ValidationError) -> Message:
    """Return what is wrong with the first field that was refused."""
    field, reason = list_invalid_fields(error)[0]
    return Message.of("request.invalid_field", field=field, reason=reason)


def list_invalid_fields(error: RequestValidationError | ValidationError) -> list[tuple[str, Message]]:
    """Return every field that was refused, and why."""
    found = []
    for each in error.errors():
        place = each["loc"][1:] if isinstance(error, RequestValidationError) else each["loc"]
        found.append((".".join(map(str, place or each["loc"])), describe_validation_error(each)))
    return found
