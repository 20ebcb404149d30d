"""The address of assistants (MCP): who asks, by token alone, and from which pages nobody may."""

from typing import Protocol
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response
from starlette.types import Receive, Scope, Send

from monitor.services.audit import Actor
from monitor.web.auth import load_principal
from monitor.web.middleware import Problem

PATH = "/mcp"

router = APIRouter()


class Assistants(Protocol):
    """What answers the requests of assistants; `monitor.mcp_server.http` has it."""

    async def serve(self, actor: Actor, scope: Scope, receive: Receive, send: Send) -> None: ...


class _AssistantResponse(Response):
    """Hands a request on when FastAPI wants to send the answer."""

    def __init__(self, assistants: Assistants, actor: Actor) -> None:
        super().__init__()
        self._assistants, self._actor = assistants, actor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._assistants.serve(self._actor, scope, receive, send)


@router.api_route(PATH, methods=["GET", "POST", "DELETE"], include_in_schema=False)
async def answer(request: Request) -> Response:
    """Each tool checks the role and the scopes of the token; a browser's session does not count here."""
    assistants: Assistants | None = request.app.state.assistants
    if assistants is None:
        raise Problem(404, "request.no_such_address")
    _check_origin(request)
    principal = await load_principal(request)
    if principal is None or principal.session_id is not None:
        raise Problem(401, "sign_in.required", headers={"WWW-Authenticate": "Bearer"})
    return _AssistantResponse(assistants, principal)


def _check_origin(request: Request) -> None:
    """Refuse what a page of another origin sends: a program sends no such header."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    public = request.app.state.monitor.settings.web.public_url
    own = {request.headers.get("host", ""), *([urlsplit(public).netloc] if public else [])}
    if urlsplit(origin).netloc not in own - {""}:
        raise Problem(403, "request.other_origin", origin=origin[:200])
