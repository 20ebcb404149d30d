"""What every request and answer goes through: proxy prefix, language, size limit, security headers."""

import ipaddress
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from babel.core import negotiate_locale
from fastapi import Request, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from monitor.i18n.catalogue import LANGUAGES
from monitor.i18n.message import Message as CodedMessage
from monitor.i18n.model import reader_language
from monitor.logs import get_logger
from monitor.metrics import REQUEST_SECONDS

LANGUAGE_COOKIE = "monitor_language"
MAX_BODY_BYTES = 4 * 1024 * 1024
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
    """Refuses bodies over 4 MiB, whether they declare their length or not."""

    app: ASGIApp
    refuse: Callable[[Request], Response]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "0")
        if declared.isdigit() and int(declared) > MAX_BODY_BYTES:
            await self.refuse(Request(scope))(scope, receive, send)
            return
        received = 0
        has_begun = False

        async def receive_limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MAX_BODY_BYTES:
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
class LanguageMiddleware:
    """Sets the language in which the answer's messages are written (`monitor.i18n.model`)."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        token = reader_language.set(negotiate_language(Request(scope)))
        try:
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


IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


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
        address = None if self.has_warned or not is_forwarded else _parse_address(peer)
        if address is not None and address.is_loopback and not _is_within(address, self.trusted):
            self.has_warned = True
            _log.warning("a proxy is not in web.trusted_proxies", address=peer)


def find_client_address(peer: str, forwarded: Sequence[str], trusted: Sequence[IpNetwork]) -> str:
    """Return the last address of the chain that is no trusted proxy's; each proxy adds whom it was asked by at the end.

    What stands before that address came from the client, who can write there what they like.
    """
    address = _parse_address(peer)
    if address is None:
        return peer
    hops = [hop for line in forwarded for hop in line.split(",")]
    while hops and _is_within(address, trusted):
        before = _parse_address(hops.pop())
        if before is None:
            break
        address = before
    return str(address)


def _is_within(address: IpAddress, networks: Sequence[IpNetwork]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


def _parse_address(text: str) -> IpAddress | None:
    """Return an address, of one with a port or in brackets too; IPv4 written as IPv6 is IPv4."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


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


_NON_PAGE_PREFIXES = ("/api", "/feeds", "/metrics", "/healthz", "/readyz", "/static")


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
    return negotiate_locale(wanted, LANGUAGES, sep="-") or ("en" if get_app_path(request).startswith("/api/") else "zh")


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
    """An answer that is a problem: a status, a message, and headers that go along."""

    def __init__(
        self, status: int, code: str | CodedMessage, /, *, headers: Mapping[str, str] | None = None, **args: Any
    ) -> None:
        self.message = code if isinstance(code, CodedMessage) else CodedMessage(code, args)
        super().__init__(self.message)
        self.status = status
        self.headers = dict(headers or {})


class PasswordChangeRequired(Problem):
    """A one-time password has to be replaced before anything else."""

    def __init__(self) -> None:
        super().__init__(403, "sign_in.password_change_required")
