"""The HTTP client for everything but the browser: redirects, retries, limits of size and time, TLS, cache on disk."""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from http.cookiejar import Cookie
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

import httpx
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from monitor import __version__
from monitor.config.model import NetworkSettings
from monitor.errors import SettingsError
from monitor.fetch.guard import Guard, GuardedTransport, ProxiedTransport
from monitor.fetch.result import (
    ACCEPT_ENCODING,
    DecompressionError,
    DecompressionLimitError,
    FetchError,
    Response,
    classify_response,
    decompress,
    is_retryable,
)
from monitor.i18n.message import Message
from monitor.page import PageErrorCode

if TYPE_CHECKING:
    from hishel import AsyncSqliteStorage

PRODUCT = "Monitor"
_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 10
_CONNECT_TIMEOUT_S = 10.0
DEFAULT_MAX_BYTES = 10_485_760
_MAX_ATTEMPTS = 3
_MAX_RETRY_AFTER_S = 10.0
CACHE_FILE = "http-2.db"
_CACHE_MAX_BYTES = 268_435_456
_CACHE_MAX_BODY_BYTES = 10_485_760
# Nobody reads an entry for longer than a page may take; an older one may be removed when room is needed.
_CACHE_SOFT_DELETE_TTL_S = 60.0


def build_user_agent(contact_url: str | None) -> str:
    """Return our own: the product with its version, and who runs it or, where nobody says, what it does."""
    purpose = f"+{contact_url}" if contact_url else "watches publications of public bodies"
    return f"Mozilla/5.0 (compatible; {PRODUCT}/{__version__}; {purpose})"


class CachePolicy(StrEnum):
    """When a stored response may be used: after the site confirmed it (304), or as long as the site calls it fresh."""

    REVALIDATE = "ask"
    REUSE = "reuse"


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request to one URL; without a cache policy the response is neither stored nor taken from the cache."""

    url: str
    method: str
    headers: Mapping[str, str]
    content: bytes | None
    cache_policy: CachePolicy | None
    sends_cookies: bool = True

    def follow_redirect(self, status: int, location: str) -> "OutgoingRequest":
        """Return the next request. Headers and body go to no other host nor out of https, a body never with GET."""
        try:
            url = urljoin(self.url, location).split("#", 1)[0]
            here, there = urlsplit(self.url), urlsplit(url)
            stays = there.netloc == here.netloc and (there.scheme == "https" or here.scheme != "https")
        except ValueError:
            raise FetchError.of(PageErrorCode.INVALID_URL, "page.redirect_no_url", url=location[:200]) from None
        keeps_body = status in (307, 308) and stays
        return replace(
            self,
            url=url,
            method=self.method if keeps_body or self.method == "HEAD" else "GET",
            headers={
                name: value
                for name, value in self.headers.items()
                if stays and (keeps_body or not name.lower().startswith("content-"))
            },
            content=self.content if keeps_body else None,
        )


class HttpClient:
    """Sends HTTP/1.1 requests; the guard checks every hop, and time, size and attempts are limited.

    One client serves the whole process: it keeps connections and cookies, and in `cache_folder`, if given, the
    responses that may be stored. Close it, or use it as a context.
    """

    def __init__(
        self,
        *,
        network: NetworkSettings,
        guard: Guard | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        cache_folder: Path | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.guard = guard or Guard.from_settings(network)
        self.user_agent = network.user_agent or build_user_agent(network.contact_url)
        self._timeout_s = network.timeout_s
        self._max_bytes = max_bytes
        self._sleep = sleep
        transport = build_transport(network, self.guard)
        self._http = httpx.AsyncClient(
            transport=transport if cache_folder is None else _CachingTransport(transport, cache_folder),
            headers={
                "user-agent": self.user_agent,
                "accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                "accept-language": "zh-CN,zh;q=0.9,en;q=0.8",
                "accept-encoding": ACCEPT_ENCODING,
            },
            follow_redirects=False,
            event_hooks={"response": [_hide_location]},
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    def set_cookies(self, cookies: Iterable[Cookie]) -> None:
        for cookie in cookies:
            self._http.cookies.jar.set_cookie(cookie)

    def list_cookie_values(self) -> list[str]:
        return [cookie.value for cookie in self._http.cookies.jar if cookie.value]

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        max_bytes: int | None = None,
        timeout_s: float | None = None,
        cache_policy: CachePolicy | None = None,
        sends_cookies: bool = True,
    ) -> Response:
        """Return the page after all redirects; raise `FetchError` if the response is an error or none came.

        `timeout_s` covers redirects, retries and a body that trickles in. Only GET and HEAD are retried: after lost
        connections, 502, 503, 504, and 429 if the site's Retry-After is short.
        """
        return await self._send_with_retries(
            OutgoingRequest(url, method, headers or {}, content, cache_policy, sends_cookies),
            max_bytes=max_bytes or self._max_bytes,
            max_redirects=_MAX_REDIRECTS,
            may_retry=method in ("GET", "HEAD"),
            timeout_s=timeout_s or self._timeout_s,
        )

    async def request(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        timeout_s: float | None = None,
        may_retry: bool = True,
    ) -> Response:
        """Return the response whatever its status, redirects included; raise `FetchError` if none came.

        Retries as `fetch` does, whatever the method; `may_retry` is False for a request that must be sent only once.
        """
        try:
            return await self._send_with_retries(
                OutgoingRequest(url, method, headers or {}, content, None),
                max_bytes=self._max_bytes,
                max_redirects=0,
                may_retry=may_retry,
                timeout_s=timeout_s or self._timeout_s,
            )
        except FetchError as failure:
            if failure.response is None:
                raise
            return failure.response

    async def _send_with_retries(
        self, request: OutgoingRequest, *, max_bytes: int, max_redirects: int, may_retry: bool, timeout_s: float
    ) -> Response:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s

        def is_worth_retrying(error: BaseException) -> bool:
            may_help = may_retry and isinstance(error, FetchError) and error.may_retry
            return may_help and _compute_delay_s(error, _MAX_ATTEMPTS - 1) < deadline - loop.time()

        retrying = AsyncRetrying(
            stop=stop_after_attempt(_MAX_ATTEMPTS),
            wait=_wait_before_retry,
            retry=retry_if_exception(is_worth_retrying),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            async with asyncio.timeout(timeout_s):
                return await retrying(self._follow_redirects, request, max_bytes, max_redirects)
        except TimeoutError:
            raise FetchError.of(PageErrorCode.TIMEOUT, "page.no_answer_in_full", seconds=f"{timeout_s:g}") from None

    async def _follow_redirects(self, request: OutgoingRequest, max_bytes: int, max_redirects: int) -> Response:
        hops: list[str] = []
        while True:
            await self.guard.check(request.url)
            response = await self._send(request, max_bytes, hops)
            location = response.headers.get("location")
            if not max_redirects or response.status not in _REDIRECTS or not location:
                break
            hops.append(request.url)
            if len(hops) > max_redirects:
                raise FetchError.of(PageErrorCode.NETWORK, "page.too_many_redirects", count=max_redirects)
            request = request.follow_redirect(response.status, location)
        if error := classify_response(response.status, response.headers, response.body, response.final_url):
            raise FetchError(
                error,
                response=response,
                may_retry=is_retryable(response.status, response.headers),
                retry_after_s=_parse_retry_after(response.headers),
            )
        return response

    async def _send(self, outgoing: OutgoingRequest, max_bytes: int, hops: list[str]) -> Response:
        _check_headers(outgoing.headers)
        try:
            request = self._http.build_request(
                outgoing.method,
                outgoing.url,
                headers=outgoing.headers,
                content=outgoing.content,
                timeout=httpx.Timeout(self._timeout_s, connect=min(_CONNECT_TIMEOUT_S, self._timeout_s)),
                extensions={"cache_policy": outgoing.cache_policy},
            )
            if not outgoing.sends_cookies:
                request.headers.pop("cookie", None)
            response = await self._http.send(request, stream=True)
            try:
                body = await read_body(response, max_bytes)
            finally:
                await response.aclose()
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
            raise FetchError.of(PageErrorCode.INVALID_URL, "page.invalid_url", url=outgoing.url[:200]) from error
        except httpx.HTTPError as error:
            raise _map_httpx_error(error) from error
        headers = {name.lower(): value for name, value in response.headers.items()}
        if location := response.extensions.get("location"):
            headers["location"] = location
        caching = response.extensions.get("caching")
        return Response(
            url=hops[0] if hops else outgoing.url,
            final_url=outgoing.url,
            status=response.status_code,
            headers=headers,
            body=body,
            hops=tuple(hops),
            is_from_cache=isinstance(caching, dict) and bool(caching.get("from_cache")),
        )


def build_tls_context(*, ca_bundle: Path | None, allow_legacy_tls: bool) -> ssl.SSLContext:
    """Return the context for all connections: public roots, the system's, and those of `ca_bundle`.

    `allow_legacy_tls` admits TLS 1.0 and 1.1, small keys, old ciphers and servers without secure renegotiation, as
    some old sites need; certificates are checked all the same. Raises `SettingsError` if `ca_bundle` holds none.
    """
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    if ca_bundle is not None:
        try:
            context.load_verify_locations(cafile=str(ca_bundle))
        except (OSError, ssl.SSLError) as error:
            raise SettingsError("network.ca_bundle_invalid", path=str(ca_bundle), reason=str(error)) from error
    if allow_legacy_tls:
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.set_ciphers("DEFAULT@SECLEVEL=0")
        context.options |= getattr(ssl, "OP_LEGACY_SERVER_CONNECT", 0x4)
    return context


@cache
def _get_tls_context(ca_bundle: Path | None, *, allow_legacy_tls: bool) -> ssl.SSLContext:
    """Return one context for all clients of the process: reading the roots takes longer than many a request."""
    return build_tls_context(ca_bundle=ca_bundle, allow_legacy_tls=allow_legacy_tls)


def build_transport(network: NetworkSettings, guard: Guard) -> httpx.AsyncBaseTransport:
    """Return the transport that connects where the guard allows; `SettingsError` for a proxy that is none."""
    context = _get_tls_context(network.ca_bundle, allow_legacy_tls=network.allow_legacy_tls)
    if network.proxy is None:
        return GuardedTransport(context, guard)
    to_proxy = None
    if network.proxy.lower().startswith("https:"):
        # A context of its own, because the protocols that are offered to a site are written into that site's.
        to_proxy = build_tls_context(ca_bundle=network.ca_bundle, allow_legacy_tls=network.allow_legacy_tls)
    try:
        return ProxiedTransport(context, guard, httpx.Proxy(network.proxy, ssl_context=to_proxy))
    except (ValueError, httpx.InvalidURL) as error:
        raise SettingsError("network.proxy_invalid", reason=str(error)) from error


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise FetchError.of(PageErrorCode.FORBIDDEN, "page.header_invalid", header=name)


async def _hide_location(response: httpx.Response) -> None:
    """Hide a redirect's address from httpx, which parses it even when it does not follow it, and may fail on it."""
    if location := response.headers.pop("location", None):
        response.extensions["location"] = location


async def read_body(response: httpx.Response, max_bytes: int) -> bytes:
    """Return the body, decompressed; raise `FetchError` if it is larger than `max_bytes`, packed or unpacked."""
    length = response.headers.get("content-length", "")
    if length.isdigit() and int(length) > max_bytes:
        raise FetchError.too_large(max_bytes)
    received = bytearray()
    async for chunk in response.aiter_raw():
        received += chunk
        if len(received) > max_bytes:
            raise FetchError.too_large(max_bytes)
    try:
        return decompress(bytes(received), response.headers.get("content-encoding", ""), max_bytes=max_bytes)
    except DecompressionLimitError:
        raise FetchError.too_large(max_bytes) from None
    except DecompressionError as error:
        raise FetchError.of(PageErrorCode.NETWORK, "page.not_decompressed", reason=error.message) from error


def _map_httpx_error(error: httpx.HTTPError) -> FetchError:
    if isinstance(error, httpx.ConnectTimeout):
        return FetchError.of(PageErrorCode.TIMEOUT, "page.no_connection_in_time", may_retry=True)
    if isinstance(error, httpx.TimeoutException):
        return FetchError.of(PageErrorCode.TIMEOUT, "page.no_answer")
    # A server that hangs up in the middle of the TLS handshake leaves httpx without words.
    hung_up = not str(error) and isinstance(error, httpx.ConnectError)
    reason = Message("page.hung_up") if hung_up else describe_connection_error(error)
    if hung_up or "SSL" in str(reason) or "certificate" in str(reason).lower():
        return FetchError.of(PageErrorCode.NETWORK, "page.no_secure_connection", reason=reason)
    return FetchError.of(PageErrorCode.NETWORK, "page.connection_failed", may_retry=True, reason=reason)


def describe_connection_error(error: BaseException) -> str | Message:
    """Say why a connection failed, without a word of what the other side sent: it may be no web server at all."""
    text = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, httpx.RemoteProtocolError) and not text.startswith("Server disconnected"):
        return Message("page.no_http")
    return type(error).__name__ if not text or isinstance(error, httpx.LocalProtocolError) else text


def _parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return Retry-After in seconds; a date is longer than we wait in practice and counts as infinite."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    return float(value) if value.isascii() and value.isdigit() else float("inf")


def _wait_before_retry(state: RetryCallState) -> float:
    return _compute_delay_s(state.outcome.exception() if state.outcome else None, state.attempt_number)


def _compute_delay_s(error: BaseException | None, attempt: int) -> float:
    """Return the seconds before the next attempt; infinite if the site wants more than we wait."""
    retry_after_s = error.retry_after_s if isinstance(error, FetchError) else None
    if retry_after_s is not None:
        return retry_after_s if retry_after_s <= _MAX_RETRY_AFTER_S else float("inf")
    return 0.5 * 2.0 ** (attempt - 1)


class _CachingTransport(httpx.AsyncBaseTransport):
    """Stores the responses to requests that carry a `CachePolicy` in their extension `cache_policy`.

    Follows RFC 9111 as a browser's cache does. The folder holds one SQLite file, which outlives the process and may be
    shared by several; the least recently used entries go when it is full. The guard checks URLs before a request comes
    here, and limits of size apply to what leaves here: neither knows whether the network was used.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, folder: Path) -> None:
        import hishel  # other clients do without it
        from hishel.httpx import AsyncCacheTransport

        # hishel logs what it cannot store, with a traceback; a cache that fails only costs time.
        logging.getLogger("hishel").addHandler(logging.NullHandler())
        self._inner = inner
        storage = _open_cache_storage(folder / CACHE_FILE)
        self._cache = AsyncCacheTransport(inner, storage=storage, rfc=hishel.CacheOptions(shared=False))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        policy = request.extensions.get("cache_policy")
        if policy is None:
            return await self._inner.handle_async_request(request)
        if policy is CachePolicy.REVALIDATE:
            request.headers["cache-control"] = "no-cache"
        return await self._cache.handle_async_request(request)

    async def aclose(self) -> None:
        await self._cache.aclose()


def _open_cache_storage(file: Path) -> "AsyncSqliteStorage":
    """Return a storage for no page that its site cannot confirm later, because it would only push out others."""
    import hishel

    class RevalidatableStorage(hishel.AsyncSqliteStorage):
        async def create_entry(
            self,
            request: hishel.Request,
            response: hishel.Response,
            key: str,
            *,
            ttl: float | None = None,
            tti: float | None = None,
        ) -> hishel.Entry:
            has_validator = "etag" in response.headers or "last-modified" in response.headers
            if request.headers.get("cache-control") == "no-cache" and not has_validator:
                return hishel.Entry(id=uuid4(), request=request, response=response)
            return await super().create_entry(request, response, key, ttl=ttl, tti=tti)

    return RevalidatableStorage(
        database_path=file,
        max_size=_CACHE_MAX_BYTES,
        max_stream_size=_CACHE_MAX_BODY_BYTES,
        soft_delete_ttl=_CACHE_SOFT_DELETE_TTL_S,
    )
