"""What every request and answer goes through: proxy prefix, language, size limit, security headers."""

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from babel.core import negotiate_locale
from fastapi import Request, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.config.networks import IpNetwork, is_within, parse_address
from monitor.db.visibility import EVERYBODY, see_as
from monitor.i18n.catalogue import LANGUAGES
from monitor.i18n.message import Message as CodedMessage
from monitor.i18n.model import reader_language
from monitor.logs import get_logger
from monitor.metrics import REQUEST_SECONDS

LANGUAGE_COOKIE = "monitor_language"
MAX_BODY_BYTES = 4 * 1024 * 1024
API_PREFIX = "/api/v1"
API_DOCS_PATH = "/api/docs"
UNVERSIONED_DEPRECATION = "@1796083200"
"""2026-12-01: since when paths without a version are deprecated (RFC 9745)."""
UNVERSIONED_SUNSET = "Wed, 01 Dec 2027 00:00:00 GMT"
"""The earliest day on which they may be gone (RFC 8594): they go with 0.3, or on this day if that is later."""

_VERSIONED_PATHS = (f"{API_PREFIX}/", "/api/openapi.json", API_DOCS_PATH)
_TAGGED_PATHS = (
    "/api/openapi.json",
    *(f"{API_PREFIX}/{name}" for name in ("items", "briefings", "policies", "topics", "deadlines", "runs", "sources")),
)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_log = get_logger("web")


class BodyTooLargeError(Exception):
    """The body is longer than `MAX_BODY_BYTES`."""


@dataclass
class MetricsMiddleware:
    """Measures how long each request waits for the head of its answer; a stream may go on for hours after it."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began_s = time.perf_counter()

        async def send_measured(message: Message) -> None:
            if message["type"] == "http.response.start":
                method = scope["method"] if scope["method"] in _METHODS else "other"
                route = getattr(scope.get("route"), "path", "none")
                seconds = time.perf_counter() - began_s
                REQUEST_SECONDS.labels(method, route, f"{message['status'] // 100}xx").observe(seconds)
            await send(message)

        await self.app(scope, receive, send_measured)


@dataclass
class BodyLimitMiddleware:
    """Refuses bodies over 4 MiB, or over the limit of an upload, whether they declare their length or not."""

    app: ASGIApp
    refuse: Callable[[Request], Response]
    find_upload_limit: Callable[[Request], Awaitable[int]]
    """Asked about a body that declares to be longer: what whoever asks may upload here, 0 for nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared, limit = Headers(scope=scope).get("content-length", "0"), MAX_BODY_BYTES
        if declared.isdigit() and int(declared) > limit:
            limit = max(limit, await self.find_upload_limit(Request(scope)))
            if int(declared) > limit:
                await self.refuse(Request(scope))(scope, receive, send)
                return
        received = 0
        has_begun = False

        async def receive_limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise BodyTooLargeError
            return message

        async def send_noticed(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self.app(scope, receive_limited, send_noticed)
        except BodyTooLargeError:
            if not has_begun:
                await self.refuse(Request(scope))(scope, receive, send)


@dataclass
class ReaderMiddleware:
    """Sets the language in which the answer's messages are written (`monitor.i18n.model`).

    Nobody sees what belongs to a team before they have signed in (`monitor.db.visibility`).
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        token = reader_language.set(negotiate_language(Request(scope)))
        try:
            with see_as(EVERYBODY):
                await self.app(scope, receive, send)
        finally:
            reader_language.reset(token)


@dataclass
class PrefixMiddleware:
    """Puts the path under which a proxy shows the service before every path, whether the proxy stripped it or not."""

    app: ASGIApp
    prefix: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.prefix and scope["type"] == "http":
            path = str(scope["path"])
            is_there = path == self.prefix or path.startswith(f"{self.prefix}/")
            scope = {**scope, "root_path": self.prefix, "path": path if is_there else f"{self.prefix}{path}"}
        await self.app(scope, receive, send)


@dataclass
class EntityTagMiddleware:
    """Gives answers below `_TAGGED_PATHS` a weak ETag of their content, and 304 to who names it in `If-None-Match`.

    Streams pass as they are. Feeds tag themselves.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not _is_tagged(get_app_path(Request(scope))):
            await self.app(scope, receive, send)
            return
        started: Message | None = None

        async def send_tagged(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start" and message["status"] == 200:
                started = message
                return
            if started is not None:
                start, started = started, None
                if not message.get("more_body"):
                    start, message = _tag(start, message, Headers(scope=scope).get("if-none-match", ""))
                await send(start)
            await send(message)

        await self.app(scope, receive, send_tagged)


def _is_tagged(path: str) -> bool:
    return any(path == start or path.startswith(f"{start}/") for start in _TAGGED_PATHS)


def _tag(start: Message, message: Message, known: str) -> tuple[Message, Message]:
    """Return an answer of one piece with its ETag; without its body where the client knows it."""
    tag = f'"{hashlib.sha256(message.get("body", b"")).hexdigest()[:32]}"'
    headers = MutableHeaders(scope=start)
    headers["ETag"] = f"W/{tag}"
    headers["Cache-Control"] = "private, no-cache"
    headers["Vary"] = "Accept-Language, Authorization, Cookie"
    if not is_tag_named(tag, known):
        return start, message
    for name in ("content-length", "content-type"):
        if name in headers:
            del headers[name]
    return {**start, "status": 304}, {**message, "body": b""}


def is_tag_named(tag: str, known: str) -> bool:
    """Tell whether `If-None-Match` names the tag; weak and strong tags of the same content are the same."""
    named = [entry.strip().removeprefix("W/") for entry in known.split(",")]
    return tag in named or "*" in named


@dataclass
class UnversionedPathMiddleware:
    """Answers `/api/x` as `/api/v1/x`, and says that this path is deprecated and which one takes its place."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        successor = _find_versioned_path(scope) if scope["type"] == "http" else None
        if successor is None:
            await self.app(scope, receive, send)
            return
        docs = f"{scope.get('root_path', '')}{API_DOCS_PATH}"
        links = f'<{quote(successor)}>; rel="successor-version", <{quote(docs)}>; rel="deprecation"'

        async def send_deprecated(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["Deprecation"] = UNVERSIONED_DEPRECATION
                headers["Sunset"] = UNVERSIONED_SUNSET
                headers.append("Link", links)
            await send(message)

        await self.app({**scope, "path": successor}, receive, send_deprecated)


def _find_versioned_path(scope: Scope) -> str | None:
    """Return the path below `/api/v1` that a path without the version means, None for every other path."""
    path = get_app_path(Request(scope))
    if not path.startswith("/api/") or path.startswith(_VERSIONED_PATHS):
        return None
    return f"{scope.get('root_path', '')}{API_PREFIX}{path.removeprefix('/api')}"


@dataclass
class ClientAddressMiddleware:
    """Makes the client of a request the one that trusted proxies name in `X-Forwarded-For`, else who connected.

    A log line says once where somebody on this machine sends the header and is not trusted: a proxy to be named.
    """

    app: ASGIApp
    trusted: Sequence[IpNetwork]
    has_warned: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope.get("client"):
            peer, port = scope["client"]
            forwarded = Headers(scope=scope).getlist("x-forwarded-for")
            scope = {**scope, "client": (find_client_address(peer, forwarded, self.trusted), port)}
            self._warn(peer, is_forwarded=bool(forwarded))
        await self.app(scope, receive, send)

    def _warn(self, peer: str, *, is_forwarded: bool) -> None:
        address = None if self.has_warned or not is_forwarded else parse_address(peer)
        if address is not None and address.is_loopback and not is_within(address, self.trusted):
            self.has_warned = True
            _log.warning("a proxy is not in web.trusted_proxies", address=peer)


def find_client_address(peer: str, forwarded: Sequence[str], trusted: Sequence[IpNetwork]) -> str:
    """Return the last address of the chain that is no trusted proxy's; each proxy adds whom it was asked by at the end.

    What stands before that address came from the client, who can write there what they like.
    """
    address = parse_address(peer)
    if address is None:
        return peer
    hops = [hop for line in forwarded for hop in line.split(",")]
    while hops and is_within(address, trusted):
        before = parse_address(hops.pop())
        if before is None:
            break
        address = before
    return str(address)


_PROXIED_NAME_KEY = "monitor.proxied_name"


@dataclass
class ProxiedNameMiddleware:
    """Notes whom a proxy in front names in its header, where a trusted one has connected and names just one.

    The header is taken off every request, so that nothing behind this can take a client's for a proxy's.
    """

    app: ASGIApp
    header: str
    trusted: Sequence[IpNetwork]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            header = self.header.lower().encode()
            given = [value for name, value in scope["headers"] if name == header]
            others = [(name, value) for name, value in scope["headers"] if name != header]
            scope = {**scope, "headers": others, _PROXIED_NAME_KEY: self._read(scope, given)}
        await self.app(scope, receive, send)

    def _read(self, scope: Scope, given: Sequence[bytes]) -> str | None:
        peer = parse_address(scope["client"][0]) if scope.get("client") else None
        if peer is None or not is_within(peer, self.trusted) or len(given) != 1:
            return None
        try:
            return given[0].decode().strip() or None
        except UnicodeDecodeError:
            return None


def get_proxied_name(request: Request) -> str | None:
    """Return the name that a trusted proxy gives to who asks; None where there is no such proxy."""
    name: str | None = request.scope.get(_PROXIED_NAME_KEY)
    return name


def get_client_address(request: Request) -> str:
    """Return where a request comes from; empty where that is not known, as for a socket of the file system."""
    return request.client.host if request.client else ""


@dataclass
class ResponseHeadersMiddleware:
    """Adds headers to every answer that does not set them itself."""

    app: ASGIApp
    headers: Mapping[str, str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def complete(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, complete if scope["type"] == "http" else send)


_NON_PAGE_PREFIXES = ("/api", "/feeds", "/metrics", "/healthz", "/readyz", "/static", "/mcp")


def get_app_path(request: Request) -> str:
    """Return the path without the prefix of the proxy."""
    path, prefix = str(request.scope["path"]), str(request.scope.get("root_path", ""))
    is_within = bool(prefix) and (path == prefix or path.startswith(f"{prefix}/"))
    return (path[len(prefix) :] or "/") if is_within else path


def is_page_request(request: Request) -> bool:
    """Tell pages from the API, feeds, metrics and assets."""
    path = get_app_path(request)
    return not any(path == start or path.startswith(f"{start}/") for start in _NON_PAGE_PREFIXES)


def negotiate_language(request: Request, preferred: str | None = None) -> str:
    """Return the language of the answer, `zh` or `en`.

    It is the one that the reader chose, else the first of `Accept-Language` that we have; else the API answers in
    English, and all else is in Chinese.
    """
    for chosen in (preferred, request.cookies.get(LANGUAGE_COOKIE)):
        if chosen in LANGUAGES:
            return str(chosen)
    accepted = request.headers.get("accept-language", "").split(",")
    wanted = [part.partition(";")[0].strip().lower() for part in accepted]
    return negotiate_locale(wanted, LANGUAGES, sep="-") or (
        "en" if get_app_path(request).startswith(("/api/", "/mcp")) else "zh"
    )


def get_url_prefix(public_url: str | None) -> str:
    """Return the path under which a proxy shows the service, empty where it is the root."""
    return urlsplit(public_url or "").path.rstrip("/")


def build_sign_in_path(request: Request) -> str:
    """Return the sign-in page, which leads back to the address of the request."""
    query = f"?{request.url.query}" if request.url.query else ""
    wanted = f"{get_app_path(request)}{query}"
    prefix = str(request.scope.get("root_path", ""))
    return f"{prefix}/sign-in" + (f"?next={quote(wanted, safe='')}" if wanted != "/" else "")


def sanitize_redirect_path(text: str | None) -> str:
    """Return a path of ours to redirect to; `/` for anything that could lead elsewhere."""
    is_ours = text is not None and text.startswith("/") and not text.startswith(("//", "/\\"))
    return text if text is not None and is_ours and text.isprintable() and "\\" not in text else "/"


class Problem(Exception):
    """An answer that is a problem: a status, a message, headers that go along, and what is wrong with which field."""

    def __init__(
        self,
        status: int,
        code: str | CodedMessage,
        /,
        *,
        headers: Mapping[str, str] | None = None,
        errors: Sequence[tuple[str, CodedMessage]] = (),
        **args: Any,
    ) -> None:
        self.message = code if isinstance(code, CodedMessage) else CodedMessage(code, args)
        super().__init__(self.message)
        self.status = status
        self.headers = dict(headers or {})
        self.errors = errors


class PasswordChangeRequired(Problem):
    """A one-time password has to be replaced before anything else."""

    def __init__(self) -> None:
        super().__init__(403, "sign_in.password_change_required")
