"""The way out to services: the model, search, mail, webhooks and chats are all reached by one policy.

Pages have the same guard but for the exceptions of services, and `HttpClient`, `Loader` and the browser for
themselves.
"""

import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

from monitor.config.model import NetworkSettings
from monitor.fetch.client import DEFAULT_MAX_BYTES, HttpClient, build_tls_context, build_transport, read_body
from monitor.fetch.guard import Guard, Resolver, resolve_host
from monitor.fetch.proxy import GuardedProxy
from monitor.fetch.result import FetchError

_MAX_ERROR_BYTES = 65_536  # an error with its code is short
_ERROR_CODE = re.compile(r"[a-z0-9_.-]{1,60}")
_CODE_NAMES = ("code", "type", "errcode", "error_code", "StatusCode")
_NO_CODES = {"", "0", "none", "null", "true", "false"}
_UNPACKED_HEADERS = ("content-encoding", "content-length", "transfer-encoding")


class OutboundPolicy:
    """Clients for services, by `network`: its proxy and certificates, the guard, and limits of what comes back.

    The services that file and environment name (`service_hosts`) may be in the private network, others only as
    `network.allowed_private_hosts` says. Variables such as HTTP_PROXY and NO_PROXY are ignored.
    """

    def __init__(self, network: NetworkSettings, *, resolver: Resolver = resolve_host) -> None:
        self.network = network
        self.guard = Guard.from_settings(network, service_hosts=network.service_hosts, resolver=resolver)

    def open_client(self, *, max_bytes: int = DEFAULT_MAX_BYTES) -> HttpClient:
        """Return a client; its `request` follows no redirect."""
        return HttpClient(network=self.network, guard=self.guard, max_bytes=max_bytes)

    def open_library_client(
        self, *, max_bytes: int, timeout_s: float, headers: Mapping[str, str | None] | None = None
    ) -> httpx.AsyncClient:
        """Return a client for a library that speaks its service's protocol itself.

        It follows no redirect. Raises `FetchError` for an address that the guard refuses, and while an answer of more
        than `max_bytes` is read. `headers` replace those that the library sends, or drop one with None.
        """
        transport = _ServiceTransport(
            build_transport(self.network, self.guard), self.guard, max_bytes=max_bytes, headers=headers or {}
        )
        return httpx.AsyncClient(transport=transport, timeout=timeout_s, follow_redirects=False, trust_env=False)

    def build_tls_context(self) -> ssl.SSLContext:
        """Return the context for a connection that is not HTTP."""
        return build_tls_context(ca_bundle=self.network.ca_bundle, allow_legacy_tls=self.network.allow_legacy_tls)

    async def open_proxy(self) -> GuardedProxy:
        """Start a proxy for a program that can only be told of one."""
        return await GuardedProxy.open(self.guard, self.network)


def find_error_code(answer: bytes | Any) -> str:
    """Return a service's own code of its error, in lower case; empty where the answer, JSON or its text, has none.

    Understands `error.code` and `error.type` as models write them, and what search and chat services write. Nothing
    else of an answer is shown to anybody: whoever can choose an address could read foreign answers by it.
    """
    if isinstance(answer, bytes):
        try:
            answer = json.loads(answer) if len(answer) <= _MAX_ERROR_BYTES else None
        except (ValueError, RecursionError):
            return ""
    if not isinstance(answer, Mapping):
        return ""
    inner = answer.get("error")
    candidates = [
        inner,
        *(part.get(name) for part in (inner, answer) if isinstance(part, Mapping) for name in _CODE_NAMES),
    ]
    texts = (str(value).lower() for value in candidates if isinstance(value, str | int))
    return next((text for text in texts if _ERROR_CODE.fullmatch(text) and text not in _NO_CODES), "")


class _ServiceTransport(httpx.AsyncBaseTransport):
    """Checks each request's address, as `HttpClient` does, and ends an answer that is too large while it is read.

    A compressed answer, although none was asked for, is unpacked within the same limit.
    """

    def __init__(
        self, inner: httpx.AsyncBaseTransport, guard: Guard, *, max_bytes: int, headers: Mapping[str, str | None]
    ) -> None:
        self._inner = inner
        self._guard = guard
        self._max_bytes = max_bytes
        self._headers = headers

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await self._guard.check(str(request.url))
        request.headers["accept-encoding"] = "identity"
        for name, value in self._headers.items():
            request.headers.pop(name, None)
            if value is not None:
                request.headers[name] = value
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").strip().lower() in ("", "identity"):
            response.stream = _LimitedStream(response.stream, self._max_bytes)
            return response
        try:
            body = await read_body(response, self._max_bytes)
        finally:
            await response.aclose()
        headers = [pair for pair in response.headers.multi_items() if pair[0] not in _UNPACKED_HEADERS]
        return httpx.Response(response.status_code, headers=headers, content=body, extensions=response.extensions)

    async def aclose(self) -> None:
        await self._inner.aclose()


class _LimitedStream(httpx.AsyncByteStream):
    def __init__(self, inner: object, max_bytes: int) -> None:
        if not isinstance(inner, httpx.AsyncByteStream):
            raise TypeError(f"{type(inner).__name__} is no asynchronous stream")
        self._inner = inner
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._inner:
            received += len(chunk)
            if received > self._max_bytes:
                raise FetchError.too_large(self._max_bytes)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
