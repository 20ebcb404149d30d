"""What every request and every answer goes through: the prefix of a proxy, a limit of size, headers of safety."""

from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 4 * 1024 * 1024


class BodyTooLargeError(Exception):
    """The body is longer than anything that we take."""


class BodyLimitMiddleware:
    """Refuses bodies over 4 MiB, whether they say so beforehand or not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; 413 where its body is too long."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        told = Headers(scope=scope).get("content-length", "0")
        if told.isdigit() and int(told) > MAX_BODY_BYTES:
            await _build_too_large_response()(scope, receive, send)
            return
        taken, has_begun = 0, False

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > MAX_BODY_BYTES:
                raise BodyTooLargeError
            return message

        async def noticed(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, limited, noticed)
        except BodyTooLargeError:
            if not has_begun:
                await _build_too_large_response()(scope, receive, send)


class PrefixMiddleware:
    """Puts the path under which a proxy shows the service before every path, whether the proxy took it away or not."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with the prefix as its root."""
        if self._prefix and scope["type"] == "http":
            path = str(scope["path"])
            is_there = path == self._prefix or path.startswith(f"{self._prefix}/")
            scope = {**scope, "root_path": self._prefix, "path": path if is_there else f"{self._prefix}{path}"}
        await self._app(scope, receive, send)


class ResponseHeadersMiddleware:
    """Puts the headers into every answer that has none of that name."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app = app
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and complete the answer."""

        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, complete if scope["type"] == "http" else send)


def _build_too_large_response() -> JSONResponse:
    detail = f"The body is longer than {MAX_BODY_BYTES // 1024 // 1024} MiB: send less."
    told = {"title": "Content Too Large", "status": 413, "detail": detail}
    return JSONResponse(told, 413, media_type="application/problem+json")


_NON_PAGE_PREFIXES = ("/api", "/feeds", "/metrics", "/healthz", "/readyz", "/static")


def get_app_path(request: Request) -> str:
    """The path without the prefix of the proxy."""
    path, prefix = str(request.scope["path"]), str(request.scope.get("root_path", ""))
    is_within = bool(prefix) and (path == prefix or path.startswith(f"{prefix}/"))
    return (path[len(prefix) :] or "/") if is_within else path


def is_page_request(request: Request) -> bool:
    """Whether a person looks at the answer: everything but API, feeds and what programs ask."""
    path = get_app_path(request)
    return not any(path == start or path.startswith(f"{start}/") for start in _NON_PAGE_PREFIXES)


def get_url_prefix(public_url: str | None) -> str:
    """The path under which a proxy shows the service, empty where it is the root."""
    return urlsplit(public_url or "").path.rstrip("/")


def build_sign_in_path(request: Request) -> str:
    """The sign-in page, from which one comes back to what was asked for."""
    query = f"?{request.url.query}" if request.url.query else ""
    wanted = f"{get_app_path(request)}{query}"
    prefix = str(request.scope.get("root_path", ""))
    return f"{prefix}/sign-in" + (f"?next={quote(wanted, safe='')}" if wanted != "/" else "")


def sanitize_redirect_path(text: str | None) -> str:
    """A path of ours that somebody wants to be sent to; `/` for anything that could lead elsewhere."""
    is_ours = text is not None and text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if text is not None and is_ours and text.isprintable() and "\\" not in text else "/"
